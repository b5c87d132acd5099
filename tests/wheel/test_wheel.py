"""The wheel: built, looked at, installed into an empty environment, and used on somebody else's program."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "common"))

from kit import gpu  # noqa: E402
from kit.errors import KitError  # noqa: E402
from kit.paths import OWN, VENV  # noqa: E402
from kit.setup import environment, libraries, packages, system  # noqa: E402
from kit.setup.lock import exclusive  # noqa: E402

SKIP = 77  # Meson's exit code for a test that was left out
WORK = OWN / "wheel"
PROGRAM = "histogram.cu"
WITH_NCCL = "all_reduce.cu"
WITH_TOOLS = os.environ | {"PATH": f"{VENV / 'bin'}:{os.environ['PATH']}"}
try:
    gpu.find()
    EMULATED = False
except gpu.NoGpu:
    EMULATED = True
RACY_LINE = next(i for i, line in enumerate((HERE / PROGRAM).read_text().splitlines(), 1) if "+= 1" in line)


def run(*command, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def build_wheel() -> Path:
    """Keeps its build folder, so that only what changed is compiled again. The libraries are the kit's, which compile faster than
    a distribution's headers of fmt, of which there is no static library."""
    with exclusive():
        for group, why in [("build", "they build the wheel"), ("package", "they build the wheel")]:
            environment.install(group, why)
        libraries.fetch()
    dist = WORK / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    options = ["--no-isolation", "--skip-dependency-check", f"-Cbuild-dir={WORK / 'build'}", "-o", dist]
    options.append("-Csetup-args=-Dkit_libraries=true")
    # As a contributor's build has them: this is where the emulator meets the kit's libraries.
    options.append("-Csetup-args=-Dcpp_args=-Werror=all -Werror=extra -Wno-error=maybe-uninitialized")
    said = run(environment.python(), "-m", "build", "--wheel", *options, ROOT, env=WITH_TOOLS)
    wheels = list(dist.glob("*.whl"))
    if said.returncode != 0 or len(wheels) != 1:
        raise AssertionError(said.stdout[-4000:])
    return wheels[0]


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wheel = build_wheel()
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = Path(cls.temporary.name)
        cls.python = cls.folder / "empty" / "bin" / "python"
        run(sys.executable, "-m", "venv", cls.folder / "empty", check=True)
        cls.install = run(cls.python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", cls.wheel)
        shutil.copy(HERE / PROGRAM, cls.folder / PROGRAM)

    def warpfold(self, *words) -> subprocess.CompletedProcess:
        return run(self.python.with_name("warpfold"), *words, cwd=self.folder)

    def test_installs_without_anything_else(self):
        self.assertEqual(self.install.returncode, 0, self.install.stdout)
        self.assertRegex(self.warpfold("--version").stdout, r"^Warpfold \d+\.\d+")

    def test_the_machines_libraries_serve_as_well(self):
        if missing := [need for need in packages.LIBRARIES if not system.has_library(need)]:
            self.skipTest(f"this machine has no {', '.join(map(str, missing))}")
        build = self.folder / "with the machine's"
        configured = run("meson", "setup", build, ROOT, "-Dwheel=true", "-Dnative=false", "-Dkit_libraries=false", env=WITH_TOOLS)
        self.assertEqual(configured.returncode, 0, configured.stdout)
        compiled = run("ninja", "-C", build, "common/emulator/fatbin/libemulator_fatbin.a", env=WITH_TOOLS)
        self.assertEqual(compiled.returncode, 0, compiled.stdout)

    def test_is_for_this_platform_and_any_python(self):
        self.assertRegex(self.wheel.name, r"-py3-none-linux_(x86_64|aarch64)\.whl$")
        shown = run(VENV / "bin" / "auditwheel", "show", self.wheel, env=WITH_TOOLS)
        self.assertRegex(shown.stdout.replace("\n", " "), r'platform tag: "manylinux_2_\d+_', shown.stdout)

    def test_holds_the_licences_of_what_is_inside(self):
        names = zipfile.ZipFile(self.wheel).namelist()
        for part in ("LICENSE", "fmt.txt", "nlohmann_json.txt", "lz4.txt", "zstd.txt", "gcc_runtime.txt"):
            self.assertTrue(any("/licenses/" in name and name.endswith(part) for name in names), part)

    def test_pins_the_compiler_that_the_kit_pins(self):
        text = zipfile.ZipFile(self.wheel).read(next(n for n in zipfile.ZipFile(self.wheel).namelist() if n.endswith("METADATA"))).decode()
        self.assertRegex(text, r"Requires-Dist: ipykernel; extra == [\"']notebook[\"']")
        self.assertEqual(sorted(re.findall(r"Requires-Dist: (nvidia-\S+?==[\d.]+)", text)), sorted(environment.requirements("toolkit")))

    def test_names_the_race_of_somebody_elses_program(self):
        compiled = self.warpfold("nvcc", PROGRAM, "-o", "histogram")
        self.assertEqual(compiled.returncode, 0, compiled.stdout)
        checked = self.warpfold("emulate", "--check", "./histogram")
        self.assertEqual(checked.returncode, 66, checked.stdout)
        self.assertIn("race-global", checked.stdout)
        self.assertIn(f"{PROGRAM}:{RACY_LINE}", checked.stdout)
        profiled = self.warpfold("emulate", "--profile", "--report", "report.json", "./histogram")
        self.assertEqual(profiled.returncode, 0, profiled.stdout)
        self.assertIn("bins[text[i] % 16] += 1;", profiled.stdout)
        self.assertEqual(json.loads((self.folder / "report.json").read_text())["launches"][0]["grid"], [16, 1, 1])

    def test_an_old_source_is_explained_compiled_and_timed(self):
        shutil.copy(ROOT / "tests" / "kit" / "old_sources" / "threads.cu", self.folder)
        said = self.warpfold("nvcc", "threads.cu", "-o", "threads").stdout
        self.assertIn("warpfold: cudaThreadSynchronize is gone since CUDA 13: cudaDeviceSynchronize", said)
        self.assertIn("warpfold: warpfold nvcc --legacy ... supplies them", said)
        compiled = self.warpfold("nvcc", "--legacy", "threads.cu", "-o", "threads")
        self.assertEqual(compiled.returncode, 0, compiled.stdout)
        self.assertRegex(self.warpfold("emulate", "--time", "./threads").stdout, r"set +1 +[\d.]+ +\d+%")

    def test_a_program_with_nccl_is_compiled_and_run(self):
        names = zipfile.ZipFile(self.wheel).namelist()
        for part in ("/libnccl.so.2", "/libnccl.so", "/emulator/nccl/include/nccl.h", "/nccl/include/nccl_device.h"):
            self.assertEqual(len([name for name in names if name.endswith(part)]), 1, part)
        shutil.copy(HERE / WITH_NCCL, self.folder / WITH_NCCL)
        # With the package's header, also where the toolkit has NVIDIA's.
        header = next(self.folder.glob("empty/lib/python3*/site-packages/warpfold/common/emulator/nccl/include"))
        compiled = self.warpfold("nvcc", f"-I{header}", WITH_NCCL, "-o", "all_reduce", "-lnccl")
        self.assertEqual(compiled.returncode, 0, compiled.stdout)
        said = self.warpfold("emulate", "--check", "--devices", "3", "./all_reduce")
        self.assertEqual(said.returncode, 0, said.stdout)
        self.assertEqual(re.findall(r"device (\d) of 3: (\d+)", said.stdout), [("0", "6"), ("1", "6"), ("2", "6")])

    def test_a_program_with_opencl_is_run(self):
        program = ROOT / "tests" / "emulator" / "opencl" / "programs" / "queries.cpp"
        compiled = run(shutil.which("c++"), "-std=c++20", program, "-o", self.folder / "queries", "-lOpenCL")
        if compiled.returncode != 0:
            self.skipTest("OpenCL's loader and headers are not installed")
        names = zipfile.ZipFile(self.wheel).namelist()
        for part in ("/libwarpfold_opencl.so", "/opencl-vendors/warpfold.icd"):
            self.assertEqual(len([name for name in names if name.endswith(part)]), 1, part)
        said = self.warpfold("emulate", "--devices", "2", "./queries")
        self.assertEqual(said.returncode, 0, said.stdout)
        self.assertIn("OpenCL 1.2 Warpfold", said.stdout)

    def in_notebook(self, *cells: str) -> subprocess.CompletedProcess:
        """IPython is the kit's, the package the wheel's. Each cell's error, if any, is printed as a line."""
        if not environment.is_installed("notebook"):
            self.skipTest("IPython is not installed; `./kit notebook` installs it for the kit")
        site = next((self.folder / "empty" / "lib").glob("python3*/site-packages"))
        text = "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell.instance()\n"
        for cell in cells:
            text += f"error = shell.run_cell({cell!r}).error_in_exec\nprint('ENDED', type(error).__name__, error)\n"
        script = self.folder / "cells.py"
        script.write_text(text)
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"PYTHONPATH": str(site)}
        return run(environment.python(), script, cwd=self.folder, env=environ)

    def test_a_cell_is_compiled_run_and_checked(self):
        source = (HERE / PROGRAM).read_text()
        mended = source.replace("bins[text[i] % 16] += 1", "atomicAdd(&bins[text[i] % 16], 1)")
        said = self.in_notebook(
            "%load_ext warpfold", f"%%cuda --device=emulator --profile\n{source}", f"%%cuda --device=emulator\n{mended}"
        ).stdout
        self.assertIn(f"race-global at cell.cu:{RACY_LINE + 1}", said)  # the magic is the cell's first line
        self.assertIn("ENDED CheckFailed", said)
        self.assertIn("4096 of 4096 bytes counted", said)
        self.assertRegex(said.splitlines()[-1], "^ENDED NoneType")

    def test_a_cell_that_does_not_compile_says_what_nvcc_says(self):
        said = self.in_notebook("%load_ext warpfold", "%%cuda\nint main() { return none; }").stdout
        self.assertIn("ENDED BuildFailed", said)
        self.assertIn("cell.cu(2)", said)

    def test_a_cell_without_main_is_told_what_to_write(self):
        said = self.in_notebook("%load_ext warpfold", "%%cuda --device=emulator\n__global__ void k(int* a) { *a = 1; }").stdout
        self.assertIn("ENDED BuildFailed The cell has no main", said)
        self.assertIn("int main() {", said)
        self.assertNotIn("undefined reference", said)

    @unittest.skipUnless(EMULATED, "there is a GPU here")
    def test_a_gpu_is_looked_for_before_the_cell_is_compiled(self):
        said = self.in_notebook("%load_ext warpfold", "%%cuda --device=gpu\nint main() { return none; }").stdout
        self.assertIn("ENDED LabError There is no GPU here", said)

    def test_a_program_that_ends_with_another_code_is_not_clean(self):
        said = self.in_notebook("%load_ext warpfold", "%%cuda --device=emulator\nint main() { return 3; }").stdout
        self.assertIn("ENDED CheckFailed the program ended with exit code 3", said)
        self.assertNotIn("clean", said)

    def test_the_static_runtime_cannot_be_replaced(self):
        program = "__global__ void k() {}\nint main() { k<<<1, 1>>>(); return cudaDeviceSynchronize(); }"
        said = self.in_notebook("%load_ext warpfold", f"%%cuda --device=emulator --nvcc='-cudart static'\n{program}").stdout
        self.assertIn("ENDED LabError The cell's program holds the static CUDA runtime", said)
        self.assertNotIn("clean", said)

    def test_a_loop_without_an_end_is_named_with_its_kernel_and_line(self):
        loop = "__global__ void endless(int* a) {\n  for (unsigned i = 0; i < 10; i -= 0) ++a[threadIdx.x];\n}\n"
        main = "int main() { int* a; cudaMalloc(&a, 128); cudaMemset(a, 0, 128); endless<<<2, 32>>>(a); cudaDeviceSynchronize(); }"
        for limit in (5, 15):  # on a busy machine, the program may not have come to its kernel
            said = self.in_notebook("%load_ext warpfold", f"%%cuda --device=emulator --time-limit {limit}\n{loop}{main}").stdout
            if "in endless" in said:
                break
        self.assertIn(f"ENDED CheckFailed stopped after {limit} s in endless, at line 3 of the cell", said)

    def test_a_loop_without_an_end_on_the_host_is_not_a_kernels(self):
        said = self.in_notebook("%load_ext warpfold", "%%cuda --device=emulator --time-limit 2\nint main() { while (true) { } }").stdout
        self.assertIn("ENDED CheckFailed stopped after 2 s while no kernel ran", said)

    def test_an_access_out_of_bounds_is_said_once(self):
        program = "__global__ void k(int* a) { a[threadIdx.x + 100] = 1; }\nint main() { int* a; cudaMalloc(&a, 400); k<<<1, 32>>>(a); }"
        said = self.in_notebook("%load_ext warpfold", f"%%cuda --device=emulator\n{program}").stdout
        self.assertEqual(said.count("element 100 of allocation 1 (400 bytes), which has 100 elements"), 1, said)
        self.assertIn("out-of-bounds at cell.cu:2", said)

    def test_messages_name_the_packages_own_command(self):
        for words in (["emulate", PROGRAM], ["emulate", "/bin/ls"], ["nvcc", "--help"]):
            said = self.warpfold(*words).stdout
            self.assertIn("warpfold nvcc", said)
            self.assertNotIn("./kit", said)

    def test_labs_ask_for_a_clone(self):
        said = self.in_notebook("import warpfold", "warpfold.open('01_naive_atomic')").stdout
        self.assertIn("Clone the repository", said)


if __name__ == "__main__":
    try:
        # Asked for here, so that a machine without network leaves the test out and says why.
        with exclusive():
            environment.install("package", "they build the wheel")
    except KitError as error:
        print(f"SKIP: {error}")
        sys.exit(SKIP)
    unittest.main()
