"""The pages: one for each student, and one for the instructor. Each is a single file that loads nothing, works offline, and
runs no script; every text in it is escaped, and holds no character that acts on a terminal or reverses a line."""

import html
import re
from collections import Counter
from pathlib import Path
from urllib.parse import quote

from kit import counters, states

from ..collecting.collected import RefusedFile
from ..course.config import Course
from ..grading.grader import COSTS, spliced_with
from ..marking.marks import Mark, RungMark, rounded, to_look_at
from ..submission.archive import printable
from ..submission.regions import ELSEWHERE, NotALab, bare, take_apart
from .similar import HOW, Pair

# Letters have 4.5:1 on what is behind them, on a light page and on a dark one.
STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --ground: #fff; --faint: #5a646e; --rule: #d5d9dd; --panel: #f4f6f8; --link: #0b5cad }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --ground: #16191c; --faint: #a3adb7; --rule: #3a4148; --panel: #22272c; --link: #7db7f2 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); margin: 2rem auto; max-width: 62rem; padding: 0 1rem }
h1 { font-size: 1.5rem; margin: 0 0 .3rem } h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; border-bottom: 1px solid var(--rule) } h3 { font-size: 1rem; margin: 1.4rem 0 .2rem }
table { border-collapse: collapse; margin: .6rem 0 } th, td { text-align: left; padding: .2rem .7rem .2rem 0; vertical-align: top } th { color: var(--faint); font-weight: 500 } a { color: var(--link) }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums } pre { background: var(--panel); padding: .6rem .8rem; overflow-x: auto; font-size: .85rem; line-height: 1.4 }
pre mark { background: #ffe08a } .state { display: inline-block; border-radius: .3rem; padding: 0 .45rem; font-size: .85rem; white-space: nowrap }
.none { color: var(--faint) }
.note { color: var(--faint) } .scroll { overflow-x: auto } td.cell { text-align: center; min-width: 1.6rem; padding: .2rem .35rem } .grid th { vertical-align: bottom } .names { writing-mode: vertical-rl; transform: rotate(180deg); font-size: .8rem; white-space: nowrap }
.grid td:first-child { white-space: nowrap } .grid th.n { padding-left: .6rem } .long td { overflow-wrap: anywhere } .long td:first-child, .long td:nth-child(2) { white-space: nowrap } .long p { margin: 0 } summary { cursor: pointer } details pre { margin: .3rem 0 }
@media (max-width: 40rem) { body { margin: 1rem auto } .long tr, .long td { display: block } .long td:first-child { font-weight: 600; margin-top: .6rem } }
@media (prefers-color-scheme: dark) { pre mark { background: #7a5c00; color: inherit } }
"""

LEAST_SHARE = 0.6  # of two texts' code, for a pair to be listed

# The background of a state's name, by the colour in the table of states, on a light page and on a dark one.
BEHIND = {"green": ("#d5f0dc", "#1d4a2b"), "red": ("#fbd9d5", "#6a2620"), "yellow": ("#fdeecb", "#5b4716"), "grey": ("#e7eaed", "#31373d")}


def colours() -> str:
    def rules(which: int) -> str:
        return " ".join(f".{state.name} {{ background: {BEHIND[state.colour][which]} }}" for state in states.STATES)

    return f"{rules(0)}\n@media (prefers-color-scheme: dark) {{ {rules(1)} }}\n"


def escape(text: str) -> str:
    return html.escape(printable(text))


def write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def page(title: str, body: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{STYLE}{colours()}</style></head><body><main>\n{body}\n</main></body></html>\n"
    )


def points(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def badge(state: str) -> str:
    return f'<span class="state {escape(state)}">{escape(state)}</span>'


# ---- a student's page


def feedback(course: Course, marks: list[Mark], sources: dict[str, str]) -> str:
    """`sources`: by lab, the file as it was compiled."""
    student = marks[0].student
    parts = [f"<h1>{escape(course.title)}</h1><p>{escape(student.name)} ({escape(student.id)})</p>"]
    of_any = list(dict.fromkeys(mark.why for mark in marks if could_be_any(mark)))
    parts += [f"<p>What was handed in could not be read, so none of it was graded: {escape(why)}</p>" for why in of_any]
    rows = "".join(
        f'<tr><td>{to_section(mark.lab) if mark.handed_in else escape(mark.lab)}</td><td class="n">{points(mark.points)}</td><td class="n">{points(mark.most)}</td>'
        f"<td>{'nothing that could be read' if could_be_any(mark) else escape(mark.why)}</td></tr>"
        for mark in marks
    )
    whole = [mark.points for mark in marks if mark.points is not None]
    if len(whole) == len(marks) > 1:
        rows += f'<tr><th>all labs</th><td class="n">{points(rounded(sum(whole)))}</td><td class="n">{points(sum(mark.most for mark in marks))}</td><td></td></tr>'
    parts.append(f'<table><tr><th>lab</th><th class="n">points</th><th class="n">of</th><td></td></tr>{rows}</table>')
    parts += [lab_section(mark, sources.get(mark.lab, "").split("\n")) for mark in marks if mark.handed_in]
    parts.append(
        "<h2>The states</h2><table>"
        + "".join(f"<tr><td>{badge(each.name)}</td><td>{escape(each.meaning)}</td></tr>" for each in states.STATES)
        + "</table>"
    )
    return page(f"{course.title}: {student.name}", "\n".join(parts))


def could_be_any(mark: Mark) -> bool:
    """Whether what could not be read may have been for this lab or for any other."""
    return mark.state == "refused" and not mark.handed_in


def to_section(lab: str) -> str:
    return f'<a href="#{escape(lab)}">{escape(lab)}</a>'


def lab_section(mark: Mark, source: list[str]) -> str:
    parts = [f'<h2 id="{escape(mark.lab)}">{escape(mark.lab)}: {points(mark.points)} of {points(mark.most)}</h2>']
    if mark.days_late:
        parts.append(f'<p class="note">{mark.days_late} day(s) late: the points are multiplied by {mark.factor:g}.</p>')
    if mark.unsafe:
        parts.append('<p class="note">Graded without a sandbox.</p>')
    parts += [f"<p>{escape(comment)}</p>" for comment in mark.comments]
    if mark.state == "not graded":
        parts.append(f"<p>Not graded: {escape(mark.why)}</p>")
    elif mark.state == "refused":
        parts.append(f"<p>What was handed in could not be read, so none of it was graded: {escape(mark.why)}</p>")
    elif mark.state == "by hand":
        parts.append("<p>Marked by hand.</p>" if mark.points is not None else "<p>This lab is marked by hand; there are no points yet.</p>")
    elif mark.rungs:
        rows = "".join(
            f'<tr><td>{escape(rung.name)}</td><td>{badge(rung.state)}</td><td class="n">{points(rung.points)}{" (by hand)" if rung.by_hand else ""}</td><td class="n">{points(rung.most)}</td></tr>'
            for rung in mark.rungs
        )
        parts.append(f'<table><tr><th>rung</th><th>state</th><th class="n">points</th><th class="n">of</th></tr>{rows}</table>')
        parts.append(times(mark.rungs))
        parts += [rung_section(rung, source) for rung in mark.rungs if rung.state not in ("pass", "todo")]
    return "\n".join(parts)


def times(rungs: list[RungMark]) -> str:
    """Measured while grading, if that was done on a GPU."""
    of_gpu = [(rung, rung.detail["gpu"]) for rung in rungs if rung.detail.get("gpu")]
    timed = [(rung, gpu["time"], gpu["device"]) for rung, gpu in of_gpu if gpu["time"]]
    if not timed:
        return ""
    listed = "; ".join(f"{rung.name} {time['median_us']:.1f} us for {time['n']:,} elements" for rung, time, _ in timed)
    return f'<p class="note">Times on the GPU ({escape(timed[0][2])}), which decide nothing: {escape(listed)}.</p>'


def rung_section(rung: RungMark, source: list[str]) -> str:
    parts = [f"<h3>{escape(rung.name)} {badge(rung.state)}</h3>", f"<p>{escape(rung.reason)}</p>"]
    if text := rung.detail.get("diagnosis", {}).get("text"):
        parts.append(f"<p>{escape(text)}</p>")
    explained = set()
    for hazard in rung.detail.get("hazards", []):
        if (hazard["kind"], hazard["line"]) in explained or len(explained) == 4:
            continue
        explained.add((hazard["kind"], hazard["line"]))
        parts.append(hazard_section(hazard, source))
    parts.append(busiest_lines(rung.detail.get("busiest", {}), source))
    return "\n".join(parts)


def busiest_lines(found: dict, source: list[str]) -> str:
    """The profile of the lines that do most, with the counters that are not 0 everywhere."""
    lines = found.get("lines", {})
    keys = [key for key in COSTS if any(counted.get(key) for counted in lines.values())]
    if not keys:
        return ""
    heading = "".join(f'<th class="n">{escape(counters.CATALOGUE[key].label)}</th>' for key in keys)
    rows = "".join(
        f'<tr><td class="n">{int(number)}</td><td><code>{escape(source[int(number) - 1].strip()) if int(number) <= len(source) else ""}</code></td>'
        + "".join(f'<td class="n">{counted.get(key, 0):,}</td>' for key in keys)
        + "</tr>"
        for number, counted in sorted(lines.items(), key=lambda item: int(item[0]))
    )
    said = f"The lines that do most, with what the emulator counted for {found['n']:,} elements:"
    return f'<p>{said}</p><div class="scroll" tabindex="0"><table><tr><th class="n">line</th><td></td>{heading}</tr>{rows}</table></div>'


def hazard_section(hazard: dict, source: list[str]) -> str:
    parts = [f"<p><b>{escape(hazard['kind'])}</b>: {escape(hazard['message'])}</p>"]
    lines = [
        hazard[key]
        for key, file in (("line", "file"), ("other_line", "other_file"))
        if hazard.get(key) and Path(hazard.get(file, "")).suffix == ".cu"
    ]
    parts += [excerpt(source, line) for line in dict.fromkeys(lines)]
    if hazard.get("launch"):
        parts.append(f"<p>In: <code>{escape(hazard['launch'])}</code></p>")
    if hazard.get("why"):
        parts.append(f"<p>Why: {escape(hazard['why'])}<br>Try: {escape(hazard.get('advice', ''))}</p>")
    if hazard.get("read"):
        parts.append(f'<p class="note">Read: {escape(hazard["read"])}</p>')
    return "\n".join(parts)


def excerpt(source: list[str], line: int, around: int = 3) -> str:
    if not 1 <= line <= len(source):
        return ""
    shown = []
    for number in range(max(1, line - around), min(len(source), line + around) + 1):
        text = escape(f"{number:4}  {source[number - 1]}")
        shown.append(f"<mark>{text}</mark>" if number == line else text)
    return '<pre tabindex="0">' + "\n".join(shown) + "</pre>"


# ---- the instructor's page


def overview(
    course: Course,
    marks: list[Mark],
    texts: dict[tuple[str, str], str],
    pairs: list[Pair] | None = None,
    files: list[RefusedFile] | None = None,
) -> str:
    """`pairs`: what compare50 found; None if it was not asked. `files`: those that collect refused."""
    parts = [f"<h1>{escape(course.title)}</h1>", f"<p class=note>{len({mark.student.id for mark in marks})} students</p>"]
    nobody = []
    for lab in dict.fromkeys(mark.lab for mark in marks):
        of = [mark for mark in marks if mark.lab == lab]
        if not any(mark.handed_in for mark in of):
            nobody.append((lab, of))
        else:
            parts += [f"<h2>{escape(lab)}</h2>", grid(of), mistakes(of)]
    parts += [
        not_handed_in(nobody),
        alike(texts),
        built_alike(pairs),
        listing("Flagged", [*of_files(files, claims=True), *((mark.student.id, mark.lab, flag) for mark in marks for flag in mark.flags)]),
        listing("Refused, to look at: 0 points so far", of_files(to_look_at(marks, files or []))),
        listing("Not graded", [(mark.student.id, mark.lab, mark.why) for mark in marks if mark.state == "not graded"]),
    ]
    by_hand = [
        (mark.student.id, mark.lab, f"{points(mark.machine)} by the machine, {points(mark.points)} by hand: {'; '.join(mark.comments)}")
        for mark in marks
        if mark.machine != mark.points or mark.comments
    ]
    parts.append(listing("Decided by hand", by_hand))
    return page(f"{course.title}: the class", "\n".join(parts))


def of_files(files: list[RefusedFile] | None, claims: bool = False) -> list[tuple[str, str, str]]:
    return [(each.student, each.lab, each.listed) for each in files or [] if not claims or each.kind == "claim"]


def not_handed_in(labs: list[tuple[str, list[Mark]]]) -> str:
    """The labs that nobody has handed in, folded: marks by hand may stand in them all the same."""
    if not labs:
        return ""
    names = ", ".join(escape(lab) for lab, _ in labs)
    grids = "".join(f"<h3>{escape(lab)}</h3>{grid(of)}" for lab, of in labs)
    return f"<h2>Handed in by nobody</h2><details><summary>{names}</summary>{grids}</details>"


def grid(marks: list[Mark]) -> str:
    """A table of students and rungs."""
    rungs = next(([rung.name for rung in mark.rungs] for mark in marks if mark.rungs), [])
    head = "".join(f'<th class="names">{escape(name)}</th>' for name in rungs)
    students = Counter(mark.student.name for mark in marks)
    rows = []
    for mark in marks:
        of = {rung.name: rung for rung in mark.rungs}
        who = mark.student.name if students[mark.student.name] == 1 else f"{mark.student.name} ({mark.student.id})"
        cells = "".join(
            f'<td class="cell {escape(of[name].state)}" title="{escape(": ".join(filter(None, (of[name].state, of[name].reason))))}">{points(of[name].points)}</td>'
            if name in of
            else '<td class="cell none">·</td>'
            for name in rungs
        )
        note = mark.why or (f"{mark.days_late} d late" if mark.days_late else "")
        link = f'<a href="feedback/{quote(mark.student.id)}.html#{escape(mark.lab)}">{escape(who)}</a>'
        rows.append(f'<tr><td>{link}</td>{cells}<td class="n">{points(mark.points)}</td><td class="note">{escape(note)}</td></tr>')
    return f'<div class="scroll" tabindex="0"><table class="grid"><tr><th>student</th>{head}<th class="n">points</th><td></td></tr>{"".join(rows)}</table></div>'


def mistakes(marks: list[Mark]) -> str:
    """The most frequent mistakes, so that the next lecture can discuss them."""
    counted: Counter[str] = Counter()
    for mark in marks:
        made = set()
        for rung in mark.rungs:
            made |= {f"{rung.name}: {kind}" for kind in kinds(rung)}
        counted.update(made)
    if not counted:
        return ""
    rows = "".join(f'<tr><td class="n">{count}</td><td>{escape(what)}</td></tr>' for what, count in counted.most_common(12))
    return f'<h3>Most frequent mistakes</h3><table><tr><th class="n">students</th><th>rung and mistake</th></tr>{rows}</table>'


def kinds(rung: RungMark) -> set[str]:
    if rung.state in ("pass", "todo", "skip"):
        return set()
    found = {hazard["kind"] for hazard in rung.detail.get("hazards", [])}
    if kind := rung.detail.get("diagnosis", {}).get("kind"):
        found.add(kind)
    if rung.reason.startswith("does not compile"):
        found.add("does not compile")
    if rung.state == "off-technique":
        found.add("off technique: " + re.sub(r"\d(?:[\d.,]*\d)?", "#", rung.reason)[:120])
    return found or {rung.state}


def listing(title: str, lines: list[tuple[str, str, str]]) -> str:
    """One row for each student and lab ("": it is not known which)."""
    if not lines:
        return ""
    texts: dict[tuple[str, str], list[str]] = {}
    for student, lab, text in lines:
        texts.setdefault((student, lab), []).append(text)
    rows = "".join(
        f"<tr><td>{escape(student)}</td><td>{escape(lab)}</td><td>{folded(of)}</td></tr>" for (student, lab), of in texts.items()
    )
    return f'<h2>{escape(title)}</h2><table class="long">{rows}</table>'


def folded(texts: list[str]) -> str:
    """Edits outside the regions are folded: a student who sends less than the whole file has many."""
    elsewhere = [text.removeprefix(ELSEWHERE) for text in texts if text.startswith(ELSEWHERE)]
    parts = [f"<p>{escape(text)}</p>" for text in texts if not text.startswith(ELSEWHERE)]
    if elsewhere:
        parts.append(
            f"<details><summary>{escape(ELSEWHERE.rstrip(': '))} ({len(elsewhere)})</summary><pre tabindex='0'>{escape(chr(10).join(elsewhere))}</pre></details>"
        )
    return "".join(parts)


def alike(texts: dict[tuple[str, str], str]) -> str:
    """Regions that are identical except for comments and white space, if they are long enough not to be so by chance."""
    shared: dict[tuple[str, str], set[str]] = {}
    for (student, lab), text in texts.items():
        try:
            parts = take_apart(text)
        except NotALab:
            continue
        rungs: dict[str, str] = {}
        for rung, lines in parts.regions:
            rungs[rung] = rungs.get(rung, "") + re.sub(r"\s+", "", bare("\n".join(lines), ""))
        for rung, code in rungs.items():
            if len(code) >= 160:
                shared.setdefault((f"{lab} {rung}", code), set()).add(student)
    groups = sorted((where, sorted(students)) for (where, _), students in shared.items() if len(students) > 1)
    if not groups:
        return ""
    rows = "".join(f"<tr><td>{escape(where)}</td><td>{escape(', '.join(students))}</td></tr>" for where, students in groups)
    return f'<h2>Looks alike</h2><p class="note">The same code except for comments and white space. Short code is often the same by chance, and so is code from a lecture.</p><table>{rows}</table>'


def built_alike(pairs: list[Pair] | None) -> str:
    """compare50's pairs."""
    if pairs is None:
        return f'<p class="note">compare50, which also finds code that was copied and then renamed, is not installed: <code>{escape(HOW)}</code> installs it.</p>'
    said = (
        "By compare50: pairs whose regions are built alike, names, numbers and comments aside; code of the stub does not count. The share is that "
        "of the code of the one that has more in common. Short kernels are often built alike by chance, so a pair is a reason to look and no more."
    )
    rows = "".join(
        f'<tr><td>{escape(pair.lab)}</td><td>{escape(" and ".join(pair.students))}</td><td class="n">{100 * pair.share:.0f} %</td><td class="n">{pair.score:.0f}</td></tr>'
        for pair in pairs
        if pair.share >= LEAST_SHARE
    )
    if not rows:
        return f'<h2>Built alike</h2><p class="note">{said}</p><p>No pair has {100 * LEAST_SHARE:.0f} % or more in common.</p>'
    heading = '<tr><th>lab</th><th>students</th><th class="n">share</th><th class="n">score</th></tr>'
    return f'<h2>Built alike</h2><p class="note">{said}</p><table>{heading}{rows}</table>'


def compiled_source(lab, text: str) -> str:
    """The file to which the line numbers of a verdict refer."""
    try:
        return spliced_with(lab, text).text
    except NotALab:
        return text
