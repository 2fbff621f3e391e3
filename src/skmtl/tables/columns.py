"""What the columns of a table hold: numbers, categories, dates, ids, or nothing to learn from."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from skmtl.tables.dates import FAR, count_far, find_format, is_ambiguous, read_dates

# Text with more different values than this is not one-hot encoded, which would add a feature for each, but hashed.
MOST_CATEGORIES = 20
# Text of which this share of the rows is different is rather a name or a remark than a category.
NAMES = 0.5
# Names of columns that number things. As numbers they mean nothing.
ID = re.compile(r"((.*[\W_])?(id|ids|uuid|guid|key|index|idx|no|number|code|Nr|No)|.*(Id|ID|nummer|Nummer|nr|Nr))\.?")
# Databases export decimals.
NUMBERS = (bool, int, float, np.number, Decimal)


@dataclass(frozen=True)
class FeatureColumns:
    """The columns to learn from, by kind, and why others are left out.

    Parameters
    ----------
    numbers : list of str
        Columns of numbers.
    categories : list of str
        Columns of text with few different values.
    left_out : dict of str to str, optional
        Columns that are not used, each with the reason.
    dates : dict of str to str, optional
        Columns of dates, each with the format of its text, or "" where it holds dates as such.
    many : list of str, optional
        Columns of text with many different values.
    remarks : tuple of str, optional
        What else is to say about the columns, as sentences.

    See Also
    --------
    sort_columns : Decides by the values of a table.
    make_preparation : The transformer for these columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from skmtl.tables import FeatureColumns
    >>> columns = FeatureColumns(["age"], ["colour"])
    >>> columns.clean(pd.DataFrame({"colour": ["red", None], "age": [31, 45]}))
        age colour
    0  31.0    red
    1  45.0    NaN
    """

    numbers: list[str]
    categories: list[str]
    left_out: dict[str, str] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)
    many: list[str] = field(default_factory=list)
    remarks: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """All columns to learn from, numbers first."""
        return [*self.numbers, *self.categories, *self.many, *self.dates]

    @property
    def texts(self) -> list[str]:
        """Columns that are text, whatever they look like in another file."""
        return [*self.categories, *self.many, *(name for name, written in self.dates.items() if written)]

    def clean(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns of a table as floats, text and dates, NaN where a value is missing or infinite."""
        columns: dict[str, Any] = {name: _floats(name, frame[name]) for name in self.numbers}
        columns |= {name: _texts(frame[name]) for name in (*self.categories, *self.many)}
        columns |= {name: read_dates(name, frame[name], written) for name, written in self.dates.items()}
        return pd.DataFrame(columns, index=frame.index)

    def describe(self) -> str:
        """What is done with the columns before a model sees them, as sentences."""
        done = []
        if self.numbers:
            done.append(f"{_count(self.numbers, 'number')}: gaps filled with the median, then standardized.")
        if self.categories:
            done.append(f"{_count(self.categories, 'category', 'categories')}: gaps filled, then one column per value.")
        if self.many:
            done.append(f"{_count(self.many, 'text')} of many values: hashed into columns.")
        if self.dates:
            parts = "a trend, the season, the day of the week and the hour, as far as rows differ in them"
            done.append(f"{_count(list(self.dates), 'date')}: {parts}.")
        done += [f"Left out: {name!r}, {reason}." for name, reason in self.left_out.items()]
        return " ".join([*done, *self.remarks])


def sort_columns(frame: pd.DataFrame, names: Iterable[str], *, asked: Collection[str] = ()) -> FeatureColumns:
    """Decide by its values whether a column holds numbers, categories or dates, or is of no use.

    Parameters
    ----------
    frame : DataFrame
        The table.
    names : iterable of str
        The columns to look at.
    asked : collection of str, default=()
        Columns that a person asks for by name: they are used even where they look like ids.

    Returns
    -------
    FeatureColumns
        Every name by kind, or left out with the reason.

    See Also
    --------
    make_problem : Does this, and the same for targets.

    Examples
    --------
    >>> import pandas as pd
    >>> from skmtl.tables import sort_columns
    >>> frame = pd.DataFrame({"age": [31, None], "colour": ["red", "blue"], "empty": [None, None]})
    >>> columns = sort_columns(frame, frame.columns)
    >>> columns.numbers, columns.categories, columns.left_out
    (['age'], ['colour'], {'empty': 'which has no values'})
    """
    kinds: dict[str, list[str]] = {"number": [], "category": [], "many": []}
    left_out, dates, remarks = {}, {}, []
    for name in names:
        column = frame[name]
        kind, reason = _kind(name, column, asked=name in asked)
        if kind == "date":
            dates[name] = reason
            if is_ambiguous(column, reason):
                remarks.append(f"Dates of {name!r} could have day or month first; the month was taken.")
            remarks += describe_far(name, column, reason)
        elif kind in kinds:
            kinds[kind].append(name)
            remarks += _remarks(name, column) if kind == "number" else []
        else:
            left_out[name] = reason
    return FeatureColumns(kinds["number"], kinds["category"], left_out, dates, kinds["many"], tuple(remarks))


def _kind(name: str, column: "pd.Series[Any]", *, asked: bool) -> tuple[str, str]:
    """What a column holds, and the format of its dates or why it is left out."""
    values = column.dropna()
    n_values = values.nunique()
    if n_values == 0:
        return "", "which has no values"
    if holds_numbers(column):
        return ("", ID_REASON) if not asked and looks_like_id(name, values) else ("number", "")
    written = "" if pd.api.types.is_datetime64_any_dtype(column.dtype) else find_format(values)
    if written is not None:
        n_values = read_dates(name, values, written).nunique()
        if n_values > 1:
            return "date", written
        return "", "which is the same date in every row" if n_values else f"whose dates are all {FAR}"
    if n_values <= MOST_CATEGORIES:
        return "category", ""
    if n_values > NAMES * len(values) and not asked:
        return "", f"text with {n_values:,} different values in {len(values):,} rows, rather a name than a category"
    return "many", ""


ID_REASON = "whole numbers that look like an id (name it with --features to use it all the same)"


def looks_like_id(name: str, values: "pd.Series[Any]") -> bool:
    """Whether whole numbers name rows or things: by the column's name, or all different, close and in disorder."""
    numbers = values.astype("Float64").to_numpy(dtype=float)
    if pd.api.types.is_bool_dtype(values.dtype) or not np.all(np.isfinite(numbers)) or np.any(numbers % 1):
        return False
    n_values = len(np.unique(numbers))
    if ID.fullmatch(name):
        return n_values > MOST_CATEGORIES
    close = np.ptp(numbers) < 2 * len(numbers)
    return n_values == len(numbers) > MOST_CATEGORIES and bool(close) and not _in_order(numbers)


def _in_order(numbers: np.ndarray) -> bool:
    steps = np.diff(numbers)
    return bool(np.all(steps > 0) or np.all(steps < 0))


def _remarks(name: str, column: "pd.Series[Any]") -> list[str]:
    """What is to say about a column of numbers that is used."""
    numbers = column.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    known = numbers[~np.isnan(numbers)]
    said = []
    infinite = int(np.isinf(known).sum())
    if infinite:
        values, count = ("value", "counts") if infinite == 1 else ("values", "count")
        said.append(f"{infinite:,} infinite {values} of {name!r} {count} as missing.")
    elif len(known) > MOST_CATEGORIES and np.all(np.diff(known) == 1):
        said.append(f"{name!r} counts the rows; if it is no time but an id, leave it out (--ignore).")
    return said


def describe_far(name: str, column: "pd.Series[Any]", written: str) -> list[str]:
    """A sentence about dates that count as missing, where there are some."""
    count = count_far(column, written)
    said = "1 date" if count == 1 else f"{count:,} dates"
    return [f"{said} of {name!r} {FAR} {'counts' if count == 1 else 'count'} as missing."] if count else []


def holds_numbers(column: "pd.Series[Any]") -> bool:
    """Whether all values are numbers or truth values."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return not pd.api.types.is_complex_dtype(column.dtype)
    # Objects: of categories or text, pandas may make answers that are categories or text again.
    return bool(column.dropna().astype(object).map(lambda value: isinstance(value, NUMBERS)).all())


def first_text(column: "pd.Series[Any]") -> Any:
    """A value that keeps a column from being numbers."""
    values = column.dropna()
    odd = values[pd.to_numeric(values, errors="coerce").isna()]
    return (odd if len(odd) else values).iloc[0]


def _floats(name: str, column: "pd.Series[Any]") -> np.ndarray:
    if not holds_numbers(column):
        text = first_text(column)
        raise ValueError(f"column {name!r} held numbers when the model was fitted, and now {text!r}; correct it.")
    values = column.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def _texts(column: "pd.Series[Any]") -> "pd.Series[Any]":
    # Objects, not pandas' text types: the imputer of scikit-learn knows no other missing value in text than NaN.
    missing = column.isna()
    return column.astype(object).where(missing, column.astype(str)).astype(object).where(~missing, np.nan)


def _count(names: list[str], one: str, many: str | None = None) -> str:
    return f"{len(names):,} {one if len(names) == 1 else many or one + 's'}"
