"""Runs each small program of host_memory.cu and its kin by itself, with checks, and compares the report with what the
program's own list expects of it: test_host_order.py PROGRAM SOURCE ..."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAMS: list[tuple[str, str]] = []
# With two devices, these streams' work is done in either order: no memory is shared with the host, for which the first would be given a start.
IN_EITHER_ORDER = {"first_kernel_of_a_stream", "first_memset_of_a_stream", "first_copy_of_a_stream"}


def run(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run([program, *arguments], env=os.environ | environment, text=True, capture_output=True, timeout=60)


def report_of(program: str, case: str, devices: int = 1) -> tuple[int, list[dict]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        settings = {"CHECKS": "races,initialisation", "GUARD_DEVICE_MEMORY": "on", "REPORT": str(path), "DEVICES": str(devices)}
        result = run(program, case, **{"WARPFOLD_" + name: value for name, value in settings.items()})
        return result.returncode, json.loads(path.read_text())["hazards"]


class HostOrder(unittest.TestCase):
    def test_cases(self):
        for program, source in PROGRAMS:
            lines = Path(source).read_text().splitlines()
            cases = [line.split("\t") for line in run(program).stdout.splitlines()]
            self.assertTrue(cases)
            for case, expected in cases:
                with self.subTest(case):
                    status, hazards = report_of(program, case)
                    self.assertEqual(status, 0)
                    self.check(expected, hazards, lines)

    def test_with_two_devices_the_same_is_found(self):
        """There, kernels are compared access by access, and what a host function reads and writes is not looked at."""
        for program, source in PROGRAMS:
            lines = Path(source).read_text().splitlines()
            for case, expected in (line.split("\t") for line in run(program).stdout.splitlines()):
                if "host_function" in case and expected != "clean":
                    continue
                with self.subTest(case):
                    status, hazards = report_of(program, case, devices=2)
                    self.assertEqual(status, 0)
                    if case in IN_EITHER_ORDER:
                        self.assertTrue(any(hazard["kind"].startswith("race-") for hazard in hazards), hazards)
                        continue
                    for hazard in hazards:
                        hazard["message"] = hazard["message"].replace(" of device 0", "")
                    by_access = [each for each in hazards if "in another launch" in each["message"]]
                    if by_access:
                        self.assertEqual((by_access, expected.partition(":")[0]), (hazards, "race-host"))
                    else:
                        self.check(expected, hazards, lines)

    def check(self, expected: str, hazards: list[dict], lines: list[str]) -> None:
        if expected == "clean":
            self.assertEqual([hazard["message"] for hazard in hazards], [])
            return
        kind, _, message = expected.partition(": ")
        self.assertEqual({hazard["kind"] for hazard in hazards}, set(kind.split("|")), hazards)
        reported = [f"{hazard['message']} {hazard['advice']}" for hazard in hazards]
        self.assertTrue(any(re.match(message, text) for text in reported), reported)
        if not shutil.which("addr2line"):
            return
        for hazard in hazards:
            self.assertTrue(hazard["line"], hazard)
            self.assertIn("// here", lines[hazard["line"] - 1], hazard)
            if hazard["other_line"]:
                self.assertRegex(lines[hazard["other_line"] - 1], "// (there|here)", hazard)

    def test_half_are_right(self):
        expected = [line.split("\t")[1] for program, _ in PROGRAMS for line in run(program).stdout.splitlines()]
        right = expected.count("clean")
        self.assertGreaterEqual(len(expected), 30)
        self.assertGreaterEqual(right, 15)
        self.assertGreaterEqual(len(expected) - right, 15)

    def test_without_checks_the_process_ends_as_on_a_gpu(self):
        program = PROGRAMS[0][0]
        result = run(program, "device_memory_read", WARPFOLD_GUARD_DEVICE_MEMORY="on")
        self.assertEqual(result.returncode, -11, result.stderr)
        self.assertRegex(result.stderr, r"the host reads device memory at 0x\w+: byte 16 of allocation 1 .*; copy it with cudaMemcpy")

    def test_other_signals_end_the_process_as_ever(self):
        for case, signal in {"null_pointer": 11, "fault_sent": 11, "trap_sent": 5}.items():
            for guard in ["on", "off"]:
                with self.subTest(case, guard=guard):
                    result = run(PROGRAMS[0][0], case, WARPFOLD_CHECKS="races,initialisation", WARPFOLD_GUARD_DEVICE_MEMORY=guard)
                    self.assertEqual(result.returncode, -signal)

    def test_off_by_default(self):
        result = run(PROGRAMS[0][0], "device_memory_read")
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    PROGRAMS = list(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    unittest.main(argv=sys.argv[:1])
