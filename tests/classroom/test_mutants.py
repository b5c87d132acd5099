"""The mutants of tests/mutants as a class's grader sees them: host functions in one process, kernels in another. Each has the state that
its mark says, which is what it has at home. test_mutants.py FAMILY=PROGRAM...; Meson names the programs."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import support
from classroom.course import version
from classroom.grading import grader
from classroom.isolation import sandbox
from classroom.submission import regions

MUTANTS = support.ROOT / "tests" / "mutants"
sys.path.insert(0, str(MUTANTS))
import corpus  # noqa: E402

PROGRAMS: dict[str, Path] = {}
# What a class's grader does not allow at all: a sum that the CPU adds up needs the device's memory, of which the host sees zeros.
STRICTER = {"results cpu_adds_up": "wrong"}
# The process of the host functions calls them by their place in main(); what they promise is known to the other one alone.
PROMISES = """
#include "promises/course.hpp"
namespace lab {
Rung promised(const char*, const char* rung) { return Rung(rung); }
Promise promised(const char*, const char*, Counter) { return {}; }
Promise promised(const char*, const char*, Counter, Promise::Relation) { return {}; }
}
"""


def graded(lab: version.Lab, family: str, program: Path) -> dict[str, dict]:
    """The rungs of a family. It is the course's own code, so it is compiled without a sandbox."""
    with tempfile.TemporaryDirectory(prefix="warpfold-mutants-") as name:
        source = MUTANTS / f"{family}.cu"
        listed = subprocess.run([program, "--list", "--json"], text=True, capture_output=True, check=True).stdout
        rungs = tuple(rung["name"] for rung in json.loads(listed)["rungs"])
        lab = replace(lab, name=family, pristine=source, program=program, rungs=rungs)
        spliced = regions.Spliced(source.read_text(), [], set())
        job = grader.Job(lab, spliced, support.HIDDEN, sandbox.Sandbox(), Path(name))
        arguments = [*lab.arguments, f"-I{MUTANTS}", f"-I{lab.headers[0].parent}"]
        subprocess.run(
            [lab.nvcc, *arguments, "--keep", f"--keep-dir={name}", "-c", job.source, "-o", f"{name}/student.o"], check=True, cwd=name
        )
        Path(name, "promises.cpp").write_text(PROMISES)
        with_host = [
            f"-I{lab.headers[0].parent}",
            "-std=c++20",
            f"{name}/promises.cpp",
            f"{name}/student.o",
            lab.recorder / "liblab_recorder.a",
        ]
        subprocess.run(["c++", "-o", f"{name}/student", *with_host], check=True)
        os.replace(f"{name}/{family}.ptx", f"{name}/kernels.ptx")
        return job.verdicts(list(lab.rungs), grader.EMULATOR)


@support.needs_sandbox
class Mutants(unittest.TestCase):
    def test_each_has_the_state_that_its_mark_says(self):
        self.assertTrue(PROGRAMS, "no program was named on the command line")
        lab = support.labs("13")[0]  # whose compute capability has all that the mutants use
        known = corpus.families(MUTANTS)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = dict(zip(PROGRAMS, pool.map(lambda family: graded(lab, family, PROGRAMS[family]), PROGRAMS), strict=True))
        count = 0
        for family, rungs in results.items():
            for mutant in known[family]:
                count += 1
                rung = rungs[mutant.name]
                with self.subTest(mutant=f"{family} {mutant.name}"):
                    expected = STRICTER.get(f"{family} {mutant.name}", mutant.state)
                    self.assertIn(rung["state"], expected.split("|"), rung["reason"])
        if len(results) == len(known):
            self.assertGreaterEqual(count, 178)
        print(f"{count} mutants graded")


if __name__ == "__main__":
    PROGRAMS.update((word.split("=", 1)[0], Path(word.split("=", 1)[1])) for word in sys.argv[1:] if "=" in word)
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[1:] if "=" not in word)])
