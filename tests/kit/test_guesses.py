"""Predictions: numbers as students write them, what is counted beside them, and what to think about."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import support
from kit import counters
from kit.errors import KitError
from kit.handouts import site
from kit.ladder import guesses
from kit.ladder.guesses import Guess


def answer(**rungs: dict) -> dict:
    return {"rungs": [{"name": name, "profile": {"n": 1024, "launches": 2, "counters": counted}} for name, counted in rungs.items()]}


class Numbers(unittest.TestCase):
    def test_as_they_are_written(self):
        for text, value in {"4096": 4096, "1,000": 1000, "2^20": 2**20, "4*2^10": 4096, "2.5": 2.5, "50%": 0.5, "1e6": 1e6, "0": 0}.items():
            self.assertEqual(guesses.number(text), value, text)
        for text in ("many", "", "-many", "2^2^2", "2^99"):
            with self.assertRaisesRegex(KitError, "is not a number"):
                guesses.number(text)
        with self.assertRaisesRegex(KitError, "'-1' is less than 0"):
            guesses.number("-1")

    def test_a_counter_by_its_name_its_label_or_a_short_word(self):
        for name in ("atomic_operations", "atomic operations", "atomics"):
            self.assertEqual(guesses.counter_named(name), "atomic_operations")
        self.assertEqual(guesses.counter_named("sectors"), "global_load_sectors")
        self.assertEqual(guesses.counter_named("SIMT efficiency"), "simt_efficiency")
        with self.assertRaisesRegex(KitError, "no counter is called 'luck'"):
            guesses.counter_named("luck")

    def test_all_that_is_thought_about_is_a_counter(self):
        known = {*counters.CATALOGUE, "launches"}
        self.assertLessEqual({*guesses.THINK, *guesses.USUAL}, known)


class Comparing(unittest.TestCase):
    def compare(self, key: str, guessed: float, actual: float) -> guesses.Compared:
        guess = Guess("02_tree", "a", {key: guessed})
        return guesses.compare(guess, guesses.values_in(answer(a={key: actual}), guess))[0]

    def test_right_close_and_off(self):
        self.assertEqual((self.compare("barriers", 9, 9).verdict, self.compare("barriers", 9, 9).think), ("right", ""))
        self.assertEqual(self.compare("barriers", 8, 9).verdict, "close")
        off = self.compare("global_load_sectors", 1024, 128)
        self.assertEqual((off.verdict, off.words), ("off", "too high by a factor of 8"))
        self.assertIn("32 bytes", off.think)
        self.assertIn("floats in a sector", off.think)

    def test_too_low_and_too_high_are_not_explained_alike(self):
        self.assertNotEqual(self.compare("bank_conflicts", 0, 9).think, self.compare("bank_conflicts", 9, 0).think)

    def test_nothing_predicted_and_nothing_counted_is_right(self):
        self.assertEqual(self.compare("bank_conflicts", 0, 0).verdict, "right")

    def test_ratios_and_shares_and_launches(self):
        guess = Guess("02_tree", "a", {"barriers": 2, "launches": 1}, over="b")
        found = guesses.values_in(answer(a={"barriers": 18}, b={"barriers": 9}), guess)
        self.assertEqual(found, {"barriers": 2, "launches": 1})
        guess = Guess("02_tree", "a", {"simt_efficiency": 0.5})
        found = guesses.values_in(answer(a={"warp_instructions": 10, "thread_instructions": 80}), guess)
        self.assertEqual((guesses.compare(guess, found)[0].guessed, guesses.compare(guess, found)[0].counted), ("50%", "25%"))
        guess = Guess("02_tree", "a", {"barriers": 2}, over="b")
        none = guesses.values_in(answer(a={"barriers": 18}, b={"barriers": 0}), guess)
        self.assertIn("there is no ratio", guesses.compare(guess, none)[0].words)

    def test_a_rung_that_is_not_right_yet_is_not_counted(self):
        guess = Guess("02_tree", "a", {"barriers": 2}, over="b")
        self.assertIsNone(guesses.values_in(answer(a={"barriers": 18}), guess))

    def test_in_lines_of_a_terminal(self):
        guess = Guess("02_tree", "a", {"barriers": 2, "bank_conflicts": 5}, n=1024)
        told = guesses.lines(guess, {"barriers": 9, "bank_conflicts": 5}, 60)
        self.assertIn("a, n = 1,024", told[0])
        self.assertRegex("\n".join(told), r"barriers +2 +9 +too low by a factor of 4\.5")
        self.assertRegex("\n".join(told), r"bank conflicts +5 +5 +as you said")
        self.assertLessEqual(max(map(len, told)), 60)


class Keeping(unittest.TestCase):
    def test_a_new_one_takes_the_place_of_an_old_one_of_the_same(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(guesses, "KEPT", Path(folder) / "x" / "p.json"):
            self.assertEqual(guesses.kept(), [])
            for value in (1, 2):
                guesses.keep(Guess("02_tree", "a", {"barriers": value}))
            guesses.keep(Guess("02_tree", "a", {"barriers": 3}, n=1024))
            self.assertEqual([each.values["barriers"] for each in guesses.kept()], [2, 3])

    def test_the_site_publishes_nobodys(self):
        """What the handouts are run with when `./kit docs` builds them finds no predictions, whatever is in .kit."""
        ran = []
        with (
            tempfile.TemporaryDirectory() as folder,
            mock.patch.object(site, "LOGS", Path(folder)),
            mock.patch.object(site, "output", lambda command, env, cwd: ran.append(env) or SimpleNamespace(returncode=0, stdout="")),
        ):
            site.sphinx("student", Path(folder) / "out")
        script = (
            "from kit.ladder import guesses; guesses.keep(guesses.Guess('02_tree', 'sequential', {'barriers': 8})); print(guesses.kept())"
        )
        environment = ran[0] | {"PYTHONPATH": str(support.ROOT / "common")}
        said = subprocess.run([sys.executable, "-c", script], env=environment, text=True, capture_output=True)
        self.assertEqual(said.stdout, "[]\n", said.stderr)


if __name__ == "__main__":
    unittest.main()
