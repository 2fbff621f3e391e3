"""First and second moments of rows and targets: all that square loss needs of a table, however long it is.

Blocks are centred by their own means and merged by the means' differences, so that nothing cancels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skmtl._linalg import TINY, Array
from skmtl.features import FeatureMap
from skmtl.targets import LabelReader, TableLabels

# Numbers in double precision that the matrices of all tasks may be together: 512 MB.
LARGEST_GRAMS = 2**26


@dataclass(frozen=True)
class Moments:
    """Weighted sums over rows of features Phi, of shape (n, r), and targets; P is 1, or the number of tasks.

    Attributes
    ----------
    weight : ndarray of shape (P,)
        Sums of weights: one where all tasks share rows and weights, else one for each task.
    mean, target_mean : ndarray of shape (P, r), (n_tasks,)
        Weighted means, or zero where nothing is centred.
    cross, squares : ndarray of shape (r, n_tasks), (n_tasks,)
        Phi'Y and the squares of Y, about the means.
    gram : ndarray of shape (P, r, r), or (0, r, r) where it would be too large
        Phi'Phi about the means.
    """

    weight: Array
    mean: Array
    target_mean: Array
    cross: Array
    squares: Array
    gram: Array

    def merge(self, other: "Moments") -> "Moments":
        """The moments of both sets of rows."""
        weight = self.weight + other.weight
        total = np.maximum(weight, TINY)
        share = self.weight * other.weight / total
        d, e = other.mean - self.mean, other.target_mean - self.target_mean
        gram = self.gram + other.gram
        for k in range(len(gram)):
            gram[k] += np.outer(share[k] * d[k], d[k])
        return Moments(
            weight,
            self.mean + (other.weight / total)[:, None] * d,
            self.target_mean + (other.weight / total) * e,
            self.cross + other.cross + (share[:, None] * d).T * e,
            self.squares + other.squares + share * e**2,
            gram,
        )

    def orthonormal(self, feature_map: FeatureMap) -> "Moments":
        """The same moments of rows Phi, where these are of rows Z."""
        turn = feature_map.orthonormal
        gram = np.empty_like(self.gram)
        for k, products in enumerate(self.gram):
            gram[k] = turn(turn(products).T)
        return replace(self, mean=turn(self.mean.copy()), cross=turn(self.cross.T).T, gram=gram)


@dataclass(frozen=True)
class TableMoments:
    """Moments of a table, and sums of its basis functions and of their sizes, weighted by ``pooled.weight``, (D,).

    ``pooled`` are those with the mean weight of each row; ``by_task`` are the same object where all tasks share rows
    and weights.
    """

    pooled: Moments
    by_task: Moments
    functions: Array
    sizes: Array

    def merge(self, other: "TableMoments") -> "TableMoments":
        pooled = self.pooled.merge(other.pooled)
        by_task = pooled if self.by_task is self.pooled else self.by_task.merge(other.by_task)
        return TableMoments(pooled, by_task, self.functions + other.functions, self.sizes + other.sizes)

    def orthonormal(self, feature_map: FeatureMap) -> "TableMoments":
        """The same moments of rows Phi, where these are of rows Z."""
        pooled = self.pooled.orthonormal(feature_map)
        by_task = pooled if self.by_task is self.pooled else self.by_task.orthonormal(feature_map)
        return TableMoments(pooled, by_task, self.functions, self.sizes)


@dataclass(frozen=True)
class ReadMoments:
    """Reads the moments of a block of rows: of Z with ``late``, else of Phi."""

    feature_map: FeatureMap
    reader: LabelReader
    late: bool
    complete: bool
    grams: bool
    intercept: bool

    def __call__(self, start: int, X: Any, **columns: Any) -> TableMoments:
        labels = self.reader(**columns)
        row_weight = labels.row_weight()
        Z = self.feature_map.transform(X)
        functions, sizes = row_weight @ Z, row_weight @ abs(Z)
        Phi = Z if self.late else self.feature_map.orthonormal(Z)
        if self.complete:
            pooled = by_task = self._moments(Phi, labels.y, row_weight, gram=True, own=self.feature_map.fresh)
        else:
            by_task = _stack([self._task(Phi, labels, t) for t in range(labels.n_tasks)])
            pooled = self._moments(Phi, labels.y, row_weight, gram=not self.grams, own=self.feature_map.fresh)
        return TableMoments(pooled, by_task, functions, sizes)

    def _task(self, Phi: Array, labels: TableLabels, t: int) -> Moments:
        """Moments of the rows that have a label of task t."""
        rows = np.flatnonzero(labels.weight[:, t])
        return self._moments(Phi[rows], labels.y[rows, t : t + 1], labels.weight[rows, t], gram=self.grams, own=True)

    def _moments(self, Phi: Array, y: Array, weight: Array, *, gram: bool, own: bool) -> Moments:
        total, r = weight.sum(), Phi.shape[1]
        mean, target_mean = np.zeros(r), np.zeros(y.shape[1])
        if self.intercept and total > 0.0:
            mean, target_mean = weight @ Phi / total, weight @ y / total
            # In place where the features are nobody else's: they are most of the memory.
            Phi = np.subtract(Phi, mean, out=Phi if own else None)
            y = y - target_mean
        if not np.all(weight == 1.0):
            root = np.sqrt(weight)[:, None]
            Phi, y = root * Phi, root * y
        product = (Phi.T @ Phi)[None] if gram else np.empty((0, r, r))
        return Moments(np.array([total]), mean[None], target_mean, Phi.T @ y, np.sum(y**2, axis=0), product)


def _stack(tasks: Sequence[Moments]) -> Moments:
    """The moments of single tasks side by side."""
    names = ("weight", "mean", "target_mean", "squares", "gram")
    parts = {name: np.concatenate([getattr(one, name) for one in tasks]) for name in names}
    return Moments(cross=np.concatenate([one.cross for one in tasks], axis=1), **parts)


@dataclass(frozen=True)
class ReadNormal:
    """Reads Z' H Z C of a block of rows, H the weights of the labels: one step without the matrices of the tasks."""

    feature_map: FeatureMap
    reader: LabelReader
    C: Array

    def __call__(self, start: int, X: Any, **columns: Any) -> Array:
        Z = self.feature_map.transform(X)
        return np.asarray(Z.T @ (self.reader(**columns).weight * (Z @ self.C)))
