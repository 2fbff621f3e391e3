"""Tables in and out: CSV, Parquet and workbooks, with one sentence for everything that can be wrong with a file."""

import io
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from skmtl._files import check_is_file, without_formulas, written_whole
from skmtl._validation import import_extra
from skmtl.tables.column_names import PathLike, check_unique_names, plain_name
from skmtl.tables.columns import first_text, holds_numbers
from skmtl.tables.csv_files import DELIMITERS, Marks, TableFormat, find_encoding, first_lines, read_csv, split_header
from skmtl.tables.unreadable import COMPRESSED, csv_said, damage_said, parquet_said
from skmtl.tables.workbooks import WORKBOOKS, read_workbook

PARQUET = (".parquet", ".pq")
LARGEST = int(sys.float_info.max)
# Files of other programs, which are not text.
FOREIGN = {
    ".xls": "an old workbook of Excel",
    ".xlsb": "a binary workbook of Excel",
    ".ods": "a workbook of LibreOffice",
    ".numbers": "a workbook of Numbers",
    ".sav": "a file of SPSS",
    ".dta": "a file of Stata",
    ".sas7bdat": "a file of SAS",
    ".rds": "a file of R",
    ".feather": "a Feather file",
    ".json": "a JSON file",
    ".pkl": "a pickle, which may run code",
}
MOST_LISTED = 8
# Letters of a name: where one has more, the csv module does not split the header.
LONGEST_NAME = 131_072
# How these begin, whatever they are called.
ZIPPED, OLD_OFFICE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def read_table(
    path: PathLike,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    text: Collection[str] = (),
) -> pd.DataFrame:
    r"""Read a table from a CSV or Parquet file or a workbook, and refuse one from which nothing could be learned.

    Parameters
    ----------
    path : str or path
        Parquet if the name ends with ``.parquet`` or ``.pq``, the first sheet of a workbook if it ends with ``.xlsx``,
        else CSV with a header.
    delimiter, decimal, thousands, encoding : str, optional
        How CSV is written, see :class:`TableFormat`; what is not given is recognized.
    text : collection of str, default=()
        Columns that are read as text even where all their values look like numbers.

    Returns
    -------
    DataFrame
        At least one row; column names are strings, all different.

    Raises
    ------
    ValueError
        In one sentence that says what is wrong with the file and what to do.

    See Also
    --------
    write_table : Write one.
    read_problem : Read a table and decide what its columns are for.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skmtl.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "table.csv").write_text("age;income\n31;1.002,5\n45;\n")
    ...     table = read_table(f"{folder}/table.csv")
    >>> table["income"].tolist()
    [1002.5, nan]
    """
    return read_with_notes(path, TableFormat(delimiter, decimal, thousands, encoding), text=text)[0]


def read_with_notes(
    path: PathLike,
    written: TableFormat | None = None,
    *,
    text: Collection[str] = (),
    kept: Collection[str] = (),
    usual: Marks | None = None,
) -> tuple[pd.DataFrame, list[str], Marks | None]:
    """The table, sentences about what was recognized in the file, and the marks of numbers that are not plain.

    Numbers of CSV that can be read in two ways are read with the ``usual`` marks. Columns that are ``kept`` are text in
    which NA is a text too.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a CSV or Parquet file in it.")
    check_path(path)
    # What readers do not foresee is said of the table, not of those who read it, such as a model.
    unforeseen = damage_said(path, (AttributeError, LookupError, TypeError), "cannot be read", "save it in another way")
    try:
        with unforeseen:
            frame, notes, marks = _read(path, written or TableFormat(), text, kept, usual)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error}); check the rights of the file.") from error
    frame = frame.set_axis([plain_name(name) for name in frame.columns], axis="columns")
    check_unique_names(path, list(frame.columns))
    check_cells(path, frame)
    if len(frame) == 0:
        raise ValueError(f"{path} has a header but no rows; add data below the header.")
    return frame, notes, marks


def _read(
    path: Path, written: TableFormat, text: Collection[str], kept: Collection[str], usual: Marks | None
) -> tuple[pd.DataFrame, list[str], Marks | None]:
    """What the reader of a file gives, names as they stand in the file."""
    if is_parquet(path):
        return _read_parquet(path), [], None
    if is_workbook(path):
        return *read_workbook(path, text, kept), None
    with csv_said(path):
        check_csv(path, written)
        return read_csv(path, written, text, usual, kept)


def write_table(frame: pd.DataFrame, path: PathLike) -> None:
    """Write a table; the file appears whole or not at all.

    Parameters
    ----------
    frame : DataFrame
        Its index is not written.
    path : str or path
        Parquet if the name ends with ``.parquet`` or ``.pq``, where columns of numbers and words are text; else CSV,
        with all the digits that numbers need to come back, and an apostrophe before text that a spreadsheet would run
        as a formula.

    See Also
    --------
    read_table : Read it again.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from skmtl.tables import read_table, write_table
    >>> table = pd.DataFrame({"x": [0.1 + 0.2, 1 / 3]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(table, f"{folder}/table.csv")
    ...     again = read_table(f"{folder}/table.csv")
    >>> again.equals(table)
    True
    """
    check_ending(path)
    with written_whole(path) as stream:
        if is_parquet(path):
            _for_parquet(frame).to_parquet(stream, index=False)
        else:
            stream.write(without_formulas(frame).to_csv(index=False).encode())


def _for_parquet(frame: pd.DataFrame) -> pd.DataFrame:
    """The same table, with columns as text whose values have no type in common."""
    frame = frame.rename(columns=str)
    check_unique_names("the table", list(frame.columns))
    mixed = [name for name in frame.columns if not _has_one_type(frame[name])]
    return frame.assign(**{name: frame[name].map(str, na_action="ignore") for name in mixed})


def _has_one_type(column: "pd.Series[Any]") -> bool:
    """Whether Parquet can hold a column, as writing a row of it shows."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuMm":
        return True
    pyarrow, parquet = import_extra("pyarrow", "app"), import_extra("pyarrow.parquet", "app")
    try:
        table = pyarrow.Table.from_pandas(column.to_frame("column"), preserve_index=False)
        parquet.write_table(table.slice(0, 1), io.BytesIO())
    except (pyarrow.ArrowException, OverflowError):
        return False
    return True


def check_ending(path: PathLike) -> None:
    """That a table can be written as the file's name says."""
    ending = Path(path).suffix.lower()
    if ending in (*WORKBOOKS, *FOREIGN, *COMPRESSED):
        raise ValueError(f"{path}: tables are written as .csv, which spreadsheets open, or .parquet; not as {ending}.")


def read_matrix(path: PathLike, names: Sequence[str]) -> Any:
    """A square table with a row and a column for each of these names, in their order, as an array.

    The header has the names; rows are in the order of the columns, or have their names in the first column.
    """
    frame = read_table(path)
    if len(frame.columns) == len(frame) + 1:
        frame = frame.set_index(frame.columns[0])
    else:
        frame.index = frame.columns if len(frame) == len(frame.columns) else frame.index
    frame.index, frame.columns = frame.index.astype(str), frame.columns.astype(str)
    if sorted(frame.index) != sorted(names) or sorted(frame.columns) != sorted(names):
        listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise ValueError(f"{path} must have a row and a column for each task: {listed}.")
    for name in names:
        if not holds_numbers(frame[name]):
            raise ValueError(f"{path}: column {name!r} holds {first_text(frame[name])!r}; write numbers only.")
    return frame.loc[list(names), list(names)].to_numpy(dtype=float)


def is_parquet(path: PathLike) -> bool:
    """Whether a file is Parquet by its name."""
    return Path(path).suffix.lower() in PARQUET


def is_workbook(path: PathLike) -> bool:
    """Whether a file is a workbook that can be read, by its name."""
    return Path(path).suffix.lower() in WORKBOOKS


def check_path(path: Path) -> None:
    """There must be a file or folder of this name, and no file that only another program can read."""
    if not path.exists():
        raise ValueError(f"{path} does not exist{_did_you_mean(path.name, _names_beside(path))}.")
    check_is_file(path, "save the table as a file, for it is read more than once")
    kind = path.suffix.lower()
    if kind in FOREIGN:
        raise ValueError(f"{path} is {FOREIGN[kind]}; save it as CSV, Parquet or .xlsx.")


def check_columns(source: PathLike, frame: Any, names: Iterable[str]) -> None:
    """All names must be columns of a table of pandas or Dask; ``source`` is what messages call it."""
    for name in names:
        if name not in frame.columns:
            more = len(frame.columns) - MOST_LISTED
            listed = ", ".join(frame.columns[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
            hint = _did_you_mean(name, list(frame.columns))
            raise ValueError(f"{source} has no column {name!r}{hint}; its columns are {listed}.")


def _read_parquet(path: Path) -> pd.DataFrame:
    parquet = import_extra("pyarrow.parquet", "app")
    # A damaged file fails in many ways, and all mean the same.
    with parquet_said(path, (Exception,)):
        names = parquet.read_schema(path).names
    # The reader would call two columns of one name damage.
    check_unique_names(path, names)
    with parquet_said(path, (Exception,)):
        return pd.read_parquet(path)


def check_csv(path: Path, written: TableFormat) -> None:
    """A file must be text by its content, with a header of names that are all different; raises what pandas raises."""
    written.check()
    _check_text(path, written.encoding)
    lines = first_lines(path, written.encoding or find_encoding(path))
    first = lines[0].strip()
    if re.fullmatch("sep=.?", first.strip('"')):
        raise ValueError(f"{path} begins with {first!r}, a word to Excel; delete that line above the header.")
    _check_header(path, lines, written.delimiter or ("\t" if path.suffix.lower() == ".tsv" else ","))


def _check_text(path: Path, encoding: str | None) -> None:
    """Files of other programs are known by how they begin, whatever they are called."""
    if path.suffix.lower() in COMPRESSED:
        return
    with path.open("rb") as stream:
        begin = stream.read(4096)
    head = begin[:4]
    if head == ZIPPED:
        raise ValueError(f"{path} is a workbook or an archive by its content; call it .xlsx, or save it as CSV.")
    if head == OLD_OFFICE:
        raise ValueError(f"{path} is {FOREIGN['.xls']} by its content; save it as CSV or .xlsx.")
    if head == b"PAR1":
        raise ValueError(f"{path} is a Parquet file by its content; give it a name that ends with .parquet.")
    if b"\0" in begin and encoding is None and not find_encoding(path).startswith(("utf-16", "utf-32")):
        raise ValueError(f"{path} is no text by its content; name a table in CSV, Parquet or .xlsx (or --encoding).")


def _check_header(path: Path, lines: list[str], delimiter: str) -> None:
    """The first row must look like names, all different."""
    header = split_header(lines, delimiter)
    if len(header) == 1:
        header = max((split_header(lines, mark) for mark in DELIMITERS), key=len)
    longest = max(map(len, header), default=0)
    if longest > LONGEST_NAME:
        raise ValueError(
            f"{path} has a header with a name of {longest:,} letters, and {LONGEST_NAME:,} are possible; check its "
            "quotes and its delimiter."
        )
    if all(_is_number(name) for name in header if name) and any(header):
        raise ValueError(f"{path} has no header: its first row holds numbers only; add a row with the column names.")
    # Checked before pandas reads the table, for it would rename the second one.
    check_unique_names(path, [name for name in header if name])


def check_cells(path: Path, frame: pd.DataFrame) -> None:
    """Cells must be numbers, text or the like."""
    for name in frame.columns:
        for cell in frame[name] if pd.api.types.is_object_dtype(frame[name]) else ():
            wrong = _wrong_cell(cell)
            if wrong:
                raise ValueError(f"{path}: column {name!r} holds {wrong}")


def _wrong_cell(cell: Any) -> str:
    """What is wrong with a cell: no lists, no numbers larger than those of a computer, and no bytes but text."""
    if not pd.api.types.is_hashable(cell):
        return f"a {type(cell).__name__} in a cell; one value is possible."
    if isinstance(cell, int) and abs(cell) > LARGEST:
        return f"a number of {len(str(cell))} digits; 308 are possible."
    if isinstance(cell, bytes) and not _is_utf8(cell):
        return "bytes that are no text; leave it out of the file, or write it as text in UTF-8."
    return ""


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_number(name: str) -> bool:
    try:
        float(name.replace(",", "."))
    except ValueError:
        return False
    return True


def _names_beside(path: Path) -> list[str]:
    try:
        return [other.name for other in path.parent.iterdir()]
    except OSError:
        return []


def _did_you_mean(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""
