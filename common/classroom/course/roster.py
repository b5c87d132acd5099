"""Who is in the class: roster.csv, which may be any system's own export."""

import re
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from kit.errors import USAGE, KitError

from ..submission import spreadsheet
from ..submission.archive import shown

ID_COLUMNS = ("username", "sis user id", "sis login id", "student id", "student number", "sid", "login", "netid", "id number")
EMAIL_COLUMNS = ("email", "email address")
NAME_COLUMNS = ("name", "full name", "student name", "student")
FIRST_COLUMNS, LAST_COLUMNS = ("first name", "firstname"), ("surname", "last name", "lastname")
# The numbers that a system gives its users, which mean nothing in another one.
NUMBERS = {"canvas": {"canvas", "canvas id", "canvas user id"}, "moodle": {"moodle", "moodle id", "identifier"}}
NOT_IDENTIFYING = ("section", "group", "department", "institution", "name", "full name", "student name", "first name", "firstname")
NOT_IDENTIFYING += ("surname", "last name", "lastname", "semester", "year", "status", "role", "course", "program", "degree")
STAFF = ("instructor", "ta", "reader", "teacher", "non-editing teacher", "manager")
KNOWN = ("id", *ID_COLUMNS, *EMAIL_COLUMNS, *NAME_COLUMNS, *FIRST_COLUMNS, *LAST_COLUMNS, "section", "sections", "role", "roles")
KNOWN += tuple(column for columns in NUMBERS.values() for column in columns)
# Columns that only a system's own export has beside those. All its other columns are marks, which say nothing about who somebody is.
OF_CANVAS = {"section", "sis user id", "sis login id"}
OF_OTHERS = {"total score", "max points", "submissions", "maximum grade", "grade", "last downloaded from this course"}


@dataclass
class Student:
    id: str
    name: str = ""
    fields: dict[str, str] = field(default_factory=dict)  # the columns of the roster that are about people
    rostered: bool = True


# ---- how names are compared


def folded(text: str) -> str:
    """The form in which two names are the same: in all upper or lower case, and however their characters are composed."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).strip()


def squashed(text: str) -> str:
    """The form in which names are similar: only letters and digits, in lower case, without accents, as Canvas writes them."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in plain if character.isalnum())


def safe_id(text: str) -> str:
    """An id that is safe as the name of a folder: the name as it is, but for white space and what file systems do not take."""
    plain = unicodedata.normalize("NFC", text)
    kept = "".join(each if each in "._@+'\u2019-" or unicodedata.category(each)[0] in "LMN" else "_" for each in plain)
    short = re.sub("__+", "_", kept).lstrip("._-").encode()[:150].decode(errors="ignore")
    return short.rstrip("._") or "unnamed"


def spellings(name: str) -> list[str]:
    """A name in every order in which it may be written: Canvas puts the last name, which may be several words, first."""
    words = name.replace(",", " ").split()
    return [" ".join(words[at:] + words[:at]) for at in range(max(1, len(words)))]


def names_of(student: Student) -> set[str]:
    return {squashed(name) for name in spellings(student.name)} - {""}


def is_identifying(column: str) -> bool:
    return not column.startswith(NOT_IDENTIFYING)


class Roster:
    def __init__(self, students: list[Student]):
        self.students = {student.id: student for student in students}
        self.given = bool(students)  # without one, everybody who hands something in is in the class
        self.ids: dict[str, set[tuple[str, str]]] = {}  # an id, a number or an address -> students, each with the column
        self.names: dict[str, set[str]] = {}
        self.similar: dict[str, set[str]] = {}  # names by their squashed form
        for student in students:
            for column, value in (student.fields | {"": student.id}).items():
                if is_identifying(column) and value:
                    self.ids.setdefault(folded(value), set()).add((student.id, column))
            for name in spellings(student.name):
                self.names.setdefault(folded(name), set()).add(student.id)
                self.similar.setdefault(squashed(name), set()).add(student.id)

    def by_id(self, value: str, system: str = "") -> Student | None:
        """The only student who has this id. `system`: the one that gave the number, if it is a number of its own."""
        others = {column for other, columns in NUMBERS.items() if system and other != system for column in columns}
        return self.only({student for student, column in self.ids.get(folded(value), ()) if column not in others})

    def by_name(self, name: str) -> Student | None:
        """The only student of this name or, if nobody has it, of a similar one."""
        if not squashed(name):
            return None
        return self.only(self.names.get(folded(name)) or self.similar.get(squashed(name), set()))

    def only(self, found: set[str]) -> Student | None:
        return self.students[min(found)] if len(found) == 1 else None


# ---- the file


def read(path: Path) -> Roster:
    sheet = spreadsheet.read(path, KNOWN, above=2)
    names = set(sheet.names)
    of_canvas = {"student", "id"} <= names and bool(OF_CANVAS & names)
    is_export = of_canvas or bool(OF_OTHERS & names) or any(name.endswith(("(real)", "(percentage)", "(letter)")) for name in names)
    students: list[Student] = []
    lines: dict[str, tuple[int, str]] = {}  # by folded id
    for line, row in zip(sheet.lines, sheet.rows, strict=True):
        fields = {name: cell(value) for name, value in zip(sheet.names, row, strict=False) if not is_export or name in KNOWN}
        if is_nobody(fields) or (of_canvas and is_added_by_canvas(fields.get("student", ""))):
            continue
        if of_canvas:
            fields["canvas"] = fields.pop("id", "")
        found = student_of(fields)
        if found is None:
            advice = f"Columns for ids: id, {', '.join(ID_COLUMNS)}."
            raise KitError(f"--roster {path}, line {line}: neither an id nor a name", advice, USAGE)
        if folded(found.id) in lines:
            before, other = lines[folded(found.id)]
            both = found.id if found.id == other else f"{other} and {found.id}"
            said = f"--roster {path}: {shown(both)} occurs more than once (lines {before} and {line})"
            raise KitError(said, "Each student needs an id that differs in more than upper and lower case.", USAGE)
        lines[folded(found.id)] = line, found.id
        students.append(found)
    if not students:
        raise KitError(f"--roster {path}: no rows below the header", code=USAGE)
    return Roster(students)


def cell(text: str) -> str:
    """A value without what spreadsheets put around numbers to keep their zeros, and Moodle before them."""
    kept = re.fullmatch(r"""="(.*)"|'(?=\d)(.*?)'?|"(.*)\"""", text.strip(), re.S)
    plain = next((each for each in kept.groups() if each is not None), "") if kept else text
    return re.sub(r"^Participant (?=\d)", "", plain.strip())


def is_nobody(fields: dict[str, str]) -> bool:
    """An empty line, a second heading, or a member of staff."""
    repeated = all(folded(value) == column for column, value in fields.items() if value)
    return repeated or folded(fields.get("role") or fields.get("roles") or "") in STAFF


def is_added_by_canvas(name: str) -> bool:
    """The lines "Manual Posting" and "Points Possible", and the test student."""
    return name in ("", "Student, Test") or "Points Possible" in name


def student_of(fields: dict[str, str]) -> Student | None:
    email = first_of(fields, EMAIL_COLUMNS)
    named = NAME_COLUMNS if first_of(fields, ("id", "canvas", *ID_COLUMNS)) or email else NAME_COLUMNS[:-1]
    name = first_of(fields, named) or f"{first_of(fields, FIRST_COLUMNS)} {first_of(fields, LAST_COLUMNS)}".strip()
    identity = first_of(fields, ("id", *ID_COLUMNS)) or email or first_of(fields, ("canvas", "student")) or name
    if not identity:
        return None
    return Student(safe_id(identity), in_order(name) or identity, fields)


def in_order(name: str) -> str:
    """A name that is sorted by its last part, as it is spoken. In Chinese, Japanese and Korean the two orders are the same."""
    last, comma, first = name.partition(", ")
    if not comma:
        return name
    return last + first if re.fullmatch("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+", last + first) else f"{first} {last}"


def first_of(fields: dict[str, str], columns: tuple[str, ...]) -> str:
    return next((fields[column] for column in columns if fields.get(column)), "")
