"""NCCL's stand-in: results against the host, and mistakes that are told with ranks and lines instead of waited for.

Arguments: the programs collectives, graphs, mistakes, inside_kernels, values with the stand-in's header and (or "") with NVIDIA's, and mistakes.cpp."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path

COLLECTIVES, GRAPHS, MISTAKES, INSIDE_KERNELS, OWN_VALUES, NVIDIA_VALUES, SOURCE = (
    sys.argv.pop(1),
    sys.argv.pop(1),
    sys.argv.pop(1),
    sys.argv.pop(1),
    sys.argv.pop(1),
    sys.argv.pop(1),
    Path(sys.argv.pop(1)),
)
LIMIT = 1.0  # seconds until a rank that does not come is told; where results are compared, all come, however slowly
ANSWERS = {"argument": 4, "usage": 5, "remote": 6}


def environment(devices: int | None = None, **more: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("WARPFOLD_DEVICES", "CUDA_VISIBLE", "OMPI_", "PMIX_"))
    }
    return kept | ({"WARPFOLD_DEVICES": str(devices)} if devices else {}) | more


started: set[int] = set()  # processes


def start(command: list[str], env: dict[str, str]) -> subprocess.Popen:
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started.add(process.pid)
    return process


def run(command: list[str], env: dict[str, str], expected: int = 0) -> tuple[str, str]:
    with start(command, env) as process:
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    if process.returncode != expected:
        raise AssertionError(f"{command} ends with {process.returncode}:\n{out}\n{err}")
    return out, err


def run_processes(command: list[str], count: int, limit: float = 30, **each: Callable[[int], str]) -> tuple[str, str]:
    """One process for each rank, with the outputs of all one after another."""
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for rank in range(count):
            own = {name: value(rank) for name, value in each.items()}
            env = environment(TEST_RANK=str(rank), TEST_SIZE=str(count), TEST_ID=f"{folder}/id", WARPFOLD_NCCL_TIMEOUT=str(limit)) | own
            running.append(start(command, env))
        outputs = [process.communicate(timeout=120) for process in running]
    for process, (out, err) in zip(running, outputs, strict=True):
        if process.returncode != 0:
            raise AssertionError(f"{command} ends with {process.returncode}:\n{out}\n{err}")
    return "".join(out for out, _ in outputs), "".join(err for _, err in outputs)


def left_in_shared_memory() -> set[str]:
    """By the processes started here, whose number is in the name."""
    folder = Path("/dev/shm")
    names = {path.name for path in folder.glob("warpfold-nccl-*-*")} if folder.is_dir() else set()
    return {name for name in names if int(name.split("-")[2]) in started}


class Results(unittest.TestCase):
    """A whole number of results that is the same for all ranks' arrangements shows that nothing was left out."""

    def count(self, output: str) -> int:
        counts = [int(number) for number in re.findall(r"^(\d+) results are right$", output, re.MULTILINE)]
        self.assertTrue(counts, output)
        return sum(counts)

    def in_one_process(self, how: str, ranks: int) -> int:
        return self.count(run([COLLECTIVES, how, str(ranks)], environment(ranks, WARPFOLD_NCCL_TIMEOUT="30"))[0])

    def test_one_rank(self):
        self.assertEqual(self.in_one_process("group", 1), self.in_one_process("threads", 1))

    def test_one_thread_one_for_each_rank_and_processes_agree(self):
        for ranks in (2, 4):
            with self.subTest(ranks=ranks):
                compared = self.in_one_process("group", ranks)
                self.assertGreater(compared, 1_000_000)
                self.assertEqual(self.in_one_process("threads", ranks), compared)
                self.assertEqual(self.count(run_processes([COLLECTIVES, "processes"], ranks)[0]), compared)
                self.assertEqual(left_in_shared_memory(), set())

    def test_calls_in_graphs(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                env = environment(ranks, WARPFOLD_NCCL_TIMEOUT="30")
                compared = self.count(run([GRAPHS, "group", str(ranks)], env)[0])
                self.assertGreater(compared, 1_000_000)
                self.assertEqual(self.count(run([GRAPHS, "threads", str(ranks)], env)[0]), compared)
                self.assertEqual(self.count(run_processes([GRAPHS, "processes"], ranks)[0]), compared)

    @unittest.skipUnless(Path("/dev/shm").is_dir(), "there is no /dev/shm")
    def test_what_ended_processes_have_left_is_removed(self):
        names = {kind: Path("/dev/shm") / f"warpfold-nccl-{os.getpid()}-{kind}" for kind in ("old", "held", "new")}
        for path in names.values():
            path.write_bytes(bytes(10))
            self.addCleanup(path.unlink, missing_ok=True)
        for kind in ("old", "held"):
            os.utime(names[kind], (time.time() - 120,) * 2)
        with open(names["held"]) as held:
            fcntl.flock(held, fcntl.LOCK_SH)
            self.in_one_process("group", 2)
        self.assertEqual({kind for kind, path in names.items() if path.exists()}, {"held", "new"})

    def test_checks_find_nothing(self):
        checks = {COLLECTIVES: "all", GRAPHS: "races,initialisation"}  # the second leaves its memory to the end of the process
        for program, how in ((COLLECTIVES, "group"), (COLLECTIVES, "threads"), (GRAPHS, "group"), (GRAPHS, "threads")):
            with self.subTest(program=program, how=how), tempfile.TemporaryDirectory() as folder:
                report = Path(folder) / "report.json"
                env = environment(2, WARPFOLD_NCCL_TIMEOUT="30", WARPFOLD_CHECKS=checks[program], WARPFOLD_REPORT=str(report))
                self.count(run([program, how, "2"], env)[0])
                self.assertEqual(json.loads(report.read_text())["hazards"], [])

    def test_processes_with_two_devices_each(self):
        out, _ = run_processes(
            [COLLECTIVES, "pairs"],
            2,
            WARPFOLD_DEVICES=lambda rank: "4",
            CUDA_VISIBLE_DEVICES=lambda rank: ("0,1", "2,3")[rank],
        )
        self.assertEqual(self.count(out), self.in_one_process("group", 4))

    def test_under_mpirun(self):
        mpirun = shutil.which("mpirun")
        if mpirun is None:
            self.skipTest("no mpirun (Debian: openmpi-bin)")
        if "Open MPI" not in run([mpirun, "--version"], environment())[0]:
            self.skipTest("mpirun is not Open MPI's")
        with tempfile.TemporaryDirectory() as folder:
            env = environment(
                TEST_ID=f"{folder}/id",
                WARPFOLD_NCCL_TIMEOUT="30",
                OMPI_ALLOW_RUN_AS_ROOT="1",
                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_plm="isolated",  # on this machine alone, which may have neither ssh nor rsh
            )
            out, _ = run([mpirun, "--oversubscribe", "-n", "2", COLLECTIVES, "processes"], env)
        self.assertEqual(self.count(out), self.in_one_process("threads", 2))


class Headers(unittest.TestCase):
    def test_functions_inside_kernels_compile_and_stop_with_their_names(self):
        for arguments, name in (([], "ncclLsaBarrierSession"), (["put"], "ncclGin")):
            out, err = run([INSIDE_KERNELS, *arguments], environment(1))
            said = "NCCL's stand-in does not have NCCL's functions inside kernels"
            self.assertEqual(out.splitlines(), ["create: 5", "destroy: 5", f"{name}: {said}", "kernel: 719"])
            self.assertIn("nccl: ncclDevCommCreate: the stand-in does not have NCCL's functions inside kernels", err)

    def test_own_header_has_nvidias_values(self):
        if not NVIDIA_VALUES:
            self.skipTest("no nccl.h of NVIDIA's to compare with")
        self.assertEqual(run([OWN_VALUES], environment())[0], run([NVIDIA_VALUES], environment())[0])


def lines_of(name: str) -> list[int]:
    """The statement below its mark. Which of its lines a call belongs to, compilers see differently."""
    marks = [at for at, line in enumerate(SOURCE.read_text().splitlines(), 1) if line.strip() == f"// line: {name}"]
    assert len(marks) == 1, name
    return [marks[0] + 1, marks[0] + 2, marks[0] + 3]


class Mistakes(unittest.TestCase):
    def told(self, name: str, said: str, text: str) -> None:
        self.assertRegex(said, text)
        self.assertTrue(any(f"mistakes.cpp:{line}:" in said for line in lines_of(name)), f"{lines_of(name)}: {said}")

    def of_ranks(self, name: str, answer: str, text: str, answers: int = 2, hows: tuple[str, ...] = ("threads", "processes")) -> None:
        for how in hows:
            with self.subTest(name=name, how=how):
                began = time.monotonic()
                if how == "threads":
                    out, err = run([MISTAKES, name, how, "2"], environment(2, WARPFOLD_NCCL_TIMEOUT=str(LIMIT)))
                else:
                    out, err = run_processes([MISTAKES, name, how], 2, LIMIT)
                self.assertLess(time.monotonic() - began, 60)
                self.told(name, err, text)
                self.assertEqual(out.count(f"result: {ANSWERS[answer]}\n"), answers, out + err)
                self.assertEqual(left_in_shared_memory(), set())

    def test_different_counts(self):
        self.of_ranks("counts", "argument", r"rank 0 and rank 1 meet with different counts")

    def test_different_counts_in_graphs(self):
        self.of_ranks("graph_counts", "argument", r"rank 0 and rank 1 meet with different counts")

    def test_a_graph_that_another_rank_never_launches(self):
        self.of_ranks("graph_never", "remote", r"rank 1 did not call ncclBroadcast within .* s; rank 0 did", answers=1)

    def test_a_graph_whose_communicator_is_gone(self):
        out, _ = self.alone("graph_without_communicator", 1)
        said = "a graph was launched that holds ncclAllReduce(4 of ncclFloat32, ncclSum), whose communicator has been destroyed"
        self.assertEqual(out, [f"last: {said}"])

    def hazards(self, name: str) -> list[dict]:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            run([MISTAKES, name, "threads", "2"], environment(2, WARPFOLD_CHECKS="all", WARPFOLD_REPORT=str(report)))
            return json.loads(report.read_text())["hazards"]

    def test_unwritten_memory_names_the_call(self):
        hazards = self.hazards("unwritten")
        messages = [hazard["message"] for hazard in hazards if hazard["kind"] == "unwritten-copy"]
        self.assertTrue(messages, hazards)
        for message in messages:
            self.assertRegex(message, r"^ncclAllReduce copies 16 bytes from .*, all of which were never written$")

    def test_a_mistake_is_a_hazard(self):
        messages = [hazard["message"] for hazard in self.hazards("collectives") if hazard["kind"] == "nccl"]
        self.assertEqual(len(messages), 1)
        self.assertRegex(messages[0], r"(?s)^rank 0 and rank 1 meet with different collectives.*rank 1 calls ncclAllReduce[^\n]*$")

    def test_different_types(self):
        self.of_ranks("types", "argument", r"different types[^$]*rank 1 calls ncclBroadcast\(4 of ncclInt32, root 0\)")

    def test_different_operators(self):
        self.of_ranks("operators", "argument", r"different operators[^$]*ncclMin\)[^$]*ncclMax\)")

    def test_different_roots(self):
        self.of_ranks("roots", "argument", r"different roots[^$]*root 0\)[^$]*root 1\)")

    def test_different_collectives(self):
        self.of_ranks("collectives", "usage", r"different collectives[^$]*rank 0 calls ncclBroadcast[^$]*rank 1 calls ncclAllReduce")

    def test_different_counts_of_send_and_receive(self):
        self.of_ranks("sends", "argument", r"rank 0 sends other counts than rank 1 receives")

    def test_a_rank_that_never_comes(self):
        self.of_ranks("never", "remote", r"rank 1 did not call ncclAllReduce within .* s; rank 0 did", answers=1)

    def test_a_rank_that_has_destroyed_its_communicator(self):
        self.of_ranks("left", "remote", r"rank 1 can no longer come[^$]*rank 1 gives up its communicator", answers=1)

    def test_a_rank_whose_process_has_ended(self):
        self.of_ranks("ended", "remote", r"rank 1 can no longer come[^$]*its process has ended", answers=1, hows=("processes",))

    def test_two_sends_that_wait_for_each_other(self):
        self.of_ranks(
            "facing",
            "remote",
            r"rank \d waits in ncclSend, and rank \d did not (call|reach) the ncclRecv for it[^$]*between ncclGroupStart",
        )

    def test_a_group_that_is_not_ended(self):
        self.of_ranks(
            "open_group", "remote", r"rank 1 calls ncclAllReduce.* after ncclGroupStart, and its ncclGroupEnd has not come", answers=1
        )

    def test_abort(self):
        self.of_ranks("abort", "remote", r"rank 1 aborts the communicator", answers=1)

    def alone(self, name: str, devices: int) -> tuple[list[str], str]:
        out, err = run([MISTAKES, name], environment(devices, WARPFOLD_NCCL_TIMEOUT=str(LIMIT)))
        return out.splitlines(), err

    def test_arguments(self):
        out, err = self.alone("arguments", 1)
        self.assertEqual(err.count("nccl: ncclAllReduce: the communicator is NULL"), 1, err)
        self.assertEqual(
            out,
            [
                *("fine: 0", "no communicator: 4", "no buffer: 4", "host memory: 4", "type: 4", "operator: 4", "root: 4", "peer: 4"),
                *("end without start: 5", "wrong in a group: 4", "end of that group: 4", "no id: 4", "rank: 4", "ranks: 4"),
                *("devices: 4", "no pointer: 4", "color: 4", "finalized: 5", "destroyed: 4"),
                *("invalid argument (run with NCCL_DEBUG=WARN for details)", "last: yes"),
            ],
        )
        self.assertIn("ncclAllReduce: the buffer to send is NULL", err)

    def test_operators_buffers_and_windows(self):
        out, err = self.alone("handles", 1)
        refused = ["type", "scalar", "destroyed", "again", "built in", "host memory", "too long", "flags", "other kind", "again", "again"]
        self.assertEqual(out, ["fine: 0", *(f"{what}: 4" for what in refused)])
        self.told("handles", err, "ncclAllReduce: the operator was created for another type")
        self.assertIn("ncclCommRegister: the buffer's last byte is no memory that a GPU can reach", err)

    def test_a_time_limit_that_is_no_number(self):
        for limit in ("x", "2s", "-1", "0"):
            out, err = run([MISTAKES, "wrong_device"], environment(2, WARPFOLD_NCCL_TIMEOUT=limit))
            self.assertEqual(out.splitlines(), ["memory: 4", "stream: 1"])
            self.assertEqual(err.count(f"WARPFOLD_NCCL_TIMEOUT={limit}: give a number of seconds"), 1, err)

    def test_a_forgotten_group(self):
        for name in ("forgotten_group", "forgotten_group_of_sends"):
            with self.subTest(name=name):
                out, err = self.alone(name, 2)
                self.assertEqual(out, ["call: 0", "call: 5"])
                self.told(name, err, r"a group was forgotten: one thread calls for rank 0 and for rank 1")

    def test_a_group_forgotten_round_ncclCommInitRank(self):
        out, err = self.alone("forgotten_group_of_inits", 2)
        self.assertEqual(out, ["call: 6"])
        self.told("forgotten_group_of_inits", err, r"rank 1 did not join the communicator[^$]*between ncclGroupStart")

    def test_two_ranks_on_one_device(self):
        out, err = self.alone("one_device", 2)
        self.assertEqual(out, ["call: 5", "without one: 4", "last: yes"])
        self.told("one_device", err, r"rank 0 and rank 1 both use device 0")

    def test_memory_and_streams_of_another_device(self):
        out, err = self.alone("wrong_device", 2)
        self.assertEqual(out, ["memory: 4", "stream: 1"])
        self.told(
            "wrong_device", err, r"memory of device 0, but the communicator is rank 1's, which uses device 1[^$]*stream belongs to device 0"
        )

    def test_a_group_that_the_program_leaves_open(self):
        out, err = self.alone("no_end", 1)
        self.assertEqual(out, ["call: 0", "destroy: 5"])
        self.told("no_end", err, r"ncclGroupStart without ncclGroupEnd: 1 call in the group was never made")


if __name__ == "__main__":
    unittest.main()
