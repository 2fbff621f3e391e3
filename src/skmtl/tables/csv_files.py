"""CSV as programs of the world write it: encodings, delimiters, decimal commas and marks between thousands."""

import codecs
import csv
import re
import warnings
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from skmtl.tables.column_names import plain_name
from skmtl.tables.unreadable import COMPRESSED

DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}
# That of UTF-32 first: one of UTF-16 is the beginning of it.
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Spaces that people and spreadsheets put between thousands.
SPACES = " \u00a0\u202f\u2009"
# Lines that a header may take.
HEADER_LINES = 50
# Values of a column that are looked at to see how its numbers are written.
LOOKED_AT = 2000
# How columns are read in which NA is a text as others are.
AS_WRITTEN: Any = {"dtype": str, "keep_default_na": False, "na_values": [""]}
SIGNED = r"\s*[+-]?"
# The decimal mark of numbers, and the mark between thousands.
Marks = tuple[str, str | None]


@dataclass(frozen=True)
class TableFormat:
    """How a CSV file is written. What is None is recognized.

    Parameters
    ----------
    delimiter : str, optional
        What separates columns; by default a comma, a tab in files that end with ``.tsv``, and semicolons, tabs or bars
        where the header shows them.
    decimal : {".", ","}, optional
        The decimal mark; by default a comma where the numbers of a column show it, else a point.
    thousands : str, optional
        The mark between thousands; by default a point beside a decimal comma, and a comma where numbers show it. Only
        digits in threes are taken for thousands, so that dates stay as they are.
    encoding : str, optional
        The encoding; by default UTF-8, UTF-16 or UTF-32 where the file begins with its mark, and else Windows-1252.

    See Also
    --------
    read_table : Reads a file.

    Examples
    --------
    >>> from skmtl.tables import TableFormat
    >>> TableFormat(delimiter=";", decimal=",").thousands is None
    True
    """

    delimiter: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None

    def check(self) -> None:
        """Raise ``ValueError`` for marks that are none or cannot be told apart, and for an encoding that is none."""
        if self.delimiter and (len(self.delimiter) > 1 or not self.delimiter.isascii() or self.delimiter in '\n\r\0"'):
            raise ValueError(
                f"delimiter={self.delimiter!r} is no delimiter; choose one character such as ',', ';', '|' or a tab."
            )
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal={self.decimal!r} is no decimal mark; choose '.' or ','.")
        if self.thousands is not None and (len(self.thousands) != 1 or self.thousands.isalnum()):
            raise ValueError(
                f"thousands={self.thousands!r} is no mark between thousands; choose '.', ',', ' ' or another."
            )
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            raise ValueError(
                f"decimal mark and mark between thousands are both {self.thousands!r}; name another decimal mark."
            )
        if self.delimiter is not None and self.delimiter == self.decimal:
            raise ValueError(f"delimiter and decimal mark are both {self.delimiter!r}; name another delimiter.")
        try:
            # Not codecs.lookup, which also knows codecs that are not of text, such as hex.
            "a".encode(self.encoding or "utf-8")
        except (LookupError, ValueError) as error:
            raise ValueError(
                f"encoding={self.encoding!r} is not known; name one such as utf-8, utf-16 or latin-1."
            ) from error


def read_csv(
    path: Path, written: TableFormat, text: Collection[str], usual: Marks | None = None, kept: Collection[str] = ()
) -> tuple[pd.DataFrame, list[str], Marks | None]:
    """A CSV file, sentences about what was recognized in it, and marks of its numbers; raises what pandas raises.

    Where nothing shows the marks, they are the ``usual`` ones, and a warning says so. Of columns that are ``kept`` no
    cell is missing but the empty one.
    """
    notes = []
    encoding = written.encoding or find_encoding(path)
    if written.encoding is None and encoding not in BYTE_ORDER_MARKS.values():
        notes.append(f"The file is not in UTF-8; it was read as {encoding} (--encoding, where that is wrong).")
    header = first_lines(path, encoding)
    delimiter = written.delimiter or _find_delimiter(path, header)
    if written.delimiter is None and delimiter in DELIMITERS and path.suffix.lower() != ".tsv":
        notes.append(f"Columns are separated by {DELIMITERS[delimiter]}.")
    options: Any = {"sep": delimiter, "encoding": encoding, "skipinitialspace": True, "index_col": False}
    kinds = kinds_of_text(path, [*text, *kept], options)
    with warnings.catch_warnings():
        # pandas only warns of rows longer than the header, and would drop their end.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame = pd.read_csv(path, dtype=kinds, low_memory=False, **options)
        names = [name for name in kinds if plain_name(name) in kept]
        if names:
            frame[names] = pd.read_csv(path, usecols=names, **options, **AS_WRITTEN)
        possible = _possible_marks(frame.drop(columns=list(kinds)), replace(written, delimiter=delimiter))
        guessed = [] if possible else _likely_marks(usual, replace(written, delimiter=delimiter))
        possible = possible or guessed
        if not possible:
            return frame, notes, None
        raw = pd.read_csv(path, dtype=str, low_memory=False, **options).drop(columns=list(kinds))
    # Where commas separate columns, one within a column is rather a list than a number.
    sure = written.decimal == "," or (delimiter != "," and not guessed)
    fitting = [marks for marks in possible if sure or not _contradicted(frame, raw, marks)]
    if len(fitting) < len(possible) and not guessed:
        notes.append("Text that could be numbers with a decimal comma stays text, for other numbers have a point.")
    if not fitting:
        return frame, notes, None
    decimal, thousands = fitting[0]
    changed = [name for name in raw.columns if _rewrite(frame, raw, name, decimal, thousands)]
    if changed and written.decimal is None and decimal == ",":
        notes.append("Numbers have a decimal comma.")
        if thousands == "." and any(raw[name].str.contains(".", regex=False).any() for name in changed):
            notes.append("Points stand between thousands.")
    if changed and written.thousands is None and decimal == ".":
        notes.append("Numbers have commas between thousands.")
    if changed and guessed:
        warnings.warn(_describe_guess(changed[0], decimal, thousands), UserWarning, stacklevel=2)
    return frame, notes, fitting[0]


def _describe_guess(name: str, decimal: str, thousands: str | None) -> str:
    marks = f"decimal mark {decimal!r}" + (f" and {thousands!r} between thousands" if thousands else "")
    return (
        f"numbers such as those of {name!r} were read with {marks}, as at the fit; name --decimal where that is wrong."
    )


def kinds_of_text(path: Path, text: Collection[str], options: Any) -> dict[Any, Any]:
    """The type of columns of text, by their names as pandas has them: with the blanks that are left out later."""
    return {name: str for name in pd.read_csv(path, nrows=0, **options).columns if plain_name(name) in text}


def find_encoding(path: Path) -> str:
    """The encoding that the bytes of a file show: a mark at its beginning, UTF-8, or that of Windows for the West."""
    if path.suffix.lower() in COMPRESSED:
        return "utf-8-sig"
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as stream:
        head = stream.read(4)
        for mark, name in BYTE_ORDER_MARKS.items():
            if head.startswith(mark):
                return name
        # Text of Latin letters in UTF-16 has a zero in every other byte.
        if len(head) == 4 and head.count(0) == 2 and (head[0] == head[2] == 0 or head[1] == head[3] == 0):
            return "utf-16-be" if head[0] == 0 else "utf-16-le"
        try:
            decoder.decode(head)
            while block := stream.read(2**20):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8-sig"


def first_lines(path: Path, encoding: str) -> list[str]:
    """Lines as they stand in the file, among them the header, whose names may have breaks where they are quoted."""
    # One column, whatever it holds: no delimiter is a mark that no text has.
    options: Any = {"sep": "\x1f", "header": None, "nrows": HEADER_LINES, "dtype": str, "quoting": csv.QUOTE_NONE}
    options |= {"keep_default_na": False, "on_bad_lines": "skip", "engine": "c"}
    return [f"{line}\n" for line in pd.read_csv(path, encoding=encoding, **options).iloc[:, 0]]


def split_header(lines: list[str], delimiter: str) -> list[str]:
    """The names of the header that lines begin with; the whole line where a delimiter leaves it too long for one."""
    try:
        return [name.strip() for name in next(csv.reader(lines, delimiter=delimiter, skipinitialspace=True), [])]
    except csv.Error:
        return [lines[0].strip()]


def _find_delimiter(path: Path, header: list[str]) -> str:
    if path.suffix.lower() == ".tsv":
        return "\t"
    if len(split_header(header, ",")) == 1:
        counts = {mark: len(split_header(header, mark)) for mark in DELIMITERS}
        best = max(counts, key=lambda mark: counts[mark])
        return best if counts[best] > 1 else ","
    # A name may hold a comma where columns are separated by something else.
    semicolons = len(split_header(header, ";"))
    return ";" if semicolons > len(split_header(header, ",")) else ","


def _possible_marks(frame: pd.DataFrame, written: TableFormat) -> list[Marks]:
    """Marks of numbers that are not written as pandas reads them: those asked for, or those that text shows."""
    if written.decimal == ",":
        return [(",", written.thousands or ("." if written.delimiter != "." else None))]
    if written.thousands is not None:
        return [(written.decimal or ".", written.thousands)]
    texts = [_looked_at(frame[name]) for name in frame.columns if is_text(frame[name])]
    both: list[Marks] = [(",", "."), (".", ",")]
    return [
        marks
        for marks in both
        if written.decimal in (None, marks[0])
        and any(_all_numbers(values, *marks) and _shows(values, marks[0]) for values in texts)
    ]


def _likely_marks(usual: Marks | None, written: TableFormat) -> list[Marks]:
    """The usual marks, unless others are asked for, or the file is separated by commas and hardly has decimal ones."""
    if usual is None or written.decimal not in (None, usual[0]) or written.delimiter == usual[0]:
        return []
    return [usual]


def _contradicted(frame: pd.DataFrame, raw: pd.DataFrame, marks: Marks) -> bool:
    """Whether a column that is numbers already holds some that cannot be read with these marks."""
    for name in raw.columns:
        if pd.api.types.is_float_dtype(frame[name].dtype):
            values = raw[name].dropna()
            plain = values[values.str.fullmatch(number_pattern(".", None))]
            if not plain.str.fullmatch(number_pattern(*marks)).all():
                return True
    return False


def is_text(column: "pd.Series[Any]") -> bool:
    """Whether a column was read as text."""
    return not (pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype))


def _looked_at(column: "pd.Series[Any]") -> "pd.Series[Any]":
    return column.dropna().drop_duplicates().head(LOOKED_AT).astype(str)


def number_pattern(decimal: str, thousands: str | None) -> str:
    """A regular expression for a whole text that is a number written with these marks."""
    mark = None if thousands is None else f"[{SPACES}]" if thousands in SPACES else re.escape(thousands)
    whole = r"\d+" if mark is None else rf"(?:[1-9]\d{{0,2}}(?:{mark}\d{{3}})+|\d+)"
    return rf"{SIGNED}(?:{whole}(?:{re.escape(decimal)}\d*)?|{re.escape(decimal)}\d+)(?:[eE][+-]?\d+)?\s*"


def _all_numbers(values: "pd.Series[Any]", decimal: str, thousands: str | None) -> bool:
    return len(values) > 0 and bool(values.str.fullmatch(number_pattern(decimal, thousands)).all())


def _shows(values: "pd.Series[Any]", decimal: str) -> bool:
    """Whether some number cannot be read with the roles of point and comma exchanged."""
    other = "." if decimal == "," else ","
    return not bool(values.str.fullmatch(number_pattern(other, decimal)).all())


def _rewrite(frame: pd.DataFrame, raw: pd.DataFrame, name: str, decimal: str, thousands: str | None) -> bool:
    """Read a column again as numbers, in place, where all its values are; whether it was."""
    if pd.api.types.is_bool_dtype(frame[name].dtype):
        return False
    values = raw[name].dropna()
    if len(values) == 0 or not values.str.fullmatch(number_pattern(decimal, thousands)).all():
        # Point and comma stay what they are in text, and in numbers as pandas reads them.
        return False
    plain = raw[name].str.strip()
    if thousands is not None:
        mark = f"[{SPACES}]" if thousands in SPACES else re.escape(thousands)
        plain = plain.str.replace(mark, "", regex=True)
    numbers = pd.to_numeric(plain.str.replace(decimal, ".", regex=False))
    changed = is_text(frame[name]) or not numbers.equals(frame[name])
    frame[name] = numbers
    return changed
