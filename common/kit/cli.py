"""The command line: one sub-command, one module with `arguments(parser)` and `run(options) -> exit code`."""

import argparse
import importlib
import os
import signal
import sys

from .console import complain
from .errors import USAGE, KitError

# name, module, what it does, shown in this order by --help
COMMANDS = [
    ("demo", "demo", "climb the ladder: run every solved rung and show what it costs"),
    ("test", "suite", "run every test: solutions, stubs, and the kit's own"),
    ("status", "status", "show each lab's rungs, their state, and the next TODO"),
    ("profile", "profile", "show a lab's source with counts beside each line, and what is hazardous in it"),
    ("device", "device", "say what the GPU is, and measure what it reads"),
    ("trace", "trace", "follow one block through memory, step by step: a page, a still, or words"),
    ("watch", "watch", "check a lab again whenever its file is saved"),
    ("emulate", "emulate", "run any CUDA program linked to the shared runtime, without a GPU"),
    ("bench", "bench", "measure the emulator against a plain CPU loop"),
    ("notebook", "notebook", "open the handouts in JupyterLab"),
    ("docs", "docs", "build the course as a site, with every handout run"),
    ("setup", "setup", "install what the kit needs, and nothing else; the other commands do this by themselves"),
]

EPILOG = """Start with `./kit demo`. Then fill a stub in labs/, and run `meson test -C build 01_naive_atomic`, or
`./kit watch 01_naive_atomic`. README.md says the rest.

Exit codes: 0 well; 1 a test or rung failed; 2 wrong command line; 3 the machine lacks something; 4 a build
failed; 5 a program cannot be run (emulate otherwise ends with the program's own code); 66 `emulate --check` found hazards."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise KitError(message, f"{self.prog} --help shows what can be said.", USAGE)


def parser() -> argparse.ArgumentParser:
    top = Parser(
        prog="./kit", description="Warpfold: parallel reduction on a GPU, learned by writing it, with or without a GPU.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, title="commands")
    for name, module, purpose in COMMANDS:
        command = commands.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        importlib.import_module(f".{module}", __package__).arguments(command)
        command.set_defaults(module=module)
    return top


def main(arguments: list[str] | None = None) -> int:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `./kit demo | head` is no error
    try:
        words = sys.argv[1:] if arguments is None else arguments
        options = parser().parse_args(words or ["--help"])
        return importlib.import_module(f".{options.module}", __package__).run(options)
    except KitError as error:
        complain(error)
        return error.code
    except KeyboardInterrupt:
        print("\nkit: stopped", file=sys.stderr)
        return 130
    except PermissionError as error:
        complain(KitError(f"{error.filename}: {os.strerror(error.errno)}"))
        return 1
