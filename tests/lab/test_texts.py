"""Each sentence that a diagnosis may hold has a case in which it is said: a test of the library, or an attempt that `says` it."""

import re
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "attempts"))

import corpus  # noqa: E402

EXPLAIN = ROOT / "common" / "lab" / "explain"
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
FEWEST_WORDS = 4  # of a part of a sentence: "the sum of" and the like are in many


def literals(text: str) -> list[str]:
    """The string literals, of which those that follow each other are one; without those of comments and of errors."""
    code = re.sub(r"throw\b[^;]*;", "", re.sub(r"(?m)\s*//.*$", "", text))
    return LITERAL.findall(re.sub(r'"\s*\n\s*"', "", code))


def parts(literal: str) -> list[str]:
    """Between what is filled in, where they are long enough to be recognised."""
    found = [part.strip(" ,.:;'()") for part in re.split(r"\{[^}]*\}", literal)]
    return [part for part in found if len(part.split()) >= FEWEST_WORDS]


def said_in_tests() -> str:
    said = []
    for path in sorted(HERE.rglob("*.cpp")):
        said += literals(path.read_text())
    for path in [*HERE.glob("test_*.py"), *(HERE.parent / "mutants").glob("*.py")]:
        if path != Path(__file__).resolve():
            said += literals(path.read_text())
    for path in sorted((HERE.parent / "attempts").glob("*.txt")):
        for attempt in corpus.read(path):
            said += attempt.says
    return "\n".join(said)


class Texts(unittest.TestCase):
    def test_each_sentence_has_a_case(self):
        said = said_in_tests().lower()  # one that begins a sentence has a capital
        count = 0
        for path in sorted(EXPLAIN.glob("*.cpp")):
            for literal in literals(path.read_text()):
                if found := parts(literal):
                    count += 1
                    with self.subTest(file=path.name, text=literal):
                        self.assertTrue(any(part.lower() in said for part in found), "no test and no attempt says it")
        self.assertGreater(count, 80)


if __name__ == "__main__":
    unittest.main()
