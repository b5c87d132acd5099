"""What the tests of collecting share: two labs, two students, and downloads made up from names and texts."""

import io
import json
import tempfile
import unittest
import zipfile
from pathlib import Path

import support
from classroom.collecting import collect, collected
from classroom.course import config
from classroom.course.roster import Roster, Student
from classroom.grading import results
from classroom.marking import marks
from classroom.submission import handin

TREE = (support.ROOT / "solutions/02_tree/tree.cu").read_text()
STUB = (support.ROOT / "labs/02_tree/tree.cu").read_text()
STUBS = [
    handin.Stub("01_naive_atomic", "naive_atomic.cu", (support.ROOT / "labs/01_naive_atomic/naive_atomic.cu").read_text()),
    handin.Stub("02_tree", "tree.cu", STUB),
]
ANN, BO = (
    Student("ann", "Ann Lee", {"email": "ann@x.org", "canvas": "101"}),
    Student("bo", "Bo van Dyk", {"email": "bo@x.org", "canvas": "102"}),
)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.into = self.folder / "class"

    def take(self, source: Path, *students: Student) -> collect.Report:
        return collect.collect(source, STUBS, Roster(list(students)), self.into, None)

    def zip(self, entries: dict[str, str | bytes], name: str = "download.zip") -> Path:
        path = self.folder / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for entry, data in entries.items():
                file.writestr(entry, data)
        return path

    def gather(self, source: Path, *students: Student) -> dict:
        """As the command does it: with what earlier collections said."""
        roster = Roster(list(students))
        report = collect.collect(source, STUBS, roster, self.into, None)
        now = collected.merged(collected.read(self.into), report, self.into, roster, [stub.name for stub in STUBS])
        results.write(collected.place(self.into), now)
        return now

    def marks(self, *students: Student) -> dict[tuple[str, str], marks.Mark]:
        rungs = {stub.name: tuple(sorted({rung for rung, _ in stub.keys})) for stub in STUBS}
        everybody = collect.students_in(self.into, Roster(list(students)))
        return {(mark.student.id, mark.lab): mark for mark in marks.all_marks(self.into, config.Course(), everybody, rungs, {})}

    def about(self, student: str, lab: str = "02_tree") -> dict:
        return json.loads((self.into / "submissions" / student / lab / "about.json").read_text())

    def folders(self) -> list[str]:
        return sorted(path.name for path in (self.into / "submissions").glob("*"))

    def taken(self, student: str, lab: str = "02_tree") -> str:
        return next((self.into / "submissions" / student / lab).glob("*.cu")).read_text()

    def refusals(self, report: collect.Report) -> str:
        return "\n".join(f"{each.path}: {each.why}" for each in report.refused)


def packed(entries: dict[str, str | bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in entries.items():
            file.writestr(name, text)
    return data.getvalue()
