"""The program `warpfold`, which pip installs: the kit's commands that need no clone of the course."""

from . import home  # noqa: F401  puts the kit on the path

# isort: split
from kit import cli


def main() -> int:
    return cli.main(program="warpfold", only=("emulate", "nvcc"))
