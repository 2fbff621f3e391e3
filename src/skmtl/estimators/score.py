"""Scores of predictions for tables that are read a block at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl._validation import check_classes, check_targets, read_weight
from skmtl.targets import ErrorSums, LabelReader, as_numbers


def labels_like(prediction: NDArray[Any], y: Any) -> Array:
    """The labels as a table with a column for each column of predictions."""
    _check_columns(prediction, y)
    return check_targets(y, len(prediction))[0]


def _check_columns(prediction: NDArray[Any], y: Any) -> None:
    n_given, n_predicted = (np.shape(table)[1] if np.ndim(table) == 2 else 1 for table in (y, prediction))
    if y is not None and n_given != n_predicted:
        raise ValueError(
            f"y has {n_given} columns, and there are predictions of {n_predicted} tasks; pass a column for each "
            "task or, where a row has one label, pass tasks."
        )


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
        _check_columns(prediction, y)
        given = read_weight(weight, len(prediction))
        if prediction.ndim == 2:
            labels = as_numbers(y)
            right = np.all((prediction == labels) | np.isnan(labels), axis=1)
        else:
            right = prediction == _classes_like(prediction, y)
        return np.array([given @ right, given.sum()])


def _classes_like(prediction: NDArray[Any], y: Any) -> NDArray[Any]:
    """The classes of a block, text where predictions are text and numbers where they are numbers."""
    classes = check_classes(y)
    kinds = ["numbers" if values.dtype.kind in "biuf" else "text" for values in (classes, prediction)]
    if kinds[0] != kinds[1]:
        raise ValueError(f"y has classes that are {kinds[0]}, and the model was fitted to {kinds[1]}; pass {kinds[1]}.")
    return classes
