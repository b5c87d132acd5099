"""Submissions that try to gain a point by something else than a sum. Each is a file in attacks/, whose head says what it tries.

None may gain a point, touch another's result, leave a process behind, learn what is not for it, or end the grader."""

import json
import os
import re
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import support
from classroom.grading import grader
from classroom.isolation import sandbox

ATTACKS = sorted(support.ATTACKS.glob("*.cu"))
SECRETS = re.compile(r"root:[^ ]|const std::size_t i = std::size_t\{blockIdx.x\} \* blockDim.x \+ threadIdx.x;\\n  if \(i < n\) atomicAdd")
# Quicker to be had than in a class, where nobody waits for them.
QUICK = {
    "COMPILING": {"cpu": 15, "memory": 1024 << 20},
    "JUDGING": {"cpu": 5, "memory": 1024 << 20},
    "HOSTING": {"cpu": 5, "memory": 256 << 20},
}


def head(text: str, key: str) -> str:
    return re.search(rf"^// {key}: (.*)$", text, re.M)[1]


@support.needs_sandbox
class Attacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for name, limits in QUICK.items():
            setattr(grader, name, replace(getattr(grader, name), **limits))
        cls.labs = {lab.name: lab for lab in support.labs(*sorted({head(path.read_text(), "lab") for path in ATTACKS}))}
        cls.canary = Path("/tmp") / f"canary-{os.getpid()}"
        cls.canary.write_text("untouched")
        only = [word for word in sys.argv[1:] if not word.startswith("-")]  # by hand: some of them
        cls.attacks = [path for path in ATTACKS if not only or path.stem in only]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            cls.results = dict(zip((path.stem for path in cls.attacks), pool.map(cls.graded, cls.attacks), strict=False))

        if "-v" in sys.argv:
            for name, result in sorted(cls.results.items(), key=lambda item: -item[1]["seconds"]):
                print(f"{result['seconds']:6.1f} s  {name}: {result['why'] or result['rungs'][0]['reason'][:150]!r}")

    @classmethod
    def tearDownClass(cls):
        cls.canary.unlink()

    @classmethod
    def graded(cls, path: Path) -> dict:
        text = support.attack(path)
        began = time.monotonic()
        result = grader.grade(cls.labs[head(text, "lab")], text, support.HIDDEN, sandbox.Sandbox())
        result["seconds"] = round(time.monotonic() - began, 1)
        return result

    def test_there_are_forty_at_least(self):
        self.assertGreaterEqual(len(ATTACKS), 40)

    def test_none_gains_a_point(self):
        for path in self.attacks:
            with self.subTest(attack=path.stem):
                result = self.results[path.stem]
                text = path.read_text()
                attacked = set(re.findall(r"^// BEGIN (\S+)", text, re.M))
                states = support.states(result)
                for rung, state in states.items():
                    self.assertNotEqual(state, "pass", f"{path.stem}: {rung} passes")
                if result["graded"]:
                    self.assertTrue(
                        {states[rung] for rung in attacked} <= set(head(text, "expect").split("|")),
                        f"{states}: {result['rungs'][0]['reason']}",
                    )

    def test_each_is_stopped_where_it_should_be(self):
        for path in self.attacks:
            with self.subTest(attack=path.stem):
                meant = "\n// stopped by: the compiler\n" in path.read_text()
                reasons = [rung["reason"] for rung in self.results[path.stem]["rungs"]]
                self.assertEqual(any(reason.startswith("does not compile") for reason in reasons), meant, reasons[:1])

    def test_none_is_left_ungraded_for_a_fault_of_the_grader(self):
        for name, result in self.results.items():
            with self.subTest(attack=name):
                self.assertTrue(result["graded"], result["why"])

    def test_nothing_that_is_not_for_students_stands_in_a_result(self):
        for name, result in self.results.items():
            with self.subTest(attack=name):
                self.assertIsNone(SECRETS.search(json.dumps(result)), name)

    def test_nothing_unprintable_stands_in_a_result(self):
        for name, result in self.results.items():
            for text in strings(result):
                with self.subTest(attack=name):
                    self.assertTrue(text.replace("\n", "").isprintable(), repr(text[:200]))

    def test_no_process_is_left(self):
        self.assertEqual(support.left_behind(), [])

    def test_an_honest_submission_passes_afterwards_and_nothing_was_touched(self):
        lab = self.labs["01_naive_atomic"]
        result = grader.grade(lab, lab.solution.read_text(), support.HIDDEN, sandbox.Sandbox())
        self.assertEqual(support.states(result), {"naive_atomic": "pass"})
        self.assertEqual(self.canary.read_text(), "untouched")


def strings(value) -> list[str]:
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in [key, *strings(each)]]
    if isinstance(value, list):
        return [text for each in value for text in strings(each)]
    return [value] if isinstance(value, str) else []


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[1:] if word.startswith("-"))])
