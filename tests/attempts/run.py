"""Compares what a lab program says about each attempt with what a fair teacher would say (see README.md).

    run.py --work FOLDER --nvcc 'WORD|WORD' --link 'WORD|OBJECT|WORD' [--every K] [LAB[/NAME] ...]

Meson calls it (tests/attempts/meson.build). Exit code 0: each attempt got an answer with an expected state, except for
those in still_open.list.
"""

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import corpus
import splice
from corpus import Attempt

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIPPED = 77  # a lab's exit code where the machine lacks what it runs on
LIMIT = 15  # seconds within which an answer must come
PATIENCE = 4  # times LIMIT, where more wants to run than the machine has processors for
MOST_IN_ONE = 24  # attempts that are compiled together

KINDS = ["good", "poor", "false", "none"]

GENERATED = re.compile(r"tmpxft_|cudafe1")  # files of nvcc's, in which no student has made a mistake

# Keywords, with the kit's own words for the same.
SAME = {
    "nothing was written": ["nothing has changed it", "nothing is stored in"],
    "past the end": [", which has ", "past the end", "beyond both ends"],
    "out of bounds": ["out-of-bounds"],
    "uninitialised": ["nothing has set", "not been written"],
    "never written": ["not been written"],
    "never set": ["nothing has set"],
}


@dataclass
class Answer:
    """What was said about an attempt. `kind`: good, poor (no keyword of the cause in it), false (another state, or not what it
    must say), none."""

    attempt: Attempt
    state: str = "none"
    text: str = ""
    seconds: float = 0
    kind: str = "none"


@dataclass
class Batch:
    """Attempts of one lab in one program, which runs the one that WARPFOLD_ATTEMPT names."""

    attempts: list[Attempt]
    program: Path | None = None
    errors: dict[str, str] = field(default_factory=dict)  # what the compiler said, by attempt


class Compiler:
    def __init__(self, work: Path, nvcc: list[str], link: list[str]):
        self.work, self.nvcc, self.link = work, nvcc, link
        self.libraries = self.digest(*(Path(word).read_bytes() for word in link if word.endswith(".a")))

    @staticmethod
    def digest(*parts: bytes) -> str:
        state = hashlib.sha256()
        for part in parts:
            state.update(hashlib.sha256(part).digest())
        return state.hexdigest()[:20]

    def compile(self, batch: Batch) -> None:
        """Leaves out what does not compile, until the rest does. The outcome is stored under the hash of all its inputs."""
        left = [attempt for attempt in batch.attempts if splice.is_balanced(attempt)]
        for attempt in batch.attempts:
            if attempt not in left:
                batch.errors[attempt.name] = self.why_not(attempt)
        while left:
            said = self.compile_together(batch, left)
            if said is None:
                return self.find_errors_of_order(batch, left)
            errors = "\n".join(line for line in said.splitlines() if "error" in line)
            # An error inside a header is said to be instantiated at a line of the file.
            guilty = next(
                filter(None, ([attempt for attempt in left if str(self.file_of(attempt)) in text] for text in (errors, said))), []
            )
            if not guilty:
                raise RuntimeError(f"{left[0].lab}: what does not compile here?\n{said[:4000]}")
            for attempt in guilty:
                batch.errors[attempt.name] = errors_in(said, str(self.file_of(attempt)))
            left = [attempt for attempt in left if attempt not in guilty]

    def find_errors_of_order(self, batch: Batch, attempts: list[Attempt]) -> None:
        """Compiled with others, an attempt finds names that are declared further down in its own file: what should not compile
        is compiled alone too."""
        for attempt in attempts:
            if attempt.expect == ("error",) and (said := self.why_not(attempt)):
                batch.errors[attempt.name] = said

    def file_of(self, attempt: Attempt) -> Path:
        """The attempt as a student's file, which the program reads at run time."""
        return self.work / "files" / attempt.lab / attempt.name / attempt.lab / splice.solution(attempt.lab).name

    def write_file(self, attempt: Attempt) -> None:
        path = self.file_of(attempt)
        text = splice.spliced(attempt)
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def compile_together(self, batch: Batch, attempts: list[Attempt]) -> str | None:
        for attempt in attempts:
            self.write_file(attempt)
        source = splice.together(attempts, self.file_of)
        return self.build(batch, attempts[0].lab, source)

    def why_not(self, attempt: Attempt) -> str:
        """What the compiler says about an attempt alone: its braces do not match, so it cannot be compiled with others."""
        self.write_file(attempt)
        return self.build(Batch([attempt]), attempt.lab, splice.spliced(attempt)) or ""

    def build(self, batch: Batch, lab: str, source: str) -> str | None:
        headers = [path.read_bytes() for path in sorted((ROOT / "common/lab").iterdir()) if path.suffix in (".hpp", ".cuh")]
        key = self.digest(source.encode(), " ".join(self.nvcc).encode(), *headers)
        folder = self.work / "compiled" / lab
        folder.mkdir(parents=True, exist_ok=True)
        code, kept_errors = folder / f"{key}.o", folder / f"{key}.errors"
        if kept_errors.exists():
            return kept_errors.read_text()
        if not code.exists():
            path = folder / f"{key}.cu"
            path.write_text(source)
            done = subprocess.run(
                [*self.nvcc, "-I", str(ROOT / "common/lab"), "-c", str(path), "-o", f"{code}.new"], text=True, capture_output=True
            )
            if done.returncode != 0:
                kept_errors.write_text(done.stderr + done.stdout)
                return kept_errors.read_text()
            os.replace(f"{code}.new", code)
        batch.program = folder / f"{key}-{self.libraries}"
        if not batch.program.exists():
            for old in folder.glob(f"{key}-*"):
                old.unlink()
            subprocess.run([str(code) if word == "OBJECT" else word for word in self.link] + ["-o", f"{batch.program}.new"], check=True)
            os.replace(f"{batch.program}.new", batch.program)
        return None


def errors_in(said: str, file: str) -> str:
    """The compiler's messages about this file."""
    lines = said.splitlines()
    return "\n".join(line for line in lines if file in line) or said


class Opencl:
    """Lab 10: one program for all, which is told which file holds the kernels."""

    def __init__(self, work: Path, command: list[str], link: list[str]):
        self.work, self.command, self.link = work, command, link
        self.program: Path | None = None
        self.lock = threading.Lock()

    def file_of(self, attempt: Attempt) -> Path:
        return self.work / "files" / attempt.lab / attempt.name / attempt.lab / "opencl.cl"

    def compile(self, batch: Batch) -> None:
        with self.lock:  # batches run at the same time
            self.program = batch.program = self.program or self.compile_program()
        for attempt in batch.attempts:
            path = self.file_of(attempt)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(splice.spliced(attempt))
            path.with_suffix(".cpp").touch()  # the program looks for the kernels beside it

    def compile_program(self) -> Path:
        folder = self.work / "compiled" / "10_opencl"
        folder.mkdir(parents=True, exist_ok=True)
        source, code = folder / "opencl.cpp", folder / "opencl.o"
        text = (ROOT / "solutions/10_opencl/opencl.cpp").read_text().rstrip()
        assert text.endswith("});\n}")
        source.write_text("#include <cstdlib>\n" + text.removesuffix("});\n}") + '}, std::getenv("WARPFOLD_ATTEMPT"));\n}\n')
        subprocess.run([*self.command, "-I", str(ROOT / "common/lab"), "-c", str(source), "-o", str(code)], check=True)
        program = folder / "program"
        subprocess.run([str(code) if word == "OBJECT" else word for word in self.link] + ["-o", str(program)], check=True)
        return program


class NotHere(Exception):
    """The machine lacks what the lab runs on; the text says what."""


def run_attempt(attempt: Attempt, program: Path, which: str, limit: float) -> Answer:
    device = [] if attempt.lab == "10_opencl" else ["--device=emulator"]
    command = [str(program), *device, "--json", f"--rung={attempt.rung}"]
    start = time.monotonic()
    # Standard input stays closed, and all that the program starts is ended with it.
    with subprocess.Popen(
        command,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"WARPFOLD_ATTEMPT": which},
        start_new_session=True,
        errors="replace",
    ) as process:
        for patience in range(PATIENCE, 0, -1):
            try:
                out, err = process.communicate(timeout=limit)
                break
            except subprocess.TimeoutExpired:
                if patience == 1 or not is_busy():
                    os.killpg(process.pid, signal.SIGKILL)
                    return Answer(attempt, seconds=time.monotonic() - start, text=f"no answer in {limit:g} s")
    answer = Answer(attempt, seconds=time.monotonic() - start)
    try:
        rung = json.loads(out)["rungs"][0]
    except (ValueError, KeyError, IndexError):
        if process.returncode == SKIPPED:
            raise NotHere(err.strip()) from None
        answer.text = f"exit code {process.returncode}, no JSON: {(out + err).strip()[-500:]}"
        return answer
    answer.state, answer.text = rung["state"], verdict_of(rung)
    if answer.state == "not-built":
        answer.state = "error"
        answer.text += f"\n{err}"
    return answer


def is_busy() -> bool:
    """Beside two attempts at a time, or their compilers."""
    return os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1)


def verdict_of(rung: dict) -> str:
    """As the terminal shows it."""
    lines = [f"{rung['state']} {rung['name']}: {rung.get('reason', '')}"]
    if rung.get("diagnosis", {}).get("text"):
        lines.append(f"  {rung['diagnosis']['text']}")
    for check in rung.get("warnings", []):
        lines.append(f"  warning: {check}")
    kinds = Counter()
    for hazard in rung["hazards"]:
        kinds[hazard["kind"]] += 1
        if kinds[hazard["kind"]] > 3:
            continue
        lines.append(f"  {hazard['kind']}: {hazard['message']} [line {hazard['line']}, {hazard['other_line']}]")
        lines += [f"    {key}: {hazard[key]}" for key in ("why", "advice") if hazard.get(key)]
    return "\n".join(lines)


def judge(answer: Answer) -> Answer:
    attempt = answer.attempt
    if answer.state == "none":
        answer.kind = "none"
    elif answer.state not in attempt.expect or GENERATED.search(answer.text):
        answer.kind = "false"
    elif not all(text in answer.text for text in attempt.says):
        answer.kind = "false"
    elif answer.state in ("pass", "todo") or not attempt.about:
        answer.kind = "good"
    else:
        said = answer.text.lower()
        words = [same for word in attempt.about for same in [word, *SAME.get(word, [])]]
        answer.kind = "good" if any(word in said for word in words) else "poor"
    return answer


class Runner:
    def __init__(self, compilers: dict, options: argparse.Namespace):
        self.compilers, self.options = compilers, options
        self.lock = threading.Lock()

    def answers_of(self, batch: Batch) -> list[Answer]:
        lab = batch.attempts[0].lab
        compiler = self.compilers["10_opencl" if lab == "10_opencl" else "cuda"]
        compiler.compile(batch)
        answers = []
        for attempt in batch.attempts:
            if attempt.name in batch.errors:
                answer = Answer(attempt, "error", batch.errors[attempt.name])
            else:
                which = str(compiler.file_of(attempt).with_suffix(".cpp")) if lab == "10_opencl" else attempt.name
                try:
                    answer = run_attempt(attempt, batch.program, which, self.options.limit)
                except NotHere as reason:
                    print(f"SKIP  {lab}: {reason}")
                    return []
            answers.append(judge(answer))
            self.show(answers[-1])
        return answers

    def show(self, answer: Answer) -> None:
        if answer.kind == "good" and not self.options.verbose:
            return
        attempt = answer.attempt
        with self.lock:
            print(
                f"{answer.kind:<5} {attempt.lab}/{attempt.name}: {answer.state}, expected {'|'.join(attempt.expect)} ({answer.seconds:.1f} s)"
            )
            print(f"      cause: {attempt.cause}  about: {', '.join(attempt.about)}")
            print("".join(f"      | {line}\n" for line in answer.text.splitlines()[:24]), end="", flush=True)


def batches(attempts: list[Attempt]) -> list[Batch]:
    found = []
    for lab in dict.fromkeys(attempt.lab for attempt in attempts):
        of_lab = [attempt for attempt in attempts if attempt.lab == lab]
        found += [Batch(of_lab[at : at + MOST_IN_ONE]) for at in range(0, len(of_lab), MOST_IN_ONE)]
    return found


def table(answers: list[Answer]) -> str:
    rows = [f"{'lab':<20}{'attempts':>9}" + "".join(f"{kind:>7}" for kind in KINDS) + f"{'slowest':>9}"]
    for lab in [*dict.fromkeys(answer.attempt.lab for answer in answers), "all"]:
        of_lab = [answer for answer in answers if lab in (answer.attempt.lab, "all")]
        counts = Counter(answer.kind for answer in of_lab)
        slowest = max((answer.seconds for answer in of_lab), default=0)
        rows.append(f"{lab:<20}{len(of_lab):>9}" + "".join(f"{counts[kind]:>7}" for kind in KINDS) + f"{slowest:>8.1f}s")
    return "\n".join(rows)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Hold what is said of each attempt against what is expected.")
    parser.add_argument("--work", type=Path, required=True, metavar="FOLDER", help="where programs are built and kept")
    parser.add_argument("--nvcc", required=True, metavar="WORDS", help="nvcc's command, its words separated by |")
    parser.add_argument("--link", required=True, metavar="WORDS", help="the link's, with OBJECT for what was compiled")
    parser.add_argument("--opencl", metavar="WORDS", help="the host compiler's, for lab 10; left out without it")
    parser.add_argument("--opencl-link", metavar="WORDS")
    parser.add_argument(
        "--every", type=int, default=1, metavar="K", help="every K-th attempt of each lab only, and those that must say something"
    )
    parser.add_argument("--first", type=int, default=0, metavar="I", help="the first of every K")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all answers")
    parser.add_argument("--verbose", action="store_true", help="print the good answers, too")
    parser.add_argument("which", nargs="*", metavar="LAB[/NAME]")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> list[Attempt]:
    found = []
    for file in sorted(HERE.glob("*.txt")):
        of_lab = corpus.read(file)
        found += [each for at, each in enumerate(of_lab) if at % options.every == options.first or each.says]
    if options.which:
        found = [
            attempt
            for attempt in found
            if any(attempt.lab == word or f"{attempt.lab}/{attempt.name}".startswith(word) for word in options.which)
        ]
    if not options.opencl:
        found = [attempt for attempt in found if attempt.lab != "10_opencl"]
    if "-DWARPFOLD_NO_MPI=1" in options.nvcc:
        found = [attempt for attempt in found if attempt.rung != "rank_per_gpu"]
    return found


def main() -> int:
    options = parse_arguments()
    compilers = {"cuda": Compiler(options.work, options.nvcc.split("|"), options.link.split("|"))}
    if options.opencl:
        compilers["10_opencl"] = Opencl(options.work, options.opencl.split("|"), options.opencl_link.split("|"))
    attempts = chosen(options)
    if not attempts:
        print("no such attempt", file=sys.stderr)
        return 2
    runner = Runner(compilers, options)
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        answers = [answer for of_batch in pool.map(runner.answers_of, batches(attempts)) for answer in of_batch]
    print(table(answers))
    if options.json:
        options.json.write_text(
            json.dumps(
                [
                    {
                        "lab": a.attempt.lab,
                        "name": a.attempt.name,
                        "expect": a.attempt.expect,
                        "state": a.state,
                        "kind": a.kind,
                        "seconds": a.seconds,
                        "text": a.text,
                    }
                    for a in answers
                ],
                indent=1,
            )
        )
    return judge_all(answers)


def judge_all(answers: list[Answer]) -> int:
    """No answer is missing, and no verdict has an unexpected state."""
    unanswered = {f"{answer.attempt.lab}/{answer.attempt.name}" for answer in answers if answer.kind in ("none", "false")}
    new = sorted(unanswered - still_open())
    if new:
        print("not in still_open.list: " + ", ".join(new))
    return 1 if new else 0


def still_open() -> set[str]:
    """Attempts whose verdict is known not to be the expected one yet; still_open.list says of each what is missing."""
    return {line.split()[0] for line in (HERE / "still_open.list").read_text().splitlines() if line and not line.startswith("#")}


if __name__ == "__main__":
    sys.exit(main())
