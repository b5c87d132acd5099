"""A step in words: for screen readers, for the title of a still, and beside the picture."""

from ..console import wrap
from ..report import source_line
from .steps import LANES, Request, Step

ONE_DOES = {"load": "reads", "store": "writes", "atomic": "updates atomically"}
MANY_DO = {"load": "read", "store": "write", "atomic": "update atomically"}
MANY_ROUNDS = 4  # requests of one warp at one place from which one sentence describes them all


def runs(numbers: list[int]) -> str:
    """0, 2, 4, 6 is "0 to 6 by 2"; numbers without a pattern are listed."""
    parts = []
    numbers = list(numbers)
    while numbers:
        stride = numbers[1] - numbers[0] if len(numbers) > 1 else 0
        length = 1
        while length < len(numbers) and numbers[length] - numbers[length - 1] == stride:
            length += 1
        if length < 3 or stride == 0:
            parts.append(str(numbers.pop(0)))
            continue
        parts.append(f"{numbers[0]} to {numbers[length - 1]}" + (f" by {stride}" if stride != 1 else ""))
        numbers = numbers[length:]
    if len(parts) > 8:
        parts = [*parts[:7], "..."]
    return ", ".join(parts)


def unique(numbers) -> list[int]:
    return list(dict.fromkeys(numbers))


def title(traced, steps: list[Step], index: int) -> str:
    return f"{traced.lab.name}, {traced.rung}: step {index} of {len(steps)}"


def lines_of(step: Step) -> list[tuple[int, str]]:
    """The source lines at work in a step, with their text."""
    places = sorted({(request.file, request.line) for request in step.requests}, key=lambda place: place[1])
    return [(line, source_line(file, line).strip()) for file, line in places if line]


def sentences(step: Step) -> list[str]:
    """What the threads do, a sentence for each kind of access of each line."""
    return [sentence(requests) for requests in together(step.requests)]


def together(requests: list[Request]) -> list[list[Request]]:
    """The requests that different warps make at one place in the program; the many requests of a loop are described together."""
    groups: list[list[Request]] = []
    loops: dict[tuple, list[list[Request]]] = {}
    for request in requests:
        mine = loops.setdefault((request.line, request.kind, request.array.name), [])
        group = next((group for group in mine if all(other.warp != request.warp for other in group)), None)
        if group is None:
            group = []
            mine.append(group)
            groups.append(group)
        group.append(request)
    for mine in loops.values():
        if len(mine) > MANY_ROUNDS:
            for group in mine[1:]:
                mine[0].extend(group)
                groups.remove(group)
    return groups


def sentence(requests: list[Request]) -> str:
    requests = sorted(requests, key=lambda request: request.warp)
    line, kind, array = requests[0].line, requests[0].kind, requests[0].array
    threads = unique(thread for request in requests for thread in request.touches)
    elements = unique(element for request in requests for each in request.touches.values() for element in each)
    who = f"thread {threads[0]} {ONE_DOES[kind]}" if len(threads) == 1 else f"threads {runs(threads)} {MANY_DO[kind]}"
    text = f"Line {line}: {who} {array.name}[{runs(elements)}]"
    rounds = max(sum(other.warp == request.warp for other in requests) for request in requests)
    if rounds > 1:
        text += f" in {rounds} requests{' per warp' if len(threads) > LANES else ''}"
    conflicts = sum(request.conflicts for request in requests if array.shared)
    if conflicts > 0:
        text += f", {conflicts} bank conflict{'s' if conflicts > 1 else ''}"
    sectors = sum(request.sectors for request in requests if not array.shared)
    if sectors > 0:
        text += f", {sectors} sector{'s' if sectors > 1 else ''}"
    return text + "."


def summary(step: Step) -> str:
    active = len(step.active())
    text = f"{active} of {step.threads} threads at work."
    conflicts = sum(request.conflicts for request in step.requests if request.array.shared)
    if conflicts:
        text += f" {conflicts} bank conflict{'s' if conflicts > 1 else ''}."
    if step.races:
        race = step.races[0]
        text += (f" Race: threads {race.threads[0]} and {race.threads[1]} both access {race.array.name}[{race.element}]"
                 f"{f' and {len(step.races) - 1} more places' if len(step.races) > 1 else ''}, with nothing that orders them.")  # fmt: skip
    return text


def ending(step: Step) -> str:
    return f"Then all threads wait at the barrier in line {step.barrier_line}." if step.barrier_line else ""


def filled(text: str, wide: int, indent: str, first: str | None = None) -> list[str]:
    """Lines of at most that many columns, words kept whole; lines after the first are indented."""
    return wrap(text, wide, indent if first is None else first, indent)
