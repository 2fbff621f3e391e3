"""What the columns of a table are for, as a person says it, and whether that can be."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from skmtl.tables.column_names import PathLike, plain_name
from skmtl.tables.files import check_columns

# Two rows in each of five folds: fewer would neither teach nor judge a model.
FEWEST_ROWS = 10


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


def check_names(source: PathLike, frame: Any, roles: ColumnRoles) -> None:
    """All columns that a person names must be there, and each for one thing."""
    if isinstance(roles.targets, str) or not roles.targets:
        raise ValueError(f"targets={roles.targets!r} is no list of columns; name those to predict.")
    named = [*roles.targets, *roles.features, *roles.ignore]
    check_columns(source, frame, [*named, *(name for name in (roles.task_column, roles.groups) if name)])
    for kind, listed in (("target", roles.targets), ("feature", roles.features)):
        twice = [name for name in listed if list(listed).count(name) > 1]
        if twice:
            raise ValueError(f"{kind} {twice[0]!r} is named twice; name every {kind} once.")
    for name in roles.targets:
        if name in (*roles.features, *roles.ignore, roles.task_column, roles.groups):
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
    # Whoever calls a task NA, or a class None, is to find out why it is not there.
    one = roles.targets[0] if len(roles.targets) == 1 else None
    named = " or ".join(repr(name) for name in (roles.task_column, roles.groups, one) if name is not None)
    also = f" Rows whose {named} is empty, NA, None or the like count as such." if named else ""
    return [f"{left_out} more {rows} without a label {are} left out.{also}"] if left_out else []


def _join_names(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Names, neighbours put together where only that is a column."""
    known = {",".join(map(str.strip, name.split(","))): name for name in columns}
    joined, rest = [], [plain_name(name) for name in names]
    while rest:
        # As few parts as possible: a name that is a column stands for itself.
        ends = (k for k in range(1, len(rest) + 1) if ",".join(rest[:k]) in known)
        end = 1 if rest[0] in columns else next(ends, 1)
        joined.append(known.get(",".join(rest[:end]), rest[0]) if rest[0] not in columns else rest[0])
        rest = rest[end:]
    return joined
