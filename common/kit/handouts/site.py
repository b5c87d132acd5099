"""The course as a site that works offline, with every handout executed, and as PDFs."""

import os
import shutil
import subprocess
from pathlib import Path

from ..console import say
from ..errors import SETUP, USAGE, KitError
from ..paths import LOGS, OWN, ROOT
from ..process import output, relative, tail
from ..setup import environment, system
from . import PACKAGE, all_of_them, before

EDITIONS = ("student", "instructor")


def require_own(out: Path) -> None:
    """The folder is emptied before it is filled, so it must be empty or made by this command."""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / "objects.inv").exists())):
        raise KitError(f"--out {out}: there is something else there", "Name a new folder.", USAGE)


def sphinx(edition: str, out: Path) -> None:
    say(f"running the handouts and building the {edition}'s edition; this takes some minutes")
    shutil.rmtree(out, ignore_errors=True)
    tags = ["-t", "instructor"] if edition == "instructor" else []
    command = [environment.python(), "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html", *tags]
    command += ["-d", str(OWN / "docs" / f"{edition}-trees"), str(ROOT / "docs"), str(out)]
    solved = {"WARPFOLD_SOLVED": "1"} if edition == "instructor" else {}
    LOGS.mkdir(parents=True, exist_ok=True)
    own = {"WARPFOLD_PREDICTIONS": os.devnull}  # nobody's predictions are published
    result = output(command, env=os.environ | solved | own | {"PYTHONPATH": before("PYTHONPATH", PACKAGE)}, cwd=ROOT)
    (LOGS / "docs.txt").write_text(result.stdout)
    if result.returncode != 0:
        shutil.rmtree(out, ignore_errors=True)  # never leaves a half-finished site
        raise KitError(f"the site could not be built\n{tail(result.stdout, 30)}", f"The whole output: {relative(LOGS / 'docs.txt')}")


def find_browser() -> str:
    named = os.environ.get("BROWSER_FOR_PDF")
    found = shutil.which(named) if named else system.find_browser()
    if found is None:
        raise KitError("--pdf needs Chromium or Chrome, and none was found", "As administrator on Debian: apt-get install chromium", SETUP)
    return found


def print_handouts(browser: str, out: Path) -> None:
    for path in all_of_them():
        page, target = out / "handouts" / f"{path.stem}.html", out / f"{path.stem}.pdf"
        command = [browser, "--headless", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={target}", page.as_uri()]
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")
        result = subprocess.run(command, text=True, capture_output=True)
        if result.returncode != 0 or not target.exists():
            raise KitError(f"{browser} could not print {page.name}\n{tail(result.stderr)}")
        say(f"wrote {relative(target)}")
