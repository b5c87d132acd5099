"""A kernel may wait for what the host writes after the launch: test_host_ends_wait.py PROGRAM."""

import os
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()
SECONDS = 60  # far more than any of them takes


def run(which: str, **settings: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"WARPFOLD_" + name.upper(): value for name, value in settings.items()}
    return subprocess.run([PROGRAM, which], env=environment, capture_output=True, text=True, timeout=SECONDS)


class HostEndsWait(unittest.TestCase):
    def test_the_launch_returns_and_the_kernel_ends(self):
        for which, output in (
            ("latch", "cudaErrorNotReady\n" * 3 + "cudaSuccess, data[1] = 8\n"),
            ("event", "cudaSuccess, data[1] = 4\n"),
            ("managed variable", "cudaSuccess, data[1] = 2\n"),
            ("opened before", "cudaSuccess, data[1] = 2\n"),
        ):
            for checks in "none", "all":
                for devices in "1", "2":
                    with self.subTest(which, checks=checks, devices=devices):
                        result = run(which, checks=checks, both_orders="on", devices=devices)
                        self.assertEqual((result.stdout, result.stderr), (output, ""))

    def test_the_host_may_take_its_time(self):
        result = run("host computes for long")
        self.assertEqual((result.stdout, result.stderr), ("cudaSuccess, data[1] = 2\n", ""))

    def test_a_wait_that_the_host_never_ends_is_told(self):
        result = run("never")
        self.assertEqual(result.stdout, "cudaErrorLaunchTimeout, data[1] = 0\n")
        self.assertIn("waits for memory to change, but for 10 s no thread that runs has changed any", result.stderr)
        self.assertIn("host_ends_wait.cu:8 (running)", result.stderr)


if __name__ == "__main__":
    unittest.main()
