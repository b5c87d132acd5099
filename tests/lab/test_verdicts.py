"""What a lab program says about mistakes: solutions with one planted mistake each, compiled by nvcc and run on the
emulator. The corpus of mutants is elsewhere (tests/mutants); this tests the program's states, exit codes and formats.

Called by Meson with the source root, a folder to build in, and the commands of nvcc and of the linker, whose words are
separated by |; in the latter, OBJECT stands for the object file.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock
from pathlib import Path

ROOT, WORK, NVCC, LINK = Path(), Path(), [], []


def program(lab: str, name: str, *replacements: tuple[str, str], flags: tuple[str, ...] = ()) -> Path:
    """The lab's solution with these replacements, built as a program; each must be found."""
    text = (ROOT / "solutions" / lab / f"{lab[3:]}.cu").read_text()
    for old, new in replacements:
        assert old in text, f"{lab} holds no {old!r}"
        text = text.replace(old, new, 1)
    folder = WORK / name / lab
    folder.mkdir(parents=True, exist_ok=True)
    source, result = folder / f"{lab[3:]}.cu", folder / "program"
    source.write_text(text)
    compiled = subprocess.run(
        [*NVCC, *flags, "-I", str(ROOT / "common/lab"), "-c", str(source), "-o", f"{result}.o"], text=True, capture_output=True
    )
    assert compiled.returncode == 0, compiled.stderr
    linked = subprocess.run(
        [f"{result}.o" if word == "OBJECT" else word for word in LINK] + ["-o", str(result)], text=True, capture_output=True
    )
    assert linked.returncode == 0, linked.stderr
    return result


def run(path: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([str(path), "--device=emulator", *words], text=True, capture_output=True, timeout=120)


def rungs(path: Path, *words: str) -> dict:
    said = run(path, "--json", *words)
    return {rung["name"]: rung for rung in json.loads(said.stdout)["rungs"]}


class Verdicts(unittest.TestCase):
    def test_wrong_comes_with_a_diagnosis_in_every_format(self):
        made = program("01_naive_atomic", "tail", ("lab::ceil_div(n, block), block", "n / block + (n < block), block"))
        rung = rungs(made)["naive_atomic"]
        self.assertEqual(rung["state"], "wrong")
        self.assertEqual(rung["diagnosis"]["kind"], "not-read")
        self.assertIn("the last 232", rung["diagnosis"]["text"])

        text = run(made)
        self.assertEqual(text.returncode, 1)
        self.assertRegex(text.stdout, r"(?m)^wrong +naive_atomic: n = 257, integers: expected -?\d+, got -?\d+$")
        self.assertIn(rung["diagnosis"]["text"], text.stdout)

        tap = run(made, "--tap", "--rung=naive_atomic")
        self.assertEqual(tap.returncode, 0)
        self.assertRegex(tap.stdout, r"(?m)^ok \d+ - n = 256, integers$")
        self.assertRegex(tap.stdout, r"(?m)^not ok \d+ - n = 257, integers$")
        points = re.findall(r"(?m)^(?:not )?ok (\d+)", tap.stdout)
        self.assertEqual([int(point) for point in points], list(range(1, len(points) + 1)))
        self.assertRegex(tap.stdout, rf"(?m)^1\.\.{len(points)}$")

    def test_a_failed_tap_test_says_the_verdict_on_stderr_where_meson_shows_it(self):
        made = program("01_naive_atomic", "tail", ("lab::ceil_div(n, block), block", "n / block + (n < block), block"))
        tap = run(made, "--tap", "--rung=naive_atomic")
        self.assertRegex(tap.stderr, r"(?m)^wrong +naive_atomic: n = 257, integers: expected -?\d+, got -?\d+$")
        self.assertIn("the last 232", tap.stderr)
        self.assertNotIn("wrong  ", tap.stdout)

    def test_a_verdict_fits_the_terminal_and_has_colours_where_they_are_asked_for(self):
        made = program("01_naive_atomic", "tail", ("lab::ceil_div(n, block), block", "n / block + (n < block), block"))
        narrow = subprocess.run(
            [made, "--device=emulator"], text=True, capture_output=True, env=os.environ | {"COLUMNS": "60", "CLICOLOR_FORCE": "0"}
        )
        whole = run(made)
        self.assertGreater(max(map(len, whole.stdout.splitlines())), 100)
        longest_word = max(map(len, whole.stdout.split()))
        self.assertLessEqual(max(map(len, narrow.stdout.splitlines())), max(60, longest_word + 8))
        self.assertEqual(narrow.stdout.split(), whole.stdout.split(), "no word is broken or lost")
        self.assertNotIn("\033", whole.stdout)
        colours = os.environ | {"CLICOLOR_FORCE": "1", "TERM": "xterm"}
        coloured = subprocess.run([made, "--device=emulator"], text=True, capture_output=True, env=colours)
        self.assertRegex(coloured.stdout, "(?m)^\033\\[31m(wrong|hazard) +\033\\[0m naive_atomic")

    def test_printf_needs_no_include_is_capped_and_leaves_what_programs_read_alone(self):
        made = program(
            "01_naive_atomic", "printf", ("atomicAdd(result, input[i]);", '{ atomicAdd(result, input[i]); printf("thread %zu\\n", i); }')
        )
        text = run(made, "--n=1000")
        self.assertIn("thread 0\n", text.stdout)
        self.assertEqual(text.stdout.count("thread "), 3 * 64)
        self.assertEqual(text.stdout.count("(printf: 936 more lines of this launch left out)"), 3)
        self.assertEqual(text.stdout.count("(printf: what later launches print is left out; "), 1)
        with unittest.mock.patch.dict(os.environ, WARPFOLD_PRINT_LIMIT="0"):
            self.assertGreater(run(made, "--n=1000").stdout.count("thread "), 3000)
        self.assertEqual(rungs(made, "--n=1000")["naive_atomic"]["state"], "pass")
        tap = run(made, "--tap", "--rung=naive_atomic", "--n=1000")
        self.assertNotRegex(tap.stdout, r"(?m)^thread \d")
        self.assertIn("thread 0", tap.stderr)

    def test_once_runs_on_numbers_to_follow_in_the_head(self):
        made = program("02_tree", "once")
        said = json.loads(run(made, "--once", "--rung=sequential", "--n=12").stdout)
        self.assertEqual(said["input"], [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3])
        self.assertEqual((said["results"], said["expected"]), ([51], [51]))
        trace = made.with_suffix(".trace")  # the input is checked afterwards, which is no part of the run
        subprocess.run([made, "--device=emulator", "--once", "--rung=sequential", "--n=64"], capture_output=True,
                       env=os.environ | {"WARPFOLD_TRACE": str(trace), "WARPFOLD_CHECKS": "all"}, timeout=120)  # fmt: skip
        self.assertEqual([launch["kernel"] for launch in json.loads(trace.read_text())["launches"]], ["_Z17sequential_kernelPKfPfm"])
        refused = run(made, "--once", "--rung=sequential", "--n=2^20")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("can be looked at", refused.stderr)

    def test_right_with_another_technique_says_the_numbers(self):
        made = program(
            "03_warp_unroll",
            "loop",
            ("stride > 32; stride /= 2) {", "stride > 0; stride /= 2) {"),
            ("  if (t < 32) sum_last_warp(partial, t);\n", ""),
        )
        rung = rungs(made, "--rung=unroll_last_warp")["unroll_last_warp"]
        self.assertEqual(rung["state"], "off-technique", rung)
        self.assertIn(
            "9 barriers per block, 3 or fewer expected: a barrier before the tree and one after each step of more than 64 sums are enough",
            rung["reason"],
        )
        self.assertEqual(run(made, "--rung=unroll_last_warp").returncode, 1)

    def test_an_index_of_32_bits_is_wrong_beyond_them_and_one_of_64_in_another_order_is_not(self):
        index = "const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;"
        for name, other, state in (
            ("unsigned", "const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;", "wrong"),
            ("widened", "const std::size_t i = blockIdx.x * blockDim.x + threadIdx.x;", "wrong"),
            ("float", "const std::size_t i = float(std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);", "wrong"),
            (
                "cut_off",
                "const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;\n  if (int(i) >= int(n)) return;",
                "wrong",
            ),
            ("backwards", "const std::size_t i = std::size_t{gridDim.x - 1 - blockIdx.x} * blockDim.x + threadIdx.x;", "pass"),
        ):
            with self.subTest(name):
                rung = rungs(program("01_naive_atomic", name, (index, other)))["naive_atomic"]
                self.assertEqual(rung["state"], state, rung)
                if state == "wrong":
                    self.assertEqual(rung["diagnosis"]["kind"], "beyond-32-bits")
                    self.assertRegex(
                        rung["reason"],
                        r"n = 4294967328, all 0 but the first 32, the last 32 and 64 in the middle: "
                        r"the blocks that these elements belong to make (\d+) of them",
                    )

    def test_a_refused_call_is_told_with_its_reason_and_once(self):
        made = program("02_tree", "refused", ("many_pass_kernel<<<blocks, block,", "many_pass_kernel<<<blocks, 16 * block,"))
        said = run(made, "--rung=many_pass")
        self.assertRegex(said.stdout, r"^wrong +many_pass: .*: the launch(?: at \S+tree\.cu:\d+)? was refused: many_pass_kernel\(.*\): the block is "
                         r"\(\d+, 1, 1\), larger than the device's limit \(1024, 1024, 64\) \(cudaErrorInvalidConfiguration\)")  # fmt: skip
        self.assertNotIn("warpfold:", said.stderr, "the verdict says it")
        taken_back = program("02_tree", "taken_back", ("  run_pass(input, result, n, block);\n",
                             "  cudaMemcpy(nullptr, input, 4, cudaMemcpyDeviceToHost);\n  cudaGetLastError();\n  run_pass(input, result, n, block);\n"))  # fmt: skip
        self.assertEqual(run(taken_back, "--rung=many_pass").stderr.count("warpfold: cudaMemcpy: "), 1, "no verdict could say it")

    def test_a_kernel_that_faults_does_not_take_the_other_rungs_with_it(self):
        made = program("02_tree", "fault", ("float sum = t < n ? input[t] : 0;", "float sum = input[t + 4096];"))
        found = rungs(made)
        self.assertEqual(found.pop("one_block_shared")["state"], "wrong")
        self.assertEqual({rung["state"] for rung in found.values()}, {"pass"})
        self.assertEqual(len(found), 7)
        text = run(made)
        self.assertEqual(text.returncode, 1)
        self.assertNotIn("warpfold:", text.stderr, "the fault is printed once, with the verdict")
        self.assertIn("out-of-bounds", text.stdout)
        self.assertEqual(len(re.findall(r"(?m)^pass ", text.stdout)), 7)
        tap = run(made, "--tap")
        self.assertEqual(len(re.findall(r"(?m)^ok ", tap.stdout)), 7)
        self.assertIn("not ok 3 - one_block_shared", tap.stdout)

    def test_a_host_loop_without_an_end_is_wrong_and_the_other_rungs_run(self):
        made = program("02_tree", "endless", ("    n = lab::ceil_div(n, covered);\n", ""))
        words = ["--rung=many_pass", "--rung=sequential", "--time-limit=1"]
        found = rungs(made, *words)
        self.assertEqual(found["sequential"]["state"], "pass")
        self.assertEqual(found["many_pass"]["state"], "wrong")
        self.assertRegex(found["many_pass"]["reason"], r"^n = 513, integers: no end after 1 s, with \d+ launches")
        text = run(made, *words)
        self.assertEqual(text.returncode, 1)
        self.assertRegex(text.stdout, r"(?m)^wrong +many_pass: n = 513, integers: no end after 1 s")
        tap = run(made, "--tap", *words)
        self.assertIn("not ok 2 - many_pass", tap.stdout)

    def test_a_wrong_result_is_printed_before_larger_inputs_run(self):
        body = "if (i < n) atomicAdd(result, input[i]);"
        made = program(
            "01_naive_atomic",
            "headline",
            (body, "if (i < n) atomicAdd(result, n == 1 ? 1e6f : input[i]);\n  while (n > 1000) atomicAdd(result, 0.0f);"),
        )
        with subprocess.Popen([str(made), "--device=emulator"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            headline = process.stdout.readline()
            self.assertIsNone(process.poll(), "the check went on")
            rest = process.communicate(timeout=120)[0]
        self.assertRegex(headline, "^wrong +naive_atomic: n = 1, integers: expected ")
        self.assertNotIn("n = 1, integers: expected", rest)

    def test_a_matrix_of_one_row_is_tried_before_those_of_many(self):
        made = program(
            "11_row_sums",
            "one_row",
            ("  sum = warp_sum(sum);\n  if (lane == 0) sums[row]", "  sum = warp_sum(sum) + 1;\n  if (lane == 0) sums[row]"),
        )
        names = [each["name"] for each in rungs(made, "--rung=warp_per_row")["warp_per_row"]["checks"]]
        self.assertEqual(names[:2], ["n = 1, integers", "n = 100003, integers"])
        self.assertFalse([name for name in names if "rows of" in name], names)

    def test_after_the_verdict_one_input_does_not_take_all_the_time_for_reasons(self):
        body = "if (i < n) atomicAdd(result, input[i]);"
        made = program(
            "01_naive_atomic",
            "slow",
            (body, "if (i < n) atomicAdd(result, input[i] + (n == 1));\n  while (n > 1 && *result != 0.5f) atomicAdd(result, 0.0f);"),
        )
        with subprocess.Popen([str(made), "--device=emulator"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            self.assertRegex(process.stdout.readline(), "^wrong +naive_atomic: n = 1, integers: expected ")
            begin, before = time.monotonic(), os.times()
            process.communicate(timeout=120)
        seconds, own = time.monotonic() - begin, os.times()
        used = own.children_user + own.children_system - before.children_user - before.children_system
        self.assertLess(min(seconds, used), 7, "for one input: 3 s of the processor's time, or 2 s if that is longer")

    def test_the_headline_is_the_same_from_run_to_run(self):
        made = program("01_naive_atomic", "lost", ("if (i < n) atomicAdd(result, input[i]);", "if (i < n) *result += input[i];"))
        headlines = {run(made).stdout.splitlines()[0] for _ in range(4)}
        self.assertEqual(len(headlines), 1, headlines)
        self.assertRegex(headlines.pop(), "^wrong +naive_atomic: n = 31, integers: expected ")

    def test_a_signal_ends_the_program_after_what_it_has_found(self):
        made = program("02_tree", "asked", ("    n = lab::ceil_div(n, covered);\n", ""))
        for words, expected in (([], r"(?m)^wrong|^hazard|^skip"), (["--json"], '"name": "many_pass"')):
            with subprocess.Popen(
                [str(made), "--device=emulator", "--rung=many_pass", *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as process:
                time.sleep(2)
                process.terminate()
                out = process.communicate(timeout=20)[0]
            self.assertEqual(process.returncode, -signal.SIGTERM)
            self.assertRegex(out, expected)

    def test_a_host_function_that_ends_the_program_is_told_of_and_the_other_rungs_run(self):
        """No way to end it leaves the student without a verdict."""
        calls = ["exit(0)", "exit(1)", "_exit(0)", "_Exit(7)", "quick_exit(3)", "abort()", "std::terminate()",
                 "throw 1", 'throw std::runtime_error("oh")']  # fmt: skip
        cases = "".join(f"    case {number}: {call};\n" for number, call in enumerate(calls, 1))
        head = "void many_pass(const float* input, float* result, std::size_t n, unsigned block) {\n"
        includes = "\n#include <cstdlib>\n#include <exception>\n#include <stdexcept>\n#include <unistd.h>\n"
        made = program(
            "02_tree",
            "exits",
            ('#include "lab.hpp"\n', '#include "lab.hpp"' + includes),
            (head, head + f'  if (const char* call = n > 500 ? getenv("CALL") : nullptr) switch (atoi(call)) {{\n{cases}  }}\n'),
            flags=("-Xcompiler=-g1,-fno-optimize-sibling-calls",),
        )
        for number, call in enumerate(calls, 1):
            with self.subTest(call=call), unittest.mock.patch.dict(os.environ, CALL=str(number)):
                said = run(made, "--rung=many_pass", "--rung=sequential")
                self.assertEqual(said.returncode, 1)
                self.assertRegex(said.stdout, r"(?m)^pass +sequential$")
                self.assertRegex(said.stdout, r"(?m)^wrong +many_pass: " + self.words_for(call))
        with unittest.mock.patch.dict(os.environ, CALL="1"):
            self.assertIn("by exit(0) at ", rungs(made, "--rung=many_pass")["many_pass"]["reason"])
            self.assertRegex(run(made, "--tap", "--rung=many_pass").stdout, r"(?m)^not ok \d+ - n = 511\b")

    @staticmethod
    def words_for(call: str) -> str:
        if "exit" in call.lower():
            shown = "quick_exit()" if "quick" in call else call
            return rf"n = 511, .*: the rung's host function ended the program by {re.escape(shown)} at \S+tree\.cu:\d+; it must return"
        if "oh" in call:
            return "the rung runs: the rung's host function ended with an exception that it does not catch: oh"
        return r"n = 511, .*: the rung ended the program \(Aborted\) at \S+tree\.cu:\d+"

    def test_a_host_function_that_crashes_is_wrong_and_the_other_rungs_run(self):
        made = program("02_tree", "crash", ("  run_pass(input, result, n, block);\n", "  *static_cast<volatile int*>(nullptr) = 1;\n"))
        found = rungs(made, "--rung=many_pass", "--rung=sequential")
        self.assertEqual(found["sequential"]["state"], "pass")
        self.assertIn("ended the program (Segmentation fault)", found["many_pass"]["reason"])

    def test_a_tree_whose_steps_do_not_fit_is_told_by_where_its_sums_stay(self):
        made = program(
            "02_tree", "weights", ("threadIdx.x % stride == 0 && i + stride < n", "threadIdx.x % (2 * stride) == 0 && i + stride < n")
        )
        rung = rungs(made, "--rung=in_place_interleaved")["in_place_interleaved"]
        self.assertEqual(rung["diagnosis"]["kind"], "not-read", rung)
        self.assertIn("Each element should count once. Here ", rung["diagnosis"]["text"])
        self.assertIn("stores the sum of elements 12 and 13 in input[12], and nothing uses it", rung["diagnosis"]["text"])

    def test_what_follows_from_a_bad_access_is_not_told_beside_it(self):
        made = program("02_tree", "one_cause", ("t < stride && t + stride < n) data", "t + stride < n + 1) data"))
        rung = rungs(made, "--rung=in_place_sequential")["in_place_sequential"]
        self.assertIn("out-of-bounds", [hazard["kind"] for hazard in rung["hazards"]], rung)
        self.assertNotIn("uninitialised", [hazard["kind"] for hazard in rung["hazards"]])
        self.assertNotIn("diagnosis", rung)

    def test_a_changed_input_is_wrong(self):
        made = program(
            "01_naive_atomic",
            "changed",
            ("atomicAdd(result, input[i]);", "{ atomicAdd(result, input[i]); const_cast<float*>(input)[i] = 7; }"),
        )
        rung = rungs(made)["naive_atomic"]
        self.assertEqual(rung["state"], "wrong")
        self.assertIn("the input was changed, first at element 0", rung["reason"])

    def test_other_bits_from_the_same_input_break_the_promise_of_the_same_bits(self):
        made = program(
            "05_grid_stride",
            "bits",
            (
                "for (unsigned t = 0; t < block; ++t) total += on_cpu[t];",
                "static unsigned turn = 0; ++turn;for (unsigned t = 0; t < block; ++t) total += on_cpu[turn % 2 ? t : block - 1 - t];",
            ),
        )
        rung = rungs(made, "--rung=thread_sums")["thread_sums"]
        self.assertEqual(rung["state"], "wrong")
        self.assertIn("depends on which thread or block comes first", rung["reason"])
        self.assertEqual([check["name"] for check in rung["checks"] if not check["ok"]], ["the same bits on each run"])

    def test_an_identity_that_only_looks_like_the_least_value_is_named(self):
        made = program(
            "06_operators",
            "least",
            ("T least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();", "T least = Limits::min();"),
        )
        rung = rungs(made, "--rung=max")["max"]
        self.assertEqual(rung["state"], "wrong")
        self.assertEqual(rung["diagnosis"]["kind"], "foreign")
        self.assertIn("numeric_limits<float>::min()", rung["diagnosis"]["text"])

    def test_ones_upon_a_large_sum_show_that_nothing_is_compensated(self):
        made = program(
            "07_precision",
            "plain",
            ("const float wanted = x - excess;", "const float wanted = x;"),
            ("excess = (rounded - sum) - wanted;", "excess = 0;"),
        )
        rung = rungs(made, "--rung=kahan")["kahan"]
        self.assertEqual(rung["state"], "wrong")
        failed = [check["name"] for check in rung["checks"] if not check["ok"]]
        self.assertEqual(failed, [f"n = 1048576, {terms}2^24" for terms in ("ones upon ", "minus quarters upon -", "lone ones upon ")])

    def test_double_that_is_rounded_between_threads_shows(self):
        made = program("07_precision", "rounded", ("sum += other.sum;", "sum += other.rounded();"))
        rung = rungs(made, "--rung=double_accumulator")["double_accumulator"]
        self.assertEqual(rung["state"], "wrong")
        self.assertEqual(rung["diagnosis"]["kind"], "rounded-on-the-way")

    def test_the_same_bits_on_each_run_are_not_yet_the_same_with_any_block(self):
        made = program(
            "07_precision",
            "blocks",
            (
                "for (std::size_t i = chain; i < n; i += chains) sum += input[i];",
                "const std::size_t last = (n - chain + chains - 1) / chains;  // so many elements has the chain\n"
                "  for (std::size_t k = 0; chain < n && k < last; ++k)"
                " sum += input[chain + (blockDim.x > 512 ? last - 1 - k : k) * chains];",
            ),
        )
        rung = rungs(made, "--rung=fixed_order")["fixed_order"]
        self.assertEqual([check["name"] for check in rung["checks"] if not check["ok"]], ["the same bits with any block size"], rung)

    def test_right_rows_by_scattered_reads_are_off_technique(self):
        made = program(
            "11_row_sums",
            "scattered",
            (
                "for (std::size_t column = lane; column < columns; column += 32)",
                "const std::size_t each = (columns + 31) / 32;\n"
                "  for (std::size_t column = lane * each; column < columns && column < (lane + 1) * each; ++column)",
            ),
        )
        rung = rungs(made, "--rung=warp_per_row")["warp_per_row"]
        self.assertEqual(rung["state"], "off-technique", rung)
        self.assertIn("122880 sectors read, 15360 expected", rung["reason"])

    def test_too_many_elements_for_the_memory_are_refused_before_anything_runs(self):
        made = program("01_naive_atomic", "asis")
        said = run(made, "--n", "2^50")
        self.assertEqual(said.returncode, 2)
        self.assertIn("do not fit", said.stderr)
        self.assertEqual(said.stdout, "")

    def test_a_profile_counts_what_was_asked_for(self):
        made = program("01_naive_atomic", "asis")
        rung = rungs(made, "--profile", "--n=1000", "--block=128")["naive_atomic"]
        self.assertEqual(rung["profile"]["counters"]["atomic_operations"], 1000)
        self.assertEqual(rung["profile"]["counters"]["blocks"], 8)
        self.assertEqual(rung["profile"]["block"], 128)
        lines = rung["profile"]["report"]["launches"][0]["lines"]
        self.assertTrue([line for line in lines if line["atomic_operations"] == 1000])


if __name__ == "__main__":
    ROOT, WORK = Path(sys.argv[1]), Path(sys.argv[2])
    NVCC, LINK = sys.argv[3].split("|"), sys.argv[4].split("|")
    unittest.main(argv=[sys.argv[0], "-v"])
