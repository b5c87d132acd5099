"""What may import what in common/kit: a command imports rooms, a room imports what all share, and never the other way."""

import ast
import unittest
from pathlib import Path

import support

KIT = support.ROOT / "common" / "kit"
# The rooms, each with those below it: a room may import these and no others.
ROOMS = {
    "commands": {"building", "classroom", "course", "emulate", "following", "ladder", "lint", "profile", "setup", "trace"},
    "classroom": {"building", "setup"},
    "following": {"building", "course", "ladder"},
    "course": {"setup"},
    "lint": {"building", "setup"},
    "trace": {"building"},
    "profile": {"building"},
    "ladder": {"building"},
    "building": {"setup"},
    "emulate": {"building", "setup"},
    "setup": set(),
}
FIRST = {"cli"}  # modules on top of the rooms; the others on top are what all share
OUTSIDE = {"toolkit_paths"}  # Meson starts it as a program of its own, so it imports the standard library only


def modules() -> dict[str, Path]:
    """All modules of the kit by dotted name below it: "table", "trace.steps"; a folder by its own name."""
    return {
        ".".join(path.relative_to(KIT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted(KIT.rglob("*.py")) if path != KIT / "__init__.py"
    }  # fmt: skip


def imports(name: str, path: Path) -> set[str]:
    """The kit's modules that a module imports."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    known, found = modules(), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            start = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            for alias in node.names:
                full = ".".join([*start, alias.name])
                found.add(full if full in known else ".".join(start))
    return found & set(known)


def room(name: str) -> str:
    head = name.split(".")[0]
    return head if head in ROOMS else ""


class Rooms(unittest.TestCase):
    def test_every_folder_of_code_is_a_room(self):
        folders = {path.parent.name for path in KIT.glob("*/*.py")} - {"pages"}  # what all share, too
        self.assertEqual(folders, set(ROOMS))

    def test_a_room_says_what_it_is(self):
        for folder in ROOMS:
            self.assertGreater(len(ast.get_docstring(ast.parse((KIT / folder / "__init__.py").read_text())) or ""), 20, folder)

    def test_who_imports_whom(self):
        seen = 0
        for name, path in modules().items():
            if name in FIRST:
                continue
            for other in imports(name, path):
                seen += 1
                if room(other) and room(other) != room(name):
                    self.assertIn(room(other), ROOMS.get(room(name), set()), f"{name} imports {other}")
        self.assertGreater(seen, 100)  # the imports are found

    def test_no_command_imports_another_and_only_the_command_line_imports_them(self):
        for name, path in modules().items():
            if name not in FIRST:
                self.assertFalse({each for each in imports(name, path) if each.startswith("commands")}, name)

    def test_there_are_no_circles(self):
        graph = {name: imports(name, path) for name, path in modules().items()}
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
