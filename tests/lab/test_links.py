#!/usr/bin/env python3
"""links, the program that measures what links the GPUs: its form, on emulated devices, where its times mean nothing.

test_links.py PROGRAM FOLDER_OF_THE_EMULATOR [unittest's arguments]
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path


def links(*words: str, devices: int = 1, report: str = "") -> subprocess.CompletedProcess:
    environment = os.environ | {"LD_LIBRARY_PATH": EMULATOR, "WARPFOLD_DEVICES": str(devices), "WARPFOLD_CHECKS": "all"}
    if report:
        environment["WARPFOLD_REPORT"] = report
    return subprocess.run([PROGRAM, *words], text=True, capture_output=True, env=environment, timeout=120)


class Links(unittest.TestCase):
    def test_an_entry_for_each_ordered_pair(self):
        result = links("--megabytes", "1", devices=3)
        self.assertEqual(result.returncode, 0, result.stderr)
        answer = json.loads(result.stdout)
        self.assertEqual(answer["gpus"], 3)
        found = {(link["from"], link["to"]): link for link in answer["links"]}
        self.assertEqual(sorted(found), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)])
        for (first, second), link in found.items():
            self.assertIs(link["peer_access"], True)
            for key in ("gb_per_s", "both_ways_gb_per_s", "copy_us", "read_us"):
                self.assertGreater(link[key], 0, link)
            self.assertEqual(link["both_ways_gb_per_s"], found[second, first]["both_ways_gb_per_s"])

    def test_it_does_nothing_that_a_check_finds(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            result = links("--megabytes", "1", devices=2, report=str(report))
            found = json.loads(report.read_text())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([hazard["message"] for hazard in found["hazards"]], [])
        # Both ways, by pair: of 4-byte loads from the other's memory, each touches a sector.
        read = {(link["from"], link["to"]): link["peer_load_sectors"] for link in found["links"]}
        self.assertEqual(read, {(0, 1): 10 * 4096, (1, 0): 10 * 4096})

    def test_one_device_has_no_links(self):
        result = links()
        self.assertEqual(result.returncode, 77)
        self.assertIn("no links to measure", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_no_such_size(self):
        for words in (["--megabytes", "0"], ["--megabytes", "few"], ["--megabytes"], ["1"]):
            result = links(*words, devices=2)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn("usage: links", result.stderr)


if __name__ == "__main__":
    PROGRAM, EMULATOR = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
