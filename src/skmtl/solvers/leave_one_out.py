r"""Leaving one row out in closed form, for square loss and a given structure.

With complete labels, :math:`A = U \operatorname{diag}(a) U'` and the eigenbasis V, k of the kernel of the weighted,
centred rows, the errors at the rows left out are

.. math::

    R = \bigl( (C U) / H \bigr) U', \qquad
    H_{ij} = \sum_l \frac{V_{il}^2}{k_l a_j + n \alpha} + \frac{1 - e_i^2 - \sum_l V_{il}^2}{n \alpha},

where :math:`n \alpha` stays what it is for all rows, and e is the direction of the constant (:math:`e_i^2 = 1/n`
without weights), or zero without an intercept. The second term is what lies outside the range of the kernel; without
:math:`e_i^2` in it the row's own label would leak through the mean.

Where labels are missing, N takes labels to dual coefficients, c = N y, and B are the labels of one row, the errors
there are :math:`(N_{BB})^{-1} c_B`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from skmtl._linalg import Array, eigh
from skmtl.solvers.cost import LARGEST
from skmtl.solvers.design import Design
from skmtl.solvers.observed import Observed, ObservedRows
from skmtl.solvers.systems import FeatureSystem, LabelFactor

# What is left of a label's weight when its task has no other: nothing can be said of it.
NOTHING = 1e-12


class Residuals(NamedTuple):
    """Errors at labels left out, and their standard deviation where that of the noise of a label of weight one is one.

    Both are laid out like the labels, and zero and infinite at gaps. ``together`` is the mean covariance that errors of
    two tasks at one row are then to be expected to have, of shape (n_tasks, n_tasks); zero where no row has both.
    """

    error: Array
    spread: Array
    together: Array


class LeaveOneOut(Protocol):
    """Predictions for every row by a fit without it, for any alpha and any structure."""

    def predict(self, fits: Sequence[tuple[Array, float]]) -> Array:
        """Predictions of a row left out, laid out like the labels, for each structure and alpha.

        The first axis is that of the fits; the structures are those that a predictor sees.
        """

    def residuals(self, A: Array, alpha: float) -> Residuals:
        """The errors there, and how large they are to be expected."""


def make_leave_one_out(design: Design, labels: Any, *, intercept: bool) -> LeaveOneOut:
    """For labels in memory, centred by their weighted mean where there is an intercept.

    Raises
    ------
    ValueError
        Where labels are missing, and both they and the functions of all tasks are too many for a matrix.
    """
    if labels.complete():
        return CompleteLeaveOneOut(design, labels, intercept=intercept)
    return MissingLeaveOneOut(design, labels, intercept=intercept)


class CompleteLeaveOneOut:
    """Every row has a label of every task, with one weight."""

    def __init__(self, design: Design, labels: Any, *, intercept: bool) -> None:
        self._shape, weight = labels.y.shape, labels.row_weight()
        self._targets, self._weight = labels.y.reshape(len(weight), -1), weight
        root = np.sqrt(weight)[:, None]
        self._values = design.values
        self._V = root * design.rows() / np.sqrt(design.values)
        constant = weight / weight.sum() if intercept else np.zeros(len(weight))
        self._V2 = self._V**2
        weighted = root * self._targets
        self._projected = self._V.T @ weighted
        # The share of each row outside the range of the kernel and the constant, which is nothing at full rank:
        # divided by n alpha, rounding would count.
        self._outside = self._V.shape[1] < np.count_nonzero(weight) - intercept
        # A row with all the weight leaves nothing to learn from: it is predicted by the mean, which is zero.
        self._alone = 1.0 - constant <= NOTHING
        # A row without weight is in nobody's way.
        self._known = (weight > 0.0) & ~self._alone
        self._null = float(self._outside) * np.maximum(1.0 - constant - self._V2.sum(axis=1), 0.0)[:, None]
        self._rest = float(self._outside) * (weighted - self._V @ self._projected)

    def predict(self, fits: Sequence[tuple[Array, float]]) -> Array:
        bases = [eigh(A) for A, _ in fits]
        a, U = (
            np.concatenate([values for values, _ in bases]),
            np.concatenate([vectors for _, vectors in bases], axis=1),
        )
        ridge = np.repeat([float(self._weight.sum()) * alpha for _, alpha in fits], len(U))
        # All fits at once: the products with V are those that cost.
        inverse = 1.0 / (self._values[:, None] * np.maximum(a, 0.0) + ridge)
        C = self._V @ ((self._projected @ U) * inverse)
        H = self._V2 @ inverse
        if self._outside:
            C += (self._rest @ U) / ridge
            H += self._null / ridge
        H *= np.sqrt(self._weight)[:, None]
        C[~self._known], H[~self._known] = 0.0, 1.0
        error = C / H
        error[self._alone] = self._targets[self._alone] @ U
        n, n_tasks = self._targets.shape
        parts = error.reshape(n, len(fits), n_tasks).transpose(1, 0, 2)
        back = U.reshape(n_tasks, len(fits), n_tasks).transpose(1, 2, 0)
        return (self._targets - parts @ back).reshape(-1, *self._shape)

    def residuals(self, A: Array, alpha: float) -> Residuals:
        ridge, (a, U) = float(self._weight.sum()) * alpha, eigh(A)
        H = self._V2 @ (1.0 / (self._values[:, None] * np.maximum(a, 0.0) + ridge)) + self._null / ridge
        H[~self._known] = 1.0
        # (N_BB)^-1 = U diag(1 / H_i) U' / w_i at the labels B of row i, and it is n alpha times their covariance.
        weight, known = self._weight[:, None], self._known
        variance = np.divide((1.0 / H) @ (U**2).T, ridge * weight, out=np.full(H.shape, np.inf), where=known[:, None])
        error = self._targets - self.predict([(A, alpha)])[0].reshape(H.shape)
        mean = np.sum(1.0 / H[known] / weight[known], axis=0) / max(int(np.count_nonzero(known)), 1)
        together = (U * mean) @ U.T / ridge
        error = np.where(weight > 0.0, error, 0.0)
        return Residuals(error.reshape(self._shape), np.sqrt(variance).reshape(self._shape), together)


class MissingLeaveOneOut:
    """Labels are missing, weighted, or each of a row of its own."""

    def __init__(self, design: Design, labels: Any, *, intercept: bool) -> None:
        rows = labels.arrange(design.rows())
        self._observed: Observed = ObservedRows(rows, design.values, labels, intercept=intercept)
        self._shape = labels.y.shape
        entries = self._observed.entries()
        # The labels of each row that has one.
        order = np.argsort(entries.row, kind="stable")
        starts = np.flatnonzero(np.diff(entries.row[order], prepend=-1))
        self._blocks = np.split(order, starts[1:])
        r, n_tasks = self._observed.cross.shape
        self._on_labels = len(entries) <= r * n_tasks
        if min(len(entries), r * n_tasks) ** 2 > LARGEST:
            raise ValueError(
                f"leaving one out of {len(entries)} labels, some missing, needs a matrix that is too large; use folds."
            )

    def predict(self, fits: Sequence[tuple[Array, float]]) -> Array:
        return np.stack([self._predict(A, alpha) for A, alpha in fits])

    def _predict(self, A: Array, alpha: float) -> Array:
        entries, predictions = self._observed.entries(), np.zeros(self._shape)
        predictions[entries.place] = entries.y - self.residuals(A, alpha).error[entries.place]
        return predictions

    def residuals(self, A: Array, alpha: float) -> Residuals:
        entries, ridge = self._observed.entries(), self._observed.n * alpha
        c, inverses = self._by_labels(A, ridge) if self._on_labels else self._by_features(A, ridge)
        # A label without which its task has none is predicted by the mean, which is zero.
        error, variance = entries.y.copy(), np.full(len(entries), np.inf)
        sums, counts = np.zeros(A.shape), np.zeros(A.shape)
        for block, N in zip(self._blocks, inverses, strict=True):
            known = np.diag(N) * ridge * entries.inverse_weight[block] > NOTHING
            some, covariance = block[known], np.linalg.inv(N[np.ix_(known, known)])
            error[some] = covariance @ c[some]
            variance[some] = np.diag(covariance) / ridge
            both = np.ix_(entries.task[some], entries.task[some])
            sums[both] += covariance / ridge
            counts[both] += 1.0
        together = sums / np.maximum(counts, 1.0)
        return Residuals(self._laid_out(error, 0.0), np.sqrt(self._laid_out(variance, np.inf)), together)

    def _laid_out(self, u: Array, empty: float) -> Array:
        table = np.full(self._shape, empty)
        table[self._observed.entries().place] = u
        return table

    def _by_labels(self, A: Array, ridge: float) -> tuple[Array, list[Array]]:
        entries = self._observed.entries()
        factor = LabelFactor(entries, A, ridge)
        return factor.solve(entries.y), factor.inverse_blocks(self._blocks)

    def _by_features(self, A: Array, ridge: float) -> tuple[Array, list[Array]]:
        observed, entries = self._observed, self._observed.entries()
        system = FeatureSystem(observed, A, ridge)
        weight = 1.0 / entries.inverse_weight
        intercept = observed.target_mean - np.sum(observed.shift * system.W, axis=0)
        c = weight * (entries.y - entries.scores(system.W) - intercept[entries.task]) / ridge
        spread = system.leverages(entries, observed.shift)
        inverses = []
        totals = np.bincount(entries.task, weight, minlength=len(A)) if entries.intercept else np.full(len(A), np.inf)
        for block in self._blocks:
            w = weight[block]
            # The means of the tasks take from each label alone, for those of one row are of different tasks.
            N = np.diag(w - w**2 / totals[entries.task[block]]) - np.outer(w, w) * (
                spread[:, block].T @ spread[:, block]
            )
            inverses.append(N / ridge)
        return c, inverses
