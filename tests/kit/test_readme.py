"""Every command that README.md tells the reader to type is typed here, in the order of the page."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import support  # noqa: F401  (finds the kit)
from kit.setup import plan
from support import ROOT, tracked_files

README = ROOT / "README.md"

# A program of the reader's own, for the commands that speak of one.
OWN_PROGRAM = """#include <cstdio>
__global__ void square(int* x) { x[threadIdx.x] *= x[threadIdx.x]; }
int main() {
  int *x, y[32];
  cudaMallocManaged(&x, sizeof y);
  for (int i = 0; i < 32; ++i) x[i] = i;
  square<<<1, 32>>>(x);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  y[31] = x[31];
  cudaFree(x);
  std::printf("%d\\n", y[31]);
  return y[31] != 961;
}
"""


def commands() -> list[str]:
    """The lines of the fences marked sh, without their comments."""
    found = []
    for fence in re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL):
        found += [re.sub(r"\s+#.*", "", line).strip() for line in fence.splitlines() if not line.startswith("#")]
    return [line for line in found if line]


class Readme(unittest.TestCase):
    def test_the_page_is_no_longer_than_two_screens(self):
        self.assertLessEqual(len(README.read_text().splitlines()), 80)

    def test_files_and_links_that_it_names_exist(self):
        for link in re.findall(r"\]\(([^)#]+)\)", README.read_text()):
            if "://" not in link:
                self.assertTrue((ROOT / link).exists(), link)

    def test_the_two_commands_are_there(self):
        self.assertIn("./kit demo", commands())
        self.assertIn("./kit test", commands())
        self.assertIn(plan.TESTS, README.read_text())

    def test_the_number_of_labs_is_right(self):
        numbers = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"]
        labs = sum(folder.is_dir() for folder in (ROOT / "labs").glob("[0-9][0-9]_*"))
        self.assertIn(f"in {numbers[labs - 10]} labs", README.read_text())

    def test_the_one_command_comes_before_a_wrong_kernel_which_is_wrapped(self):
        """On the site's front page too, which says the same."""
        for page in (README, ROOT / "docs" / "index.md"):
            before, sample, _ = re.split(r"```text\n|(?<=\n)```\n(?=\n[!S])", page.read_text(), maxsplit=2)
            self.assertIn("./kit watch", before, page.name)
            self.assertIn("race-shared", sample)
            self.assertLessEqual(max(map(len, sample.splitlines())), 72, page.name)

    @unittest.skipUnless(os.environ.get("WARPFOLD_KIT_TEST"), "needs the build in .kit: run by ./kit test")
    def test_every_command_works(self):
        with tempfile.TemporaryDirectory() as folder:
            clone = Path(folder) / "warpfold"
            for name in tracked_files():
                if (ROOT / name).is_file():
                    (clone / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, clone / name, follow_symlinks=False)
            (clone / "program.cu").write_text(OWN_PROGRAM)
            for command in commands():
                if command == "./kit test":
                    continue  # this is it
                with self.subTest(command=command):
                    self.type(command, clone)

    def type(self, command: str, clone: Path) -> None:
        # The kit's commands run on the build that is there; what else the reader types runs in a copy of the clone.
        typed = command.replace("./kit", str(ROOT / "kit"))
        if "kit watch" in typed:
            typed += " --times 1"
        result = subprocess.run(["sh", "-c", typed], cwd=clone, text=True, capture_output=True, timeout=900)
        unfilled = 77 if "kit watch" in typed else 0
        self.assertIn(result.returncode, (0, unfilled), f"{typed}\n{result.stdout}\n{result.stderr}")


if __name__ == "__main__":
    unittest.main()
