"""As a student would: a copy of the clone, lab 01 from the stub to `pass` in a notebook's cells, with two mistakes on the way; then lab 04."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import support

support.use_python_with("nbclient", "nbformat", "matplotlib", "ipykernel")

import nbformat  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from warpfold import regions  # noqa: E402

LEFT_OUT = shutil.ignore_patterns(".git", ".kit", "build", "build-*", "__pycache__", ".ipynb_checkpoints", "*.bak")


def run(cells: list[str], folder: Path) -> list[str]:
    """What each cell put out; an error's text counts as output."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=300, allow_errors=True, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    texts = []
    for cell in notebook.cells:
        parts = [
            each.get("text", "") + each.get("data", {}).get("text/plain", "") + "\n".join(each.get("traceback", []))
            for each in cell.outputs
        ]
        texts.append("\n".join(parts))
    return texts


def solved_region(lab: str, rung: str, part: int = 1) -> str:
    path = next((support.ROOT / "solutions" / lab).glob("*.cu"))
    text = path.read_text()
    return regions.body(text, regions.of_rung(text, path.name, rung)[part - 1])


def expect(shown: str, *texts: str) -> None:
    for text in texts:
        if text not in shown:
            sys.exit(f"FAILED: expected '{text}' in\n{shown}")


def main() -> None:
    meson, ninja, emulator = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(shutil.copytree(support.ROOT, Path(folder) / "clone", ignore=LEFT_OUT, symlinks=True))
        # The stubs as they are handed out, whatever the one who tests has filled.
        setup = subprocess.run([meson, "setup", clone / "build", clone, "-Dsolutions=true"], text=True, capture_output=True)
        if "is the internet available?" in setup.stdout:
            print("SKIP: without the kit, Meson needs the machine's own libraries, or a network")
            sys.exit(77)
        if setup.returncode != 0:
            sys.exit(setup.stdout + setup.stderr)
        os.environ |= {"WARPFOLD_BUILD": str(clone / "build"), "WARPFOLD_EMULATOR_DIR": emulator, "NINJA": ninja}
        right = solved_region("01_naive_atomic", "naive_atomic")
        source = clone / "labs" / "01_naive_atomic" / "naive_atomic.cu"
        handed_out = source.read_text()
        shown = run([
            'import sys; sys.path[:0] = ["common/notebook"]; import warpfold; lab = warpfold.open("01")',
            "%%lab naive_atomic\n// nothing yet",
            "%%lab naive_atomic\nthis is not C++;",
            "%%lab naive_atomic\n*result += input[blockIdx.x * blockDim.x + threadIdx.x];",
            f"%%lab naive_atomic\n{right}",
            "lab.check()",
            'lab.profile("naive_atomic", n=4096)',
            "lab.compare()",
            'lab.trace("naive_atomic")',
            "%%lab nothing\nx;",
            "%%lab warp_shuffle\nx;",
            f"%%lab warp_shuffle 1\n{solved_region('04_shuffle', 'warp_shuffle', 1)}",
            f"%%lab warp_shuffle 2\n{solved_region('04_shuffle', 'warp_shuffle', 2)}",
            f"%%lab warp_reduce 1\n{{ {solved_region('04_shuffle', 'warp_reduce', 1)}",
            f"%%lab warp_shuffle 1\n{solved_region('04_shuffle', 'warp_shuffle', 1)}",
            'warpfold.open("04").check("warp_shuffle")',
        ], clone)  # fmt: skip
        if shown[0].strip():
            sys.exit(f"FAILED: the first cell said\n{shown[0]}")
        expect(shown[1], "naive_atomic is still to be filled in: the cell contains no code, so")
        if len(shown[1].strip().splitlines()) > 1:
            sys.exit(f"FAILED: a cell that is still empty says more than one line\n{shown[1]}")
        expect(shown[2], "BuildFailed: labs/01_naive_atomic/naive_atomic.cu(", 'of "labs/01_naive_atomic/naive_atomic.cu".')
        expect(shown[3], "CheckFailed", "naive_atomic.cu.bak")
        expect(shown[4], "is written to labs/01_naive_atomic/naive_atomic.cu", "pass")
        expect(shown[5], "pass")
        expect(shown[6], "atomicAdd(result", "atomics")
        expect(shown[7], "4,096" if "4,096" in shown[7] else "warp_instructions")
        expect(shown[8], "step through")
        expect(shown[9], "LabError", "no file below labs has a region nothing")
        expect(shown[10], "LabError", "2 regions")
        expect(shown[11], "todo")
        expect(shown[12], "pass")
        expect(shown[13], "BuildFailed: labs/04_shuffle/shuffle.cu(", "error:")
        expect(shown[14], "warp_shuffle, region 1 of 2 is not checked", "because of the cell %%lab warp_reduce 1")
        if "BuildFailed" in shown[14]:
            sys.exit(f"FAILED: another cell's mistake fails this one\n{shown[14]}")
        expect(shown[15], "BuildFailed: The mistake is in the cell %%lab warp_reduce 1.")
        before, after = handed_out.splitlines(), source.read_text().splitlines()
        region = regions.find(handed_out, "stub")[0]
        if after[: region.begin + 1] != before[: region.begin + 1] or after[-(len(before) - region.end) :] != before[region.end :]:
            sys.exit("FAILED: something outside the markers has changed")
    print("ok")


if __name__ == "__main__":
    main()
