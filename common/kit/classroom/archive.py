"""Reads untrusted zip files and folders, entry by entry. What is not a regular file of a submission is refused
with a reason, and reading continues."""

import io
import os
import stat
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LARGEST_FILE = 2 << 20  # bytes, unpacked
LARGEST_ARCHIVE = 64 << 20  # a student's own zip file inside another
MOST_BYTES = 4 << 30  # in all, read from one source
MOST_ENTRIES = 200_000
MOST_RATIO = 200  # unpacked to packed
WANTED = (".cu", ".cl", ".md", ".ipynb", ".zip", ".yml", ".yaml")
SKIPPED = {".git", ".kit", "__MACOSX", "__pycache__", "node_modules", "solutions", "tests", "subprojects", "common"}


@dataclass(frozen=True)
class Entry:
    path: str  # relative, with "/"
    data: bytes
    time: float  # when it was written, in seconds since 1970; in a zip file, local time


@dataclass(frozen=True)
class Refused:
    path: str  # made safe to show
    why: str


def shown(text: str) -> str:
    """An untrusted name, made safe for a terminal or a page: no control characters, no direction marks, not too long."""
    safe = "".join(character if character.isprintable() else "?" for character in text)
    return safe if len(safe) <= 200 else safe[:197] + "..."


def why_not(path: str) -> str:
    """What is wrong with an entry's name; "" if nothing is."""
    if not path or len(path) > 1000:
        return "its name is empty or too long"
    if any(not character.isprintable() for character in path):
        return "its name has control characters"
    if path.startswith(("/", "\\")) or "\\" in path or path[1:2] == ":":
        return "its name is not a relative path"
    if ".." in path.split("/"):
        return "its name leads out of the folder"
    return ""


def wanted(path: str) -> bool:
    parts = path.split("/")
    return path.lower().endswith(WANTED) and not set(parts[:-1]) & SKIPPED and not parts[-1].startswith("._")


def read(source: Path) -> Iterator[Entry | Refused]:
    """What a source contains that could be part of a submission, sorted by name."""
    if source.is_dir():
        yield from read_folder(source)
    elif zipfile.is_zipfile(source):
        with open(source, "rb") as file:
            yield from read_zip(file)
    else:
        yield Refused(shown(source.name), "neither a folder nor a zip file")


def read_folder(top: Path) -> Iterator[Entry | Refused]:
    for folder, folders, files in os.walk(top, followlinks=False):
        here = Path(folder)
        for name in sorted(folders):
            if (here / name).is_symlink():
                yield Refused(shown(str((here / name).relative_to(top))), "a link")
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not (here / name).is_symlink())
        for name in sorted(files):
            path = (here / name).relative_to(top).as_posix()
            if wanted(path):
                yield read_file(here / name, path)


def read_file(place: Path, path: str) -> Entry | Refused:
    if problem := why_not(path):
        return Refused(shown(path), problem)
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return Refused(shown(path), "a link" if place.is_symlink() else error.strerror)
    with open(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            return Refused(shown(path), "not a regular file")
        largest = LARGEST_ARCHIVE if path.lower().endswith(".zip") else LARGEST_FILE
        if about.st_size > largest:
            return Refused(shown(path), f"larger than {largest >> 20} MiB")
        return Entry(path, file.read(largest), about.st_mtime)


def read_zip(file) -> Iterator[Entry | Refused]:
    try:
        archive = zipfile.ZipFile(file)
        entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        yield Refused("", f"not a readable zip file: {shown(str(error))}")
        return
    if len(entries) > MOST_ENTRIES:
        yield Refused("", f"more than {MOST_ENTRIES} entries")
        return
    total = 0
    for entry in sorted(entries, key=lambda each: each.filename):
        if entry.is_dir():
            continue
        problem = why_not(entry.orig_filename) or why_not(entry.filename) or why_not_unpacked(entry)
        if problem:
            yield Refused(shown(entry.filename), problem)
        elif wanted(entry.filename):
            found = unpack(archive, entry)
            if isinstance(found, Entry):
                total += len(found.data)
            if total > MOST_BYTES:
                yield Refused(shown(entry.filename), "the archive unpacks to more than 4 GiB")
                return
            yield found


def why_not_unpacked(entry: zipfile.ZipInfo) -> str:
    kind = entry.external_attr >> 16
    if kind and stat.S_IFMT(kind) not in (0, stat.S_IFREG):
        return "a link" if stat.S_ISLNK(kind) else "not a regular file"
    if entry.flag_bits & 1:
        return "encrypted"
    largest = LARGEST_ARCHIVE if entry.filename.lower().endswith(".zip") else LARGEST_FILE
    if wanted(entry.filename) and entry.file_size > largest:
        return f"larger than {largest >> 20} MiB"
    if entry.file_size > 1 << 20 and entry.file_size > MOST_RATIO * max(1, entry.compress_size):
        return "compressed more than any submission can be"
    return ""


def unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Entry | Refused:
    largest = LARGEST_ARCHIVE if entry.filename.lower().endswith(".zip") else LARGEST_FILE
    try:
        with archive.open(entry) as file:
            data = file.read(largest + 1)  # whatever its header says
    except Exception as error:
        return Refused(shown(entry.filename), f"damaged: {shown(str(error))}")
    if len(data) > largest:
        return Refused(shown(entry.filename), "larger than its header says")
    try:
        written = time.mktime((*entry.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        written = 0.0
    return Entry(entry.filename, data, written)


def nested(entry: Entry) -> Iterator[Entry | Refused]:
    """The contents of a student's own zip file; a zip file inside it is not opened."""
    for each in read_zip(io.BytesIO(entry.data)):
        if isinstance(each, Entry) and each.path.lower().endswith(".zip"):
            yield Refused(each.path, "a zip file in a zip file in a zip file")
        else:
            yield each
