"""What a class is graded with: its folder and settings, its students, the labs, and the edition that students get."""
