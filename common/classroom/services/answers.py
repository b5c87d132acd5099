"""What a service gets back for a submission that it hands over: the mark, in the service's own form.

Gradescope: https://gradescope-autograders.readthedocs.io (results.json).
PrairieLearn: https://prairielearn.readthedocs.io/en/latest/externalGrading/."""

import re
from pathlib import Path

from ..course import config, version
from ..course.roster import Student
from ..grading import grader, results
from ..grading.index import Found
from ..isolation.sandbox import Sandbox
from ..marking import marks
from ..submission import archive, handin
from ..submission.archive import Entry
from ..submission.handin import Stub
from ..submission.regions import NotALab, splice

FORMS = ("gradescope", "prairielearn", "json")


def newest(folder: Path, stub: Stub) -> str | None:
    """The newest text of this lab among the files of a submission, within a student's limits."""
    found = []
    with archive.listed(folder) as listed:
        for entry in archive.read([each for each in listed if isinstance(each, archive.Listed)]):
            if not isinstance(entry, Entry) or entry.data is None:
                continue
            name, _ = handin.as_named(entry.path)
            if not handin.lab_of(name, entry.data, [stub]):
                continue
            try:
                text = handin.as_source(name, entry.data, stub)
                touched = not splice(stub.text, text).untouched >= {rung for rung, _ in stub.keys}
                found.append((touched, entry.time, entry.path, text))
            except NotALab:
                found.append((False, entry.time, entry.path, entry.data.decode(errors="replace")))
    return max(found)[3] if found else None


def grade_one(lab: version.Lab, folder: Path, course: config.Course, hidden: grader.Hidden, sandbox: Sandbox, work: Path) -> marks.Mark:
    """The mark for one submission, which is in a folder."""
    student = Student("submission", "submission")
    most = sum(course.points_of(lab.name, rung) for rung in lab.rungs)
    text = newest(folder, Stub(lab.name, lab.file, lab.pristine.read_text()))
    if text is None:
        return marks.Mark(student, lab.name, most, 0.0, "missing", f"no file of {lab.name} was handed in: {lab.file}, or its handout")
    result = grader.grade(lab, text, hidden, sandbox)
    found = Found(work, lab.name, "submission")
    results.write(
        results.place(work, lab.name, found.key) if result["graded"] else results.failure_place(work, lab.name, found.key), result
    )
    return marks.mark(work, course, student, lab.name, lab.rungs, found, {})


def text_of(rung: marks.RungMark) -> str:
    parts = [f"{rung.state}: {rung.reason}" if rung.reason else rung.state, rung.detail.get("diagnosis", {}).get("text", "")]
    for hazard in rung.detail.get("hazards", [])[:3]:
        parts.append(
            "\n".join(
                each
                for each in (
                    f"{hazard['kind']}: {hazard['message']} ({hazard['file']}:{hazard['line']})",
                    hazard.get("launch", ""),
                    hazard.get("why", ""),
                    hazard.get("advice", ""),
                )
                if each
            )
        )
    return "\n".join(part for part in parts if part)


def as_gradescope(mark: marks.Mark, seconds: float) -> dict:
    """results.json. It has no score if nothing could be graded: Gradescope then shows an error, not a zero."""
    answer: dict = {
        "visibility": "visible",
        "execution_time": round(seconds, 1),
        "output": mark.why or f"{mark.lab}: {mark.points:g} of {mark.most:g} points",
    }
    if mark.points is None:
        return answer | {"tests": []}
    tests = [
        {
            "name": rung.name,
            "score": rung.points,
            "max_score": rung.most,
            "status": "passed" if rung.state == "pass" else "failed",
            "output": text_of(rung),
            "visibility": "visible",
        }
        for rung in mark.rungs
    ]
    passed = sum(rung.state == "pass" for rung in mark.rungs)
    return answer | {"score": mark.points, "tests": tests, "leaderboard": [{"name": "Rungs that pass", "value": passed, "order": "desc"}]}


def as_prairielearn(mark: marks.Mark) -> dict:
    answer: dict = {"gradable": mark.points is not None, "message": mark.why or f"{mark.lab}: {mark.points:g} of {mark.most:g} points"}
    if mark.points is None:
        return answer | {"format_errors": [mark.why]}
    tests = [
        {
            "name": rung.name,
            "description": rung.state,
            "points": rung.points,
            "max_points": rung.most,
            "message": "" if rung.state == "pass" else text_of(rung),
        }
        for rung in mark.rungs
    ]
    return answer | {"score": round(mark.points / mark.most, 6) if mark.most else 0.0, "tests": tests}


def as_form(form: str, mark: marks.Mark, seconds: float) -> dict:
    if form == "gradescope":
        return as_gradescope(mark, seconds)
    if form == "prairielearn":
        return as_prairielearn(mark)
    return {
        "lab": mark.lab,
        "state": mark.state,
        "why": mark.why,
        "points": mark.points,
        "most": mark.most,
        "flags": mark.flags,
        "rungs": [rung.detail for rung in mark.rungs],
    }


def is_a_container() -> bool:
    """Whether this is a container that a service made for this one submission, in which no sandbox can be made."""
    return bool(re.search(r"docker|containerd|kubepods", Path("/proc/1/cgroup").read_text())) or Path("/.dockerenv").exists()
