"""The kit's own Python environment in .kit/venv: made when first needed, filled group by group from requirements.txt."""

import os
import re
import shutil
import sys
from collections.abc import Callable

from ..console import say, steps, waiting
from ..errors import SETUP, KitError
from ..paths import OWN, REQUIREMENTS, VENV
from ..process import output, tail
from . import packages, plan

# What pip says when the package index cannot be reached.
NO_NETWORK = re.compile(
    r"NewConnectionError|Temporary failure in name resolution|Failed to establish a new connection|Network is unreachable"
    r"|Connection refused|ProxyError|Cannot connect to proxy|ReadTimeoutError|ConnectTimeoutError|ConnectionResetError"
)

# How a script of pip's begins: it names Python by the clone's path, which may be too long or too odd for that, or change.
NAMES_PYTHON = re.compile(rb"#!/bin/sh\n'''exec' .*\n' '''\n|#!.*/python[\d.]*\n")
FINDS_PYTHON = b"""#!/bin/sh
'''exec' "${0%/*}/python" "$0" "$@"
' '''
"""


def requirements(group: str) -> list[str]:
    """The pinned packages that requirements.txt lists below `# group NAME`."""
    current, lines = "", []
    for line in REQUIREMENTS.read_text().splitlines():
        heading = re.match(r"# group (\w+)", line)
        if heading:
            current = heading[1]
        elif current == group and line.strip() and not line.startswith("#"):
            lines.append(line.strip())
    if not lines:
        raise KitError(f"{REQUIREMENTS.name} has no group {group}")
    return lines


def stamp(name: str):
    """Written last, so that its absence reveals an interrupted setup."""
    return VENV / "stamps" / name


def python() -> str:
    return str(VENV / "bin" / "python")


def venv_works() -> bool:
    return stamp("venv").exists() and output([python(), "-c", "import pip"]).returncode == 0


def make_venv() -> None:
    if venv_works():
        return
    if VENV.exists():
        say("the kit's own environment is incomplete or broken; creating it again")
        shutil.rmtree(VENV)
    require_venv_module()
    steps.begin("venv", f"creating an environment for the kit's own tools in {OWN.name}/venv")
    result = output([sys.executable, "-m", "venv", VENV])
    if result.returncode != 0:
        shutil.rmtree(VENV, ignore_errors=True)
        if "No space left" in result.stdout:
            raise KitError(*plan.disk_full("python3 -m venv failed"), SETUP)
        raise KitError(f"python3 -m venv failed\n{tail(result.stdout)}", packages.how_to_install([packages.VENV]), SETUP)
    write_stamp("venv", sys.version)


def require_venv_module() -> None:
    """Debian ships Python without ensurepip, and venv then fails half-way."""
    if output([sys.executable, "-c", "import venv, ensurepip"]).returncode == 0:
        return
    if os.geteuid() == 0 and packages.manager() == "apt-get":
        packages.install([packages.VENV])
        if output([sys.executable, "-c", "import venv, ensurepip"]).returncode == 0:
            return
    raise KitError(
        f"{sys.executable} has no venv module, which the kit needs for its own tools",
        packages.how_to_install([packages.VENV]),
        SETUP,
    )


def free_scripts() -> None:
    """Lets the environment's scripts find Python beside them, wherever the clone is."""
    for script in (VENV / "bin").glob("*"):
        if script.is_symlink() or not script.is_file() or not is_script(script):
            continue
        text = script.read_bytes()
        if (start := NAMES_PYTHON.match(text)) and start[0] != FINDS_PYTHON:
            fresh = script.with_name(script.name + ".new")
            fresh.write_bytes(FINDS_PYTHON + text[start.end() :])
            fresh.chmod(0o755)
            fresh.replace(script)


def is_script(path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def write_stamp(name: str, text: str) -> None:
    path = stamp(name)
    path.parent.mkdir(exist_ok=True)
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def is_installed(group: str) -> bool:
    path = stamp(group)
    return venv_works() and path.exists() and path.read_text().split("\n") == requirements(group)


def install(group: str, why: str, trial: Callable[[], None] | None = None) -> None:
    """Installs a group of packages unless it is already installed; `trial` may raise a reason to fetch none of it."""
    if is_installed(group):
        return
    make_venv()
    pins = requirements(group)
    steps.begin(group, f"installing {', '.join(pin.split('==')[0] for pin in pins)}: {why}")
    if trial:
        trial()
    install_pins(pins)
    free_scripts()
    write_stamp(group, "\n".join(pins))


def install_pins(pins: list[str]) -> None:
    with waiting(f"installing {pins[0].split('==')[0]}{' and others' if len(pins) > 1 else ''}"):
        result = output([python(), "-m", "pip", "install", "--disable-pip-version-check", "--retries", "1", "--no-input", *pins])
    if result.returncode != 0:
        raise KitError(*pip_failure(pins, result.stdout), SETUP)


def pip_failure(pins: list[str], talk: str) -> tuple[str, str]:
    again = "Nothing is half-done: run the same kit command again afterwards."
    if NO_NETWORK.search(talk):
        return (
            f"no network: pip could not reach the Python package index to install {' '.join(pins)}",
            f"Check the connection (and HTTPS_PROXY or PIP_INDEX_URL, if your site needs them). {again}",
        )
    if "No space left" in talk or "Disk quota exceeded" in talk:
        return plan.disk_full(f"pip could not install {' '.join(pins)}")
    return (f"pip could not install {' '.join(pins)}\n{tail(talk, 6)}", again)
