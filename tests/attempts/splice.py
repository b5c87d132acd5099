"""Attempts as source text: a lab's solved file with an attempt's regions in it, and many such files in one.

nvcc takes about a second before it reaches a lab's first line, so attempts are compiled together. Each has a namespace of its
own, with a copy of those declarations of the lab's file that depend on its regions; the others are there once, in
`solved`. #line gives each attempt the line numbers of its own file.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corpus import Attempt

ROOT = Path(__file__).resolve().parents[2]
BEGIN, END = re.compile(r"\s*// BEGIN (\w+)\s*$"), re.compile(r"\s*// END (\w+)\s*$")
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)


def solution(lab: str) -> Path:
    name = lab[3:]
    return ROOT / "solutions" / lab / (f"{name}.cl" if lab == "10_opencl" else f"{name}.cu")


def bare(text: str) -> str:
    """Without comments and strings, with the same lines."""
    return NOISE.sub(lambda match: "\n" * match[0].count("\n"), text)


def is_balanced(attempt: Attempt) -> bool:
    for _, _, text in attempt.regions:
        for opening, closing in ("{}", "()", "[]"):
            depth = 0
            for letter in bare(text):
                depth += (letter == opening) - (letter == closing)
                if depth < 0:
                    return False
            if depth:
                return False
    return True


def spliced(attempt: Attempt) -> str:
    """The whole file. Raises an error if the lab has no such region."""
    return "\n".join(text for _, text in numbered_lines(attempt)) + "\n"


def numbered_lines(attempt: Attempt) -> list[tuple[int, str]]:
    """The file's lines with an attempt's regions in them, each with the number of the line of the solution that it stands for."""
    regions = {(name, number): text for name, number, text in attempt.regions}
    count: dict[str, int] = {}
    lines, inside = [], None
    for number, line in enumerate(solution(attempt.lab).read_text().splitlines(), 1):
        if begin := BEGIN.match(line):
            name = begin[1]
            count[name] = count.get(name, 0) + 1
            lines.append((number, line))
            inside = regions.pop((name, count[name]), None)
            if inside is not None:
                lines += [(number, text) for text in inside.splitlines()]
        elif END.match(line):
            inside = None
            lines.append((number, line))
        elif inside is None:
            lines.append((number, line))
    if regions:
        raise ValueError(f"{attempt.lab}/{attempt.name}: no region {regions.keys()}")
    return lines


@dataclass(frozen=True)
class Declaration:
    first: int  # lines of the solution, from 1
    last: int
    names: frozenset[str]  # that it declares
    uses: frozenset[str]
    regions: frozenset[tuple[str, int]]
    is_main: bool
    is_type: bool


@cache
def declarations(lab: str) -> tuple[tuple[str, ...], tuple[Declaration, ...]]:
    """The includes of the solved file, and its declarations in the order of the file."""
    lines = solution(lab).read_text().splitlines()
    code = bare("\n".join(lines)).splitlines()
    includes = tuple(line for line in lines if line.startswith("#include"))
    found, start, depth, region, count, regions = [], None, 0, False, {}, set()
    for number, (line, plain) in enumerate(zip(lines, code, strict=True), 1):
        if begin := BEGIN.match(line):
            count[begin[1]] = count.get(begin[1], 0) + 1
            regions.add((begin[1], count[begin[1]]))
            region = True
            start = start or number
        if END.match(line):
            region = False
        if plain.startswith("#"):
            continue
        if plain.strip() and start is None:
            start = number
        depth += plain.count("{") - plain.count("}")
        ends = plain.rstrip().endswith((";", "}")) or END.match(line)
        if start is not None and depth == 0 and not region and ends:
            text = "\n".join(code[start - 1 : number])
            found.append(
                Declaration(
                    start,
                    number,
                    names_of(text),
                    frozenset(re.findall(r"\b[A-Za-z_]\w*", text)),
                    frozenset(regions),
                    re.search(r"\bint main\(", text) is not None,
                    re.match(r"\s*(template\s*<[^{;]*?>\s*)?(struct|class|enum|using)\b", text) is not None,
                )
            )
            start, regions = None, set()
    return includes, tuple(found)


def names_of(text: str) -> frozenset[str]:
    text = re.sub(r"template\s*<[^{;]*?>\s*\n|__\w+__\s*\([^)]*\)|alignas\s*\([^)]*\)", "", text)
    names = set(re.findall(r"\b(?:struct|class|enum|using)\s+(\w+)", text))
    depth, head = 0, ""
    for letter in text:  # what is outside all braces
        depth += letter == "{"
        if depth == 0:
            head += letter
        depth -= letter == "}"
        if depth == 0 and letter == "}":
            head += ";"
    for statement in head.split(";"):
        statement = re.split(r"(?<![=!<>])=(?!=)", statement)[0] + (" =" if "=" in statement else "")
        if call := re.search(r"(\w+)\s*\(", statement):
            names.add(call[1])
        elif variable := re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)?(?:=|$)", statement.strip()):
            names.add(variable[1])
    return frozenset(names)


def dependents(lab: str, regions: set[tuple[str, int]]) -> list[Declaration]:
    """The declarations that contain these regions, and those that depend on them."""
    _, all_of_them = declarations(lab)
    touched, names = set(), set()
    changed = True
    while changed:
        changed = False
        for declaration in all_of_them:
            if declaration in touched or declaration.is_main:
                continue
            if declaration.regions & regions or declaration.uses & names:
                touched.add(declaration)
                names |= declaration.names
                changed = True
    return [declaration for declaration in all_of_them if declaration in touched]


def text_of(declaration: Declaration, lines: list[tuple[int, str]], file: str) -> list[str]:
    at = next(i for i, (number, _) in enumerate(lines) if number >= declaration.first)
    return [f'#line {at + 1} "{file}"', *(text for number, text in lines if declaration.first <= number <= declaration.last)]


def together(attempts: list[Attempt], file_of) -> str:
    """One file for all of them; its main() runs the attempt that WARPFOLD_ATTEMPT names."""
    lab = attempts[0].lab
    includes, all_of_them = declarations(lab)
    solved = [(i, line) for i, line in enumerate(solution(lab).read_text().splitlines(), 1)]
    out = [*includes, "#include <cstdlib>", "#include <string_view>", "namespace solved {} namespace types {} namespace solved {"]
    for declaration in all_of_them:
        # Types are kept apart; otherwise a call with one of them among its arguments would find the solved function as well.
        if not declaration.is_main:
            text = text_of(declaration, solved, str(solution(lab)))
            out += (
                ["} namespace types { using namespace solved;", *text, "} namespace solved { using namespace types;"]
                if declaration.is_type
                else text
            )
    out.append("}")
    main = next(declaration for declaration in all_of_them if declaration.is_main)
    for index, attempt in enumerate(attempts):
        lines, file = numbered_lines(attempt), str(file_of(attempt))
        out.append(f"namespace attempt_{index} {{ using namespace solved; using namespace types;")
        for declaration in dependents(lab, {(name, number) for name, number, _ in attempt.regions}):
            out += text_of(declaration, lines, file)
        out += [text.replace("int main(", "int run_lab(") for text in text_of(main, lines, file)]
        out.append("}")
    out.append('int main(int argc, char** argv) {\n  const std::string_view name = std::getenv("WARPFOLD_ATTEMPT");')
    out += [f'  if (name == "{attempt.name}") return attempt_{index}::run_lab(argc, argv);' for index, attempt in enumerate(attempts)]
    return "\n".join([*out, "  return 2;\n}", ""])
