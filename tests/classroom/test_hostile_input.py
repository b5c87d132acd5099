"""What a class's grader reads of a stranger's: the recording that comes over its socket, and the device code. Whatever stands in
them, the trusted program ends as it always does, and nothing passes that is not right.

WARPFOLD_FUZZ=40 python3 tests/classroom/test_hostile_input.py is the long campaign: that many times as many damaged inputs, from other
seeds (WARPFOLD_SEED)."""

import contextlib
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import support
from classroom.grading import grader
from classroom.isolation import sandbox

TIMES = int(os.environ.get("WARPFOLD_FUZZ", "1"))
VERSION = int(re.search(r"protocol_version = (\d+);", (support.ROOT / "common/lab/run/sandboxed/protocol.hpp").read_text())[1])
SEED = int(os.environ.get("WARPFOLD_SEED", "0"))
ROUNDS = 40  # of each kind


class Protocol(unittest.TestCase):
    """The trusted program, with a stranger at the other end of its socket."""

    @classmethod
    def setUpClass(cls):
        cls.lab = support.labs("05")[0]
        cls.folder = tempfile.TemporaryDirectory()
        cls.ptx = Path(cls.folder.name) / "kernels.ptx"
        subprocess.run(
            [
                cls.lab.nvcc,
                *(each for each in cls.lab.arguments if each not in ("-cudart", "none")),
                f"-I{cls.lab.headers[0].parent}",
                "-ptx",
                cls.lab.solution,
                "-o",
                cls.ptx,
            ],
            check=True,
        )
        cls.kernel = re.search(r"\.entry (\w*thread_sums_kernel\w*)", cls.ptx.read_text())[1].encode()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def talk(self, speak, rung: str = "thread_sums") -> tuple[int, list[dict]]:
        theirs, ours = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        answer_read, answer_write = os.pipe()
        command = [self.lab.program, "--json", "--device=emulator", "--host=0", f"--answer={answer_write}", f"--source={self.lab.solution}",
                   f"--device-code={self.ptx}", f"--rung={rung}"]  # fmt: skip
        environment = {"LD_LIBRARY_PATH": str(self.lab.emulator), "WARPFOLD_WORKERS": "1"}
        self.answer = f"pipe:[{os.fstat(answer_write).st_ino}]"
        self.process = process = subprocess.Popen(
            command, stdin=ours, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(answer_write,), env=environment
        )
        ours.close()
        os.close(answer_write)
        theirs.settimeout(20)
        try:
            speak(theirs)
        except OSError:
            pass  # it hung up, as it may
        theirs.close()
        with open(answer_read) as pipe:
            text = pipe.read()
        return process.wait(60), json.loads(text)["rungs"] if text else []

    def test_a_device_process_that_is_killed_ends_the_grader_likewise(self):
        """The half with the emulator is another process, which holds no answer."""

        def speak(channel: socket.socket) -> None:
            channel.recv(0)
            until = time.monotonic() + 20
            while self.process.poll() is None:  # it may have had another child for a moment
                self.assertLess(time.monotonic(), until)
                for child in self.children_of(self.process):
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                        if all(self.answer != os.readlink(each) for each in Path(f"/proc/{child}/fd").iterdir()):
                            os.kill(child, signal.SIGSEGV)
                time.sleep(0.01)

        code, rungs = self.talk(speak)
        self.assertEqual((code, rungs), (-signal.SIGSEGV, []))

    @staticmethod
    def children_of(process: subprocess.Popen) -> list[int]:
        return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]

    @staticmethod
    def packet(kind: int, value: int = 0, payload: bytes = b"", size: int | None = None) -> bytes:
        return struct.pack("<IIQ", kind, len(payload) if size is None else size, value % (1 << 64)) + payload

    def held_against(self, seed: int) -> None:
        chance = random.Random(seed)

        def number() -> int:
            return chance.choice(
                [
                    0,
                    1,
                    4,
                    255,
                    1 << 12,
                    1 << 31,
                    (1 << 32) - 1,
                    1 << 46,
                    1 << 47,
                    (1 << 63),
                    (1 << 64) - 1,
                    chance.getrandbits(64),
                    self.pointer,
                    self.pointer + 4,
                ]
            )

        def speak(channel: socket.socket) -> None:
            channel.send(self.packet(3, VERSION))
            for _ in range(60):
                answer = channel.recv(1 << 16)
                if len(answer) >= 16 + 56:
                    self.pointer = struct.unpack_from("<Q", answer, 16 + 24)[0]
                for _ in range(chance.randrange(1, 12)):
                    kind = chance.randrange(0, 20)
                    name = chance.choice(
                        [self.kernel, b"", b"no_such_kernel", bytes(chance.randrange(256) for _ in range(chance.randrange(80)))]
                    )
                    launch = struct.pack(
                        "<13I",
                        *(number() % (1 << 32) % chance.choice([2, 64, 1 << 32]) for _ in range(11)),
                        len(name),
                        chance.choice([0, 24, 25, 1 << 31]),
                    )
                    move = struct.pack("<6Q", *(number() for _ in range(6)))
                    occupancy = struct.pack("<IIQ", number() % (1 << 32), len(name), number())
                    payload = chance.choice(
                        [
                            b"",
                            occupancy + name,
                            name,
                            launch + name + bytes(24),
                            move,
                            move + bytes(chance.randrange(64)),
                            bytes(chance.randrange(256) for _ in range(chance.randrange(300))),
                        ]
                    )
                    channel.send(self.packet(kind, number(), payload, chance.choice([None, None, None, number() % (1 << 32)])))
                    channel.setblocking(False)
                    try:
                        channel.recv(1 << 16)
                    except BlockingIOError:
                        pass
                    channel.settimeout(20)
                channel.send(self.packet(4))

        self.pointer = 0
        code, rungs = self.talk(speak)
        self.assertIn(code, (0, 1, 77), f"seed {seed}: it ended with {code}")
        for rung in rungs:
            self.assertNotEqual(rung["state"], "pass", f"seed {seed}")

    def test_it_stands_whatever_is_said_to_it(self):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            self.assertEqual(len(list(pool.map(self.held_against_one, range(SEED, SEED + ROUNDS * TIMES)))), ROUNDS * TIMES)

    def held_against_one(self, seed: int) -> None:
        Protocol.held_against(Protocol("test_it_stands_whatever_is_said_to_it"), seed)

    def test_done_and_nothing_else_is_wrong(self):
        def speak(channel: socket.socket) -> None:
            channel.send(self.packet(3, VERSION))
            while channel.recv(1 << 16):
                channel.send(self.packet(4))

        code, rungs = self.talk(speak)
        self.assertEqual((code, rungs[0]["state"]), (1, "wrong"))

    def test_one_that_says_nothing_or_hangs_up(self):
        for speak in (lambda channel: None, lambda channel: channel.send(b""), lambda channel: channel.send(b"x" * 60000)):
            code, rungs = self.talk(speak)
            self.assertEqual((code, rungs), (1, []))


class DeviceCode(unittest.TestCase):
    """A student's host process as it should be, and PTX that is damaged: in its text, its numbers, or its instructions."""

    TELLING = ("{", "}", "(", ")", "[", "]", ",", ";", "%", ".", "-", "0", "4294967295", "0x", "0f", "\\", "/*", "@", "!", "bra", "ret;", ".f64",
               ".u16", ".s64", ".v4", ".global", ".shared", "bar.sync 0;", "trap;", ".reg .b32 %r<4000000000>;", ".align 3", "[99999999999]")  # fmt: skip

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        # Without a room, as what is damaged is data and not a program; and with less time, as nobody waits for an endless kernel.
        cls.limits = replace(grader.JUDGING, cpu=10, wall=60)
        lab = support.labs("04")[0]
        job = grader.Job(lab, grader.spliced_with(lab, lab.solution.read_text()), support.HIDDEN, cls.room(), Path(cls.folder.name))
        problem = job.compile()
        if problem:
            raise RuntimeError(problem)
        cls.job, cls.whole = job, (job.folder / "kernels.ptx").read_text()

    @staticmethod
    def room() -> sandbox.Sandbox:
        return sandbox.Sandbox(unsafe=True)

    def damaged(self, chance: random.Random) -> str:
        """With one to three changes in what follows the head; half of them put another word where an instruction has one."""
        text, start = self.whole, self.whole.index(".entry")
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(start, len(text))
            kind = chance.randrange(6)
            if kind == 0:
                text = text[:at] + text[at + chance.randrange(1, 40) :]
            elif kind == 1:
                text = text[:at] + chance.choice(self.TELLING) + text[at:]
            elif kind == 2:
                text = text[:at]
            else:
                words = list(re.finditer(r"[%$.\w]+", text[start:]))
                one, other = chance.choice(words), chance.choice(words)
                text = text[: start + one.start()] + other[0] + text[start + one.end() :]
        return text

    def judged(self, seed: int) -> str:
        """The states that came of it; "ended" where there is no answer."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "student").symlink_to(self.job.folder / "student")
            (folder / "kernels.ptx").write_text(self.damaged(random.Random(seed)))
            job = grader.Job(self.job.lab, self.job.spliced, support.HIDDEN, self.room(), folder)
            try:
                answered, reason = job.judge(["warp_shuffle"])
            except grader.NotGraded as why:
                # Signals and sanitizers end a process with other codes than these.
                self.assertRegex(str(why), r"ended with code (0|1|77) ", f"seed {seed}: {why}")
                return "ended"
        return answered[0]["state"] if answered else "ended"

    def test_it_ends_as_always_whatever_the_device_code_holds(self):
        was, grader.JUDGING = grader.JUDGING, self.limits
        self.addCleanup(setattr, grader, "JUDGING", was)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            states = list(pool.map(self.judged, range(SEED, SEED + ROUNDS * TIMES)))
        self.assertEqual(len(states), ROUNDS * TIMES)
        # The damage is neither too slight nor too severe for a meaningful test.
        self.assertIn("wrong", states)
        self.assertGreater(len(set(states)), 1, states)
        self.assertGreater(states.count("wrong"), len(states) // 4, states)


if __name__ == "__main__":
    unittest.main()
