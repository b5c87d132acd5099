"""`kit watch` without a build: its children end with it, a save starts a check again, and it finds the next TODO."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import support
from kit import child
from kit.errors import KitError
from kit.ladder import gain
from kit.programs import labs
from kit.progress import check, course
from kit.progress.session import Session, stamp

PATIENCE = 20  # seconds, on a machine that has other work too
# A lab's program that never comes to its end, with a child of its own, and says who they are.
ENDLESS = """#!/bin/sh
sleep 1000 &
echo "$$ $!" > "$PIDS"
echo "wrong          sequential: n = 1: expected 1, got 0"
wait
"""
WATCHER = """
import sys; sys.path.insert(0, {common!r})
import signal
from kit.progress.check import Checker
from kit.progress.keys import Keys
from types import SimpleNamespace
signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
Checker(Keys()).run(SimpleNamespace(program={program!r}, name="02_tree"), [], lambda: False)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(what) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.pids = self.folder / "pids"

    def program(self, script: str) -> Path:
        path = self.folder / "program"
        path.write_text(script)
        path.chmod(0o755)
        return path


class Children(Folder):
    def end_it_by(self, number: int) -> tuple[int, int]:
        """Starts a watcher on a program without an end, ends the watcher; the pids of the program and of its child."""
        program = self.program(ENDLESS)
        text = WATCHER.format(common=str(support.ROOT / "common"), program=str(program))
        watcher = subprocess.Popen(
            [sys.executable, "-c", text], env=os.environ | {"PIDS": str(self.pids)}, stdout=subprocess.PIPE, text=True
        )
        self.assertIn("expected 1, got 0", watcher.stdout.readline())
        watcher.stdout.close()
        own, inner = map(int, self.pids.read_text().split())
        self.assertTrue(alive(own) and alive(inner))
        watcher.send_signal(number)
        watcher.wait(PATIENCE)
        self.addCleanup(lambda: alive(inner) and os.kill(inner, signal.SIGKILL))
        return own, inner

    def test_sigkill_ends_the_program(self):
        own, _ = self.end_it_by(signal.SIGKILL)
        self.assertTrue(wait_for(lambda: not alive(own)), "the lab's program runs on")

    def test_sigterm_ends_the_program_and_what_it_started(self):
        own, inner = self.end_it_by(signal.SIGTERM)
        self.assertTrue(wait_for(lambda: not alive(own) and not alive(inner)))

    def test_the_lab_programs_own_child_dies_with_it(self):
        """common/lab/run/processes.cpp asks for the same signal."""
        self.assertIn("PR_SET_PDEATHSIG", (support.ROOT / "common" / "lab" / "run" / "processes.cpp").read_text())

    def test_an_end_by_a_signal_is_told(self):
        self.assertEqual(child.how_it_ended(1), "")
        self.assertIn("SIGSEGV", child.how_it_ended(-signal.SIGSEGV))
        self.assertIn("host", child.how_it_ended(-signal.SIGSEGV))


class NoKeys:
    there = False

    def pressed(self, seconds: float, output: int | None = None) -> str:
        time.sleep(min(seconds, 0.02))
        return self.next() if hasattr(self, "next") else ""

    def rest(self) -> None:
        pass

    go_on = rest


class Checks(Folder):
    def run_check(self, script: str, keys=None, changed=lambda: False, checker=None, expected=None) -> tuple[check.Outcome, str]:
        lab = SimpleNamespace(program=self.program(script), name="02_tree")
        said: list[str] = []
        with mock.patch("builtins.print", lambda *words, **_: said.append(" ".join(map(str, words)))):
            with mock.patch.dict(os.environ, {"PIDS": str(self.pids)}):
                outcome = (checker or check.Checker(keys or NoKeys())).run(lab, [], changed, expected)
        return outcome, "\n".join(said)

    def test_states_and_the_exit_code(self):
        outcome, said = self.run_check(
            "#!/bin/sh\necho 'pass           sequential'\nprintf '\\033[31mwrong         \\033[0m first_add: n = 1'\nexit 1\n"
        )
        self.assertEqual((outcome.code, outcome.states), (1, {"sequential": "pass", "first_add": "wrong"}))
        self.assertIn("first_add: n = 1", said)

    def test_a_save_ends_the_check_and_what_was_found_is_shown(self):
        outcome, said = self.run_check(ENDLESS, changed=lambda: self.pids.exists() and time.monotonic() > self.first_seen())
        self.assertEqual(outcome.ended_by, "save")
        self.assertIn("expected 1, got 0", said)
        self.assertIn("starts again", said)
        self.assertTrue(wait_for(lambda: not any(alive(int(pid)) for pid in self.pids.read_text().split())))

    def first_seen(self) -> float:
        if not hasattr(self, "seen"):
            self.seen = time.monotonic() + 0.3
        return self.seen

    def test_q_ends_the_check(self):
        keys = NoKeys()
        keys.next = lambda: "q" if self.pids.exists() else ""
        outcome, _ = self.run_check(ENDLESS, keys)
        self.assertEqual(outcome.ended_by, "q")

    def test_it_says_that_it_still_checks(self):
        with mock.patch.object(check, "PATIENCE", 0.1):
            _, said = self.run_check("#!/bin/sh\nsleep 1\necho 'pass           sequential'\n")
        self.assertIn("still checking 02_tree", said)

    def test_after_the_verdict_it_does_not_say_that_it_still_checks(self):
        script = "#!/bin/sh\necho 'wrong          sequential: n = 1'\nsleep 1\necho '    Each element counts twice.'\n"
        for expected, words in ((["sequential"], "still looking for the reason"), (["sequential", "first_add"], "still checking 02_tree")):
            with mock.patch.object(check, "PATIENCE", 0.1):
                _, said = self.run_check(script, expected=expected)
            self.assertIn(words, said)
            self.assertEqual("still checking" in said, len(expected) > 1, said)

    def test_that_there_is_no_gpu_is_said_once_a_session(self):
        checker = check.Checker(NoKeys())
        script = "#!/bin/sh\necho 'No usable GPU ({}): running on the emulator.' >&2\necho 'pass           sequential'\n"
        told = [
            self.run_check(script.format(why), checker=checker)[1] for why in ("no CUDA-capable device", "driver version is insufficient")
        ]
        self.assertEqual([" ".join(said.split()).count(check.NO_GPU_HERE) for said in told], [1, 0])
        self.assertNotIn("usable", "".join(told))


SOURCE = """// BEGIN one
// TODO: Do this
// and that. (2 lines)
// END one
// BEGIN two
x = 1;
// END two
"""


class Course(Folder):
    def setUp(self):
        super().setUp()
        (self.folder / "01_a").mkdir()
        self.source = self.folder / "01_a" / "a.cu"
        self.source.write_text(SOURCE)
        self.lab = labs.Lab("01_a", self.folder / "none", self.source)
        self.one, self.two = course.Rung(self.lab, "one"), course.Rung(self.lab, "two")
        patched = mock.patch.object(course, "REMEMBERED", self.folder / "passed.json")
        patched.start()
        self.addCleanup(patched.stop)

    def test_the_todo_and_where_it_stands(self):
        place = course.todo(self.one)
        self.assertEqual((place.line, place.text), (2, "Do this and that. (2 lines)"))
        self.assertIsNone(course.todo(self.two))
        self.assertEqual((course.is_open(self.one), course.is_open(self.two)), (True, False))

    def test_what_passed_is_remembered_until_its_text_changes(self):
        self.assertTrue(course.Passed().note(self.two, True))
        self.assertFalse(course.Passed().note(self.two, True), "that is no news")
        self.assertIn(self.two, course.Passed())
        self.source.write_text(SOURCE.replace("Do this", "Do that"))
        self.assertIn(self.two, course.Passed(), "another rung's text has changed")
        self.source.write_text(SOURCE.replace("x = 1", "x = 2"))
        self.assertNotIn(self.two, course.Passed())

    def test_it_follows_to_the_first_rung_that_does_not_pass(self):
        session = Session(None, [self.two, self.one], None, [], NoKeys())
        self.assertEqual(session.rungs_now(), [self.two])
        session.passed.note(self.two, True)
        self.assertEqual(session.rungs_now(), [self.one])
        said: list[str] = []
        with mock.patch("builtins.print", lambda *words, **_: said.append(" ".join(map(str, words)))):
            session.announce(self.one)
        told = "\n".join(said)
        self.assertIn("1 of 2 rungs pass", told)
        self.assertIn("a.cu:2", told)
        self.assertIn("TODO: Do this and that.", told)

    def test_in_40_columns_it_breaks_only_between_words(self):
        session = Session(None, [self.one], None, [], SimpleNamespace(there=True))
        printed = io.StringIO()
        with mock.patch.dict(os.environ, COLUMNS="40"), contextlib.redirect_stdout(printed):
            session.announce(self.one)
            session.say_what_it_waits_for("x.cu")
        lines = [line for line in printed.getvalue().splitlines() if str(self.folder) not in line]
        self.assertLessEqual(max(map(len, lines)), 40, lines)

    def told(self, session: Session, outcome: check.Outcome) -> str:
        said: list[str] = []
        with (
            mock.patch("builtins.print", lambda *words, **_: said.append(" ".join(map(str, words)))),
            mock.patch.object(gain, "between", return_value=[]),
        ):
            session.take_note(self.lab, outcome)
        return "\n".join(said)

    def test_after_a_pass_the_keys_show_the_kernel_that_passed(self):
        """The rung that it goes on to is a TODO, of which there is nothing to see."""
        session = Session(None, [self.two, self.one], None, [], NoKeys())
        self.assertEqual(session.to_look_at(self.one), self.one)
        self.told(session, check.Outcome(0, {"two": "pass"}))
        self.assertEqual(session.to_look_at(session.rungs_now()[0]), self.two)
        self.source.write_text(SOURCE.replace("// and that. (2 lines)", "x = 2;"))
        self.assertEqual(session.to_look_at(self.one), self.one, "it has code now")
        session.chosen = [self.one, self.two]
        self.told(session, check.Outcome(0, {"one": "pass"}))
        self.assertEqual(
            session.to_look_at(session.in_question(session.chosen, check.Outcome(0, {"one": "pass", "two": "pass"}))), self.one
        )

    def test_after_the_last_rung_the_first_is_not_next(self):
        session = Session(None, [self.one, self.two], [self.two], [], NoKeys())
        told = self.told(session, check.Outcome(0, {"two": "pass"}))
        self.assertNotIn("Next:", told)
        self.assertIn("That was the last rung. 1 of the earlier ones", " ".join(told.split()))
        session = Session(None, [self.two, self.one], [self.two], [], NoKeys())
        session.passed.known.clear()
        self.assertIn("Next: one", self.told(session, check.Outcome(0, {"two": "pass"})))

    def test_a_save_is_seen_even_of_the_same_size(self):
        before = stamp(self.lab)
        os.utime(self.source, ns=(1, 1))
        self.assertNotEqual(stamp(self.lab), before)

    def test_the_bar(self):
        self.assertEqual(course.bar(0, 4).count("#"), 0)
        self.assertEqual(course.bar(2, 4).count("#"), course.BAR // 2)
        self.assertIn("4 of 4", course.bar(4, 4))

    def test_a_path_names_a_lab(self):
        known = [self.lab, labs.Lab("02_b", self.folder / "none", self.source)]
        for name in ("01_a", "labs/01_a", "labs/01_a/", "./labs/01_a/a.cu", str(self.source)):
            self.assertEqual(labs.named(known, name), self.lab)
        with self.assertRaisesRegex(KitError, "no such lab"):
            labs.named(known, "labs/09_z/")


class Gain(unittest.TestCase):
    def test_what_changed_is_told_with_the_prediction(self):
        def rung(name: str, conflicts: int, us: float) -> dict:
            counts = {"bank_conflicts": conflicts, "barriers": 9, "warp_instructions": 1000}
            return {"name": name, "profile": {"n": 1 << 20, "counters": counts}, "predicted": {"gpu": "H200", "us": us}}

        told = "\n".join(gain.lines(rung("strided_index", 524288, 33.0), rung("sequential", 0, 22.0), "strided_index", "sequential"))
        self.assertIn("sequential compared with strided_index, n = 1,048,576:", told)
        self.assertRegex(told, r"bank conflicts +524,288 +-> +0\n")
        self.assertRegex(told, r"predicted us on the H200 +33.0 +-> +22.0\n")
        self.assertNotIn("barriers", told, "what has not changed is not told")
        self.assertIn("1.50 times as fast", told)
        back = gain.lines(rung("sequential", 0, 22.0), rung("strided_index", 524288, 33.0), "sequential", "strided_index")
        self.assertIn("1.50 times as long", "\n".join(back))

    def test_a_rung_without_one_before_it_has_gained_nothing(self):
        self.assertEqual(gain.between(SimpleNamespace(name="02_tree"), "sequential", ""), [])
        self.assertEqual(gain.between(SimpleNamespace(name="06_operators"), "min", "add"), [])

    def test_over_several_devices_nothing_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "p"
            for over_devices in (True, False):
                rungs = [{"name": name, "state": "filled"} | ({"over_devices": True} if over_devices else {}) for name in ("a", "b")]
                counted = [
                    {"name": name, "profile": {"n": 8, "counters": {}}, "predicted": {"gpu": "H200", "us": 2.0}} for name in ("a", "b")
                ]
                program.write_text("#!/bin/sh\necho '" + json.dumps({"rungs": rungs}) + "'\n")
                program.chmod(0o755)
                with mock.patch.object(gain, "counted", return_value={rung["name"]: rung for rung in counted}):
                    told = gain.between(labs.Lab("12_x", program, program), "b", "a")
                self.assertEqual(bool(told), not over_devices)


class Printed(unittest.TestCase):
    def test_only_what_the_kernel_says_counts(self):
        self.assertEqual(labs.printed("No usable GPU (x): y\nthread 0\n\nthread 1\n"), ["thread 0", "thread 1"])

    def test_it_stands_beside_the_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "p"
            program.write_text("#!/bin/sh\necho thread 0 >&2\necho '" + json.dumps({"rungs": []}) + "'\n")
            program.chmod(0o755)
            self.assertEqual(labs.ask(labs.Lab("x", program, program))["printed"], ["thread 0"])


if __name__ == "__main__":
    unittest.main()
