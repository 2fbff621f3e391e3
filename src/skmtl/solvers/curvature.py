"""Second derivatives of the losses in the scores, with the constants of the tasks eliminated."""

from typing import Protocol

import numpy as np

from skmtl._linalg import Array
from skmtl.targets import Labels

TINY = float(np.finfo(float).tiny)


class Curvature(Protocol):
    """The Hessian H of the losses in the scores."""

    def __call__(self, E: Array) -> Array:
        """H E."""

    def constants(self, U: Array) -> Array:
        """The b for which H applied to scores that are constant in each task, b, has the sums of U."""

    def normal(self, Phi: Array, W: Array, *, center: bool) -> Array:
        """Phi' H Phi W; with ``center`` the best constants of the tasks are taken off the scores."""


class EntryCurvature:
    """Losses of single entries: H is diagonal, with the entries h."""

    def __init__(self, labels: Labels, h: Array) -> None:
        self._labels, self._h = labels, h
        self._sums = np.maximum(labels.sums(h), TINY)

    def __call__(self, E: Array) -> Array:
        return self._h * E

    def constants(self, U: Array) -> Array:
        return np.asarray(self._labels.sums(U) / self._sums)

    def normal(self, Phi: Array, W: Array, *, center: bool) -> Array:
        return self._labels.normal(Phi, self._h, W, center=center)


class RowCurvature:
    """A loss over the entries of a row, softmax: H is diag(h) - hh'/(1'h) in each row.

    For probabilities p and the weight w of a row, h = w p, of which diag(h) alone is a bound: Newton with the bound
    takes ten times as many steps.
    """

    def __init__(self, labels: Labels, h: Array) -> None:
        self._labels, self._h = labels, h
        self._shares = h / np.maximum(h.sum(axis=1, keepdims=True), TINY)
        # All constants alike change nothing: the matrix is singular there, and so are the sums of gradients.
        self._inverse = np.linalg.pinv(np.diag(h.sum(axis=0)) - self._shares.T @ h, hermitian=True)

    def __call__(self, E: Array) -> Array:
        return np.asarray(self._h * (E - np.einsum("it,it->i", self._shares, E)[:, None]))

    def constants(self, U: Array) -> Array:
        return np.asarray(self._labels.sums(U) @ self._inverse)

    def normal(self, Phi: Array, W: Array, *, center: bool) -> Array:
        U = self(self._labels.scores(Phi, W))
        if center:
            U -= self(np.broadcast_to(self.constants(U), U.shape))
        return self._labels.adjoint(Phi, U)
