"""The problem that a table poses: features, targets, tasks, and whether targets are numbers or classes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from skmtl.model_selection.scores import RARE
from skmtl.tables.column_names import PathLike, check_unique_names
from skmtl.tables.columns import FeatureColumns, sort_columns
from skmtl.tables.csv_files import Marks, TableFormat
from skmtl.tables.files import check_columns, read_with_notes
from skmtl.tables.targets import (
    are_classes,
    check_labels_kind,
    describe_constant,
    make_classes,
    make_numbers,
    rarest_share,
    read_truth,
)

# Two rows in each of five folds: fewer would neither teach nor judge a model.
FEWEST_ROWS = 10
# Each of five folds needs a group of its own.
FEWEST_GROUPS = 5


@dataclass(frozen=True)
class ColumnRoles:
    """What the columns of a table are for.

    Parameters
    ----------
    targets : sequence of str
        The columns to predict. Each is a task, unless ``task_column`` is given.
    features : sequence of str, default=()
        The columns to predict from; if empty, all that are nothing else.
    ignore : sequence of str, default=()
        Columns that are left alone.
    task_column : str, optional
        Of a table with one label per row, the column that says which task the row is of.
    classification : bool, optional
        Whether targets are classes. By default text, truth values and zeros with ones are classes, and all other
        numbers are numbers.
    groups : str, optional
        A column whose rows belong together, such as the patient of a visit: no fold tears them apart. It is no feature.

    See Also
    --------
    read_problem, make_problem : Take these.

    Examples
    --------
    >>> import pandas as pd
    >>> from skmtl.tables import ColumnRoles, make_problem
    >>> frame = pd.DataFrame({"school": ["a", "b"] * 10, "age": range(20), "score": [0.5, 1.5, 2.5, 4.0] * 5})
    >>> make_problem(frame, ColumnRoles(targets=["score"], task_column="school")).n_tasks
    2
    """

    targets: Sequence[str]
    features: Sequence[str] = ()
    ignore: Sequence[str] = ()
    task_column: str | None = None
    classification: bool | None = None
    groups: str | None = None

    def in_columns(self, columns: Sequence[str]) -> "ColumnRoles":
        """The same with names put together again that a comma has cut, such as "area, m2"."""
        targets, features, ignore = (
            _join_names(names, columns) for names in (self.targets, self.features, self.ignore)
        )
        return replace(self, targets=targets, features=features, ignore=ignore)


@dataclass(frozen=True)
class TableProblem:
    """Features and targets of a table, ready to learn from.

    Attributes
    ----------
    X : DataFrame of shape (n_samples, n_columns)
        The columns to learn from, as floats and as text, with gaps.
    Y : Series or DataFrame
        Targets, NaN where a label is missing; a column per task, or one column.
    tasks : Series or None
        The task of every row, of a table with one label per row.
    features : FeatureColumns
        The columns of X by kind.
    classification : bool
        Whether targets are classes.
    notes : tuple of str
        What was decided on the way, as sentences.
    groups : Series or None
        The group of every row, where rows belong together.
    target : str or None
        The name of the column of targets, where it is one.
    marks : tuple of str or None
        The decimal mark and the mark between thousands of the file, where its numbers were not plain.

    See Also
    --------
    read_problem, make_problem : Make one.
    fit_table : Learn from it.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl.tables import ColumnRoles, make_problem
    >>> problem = make_problem(load_linnerud(as_frame=True).frame, ColumnRoles(["Weight", "Waist", "Pulse"]))
    >>> problem.complete, problem.take([3, 1]).X.shape
    (True, (2, 3))
    """

    X: pd.DataFrame
    Y: Any
    tasks: Any
    features: FeatureColumns
    classification: bool
    notes: tuple[str, ...]
    groups: Any = None
    target: str | None = None
    marks: Marks | None = None

    @property
    def scoring(self) -> str | None:
        """The score that suits classes, of all rows and of any part of them; None for numbers.

        The area under the curve where a class is rare: accuracy would call it a success to predict the frequent class
        only.
        """
        if not self.classification:
            return None
        if rarest_share(self.Y) < RARE:
            return "roc_auc"
        return "task_accuracy" if self.tasks is not None or self.Y.ndim == 2 else "accuracy"

    @property
    def task_names(self) -> list[str]:
        """What the tasks are called, in their order."""
        if self.tasks is not None:
            return [str(name) for name in sorted(self.tasks.unique())]
        if self.Y.ndim == 2:
            return [str(name) for name in self.Y.columns]
        return [str(name) for name in sorted(self.Y.dropna().unique())] if self.classification else [str(self.Y.name)]

    @property
    def n_tasks(self) -> int:
        """The number of tasks."""
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

    def take(self, rows: Any) -> "TableProblem":
        """Some of the rows, in that order."""
        tasks = None if self.tasks is None else self.tasks.iloc[rows]
        groups = None if self.groups is None else self.groups.iloc[rows]
        return replace(self, X=self.X.iloc[rows], Y=self.Y.iloc[rows], tasks=tasks, groups=groups)


def read_problem(path: PathLike, roles: ColumnRoles, written: TableFormat | None = None) -> TableProblem:
    """Read a table and decide what its columns are for.

    Parameters
    ----------
    path : str or path
        A table, see :func:`read_table`.
    roles : ColumnRoles
        What the columns are for.
    written : TableFormat, optional
        How CSV is written; by default that is recognized.

    Returns
    -------
    TableProblem
        As :func:`make_problem` returns it.

    Raises
    ------
    ValueError
        In one sentence that says what is wrong with the table and what to do.

    See Also
    --------
    make_problem : The same of a table in memory.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl.tables import ColumnRoles, read_problem, write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(load_linnerud(as_frame=True).frame, f"{folder}/table.csv")
    ...     problem = read_problem(f"{folder}/table.csv", ColumnRoles(["Weight", "Waist", "Pulse"]))
    >>> problem.X.columns.tolist()
    ['Chins', 'Situps', 'Jumps']
    """
    frame, notes, marks = read_with_notes(path, written)
    problem = make_problem(frame, roles.in_columns(list(frame.columns)), source=path)
    return replace(problem, notes=(*notes, *problem.notes), marks=marks)


def make_problem(frame: pd.DataFrame, roles: ColumnRoles, *, source: PathLike = "the table") -> TableProblem:
    """The problem that a table poses: rows with labels, features by kind, targets as numbers or classes.

    Parameters
    ----------
    frame : DataFrame
        The table.
    roles : ColumnRoles
        What its columns are for.
    source : str or path, default="the table"
        What messages call the table.

    Returns
    -------
    TableProblem
        Features, targets, and what was decided about them; rows without a label are left out.

    Raises
    ------
    ValueError
        In one sentence that says what is wrong with the table and what to do.

    See Also
    --------
    read_problem : The same of a file.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl.tables import ColumnRoles, make_problem
    >>> frame = load_linnerud(as_frame=True).frame
    >>> problem = make_problem(frame, ColumnRoles(targets=["Waist", "Weight", "Pulse"]))
    >>> problem.features.numbers, problem.classification, problem.n_tasks
    (['Chins', 'Situps', 'Jumps'], False, 3)
    """
    if not isinstance(roles, ColumnRoles):
        raise TypeError(f"roles={roles!r:.50} does not say what columns are for; pass ColumnRoles(targets=[...]).")
    if frame.columns.nlevels > 1:
        raise ValueError(f"{source} has names of {frame.columns.nlevels} levels; join them to one name per column.")
    frame = frame.rename(columns=str)
    check_unique_names(source, list(frame.columns))
    check_names(source, frame, roles)
    n_rows, frame = len(frame), with_labels(frame, roles).reset_index(drop=True)
    notes = check_labels(source, n_rows, len(frame), roles)
    for name in roles.targets:
        if frame[name].isna().all():
            raise ValueError(f"target {name!r} has no value in any row; leave it out of the targets or fill it in.")
    check_labels_kind(frame, roles.targets)
    frame, read = read_truth(frame, roles.targets)
    notes += read
    classification = are_classes(frame, roles.targets) if roles.classification is None else roles.classification
    Y, about = (make_classes if classification else make_numbers)(frame, roles.targets)
    if classification and rarest_share(Y) < RARE:
        about += f" A class has less than {RARE:.0%} of the labels; unless another is asked for, AUC is the score."
    features = sort_columns(frame, _feature_names(frame, roles), asked=roles.features)
    places = [place for place, name in enumerate(frame.columns, start=1) if _has_no_name(name)]
    notes += [f"Column {place} has no name and is left out." for place in places]
    if not features.names:
        reasons = "; ".join(f"{name!r} is {reason}" for name, reason in features.left_out.items())
        raise ValueError(f"{source} has no column to learn from beside the targets{': ' * bool(reasons)}{reasons}.")
    tasks, groups = (None if one is None else frame[one].astype(object) for one in (roles.task_column, roles.groups))
    if groups is not None:
        if groups.nunique() < FEWEST_GROUPS:
            few = f"{roles.groups!r} has {groups.nunique()} different values"
            raise ValueError(f"{few}; groups that stay together in folds must be {FEWEST_GROUPS} at least.")
        notes.append(f"Rows of the same {roles.groups!r} stay together in folds: {groups.nunique()} groups.")
    target = roles.targets[0] if len(roles.targets) == 1 else None
    notes += [about, *describe_constant(Y, tasks), features.describe()]
    return TableProblem(
        features.clean(frame), Y, tasks, features, classification, tuple(notes), groups=groups, target=target
    )


def check_names(source: PathLike, frame: Any, roles: ColumnRoles) -> None:
    """All columns that a person names must be there, and each for one thing."""
    if isinstance(roles.targets, str) or not roles.targets:
        raise ValueError(f"targets={roles.targets!r} is no list of columns; name those to predict.")
    named = [*roles.targets, *roles.features, *roles.ignore]
    check_columns(source, frame, [*named, *(name for name in (roles.task_column, roles.groups) if name)])
    for name in roles.targets:
        if list(roles.targets).count(name) > 1:
            raise ValueError(f"target {name!r} is named twice; name every target once.")
        if name in roles.features or name in (roles.task_column, roles.groups):
            raise ValueError(f"{name!r} cannot be a target and something else; name it once.")
    if roles.task_column is not None and len(roles.targets) != 1:
        raise ValueError("with a task column there is one column of values; name that one alone as the target.")


def with_labels(frame: Any, roles: ColumnRoles) -> Any:
    """The rows of a frame of pandas or Dask with a label, and a task and a group where these are named."""
    frame = frame.dropna(subset=list(roles.targets), how="all")
    named = [name for name in (roles.task_column, roles.groups) if name is not None]
    return frame.dropna(subset=named) if named else frame


def check_labels(source: PathLike, n_rows: int, n_known: int, roles: ColumnRoles) -> list[str]:
    """There must be rows enough, and rows with labels; what is to say about the others."""
    if n_rows < FEWEST_ROWS:
        many = f"{n_rows} row{'s' * (n_rows != 1)}"
        raise ValueError(f"{source} has {many}; at least {FEWEST_ROWS} are needed to learn and to judge a model.")
    if n_known < FEWEST_ROWS:
        raise ValueError(f"{source} has {n_known} rows with a target, at least {FEWEST_ROWS} are needed; add some.")
    left_out = n_rows - n_known
    rows, are = ("row", "is") if left_out == 1 else ("rows", "are")
    named = "".join(f", or without {name!r}" for name in (roles.task_column, roles.groups) if name is not None)
    # Whoever calls a task NA is to find out why it is not there.
    empty = f"{named} (empty, NA or the like)," if named else ""
    return [f"{left_out} more {rows} without a label{empty} {are} left out."] if left_out else []


def _feature_names(frame: pd.DataFrame, roles: ColumnRoles) -> list[str]:
    """Those asked for, or all that are nothing else."""
    other = {*roles.targets, *roles.ignore, roles.task_column, roles.groups}
    given = roles.features or [name for name in frame.columns if not _has_no_name(name)]
    return [name for name in given if name not in other]


def _has_no_name(name: str) -> bool:
    """As pandas calls a column without a name, which often is an index that was written with the table."""
    return re.fullmatch(r"(Unnamed: \d+(\.\d+)?)?", name) is not None


def _join_names(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Names, neighbours put together where only that is a column."""
    known = {re.sub(r"\s*,\s*", ",", name.strip()): name for name in columns}
    joined, rest = [], list(names)
    while rest:
        # As few parts as possible: a name that is a column stands for itself.
        ends = (k for k in range(1, len(rest) + 1) if ",".join(rest[:k]) in known)
        end = 1 if rest[0] in columns else next(ends, 1)
        joined.append(known.get(",".join(rest[:end]), rest[0]) if rest[0] not in columns else rest[0])
        rest = rest[end:]
    return joined
