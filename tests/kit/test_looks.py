"""`kit profile`, `kit trace` and `kit emulate --check` on the solved labs, on the build that `./kit test` made."""

import json
import os
import re
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from support import ROOT
from test_commands import kit
from test_profile import self_contained


@unittest.skipUnless(os.environ.get("WARPFOLD_KIT_TEST"), "needs the build in .kit: run by ./kit test")
class Looks(unittest.TestCase):
    def profile(self, lab: str, *rungs: str, n: str = "2^14") -> dict[str, dict[str, dict]]:
        """Of each rung, the counts of its lines by their source."""
        words = [word for rung in rungs for word in ("--rung", rung)]
        result = kit("profile", lab, "--solutions", "--json", "--n", n, *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(rung["rung"] for rung in json.loads(result.stdout)), sorted(rungs))
        return {
            rung["rung"]: {
                line["source"].strip(): line
                for kernel in rung["kernels"] for file in kernel["files"] for line in file["lines"] if line["counters"]
            }
            for rung in json.loads(result.stdout)
        }  # fmt: skip

    def line(self, lines: dict[str, dict], text: str) -> dict:
        return next(line for source, line in lines.items() if text in source)

    def test_lab_02_shows_divergence_and_conflicts_where_they_come_and_go(self):
        rungs = self.profile("02_tree", "interleaved", "strided_index", "sequential", "first_add", "many_pass")
        interleaved = self.line(rungs["interleaved"], "t % (2 * stride)")
        strided = self.line(rungs["strided_index"], "partial[index] +=")
        sequential = self.line(rungs["sequential"], "if (t < stride) partial[t]")
        self.assertTrue(interleaved["hottest"])
        self.assertLess(interleaved["simt_efficiency"], 0.65)
        self.assertGreater(interleaved["divergent_share"], 0.5)
        self.assertLess(strided["divergent_share"], 0.2)
        self.assertGreater(strided["bank_conflicts"], 1000)
        for rung in ("interleaved", "sequential", "first_add", "many_pass"):
            self.assertTrue(all(line["bank_conflicts"] is None for line in rungs[rung].values()), rung)
        self.assertLess(sequential["divergent_share"], 0.1)
        self.assertGreater(sequential["simt_efficiency"], 0.85)
        self.assertEqual(sequential["executions_per_warp"], 8)
        self.assertEqual([line["sectors_per_request"] for line in rungs["sequential"].values() if line["sectors_per_request"]], [4])

    def test_lab_02_in_place_shows_the_sectors(self):
        rungs = self.profile("02_tree", "in_place_interleaved", "in_place_sequential", n="512")
        scattered = self.line(rungs["in_place_interleaved"], "data[i] += data[i + stride]")
        together = self.line(rungs["in_place_sequential"], "data[t] += data[t + stride]")
        self.assertGreater(scattered["counters"]["global_load_sectors"], 2 * together["counters"]["global_load_sectors"])
        self.assertGreater(scattered["divergent_share"], 2 * together["divergent_share"])

    def test_page_terminal_and_bad_questions(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            result = kit("profile", "04_shuffle", "--solutions", "--n", "10000", "--html", str(page))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("warp_shuffle", self_contained(self, page.read_text()).text)
        text = kit("profile", "tree", "--solutions", "--rung", "sequential", COLUMNS="100").stdout
        self.assertRegex(text, r"(?m)^> +\d+% ")
        self.assertRegex(kit("profile", "01_naive_atomic").stderr, r"still a TODO at labs/01_naive_atomic/naive_atomic\.cu:\d+")
        for words, said in [
            (["profile", "tree", "--solutions", "--rung", "escalator"], "no rung 'escalator'"),
            (["profile", "tree", "--solutions", "--rung", "sequential", "--n", "many"], "not a number"),
            (["trace", "tree", "--solutions", "--rung", "sequential", "--block-index", "99", "--text"], "counted from 0"),
            (["trace", "tree", "--solutions", "--rung", "sequential", "--svg", "99", "x.svg"], "counted from 1"),
            (["trace", "tree", "--solutions", "--rung", "sequential", "--svg", "1", "/nowhere/x.svg"], "no folder"),
        ]:
            result = kit(*words)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(said, result.stderr)

    def trace(self, lab: str, rung: str, *words: str) -> list[dict]:
        result = kit("trace", lab, "--solutions", "--rung", rung, "--json", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["steps"]

    def test_trace_of_the_trees(self):
        sequential, strided = self.trace("02_tree", "sequential"), self.trace("02_tree", "strided_index")
        for steps in (sequential, strided):
            self.assertEqual([len(step["active"]) for step in steps], [64, 32, 16, 8, 4, 2, 1, 1])
            self.assertFalse(any(step["races"] for step in steps))
        conflicts = [sum(request["bank_conflicts"] for request in step["requests"]) for step in strided]
        self.assertEqual([count > 0 for count in conflicts], [False, True, True, True, True, True, False, False])
        self.assertEqual(sum(request["bank_conflicts"] for step in sequential for request in step["requests"]), 0)

    def test_trace_of_the_unrolled_warp_keeps_reads_and_writes_apart(self):
        steps = self.trace("03_warp_unroll", "unroll_last_warp")
        for step in steps[1:-1]:
            self.assertEqual(len({request["kind"] for request in step["requests"]}), 1, step["words"])

    def test_trace_adds_up_1_to_9(self):
        """Figures that a reader can add up along with the block, as in ./kit run."""
        partial, given = [], [t % 9 + 1 for t in range(128)]
        with tempfile.TemporaryDirectory() as folder:
            for step in (1, 2, 7):
                still = Path(folder) / "still.svg"
                result = kit("trace", "tree", "--solutions", "--rung", "sequential", "--svg", str(step), str(still))
                self.assertEqual(result.returncode, 0, result.stderr)
                titles = [title.text for title in ElementTree.parse(still).iter() if title.tag.endswith("}title")]
                partial.append([int(found[1]) for title in titles if (found := re.match(r"partial\[\d+\] = (\d+)", title))])
        self.assertEqual(partial[0], given[:64])
        self.assertEqual(partial[1][:32], [given[t] + given[t + 32] for t in range(32)])
        self.assertEqual(partial[2][0], sum(given[:64]))

    def test_trace_of_several_launches(self):
        launches = list(dict.fromkeys(step["launch"].split(":")[0] for step in self.trace("05_grid_stride", "grid_stride_two_kernels")))
        self.assertEqual(launches, ["launch 1 of 2", "launch 2 of 2"])

    def test_trace_as_page_and_still(self):
        with tempfile.TemporaryDirectory() as folder:
            page, still = Path(folder) / "page.html", Path(folder) / "still.svg"
            result = kit("trace", "tree", "--solutions", "--rung", "sequential", "--html", str(page))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("Step 8 of 8", self_contained(self, page.read_text()).text)
            result = kit("trace", "tree", "--solutions", "--rung", "sequential", "--block", "32", "--svg", "2", str(still))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("16 of 32 threads at work", ElementTree.parse(still).find("{*}desc").text)

    def test_emulate_profiles_any_program_by_its_own_lines(self):
        program = ROOT / ".kit" / "build" / "tests" / "bench" / "bench_interleaved_tree"
        if not program.exists():
            self.assertEqual(kit("bench", "--json").returncode, 0)
        result = kit("emulate", "--profile", str(program))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("interleaved_tree.cu", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^> ")


if __name__ == "__main__":
    unittest.main()
