"""Splitting rows into folds that suit their labels."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from skmtl._linalg import Array
from skmtl.model_selection.entries import Entries

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def make_splits(
    cv: Any, X: Array, entries: Entries, rows: NDArray[np.intp], n_given: int, *, classes: bool
) -> list[Split]:
    """Pairs of training and test rows.

    ``cv`` is a number of folds, a splitter, or pairs of indices into the ``n_given`` rows of the user, of which those
    in ``rows`` have labels. Whole numbers spread classes, and tasks in long format, evenly over the folds.
    """
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        _check_folds(int(cv), len(entries))
        strata = _strata(entries, classes=classes)
        pairs: Any = KFold(int(cv)).split(X) if strata is None else _stratified(strata, int(cv))
    elif hasattr(cv, "split") and not isinstance(cv, str):
        pairs = cv.split(X, _column(entries))
    elif np.iterable(cv) and not isinstance(cv, str):
        pairs = _positions(cv, rows, n_given)
    else:
        raise ValueError(f'cv={cv!r} is not known; pass a number of folds, "loo", a splitter, or pairs of indices.')
    splits = [(np.asarray(train, dtype=np.intp), np.asarray(test, dtype=np.intp)) for train, test in pairs]
    if not splits or any(len(train) == 0 or len(test) == 0 for train, test in splits):
        raise ValueError("cv gives no folds, or a fold without training or test rows; use other folds.")
    if max(int(part.max()) for split in splits for part in split) >= len(entries):
        raise ValueError(
            f"cv splits more rows than the {len(entries)} that have labels; drop the others, or pass pairs of indices."
        )
    return splits


def every_task(entries: Entries, train: NDArray[np.intp]) -> tuple[NDArray[np.intp], Entries]:
    """Training rows and their labels; in long format a task without a row gets one of weight zero."""
    chosen = entries.take(train)
    if entries.tasks is None or chosen.tasks is None:
        return train, chosen
    missing = np.setdiff1d(np.arange(entries.n_tasks), chosen.tasks)
    extra = np.array([int(np.argmax(entries.tasks == t)) for t in missing], dtype=np.intp)
    rows = np.concatenate([train, extra])
    chosen = entries.take(rows)
    chosen.weight[len(train) :] = 0.0
    return rows, chosen


def _check_folds(n_folds: int, n_rows: int) -> None:
    if n_folds < 2:
        raise ValueError(f'cv={n_folds} must be at least 2 folds; cv="loo" leaves one row out.')
    if n_rows < n_folds:
        raise ValueError(f"cv={n_folds} folds need at least {n_folds} rows with labels, here are {n_rows} samples.")


def _strata(entries: Entries, *, classes: bool) -> NDArray[np.intp] | None:
    """What to spread evenly over folds: tasks in long format, and classes where a row has one."""
    positive = entries.y > 0.0
    if entries.tasks is not None:
        return 2 * entries.tasks + (positive if classes else 0)
    if classes and np.all(entries.weight == entries.weight[:, :1]):
        if entries.n_tasks == 1:
            return positive[:, 0].astype(np.intp)
        if np.all(positive.sum(axis=1) == 1):
            return positive.argmax(axis=1)
    return None


def _stratified(strata: NDArray[np.intp], n_folds: int) -> Iterator[Split]:
    """Deal the rows of each stratum to the folds in turn, so that folds and strata come out even."""
    fold = np.empty(len(strata), dtype=np.intp)
    fold[np.argsort(strata, kind="stable")] = np.arange(len(strata)) % n_folds
    for k in range(n_folds):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def _column(entries: Entries) -> Array:
    """Something for a splitter to stratify by: the class, or the labels."""
    if entries.tasks is None and entries.n_tasks > 1 and np.all((entries.y > 0.0).sum(axis=1) == 1):
        return entries.y.argmax(axis=1)
    return entries.y[:, 0] if entries.y.ndim == 2 and entries.n_tasks == 1 else entries.y


def _positions(pairs: Any, rows: NDArray[np.intp], n_given: int) -> Iterator[Split]:
    """Indices into the user's rows as positions among those with labels."""
    for pair in pairs:
        train, test = (np.asarray(part) for part in pair)
        train, test = (np.flatnonzero(part) if part.dtype == bool else part for part in (train, test))
        for part in (train, test):
            if len(part) and not 0 <= part.min() <= part.max() < n_given:
                raise ValueError(f"cv has indices from {part.min()} to {part.max()}; rows are 0 to {n_given - 1}.")
        train, test = (np.searchsorted(rows, part[np.isin(part, rows)]) for part in (train, test))
        yield train, test
