"""What a program in the sandbox can take and reach: with a control group and without, and as root also for an ordinary user."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

import support
from classroom.grading import grader
from classroom.isolation import control_groups, sandbox, seccomp

NOBODY = 65534
LIMITS = replace(grader.HOSTING, memory=128 << 20, wall=60, cpu=20)


def setUpModule():
    global FOLDER, PROGRAM
    FOLDER = tempfile.TemporaryDirectory()
    os.chmod(FOLDER.name, 0o755)
    PROGRAM = Path(FOLDER.name) / "program"
    subprocess.run(["cc", "-O1", "-static", "-o", PROGRAM, Path(__file__).parent / "sandboxed" / "takes_memory.c"], check=True)


def tearDownModule():
    FOLDER.cleanup()


class Case(unittest.TestCase):
    def tries(self, what: str, limits: sandbox.Limits = LIMITS) -> sandbox.Outcome:
        outcome = sandbox.Sandbox().run(["/student/program", what], sandbox.Room(read={PROGRAM: "/student/program"}), limits)
        self.assertTrue(outcome.started, outcome.said)
        return outcome


@support.needs_sandbox
class Memory(Case):
    """Each of these passed a limit of 512 MiB that counted only what the processes had for themselves."""

    def refused(self, what: str, call: str) -> None:
        outcome = self.tries(what)
        self.assertRegex(outcome.said, f"{call}: (Operation not permitted|Cannot allocate memory)")
        self.assertNotIn("holds it all", outcome.said)

    def test_pages_shared_with_nobody_any_more(self):
        self.refused("anonymous", "mmap")

    def test_the_device_that_gives_zeros(self):
        self.refused("zero", "mmap")

    def test_files_without_a_name(self):
        outcome = self.tries("memfds")
        self.assertEqual(outcome.said.count("memfd_create: Operation not permitted"), 14, outcome.said)

    def test_segments_of_system_v(self):
        self.refused("system-v", "shmget")

    def test_pages_given_away_to_pipes(self):
        self.refused("pipes", "vmsplice")

    def test_what_waits_in_sockets(self):
        self.assertEqual(self.tries("sockets").said.count("Operation not permitted"), 2)

    def test_what_is_its_own_counts(self):
        outcome = self.tries("private", replace(LIMITS, address_space=None))
        self.assertEqual(outcome.ended, "memory", outcome.said)

    def test_a_process_has_an_end_to_its_addresses_too(self):
        self.assertLessEqual(LIMITS.address_space, 1 << 30)

    def test_files_anywhere(self):
        outcome = self.tries("files")
        self.assertNotRegex(outcome.said, r"[1-9]\d* MiB", outcome.said)


@support.needs_sandbox
@unittest.skipUnless(control_groups.where(), "this process may make no control group here")
class WithAControlGroup(Case):
    """Its limit counts what the other rooms, where memory may be shared, have together."""

    def test_shared_memory_counts(self):
        for what in ("anonymous", "zero", "memfds"):
            with self.subTest(what=what):
                outcome = self.tries(what, replace(LIMITS, own_memory_only=False, address_space=None, file=1 << 30))
                self.assertEqual(outcome.ended, "memory", outcome.said)

    def test_no_group_is_left(self):
        self.tries("end")
        self.assertEqual([*control_groups.where().glob(f"warpfold-{os.getpid()}-*")], [])


@support.needs_sandbox
class WithoutAControlGroup(Memory):
    def setUp(self):
        none = mock.patch.multiple(control_groups, make=lambda *_: None, systemd_makes_scopes=lambda: False)
        none.start()
        self.addCleanup(none.stop)

    def test_shared_memory_counts_while_it_is_mapped(self):
        outcome = self.tries("anonymous", replace(LIMITS, own_memory_only=False, address_space=None))
        self.assertEqual(outcome.ended, "memory", outcome.said)


@support.needs_sandbox
class Walls(Case):
    def test_no_new_namespaces_mounts_or_keys(self):
        for limits in (LIMITS, grader.COMPILING, grader.JUDGING):
            said = self.tries("namespaces", limits).said
            self.assertGreater(len(said.splitlines()), 20)
            self.assertNotIn("done", said)

    def test_no_processes_but_its_own(self):
        seen = re.findall(r"^\d+ (\S+)", self.tries("processes").said, re.M)
        self.assertTrue({Path(name).name for name in seen} <= {"bwrap", "program"}, seen)

    def test_an_idle_program_ends(self):
        outcome = sandbox.Sandbox().run(["sleep", "100"], sandbox.Room(), sandbox.Limits(idle=1))
        self.assertEqual(outcome.ended, "idle")
        self.assertLess(outcome.wall, 50)


class Rules(unittest.TestCase):
    def test_every_machine_that_is_listed_has_a_filter(self):
        for machine in seccomp.ARCHITECTURES:
            rules = seccomp.program(True, machine)
            self.assertEqual(len(rules) % 8, 0)
            self.assertLess(len(rules) // 8, 4096)  # BPF_MAXINSNS
        self.assertIsNone(seccomp.program(True, "riscv64"))


class WhereGroupsAre(unittest.TestCase):
    """Hierarchies as /proc shows them, made of ordinary folders."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name)

    def found(self, mounts: str, own: str) -> Path | None:
        (self.root / "mounts").write_text(mounts.replace("@", str(self.root)))
        (self.root / "own").write_text(own)
        return control_groups.where.__wrapped__(self.root / "mounts", self.root / "own")

    def version_2(self, path: str, handed_on: str) -> None:
        (self.root / path).mkdir(parents=True, exist_ok=True)
        (self.root / path / "cgroup.subtree_control").write_text(handed_on)

    def test_a_delegated_group_of_version_2(self):
        self.version_2("v2", "cpu")
        self.version_2("v2/user/mine", "memory pids")
        self.assertEqual(self.found("cgroup2 @/v2 cgroup2 rw 0 0", "0::/user/mine"), self.root / "v2/user/mine")

    def test_version_2_for_root(self):
        self.version_2("v2", "cpu memory")
        self.version_2("v2/session", "")
        self.assertEqual(self.found("cgroup2 @/v2 cgroup2 rw 0 0", "0::/session"), self.root / "v2")

    def test_version_1_whose_own_group_is_out_of_sight(self):
        (self.root / "memory").mkdir()
        self.assertEqual(self.found("cgroup @/memory cgroup rw,memory 0 0", "4:memory:/docker/1"), self.root / "memory")

    def test_none(self):
        self.version_2("v2", "cpu")
        self.assertIsNone(self.found("cgroup2 @/v2 cgroup2 rw 0 0\ncgroup @/pids cgroup rw,pids 0 0", "0::/\n8:pids:/"))


@unittest.skipUnless(os.geteuid() == 0 and not os.environ.get("WARPFOLD_AS_NOBODY"), "only root can become an ordinary user")
class AsAnOrdinaryUser(unittest.TestCase):
    def test_the_same_holds(self):
        python = "/usr/bin/python3"
        ids = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        can = subprocess.run([*ids, python, "-c", f"import sys; sys.version_info >= (3, 10) or sys.exit(1); open({__file__!r})"])
        if can.returncode != 0:
            self.skipTest("an ordinary user cannot read this clone, or there is no Python for one")
        tested = subprocess.run(
            [*ids, python, __file__, "-v"], capture_output=True, text=True, timeout=300,
            env={"PATH": os.environ["PATH"], "WARPFOLD_AS_NOBODY": "1", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp"},
        )  # fmt: skip
        self.assertEqual(tested.returncode, 0, tested.stderr[-3000:])
        self.assertIn("test_no_new_namespaces_mounts_or_keys", tested.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
