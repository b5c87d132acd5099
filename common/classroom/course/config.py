"""course.toml: which labs count, for how many points, until when. docs/instructor/grading.md says what it may contain."""

import hashlib
import json
import os
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from kit.errors import USAGE, KitError

from . import settings
from .settings import Hidden

DEFAULT = """# What counts in this class. docs/instructor/grading.md lists everything that this file may contain.
title = "Parallel reduction"
labs = []  # all labs that can be graded; or ["02_tree", "05_grid_stride"], as ./kit class release --labs writes it. 12_many_gpus, if listed, is marked by hand in overrides.csv

[points]  # per rung of a lab; or a table: [points.02_tree] with many_pass = 3, default = 1
default = 1

[credit]  # the share of a rung's points that a state earns
pass = 1.0
hazard = 0.5
off-technique = 0.5

# [due]
# 02_tree = 2026-11-30T23:59:00+01:00

# [extensions]  # in days, for all labs; or a table: alice = { 02_tree = 2 }
# alice = 2

# [late]
# per_day = 0.1   # the share of the points that each day or part of a day costs
# most_days = 5   # after this many days nothing is left
# grace_minutes = 10

# [hidden]  # tried in addition to the public sizes; if left out, chosen once (secret.txt)
# seed = 4711
# sizes = ["12345", "777:64"]  # N, or N:B with B threads per block

# [engine]
# kind = "slurm"  # or "local": a pool on this machine
# workers = 4     # concurrently, on each node
# nodes = 2       # of Slurm
# partition = "main"
# walltime = "01:00:00"
# shared = "/home/teacher/class-work"  # a folder that all nodes see
"""


def toml(path: Path) -> dict:
    try:
        import tomllib
    except ModuleNotFoundError:
        import tomli as tomllib  # Python 3.10
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise KitError(f"{path}: {error}", code=USAGE) from error


@dataclass
class Course:
    title: str = "Parallel reduction"
    labs: list[str] = field(default_factory=list)
    points: dict = field(default_factory=lambda: {"default": 1})
    credit: dict[str, float] = field(default_factory=lambda: {"pass": 1.0, "hazard": 0.5, "off-technique": 0.5})
    due: dict[str, datetime] = field(default_factory=dict)
    extensions: dict = field(default_factory=dict)
    late: dict = field(default_factory=dict)
    hidden: dict = field(default_factory=dict)
    engine: dict = field(default_factory=dict)

    def points_of(self, lab: str, rung: str) -> float:
        of_lab = self.points.get(lab, self.points.get("default", 1))
        if isinstance(of_lab, dict):
            return float(of_lab.get(rung, of_lab.get("default", self.points.get("default", 1))))
        return float(of_lab)

    def credit_for(self, state: str) -> float:
        return float(self.credit.get(state, 0.0))

    def days_late(self, student: str, lab: str, when: float | None) -> int:
        """Days late, each part of a day counting as a day, with this student's extension."""
        due = self.due.get(lab)
        if due is None or not when:
            return 0
        extension = self.extensions.get(student, 0)
        days = extension.get(lab, 0) if isinstance(extension, dict) else extension
        limit = due + timedelta(days=float(days), minutes=float(self.late.get("grace_minutes", 0)))
        over = when - limit.timestamp()
        return 0 if over <= 0 else int(over // 86400) + 1

    def late_factor(self, days: int) -> float:
        if days == 0:
            return 1.0
        if days > int(self.late.get("most_days", 10_000)):
            return 0.0
        return max(0.0, 1.0 - float(self.late.get("per_day", 0.0)) * days)


def load(into: Path) -> Course:
    """The class's course.toml; if there is none, the default is written first."""
    path = into / "course.toml"
    if not path.exists():
        write(path, [])
    table = toml(path)
    settings.check(path, table)
    return Course(**table)


def write(path: Path, labs: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(DEFAULT.replace("labs = []", f"labs = {json.dumps(labs)}", 1))
    new.replace(path)  # so that a full disk leaves no half of it


def preset(into: Path, labs: list[str]) -> str:
    """Has the class count the labs that are released, unless its course.toml says something already; returns what to say about it."""
    path = into / "course.toml"
    if not path.exists():
        write(path, labs)
        return f"{path} counts these labs"
    counted = load(into).labs
    lacking = [lab for lab in labs if counted and lab not in counted]
    if not counted:
        return f"{path} counts all labs; to count those of this release: labs = {json.dumps(labs)}"
    return f"{path} does not count {', '.join(lacking)}: add what the class is to do to its labs" if lacking else ""


def secret(into: Path) -> bytes:
    """This class's secret, made when it is first needed."""
    path = into / "secret.txt"
    if not path.exists():
        into.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_hex(16) + "\n")
        new.replace(path)
    if kept := path.read_bytes().strip():
        return kept
    raise KitError(
        f"{path}: this file is empty, and the hidden sizes and the names on the board are derived from it",
        "Restore it from a copy. If there is none, delete it: the next ./kit class grade makes a new one and grades everything again.",
    )


def hidden(into: Path, course: Course) -> Hidden:
    """The hidden sizes and seed: those in course.toml, or else those derived from the class's secret."""
    if "seed" in course.hidden:
        return Hidden(int(course.hidden["seed"]), tuple(map(str, course.hidden.get("sizes", []))))
    numbers = hashlib.sha256(secret(into)).digest()
    take = lambda index, most: int.from_bytes(numbers[4 * index : 4 * index + 4], "big") % most  # noqa: E731
    block = 32 << take(0, 6)
    sizes = (str(2 + take(1, 250)), f"{1025 + take(2, 60_000)}", f"{70_000 + take(3, 130_000)}", f"{300 + take(4, 20_000)}:{block}")
    if "sizes" in course.hidden:
        sizes = tuple(map(str, course.hidden["sizes"]))
    return Hidden(int.from_bytes(numbers[16:], "big"), sizes)
