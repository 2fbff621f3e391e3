"""What the columns of a table hold: numbers, categories, or nothing to learn from."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

# Text with more different values than this is rather a name or a remark than a category: one-hot encoded, it would add
# a feature for nearly every row.
MOST_CATEGORIES = 20
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
        Columns that cannot be used, each with the reason.

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

    @property
    def names(self) -> list[str]:
        """All columns to learn from, numbers first."""
        return [*self.numbers, *self.categories]

    def clean(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns of a table as floats and as text, NaN where a value is missing or infinite."""
        columns: dict[str, Any] = {name: _floats(name, frame[name]) for name in self.numbers}
        columns |= {name: _texts(frame[name]) for name in self.categories}
        return pd.DataFrame(columns, index=frame.index)

    def describe(self) -> str:
        """What is done with the columns before a model sees them, as sentences."""
        done = []
        if self.numbers:
            done.append(f"{_count(self.numbers, 'number')}: gaps filled with the median, then standardized.")
        if self.categories:
            done.append(f"{_count(self.categories, 'category', 'categories')}: gaps filled, then one column per value.")
        done += [f"Left out: {name!r}, {reason}." for name, reason in self.left_out.items()]
        return " ".join(done)


def sort_columns(frame: pd.DataFrame, names: Iterable[str]) -> FeatureColumns:
    """Decide by its values whether a column holds numbers or categories, or is of no use.

    Parameters
    ----------
    frame : DataFrame
        The table.
    names : iterable of str
        The columns to look at.

    Returns
    -------
    FeatureColumns
        Every name as a number, as a category, or left out with the reason.

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
    numbers, categories, left_out = [], [], {}
    for name in names:
        column = frame[name]
        distinct = column.dropna().unique()
        if len(distinct) == 0:
            left_out[name] = "which has no values"
        elif holds_numbers(column):
            numbers.append(name)
        elif pd.api.types.is_datetime64_any_dtype(column.dtype):
            left_out[name] = "which holds dates; turn them into numbers to use them"
        elif len(distinct) > MOST_CATEGORIES:
            left_out[name] = f"text with {len(distinct)} different values, more than {MOST_CATEGORIES}"
        else:
            categories.append(name)
    return FeatureColumns(numbers, categories, left_out)


def holds_numbers(column: "pd.Series[Any]") -> bool:
    """Whether all values are numbers or truth values."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return not pd.api.types.is_complex_dtype(column.dtype)
    return bool(column.dropna().map(lambda value: isinstance(value, NUMBERS)).all())


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
    return f"{len(names)} {one if len(names) == 1 else many or one + 's'}"
