"""`kit device`: one GPU, several and what links them, by a stand-in for NVIDIA's driver; and the form of what is measured."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support
from kit.commands import device
from kit.topology import Pair


def link(first: int, second: int, gb_per_s: float, read_us: float | None = 0.7) -> dict:
    return {"from": first, "to": second, "peer_access": read_us is not None, "gb_per_s": gb_per_s, "both_ways_gb_per_s": 700.0,
            "copy_us": 1.5 + first, "read_us": read_us}  # fmt: skip


class ByTheDriver(unittest.TestCase):
    """Python loads the stand-in by the names of NVIDIA's libraries."""

    @classmethod
    def setUpClass(cls):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise unittest.SkipTest("this machine has no C compiler to build the stand-in with")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        built = cls.folder / "libcuda.so.1"
        source = Path(__file__).parent / "driver_standin.c"
        subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o", built, source], check=True)

    def device(self, gpus: int, wiring: str, *words: str, nvml: bool = True) -> str:
        with tempfile.TemporaryDirectory() as libraries:
            names = ["libcuda.so.1", "libnvidia-ml.so.1"][: 2 if nvml else 1]
            for name in names:
                shutil.copy(self.folder / "libcuda.so.1", Path(libraries) / name)
            environment = {"LD_LIBRARY_PATH": libraries, "STANDIN_GPUS": str(gpus), "STANDIN_WIRING": wiring}
            result = subprocess.run([sys.executable, support.ROOT / "kit", "device", "--quick", *words], text=True, capture_output=True,
                                    env=os.environ | environment, timeout=60)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def links(self, gpus: int, wiring: str) -> dict[tuple[int, int], tuple]:
        links = json.loads(self.device(gpus, wiring, "--json"))["links"]
        return {(each["from"], each["to"]): (each["linked_by"], each["nvlinks"], each["peer_access"]) for each in links}

    def test_one_gpu_has_no_links(self):
        self.assertEqual(set(json.loads(self.device(1, "switch", "--json"))), {"gpu"})
        text = self.device(1, "switch")
        self.assertIn("Stand-in 0", text)
        self.assertNotIn("Links", text)

    def test_nvlink_through_a_switch(self):
        found = self.links(4, "switch")
        self.assertEqual(len(found), 12)
        self.assertEqual(set(found.values()), {("18 NVLinks, switched", 18, True)})

    def test_nvlink_from_gpu_to_gpu_and_none_between_others(self):
        found = self.links(4, "direct")
        self.assertEqual(found[0, 1], ("4 NVLinks", 4, True))
        self.assertEqual(found[3, 2], ("1 NVLink", 1, True))
        self.assertEqual(found[1, 2], ("PCIe across sockets", 0, True))

    def test_pcie_alone(self):
        found = self.links(4, "pcie")
        self.assertEqual(found[1, 0], ("one PCIe switch", 0, True))
        self.assertEqual(found[2, 3], ("a PCIe host bridge", 0, True))
        self.assertEqual(found[0, 3], ("PCIe across sockets", 0, False))

    def test_as_text_nothing_is_measured_if_it_is_to_be_quick(self):
        text = self.device(2, "pcie")
        self.assertRegex(text, r"GPUs +linked by +peer access\n0, 1 +one PCIe switch +yes\n")
        self.assertNotIn("GB/s there", text)

    def test_without_nvml(self):
        self.assertRegex(self.device(2, "switch", nvml=False), r"0, 1 +not known \(no NVML\) +yes\n")


class Measured(unittest.TestCase):
    pairs = [Pair(0, 1, "18 NVLinks, switched", 18, True), Pair(0, 2, "PCIe across sockets", 0, False)]
    links = [link(0, 1, 390.25), link(1, 0, 391.5, 0.9), link(0, 2, 20, None), link(2, 0, 21, None)]

    def test_text(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            device.show_links(self.pairs, self.links)
        self.assertRegex(out.getvalue(), r"0, 1 +18 NVLinks, switched +yes +390\.2 +391\.5 +700\.0 +2\.50 +0\.90\n")
        self.assertRegex(out.getvalue(), r"0, 2 +PCIe across sockets +no +20\.0 +21\.0 +700\.0 +3\.50\n")  # no read without access
        self.assertLessEqual(max(map(len, out.getvalue().splitlines())), 110)

    def test_json_has_what_is_known_and_what_is_measured(self):
        answer = device.as_json(self.pairs, self.links)
        self.assertEqual([(each["from"], each["to"]) for each in answer], [(0, 1), (0, 2), (1, 0), (2, 0)])
        self.assertEqual((answer[2]["linked_by"], answer[2]["gb_per_s"], answer[2]["read_us"]), ("18 NVLinks, switched", 391.5, 0.9))
        self.assertNotIn("gb_per_s", device.as_json(self.pairs, [])[0])


if __name__ == "__main__":
    unittest.main()
