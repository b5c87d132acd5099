"""Whatever a kernel does, it ends: by the limit of steps, of time, or by a signal, and what was found is reported."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop()
SECONDS = 60  # far more than any of them takes; without an end each would take for ever


def run(which: str, **settings: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"WARPFOLD_" + name.upper(): value for name, value in settings.items()}
    return subprocess.run([PROGRAM, which], env=environment, capture_output=True, text=True, timeout=SECONDS)


class Ends(unittest.TestCase):
    def assert_told(self, result: subprocess.CompletedProcess, *words: str):
        self.assertIn("cudaErrorLaunchTimeout", result.stdout)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_spinning_counts_as_steps(self):
        for which, line in ("lock", 8), ("atomics", 14), ("polling", 18):
            for checks in "none", "all":
                with self.subTest(which, checks=checks):
                    result = run(which, step_limit="100000", checks=checks)
                    self.assert_told(result, "warp instructions without coming to an end", f"ends.cu:{line} (running)")

    def test_a_wait_is_told_apart_from_another_endless_loop(self):
        for which, words in (
            ("lock", "must release it"),
            ("polling", "the thread that should write it"),
            ("atomics", "how the loop's variable changes"),
        ):
            with self.subTest(which), tempfile.TemporaryDirectory() as folder:
                report = Path(folder) / "report.json"
                run(which, step_limit="1000000", report=str(report))
                hazards = json.loads(report.read_text())["hazards"]
                self.assertEqual([each["kind"] for each in hazards], ["endless"])
                self.assertIn(words, hazards[0]["advice"])

    def test_threads_that_repeat_what_they_have_done_are_stopped(self):
        """Although they store and pass barriers. The emulator is patient for 10 s."""
        begin = time.monotonic()
        self.assert_told(run("repeated stores"), "repeats the same steps for ever: for 10 s", "ends.cu:")
        self.assertGreater(time.monotonic() - begin, 10)

    def test_a_barrier_of_the_grid_that_blocks_have_left_is_told(self):
        self.assert_told(run("grid barrier"), "waits for all 8 blocks of the grid, 4 of which have ended")

    def test_a_launch_ends_by_its_time_limit(self):
        self.assert_told(run("polling", time_limit="300"), "has not come to an end after", "ends.cu:18 (running)")

    def test_a_time_limit_ends_a_launch_whose_blocks_all_end(self):
        result = run("many blocks", time_limit="300")
        self.assert_told(result, "of its 2147483647 blocks have")
        seconds = re.search(r"the kernel has not come to an end after (\S+) s:", result.stderr)
        self.assertGreaterEqual(float(seconds[1]), 0.3)  # later where the machine is busy

    def test_a_signal_leaves_a_report(self):
        for which in "polling", "host loop", "many blocks":
            for number in signal.SIGINT, signal.SIGTERM:
                with self.subTest(which, number=number), tempfile.TemporaryDirectory() as folder:
                    report = Path(folder) / "report.json"
                    process = subprocess.Popen(
                        [PROGRAM, which], env=os.environ | {"WARPFOLD_REPORT": str(report)},
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    )  # fmt: skip
                    time.sleep(0.5)
                    process.send_signal(number)
                    process.communicate(timeout=SECONDS)
                    self.assertEqual(process.returncode, -number)
                    self.assertTrue(json.loads(report.read_text())["launches"])

    def test_what_is_found_outlives_a_process_that_is_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            environment = os.environ | {"WARPFOLD_REPORT": str(report), "WARPFOLD_CHECKS": "all"}
            with subprocess.Popen([PROGRAM, "race"], env=environment, stdout=subprocess.PIPE) as process:
                until = time.monotonic() + SECONDS
                while not report.exists() and time.monotonic() < until:
                    time.sleep(0.05)
                process.kill()
            self.assertIn("race-global", [each["kind"] for each in json.loads(report.read_text())["hazards"]])

    def test_what_is_found_outlives_a_process_that_runs_out_of_memory(self):
        """Also what was found immediately before."""
        for which, status, kinds in (
            ("no memory on the host", -signal.SIGABRT, ["race-global", "race-global"]),
            ("no memory for blocks", 0, ["race-global", "race-global", "launch"]),
        ):
            with self.subTest(which), tempfile.TemporaryDirectory() as folder:
                report = Path(folder) / "report.json"
                result = run(which, report=str(report), checks="races,initialisation")
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertCountEqual([each["kind"] for each in json.loads(report.read_text())["hazards"]], kinds)

    def test_with_little_address_space_the_device_has_less_memory(self):
        command = ["sh", "-c", f"ulimit -v {30 << 20}; exec {PROGRAM} ends"]
        result = subprocess.run(command, env=os.environ | {"WARPFOLD_CHECKS": "all"}, capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual((result.stdout, result.stderr), ("cudaSuccess\n", ""))


if __name__ == "__main__":
    unittest.main()
