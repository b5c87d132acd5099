"""Grading with --device gpu, on a stand-in: NVIDIA's driver is played by a few lines of C, and its CUDA runtime by the emulator's library,
in which the name by which programs know it is made unreadable. tests/gpu/class_on_gpu.py does it on a GPU."""

import subprocess
import tempfile
import threading
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

import support
from classroom.grading import grader, work
from classroom.isolation import gpus, sandbox
from classroom.submission import regions

DRIVER = r"""
extern "C" {
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
int cuLibraryLoadData(void** library, const void* code, int* a, void** b, unsigned c, int* d, void** e, unsigned f) {
  *library = ((void* (*)(const char*))dlsym(RTLD_DEFAULT, "warpfold_emulator_module"))((const char*)code);
  return REFUSES ? 222 : 0;
}
int cuLibraryGetKernel(const void** kernel, void* library, const char* name) {
  *kernel = ((const void* (*)(void*, const char*))dlsym(RTLD_DEFAULT, "warpfold_emulator_kernel"))(library, name);
  return *kernel && !strstr(name, LOSES) ? 0 : 500;
}
int cuKernelGetParamInfo(const void* kernel, size_t index, size_t* offset, size_t* size) {
  static size_t sizes[4096];
  size_t count = ((size_t (*)(const void*, size_t*, size_t))dlsym(RTLD_DEFAULT, "warpfold_emulator_parameters"))(kernel, sizes, 4096);
  if (index >= count) return 1;
  *size = sizes[index];
  return 0;
}
int cuGetErrorString(int error, const char** text) { *text = "the provided PTX was compiled with an unsupported toolchain."; return 0; }
}
"""
RUNGS = ("in_place_interleaved", "in_place_sequential", "one_block_shared")  # of up to 512 elements: a stand-in is no GPU


def stand_in(folder: Path, lab, refuses: bool, loses: str) -> Path:
    """A folder with a CUDA runtime and a driver that are taken for a GPU's. The driver may refuse all code, or not find a kernel."""
    folder.mkdir()
    library = next(lab.emulator.glob("libcudart.so.*[0-9]"))
    known, hidden = b"warpfold_emulator_interface\0", b"xarpfold_emulator_interface\0"
    data = library.read_bytes()
    assert known in data
    (folder / library.name).write_bytes(data.replace(known, hidden))
    source = folder / "driver.cpp"
    source.write_text(DRIVER)
    subprocess.run(
        ["c++", "-shared", "-fPIC", f"-DREFUSES={int(refuses)}", f'-DLOSES="{loses}"', source, "-o", folder / "libcuda.so.1"], check=True
    )
    return folder


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.devices = self.folder / "dev"
        self.devices.mkdir()
        for name in ("nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "nvidia-modeset"):
            (self.devices / name).touch(0o666)
        for what, value in ((gpus, ("DEVICES", self.devices)), (tempfile, ("tempdir", str(self.folder)))):
            patch = mock.patch.object(what, *value)
            patch.start()
            self.addCleanup(patch.stop)
        # Whom the room's user is, may enter it.
        self.folder.chmod(0o755)


class Nodes(Case):
    def test_a_gpu_for_each_job_and_no_other(self):
        with gpus.taken() as first, gpus.taken() as second:
            self.assertEqual([node.name for node in first], ["nvidia0", "nvidiactl", "nvidia-uvm"])
            self.assertEqual([node.name for node in second], ["nvidia1", "nvidiactl", "nvidia-uvm"])
        with gpus.taken() as again:
            self.assertEqual(again[0].name, "nvidia0")

    def test_a_job_waits_for_the_only_one(self):
        for name in ("nvidia1", "nvidia10"):
            (self.devices / name).unlink()
        order = []

        def other() -> None:
            with gpus.taken():
                order.append("other")

        with gpus.taken():
            thread = threading.Thread(target=other)
            thread.start()
            thread.join(0.5)
            order.append("first")
        thread.join(10)
        self.assertEqual(order, ["first", "other"])

    def test_without_a_gpu_it_is_said_and_nothing_is_graded(self):
        into = support.small_class(self.folder / "small", 1)
        said = support.kit("grade", "--device", "gpu", "--class", str(into), env={"PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual((said.returncode, said.stdout), (3, ""))
        self.assertRegex(said.stderr, "--device gpu: .+\nNothing was graded. Without --device gpu, the emulator alone grades")
        self.assertFalse((into / "results").exists())

    def test_a_node_that_is_missing_is_named(self):
        with mock.patch.object(gpus.gpu, "find"):
            self.assertEqual(gpus.why_not(), "")
            (self.devices / "nvidia-uvm").unlink()
            self.assertIn("nvidia-uvm", gpus.why_not())
            for name in ("nvidia0", "nvidia1", "nvidia10"):
                (self.devices / name).unlink()
            self.assertIn("nvidia0", gpus.why_not())


@support.needs_sandbox
class Rooms(Case):
    def test_only_the_trusted_program_is_given_the_device(self):
        rooms = []

        class Seen(sandbox.Sandbox):
            def start(self, command, room, limits, **options):
                rooms.append((command[0], " ".join(self.walls(room, limits))))
                return super().start(command, room, limits, **options)

        lab = replace(support.labs("01")[0], runtime=self.folder)
        job = grader.Job(lab, grader.spliced_with(lab, lab.solution.read_text()), support.HIDDEN, Seen(), self.folder)
        (self.folder / "kernels.ptx").touch()
        (self.folder / "student").touch()
        with self.assertRaises(grader.NotGraded):
            job.judge(["naive_atomic"], device=grader.GPU)
        (host, host_walls), (trusted, trusted_walls) = rooms
        self.assertEqual((host, trusted), ("/student/program", "/course/program"))
        self.assertNotIn("nvidia", host_walls)
        self.assertNotIn("/sys", host_walls)
        bound = [f"--dev-bind {self.devices}/{name} /dev/{name}" for name in ("nvidia0", "nvidiactl", "nvidia-uvm")]
        for each in bound:
            self.assertIn(each, trusted_walls)
        self.assertEqual(trusted_walls.count("--dev-bind"), len(bound))

    def test_what_the_gpu_says_can_only_take_away(self):
        for state in ("pass", "hazard", "off-technique", "slow"):
            rung = grader.wrong("one", "") | {"state": state}
            right = grader.confirmed(rung, rung | {"state": "pass", "device": "A GPU", "time": {"median_us": 3.5}})
            self.assertEqual((right["state"], right["gpu"]["time"]["median_us"]), (state, 3.5))
            wrong = grader.confirmed(rung, grader.wrong("one", "n = 3: got 4") | {"device": "A GPU"})
            self.assertEqual((wrong["state"], wrong["reason"], wrong["on_emulator"]), ("wrong", "on the GPU (A GPU): n = 3: got 4", state))

    def test_a_gpu_that_fails_costs_nobody_a_point(self):
        rung = grader.wrong("one", "") | {"state": "pass"}
        with self.assertRaisesRegex(grader.NotGraded, "the GPU .A GPU. failed: .*out of memory"):
            grader.confirmed(rung, grader.wrong("one", "cudaMalloc: out of memory (cudaErrorMemoryAllocation)") | {"device": "A GPU"})

    def test_results_of_a_gpu_are_results_of_their_own(self):
        lab = support.labs("01")[0]
        keys = {work.key_of(lab, lab.solution.read_text(), support.HIDDEN, False, device) for device in grader.DEVICES}
        self.assertEqual(len(keys), 2)


@support.needs_sandbox
class OnAStandIn(Case):
    def graded(self, text: str, refuses: bool = False, loses: str = "none of them") -> dict:
        lab = support.labs("02")[0]
        lab = replace(lab, runtime=stand_in(self.folder / "runtime", lab, refuses, loses))
        return grader.grade(lab, text, support.HIDDEN, sandbox.Sandbox(), "standin-", grader.GPU)

    @staticmethod
    def some_solved() -> str:
        ours = regions.take_apart(Path(support.ROOT / "labs/02_tree/tree.cu").read_text())
        theirs = regions.take_apart(Path(support.ROOT / "solutions/02_tree/tree.cu").read_text())
        lines = list(ours.outside[0])
        for index, ((rung, stub), (_, solution)) in enumerate(zip(ours.regions, theirs.regions, strict=True)):
            lines += (solution if rung in RUNGS else stub) + ours.outside[index + 1]
        return "\n".join(lines)

    def test_what_is_right_there_too_passes_with_a_time(self):
        result = self.graded(self.some_solved())
        self.assertTrue(result["graded"], result["why"])
        passed = {rung["name"]: rung for rung in result["rungs"] if rung["state"] == "pass"}
        self.assertEqual(tuple(passed), RUNGS)
        for rung in passed.values():
            self.assertGreater(rung["gpu"]["time"]["repetitions"], 4)
        self.assertEqual({rung["state"] for rung in result["rungs"]}, {"pass", "todo"})

    def test_what_is_wrong_there_is_wrong(self):
        result = self.graded(self.some_solved(), loses="in_place_sequential")
        self.assertTrue(result["graded"], result["why"])
        rungs = {rung["name"]: rung for rung in result["rungs"]}
        self.assertEqual([rungs[name]["state"] for name in RUNGS], ["pass", "wrong", "pass"])
        self.assertRegex(rungs[RUNGS[1]]["reason"], r"^on the GPU \(.+\): .*there is no kernel \S*in_place_sequential")

    def test_a_driver_that_does_not_take_the_code_is_the_machines_fault(self):
        result = self.graded(self.some_solved(), refuses=True)
        self.assertFalse(result["graded"])
        self.assertIn("the GPU's driver does not take the device code: the provided PTX", result["why"])


if __name__ == "__main__":
    unittest.main()
