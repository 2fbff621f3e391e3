"""The second derivative of the data term in the predictors, the intercepts eliminated: what Newton's method needs."""

from typing import Protocol

import numpy as np
from scipy.linalg import cho_solve

from skmtl._linalg import TINY, Array, cholesky
from skmtl.targets import Labels


class Curvature(Protocol):
    """A quadratic model of sum w V(y, f) in scores f, laid out like the labels, with Hessian H."""

    def times(self, U: Array) -> Array:
        """H U."""

    def intercepts(self, U: Array) -> Array:
        """The constants of the tasks, (T,), that are best for a slope U in the scores; zero where there are none."""

    def without_intercepts(self, U: Array) -> Array:
        """What is left of a slope U when the constants are chosen for it."""

    def normal(self, W: Array) -> Array:
        """Phi' H Phi W, without intercepts, of shape (r, T)."""

    def matrix(self, R: Array) -> Array:
        """The Hessian in G, of shape (r k, r k), for W = G R'."""


class LabelCurvature:
    """Every label by itself: H = diag(h)."""

    def __init__(self, labels: Labels, Phi: Array, h: Array, *, intercept: bool) -> None:
        self._labels, self._Phi, self._h, self._intercept = labels, Phi, h, intercept
        self._sums = np.maximum(labels.sums(h), TINY)

    def times(self, U: Array) -> Array:
        return self._h * U

    def intercepts(self, U: Array) -> Array:
        return -self._labels.sums(U) / self._sums if self._intercept else np.zeros_like(self._sums)

    def without_intercepts(self, U: Array) -> Array:
        return U + self._h * self._labels.spread(self.intercepts(U)) if self._intercept else U

    def normal(self, W: Array) -> Array:
        return self._labels.normal(self._Phi, self._h, W, center=self._intercept)

    def matrix(self, R: Array) -> Array:
        # The sum over tasks t of B_t (x) R_t R_t'.
        B = self._labels.grams(self._Phi, self._h, center=self._intercept)
        return _sum_of_products(B, R)


class RowCurvature:
    """One loss over the tasks of a row, whose Hessian is diag(h) - h h' / sum h.

    Rows that are sure of their class leave next to nothing of it: it is taken from differences of scores, and of pairs
    of tasks, so that h need not cancel.
    """

    def __init__(self, labels: Labels, Phi: Array, h: Array, *, intercept: bool) -> None:
        self._labels, self._Phi, self._h, self._intercept = labels, Phi, h, intercept
        self._shares = h / np.maximum(h.sum(axis=1, keepdims=True), TINY)
        self._largest = np.argmax(h, axis=1)[:, None]
        self._inverse = _inverse_of_laplacian(h.T @ self._shares)

    def times(self, U: Array) -> Array:
        U = U - np.take_along_axis(np.broadcast_to(U, self._h.shape), self._largest, axis=1)
        return self._h * (U - np.sum(self._shares * U, axis=1, keepdims=True))

    def intercepts(self, U: Array) -> Array:
        return -self._inverse @ U.sum(axis=0) if self._intercept else np.zeros(U.shape[1])

    def without_intercepts(self, U: Array) -> Array:
        return U + self.times(self.intercepts(U)[None]) if self._intercept else U

    def normal(self, W: Array) -> Array:
        return self._Phi.T @ self.without_intercepts(self.times(self._Phi @ W))

    def matrix(self, R: Array) -> Array:
        Phi, h, shares = self._Phi, self._h, self._shares
        (n, r), (n_tasks, k) = Phi.shape, R.shape
        # Pairs of tasks have -h_s h_t / sum h, and each task what it has with all others.
        tasks, own = np.arange(n_tasks), h * (shares @ (1.0 - np.eye(n_tasks)))
        one, other = ((Phi[:, :, None] * U[:, None]).reshape(n, r * n_tasks) for U in (-h, shares))
        blocks: Array = (one.T @ other).reshape(r, n_tasks, r, n_tasks)
        blocks[:, tasks, :, tasks] = self._labels.grams(Phi, own, center=False)
        H: Array = np.tensordot(np.tensordot(blocks, R, axes=(3, 0)), R, axes=(1, 0)).transpose(0, 3, 1, 2)
        H = H.reshape(r * k, r * k)
        if self._intercept:
            # With each constant the scores of a task move alike.
            mixed: Array = (one.T @ shares).reshape(r, n_tasks, n_tasks)
            mixed[:, tasks, tasks] = Phi.T @ own
            border = np.tensordot(mixed, R, axes=(1, 0)).transpose(0, 2, 1).reshape(r * k, n_tasks)
            H -= border @ self._inverse @ border.T
        return H


def _inverse_of_laplacian(W: Array) -> Array:
    """The inverse of diag(W 1) - W for weights W >= 0, on changes that sum to zero."""
    # Degrees are summed up without the diagonal, which would hide small ones. The same constant for all is no change,
    # so that the one of largest degree can be held.
    off = W - np.diag(np.diag(W))
    degrees = off.sum(axis=1)
    free = np.delete(np.arange(len(W)), np.argmax(degrees))
    factor = cholesky((np.diag(degrees) - off)[free][:, free].copy, lower=True)
    inverse = np.zeros_like(W)
    inverse[free[:, None], free] = cho_solve((factor, True), np.eye(len(free)), check_finite=False)
    return inverse - inverse.mean(axis=0) - inverse.mean(axis=1, keepdims=True) + inverse.mean()


def _sum_of_products(B: Array, R: Array) -> Array:
    """The sum over t of B_t (x) R_t R_t', of shape (r k, r k), for matrices B_t and rows R_t."""
    (n_tasks, r, _), k = B.shape, R.shape[1]
    pairs = (R[:, :, None] * R[:, None, :]).reshape(n_tasks, k * k)
    H = (B.reshape(n_tasks, r * r).T @ pairs).reshape(r, r, k, k).transpose(0, 2, 1, 3)
    return H.reshape(r * k, r * k)
