"""Errors that the user can do something about."""

USAGE = 2  # wrong command line
SETUP = 3  # the machine lacks something that an administrator or the user must add
BUILD = 4  # a build failed
PROGRAM = 5  # the program given cannot be run


class KitError(Exception):
    """A failure to report: what happened, what to do about it, and the exit code."""

    def __init__(self, message: str, advice: str = "", code: int = 1):
        super().__init__(message)
        self.advice = advice
        self.code = code
