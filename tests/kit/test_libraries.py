"""C++ libraries from PyPI: what is fetched, when it counts as whole, and what happens where they cannot be had."""

import io
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support  # noqa: F401  (finds the kit)
from kit.errors import KitError
from kit.setup import environment, libraries, packages, system


class Libraries(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        folder = Path(temporary.name) / "libraries"
        self.replace(libraries, FOLDER=folder, STAMP=folder / "installed", steps=mock.Mock(), pip=self.pip)
        self.replace(environment, make_venv=mock.Mock())
        self.asked = []

    def replace(self, module, **values) -> None:
        for name, value in values.items():
            patch = mock.patch.object(module, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def pip(self, *words) -> None:
        """As pip does it: a source comes packed, in a folder that bears its version."""
        package, _, version = words[-1].partition("==")
        self.asked.append(package)
        if words[0] == "download":
            with tarfile.open(libraries.FOLDER / f"{package}-{version}.tar.gz", "w:gz") as archive:
                archive.addfile(tarfile.TarInfo(f"{package}-{version}/source.c"), io.BytesIO())

    def test_each_is_fetched_once_and_its_place_does_not_bear_its_version(self):
        libraries.fetch()
        self.assertEqual(sorted(self.asked), ["cmeel-fmt", "lz4", "nlohmann-json", "zstandard"])
        self.assertTrue((libraries.FOLDER / "zstandard" / "source.c").exists())
        libraries.fetch()
        self.assertEqual(len(self.asked), 4)

    def test_what_is_half_fetched_or_of_other_versions_is_fetched_again(self):
        libraries.fetch()
        libraries.STAMP.write_text("lz4==1.0")
        libraries.fetch()
        libraries.STAMP.unlink()
        libraries.fetch()
        self.assertEqual(len(self.asked), 12)

    def test_without_network_nothing_counts_as_fetched(self):
        self.replace(libraries, pip=mock.Mock(side_effect=KitError("no network")))
        with self.assertRaisesRegex(KitError, "no network"):
            libraries.fetch()
        self.assertFalse(libraries.fetched())

    def test_they_replace_what_the_machine_lacks_and_no_more(self):
        self.replace(system.os, geteuid=lambda: 1000)
        self.replace(system, say=mock.Mock())
        self.assertFalse(system.provide([]))
        self.assertFalse(system.provide(packages.TEST_LIBRARIES + packages.OF_ONE_LAB))
        self.assertTrue(system.provide([packages.PKG_CONFIG, packages.LIBRARIES[0]]))

    def test_root_without_network_goes_on_without_what_is_not_necessary(self):
        said = mock.Mock()
        refuse = mock.Mock(side_effect=KitError("apt-get could not install"))
        self.replace(system.os, geteuid=lambda: 0)
        self.replace(system, say=said, manager=lambda: "apt-get", install=refuse)
        self.assertFalse(system.provide(packages.OF_ONE_LAB))
        self.assertIn("not installed", said.call_args[0][0])
        self.assertTrue(system.provide(packages.LIBRARIES[:1]))
        with self.assertRaisesRegex(KitError, "could not install"):
            system.provide([packages.COMPILER])


if __name__ == "__main__":
    unittest.main()
