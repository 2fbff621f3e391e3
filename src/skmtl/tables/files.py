"""Tables in and out: CSV and Parquet, with one sentence for everything that can be wrong with a file."""

import os
import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd

from skmtl._files import without_formulas, written_whole

PathLike = str | os.PathLike[str]

PARQUET = (".parquet", ".pq")
LARGEST = int(sys.float_info.max)
OTHER_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def read_table(path: PathLike, *, delimiter: str | None = None, text: Collection[str] = ()) -> pd.DataFrame:
    r"""Read a table from a CSV or Parquet file, and refuse one from which nothing could be learned.

    Parameters
    ----------
    path : str or path
        Parquet if the name ends with ``.parquet`` or ``.pq``, else CSV in UTF-8 with a header.
    delimiter : str, optional
        What separates columns of CSV; by default a comma, and a tab in files that end with ``.tsv``.
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
    ...     _ = Path(folder, "table.csv").write_text("age;income\n31;2.5\n45;\n")
    ...     table = read_table(f"{folder}/table.csv", delimiter=";")
    >>> table["income"].isna().tolist()
    [False, True]
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a CSV or Parquet file in it.")
    if not path.exists():
        raise ValueError(f"{path} does not exist{_did_you_mean(path.name, _names_beside(path))}.")
    try:
        frame = _read_parquet(path) if is_parquet(path) else _read_csv(path, delimiter, text)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error}); check the rights of the file.") from error
    check_unique_names(path, list(frame.columns))
    _check_cells(path, frame)
    if len(frame) == 0:
        raise ValueError(f"{path} has a header but no rows; add data below the header.")
    return frame


def write_table(frame: pd.DataFrame, path: PathLike) -> None:
    """Write a table; the file appears whole or not at all.

    Parameters
    ----------
    frame : DataFrame
        Its index is not written.
    path : str or path
        Parquet if the name ends with ``.parquet`` or ``.pq``; else CSV, with all the digits that numbers need to
        come back, and an apostrophe before text that a spreadsheet would run as a formula.

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
    with written_whole(path) as stream:
        if is_parquet(path):
            frame.rename(columns=str).to_parquet(stream, index=False)
        else:
            stream.write(without_formulas(frame).to_csv(index=False).encode())


def is_parquet(path: PathLike) -> bool:
    """Whether a file is Parquet by its name."""
    return Path(path).suffix.lower() in PARQUET


def check_columns(source: PathLike, frame: Any, names: Iterable[str]) -> None:
    """All names must be columns of a table of pandas or Dask; ``source`` is what messages call it."""
    for name in names:
        if name not in frame.columns:
            listed = ", ".join(frame.columns[:8]) + (", ..." if len(frame.columns) > 8 else "")
            hint = _did_you_mean(name, list(frame.columns))
            raise ValueError(f"{source} has no column {name!r}{hint}; its columns are {listed}.")


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise
    except Exception as error:
        # A damaged file fails in many ways, and all mean the same; errors of the operating system have a number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path} is not a Parquet file, or it is damaged ({_first_line(error)}).") from error
    return frame.rename(columns=str)


def _read_csv(path: Path, delimiter: str | None, text: Collection[str]) -> pd.DataFrame:
    delimiter = delimiter or ("\t" if path.suffix.lower() == ".tsv" else ",")
    options: Any = {"sep": delimiter, "encoding": "utf-8-sig", "skipinitialspace": True, "index_col": False}
    try:
        header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options).iloc[0].tolist()
        _check_header(path, header)
        with warnings.catch_warnings():
            # pandas only warns of rows longer than the header, and would drop their end.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            kinds: Any = {name: str for name in text if name in header}
            return pd.read_csv(path, dtype=kinds, low_memory=False, **options)
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{path} is empty; it needs a header and rows below it.") from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not in UTF-8 (byte {error.object[error.start]:#x}); save it again with that encoding, for "
            "example: iconv -f latin1 -t utf-8."
        ) from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise ValueError(
            f"{path} has rows that do not fit its header ({_first_line(error)}); check its quotes and its delimiter."
        ) from error


def _check_header(path: Path, header: list[str]) -> None:
    """The first row must look like names, separated by the delimiter, all different."""
    used = [f"{word} (--delimiter {mark!r})" for mark, word in OTHER_DELIMITERS.items() if mark in header[0]]
    if len(header) == 1 and used:
        raise ValueError(f"{path} seems to be separated by {used[0]}, not by commas; name them as the delimiter.")
    if all(_is_number(name) for name in header if name) and any(header):
        raise ValueError(f"{path} has no header: its first row holds numbers only; add a row with the column names.")
    # Checked before pandas reads the table, for it would rename the second one.
    check_unique_names(path, [name for name in header if name])


def check_unique_names(source: PathLike, names: list[str]) -> None:
    """No two columns may have the same name; ``source`` is what messages call the table."""
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise ValueError(f"{source} has two columns called {name!r}; give every column its own name.")


def _check_cells(path: Path, frame: pd.DataFrame) -> None:
    """Cells must be numbers, text or the like: no lists, and no numbers larger than those of a computer."""
    for name in frame.columns:
        for cell in frame[name] if pd.api.types.is_object_dtype(frame[name]) else ():
            if not pd.api.types.is_hashable(cell):
                raise ValueError(
                    f"{path}: column {name!r} holds a {type(cell).__name__} in a cell; one value is possible."
                )
            if isinstance(cell, int) and abs(cell) > LARGEST:
                raise ValueError(
                    f"{path}: column {name!r} holds a number of {len(str(cell))} digits; 308 are possible."
                )


def _is_number(name: str) -> bool:
    try:
        float(name)
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


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
