"""All C++ of common/ compiles against the kit's own libraries, from PyPI, which an ordinary user gets: they are newer than a
distribution's, and nothing else here but the wheel, which holds the emulator, uses them where the machine has its own. Shows
that the headers fit each other, not that the programs link or run; for that the hosted workflow has a run as an ordinary user."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import support
from kit.errors import KitError
from kit.setup import libraries, toolchain
from kit.setup.lock import exclusive

NAMES = ("fmt", "nlohmann_json", "liblz4", "libzstd")
# A header of each, as a compiler's list of what it read names it.
HEADERS = re.compile(r"\S*/(?:fmt/\w+\.h|nlohmann/\S+\.hpp|lz4\.h|zstd\.h)\b")
OUTPUT = ("-o", "-MF", "-MQ")


class OwnLibraries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.tools = toolchain.prepare(tests=True)
            with exclusive():
                libraries.fetch()
        except KitError as error:
            raise unittest.SkipTest(str(error).splitlines()[0]) from error
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)

    def configured(self, name: str, kit_libraries: bool, **environment: str) -> list[dict]:
        """The commands that compile C++ of common/, with warnings as errors, as a contributor's build has them."""
        build = self.folder / name
        said = subprocess.run(
            [self.tools.meson, "setup", build, support.ROOT, "-Dkit_tests=true", f"-Dkit_libraries={str(kit_libraries).lower()}"],
            env=self.tools.environ() | environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.assertEqual(said.returncode, 0, said.stdout)
        entries = json.loads((build / "compile_commands.json").read_text())
        entries = [entry for entry in entries if entry["output"].startswith("common/")]  # not the sanitizers' own copy
        own = [entry for entry in entries if entry["file"].endswith(".cpp")]
        self.assertGreater(len(own), 50)
        return own

    def test_common_compiles_against_them(self):
        everything = self.configured("kit", kit_libraries=True)
        # The wheel compiles the emulator with them; of it, one layer reads what nothing else does.
        others = [entry for entry in everything if not entry["output"].startswith("common/emulator/")]
        entries = others + [entry for entry in everything if entry["output"].startswith("common/emulator/fatbin/")]
        self.assertGreater(len(entries), 10)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            read = set().union(*pool.map(self.read_by, entries))
        self.assertEqual({Path(name).name for name in read} & {"ranges.h", "json.hpp", "lz4.h", "zstd.h"},
                         {"ranges.h", "json.hpp", "lz4.h", "zstd.h"})  # fmt: skip
        strangers = [name for name in read if libraries.FOLDER not in Path(name).parents]
        self.assertEqual(strangers, [], "read from elsewhere, so this shows nothing about the kit's own")

    def read_by(self, entry: dict) -> set[str]:
        """Checks one command's file, without making code of it, and returns which of the libraries' headers it read."""
        words = iter(shlex.split(entry["command"]))
        kept = [word if word != "-c" else "-fsyntax-only" for word in words if word not in OUTPUT or not next(words)]
        with tempfile.NamedTemporaryFile(dir=self.folder) as listing:
            said = subprocess.run([*kept, "-MF", listing.name, "-MT", "it"], cwd=entry["directory"], text=True, capture_output=True)
            self.assertEqual(said.returncode, 0, said.stderr)
            names = HEADERS.findall(Path(listing.name).read_text())
        return {os.path.normpath(os.path.join(entry["directory"], name)) for name in names}

    @unittest.skipUnless(shutil.which("pkg-config"), "no pkg-config, which Meson asks for such a place")
    def test_libraries_in_an_unusual_place_give_no_warnings(self):
        """GCC 14 finds a dangling reference in fmt 9's headers, which is an error in a contributor's build unless they are the system's."""
        place = self.folder / "elsewhere"
        for name in NAMES:
            text = f"Name: {name}\nDescription: none\nVersion: 9\nCflags: -I{place}/{name}\nLibs:\n"
            (place / name).mkdir(parents=True)
            (place / f"{name}.pc").write_text(text)
        entries = self.configured("machine", kit_libraries=False, PKG_CONFIG_PATH=str(place))
        flags = {word for entry in entries for word in shlex.split(entry["command"]) if str(place) in word}
        self.assertEqual(flags, {f"-isystem{place}/{name}" for name in NAMES})


if __name__ == "__main__":
    unittest.main()
