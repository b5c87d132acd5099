"""The steps of a traced block: its requests to memory, grouped into what the threads do at the same time.

A step ends at a barrier. It also ends, for the threads concerned, at __syncwarp() and where a warp that has stored
loads again: that is the next round of an algorithm that works without barriers, rightly or not."""

import struct
from dataclasses import dataclass, field

LANES = 32
BANKS = 32
BANK_BYTES = 4
OF_BULK_COPIES = ("bulk_write", "phase", "bulk_read", "bulk_commit", "bulk_wait")  # beside the accesses: when they begin and end


@dataclass
class Array:
    name: str
    shared: bool
    width: int  # bytes of an element: the narrowest access
    count: int  # elements
    first_byte: int  # in the block's shared memory
    values: dict[int, int] = field(default_factory=dict)  # bits by element, of what was stored so far


@dataclass
class Request:
    """One warp's load, store or atomic."""

    kind: str
    file: str
    line: int
    warp: int
    sync: int  # how many times the warp has met in __syncwarp() since the last barrier
    array: Array
    touches: dict[int, list[int]]  # elements by thread
    wavefronts: int = 1
    ideal: int = 1
    sectors: int = 0
    bits: list[int] = field(default_factory=list)  # of all elements, thread by thread

    @property
    def writes(self) -> bool:
        return self.kind != "load"

    @property
    def conflicts(self) -> int:
        return self.wavefronts - self.ideal


@dataclass
class Race:
    array: Array
    element: int
    threads: tuple[int, int]
    lines: tuple[int, int]


@dataclass
class Step:
    kernel: str
    threads: int
    arrays: list[Array]  # all of the launch
    launch: str = ""  # "launch 2 of 2: tree(float*)"
    requests: list[Request] = field(default_factory=list)
    races: list[Race] = field(default_factory=list)
    barrier_line: int | None = None  # of the barrier that ended it
    values: dict[int, dict[int, int]] = field(default_factory=dict)  # of each array (its index) after the step

    def active(self) -> set[int]:
        return {thread for request in self.requests for thread in request.touches}

    def clashes(self) -> tuple[set[int], set[tuple[int, int]]]:
        """Threads and (array index, element) pairs that met in a bank."""
        threads, elements = set(), set()
        for request in self.requests:
            index = self.arrays.index(request.array)
            for thread, element in meeting_in_a_bank(request):
                threads.add(thread)
                elements.add((index, element))
        return threads, elements


def steps_of(launch: dict, hazards: list[dict]) -> list[Step]:
    """The steps of one launch, in the order in which barriers put them."""
    arrays = arrays_of(launch)
    block = launch["block"]
    threads = block[0] * block[1] * block[2]
    found: dict[tuple[int, int], Step] = {}
    ends: dict[int, int] = {}  # the line of the barrier that ended a phase
    phase_of, round_of, stored, worked, sync = [0] * threads, [0] * threads, [False] * threads, [False] * threads, {}

    def end_phase(members: list[int], line: int) -> None:
        """Threads that wait for a whole block or cluster go on in the next phase. Warps may pass a cluster's barrier one by one."""
        ended = max(phase_of[t] for t in members)
        ends[ended] = line
        for thread in members:
            phase_of[thread], round_of[thread], stored[thread], worked[thread] = ended + 1, 0, False, False
            sync.pop(thread // LANES, None)

    for event in launch["events"]:
        if event["at"] in OF_BULK_COPIES:
            continue
        if event["at"] == "barrier":
            if event["whole_block"]:
                end_phase(list(range(threads)), event["line"])
            continue
        members = threads_of(event)
        if event["at"] == "cluster_wait":
            end_phase(members, event["line"])
            continue
        if event["at"] == "warp_barrier":
            sync[event["warp"]] = sync.get(event["warp"], 0) + 1
            following = max(round_of[t] for t in members) + any(worked[t] for t in members)
            for thread in members:
                round_of[thread], stored[thread], worked[thread] = following, False, False
            continue
        current = max(round_of[t] for t in members)
        if event["at"] != "store" and any(stored[t] for t in members):
            current += 1
        key = (max(phase_of[t] for t in members), current)
        step = found.setdefault(key, Step(launch["kernel"], threads, arrays))
        step.requests.append(request_of(event, arrays, sync.get(event["warp"], 0)))
        for thread in members:
            stored[thread] = event["at"] != "load" or (stored[thread] and round_of[thread] == current)
            round_of[thread], worked[thread] = current, True
    for phase, line in ends.items():
        if last := max((key for key in found if key[0] == phase), default=None):
            found[last].barrier_line = line
    ordered = [found[key] for key in sorted(found)]
    fill_values(ordered)
    mark_races(found, hazards)
    return ordered


def arrays_of(launch: dict) -> list[Array]:
    narrowest: dict[int, int] = {}
    for event in launch["events"]:
        if "array" in event:
            width = event["width"] // event.get("elements", 1)
            narrowest[event["array"]] = min(width, narrowest.get(event["array"], width))
    found = []
    for index, array in enumerate(launch["arrays"]):
        width = narrowest.get(index, 4)
        found.append(Array(array["name"].split(" (")[0], array["space"] == "shared", width, array["bytes"] // width, array["offset"]))
    return found


def threads_of(event: dict) -> list[int]:
    return [LANES * event["warp"] + lane for lane in range(LANES) if event["lanes"] >> lane & 1]


def request_of(event: dict, arrays: list[Array], sync: int) -> Request:
    array = arrays[event["array"]]
    each = max(1, event["width"] // array.width)
    touches = {
        thread: [offset // array.width + i for i in range(each)] for thread, offset in zip(threads_of(event), event["offsets"], strict=True)
    }
    return Request(
        event["at"], event["file"], event["line"], event["warp"], sync, array, touches,
        event.get("wavefronts", 1), event.get("ideal", 1), event.get("sectors", 0), event.get("bits", []),
    )  # fmt: skip


def fill_values(steps: list[Step]) -> None:
    for step in steps:
        for request in step.requests:
            elements = [element for each in request.touches.values() for element in each]
            if len(request.bits) == len(elements):
                request.array.values.update(zip(elements, request.bits, strict=True))
            elif request.writes:  # the values that an atomic leaves are not recorded
                for element in elements:
                    request.array.values.pop(element, None)
        step.values = {index: dict(array.values) for index, array in enumerate(step.arrays)}


def meeting_in_a_bank(request: Request) -> list[tuple[int, int]]:
    """Thread and element, of lanes that want different words of one bank."""
    if not request.array.shared or request.conflicts <= 0:
        return []
    banks: dict[int, set[int]] = {}
    places = []
    for thread, elements in request.touches.items():
        word = (request.array.first_byte + elements[0] * request.array.width) // BANK_BYTES
        banks.setdefault(word % BANKS, set()).add(word)
        places += [(thread, element, word % BANKS) for element in elements]
    return [(thread, element) for thread, element, bank in places if len(banks[bank]) > 1]


def mark_races(found: dict[tuple[int, int], Step], hazards: list[dict]) -> None:
    """The places where the emulator's check found a race between these two lines."""
    pairs = {frozenset((hazard["line"], hazard.get("other_line") or hazard["line"]))
             for hazard in hazards if hazard["group"] == "race"}  # fmt: skip
    if not pairs:
        return
    phases: dict[int, list[tuple[Step, Request]]] = {}
    for key in sorted(found):
        phases.setdefault(key[0], []).extend((found[key], request) for request in found[key].requests)
    for requests in phases.values():
        race_in_phase(requests, pairs)


def race_in_phase(requests: list[tuple[Step, Request]], pairs: set[frozenset]) -> None:
    seen: dict[tuple[int, int], list[tuple[int, Request]]] = {}
    raced = set()
    for step, request in requests:
        index = step.arrays.index(request.array)
        for thread, elements in request.touches.items():
            for element in elements:
                for other_thread, other in seen.get((index, element), []):
                    if thread == other_thread or not unordered(request, other) or frozenset((request.line, other.line)) not in pairs:
                        continue
                    key = (id(step), index, element)
                    if key not in raced:
                        raced.add(key)
                        step.races.append(Race(request.array, element, (other_thread, thread), (other.line, request.line)))
        for thread, elements in request.touches.items():
            for element in elements:
                seen.setdefault((index, element), []).append((thread, request))


def unordered(one: Request, other: Request) -> bool:
    if not (one.writes or other.writes) or (one.kind == other.kind == "atomic"):
        return False
    return one.warp != other.warp or one.sync == other.sync


def reads_as_float(values: list[int], width: int) -> bool:
    """Whether the bits are floating-point numbers: read as integers, they would all be huge, unless they are 0."""
    exponents = [bits >> (23 if width == 4 else 52) & (0xFF if width == 4 else 0x7FF) for bits in values if bits]
    most = 0xFF if width == 4 else 0x7FF
    return bool(exponents) and all(0 < exponent < most for exponent in exponents)


def number(bits: int, width: int, as_float: bool) -> float | int:
    layout = "<I" if width == 4 else "<Q"
    return struct.unpack(("<f" if width == 4 else "<d") if as_float else ("<i" if width == 4 else "<q"), struct.pack(layout, bits))[0]
