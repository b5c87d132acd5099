"""Who is in the class, and under which names the submission systems know them."""

import csv
import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import USAGE, KitError

ID_COLUMNS = ("id", "student", "username", "sis user id", "sis login id", "student id", "sid", "login", "netid")
NAME_COLUMNS = ("name", "full name", "student name")
FIRST_COLUMNS, LAST_COLUMNS = ("first name", "firstname"), ("surname", "last name", "lastname")


@dataclass
class Student:
    id: str
    name: str = ""
    fields: dict[str, str] = field(default_factory=dict)  # all columns of the roster
    rostered: bool = True


def squashed(text: str) -> str:
    """The form in which names are compared: only letters and digits, in lower case, without accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in plain if character.isalnum())


def safe_id(text: str) -> str:
    """An id that is safe as the name of a folder."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._@-]+", "_", plain).strip("._")[:80] or "unnamed"


class Roster:
    def __init__(self, students: list[Student]):
        self.students = {student.id: student for student in students}
        self.given = bool(students)  # without one, everybody who hands something in is in the class
        self.known: dict[str, str | None] = {}  # any name or id -> id; None if it is ambiguous
        for student in students:
            for alias in aliases(student):
                self.known[alias] = student.id if self.known.get(alias, student.id) == student.id else None

    def find(self, *names: str) -> Student | None:
        """The student whom the first unambiguous one of these names means."""
        for name in names:
            if found := self.known.get(squashed(name)):
                return self.students[found]
        return None

    def find_or_add(self, *names: str) -> Student:
        """A student who is not in the roster gets an entry of their own, and is listed as unknown."""
        found = self.find(*names)
        if found is None:
            new = Student(safe_id(names[0]), names[-1], rostered=not self.given)
            found = self.students.setdefault(new.id, new)
            self.known.setdefault(squashed(names[0]), found.id)
        return found


def names_of(student: Student) -> set[str]:
    """The student's name in every order in which it may be written."""
    words = student.name.split()
    found = {squashed(student.name)}
    if len(words) > 1:  # Canvas puts the last name first
        found |= {squashed(words[-1] + "".join(words[:-1])), squashed("".join(words[1:]) + words[0])}
    return found - {""}


def aliases(student: Student) -> set[str]:
    found = {squashed(student.id)} | names_of(student)
    found |= {
        squashed(value)
        for column, value in student.fields.items()
        if not column.startswith(("section", "group", "department", "institution"))
    }
    return {alias for alias in found if alias}


def read(path: Path) -> Roster:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise KitError(f"--roster {path}: {error}", code=USAGE) from error
    rows = list(csv.DictReader(text.splitlines()))
    if not rows:
        raise KitError(f"--roster {path}: no rows below the header", code=USAGE)
    students = []
    for number, row in enumerate(rows, 2):
        fields = {(column or "").strip().casefold(): (value or "").strip() for column, value in row.items() if isinstance(value, str)}
        name = first_of(fields, NAME_COLUMNS) or f"{first_of(fields, FIRST_COLUMNS)} {first_of(fields, LAST_COLUMNS)}".strip()
        identity = first_of(fields, ID_COLUMNS) or first_of(fields, ("email", "email address")) or name
        if not identity:
            raise KitError(f"--roster {path}, line {number}: neither an id nor a name", f"Columns for ids: {', '.join(ID_COLUMNS)}.", USAGE)
        students.append(Student(safe_id(identity), name or identity, fields))
    twice = [student.id for student in students if sum(other.id == student.id for other in students) > 1]
    if twice:
        raise KitError(f"--roster {path}: {', '.join(sorted(set(twice)))} occurs more than once", code=USAGE)
    return Roster(students)


def first_of(fields: dict[str, str], columns: tuple[str, ...]) -> str:
    return next((fields[column] for column in columns if fields.get(column)), "")
