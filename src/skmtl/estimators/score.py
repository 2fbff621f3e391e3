"""Scores of predictions for tables that are read a block at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl._validation import check_targets
from skmtl.targets import ErrorSums, LabelReader


def labels_like(prediction: NDArray[Any], y: Any) -> Array:
    """The labels as a table with a column for each column of predictions."""
    n_given, n_predicted = (np.shape(table)[1] if np.ndim(table) == 2 else 1 for table in (y, prediction))
    if y is not None and n_given != n_predicted:
        raise ValueError(
            f"y has {n_given} columns, and there are predictions of {n_predicted} tasks; pass a column for each "
            "task or, where a row has one label, pass tasks."
        )
    return check_targets(y, len(prediction))[0]


@dataclass(frozen=True)
class Errors:
    """The errors of predictions on a block of rows."""

    predict: Callable[..., Array]
    reader: LabelReader

    def __call__(self, start: int, X: Any, *, tasks: Any = None, **columns: Any) -> ErrorSums:
        return ErrorSums.from_labels(self.reader(**columns), self.predict(X, tasks))


@dataclass(frozen=True)
class Hits:
    """The weight of rows whose known labels are all right, and of all rows, of a block."""

    predict: Callable[..., NDArray[Any]]

    def __call__(self, start: int, X: Any, *, y: Any, weight: Any = None, tasks: Any = None) -> Array:
        prediction = self.predict(X, tasks)
        right = prediction == y
        if prediction.ndim == 2:
            right = np.all(right | np.isnan(y), axis=1)
        given = np.ones(len(right)) if weight is None else np.asarray(weight, dtype=np.float64)
        return np.array([given @ right, given.sum()])
