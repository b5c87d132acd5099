"""What a program file says about itself before it runs: which libraries it needs, and whether it contains GPU code.

Reads 64-bit ELF (System V ABI, chapters 4 and 5), but only the dynamic section, the symbols and the sections' names; nothing more
is needed to distinguish programs that the emulator can run from those that it cannot."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MACHINES = {3: "x86 (32-bit)", 40: "ARM (32-bit)", 62: "x86_64", 183: "aarch64", 21: "ppc64", 243: "riscv64"}
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH = 1, 5, 15, 29
PT_LOAD, PT_DYNAMIC = 1, 2
SHT_DYNSYM, SYMBOL_BYTES = 11, 24
DAMAGED = (struct.error, IndexError, ValueError, OverflowError)  # what comes of reading a damaged file


class NotElf(Exception):
    """The file is not an ELF file, or is truncated."""


@dataclass(frozen=True)
class Elf:
    path: Path
    bits: int
    machine: str
    needed: tuple[str, ...]
    search: tuple[str, ...]  # RUNPATH or RPATH, as written
    sections: frozenset[str]

    @property
    def carries_gpu_code(self) -> bool:
        return ".nv_fatbin" in self.sections or ".nvFatBinSegment" in self.sections

    @property
    def uses_opencl(self) -> bool:
        return any(name.startswith("libOpenCL.so") for name in self.needed)

    @property
    def runtime(self) -> str | None:
        """The CUDA runtime that it links to, as libcudart.so.13."""
        return next((name for name in self.needed if name.startswith("libcudart.so")), None)


def read(path: Path) -> Elf:
    try:
        data = memoryview(Path(path).read_bytes())
        return parse(Path(path), data)
    except DAMAGED as error:
        raise NotElf(f"{path} begins like an ELF file but is damaged or truncated") from error


def parse(path: Path, data: memoryview) -> Elf:
    if bytes(data[:4]) != b"\x7fELF":
        raise NotElf(f"{path} is not an ELF file")
    bits = {1: 32, 2: 64}.get(data[4], 0)
    machine = struct.unpack_from("<H", data, 18)[0]
    name = MACHINES.get(machine, f"machine {machine}")
    if bits != 64 or data[5] != 1:
        return Elf(path, bits, name, (), (), frozenset())
    (segments_at,) = struct.unpack_from("<Q", data, 32)
    (segment_size, segment_count, _size, _count, names_index) = struct.unpack_from("<5H", data, 54)
    segments = [struct.unpack_from("<IIQQQQ", data, segments_at + i * segment_size) for i in range(segment_count)]
    needed, search = dynamic(data, segments)
    names = section_names(data, section_headers(data), names_index)
    return Elf(path, bits, name, needed, search, names)


def section_headers(data: memoryview) -> list[tuple]:
    (sections_at,) = struct.unpack_from("<Q", data, 40)
    (size, count) = struct.unpack_from("<2H", data, 58)
    return [struct.unpack_from("<IIQQQQI", data, sections_at + i * size) for i in range(count)]


def dynamic(data: memoryview, segments: list[tuple]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    entries = []
    for kind, _flags, offset, _address, _physical, size in segments:
        if kind == PT_DYNAMIC:
            entries = [struct.unpack_from("<qQ", data, offset + i) for i in range(0, size, 16)]
    strings = next((value for tag, value in entries if tag == DT_STRTAB), None)
    if strings is None:
        return (), ()
    base = file_offset(strings, segments)
    needed = tuple(string(data, base + value) for tag, value in entries if tag == DT_NEEDED)
    paths = [string(data, base + value) for tag, value in entries if tag in (DT_RPATH, DT_RUNPATH)]
    return needed, tuple(folder for text in paths for folder in text.split(":") if folder)


def file_offset(address: int, segments: list[tuple]) -> int:
    for kind, _flags, offset, start, _physical, size in segments:
        if kind == PT_LOAD and start <= address < start + size:
            return address - start + offset
    raise ValueError(f"no segment holds address {address:#x}")


def section_names(data: memoryview, headers: list[tuple], names_index: int) -> frozenset[str]:
    if names_index >= len(headers):
        return frozenset()
    table = headers[names_index][4]
    return frozenset(string(data, table + header[0]) for header in headers)


def imports(path: Path) -> frozenset[str]:
    """The functions and variables that the file's libraries are to define."""
    data = memoryview(path.read_bytes())
    try:
        return frozenset(undefined_symbols(data, section_headers(data)))
    except DAMAGED as error:
        raise NotElf(f"{path} begins like an ELF file but is damaged or truncated") from error


def undefined_symbols(data: memoryview, headers: list[tuple]) -> Iterator[str]:
    for _name, kind, _flags, _address, offset, size, link in headers:
        if kind == SHT_DYNSYM:
            for at in range(offset, offset + size, SYMBOL_BYTES):
                (name, _info, _other, section) = struct.unpack_from("<IBBH", data, at)
                if section == 0 and name != 0:
                    yield string(data, headers[link][4] + name)


def string(data: memoryview, start: int) -> str:
    if start >= len(data):
        raise ValueError("a string lies beyond the end of the file")
    end = start
    while data[end] != 0:
        end += 1
    return bytes(data[start:end]).decode(errors="replace")


def libraries(program: Elf) -> list[Elf]:
    """The shared libraries that it loads, as far as they are in the folders that it names itself."""
    found: dict[Path, Elf] = {}
    waiting = [program]
    extra = [Path(folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    while waiting:
        one = waiting.pop()
        own = [Path(folder.replace("$ORIGIN", str(one.path.parent))) for folder in one.search]
        for name in one.needed:
            path = next((folder / name for folder in own + extra if (folder / name).is_file()), None)
            if path is None or path in found or name.startswith(("libcudart.so", "libnccl.so")):  # those are replaced
                continue
            try:
                found[path] = read(path)
            except (NotElf, OSError):
                continue
            waiting.append(found[path])
    return list(found.values())
