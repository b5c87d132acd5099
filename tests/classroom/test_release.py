"""The students' edition: nothing solved in it, the same bytes each time, and a manifest that says the truth."""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support
from kit.classroom import regions, release

SHORTEST = 30  # characters without spaces: a shorter region stands in any program


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def statements(code: str) -> int:
    """Statements of squeezed code; the head of a loop belongs to what it repeats."""
    return re.sub(r"for\([^;]*;[^;]*;", "for(", code).count(";")


def given() -> str:
    """What the stubs themselves hand out: a later lab shows the tree that an earlier one asks for."""
    return " ".join(
        squeezed(regions.COMMENTS_AND_STRINGS.sub("", path.read_text())) for path in sorted((support.ROOT / "labs").glob("*/*.c[ul]"))
    )


def solved_regions() -> dict[str, str]:
    """Of every solution, what its regions hold and the stub's do not."""
    found, handed_out_elsewhere = {}, given()
    for path in sorted((support.ROOT / "solutions").glob("*/*.c[ulp]*")):
        stub = support.ROOT / "labs" / path.parent.name / path.name
        handed_out = [squeezed("\n".join(lines)) for _, lines in regions.take_apart(stub.read_text()).regions]
        for index, (rung, lines) in enumerate(regions.take_apart(path.read_text()).regions):
            code = squeezed(regions.COMMENTS_AND_STRINGS.sub("", "\n".join(lines)))
            if len(code) >= SHORTEST and code not in handed_out and code not in handed_out_elsewhere:
                found[f"{path.parent.name} {rung} {index}"] = code
    return found


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = release.contents(None)

    def test_no_file_holds_a_solved_region(self):
        solved = solved_regions()
        self.assertGreater(len(solved), 30)
        for name, (data, _) in self.held.items():
            text = squeezed(regions.COMMENTS_AND_STRINGS.sub("", data.decode(errors="replace")))
            whole = squeezed(data.decode(errors="replace"))
            for region, code in solved.items():
                if name.startswith("docs/handouts/") and statements(code) == 1:
                    continue  # a region of one line may be a handout's last hint; one of more may not
                self.assertFalse(code in text or code in whole, f"{name} holds the solution of {region}")

    def test_the_stubs_give_away_no_more_than_they_did(self):
        """The tree, the shuffles and the like of an earlier lab stand in later ones, as the course wants it. More would be a slip."""
        everything, handed_out = given(), 0
        for path in sorted((support.ROOT / "solutions").glob("*/*.cu")):
            for _rung, lines in regions.take_apart(path.read_text()).regions:
                code = squeezed(regions.COMMENTS_AND_STRINGS.sub("", "\n".join(lines)))
                handed_out += len(code) >= SHORTEST and code in everything
        self.assertLessEqual(handed_out, 12)

    def test_the_search_would_find_one(self):
        solution = squeezed((support.ROOT / "solutions/02_tree/tree.cu").read_text())
        self.assertTrue(any(code in solution for code in solved_regions().values()))

    def test_what_is_the_instructors_is_not_there(self):
        for name in self.held:
            self.assertNotRegex(name, r"^solutions|answers|instructor|mutants|attacks|^\.git/|classroom")
        self.assertNotIn("solutions/", self.held["README.md"][0].decode())

    def test_the_manifest_lists_every_file_with_its_hash(self):
        manifest = json.loads(self.held[release.MANIFEST][0])
        self.assertEqual(set(manifest["files"]), set(self.held) - {release.MANIFEST})
        for name, digest in manifest["files"].items():
            self.assertEqual(hashlib.sha256(self.held[name][0]).hexdigest(), digest, name)
        self.assertIn("02_tree", manifest["labs"])

    def test_labs_picks(self):
        held = release.contents(release.chosen_labs(["02", "grid"]))
        self.assertEqual(
            {name.split("/")[1] for name in held if name.startswith("labs/") and name.count("/") == 2}, {"02_tree", "05_grid_stride"}
        )
        self.assertIn("docs/handouts/00_start.md", held)
        self.assertNotIn("docs/handouts/01_naive_atomic.md", held)

    def test_the_same_input_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = Path(folder, "a", "course.tar.gz"), Path(folder, "b", "course.tar.gz")
            for path in (first, second):
                path.parent.mkdir()
                release.write_archive(path, release.contents(None))
            self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_the_commands_of_the_edition_start(self):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, "course")
            release.write_folder(target, self.held)
            said = subprocess.run([sys.executable, str(target / "kit"), "--help"], text=True, capture_output=True)
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertIn("watch", said.stdout)
            self.assertNotIn("grade", said.stdout)

    def test_a_folder_with_something_else_is_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "thesis.tex").write_text("all of it")
            with self.assertRaisesRegex(Exception, "something else"):
                release.write_folder(Path(folder), self.held)
            self.assertTrue(Path(folder, "thesis.tex").exists())


if __name__ == "__main__":
    unittest.main()
