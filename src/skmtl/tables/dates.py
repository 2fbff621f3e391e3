"""Dates as features: a trend, and where in the year, the week and the day a moment lies."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

# How dates are written, the unmistakable first. Of 03/04/2021 nobody can say which is the month: where all dates of a
# column can be read both ways, the month comes first, and that is said.
ISO = "ISO8601"
FORMATS = {
    ISO: r"\d{4}-\d{2}(-\d{2})?([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?",
    "%d.%m.%Y": r"\d{1,2}\.\d{1,2}\.\d{4}",
    "%d.%m.%Y %H:%M": r"\d{1,2}\.\d{1,2}\.\d{4} \d{1,2}:\d{2}",
    "%d.%m.%Y %H:%M:%S": r"\d{1,2}\.\d{1,2}\.\d{4} \d{1,2}:\d{2}:\d{2}",
    "%d.%m.%y": r"\d{1,2}\.\d{1,2}\.\d{2}",
    "%Y/%m/%d": r"\d{4}/\d{1,2}/\d{1,2}",
    "%m/%d/%Y": r"\d{1,2}/\d{1,2}/\d{4}",
    "%d/%m/%Y": r"\d{1,2}/\d{1,2}/\d{4}",
    "%m/%d/%Y %H:%M": r"\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d{2}",
    "%d/%m/%Y %H:%M": r"\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d{2}",
}
MONTH_FIRST = {"%m/%d/%Y": "%d/%m/%Y", "%m/%d/%Y %H:%M": "%d/%m/%Y %H:%M"}
LOOKED_AT = 200
DAY, YEAR = 86400.0, 365.25 * 86400.0
# Programs write 9999-12-31 or 0001-01-01 where there is no date. What nanoseconds cannot count is taken for that.
EARLIEST, LATEST = pd.Timestamp.min, pd.Timestamp.max
FAR = f"before {EARLIEST.year + 1} or after {LATEST.year - 1}"
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def find_format(column: "pd.Series[Any]") -> str | None:
    """How all values of a column of text are written as dates; None where they are not."""
    values = column.dropna().astype(str).str.strip()
    some = values.head(LOOKED_AT)
    for written, pattern in FORMATS.items():
        if some.str.fullmatch(pattern).all() and _moments(values, written).notna().all():
            return written
    return None


def is_ambiguous(column: "pd.Series[Any]", written: str) -> bool:
    """Whether month and day could be exchanged in all dates of a column."""
    return written in MONTH_FIRST and bool(_moments(column.dropna().astype(str), MONTH_FIRST[written]).notna().all())


def read_dates(name: str, column: "pd.Series[Any]", written: str) -> "pd.Series[Any]":
    """Moments of a column that holds dates, or text in a format, missing where far off; refuses text in another."""
    moments = _moments(column, written)
    odd = column[moments.isna() & column.notna()]
    if len(odd):
        raise ValueError(
            f"column {name!r} held dates written like {_example(written)} when the model was fitted, and now "
            f"{odd.iloc[0]!r}; correct it."
        )
    return moments.where(~_is_far(moments)).astype("datetime64[ns]")


def count_far(column: "pd.Series[Any]", written: str) -> int:
    """How many dates of a column are so far off that they count as missing."""
    return int(_is_far(_moments(column, written)).sum())


def _is_far(moments: "pd.Series[Any]") -> "pd.Series[bool]":
    return moments.notna() & ~moments.between(EARLIEST, LATEST)


def _example(written: str) -> str:
    return "2021-12-31" if written in (ISO, "") else pd.Timestamp("2021-12-31").strftime(written)


def _moments(column: "pd.Series[Any]", written: str) -> "pd.Series[Any]":
    """Moments without a zone, NaT where there is none, or text in another format."""
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        text = column.astype(object).where(column.notna(), None)
        text = text.map(lambda value: value if value is None else str(value).strip())
        # Offsets from UTC may differ from row to row, by summer time; as UTC they are one axis.
        column = pd.to_datetime(text, format=written or ISO, errors="coerce", utc=written in (ISO, ""))
    return column if column.dt.tz is None else column.dt.tz_convert("UTC").dt.tz_localize(None)


class CalendarParts(TransformerMixin, BaseEstimator):
    """Numbers that say when something was: a trend in years, the place in the year, the day of the week, the hour.

    Parts that are the same in all rows are left out. Missing dates are NaN in all parts.

    Parameters
    ----------
    formats : mapping of str to str, optional
        How each column was written where it came as text, for those who read new tables.

    Attributes
    ----------
    origins_ : ndarray of shape (n_columns,)
        The earliest moment of each column, in seconds since 1970: where its trend is zero.
    kept_ : ndarray of bool
        Which parts are not constant.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_columns,)

    Examples
    --------
    >>> import pandas as pd
    >>> from skmtl.tables.dates import CalendarParts
    >>> days = pd.DataFrame({"day": pd.to_datetime(["2021-01-01", "2022-01-01", "2023-01-02"])})
    >>> CalendarParts().fit(days).transform(days)[:, 0].round(2).tolist()
    [0.0, 1.0, 2.0]
    """

    def __init__(self, formats: Mapping[str, str] | None = None) -> None:
        self.formats = formats

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Remember where trends begin, and which parts change."""
        self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        self.n_features_in_ = X.shape[1]
        self.origins_ = np.nan_to_num(np.array([np.nanmin(_seconds(X[name])) for name in X.columns]))
        parts = self._parts(X)
        self.kept_ = np.array([np.ptp(part[~np.isnan(part)]) > 1e-12 for part in parts.T])
        # Of a single moment there is nothing to learn, but a transformer has to return something.
        self.kept_[0] |= not self.kept_.any()
        return self

    def transform(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """The parts of each column side by side."""
        check_is_fitted(self)
        return self._parts(X)[:, self.kept_]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """``day_trend``, ``day_year_sin`` and so on."""
        parts = ["trend", "year_sin", "year_cos", "year_sin2", "year_cos2", *DAYS, "day_sin", "day_cos"]
        names = [f"{name}_{part}" for name in self.feature_names_in_ for part in parts]
        return np.array(names, dtype=object)[self.kept_]

    def _parts(self, X: pd.DataFrame) -> NDArray[np.float64]:
        columns = [X[name] for name in X.columns]
        return np.column_stack([_parts_of(one, origin) for one, origin in zip(columns, self.origins_, strict=True)])


def _parts_of(moments: "pd.Series[Any]", origin: float) -> NDArray[np.float64]:
    """Trend, two waves of the year, days of the week and a wave of the day, of shape (n, 14)."""
    seconds = _seconds(moments)
    year = 2.0 * np.pi * seconds / YEAR
    day = 2.0 * np.pi * seconds / DAY
    week = np.floor(seconds / DAY + 3.0) % 7  # 1970 began with a Thursday
    days = np.where(np.isnan(week)[:, None], np.nan, week[:, None] == np.arange(7))
    waves = [np.sin(year), np.cos(year), np.sin(2 * year), np.cos(2 * year)]
    # Whole days make no wave; rounding must not either.
    hours = np.where(np.abs(seconds % DAY) < 1e-6, 0.0, day)
    return np.column_stack([(seconds - origin) / YEAR, *waves, days, np.sin(hours), np.cos(hours)])


def _seconds(moments: "pd.Series[Any]") -> NDArray[np.float64]:
    values = moments.to_numpy(dtype="datetime64[ns]")
    return np.where(np.isnat(values), np.nan, values.astype(np.int64) / 1e9)
