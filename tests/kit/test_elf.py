"""Which programs the emulator can run is read off the file, before anything is built or started."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support  # noqa: F401  (finds the kit)
from kit.emulate import elf
from support import CloneCase


def compiler(case: unittest.TestCase) -> str:
    found = shutil.which("c++") or shutil.which("g++")
    if not found:
        case.skipTest("this machine has no C++ compiler")
    return found


class Elf(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_reads_what_the_linker_wrote(self):
        source = self.folder / "one.cpp"
        source.write_text("int one() { return 1; }\n")
        library = self.folder / "libcudart.so.12"
        subprocess.run([compiler(self), "-shared", "-fPIC", source, "-o", library, "-Wl,-soname,libcudart.so.12"], check=True)
        program = link_against(self, library)
        read = elf.read(program)
        self.assertEqual(read.runtime, "libcudart.so.12")
        self.assertEqual(read.search, (str(self.folder), "$ORIGIN/lib"))
        self.assertEqual(read.bits, 64)
        self.assertFalse(read.carries_gpu_code)
        self.assertIn(".text", read.sections)

    def test_every_cut_of_a_program_is_refused_or_read(self):
        data = Path(sys.executable).resolve().read_bytes()
        path = self.folder / "cut"
        for size in [4, 5, 16, 17, 20, 40, 63, 64, 65, 100, 500, 1000, len(data) // 2, len(data) - 1]:
            path.write_bytes(data[:size])
            try:
                elf.read(path)
            except elf.NotElf:
                pass

    def test_damaged_headers_are_refused_or_read(self):
        data = bytearray(Path("/bin/true").resolve().read_bytes()[:20000])
        path = self.folder / "damaged"
        for position in list(range(5, 64)) + list(range(64, 700, 7)):
            for value in (0, 0x7F, 0xFF):
                damaged = data.copy()
                damaged[position] = value
                path.write_bytes(damaged)
                try:
                    elf.read(path)
                except elf.NotElf:
                    pass


def link_against(case, library: Path) -> Path:
    source = library.with_name("main.cpp")
    source.write_text("int one(); int main() { return one() - 1; }\n")
    program = library.with_name("program")
    words = [compiler(case), source, library, "-o", program, f"-Wl,-rpath,{library.parent}:$ORIGIN/lib"]
    subprocess.run(words, check=True)
    return program


class Emulate(CloneCase):
    """Programs that cannot be emulated are refused before anything is set up."""

    only = (
        "common/kit",
        "common/classroom",
        "common/emulator/analysis/counted.def",
        "common/lab/states.def",
        "kit",
        "meson.build",
        "requirements",
    )

    def file(self, name: str, content: bytes, mode: int = 0o755) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(mode)
        return path

    def test_no_such_program(self):
        self.assertFails(self.kit("emulate", "./nothing"), 5, "no such program: ./nothing")
        self.assertFails(self.kit("emulate", "nothing"), 5, "neither on PATH nor here")

    def test_folder_source_script_and_text(self):
        self.assertFails(self.kit("emulate", "./common"), 5, "is a folder")
        self.assertFails(self.kit("emulate", str(self.file("sum.cu", b"int x;"))), 5, "is source code", "./kit nvcc sum.cu -o sum")
        self.assertFails(self.kit("emulate", str(self.file("run.sh", b"#!/bin/sh\ntrue\n"))), 5, "not an ELF file", "script")
        self.assertFails(self.kit("emulate", str(self.file("notes", b"hello"))), 5, "not an ELF file")
        self.assertFails(self.kit("emulate", str(self.file("empty", b""))), 5, "not an ELF file")

    def test_cut_short_and_other_machines(self):
        data = Path("/bin/true").resolve().read_bytes()
        self.assertFails(self.kit("emulate", str(self.file("cut", data[:100]))), 5, "damaged or truncated")
        other = bytearray(data)
        other[18:20] = (243).to_bytes(2, "little")
        self.assertFails(self.kit("emulate", str(self.file("other", other))), 5, "riscv64")

    def test_not_executable_and_not_cuda(self):
        data = Path("/bin/true").resolve().read_bytes()
        self.assertFails(self.kit("emulate", str(self.file("true", data, 0o644))), 5, "not executable", "chmod +x")
        self.assertFails(self.kit("emulate", "/bin/true"), 5, "not a CUDA program")

    def test_static_runtime(self):
        objcopy = shutil.which("objcopy")
        if not objcopy:
            self.skipTest("this machine has no objcopy")
        code = self.file("code", b"0123456789abcdef")
        program = self.folder / "static"
        subprocess.run([objcopy, "--add-section", f".nv_fatbin={code}", os.path.realpath("/bin/true"), program], check=True)
        result = self.kit("emulate", str(program))
        self.assertFails(result, 5, "static CUDA runtime", 'NVCC_APPEND_FLAGS="-cudart shared"')

    def test_needs_the_driver(self):
        for library, function in ("libcuda.so.1", "cuInit"), ("libcublas.so.13", "cublasSasum_v2"):
            source = self.folder / "one.cpp"
            source.write_text(f'extern "C" int {function}() {{ return 1; }}\n')
            path = self.folder / library
            subprocess.run([compiler(self), "-shared", "-fPIC", source, "-o", path, f"-Wl,-soname,{library}"], check=True)
            source.write_text(f'extern "C" int {function}(); int main() {{ return {function}(); }}\n')
            program = self.folder / "program"
            subprocess.run([compiler(self), source, path, "-o", program], check=True)
            self.assertFails(self.kit("emulate", str(program)), 5, f"linked to {library}", f"it calls {function}")

    def test_report_that_cannot_be_written(self):
        source = self.folder / "one.cpp"
        source.write_text("int one() { return 1; }\n")
        library = self.folder / "libcudart.so.13"
        subprocess.run([compiler(self), "-shared", "-fPIC", source, "-o", library, "-Wl,-soname,libcudart.so.13"], check=True)
        program = str(link_against(self, library))
        self.assertFails(self.kit("emulate", "--report", "nowhere/report.json", program), 2, "there is no folder")
        self.assertFails(self.kit("emulate", "--report", "common", program), 2, "is a folder")


if __name__ == "__main__":
    unittest.main()
