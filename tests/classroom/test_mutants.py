"""The mutants of tests/mutants as a class's grader sees them: host functions in one process, kernels in another. Each has the state that
its mark says, which is what it has at home. test_mutants.py FAMILY=PROGRAM...; Meson names the programs."""

import os
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import support
from kit.classroom import grader, regions, sandbox, version

MUTANTS = support.ROOT / "tests" / "mutants"
sys.path.insert(0, str(MUTANTS))
import corpus  # noqa: E402

PROGRAMS: dict[str, Path] = {}


def graded(lab: version.Lab, family: str, program: Path) -> dict[str, dict]:
    """The rungs of a family. It is the course's own code, so it is compiled without a sandbox."""
    with tempfile.TemporaryDirectory(prefix="warpfold-mutants-") as name:
        source = MUTANTS / f"{family}.cu"
        lab = replace(lab, name=family, pristine=source, program=program, rungs=tuple(each.name for each in corpus.read(source)))
        spliced = regions.Spliced(source.read_text(), [], set())
        job = grader.Job(lab, spliced, support.HIDDEN, sandbox.Sandbox(), Path(name))
        arguments = [*lab.arguments, f"-I{MUTANTS}", f"-I{lab.header.parent}"]
        subprocess.run(
            [lab.nvcc, *arguments, "--keep", f"--keep-dir={name}", "-c", job.source, "-o", f"{name}/student.o"], check=True, cwd=name
        )
        subprocess.run(["c++", "-o", f"{name}/student", f"{name}/student.o", lab.recorder / "liblab_recorder.a"], check=True)
        os.replace(f"{name}/{family}.ptx", f"{name}/kernels.ptx")
        return job.verdicts(list(lab.rungs), grader.EMULATOR)


@support.needs_sandbox
class Mutants(unittest.TestCase):
    def test_each_has_the_state_that_its_mark_says(self):
        self.assertTrue(PROGRAMS, "no program was named on the command line")
        lab = support.labs("04")[0]  # whose compute capability has all that the mutants use
        known = corpus.families(MUTANTS)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = dict(zip(PROGRAMS, pool.map(lambda family: graded(lab, family, PROGRAMS[family]), PROGRAMS), strict=True))
        count = 0
        for family, rungs in results.items():
            for mutant in known[family]:
                count += 1
                rung = rungs[mutant.name]
                with self.subTest(mutant=f"{family} {mutant.name}"):
                    self.assertIn(rung["state"], mutant.state.split("|"), rung["reason"])
        if len(results) == len(known):
            self.assertGreaterEqual(count, 178)
        print(f"{count} mutants graded")


if __name__ == "__main__":
    PROGRAMS.update((word.split("=", 1)[0], Path(word.split("=", 1)[1])) for word in sys.argv[1:] if "=" in word)
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[1:] if "=" not in word)])
