"""A class graded on Slurm, a real one of two nodes on this machine, has the marks of the pool; a node that is lost on the way changes none."""

import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import support
from kit.setup import environment

sys.path.insert(0, str(support.ROOT / "tests" / "slurm"))
import slurm_cluster

STUDENTS = 6
SETTINGS = 'kind = "slurm"\npartition = "main"\nnodes = 2\nworkers = 1\nwalltime = "00:20:00"\naddress = "127.0.0.1"'
ABSENT = slurm_cluster.missing()


@support.needs_sandbox
@unittest.skipIf(ABSENT, f"{', '.join(ABSENT)} not installed: apt-get install {slurm_cluster.PACKAGES}")
@unittest.skipUnless(environment.is_installed("class"), "Parsl is not in the kit's environment: ./kit class grade installs it")
class Slurm(unittest.TestCase):
    def test_the_same_marks_though_a_node_is_lost(self):
        with tempfile.TemporaryDirectory() as name:
            into = support.small_class(Path(name), STUDENTS)
            pool = support.kit("grade", "--class", str(into))
            self.assertEqual(pool.returncode, 0, pool.stderr)
            expected = support.marks_of(into)
            self.assertIn('"pass"', expected)
            shutil.rmtree(into / "results")
            support.write_settings(into, SETTINGS)
            with slurm_cluster.Cluster(Path(name) / "slurm") as cluster:
                command = [sys.executable, str(support.ROOT / "kit"), "class", "grade", "--class", str(into)]
                driver = subprocess.Popen(command, env=cluster.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                until = time.monotonic() + 300
                lost = 0
                while driver.poll() is None and time.monotonic() < until and not lost:
                    # In the middle of a piece: what grades runs on the node, and makes a room.
                    if len(cluster.processes("SLURMD_NODENAME", "node2")) > 2 and list((into / "results").glob("*/*.json")):
                        lost = cluster.lose("node2")
                    time.sleep(0.1)
                said = driver.communicate(timeout=400)[0]
                self.assertEqual(driver.returncode, 0, f"{said}\n{cluster.logs()}")
                self.assertGreater(lost, 0, "no work came to node2")
                self.assertEqual(support.marks_of(into), expected)
                self.assertEqual(support.workers_of(into), [])


if __name__ == "__main__":
    unittest.main()
