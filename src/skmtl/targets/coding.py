"""How labels are written: numbers as they are, classes as -1 and +1; and scores read as the same again."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, softmax
from sklearn.utils.validation import column_or_1d

from skmtl._linalg import Array
from skmtl._numbers import as_float, check_plain, gaps_of_mask, numbers_in
from skmtl._validation import NO_WEIGHT, check_classes, plain_names, read_weight

MANY_CLASSES = "y has {} classes; in long format all tasks share the same two."
INDICATOR_ERROR = "y has several columns that are not 0/1; pass one column of classes or an indicator matrix."


class Coding(Protocol):
    """How y became tasks."""

    @property
    def classes(self) -> NDArray[Any] | None:
        """The classes of a classifier; None where targets are numbers."""

    @property
    def one_vs_all(self) -> bool:
        """Whether each class is a task of its own, so that a row has one class only."""

    def predictions(self, F: Array) -> NDArray[Any]:
        """What ``predict`` returns of scores of shape (n, n_tasks), or (n,) where a row has one task."""


@dataclass(frozen=True)
class NumberCoding:
    """Targets that are numbers; ``flat`` where y was one column of shape (n,)."""

    flat: bool

    classes: ClassVar[None] = None
    one_vs_all: ClassVar[bool] = False

    def predictions(self, F: Array) -> Array:
        return first_column(F) if self.flat else F


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

    @classmethod
    def of_indicators(cls) -> "ClassCoding":
        """The coding of an indicator matrix: every column is a task with the classes 0 and 1."""
        return cls(np.array([0, 1]), one_vs_all=False)

    def task_names(self) -> NDArray[Any]:
        """The names of the tasks of one column of classes: each class, or the second of two."""
        return plain_names(self.classes.tolist() if self.one_vs_all else self.classes[1:].tolist())

    def encode(self, y: NDArray[Any]) -> Array:
        """Targets -1 and +1: a column per class, or the second class against the first."""
        if self.one_vs_all:
            return np.where(y[:, None] == self.classes, 1.0, -1.0)
        return np.where(y == self.classes[1], 1.0, -1.0)

    def encode_column(self, y: NDArray[Any]) -> Array:
        """The same of shape (n, n_tasks)."""
        return self.encode(y).reshape(len(y), -1)

    def decode(self, F: Array) -> NDArray[Any]:
        """The classes that scores speak for."""
        if self.one_vs_all:
            return self.classes[F.argmax(axis=1)]
        return self.classes[(F > 0.0).astype(int)]

    def probabilities(self, F: Array) -> Array:
        """Sigmoids of scores: normalized over classes for one column, else of the second class."""
        if self.one_vs_all:
            # Relative to the largest, which keeps them from vanishing together.
            logarithms = log_expit(F)
            P = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
            return P / P.sum(axis=1, keepdims=True)
        P = expit(F)
        return np.column_stack([1.0 - P, P]) if F.ndim == 1 else P

    def joint_probabilities(self, F: Array) -> Array:
        """Probabilities of scores whose classes are modelled together: their softmax, of two classes the sigmoid."""
        return np.asarray(softmax(F, axis=1)) if self.one_vs_all else self.score_probabilities(F)

    def predictions(self, F: Array) -> NDArray[Any]:
        return self.decode(first_column(F))

    def score_probabilities(self, F: Array) -> Array:
        """The probabilities of scores of shape (n, n_tasks), or (n,) where a row has one task."""
        return self.probabilities(first_column(F))


def first_column(F: Array) -> Array:
    """Scores of one task as one column."""
    return F[:, 0] if F.ndim == 2 and F.shape[1] == 1 else F


class ClassesFound(NamedTuple):
    """Classes that occur, how much each of them weighs, and the kind that they have in all blocks.

    Arrays of numbers are of one kind, as NumPy joins them; Python's objects keep theirs.
    """

    classes: NDArray[Any]
    weight: NDArray[Any]
    kind: str


def find_classes(start: int, X: Any, *, y: Any, weight: Any = None, **columns: Any) -> ClassesFound:
    """The classes of a block of a column."""
    labels = column_or_1d(check_classes(y), warn=True)
    classes, codes = np.unique(labels, return_inverse=True)
    numbers, objects = labels.dtype.kind in "biuf", np.asarray(y).dtype.kind == "O"
    kind = "text" if not numbers else labels.dtype.name if objects else "numbers"
    return ClassesFound(classes, np.bincount(codes, read_weight(weight, len(labels))), kind)


def merge_classes(one: ClassesFound, other: ClassesFound) -> ClassesFound:
    """The classes of both blocks."""
    if one.kind != other.kind:
        raise ValueError(f"y has classes of several types ({one.kind}, {other.kind}); write them as text.")
    classes, codes = np.unique(np.concatenate([one.classes, other.classes]), return_inverse=True)
    return ClassesFound(classes, np.bincount(codes, np.concatenate([one.weight, other.weight])), one.kind)


def make_coding(found: ClassesFound) -> ClassCoding:
    """The coding of one column of classes of any type."""
    if not found.weight.any():
        raise ValueError(NO_WEIGHT)
    if np.count_nonzero(found.weight) < 2:
        raise ValueError("y has one class only; a classifier needs at least two classes.")
    return ClassCoding(found.classes, one_vs_all=len(found.classes) > 2)


def code_column(y: Any, weight: Array) -> tuple[ClassCoding, NDArray[Any]]:
    """The coding of one column of classes of any type, and the column itself."""
    labels = column_or_1d(check_classes(y), warn=True)
    return make_coding(find_classes(0, None, y=labels, weight=weight)), labels


def signs(y: NDArray[Any]) -> Array:
    """An indicator matrix as targets -1 and +1, NaN where a label is not known."""
    check_plain("y", y)
    return 2.0 * _check_signs(np.asarray(numbers_in(y))) - 1.0


def is_indicator(y: Any) -> bool:
    """Whether y is a matrix of labels 0 and 1, NaN where unknown."""
    plain = as_float("y", np.asarray, y).dtype.kind in "bifu"
    array = np.asarray(numbers_in(gaps_of_mask("y", y) if plain else y))
    if array.ndim != 2 or array.shape[1] < 2:
        return False
    _check_signs(array)
    return True


def _check_signs(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as they are, if they are 0, 1 or, where they are not known, NaN."""
    if labels.dtype.kind not in "bifu" or not np.all((labels == 0) | (labels == 1) | np.isnan(labels)):
        raise ValueError(INDICATOR_ERROR)
    return labels
