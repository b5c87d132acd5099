"""What there is to grade, and how one piece of it is graded, in this process or in a worker anywhere."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ..course import version
from ..isolation.sandbox import Sandbox
from ..submission import handin
from ..submission.archive import printable, shown
from ..submission.regions import NotALab
from . import grader, results


@dataclass(frozen=True)
class Piece:
    """One text of one lab. Students who handed in the same text share its result."""

    lab: version.Lab
    source: Path
    key: str
    hidden: grader.Hidden
    into: Path
    unsafe: bool
    device: str = grader.EMULATOR

    @property
    def result(self) -> dict | None:
        return results.read(results.place(self.into, self.lab.name, self.key))

    @property
    def is_given_up(self) -> bool:
        """Whether the trusted program failed on it before, as it would again."""
        failure = results.read(results.failure_place(self.into, self.lab.name, self.key))
        return bool(failure and failure.get("to_look_at"))


def pieces(
    into: Path, students: list[str], labs: list[version.Lab], hidden: grader.Hidden, unsafe: bool, device: str = grader.EMULATOR
) -> dict[tuple[str, str], Piece]:
    """By student and lab."""
    found = {}
    for student in students:
        for lab in labs:
            source = into / "submissions" / student / lab.name / lab.file
            if source.is_file():
                key = key_of(lab, handin.kept(source), hidden, unsafe, device)
                found[student, lab.name] = Piece(lab, source, key, hidden, into, unsafe, device)
    return found


def key_of(lab: version.Lab, text: str, hidden: grader.Hidden, unsafe: bool, device: str) -> str:
    """The key of the file as it is compiled, together with the flags for the rest of it."""
    try:
        spliced = grader.spliced_with(lab, text)
        text = spliced.text + "\0" + "\n".join(spliced.flags)
    except NotALab as error:
        text = f"{text}\0{error}"
    return grader.key_of(lab, text, hidden, unsafe, device)


def scratch_of(into: Path) -> str:
    """How the names of this class's folders in /tmp begin, so that those of a killed run can be found."""
    return f"warpfold-{hashlib.sha256(str(into.resolve()).encode()).hexdigest()[:12]}-"


def grade(piece: Piece) -> bool:
    """Grades one piece and writes its result, or why there is none; returns whether there is one. A failure of the machine is tried
    once more."""
    result: dict = {}
    for _ in range(2):
        try:
            text, room = handin.kept(piece.source), Sandbox(piece.unsafe)
            result = grader.grade(piece.lab, text, piece.hidden, room, scratch_of(piece.into), piece.device)
        except OSError as error:
            result = not_graded(piece, f"this machine: {error}")
        except Exception as error:  # a submission that the grader was not made for; the next one follows
            result = not_graded(piece, f"look at it: the grader failed over this file ({type(error).__name__}: {shown(str(error))})") | {
                "to_look_at": True
            }
        result["why"] = printable(result["why"])  # it may quote what the submission printed
        if result.get("to_look_at"):
            break
        if result["graded"]:
            results.write(results.place(piece.into, piece.lab.name, piece.key), result)
            results.failure_place(piece.into, piece.lab.name, piece.key).unlink(missing_ok=True)
            return True
    results.write(results.failure_place(piece.into, piece.lab.name, piece.key), result)
    return False


def not_graded(piece: Piece, why: str) -> dict:
    return {"format": version.FORMAT, "lab": piece.lab.name, "graded": False, "why": why, "rungs": [], "flags": [], "unsafe": piece.unsafe}
