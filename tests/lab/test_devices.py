"""Lab 12, solved, on other numbers of devices than the usual four, and its last rung in processes that mpirun starts.

Called by Meson with the solved lab's program as the last word."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = ""
IN_PROCESSES = "rank_per_gpu"


def environment(**changes: str) -> dict[str, str]:
    return os.environ | changes


def run(*command: str, **changes: str) -> dict[str, dict]:
    done = subprocess.run(command, text=True, capture_output=True, env=environment(**changes), timeout=240, check=False)
    start = done.stdout.find("{")
    if start < 0:
        raise AssertionError(f"no JSON (exit code {done.returncode}): {done.stdout[-500:]} {done.stderr[-1500:]}")
    return {rung["name"]: rung for rung in json.loads(done.stdout[start:])["rungs"]}


def lab(*options: str, **changes: str) -> dict[str, dict]:
    return run(PROGRAM, "--device=emulator", "--json", *options, **changes)


class Case(unittest.TestCase):
    def assertPass(self, rungs: dict[str, dict], but: tuple[str, ...] = ()) -> None:
        for name, rung in rungs.items():
            if name not in but:
                self.assertEqual((name, rung["state"], rung["reason"], rung["hazards"]), (name, "pass", "", []))

    def has_mpi(self) -> bool:
        return (
            shutil.which("mpirun") is not None
            and "MPI was not found" not in lab(f"--rung={IN_PROCESSES}", PATH="/nowhere")[IN_PROCESSES]["reason"]
        )


class Devices(Case):
    def test_on_two_and_on_three(self):
        for count in ("2", "3"):
            self.assertPass(lab(f"--devices={count}"), but=() if self.has_mpi() else (IN_PROCESSES,))

    def test_on_one_if_that_is_asked_for(self):
        rungs = lab("--devices=1", "--rung=peer_copies", "--rung=peer_reads", "--rung=one_kernel")
        self.assertPass(rungs)

    def test_one_device_is_a_reason_to_skip(self):
        rung = lab("--rung=peer_copies", WARPFOLD_DEVICES="1")["peer_copies"]
        self.assertEqual(rung["state"], "skip")
        self.assertIn("takes two devices or more", rung["reason"])

    def test_a_number_of_devices_that_makes_no_sense_is_refused(self):
        for count in ("0", "17", "some"):
            done = subprocess.run([PROGRAM, "--devices", count], text=True, capture_output=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("from 1 to 16", done.stderr)

    def test_without_mpirun_its_rung_is_skipped_and_says_why(self):
        rung = lab(f"--rung={IN_PROCESSES}", PATH="/nowhere")[IN_PROCESSES]
        self.assertEqual(rung["state"], "skip")
        self.assertRegex(rung["reason"], "no mpirun|MPI was not found")

    def test_one_look_is_not_for_several_processes(self):
        done = subprocess.run([PROGRAM, "--device=emulator", "--json", "--once", f"--rung={IN_PROCESSES}"],
                              text=True, capture_output=True, timeout=60, check=False)  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("runs in several processes", done.stderr)


class Traces(Case):
    def trace(self, rung: str, devices: int, how: str) -> list[dict]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "trace.json"
            command = [PROGRAM, "--device=emulator", "--json", how, f"--rung={rung}", f"--devices={devices}", "--n=128", "--block=64"]
            done = subprocess.run(command, text=True, capture_output=True, timeout=120, check=False,
                                  env=environment(WARPFOLD_TRACE=str(file), WARPFOLD_TRACE_BLOCK="0", WARPFOLD_CHECKS="all"))  # fmt: skip
            self.assertEqual(done.returncode, 0, f"{rung} {devices} {how}: {done.stderr[-1000:]}")
            return json.loads(file.read_text())["launches"]

    def test_the_same_each_time_on_several_devices(self):
        last = {"peer_copies": 1, "peer_reads": 1, "nccl_reduce": 0, "one_kernel": 0}  # launches by which device 0 adds up
        for devices in (2, 4):
            for rung, more in last.items():
                for how in ("--once", "--profile"):
                    told = [self.trace(rung, devices, how) for _ in range(3)]
                    on = [launch["device"] for launch in told[0]][: devices + more]
                    self.assertEqual(on, [*range(devices), *[0] * more])
                    self.assertTrue(all(launch["events"] for launch in told[0]))
                    if rung != "one_kernel":  # which polls, a different number of times each time
                        self.assertEqual(told[0], told[1])
                        self.assertEqual(told[0], told[2])

    def test_of_one_device_no_launch_names_one(self):
        self.assertFalse(any("device" in launch for launch in self.trace("peer_copies", 1, "--profile")))


class Processes(Case):
    def setUp(self):
        if not self.has_mpi():
            self.skipTest("MPI was not found (Debian: libopenmpi-dev, openmpi-bin)")

    def mpirun(self, count: int, *options: str) -> dict[str, dict]:
        return run("mpirun", "-n", str(count), PROGRAM, "--device=emulator", "--json", *options,
                   OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                   PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")  # fmt: skip

    def test_started_by_mpirun_rank_0_has_the_verdict(self):
        for count in (2, 3):
            rungs = self.mpirun(count, f"--rung={IN_PROCESSES}")
            self.assertPass(rungs)
            names = [check["name"] for check in rungs[IN_PROCESSES]["checks"]]
            self.assertIn(f"n = 1000, integers, {count} devices", names)

    def test_the_other_rungs_say_that_they_run_in_one_process(self):
        rungs = self.mpirun(2)
        self.assertPass({IN_PROCESSES: rungs.pop(IN_PROCESSES)})
        for rung in rungs.values():
            self.assertEqual((rung["state"], rung["reason"]), ("skip", "runs in one process: start this program without mpirun"))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
