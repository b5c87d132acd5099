"""A class's grader says of a submission what the student's own program says, and nobody who talks to it can upset it."""

import errno
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest import mock

import support
from classroom.grading import grader, results, work
from classroom.isolation import sandbox
from classroom.submission import regions
from kit.programs import folder

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
    seed = grader.seed_of(support.HIDDEN, lab.name, grader.spliced_with(lab, text).text)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / lab.name / lab.file
        file.parent.mkdir()
        file.write_text(text)
        arguments = json.loads((build.path / "labs/nvcc_args.json").read_text())[lab.name]
        subprocess.run([lab.nvcc, *arguments, f"-I{lab.headers[0].parent}", "-c", file, "-o", f"{name}/lab.o"], check=True)
        library = lab.nvcc.parent.parent / "lib64"
        subprocess.run(["c++", "-o", f"{name}/lab", f"{name}/lab.o", "-Wl,--start-group", build.path / "labs/liblab_promises.a", build.path / "common/lab/liblab.a",
                        "-Wl,--end-group", f"-L{library}", "-lcudart", f"-Wl,-rpath,{library},--enable-new-dtags", "-lfmt", "-ldl"], check=True)  # fmt: skip
        said = subprocess.run([f"{name}/lab", "--json", "--device", "emulator", "--seed", str(seed)], text=True, capture_output=True,
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
                    support.skip_without_compiler(result)
                    self.assertTrue(result["graded"], result["why"])
                    self.assertEqual(
                        {rung["name"]: (rung["state"], rung["reason"]) for rung in result["rungs"] if rung["state"] != "pass"}, {}
                    )
                    self.assertEqual([rung["name"] for rung in result["rungs"]], list(lab.rungs))
                    stub = grader.grade(lab, lab.pristine.read_text(), support.HIDDEN, sandbox.Sandbox())
                    self.assertEqual(set(support.states(stub).values()), {"todo"})


@support.needs_sandbox
class NumbersOfAVerdict(unittest.TestCase):
    def test_they_are_of_no_use_to_the_next_submission(self):
        """An attack over several submissions: the expected values that a verdict shows become a table in the next one."""
        (lab,) = support.labs("01")
        solution = lab.solution.read_text()
        add = "if (i < n) atomicAdd(result, input[i]);"
        self.assertIn(add, solution)
        known: dict[int, int] = {}
        for turn in range(3):
            table = " ".join(f"if (n == {n}) value = {value};" for n, value in known.items())
            attack = f"float value = 0; {table}\n  if (i == 0) atomicAdd(result, value); // turn {turn}"
            (rung,) = grader.grade(lab, solution.replace(add, attack), support.HIDDEN, sandbox.Sandbox())["rungs"]
            self.assertEqual(rung["state"], "wrong")
            said = [
                (re.fullmatch(r"n = (\d+), integers.*", each["name"]), re.search(r"expected (-?\d+)", each.get("message", "")))
                for each in rung["checks"]
            ]
            known |= {int(n[1]): int(value[1]) for n, value in said if n and value}
            self.assertTrue(known)

    def test_each_lab_and_each_text_has_numbers_of_its_own(self):
        other = grader.Hidden(support.HIDDEN.seed + 1, support.HIDDEN.sizes)
        seeds = [
            grader.seed_of(*which)
            for which in ((support.HIDDEN, "01", "a"), (support.HIDDEN, "02", "a"), (support.HIDDEN, "01", "b"), (other, "01", "a"))
        ]
        self.assertEqual(len(set(seeds)), 4)
        self.assertEqual(grader.seed_of(support.HIDDEN, "01", "a"), seeds[0])


class WhatOthersStillWrite(unittest.TestCase):
    def test_a_program_is_executed_when_nobody_has_it_open_to_write(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program"
            shutil.copy(shutil.which("true"), program)
            with open(program, "ab") as file, subprocess.Popen(["sleep", "0.5"], pass_fds=[file.fileno()]):
                file.close()
                with self.assertRaises(OSError) as refused:
                    subprocess.run([program])
                self.assertEqual(refused.exception.errno, errno.ETXTBSY)
                grader.wait_for_writers(program)
                self.assertEqual(subprocess.run([program]).returncode, 0)


@support.needs_sandbox
class WhenTheTrustedProgramFails(unittest.TestCase):
    """Nothing that a student writes should bring it so far; if something does, nobody gains or loses by it."""

    ENDS = {"crashes": "int main() { __builtin_trap(); }", "waits": "#include <unistd.h>\nint main() { for (;;) pause(); }"}

    def test_it_is_for_the_instructor_to_look_at_and_is_not_tried_again(self):
        (lab,) = support.labs("01")
        text = lab.solution.read_text().replace("atomicAdd(result, input[i])", "atomicAdd(result, 1 * input[i])")
        for name, code in self.ENDS.items():
            with (
                self.subTest(it=name),
                tempfile.TemporaryDirectory() as folder,
                mock.patch.object(grader, "JUDGING", replace(grader.JUDGING, idle=2)),
            ):
                into, program = Path(folder), Path(folder) / "program"
                os.chmod(folder, 0o755)
                subprocess.run(["cc", "-x", "c", "-static", "-o", program, "-"], input=code, text=True, check=True)
                source = into / lab.file
                source.write_text(text)
                piece = work.Piece(replace(lab, program=program), source, "key", support.HIDDEN, into, False)
                began = time.monotonic()
                with mock.patch.object(grader, "grade", wraps=grader.grade) as grade:
                    self.assertFalse(work.grade(piece))
                    self.assertEqual(grade.call_count, 1)
                self.assertLess(time.monotonic() - began, 60)
                failure = results.read(results.failure_place(into, lab.name, "key"))
                self.assertRegex(failure["why"], "^look at it: the trusted program (was ended by SIG|did nothing for 2 s)")
                self.assertEqual(failure["rungs"], [])
                self.assertTrue(piece.is_given_up)


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
                for rung in here["rungs"]:
                    if rung["state"] == "off-technique":
                        lines = rung["busiest"]["lines"]
                        self.assertTrue(
                            0 < len(lines) <= grader.BUSIEST and all(text.splitlines()[int(number) - 1].strip() for number in lines)
                        )

    def test_clusters_and_results_that_are_rows_pass_the_recorder(self):
        lab = support.labs("13")[0]
        result = grader.grade(lab, lab.solution.read_text(), support.HIDDEN, sandbox.Sandbox())
        self.assertEqual(
            set(support.states(result).values()), {"pass"}, result["why"] or [rung for rung in result["rungs"] if rung["state"] != "pass"]
        )

    def test_an_edit_outside_the_regions_is_shown_and_not_run(self):
        lab = support.labs("01")[0]
        text = lab.solution.read_text().replace("if (n == 0) return;", "return;")
        result = grader.grade(lab, text, support.HIDDEN, sandbox.Sandbox())
        self.assertEqual(support.states(result), {"naive_atomic": "pass"})
        self.assertTrue([flag for flag in result["flags"] if "not run: +  return;" in flag], result["flags"])

    def test_what_the_recorder_does_not_know_is_not_graded(self):
        lab = support.labs("05")[0]
        text = re.sub(r"(// BEGIN thread_sums\n(?: *//.*\n)+)(  for)", r"\1  cudaDeviceReset();\n\2", lab.solution.read_text())
        self.assertIn("cudaDeviceReset", text)
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


class TooLittleMemory(unittest.TestCase):
    """An input that this machine cannot hold is not the student's mistake."""

    REASON = "the rung runs: cannot allocate {} bytes of device memory (25276510208 of 25276510208 are free): out of memory"

    def answered(self, hidden: grader.Hidden, reason: str) -> list[dict]:
        lab = mock.Mock(file="tree.cu")
        lab.name = "02_tree"
        job = mock.Mock(hidden=hidden, lab=lab, source=Path("/in/tree.cu"))
        rung = {"name": "interleaved", "state": "wrong", "reason": reason}
        return grader.Job.read_answer(job, json.dumps({"rungs": [rung]}).encode(), ["interleaved"])

    def test_an_input_that_cannot_be_allocated_is_not_graded(self):
        for size, hidden in ((399999999996, ("99999999999",)), (4 << 24, ("2^24",)), (4000, ())):
            with self.assertRaisesRegex(grader.NotGraded, "too little memory for the input of interleaved"):
                self.answered(grader.Hidden(1, hidden), self.REASON.format(size))

    def test_more_than_any_input_is_the_students_mistake(self):
        for reason in (self.REASON.format(1 << 40), "n = 5: expected 3, got 4"):
            self.assertEqual(self.answered(grader.Hidden(1, ("777:64",)), reason)[0]["state"], "wrong")

    def test_a_run_that_was_ended_over_an_input_beyond_the_limit_is_not_graded(self):
        killed = sandbox.Outcome(-9, b"", b"", "memory", True)
        for sizes, graded in ((("777", "2^24"), True), (("777", "2^31"), False)):
            job = mock.Mock(hidden=grader.Hidden(1, sizes))
            if graded:
                self.assertIn("they used too much memory", grader.Job.why_no_answer(job, killed, killed))
            else:
                with self.assertRaisesRegex(grader.NotGraded, "a hidden size is larger than 16777216"):
                    grader.Job.why_no_answer(job, killed, killed)


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

    def test_directives_that_are_no_part_of_a_kernel_are_flagged(self):
        for line in ("#include <x>", " # line 3", "#line 1 \"tree.cu\"", "# 7", "#error no", "#pragma nv_diag_suppress 177", "#pragma once",
                     "%:define x y", "/* */ #include <x>", "#inc\\\nlude <x>", "#include_next <x>", '_Pragma("once")'):  # fmt: skip
            self.assertIn("r: a preprocessor directive", self.flags_of(line), line)
        for line in (
            "#pragma unroll",
            "  # pragma unroll 4",
            "#pragma nounroll",
            '_Pragma("unroll")',
            "x = 3; // error, line 4",
            "#if N > 3",
        ):
            self.assertEqual(self.flags_of(line), [], line)

    def flags_of(self, line: str) -> list[str]:
        return regions.splice(self.pristine, self.pristine.replace("// TODO: x", line)).flags

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
            whole = place.read_text()
            for planted in (whole[:100], "[]", json.dumps({"format": json.loads(whole)["format"]})):  # cut off, or nobody's result
                place.write_text(planted)
                self.assertIsNone(piece.result)
            source.write_text(source.read_text().replace("if (i < n)", "if (n > i)"))
            self.assertNotEqual(work.pieces(into, ["ann"], [lab], support.HIDDEN, False)["ann", lab.name].key, piece.key)
            other = grader.Hidden(support.HIDDEN.seed + 1, support.HIDDEN.sizes)
            self.assertNotEqual(work.pieces(into, ["ann"], [lab], other, False)["ann", lab.name].key, piece.key)


if __name__ == "__main__":
    unittest.main()
