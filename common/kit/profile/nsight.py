"""Nsight Compute's counts of a program on a GPU, in the form of the emulator's report, so that the same code shows
both.

The program runs once under ncu; its report is then printed twice: the counters of each launch, and the machine
instructions (SASS) under the source lines that they came from. Where the two could tell the same, the second is used for
what the addresses of the instructions alone decide: shared memory's wavefronts, those needed at the least (a request of 4
bytes per lane needs one, so that their number is that of the requests that any lane took part in) and those in excess, its
bank conflicts. The pipe's own counters add what other work in the pipe made it wait for.
"""

import csv
import io
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..counters import CATALOGUE
from ..errors import PROGRAM, SETUP, KitError

# The catalogue's counters -> metrics of a launch, to be added up.
METRICS = {key: counter.nsight for key, counter in CATALOGUE.items() if counter.nsight}
# In addition to the counters from the source page: the same as the pipe counted them.
PIPE = {
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_load_instructions": "smsp__inst_executed_op_shared_ld.sum",
    "shared_store_instructions": "smsp__inst_executed_op_shared_st.sum",
}
# Counters that the source page gives: `add_instruction` says how.
LINE_KEYS = [
    "executions", "warp_instructions", "thread_instructions", "branches", "divergent_branches",
    "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
    "shared_load_requests", "shared_load_wavefronts", "shared_store_requests", "shared_store_wavefronts",
    "bank_conflicts", "shuffles", "atomic_requests", "atomic_operations", "barriers",
]  # fmt: skip
OF_SOURCE = [key for key in LINE_KEYS if key not in METRICS and key != "executions"]
FORBIDDEN = """The driver lets only administrators read a GPU's counters here. Either run this command as root, or ask the machine's
administrator to allow it for everyone:
  echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > /etc/modprobe.d/nvidia-profiling.conf
and to reload the driver (for example by a reboot). A container must also be started with the capability SYS_ADMIN.
NVIDIA explains this at https://developer.nvidia.com/ERR_NVGPUCTRPERM"""


def find() -> Path:
    """ncu, from PATH or from where NVIDIA's installers put it."""
    named = shutil.which("ncu")
    places = [Path(named)] if named else []
    places += [Path("/usr/local/cuda/bin/ncu"), *sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"), reverse=True)]
    for place in places:
        if place.is_file():
            return place
    raise KitError(
        "Nsight Compute (ncu) is not installed here, and there is no other way to read a GPU's counters",
        "It comes with the CUDA Toolkit (package nsight-compute). Without it, `kit profile LAB` counts on the emulator.", SETUP,
    )  # fmt: skip


def count(command: list[str], launches: int, skip: int = 0, environment: dict | None = None) -> dict:
    """A report as the emulator writes it, of `launches` launches of the command after the first `skip`."""
    ncu = find()
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "counts.ncu-rep")
        names = [name for group in METRICS.values() for name in group] + list(PIPE.values())
        run = subprocess.run(
            [str(ncu), "--clock-control", "none", "--section", "SourceCounters", "--metrics", ",".join(names), "--launch-skip", str(skip),
             "--launch-count", str(launches), "-o", file, *command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=environment or os.environ,
        )  # fmt: skip
        if "ERR_NVGPUCTRPERM" in run.stdout:
            raise KitError("you are not allowed to read this GPU's counters", FORBIDDEN, SETUP)
        if not Path(file).exists():
            raise KitError(f"ncu counted nothing:\n{run.stdout.strip()[-1500:]}", code=PROGRAM)
        raw, source = (
            subprocess.run([str(ncu), "--import", file, "--csv", "--print-units", "base", *page], text=True, capture_output=True).stdout
            for page in (["--page", "raw"], ["--page", "source", "--print-source", "cuda,sass"])
        )
    return merged(launches_of(raw), lines_of(source))


def of_rung(command: list[str], rung: str, launches: int, environment: dict | None = None) -> dict:
    """Of a lab's program. Its first launches sum an exact input of n elements at an aligned address, as on the emulator the
    profile's do. Lab 11 checks other shapes than the one that is profiled; there the launches wanted are those that are
    timed, after the checks."""
    by_rows = rung.endswith("_per_row")
    return count(command + ["--time"] if by_rows else command, launches, 200 if by_rows else 0, environment)


def number(text: str | None) -> float:
    """Of a cell; "no data" and "n/a" if nothing of the kind happened."""
    found = re.match(r"[\d.,]+", text or "")
    return float(found[0].replace(",", "")) if found else 0.0


def dimensions(text: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", text)]


def rows(text: str) -> list[list[str]]:
    """Of the CSV behind what ncu and the program say before it."""
    start = next((at for at, line in enumerate(text.splitlines()) if line.startswith('"')), None)
    return [] if start is None else list(csv.reader(io.StringIO("\n".join(text.splitlines()[start:]))))


def launches_of(raw: str) -> list[dict]:
    """The page "raw": a row of headings, a row of units, then one row per launch."""
    table = rows(raw)
    found = []
    for row in table[2:]:
        cells = dict(zip(table[0], row, strict=False))
        counters = {key: sum(number(cells.get(name)) for name in group) for key, group in METRICS.items()}
        pipe = {key: number(cells.get(name)) for key, name in PIPE.items()}
        found.append({"kernel": cells["Kernel Name"], "grid": dimensions(cells["Grid Size"]), "block": dimensions(cells["Block Size"]),
                      "counters": counters, "pipe": pipe})  # fmt: skip
    return found


def opcode(sass: str) -> str:
    """REDG.E.ADD of "@!P0  REDG.E.ADD.F32 desc[...]"."""
    words = sass.split()
    return next((word for word in words if not word.startswith("@")), "")


def lines_of(source: str) -> list[list[dict]]:
    """The page "source" as the lines of each launch: {"file", "line", counters}. A launch begins where the function changes
    or a file comes again. An instruction of an inlined function stands under the function's line and under the line of the
    call; it is counted once, where the emulator counts it: innermost in the program's own file."""
    launches: list[dict[str, Instruction]] = []  # by address
    seen: set[str] = set()
    function = file = None
    line = 0
    columns: dict[str, int] = {}
    for row in rows(source):
        if row[0] in ("File Path", "File Name"):
            file = row[1]
        elif row[0] == "Function Name":
            if row[1] != function or file in seen or not launches:
                launches.append({})
                seen = set()
            function = row[1]
            seen.add(file)
        elif row[0] == "Line No":
            columns = {name: at for at, name in enumerate(row)}  # the second of the two columns called "Source": the instruction
        elif row[0].isdigit():
            line = int(row[0])
        elif columns and len(row) > columns["Source"] and row[columns["Address"]].startswith("0x"):
            cells = {name: row[at] for name, at in columns.items() if at < len(row)}
            found = Instruction(file, line, cells)
            known = launches[-1].setdefault(cells["Address"], found)
            if found.place > known.place:
                launches[-1][cells["Address"]] = found
    return [summed(each.values()) for each in launches]


@dataclass
class Instruction:
    file: str
    line: int
    cells: dict[str, str]

    @property
    def place(self) -> tuple[bool, int]:
        """Greatest for the innermost in the program's own file: in it the earlier line, for functions stand above those
        that call them."""
        return "include" not in Path(self.file).parts, -self.line


def summed(instructions) -> list[dict]:
    lines: dict[tuple[str, int], dict] = {}
    for each in instructions:
        line = lines.setdefault((each.file, each.line), {"file": each.file, "line": each.line, **dict.fromkeys(LINE_KEYS, 0)})
        add_instruction(line, each.cells["Source"], lambda name, each=each: number(each.cells.get(name)))
    return [line for _, line in sorted(lines.items()) if line["warp_instructions"]]


def add_instruction(line: dict, sass: str, cell) -> None:
    executed, threads = cell("Instructions Executed"), cell("Predicated-On Thread Instructions Executed")
    line["executions"] = max(line["executions"], executed)
    line["warp_instructions"] += executed
    line["thread_instructions"] += threads
    name = opcode(sass)
    family = name.split(".")[0]
    if family in ("BRA", "BRX", "JMP"):
        line["branches"] += executed
        line["divergent_branches"] += cell("Divergent Branches")
    elif family == "SHFL":
        line["shuffles"] += executed
    elif name.startswith(("BAR.SYNC", "BAR.RED")):
        line["barriers"] += executed  # warps; made blocks where the launch is known
    elif family in ("RED", "REDG", "ATOM", "ATOMG"):
        line["atomic_requests"] += cell("L1 Tag Requests Global")
        line["atomic_operations"] += threads
    for way, families in {"load": ("LDG", "LD", "LDS", "LDSM"), "store": ("STG", "ST", "STS")}.items():
        if family in families:
            line[f"global_{way}_requests"] += cell("L1 Tag Requests Global")
            line[f"global_{way}_sectors"] += cell("L2 Theoretical Sectors Global")
            line[f"shared_{way}_requests"] += cell("L1 Wavefronts Shared Ideal")
            line[f"shared_{way}_wavefronts"] += cell("L1 Wavefronts Shared")
            line["bank_conflicts"] += cell("L1 Wavefronts Shared Excessive")


def merged(launches: list[dict], lines: list[list[dict]]) -> dict:
    for at, launch in enumerate(launches):
        x, y, z = (launch["block"] + [1, 1, 1])[:3]
        blocks = launch["grid"][0] * (launch["grid"] + [1, 1, 1])[1] * (launch["grid"] + [1, 1, 1])[2]
        warps = -(-x * y * z // 32)
        of_launch = lines[at] if at < len(lines) else []
        for line in of_launch:
            line["barriers"] /= warps
            for key in LINE_KEYS:
                line[key] = int(line[key]) if line[key] == int(line[key]) else line[key]
        launch["counters"] |= {key: sum(line[key] for line in of_launch) for key in OF_SOURCE}
        launch["counters"]["blocks"] = blocks
        launch["counters"] = {key: int(value) for key, value in launch["counters"].items()}
        launch["lines"] = of_launch
    return {"launches": launches, "hazards": []}
