"""What the tests of `kit` share: a copy of the clone to play with, and a PATH of chosen programs."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "common"))

# An address that refuses connections at once, in place of the package index.
NO_INDEX = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": "", "PIP_CONFIG_FILE": os.devnull}


def tracked_files() -> list[str]:
    """The files of the clone, new ones included, as a fresh clone would have them; all but build folders where this is no clone."""
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"], text=True, capture_output=True
    )
    if listing.returncode == 0 and listing.stdout:
        return listing.stdout.splitlines()
    skipped = {".git", ".kit", "build", "__pycache__"}
    return [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file() and not skipped & set(p.relative_to(ROOT).parts)]


class CloneCase(unittest.TestCase):
    """Each test has a copy of the clone, without anything set up in it."""

    only: tuple[str, ...] = ()  # what to copy: all, or what starts with one of these

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.clone = self.folder / "warpfold"
        for name in tracked_files():
            if (not self.only or name.startswith(self.only)) and (ROOT / name).is_file():
                (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.clone / name, follow_symlinks=False)
        self.programs = self.folder / "programs"
        self.programs.mkdir()

    def link(self, *names: str) -> None:
        """Puts programs of this machine on the test's own PATH."""
        for name in names:
            found = shutil.which(name)
            if found is None:
                self.skipTest(f"this machine has no {name}")
            target = self.programs / name
            target.write_text(f'#!/bin/sh\nexec "{os.path.realpath(found) if "shims" not in found else found}" "$@"\n')
            target.chmod(0o755)

    def fake(self, name: str, script: str) -> None:
        path = self.programs / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def kit(self, *words: str, before: str = "", **environment: str) -> subprocess.CompletedProcess:
        """Runs `kit` in the copy with nothing on PATH but self.programs; `before` is Python that runs first."""
        start = f"import sys; sys.path.insert(0, 'common'); {before}\nfrom kit.cli import main; sys.exit(main(sys.argv[1:]))"
        env = {"PATH": str(self.programs), "HOME": str(self.folder), "LANG": "C.UTF-8", **environment}
        return subprocess.run([sys.executable, "-c", start, *words], cwd=self.clone, env=env, text=True, capture_output=True, timeout=300)

    def assertFails(self, result, code: int, *texts: str):
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)
