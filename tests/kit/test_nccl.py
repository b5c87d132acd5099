"""When the kit installs NVIDIA's NCCL: for GPUs that can use it, of the toolkit's version, and where the machine has none."""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support  # noqa: F401, which finds the kit
from kit.errors import KitError
from kit.setup import environment, nccl
from kit.setup.toolkit_paths import Toolkit


class Choice(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "dev").mkdir()
        (self.folder / "toolkit" / "lib64").mkdir(parents=True)
        (self.folder / "toolkit" / "include").mkdir()
        self.asked = []
        self.installed = set()
        self.fails = False
        for target, name, value in (
            (nccl, "DEVICES", self.folder / "dev"),
            (nccl, "NCCL", self.folder / "nccl"),
            (nccl, "VENV", self.folder / "venv"),
            (nccl, "say", lambda text: self.asked.append(text)),
            (environment, "install", self.install),
            (environment, "is_installed", lambda group: group in self.installed),
            (nccl.platform, "machine", lambda: "x86_64"),
        ):
            patch = mock.patch.object(target, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def install(self, group: str, why: str) -> None:
        self.asked.append(group)
        if self.fails:
            raise KitError("no network: pip could not reach the Python package index\nmore", "try again")
        place = self.folder / f"venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages/nvidia/nccl/lib"
        place.mkdir(parents=True, exist_ok=True)
        (place / "libnccl.so.2").touch()

    def gpus(self, count: int) -> None:
        for name in ["nvidiactl", "nvidia-uvm", "nvidia-modeset", *(f"nvidia{k}" for k in range(count))]:
            (self.folder / "dev" / name).touch()

    def toolkit(self, major: int = 13) -> Toolkit:
        root = self.folder / "toolkit"
        return Toolkit(root / "bin/nvcc", (major, 0), root / "include", root / "lib64", (75,), False)

    def provide(self, major: int = 13, wanted: bool = False) -> list[str]:
        with mock.patch.object(nccl, "of_machine", return_value=False):
            nccl.provide(self.toolkit(major), wanted)
        return self.asked

    def test_without_gpus_and_for_one_it_stays_the_stand_in(self):
        for count in (0, 1):
            self.gpus(count)
            self.assertEqual(nccl.gpus(), count)
            self.assertEqual(self.provide(), [])
        self.assertEqual(nccl.found(), "")

    def test_two_gpus_get_the_toolkit_s_version(self):
        self.gpus(2)
        self.provide(13)
        self.provide(12)
        self.assertEqual(self.asked, ["nccl13", "nccl12"])
        self.assertTrue(nccl.found().endswith("site-packages/nvidia/nccl"))

    def test_who_asks_for_it_gets_it_without_gpus(self):
        self.assertEqual(self.provide(wanted=True), ["nccl13"])

    def test_what_was_installed_stays_the_kit_s_own(self):
        self.installed = {"nccl13"}
        self.assertEqual(self.provide(), ["nccl13"])

    def test_without_a_network_the_stand_in_is_used_and_said(self):
        self.gpus(4)
        self.fails = True
        group, said = self.provide()
        self.assertEqual(group, "nccl13")
        self.assertRegex(said, "^no network: .*; lab 12 uses a stand-in for NCCL")
        self.assertEqual(nccl.found(), "")

    def test_the_machine_s_own_is_preferred(self):
        self.gpus(2)
        (self.folder / "toolkit/lib64/libnccl.so.2").touch()
        (self.folder / "toolkit/include/nccl.h").touch()
        nccl.provide(self.toolkit())
        self.assertEqual(self.asked, [])

    def test_each_package_is_pinned(self):
        for major in ("12", "13"):
            (pin,) = environment.requirements(f"nccl{major}")
            self.assertRegex(pin, rf"^nvidia-nccl-cu{major}==2\.28\.")


if __name__ == "__main__":
    unittest.main()
