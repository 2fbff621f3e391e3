"""Attribute-relation files (ARFF), dense and sparse."""

import csv
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from skmtl.datasets._files import PathLike

NUMERIC = frozenset({"numeric", "real", "integer"})
# @attribute name type, where the name may stand in quotes of either kind.
ATTRIBUTE = re.compile(r"""@attribute\s+("[^"]*"|'(?:\\.|[^'\\])*'|[^\s{]+)\s*(.*)""", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """One attribute: its name and, if it is nominal, its values."""

    name: str
    values: tuple[str, ...] | None = None

    @property
    def is_number(self) -> bool:
        """Numeric, or nominal with no other values than 0 and 1."""
        return self.values is None or set(self.values) <= {"0", "1"}


@dataclass(frozen=True)
class ArffTable:
    r"""What :func:`read_arff` returns: the columns of a file and its cells.

    Attributes
    ----------
    columns : tuple of Column
        The name of each column and, if it is nominal, its values.
    cells : DataFrame or sparse array
        A data frame for a dense file. For a sparse one it is a matrix, in which a column of words holds the index of
        each word among the column's values, -1 for a missing one.

    See Also
    --------
    read_arff : Reads a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skmtl.datasets import read_arff
    >>> text = "@relation r\n@attribute a real\n@attribute b {0,1}\n@data\n{0 2.5}\n{1 1}"
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "small.arff").write_text(text)
    ...     table = read_arff(Path(folder, "small.arff"))
    >>> table.matrix([0, 1]).toarray().tolist()
    [[2.5, 0.0], [0.0, 1.0]]
    """

    columns: tuple[Column, ...]
    cells: pd.DataFrame | sparse.csr_array

    def frame(self, places: Sequence[int]) -> pd.DataFrame:
        """The columns at the given places: floats, and categories where the values are words."""
        if isinstance(self.cells, pd.DataFrame):
            return self.cells.iloc[:, list(places)]
        dense = self.cells[:, list(places)].toarray()
        columns = [self.columns[place] for place in places]
        frame = pd.DataFrame(dense, columns=pd.Index([column.name for column in columns]))
        for place, column in enumerate(columns):
            if not column.is_number:
                codes = dense[:, place].astype(int)
                frame.isetitem(place, pd.Categorical.from_codes(codes, categories=pd.Index(column.values or ())))
        return frame

    def matrix(self, places: Sequence[int]) -> sparse.csr_array:
        """The columns at the given places as a sparse matrix; all must be numbers."""
        words = [self.columns[place].name for place in places if not self.columns[place].is_number]
        if words:
            raise ValueError(f"Columns {', '.join(words[:5])} hold words, not numbers; ask for a frame (sparse=False).")
        if isinstance(self.cells, pd.DataFrame):
            return sparse.csr_array(self.frame(places).to_numpy(dtype=float))
        return sparse.csr_array(self.cells[:, list(places)])


def read_arff(path: PathLike) -> ArffTable:
    r"""Read an attribute-relation file (ARFF).

    Parameters
    ----------
    path : path-like
        Numeric and nominal columns; ``?`` is a missing value. Rows are dense, or sparse as ``{index value, ...}``
        where what is left out is 0, or the first value of a nominal column.

    Returns
    -------
    ArffTable
        Columns and cells; :meth:`ArffTable.frame` makes a data frame.

    See Also
    --------
    load_mulan : Splits such a file into features and targets.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skmtl.datasets import read_arff
    >>> text = "@relation r\n@attribute size real\n@attribute colour {red,blue}\n@data\n1.5,red\n?,blue"
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "small.arff").write_text(text)
    ...     table = read_arff(Path(folder, "small.arff"))
    >>> table.frame([0, 1])
       size colour
    0   1.5    red
    1   NaN   blue
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist; pass the path of an ARFF file.")
    lines = [line.strip() for line in file.read_text(encoding="utf-8-sig", errors="replace").split("\n")]
    lines = [line for line in lines if line and not line.startswith("%")]
    start = next((place for place, line in enumerate(lines) if line.lower().startswith("@data")), None)
    header = [line for line in lines[:start] if line.lower().startswith("@attribute")]
    if start is None or not header:
        raise ValueError(f"{file} has {len(header)} @attribute lines and {'no' if start is None else 'a'} @data line; "
                         "an ARFF file needs both.")  # fmt: skip
    rows = lines[start + 1 :]
    try:
        columns = tuple(map(_column, header))
        parse = _parse_sparse if rows and rows[0].startswith("{") else _parse_dense
        return ArffTable(columns, parse(rows, columns))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{file}: {' '.join(str(error).split())}") from None


def _column(line: str) -> Column:
    """The attribute that a header line declares."""
    match = ATTRIBUTE.match(line)
    name, kind = (part.strip() for part in match.groups()) if match else ("", "")
    name = re.sub(r"\\(.)", r"\1", name.strip("\"'")) if name[:1] in {'"', "'"} else name
    if kind.startswith("{") and kind.endswith("}"):
        return Column(name, tuple(_split_values(kind[1:-1])))
    if kind.lower() in NUMERIC:
        return Column(name)
    raise ValueError(f"cannot use the line {line[:80]!r}; columns may be numeric, real, integer, or {{a,b,c}}.")


def _split_values(text: str) -> list[str]:
    """Values of a nominal column, without quotes and blanks."""
    quote = '"' if '"' in text and "'" not in text else "'"
    try:
        return [value.strip() for value in next(csv.reader([text], quotechar=quote, skipinitialspace=True))]
    except csv.Error as error:
        raise ValueError(f"{{{shorten(text, 80)}}} is no list of values: {error}.") from None


def _parse_dense(rows: list[str], columns: tuple[Column, ...]) -> pd.DataFrame:
    """Frame of rows like ``1,2,red``."""
    _check_lengths(rows, len(columns))
    kinds = {place: float if column.is_number else str for place, column in enumerate(columns)}
    frame = _read_csv(rows, kinds)
    for place, column in enumerate(columns):
        if not column.is_number:
            frame.isetitem(place, _categorical(frame.iloc[:, place], column))
        elif column.values is not None:
            _check_zero_one(frame.iloc[:, place].to_numpy(), column)
    frame.columns = pd.Index([column.name for column in columns])
    return frame


def _parse_sparse(rows: list[str], columns: tuple[Column, ...]) -> sparse.csr_array:
    """Matrix of rows like ``{0 1.5, 7 1}``."""
    _check_sparse(rows, columns)
    inside = [row[1:-1].strip() for row in rows]
    counts = [row.count(",") + 1 if row else 0 for row in inside]
    entries = [entry.strip() for row in inside if row for entry in row.replace("\t", " ").split(",")]
    if "" in entries:
        raise ValueError("a sparse row has nothing beside a comma.")
    all_numbers = all(column.is_number for column in columns)
    pairs = _read_csv(entries, {0: int, 1: float if all_numbers else str}, sep=" ")
    row, place = np.repeat(np.arange(len(rows)), counts), pairs[0].to_numpy()
    if len(place) and not 0 <= place.min() <= place.max() < len(columns):
        raise ValueError(f"rows use the column {place.max()}, but columns go from 0 to {len(columns) - 1}.")
    values = (pairs[1] if all_numbers else _numbers(pairs[1], place, columns)).to_numpy(dtype=float)
    matrix = sparse.csr_array((values, (row, place)), shape=(len(rows), len(columns)))
    if matrix.nnz < len(values):
        raise ValueError("a row names the same column twice.")
    zero_one = np.array([column.is_number and column.values is not None for column in columns])
    wrong = np.flatnonzero(zero_one[place] & _is_not_zero_one(values))
    if len(wrong):
        _check_zero_one(values[wrong[:1]], columns[place[wrong[0]]])
    return matrix


def _read_csv(rows: list[str], kinds: Mapping[int, type], sep: str = ",") -> pd.DataFrame:
    """Cells, with ``?`` alone for a missing one."""
    if not rows:
        return pd.DataFrame({place: pd.Series(dtype=kind) for place, kind in kinds.items()})
    options: Any = {"sep": sep, "header": None, "names": list(kinds), "index_col": False, "dtype": dict(kinds)}
    options |= {"na_values": ["?"], "keep_default_na": False, "skipinitialspace": True}
    options["quotechar"] = '"' if any('"' in row for row in rows) else "'"
    with warnings.catch_warnings():
        # pandas only warns of rows that are all too long, and would drop their ends.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(StringIO("\n".join(rows)), **options)
        except pd.errors.ParserWarning:
            raise ValueError(f"rows, or entries of sparse rows, hold more than {len(kinds)} values.") from None


def _categorical(cells: pd.Series, column: Column) -> "pd.Categorical[str]":
    """Words as categories, all of them declared."""
    words = cells.str.strip()
    unknown = sorted(set(words.dropna()) - set(column.values or ()))
    if unknown:
        raise ValueError(f"column {column.name} holds {', '.join(unknown[:5])}, not among its values {column.values}.")
    return pd.Categorical(words, categories=list(column.values or ()))


def _is_not_zero_one(cells: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (cells != 0.0) & (cells != 1.0) & ~np.isnan(cells)


def _check_zero_one(cells: NDArray[np.float64], column: Column) -> None:
    """Numbers that were declared as {0,1} are."""
    wrong = cells[_is_not_zero_one(cells)]
    if len(wrong):
        raise ValueError(f"column {column.name} holds {wrong[0]:g}, not among its values {column.values}.")


def _numbers(cells: pd.Series, place: NDArray[np.intp], columns: tuple[Column, ...]) -> pd.Series:
    """Cells of sparse rows as numbers: words become their places among the values of their column."""
    numbers = cells.astype(object)
    for number, column in enumerate(columns):
        if not column.is_number:
            here = place == number
            numbers[here] = _categorical(cells[here], column).codes
    return numbers


def _check_lengths(rows: list[str], n_columns: int) -> None:
    """As many cells as columns in every row, as far as commas in quotes let us count."""
    for number, row in enumerate(rows, start=1):
        if row.count(",") + 1 != n_columns and "'" not in row and '"' not in row:
            raise ValueError(f"row {number} of the data has {row.count(',') + 1} cells for {n_columns} columns.")


def _check_sparse(rows: list[str], columns: tuple[Column, ...]) -> None:
    """All rows in braces, and zero is what they leave out."""
    wrong = next((row for row in rows if not (row.startswith("{") and row.endswith("}"))), None)
    if wrong is not None:
        raise ValueError(f"the first row is sparse, but {wrong[:60]!r} is not in braces.")
    ones = [column.name for column in columns if column.is_number and column.values and column.values[0] == "1"]
    if ones:
        raise ValueError(
            f"columns {', '.join(ones[:5])} list 1 before 0, so sparse rows leave out ones; declare {{0,1}}."
        )
