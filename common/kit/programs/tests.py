"""The tests that Meson knows: which exist, which of them are requested, and what must be built for those."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import Path

from ..errors import USAGE, KitError
from .folder import Build

STUDENTS = "labs"  # the suite of the student's own files, which the student tests


@dataclass(frozen=True)
class Test:
    name: str
    suites: tuple[str, ...]
    needs: tuple[Path, ...]  # the files to build


def of(build: Build) -> list[Test]:
    build.compile([build.path / "build.ninja"])  # so that Meson reads its files again if one has changed
    files = {target["id"]: tuple(map(Path, target["filename"])) for target in build.introspect("targets")}
    return [
        Test(
            entry["name"],
            tuple(suite.split(":")[-1] for suite in entry["suite"]),
            tuple(file for target in entry["depends"] for file in files.get(target, ())),
        )
        for entry in build.introspect("tests")
    ]


def chosen(tests: list[Test], names: list[str], suites: list[str]) -> list[Test]:
    """The tests with these names (`*` is a wildcard) and suites; if no suite is named, the student's only where a name is
    exactly theirs. Every name and every suite must exist."""
    known = list(dict.fromkeys(suite for test in tests for suite in test.suites))
    for suite in suites:
        if suite not in known:
            raise KitError(f"no suite is called {suite}", f"There are: {', '.join(known)}", USAGE)
    offered = [test for test in tests if (set(suites) & set(test.suites) if suites else STUDENTS not in test.suites or test.name in names)]
    for name in names:
        if not any(fnmatch(test.name, name) for test in offered):
            raise unknown(name, tests, offered)
    return [test for test in offered if not names or any(fnmatch(test.name, name) for name in names)]


def unknown(name: str, tests: list[Test], offered: list[Test]) -> KitError:
    if elsewhere := next((test for test in tests if fnmatch(test.name, name)), None):
        return KitError(f"{name} belongs to the suite {elsewhere.suites[0]}",
                        f"./kit test --suite {elsewhere.suites[0]} {name}", USAGE)  # fmt: skip
    similar = get_close_matches(name, [test.name for test in offered], 3, 0.5)
    similar += [test.name for test in offered if name in test.name and test.name not in similar][:3]
    hint = f"Did you mean: {', '.join(similar)}? " if similar else ""
    return KitError(f"no test is called {name}", f"{hint}./kit test --list shows them all.", USAGE)


def needs(tests: Iterable[Test]) -> list[Path]:
    return list(dict.fromkeys(file for test in tests for file in test.needs))
