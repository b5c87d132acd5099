"""A class's grader says of a submission what the student's own program says, and nobody who talks to it can upset it."""

import json
import os
import random
import re
import socket
import struct
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import support
from kit.building import folder
from kit.classroom import grader, regions, results, sandbox, work

# Mistakes that a student makes at home, too: lab, what stands there, what is made of it.
MISTAKES = [
    ("02_tree", "    __syncthreads();\n  }\n  // END sequential", "  }\n  // END sequential"),
    (
        "02_tree",
        "if (t < stride) partial[t] += partial[t + stride];\n    __syncthreads();\n  }\n  // END first_add",
        "if (t < stride) partial[t] += partial[t + stride];\n  }\n  // END first_add",
    ),
    ("05_grid_stride", "i < n; i += threads", "i < n; i += 2 * threads"),
    ("05_grid_stride", "blocks = lab::resident_blocks(block);", "blocks = 1000;"),
    ("05_grid_stride", "total += on_cpu[t];", "total -= on_cpu[t];"),
    ("01_naive_atomic", "if (i < n) atomicAdd", "atomicAdd"),
    ("01_naive_atomic", "atomicAdd(result, input[i]);", "*result += input[i];"),
]


def at_home(lab, text: str) -> dict[str, dict]:
    """What the student's own program says: compiled and linked as Meson does, on the same seed."""
    build = folder.prepare()
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / lab.name / lab.file
        file.parent.mkdir()
        file.write_text(text)
        arguments = json.loads((build.path / "labs/nvcc_args.json").read_text())[lab.name]
        subprocess.run([lab.nvcc, *arguments, f"-I{lab.header.parent}", "-c", file, "-o", f"{name}/lab.o"], check=True)
        library = lab.nvcc.parent.parent / "lib64"
        subprocess.run(["c++", "-o", f"{name}/lab", f"{name}/lab.o", "-Wl,--start-group", build.path / "labs/liblab_promises.a", build.path / "common/lab/liblab.a",
                        "-Wl,--end-group", f"-L{library}", "-lcudart", f"-Wl,-rpath,{library},--enable-new-dtags", "-lfmt", "-ldl"], check=True)  # fmt: skip
        said = subprocess.run([f"{name}/lab", "--json", "--device", "emulator", "--seed", str(support.HIDDEN.seed)], text=True, capture_output=True,
                              env=os.environ | {"WARPFOLD_EMULATOR_DIR": str(lab.emulator)})  # fmt: skip
        return {rung["name"]: rung for rung in json.loads(said.stdout)["rungs"]}


def words(rung: dict) -> tuple:
    hazards = sorted({(hazard["kind"], hazard["line"], hazard["message"]) for hazard in rung["hazards"]})
    return rung["state"], rung["state"] == "wrong" or rung["reason"], [hazard[:2] for hazard in hazards]


@support.needs_sandbox
class EveryLab(unittest.TestCase):
    def test_every_solution_has_full_marks_and_every_stub_none(self):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            labs = support.labs()
            self.assertGreaterEqual(len(labs), 10)
            solved = pool.map(lambda lab: grader.grade(lab, lab.solution.read_text(), support.HIDDEN, sandbox.Sandbox()), labs)
            for lab, result in zip(labs, solved, strict=False):
                with self.subTest(lab=lab.name):
                    self.assertTrue(result["graded"], result["why"])
                    self.assertEqual(
                        {rung["name"]: (rung["state"], rung["reason"]) for rung in result["rungs"] if rung["state"] != "pass"}, {}
                    )
                    self.assertEqual([rung["name"] for rung in result["rungs"]], list(lab.rungs))
                    stub = grader.grade(lab, lab.pristine.read_text(), support.HIDDEN, sandbox.Sandbox())
                    self.assertEqual(set(support.states(stub).values()), {"todo"})


@support.needs_sandbox
class AsAtHome(unittest.TestCase):
    def test_the_same_words_as_the_students_own_program(self):
        labs = {lab.name: lab for lab in support.labs("01", "02", "05")}
        for name, old, new in MISTAKES:
            lab = labs[name]
            text = lab.solution.read_text()
            self.assertIn(old, text)
            text = text.replace(old, new)
            with self.subTest(lab=name, mistake=new):
                home = at_home(lab, text)
                here = grader.grade(lab, text, support.HIDDEN, sandbox.Sandbox())
                self.assertTrue(here["graded"], here["why"])
                self.assertEqual({rung["name"]: words(rung) for rung in here["rungs"]}, {name: words(rung) for name, rung in home.items()})
                self.assertIn(True, [rung["state"] != "pass" for rung in here["rungs"]])

    def test_an_edit_outside_the_regions_is_shown_and_not_run(self):
        lab = support.labs("01")[0]
        text = lab.solution.read_text().replace("if (n == 0) return;", "return;")
        result = grader.grade(lab, text, support.HIDDEN, sandbox.Sandbox())
        self.assertEqual(support.states(result), {"naive_atomic": "pass"})
        self.assertTrue([flag for flag in result["flags"] if "not run: +  return;" in flag], result["flags"])

    def test_what_the_recorder_does_not_know_is_not_graded(self):
        lab = support.labs("05")[0]
        text = lab.solution.read_text().replace("  // BEGIN thread_sums\n  for", "  // BEGIN thread_sums\n  cudaDeviceReset();\n  for")
        result = grader.grade(lab, text, support.HIDDEN, sandbox.Sandbox())
        self.assertFalse(result["graded"])
        self.assertIn("cudaDeviceReset", result["why"])

    def test_a_machine_that_fails_costs_nobody_a_point(self):
        lab = support.labs("01")[0]

        class Broken(sandbox.Sandbox):
            def walls(self, room, limits):
                return [*super().walls(room, limits), "--ro-bind", "/no/such/place", "/nowhere"]

        result = grader.grade(lab, lab.solution.read_text(), support.HIDDEN, Broken())
        self.assertFalse(result["graded"])
        self.assertIn("sandbox could not be made", result["why"])


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
                f"-I{cls.lab.header.parent}",
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
        process = subprocess.Popen(
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
            channel.send(self.packet(3, 1))
            for _ in range(60):
                told = channel.recv(1 << 16)
                if len(told) >= 16 + 56:
                    self.pointer = struct.unpack_from("<Q", told, 16 + 24)[0]
                for _ in range(chance.randrange(1, 12)):
                    kind = chance.randrange(0, 18)
                    name = chance.choice(
                        [self.kernel, b"", b"no_such_kernel", bytes(chance.randrange(256) for _ in range(chance.randrange(80)))]
                    )
                    launch = struct.pack(
                        "<10I",
                        *(number() % (1 << 32) % chance.choice([2, 64, 1 << 32]) for _ in range(8)),
                        len(name),
                        chance.choice([0, 24, 25, 1 << 31]),
                    )
                    move = struct.pack("<6Q", *(number() for _ in range(6)))
                    payload = chance.choice(
                        [
                            b"",
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
            self.assertEqual(len(list(pool.map(self.held_against_one, range(40)))), 40)

    def held_against_one(self, seed: int) -> None:
        Protocol.held_against(Protocol("test_it_stands_whatever_is_said_to_it"), seed)

    def test_done_and_nothing_else_is_wrong(self):
        def speak(channel: socket.socket) -> None:
            channel.send(self.packet(3, 1))
            while channel.recv(1 << 16):
                channel.send(self.packet(4))

        code, rungs = self.talk(speak)
        self.assertEqual((code, rungs[0]["state"]), (1, "wrong"))

    def test_one_that_says_nothing_or_hangs_up(self):
        for speak in (lambda channel: None, lambda channel: channel.send(b""), lambda channel: channel.send(b"x" * 60000)):
            code, rungs = self.talk(speak)
            self.assertEqual((code, rungs), (1, []))


class Splicing(unittest.TestCase):
    pristine = "a\n// BEGIN r\n// TODO: x\n// END r\nb\n  // BEGIN r\n  // END r\nc\n"

    def test_regions_come_from_the_submission_and_all_else_does_not(self):
        spliced = regions.splice(self.pristine, "EVIL\n// BEGIN r\none\n// END r\n// BEGIN r\ntwo\n// END r\nEVIL\n")
        self.assertEqual(spliced.text, "a\n// BEGIN r\none\n// END r\nb\n  // BEGIN r\ntwo\n  // END r\nc\n")
        self.assertTrue(any("EVIL" in flag for flag in spliced.flags))

    def test_what_is_missing_counts_as_handed_out(self):
        spliced = regions.splice(self.pristine, "// BEGIN r\none\n// END r\n")
        self.assertEqual(spliced.text, self.pristine.replace("// TODO: x", "one"))
        self.assertTrue(any("gone" in flag for flag in spliced.flags))

    def test_untouched_is_told_from_touched(self):
        self.assertEqual(regions.splice(self.pristine, self.pristine.replace("b", "b \n\n")).untouched, {"r"})
        self.assertEqual(regions.splice(self.pristine, self.pristine.replace("// TODO: x", "x();")).untouched, set())

    def test_markers_that_do_not_match_are_named_with_their_line(self):
        for text, said in (("// BEGIN r\n// BEGIN r\n", "line 2"), ("// END r\n", "line 1"), ("// BEGIN r\n", "no end")):
            with self.assertRaisesRegex(regions.NotALab, said):
                regions.splice(self.pristine, text)

    def test_a_file_that_is_no_text(self):
        for data in (b"\0\0", b"x" * (regions.LARGEST + 1)):
            with self.assertRaises(regions.NotALab):
                regions.clean(data)
        self.assertEqual(regions.clean(b"\xef\xbb\xbfa\r\nb\r\xff"), "a\nb\n\ufffd")

    def test_every_pristine_file_spliced_with_itself_is_itself(self):
        for path in (support.ROOT / "labs").glob("*/*.cu"):
            text = path.read_text()
            self.assertEqual(regions.splice(text, text).text, text)


@support.needs_sandbox
class Results(unittest.TestCase):
    def test_a_result_is_found_again_and_a_change_makes_another(self):
        lab = support.labs("01")[0]
        with tempfile.TemporaryDirectory() as name:
            into = Path(name)
            source = into / "submissions" / "ann" / lab.name / lab.file
            source.parent.mkdir(parents=True)
            source.write_text(lab.solution.read_text())
            piece = work.pieces(into, ["ann"], [lab], support.HIDDEN, False)["ann", lab.name]
            self.assertIsNone(piece.result)
            self.assertTrue(work.grade(piece))
            self.assertEqual(support.states(piece.result), {"naive_atomic": "pass"})
            place = results.place(into, lab.name, piece.key)
            place.write_text(place.read_text()[:100])  # what a killed process might leave, had it not been renamed into place
            self.assertIsNone(piece.result)
            source.write_text(source.read_text().replace("if (i < n)", "if (n > i)"))
            self.assertNotEqual(work.pieces(into, ["ann"], [lab], support.HIDDEN, False)["ann", lab.name].key, piece.key)
            other = grader.Hidden(support.HIDDEN.seed + 1, support.HIDDEN.sizes)
            self.assertNotEqual(work.pieces(into, ["ann"], [lab], other, False)["ann", lab.name].key, piece.key)


if __name__ == "__main__":
    unittest.main()
