"""The command line: one sub-command, one module in the folder `commands`, whose name is the command's.

Such a module has
  PURPOSE              what the command does, for --help: a phrase without a full stop
  ORDER                its position in --help's list: lower numbers first
  arguments(parser)    adds its arguments to its own argparse parser
  run(options) -> int  runs the command and returns the exit code
"""

import argparse
import errno
import importlib
import importlib.metadata
import io
import os
import pkgutil
import re
import signal
import sys
from types import ModuleType

from . import commands, console
from .console import complain, fill
from .errors import USAGE, KitError
from .paths import ROOT
from .setup import plan

EPILOG = (
    "Start with `./kit demo`. Then leave `./kit watch` running beside your editor: it shows the next TODO in labs/ "
    "and checks it at each save. README.md explains the rest.\n\n"
    "Exit codes: 0 success; 1 a test or rung failed; 2 wrong command line; 3 the machine lacks something; 4 a build failed; "
    "5 a program cannot be run (otherwise `emulate` ends with the program's own code); 66 `emulate --check` found hazards."
)


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise KitError(message, f"{self.prog} --help lists its options.", USAGE)


def known_commands(only: tuple[str, ...] = ()) -> dict[str, ModuleType]:
    """The modules in the folder `commands`, or `only` those named, by name, in the order of --help."""
    names = only or [found.name for found in pkgutil.iter_modules(commands.__path__)]
    modules = {name: importlib.import_module(f".{name}", commands.__name__) for name in names}
    return dict(sorted(modules.items(), key=lambda item: item[1].ORDER))


def version() -> str:
    """The project's version, which only meson.build states; the Python package receives it when it is built."""
    if not (ROOT / "meson.build").exists():
        return importlib.metadata.version("warpfold")
    return re.search(r"^ *version: '([^']+)'", (ROOT / "meson.build").read_text(), re.MULTILINE)[1]


def parser(program: str = "./kit", only: tuple[str, ...] = ()) -> argparse.ArgumentParser:
    top = Parser(
        prog=program, description=fill("Warpfold: parallel reduction on a GPU, learned by writing it, with or without a GPU."),
        epilog="" if only else fill(EPILOG), formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    top.add_argument("--version", action="version", version=f"Warpfold {version()}", help="print the version and exit")
    choices = top.add_subparsers(dest="command", metavar="COMMAND", required=True, title="commands")
    for name, module in known_commands(only).items():
        purpose = module.PURPOSE
        command = choices.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        module.arguments(command)
        command.set_defaults(run=module.run)
    return top


def main(arguments: list[str] | None = None, program: str = "./kit", only: tuple[str, ...] = ()) -> int:
    """`only`: the commands of a program that does not have all of them."""
    console.PROGRAM = program
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `./kit demo | head` is not an error
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name that this terminal cannot show ends nothing
    try:
        words = sys.argv[1:] if arguments is None else arguments
        options = parser(program, only).parse_args(words or ["--help"])
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
