"""`kit test`: builds what the tests need and runs all of them, or those that are named."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from ..console import paint, say
from ..errors import KitError
from ..paths import ROOT
from ..programs import folder, tests
from ..programs.folder import FOLDER
from ..setup import environment, plan, system, toolchain
from ..table import Table

PURPOSE = "run every test: solutions, stubs, the kit's own"
GROUP = "work on the kit"
ORDER = 20
PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}
# What the suite `notebook` runs on, by groups of requirements.txt.
COURSE = [
    ("handouts", "the handouts become notebooks"),
    ("notebook", "they are executed"),
    ("docs", "the site is built"),
    ("browser", "the site is looked at"),
]


def arguments(parser) -> None:
    parser.add_argument("--suite", action="append", default=[], metavar="NAME", help="run only this suite; may be repeated")
    parser.add_argument("--list", action="store_true", help="list the tests with their suites and run none")
    parser.add_argument("names", nargs="*", metavar="TEST", help="run only the tests with these names; * is a wildcard")


def run(options) -> int:
    everything = not options.names and not options.suite and not options.list
    if everything:
        say(f"running every test takes {plan.TESTS}")
    tools = toolchain.prepare(tests=True)
    build = folder.configured(tools, tests=True)
    chosen = tests.chosen(tests.of(build), options.names, options.suite)
    if options.list:
        show(chosen)
        return 0
    if not any("gtest" in each["name"] for each in build.introspect("dependencies")):
        say("GoogleTest is not installed and could not be downloaded: the unit tests in C++ are left out")
    has_course_tests = (ROOT / "tests" / "notebook").is_dir()  # a students' edition has none
    with_course = has_course_tests and not options.names and (not options.suite or "notebook" in options.suite)
    if any("lint" in test.suites for test in chosen):
        environment.install("lint", "they check the conventions")
    if with_course:
        system.offer(system.BROWSER, bool(system.find_browser()))
    if any("classroom" in test.suites for test in chosen):
        system.offer(system.SANDBOX, bool(shutil.which("bwrap")))
        environment.install("class", "it spreads the grading of a class")
    if any("slurm" in test.suites for test in chosen):
        system.offer(system.SLURM, bool(shutil.which("slurmctld", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")))
    say(
        "building everything"
        if everything
        else f"building what {'this test needs' if len(chosen) == 1 else f'these {len(chosen)} tests need'}"
    )
    with ThreadPoolExecutor() as pool:  # one waits for the network, the other for the CPU
        installed = pool.submit(install_course) if with_course else None
        build.compile([build.path / "all", build.path / "meson-test-prereq"] if everything else tests.needs(chosen))
    if installed:
        installed.result()
    log = FOLDER / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    command = [tools.meson, "test", "-C", str(FOLDER), "--no-rebuild", "--print-errorlogs", *words_for_meson(options, chosen)]
    sys.stdout.flush()
    status = shown(command, {"MESON_TESTTHREADS": str(processes())} | build.environment | {"WARPFOLD_KIT_TEST": "1"})
    if not log.exists():
        raise KitError("Meson ran no tests", "Its output is above.")
    counts = tally(log.read_text())
    colour = "red" if counts["failed"] or status else "green"
    print(paint(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", colour))
    return 1 if counts["failed"] or status else 0


def processes() -> int:
    """Tests that run at the same time: more than there are cores, since many of them wait most of the time."""
    return 2 * len(os.sched_getaffinity(0))


def shown(command: list[str], environment: dict[str, str]) -> int:
    """Meson does not know NO_COLOR, but writes no escapes into a pipe."""
    pipe = subprocess.PIPE if os.environ.get("NO_COLOR") else None
    with subprocess.Popen(command, env=environment, stdout=pipe, text=True, errors="replace") as meson:
        for line in meson.stdout or ():
            print(line, end="", flush=True)
    return meson.returncode


def words_for_meson(options, chosen: list[tests.Test]) -> list[str]:
    """Names and suites. The student's own files are tested only if they are asked for; the suite `stubs` checks the others."""
    if options.suite:
        return [*options.names, *(f"--suite={name}" for name in options.suite)]
    if any(tests.STUDENTS in test.suites for test in chosen):
        return [test.name for test in chosen]  # by name, since a wildcard may mean other labs as well
    return [*options.names, f"--no-suite={tests.STUDENTS}"]


def show(chosen: list[tests.Test]) -> None:
    table = Table(["test", "suites"], left=2)
    for test in chosen:
        table.add([test.name, ", ".join(test.suites)])
    print(table.text())


def install_course() -> None:
    for group, why in COURSE:
        environment.install(group, why)


def tally(log: str) -> Counter:
    """Counts Meson's results; it writes a line of JSON for each test that has ended."""
    counts = Counter()
    for line in log.splitlines():
        result = json.loads(line)["result"]
        counts["passed" if result in PASSED else "skipped" if result in SKIPPED else "failed"] += 1
    return counts
