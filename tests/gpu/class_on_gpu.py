#!/usr/bin/env python3
"""Grades on this machine's GPU, as `./kit class grade --device gpu` does: every solution passes there, no stub does, and mistakes have the
states that they have without a GPU. Prints the times beside those that the solved program takes by itself.

    class_on_gpu.py [--build BUILD] [--lab LAB]... [--attacks]

--build: a configured build folder, in place of the kit's own. --attacks: the attacks of tests/classroom as well; only where a sandbox
works. Without a sandbox the solutions run as this user: they are the course's own, and it is said. Ends with 1 if anything is not as
expected, 77 without a GPU."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "common"), str(ROOT / "tests" / "classroom")]

import support  # noqa: E402
import test_grading  # noqa: E402
from classroom.course import version  # noqa: E402
from classroom.grading import grader  # noqa: E402
from classroom.isolation import gpus, sandbox  # noqa: E402
from kit.programs import folder  # noqa: E402

troubles: list[str] = []


def expect(holds: bool, what: str) -> None:
    if not holds:
        troubles.append(what)
        print(f"  NOT AS EXPECTED: {what}", flush=True)


def graded(lab: version.Lab, text: str, room: sandbox.Sandbox, device: str = grader.GPU) -> dict:
    result = grader.grade(lab, text, support.HIDDEN, room, device=device)
    expect(result["graded"], f"{lab.name}: not graded: {result['why']}")
    return result


def own_times(lab: version.Lab) -> dict[str, float]:
    """Of the solved program by itself, where no socket lies between host function and device."""
    program = [str(lab.program), "--json", "--time", "--device=gpu", "--n=2^26"]
    said = subprocess.run(program, text=True, capture_output=True, env={**os.environ, "LD_LIBRARY_PATH": libraries(lab)})
    try:
        return {rung["name"]: rung["time"]["median_us"] for rung in json.loads(said.stdout)["rungs"] if rung.get("time")}
    except ValueError:
        return {}


def libraries(lab: version.Lab) -> str:
    return ":".join(map(str, [lab.runtime, *lab.libraries]))


def solutions(labs: list[version.Lab], room: sandbox.Sandbox) -> None:
    print(f"{'rung':<44}{'state':<16}{'graded us':>12}{'by itself us':>14}")
    for lab in labs:
        alone = own_times(lab)
        for rung in graded(lab, lab.solution.read_text(), room)["rungs"]:
            time = (rung.get("gpu") or {}).get("time")
            print(
                f"{lab.name + ' ' + rung['name']:<44}{rung['state']:<16}{time['median_us'] if time else 0:>12.2f}{alone.get(rung['name'], 0):>14.2f}",
                flush=True,
            )
            expect(rung["state"] == "pass", f"{lab.name} {rung['name']}: {rung['state']}: {rung['reason']}")
            expect(bool(rung.get("gpu")), f"{lab.name} {rung['name']}: was not run on the GPU")
        states = {rung["state"] for rung in graded(lab, lab.pristine.read_text(), room)["rungs"]}
        expect(states == {"todo"}, f"{lab.name}: the stub has {states}")


def mistakes(labs: list[version.Lab], room: sandbox.Sandbox) -> None:
    known = {lab.name: lab for lab in labs}
    for name, old, new in test_grading.MISTAKES:
        if lab := known.get(name):
            text = lab.solution.read_text().replace(old, new)
            here, there = (support.states(graded(lab, text, room, device)) for device in grader.DEVICES)
            worse = {rung: (here[rung], there[rung]) for rung in here if here[rung] != there[rung]}
            print(f"{name}: {new.strip()[:60]!r}: {sorted(set(there.values()) - {'pass'})}", flush=True)
            # What is a hazard on the emulator may well be wrong on a GPU; nothing becomes better.
            expect(all(on_gpu == "wrong" for _, on_gpu in worse.values()), f"{name}: {worse}")


def attacks(labs: list[version.Lab], room: sandbox.Sandbox) -> None:
    known = {lab.name: lab for lab in labs}
    for path in sorted(support.ATTACKS.glob("*.cu")):
        text = support.attack(path)
        lab = known.get(next(line.split()[-1] for line in text.splitlines() if line.startswith("// lab:")))
        if lab is None:
            continue
        result = grader.grade(lab, text, support.HIDDEN, room, device=grader.GPU)
        passes = [name for name, state in support.states(result).items() if state == "pass"]
        print(f"{path.stem}: {result['why'] or result['rungs'][0]['reason'][:110]!r}", flush=True)
        expect(not passes, f"{path.stem}: {passes} pass")
    expect(support.left_behind() == [], "processes are left")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", type=Path)
    options.add_argument("--lab", action="append", default=[])
    options.add_argument("--attacks", action="store_true")
    chosen = options.parse_args()
    if reason := gpus.why_not():
        print(f"no GPU to grade on: {reason}")
        return 77
    if chosen.build:
        build = folder.Build(chosen.build.resolve(), shutil.which("ninja") or "ninja", dict(os.environ))
        folder.prepare = lambda: build
    labs = version.prepare(chosen.lab or None)
    no_room = sandbox.why_not()
    room = sandbox.Sandbox(unsafe=bool(no_room))
    print(f"sandbox: {no_room + ': the files of the course run as this user' if no_room else 'bubblewrap'}", flush=True)
    solutions(labs, room)
    mistakes(labs, room)
    if chosen.attacks and no_room:
        print("attacks: left out, as there is no sandbox")
    elif chosen.attacks:
        attacks(labs, room)
    print(f"{len(troubles)} not as expected" if troubles else "all as expected")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
