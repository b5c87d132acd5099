"""A line of help for the commonest mistakes that do not compile. Each follows from the compiler's error or from the text of a region;
none is a guess."""

import re
from pathlib import Path

from ..paths import ROOT
from ..process import relative
from . import messages, source

CUDA = """__syncthreads __syncwarp __threadfence __threadfence_block __shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync
__ballot_sync __any_sync __all_sync __reduce_add_sync __reduce_min_sync __reduce_max_sync __activemask __ldg __popc __global__ __device__
__shared__ threadIdx blockIdx blockDim gridDim atomicAdd atomicSub atomicMin atomicMax atomicExch atomicCAS""".split()
CALLS = {
    "__shfl_sync": "the mask of the lanes that take part, the value and a lane: __shfl_sync(lab::all_lanes, value, lane)",
    "__shfl_up_sync": "the mask of the lanes that take part, the value and a distance: __shfl_up_sync(lab::all_lanes, value, distance)",
    "__shfl_down_sync": "the mask of the lanes that take part, the value and a distance: __shfl_down_sync(lab::all_lanes, value, distance)",
    "__shfl_xor_sync": "the mask of the lanes that take part, the value and a lane mask: __shfl_xor_sync(lab::all_lanes, value, 16)",
    "__any_sync": "the mask of the lanes that take part and a condition: __any_sync(lab::all_lanes, x > 0)",
    "__all_sync": "the mask of the lanes that take part and a condition: __all_sync(lab::all_lanes, x > 0)",
    "__ballot_sync": "the mask of the lanes that take part and a condition: __ballot_sync(lab::all_lanes, x > 0)",
    "atomicAdd": "an address and a value: atomicAdd(&sum, value)",
    "atomicMin": "an address and a value: atomicMin(&least, value)",
    "atomicMax": "an address and a value: atomicMax(&greatest, value)",
    "atomicExch": "an address and a value: atomicExch(&place, value)",
    "atomicCAS": "an address, the value expected there and the new one: atomicCAS(&place, expected, value)",
}
SEMICOLON = "does not end in a semicolon."
OF_BOTH = ("min", "max")  # functions that CUDA has for kernels too, without std::

UNDEFINED = re.compile(r'identifier "(\w+)" is undefined')
NO_OVERLOAD = re.compile(r'no instance of overloaded function "(\w+)"')
OF_THE_HOST = re.compile(r'calling a (?:constexpr )?__host__ function\("(?:std::)?(\w+)[^"]*"\) from a __(?:global|device)__ function')
NO_MAIN = re.compile(r"undefined reference to [`']main'")


def lines(said: str, path: Path) -> list[str]:
    """For the file of a lab that did not build, whose compiler said this."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return []
    of_text = [*of_the_whole(said, text), *of_regions(text)]
    ends = {line for line, words in of_text if words.endswith(SEMICOLON)}
    kept = of_text + [(line, words) for line, words in of_errors(said, text) if line not in ends or not words.endswith(SEMICOLON)]
    name = relative(path)
    return list(dict.fromkeys(f"{name}:{line}: {words}" if line else f"{name} {words}" for line, words in kept))


def of_the_whole(said: str, text: str) -> list[tuple[int, str]]:
    if not NO_MAIN.search(said) or any(re.search(r"\bmain\b", line) for line in source.code_of(text)):
        return []
    back = "; git can bring back the version that was handed out" if (ROOT / ".git").exists() else ""
    return [(0, f"{'has no main()' if text.strip() else 'is empty'}{back}.")]


def of_regions(text: str) -> list[tuple[int, str]]:
    return [each for region in source.regions(text) for each in [*of_what_it_defines(region), *of_its_braces(region), *of_its_end(region)]]


def of_what_it_defines(region: source.Region) -> list[tuple[int, str]]:
    """What may not stand inside a function."""
    if not region.outer:
        return []
    mistakes = []
    for number, line in region.lines():
        if found := re.search(r"\b(__global__|(__)?kernel) +void\b", line):
            mistakes.append((number, f"this begins a kernel inside the braces that open in line {region.outer}. The region {region.rung} takes "
                                 f"only the statements, without the line that has {found[1]} and without the kernel's braces."))  # fmt: skip
        if re.match(r"\s*#\s*include\b", line):
            mistakes.append(
                (number, f"an #include belongs at the top of the file, not inside the braces that open in line {region.outer}.")
            )
    return mistakes


def of_its_braces(region: source.Region) -> list[tuple[int, str]]:
    if any(re.match(r"\s*#\s*(if|el|en)", line) for line in region.code):
        return []  # only one of the branches counts
    found = []
    for opening, closing in ("{}", "()"):
        opens, closes = region.count(opening), region.count(closing)
        if opens != closes:
            few, many = (closing, opening) if opens > closes else (opening, closing)
            counted = f"the region {region.rung} has {opens} {opening} and {closes} {closing}"
            found.append((region.first, f"{counted}: a {few} is missing, or a {many} is too many."))
    return found


def of_its_end(region: source.Region) -> list[tuple[int, str]]:
    held = region.lines()
    if not held or held[-1][1].rstrip()[-1] in ";{}" or held[-1][1].lstrip().startswith("#"):
        return []
    return [(held[-1][0], f"the last line of the region {region.rung} {SEMICOLON}")]


def of_errors(said: str, text: str) -> list[tuple[int, str]]:
    code, found = source.code_of(text), []
    for rank, message in messages.split(messages.as_typed(said)):
        heading = messages.HEADING.match(message[0])
        number = int(heading["line"] or heading["other"]) if heading else 0
        if rank == 0 and 0 < number <= len(code):
            found += [(at, words) for at, words in of_one(message, number, code) if words]
    return found


def of_one(message: list[str], number: int, code: list[str]) -> list[tuple[int, str]]:
    head, line = message[0], code[number - 1]
    if 'expected a ";"' in head:
        return [without_semicolon(message, number, code)]
    if found := UNDEFINED.search(head):
        return [(number, name_for(found[1]))]
    if found := OF_THE_HOST.search(head):
        return [(number, for_the_host(found[1], line))]
    if (found := NO_OVERLOAD.search(head)) and found[1] in CALLS:
        return [(number, f"{found[1]} takes {CALLS[found[1]]}.")]
    return []


def without_semicolon(message: list[str], number: int, code: list[str]) -> tuple[int, str]:
    """If the compiler stopped at a line's first word, the statement that lacks it ends in an earlier line."""
    caret = next((line.index("^") for line in message if line.strip() == "^"), -1)
    shown = message[1] if len(message) > 1 else ""
    before = next((at for at in range(number - 1, 0, -1) if code[at - 1].strip()), 0)
    is_first = caret >= 0 and not shown[:caret].strip()
    if not before or not is_first or code[before - 1].rstrip()[-1] in ";{}":
        return 0, ""
    return before, f"this line {SEMICOLON}"


def name_for(written: str) -> str:
    if written == "assert":
        return "assert needs #include <cassert> at the top of the file."
    plain = written.strip("_").casefold()
    for name in CUDA:
        if name.strip("_").casefold() == plain:
            under = f", with {len(name) - len(name.lstrip('_'))} underscores in front" if name.startswith("__") else ""
            return f"CUDA has no {written}: the name is {name}{under}."
        if name.strip("_").casefold() == f"{plain}_sync":
            return (
                f"CUDA no longer has {written}. Its successor {name} takes {CALLS.get(name, 'the mask of the lanes that take part first')}."
            )
    return ""


def for_the_host(name: str, line: str) -> str:
    said = f"{name} is compiled for the CPU only, so a kernel cannot call it."
    if re.search(rf"\bnumeric_limits\s*<[^;]*>\s*::\s*{name}\b", line):
        return f"{said} A constexpr variable that is defined outside the kernel, with its value, can be used there."
    if name in OF_BOTH and re.search(rf"\bstd\s*::\s*{name}\b", line):
        return f"std::{said} CUDA's own function is {name}, without std::."
    return said
