"""A step in words: for screen readers, for the title of a still, and beside the picture."""

from .trace_steps import Step

VERBS = {"load": "read", "store": "write", "atomic": "update atomically"}


def runs(numbers: list[int]) -> str:
    """0, 2, 4, 6 is "0 to 6 by 2"; what follows no rule is listed."""
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


def sentences(step: Step) -> list[str]:
    """What the threads do, a sentence for each kind of access of each line."""
    groups: dict[tuple, list] = {}
    for request in step.requests:
        position = sum(1 for other in groups if other[:2] == (request.line, request.kind))
        same = [key for key in groups if key[:3] == (request.line, request.kind, request.array.name) and groups[key][-1].warp != request.warp]
        groups.setdefault(same[0] if same else (request.line, request.kind, request.array.name, position), []).append(request)
    found = []
    for (line, kind, array, _), requests in groups.items():
        threads = [thread for request in requests for thread in request.touches]
        elements = unique(element for request in requests for each in request.touches.values() for element in each)
        who = f"thread {threads[0]} {VERBS[kind].replace(' ', 's ', 1) if ' ' in VERBS[kind] else VERBS[kind] + 's'}"
        if len(threads) > 1:
            who = f"threads {runs(threads)} {VERBS[kind]}"
        text = f"Line {line}: {who} {array}[{runs(elements)}]"
        conflicts = sum(request.conflicts for request in requests if request.array.shared)
        if conflicts > 0:
            text += f", {conflicts} bank conflict{'s' if conflicts > 1 else ''}"
        found.append(text + ".")
    return found


def summary(step: Step) -> str:
    active = len(step.active())
    text = f"{active} of {step.threads} threads at work."
    conflicts = sum(request.conflicts for request in step.requests if request.array.shared)
    if conflicts:
        text += f" {conflicts} bank conflict{'s' if conflicts > 1 else ''}."
    if step.races:
        race = step.races[0]
        text += (f" Race: threads {race.threads[0]} and {race.threads[1]} meet at {race.array.name}[{race.element}]"
                 f"{f' and {len(step.races) - 1} places more' if len(step.races) > 1 else ''}, with nothing that orders them.")  # fmt: skip
    return text


def ending(step: Step) -> str:
    return f"Then all wait at the barrier in line {step.barrier_line}." if step.barrier_line else ""
