"""How results are shown: tables, the ladder and its picture, from answers such as a lab's program gives."""

import contextlib
import io
import os
import unittest
import xml.etree.ElementTree as ElementTree
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit import report
from kit.ladder import listing, picture
from kit.table import Table

COUNTERS = {
    "warp_instructions": 100, "thread_instructions": 1600, "global_load_requests": 32, "global_load_sectors": 128,
    "shared_load_wavefronts": 10, "shared_store_wavefronts": 5, "bank_conflicts": 3, "atomic_operations": 1, "barriers": 8,
}  # fmt: skip


def emulated(name: str, state: str = "pass", **more) -> dict:
    return {"name": name, "state": state, "profile": {"n": 1024, "block": 256, "launches": 2, "counters": COUNTERS}, **more}


def timed(name: str, **time) -> dict:
    known = {"n": 2**26, "median_us": 65.6, "gb_per_s": 4092.0, "percent_of_peak": None, "percent_of_measured": 91.25}
    return {"name": name, "state": "pass", "time": known | time}


def shown(labs: list[dict], columns: int | None = None) -> str:
    out = io.StringIO()
    with mock.patch.dict(os.environ, {"COLUMNS": str(columns)} if columns else {}), contextlib.redirect_stdout(out):
        listing.show(labs)
    return out.getvalue()


class Ladder(unittest.TestCase):
    def test_counts_of_the_emulator(self):
        text = shown([{"lab": "02_tree", "device": {"name": "Warpfold emulator"}, "rungs": [emulated("sequential")]}])
        self.assertRegex(text, r"sequential +right +2\^10 +2 +32 +128 +15 +3 +1 +8 +50% +100\n")
        self.assertIn("1 of 1 rungs are right", text)
        self.assertIn("not a GPU", text)

    def test_times_of_a_gpu_and_what_is_not_known_stays_blank(self):
        rungs = [timed("one"), timed("two", speed_up_over_rung_before=2.5, speed_up_over_cpu=1449.4, percent_of_peak=85.2)]
        text = shown([{"lab": "09_speed_of_light", "device": {"name": "NVIDIA H200"}, "rungs": rungs}])
        self.assertRegex(text, r"one +right +2\^26 +65\.6 +4,092 +91\.2%\n")
        self.assertRegex(text, r"two +right +2\^26 +65\.6 +4,092 +85\.2% +91\.2% +2\.50x +1,449x\n")
        self.assertNotIn("not a GPU", text)

    def test_what_is_not_right_is_said_with_its_reason(self):
        rungs = [emulated("good"), {"name": "bad", "state": "wrong", "reason": "n = 257, integers: 1 element is lost"}]
        text = shown([{"lab": "02_tree", "rungs": [*rungs, {"name": "none", "state": "skip", "reason": "needs a GPU"}]}])
        self.assertRegex(text, r"bad +WRONG")
        self.assertIn("02_tree bad: WRONG  n = 257, integers: 1 element is lost", text)
        self.assertIn("1 of 2 rungs are right, 1 skipped", text)

    def test_n_stays_where_the_terminal_is_narrow(self):
        """A count without its n says nothing."""
        rungs = [emulated("in_place_interleaved", predicted={"gpu": "H200", "us": 9.9})]
        text = shown([{"lab": "02_tree", "rungs": rungs}], 80)
        self.assertRegex(text, r"in_place_interleaved +right +2\^10 ")
        self.assertNotRegex(text, r"too narrow for:.*\bn\b")

    def test_keeps_within_the_columns(self):
        labs = [{"lab": "02_tree", "rungs": [emulated("in_place_interleaved")]}]
        for columns in (40, 60, 80, 100):
            self.assertLessEqual(max(map(len, shown(labs, columns).splitlines())), columns)
        self.assertIn("too narrow for: instructions", shown(labs, 80))

    def test_explains_only_the_columns_that_it_shows(self):
        rungs = [emulated("in_place_interleaved", predicted={"gpu": "H200", "us": 9.9})]
        whole, narrow, narrowest = (shown([{"lab": "02_tree", "rungs": rungs}], columns) for columns in (200, 80, 40))
        for heading, words in [
            ("loads", "load requests"),
            ("sectors", "32-byte"),
            ("SIMT", "SIMT efficiency"),
            ("predicted us on H200", "computed"),
        ]:
            self.assertIn(f"{heading}: {words}", " ".join(whole.split()))
            self.assertEqual(heading in narrow.split("(too narrow")[0], f"{heading}: {words}" in " ".join(narrow.split()), heading)
        self.assertNotIn(":", narrowest.split("H200)")[1].split("No times")[0], "there is nothing to explain")


class Picture(unittest.TestCase):
    def test_is_well_formed_and_tells_its_numbers_in_words(self):
        labs = [{"lab": "02_tree", "rungs": [emulated("a<b"), {"name": "todo", "state": "todo"}]}]
        drawing = ElementTree.fromstring(picture.draw(labs))
        words = drawing.find("{*}desc").text
        self.assertIn("02_tree a<b: warp instructions 98, active lanes 50%, bank conflicts 3", words)
        self.assertNotIn("todo", words)
        bars = [rect for rect in drawing.iter() if rect.tag.endswith("rect")]
        self.assertEqual(len(bars), 5)

    def test_shows_predicted_times_and_for_which_gpu(self):
        quick, slow = ({**emulated(name), "predicted": {"gpu": "H200", "us": us}} for name, us in (("quick", 9.4), ("slow", 1792)))
        drawing = ElementTree.fromstring(picture.draw([{"lab": "02_tree", "rungs": [slow, quick]}]))
        self.assertIn("as predicted for an H200", drawing.find("{*}title").text)
        self.assertIn("predicted us 1,792", drawing.find("{*}desc").text)
        widths = [float(rect.get("width")) for rect in drawing.iter() if rect.tag.endswith("rect") and rect.get("class") == "time"]
        self.assertGreater(widths[0], 3 * widths[1])

    def test_of_times(self):
        drawing = picture.draw([{"lab": "09", "device": {"name": "NVIDIA H200"}, "rungs": [timed("one"), timed("two", gb_per_s=2046)]}])
        self.assertIn("measured on NVIDIA H200", drawing)
        widths = [float(rect.get("width")) for rect in ElementTree.fromstring(drawing).iter() if rect.tag.endswith("rect")]
        self.assertAlmostEqual(widths[0], 2 * widths[1], delta=0.2)


class Hazards(unittest.TestCase):
    def test_both_lines_with_their_text_and_what_to_try(self):
        hazard = {
            "kind": "race-shared", "file": __file__, "line": 1, "other_file": __file__, "other_line": 3, "times": 4,
            "message": "thread 0 reads s[1], which thread 1 writes", "why": "Warps run in any order.", "advice": "Wait.",
            "fails_check": True, "of_host": False,
        }  # fmt: skip
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            report.print_hazards({"hazards": [hazard]})
        text = out.getvalue()
        self.assertIn("race-shared: thread 0 reads s[1], which thread 1 writes (4 times)", text)
        self.assertRegex(text, r"test_ladder\.py:1    \"\"\"How results are shown")
        self.assertRegex(text, r"test_ladder\.py:3    import contextlib")
        self.assertIn("try: Wait.", text)
        self.assertIn("1 hazard\n", text)

    def test_the_hosts_line_is_asked_for_where_it_is_unknown(self):
        hazard = {"kind": "race-host", "message": "the host reads what a kernel may still write", "fails_check": True, "of_host": True}
        for known, where in ({}, True), ({"file": __file__, "line": 1}, False), ({"of_host": False}, False):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                report.print_hazards({"hazards": [hazard | known]})
            self.assertEqual("compile the program with -g" in out.getvalue(), where)

    def test_what_fails_no_check_is_told_apart(self):
        race, leak = {"kind": "race-shared", "fails_check": True}, {"kind": "leak", "fails_check": False}
        self.assertEqual(report.how_many([race, leak], leaks=False), "1 hazard, and 1 more that does not fail the check")
        self.assertEqual(report.how_many([race, leak], leaks=True), "2 hazards")
        self.assertEqual(report.how_many([leak, leak], leaks=False), "2 hazards, none of which fails the check")


class Columns(unittest.TestCase):
    def test_words_to_the_left_numbers_to_the_right_colours_without_width(self):
        table = Table(["name", "ms"])
        table.add(["\033[32mtree\033[0m", "12.5"])
        table.add(["x", "1,000.0"])
        self.assertEqual(table.text().splitlines()[1:], ["\033[32mtree\033[0m     12.5", "x     1,000.0"])


if __name__ == "__main__":
    unittest.main()
