"""The board: pseudonyms, what is believed, and what is judged anew."""

import unittest
from pathlib import Path
from unittest import mock

import support
from classroom.feedback import board
from classroom.grading.index import Found
from classroom.isolation import sandbox

SLOW, FAST, TOO_FAST = 30.0, 20.0, 1.0


class Board(unittest.TestCase):
    def lines(self, times: dict[str, float], failing: tuple[str, ...] = ()) -> list[board.Line]:
        """Of students who passed, with these times, of whom some do not pass again."""
        pieces = {name: Found(Path(name), board.LAB, name) for name in times}
        rungs = {"rungs": [{"name": board.RUNG, "state": "pass"}]}
        with (
            mock.patch.object(Found, "result", rungs),
            mock.patch.object(board, "counted", lambda piece, hidden, room: ([{"us": times[piece.key]}], 1 << 20)),
            mock.patch.object(board, "again", lambda piece, room: piece.key not in failing),
            mock.patch.object(Found, "hidden", None, create=True),
        ):
            return board.lines(pieces, {name: f"name of {name}" for name in times}, lambda found: found[0]["us"], lambda n: 5.0, None)

    def test_the_fastest_is_first_and_nobody_is_named(self):
        made = self.lines({"ann": SLOW, "bo": FAST})
        self.assertEqual([line.student for line in made], ["bo", "ann"])
        text = board.page("A class", "H200", made, 5.0)
        self.assertIn("name of bo", text)
        self.assertNotIn(">bo<", text)

    def test_what_is_below_the_limit_is_not_believed(self):
        made = self.lines({"ann": SLOW, "eve": TOO_FAST})
        self.assertEqual([line.student for line in made], ["ann", "eve"])
        self.assertIn("not believed", made[1].remark)

    def test_what_does_not_pass_again_is_no_longer_first(self):
        made = self.lines({"ann": SLOW, "eve": FAST}, failing=("eve",))
        self.assertEqual([line.student for line in made], ["ann", "eve"])
        self.assertIn("fresh inputs", made[1].remark)

    def test_only_what_passed_is_on_it(self):
        wrong = {"rungs": [{"name": board.RUNG, "state": "wrong"}]}
        with mock.patch.object(Found, "result", wrong):
            self.assertEqual(board.lines({"ann": Found(Path("x"), board.LAB, "k")}, {"ann": "x"}, len, float, None), [])

    def test_who_has_no_time_keeps_a_line_that_says_why(self):
        pieces = {name: Found(Path(name), board.LAB, name) for name in ("ann", "bo", "eve")}
        said = {"ann": ([{"us": FAST}], 1 << 20), "bo": ([], 0)}

        def counted(piece, hidden, room):
            if piece.key == "eve":
                raise board.NotGraded("no memory \033[2J")
            return said[piece.key]

        rungs = {"rungs": [{"name": board.RUNG, "state": "pass"}]}
        with (
            mock.patch.object(Found, "result", rungs),
            mock.patch.object(board, "counted", counted),
            mock.patch.object(board, "again", lambda piece, room: True),
            mock.patch.object(Found, "hidden", None, create=True),
        ):
            made = board.lines(pieces, {name: f"name of {name}" for name in pieces}, lambda found: found[0]["us"], lambda n: 5.0, None)
        self.assertEqual([line.student for line in made], ["ann", "bo", "eve"])
        self.assertIn("it fails on 4,194,304 elements", made[1].remark)
        self.assertIn("this machine could not judge it (no memory", made[2].remark)
        text = board.page("A class", "H200", made, 5.0)
        self.assertIn('<td>name of bo</td><td class="n">-</td><td class="n">-</td>', text)
        self.assertIn("for 1,048,576 elements", text)
        self.assertNotIn("\033", text)

    def test_who_is_not_on_it_is_told_from_who_is(self):
        piece = Found(Path("x"), board.LAB, "k")
        for result, why in (
            (None, "not graded yet: ./kit class grade"),
            ({"rungs": [{"name": board.RUNG, "state": "slow"}]}, "champion is slow"),
            ({"rungs": [{"name": board.RUNG, "state": "pass"}]}, ""),
        ):
            with mock.patch.object(Found, "result", result):
                self.assertEqual(board.why_absent(piece), why)

    def test_pseudonyms_stay_differ_and_need_the_secret(self):
        students = [f"s{number}" for number in range(400)]
        names = board.pseudonyms(students, b"secret")
        self.assertEqual(len(set(names.values())), 400)
        self.assertEqual(names, board.pseudonyms(students[::-1], b"secret"))
        self.assertNotEqual(names, board.pseudonyms(students, b"another"))


@support.needs_sandbox
class Counted(unittest.TestCase):
    def test_counts_come_from_the_graded_kernel_on_the_elements_that_are_said(self):
        lab = support.labs("09")[0]
        launches, n = board.launches(lab, lab.solution.read_text(), support.HIDDEN, sandbox.Sandbox(), 1 << 18)
        self.assertEqual(n, 1 << 18)
        self.assertGreaterEqual(sum(launch["counters"]["global_load_sectors"] for launch in launches), n * 4 // 32)
        wrong = lab.solution.read_text().replace("// BEGIN champion", "// BEGIN champion\n  if (n > 1000) n = 1000;")
        self.assertEqual(board.launches(lab, wrong, support.HIDDEN, sandbox.Sandbox(), 1 << 18), ([], 0))


if __name__ == "__main__":
    unittest.main()
