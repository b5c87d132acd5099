"""The labs as they are handed out: every rung is still to do, or to repair, and says where; none passes by itself.

Called by Meson with the programs of labs/, as LAB=PROGRAM."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAMS = {}
BROKEN = {"08_hazards"}  # handed out with a mistake in each rung instead of an empty region

# What is said of each of those kernels: the state, the hazard's kind and the line that it names, the diagnosis of the
# wrong number ("any": it depends on which thread came first).
SAID = {
    "missing_barrier": ("wrong", "race-shared", "if (t < stride) partial[t] += partial[t + stride];", "any"),
    "divergent_barrier": ("hazard", "barrier", "__syncthreads();", None),
    "unwritten_shared": ("wrong", "uninitialised", "if (t < stride) partial[t] += partial[t + stride];", "any"),
    "volatile_tail": ("hazard", "race-shared", "tail[t] += tail[t + 16];", None),
    "absent_lanes": ("hazard", "warp-mask", "value += __shfl_down_sync(lab::all_lanes, value, distance);", None),
    "stale_reads": ("wrong", None, "", "not-used"),
    "across_blocks": ("wrong", "race-global", "if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;", "any"),
    "narrow_fence": ("hazard", "fence", "block_sums[blockIdx.x] = sum;", None),
    "open_lock": ("hazard", "fence", "*result += sum;", None),
    "lost_tail": ("wrong", None, "", "not-read"),
    "wrong_identity": ("wrong", None, "", "foreign"),
    # Where 2^31 bytes before the matrix there is nothing, or what has been freed.
    "index_overflow": ("wrong", "out-of-bounds|use-after-free", "sum += *reinterpret_cast<const float*>(matrix + offset);", None),
}


def ask(program: str, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([program, *words], text=True, capture_output=True, timeout=120)


class Stubs(unittest.TestCase):
    def setUp(self):
        self.assertTrue(PROGRAMS, "no lab was named on the command line")

    def rungs(self) -> list[tuple[str, str, dict]]:
        found = []
        for lab, program in PROGRAMS.items():
            rungs = json.loads(ask(program, "--list", "--json").stdout)["rungs"]
            self.assertTrue(rungs, f"{lab} lists no rung")
            found += [(lab, program, rung) for rung in rungs]
        return found

    def test_every_rung_is_still_to_do_and_its_todo_stands_where_it_says(self):
        for lab, _program, rung in self.rungs():
            with self.subTest(lab=lab, rung=rung["name"]):
                self.assertEqual(
                    rung["state"], "broken" if lab in BROKEN else "todo", f"{lab} {rung['name']} is filled; a stub is handed out empty"
                )
                line = Path(rung["file"]).read_text().splitlines()[rung["line"] - 1]
                self.assertRegex(line.strip(), r"^// TODO: [A-Z]")
                self.assertEqual(Path(rung["file"]).parent.name, lab)

    def test_meson_sees_a_skip_that_names_the_todo(self):
        for lab, program, rung in self.rungs():
            with self.subTest(lab=lab, rung=rung["name"]):
                result = ask(program, "--tap", "--rung", rung["name"])
                self.assertEqual(result.returncode, 0, result.stderr)
                plan = [line for line in result.stdout.splitlines() if line.startswith("1..")]
                self.assertEqual(len(plan), 1, result.stdout)
                self.assertRegex(plan[0], rf"^1\.\.0 # SKIP TODO .*{Path(rung['file']).name}:{rung['line']}\b")
                self.assertNotRegex(result.stdout, r"(?m)^(not )?ok\b")
                if lab in BROKEN:
                    self.assertRegex(plan[0], r"broken as handed out: (wrong|hazard|pass, by luck on this device)")

    def test_a_run_of_the_whole_lab_neither_passes_nor_fails(self):
        for lab, program in PROGRAMS.items():
            with self.subTest(lab=lab):
                self.assertEqual(ask(program).returncode, 77, "77 is how a program tells Meson that it was skipped")
                if lab in BROKEN:
                    continue
                states = {rung["state"] for rung in json.loads(ask(program, "--json").stdout)["rungs"]}
                self.assertEqual(states, {"todo"})

    def test_every_broken_rung_is_found_out_on_the_emulator(self):
        for lab in BROKEN & PROGRAMS.keys():
            result = ask(PROGRAMS[lab], "--json", "--device=emulator")
            self.assertEqual(result.returncode, 1, result.stderr)
            for rung in json.loads(result.stdout)["rungs"]:
                with self.subTest(lab=lab, rung=rung["name"]):
                    self.assert_says_what_it_is(rung, *SAID[rung["name"]])
                    self.assert_points_into_its_region(rung)

    def assert_says_what_it_is(self, rung: dict, state: str, kind: str | None, line: str, diagnosis: str | None):
        self.assertEqual(rung["state"], state)
        if diagnosis != "any":
            self.assertEqual(rung.get("diagnosis", {}).get("kind"), diagnosis)
        if kind is None:
            self.assertEqual(rung["hazards"], [])
            return
        places = (("file", "line"), ("other_file", "other_line"))
        named = {
            self.line_at(hazard[file], hazard[number])
            for hazard in rung["hazards"]
            if hazard["kind"] in kind.split("|")
            for file, number in places
            if hazard[number]
        }
        self.assertIn(line, named, rung["hazards"])

    def line_at(self, file: str, number: int) -> str:
        return Path(file).read_text().splitlines()[number - 1].strip()

    def assert_points_into_its_region(self, rung: dict):
        """A hazard is on a line of the mistake, or of the code that meets its result: in the same kernel."""
        for hazard in rung["hazards"]:
            lines = Path(hazard["file"]).read_text().splitlines()
            above = "\n".join(lines[: hazard["line"]])
            self.assertIn(f"BEGIN {rung['name']}", above[above.rfind("__global__") :], hazard["message"])

    def test_as_a_solution_a_todo_is_a_failure(self):
        for lab, program in PROGRAMS.items():
            with self.subTest(lab=lab):
                self.assertEqual(ask(program, "--solutions").returncode, 1)


if __name__ == "__main__":
    PROGRAMS.update(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    unittest.main(argv=[sys.argv[0], "-v"])
