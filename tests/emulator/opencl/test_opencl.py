"""OpenCL programs on the emulator: test_opencl.py FOLDER PROGRAM... , the folder with the sources and what they must print."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "common"))
from kit.emulate import elf, program
from kit.errors import KitError

FOLDER = Path(sys.argv[1])
PROGRAMS = {Path(name).name.removeprefix("opencl_"): Path(name) for name in sys.argv[2:]}


def run(name: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [PROGRAMS[name], *arguments], capture_output=True, text=True, timeout=200, env=os.environ | environment, stdin=subprocess.DEVNULL
    )


def line_of(file: str, text: str) -> int:
    return next(number for number, line in enumerate((FOLDER / file).read_text().splitlines(), 1) if text in line)


class OpenCL(unittest.TestCase):
    maxDiff = None

    def expect(self, name: str, *arguments: str) -> subprocess.CompletedProcess:
        result = run(name, *arguments)
        self.assertEqual(result.stdout.splitlines(), (FOLDER / f"{name}.expect").read_text().splitlines(), result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def test_platform_and_device(self):
        self.expect("queries")

    def test_built_in_functions(self):
        self.expect("builtins")

    def test_memory(self):
        self.expect("memory")

    def test_kernels(self):
        self.expect("kernels", str(FOLDER / "kernels.cl"))

    def test_events(self):
        self.expect("events")

    def test_errors(self):
        result = self.expect("errors")
        self.assertIn("warpfold: clEnqueueNDRangeKernel: f: 100 items are no multiple of the group's 7", result.stderr)
        self.assertIn("warpfold: clBuildProgram: the option -no-such-option is not one of OpenCL 1.2", result.stderr)

    def checked(self, kernel: str) -> tuple[list[dict], str]:
        """The hazards of a wrong kernel."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            result = run("mistakes", str(FOLDER / "mistakes.cl"), kernel, WARPFOLD_CHECKS="all", WARPFOLD_REPORT=str(report))
            return json.loads(report.read_text())["hazards"], result.stdout

    def test_a_race_is_named_with_its_lines(self):
        hazards, printed = self.checked("reverse")
        written, read = line_of("mistakes.cl", "scratch[i] = i;"), line_of("mistakes.cl", "out[i] = scratch")
        race = next(hazard for hazard in hazards if hazard["kind"] == "race-shared")
        self.assertEqual(race["file"], str(FOLDER / "mistakes.cl"))
        self.assertEqual({race["line"], race["other_line"]}, {written, read})
        self.assertNotIn("OUT_OF_RESOURCES", printed)

    def test_an_access_out_of_bounds_is_named_with_its_line(self):
        hazards, printed = self.checked("beyond")
        self.assertEqual([hazard["kind"] for hazard in hazards], ["out-of-bounds"])
        self.assertEqual(hazards[0]["line"], line_of("mistakes.cl", "+ 1] = 1"))
        self.assertIn("element 64", hazards[0]["message"])
        self.assertIn("CL_OUT_OF_RESOURCES", printed)

    def test_kernels_keep_to_the_flags_of_buffers(self):
        for kernel, flag, line in [
            ("to_read_only", "CL_MEM_READ_ONLY", "out[get_local_id(0)] = 1;"),
            ("from_write_only", "CL_MEM_WRITE_ONLY", "scratch[i] = out[i];"),
        ]:
            with self.subTest(kernel):
                hazards, _ = self.checked(kernel)
                self.assertEqual([hazard["kind"] for hazard in hazards], ["buffer-flags"])
                self.assertEqual(hazards[0]["line"], line_of("mistakes.cl", line))
                self.assertRegex(hazards[0]["message"], rf"element 0 of .*, which was created with {flag}$")

    def test_right_programs_have_no_hazards(self):
        for name in ("events", "kernels", "memory"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                report = Path(folder, "report.json")
                run(name, str(FOLDER / f"{name}.cl"), WARPFOLD_CHECKS="all", WARPFOLD_REPORT=str(report))
                self.assertEqual(json.loads(report.read_text())["hazards"], [])

    def test_the_kit_runs_programs_that_use_opencl_alone(self):
        program.require_emulatable(PROGRAMS["queries"])
        environment = program.emulated(Path(os.environ["OCL_ICD_VENDORS"]).parent)
        self.assertEqual(environment["OCL_ICD_VENDORS"], os.environ["OCL_ICD_VENDORS"])
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(KitError) as refused:
            program.check_opencl(elf.read(PROGRAMS["queries"]), Path(folder))  # an emulator without the driver
        self.assertIn("opencl-headers", refused.exception.advice)

    def test_without_a_compiler_the_log_says_what_to_install(self):
        result = run("kernels", str(FOLDER / "kernels.cl"), PATH="/nowhere")
        self.assertIn("install the packages clang-VERSION and libclc-VERSION", result.stdout)
        self.assertEqual(result.returncode, 1)

    def test_several_devices_share_a_context(self):
        result = run("queries", WARPFOLD_DEVICES="3")
        self.assertIn("CL_DEVICE_TYPE_ALL, 0, nullptr, &count) -> CL_SUCCESS", result.stdout)
        self.assertEqual(result.returncode, 0, result.stderr)


def main() -> None:
    if not PROGRAMS:
        return print("SKIP: OpenCL's loader and headers are not installed (Debian, Ubuntu: ocl-icd-opencl-dev opencl-headers)")
    said = run("queries").stdout
    has_other = "CL_PLATFORM_NAME" in said or "clGetDeviceIDs" in said  # a platform
    if has_other and "Warpfold" not in said:  # OCL_ICD_VENDORS names the emulator's driver alone
        return print("SKIP: OpenCL's loader does not read OCL_ICD_VENDORS, as CUDA's does not (Debian, Ubuntu: ocl-icd-libopencl1)")
    if "CL_DEVICE_COMPILER_AVAILABLE) = 0" in said:
        return print("SKIP: OpenCL C cannot be compiled here (Debian, Ubuntu: clang-VERSION libclc-VERSION)")
    unittest.main(argv=[sys.argv[0]])


if __name__ == "__main__":
    main()
