"""The catalogues of hazards and counters, and the pages that tell of them, say the same."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WATCH = ROOT / "common/emulator/analysis"
PAGE = ROOT / "docs/reference/report.md"


def rows(catalogue: str) -> list[tuple[str, list[str], str]]:
    """(macro, texts in quotes, the row) of each row; the first text is the first argument, which has no quotes."""
    found = []
    for line in (WATCH / catalogue).read_text().splitlines():
        if match := re.match(r"([A-Z_]+)\((\w+), (.*)\)$", line):
            found.append((match[1], [match[2], *re.findall(r'"((?:[^"\\]|\\.)*)"', match[3])], line))
        elif line and not line.startswith("//"):
            raise AssertionError(f"{catalogue}: not a row in one line: {line}")
    return found


def section(heading: str) -> list[list[str]]:
    """The cells of the tables below a heading of the page."""
    text = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line.startswith("| `")]
    assert table, heading
    return table


def anchors(handout: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", handout.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


class Hazards(unittest.TestCase):
    kinds = {texts[1]: texts[2] for macro, texts, _ in rows("hazards.def") if macro == "HAZARD_KIND"}

    def test_page_lists_each_kind(self):
        self.assertEqual([cells[0].strip("`") for cells in section("Hazards")], list(self.kinds))

    def test_page_links_to_the_section_that_the_report_names(self):
        for kind, _, links in section("Hazards"):
            self.assertIn(f"(../handouts/{self.kinds[kind.strip('`')]})", links, kind)

    def test_sections_exist(self):
        for kind, read in self.kinds.items():
            file, _, anchor = read.partition("#")
            self.assertIn(anchor, anchors(ROOT / "docs/handouts" / file), kind)

    def test_each_cause_says_why_and_what_to_try(self):
        for macro, texts, row in rows("hazards.def"):
            if macro == "HAZARD_CAUSE":
                self.assertEqual(len(texts), 3, row)
                for sentence in texts[1:]:
                    self.assertRegex(sentence, r"^[A-Z_].*[.;?)]$", row)

    def test_each_cause_is_used(self):
        """One that nothing names is a hazard that has gone, or was never found."""
        code = "".join(path.read_text() for path in (ROOT / "common/emulator").rglob("*.?pp"))
        for macro, texts, _ in rows("hazards.def"):
            kind = "HazardKind" if macro == "HAZARD_KIND" else "HazardCause"
            self.assertIsNotNone(re.search(rf"\b{kind}::{texts[0]}\b", code), texts[0])


class Counters(unittest.TestCase):
    rows = rows("counted.def")

    def test_page_lists_each_counter_and_ratio(self):
        named = [key for cells in section("Counters") for key in re.findall(r"`(\w+)`", cells[0])]
        self.assertEqual(len(named), len(set(named)))
        self.assertEqual(set(named), {texts[0] for _, texts, _ in self.rows})

    def test_rows_are_complete(self):
        for macro, texts, row in self.rows:
            key, label, unit = texts[:3]
            self.assertTrue(label and unit and texts[-1], row)
            self.assertEqual(len(texts), 4 if macro == "RATIO" else 5, row)
            self.assertEqual([text[0] for _, text, _ in self.rows].count(key), 1, row)

    def test_each_is_counted(self):
        """Or it would be 0 for ever, and nothing would say so."""
        code = (WATCH / "counters.cpp").read_text()
        for macro, texts, _ in self.rows:
            if macro == "COUNTED":
                self.assertRegex(code, rf"\bto\.{texts[0]}\b", "counters.cpp does not count it")

    def test_ratios_are_of_counters(self):
        counted = {texts[0] for macro, texts, _ in self.rows if macro == "COUNTED"}
        for macro, _, row in self.rows:
            if macro == "RATIO":
                formula = row.rpartition('", ')[2].removesuffix(")")
                self.assertEqual(formula.count(","), 1, row)
                self.assertLessEqual(set(re.findall(r"[a-z_]+", formula)), counted, row)

    def test_metrics_are_nsight_computes(self):
        for macro, texts, row in self.rows:
            if macro == "COUNTED" and texts[3]:
                for metric in texts[3].split(" + "):
                    self.assertRegex(metric, r"^(smsp|l1tex|lts|sm|dram)__\w+\.(sum|avg|ratio)$", row)


if __name__ == "__main__":
    unittest.main()
