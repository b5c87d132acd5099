"""Predictions in a notebook: entered before a rung is written, and shown beside the counts when it is."""

from html import escape

from . import clone
from .plots import Note
from .progress import Progress
from .theme import themed
from .verdict import LabError

STYLE = (
    "<style>\n.warpfold-predicted table { border-collapse: collapse; font-variant-numeric: tabular-nums; }\n"
    ".warpfold-predicted td, .warpfold-predicted th { text-align: right; padding: 0.2em 0.7em; }\n"
    ".warpfold-predicted td:first-child, .warpfold-predicted th:first-child, .warpfold-predicted td.words { text-align: left; }\n"
    ".warpfold-predicted p { margin: 0.3em 0; }\n"
    + themed(".warpfold-predicted .right", "color: #1a7f37", "color: #57d06f")
    + themed(".warpfold-predicted .close", "color: #7a6200", "color: #dfc84a")
    + themed(".warpfold-predicted .off", "color: #b3261e", "color: #ff8a80")
    + "</style>"
)


class Sides:
    """What was predicted and what was counted, one table for each prediction."""

    def __init__(self, both: list[tuple]):
        self.both = both  # (guess, what was counted or None)

    def __str__(self) -> str:
        from kit.ladder import guesses

        lines = []
        for guess, found in self.both:
            lines += [kept(guess)] if found is None else guesses.lines(guess, found, 100)
        return "\n".join(lines)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/plain": str(self), "text/html": self.html()}

    def html(self) -> str:
        from kit.ladder import guesses

        parts = [STYLE, '<div class="warpfold warpfold-predicted">']
        for guess, found in self.both:
            if found is None:
                parts.append(f"<p>{escape(kept(guess))}</p>")
                continue
            ratios = " (ratios)" if guess.over else ""
            compared = guesses.compare(guess, found)
            rows = "".join(f'<tr><td>{escape(each.label)}</td><td>{escape(each.guessed)}</td><td>{escape(each.counted)}</td>'
                           f'<td class="words {each.verdict}">{escape(each.words)}</td></tr>' for each in compared)  # fmt: skip
            head = '<tr><td></td><th scope="col">you</th><th scope="col">counted</th><td></td></tr>'
            parts.append(f"<p><strong>{escape(guess.where)}</strong>{ratios}</p><table>{head}{rows}</table>")
            parts += [f"<p><em>{escape(each.label)}</em>: {escape(each.think)}</p>" for each in compared if each.think]
        return "".join([*parts, "</div>"])


def kept(guess) -> str:
    return f"{guess.where}: recorded. lab.predicted() shows it beside the counts once the rung is right."


def predict(lab, rung: str, values: dict, over: str | None, n: int | None, rows: int | None, block: int | None) -> Sides | Note:
    """A value of None stands for a number that is still to be thought of."""
    from kit.ladder import guesses

    with clone.lab_errors():
        known = {guesses.counter_named(name): value for name, value in values.items()}
        given = {
            key: guesses.number(value) if isinstance(value, str) else float(value) for key, value in known.items() if value is not None
        }
    if not given:
        names = ", ".join(values) or "atomics, sectors, barriers"
        return Note(f"{rung}: put your numbers in place of None ({names}), and run the cell again.")
    guess = guesses.Guess(lab.name, rung, given, over or "", n, rows, block)
    names = lab.rungs()
    for name in [rung, *([over] if over else [])]:
        if name not in names:
            raise LabError(f"{lab.name} has no rung {name}. Its rungs: {', '.join(names)}")
    guesses.keep(guess)
    return sides(lab, [guess])


def predicted(lab) -> Sides | Note:
    """All predictions that were made of the lab."""
    from kit.ladder import guesses

    chosen = [guess for guess in guesses.kept() if guess.lab == lab.name]
    if not chosen:
        return Note(f"There are no predictions for {lab.name} yet: use lab.predict(...) above.")
    return sides(lab, chosen)


def sides(lab, chosen: list) -> Sides:
    from kit.ladder import guesses

    with Progress() as progress:
        found = clone.named(lab.name, lab.is_solved, progress)
        clone.build(found, progress)
        progress.show("counting what was predicted")
        with clone.lab_errors():
            return Sides([(guess, guesses.counted(found, guess)) for guess in chosen])
