"""`kit docs`: the course as a site that works offline, with every handout executed, and as PDF."""

from pathlib import Path

from ..console import say
from ..errors import KitError
from ..handouts import links, site
from ..paths import OWN
from ..process import relative
from ..programs import folder, labs, rungs
from ..setup import environment

PURPOSE = "build the course as a website"
MORE = "Every handout is executed."
GROUP = "look closer"
ORDER = 110


def arguments(parser) -> None:
    parser.add_argument(
        "--edition",
        choices=site.EDITIONS,
        default="student",
        help="which edition to build; the instructor's runs the solutions and includes the answers",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="the folder to build it in (.kit/docs/EDITION)")
    parser.add_argument("--pdf", action="store_true", help="also print each handout to PDF, which needs Chromium or Chrome")


def run(options) -> int:
    out = (options.out or OWN / "docs" / options.edition).resolve()
    site.require_own(out)
    if options.edition == "instructor":
        rungs.require_solutions("--edition instructor")
    browser = site.find_browser() if options.pdf else None
    for group, why in [("notebook", "the handouts are executed"), ("docs", "Sphinx makes the site")]:
        environment.install(group, why)
    build = folder.prepare()
    say("building the labs that the handouts run")
    for solved in (False, True):
        labs.compile(build, labs.find(build, solved=solved))
    site.sphinx(options.edition, out)
    problems = links.check(out)
    if problems:
        raise KitError(
            f"{len(problems)} links are broken or load something from another machine\n" + "\n".join(f"  {each}" for each in problems[:20])
        )
    if browser:
        site.print_handouts(browser, out)
    say(f"the site is {relative(out / 'index.html')}")
    return 0
