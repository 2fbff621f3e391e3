r"""How sure the predictors are: their covariance given the labels, for square loss and a given structure A.

The fit is the posterior mean of Gaussian processes with :math:`\operatorname{cov}(f_t(x), f_s(x')) = \tau A_{ts}
k(x, x')` for :math:`\tau = \sigma^2 / (n \alpha)`, labels with noise of variance :math:`\sigma^2 / w`, and a constant
for each task of which nothing is known before. Everything here is the posterior covariance for
:math:`\sigma = 1`, for which

.. math:: \Sigma_{ts}(x) = \frac{1}{n \alpha} \bigl( A_{ts} k(x, x) - \kappa_t' M^{-1} \kappa_s \bigr), \qquad
          \kappa_{tl} = A_{t t(l)} k(x, x_{i(l)}),

and what the constants add (:class:`~skmtl.solvers.systems.LabelFactor` has M, the labels l and their border).
With complete labels and :math:`A = U \operatorname{diag}(a) U'` it is diagonal in the eigenbasis of the rows too:

.. math:: \Sigma(x) = U \operatorname{diag}_b \Bigl( \sum_l \frac{\phi_l(x)^2 a_b}{k_l a_b + n \alpha}
          + \frac{a_b}{n \alpha} \bigl( k(x, x) - \lVert \phi(x) \rVert^2 \bigr) \Bigr) U' + \frac{I}{\sum_i w_i}.

References
----------
Rasmussen and Williams. Gaussian Processes for Machine Learning. MIT Press 2006. (Landmarks: section 8.3.4.)
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from skmtl._linalg import TINY, Array, eigh
from skmtl.features import FeatureMap
from skmtl.solvers.cost import LARGEST
from skmtl.solvers.design import Design
from skmtl.solvers.entries import Entries
from skmtl.solvers.observed import ObservedRows
from skmtl.solvers.systems import FeatureSystem, LabelFactor

# Directions of the rows in which the labels say less than this about the predictors, relative to the prior, are
# left as they were before: they would cost as much as the others.
NOTHING = 1e-13


@dataclass(frozen=True)
class NewRows:
    """Rows in the basis of the design, (n, r), and what k(x, x) about the mean has beyond it, (n,)."""

    Phi: Array
    beyond: Array

    @classmethod
    def from_features(cls, X: Any, feature_map: FeatureMap, design: Design) -> "NewRows":
        """Rows of X, as the feature map takes them."""
        Z = feature_map.transform(X)
        Phi = design.locate(Z)
        return cls(Phi, np.maximum(design.left_over(Z, Phi) + feature_map.unspanned(X, Z), 0.0))

    def leading(self, start: int) -> "NewRows":
        """The same with basis functions from ``start`` on only."""
        if start == 0:
            return self
        return NewRows(self.Phi[:, start:], self.beyond + np.sum(self.Phi[:, :start] ** 2, axis=1))


class Posterior(Protocol):
    """The covariance of all tasks' predictors at a row, where the noise of a label of weight one is one."""

    # Numbers that are made of each row.
    width: int

    def variances(self, rows: NewRows) -> Array:
        """Of each task's predictor, of shape (n, n_tasks)."""

    def covariances(self, rows: NewRows) -> Array:
        """Of all tasks at a row, of shape (n, n_tasks, n_tasks)."""


def make_posterior(design: Design, labels: Any, A: Array, alpha: float, *, intercept: bool) -> Posterior:
    """The posterior for the structure that a predictor sees, of labels in memory.

    It is exact where labels are complete, and where either they or the functions of all tasks fit in a matrix. Else
    the labels are taken to say nothing about the last of the basis functions, of which the rows have least.
    """
    if labels.complete():
        n = float(labels.weight.sum()) / labels.n_tasks
        return CompletePosterior(design.values, A, n * alpha, n if intercept else np.inf)
    return posterior_of_some(design, labels, A, alpha, intercept=intercept)


def posterior_of_some(design: Design, labels: Any, A: Array, alpha: float, *, intercept: bool) -> Posterior:
    """The same for some of the labels, with any weights: those that the rows were decomposed with may be others."""
    n = float(labels.weight.sum()) / labels.n_tasks
    rows = labels.arrange(design.rows())
    n_labels, side = int(np.count_nonzero(labels.weight)), int(np.sqrt(LARGEST))
    if n_labels <= min(rows.shape[1] * labels.n_tasks, side):
        return LabelPosterior(Entries(rows, labels, intercept=intercept), A, n * alpha)
    start = max(rows.shape[1] - max(side // labels.n_tasks, 1), 0)
    observed = ObservedRows(rows[:, start:], design.values[start:], labels, intercept=intercept)
    totals = labels.sums(labels.weight) if intercept else np.full(labels.n_tasks, np.inf)
    return FeaturePosterior(observed, A, n * alpha, start, totals)


class CompletePosterior:
    """Every row has a label of every task, with one weight; ``total`` is the sum of weights, or infinite."""

    def __init__(self, values: Array, A: Array, ridge: float, total: float) -> None:
        a, U = eigh(A)
        self._U, self._constant = U, 1.0 / total
        a = np.maximum(a, 0.0)
        # Values ascend.
        self._start = int(np.searchsorted(values * a[-1], NOTHING * ridge))
        self._shrunk = a / (ridge + values[self._start :, None] * a)
        self._prior = a / ridge
        self.width = len(values) + len(a) ** 2

    def _turned(self, rows: NewRows) -> Array:
        """Variances of the combinations of tasks that U makes, of shape (n, n_tasks)."""
        rows = rows.leading(self._start)
        return rows.Phi**2 @ self._shrunk + rows.beyond[:, None] * self._prior

    def variances(self, rows: NewRows) -> Array:
        return self._turned(rows) @ (self._U**2).T + self._constant

    def covariances(self, rows: NewRows) -> Array:
        S = (self._U * self._turned(rows)[:, None, :]) @ self._U.T
        return S + self._constant * np.eye(len(self._U))


class LabelPosterior:
    """Few labels: the matrix between them is factorized."""

    def __init__(self, entries: Entries, A: Array, ridge: float) -> None:
        self._rows, self._task, self._A, self._ridge = entries.rows(), entries.task, A, ridge
        self._factor = LabelFactor(entries, A, ridge)
        self.width = 3 * len(entries) * len(A) + len(A) ** 2

    def _reduction(self, rows: NewRows) -> tuple[Array, Array, Array]:
        """k(x, x) about the mean, (n,), and the labels' and the constants' share, each (.., n_tasks, n)."""
        cross = self._rows @ rows.Phi.T
        K = np.einsum("ln,lt->ltn", cross, self._A[self._task]).reshape(len(cross), -1)
        parts = self._factor.reduction(np.asfortranarray(K), len(self._A))
        B, D = (part.reshape(len(part), len(self._A), len(rows.Phi)) for part in parts)
        return np.sum(rows.Phi**2, axis=1) + rows.beyond, B, D

    def variances(self, rows: NewRows) -> Array:
        own, B, D = self._reduction(rows)
        S = np.outer(own, np.diag(self._A)) - np.einsum("ltn,ltn->nt", B, B) + np.einsum("ptn,ptn->nt", D, D)
        return np.maximum(S, 0.0) / self._ridge

    def covariances(self, rows: NewRows) -> Array:
        own, B, D = self._reduction(rows)
        B, D = B.transpose(2, 1, 0), D.transpose(2, 1, 0)
        return (own[:, None, None] * self._A - B @ B.transpose(0, 2, 1) + D @ D.transpose(0, 2, 1)) / self._ridge


class FeaturePosterior:
    """Few functions: the covariance of their coefficients in all tasks. ``start`` of the first ones are left out.

    ``totals`` are the sums of each task's weights, or infinite where there are no constants.
    """

    def __init__(self, observed: ObservedRows, A: Array, ridge: float, start: int, totals: Array) -> None:
        self._C = FeatureSystem(observed, A, ridge).covariance()
        self._center, self._start = observed.shift.T, start
        self._constant = 1.0 / np.maximum(totals, TINY)
        self._prior = A / ridge
        self.width = start + 2 * observed.cross.size + len(A) ** 2

    def variances(self, rows: NewRows) -> Array:
        rows = rows.leading(self._start)
        S = rows.beyond[:, None] * np.diag(self._prior) + self._constant
        for t, center in enumerate(self._center):
            Phi = rows.Phi - center
            S[:, t] += np.sum((Phi @ self._C[t, :, t]) * Phi, axis=1)
        return S

    def covariances(self, rows: NewRows) -> Array:
        rows = rows.leading(self._start)
        S = rows.beyond[:, None, None] * self._prior + np.diag(self._constant)
        Phi = rows.Phi[:, None, :] - self._center
        for t in range(len(self._prior)):
            half = np.tensordot(Phi[:, t], self._C[t], axes=1)
            S[:, t] += np.sum(half * Phi, axis=2)
        return S
