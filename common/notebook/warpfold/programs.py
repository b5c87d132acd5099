"""The cell magic %%cuda: the cell is a whole CUDA program. It is compiled, run on the GPU or on the emulator, and checked."""

import argparse
import json
import os
import re
import shlex
import subprocess
import tempfile
from collections import Counter
from html import escape
from pathlib import Path
from types import SimpleNamespace

from . import home  # noqa: F401  puts the kit on the path
from .annotated import Annotated
from .progress import Progress
from .verdict import MOST_OF_A_KIND, STYLE, BuildFailed, CheckFailed, LabError, explanation

NAME = "cell.cu"
WITHOUT_MAIN = re.compile(r"undefined (reference to|symbol:?) [`']?main\b")
NO_MAIN = """The cell has no main: %%cuda takes a whole program. One that launches your kernel looks like this:

int main() {
  your_kernel<<<1, 32>>>();
  return cudaDeviceSynchronize();
}"""
SECONDS_TO_REPORT = 20  # that a program which is stopped has for its report


class Usage(argparse.ArgumentParser):
    def error(self, message: str):
        raise LabError(f"{message}. {self.format_usage().strip()}")


def parser() -> Usage:
    usage = Usage(prog="%%cuda", add_help=False)
    usage.add_argument("--no-check", action="store_true", help="do not look for races, bad accesses and other hazards")
    usage.add_argument("--profile", action="store_true", help="show the source with counts beside each line")
    usage.add_argument("--device", choices=["auto", "gpu", "emulator"], default="auto")
    usage.add_argument("--time-limit", type=float, default=120, metavar="SECONDS")
    usage.add_argument("--nvcc", default="", metavar="FLAGS", help="more arguments for nvcc: --nvcc='-arch=sm_90 -O1'")
    usage.add_argument("args", nargs="*", help="the program's own arguments, after --")
    return usage


def run_cell(line: str, cell: str) -> None:
    options = parser().parse_args(shlex.split(line))
    with tempfile.TemporaryDirectory(prefix="warpfold-") as folder:
        run = Run(Path(folder), options)
        with Progress() as progress, lab_errors():
            on_gpu = options.device != "emulator" and has_gpu()
            if options.device == "gpu" and not on_gpu:
                raise LabError("There is no GPU here. Without --device=gpu the cell runs on the emulator.")
            progress.show("compiling")
            # A cell's first line is the magic's own, and an editor counts it.
            run.compile(f"// %%cuda {line}".rstrip() + f"\n{cell}")
            if on_gpu:
                progress.show("running on the GPU")
                run.on_gpu()
            if not on_gpu or not options.no_check or options.profile:
                progress.show("running on the emulator")
                run.on_emulator()
        show(run, on_gpu)


def lab_errors():
    from .clone import lab_errors as errors_of_the_kit

    return errors_of_the_kit()


def has_gpu() -> bool:
    from kit import gpu

    try:
        gpu.find()
    except gpu.NoGpu:
        return False
    return True


class Run:
    """One cell's program: compiled, and what came of running it."""

    def __init__(self, folder: Path, options):
        self.folder, self.options = folder, options
        self.program = folder / "program"
        self.output, self.status, self.report = "", 0, {}
        self.stopped = False  # at the time limit

    def compile(self, text: str) -> None:
        from kit.emulate import compiler

        (self.folder / NAME).write_text(text)
        self.compiler = compiler.find()
        command = self.compiler.command([*shlex.split(self.options.nvcc), NAME, "-o", str(self.program)])
        said = subprocess.run(command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if said.returncode != 0:
            raise BuildFailed(NO_MAIN if WITHOUT_MAIN.search(said.stdout) else said.stdout.strip())
        if said.stdout.strip():
            print(said.stdout.strip())

    def on_gpu(self) -> None:
        before = os.environ.get("LD_LIBRARY_PATH", "")
        runtime = str(self.compiler.runtime)
        self.output, self.status = self.execute(os.environ | {"LD_LIBRARY_PATH": f"{before}:{runtime}" if before else runtime})

    def on_emulator(self) -> None:
        """Beside a run on the GPU only for what it counts and finds: the output is the GPU's."""
        from kit.emulate import elf, program, standin

        linked = elf.read(self.program)
        if program.linked_statically([linked, *elf.libraries(linked)]):
            raise LabError(
                "The cell's program holds the static CUDA runtime, which the emulator cannot replace: leave -cudart out of --nvcc."
            )
        written = self.folder / "report.json"
        environment = program.emulated(standin.library().parent) | {"WARPFOLD_REPORT": str(written)}
        if not self.options.no_check:
            environment["WARPFOLD_CHECKS"] = "all"
        ran_before = bool(self.output or self.status)
        output, status = self.execute(environment)
        if not ran_before:
            self.output, self.status = output, status
        if written.exists():
            self.report = json.loads(written.read_text())
        for hazard in self.report.get("hazards", []):  # is shown below the output
            self.output = re.sub(rf"warpfold: \S+: {re.escape(hazard['message'])}[^\n]*\n", "", self.output)

    def execute(self, environment: dict[str, str]) -> tuple[str, int]:
        """A program that does not end is stopped by a signal at which the emulator reports where its kernel was."""
        command = [str(self.program), *self.options.args]
        with subprocess.Popen(command, env=environment, text=True, errors="replace", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as program:  # fmt: skip
            try:
                return program.communicate(timeout=self.options.time_limit)[0], program.returncode
            except subprocess.TimeoutExpired:
                self.stopped = True
                program.terminate()
            try:
                return program.communicate(timeout=SECONDS_TO_REPORT)[0], program.returncode
            except subprocess.TimeoutExpired:
                return "", 0
            finally:
                program.kill()

    def where_it_was(self, on_gpu: bool) -> str:
        """Of a program that was stopped: the kernel and its line, as far as the emulator knows them."""
        from kit import report

        stopped = next((hazard for hazard in self.report.get("hazards", []) if hazard["kind"] == "interrupted"), None)
        if stopped:
            kernel = self.report["launches"][-1]["kernel"]
            return f" in {report.readable([kernel]).get(kernel, kernel)}, at line {stopped['line']} of the cell"
        if self.report:
            return " while no kernel ran"
        return " on the GPU; --device=emulator says in which kernel and at which line" if on_gpu else ""


def show(run: Run, on_gpu: bool) -> None:
    from IPython.display import display

    if run.output:
        print(run.output, end="" if run.output.endswith("\n") else "\n")
    findings = Findings(run, on_gpu)
    display(findings)
    if run.options.profile and run.report.get("launches"):
        display(Profile(run))
    if run.stopped:
        raise CheckFailed(f"stopped after {run.options.time_limit:g} s{run.where_it_was(on_gpu)}. --time-limit SECONDS allows more")
    if run.status != 0:
        raise CheckFailed(f"the program ended with {ended_with(run.status)}")
    if findings.hazards:
        raise CheckFailed(f"{len(findings.hazards)} hazard{'' if len(findings.hazards) == 1 else 's'} found")


def ended_with(status: int) -> str:
    return f"exit code {status}" if status > 0 else f"signal {-status}"


class Profile(Annotated):
    """The cell's lines with counts beside them."""

    def __init__(self, run: Run):
        super().__init__([SimpleNamespace(rung=NAME, report=run.report, result={"state": "all launches"})], [], run.folder)


class Findings:
    """The hazards of a program, as text and as HTML."""

    def __init__(self, run: Run, on_gpu: bool):
        report, checked = run.report, not run.options.no_check
        self.hazards = report.get("hazards", []) if checked or run.stopped else []
        launches = len(report.get("launches", []))
        where = "Run on the GPU, checked on the emulator" if on_gpu and report else "Run on the GPU" if on_gpu else "Run on the emulator"
        counted = f", {launches} launch{'' if launches == 1 else 'es'}" if report else ""
        self.device = f"{where}{counted}."
        if self.hazards:
            self.verdict = "hazards"
        elif run.stopped or run.status != 0:
            self.verdict = "stopped" if run.stopped else ended_with(run.status)
        else:
            self.verdict = "not checked" if not checked else "clean" if report else "no report"

    def sentences(self) -> list[tuple[str, str]]:
        """(What and where, why and what to do), the first of each kind."""
        of_kind: Counter = Counter()
        found, explained = [], set()
        for hazard in self.hazards:
            of_kind[hazard["kind"]] += 1
            if of_kind[hazard["kind"]] > MOST_OF_A_KIND:
                continue
            words = explanation(hazard)
            where = f"{Path(hazard['file']).name}:{hazard['line']}" if hazard.get("line") else "no line known"
            found.append((f"{hazard['kind']} at {where}: {hazard['message']}", "" if words in explained else words))
            explained.add(words)
        found += [(f"{kind}: and {count - MOST_OF_A_KIND} more", "") for kind, count in of_kind.items() if count > MOST_OF_A_KIND]
        return found

    def __str__(self) -> str:
        lines = [f"{self.verdict}. {self.device}"]
        for what, why in self.sentences():
            lines += [f"  {what}", *([f"    {why}"] if why else [])]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        kind = {"clean": "pass", "not checked": "open", "no report": "open"}.get(self.verdict, "fail")
        items = "".join(f"<li>{escape(what)}{'<br>' + escape(why) if why else ''}</li>" for what, why in self.sentences())
        page = (f'{STYLE}<div class="warpfold" role="status"><span class="state {kind}">{escape(self.verdict)}</span> '
                f'<span class="faint">{escape(self.device)}</span>{f"<ul>{items}</ul>" if items else ""}</div>')  # fmt: skip
        return {"text/plain": str(self), "text/html": page}
