"""Lab 12's last rung as jobs of a real Slurm: the script of docs/reference/cluster.md, on emulated devices that Slurm takes for GPUs.

Called by Meson with the solved lab's program and tests/lab/lost_ranks.cu's as the first words.
"""

import json
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path

import slurm_cluster

PROGRAM = LOST = ""
JOB = Path(__file__).resolve().parents[2] / "docs/reference/cluster/job.sbatch"
RUNG = "rank_per_gpu"
ABSENT = slurm_cluster.missing()
# The nodes are one machine under two names. MPI must not know that: Open MPI would reach for shared memory, and mistake one node's for the
# other's.
VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl": "tcp,self",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "PRTE_MCA_hwloc_default_binding_policy": "none",  # Open MPI 5 would not bind to more cores than the machine has
}
MPIRUN = {"WARPFOLD_START": "mpirun"}


@unittest.skipIf(ABSENT, f"{', '.join(ABSENT)} not installed: apt-get install {slurm_cluster.PACKAGES}")
@unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun (Debian: openmpi-bin, libopenmpi-dev)")
class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.cluster = slurm_cluster.Cluster(Path(folder.name) / "slurm", nodes=2, cpus=4, gpus=4)
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__)
        cls.has_pmix = "pmix" in cls.cluster.said("srun", "--mpi=list").split()

    def job(self, *options: str, **variables: str) -> dict:
        """What the rung's report says of a job that was submitted with these options of sbatch."""
        words = ("--device=emulator", "--json")
        code, out, err = self.cluster.batch(JOB, *options, arguments=words, WARPFOLD_LAB=PROGRAM, **VARIABLES, **variables)
        self.assertEqual(code, 0, f"{out}\n{err}\n{self.cluster.logs()}")
        (rung,) = (each for each in json.loads(out[out.index("{") :])["rungs"] if each["name"] == RUNG)
        return rung

    def assertPass(self, rung: dict, ranks: int) -> None:
        self.assertEqual((rung["state"], rung["reason"], rung["hazards"]), ("pass", "", []))
        self.assertIn(f"n = 1000, integers, {ranks} devices", [check["name"] for check in rung["checks"]])

    def needs_pmix(self) -> None:
        if not self.has_pmix:
            self.skipTest("this Slurm was built without PMIx")

    def test_srun_starts_a_rank_per_gpu(self):
        self.needs_pmix()
        self.assertPass(self.job("--nodes=1"), 4)

    def test_mpirun_starts_a_rank_per_gpu(self):
        self.assertPass(self.job("--nodes=1", **MPIRUN), 4)

    def test_srun_on_two_nodes_where_a_rank_sees_its_own_gpu_alone(self):
        self.needs_pmix()
        self.assertPass(self.job("--ntasks-per-node=2", "--gpus-per-node=2", "--gpus-per-task=1"), 4)

    def test_srun_takes_fewer_tasks_than_there_are_gpus(self):
        self.needs_pmix()
        self.assertPass(self.job("--nodes=1", "--ntasks-per-node=3"), 3)

    def test_a_rank_that_is_lost_under_srun_is_told_and_leaves_nothing(self):
        self.needs_pmix()
        for rung, said in {
            "crash": r"rank 1: the rung ended the program \(Segmentation fault\)",
            "killed": "rank 1: its process has ended",
        }.items():
            with self.subTest(rung=rung):
                words = ("--mpi=pmix", "--nodes=1", "--ntasks=3", LOST, "--device=emulator", f"--rung={rung}")
                self.assertRegex(self.cluster.said("srun", *words), rf"wrong +{rung}: .*{said}")
                until = time.monotonic() + 20
                while (left := self.cluster.processes("SLURM_MPI_TYPE", "pmix")) and time.monotonic() < until:
                    time.sleep(0.1)
                self.assertEqual(left, [])


if __name__ == "__main__":
    PROGRAM, LOST = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
