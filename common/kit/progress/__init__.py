"""Following a student through the course: which rung comes next, what a check says, and which keys may be pressed."""
