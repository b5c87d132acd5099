"""`kit trace --tree`: how a result was made, from what a lab's program says about it."""

import contextlib
import io
import os
import unittest
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit.errors import KitError
from kit.programs import rungs
from kit.trace import tree


def node(number: int, of: tuple = (), elements: tuple = (), **more) -> dict:
    known = {"id": number, "kind": "step" if of else "element", "value": 0.0, "line": 10, "thread": "thread 0", "operation": "", "of": list(of),
             "constants": [], "elements": [[each, 1.0] for each in elements], "holds": "element 0", "wrong": [], "lost": ""}  # fmt: skip
    return known | more


# Elements 1, 2 and 3: the first two are added up, and the first once more; the third is stored and never read.
NODES = [
    node(3, elements=(0,), value=1.0),
    node(4, elements=(1,), value=2.0, holds="element 1", thread="thread 1"),
    node(5, elements=(2,), value=3.0, holds="element 2", lost="stored in partial[2] in line 12, and never read"),
    node(6, of=(4, 3), elements=(0, 1), value=3.0, line=20),
    node(7, of=(6, 3), value=4.0, line=21, elements=(0, 1), wrong=["from here on, element 0 counts twice"]),
]


def followed(element: int | None = None, **more) -> tree.Tree:
    made = {"complete": True, "joined_by": "+", "result": 7, "unread": [], "nodes": NODES} | more
    answer = {"n": 3, "rows": 1, "block": 32, "error": "", "input": [1.0, 2.0, 3.0], "expected": [6.0], "results": [4.0], "tree": made}
    with mock.patch.object(rungs, "observed", return_value=(answer | {"error": more.get("error", "")}, {}, None)):
        return tree.follow(SimpleNamespace(), "sequential", None, element)


class Trees(unittest.TestCase):
    def shown(self, made: tree.Tree, element: int | None = None) -> list[str]:
        out = io.StringIO()
        with mock.patch.dict(os.environ, {"NO_COLOR": "1"}), contextlib.redirect_stdout(out):
            tree.show(made, 100, element)
        return out.getvalue().splitlines()

    def test_the_result_down_to_its_elements_and_what_was_lost(self):
        self.assertEqual(
            self.shown(followed()),
            [
                "sequential, n = 3, 32 threads per block: how the result is made",
                "",
                "the result:",
                "  4 = 1 + 3   line 21, thread 0   <- from here on, element 0 counts twice",
                "  ├─ 1   element 0, read in line 10, thread 0",
                "  └─ 3 = 1 + 2   line 20, thread 0",
                "     ├─ 1   element 0, read in line 10, thread 0",
                "     └─ 2   element 1, read in line 10, thread 1",
                "",
                "lost:",
                "  3   element 2, read in line 10, thread 0   <- stored in partial[2] in line 12, and never read",
                "",
                "The result is 4, but should be 6.",
            ],
        )

    def test_of_one_element_only_what_holds_it_and_what_that_is_joined_with(self):
        told = self.shown(followed(1), 1)
        self.assertIn("     └─ 2   element 1, read in line 10, thread 1", told)
        self.assertNotIn("lost:", told)
        with self.assertRaisesRegex(KitError, "--element 3: there are 3 elements, counted from 0"):
            followed(3)

    def test_elements_that_no_thread_reads(self):
        self.assertIn("No thread reads elements 1, 2.", self.shown(followed(unread=[1, 2])))

    def test_what_cannot_be_followed(self):
        with self.assertRaisesRegex(KitError, "cannot be followed on 3 elements"):
            followed(complete=False)
        with self.assertRaisesRegex(KitError, "does not come to an end: the launch failed"):
            followed(error="the launch failed")

    def test_a_chain_that_is_too_long_to_be_shown(self):
        chain = [node(3, elements=(0,)), *(node(number, of=(number - 1,)) for number in range(4, 1500))]
        with self.assertRaisesRegex(KitError, "made in 1497 steps one after another, 100 at most"):
            followed(nodes=chain, result=1499)

    def test_minima_and_other_operations_are_told_as_such(self):
        made = followed(joined_by="max")
        self.assertEqual(tree.in_words(made, made.nodes[6]), "3 = max(1, 2)")
        made.nodes[6].wrong = ["this is sub.f32"]
        self.assertEqual(tree.in_words(made, made.nodes[6]), "3")

    def test_the_picture_marks_what_is_wrong_and_no_two_boxes_overlap(self):
        for with_words in True, False:
            drawn = tree.Drawing(followed(), with_words)
            self.assertEqual(len(set(zip(drawn.row.values(), drawn.column.values(), strict=True))), len(NODES))
            root = ElementTree.fromstring(drawn.svg(heading="how"))
            boxes = [each for each in root.iter() if each.tag.endswith("rect")]
            self.assertEqual(len(boxes), len(NODES))
            self.assertEqual(sum("wrong" in each.get("class") for each in boxes), 2)
            joins = [each.get("class") for each in root.iter() if each.tag.endswith("path")]
            self.assertEqual(sorted(joins), ["join", "join", "join wrong", "join wrong"])
            (told,) = (each.text for each in root.iter() if each.tag.endswith("desc"))
            self.assertIn("4: from here on, element 0 counts twice.", told)

    def test_the_page_is_whole(self):
        page = tree.page(followed())
        self.assertIn("<li>4 (line 21, thread 0): from here on, element 0 counts twice.</li>", page)
        self.assertNotIn("http://", page.replace("http://www.w3.org/2000/svg", ""))


if __name__ == "__main__":
    unittest.main()
