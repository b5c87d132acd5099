"""Runs NVIDIA's compute-sanitizer over the mutants on a GPU, and compares what its four tools find with what the emulator
finds, as docs/results/sanitizers.md.

    meson setup build -Dkit_tests=true && python3 tests/mutants/sanitizer.py build

Needs compute-sanitizer (it comes with the CUDA Toolkit) and a GPU. Each mutant runs alone, at one small n, with each
tool: some 700 runs of about a second, several at a time. The emulator runs the same n.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import corpus

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOUND = 86  # the exit code that the sanitizer returns, as asked, if it reports anything
SUMMARY = re.compile(r"=========\s+(?:ERROR|RACECHECK) SUMMARY: (\d+)")


@dataclass
class Answer:
    found: bool = False
    words: str = ""  # the first report, shortened
    failed: str = ""  # why there is no answer


def output_of(command: list, environment: dict, timeout: float) -> tuple[int | None, str, str]:
    """Exit code (None: ended after the timeout, with all that it had started), and what it printed."""
    with subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
            return process.returncode, out, err
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            return None, out, err


def lab_words(mutant: corpus.Mutant, options: argparse.Namespace) -> list[str]:
    size = [] if (mutant.alone or "").startswith("--n=") else [f"--n={options.n}"]
    return [f"--rung={mutant.name}", *size, *([mutant.alone] if mutant.alone else []), "--json"]


def ask_sanitizer(mutant: corpus.Mutant, tool: str, options: argparse.Namespace) -> Answer:
    program = options.programs / f"mutants_{mutant.family}"
    command = [
        options.sanitizer,
        "--tool",
        tool,
        "--error-exitcode",
        str(FOUND),
        "--print-limit",
        "5",
        *(["--num-cuda-barriers", "65536"] if tool == "synccheck" else []),
        "--target-processes",
        "all",
        program,
        "--device=gpu",
        *lab_words(mutant, options),
    ]
    code, out, err = output_of(command, dict(os.environ), options.timeout)
    reports = [line.removeprefix("=========").strip() for line in (out + err).splitlines() if line.startswith("=========")]
    counted = [int(count) for count in SUMMARY.findall(out + err)]
    if code is None:
        return Answer(failed=f"no end within {options.timeout} s")
    if not counted:
        return Answer(failed=f"exit code {code}: {(err or out).strip()[-200:]}")
    # Memcheck reports a launch that the runtime refuses as an API error, which counts.
    lines = [line for line in reports if line and not line.startswith(("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK"))]
    return Answer(found=code == FOUND or max(counted) > 0, words=lines[0] if lines else "")


def ask_emulator(mutant: corpus.Mutant, options: argparse.Namespace) -> Answer:
    program = options.programs / f"mutants_{mutant.family}"
    code, out, err = output_of(
        [program, "--device=emulator", *lab_words(mutant, options)], os.environ | {"WARPFOLD_CHECKS": "all"}, options.timeout
    )
    if code is None or not out.startswith("{"):
        return Answer(failed=f"exit code {code}: {err.strip()[-200:]}")
    hazards = json.loads(out)["rungs"][0]["hazards"]
    return Answer(found=bool(hazards), words=", ".join(dict.fromkeys(hazard["kind"] for hazard in hazards)))


def mark(answer: Answer) -> str:
    return "?" if answer.failed else "found" if answer.found else "-"


def markdown(answers: dict, options: argparse.Namespace) -> str:
    """`answers`: for each mutant, a list of one answer per tool, then the emulator's."""
    with_hazard = [m for m in answers if m.kind != "none"]
    found = {tool: [m for m in with_hazard if answers[m][i].found] for i, tool in enumerate([*TOOLS, "emulator"])}
    any_tool = [m for m in with_hazard if any(answer.found for answer in answers[m][:-1])]
    missed = ", ".join(m.name for m in any_tool if m not in found["emulator"]) or "none"
    text = [
        "# Who finds what",
        "",
        f"Each mutant (tests/mutants) was run alone on n = {options.n} elements, with the four tools of NVIDIA's",
        f"compute-sanitizer ({options.version}) on {options.gpu}, and on the emulator with all checks on.",
        "`tests/mutants/sanitizer.py` made this page. A mutant that shows only at another n or block size",
        "(alone=... in its mark) was run with that.",
        "",
        f"Of {len(with_hazard)} mutants with a hazard, the four tools together find {len(any_tool)} ("
        + ", ".join(f"{tool} {len(found[tool])}" for tool in TOOLS)
        + f"); the emulator finds {len(found['emulator'])}. "
        f"Found by a tool and not by the emulator: {missed}.",
        "",
        "## Mutants with a hazard",
        *rows(with_hazard, answers),
        "",
        "## Mutants that are wrong, or right with another technique",
        "",
        "A tool that looks for hazards has nothing to find here.",
        *rows([m for m in answers if m.kind == "none"], answers),
    ]
    failures = [(m, tool, answers[m][i].failed) for m in answers for i, tool in enumerate([*TOOLS, "emulator"]) if answers[m][i].failed]
    if failures:
        text += ["", "## No answer", ""]
        text += [f"- {m.name}, {tool}: {why.splitlines()[-1] if why else ''}" for m, tool, why in failures]
    return "\n".join(text) + "\n"


def rows(mutants: list, answers: dict) -> list[str]:
    head = ["mutant", "mistake", *TOOLS, "emulator"]
    text = ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for mutant in mutants:
        said = answers[mutant]
        emulator = said[-1].words if said[-1].found else mark(said[-1])
        cells = [mutant.name, mutant.mistake, *(mark(answer) for answer in said[:-1]), emulator]
        text.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return text


def first_line(command: list) -> str:
    lines = subprocess.run(command, text=True, capture_output=True, check=False).stdout.strip().splitlines()
    return lines[0].strip() if lines else "unknown"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run compute-sanitizer over the mutants; write who finds what.")
    parser.add_argument("build", type=Path, help="a build folder set up with -Dkit_tests=true")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/results/sanitizers.md", metavar="FILE")
    parser.add_argument("--n", type=int, default=1000, help="elements (1000)")
    parser.add_argument("--jobs", type=int, default=8, help="runs at a time (8)")
    parser.add_argument("--timeout", type=float, default=40, help="seconds a run (40)")
    parser.add_argument("--only", default="", metavar="NAME", help="one mutant or one family, and print the answers")
    options = parser.parse_args()
    options.programs = (options.build / "tests/mutants").resolve()
    options.sanitizer = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin:/usr/local/cuda/compute-sanitizer"
    )
    if not options.sanitizer:
        parser.error("compute-sanitizer was not found; it comes with the CUDA Toolkit: put it on PATH")
    if not shutil.which("nvidia-smi") or subprocess.run(["nvidia-smi"], capture_output=True, check=False).returncode:
        parser.error("no GPU was found (nvidia-smi does not answer)")
    options.gpu = first_line(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"])
    version = subprocess.run([options.sanitizer, "--version"], text=True, capture_output=True, check=False).stdout
    options.version = (re.search(r"\d{4}\.[\d.]+\d", version) or ["version unknown"])[0]
    return options


def main() -> int:
    options = parse_arguments()
    families = corpus.families(HERE)
    targets = [f"tests/mutants/mutants_{family}" for family in families]
    if subprocess.run(["ninja", "-C", options.build, *targets, "common/emulator/runtime/libcudart.so.13"], check=False).returncode:
        return 1
    mutants = [m for family in families.values() for m in family if options.only in ("", m.name, m.family)]
    start = time.monotonic()
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        asked = [
            [pool.submit(ask_sanitizer, m, tool, options) for tool in TOOLS] + [pool.submit(ask_emulator, m, options)] for m in mutants
        ]
        answers = {m.name: [job.result() for job in jobs] for m, jobs in zip(mutants, asked, strict=True)}
    print(f"{len(mutants)} mutants in {time.monotonic() - start:.0f} s")
    if options.only:
        for name, of_tools in answers.items():
            for tool, answer in zip([*TOOLS, "emulator"], of_tools, strict=True):
                print(f"{name} {tool:<10} {mark(answer):<6} {answer.words}{answer.failed}")
        return 0 if answers else 2
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(markdown({m: answers[m.name] for m in mutants}, options))
    print(f"wrote {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
