"""A made-up class, as a download from Canvas (and one from Moodle) would bring it: all kinds of submission, attacks among them.

`python3 tests/classroom/made_up.py FOLDER [STUDENTS]` writes it: submissions.zip, roster.csv, canvas-export.csv, moodle-worksheet.csv."""

import csv
import io
import json
import random
import re
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import support
from classroom.course.roster import squashed
from classroom.submission import regions

LABS = {"01_naive_atomic": "naive_atomic.cu", "02_tree": "tree.cu", "05_grid_stride": "grid_stride.cu"}
FIRST = ("Ada", "Bjarne", "Chen", "Dilek", "Émile", "Farid", "Grace", "Hana", "Ivo", "Jana", "Kofi", "Lúcia", "Mei", "Nils", "Olga", "Priya",
         "Quentin", "Rosa", "Søren", "Tomás", "Uma", "Viktor", "Wanjiru", "Xin", "Yusuf", "Zoë")  # fmt: skip
LAST = ("Abbott", "Bauer", "Costa", "Dumont", "Eriksen", "Fontaine", "García", "Hwang", "Ivanova", "Jensen", "Kowalski", "Lindqvist", "O'Brien",
        "van Dyk")  # fmt: skip
# Each of the first lab, from a folder of attacks; what it would be that they gain stands there.
ATTACKS = ("forged_json", "leaves_quietly", "daemon", "reads_memory_of_others", "speaks_the_protocol", "formula", "markup", "terminal_escapes",
           "hard_coded_sizes", "includes_solution_by_path")  # fmt: skip


@dataclass(frozen=True)
class Student:
    id: str
    number: int  # Canvas's own
    first: str
    last: str

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"


def students(count: int) -> list[Student]:
    made = []
    for index in range(count):
        first, last = FIRST[index % len(FIRST)], LAST[(index * 5 + index // len(FIRST)) % len(LAST)]
        made.append(
            Student(f"{squashed(first)[:2]}{squashed(last)[:4]}{index:02}".encode("ascii", "ignore").decode(), 1000 + index, first, last)
        )
    return made


# ---- what a student writes


def text_of(tree: str, lab: str) -> str:
    return (support.ROOT / tree / lab / LABS[lab]).read_text()


def solved(lab: str, rungs: Callable[[str], bool] = lambda rung: True) -> str:
    """The stub with the solutions of some rungs."""
    ours, theirs = regions.take_apart(text_of("labs", lab)), regions.take_apart(text_of("solutions", lab))
    lines = list(ours.outside[0])
    for index, ((rung, stub), (_, solution)) in enumerate(zip(ours.regions, theirs.regions, strict=True)):
        lines += (solution if rungs(rung) else stub) + ours.outside[index + 1]
    return "\n".join(lines)


def personal(text: str, student: Student) -> str:
    """With a comment of the student's in the first region, so that no two texts are the same."""
    return re.sub(r"^( *)// END", rf"\1// {student.id} was here\n\1// END", text, count=1, flags=re.M)


MISTAKES = [
    (
        "02_tree",
        "if (t < stride) partial[t] += partial[t + stride];\n    __syncthreads();",
        "if (t < stride) partial[t] += partial[t + stride];",
    ),
    ("02_tree", "stride < blockDim.x; stride *= 2", "stride <= blockDim.x; stride *= 2"),
    ("05_grid_stride", "blocks = lab::resident_blocks(block);", "blocks = 1000;"),
    ("05_grid_stride", "i < n; i += threads", "i < n; i += 2 * threads"),
    ("01_naive_atomic", "if (i < n) atomicAdd(result, input[i]);", "if (i <= n) atomicAdd(result, input[i]);"),
    ("01_naive_atomic", "atomicAdd(result, input[i]);", "*result += input[i];"),
    ("01_naive_atomic", "atomicAdd(result, input[i]);", "atomicAdd(result, input[i])"),
]


def mistaken(index: int) -> tuple[str, str]:
    lab, right, wrong = MISTAKES[index % len(MISTAKES)]
    text = text_of("solutions", lab)
    if right not in text:
        raise ValueError(f"{lab} no longer says {right!r}")
    return lab, text.replace(right, wrong, 1)


def as_handout(lab: str, text: str, notebook: bool) -> str:
    """The regions of a file as the cells of its handout."""
    parts = regions.take_apart(text)
    cells = [f"%%lab {rung} {part + 1}\n" + "\n".join(lines) for (rung, part), (_, lines) in zip(parts.keys(), parts.regions, strict=True)]
    if notebook:
        return json.dumps({"cells": [{"cell_type": "code", "source": cell.splitlines(True)} for cell in cells], "nbformat": 4})
    return f"# {lab}\n\n" + "\n\n".join(f"```{{code-cell}} ipython3\n{cell}\n```" for cell in cells) + "\n"


def zipped(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in files.items():
            file.writestr(name, text)
    return packed.getvalue()


def submission(index: int, student: Student) -> dict[str, bytes]:
    """Files as this student uploads them: by turns each of the ways there are."""
    kind = index % 10
    if kind == 0:  # three files, all solved
        return {LABS[lab]: personal(solved(lab), student).encode() for lab in LABS}
    if kind == 1:  # the whole folder, zipped
        return {"labs.zip": zipped({f"warpfold/labs/{lab}/{file}": personal(solved(lab), student) for lab, file in LABS.items()})}
    if kind == 2:  # a handout as a notebook, and a lab as a file
        return {
            "02_tree.ipynb": as_handout("02_tree", solved("02_tree"), True).encode(),
            LABS["01_naive_atomic"]: solved("01_naive_atomic").encode(),
        }
    if kind == 3:  # a handout as text, only some of it done
        half = solved("02_tree", lambda rung: rung in ("in_place_interleaved", "in_place_sequential", "interleaved"))
        return {"02_tree.md": as_handout("02_tree", half, False).encode()}
    if kind == 4:  # two tries; the first has nothing in it
        return {"tree.cu": text_of("labs", "02_tree").encode(), "tree-1.cu": personal(solved("02_tree"), student).encode()}
    if kind == 5:  # edits elsewhere, which are not run
        text = personal(solved("01_naive_atomic"), student).replace("if (n == 0) return;", "if (n < 3) return;")
        return {LABS["01_naive_atomic"]: text.encode(), "notes.md": b"# What I did\n"}
    if kind == 6:  # nothing that counts
        return (
            {"thesis.pdf": b"%PDF-1.4"}
            if index % 20 == 6
            else {"tree.cu": personal(solved("02_tree"), student).replace("// END interleaved", "").encode()}
        )
    lab, text = mistaken(index)
    return {LABS[lab]: personal(text, student).encode()}


def attack(name: str) -> dict[str, bytes]:
    return {"naive_atomic.cu": support.attack(support.ATTACKS / f"{name}.cu").encode()}


# ---- what the place lets the instructor download


def table(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def write(folder: Path, count: int = 30, attackers: int = len(ATTACKS)) -> list[Student]:
    """The attackers are the last of the class. One student hands in late, one is on no roster, one hands in nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    everybody = students(count)
    chance = random.Random(1)
    with zipfile.ZipFile(folder / "submissions.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for index, student in enumerate(everybody):
            attacking = index - (count - attackers)
            files = attack(ATTACKS[attacking % len(ATTACKS)]) if attacking >= 0 else submission(index, student)
            late = "_LATE" if index == 3 else ""
            for name, data in files.items():
                archive.writestr(
                    f"{squashed(student.last + student.first)}{late}_{student.number}_{chance.randrange(10**5, 10**6)}_{name}", data
                )
        archive.writestr("../../etc/cron.d/naive_atomic.cu", "no")
        archive.writestr("stranger_9999_123456_tree.cu", text_of("solutions", "02_tree"))
    table(
        folder / "roster.csv",
        [["id", "name", "email", "canvas"], *([each.id, each.name, f"{each.id}@example.org", str(each.number)] for each in everybody)],
    )
    titles = [f"{lab} ({7000 + index})" for index, lab in enumerate(LABS)]
    table(
        folder / "canvas-export.csv",
        [
            ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles, "Final Score"],
            ["    Points Possible", "", "", "", "", *(["10"] * len(LABS)), "(read only)"],
            *([f"{each.last}, {each.first}", str(each.number), each.id, each.id, "Monday", *([""] * len(LABS)), ""] for each in everybody),
        ],
    )
    table(
        folder / "moodle-worksheet.csv",
        [
            ["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed", "Last modified (grade)", "Feedback comments"],
            *([f"Participant {each.number}", each.name, f"{each.id}@example.org", "Submitted for grading", "", "10.00", "Yes", "-", ""] for each in everybody),
        ],
    )  # fmt: skip
    return everybody


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
