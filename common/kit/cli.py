"""The command line: one sub-command, one module in the folder `commands`, whose name is the command's.

Such a module has
  PURPOSE              what the command does, for --help: a phrase without a full stop
  MORE                 sentences that only the command's own --help adds; may be left out
  GROUP                who needs it: one of GROUPS
  ORDER                its position in its group: lower numbers first
  arguments(parser)    adds its arguments to its own argparse parser
  run(options) -> int  runs the command and returns the exit code
or, in place of the last two,
  COMMANDS             a package with commands of its own, which have no GROUP
"""

import argparse
import errno
import importlib
import io
import os
import pkgutil
import re
import signal
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType

from . import commands, console
from .console import complain
from .errors import USAGE, KitError
from .paths import ROOT
from .setup import plan

PURPOSE = "Warpfold: learn parallel reduction by writing it, with or without a GPU."
GROUPS = ("learn", "look closer", "any CUDA program", "teach", "work on the kit")
START = "Start with `./kit demo`; then leave `./kit watch` running beside your editor."
EXIT_CODES = (
    "Exit codes: 0 success; 1 a test or rung failed; 2 wrong command line; 3 the machine lacks something; 4 a build failed; "
    "5 a program cannot be run (otherwise `emulate` ends with the program's own code); 66 `emulate --check` found hazards."
)


class Format(argparse.HelpFormatter):
    """Breaks lines only between words: the names of packages, with their hyphens, are there to be copied."""

    def _split_lines(self, text, width):
        return console.wrap(" ".join(text.split()), width)

    def _fill_text(self, text, width, indent):
        return "\n".join(console.wrap(" ".join(text.split()), width, indent))


class Parser(argparse.ArgumentParser):
    add_arguments: Callable[["Parser"], None] | None = None  # called once, when they are needed: another command's never are

    def __init__(self, **options):
        super().__init__(**{"formatter_class": Format} | options)

    def complete(self) -> "Parser":
        add, self.add_arguments = self.add_arguments, None
        if add:
            add(self)
        return self

    def parse_known_args(self, args=None, namespace=None):
        """An option that a command does not have is refused by the command, whose --help lists those that it has."""
        found, unknown = super(Parser, self.complete()).parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str):
        raise KitError(message, f"{self.prog} --help lists its options.", USAGE)


def known_commands(only: tuple[str, ...] = (), package: ModuleType = commands) -> dict[str, ModuleType]:
    """The modules in the folder `commands`, or in `package`, or `only` those named, by name, in the order of --help."""
    names = only or names_in(package)
    modules = {name: importlib.import_module(f".{name}", package.__name__) for name in names}
    return dict(sorted(modules.items(), key=lambda item: (group_of(item[1]), item[1].ORDER)))


def names_in(package: ModuleType) -> tuple[str, ...]:
    return tuple(found.name for found in pkgutil.iter_modules(package.__path__))


def group_of(module: ModuleType) -> int:
    return GROUPS.index(module.GROUP) if hasattr(module, "GROUP") else 0


def version() -> str:
    """The project's version, which only meson.build states; the Python package receives it when it is built."""
    if not (ROOT / "meson.build").exists():
        from importlib.metadata import version as installed  # slow to load, and seldom needed

        return installed("warpfold")
    return re.search(r"^ *version: '([^']+)'", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]


class Top(Parser):
    """Its help has a line for each command, beside those who need it, and fits on a screen of 80 columns."""

    modules: dict[str, ModuleType] = {}

    def format_help(self) -> str:
        width = max(map(len, GROUPS))
        lines, before = [], None
        for name, module in self.modules.items():
            start = f"{'' if module.GROUP == before else module.GROUP:{width}}  {name:9} "
            lines.append(console.fill(module.PURPOSE, start, " " * len(start)))
            before = module.GROUP
        usage = f"usage: {self.prog} COMMAND ...    {self.prog} COMMAND --help explains a command"
        end = ["", console.fill(self.epilog)] if self.epilog else []
        return "\n".join([*map(console.fill, (PURPOSE, usage)), "", *lines, *end, ""])


def parser(program: str = "./kit", only: tuple[str, ...] = ()) -> argparse.ArgumentParser:
    top = Top(prog=program, epilog=None if only else START)
    top.add_argument("--version", action="version", version=f"Warpfold {version()}", help="print the version and exit")
    top.modules = known_commands(only)
    add_commands(top, only=only)
    return top


def add_commands(parser: Parser, package: ModuleType = commands, only: tuple[str, ...] = ()) -> None:
    choices = parser.add_subparsers(metavar="COMMAND", required=package is commands, title="commands", parser_class=Parser)
    for name, module in known_commands(only, package).items():
        purpose = module.PURPOSE[0].upper() + module.PURPOSE[1:] + "."
        epilog = EXIT_CODES if name == "emulate" else None
        command = choices.add_parser(name, help=module.PURPOSE, description=f"{purpose} {getattr(module, 'MORE', '')}", epilog=epilog)
        if hasattr(module, "COMMANDS"):
            command.set_defaults(run=lambda _, command=command: command.print_help() or 0)
            command.add_arguments = partial(add_commands, package=module.COMMANDS)
        else:
            command.add_arguments = module.arguments
            command.set_defaults(run=module.run)


def main(arguments: list[str] | None = None, program: str = "./kit", only: tuple[str, ...] = ()) -> int:
    """`only`: the commands of a program that does not have all of them."""
    console.PROGRAM = program
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `./kit demo | head` is not an error
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that this terminal cannot show ends nothing
    try:
        words = sys.argv[1:] if arguments is None else arguments
        asked = tuple(name for name in words[:1] if name in (only or names_in(commands)))  # no other module is needed
        options = parser(program, asked or only).parse_args(words or ["--help"])
        return options.run(options)
    except KitError as error:
        complain(error)
        return error.code
    except KeyboardInterrupt:
        print(f"\n{console.speaker()}: stopped", file=sys.stderr)
        return 130
    except OSError as error:
        if not is_about_a_place(error):
            raise  # a mistake of the kit's own
        said = f"{error.filename or 'a file could not be written'}: {os.strerror(error.errno)}"
        complain(KitError(*(plan.disk_full(said) if error.errno in (errno.ENOSPC, errno.EDQUOT) else (said,))))
        return 1


def is_about_a_place(error: OSError) -> bool:
    """Whether the user can do something about it: a file or folder that is missing or closed to them, or a disk that is full or read-only."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return True  # a write that fails does not say which file it was for
    return bool(error.filename) and isinstance(error, PermissionError | FileNotFoundError | NotADirectoryError | IsADirectoryError)
