"""The notebook package without a build: regions, writing, verdicts, plots, drawings."""

import os
import stat
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import support

support.use_python_with("matplotlib", "IPython")

from warpfold import annotated, figures, magics, measured, plots, regions  # noqa: E402
from warpfold.verdict import CheckFailed, LabError, Verdict  # noqa: E402

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
        with self.assertRaisesRegex(LabError, "no part 3"):
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

    def test_everything_else_fails(self):
        for state in ("wrong", "hazard", "off-technique", "slow", "broken"):
            with self.assertRaisesRegex(CheckFailed, f"sequential is {state}"):
                Verdict(answer(state)).raise_if_failed()

    def test_says_what_is_hazardous_and_where_to_read(self):
        hazard = {"kind": "race-shared", "file": "/a/labs/02_tree/tree.cu", "line": 7, "message": "<m>", "why": "w.", "advice": "do.", "read": "docs/handouts/00_start.md#races"}
        verdict = Verdict(answer("hazard", hazards=[hazard]))
        self.assertIn("race-shared at labs/02_tree/tree.cu:7: <m>. w. do.", str(verdict))
        self.assertIn("00_start.md#races", str(verdict))
        # As JupyterLab names the heading; on the site, docs/conf.py names it as its pages do.
        self.assertIn('docs/handouts/00_start.md#Races"', verdict.html())
        self.assertIn("&lt;m&gt;", verdict.html())
        self.assertNotIn("<m>", verdict.html())

    def test_says_a_thing_once(self):
        checks = [{"name": f"n = {n}", "ok": False, "message": "got 0"} for n in range(6)]
        hazard = {"kind": "race", "message": "m", "why": "w.", "advice": "do.", "read": "docs/handouts/00_start.md#races"}
        missing = "n = 1: got 0. A step is missing."
        verdict = Verdict(answer("wrong", reason="n = 0: got 0", diagnosis={"text": missing}, checks=checks, hazards=[hazard] * 2))
        found = verdict.rungs[0].findings()
        self.assertEqual(found[0], missing)
        self.assertEqual(found[1:3], ["race at no line known: m. w. do.", "race at no line known: m."])
        self.assertEqual(found[3:], ["n = 2: got 0", "n = 3: got 0", "n = 4: got 0", "and 1 more"])


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
        fast, slow = float(table.rows[0][-1]), float(measured("naive_atomic").rows[0][-1])
        self.assertTrue(90 < fast <= 100 and 0 < slow < 1, (fast, slow))
        with self.assertRaisesRegex(LabError, "nothing measured of nothing"):
            measured("nothing")
        self.assertNotIn("warp_per_row", [row[0] for row in measured().rows])  # its n are of many matrices

    def test_drawings_are_as_their_program_draws_them(self):
        import runpy

        drawn = runpy.run_path(str(support.ROOT / "docs" / "figures" / "draw.py"))["FIGURES"]
        for name, draw in drawn.items():
            self.assertEqual((support.ROOT / "docs" / "figures" / f"{name}.svg").read_text(), draw().svg())
            self.assertGreater(len(str(figures.figure(name))), 40)


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
