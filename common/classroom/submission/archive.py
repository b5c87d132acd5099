"""Reads untrusted zip files and folders. A source is listed first; then each student's files are read, within limits. What cannot be
read is refused with a reason, and reading continues with the next file."""

import io
import os
import stat
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LARGEST_FILE = 2 << 20  # bytes, unpacked
LARGEST_ARCHIVE = 64 << 20  # a student's own zip file
MOST_RATIO = 200  # unpacked to packed
# Of one student, in one source. A whole course folder, with its build folder, is well below all of them.
MOST_NAMES = 50_000  # in a folder or zip file, read or not
MOST_DEPTH = 40  # folders in folders
MOST_FILES = 400  # that are read
MOST_BYTES = 64 << 20  # of those, unpacked
MOST_SECONDS = 10  # of CPU time
TEXTS = (".cu", ".cl", ".md", ".ipynb")
RENAMED = (".cu.txt", ".cl.txt", ".md.txt", ".ipynb.txt", ".ipynb.json")  # what browsers and mail programs make of them
WANTED = (*TEXTS, *RENAMED, ".zip", "submission_metadata.yml")
SKIPPED = {".git", ".kit", "__MACOSX", "__pycache__", "node_modules", "solutions", "tests", "subprojects", "common"}


class Unreadable(Exception):
    """Why a file is refused."""


@dataclass(frozen=True)
class Listed:
    """A file of a source, before it is read."""

    path: str  # relative, with "/"
    time: float  # when it was written, in seconds since 1970; in a zip file, local time
    load: Callable[[], bytes]  # raises Unreadable


@dataclass(frozen=True)
class Entry:
    path: str
    data: bytes | None  # None: of a type that nothing reads
    time: float


@dataclass(frozen=True)
class Refused:
    path: str  # made safe to show
    why: str
    ends: bool = False  # nothing after it was read


def printable(text: str) -> str:
    """Without control characters, direction marks and halves of characters: they act on terminals and mislead readers of pages."""
    return "".join(character if character.isprintable() or character in "\n\t" else "?" for character in text)


def shown(text: str) -> str:
    """An untrusted name as one line that is safe for a terminal or a page, and not too long."""
    safe = "".join(character if character.isprintable() else "?" for character in text[:201])
    return safe if len(safe) <= 200 else safe[:197] + "..."


def why_not(path: str) -> str:
    """What is wrong with an entry's name; "" if nothing is."""
    if not path or len(path) > 1000:
        return "its name is empty or too long"
    if any("\udc80" <= character <= "\udcff" for character in path):
        return "its name is not in UTF-8"
    if any(not character.isprintable() for character in path):
        return "its name has control characters"
    if path.startswith(("/", "\\")) or "\\" in path or path[1:2] == ":":
        return "its name is not a relative path"
    if ".." in path.split("/"):
        return "its name leads out of the folder"
    return ""


def wanted(path: str) -> bool:
    return path.lower().endswith(WANTED) and not path.rpartition("/")[2].startswith("._")


def in_skipped(path: str) -> bool:
    return bool(set(path.split("/")[:-1]) & SKIPPED)


def largest(path: str) -> int:
    return LARGEST_ARCHIVE if path.lower().endswith(".zip") else LARGEST_FILE


# ---- what there is


@contextmanager
def listed(source: Path) -> Iterator[Iterable[Listed | Refused]]:
    """The files of a source, sorted by name. They can be read until the context ends."""
    if source.is_dir():
        yield in_folder(source)
    elif zipfile.is_zipfile(source):
        with open(source, "rb") as file:
            yield in_zip(file)
    else:
        yield [Refused(shown(source.name), "neither a folder nor a zip file")]


def in_folder(top: Path) -> Iterator[Listed | Refused]:
    """A folder at the top is one student's, so it has limits of its own."""
    counted: Counter[str] = Counter()
    waiting = [""]  # no recursion: somebody may nest folders deeper than Python's stack
    while waiting:
        folder = waiting.pop()
        first = folder.partition("/")[0]
        try:
            with os.scandir(top / folder) as found:
                entries = sorted(found, key=lambda each: each.name)
        except OSError as error:
            yield Refused(shown(folder), f"the folder cannot be read: {error.strerror}")
            continue
        below = []
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            counted[first] += bool(folder)
            if counted[first] > MOST_NAMES:
                yield Refused(shown(path), f"more than {MOST_NAMES} files in one folder: the files after this one were not read", True)
                waiting = [each for each in waiting if each.partition("/")[0] != first]
                below = []
                break
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED and path.count("/") >= MOST_DEPTH:
                    yield Refused(shown(path), f"more than {MOST_DEPTH} folders deep")
                elif entry.name not in SKIPPED:
                    below.append(path)
            elif entry.is_symlink() and (wanted(path) or os.path.isdir(entry.path)):
                yield Refused(shown(path), "a link")
            elif problem := why_not(path):
                if wanted(path):
                    yield Refused(shown(path), problem)
            else:
                yield in_place(top / path, path)
        waiting += reversed(below)


def in_place(place: Path, path: str) -> Listed:
    try:
        written = place.lstat().st_mtime
    except OSError:
        written = 0.0
    return Listed(path, written, lambda: read_file(place, largest(path)))


def read_file(place: Path, most: int) -> bytes:
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Unreadable("a link" if place.is_symlink() else error.strerror) from error
    with open(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise Unreadable("not a regular file")
        if about.st_size > most:
            raise Unreadable(f"larger than {most >> 20} MiB")
        return file.read(most)


def in_zip(file) -> Iterator[Listed | Refused]:
    try:
        archive = zipfile.ZipFile(file)
        entries = [(name_of(entry), entry) for entry in archive.infolist() if not entry.is_dir()]
    except Exception as error:  # whatever a damaged directory makes of zipfile
        yield Refused("", f"not a readable zip file: {shown(str(error))}")
        return
    for path, entry in sorted(entries, key=lambda each: each[0]):
        if in_skipped(path):
            continue
        if problem := why_not(entry.orig_filename) or why_not(path):
            yield Refused(shown(path), problem)
        else:
            yield Listed(path, written_at(entry), lambda path=path, entry=entry: unpacked(archive, path, entry))


def name_of(entry: zipfile.ZipInfo) -> str:
    """macOS writes UTF-8 without the flag that says so; zipfile then takes it for a code page of 1981."""
    if not entry.flag_bits & 0x800:
        try:
            return entry.filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return entry.filename


def written_at(entry: zipfile.ZipInfo) -> float:
    try:
        return time.mktime((*entry.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        return 0.0


def unpacked(archive: zipfile.ZipFile, path: str, entry: zipfile.ZipInfo) -> bytes:
    kind, most = entry.external_attr >> 16, largest(path)
    if kind and stat.S_IFMT(kind) not in (0, stat.S_IFREG):
        raise Unreadable("a link" if stat.S_ISLNK(kind) else "not a regular file")
    if entry.flag_bits & 1:
        raise Unreadable("encrypted")
    if entry.file_size > most:
        raise Unreadable(f"larger than {most >> 20} MiB")
    if entry.file_size > 1 << 20 and entry.file_size > MOST_RATIO * max(1, entry.compress_size):
        raise Unreadable("compressed more than any submission can be")
    try:
        with archive.open(entry) as file:
            data = file.read(most + 1)  # whatever its header says
    except Exception as error:
        raise Unreadable(f"damaged: {shown(str(error))}") from error
    if len(data) > most:
        raise Unreadable("larger than its header says")
    return data


# ---- what one student handed in


def read(files: list[Listed]) -> Iterator[Entry | Refused]:
    """One student's files and the contents of their zip files, the labs' own files first. The first limit that is reached ends it,
    with a message; the CPU time includes what the caller does with each file."""
    limits = Limits()
    for file in sorted(files, key=lambda each: order(each.path)):
        for found in opened(file) if file.path.lower().endswith(".zip") else [file]:
            entry = found if isinstance(found, Refused) else loaded(found)
            yield entry
            if why := limits.reached(entry):
                yield Refused(shown(found.path), f"{why} was reached here: the files after this one were not read", True)
                return


def loaded(file: Listed) -> Entry | Refused:
    try:
        return Entry(file.path, file.load() if wanted(file.path) else None, file.time)
    except Unreadable as why:
        return Refused(shown(file.path), str(why))


def order(path: str) -> tuple[int, str]:
    ends = ((".cu", ".cl"), RENAMED, (".zip",), (".ipynb", ".md"))
    return next((rank for rank, of in enumerate(ends) if path.lower().endswith(of)), len(ends)), path


class Limits:
    """What one student's files have taken so far."""

    def __init__(self):
        self.files = self.bytes = 0
        self.began = time.process_time()

    def reached(self, entry: Entry | Refused) -> str:
        """Counts one more; "" or the limit that it reaches."""
        data = b"" if isinstance(entry, Refused) else entry.data
        self.files += data is not None
        self.bytes += len(data or b"")
        if self.files >= MOST_FILES:
            return f"the limit of {MOST_FILES} files per student"
        if self.bytes >= MOST_BYTES:
            return f"the limit of {MOST_BYTES >> 20} MiB per student"
        if time.process_time() - self.began >= MOST_SECONDS:
            return f"the limit of {MOST_SECONDS} s of CPU time per student"
        return ""


def opened(file: Listed) -> Iterator[Listed | Refused]:
    """The contents of a student's own zip file, below its path; a zip file inside it is not opened."""
    try:
        data = file.load()
    except Unreadable as why:
        yield Refused(shown(file.path), str(why))
        return
    if data.count(b"PK\x01\x02") > MOST_NAMES:  # at least one for each entry; counted before zipfile reads them all
        yield Refused(shown(file.path), f"more than {MOST_NAMES} entries")
        return
    for each in sorted(in_zip(io.BytesIO(data)), key=lambda each: order(each.path)):
        path = f"{file.path}/{each.path}" if each.path else file.path
        if isinstance(each, Refused):
            yield Refused(shown(path), each.why)
        elif each.path.lower().endswith(".zip"):
            yield Refused(shown(path), "a zip file in a zip file is not opened")
        else:
            yield Listed(path, max(each.time, file.time), each.load)
