"""`kit class feedback`: a page for each student, and the instructor's overview."""

from dataclasses import dataclass
from pathlib import Path

from kit.console import say
from kit.errors import KitError
from kit.paths import ROOT
from kit.process import relative

from ..collecting import collected
from ..collecting.collect import students_in
from ..course import config, course_folder
from ..feedback import pages, similar
from ..grading import index
from ..marking import marks
from ..submission import handin
from ..submission.archive import shown

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
        text = handin.kept(file)
        sources[student, lab] = pages.compiled_source(Pristine(ROOT / "labs" / lab / file.name), text)
        group = marks.about(course.folder, student, lab).get("group", [])
        texts[" and ".join(group) or student, lab] = text  # a group's text is one text, and no two that are alike
    out = course.folder / "feedback"
    out.mkdir(exist_ok=True)
    for student in students:
        of = [mark for mark in made if mark.student.id == student.id]
        pages.write(
            out / f"{student.id}.html",
            page_of(course.config, of, {lab: sources[student.id, lab] for lab in labs if (student.id, lab) in sources}),
        )
    overview = pages.overview(course.config, made, texts, built_alike(texts), collected.refused(course.folder))
    pages.write(course.folder / "overview.html", overview)
    say(f"wrote {len(students)} pages in {relative(out)}, and {relative(course.folder / 'overview.html')}")
    return 0


def page_of(course: config.Course, made: list[marks.Mark], sources: dict[str, str]) -> str:
    """A student's page; if what they wrote makes that impossible, one with the points alone, and the others follow."""
    try:
        return pages.feedback(course, made, sources)
    except Exception as error:
        student = made[0].student.id
        say(f"{student}: the page could not be written whole, only the points ({type(error).__name__}: {shown(str(error))})")
        for mark in made:
            mark.rungs = []
            mark.flags = [*mark.flags, "the page could not be written whole: look at the result"]
        return pages.feedback(course, made, {})


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
