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
    """One loss over the tasks of a row, whose Hessian is diag(h) - h h' / sum h."""

    def __init__(self, labels: Labels, Phi: Array, h: Array, *, intercept: bool) -> None:
        self._labels, self._Phi, self._h, self._intercept = labels, Phi, h, intercept
        self._shares = h / np.maximum(h.sum(axis=1, keepdims=True), TINY)
        self._inverse = _inverse_of_laplacian(h.T @ self._shares)

    def times(self, U: Array) -> Array:
        return self._h * (U - np.sum(self._shares * U, axis=1, keepdims=True))

    def intercepts(self, U: Array) -> Array:
        return -self._inverse @ U.sum(axis=0) if self._intercept else np.zeros(U.shape[1])

    def without_intercepts(self, U: Array) -> Array:
        return U + self.times(self.intercepts(U)[None]) if self._intercept else U

    def normal(self, W: Array) -> Array:
        return self._Phi.T @ self.without_intercepts(self.times(self._Phi @ W))

    def matrix(self, R: Array) -> Array:
        Phi, h, shares = self._Phi, self._h, self._shares
        H = _sum_of_products(self._labels.grams(Phi, h, center=False), R)
        # Of each row the square of its Phi (x) R'h, over the sum of h.
        (n, r), k = Phi.shape, R.shape[1]
        one, other = ((Phi[:, :, None] * (U @ R)[:, None]).reshape(n, r * k) for U in (h, shares))
        H -= one.T @ other
        if self._intercept:
            # With each constant the scores of a task move alike.
            mixed = (Phi.T @ h)[:, None] * R.T[None]
            border = mixed.reshape(r * k, -1) - one.T @ shares
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
