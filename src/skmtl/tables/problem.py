"""The problem that a table poses: features, targets, tasks, and whether targets are numbers or classes."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from skmtl.model_selection.scores import RARE
from skmtl.tables.column_names import PathLike, check_unique_names
from skmtl.tables.columns import FeatureColumns, sort_columns
from skmtl.tables.csv_files import Marks, TableFormat
from skmtl.tables.files import read_with_notes
from skmtl.tables.roles import ColumnRoles, check_labels, check_names, with_labels
from skmtl.tables.targets import (
    are_classes,
    check_labels_kind,
    describe_constant,
    make_classes,
    make_numbers,
    rarest_share,
    read_truth,
)

# Each of five folds needs a group of its own.
FEWEST_GROUPS = 5


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


def _feature_names(frame: pd.DataFrame, roles: ColumnRoles) -> list[str]:
    """Those asked for, or all that are nothing else."""
    other = {*roles.targets, *roles.ignore, roles.task_column, roles.groups}
    given = roles.features or [name for name in frame.columns if not _has_no_name(name)]
    return [name for name in given if name not in other]


def _has_no_name(name: str) -> bool:
    """As pandas calls a column without a name, which often is an index that was written with the table."""
    return re.fullmatch(r"(Unnamed: \d+(\.\d+)?)?", name) is not None
