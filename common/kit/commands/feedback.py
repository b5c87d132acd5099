"""`kit feedback`: a page for each student, and the instructor's overview."""

from dataclasses import dataclass
from pathlib import Path

from ..classroom import course_folder, index, marks, pages
from ..classroom.collect import students_in
from ..console import say
from ..paths import ROOT
from ..process import relative

PURPOSE = "write a page of feedback for each student, and an overview for the instructor"
ORDER = 240


def arguments(parser) -> None:
    course_folder.argument(parser)


@dataclass(frozen=True)
class Pristine:
    pristine: Path


def run(options) -> int:
    course = course_folder.collected(options.folder)
    labs, pieces = index.read(course.folder)
    students = students_in(course.folder, course.roster)
    made = marks.all_marks(course.folder, course.config, students, labs, pieces)
    texts, sources = {}, {}
    for student, lab in pieces:
        file = next((course.folder / "submissions" / student / lab).glob("*.cu"))
        texts[student, lab] = file.read_text()
        sources[student, lab] = pages.compiled_source(Pristine(ROOT / "labs" / lab / file.name), texts[student, lab])
    out = course.folder / "feedback"
    out.mkdir(exist_ok=True)
    for student in students:
        of = [mark for mark in made if mark.student.id == student.id]
        text = pages.feedback(course.config, of, {lab: sources[student.id, lab] for lab in labs if (student.id, lab) in sources})
        (out / f"{student.id}.html").write_text(text)
    (course.folder / "overview.html").write_text(pages.overview(course.config, made, texts))
    say(f"wrote {len(students)} pages in {relative(out)}, and {relative(course.folder / 'overview.html')}")
    return 0
