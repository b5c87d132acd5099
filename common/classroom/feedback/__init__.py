"""The pages that go back: to each student, to the instructor, and the board."""
