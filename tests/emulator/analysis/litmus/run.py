"""Runs the litmus programs under several schedules and holds what is said of each against what stands above it.

run.py [--verbose] [--only NAME] PROGRAM=SOURCE...
"""

import argparse
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

MARK = re.compile(r"// LITMUS(_BOTH|_IN_BOTH_ORDERS)? (\w+): (\S+)(?: at (\S+))?\s*$")
PLACE = re.compile(r"// AT (\w+)$")  # a line that several programs share, by name
SAYS = re.compile(r"// SAYS (.+)$")
SCHEDULES = {  # and how many workers
    "forwards": 1, "backwards": 1, "shuffled:1": 1, "shuffled:2": 2, "shuffled:3": 4, "both orders": 1,
}  # fmt: skip


@dataclass
class Expected:
    kinds: set[str]  # empty: nothing may be said
    depends: bool = False  # on the order: it has to be reported only if both are tried
    lines: set[int] = field(default_factory=set)
    text: str = ""


def read(source: Path) -> dict[str, Expected]:
    found: dict[str, Expected] = {}
    places: dict[str, set[int]] = {}
    current = None
    for number, text in enumerate(source.read_text().splitlines(), start=1):
        if mark := MARK.search(text):
            form, name, kinds, at = mark.groups()
            lines = set().union(*(places[place] for place in at.split("|"))) if at else set()
            current = Expected(set() if kinds == "right" else set(kinds.split("|")), form == "_IN_BOTH_ORDERS", lines)
            found |= dict.fromkeys([f"{name}_plain", f"{name}_volatile"] if form == "_BOTH" else [name], current)
        elif current and "// HERE" in text:
            current.lines.add(number)
        elif place := PLACE.search(text):
            places.setdefault(place[1], set()).add(number)
        elif current and (says := SAYS.search(text)):
            current.text = says[1]
    return found


def problem(expected: Expected, said: dict, source: Path, schedule: str) -> str:
    """What is wrong with what was said of a program; "" where nothing is."""
    hazards = said["report"]["hazards"]
    reported = "; ".join(f"{hazard['kind']} {hazard['line']}/{hazard['other_line']}: {hazard['message']}" for hazard in hazards)
    if not expected.kinds:
        return f"right, but reported: {reported}" if hazards else said["error"]
    if not hazards:
        if expected.depends and schedule != "both orders":
            return ""
        return f"nothing reported, {'|'.join(sorted(expected.kinds))} expected"
    if others := {hazard["kind"] for hazard in hazards} - expected.kinds:
        return f"{', '.join(others)} reported: {reported}"
    lines = {line for hazard in hazards for line in (hazard["line"], hazard["other_line"])}
    if expected.lines and not expected.lines & lines:
        return f"none of lines {sorted(expected.lines)} of {source.name} named: {reported}"
    if not all(expected.text in f"{hazard['message']} {hazard['why']}" for hazard in hazards):
        return f"the message or its reason lacks {expected.text!r}: {reported}"
    return ""


def run(program: Path, schedule: str) -> list[dict]:
    both = schedule == "both orders"
    environment = os.environ | {"WARPFOLD_CHECKS": "all", "WARPFOLD_WORKERS": str(SCHEDULES[schedule])}
    environment |= {"WARPFOLD_BOTH_ORDERS": "on"} if both else {"WARPFOLD_SCHEDULE": schedule}
    environment |= {"WARPFOLD_TIME_LIMIT": "20000"}
    if folder := os.environ.get("WARPFOLD_EMULATOR_DIR"):
        environment["LD_LIBRARY_PATH"] = folder
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{program} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM=SOURCE")
    parser.add_argument("--verbose", action="store_true", help="print what was said of each")
    parser.add_argument("--only", help="a program's name")
    options = parser.parse_args()
    count = failed = 0
    for word in options.programs:
        program, source = (Path(part) for part in word.split("=", 1))
        expected = read(source)
        count += len(expected)
        wrong: dict[str, list[str]] = {}
        for schedule in SCHEDULES:
            said = {each["name"]: each for each in run(program, schedule)}
            if said.keys() != expected.keys():
                wrong.setdefault("marks", []).append(f"differ from programs: {sorted(said.keys() ^ expected.keys())}")
            for name in said.keys() & expected.keys():
                if options.only and name != options.only:
                    continue
                if options.verbose:
                    print(
                        name,
                        schedule,
                        *[f"{h['kind']} {h['line']}/{h['other_line']}: {h['message']}" for h in said[name]["report"]["hazards"]],
                        sep="\n    ",
                    )
                if text := problem(expected[name], said[name], source, schedule):
                    wrong.setdefault(name, []).append(f"{schedule}: {text}")
        for name, texts in wrong.items():
            print(f"FAIL {source.stem}/{name} ({len(texts)} of {len(SCHEDULES)} schedules)\n     " + "\n     ".join(texts[:2]))
        failed += len(wrong)
    right = sum(not each.kinds for word in options.programs for each in read(Path(word.split("=", 1)[1])).values())
    print(f"{count} litmus programs, {right} of them right, under {len(SCHEDULES)} schedules: {failed} not reported as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
