"""Runs a program and compares what it prints with a file: expect.py EXPECTED PROGRAM [ARGUMENTS...]

Standard error is shown when the test fails, and compared only where a file EXPECTED.stderr stands beside the other one;
there, addresses count as equal.
"""

import difflib
import re
import subprocess
import sys
from pathlib import Path


def differences(expected: str, found: str, name: str) -> list[str]:
    return list(difflib.unified_diff(expected.splitlines(), found.splitlines(), f"{name}, expected", f"{name}, found", "", "", 1, ""))


def hide_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text)


def main() -> int:
    expected, command = Path(sys.argv[1]), sys.argv[2:]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    wrong = differences(expected.read_text(), result.stdout, "standard output")
    messages = expected.with_suffix(".expect.stderr")
    if messages.exists():
        wrong += differences(messages.read_text(), hide_addresses(result.stderr), "standard error")
    if result.returncode != 0:
        wrong.append(f"exit status {result.returncode}")
    if wrong:
        print("\n".join(wrong))
        print(f"--- standard error\n{result.stderr}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
