"""The regions of a lab's file, between `// BEGIN rung` and `// END rung`: takes them out of a submission and puts them into the
pristine file. Nothing else in a submission is ever compiled."""

import difflib
import re
from dataclasses import dataclass, field

from .archive import shown

MARKER = re.compile(r"^[ \t]*// (BEGIN|END) (\S+)[ \t]*$")
LARGEST = 512 * 1024  # bytes of a submitted file
MOST_FLAGS = 20  # of one kind, for one file


class NotALab(ValueError):
    """The text cannot be taken apart; the message says why."""


@dataclass
class Parts:
    """A file, taken apart: outside[0], region[0], outside[1], region[1], ... outside[n]. Marker lines belong outside."""

    outside: list[list[str]] = field(default_factory=lambda: [[]])
    regions: list[tuple[str, list[str]]] = field(default_factory=list)

    def keys(self) -> list[tuple[str, int]]:
        """For each region, its rung and which of that rung's regions it is."""
        seen: dict[str, int] = {}
        keys = []
        for rung, _ in self.regions:
            keys.append((rung, seen.get(rung, 0)))
            seen[rung] = seen.get(rung, 0) + 1
        return keys


def clean(data: bytes) -> str:
    """The text of a submitted file, with line ends normalised."""
    if len(data) > LARGEST:
        raise NotALab(f"larger than {LARGEST // 1024} KiB")
    if b"\0" in data:
        raise NotALab("not a text file")
    text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def take_apart(text: str) -> Parts:
    parts = Parts()
    open_rung, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        marker = MARKER.match(line)
        if marker and marker[1] == "BEGIN":
            if open_rung:
                raise NotALab(
                    f'line {number}: "BEGIN {shown(marker[2])}" inside the region of {shown(open_rung)}, which starts at line {first}'
                )
            open_rung, first = marker[2], number
            parts.outside[-1].append(line)
            parts.regions.append((open_rung, []))
        elif marker:
            if marker[2] != open_rung:
                rung = shown(marker[2])
                raise NotALab(f'line {number}: "END {rung}" without the line "// BEGIN {rung}" before it')
            open_rung = ""
            parts.outside.append([line])
        elif open_rung:
            parts.regions[-1][1].append(line)
        else:
            parts.outside[-1].append(line)
    if open_rung:
        raise NotALab(f"the region of {shown(open_rung)}, which starts at line {first}, has no end")
    return parts


@dataclass
class Spliced:
    text: str
    flags: list[str]  # what an instructor may want to look at
    untouched: set[str]  # rungs all of whose regions are unchanged


def splice(pristine: str, submitted: str) -> Spliced:
    """The pristine file with the submission's regions. Raises NotALab."""
    ours, theirs = take_apart(pristine), take_apart(submitted)
    given = dict(zip(theirs.keys(), (lines for _, lines in theirs.regions), strict=False))
    flags = []
    lines: list[str] = list(ours.outside[0])
    touched: set[str] = set()
    for index, (key, (rung, stub)) in enumerate(zip(ours.keys(), ours.regions, strict=False)):
        region = given.pop(key, None)
        if region is None:
            flags.append(f"the markers of {rung} (region {key[1] + 1}) are gone: the region counts as unchanged")
            region = stub
        if normal(region) != normal(stub):
            touched.add(rung)
            flags += suspicions(rung, region)
        lines += region + ours.outside[index + 1]
    flags += first_of([f"a region that the lab does not have: {shown(rung)} ({number + 1})" for rung, number in given])
    flags += edits_elsewhere(ours, theirs)
    return Spliced("\n".join(lines), flags, {rung for rung, _ in ours.regions} - touched)


def normal(lines: list[str]) -> list[str]:
    return [line.rstrip() for line in lines if line.strip()]


ELSEWHERE = "outside the regions, not run: "  # how a flag for such a line begins


def edits_elsewhere(ours: Parts, theirs: Parts) -> list[str]:
    """Lines outside the regions that differ. They are shown but not run."""
    mine = normal([line for part in ours.outside for line in part])
    other = normal([line for part in theirs.outside for line in part])
    changed = [line for line in difflib.unified_diff(mine, other, n=0, lineterm="") if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return first_of([ELSEWHERE + line[:200] for line in changed], ELSEWHERE)


def first_of(flags: list[str], kind: str = "") -> list[str]:
    return flags[:MOST_FLAGS] + ([f"{kind}and {len(flags) - MOST_FLAGS} more"] if len(flags) > MOST_FLAGS else [])


# Each alternative takes what has no end as well, up to the end of the line or of the text: a pattern that failed there would search again
# from every place that looks like a beginning. An apostrophe between digits separates them.
COMMENTS_AND_STRINGS = re.compile(r'//[^\n]*|/\*.*?\*/|(?P<open>/\*.*)|"(?:\\.|[^"\\\n])*"?|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])*\'?', re.S)


def bare(text: str, instead: str = " ") -> str:
    """A text without its comments and strings. A comment that does not end stays visible as "/*"."""
    return COMMENTS_AND_STRINGS.sub(lambda found: "/*" if found["open"] else instead, text)


SUSPICIOUS = [
    (
        r"^[ \t]*(#|%:)[ \t]*(\d|(include|include_next|import|embed|define|undef|line|error|warning|pragma(?![ \t]+(no)?unroll\b))\b)"
        r"|\b_Pragma[ \t]*\([ \t]*\"(?![ \t]*(no)?unroll\b)",
        "a preprocessor directive",
    ),
    (r"\basm\b|\b__asm", "inline assembly"),
    (r"__attribute__[ \t]*\(\([^)]{0,200}?(constructor|section|alias)", "an attribute that has effects outside the region"),
    (
        r"\b(system|popen|fork|execv\w*|ptrace|dlopen|dlsym|mmap|mprotect|syscall|_exit|getenv|setenv|socket)[ \t]*\(",
        "a call to the operating system",
    ),
    (r"/proc/|LD_PRELOAD|WARPFOLD_", "a name that a kernel has no use for"),
    (r"\b(cub|thrust)::", "a library's reduction"),
]


def suspicions(rung: str, region: list[str]) -> list[str]:
    """What is unusual in a region. It decides nothing; it tells an instructor where to look first."""
    text = "\n".join(region)
    code = bare(text)
    # A directive may follow a comment, and any word may be split over two lines.
    compiled = bare(text.replace("\\\n", ""))
    found = [f"{rung}: {what}" for pattern, what in SUSPICIOUS if any(re.search(pattern, each, re.M) for each in (text, compiled))]
    depth = 0
    for character in code:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth < 0:
            break
    if depth != 0:
        found.append(f"{rung}: the region's braces do not match, so it reaches outside")
    if "/*" in code or re.search(r"\\\n?$", text):
        found.append(f"{rung}: a comment or a line that continues outside the region")
    return found
