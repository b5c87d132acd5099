"""Compiler messages, in the most helpful order: the student's own lines first, notes from headers last."""

import re

# nvcc: file(12): error: ..., file(12): error #20: ...; g++ and clang: file:12:3: error: ...
HEADING = re.compile(
    r"^(?P<file>[^\s:(]+)(?:\((?P<line>\d+)\)|:(?P<other>\d+)(?::\d+)?): (?:fatal )?(?P<kind>error|warning|note|remark|catastrophic error)\b"
)
CONTEXT = re.compile(r"^(In file included from|\s+from |\S+: In )")
OWN = re.compile(r"(^|/)(labs|solutions)/\d\d_")
TALLY = re.compile(r"^\d+ (errors?|warnings?) (detected|generated)|^Remark: ")


OF_INSTANCE = re.compile(r"^ +(detected during|instantiation of|argument types are|\[ \d+ instantiation)")  # the rest has the caret
CANDIDATE = re.compile(r'note #332\d-D: .*?function (?:template )?"(?P<call>.+?)"(?: \(declared .*\))? (?:does not match|\[?with)')
ATTRIBUTE = re.compile(r"__attribute__\(\((global|device|host|shared|constant)\)\)")
MOST_CANDIDATES = 3
MOST_OF_HEADERS = 3


def ordered(said: str) -> str:
    """The messages with the errors in the student's file first, then other errors, warnings, notes; each stays whole."""
    blocks = [(rank, as_written(lines)) for rank, lines in short_candidates(without_repetition(split(as_typed(said))))]
    return "\n".join("\n".join(lines) for _, lines in sorted(blocks, key=lambda block: block[0]))


def of_lab(said: str) -> str:
    """The same for a student, to whom many errors in headers say no more than the first ones."""
    blocks = split(said)
    in_headers = [block for block in blocks if block[0] == 1]
    kept = [block for block in blocks if block[0] != 1 or block in in_headers[:MOST_OF_HEADERS]]
    left_out = len(in_headers) - MOST_OF_HEADERS
    note = [f"({left_out} more errors in headers are left out)"] if left_out > 0 else []
    return "\n".join([*("\n".join(lines) for _, lines in kept), *note])


def without_repetition(blocks: list) -> list:
    """A template's error comes once for each of its instances, and a lab's for each compute capability."""
    first = {}
    for rank, lines in blocks:
        said = "\n".join(line for line in lines if not OF_INSTANCE.match(line))
        first.setdefault(said.rstrip(), (rank, lines))
    return list(first.values())


def short_candidates(blocks: list) -> list:
    """The notes on functions that a call does not match, as one line if there are many."""
    calls = [found["call"] for _, lines in blocks if (found := CANDIDATE.search(lines[0]))]
    if len(calls) <= MOST_CANDIDATES:
        return blocks
    left_out = len(calls) - MOST_CANDIDATES
    line = f"The call matches none of these: {'; '.join(calls[:MOST_CANDIDATES])}; and {left_out} more"
    return [block for block in blocks if not CANDIDATE.search(block[1][0])] + [(RANKS["note"], [line])]


def as_written(lines: list[str]) -> list[str]:
    """With __global__ as it stands in the student's file, and the caret below the same character."""
    written = list(lines)
    if not OWN.search(lines[0]):
        return written
    for index, line in enumerate(lines):
        for found in reversed(list(ATTRIBUTE.finditer(line))):
            name = f"__{found[1]}__"
            written[index] = written[index][: found.start()] + name + written[index][found.end() :]
            if index + 1 < len(lines) and lines[index + 1].strip() == "^" and lines[index + 1].index("^") >= found.end():
                written[index + 1] = written[index + 1][len(found[0]) - len(name) :]
    return written


def warnings(said: str) -> str:
    """The warnings about the student's own file, each with the lines that belong to it."""
    found = ["\n".join(lines).rstrip() for rank, lines in split(as_typed(said)) if rank == RANKS["warning"] and OWN.search(lines[0])]
    return "\n".join(dict.fromkeys(found))  # a lab that is compiled for two compute capabilities gets each warning twice


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
