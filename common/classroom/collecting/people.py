"""Who is who in one source: from what a submission system calls people to the students of the class."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..course.roster import Roster, Student, folded, safe_id, squashed
from ..submission.archive import shown
from .forms import Person


@dataclass
class People:
    students: dict[Person, Student] = field(default_factory=dict)
    apart: list[str] = field(default_factory=list)  # messages about those who have somebody else's name
    collisions: dict[Person, str] = field(default_factory=dict)  # those who would share a folder, and why nothing of theirs was taken
    everybody: Roster = field(default_factory=lambda: Roster([]))

    def another(self, claimed: Iterable[Person], own: set[str]) -> bool:
        """Whether somebody who is claimed to be the author is another student of this class."""
        found = {student.id for each in claimed if (student := match(self.everybody, each))}
        return bool(found - own)


def match(roster: Roster, person: Person) -> Student | None:
    return by_ids(roster, person) or roster.by_name(person.name)


def by_ids(roster: Roster, person: Person) -> Student | None:
    """Numbers and addresses say who somebody is, whatever name they gave themselves."""
    system = "" if person.system == "folders" else person.system
    return next((found for value in person.ids if (found := roster.by_id(value, system))), None)


def resolve(people: Iterable[Person], roster: Roster, before: list[Student]) -> People:
    """`before`: everybody who has a folder already. Of several who could be the same student, only the one with that student's number or
    address is; a name decides only if nobody else has a claim to it."""
    found = People()
    people = sorted(set(people), key=lambda each: (each.name, each.ids, each.system))
    for each in people:
        if student := by_ids(roster, each):
            found.students[each] = student
    several_folders(found)
    taken = {student.id for student in found.students.values()}
    named: dict[str, list[Person]] = {}
    strangers: list[Person] = []
    for each in people:
        if each not in found.students:
            student = roster.by_name(each.name)
            named.setdefault(student.id, []).append(each) if student else strangers.append(each)
    doubtful: list[Person] = []
    for student_id, several in named.items():
        if len(several) == 1 and student_id not in taken:
            found.students[several[0]] = roster.students[student_id]
        else:
            doubtful += several
    labels = [folded(each.label) for each in strangers]
    for each in [*strangers, *doubtful]:
        known = roster.similar.get(squashed(each.name)) or labels.count(folded(each.label)) > 1
        apart = bool(each.number and known) or namesakes(each, people) > 1
        new = Student(name_apart(each) if apart else safe_id(each.label), each.name, numbers_of(each), rostered=not roster.given)
        found.students[each] = new
        if each in doubtful or apart:
            found.apart.append(difference(each, new))
    find_collisions(found, roster, before)
    known = {student.id: student for student in [*before, *found.students.values(), *roster.students.values()]}
    found.everybody = Roster(list(known.values()))
    return found


def several_folders(found: People) -> None:
    """Nobody has two folders: one of them may be somebody's who called it so."""
    folders: dict[str, list[Person]] = {}
    for person, student in found.students.items():
        if person.system == "folders":
            folders.setdefault(student.id, []).append(person)
    for student, several in folders.items():
        if len(several) > 1:
            names = " and ".join(shown(person.name) for person in several)
            said = f"{names} would share a folder, as all of them are {student}'s, so nothing was taken: rename all but one"
            found.collisions |= dict.fromkeys(several, said)


def namesakes(person: Person, people: list[Person]) -> int:
    """How many in this source have this person's name and a number."""
    return sum(each.number != "" and folded(each.name) == folded(person.name) for each in people) if person.number else 0


def name_apart(person: Person) -> str:
    return safe_id(f"{person.name}_{person.number}")


def numbers_of(person: Person) -> dict[str, str]:
    return {person.system: person.number} if person.number else {}


def difference(person: Person, student: Student) -> str:
    who = f"{shown(person.name)} ({person.number})" if person.number else shown(person.name)
    if person.number:
        advice = (
            f"To say whose it is, put {person.number} into the roster, in that student's row and a column of its own, and collect again"
        )
    else:
        advice = "To say whose it is, give the folder that student's id as its name, and collect again"
    return f"{who}: several have this name; kept apart as {student.id}. {advice}"


def find_collisions(found: People, roster: Roster, before: list[Student]) -> None:
    """Folders whose names differ in nothing but case or composition are one folder on many systems, and one name to a reader."""
    places: dict[str, list[tuple[str, Person | None]]] = {}
    for student in roster.students.values():
        places.setdefault(folded(student.id), []).append((student.id, None))
    for student in before:
        if student.id not in roster.students and all(student.id != new.id for new in found.students.values()):
            places.setdefault(folded(student.id), []).append((student.id, None))
    for person, student in found.students.items():
        if roster.students.get(student.id) is not student:
            places.setdefault(folded(student.id), []).append((person.name, person))
    for several in places.values():
        for name, person in several:
            others = [other for other, of in several if of is not person or (of is None and person is None)]
            if person is not None and others and person not in found.collisions:
                advice = "rename one of them, or put both into a roster"
                found.collisions[person] = f"{shown(name)} and {shown(others[0])} would share a folder, so nothing was taken: {advice}"
