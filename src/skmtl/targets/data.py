"""What a user passed, checked and named: the record that ``fit`` works on."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl.targets.base import Labels
from skmtl.targets.coding import Coding

Index = NDArray[np.intp]


@dataclass(frozen=True)
class TaskData:
    """Rows and labels, and how they came.

    Attributes
    ----------
    X : ndarray, CSR array or Rows
        The rows to learn from; with ``pairwise`` their kernel matrix, and Rows where they are read in blocks.
    labels : Labels
        The labels of these rows.
    coding : Coding
        How y was written, and so how scores are read.
    task_names : ndarray of shape (n_tasks,)
    n_features : int
        The columns of X as it was passed.
    feature_names : ndarray of shape (n_features,), optional
    rows : ndarray of int, optional
        Which of the ``n_given`` rows that were passed these are; None where they are read in blocks.
    n_given : int
    pairwise : bool
        Whether X is a kernel matrix, whose columns are rows too.
    groups : ndarray of int, optional
        The group of each row; folds keep the rows of a group together.
    """

    X: Any
    labels: Labels
    coding: Coding
    task_names: NDArray[Any]
    n_features: int
    feature_names: NDArray[Any] | None
    rows: Index | None
    n_given: int
    pairwise: bool = False
    groups: Index | None = None

    def take(self, rows: Index) -> "TaskData":
        """The same tasks with some of the rows, as if nothing else had been passed."""
        return replace(
            self,
            X=self.features(rows, rows),
            labels=self.labels.take(rows),
            # They are rows of an array now.
            feature_names=None,
            n_features=len(rows) if self.pairwise else self.n_features,
            rows=np.arange(len(rows)),
            n_given=len(rows),
            groups=None if self.groups is None else self.groups[rows],
        )

    def features(self, rows: Index, columns: Index) -> Any:
        """Some rows of X; of a kernel matrix those ``columns`` of them that belong to the rows learned from."""
        return self.X[np.ix_(rows, columns)] if self.pairwise else self.X[rows]
