"""WARPFOLD_... variables and warpfold_emulator.h: options, and the report at the end of a process."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

USE_DEVICE = """
import ctypes, os
cuda = ctypes.CDLL(os.environ["WARPFOLD_EMULATOR"])
cuda.cudaMemGetInfo(None, None)
"""


def run(program: str = USE_DEVICE, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | variables,
        text=True,
        capture_output=True,
        timeout=60,
    )


class Environment(unittest.TestCase):
    def test_report_is_written_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            path.write_text("an older report")
            result = run(WARPFOLD_REPORT=str(path))
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            report = json.loads(path.read_text())
            self.assertEqual(report["launches"], [])
            self.assertEqual(report["hazards"], [])
            self.assertEqual([entry.name for entry in Path(folder).iterdir()], ["report.json"])

    def test_leaks(self):
        leave_two = (
            USE_DEVICE
            + """
for size in (100, 20, 3):
    pointer = ctypes.c_void_p()
    cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size))
cuda.cudaFree(pointer)
"""
        )
        for checks, expected in {
            "races": [],
            "leaks": ["never freed: 120 bytes in 2 allocations (allocation 1 (100 bytes), allocation 2 (20 bytes))"],
        }.items():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "report.json"
                run(leave_two, WARPFOLD_REPORT=str(path), WARPFOLD_CHECKS=checks)
                hazards = json.loads(path.read_text())["hazards"]
                self.assertEqual([hazard["message"] for hazard in hazards], expected)

    def test_progress_is_written_at_the_end_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "progress.json"
            fill = """
pointer = ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(100))
for value in (1, 2, 3): cuda.cudaMemset(pointer, value, ctypes.c_size_t(100))
"""
            result = run(USE_DEVICE + fill, WARPFOLD_PROGRESS=str(path))
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            progress = json.loads(path.read_text())
            self.assertEqual((progress["launches"], progress["blocks"], progress["kernels"]), (0, 0, []))
            self.assertEqual(progress["copies"]["times"], 3)
            self.assertGreaterEqual(progress["busy_seconds"], progress["copies"]["emulator_seconds"])
            self.assertGreater(progress["emulator_seconds"], progress["busy_seconds"])
            self.assertEqual([entry.name for entry in Path(folder).iterdir()], ["progress.json"])

    def test_a_forked_process_leaves_the_progress_of_its_parent(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "progress.json"
            fork = """
import time
while not os.path.exists(os.environ["WARPFOLD_PROGRESS"]):
    time.sleep(0.01)
pointer = ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(100))
if (child := os.fork()) == 0:
    cuda.cudaMemset(pointer, 1, ctypes.c_size_t(100))
    exit(0)
os.waitpid(child, 0)
print("copies" in open(os.environ["WARPFOLD_PROGRESS"]).read())
"""
            self.assertEqual(run(USE_DEVICE + fork, WARPFOLD_PROGRESS=str(path)).stdout, "False\n")

    def test_report_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run(WARPFOLD_REPORT=f"{folder}/no/such/folder/report.json")
            self.assertRegex(result.stderr, "cannot write the report to .*report.json.*No such file")
            self.assertEqual(list(Path(folder).iterdir()), [])

    def test_what_hides_gpus_hides_no_emulated_device(self):
        """Slurm sets it to "" or NoDevFiles on a node without GPUs, where labs of several devices still run."""
        program = USE_DEVICE + "count = ctypes.c_int(); print(cuda.cudaGetDeviceCount(ctypes.byref(count)), count.value)"
        for listed, expected in {
            "": "0 4",
            "NoDevFiles": "0 4",
            "-1": "0 4",
            "GPU-8932f937": "0 4",
            "2,0": "0 2",
            "1,7,2": "0 1",
            "7": "100 0",
        }.items():
            with self.subTest(listed=listed):
                self.assertEqual(run(program, WARPFOLD_DEVICES="4", CUDA_VISIBLE_DEVICES=listed).stdout.strip(), expected)

    def test_values_that_are_not_allowed(self):
        for variable, value in {
            "WARPFOLD_WORKERS": "many",
            "WARPFOLD_CHECKS": "races,spelling",
            "WARPFOLD_STEP_LIMIT": "-1",
        }.items():
            result = run(**{variable: value})
            self.assertRegex(result.stderr, f"^warpfold: {variable}={value} is ignored: expected ")

    def test_values_that_are_allowed(self):
        result = run(WARPFOLD_WORKERS="2", WARPFOLD_CHECKS="none", WARPFOLD_STEP_LIMIT="1000000")
        self.assertEqual(result.stderr, "")

    def test_options(self):
        emulator = ctypes.CDLL(os.environ["WARPFOLD_EMULATOR"])
        self.assertEqual(emulator.warpfold_emulator_interface(), 1)
        option = emulator.warpfold_emulator_option
        for name, value in [
            (b"workers", b"0"),
            (b"workers", b"3"),
            (b"step-limit", b"5000"),
            (b"print-limit", b"7"),
            (b"print-limit", b"0"),
            (b"print-limit-in-all", b"100"),
            (b"print-limit-in-all", b"0"),
            (b"fault-messages", b"off"),
            (b"fault-messages", b"on"),
            (b"checks", b"none"),
        ]:
            self.assertEqual(option(name, value), 0, (name, value))
        for name, value in [(b"workers", b"x"), (b"workers", b""), (b"colour", b"red"), (b"checks", b"al"), (None, b"1")]:
            self.assertEqual(option(name, value), -1, (name, value))
        emulator.warpfold_emulator_reset()
        emulator.warpfold_emulator_report.restype = ctypes.c_char_p
        self.assertEqual(json.loads(emulator.warpfold_emulator_report())["launches"], [])


if __name__ == "__main__":
    unittest.main()
