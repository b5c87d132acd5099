"""`kit class`: runs a class; its commands are in classroom/commands."""

from classroom import commands as COMMANDS  # noqa: F401 (kit/cli.py asks for it)

PURPOSE = "hand out, collect, grade and hand back"
GROUP = "teach"
ORDER = 200
