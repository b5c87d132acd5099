"""`kit test`: builds everything and runs the whole Meson suite; what .ci/run calls."""

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from ..building.folder import FOLDER, Build
from ..console import paint, say
from ..errors import KitError
from ..paths import ROOT
from ..setup import environment, system, toolchain

PURPOSE = "run every test: solutions, stubs, and the kit's own"
ORDER = 20

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}
# What the suite `notebook` runs on, by groups of requirements.txt.
COURSE = [("handouts", "the handouts become notebooks"), ("notebook", "they are executed"), ("docs", "the site is built"), ("browser", "the site is looked at")]


def arguments(parser) -> None:
    parser.add_argument("--suite", action="append", default=[], metavar="NAME", help="only this suite; may be repeated")
    parser.add_argument("names", nargs="*", metavar="TEST", help="only the tests of these names; * is a wildcard")


def run(options) -> int:
    build = Build(toolchain.prepare(tests=True), tests=True)
    has_course_tests = (ROOT / "tests" / "notebook").is_dir()  # a students' edition has none
    with_course = has_course_tests and not options.names and (not options.suite or "notebook" in options.suite)
    if with_course:
        system.offer(system.BROWSER)
    say("building everything")
    with ThreadPoolExecutor() as pool:  # one waits for the network, the other for the processor
        installed = pool.submit(install_course) if with_course else None
        build.compile(["all", "meson-test-prereq"])  # what only a test needs is in the second
    if installed:
        installed.result()
    log = FOLDER / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    command = [build.tools.meson, "test", "-C", str(FOLDER), "--no-rebuild", "--print-errorlogs", *options.names]
    # The student's own files are the student's to test (meson test -C build); here the suite `stubs` looks at them.
    command += [f"--suite={name}" for name in options.suite] or ["--no-suite=labs"]
    sys.stdout.flush()
    status = subprocess.run(command, env=build.tools.environ() | {"WARPFOLD_KIT_TEST": "1"}).returncode
    if not log.exists():
        raise KitError("Meson ran no tests", "Check the names: meson test -C .kit/build --list shows them all.")
    counts = tally(log.read_text())
    colour = "red" if counts["failed"] or status else "green"
    print(paint(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", colour))
    return 1 if counts["failed"] or status else 0


def install_course() -> None:
    for group, why in COURSE:
        environment.install(group, why)


def tally(log: str) -> Counter:
    """Meson's own tests, counted; it writes one JSON object a line for each that ended."""
    counts = Counter()
    for line in log.splitlines():
        result = json.loads(line)["result"]
        counts["passed" if result in PASSED else "skipped" if result in SKIPPED else "failed"] += 1
    return counts
