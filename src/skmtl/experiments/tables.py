"""Means, intervals, and the files of a run that people read."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from skmtl._files import write_whole, written_whole


def interval(differences: ArrayLike, overlap: float = 0.0) -> tuple[float, float, float]:
    """Mean and 95% interval (Student) of paired differences; all numbers for a single one."""
    values = np.asarray(differences, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return mean, -np.inf, np.inf
    half = float(stats.t.ppf(0.975, len(values) - 1) * standard_error(values, overlap))
    return mean, mean - half, mean + half


def standard_error(values: ArrayLike, overlap: float = 0.0) -> float:
    """The standard error of a mean; NaN for a single value.

    Values of random splits of the same rows are not independent. Their variance over n is too small, and 1/n + overlap
    takes the place of 1/n, overlap being the ratio of test rows to training rows (Nadeau and Bengio, 2003).
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float("nan")
    return float(np.std(values, ddof=1) * np.sqrt(1.0 / len(values) + overlap))


def compare(values: pd.DataFrame, against: str, *, overlap: float = 0.0, **labels: Any) -> pd.DataFrame:
    """Methods side by side.

    Parameters
    ----------
    values : DataFrame
        A row per repetition, a column per method.
    against : str
        The method that the others are compared with.
    overlap : float, default=0.0
        Where repetitions are splits of the same rows: test rows per training row.
    **labels
        Columns that say what the values are of.

    Returns
    -------
    DataFrame
        A row per method: the labels, mean, standard error, standard deviation, number of repetitions, and the paired
        difference from ``against`` with its standard error and 95% interval.
    """
    rows = []
    for method in values.columns:
        column = values[method].to_numpy(dtype=float)
        row = {**labels, "method": method, "mean": column.mean(), "error": standard_error(column)}
        row |= {"deviation": column.std(ddof=1) if len(column) > 1 else np.nan, "repetitions": len(column)}
        if method != against:
            differences = column - values[against].to_numpy(dtype=float)
            row["against"], row["difference_error"] = against, standard_error(differences, overlap)
            row["difference"], row["low"], row["high"] = interval(differences, overlap)
        rows.append(row)
    columns = ["mean", "error", "deviation", "repetitions"]
    columns += ["against", "difference", "difference_error", "low", "high"]
    return pd.DataFrame(rows).reindex(columns=[*labels, "method", *columns])


def format_difference(row: Mapping[Any, Any], *, scale: float = 1.0, digits: int = 3) -> str:
    """A difference with its standard error and interval, in bold where zero is outside the interval."""
    difference, error, low, high = (scale * row[name] for name in ("difference", "difference_error", "low", "high"))
    text = f"{difference:+.{digits}f} ± {error:.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"
    return f"**{text}**" if low > 0.0 or high < 0.0 else text


def format_percent(row: Mapping[Any, Any], spread: str) -> str:
    """A mean with its standard error or deviation."""
    return f"{100 * row['mean']:.2f} ± {100 * row[spread]:.2f}"


def find(table: pd.DataFrame, **wanted: Any) -> dict[Any, Any]:
    """The first row that has the wanted values."""
    for name, value in wanted.items():
        table = table[table[name] == value]
    return table.to_dict("records")[0]


def result_table(table: pd.DataFrame, spread: str, paper: Mapping[str, Mapping[int, tuple[float, float]]]) -> str:
    """Means in percent, a row per method, a column per size with the paper's beside it."""
    sizes, lines = list(dict.fromkeys(table["size"])), []
    for method in dict.fromkeys(table["method"]):
        cells = []
        for size in sizes:
            printed = paper.get(method, {}).get(size)
            cells += [format_percent(find(table, method=method, size=size), spread)]
            cells += [f"{printed[0]:.2f} ± {printed[1]:.2f}" if printed else ""]
        lines.append([method, *cells])
    return markdown(["", *(f"{size}{whose}" for size in sizes for whose in ("", ", paper"))], lines)


def difference_table(table: pd.DataFrame, against: str) -> str:
    """Paired differences in points, a row per method and a column per size."""
    sizes = list(dict.fromkeys(table["size"]))
    methods = [method for method in dict.fromkeys(table["method"]) if method != against]
    rows = {m: [find(table, method=m, size=size, against=against) for size in sizes] for m in methods}
    lines = [
        [f"{m} less {against}", *(format_difference(row, scale=100, digits=2) for row in rows[m])] for m in methods
    ]
    return markdown(["", *map(str, sizes)], lines)


def markdown(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; the first column is of words, the others of numbers."""
    lines = [list(columns), ["---", *["---:"] * (len(columns) - 1)], *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_tables(folder: Path, text: str, frame: pd.DataFrame) -> None:
    """Write ``table.md`` and ``table.csv``."""
    write_whole(folder / "table.md", text.rstrip() + "\n")
    write_whole(folder / "table.csv", frame.to_csv(index=False))


def save_figure(figure: Any, folder: Path, name: str) -> None:
    """Write a figure as PNG and SVG, the same bytes for the same numbers."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            with written_whole(folder / f"{name}.{kind}") as stream:
                figure.savefig(stream, format=kind, dpi=150, bbox_inches="tight", metadata=metadata)


def new_figure(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """A figure that no window and no global state knows, and its axes."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Figures need Matplotlib, which is not installed; install it, or say "
            'pip install ".[app]" in the folder of skmtl.'
        ) from error
    size = kwargs.pop("figsize", (6.4, 4.0))
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(*args, **kwargs)
