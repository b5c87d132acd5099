"""`kit demo --gpus K`: what follows from times over several GPUs, and how it is shown; what is counted on emulated devices; errors."""

import argparse
import contextlib
import io
import json
import os
import unittest
import xml.etree.ElementTree as ElementTree
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit import gpu
from kit.errors import KitError
from kit.ladder import predict
from kit.many_gpus import efficiency, listing, picture, runs

H200 = predict.named("H200")


def entry(name: str, method: str, gpus: int, exponent: int, us: float) -> dict:
    return {"name": name, "method": method, "gpus": gpus, "n": 2**exponent, "us": us, "low": us - 1, "high": us + 2, "runs": 120}


# As tests/gpu/many_gpus prints it; shortened, with round figures.
PRINTED = {
    "device": "NVIDIA H200", "gpus": 4, "driver": "CUDA 13.0", "nccl": "2.28.3",
    "times": [
        *(entry("one_kernel", "rungs", gpus, n, us) for gpus, n, us in
          [(1, 20, 16), (1, 32, 4000), (1, 33, 8000), (2, 33, 4100), (4, 20, 20), (4, 32, 1024), (4, 33, 2050), (4, 34, 4040)]),
        *(entry("one_kernel", "threads", gpus, n, us) for gpus, n, us in
          [(1, 20, 16), (1, 32, 4000), (2, 33, 4000), (4, 20, 10), (4, 32, 1000), (4, 34, 4000)]),
        *(entry("CUB + ncclReduce", "threads", gpus, n, us) for gpus, n, us in [(1, 20, 20), (1, 32, 4000), (4, 20, 25), (4, 34, 5000)]),
        *(entry("champion, parts alone", "threads", gpus, n, us) for gpus, n, us in [(1, 20, 12), (1, 32, 3900), (4, 20, 9), (4, 34, 3900)]),
        entry("something new", "threads", 4, 20, 1),
    ],
    "bits": [],
}  # fmt: skip


def of_line(scaling: efficiency.Scaling, name: str) -> efficiency.Line:
    return next(line for line in scaling.lines if line.name == name)


def printed(show, *words) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        show(*words)
    return out.getvalue()


class Efficiency(unittest.TestCase):
    scaling = runs.read(PRINTED, 4)

    def test_of_strong_scaling_is_over_one_gpu_with_the_same_elements_in_all(self):
        line = of_line(self.scaling, "one_kernel")
        self.assertAlmostEqual(efficiency.strong(line, 4, 2**20), 16 / (4 * 20))
        self.assertAlmostEqual(efficiency.strong(line, 4, 2**32), 4000 / (4 * 1024))
        self.assertIsNone(efficiency.strong(line, 4, 2**26))  # not measured

    def test_of_weak_scaling_is_over_one_gpu_with_what_each_has(self):
        line = of_line(self.scaling, "one_kernel")
        self.assertAlmostEqual(efficiency.weak(line, 2), 4000 / 4100)
        self.assertAlmostEqual(efficiency.weak(line, 4), 4000 / 4040)
        self.assertEqual(efficiency.weak(line, 1), 1)

    def test_over_the_champion(self):
        champion = self.scaling.champion()
        self.assertAlmostEqual(efficiency.weak(of_line(self.scaling, "one_kernel"), 4, champion), 3900 / 4040)
        self.assertAlmostEqual(efficiency.strong(of_line(self.scaling, "CUB + ncclReduce"), 4, 2**20, champion), 12 / (4 * 25))

    def test_gb_per_s_are_of_all_gpus_together(self):
        self.assertAlmostEqual(efficiency.gb_per_s(of_line(self.scaling, "one_kernel"), 4, 2**34), 4 * 2**34 / 4040e-6 / 1e9)

    def test_which_sizes_are_of_which_scaling(self):
        self.assertEqual(self.scaling.sizes(), [2**20, 2**32, 2**33])  # 2^34 is 2^32 per GPU
        self.assertEqual(self.scaling.counts(), [1, 2, 4])
        self.assertEqual([efficiency.powers_up_to(gpus) for gpus in (1, 2, 3, 8)], [[1], [1, 2], [1, 2, 3], [1, 2, 4, 8]])

    def test_of_a_record_with_more_gpus_only_those_asked_for(self):
        two = runs.read(PRINTED | {"times": [*PRINTED["times"], entry("one_kernel", "rungs", 2, 20, 18)]}, 2)
        self.assertEqual((two.sizes(), two.counts()), ([2**20, 2**33], [1, 2]))

    def test_what_is_predicted_has_no_champion_and_leaves_out_what_the_model_does_not_know(self):
        predicted = efficiency.predict("NVIDIA H200", 4, ["known", "unknown"], lambda name, n, gpus: n / gpus if name == "known" else None)
        self.assertEqual([line.name for line in predicted.lines], ["known"])
        self.assertEqual(efficiency.weak(predicted.lines[0], 4), 1)
        self.assertTrue(predicted.predicted)
        self.assertEqual((predicted.sizes()[0], predicted.sizes()[-1], predicted.counts()), (2**20, 2**33, [1, 2, 4]))


class Measured(unittest.TestCase):
    def setUp(self):
        self.scaling = runs.read(PRINTED, 4)

    def test_the_table_says_what_is_divided_by_what(self):
        text = printed(listing.show, self.scaling, "Lab 12 on 4 x NVIDIA H200")
        self.assertRegex(text, r"GB/s over 4 x the line's own on one GPU, same elements in all\n +one_kernel +20\.0% +97\.7% +97\.6%\n")
        self.assertRegex(text, r"GB/s over 4 x the champion's on one GPU, same elements in all\n +one_kernel +15\.0% +95\.2%\n")
        self.assertRegex(text, r"one_kernel +20\.0 +1,024 +2,050\n")
        self.assertRegex(text, r"GB/s over p x the champion's on one GPU, on p GPUs\n +one_kernel +97\.5% +95\.1% +96\.5%\n")
        self.assertRegex(text, r"CUB \+ ncclReduce +100\.0% +80\.0%\n")
        self.assertNotIn("redicted", text)

    def test_a_narrow_terminal_keeps_the_largest(self):
        with mock.patch.dict(os.environ, {"COLUMNS": "50"}):
            text = listing.strong(self.scaling).text()
        self.assertIn("too narrow for: 2^20", text)
        self.assertRegex(text, r"one_kernel +1,024 +2,050\n")

    def test_json(self):
        answer = json.loads(json.dumps(efficiency.as_json(self.scaling)))
        row = next(row for row in answer["weak"] if row["name"] == "one_kernel" and row["gpus"] == 4)
        self.assertAlmostEqual(row["efficiency"], 4000 / 4040)
        self.assertAlmostEqual(row["of_champion"], 3900 / 4040)
        self.assertEqual((row["n"], row["us"], row["low_us"], row["high_us"]), (2**34, 4040, 4039, 4042))
        self.assertEqual(answer["device"], "NVIDIA H200")
        self.assertIs(answer["predicted"], False)
        self.assertEqual({row["gpus"] for row in answer["strong"]}, {4})

    def test_the_picture_has_both_panels_and_tells_its_numbers_in_words(self):
        drawing = ElementTree.fromstring(picture.draw(self.scaling))
        words = drawing.find("{*}desc").text
        self.assertIn("one_kernel: strong scaling 2^20 210 GB/s, 2^32 16,777 GB/s", words)
        self.assertIn("efficiency of weak scaling 1 GPU 100.00%, 2 GPUs 97.56%, 4 GPUs 99.01%", words)
        self.assertIn("measured in one run", drawing.find("{*}title").text)
        # A line per rung and one key each, in both panels; and so many times the champion.
        curves = [line for line in drawing.iter() if line.tag.endswith("polyline")]
        self.assertEqual([line.get("class") for line in curves].count("curve"), 3 * 3)
        self.assertEqual([line.get("class") for line in curves].count("ideal"), 2)
        dashes = {(line.get("stroke"), line.get("stroke-dasharray")) for line in curves if line.get("class") == "curve"}
        self.assertEqual(len({dash for _, dash in dashes}), 3)  # a grey print tells them apart
        self.assertNotIn("parts alone", "".join(text for text in drawing.itertext()))

    def test_higher_is_more(self):
        """The line of the quicker one lies above, in both panels."""
        drawing = ElementTree.fromstring(picture.draw(self.scaling))
        ends = {}
        for line in drawing.iter():
            if line.tag.endswith("polyline") and line.get("class") == "curve":
                ends.setdefault(line.get("stroke"), []).append(float(line.get("points").split()[0].split(",")[1]))
        looks = picture.LOOKS
        quick, slow = (ends[looks[name].colour] for name in ("one_kernel, a thread per GPU", "CUB + ncclReduce"))
        self.assertLess(quick[0], slow[0])

    def test_scales_have_round_figures_round_what_is_drawn(self):
        self.assertEqual([round(100 * value, 2) for value in picture.percents(0.98, 1.003)], [98, 98.5, 99, 99.5, 100, 100.5])
        self.assertEqual([round(100 * value) for value in picture.percents(0.05, 1)], [0, 20, 40, 60, 80, 100])
        self.assertEqual(picture.rounded(97, 18358), [30, 100, 300, 1000, 3000, 10000, 30000])
        self.assertEqual(picture.labelled([2**e for e in (20, 23, 26, 29, 32, 33)]), [2**e for e in (33, 20, 23, 26, 29)])

    def test_small_losses_do_not_fill_the_scale_of_weak_scaling(self):
        drawing = ElementTree.fromstring(picture.draw(runs.predict(H200, 2)))
        self.assertIn("2^32 elements per GPU; the scale begins at 98%", list(drawing.itertext()))

    def test_times_of_fewer_gpus_do_not_pass_for_more(self):
        with self.assertRaises(ValueError):
            runs.read({**PRINTED, "times": [each for each in PRINTED["times"] if each["gpus"] < 4]}, 4)

    def test_the_program_is_asked_for_what_fits_into_a_gpu(self):
        self.assertEqual(runs.words(4, 140 << 30), ["--gpus", "4", "--smallest", "20", "--largest", "33", "--weak"])
        self.assertEqual(runs.words(2, 24 << 30), ["--gpus", "2", "--smallest", "20", "--largest", "31"])
        text = printed(listing.show, runs.read({**PRINTED, "times": [entry("one_kernel", "rungs", 2, 20, 9)]}, 2), "")
        self.assertIn("No weak scaling: 2^32 elements do not fit", text)


def rung(name: str, links: list[dict], **counters) -> dict:
    launches = [{"device": device} for device in (0, 1, 0)]
    counts = {"bytes_to_host": 0, "bytes_to_device": 0, "host_waits": 0} | counters
    return {"name": name, "state": "pass", "profile": {"n": 2**20, "counters": counts, "report": {"launches": launches, "links": links}}}


def link(first: int, second: int, loaded: int = 0, stored: int = 0, copied: int = 0) -> dict:
    return {"from": first, "to": second, "peer_load_sectors": loaded, "peer_store_sectors": stored, "peer_copy_bytes": copied}


class OnEmulatedDevices(unittest.TestCase):
    def test_what_goes_over_the_links(self):
        counted = runs.counted(rung("peer_copies", [link(k, 0, copied=4) for k in (1, 2, 3)], bytes_to_host=8), 4)
        self.assertEqual((counted.launches_per_device, counted.over_links("peer_copy_bytes"), counted.through_host), (2, 12, 8))
        text = printed(listing.show_counted, [counted], 4, H200)
        self.assertRegex(text, r"peer_copies +right +2\^20 +2 +0 +0 +12 +3 +8 +0")
        self.assertIn("peer_copies   4 bytes copied from each of devices 1-3 to device 0\n", text)
        self.assertIn("4 emulated devices", text)

    def test_pairs_in_words(self):
        def told(*links: dict, devices: int = 4) -> list[str]:
            return listing.by_pair(runs.counted(rung("x", list(links)), devices), devices)

        every = [link(a, b, stored=2) for a in range(4) for b in range(4) if a != b]
        self.assertEqual(told(*every), ["2 sectors stored by each device to each other one"])
        self.assertEqual(told(link(0, 1, stored=2), link(1, 0, stored=2), devices=2), ["2 sectors stored by each device to the other"])
        self.assertEqual(told(link(0, 1, loaded=1), link(0, 3, loaded=1)), ["1 sector loaded by device 0 from each of devices 1, 3"])
        self.assertEqual(
            told(link(0, 1, loaded=1), link(2, 3, loaded=1, copied=8)),
            ["1 sector loaded by device 0 from device 1; loaded by device 2 from device 3", "8 bytes copied from device 2 to device 3"],
        )

    def test_a_rung_that_was_not_counted_says_why_and_has_no_figures(self):
        counted = runs.counted({"name": "rank_per_gpu", "state": "skip", "reason": "no MPI here"}, 2)
        text = printed(listing.show_counted, [counted], 2, H200)
        self.assertRegex(text, r"rank_per_gpu +\w+\n")
        self.assertIn("no MPI here", text)
        self.assertNotIn("predicted", text)

    def test_another_gpu_than_the_model_knows_has_no_prediction(self):
        self.assertIsNone(runs.predicted_us("one_kernel", 2**20, 4, predict.named("T4")))
        self.assertEqual(runs.predict(predict.named("T4"), 4).lines, [])
        counted = runs.counted(rung("peer_copies", []), 4)
        self.assertIn("No times are predicted for the T4", printed(listing.show_counted, [counted], 4, predict.named("T4")))

    def test_what_needs_one_node_is_not_predicted_beyond_it_and_that_is_said(self):
        names = ["peer_copies", "rank_per_gpu"]
        text = printed(listing.show_counted, [runs.counted(rung(name, []), 16) for name in names], 16, H200)
        self.assertRegex(text, r"in\s+one\s+node, which\s+has\s+at\s+most\s+8:\s+peer_copies")
        strong = listing.strong(runs.predict(H200, 16)).text()
        self.assertIn("rank_per_gpu", strong)
        self.assertNotIn("peer_copies", strong)  # instead of an empty row
        self.assertNotIn("Not predicted", printed(listing.show_counted, [runs.counted(rung("peer_copies", []), 8)], 8, H200))


class Errors(unittest.TestCase):
    def test_no_number_of_gpus(self):
        for text, says in {
            "0": "at least one GPU",
            "-2": "at least one GPU",
            "two": "not a number",
            "1.5": "not a number",
            "17": "16 devices",
        }.items():
            with self.assertRaises(argparse.ArgumentTypeError) as refused:
                runs.number(text)
            self.assertIn(says, str(refused.exception))
        self.assertEqual([runs.number("1"), runs.number("16")], [1, 16])

    def test_more_gpus_than_there_are(self):
        runs.require_gpus(4, 4)
        for there, says in {1: "has one GPU", 2: "has 2 GPUs"}.items():
            with self.assertRaises(KitError) as refused:
                runs.require_gpus(4, there)
            self.assertIn(says, str(refused.exception))
            self.assertEqual(refused.exception.code, 2)

    def measure(self, **ended: str) -> efficiency.Scaling:
        known = gpu.Gpu("NVIDIA H200", 140 << 30, "CUDA 13.0", {})
        with (
            mock.patch.object(runs.subprocess, "run", return_value=mock.Mock(**ended)) as run,
            contextlib.redirect_stderr(io.StringIO()),
        ):
            found = runs.measure(mock.Mock(), 4, known)
        self.assertEqual(run.call_args.args[0][1:], runs.words(4, 140 << 30))
        return found

    def test_what_the_program_says_when_it_fails_is_shown(self):
        with self.assertRaises(KitError) as failed:
            self.measure(stdout='{"device": "NVIDIA H200", "times": [', stderr="ncclCommInitAll: unhandled system error\n")
        self.assertIn("unhandled system error", str(failed.exception))

    def test_what_the_program_prints_is_read(self):
        self.assertEqual(self.measure(stdout=json.dumps(PRINTED), stderr=""), runs.read(PRINTED, 4))


if __name__ == "__main__":
    unittest.main()
