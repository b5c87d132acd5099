"""CSV files that people edit in a spreadsheet: commas, semicolons or tabs between the cells, with or without a byte order mark."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from kit.errors import USAGE, KitError

SEPARATORS = (",", ";", "\t")


@dataclass
class Sheet:
    """A table as it was read, with what is needed to write it in the same way."""

    heading: list[str]
    rows: list[list[str]]
    lines: list[int]  # the line of the file in which each row starts
    separator: str = ","
    bom: bool = False
    crlf: bool = False

    @property
    def names(self) -> list[str]:
        """The columns' names in the form in which they are compared."""
        return [name.strip().casefold() for name in self.heading]

    @property
    def decimal_comma(self) -> bool:
        """Whether the numbers in it are written with a comma, as spreadsheets in many languages do."""
        cells = [cell.strip() for row in self.rows for cell in row]
        with_comma, with_point = (any(re.fullmatch(rf"-?\d+{mark}\d+", cell) for cell in cells) for mark in (",", r"\."))
        return with_comma and not with_point

    def text(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self.separator, lineterminator="\r\n" if self.crlf else "\n")
        writer.writerows([self.heading, *self.rows])
        return ("\ufeff" if self.bom else "") + out.getvalue()


def read(path: Path, known: tuple[str, ...], above: int = 0) -> Sheet:
    """`known`: names of columns; the separator is the one with which most of them are found. The heading of an empty file is empty.
    `above`: how many lines, which are dropped, may precede the heading."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise KitError(f"{path}: {error.strerror}", code=USAGE) from error
    try:
        if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data:
            raise ValueError
        text = data.decode("utf-8-sig")
    except ValueError:
        raise KitError(
            f"{path}: it is not a text in UTF-8 (spreadsheets also write UTF-16 and others)",
            'Save it as "CSV UTF-8" in the spreadsheet.',
            USAGE,
        ) from None
    wanted = set(known)
    sheets = [each for separator in SEPARATORS for each in starting(parsed(path, text, separator), above)]
    best = max(sheets, key=lambda sheet: len(set(sheet.names) & wanted))
    best.bom, best.crlf = data.startswith(b"\xef\xbb\xbf"), "\r\n" in text
    return best


def starting(sheet: Sheet, above: int) -> list[Sheet]:
    """The same table, with its heading in each of the lines where it may be."""
    rows = [sheet.heading, *sheet.rows]
    return [Sheet(rows[at], rows[at + 1 :], sheet.lines[at:], sheet.separator) for at in range(min(above + 1, len(rows)))]


def parsed(path: Path, text: str, separator: str) -> Sheet:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    sheet = Sheet([], [], [], separator)
    start = 1
    try:
        for row in reader:
            if start == 1:
                sheet.heading = row
            else:
                sheet.rows.append(row)
                sheet.lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise KitError(f"{path}, line {reader.line_num}: {error}", code=USAGE) from error
    return sheet
