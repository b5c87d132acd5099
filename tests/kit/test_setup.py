"""Set-up on machines that lack something: a clear message, exit code 3, nothing half-done."""

import fcntl
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from support import NO_INDEX, CloneCase

KIT_ONLY = (
    "common/kit",
    "common/classroom",
    "common/emulator/analysis/counted.def",
    "common/lab/states.def",
    "kit",
    "requirements",
    "meson",
    "subprojects",
)
NO_TOOLKIT = "from kit.setup import toolkit_paths; toolkit_paths.USUAL_FOLDERS = []"
AS_USER = "; import os; os.geteuid = lambda: 1000"

# Answers as an nvcc does that is in order up to the point that a test is about.
NVCC = """case "$*" in
  *--version*) echo "Cuda compilation tools, release {version}, V{version}.0";;
  *-E*) {preprocess};;
esac
"""


class Setup(CloneCase):
    only = KIT_ONLY

    @classmethod
    def setUpClass(cls):
        """Making an environment takes seconds; the tests that need one to be there share a finished one."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.venv = Path(folder.name) / "venv"
        subprocess.run([sys.executable, "-m", "venv", cls.venv], check=True)
        (cls.venv / "stamps").mkdir()
        (cls.venv / "stamps" / "venv").write_text(sys.version)

    def with_environment(self) -> None:
        shutil.copytree(self.venv, self.clone / ".kit" / "venv", symlinks=True)

    def machine(self, *without: str) -> None:
        names = ["c++", "g++", "gcc", "as", "ld", "pkg-config", "sh", "uname"]
        self.link(*(name for name in names if name not in without))
        for name in {"meson", "ninja"} - {*without}:
            self.fake(name, "echo 1.11")

    def test_without_a_compiler_it_names_the_packages(self):
        self.assertFails(self.kit("setup"), 3, "this machine lacks g++", "An administrator must install", "libfmt-dev")

    def test_the_package_names_are_the_distribution_s_own(self):
        self.fake("dnf", "exit 1")
        self.assertFails(self.kit("setup"), 3, "An administrator must run: dnf install gcc-c++", "fmt-devel")

    def test_too_old_a_host_compiler(self):
        self.machine("c++")
        self.fake("c++", 'case "$1" in -dumpversion) echo 9.4.0;; *) echo "c++ (GCC) 9.4.0";; esac')
        self.assertFails(self.kit("setup"), 3, "GCC 9.4.0", "needs GCC 11 or newer", "CXX=")

    def test_no_nvcc_and_no_network(self):
        self.with_environment()
        self.machine()
        result = self.kit("setup", before=NO_TOOLKIT, **NO_INDEX)
        self.assertFails(result, 3, "no nvcc was found", "no network", "run the same kit command again")
        self.assertFalse((self.clone / ".kit" / "venv" / "stamps" / "toolkit").exists())
        self.assertFalse((self.clone / ".kit" / "toolkit").exists())

    def test_too_old_an_nvcc_is_named_before_the_kit_s_own_is_fetched(self):
        self.with_environment()
        self.machine()
        self.fake("nvcc", NVCC.format(version="11.2", preprocess="exit 0"))
        result = self.kit("setup", before=NO_TOOLKIT, **NO_INDEX)
        self.assertFails(result, 3, "is CUDA 11.2; Warpfold needs 12.0 or newer", "no network")

    def test_an_nvcc_that_refuses_the_host_compiler(self):
        self.with_environment()
        self.machine()
        refusal = "echo '#error -- unsupported GNU version! gcc versions later than 15 are not supported! The nvcc flag'; exit 1"
        self.fake("nvcc", NVCC.format(version="13.0", preprocess=refusal))
        result = self.kit("setup", before=NO_TOOLKIT, **NO_INDEX)
        self.assertFails(result, 3, "does not accept this machine's C++ compiler: gcc versions later than 15 are not supported")

    def test_an_nvcc_that_the_user_names_is_never_passed_over(self):
        self.machine()
        self.assertFails(self.kit("setup", NVCC="/nowhere/nvcc"), 3, "NVCC=/nowhere/nvcc: not an nvcc that can be run")
        self.fake("nvcc", NVCC.format(version="11.2", preprocess="exit 0"))
        self.assertFails(self.kit("setup", NVCC=str(self.programs / "nvcc")), 3, "is CUDA 11.2")

    def test_no_meson_and_no_network(self):
        self.with_environment()
        self.machine("meson")
        self.assertFails(self.kit("setup", **NO_INDEX), 3, "no network", "meson")

    def test_too_old_a_meson_is_not_used(self):
        self.with_environment()
        self.machine("meson")
        self.fake("meson", "echo 0.56.2")
        self.assertFails(self.kit("setup", **NO_INDEX), 3, "older than 1.0", "no network")

    def test_no_venv_module(self):
        self.machine("meson")
        broken = self.folder / "broken"
        broken.mkdir()
        (broken / "ensurepip.py").write_text("raise ImportError('no ensurepip')\n")
        result = self.kit("setup", PYTHONPATH=str(broken), **NO_INDEX)
        self.assertFails(result, 3, "no venv module", f"python3.{sys.version_info.minor}-venv")
        self.assertEqual(len(result.stderr.splitlines()), 2, "the cause and the way out, and nothing before")
        (self.programs / "pkg-config").unlink()
        self.fake("pkg-config", "exit 1")
        result = self.kit("setup", "--tests", PYTHONPATH=str(broken), **NO_INDEX)
        self.assertFails(result, 3, "no venv module")
        self.assertNotIn("Meson", result.stderr)
        self.assertFalse((self.clone / ".kit" / "venv").exists())

    def test_the_cost_is_said_first_and_then_numbered_steps(self):
        self.with_environment()
        self.machine("pkg-config")
        self.fake("pkg-config", "exit 1")
        said = self.kit("setup", before=NO_TOOLKIT + AS_USER, **NO_INDEX)
        self.assertFails(said, 3, "step 1 of 4: fetching fmt, nlohmann_json, lz4 and zstd", "no network")
        self.assertRegex(
            said.stderr.splitlines()[0], r"^kit: setting up this clone.*: 112 MB to download, 400 MB on the disk in .kit/, about \d minutes"
        )
        self.assertEqual(said.stderr.count("no network"), 1)
        self.assertNotIn("Meson", said.stderr)

    def test_a_disk_that_is_too_full_is_named_with_what_is_needed(self):
        self.with_environment()
        self.machine()
        full = "import collections, shutil; shutil.disk_usage = lambda path: collections.namedtuple('usage', 'free')(7_000_000)"
        said = self.kit("setup", before=f"{NO_TOOLKIT}; {full}", **NO_INDEX)
        self.assertFails(said, 3, "needs 390 MB more, and 7 MB are free")
        self.assertNotIn("step", said.stderr)

    def test_a_compiler_that_cannot_compile_stops_before_anything_is_fetched(self):
        self.with_environment()
        self.machine("c++")
        self.fake("c++", 'case "$1" in -dumpversion) echo 12.2.0;; --version) echo "c++ (GCC) 12.2.0";; *) echo "no <span>"; exit 1;; esac')
        said = self.kit("setup", before=NO_TOOLKIT, **NO_INDEX)
        self.assertFails(said, 3, "c++ cannot compile a program of C++20", "no <span>")
        self.assertNotIn("no network", said.stderr)

    def test_a_compiler_that_is_named_but_not_there(self):
        self.machine()
        self.assertFails(self.kit("setup", CXX="g++-99 -m64"), 3, "CXX=g++-99 -m64: there is no such compiler")

    def test_a_compiler_that_nvidias_refuses_stops_before_its_compiler_is_fetched(self):
        """With NVIDIA's small package of headers there and the rest not to be had."""
        self.with_environment()
        self.machine("g++")
        self.fake(
            "g++", "echo 'error: #error -- unsupported GNU version! gcc versions later than 15 are not supported! The nvcc flag'; exit 1"
        )
        headers = next((self.clone / ".kit" / "venv" / "lib").glob("python3*")) / "site-packages" / "nvidia" / "cu13" / "include" / "crt"
        headers.mkdir(parents=True)
        (headers / "host_config.h").touch()
        there = "from kit.setup import environment; environment.install_pins = lambda pins: asked.append(pins); asked = []"
        said = self.kit("setup", before=f"{NO_TOOLKIT}; {there}", **NO_INDEX)
        self.assertFails(said, 3, "does not accept this machine's C++ compiler: gcc versions later than 15 are not supported")

    def test_an_interrupted_environment_is_made_anew(self):
        self.machine("meson")
        half = self.clone / ".kit" / "venv" / "bin"
        half.mkdir(parents=True)
        (half / "python").write_text("cut sho")
        result = self.kit("setup", **NO_INDEX)
        self.assertFails(result, 3, "incomplete or broken; creating it again", "no network")
        works = subprocess.run([self.clone / ".kit" / "venv" / "bin" / "python", "-c", "import pip"])
        self.assertEqual(works.returncode, 0)

    def test_a_clone_that_cannot_be_written_to(self):
        (self.clone / ".kit").write_text("a file where the folder should be\n")
        self.assertFails(self.kit("setup"), 3, "cannot write to")

    def test_a_second_kit_waits_for_the_first(self):
        (self.clone / ".kit").mkdir()
        with open(self.clone / ".kit" / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            start = "import sys; sys.path.insert(0, 'common'); from kit.cli import main; sys.exit(main(['setup']))"
            second = subprocess.Popen(
                [sys.executable, "-c", start], cwd=self.clone, env={"PATH": str(self.programs)}, text=True, stderr=subprocess.PIPE
            )
            self.assertIn("another kit is running", second.stderr.readline())
            time.sleep(0.2)
            self.assertIsNone(second.poll())
            fcntl.flock(lock, fcntl.LOCK_UN)
            self.assertIn("lacks", second.communicate(timeout=60)[1])


if __name__ == "__main__":
    unittest.main()
