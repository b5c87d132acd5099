"""A class: handing out, collecting, grading and handing back. This package holds everything except the commands themselves."""
