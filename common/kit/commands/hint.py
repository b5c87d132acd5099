"""`kit hint RUNG`: the handout's hints for a rung, one at a time: the same command again gives the next."""

from difflib import get_close_matches

from ..console import fill, paint
from ..errors import USAGE, KitError
from ..handouts import hints

PURPOSE = "give a hint for a rung; repeated, a stronger one"
GROUP = "learn"
ORDER = 42


def arguments(parser) -> None:
    parser.add_argument("rung", metavar="RUNG", help="the rung, such as sequential or 02_tree/sequential")
    parser.add_argument(
        "--level", type=int, metavar="K", help="give the hint of this level, counted from 1, and continue from there next time"
    )


def run(options) -> int:
    known = hints.of_course()
    rung = options.rung.rstrip("/").rpartition("/")[2]
    if rung not in known:
        similar = get_close_matches(rung, known, 3, 0.5) or [name for name in known if rung and rung in name][:3]
        advice = f"Did you mean {' or '.join(similar)}? ./kit status lists the rungs."
        raise KitError(f"no rung is called '{rung}'", advice if similar else "./kit status lists the rungs.", USAGE)
    given = known[rung]
    if options.level is not None and not 1 <= options.level <= len(given):
        raise KitError(f"--level {options.level}: {rung} has {len(given)} hints, counted from 1", code=USAGE)
    level = options.level or hints.seen(rung) + 1
    if level > len(given):
        for index in range(1, len(given) + 1):
            show(rung, given, index)
        print(paint(fill("That was the last hint. The handout says more: ./kit notebook, or docs/handouts."), "grey"))
        return 0
    show(rung, given, level)
    hints.note(rung, level)
    if level < len(given):
        print(paint(fill(f"The next one says more: ./kit hint {rung}"), "grey"))
    return 0


def show(rung: str, given: list[hints.Hint], level: int) -> None:
    hint = given[level - 1]
    print(fill(f"{paint(rung, 'bold')}, hint {level} of {len(given)}: {hint.title}"))
    for paragraph in hints.plain(hint.text):
        if paragraph.startswith("    "):
            print(paragraph)
        else:
            print(fill(paragraph, "  "))
    print()
