"""The students' edition: the course without what would spoil it, always the same bytes.

It contains no solutions, answers, instructor's pages, mutants or tests of the kit's own code, and no history. A file RELEASE.json
lists its contents with hashes. tests/classroom searches every file of it for the text of any solved region."""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from kit.errors import USAGE, KitError
from kit.paths import ROOT

# The paths that are left out, by how they begin.
LEFT_OUT = (
    "solutions/", "docs/instructor/", "docs/results/attempts.md", "docs/results/class.md", "docs/results/mutants.md", ".ci/", ".github/", ".git", ".pre-commit-config.yaml", "CONTRIBUTING.md", "tests/", "common/classroom/", "common/kit/commands/class.py",
)  # fmt: skip
# The tests that contain nothing solved and that a student's clone can run.
TESTS = ("emulator/fatbin", "emulator/ptx", "emulator/machine", "kit")
KEPT = (*(f"tests/{folder}/" for folder in TESTS if folder != "kit"), "tests/kit/test_stubs.py", ".gitignore")
# What README.md says only where the solutions are: what stands between these marks, and an option that names them.
SOLVED = re.compile(r"<!-- solved -->.*?<!-- /solved -->| --solutions(?:    # [^\n]*)?", re.DOTALL)
MANIFEST = "RELEASE.json"
TOP = "warpfold-students"  # the folder in an archive, whatever the file is called, so that the same clone always gives the same bytes


def files(root: Path = ROOT) -> list[str]:
    """What git tracks, or, if this is not a clone, everything except build folders."""
    listing = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True)
    if listing.returncode == 0 and listing.stdout:
        names = listing.stdout.decode().split("\0")
        return sorted(name for name in names if name and os.path.lexists(root / name))
    skipped = {".git", ".kit", "__pycache__"}
    found = [
        path.relative_to(root)
        for path in root.rglob("*")
        if (path.is_file() or path.is_symlink()) and not skipped & set(path.relative_to(root).parts)
    ]
    return sorted(str(path) for path in found if not path.parts[0].startswith("build"))


def is_released(name: str, labs: list[str] | None) -> bool:
    if name.startswith(LEFT_OUT) and not name.startswith(KEPT):
        return False
    if labs is None:
        return True
    of_lab = re.match(r"(?:labs|docs/handouts)/(\d\d_\w+)", name)
    return of_lab is None or of_lab[1] in labs or of_lab[1] == "00_start"


def version(root: Path = ROOT) -> str:
    described = re.search(r"version: '([^']+)'", (root / "meson.build").read_text())
    return described[1] if described else "unknown"


def contents(labs: list[str] | None) -> dict[str, tuple[bytes, int]]:
    """Path -> bytes and mode (the mode of a link is 0o120000, and its bytes are its target)."""
    found: dict[str, tuple[bytes, int]] = {}
    for name in files():
        if not is_released(name, labs):
            continue
        path = ROOT / name
        if path.is_symlink():
            found[name] = (os.readlink(path).encode(), 0o120000)
        else:
            found[name] = (path.read_bytes(), 0o755 if path.stat().st_mode & 0o100 else 0o644)
    found["README.md"] = (SOLVED.sub("", found["README.md"][0].decode()).encode(), 0o644)
    found["tests/meson.build"] = (f"foreach folder : {list(TESTS)}\n  subdir(folder)\nendforeach\n".encode(), 0o644)
    stubs = (ROOT / "tests/kit/meson.build").read_text()
    found["tests/kit/meson.build"] = (stubs[stubs.index("stubs = []") :].encode(), 0o644)
    for name, (data, mode) in found.items():
        if name.endswith(".md"):
            found[name] = (without_dead_links(name, data.decode(), found).encode(), mode)
    listed = {name: hashlib.sha256(data).hexdigest() for name, (data, _) in sorted(found.items())}
    names = sorted({name.split("/")[1] for name in found if re.match(r"labs/\d\d_", name)})
    left_out = sorted(path.name for path in (ROOT / "labs").iterdir() if path.is_dir() and path.name not in names)
    manifest = {"name": "warpfold", "edition": "student", "version": version(), "labs": names, "labs_left_out": left_out, "files": listed}
    found[MANIFEST] = ((json.dumps(manifest, indent=1) + "\n").encode(), 0o644)
    return dict(sorted(found.items()))


LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\(([^)#\s]+)(?:#[^)]*)?\)")


def without_dead_links(name: str, text: str, found: dict) -> str:
    """A page's links to files that are left out become their text."""
    places = set(found) | {str(folder) for each in found for folder in Path(each).parents}

    def kept(link: re.Match) -> str:
        if "://" in link[2] or link[2].startswith("/"):
            return link[0]
        place = os.path.normpath(os.path.join(os.path.dirname(name), link[2]))
        return link[0] if place in places or not os.path.lexists(ROOT / place) else link[1]

    return LINK.sub(kept, text)


def chosen_labs(asked: list[str]) -> list[str] | None:
    if not asked:
        return None
    known = sorted(path.name for path in (ROOT / "labs").iterdir() if path.is_dir())
    found = []
    for name in asked:
        matches = [lab for lab in known if lab == name] or [lab for lab in known if name in lab]
        if len(matches) != 1:
            raise KitError(f"--labs {name}: {'several labs' if matches else 'no such lab'}", "The labs: " + ", ".join(known), USAGE)
        found.append(matches[0])
    return sorted(set(found))


def write_folder(target: Path, held: dict[str, tuple[bytes, int]], force: bool = False) -> None:
    """Replaces what is there only once the new edition is complete. `force`: replaces an edition that is already there."""
    if target.resolve() == ROOT or ROOT.is_relative_to(target.resolve()):
        raise KitError(f"{target}: the course itself is there", "Name a new folder.", USAGE)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        if not (target / MANIFEST).exists():
            raise KitError(f"{target}: there is something else there", "Name a new folder.", USAGE)
        if not force:
            advice = "Name a new folder; or --force deletes this one, with everything that was added to it, and writes it anew."
            raise KitError(f"{target}: there is an edition there already", advice, USAGE)
    place = target.resolve()
    if place.parent.exists() and not place.parent.is_dir():
        raise KitError(f"{place.parent}: this is not a folder", "Name a new folder.", USAGE)
    place.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{place.name}-", dir=place.parent))
    try:
        write_files(new, held)
        new.chmod(0o755)
        if place.exists():
            shutil.rmtree(place)
        new.replace(place)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def write_files(folder: Path, held: dict[str, tuple[bytes, int]]) -> None:
    for name, (data, mode) in held.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if mode == 0o120000:
            path.symlink_to(data.decode())
        else:
            path.write_bytes(data)
            path.chmod(mode)


def write_archive(target: Path, held: dict[str, tuple[bytes, int]], top: str = TOP) -> None:
    """The same input gives the same bytes: no times, no owners, names in order."""
    if not target.parent.is_dir():
        raise KitError(f"{target}: there is no folder {target.parent}", "Make it, or name a file elsewhere.", USAGE)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (data, mode) in held.items():
            entry = tarfile.TarInfo(f"{top}/{name}")
            if mode == 0o120000:
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, data.decode(), 0o777
                archive.addfile(entry)
            else:
                entry.size, entry.mode = len(data), mode
                archive.addfile(entry, io.BytesIO(data))
    new = target.with_name(target.name + ".new")
    try:
        with open(new, "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=9, mtime=0) as squeezed:
            squeezed.write(packed.getvalue())
        new.replace(target)
    except OSError:
        if new.is_file():
            new.unlink()
        raise
