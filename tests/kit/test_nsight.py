"""Nsight Compute's pages read into the emulator's shape. The pages are a real run's, on an H200: two launches of
grid_stride_two_kernels over 4,096 floats."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit import gpu
from kit.errors import KitError
from kit.profile import nsight

PAGES = Path(__file__).parent / "nsight"


def page(name: str) -> str:
    return (PAGES / f"{name}.csv").read_text()


class Pages(unittest.TestCase):
    def setUp(self):
        self.report = nsight.merged(nsight.launches_of(page("raw")), nsight.lines_of(page("source")))

    def test_each_launch_has_its_shape_and_its_counters(self):
        first, second = self.report["launches"]
        self.assertEqual((first["grid"], first["block"]), ([8, 1, 1], [256, 1, 1]))
        self.assertEqual((second["grid"], second["block"]), ([1, 1, 1], [256, 1, 1]))
        self.assertEqual(first["counters"]["global_load_requests"], 4096 // 32)
        self.assertEqual(first["counters"]["global_load_sectors"], 4096 // 8)
        self.assertEqual(first["counters"]["barriers"], 8 * 9)
        self.assertEqual(second["counters"]["barriers"], 9)
        self.assertEqual(first["counters"]["blocks"], 8)

    def test_an_inlined_instruction_is_counted_once(self):
        for launch in self.report["launches"]:
            lines = sum(line["warp_instructions"] for line in launch["lines"])
            self.assertEqual(lines, launch["counters"]["warp_instructions"])

    def test_shared_memory_is_counted_by_what_took_part(self):
        first = self.report["launches"][0]
        self.assertEqual(first["counters"]["shared_load_requests"], 8 * 25)
        self.assertGreater(first["pipe"]["shared_load_instructions"], 8 * 25)  # those predicated off too

    def test_what_the_program_says_before_its_pages_does_not_matter(self):
        self.assertEqual(nsight.launches_of("pass  tree\n==PROF== done\n" + page("raw")), nsight.launches_of(page("raw")))
        self.assertEqual(nsight.launches_of("nothing was profiled\n"), [])


class Refusals(unittest.TestCase):
    def fake(self, folder: str, script: str) -> None:
        ncu = Path(folder, "ncu")
        ncu.write_text("#!/bin/sh\n" + script)
        ncu.chmod(0o755)

    def test_forbidden_counters_say_whom_to_ask_for_what(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict("os.environ", {"PATH": f"{folder}:/usr/bin:/bin"}):
            self.fake(folder, "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'; exit 1\n")
            with self.assertRaises(KitError) as refused:
                nsight.count(["true"], 1)
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", refused.exception.advice)

    def test_no_report_shows_what_ncu_said(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict("os.environ", {"PATH": f"{folder}:/usr/bin:/bin"}):
            self.fake(folder, "echo 'no kernels were profiled'\n")
            with self.assertRaises(KitError) as refused:
                nsight.count(["true"], 1)
        self.assertIn("no kernels were profiled", str(refused.exception))


class Device(unittest.TestCase):
    def test_no_driver_is_a_reason_and_no_crash(self):
        with mock.patch("ctypes.CDLL", side_effect=OSError), self.assertRaises(gpu.NoGpu) as none:
            gpu.find()
        self.assertIn("libcuda.so.1", str(none.exception))

    def test_peak_bandwidth_is_two_transfers_a_clock_over_the_bus(self):
        attributes = dict.fromkeys(gpu.ATTRIBUTES, 0) | {"memory_clock_khz": 3201000, "bus_bits": 6016}
        self.assertAlmostEqual(gpu.Gpu("H200", 0, "CUDA 13.0", attributes).peak_gb_per_s, 4814.3, places=1)

    def others(self, utilisation: str, programs: str, code: int = 0) -> str:
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict("os.environ", {"PATH": f"{folder}:/usr/bin:/bin"}):
            smi = Path(folder) / "nvidia-smi"
            smi.write_text(f'#!/bin/sh\ncase "$*" in *utilization*) echo "{utilisation}";; *) printf "{programs}";; esac\nexit {code}\n')
            smi.chmod(0o755)
            return gpu.others_at_work()

    def test_a_gpu_that_others_use_is_told_of(self):
        self.assertEqual(self.others("97", "123, /usr/bin/python3, 4096\\n"), "it is 97 % busy, python3 (process 123, 4096 MiB)")
        self.assertEqual(self.others("2", "7, train, 10\\n"), "train (process 7, 10 MiB)")

    def test_an_idle_gpu_and_one_that_cannot_be_asked_are_not(self):
        self.assertEqual(self.others("0", ""), "")
        self.assertEqual(self.others("[N/A]", ""), "")
        self.assertEqual(self.others("97", "1, a, 1\\n", code=9), "")


if __name__ == "__main__":
    unittest.main()
