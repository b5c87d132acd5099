"""What `./kit class collect` could not take, over all the times that it ran: class/collected.json."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from ..course.roster import Roster
from ..submission.archive import shown

# Archives that nothing here opens: likely to contain what somebody meant to hand in.
PACKED = (".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".tbz2", ".xz", ".txz", ".zst")


@dataclass(frozen=True)
class RefusedFile:
    path: str  # made safe to show
    why: str
    student: str = ""  # whose it is, if that is known
    lab: str = ""  # the lab it was meant for, if that is known
    kind: str = "refused"  # or "ignored": of a type that is never read; "claim": it says that it is another student's; or "limit": nothing after it was read

    @property
    def listed(self) -> str:
        """For the instructor."""
        return shown(f"{self.path}: {self.why}" if self.path else self.why)

    @property
    def text(self) -> str:
        """For the student too, so without the name that the submission system gave."""
        return shown(f"refused: {PurePosixPath(self.path).name}: {self.why}" if self.path else f"refused: {self.why}")


def place(into: Path) -> Path:
    return into / "collected.json"


def read(into: Path) -> dict:
    try:
        found = json.loads(place(into).read_text())
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError):
        return {}


def files(listed: list) -> list[RefusedFile]:
    keys = RefusedFile.__dataclass_fields__
    return [
        RefusedFile(**{key: str(value) for key, value in each.items() if key in keys})
        for each in listed
        if "path" in each and "why" in each
    ]


def refused(into: Path) -> list[RefusedFile]:
    """What was refused of somebody, and not replaced since."""
    return first_to_look_at(each for each in files(read(into).get("refused", [])) if each.student)


def first_to_look_at(listed: Iterable[RefusedFile]) -> list[RefusedFile]:
    """Limits and archives first, as the rest may be behind them."""
    return sorted(listed, key=lambda each: (each.kind != "limit", not each.path.lower().endswith((*PACKED, ".zip"))))


def refusals(into: Path) -> dict[tuple[str, str], RefusedFile]:
    """The first of them for each student and lab ("": it is not known which)."""
    return {(each.student, each.lab): each for each in reversed(refused(into))}


def merged(before: dict, report, into: Path, roster: Roster, labs: list[str]) -> dict:
    """What this run of collect says, and what earlier ones said that still holds: a file is remembered until another one was taken for
    that student and lab. `report`: a collect.Report."""
    now = [*report.refused, *report.remembered]
    taken = {(student, lab) for student, of in report.taken.items() for lab in of}
    kept = [each for each in files(before.get("refused", [])) if (each.student, each.lab) not in taken and each not in now]
    about_taken = {f"{student} {lab}" for student, lab in taken}
    still = lambda key: [line for line in before.get(key, []) if line.split(":")[0] not in about_taken]  # noqa: E731
    strangers = [name for name in before.get("strangers", []) if name not in roster.students and (into / "submissions" / name).is_dir()]
    folders = {path.name for path in (into / "submissions").glob("*") if path.is_dir()}
    known = {student.id for student in roster.students.values() if student.rostered} if roster.given else folders
    missing = {}
    for lab in labs:
        absent = sorted(student for student in known if not (into / "submissions" / student / lab).is_dir())
        if len(absent) < len(known) or any((into / "submissions").glob(f"*/{lab}")):
            missing[lab] = absent
    ignored = [each for each in files(before.get("ignored", [])) if each not in report.ignored]
    return {
        "refused": [asdict(each) for each in [*kept, *now]],
        "ignored": [asdict(each) for each in [*ignored, *report.ignored]],
        "duplicates": [*still("duplicates"), *report.duplicates],
        "strangers": list(dict.fromkeys([*strangers, *report.strangers])),
        "namesakes": list(dict.fromkeys([*before.get("namesakes", []), *report.namesakes])),
        "missing": missing,
        "late": [*still("late"), *report.late],
        "uncommitted": [*still("uncommitted"), *report.uncommitted],
        "remarks": [*still("remarks"), *report.remarks],
    }
