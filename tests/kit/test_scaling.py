"""The model of the time on p GPUs: its limits, its fit, and how `kit predict --gpus` shows it."""

import contextlib
import io
import json
import re
import statistics
import sys
import unittest
from unittest import mock

import support
from kit import cli
from kit.many_gpus import scaling

sys.path.insert(0, str(support.ROOT / "tests" / "gpu"))
sys.path.insert(0, str(support.ROOT / "docs" / "results"))
import fill_many_gpus
import fit_scaling
import plot_scaling

NETWORK = {"LL": 3.0, "LL128": 4.0, "Simple": 14.0}
INSIDE = {"LL": 0.5, "LL128": 1.0, "Simple": 4.0}

KNOWN = scaling.Constants(
    "made up",
    {
        "one_kernel": scaling.Way(10.0, 0.0, 4000.0, 0.0, 2.0),
        "one_kernel_threads": scaling.Way(11.0, 1.0, 4000.0, 0.0, 2.0),
        "peer_copies": scaling.Way(12.0, 5.0, 4000.0, 8.0, 9.0),
        "nccl_reduce": scaling.Way(12.0, 3.0, 4000.0, 8.0, 4.0),
        "rank_per_gpu": scaling.Way(11.0, 1.0, 4000.0, 8.0, 4.0),
    },
    {
        "link": scaling.Level(2, 300.0, INSIDE, INSIDE, True),
        "node": scaling.Level(8, 350.0, INSIDE, INSIDE, True),
        "network": scaling.Level(scaling.MOST, 376.0, NETWORK, {name: 2 * step for name, step in NETWORK.items()}, False),
    },
    {"LL": scaling.Protocol(10.0, 0.25, 0.25), "LL128": scaling.Protocol(14.0, 0.9, 0.9), "Simple": scaling.Protocol(20.0, 1.0, 1.0)},
    6.0,
    4,
)
POWERS = [2**exponent for exponent in range(15)]


class Limits(unittest.TestCase):
    def us(self, way: str, n: int, gpus: int) -> float:
        return scaling.parts(way, n, gpus, KNOWN).us

    def test_one_gpu_exchanges_nothing(self):
        for way in scaling.WAYS:
            if way != "peer_reads":
                self.assertEqual(scaling.parts(way, 2**20, 1, KNOWN).exchange, 0, way)
        for algorithm in (scaling.RING, scaling.TREE):
            self.assertEqual(scaling.all_reduce_us(2**20, 1, algorithm, KNOWN), 0)
        for algorithm in (scaling.CHAIN, scaling.RING, scaling.TREE):
            self.assertEqual(scaling.steps(algorithm, 1), (0, 0))
            self.assertEqual(scaling.busiest_bytes(algorithm, 4, 1), 0)

    def test_units(self):
        """4 bytes a float, GB/s of 10^9 bytes, microseconds: 10^9 floats over 4000 GB/s are 1000 us."""
        found = scaling.parts("one_kernel", 10**9, 1, KNOWN)
        self.assertAlmostEqual(found.reading, 1000)
        self.assertAlmostEqual(found.us, 1010)
        self.assertAlmostEqual(scaling.parts("one_kernel", 10**9, 4, KNOWN).us, 10 + 250 + 2)
        self.assertAlmostEqual(scaling.bus_bandwidth(10**9, 2, 1000), 1000)  # 1 GB in a millisecond, all of it over the link

    def test_ring_and_tree_are_the_same_for_two_gpus(self):
        self.assertEqual(scaling.steps(scaling.RING, 2), scaling.steps(scaling.TREE, 2))
        self.assertEqual(scaling.busiest_bytes(scaling.RING, 1000, 2), scaling.busiest_bytes(scaling.TREE, 1000, 2))
        for size in (4, 2**16, 2**30):
            ring, tree = (scaling.all_reduce_us(size, 2, algorithm, KNOWN) for algorithm in (scaling.RING, scaling.TREE))
            self.assertAlmostEqual(ring, tree)

    def test_steps_as_nccl_counts_them(self):
        self.assertEqual(scaling.steps(scaling.RING, 8), (14, 0))
        self.assertEqual(scaling.steps(scaling.TREE, 8), (14, 0))  # a chain
        self.assertEqual(scaling.steps(scaling.CHAIN, 8), (7, 0))
        self.assertEqual(scaling.steps(scaling.RING, 16), (28, 2))
        self.assertEqual(scaling.steps(scaling.TREE, 16), (14, 2))
        self.assertEqual(scaling.steps(scaling.TREE, 16384), (14, 22))
        self.assertEqual(scaling.steps(scaling.CHAIN, 16384), (14336, 2047))

    def test_a_ring_sends_less_than_twice_what_it_reduces_whatever_the_number(self):
        sent = [scaling.busiest_bytes(scaling.RING, 1000, gpus) for gpus in POWERS]
        self.assertEqual(sent, sorted(sent))
        self.assertLess(sent[-1], 2000)

    def test_reading_and_exchange_are_monotone_in_the_number_of_gpus(self):
        for way in ("one_kernel", "rank_per_gpu", "all_reduce_ring", "all_reduce_tree"):
            found = [found for gpus in POWERS if (found := scaling.parts(way, 2**33, gpus, KNOWN))]
            self.assertGreaterEqual(len(found), 4)
            for fewer, more in zip(found, found[1:], strict=False):
                self.assertLess(more.reading, fewer.reading, way)
                self.assertGreaterEqual(more.exchange, fewer.exchange, way)

    def test_more_bytes_never_take_less_and_in_the_end_take_what_the_level_moves(self):
        for gpus, bandwidth in ((2, 300), (8, 350), (64, 350)):
            for algorithm in (scaling.RING, scaling.TREE):
                times = [scaling.all_reduce_us(2**exponent, gpus, algorithm, KNOWN) for exponent in range(2, 37)]
                self.assertEqual(times, sorted(times))
                reached = scaling.busiest_bytes(algorithm, 2**36, gpus) / (1e3 * times[-1])
                self.assertTrue(0.99 * bandwidth < reached < bandwidth, reached)

    def test_a_tree_is_ahead_of_a_ring_with_few_bytes_on_many_gpus_and_behind_with_many(self):
        def times(size: int, gpus: int) -> list[float]:
            return [scaling.all_reduce_us(size, gpus, algorithm, KNOWN) for algorithm in (scaling.RING, scaling.TREE)]

        ring, tree = times(4, 16384)
        self.assertGreater(ring, 50 * tree)
        ring, tree = times(2**34, 8)
        self.assertLess(ring, tree)

    def test_what_a_host_thread_launches_one_after_the_other_adds_up(self):
        with_one, with_four = (scaling.parts("peer_copies", 2**14, gpus, KNOWN).launch for gpus in (1, 4))
        self.assertEqual(with_four - with_one, 3 * KNOWN.ways["peer_copies"].next_us)

    def test_nodes_launch_at_the_same_time(self):
        with_one, with_node, with_many = (scaling.parts("rank_per_gpu", 2**14, gpus, KNOWN).launch for gpus in (1, 8, 4096))
        self.assertEqual(with_node - with_one, 7 * KNOWN.ways["rank_per_gpu"].next_us)
        self.assertEqual(with_node, with_many)

    def test_what_the_host_issues_hides_behind_reading(self):
        few, many = (scaling.parts("peer_copies", n, 4, KNOWN).exchange for n in (4, 2**33))
        self.assertAlmostEqual(few, 8 + 9, places=2)
        self.assertAlmostEqual(many, 9)

    def test_queued_calls_do_not_wait_for_the_host(self):
        alone, queued = (scaling.all_reduce_us(4, 8, scaling.RING, KNOWN, queued=queued) for queued in (False, True))
        self.assertAlmostEqual(alone - queued, KNOWN.queued_us)

    def test_none_for_what_the_model_does_not_know(self):
        self.assertIsNone(scaling.parts("peer_reads", 2**20, 2, KNOWN))  # not measured
        self.assertIsNone(scaling.parts("one_kernel", 2**20, 16, KNOWN))  # not in one node
        self.assertIsNotNone(scaling.parts("one_kernel", 2**20, 8, KNOWN))
        for gpus in (0, -1, scaling.MOST + 1):
            self.assertIsNone(scaling.parts("rank_per_gpu", 2**20, gpus, KNOWN))
        self.assertIsNone(scaling.predicted("champion", 2**20, 2))


class Fit(unittest.TestCase):
    """tests/gpu/fit_scaling.py finds the constants from which measurements were made up."""

    def measured(self) -> dict:
        times = [
            {"name": name, "method": method, "gpus": gpus, "n": 2**exponent, "us": scaling.parts(way, 2**exponent, gpus, KNOWN).us}
            for way, (name, method) in fit_scaling.MEASURED_AS.items()
            if way in KNOWN.ways
            for gpus in (1, 2, 4)
            for exponent in range(14, 34)
        ]
        collectives = [
            {"name": "all_reduce", "algorithm": algorithm, "gpus": gpus, "bytes": 4 * 8**power,
             "us": scaling.all_reduce_us(4 * 8**power, gpus, algorithm, KNOWN)}
            for algorithm in (scaling.RING, scaling.TREE)
            for gpus in (2, 4)
            for power in range(10)
        ]  # fmt: skip
        return {"device": "made up", "gpus": 4, "times": times, "collectives": collectives}

    def test_finds_them_again(self):
        made = fit_scaling.fit(self.measured())
        for name, way in KNOWN.ways.items():
            self.assertLess(made["residuals"][name]["largest"], 0.03, name)
            self.assertAlmostEqual(made["ways"][name]["start_us"] / way.start_us, 1, delta=0.03, msg=name)
            self.assertAlmostEqual(made["ways"][name]["gb_per_s"] / way.gb_per_s, 1, delta=0.01, msg=name)
        self.assertAlmostEqual(made["ways"]["peer_copies"]["next_us"], 5, delta=0.3)
        self.assertLess(made["residuals"]["all_reduce"]["median"], 0.03)
        self.assertAlmostEqual(made["levels"]["node"]["gb_per_s"] / 350, 1, delta=0.05)
        self.assertAlmostEqual(made["levels"]["node"]["ring_step_us"]["LL"], 0.5, delta=0.2)
        self.assertEqual([made["levels"][name]["measured"] for name in ("link", "node", "network")], [True, True, False])

    def test_what_it_writes_is_what_the_model_reads(self):
        k = scaling.constants_in(fit_scaling.rounded(fit_scaling.fit(self.measured())))
        self.assertAlmostEqual(scaling.parts("one_kernel", 2**30, 4, k).us / scaling.parts("one_kernel", 2**30, 4, KNOWN).us, 1, delta=0.02)


class Page(unittest.TestCase):
    """docs/results: the constants, the page and the picture belong to the same measurements."""

    def setUp(self):
        files = (plot_scaling.DATA, plot_scaling.EIGHT, scaling.FILE, fill_many_gpus.PUBLISHED)
        self.known, self.eight, self.made, self.published = (json.loads(file.read_text()) for file in files)
        self.measured, self.held_out = plot_scaling.Measured(self.known), plot_scaling.Measured(self.eight)

    def test_the_constants_are_those_of_the_measurements(self):
        """To the last digit they need not be: the search takes other steps where logarithms round otherwise."""
        again = fit_scaling.fit(self.known)
        for way, found in self.made["residuals"].items():
            self.assertEqual(found["cases"], again["residuals"][way]["cases"], way)
            for which in ("median", "largest"):
                self.assertAlmostEqual(found[which], again["residuals"][way][which], delta=0.01, msg=f"{way}, {which}")

    def test_the_figures_on_the_page_are_those_of_the_files(self):
        page = fill_many_gpus.PAGE.read_text()
        blocks = fill_many_gpus.blocks(self.measured, self.held_out, self.made, self.published)
        self.assertEqual(page, fill_many_gpus.fill(page, blocks), "docs/results/fill_many_gpus.py fills it again")

    def test_the_picture_marks_what_is_predicted(self):
        drawn = plot_scaling.draw(self.measured, self.held_out, scaling.fitted())
        self.assertEqual(plot_scaling.PICTURE.read_text(), drawn, "docs/results/fill_many_gpus.py draws it again")
        self.assertIn("dashes: predicted", drawn)
        edge = plot_scaling.Panel(plot_scaling.LEFT, 1, 2, True).x(self.made["most_gpus_measured"])
        solid = re.findall(r'<polyline points="([^"]*)" stroke', drawn)
        self.assertEqual(len(solid), 2 * len(plot_scaling.DRAWN))
        panel = plot_scaling.LEFT + plot_scaling.WIDTH
        for points in solid:
            for point in points.split():
                x = float(point.split(",")[0])
                self.assertLessEqual(
                    x if x <= panel else x - (panel + plot_scaling.LABELS + plot_scaling.GAP - plot_scaling.LEFT), edge + 0.1
                )

    def test_what_was_held_out_of_the_fit_is_predicted(self):
        """Eight GPUs: half of the cases to within a tenth, all to within a factor of 1.6."""
        self.assertLess(self.made["most_gpus_measured"], self.held_out.gpus[-1])
        found = fill_many_gpus.pairs(self.held_out, self.made, self.held_out.gpus[-1])
        off = [abs(predicted / measured - 1) for cases in found.values() for predicted, measured, _ in cases]
        self.assertGreater(len(off), 70)
        self.assertLess(statistics.median(off), 0.1)
        self.assertLess(max(off), 0.6)

    def test_no_network_constant_is_called_measured(self):
        self.assertFalse(self.made["levels"]["network"]["measured"])
        self.assertIn("https://", self.made["levels"]["network"]["from"])
        for each in self.published["all_reduce"]:
            self.assertRegex(each["source"], "^https://")
            self.assertEqual(len({"us", "bus_gb_per_s"} & each.keys()), 1, each)


class Command(unittest.TestCase):
    def run_kit(self, *words: str) -> tuple[int, str]:
        said = io.StringIO()
        with mock.patch.object(scaling, "fitted", lambda: KNOWN), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = cli.main(["predict", *words])
        return code, said.getvalue()

    def test_shows_each_way_and_that_nothing_was_measured(self):
        code, said = self.run_kit("--gpus", "4")
        self.assertEqual(code, 0)
        self.assertIn("The sum of 2^33 floats on 4 GPUs (made up): predicted, not measured", said)
        for way in ("one_kernel", "peer_copies", "nccl_reduce", "rank_per_gpu", "all_reduce_ring", "all_reduce_tree"):
            self.assertIn(way, said)
        self.assertNotIn("peer_reads", said)
        self.assertNotIn("published", said)
        self.assertIn("Beyond 8 GPUs it rests on published figures", self.run_kit("--gpus", "16384")[1])
        self.assertIn("fitted to at most 4 GPUs", self.run_kit("--gpus", "8")[1])

    def test_says_which_ways_are_left_out_and_why_a_chain_is_slow(self):
        said = " ".join(self.run_kit("--gpus", "12")[1].split())
        self.assertIn("Not predicted for 12 GPUs, since they need all GPUs in one node, which has at most 8: one_kernel, ", said)
        self.assertNotIn("chain", said)  # where it is not slower than the tree
        far = " ".join(self.run_kit("--gpus", "16384")[1].split())
        self.assertIn("along a chain of all GPUs: 16,383 steps one after the other; the tree has 36.", far)
        self.assertNotIn("Not predicted for", self.run_kit("--gpus", "8")[1])

    def test_a_low_rate_has_a_decimal(self):
        self.assertRegex(self.run_kit("one_kernel", "--gpus", "8", "--n", "2^14")[1], r"one_kernel .* \d\.\d +\d+% +\d+% +\d+%")

    def test_the_parts_add_up(self):
        code, said = self.run_kit("--gpus", "64", "--n", "2^20", "--json")
        self.assertEqual(code, 0)
        found = json.loads(said)
        self.assertEqual([each["us"] for each in found], sorted(each["us"] for each in found))
        for each in found:
            self.assertAlmostEqual(each["launch_us"] + each["reading_us"] + each["exchange_us"], each["us"], delta=0.02)
            self.assertAlmostEqual(each["gb_per_s"], 4e-3 * 2**20 / each["us"], delta=0.1)

    def test_one_way_alone_by_its_name_or_with_its_lab(self):
        for name in ("one_kernel", "12_many_gpus/one_kernel"):
            code, said = self.run_kit(name, "--gpus", "2", "--json")
            self.assertEqual((code, [each["way"] for each in json.loads(said)]), (0, ["one_kernel"]))

    def test_refuses_with_what_to_do(self):
        for words, told in {
            ("--gpus", "0"): "from 1 to 16,384",
            ("--gpus", "16385"): "from 1 to 16,384",
            ("--gpus", "2.5"): "whole number",
            ("--gpus", "many"): "is not a number",
            ("--gpus", "-1"): "'-1' is less than 0",
            ("--gpus", "2", "--n", "0"): "nothing to add up",
            ("--gpus", "2", "--n", "2^40"): "an H200 has 141",
            ("one_kernel", "--gpus", "16"): "in one node",
            ("sequential", "--gpus", "2"): "the model does not know the method sequential",
            ("one_kernel", "atomics=1", "--gpus", "2"): "does not go with atomics=1",
            ("--gpus", "2", "--block", "128"): "does not go with --block",
            (): "name a rung, or give --gpus",
        }.items():
            code, said = self.run_kit(*words)
            self.assertEqual(code, 2, words)
            self.assertIn(told, said)


if __name__ == "__main__":
    unittest.main()
