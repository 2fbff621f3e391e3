"""What square loss needs of the rows and their labels, where each task has rows and weights of its own.

For task t with features Phi and weights w, both of its own rows: the products ``G_t = Phi' diag(w) Phi``, the cross
products ``b_t = Phi' diag(w) y`` and the squares ``s_t = y' diag(w) y``, all about the task's means where it has an
intercept. The best predictors for a structure A solve ``G_t w_t + n alpha (W A^-1)_t = b_t``.
"""

from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skmtl._linalg import TINY, Array, Mask, eigh
from skmtl.solvers.cost import LARGEST, gram_product, row_product, worth_forming_grams
from skmtl.solvers.entries import CompletedRows, Entries
from skmtl.targets import Labels


class TaskBasis(NamedTuple):
    """G_t = X diag(g) X' with orthonormal columns X of shape (r, m), and z = X'b_t."""

    X: Array
    g: Array
    z: Array

    @classmethod
    def from_gram(cls, G: Array, b: Array) -> "TaskBasis":
        """b lies in the range of G: what it has beside it is rounding, which sizes of tasks must not feed on."""
        g, X = eigh(G)
        keep = _above_rounding(g)
        return cls(X[:, keep], g[keep], X[:, keep].T @ b)


class Observed(Protocol):
    """Rows and labels as square loss sees them; features are in an orthonormal basis of functions."""

    @property
    def n(self) -> float:
        """Sum of all weights over the number of tasks, of the whole problem also where this is a part of it."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_labels(self) -> int: ...

    @property
    def n_missing(self) -> int | None:
        """Entries of the table without a label; None where it is no table with one weight for each row."""

    @property
    def product_cost(self) -> float:
        """What ``curve`` costs, as :mod:`skmtl.solvers.cost` counts."""

    @property
    def has_grams(self) -> bool:
        """Whether ``grams`` are known, or can be."""

    @property
    def by_grams(self) -> bool:
        """Whether ``curve`` multiplies by the ``grams``."""

    @property
    def has_entries(self) -> bool:
        """Whether ``entries`` are known."""

    @property
    def values(self) -> Array:
        """Diagonal of the products of all rows, which are diagonal or nearly so, of shape (r,)."""

    @property
    def shares(self) -> Array:
        """Sums of the weights of each task, relative to those of all rows: G_t is about its share of ``values``."""

    @property
    def cross(self) -> Array:
        """The b_t, of shape (r, n_tasks)."""

    @property
    def squares(self) -> Array:
        """The s_t, of shape (n_tasks,)."""

    @property
    def shift(self) -> Array:
        """Means of the features in each task, about their mean over all rows, of shape (r, n_tasks)."""

    @property
    def target_mean(self) -> Array:
        """Means of the targets, of shape (n_tasks,); zero without intercepts."""

    def curve(self, W: Array) -> Array:
        """W -> (G_t w_t), of shape (r, n_tasks)."""

    def curve_roughly(self, W: Array) -> Array:
        """The same in single precision, where that is quicker."""

    def grams(self) -> Array:
        """The G_t, of shape (n_tasks, r, r), where they are known."""

    def gram_bases(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the G_t, of shapes (n_tasks, r) and (n_tasks, r, r)."""

    def bases(self) -> list[TaskBasis]:
        """The G_t decomposed."""

    def entries(self) -> Entries:
        """The labels one by one, where they are known."""

    def dual_products(self, c: Array) -> Array:
        """C' D^-1 C for dual coefficients of the ``entries`` and D, the weights that rows were decomposed with."""

    def completed(self) -> CompletedRows:
        """The rows with a weight each, where ``n_missing`` is known."""

    def part(self, tasks: NDArray[np.intp]) -> "Observed":
        """The same of some of the tasks, in that order."""


class ObservedRows:
    """Rows and labels in memory.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, r)
        As ``labels.arrange`` returns them.
    values : ndarray of shape (r,)
        Eigenvalues of the rows' covariance, weighted as ``labels.design_weight`` says, which is diagonal.
    n, row_weight, row_total : optional
        Of a part of the tasks: n, the weights that these rows were decomposed with, and their sum over all rows, of the
        whole.
    """

    def __init__(
        self,
        rows: Array,
        values: Array,
        labels: Labels,
        *,
        intercept: bool,
        n: float | None = None,
        row_weight: Array | None = None,
        row_total: float | None = None,
    ) -> None:
        self._Phi, self._labels, self._intercept = rows, labels, intercept
        self.values = values
        self.n = float(labels.weight.sum()) / labels.n_tasks if n is None else n
        self.n_labels = int(np.count_nonzero(labels.weight))
        total = np.maximum(labels.sums(labels.weight), TINY)
        self._row_weight = row_weight = labels.arrange(labels.design_weight()) if row_weight is None else row_weight
        self._row_total = float(row_weight.sum()) if row_total is None else row_total
        self.shares = total / self._row_total
        self.cross = labels.adjoint(rows, labels.weight * labels.y)
        self.shift, self.target_mean = np.zeros_like(self.cross), np.zeros(labels.n_tasks)
        y = labels.y
        if intercept:
            self.shift = labels.adjoint(rows, labels.weight) / total
            self.target_mean = labels.sums(labels.weight * y) / total
            self.cross = self.cross - self.shift * (total * self.target_mean)
            y = y - labels.spread(self.target_mean)
        self.squares = labels.sums(labels.weight * y**2)
        self.n_rows, r, size = len(rows), len(values), labels.y.size
        self.by_grams = worth_forming_grams(self.n_rows, r, size, self.n_labels, labels.n_tasks)
        self.product_cost = gram_product(r, labels.n_tasks) if self.by_grams else row_product(self.n_rows, r, size)
        self.has_grams, self.has_entries = labels.n_tasks * r**2 <= LARGEST, True
        # A table whose rows were decomposed, all of them, with the weights that its labels have.
        whole = labels.weight.ndim == 2 and float(row_weight.sum()) == self._row_total
        uniform = whole and np.all((labels.weight == row_weight[:, None]) | (labels.weight == 0.0))
        self.n_missing = size - self.n_labels if uniform and np.all(labels.sums(labels.weight) > 0.0) else None

    def curve(self, W: Array) -> Array:
        if self.by_grams:
            return times_grams(self._grams, W)
        return self._labels.normal(self._Phi, self._labels.weight, W, center=self._intercept)

    def curve_roughly(self, W: Array) -> Array:
        if self.by_grams:
            return times_grams(self._grams, W)
        Phi, weight, scale = self._single
        size = max(float(np.abs(W).max(initial=0.0)), TINY)
        curved = self._labels.normal(Phi, weight, (W / size).astype(np.float32), center=self._intercept)
        return (size * scale) * curved

    @cached_property
    def _single(self) -> tuple[Any, Any, float]:
        """Rows and weights in single precision and of size one, and the factor that this takes from the products."""
        size, heaviest = float(np.abs(self._Phi).max()), float(self._labels.weight.max())
        Phi, weight = self._Phi / size, self._labels.weight / heaviest
        return Phi.astype(np.float32), weight.astype(np.float32), size**2 * heaviest

    @cached_property
    def _grams(self) -> Array:
        return self._labels.grams(self._Phi, self._labels.weight, center=self._intercept)

    def grams(self) -> Array:
        return self._grams

    @cached_property
    def _gram_bases(self) -> tuple[Array, Array]:
        return decompose(self._grams)

    def gram_bases(self) -> tuple[Array, Array]:
        return self._gram_bases

    @cached_property
    def _bases(self) -> list[TaskBasis]:
        entries = self._entries
        rows = [self._Phi[entries.row[own]] - mean for own, mean in zip(entries.slices, self.shift.T, strict=True)]
        roots = [entries.inverse_weight[own] ** -0.5 for own in entries.slices]
        return [_basis(root[:, None] * Phi, b) for root, Phi, b in zip(roots, rows, self.cross.T, strict=True)]

    def bases(self) -> list[TaskBasis]:
        return self._bases

    @cached_property
    def _entries(self) -> Entries:
        return Entries(self._Phi, self._labels, intercept=self._intercept)

    def entries(self) -> Entries:
        return self._entries

    def dual_products(self, c: Array) -> Array:
        entries = self._entries
        scaled = c / np.sqrt(self._row_weight[entries.row])
        shape = self.n_rows, self._labels.n_tasks
        C = sparse.csr_array((scaled, (entries.row, entries.task)), shape=shape)
        return np.asarray((C.T @ C).toarray())

    @cached_property
    def _completed(self) -> CompletedRows:
        return CompletedRows(self._Phi, self.values, self._labels.weight, intercept=self._intercept)

    def completed(self) -> CompletedRows:
        return self._completed

    def part(self, tasks: NDArray[np.intp]) -> "ObservedRows":
        labels, rows = self._labels.part(tasks)
        return ObservedRows(
            self._Phi[rows],
            self.values,
            labels,
            intercept=self._intercept,
            n=self.n,
            row_weight=self._row_weight[rows],
            row_total=self._row_total,
        )


def times_grams(grams: Array, W: Array) -> Array:
    """(G_t w_t), of shape (r, n_tasks)."""
    return (grams @ W.T[:, :, None])[:, :, 0].T


def decompose(grams: Array) -> tuple[Array, Array]:
    """Eigenvalues, none negative, and eigenvectors of all G_t."""
    g, X = np.linalg.eigh(grams)
    return np.maximum(g, 0.0), X


def _above_rounding(g: Array) -> Mask:
    """Which eigenvalues, ascending, are more than the rounding of their decomposition."""
    return g > len(g) * np.finfo(float).eps * max(float(g[-1]), 0.0) if len(g) else g > 0.0


def _basis(Phi: Array, b: Array) -> TaskBasis:
    """The eigenvectors of Phi'Phi, found on the smaller side of Phi; b lies in their span."""
    if len(Phi) >= Phi.shape[1]:
        return TaskBasis.from_gram(Phi.T @ Phi, b)
    g, V = eigh(Phi @ Phi.T)
    keep = _above_rounding(g)
    X = Phi.T @ (V[:, keep] / np.sqrt(g[keep]))
    return TaskBasis(X, g[keep], X.T @ b)
