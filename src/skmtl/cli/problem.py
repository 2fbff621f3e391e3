"""The problem that a table poses: features, targets, tasks, and whether targets are numbers or classes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from skmtl.cli.columns import Features, first_text, holds_numbers, sort_features
from skmtl.cli.tables import check_columns, read_table

FEWEST_ROWS = 10
MOST_CLASSES = 50


@dataclass(frozen=True)
class Columns:
    """What a person says about the columns of a table."""

    targets: Sequence[str]
    features: Sequence[str] = ()
    ignore: Sequence[str] = ()
    task_column: str | None = None
    classification: bool | None = None
    delimiter: str | None = None


@dataclass(frozen=True)
class Problem:
    """Features and targets, ready to learn from; ``notes`` say what was decided on the way."""

    X: pd.DataFrame
    Y: Any
    tasks: Any
    features: Features
    classification: bool
    notes: tuple[str, ...]

    @property
    def n_tasks(self) -> int:
        if self.tasks is not None:
            return int(self.tasks.nunique())
        if self.Y.ndim == 2:
            return int(self.Y.shape[1])
        # Two classes are one task: the second is where the first is not.
        return self.Y.nunique() if self.classification and self.Y.nunique() > 2 else 1

    @property
    def complete(self) -> bool:
        """Whether every row has every label."""
        return self.tasks is None and not bool(np.any(pd.isna(self.Y)))

    def take(self, rows: Any) -> "Problem":
        """Some of the rows, in that order."""
        tasks = None if self.tasks is None else self.tasks.iloc[rows]
        return replace(self, X=self.X.iloc[rows], Y=self.Y.iloc[rows], tasks=tasks)


def read_problem(path: Path, columns: Columns) -> Problem:
    """Read a table and decide what its columns are for, or say what is wrong with it."""
    return make_problem(path, read_table(path, delimiter=columns.delimiter), columns)


def make_problem(path: Path, frame: pd.DataFrame, columns: Columns) -> Problem:
    """The problem that a table from ``path`` poses."""
    check_names(path, frame, columns)
    n_rows, frame = len(frame), with_labels(frame, columns).reset_index(drop=True)
    notes = check_labels(path, n_rows, len(frame))
    for name in columns.targets:
        if frame[name].isna().all():
            raise ValueError(f"target {name!r} has no value in any row; leave it out of --targets or fill it in.")
    classification = _is_classification(frame, columns)
    Y, about = _classes(frame, columns) if classification else _numbers(frame, columns)
    features = sort_features(frame, _feature_names(frame, columns))
    places = [place for place, name in enumerate(frame.columns, start=1) if _has_no_name(name)]
    notes += [f"Column {place} has no name and is left out." for place in places]
    if not features.names:
        reasons = "; ".join(f"{name!r} is {reason}" for name, reason in features.left_out.items())
        raise ValueError(f"{path} has no column to learn from beside the targets{': ' * bool(reasons)}{reasons}.")
    tasks = None if columns.task_column is None else frame[columns.task_column].astype(object)
    return Problem(features.clean(frame), Y, tasks, features, classification, (*notes, about, features.describe()))


def check_names(path: Path, frame: Any, columns: Columns) -> None:
    """All columns that a person names must be there, and each for one thing."""
    named = [*columns.targets, *columns.features, *columns.ignore]
    check_columns(path, frame, [*named, *([columns.task_column] if columns.task_column else [])])
    for name in columns.targets:
        if list(columns.targets).count(name) > 1:
            raise ValueError(f"target {name!r} is named twice; name every target once.")
        if name in columns.features or name == columns.task_column:
            raise ValueError(f"{name!r} cannot be a target and something else; take it out of one of the options.")
    if columns.task_column is not None and len(columns.targets) != 1:
        raise ValueError("with --task-column there is one column of values; name that one alone in --targets.")


def with_labels(frame: Any, columns: Columns) -> Any:
    """The rows of a frame of pandas or Dask with a label, and a task; from others nothing can be learned."""
    frame = frame.dropna(subset=list(columns.targets), how="all")
    return frame if columns.task_column is None else frame.dropna(subset=[columns.task_column])


def check_labels(path: Path, n_rows: int, n_known: int) -> list[str]:
    """There must be rows enough, and rows with labels; what is to say about the others."""
    if n_rows < FEWEST_ROWS:
        many = f"{n_rows} row{'s' * (n_rows != 1)}"
        raise ValueError(f"{path} has {many}; at least {FEWEST_ROWS} are needed to learn and to judge a model.")
    if n_known < FEWEST_ROWS:
        raise ValueError(f"{path} has {n_known} rows with a target, at least {FEWEST_ROWS} are needed; add some.")
    return [f"{n_rows - n_known} rows without a label are left out."] if n_known < n_rows else []


def _feature_names(frame: pd.DataFrame, columns: Columns) -> list[str]:
    """Those asked for, or all that are nothing else."""
    other = {*columns.targets, *columns.ignore, columns.task_column}
    given = columns.features or [name for name in frame.columns if not _has_no_name(name)]
    return [name for name in given if name not in other]


def _has_no_name(name: str) -> bool:
    """As pandas calls a column without a name, which often is an index that was written with the table."""
    return re.fullmatch(r"Unnamed: \d+(\.\d+)?", name) is not None


def _is_classification(frame: pd.DataFrame, columns: Columns) -> bool:
    """As said; else text, truth values and zeros with ones are classes, and other numbers are numbers."""
    if columns.classification is not None:
        return columns.classification
    kinds = {name: not holds_numbers(frame[name]) or _is_zero_one(frame[name]) for name in columns.targets}
    texts = [name for name in columns.targets if not holds_numbers(frame[name])]
    if len(columns.targets) > 1 and texts:
        _refuse_text(frame, texts[0])
    return all(kinds.values())


def _is_zero_one(column: pd.Series) -> bool:
    return holds_numbers(column) and set(column.dropna().unique()) <= {0, 1}


def _refuse_text(frame: pd.DataFrame, name: str) -> None:
    raise ValueError(
        f"target {name!r} holds text such as {first_text(frame[name])!r}; several targets must be numbers, or 0 and 1 "
        "for classes, so correct it, or make it the only target to learn its classes."
    )


def _numbers(frame: pd.DataFrame, columns: Columns) -> tuple[Any, str]:
    for name in columns.targets:
        if not holds_numbers(frame[name]):
            _refuse_text(frame, name)
    Y = frame[list(columns.targets)].astype("Float64").astype(float)
    about = f"Regression: {_listed(columns.targets)} {'holds' if len(columns.targets) == 1 else 'hold'} numbers."
    gaps = int(Y.isna().to_numpy().sum())
    if gaps:
        about += f" {gaps} of {Y.size} labels are missing and stay unobserved."
    return (Y.iloc[:, 0] if len(columns.targets) == 1 else Y), about


def _classes(frame: pd.DataFrame, columns: Columns) -> tuple[Any, str]:
    if len(columns.targets) > 1:
        for name in columns.targets:
            if not _is_zero_one(frame[name]):
                raise ValueError(
                    f"target {name!r} is not made of 0 and 1, as several targets of a classification must be; write "
                    "it with 0 and 1, or leave out --classification."
                )
        return frame[list(columns.targets)].astype("Float64").astype(float), "Classification: every target is 0 or 1."
    name = columns.targets[0]
    y = frame[name]
    y = y.astype(float).astype(int) if holds_numbers(y) and (y.astype(float) % 1 == 0).all() else y.astype(object)
    classes = y.unique()
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"target {name!r} has {len(classes)} different values such as {classes[0]!r}, too many for classes: "
            f"there may be {MOST_CLASSES} at most; name another target, or use --regression for numbers."
        )
    if len(classes) < 2:
        raise ValueError(f"target {name!r} is {classes[0]!r} in every row; classes need at least two values.")
    return y, f"Classification: {name!r} has {len(classes)} classes."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
