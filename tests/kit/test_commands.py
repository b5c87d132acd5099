"""status, watch, demo, emulate and bench as a user calls them, on the build that `./kit test` made."""

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support
from kit import gpu

ROOT = support.ROOT

try:
    gpu.find()
    EMULATED = False
except gpu.NoGpu:
    EMULATED = True


def kit(*words: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, ROOT / "kit", *words],
        text=True,
        capture_output=True,
        timeout=300,
        cwd=ROOT,
        env=os.environ | environment,
    )


def in_terminal(command: list[str], **environment: str) -> str:
    """What the command writes where stdout and stderr are a terminal."""
    own, other = pty.openpty()
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=other, stderr=other):
        os.close(other)
        written = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(own, 4096):
                written += part
    os.close(own)
    return written.decode()


def on_screen(written: str) -> str:
    """What stays on a terminal: each carriage return writes over the line from its beginning."""
    lines = []
    for line in written.split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part) :]
        lines.append(shown.rstrip())
    return "\n".join(lines)


@unittest.skipUnless(os.environ.get("WARPFOLD_KIT_TEST"), "needs the build in .kit: run by ./kit test")
class Commands(unittest.TestCase):
    def test_status_shows_each_rung_and_the_next_todo(self):
        result = kit("status")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("01_naive_atomic", result.stdout)
        self.assertRegex(result.stdout, r"naive_atomic +todo +\S*naive_atomic\.cu:\d+")
        self.assertRegex(result.stdout, r"Next: naive_atomic \(todo\) \S*naive_atomic\.cu:\d+")

    def test_status_of_one_lab_as_json(self):
        result = kit("status", "--json", "02")
        answers = json.loads(result.stdout)
        self.assertEqual([answer["lab"] for answer in answers], ["02_tree"])
        self.assertIn("sequential", [rung["name"] for rung in answers[0]["rungs"]])

    def test_no_such_lab(self):
        for command in (["status", "99_none"], ["watch", "99_none"], ["demo", "--lab", "99_none"]):
            result = kit(*command)
            self.assertEqual(result.returncode, 2)
            self.assertIn("no such lab", result.stderr)
            self.assertIn("01_naive_atomic", result.stderr)

    def test_a_rung_is_named_with_its_lab_or_by_an_option(self):
        by_name = kit("run", "02/sequential", "--n", "4", "--solutions", "--json")
        by_option = kit("run", "labs/02_tree", "--rung", "sequential", "--n", "4", "--solutions", "--json")
        self.assertEqual(json.loads(by_name.stdout), json.loads(by_option.stdout))
        both = kit("run", "tree/sequential", "--rung", "first_add", "--solutions")
        self.assertEqual((both.returncode, both.stderr.count("name two rungs")), (2, 1))

    def test_no_such_rung(self):
        result = kit("watch", "01_naive_atomic", "--rung", "elevator", "--times", "1")
        self.assertEqual(result.returncode, 2)
        self.assertIn("naive_atomic", result.stderr)

    def test_watch_shows_the_verdict(self):
        result = kit("watch", "naive_atomic", "--times", "1")
        self.assertEqual(result.returncode, 77, result.stderr)
        self.assertIn("TODO", result.stdout.upper())

    def test_no_color_leaves_no_escape_in_a_terminal(self):
        """Nor in the lines that are rewritten in place while a lab is compiled."""
        for words in (["status"], ["profile", "01", "--solutions"], ["watch", "01", "--times", "1"]):
            touch = ROOT / ("solutions" if "--solutions" in words else "labs") / "01_naive_atomic" / "naive_atomic.cu"
            os.utime(touch)
            for no_color in ("", "1"):
                written = in_terminal([sys.executable, str(ROOT / "kit"), *words], NO_COLOR=no_color, TERM="xterm", COLUMNS="100")
                self.assertIn("naive_atomic", written)
                self.assertEqual("\033" in written, not no_color, written)

    def test_no_color_leaves_meson_no_terminal(self):
        script = "import os; from kit.commands import test; test.shown(['sh', '-c', 'test -t 1 && echo escapes; echo ended'], os.environ)"
        for no_color in ("", "1"):
            written = in_terminal([sys.executable, "-c", script], NO_COLOR=no_color, PYTHONPATH=str(ROOT / "common"))
            self.assertIn("ended", written)
            self.assertEqual("escapes" in written, not no_color)

    def test_demo_of_one_lab(self):
        result = kit("demo", "--lab", "01_naive_atomic", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        rung = json.loads(result.stdout)[0]["rungs"][0]
        self.assertEqual((rung["name"], rung["state"]), ("naive_atomic", "pass"))

    @unittest.skipUnless(EMULATED, "there is a GPU: nothing is emulated")
    def test_demo_over_emulated_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "gpus.svg"
            result = kit("demo", "--gpus", "2", "--json", "--picture", str(picture))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("predicted by a model, not measured", picture.read_text())
        answer = json.loads(result.stdout)
        rungs = {rung["rung"]: rung for rung in answer["counted"]}
        self.assertEqual(list(rungs), ["peer_copies", "peer_reads", "nccl_reduce", "one_kernel", "rank_per_gpu"])
        self.assertEqual(
            rungs["peer_copies"]["links"], [{"from": 1, "to": 0, "peer_load_sectors": 0, "peer_store_sectors": 0, "peer_copy_bytes": 4}]
        )
        self.assertEqual([(link["from"], link["peer_store_sectors"]) for link in rungs["one_kernel"]["links"]], [(0, 2), (1, 2)])
        self.assertEqual(rungs["one_kernel"]["launches_per_device"], 1)
        self.assertIs(answer["predicted"]["predicted"], True)

    def test_demo_over_no_number_of_gpus(self):
        for words in (["--gpus", "0"], ["--gpus", "many"], ["--gpus", "2", "--lab", "02"], ["--gpus", "2", "--peers"]):
            result = kit("demo", *words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn("--gpus", result.stderr)

    def test_demo_keeps_to_the_terminal_and_has_no_colour_in_a_pipe(self):
        result = kit("demo", "--lab", "02_tree", COLUMNS="80")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertNotIn("\033", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)
        self.assertRegex(result.stdout, r"\d+ of \d+ rungs are right")

    def test_a_test_depends_on_what_its_command_line_names(self):
        """Otherwise `./kit test NAME` starts it on what was built before, or on nothing."""
        info = ROOT / ".kit" / "build" / "meson-info"
        files = {target["filename"][0]: target["id"] for target in json.loads((info / "intro-targets.json").read_text())}
        missing = [
            (test["name"], word) for test in json.loads((info / "intro-tests.json").read_text()) for word in test["cmd"]
            if (file := word.split("=")[-1]) in files and files[file] not in test["depends"]
        ]  # fmt: skip
        self.assertEqual(missing, [])

    def test_list_and_names_that_there_are_not(self):
        listed = kit("test", "--list", "--suite", "kit")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertRegex(listed.stdout, r"(?m)^kit cli +kit$")
        refused = kit("test", "kit clu")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("Did you mean: kit cli", refused.stderr)

    def test_bench_measures_what_it_says(self):
        result = kit("bench", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        for record in json.loads(result.stdout):
            self.assertGreaterEqual(set(record), {"program", "n", "ms", "cpu_loop_ms", "ratio"})
            self.assertEqual(record["n"], 2**23)
            self.assertAlmostEqual(record["ratio"], record["ms"] / record["cpu_loop_ms"], places=2)

    def test_emulate_writes_a_report_and_passes_the_exit_code_on(self):
        program = ROOT / ".kit" / "build" / "tests" / "bench" / "bench_grid_stride_shuffle"
        if not program.exists():
            self.assertEqual(kit("bench", "--json").returncode, 0)
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            result = kit("emulate", "--report", str(report), str(program))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(json.loads(result.stdout)["program"], "grid_stride_shuffle")
            launches = json.loads(report.read_text())["launches"]
            self.assertEqual({tuple(launch["grid"]) for launch in launches}, {(640, 1, 1)})
            self.assertGreater(launches[0]["counters"]["shuffles"], 0)

    def test_emulate_check_finds_nothing_wrong_with_a_right_program(self):
        program = ROOT / ".kit" / "build" / "tests" / "bench" / "bench_grid_stride_tree"
        result = kit("emulate", "--check", "--profile", str(program))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("no hazards", result.stderr)
        self.assertRegex(result.stdout, r"\d+% .*\d+  .*for \(")

    def test_emulate_time_says_where_the_time_went_and_leaves_the_output_unchanged(self):
        program = ROOT / ".kit" / "build" / "tests" / "bench" / "bench_grid_stride_shuffle"
        result = kit("emulate", "--time", str(program))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["program"], "grid_stride_shuffle")
        self.assertIn("Wall time of the emulator", result.stderr)
        rows = {name: float(seconds) for name, seconds in re.findall(r"^(\S.*?)  .*? ([\d.]+) +\d+%$", result.stderr, re.MULTILINE)}
        kernel = next(name for name in rows if "shuffle" in name)
        self.assertGreater(rows[kernel], 0)
        self.assertEqual(set(rows) - {kernel}, {"copies and fills", "reading the program's PTX", "outside: the program's own code"})
        whole = float(re.search(r"^in all +([\d.]+)$", result.stderr, re.MULTILINE)[1])
        self.assertAlmostEqual(sum(rows.values()), whole, delta=0.01 + 0.01 * whole)  # one device does one thing at a time

    def test_emulate_at_a_terminal_shows_what_the_program_prints_and_nothing_else(self):
        program = ROOT / ".kit" / "build" / "tests" / "bench" / "bench_grid_stride_shuffle"
        written = in_terminal([sys.executable, str(ROOT / "kit"), "emulate", str(program)])
        self.assertEqual(json.loads(on_screen(written))["program"], "grid_stride_shuffle")


if __name__ == "__main__":
    unittest.main()
