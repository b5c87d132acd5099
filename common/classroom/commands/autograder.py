"""`kit class autograder`: what Gradescope, PrairieLearn and git services need to grade automatically, and what they run."""

import tempfile
import time
from pathlib import Path

from kit.console import say
from kit.errors import USAGE, KitError
from kit.process import relative

from ..course import config, release, version
from ..grading import results
from ..isolation import sandbox
from ..services import answers, packages

PURPOSE = "write what Gradescope, PrairieLearn or a git service needs to grade automatically"
ORDER = 250

USUAL_NAMES = {"gradescope": "autograder.zip", "prairielearn": "prairielearn", "git": "grade.yml"}


def arguments(parser) -> None:
    parser.add_argument(
        "what",
        choices=[*USUAL_NAMES, "build", "run"],
        metavar="KIND",
        help="gradescope, prairielearn or git; the service then runs `build` once and `run` for each submission",
    )
    parser.add_argument("--lab", required=True, metavar="LAB", help="the lab to grade")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the file or folder to write")
    parser.add_argument(
        "--class",
        dest="folder",
        type=Path,
        default=Path("class"),
        metavar="FOLDER",
        help="the class's folder, whose course.toml counts (class)",
    )
    parser.add_argument("--submission", type=Path, metavar="FOLDER", help="run: the submission")
    parser.add_argument("--results", type=Path, metavar="FILE", help="run: the file for the result")
    parser.add_argument("--form", choices=answers.FORMS, default="json", help="run: the format of the result")


def run(options) -> int:
    lab = (release.chosen_labs([options.lab]) or [])[0]
    if lab in version.BY_HAND:
        raise KitError(f"{lab} is not graded by machine: {version.BY_HAND[lab]}", code=USAGE)
    if options.what == "build":
        version.prepare([lab])
        return 0
    if options.what == "run":
        return grade(options, lab)
    course = config.load(options.folder)
    config.hidden(options.folder, course)
    settings = {name: (options.folder / name).read_bytes() for name in ("course.toml", "secret.txt") if (options.folder / name).exists()}
    out = options.out or Path(USUAL_NAMES[options.what])
    packages.write(options.what, lab, out, settings)
    say(f"wrote {relative(out)}")
    return 0


def grade(options, lab: str) -> int:
    if options.submission is None or options.results is None:
        raise KitError("autograder run needs --submission FOLDER and --results FILE", code=USAGE)
    if not options.submission.exists():
        raise KitError(f"--submission {options.submission}: there is no such folder", "Nothing was graded or written.", USAGE)
    if not options.results.parent.is_dir():
        raise KitError(f"--results {options.results}: there is no folder {options.results.parent}", "Make it first.", USAGE)
    if options.results.is_dir():
        raise KitError(f"--results {options.results}: this is a folder; name a file", code=USAGE)
    graded = version.prepare([lab])[0]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="warpfold-class-") as work:
        course = config.load(options.folder) if options.folder.exists() else config.Course()
        hidden = config.hidden(options.folder if options.folder.exists() else Path(work), course)
        mark = answers.grade_one(graded, options.submission, course, hidden, room(), Path(work))
    results.write(options.results, answers.as_form(options.form, mark, time.monotonic() - began))
    options.results.chmod(0o644)
    say(f"{lab}: {mark.why or f'{mark.points:g} of {mark.most:g} points'}")
    return 0 if mark.points is not None else 1


def room() -> sandbox.Sandbox:
    """A sandbox; or, in a service's container that allows none and is discarded afterwards, another user without privileges."""
    if not sandbox.why_not():
        return sandbox.Sandbox()
    made = sandbox.Sandbox(dropping=True)
    if made.as_root and answers.is_a_container():
        say("this container allows no sandbox: the student's code runs as a separate user without privileges")
        return made
    return sandbox.require(unsafe=False)
