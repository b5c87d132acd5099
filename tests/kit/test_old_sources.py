"""Sources that use what CUDA's headers no longer have: what nvcc's last lines say, and that --legacy makes them run."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support
from kit.emulate import compiler, removed

ROOT = support.ROOT
SOURCES = Path(__file__).with_name("old_sources")
PAGE = ROOT / "docs" / "reference" / "old_sources.md"
# What no program here uses: each needs a header or a syntax of its own, or stands for another row of its kind.
NOT_USED = {
    "textureReference", "cudaBindTexture2D", "cudaBindTextureToArray", "cudaBindTextureToMipmappedArray", "cudaGetTextureAlignmentOffset",
    "cudaGetTextureReference", "cudaBindSurfaceToArray", "cudaGetSurfaceReference", "cudaProfilerInitialize", "cudaConfigureCall",
    "cudaSetupArgument", "cudaLaunch", "cudaLaunchCooperativeKernelMultiDevice", "nvToolsExt.h",
}  # fmt: skip


def kit(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "kit", *map(str, words)], text=True, capture_output=True, timeout=300, cwd=ROOT)


def used_in(source: Path) -> set[str]:
    """The rows whose name a program uses. A function whose arguments changed is used in its old form."""
    text = re.sub(r"//.*", "", source.read_text())
    return {row.name for row in removed.TABLE if re.search(rf"\b{re.escape(row.word)}\b", text)}


class Table(unittest.TestCase):
    def test_each_name_is_there_once(self):
        names = [row.name for row in removed.TABLE]
        self.assertEqual(len(names), len(set(names)))

    def test_the_header_supplies_what_the_table_says_and_nothing_else(self):
        header = removed.HEADER.read_text()
        for row in removed.TABLE:
            found = re.search(rf"\b{re.escape(row.word)}\b", header) is not None
            self.assertEqual(found, row.supplied, f"{row.name}: {removed.HEADER.name} does not agree with removed.py")

    def test_each_supplied_name_is_used_by_a_program(self):
        used = set().union(*(used_in(source) for source in SOURCES.glob("*.cu")))
        self.assertEqual({row.name for row in removed.TABLE} - used, NOT_USED)

    def test_the_page_shows_the_table(self):
        rows = [f"| `{row.name}` | {row.how} | {row.since} | {row.became} | {'yes' if row.supplied else 'no'} |" for row in removed.TABLE]
        shown = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
        self.assertEqual(shown, rows, "put these rows into " + str(PAGE) + ":\n" + "\n".join(rows))

    def test_what_a_compiler_on_the_host_complains_of_is_found_too(self):
        said = "old.cpp:3:3: error: ‘cudaThreadSynchronize’ was not declared in this scope\n    3 |   cudaThreadSynchronize();\n"
        self.assertEqual([row.name for row in removed.named_in(said)], ["cudaThreadSynchronize"])
        said = "old.cpp:1:10: fatal error: nvToolsExt.h: No such file or directory\n"
        self.assertEqual([row.name for row in removed.named_in(said)], ["nvToolsExt.h"])

    def test_other_errors_are_about_nothing_removed(self):
        said = 'new.cu(3): error: identifier "cudaThreadSynchronise" is undefined\n    cudaThreadSynchronise();  // cudaThreadExit\n'
        self.assertEqual(removed.named_in(said), [])

    def test_the_advice_says_what_stays_to_be_done(self):
        rows = {row.name: row for row in removed.TABLE}
        self.assertEqual(removed.advice([rows["cudaThreadExit"]], "kit"), "kit --legacy ... supplies it")
        both = removed.advice([rows["cudaThreadExit"], rows["cudaBindTexture"]], "kit")
        self.assertEqual(both, "kit --legacy ... supplies them, all but cudaBindTexture")
        self.assertEqual(removed.advice([rows["cudaBindTexture"]], "kit"), "")


@unittest.skipUnless(os.environ.get("WARPFOLD_KIT_TEST"), "needs the build in .kit: run by ./kit test")
class Programs(unittest.TestCase):
    def setUp(self):
        from kit.setup import toolkit_paths

        if toolkit_paths.read_version(compiler.find().nvcc)[0] < 13:
            self.skipTest("CUDA 12 still has most of these names")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = Path(folder.name) / "program"

    def test_without_the_option_the_errors_are_explained(self):
        for source in sorted(SOURCES.glob("*.cu")):
            with self.subTest(source.name):
                result = kit("nvcc", source, "-o", self.program)
                self.assertNotEqual(result.returncode, 0)
                said = {line.removeprefix("kit: ") for line in result.stderr.splitlines() if line.startswith("kit: ")}
                expected = {str(row) for row in removed.TABLE if row.name in used_in(source)}
                self.assertEqual({line for line in said if " since " in line}, expected)
                self.assertEqual(any("--legacy" in line for line in said), source.stem != "references")

    def test_with_the_option_they_run(self):
        for source in sorted(SOURCES.glob("*.cu")):
            expected = source.with_suffix(".expect")
            with self.subTest(source.name):
                compiled = kit("nvcc", source, "--legacy", "-o", self.program)
                if not expected.exists():
                    self.assertNotEqual(compiled.returncode, 0)
                    continue
                self.assertEqual((compiled.returncode, compiled.stderr), (0, ""))
                self.assertEqual(kit("emulate", self.program).stdout, expected.read_text())

    def test_it_does_no_harm_to_a_source_that_needs_nothing(self):
        source = self.program.with_suffix(".cu")
        source.write_text("""
#include <cooperative_groups.h>
#include <cuda/std/functional>
#include <cuda/std/tuple>
#include <cuda_fp16.h>
#include <cstdio>
__global__ void kernel(__half* x) { x[threadIdx.x] = __shfl_xor_sync(~0u, __half(threadIdx.x), 1); }
int main() {
  cudaDeviceProp properties;
  std::printf("%d\\n", cudaGetDeviceProperties(&properties, 0));
}
""")
        compiled = kit("nvcc", "--legacy", source, "-o", self.program)
        self.assertEqual((compiled.returncode, compiled.stderr), (0, ""))
        self.assertEqual(kit("emulate", self.program).stdout, "0\n")


if __name__ == "__main__":
    unittest.main()
