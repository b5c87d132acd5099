"""Runs the mutants on the emulator with all checks on, as a student's rungs are run, and compares what is said about
each with its mark: the state, the kind of hazard, the line, the diagnosis. Runs the clean programs and the solutions
too, about which nothing must be said.

    run.py --program FAMILY=PATH... [--clean PATH...] [--solution PATH...] [--table FILE] [--verbose]

Meson names the programs of the build folder (tests/mutants/meson.build). Exit code 0: all as expected.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import corpus

HERE = Path(__file__).resolve().parent
TIMEOUT = 240
SKIPPED = 77  # a lab's exit code where the machine lacks what it runs on


@dataclass
class Finding:
    """What was said about a mutant, and how that differs from what was expected."""

    mutant: corpus.Mutant
    state: str = "not run"
    kinds: list = field(default_factory=list)  # of hazards, in the order reported
    line: int = 0
    diagnosis: str = ""
    reason: str = ""
    hazard: str = ""
    kind: str = ""  # of the hazard that was looked for
    caught: bool = False
    right_line: bool = True
    explained: bool = True  # says what the mistake is: by hazard, diagnosis or technique
    problems: list = field(default_factory=list)


def emulated() -> dict:
    return os.environ | {"WARPFOLD_CHECKS": "all"}


def output_of(command: list, environment: dict) -> subprocess.CompletedProcess:
    """Runs it to its end, or ends it with all that it started: after a fault, a lab's program continues in another process."""
    with subprocess.Popen(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


class NotHere(Exception):
    """The machine lacks what the program runs on; the text says what."""


def rungs_of(program: Path, *options: str) -> dict:
    done = output_of([program, "--device=emulator", "--json", *options], emulated())
    if done.returncode == SKIPPED:
        raise NotHere(done.stderr.strip())
    if not done.stdout.startswith("{"):
        raise RuntimeError(f"{program} printed no JSON (exit code {done.returncode}): {done.stderr.strip()[-500:]}")
    return {rung["name"]: rung for rung in json.loads(done.stdout)["rungs"]}


def lines_of(hazard: dict, source: Path) -> set[int]:
    places = [(hazard["file"], hazard["line"]), (hazard["other_file"], hazard["other_line"])]
    return {line for file, line in places if Path(file).name == source.name}


def judge(mutant: corpus.Mutant, rung: dict | None) -> Finding:
    found = Finding(mutant)
    if rung is None:
        found.problems.append("the program has no such rung")
        return found
    found.state, found.reason = rung["state"], rung.get("reason", "")
    hazards = rung["hazards"]
    found.kinds = list(dict.fromkeys(hazard["kind"] for hazard in hazards))
    found.diagnosis = rung.get("diagnosis", {}).get("kind", "")
    found.caught = found.state in ("wrong", "hazard", "off-technique")
    if found.state not in mutant.state.split("|"):
        found.problems.append(f"state {found.state}, {mutant.state} expected")
    judge_hazard(mutant, hazards, found)
    judge_diagnosis(mutant, found)
    return found


def judge_hazard(mutant: corpus.Mutant, hazards: list, found: Finding) -> None:
    if mutant.kind == corpus.REASON:
        if re.search(rf"\b{re.escape(mutant.source.name)}:{mutant.line}\b", found.reason):
            found.line = mutant.line
        else:
            found.right_line = found.explained = False
            found.problems.append(f"the reason does not name line {mutant.line}")
        return
    if mutant.kind == "none":
        if found.kinds:
            found.problems.append(f"hazard {found.kinds[0]} at line {hazards[0]['line']}, none expected")
            found.caught = found.right_line = False
        return
    of_kind = [hazard for hazard in hazards if hazard["kind"] in mutant.kind.split("|")]
    at_line = [hazard for hazard in of_kind if mutant.line in lines_of(hazard, mutant.source)]
    if not of_kind:
        found.problems.append(f"no hazard {mutant.kind} (told: {', '.join(found.kinds) or 'none'})")
        found.caught = found.right_line = found.explained = False
        return
    first = (at_line or of_kind)[0]
    found.line, found.hazard, found.kind = first["line"], first["message"], first["kind"]
    if at_line:
        found.line = mutant.line
    else:
        found.right_line = False
        found.problems.append(f"hazard {mutant.kind} at line {first['line']}, {mutant.line} expected")


def judge_diagnosis(mutant: corpus.Mutant, found: Finding) -> None:
    given, expected = found.diagnosis or "none", mutant.diagnosis
    # A number that depends on which thread was first may look like anything; the hazard explains it.
    if expected == "any" or given == expected.rstrip("?"):
        return
    found.explained = False
    if expected.endswith("?") and given == "none":
        return
    found.problems.append(f"diagnosis {given}, {expected} expected")


def rungs_of_family(family: str, program: Path, mutants: list) -> dict:
    if family not in corpus.ONE_BY_ONE:
        return rungs_of(program)
    rungs = {}
    for mutant in mutants:
        rungs |= rungs_of(program, f"--rung={mutant.name}")
    return rungs


def run_family(family: str, program: Path, mutants: list) -> list[Finding]:
    try:
        rungs = rungs_of_family(family, program, mutants)
    except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
        return [Finding(mutant, caught=False, right_line=False, explained=False, problems=[str(error)]) for mutant in mutants]
    if rungs and all(rung["state"] == "skip" for rung in rungs.values()):
        print(f"SKIP   {family}: {next(iter(rungs.values()))['reason']}")
        return []
    findings = [judge(mutant, rungs.pop(mutant.name, None)) for mutant in mutants]
    for name in rungs:
        findings.append(Finding(corpus.Mutant(family, name, "?", "?", "?", None, 0, "", program), problems=["has no mark"]))
    return findings


def false_alarms_of_clean(program: Path) -> list[str]:
    """What is said about a program in which nothing is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        emulator = os.environ.get("WARPFOLD_EMULATOR_DIR", "")
        done = output_of([program], emulated() | {"WARPFOLD_REPORT": str(report), "LD_LIBRARY_PATH": emulator})
        said = [f"exit code {done.returncode}: {(done.stdout + done.stderr).strip()[-500:]}"] if done.returncode else []
        if not report.exists():
            return said + ["left no report"]
        content = json.loads(report.read_text())
    if not content["launches"]:
        said.append("launched nothing")
    return said + [f"{hazard['kind']} at {hazard['file']}:{hazard['line']}: {hazard['message']}" for hazard in content["hazards"]]


def false_alarms_of_solution(program: Path) -> list[str]:
    return [
        f"{name}: {rung['state']}: {rung.get('reason', '')}"
        for name, rung in rungs_of(program).items()
        if rung["state"] not in ("pass", "skip") or rung["hazards"]
    ]


def found_as(finding: Finding) -> str:
    return f"{finding.state}, {finding.kind}" if finding.hazard else finding.state


def table(findings: list[Finding]) -> list[list[str]]:
    rows = [["mutant", "mistake", "found as", "line", "diagnosis", "as expected"]]
    for finding in findings:
        mutant = finding.mutant
        rows.append(
            [
                mutant.name,
                mutant.mistake,
                found_as(finding),
                str(finding.line or "-"),
                finding.diagnosis or "-",
                "; ".join(finding.problems) or "yes",
            ]
        )
    return rows


def summary(findings: list[Finding], clean: int, alarms: int) -> list[str]:
    twins = [finding for finding in findings if finding.mutant.state == "pass"]  # right
    findings = [finding for finding in findings if finding.mutant.state != "pass"]
    count = len(findings)
    with_place = [finding for finding in findings if finding.mutant.kind != "none"]
    return [
        f"{count} mutants: {sum(f.caught for f in findings)} caught; "
        f"{sum(f.right_line for f in with_place)} of the {len(with_place)} with a place at the right line; "
        f"{sum(f.explained for f in findings)} explained correctly "
        f"({100 * sum(f.explained for f in findings) // max(count, 1)} %).",
        f"{clean} clean programs and {len(twins)} right twins: {alarms + sum(bool(f.problems) for f in twins)} false alarms.",
    ]


def markdown(findings: list[Finding], totals: list[str]) -> str:
    text = [
        "# What the checks say about each mutant",
        "",
        "Each mutant is a solved rung with one planted mistake (tests/mutants), run on the emulator with all checks on.",
        "`tests/mutants/run.py --table` made this page. If the number depends on which thread comes first, any diagnosis",
        "counts, but the hazard must be right. A line is given if a hazard names one.",
        "",
        *totals,
    ]
    for family in dict.fromkeys(finding.mutant.family for finding in findings):
        rows = table([finding for finding in findings if finding.mutant.family == family])
        text += ["", f"## {family}.cu", "", "| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
        text += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows[1:]]
    return "\n".join(text) + "\n"


def check_clean(programs: list[Path], alarms_of) -> int:
    count = 0
    for program in programs:
        try:
            alarms = alarms_of(program)
        except NotHere as reason:
            print(f"SKIP   {Path(program).name}: {reason}")
            continue
        except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as error:
            alarms = [str(error)]
        print(f"{'not ' if alarms else ''}clean  {Path(program).name}")
        for alarm in alarms:
            print(f"       {alarm}")
        count += len(alarms)
    return count


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Hold what is said of each mutant against what is expected.")
    parser.add_argument("--program", action="extend", nargs="+", default=[], metavar="FAMILY=PATH")
    parser.add_argument("--clean", action="extend", nargs="+", default=[], type=Path, metavar="PATH")
    parser.add_argument("--solution", action="extend", nargs="+", default=[], type=Path, metavar="PATH")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table as Markdown")
    parser.add_argument("--verbose", action="store_true", help="print what was said, too")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    families = corpus.families(HERE)
    programs = dict(word.split("=", 1) for word in options.program)
    if unknown := programs.keys() - families.keys():
        print(f"no such family: {', '.join(sorted(unknown))}; there are {', '.join(families)}", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(run_family, family, Path(path), families[family]) for family, path in programs.items()]
        findings = [finding for job in jobs for finding in job.result()]
    for row in table(findings)[1:]:
        print(
            f"{'ok  ' if row[5] == 'yes' else 'FAIL'} {row[0]:<26} {row[2]:<28} {row[3]:>5}  {row[4]:<20}"
            f"{'' if row[5] == 'yes' else '  ' + row[5]}"
        )
        if options.verbose or row[5] != "yes":
            finding = next(f for f in findings if f.mutant.name == row[0])
            print(f"       {finding.reason}\n       {finding.hazard}")
    alarms = check_clean(options.clean, false_alarms_of_clean) + check_clean(options.solution, false_alarms_of_solution)
    totals = summary(findings, len(options.clean) + len(options.solution), alarms)
    print("\n".join(totals))
    if options.table:
        options.table.parent.mkdir(parents=True, exist_ok=True)
        options.table.write_text(markdown(findings, totals))
    return 1 if alarms or any(finding.problems for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
