"""The notebook package without a build: regions, writing, verdicts, plots, drawings."""

import os
import re
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import support

support.use_python_with("matplotlib", "IPython")

sys.path.insert(0, str(support.ROOT / "docs"))

import open_rungs  # noqa: E402
from kit.errors import KitError  # noqa: E402
from warpfold import annotated, clone, code, figures, magics, measured, plots, predictions, regions  # noqa: E402
from warpfold.progress import Progress  # noqa: E402
from warpfold.verdict import Cell, CheckFailed, Interrupted, LabError, Verdict  # noqa: E402

TEXT = """int before;
  // BEGIN one
  // TODO: something. (2 lines)
  // END one
between
// BEGIN two
a
// END two
// BEGIN two
b
// END two
"""


class Regions(unittest.TestCase):
    def test_finds_every_region_of_a_rung(self):
        self.assertEqual([region.begin for region in regions.of_rung(TEXT, "x.cu", "two")], [5, 8])
        self.assertEqual(regions.body(TEXT, regions.find(TEXT, "x.cu")[2]), "b")

    def test_replaces_only_what_stands_between_the_markers(self):
        region = regions.of_rung(TEXT, "x.cu", "one")[0]
        after = regions.replaced(TEXT, region, "    if (a) {\n      b;\n    }\n")
        self.assertEqual(after, TEXT.replace("  // TODO: something. (2 lines)\n", "  if (a) {\n    b;\n  }\n"))

    def test_keeps_the_files_line_ends(self):
        text = TEXT.replace("\n", "\r\n")
        after = regions.replaced(text, regions.of_rung(text, "x.cu", "one")[0], "x;\ny;")
        self.assertEqual(after.count("\r\n"), after.count("\n"))

    def test_says_which_regions_there_are(self):
        with self.assertRaisesRegex(LabError, "x.cu has no region three.*one, two"):
            regions.of_rung(TEXT, "x.cu", "three")

    def test_names_the_line_of_a_marker_without_partner(self):
        with self.assertRaisesRegex(LabError, r"x.cu:2: BEGIN one has no END"):
            regions.find("a\n// BEGIN one\n", "x.cu")
        with self.assertRaisesRegex(LabError, r"x.cu:1: END one without"):
            regions.find("// END one\n", "x.cu")

    def test_refuses_a_cell_with_markers(self):
        with self.assertRaisesRegex(LabError, "marker"):
            regions.replaced(TEXT, regions.find(TEXT, "x.cu")[0], "// END one\nx")

    def test_tells_code_from_comments(self):
        self.assertFalse(regions.has_code("// a\n/* b\n c */\n\n"))
        self.assertTrue(regions.has_code("// a\nx;"))

    def test_asks_for_the_part(self):
        found = regions.of_rung(TEXT, "x.cu", "two")
        with self.assertRaisesRegex(LabError, "2 regions .*line 6.*line 9"):
            magics.choose(found, "two", None)
        with self.assertRaisesRegex(LabError, "no region 3"):
            magics.choose(found, "two", 3)
        self.assertEqual(magics.choose(found, "two", 2).begin, 8)


class Writing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "x.cu"
        self.file.write_text("old")
        self.file.chmod(0o640)

    def test_keeps_what_was_there(self):
        backup = regions.write(self.file, "new")
        self.assertEqual((self.file.read_text(), backup.read_text()), ("new", "old"))
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o640)
        self.assertEqual(sorted(os.listdir(self.file.parent)), ["x.cu", "x.cu.bak"])

    def test_leaves_an_unchanged_file_and_its_backup_alone(self):
        regions.write(self.file, "new")
        self.assertIsNone(regions.write(self.file, "new"))
        self.assertEqual(self.file.with_name("x.cu.bak").read_text(), "old")

    def test_writes_through_a_link(self):
        link = self.file.with_name("link.cu")
        link.symlink_to(self.file)
        regions.write(link, "new")
        self.assertTrue(link.is_symlink())
        self.assertEqual(self.file.read_text(), "new")


def answer(state: str, **more) -> dict:
    return {"lab": "02_tree", "rungs": [{"name": "sequential", "state": state, "reason": "because", "checks": [], "hazards": [], **more}]}


class Verdicts(unittest.TestCase):
    def test_todo_and_skip_do_not_fail(self):
        for state in ("pass", "todo", "skip"):
            Verdict(answer(state)).raise_if_failed()

    def test_a_todo_is_one_line_which_does_not_repeat_it(self):
        shown = str(Verdict(answer("todo", file="/a/labs/02_tree/tree.cu", line=7)))
        self.assertRegex(shown, r"^todo +sequential  labs/02_tree/tree\.cu:7$")

    def test_everything_else_fails(self):
        for state in ("wrong", "hazard", "off-technique", "slow", "broken"):
            with self.assertRaisesRegex(CheckFailed, f"sequential is {state}"):
                Verdict(answer(state)).raise_if_failed()

    def test_says_what_is_hazardous_and_where_to_read(self):
        hazard = {
            "kind": "race-shared",
            "file": "/a/labs/02_tree/tree.cu",
            "line": 7,
            "message": "<m>",
            "why": "w.",
            "advice": "do.",
            "read": "docs/handouts/00_start.md#races",
        }
        verdict = Verdict(answer("hazard", hazards=[hazard]))
        told = str(verdict).splitlines()
        self.assertIn("    race-shared: <m>.", told)
        self.assertIn("        labs/02_tree/tree.cu:7: ", told)
        # Why, what to try and where to read stand apart.
        self.assertEqual([line.split()[0] for line in told[-3:]], ["why:", "try:", "read:"])
        self.assertTrue(told[-1].endswith("docs/handouts/00_start.md#races"))
        # As JupyterLab names the heading; on the site, docs/conf.py names it as its pages do.
        self.assertIn('docs/handouts/00_start.md#Races"', verdict.html())
        self.assertIn("&lt;m&gt;", verdict.html())
        self.assertNotIn("<m>", verdict.html())
        self.assertRegex(verdict.html(), r"<dt>why</dt><dd>w\.</dd><dt>try</dt><dd>do\.</dd><dt>read</dt>")

    def test_a_hazards_source_lines_are_shown_with_the_line_of_the_cell(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "tree.cu"
            file.write_text("a;\n// BEGIN one\n  x += <1>;\n  y;\n// END one\n")
            hazard = {"kind": "race-shared", "file": str(file), "line": 3, "other_file": str(file), "other_line": 1, "message": "m"}
            cell = Cell("tree.cu", first=3, count=2, first_in_cell=2)
            verdict = Verdict(answer("hazard", hazards=[hazard]), cell)
            told = str(verdict)
        self.assertRegex(told, r"tree\.cu:3 \(line 2 of the cell\): x \+= <1>;")
        self.assertRegex(told, r"tree\.cu:1: a;")
        self.assertNotIn("<1>", verdict.html())

    def test_what_kernels_print_is_shown_and_capped(self):
        verdict = Verdict(answer("pass") | {"printed": [f"thread {i}" for i in range(100)]})
        self.assertIn("thread 39", str(verdict))
        self.assertNotIn("thread 40", str(verdict))
        self.assertIn("(and 60 more lines)", verdict.html())

    def test_the_kits_advice_stands_on_a_line_of_its_own(self):
        with self.assertRaisesRegex(LabError, "^there is no nvcc\nInstall it.$"), clone.lab_errors():
            raise KitError("there is no nvcc", "Install it.")

    def test_says_a_thing_once(self):
        checks = [{"name": f"n = {n}", "ok": False, "message": "got 0"} for n in range(6)]
        hazard = {"kind": "race", "message": "m", "why": "w.", "advice": "do.", "read": "docs/handouts/00_start.md#races"}
        missing = "n = 1: got 0. A step is missing."
        verdict = Verdict(answer("wrong", reason="n = 0: got 0", diagnosis={"text": missing}, checks=checks, hazards=[hazard] * 2))
        found = verdict.rungs[0].findings()
        self.assertEqual(found[0].text, missing)
        self.assertEqual([each.text for each in found[1:3]], ["race: m.", "race: m."])
        self.assertEqual([[word for word, _ in each.more] for each in found[1:3]], [["why", "try", "read"], []])
        self.assertEqual([each.text for each in found[3:]], ["n = 2: got 0", "n = 3: got 0", "n = 4: got 0", "and 1 more"])


class Cells(unittest.TestCase):
    def test_a_line_of_the_file_is_one_of_the_cell(self):
        region = regions.find(TEXT, "x.cu")[0]
        cell = magics.cell_of(Path("x.cu"), region, "\n  a;\n  b;\n")
        self.assertEqual([cell.line_of(line) for line in (2, 3, 4, 5)], [None, 3, 4, None])  # below %%lab and an empty line

    def test_the_compilers_messages_name_it_too(self):
        cell = Cell("x.cu", first=3, count=2, first_in_cell=2)
        said = cell.named_in("labs/01/x.cu(4): error: y\nlabs/01/x.cu:9:2: note\n")
        self.assertEqual(said, "labs/01/x.cu(4) [line 3 of the cell]: error: y\nlabs/01/x.cu:9:2: note\n")

    def test_every_message_names_it(self):
        """NCCL's, for one, which name the file and the line of the call."""
        reason = "ncclReduce at labs/12_many_gpus/x.cu:4: invalid argument"
        checks = [{"name": f"n = {n}", "ok": False, "message": f"got 0 at x.cu:{n}"} for n in (3, 9)]
        verdict = Verdict(answer("wrong", reason=reason, checks=checks, diagnosis={"text": "See x.cu:4"}), Cell("x.cu", 3, 2, 2))
        self.assertIn("x.cu:4 [line 3 of the cell]: invalid argument", str(verdict))
        self.assertIn("got 0 at x.cu:3 [line 2 of the cell]", str(verdict))
        self.assertRegex(str(verdict), r"got 0 at x\.cu:9$")
        self.assertIn("See x.cu:4 [line 3 of the cell]", verdict.html())

    def test_the_cell_at_fault(self):
        """By the line of the error, or by the brace that is missing further up."""
        self.assertEqual(regions.at_fault(TEXT, "x.cu", 3), "%%lab one")
        self.assertEqual(regions.at_fault(TEXT, "x.cu", 1), "")
        last = regions.of_rung(TEXT, "x.cu", "two")[1]
        self.assertEqual(regions.at_fault(TEXT, "x.cu", last.begin + 2), "%%lab two 2")
        missing = regions.replaced(TEXT, regions.find(TEXT, "x.cu")[0], 'if (a) { // }\n  printf("}");')
        self.assertEqual(regions.at_fault(missing, "x.cu", len(missing.splitlines())), "%%lab one")

    def test_a_comment_in_the_last_line_is_one(self):
        self.assertRegex(code.coloured("// a\n// TODO: b")[1], '^<span class="c">// TODO: b</span>$')
        self.assertEqual(code.coloured("x;")[0], "x;")

    def test_an_interrupted_cell_shows_one_line(self):
        with self.assertRaises(Interrupted) as stopped:
            with Progress() as progress:
                progress.show("checking 02_tree")
                raise KeyboardInterrupt
        self.assertEqual(stopped.exception._render_traceback_(), ["Interrupted: stopped: checking 02_tree"])

    def test_code_keeps_its_lines_and_its_brackets(self):
        lines = code.coloured("if (a < b) // c\n  return 1;\n\nx;")
        self.assertEqual(len(lines), 4)
        self.assertIn("&lt;", lines[0])
        html = code.table("a;\nb;", 7, mark=8)
        self.assertRegex(html, r'<td class="number">7</td>')
        self.assertEqual(html.count("background"), 1)


class Predictions(unittest.TestCase):
    lab = SimpleNamespace(name="02_tree", is_solved=False, rungs=lambda: ["sequential"])

    def test_numbers_that_are_still_missing_are_asked_for(self):
        note = predictions.predict(self.lab, "sequential", {"barriers": None}, None, None, None, None)
        self.assertIn("in place of None (barriers)", note)

    def test_both_sides_and_what_to_think_about(self):
        from kit.ladder.guesses import Guess

        both = predictions.Sides(
            [(Guess("02_tree", "sequential", {"barriers": 8}), {"barriers": 72}), (Guess("02_tree", "many_pass", {"barriers": 1}), None)]
        )
        self.assertRegex(str(both), r"barriers +8 +72 +too low by a factor of 9")
        self.assertIn("many_pass: recorded", str(both))
        self.assertRegex(both.html(), r'<td>8</td><td>72</td><td class="words off">too low')

    def test_a_counter_that_there_is_not(self):
        with self.assertRaisesRegex(LabError, "no counter is called 'luck'"):
            predictions.predict(self.lab, "sequential", {"luck": 1}, None, None, None, None)


class Pictures(unittest.TestCase):
    found = {"a": {"n": 8, "x": 1000, "y": 0}, "b": {"n": 8, "x": 3, "y": 0}}

    def test_bars_have_a_log_axis_where_values_lie_far_apart(self):
        svg = plots.bars(self.found, ["x"], "title").svg
        self.assertIn("x (log)", svg)
        near = {"a": {"n": 8, "x": 2}, "b": {"n": 8, "x": 3}}
        self.assertNotIn("(log)", plots.bars(near, ["x"], "title").svg)

    def test_take_the_pages_colour_and_tell_their_figures(self):
        picture = plots.bars(self.found, ["x"], "title")
        self.assertIn("currentColor", picture.svg)
        self.assertNotIn(plots.INK, picture.svg)
        self.assertIn("1,000", str(picture))
        self.assertIn("aria-label", picture._repr_mimebundle_()["text/html"])

    def test_are_laid_out_anew_for_a_telephone(self):
        picture = plots.bars(self.found | {"c": {"n": 8, "x": 5, "y": 2}}, ["x", "y"], "title")
        width = [float(re.search(r"max-width: ([\d.]+)pt", svg)[1]) for svg in (picture.svg, picture.narrow)]
        self.assertLess(width[1], 272)  # 390 pixels, less the margins
        self.assertGreater(width[0], width[1])
        self.assertEqual(picture.narrow.count(">a<"), 2)  # each panel names the rungs
        self.assertIn("warpfold-narrow", picture._repr_mimebundle_()["text/html"])

    def test_name_the_counters_there_are(self):
        with self.assertRaisesRegex(LabError, "no counter is called z. There are: n, x, y"):
            plots.bars(self.found, ["z"], "title")

    def test_nothing_but_zeros_is_said_in_words(self):
        self.assertIsInstance(plots.bars(self.found, ["y"], "title"), plots.Note)

    def test_roofline_draws_the_limit(self):
        points = [{"n": n, "median_us": n / 1000, "measured_gb_per_s": 4000} for n in (1024, 4096)]
        self.assertIn("reading alone, 4,000 GB/s", plots.roofline({"a": points}, "GPU").svg)

    def test_measured_figures_give_bandwidth(self):
        table = measured("cub::DeviceReduce::Sum")
        fast, slow = float(table.rows[0][1]), float(measured("naive_atomic").rows[0][1])
        self.assertTrue(90 < fast <= 100 and 0 < slow < 1, (fast, slow))
        with self.assertRaisesRegex(LabError, "nothing was measured for nothing"):
            measured("nothing")
        self.assertNotIn("warp_per_row", [row[0] for row in measured().rows])  # its n are of many matrices

    def test_drawings_are_as_their_program_draws_them(self):
        import runpy

        drawn = runpy.run_path(str(support.ROOT / "docs" / "figures" / "draw.py"))["FIGURES"]
        for name, draw in drawn.items():
            self.assertEqual((support.ROOT / "docs" / "figures" / f"{name}.svg").read_text(), draw().svg())
            self.assertGreater(len(str(figures.figure(name))), 40)


class Site(unittest.TestCase):
    def test_a_rung_that_is_open_is_one_line(self):
        page = open_rungs.OpenRungs()
        first = page.once(plots.StillOpen("a: nothing", "a")._repr_mimebundle_()["text/html"])
        self.assertEqual(first, open_rungs.line("a"))
        self.assertEqual(page.once(Verdict(answer("todo") | {"device": {"name": "a GPU"}}).html()), open_rungs.line("sequential"))
        self.assertEqual(page.once(Verdict(answer("todo")).html()), "")
        both = answer("todo")["rungs"] + answer("pass")["rungs"]
        mixed = page.once(Verdict(answer("pass") | {"rungs": both}).html())
        self.assertNotIn("data-open", mixed)
        self.assertIn("0 checks", mixed)
        self.assertEqual(page.once("<p>text</p>"), "<p>text</p>")

    def test_each_handout_shows_one_example_that_is_solved(self):
        for path in (support.ROOT / "docs" / "handouts").glob("*.md"):
            self.assertEqual(path.read_text().count("warpfold.example("), 1, path.name)

    def test_the_first_cell_of_a_handout_fits_its_width(self):
        for path in (support.ROOT / "docs" / "handouts").glob("*.md"):
            cell = path.read_text().partition("```{code-cell} ipython3\nimport")[2].partition("```")[0]
            self.assertLessEqual(max(map(len, cell.splitlines())), 88, path.name)


class Profile(unittest.TestCase):
    def test_each_column_has_its_name_and_says_what_it_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder).resolve() / "tree.cu"
            source.write_text("partial[t] = data[t];\n")
            line = {"file": str(source), "line": 1, "executions": 8, "warp_instructions": 40, "thread_instructions": 640,
                    "global_load_requests": 8, "global_load_sectors": 32}  # fmt: skip
            launch = {"kernel": "tree", "grid": [4, 1, 1], "block": [64, 1, 1], "lines": [line],
                      "counters": {"warp_instructions": 40, "thread_instructions": 640, "blocks": 4}}  # fmt: skip
            run = SimpleNamespace(rung="tree", result={"state": "pass"}, report={"launches": [launch], "hazards": []})
            shown = annotated.Annotated([run], [], Path(folder))
        text, html = str(shown), shown.html()
        for column in ("instruction share", "executions per warp", "active lanes", "sectors per request"):
            self.assertIn(column, text)
            self.assertRegex(html, rf'<th scope="col" title="[^"]+">{column}</th>')
        self.assertRegex(text, r"(?m)^ +100% +1 +50% +4 +1  partial\[t\] = data\[t\];$")


if __name__ == "__main__":
    unittest.main()
