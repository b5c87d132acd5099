"""`kit docs`: the course as a site that works offline, with every handout executed, and as PDF."""

import os
import shutil
import subprocess
from pathlib import Path

from . import environment, labs, links, system, toolchain
from .build import Build
from .console import say
from .errors import USAGE, KitError
from .notebook import HANDOUTS, PACKAGE, before
from .paths import LOGS, OWN, ROOT
from .process import output, relative, tail

EDITIONS = ("student", "instructor")


def arguments(parser) -> None:
    parser.add_argument("--edition", choices=EDITIONS, default="student", help="the instructor's runs on the solutions and has the answers")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to (.kit/docs/EDITION)")
    parser.add_argument("--pdf", action="store_true", help="also a PDF of each handout, where a browser (Chromium, Chrome) is found")


def run(options) -> int:
    out = (options.out or OWN / "docs" / options.edition).resolve()
    require_own(out)
    browser = find_browser() if options.pdf else None
    for group, why in [("notebook", "the handouts are executed"), ("docs", "Sphinx makes the site")]:
        environment.install(group, why)
    build = Build(toolchain.prepare())
    say("building the labs that the handouts run")
    for solved in (False, True):
        labs.compile(build, labs.find(build, solved=solved))
    sphinx(options.edition, out)
    problems = links.check(out)
    if problems:
        raise KitError(f"{len(problems)} links lead nowhere, or off this machine\n" + "\n".join(f"  {each}" for each in problems[:20]))
    if browser:
        print_handouts(browser, out)
    say(f"the site is {relative(out / 'index.html')}")
    return 0


def require_own(out: Path) -> None:
    """A folder is emptied before it is filled, so it must be this command's own work or nothing."""
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
    result = output(command, env=os.environ | solved | {"PYTHONPATH": before("PYTHONPATH", PACKAGE)}, cwd=ROOT)
    (LOGS / "docs.txt").write_text(result.stdout)
    if result.returncode != 0:
        shutil.rmtree(out, ignore_errors=True)  # never a site that is half done
        raise KitError(f"the site could not be built\n{tail(result.stdout, 30)}", f"The whole output: {relative(LOGS / 'docs.txt')}")


def find_browser() -> str:
    named = os.environ.get("BROWSER_FOR_PDF")
    found = shutil.which(named) if named else system.find_browser()
    if found is None:
        raise KitError("--pdf needs Chromium or Chrome, and none was found", "As administrator on Debian: apt-get install chromium", 3)
    return found


def print_handouts(browser: str, out: Path) -> None:
    for path in sorted(HANDOUTS.glob("*.md")):
        page, target = out / "handouts" / f"{path.stem}.html", out / f"{path.stem}.pdf"
        command = [browser, "--headless", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={target}", page.as_uri()]
        if os.geteuid() == 0:
            command.insert(1, "--no-sandbox")
        result = subprocess.run(command, text=True, capture_output=True)
        if result.returncode != 0 or not target.exists():
            raise KitError(f"{browser} could not print {page.name}\n{tail(result.stderr)}")
        say(f"wrote {relative(target)}")
