"""Each rung of the course has its hints, in the handout; and `kit hint` gives one after the other."""

import re
import unittest
from pathlib import Path

import support
from kit.handouts import hints
from support import CloneCase

RUNG = re.compile(r"^\s*// BEGIN (\w+)$", re.MULTILINE)


def rungs() -> list[str]:
    files = [path for path in sorted((support.ROOT / "labs").glob("*/*")) if path.suffix in (".cu", ".cl")]
    return list(dict.fromkeys(name for path in files for name in RUNG.findall(path.read_text())))


class Hints(unittest.TestCase):
    def test_each_rung_has_three_and_there_are_no_others(self):
        found = hints.of_course()
        self.assertGreater(len(found), 40)
        self.assertEqual(sorted(found), sorted(rungs()))
        self.assertEqual({name: len(given) for name, given in found.items() if len(given) != hints.LEVELS}, {})

    def test_none_is_empty_and_each_is_closed(self):
        for name, given in hints.of_course().items():
            for hint in given:
                self.assertTrue(hint.title and hints.plain(hint.text), name)
                self.assertNotIn("<details>", hint.text, f"{name}: {hint.title} is not closed")

    def test_no_hint_of_a_handout_is_overlooked(self):
        written = sum(path.read_text().count("<details><summary>Hint") for path in Path(support.ROOT / "docs" / "handouts").glob("*.md"))
        self.assertEqual(written, sum(map(len, hints.of_course().values())))

    def test_markdown_becomes_text(self):
        self.assertEqual(hints.plain("Read [there](x.md#y), `a +\nb`.\n\nMore.\n\n```\nif (x)\n  y;\n```"),
                         ["Read there, a + b.", "More.", "    if (x)", "      y;"])  # fmt: skip

    def test_each_statement_of_a_paragraph_gets_a_line(self):
        self.assertEqual(
            hints.plain("`int id; if (a) get(&id);`, `send(&id);`. Then `for (;;) { a; b; }` with `id` known, after `x;`."),
            ["    int id;", "    if (a) get(&id);", "    send(&id);", "Then", "    for (;;) { a; b; }", "with id known, after", "    x;"],
        )
        self.assertEqual(hints.plain("`y = x;`, where `x` is 1."), ["    y = x;", "where x is 1."])
        for name, given in hints.of_course().items():
            for hint in given:
                for line in hints.plain(hint.text):
                    self.assertNotRegex(line, r";\)?,\s|;\.\s*\S", f"{name}: {hint.title}")


class Command(CloneCase):
    only = (
        "common/kit",
        "common/classroom",
        "common/emulator/analysis/counted.def",
        "common/lab/states.def",
        "kit",
        "meson.build",
        "docs/handouts",
    )

    def test_the_same_command_again_says_more_and_at_the_end_all(self):
        titles = [hint.title for hint in hints.of_course()["sequential"]]
        for level, title in enumerate(titles, 1):
            told = self.kit("hint", "sequential" if level == 1 else "02_tree/sequential", COLUMNS="80").stdout
            self.assertIn(f"sequential, hint {level} of {len(titles)}: {title}\n", told)
            self.assertEqual(told.count(", hint "), 1)
            self.assertLessEqual(max(map(len, told.splitlines())), 80)
        told = self.kit("hint", "sequential").stdout
        self.assertEqual([title for title in titles if f": {title}\n" in told], titles)
        self.assertIn("hint 1 of 3", self.kit("hint", "many_pass").stdout)

    def test_a_level_can_be_asked_for(self):
        self.assertIn("hint 3 of 3", self.kit("hint", "sequential", "--level", "3").stdout)
        self.assertFails(self.kit("hint", "sequential", "--level", "4"), 2, "has 3 hints")

    def test_a_name_that_there_is_not_is_met_with_those_that_are_like_it(self):
        self.assertFails(self.kit("hint", "sequentail"), 2, "no rung is called 'sequentail'", "Did you mean", "sequential")
        self.assertFails(self.kit("hint", "zzz"), 2, "./kit status")


if __name__ == "__main__":
    unittest.main()
