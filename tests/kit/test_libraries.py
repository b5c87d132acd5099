"""C++ libraries from PyPI: what pkg-config is told of them, and what happens where they cannot be had."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit.errors import KitError
from kit.setup import environment, libraries, system


class Libraries(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        folder = Path(temporary.name)
        for name, value in {"FOLDER": folder, "PC_FILES": folder / "pkgconfig"}.items():
            patch = mock.patch.object(libraries, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def test_every_library_that_the_kit_needs_can_be_had(self):
        self.assertEqual({need.pkg_config for need in system.LIBRARIES}, {*libraries.HEADERS, *libraries.SOURCES})
        for package, *_ in [*libraries.HEADERS.values(), *libraries.SOURCES.values()]:
            self.assertIn("==", libraries.pinned(package))

    def test_nothing_is_told_where_nothing_was_fetched(self):
        self.assertEqual(libraries.variables(), {})

    @unittest.skipUnless(shutil.which("pkg-config"), "this machine has no pkg-config")
    def test_pkg_config_finds_them_before_the_system_s(self):
        libraries.describe("liblz4", "lz4==4.4.5", "-I/somewhere/include", "-L/somewhere -llz4")
        told = os.environ | libraries.variables()
        said = subprocess.run(["pkg-config", "--cflags", "--libs", "liblz4"], env=told, text=True, capture_output=True)
        self.assertIn("-I/somewhere/include -L/somewhere -llz4", said.stdout)

    def test_without_network_it_says_so_and_leaves_the_rest_to_meson(self):
        with (
            mock.patch.object(environment, "make_venv"),
            mock.patch.object(environment, "install"),
            mock.patch.object(libraries, "pip", side_effect=KitError("no network")),
            mock.patch.object(libraries, "say") as said,
        ):
            self.assertFalse(libraries.fetch(["fmt"]))
        self.assertIn("no network", said.call_args[0][0])
        self.assertFalse(libraries.PC_FILES.exists())


if __name__ == "__main__":
    unittest.main()
