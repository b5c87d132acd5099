"""On a GPU, a wrong result is explained by what the emulator saw. What ends with an error says itself why.

reasons.py mutants_elements mutants_results ...    programs of tests/mutants
"""

import json
import subprocess
import sys


def unexplained(program: str) -> tuple[list[str], int]:
    """The rungs with a wrong result and without a reason for it, and how many have a wrong result."""
    done = subprocess.run([program, "--json", "--device=gpu"], capture_output=True, text=True, timeout=600)
    wrong = [rung for rung in json.loads(done.stdout)["rungs"] if rung["state"] == "wrong" and ", got " in rung["reason"]]
    return [rung["name"] for rung in wrong if not rung["hazards"] and "diagnosis" not in rung], len(wrong)


def main(programs: list[str]) -> int:
    """Prints a TAP point for each program."""
    print(f"1..{len(programs)}")
    for number, program in enumerate(programs, 1):
        missing, wrong = unexplained(program)
        name = program.rpartition("/")[2]
        print(f"{'not ok' if missing or not wrong else 'ok'} {number} - {name}: {wrong} wrong results")
        if missing:
            print(f"# without a reason: {', '.join(missing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
