"""What is told of kernels that run on two devices at the same time: test_devices_order.py PROGRAM SOURCE."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, SOURCE = "", ""
TIMES = 3  # what comes first differs from run to run


class DevicesOrder(unittest.TestCase):
    def told(self, case: str, **environment: str) -> list[dict]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.json"
            environment = (
                os.environ
                | {"WARPFOLD_DEVICES": "2", "WARPFOLD_CHECKS": "races,initialisation", "WARPFOLD_REPORT": str(path)}
                | environment
            )
            done = subprocess.run([PROGRAM, case], env=environment, text=True, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.said, self.errors = done.stdout, done.stderr
            self.report = json.loads(path.read_text())
            return self.report["hazards"]

    def line_of(self, mark: str) -> int:
        lines = Path(SOURCE).read_text().splitlines()
        return next(number for number, line in enumerate(lines, start=1) if line.endswith("// MARK " + mark))

    def assert_told(self, case: str, kind: str, *marks: str, words: str, beside: str | None = None):
        for _ in range(TIMES):
            told = self.told(case)
            self.assertEqual({each["kind"] for each in told} - {beside}, {kind}, told)
            lines = {self.line_of(mark) for mark in marks}
            self.assertTrue(any({each["line"], each["other_line"]} == lines for each in told), told)
            self.assertTrue(any(words in each["message"] + each["why"] for each in told), told)

    def test_what_is_ordered_is_not_told(self):
        for case in ("release", "fence", "later_kernel", "end_of_kernel", "event", "copy_between_devices", "atomics_for_all"):
            for _ in range(TIMES):
                with self.subTest(case=case):
                    self.assertEqual(self.told(case), [])
                    self.assertEqual(self.said, "device 0: cudaSuccess\ndevice 1: cudaSuccess\n")

    def test_a_release_for_the_own_device_orders_nothing_for_another(self):
        self.assert_told(
            "release_for_device", "fence", "receive", "device-release", words="reaches only its own device", beside="race-global"
        )  # the flag itself

    def test_a_fence_for_the_own_device_orders_nothing_for_another(self):
        self.assert_told("fence_for_device", "fence", "receive-volatile", "device-fence", words="reaches only its own device")

    def test_a_readers_fence_for_the_own_device_acquires_nothing_of_another(self):
        self.assert_told(
            "reader_fence_for_device", "fence", "receive-device-fence", "system-fence", words="the fence after the wait is too narrow"
        )

    def test_a_flag_without_a_fence_orders_nothing(self):
        self.assert_told("no_fence", "fence", "receive-volatile", "no-fence", words="no fence before the flag is set")

    def test_without_an_event_kernels_are_not_ordered(self):
        self.assert_told(
            "no_event", "race-global", "read", "prepare", words="Kernels of different devices run at the same time", beside="uninitialised"
        )

    def test_without_an_event_a_copy_is_not_ordered(self):
        told = self.told("no_event_before_copy")
        self.assertEqual([each["kind"] for each in told], ["race-host"], told)
        for words in (
            r"cudaMemcpyPeerAsync in stream \d+ of device 1 reads",
            r"prepare\(int\*\) in stream \d+ of device 0 writes",
            "nothing orders the two",
        ):
            self.assertRegex(told[0]["message"], words)

    def test_atomics_of_device_scope_are_not_atomic_between_devices(self):
        self.assert_told("atomics", "race-global", "count", words="atomic only among the threads of its own device")

    def test_a_variable_of_another_device_is_out_of_reach(self):
        told = self.told("variable")
        self.assertEqual([(each["kind"], each["line"]) for each in told], [("peer-access", self.line_of("variable"))], told)
        self.assertIn("from device 1, which reaches no variable of another device", told[0]["message"])
        self.assertIn("cudaErrorIllegalAddress", self.said)

    def test_a_pool_of_another_device_is_out_of_reach_until_it_gives_access(self):
        told = self.told("pool")
        self.assertEqual([(each["kind"], each["line"]) for each in told], [("peer-access", self.line_of("variable"))], told)
        self.assertIn("cudaMemPoolSetAccess", told[0]["advice"])
        self.assertIn("cudaErrorIllegalAddress", self.said)
        self.assertEqual(self.told("pool_for_both"), [])

    def test_kernels_that_wait_for_ever_are_told_where_both_are(self):
        self.told("forever", WARPFOLD_CHECKS="none")
        self.assertIn("waits for memory to change, but for 10 s no thread that runs has changed any", self.errors)
        self.assertIn("cudaErrorLaunchTimeout", self.said)
        for mark in ("waits", "waits-too"):
            self.assertIn(f"devices_order.cu:{self.line_of(mark)} (running)", self.errors)
        self.assertRegex(self.errors, r"another kernel, on device [01]")

    def test_what_went_over_the_link_is_counted(self):
        self.told("event")
        sectors = 64 * 4 // 32
        self.assertEqual(
            self.report["links"], [{"from": 1, "to": 0, "peer_load_sectors": sectors, "peer_store_sectors": 0, "peer_copy_bytes": 0}]
        )
        self.assertEqual(self.report["total"]["peer_load_sectors"], sectors)
        reads = next(each for each in self.report["launches"] if each["device"] == 1)
        self.assertEqual([line["peer_load_sectors"] for line in reads["lines"] if line["line"] == self.line_of("read")], [sectors])
        self.told("no_event_before_copy")
        self.assertEqual(
            self.report["links"], [{"from": 0, "to": 1, "peer_load_sectors": 0, "peer_store_sectors": 0, "peer_copy_bytes": 256}]
        )


if __name__ == "__main__":
    PROGRAM, SOURCE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
