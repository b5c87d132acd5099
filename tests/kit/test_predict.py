"""Predicted times: each bound where it must bind, the fit against the measured H200, and how they are shown."""

import contextlib
import io
import json
import math
import statistics
import unittest

import support
from kit.errors import KitError
from kit.ladder import listing, peers, predict

RESULTS = support.ROOT / "docs" / "results"


def launch(blocks: int, threads: int = 256, **counters) -> dict:
    names = ["warp_instructions", "global_load_waits", "global_load_sectors", "global_store_sectors", "shared_load_wavefronts",
             "shared_store_wavefronts", "atomic_operations", "barriers"]  # fmt: skip
    return {"grid": [blocks, 1, 1], "block": [threads, 1, 1], "counters": dict.fromkeys(names, 0) | {"blocks": blocks} | counters}


class Bounds(unittest.TestCase):
    gpu = predict.named("H200")

    def test_bytes_take_at_least_what_the_data_sheet_says(self):
        read = launch(1056, global_load_sectors=2**26 * 4 // 32, global_load_waits=2**26 // 128)
        self.assertEqual(predict.bound_by(read, self.gpu), "memory")
        self.assertGreater(predict.launch_us(read, self.gpu), 2**28 / 4800e3)

    def test_one_block_waits_for_its_loads_one_after_the_other(self):
        alone = launch(1, global_load_waits=8 * 1000)
        self.assertEqual(predict.bound_by(alone, self.gpu), "latency")
        self.assertAlmostEqual(predict.launch_us(alone, self.gpu), predict.FITTED.load_ns, places=3)  # 1000 loads, in us
        twice = launch(2, global_load_waits=16 * 1000)
        self.assertAlmostEqual(predict.launch_us(twice, self.gpu), predict.launch_us(alone, self.gpu), places=3)

    def test_atomics_on_one_address_queue_whatever_the_grid(self):
        few, many = launch(1, atomic_operations=10**6), launch(10**4, atomic_operations=10**6)
        self.assertEqual(predict.bound_by(many, self.gpu), "atomics")
        self.assertAlmostEqual(predict.launch_us(few, self.gpu), predict.launch_us(many, self.gpu))

    def test_instructions_and_wavefronts_are_shared_out_over_the_multiprocessors(self):
        for part, counters in {"issue": {"warp_instructions": 10**9}, "shared": {"shared_load_wavefronts": 10**9}}.items():
            self.assertEqual(predict.bound_by(launch(1056, **counters), self.gpu), part)

    def test_a_smaller_gpu_takes_longer(self):
        read = launch(1000, global_load_sectors=10**7, global_load_waits=10**6, warp_instructions=10**7)
        times = [predict.launch_us(read, predict.named(name)) for name in ("h200", "A100", "RTX4090", "t4")]
        self.assertEqual(times, sorted(times))

    def test_a_gpu_that_is_not_known_is_refused_with_those_that_are(self):
        with self.assertRaises(KitError) as refused:
            predict.named("GTX 285")
        self.assertIn("RTX 4090", refused.exception.advice)


class AgainstTheH200(unittest.TestCase):
    """What docs/results/model.md claims of the constants as they are."""

    def cases(self):
        known = json.loads((RESULTS / "model_h200.json").read_text())
        for case in known["cases"]:
            yield case["rung"], case["n"], predict.run_us(case["launches"], predict.named(known["gpu"])), case["measured_us"]

    def test_the_median_error_and_the_largest(self):
        off = [abs(predicted / measured - 1) for _, _, predicted, measured in self.cases()]
        self.assertGreaterEqual(len(off), 60)
        self.assertLess(statistics.median(off), 0.10)
        self.assertLess(max(off), 0.40)

    def test_the_order_of_the_rungs(self):
        found = list(self.cases())
        for n in {each[1] for each in found}:
            rungs = [each for each in found if each[1] == n]
            pairs = [(a, b) for a in rungs for b in rungs if a[3] > 1.25 * b[3]]
            wrong = [(a[0], b[0]) for a, b in pairs if a[2] <= b[2]]
            self.assertGreater(len(pairs), 100)
            self.assertEqual(wrong, [], n)


class Shown(unittest.TestCase):
    def text(self, answers: list[dict]) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            listing.show(answers)
        return out.getvalue()

    def test_as_predicted_and_for_which_gpu(self):
        counted = launch(1056, global_load_sectors=2**17, global_load_waits=2**15, thread_instructions=1, warp_instructions=1)
        profile = {"n": 2**20, "launches": 1, "counters": counted["counters"], "report": {"launches": [counted]}}
        answers = [{"lab": "05", "rungs": [{"name": "tree", "state": "pass", "profile": profile}]}]
        predict.add_to(answers, predict.named("T4"))
        us = answers[0]["rungs"][0]["predicted"]["us"]
        self.assertTrue(math.isfinite(us) and us > 0)
        text = self.text(answers)
        self.assertIn("predicted us on T4", text)
        self.assertIn("not measured", text)
        self.assertRegex(text, rf"tree .* {us:,.1f}\n")

    def test_a_measured_rung_gets_no_prediction(self):
        answers = [{"lab": "05", "rungs": [{"name": "tree", "state": "pass", "time": {"n": 1024, "median_us": 7.0}}]}]
        predict.add_to(answers, predict.named("H200"))
        self.assertNotIn("predicted", self.text(answers))

    def test_peers_stand_below_the_rungs(self):
        found = [
            {"n": 2**26, "method": "idle", "name": "cub::DeviceReduce::Sum", "us": 70.2, "low": 70.0, "high": 70.4},
            {"n": 2**26, "method": "queued", "name": "cub::DeviceReduce::Sum", "us": 66.0, "low": 66.0, "high": 66.0},
            {"n": 2**26, "method": "idle", "name": "empty launch", "us": 5.0, "low": 5.0, "high": 5.0},
        ]
        text = self.text([peers.answer(found)])
        self.assertRegex(text, r"CUB DeviceReduce::Sum +right +2\^26 +70\.2 +3,824")
        self.assertRegex(text, r"an empty launch +right +2\^26 +5\.0\n")
        self.assertNotIn("66.0", text)


if __name__ == "__main__":
    unittest.main()
