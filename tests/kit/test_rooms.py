"""What may import what in common/kit and in common/classroom: a command imports rooms, a room imports what all share, and never the other
way. The class imports the kit; of the kit, only the command `class` imports the class."""

import ast
import unittest
from collections.abc import Iterable
from pathlib import Path

import support

COMMON = support.ROOT / "common"
# The rooms of each, with those below: a room may import these and no others.
ROOMS: dict[str, dict[str, set[str]]] = {
    "kit": {
        "commands": {"programs", "emulate", "handouts", "ladder", "lint", "many_gpus", "profile", "progress", "setup", "trace"},
        "progress": {"programs", "handouts", "ladder"},
        "handouts": {"setup"},
        "lint": {"programs", "setup"},
        "trace": {"programs"},
        "profile": {"programs"},
        "many_gpus": {"programs", "ladder"},
        "ladder": {"programs"},
        "programs": {"setup"},
        "emulate": {"programs", "setup"},
        "setup": set(),
    },
    "classroom": {
        "commands": {"services", "feedback", "marking", "grading", "collecting", "isolation", "course", "submission"},
        "services": {"marking", "grading", "isolation", "course", "submission"},
        "feedback": {"marking", "grading", "collecting", "isolation", "course", "submission"},
        "marking": {"grading", "collecting", "course", "submission"},
        "grading": {"isolation", "course", "submission"},
        "collecting": {"isolation", "course", "submission"},
        "isolation": set(),
        "course": {"submission"},
        "submission": set(),
    },
}
NOTEBOOK = "notebook/warpfold"  # without rooms, and on top of the kit
NO_ROOMS = {"kit": {"templates"}, "classroom": {"recorder"}}  # what all share, too; and a library in C++
FIRST = {"kit.cli"}  # modules on top of the rooms; the others on top are what all share
OUTSIDE = {"toolkit_paths"}  # Meson starts it as a program of its own, so it imports the standard library only
DOOR = "kit.commands.class"


def modules(packages: Iterable[str] = tuple(ROOMS)) -> dict[str, Path]:
    """All modules by dotted name: "kit.table", "kit.trace.steps"; a folder by its own name."""
    return {
        ".".join(path.relative_to(COMMON).with_suffix("").parts).removesuffix(".__init__"): path
        for package in packages for path in sorted((COMMON / package).rglob("*.py")) if path.parent != COMMON / package or path.stem != "__init__"
    }  # fmt: skip


def imports(name: str, path: Path, packages: Iterable[str] = tuple(ROOMS)) -> set[str]:
    """The modules of these packages that a module imports."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    known, found = modules(packages), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            start += node.module.split(".") if node.module else []
            for alias in node.names:
                full = ".".join([*start, alias.name])
                found.add(full if full in known else ".".join(start))
    return found & set(known)


def room(name: str) -> tuple[str, str]:
    package, head = name.split(".")[:2]
    return package, head if head in ROOMS[package] else ""


class Rooms(unittest.TestCase):
    def test_every_folder_of_code_is_a_room(self):
        for package, rooms in ROOMS.items():
            folders = {path.parent.name for path in (COMMON / package).glob("*/*.*") if path.suffix in (".py", ".cpp")} - NO_ROOMS[package]
            self.assertEqual(folders, set(rooms))

    def test_a_room_says_what_it_is(self):
        for package, rooms in ROOMS.items():
            for folder in rooms:
                path = COMMON / package / folder / "__init__.py"
                self.assertGreater(len(ast.get_docstring(ast.parse(path.read_text())) or ""), 20, path)

    def test_who_imports_whom(self):
        seen = 0
        for name, path in modules().items():
            if name in FIRST:
                continue
            package, own = room(name)
            for other in imports(name, path):
                seen += 1
                other_package, theirs = room(other)
                if other_package == package and theirs and theirs != own:
                    self.assertIn(theirs, ROOMS[package].get(own, set()), f"{name} imports {other}")
        self.assertGreater(seen, 200)  # the imports are found

    def test_the_kit_knows_of_the_class_only_the_door(self):
        for name, path in modules().items():
            if name.startswith("kit.") and name != DOOR:
                self.assertFalse({each for each in imports(name, path) if each.startswith("classroom")}, name)

    def test_no_command_imports_another_and_only_the_command_line_imports_them(self):
        for name, path in modules().items():
            if name not in {*FIRST, DOOR}:
                self.assertFalse({each for each in imports(name, path) if each.split(".")[1] == "commands"}, name)

    def test_there_are_no_circles(self):
        packages = (*ROOMS, NOTEBOOK)
        graph = {name: imports(name, path, packages) for name, path in modules(packages).items()}
        self.assertGreater(sum(name.startswith("notebook.") for name in graph), 15)
        done: set[str] = set()

        def visit(name: str, above: tuple[str, ...]) -> None:
            self.assertNotIn(name, above, " -> ".join([*above, name]))
            if name not in done:
                for other in graph[name]:
                    visit(other, (*above, name))
                done.add(name)

        for name in graph:
            visit(name, ())

    def test_what_meson_starts_needs_nothing_of_the_kit(self):
        for name, path in modules().items():
            if name.split(".")[-1] in OUTSIDE:
                self.assertEqual(imports(name, path), set())
                self.assertIn(str(path.relative_to(support.ROOT)), (support.ROOT / "meson.build").read_text())


if __name__ == "__main__":
    unittest.main()
