"""Lab 12's last rung when a rank is lost: it crashes, exits, hangs, never joins, or its kernel fails. Rank 0 must say which rank that was and what
happened, at which line where that can be known; the lab must end within its limits and leave no process.

Called by Meson with lost_ranks.cu, whose rungs lose a rank, and as the last words the programs timed_ranks and lost_ranks.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

SOURCE = Path()
PROGRAM = TIMED = ""
SECONDS_PER_RUN = 3
# Twice as long on a busy machine, and what comes before and after.
SECONDS_IN_ALL = 2 * SECONDS_PER_RUN + 30
MARK = f"WARPFOLD_TEST_OF_RANKS={os.getpid()}"


def line_of(name: str) -> str:
    """What a message says for the line that is marked so."""
    (number,) = (at for at, text in enumerate(SOURCE.read_text().splitlines(), 1) if text.endswith(f"// LINE {name}"))
    return f"{SOURCE.name}:{number}"


def left_behind() -> list[str]:
    """The processes that this test has started and that are still there; one that has ended has no environment any more."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append(f"{path.name} {(path / 'comm').read_text().strip()}")
        except OSError:
            pass
    return found


def shared_memory() -> set[str]:
    """What programs that have ended left there; others may run meanwhile. The name holds the number of the process."""
    folder = Path("/dev/shm")
    names = [path.name for path in folder.glob("warpfold-ranks-*")] if folder.is_dir() else []
    return {name for name in names if not Path("/proc", name.split("-")[2]).exists()}


class Lost(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("mpirun") is None or "MPI was not found" in cls.run_lab("crash", PATH="/nowhere").stdout:
            raise unittest.SkipTest("MPI was not found (Debian: libopenmpi-dev, openmpi-bin)")

    @staticmethod
    def run_lab(rung: str, *options: str, **variables: str) -> subprocess.CompletedProcess:
        name, _, value = MARK.partition("=")
        variables |= {name: value}
        command = [PROGRAM, "--device=emulator", "--devices=3", f"--time-limit={SECONDS_PER_RUN}", f"--rung={rung}", *options]
        return subprocess.run(command, text=True, capture_output=True, timeout=120, env=os.environ | variables)

    def lose(self, rung: str) -> dict:
        """The rung's report, after what holds for every rung that loses a rank."""
        before = shared_memory()
        began = time.monotonic()
        done = self.run_lab(rung, "--json")
        self.assertLess(time.monotonic() - began, SECONDS_IN_ALL)
        until = time.monotonic() + 5  # mpirun ends the ranks, and the system has to
        while (left := left_behind()) and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(left, [])
        self.assertEqual(shared_memory() - before, set())
        self.said = done.stderr
        (report,) = json.loads(done.stdout)["rungs"]
        self.assertEqual((report["name"], report["state"]), (rung, "wrong"), done.stderr)
        return report

    def assertReason(self, report: dict, *parts: str) -> None:
        for part in parts:
            self.assertRegex(report["reason"], part)

    def test_a_crash(self):
        for rung, why in {"crash": "Segmentation fault", "abort": "Aborted"}.items():
            with self.subTest(rung=rung):
                self.assertReason(self.lose(rung), rf"rank 1: the rung ended the program \({why}\) at \S*{re.escape(line_of(rung))}")

    def test_a_crash_of_rank_0(self):
        self.assertReason(
            self.lose("crash_of_rank_0"), rf"devices: the rung ended the program \(Segmentation fault\) at \S*{re.escape(line_of('crash'))}"
        )

    def test_device_memory_touched_by_the_host(self):
        report = self.lose("touch")
        found = [(hazard["kind"], f"{Path(hazard['file']).name}:{hazard['line']}") for hazard in report["hazards"]]
        self.assertIn(("host-access", line_of("touch")), found, report["reason"] + self.said)
        self.assertIn("on rank 1", report["hazards"][0]["message"])

    def test_meson_shows_as_much_of_it_as_of_any_other_rung(self):
        done = self.run_lab("touch", "--tap")
        self.assertRegex(done.stdout, r"(?m)^ok 1 - n = 0")
        self.assertRegex(done.stdout, r"(?m)^not ok \d+ - host-access: ")
        self.assertIn(line_of("touch"), done.stderr)
        self.assertRegex(done.stderr, r"(?m)^ +try: ")

    def test_an_early_exit(self):
        for rung, code in {"exit_3": 3, "exit_0": 0}.items():
            with self.subTest(rung=rung):
                self.assertReason(self.lose(rung), rf"rank 1: the rung's host function ended the program by exit\({code}\)")

    def test_an_early_exit_of_rank_0(self):
        self.assertReason(self.lose("exit_of_rank_0"), "before rank 0 had a verdict")
        self.assertIn("rank 0: the rung's host function ended the program by exit(3)", self.said)

    def test_an_end_without_a_word(self):
        for rung in ("exit_unseen", "killed"):
            with self.subTest(rung=rung):
                self.assertReason(self.lose(rung), "rank 1: its process has ended|rank 1 can no longer come")

    def test_a_host_function_that_does_not_return(self):
        for rung in ("hang", "spin"):
            with self.subTest(rung=rung):
                self.assertReason(
                    self.lose(rung),
                    "rank 1 did not call ncclReduce|no end after .*the host function does not return",  # whichever limit is first
                    rf"rank 1.* is at \S*{re.escape(line_of(rung))}",
                )

    def test_a_host_function_that_does_not_return_on_rank_0(self):
        self.assertReason(
            self.lose("hang_of_rank_0"),
            rf"rank 0 did not call ncclReduce|no end after .*the host function does not return.*; it is at \S*{re.escape(line_of('hang'))}",
        )

    def test_a_rank_that_never_joins(self):
        self.assertReason(
            self.lose("never_joins"),
            "rank 1 did not join the communicator",
            rf"rank 1 has not finished its run, and is at \S*{re.escape(line_of('never_joins'))}",
        )

    def test_a_kernel_that_fails(self):
        for rung, line in {"fault_in_kernel": "out_of_bounds", "endless_kernel": "endless"}.items():
            with self.subTest(rung=rung):
                self.assertReason(
                    self.lose(rung), "rank 1: the kernel stopped: ", rf"{re.escape(line_of(line))}: {line.replace('_', '-')}: "
                )

    def test_the_verdict_is_told_once(self):
        for rung in ("exit_3", "killed"):
            with self.subTest(rung=rung):
                self.assertEqual(len(re.findall("(?m)^.*wrong ", self.run_lab(rung).stdout)), 1)

    def test_ranks_run_together_as_for_a_time(self):
        variables = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                                  "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # fmt: skip
        for words, code, said in (
            ([], 0, ["rank 0: 20 runs", "rank 1: 20 runs", "rank 2: 20 runs", "right, takes time"]),
            (["fail"], 3, ["while timing: rank 1: cudaMemcpy was refused: the destination is null (cudaErrorInvalidValue)"]),
        ):
            with self.subTest(words=words):
                done = subprocess.run(
                    ["mpirun", "-n", "3", TIMED, *words], text=True, capture_output=True, timeout=120, env=variables, check=False
                )
                lines = sorted(re.sub(r" at \S+timed_ranks\.cu:\d+", "", line) for line in done.stdout.splitlines())
                self.assertEqual((done.returncode, lines), (code, said), done.stderr)


if __name__ == "__main__":
    PROGRAM, TIMED = sys.argv.pop(), sys.argv.pop()
    SOURCE = Path(sys.argv.pop(1))
    unittest.main()
