"""The tables that the kit shares with the C++ side: counters, and the states of a rung."""

import re
import unittest

import support
from kit import console, counters, states
from kit.ladder import predict
from kit.profile import annotate, beside_gpu, nsight
from kit.report import PROFILE_COLUMNS


class Counters(unittest.TestCase):
    def test_no_row_of_the_emulators_list_is_overlooked(self):
        rows = re.findall(r"^(?:COUNTED\w*|RATIO)\((\w+)", counters.FILE.read_text(), re.MULTILINE)
        self.assertGreater(len(rows), 20)
        self.assertEqual(list(counters.CATALOGUE), rows)
        for key, counter in counters.CATALOGUE.items():
            self.assertTrue(counter.label and counter.unit and counter.meaning, key)
            self.assertTrue(all(re.fullmatch(r"[a-z0-9_.]+", name) for name in counter.nsight), key)

    def test_a_ratio_is_worked_out_of_counters_that_there_are(self):
        for counter in counters.CATALOGUE.values():
            for name in re.findall(r"[a-z]\w*", f"{counter.numerator} {counter.denominator}"):
                self.assertFalse(counters.CATALOGUE[name].is_ratio, counter.key)

    def test_values_of_sums_and_of_nothing(self):
        total: dict = {}
        for line in ({"line": 3, "warp_instructions": 10, "thread_instructions": 320, "simt_efficiency": 1.0},
                     {"line": 4, "warp_instructions": 10, "thread_instructions": 10, "simt_efficiency": 1 / 32}):  # fmt: skip
            counters.add_up(total, line)
        self.assertEqual(total, {"warp_instructions": 20, "thread_instructions": 330})
        self.assertEqual(counters.value(total, "simt_efficiency"), 330 / 640)
        self.assertIsNone(counters.value({}, "simt_efficiency"))
        self.assertIsNone(counters.value({}, "shuffles"))

    def test_whoever_names_a_counter_names_one_of_the_catalogue(self):
        named = [*nsight.LINE_KEYS, *beside_gpu.TOTALS, *beside_gpu.BESIDE, *predict.USED, *(key for _, key in PROFILE_COLUMNS)]
        named += [column.key for column in annotate.COLUMNS if column.key != "executions_per_warp"]
        self.assertEqual([key for key in named if key not in counters.CATALOGUE], [])


class States(unittest.TestCase):
    def test_every_row_is_read_and_says_what_it_may(self):
        rows = states.FILE.read_text().count("\nWARPFOLD_STATE(")
        self.assertEqual(len(states.STATES), rows)
        for state in states.STATES:
            with self.subTest(state.name):
                self.assertIn(state.colour, console.COLOURS)
                self.assertIn(state.kind, ("pass", "open", "fail"))

    def test_the_readme_tells_of_each_that_a_student_meets(self):
        readme = (support.ROOT / "README.md").read_text()
        for page, text in {
            "README.md": readme,
            "docs/reference/glossary.md": (support.ROOT / "docs/reference/glossary.md").read_text(),
        }.items():
            missing = [state.name for state in states.STATES if state.name != "skip" and f"`{state.name}`" not in text]
            self.assertEqual(missing, [], f"{page} has a list of the states that lacks these")

    def test_the_legend_explains_what_is_there_to_mend(self):
        self.assertEqual(states.legend([{"state": "pass"}, {"state": "todo"}]), "")
        self.assertTrue(states.legend([{"state": "pass"}, {"state": "hazard"}]).startswith("hazard: the results are right, but by luck"))


if __name__ == "__main__":
    unittest.main()
