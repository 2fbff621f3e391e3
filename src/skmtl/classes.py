"""Classes and labels coded as targets -1 and +1, and scores read as classes again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from skmtl._linalg import Array
from skmtl._validation import check_classes

INDICATOR_ERROR = "y has several columns that are not 0/1; pass one column of classes or an indicator matrix."


@dataclass(frozen=True)
class ClassCoding:
    """How classes became tasks.

    Attributes
    ----------
    classes : ndarray
        The classes of a single column; the two classes that every task has where there are several tasks.
    one_vs_all : bool
        Whether each class is a task of its own, so that a row has one class only.
    """

    classes: NDArray[Any]
    one_vs_all: bool

    def encode(self, y: NDArray[Any]) -> Array:
        """Targets -1 and +1: a column per class, or the second class against the first."""
        if self.one_vs_all:
            return np.where(y[:, None] == self.classes, 1.0, -1.0)
        return np.where(y == self.classes[1], 1.0, -1.0)

    def decode(self, F: Array) -> NDArray[Any]:
        """The classes that scores speak for."""
        if self.one_vs_all:
            return self.classes[F.argmax(axis=1)]
        return self.classes[(F > 0.0).astype(int)]

    def probabilities(self, F: Array) -> Array:
        """Sigmoids of scores: normalised over classes for one column, else of the second class."""
        P = expit(F)
        if self.one_vs_all:
            return P / P.sum(axis=1, keepdims=True)
        return np.column_stack([1.0 - P, P]) if F.ndim == 1 else P


def code_column(y: Any, weight: Array) -> tuple[ClassCoding, NDArray[Any]]:
    """The coding of one column of classes of any type, and the column itself."""
    labels = column_or_1d(check_classes(y), warn=True)
    classes = np.unique(labels)
    if len(np.unique(labels[weight > 0.0])) < 2:
        raise ValueError("y has one class only; a classifier needs at least two classes.")
    return ClassCoding(classes, one_vs_all=len(classes) > 2), labels


def is_indicator(y: Any) -> bool:
    """Whether y is a matrix of labels 0 and 1, NaN where unknown."""
    array = np.asarray(y)
    if array.ndim != 2 or array.shape[1] < 2:
        return False
    if array.dtype.kind == "f" and np.isnan(array).any():
        array = np.where(np.isnan(array), 0.0, array)
    if type_of_target(array, input_name="y") == "multilabel-indicator":
        return True
    # All ones, say, is an indicator matrix too, though scikit-learn cannot tell.
    if array.dtype.kind in "bifu" and np.isin(array, (0, 1)).all():
        return True
    raise ValueError(INDICATOR_ERROR)
