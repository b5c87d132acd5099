"""Compiler messages, in the most helpful order: the student's own lines first, notes from headers last."""

import re

# nvcc: file(12): error: ..., file(12): error #20: ...; g++ and clang: file:12:3: error: ...
HEADING = re.compile(
    r"^(?P<file>[^\s:(]+)(?:\((?P<line>\d+)\)|:(?P<other>\d+)(?::\d+)?): (?:fatal )?(?P<kind>error|warning|note|remark|catastrophic error)\b"
)
CONTEXT = re.compile(r"^(In file included from|\s+from |\S+: In )")
OWN = re.compile(r"(^|/)(labs|solutions)/\d\d_")
TALLY = re.compile(r"^\d+ (errors?|warnings?) (detected|generated)|^Remark: ")


def ordered(said: str) -> str:
    """The messages with the errors in the student's file first, then other errors, warnings, notes; each stays whole."""
    blocks = split(as_typed(said))
    return "\n".join("\n".join(lines) for _, lines in sorted(blocks, key=lambda block: block[0]))


def warnings(said: str) -> str:
    """The warnings about the student's own file, each with the lines that belong to it."""
    told = ["\n".join(lines).rstrip() for rank, lines in split(as_typed(said)) if rank == RANKS["warning"] and OWN.search(lines[0])]
    return "\n".join(dict.fromkeys(told))  # a lab that is compiled for two compute capabilities gets each warning twice


def as_typed(said: str) -> str:
    """The text with the labs' files named as the student knows them, wherever the compiler ran."""
    return re.sub(r"[^\s\"'(]*/(labs|solutions)/(?=\d\d_)", r"\1/", said)


RANKS = {"error": 0, "catastrophic error": 0, "warning": 2, "note": 3, "remark": 4}


def split(said: str) -> list[tuple[int, list[str]]]:
    """Messages with their rank: 0 for an error in the student's file, 1 for another, then warnings, notes, and the rest."""
    blocks: list[tuple[int, list[str]]] = []
    waiting: list[str] = []  # says from where the message that follows was included
    for line in said.splitlines():
        if TALLY.match(line):
            blocks.append((5, [line]))
        elif found := HEADING.match(line):
            rank = RANKS[found["kind"]]
            if rank == 0 and not OWN.search(found["file"]):
                rank = 1
            blocks.append((rank, [*waiting, line]))
            waiting = []
        elif CONTEXT.match(line):
            waiting.append(line)
        elif blocks and blocks[-1][0] != 5:
            blocks[-1][1].append(line)
        elif line.strip():
            blocks.append((4, [line]))
    if waiting:
        blocks.append((4, waiting))
    return [(rank, without_blanks(lines)) for rank, lines in blocks]


def without_blanks(lines: list[str]) -> list[str]:
    while len(lines) > 1 and not lines[-1].strip():
        lines = lines[:-1]
    return lines
