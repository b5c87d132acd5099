"""One hostile file stops nobody else: neither what it contains, nor how much of it there is. Each of these is in Eve's submission, and Ann's is
collected, graded as far as that needs no sandbox, and shown."""

import os
import time
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import support
from classroom.collecting import collected
from classroom.commands import feedback
from classroom.course import config
from classroom.course.roster import Student
from classroom.feedback import pages
from classroom.grading import index, results, work
from classroom.marking import marks
from classroom.services import answers
from classroom.submission import archive, handin, regions
from collecting import ANN, STUBS, TREE, Case, packed

EVE = Student("eve", "Eve Adams")
MARKED = 'if (threadIdx.x == 0) *result = "\033[2J\033]0;owned\007\u202e";'


def notebook(source: str) -> str:
    """`source`: as JSON."""
    return f'{{"cells": [{{"cell_type": "code", "source": {source}}}]}}'


CONTENTS = {
    "half a character": ("02_tree.ipynb", notebook('["%%lab interleaved\\n", "\\ud800"]')),
    "half a character as the rung": ("02_tree.ipynb", notebook('["%%lab \\udfff\\n", "1"]')),
    "half a character in another place": ("02_tree.ipynb", notebook('["%%lab interleaved\\n", {"\\ud800": "\\udc00"}]')),
    "a NUL in a notebook": ("02_tree.ipynb", notebook('["%%lab interleaved\\n", "a\\u0000b"]')),
    "a NUL in a file": ("tree.cu", TREE.replace("// END", "\0// END", 1)),
    "a number of many digits": ("02_tree.ipynb", notebook(f'["%%lab interleaved {"9" * 5000}\\n", "x"]')),
    "a number of a million digits": ("02_tree.ipynb", '{"cells": ' + "9" * 1_000_000 + "}"),
    "a float beyond all": ("02_tree.ipynb", '{"nbformat": 1e999999999, "cells": [NaN, -Infinity]}'),
    "lists in lists": ("02_tree.ipynb", "[" * 200_000),
    "cells in cells": ("02_tree.ipynb", '{"cells":' * 50_000 + "1" + "}" * 50_000),
    "a source in a source": ("02_tree.ipynb", notebook("[" * 400 + "]" * 400)),
    "a table of tables": ("02_tree.ipynb", notebook('{"a": ' * 400 + "1" + "}" * 400)),
    "no UTF-8": ("tree.cu", TREE.encode().replace(b"// END", b"\xff\xfe\xed\xa0\x80// END", 1)),
    "UTF-16": ("tree.cu", TREE.encode("utf-16")),
    "UTF-32": ("tree.cu", TREE.encode("utf-32")),
    "Latin-1": ("tree.cu", TREE.replace("// END", "// caf\u00e9\n// END", 1).encode("latin-1")),
    "other ends of lines": ("tree.cu", TREE.replace("// END", "\u2028\x0b\x0c\x1c\x85// END", 1)),
    "escapes": ("tree.cu", TREE.replace("  // BEGIN interleaved\n", f"  // BEGIN interleaved\n{MARKED}\n")),
    "escapes as a rung": ("tree.cu", TREE + "// BEGIN \033[2J\u202e\n// END \033[2J\u202e\n// BEGIN \033]0;x\007\n"),
    "escapes in an unclosed region": ("tree.cu", TREE + "// BEGIN \033[2J\n"),
    "a rung with a long name": ("tree.cu", TREE + f"// BEGIN {'x' * 400_000}\n// END {'x' * 400_000}\n"),
    "many regions": ("tree.cu", TREE + "".join(f"// BEGIN r{number}\n// END r{number}\n" for number in range(13_000))),
    "markup": ("tree.cu", TREE.replace("// BEGIN interleaved\n", "// BEGIN interleaved\n</pre><script>alert(1)</script>\n")),
}
# Texts over which a pattern that tries every beginning would take minutes.
SLOW = {
    "comments that do not end": "/* " * 160_000,
    "strings that do not end": '"' + '\\"' * 200_000,
    "characters that do not end": "'\\'" * 150_000,
    "attributes that do not end": "__attribute__((" * 30_000,
    "lines of the lab among others": "\n".join(
        each
        for at, line in enumerate(TREE.splitlines() * 30)
        if "// BEGIN" not in line and "// END" not in line
        for each in (line, str(at))
    ),
}
SLOW_FILES = {
    "cells that do not end": ("02_tree.md", "```{code-cell} ipython3\n" * 20_000),
    "cells of all lengths": ("02_tree.md", "\n".join("`" * (3 + number % 300) + "{code-cell}" for number in range(3_000))),
    **{name: ("tree.cu", f"{TREE}\n{text}\n") for name, text in SLOW.items()},
    **{f"in a region, {name}": ("tree.cu", TREE.replace("// BEGIN interleaved\n", f"// BEGIN interleaved\n{text}\n")) for name, text in SLOW.items()},
    **{
        f"in a notebook, {name}": ("02_tree.ipynb", notebook("[" + ",".join(['"%%lab interleaved\\n"', *(f'"{part}"' for part in [text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")])]) + "]"))
        for name, text in SLOW.items()
    },
}  # fmt: skip


class Lab:
    """As much of a version.Lab as needs no build."""

    name, file, rungs = "02_tree", "tree.cu", ("interleaved",)
    pristine = mock.Mock(read_text=lambda *_: STUBS[1].text)


class Contents(Case):
    def everything(self, entries: dict[str, str | bytes]) -> None:
        """What happens to a submission, but for what happens in a sandbox."""
        now = self.gather(self.zip({"ann/tree.cu": TREE} | entries), ANN, EVE)
        self.assertEqual(self.taken("ann"), TREE)
        self.assertNotIn("it cannot be read (", str(now["refused"]), "what is known to be tried is not left to the last guard")
        found = self.pieces()
        self.assertIn(("ann", "02_tree"), found)
        for (student, lab), piece in found.items():
            text = handin.kept(piece.source)
            try:
                flags, sentence = regions.splice(STUBS[1].text, text).flags, "wrong"
            except regions.NotALab as error:
                flags, sentence = [], str(error)
            rungs = [{"name": "interleaved", "state": "wrong", "reason": sentence, "checks": [], "hazards": [self.hazard(text)]}]
            results.write(
                results.place(self.into, lab, f"key-{student}"),
                {"format": results.FORMAT, "graded": True, "why": "", "rungs": rungs, "flags": flags, "unsafe": False},
            )
        self.show()

    def pieces(self) -> dict:
        with mock.patch.object(work.grader, "key_of", return_value="key"):
            return work.pieces(self.into, ["ann", "eve"], [Lab()], None, False)

    def hazard(self, text: str) -> dict:
        line = next((at for at, each in enumerate(text.split("\n"), 1) if "\033" in each), 1)
        return {"kind": "race", "message": "two threads", "file": "tree.cu", "line": line}

    def show(self) -> None:
        """The pages and the marks in all formats."""
        rungs = {stub.name: tuple(sorted({rung for rung, _ in stub.keys})) for stub in STUBS}
        pieces = {(each, "02_tree"): index.Found(self.into, "02_tree", f"key-{each}") for each in self.folders()}
        made = marks.all_marks(self.into, config.Course(), [ANN, EVE], rungs, pieces)
        texts = {(each, "02_tree"): handin.kept(self.into / "submissions" / each / "02_tree/tree.cu") for each in self.folders() if (self.into / "submissions" / each / "02_tree").is_dir()}  # fmt: skip
        written = [pages.overview(config.Course(), made, texts, files=collected.refused(self.into))]
        for student in (ANN, EVE):
            mine = [mark for mark in made if mark.student.id == student.id]
            written.append(pages.feedback(config.Course(), mine, {"02_tree": texts.get((student.id, "02_tree"), "")}))
        for text in written:
            self.assertTrue(text.replace("\n", "").replace("\t", "").isprintable(), "a page has a character that acts")
            self.assertNotIn("<script", text)
            self.assertLess(len(text), 300_000, "one student's text fills a page of the whole class")
            text.encode()

    def test_what_a_file_contains_stops_nobody(self):
        for name, (file, data) in CONTENTS.items():
            for entries in ({f"eve/{file}": data}, {"eve/work.zip": packed({file: data})}):
                with self.subTest(name, at=list(entries)[0]):
                    self.setUp()
                    self.everything(entries)

    def test_no_text_takes_long(self):
        for name, (file, data) in SLOW_FILES.items():
            with self.subTest(name):
                self.setUp()
                began = time.process_time()
                self.everything({f"eve/{file}": data})
                self.assertLess(time.process_time() - began, 5)

    def test_what_nobody_has_thought_of_is_refused_and_named(self):
        real = handin.lab_of
        for error in (
            ValueError("odd \033[2J"),
            RecursionError(),
            MemoryError(),
            UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"),
            AttributeError("x"),
        ):
            with self.subTest(type(error).__name__):
                self.setUp()

                def fails(path: str, data: bytes, stubs: list, error=error):
                    if b"// of Eve" in data:
                        raise error
                    return real(path, data, stubs)

                with mock.patch.object(handin, "lab_of", fails):
                    now = self.gather(
                        self.zip({"ann/tree.cu": TREE, "eve/tree.cu": TREE + "// of Eve", "eve/naive_atomic.cu": STUBS[0].text}), ANN, EVE
                    )
                self.assertEqual((self.taken("ann"), self.taken("eve", "01_naive_atomic")), (TREE, STUBS[0].text))
                self.assertIn(f"it cannot be read ({type(error).__name__}", now["refused"][0]["why"])
                self.assertTrue(now["refused"][0]["why"].isprintable())

    def test_a_disk_that_fails_is_nobodys_file(self):
        with mock.patch.object(Path, "write_text", side_effect=OSError(28, "No space left on device")), self.assertRaises(OSError):
            self.take(self.zip({"ann/tree.cu": TREE}), ANN)

    def test_a_page_that_cannot_be_written_has_the_points(self):
        made = [
            marks.Mark(EVE, "02_tree", 2, 1.0, "graded", rungs=[marks.RungMark("interleaved", "wrong", "x", 1, 2, detail={"hazards": 7})])
        ]
        with mock.patch("classroom.commands.feedback.say"):
            text = feedback.page_of(config.Course(), made, {})
        self.assertIn('<td class="n">1</td><td class="n">2</td>', text)
        self.assertIn("could not be written whole", "".join(made[0].flags))

    def test_a_piece_that_ends_the_grader_is_not_graded_and_the_next_one_is(self):
        source = self.folder / "tree.cu"
        source.write_text(TREE)
        for error in (ValueError("surrogates not allowed"), RecursionError("too deep"), KeyError("rungs")):
            with mock.patch.object(work.grader, "grade", side_effect=error), mock.patch.object(work, "Sandbox"):
                self.assertFalse(work.grade(work.Piece(Lab(), source, "key", None, self.into, False)))
            failure = results.read(results.failure_place(self.into, "02_tree", "key"))
            self.assertIn(type(error).__name__, failure["why"])
            self.assertIn("look at", failure["why"])

    def test_what_the_grader_quotes_acts_on_no_terminal(self):
        said = {
            "lab": "02_tree",
            "graded": False,
            "why": "the sandbox could not be made: \033[2J\u202e",
            "format": results.FORMAT,
            "rungs": [],
            "flags": [],
            "unsafe": False,
        }
        (self.folder / "tree.cu").write_text(TREE)
        with mock.patch.object(work.grader, "grade", return_value=said), mock.patch.object(work, "Sandbox"):
            work.grade(work.Piece(Lab(), self.folder / "tree.cu", "key", None, self.into, False))
        self.assertEqual(results.read(results.failure_place(self.into, "02_tree", "key"))["why"], "the sandbox could not be made: ?[2J?")

    def test_a_kept_file_in_another_encoding_is_graded_as_far_as_it_can_be_read(self):
        self.gather(self.zip({"ann/tree.cu": TREE, "eve/tree.cu": TREE}), ANN, EVE)
        (self.into / "submissions/eve/02_tree/tree.cu").write_bytes(TREE.encode() + b"\xff")
        found = self.pieces()
        self.assertEqual(set(found), {("ann", "02_tree"), ("eve", "02_tree")})


class Names(Case):
    def test_names_that_cannot_be_encoded(self):
        top = os.fsencode(self.folder / "in")
        for name in (b"ann", b"eve", b"\xff\xfe"):
            os.makedirs(os.path.join(top, name))
            with open(os.path.join(top, name, b"tree.cu"), "w") as file:
                file.write(TREE)
        with open(os.path.join(top, b"eve", b"tree\xe9.cu"), "w") as file:
            file.write(TREE)
        now = self.gather(self.folder / "in", ANN, EVE)
        self.assertEqual((self.taken("ann"), self.folders()), (TREE, ["ann", "eve"]))
        self.assertEqual([each["why"] for each in now["refused"]], ["its name is not in UTF-8"] * 2)
        self.assertTrue(all(each["path"].isprintable() for each in now["refused"]))

    def test_a_terminal_that_cannot_show_a_name(self):
        (self.folder / "in/王小明").mkdir(parents=True)
        (self.folder / "in/王小明/work.rar").write_text("Rar!")
        (self.folder / "in/王小明/tree.cu").write_text(TREE)
        said = support.kit("collect", str(self.folder / "in"), "--class", str(self.into), env=os.environ | {"PYTHONIOENCODING": "latin-1"})
        self.assertEqual((said.returncode, self.folders()), (0, ["王小明"]), said.stderr)
        self.assertIn("\\u738b", said.stdout)

    def test_links_that_lead_in_circles(self):
        (self.folder / "in/eve/deep").mkdir(parents=True)
        (self.folder / "in/ann").mkdir()
        (self.folder / "in/ann/tree.cu").write_text(TREE)
        (self.folder / "in/eve/deep/circle").symlink_to("../../eve")
        (self.folder / "in/eve/tree.cu").symlink_to("tree.cu")
        (self.folder / "in/loop").symlink_to("loop")
        (self.folder / "in/all").symlink_to("/")
        now = self.gather(self.folder / "in", ANN, EVE)
        self.assertEqual((self.taken("ann"), self.folders()), (TREE, ["ann"]))
        self.assertEqual({each["why"] for each in now["refused"]}, {"a link"})

    def test_folders_deeper_than_pythons_stack(self):
        (self.folder / "in/ann").mkdir(parents=True)
        (self.folder / "in/ann/tree.cu").write_text(TREE)
        here = os.open(self.folder / "in", os.O_RDONLY)
        os.mkdir("eve", dir_fd=here)
        for name in ["eve", *["d"] * 1500]:
            below = os.open(name, os.O_RDONLY, dir_fd=here)
            os.mkdir("d", dir_fd=below)
            os.close(here)
            here = below
        os.close(here)
        now = self.gather(self.folder / "in", ANN, EVE)
        self.assertEqual((self.taken("ann"), [each["why"] for each in now["refused"]]), (TREE, ["more than 40 folders deep"]))
        os.system(f"rm -rf '{self.folder}/in/eve'")  # deeper than Python's own removal goes

    @unittest.skipIf(os.geteuid() == 0, "root may read every folder")
    def test_a_folder_that_may_not_be_read_is_named(self):
        (self.folder / "in/eve").mkdir(parents=True, mode=0o000)
        now = self.gather(self.folder / "in", ANN, EVE)
        self.assertIn("the folder cannot be read", now["refused"][0]["why"])

    def test_a_zip_of_a_mac_has_its_names_in_utf_8(self):
        path = self.zip({"\u738b\u5c0f\u660e/tree.cu": TREE})
        path.write_bytes(path.read_bytes().replace(b"\x00\x08\x08\x00", b"\x00\x00\x08\x00"))  # without the flag that says so
        with zipfile.ZipFile(path) as file:
            self.assertNotIn("\u738b", file.namelist()[0])
        self.take(path)
        self.assertEqual(self.folders(), ["\u738b\u5c0f\u660e"])


class Amounts(Case):
    """Limits of one student; what is not read is said to both."""

    def limited(self, entries: dict[str, str | bytes], why: str, seconds: float = 10) -> dict:
        path = self.zip({"ann/tree.cu": TREE} | entries)
        began = time.process_time()
        now = self.gather(path, ANN, EVE)
        spent = time.process_time() - began
        self.assertEqual(self.taken("ann"), TREE)
        self.assertLess(spent, seconds, "CPU seconds")
        self.assertIn(why, " ".join(each["why"] for each in now["refused"]))
        self.assertLess(len(now["refused"]) + len(now["ignored"]), 60)
        made = self.marks(ANN, EVE)["eve", "01_naive_atomic"]
        self.assertEqual(made.state, "refused")
        self.assertIn(why, pages.feedback(config.Course(), [made], {}))
        return now

    def test_thirty_thousand_entries(self):
        text = "x = 1;\n"
        self.limited({"eve/work.zip": packed({f"f{number}.cu": text for number in range(30_000)})}, "400 files per student", 3)

    def test_as_many_in_many_zip_files(self):
        inner = packed({f"f{number}.cu": "x" for number in range(300)})
        self.limited({f"eve/{number}.zip": inner for number in range(100)}, "400 files per student", 3)

    def test_as_many_that_are_refused(self):
        inner = packed({f"../{number}.cu": "x" for number in range(30_000)})
        self.limited({"eve/work.zip": inner}, "400 files per student", 3)

    def test_as_many_that_nothing_reads(self):
        inner = packed({f"f{number}.pdf": "x" for number in range(30_000)})
        now = self.gather(self.zip({"ann/tree.cu": TREE, "eve/work.zip": inner, "eve/tree.cu": TREE}), ANN, EVE)
        self.assertEqual((len(now["ignored"]), now["ignored"][-1]["why"]), (21, "more than 20 such files; the others are not listed"))

    def test_more_entries_than_anybody_has(self):
        inner = packed({"tree.cu": TREE}) + b"PK\x01\x02" * 60_000
        self.limited({"eve/work.zip": inner}, "more than 50000 entries", 3)

    def test_many_bytes(self):
        inner = packed({f"f{number}.md": os.urandom(1 << 19).hex() for number in range(90)})
        self.limited({"eve/work.zip": inner}, "64 MiB per student")

    def test_much_time(self):
        with mock.patch.object(archive, "MOST_SECONDS", 0):
            self.limited({f"eve/{number}.cu": TREE for number in range(5)}, "0 s of CPU time per student")

    def test_many_files_in_a_folder(self):
        for name in ("ann", "eve"):
            (self.folder / "in" / name).mkdir(parents=True)
        (self.folder / "in/ann/tree.cu").write_text(TREE)
        for number in range(200):
            (self.folder / "in/eve" / f"{number}.txt").touch()
        with mock.patch.object(archive, "MOST_NAMES", 100):
            now = self.gather(self.folder / "in", ANN, EVE)
        self.assertEqual((self.taken("ann"), [each["student"] for each in now["refused"]]), (TREE, ["eve"] * 22))
        self.assertIn("more than 100 files in one folder", collected.refused(self.into)[0].why)

    def test_the_labs_files_are_read_first(self):
        inner = packed({f"a{number}.md": "x" for number in range(500)} | {"z/tree.cu": TREE})
        self.gather(self.zip({"ann/tree.cu": TREE, "eve/work.zip": inner}), ANN, EVE)
        self.assertEqual(self.taken("eve"), TREE)

    def test_a_whole_course_folder_is_within_all_limits(self):
        files = {f"warpfold/.kit/venv/lib/{number}.md": "x" for number in range(20_000)} | {
            f"warpfold/docs/{number}.md": "x" for number in range(60)
        }
        now = self.gather(self.zip({"eve/work.zip": packed(files | {"warpfold/labs/02_tree/tree.cu": TREE})}), ANN, EVE)
        self.assertEqual((self.taken("eve"), now["refused"]), (TREE, []))

    def test_a_service_keeps_the_same_limits(self):
        (self.folder / "in").mkdir()
        (self.folder / "in/work.zip").write_bytes(
            packed({f"f{number}.cu": "x" for number in range(30_000)} | {"0.ipynb": notebook('["%%lab interleaved\\n", "\\ud800"]')})
        )
        (self.folder / "in/tree.cu").write_text(TREE)
        began = time.process_time()
        self.assertEqual(answers.newest(self.folder / "in", STUBS[1]), TREE)
        self.assertLess(time.process_time() - began, 3)


if __name__ == "__main__":
    unittest.main()
