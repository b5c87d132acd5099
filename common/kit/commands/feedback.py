"""`kit feedback`: a page for each student, and the instructor's overview."""

from dataclasses import dataclass
from pathlib import Path

from ..classroom import course_folder, index, marks, pages, similar
from ..classroom.collect import students_in
from ..console import say
from ..errors import KitError
from ..paths import ROOT
from ..process import relative

PURPOSE = "write a page of feedback for each student, and an overview for the instructor"
ORDER = 240


def arguments(parser) -> None:
    course_folder.argument(parser)
    parser.add_argument(
        "--alike", action="store_true", help="install compare50, which finds code that is built alike; from then on it is used"
    )


@dataclass(frozen=True)
class Pristine:
    pristine: Path


def run(options) -> int:
    course = course_folder.collected(options.folder)
    if options.alike:
        similar.install()
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
    (course.folder / "overview.html").write_text(pages.overview(course.config, made, texts, built_alike(texts)))
    say(f"wrote {len(students)} pages in {relative(out)}, and {relative(course.folder / 'overview.html')}")
    return 0


def built_alike(texts: dict[tuple[str, str], str]) -> list[similar.Pair] | None:
    """What compare50 finds, lab by lab; None if it is not installed."""
    if not similar.is_installed():
        return None
    found = []
    for lab in sorted({lab for _, lab in texts}):
        of_lab = {student: text for (student, its), text in texts.items() if its == lab}
        stub = next((ROOT / "labs" / lab).glob("*.cu")).read_text()
        try:
            found += similar.pairs(lab, stub, of_lab)
        except KitError as error:  # pages without it are better than none
            say(str(error))
    return found
