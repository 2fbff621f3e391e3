r"""The linear systems of square loss with missing labels, for one structure A.

In the space of the labels, with one dual coefficient c per label y of task t at row i, weight w,

.. math:: M c + E b = y, \qquad E'c = 0, \qquad M = K_{ii'} A_{tt'} + n \alpha \operatorname{diag}(1 / w),

where E says which label is of which task, and b are the intercepts (without them, E is left out). In the space of the
features, with W = G diag(root) U' for A = U diag(root^2) U' (see :class:`Whitening`) and v_t = root * U_t,

.. math:: (n \alpha I + B) g = \sum_t v_t \otimes b_t, \qquad B = \sum_t v_t v_t' \otimes G_t.

Both are symmetric, positive definite and have the same spectrum but for n alpha. A small change D of A moves
P = Phi'C by ``-Phi' M^-1 Phi P D``: that is all that the joint Newton needs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from skmtl._linalg import Array, cholesky, conjugate_gradients, inverse_from_factor
from skmtl.solvers.cost import WAIT
from skmtl.solvers.entries import Entries
from skmtl.solvers.observed import Observed, times_grams
from skmtl.solvers.whitening import Whitening

MAX_ROUNDS, MAX_STEPS = 10, 500
ROUNDING = 1e-13
# What conjugate gradients with products in single precision can be trusted to gain at a time.
SINGLE = 1e-3


def pairs(n_tasks: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The entries of a symmetric matrix on and below its diagonal: coordinates of a change of the structure."""
    return np.tril_indices(n_tasks)


class Predictors(NamedTuple):
    """W, and (G_t w_t), which takes all rows to find; both of shape (r, n_tasks)."""

    W: Array
    curved: Array


class Inverse(Protocol):
    """What takes labels y to dual coefficients c, exactly for one structure."""

    def solve(self, y: Array) -> Array: ...


class LabelFactor:
    """M with its border, factorized."""

    exact = True

    def __init__(self, entries: Entries, A: Array, ridge: float) -> None:
        self.A, self.ridge, self._entries = A, ridge, entries
        size, n_pairs = float(len(entries)), len(A) * (len(A) + 1) / 2.0
        self.cost, self.step_cost, self.curvature_cost = size**3 / 3.0, 2.0 * WAIT * size**2, n_pairs * size**2

        def kernel_of_labels() -> Array:
            M = entries.scaled_kernel(A)
            M[np.diag_indices_from(M)] += ridge * entries.inverse_weight
            return M

        self._L = cholesky(kernel_of_labels, lower=True)
        tasks = np.flatnonzero(entries.counts) if entries.intercept else np.zeros(0, dtype=np.intp)
        E = np.asfortranarray((entries.task[:, None] == tasks).astype(float))
        # In the coordinates L^-1 the border is made orthonormal, so that E'c = 0 is a projection.
        self._border, self._corner = np.linalg.qr(self._forward(E))
        self._tasks = tasks

    def reduction(self, K: Array, n_tasks: int) -> tuple[Array, Array]:
        """L^-1 K for covariances K of values f_t(x) and labels, (n_labels, n_tasks m), and what constants add, (p, ..).

        Columns are task by task. With B and D the two, the labels leave ``prior - B'B + D'D`` of the covariances.
        """
        B = self._forward(K)
        own = np.zeros((len(self._tasks), n_tasks))
        own[np.arange(len(self._tasks)), self._tasks] = 1.0
        own = linalg.solve_triangular(self._corner, own, trans="T", check_finite=False)
        return B, np.repeat(own, K.shape[1] // n_tasks, axis=1) - self._border.T @ B

    def _forward(self, Y: Array) -> Array:
        return np.asarray(linalg.blas.dtrsm(1.0, self._L, Y, lower=1))

    def _project(self, Z: Array) -> Array:
        return Z - self._border @ (self._border.T @ Z)

    def solve(self, y: Array) -> Array:
        """c = N y, of shape (n_labels,)."""
        z = self._project(linalg.blas.dtrsv(self._L, y, lower=1))
        return np.asarray(linalg.blas.dtrsv(self._L, z, lower=1, trans=1))

    def along(self, P: Array) -> Callable[[Array], Array]:
        """D -> P' Phi' N Phi P D."""
        return label_products(self, self._entries, P)

    def curvature(self, P: Array) -> Array:
        """<P D, Phi' N Phi P D'> for all ``pairs`` D and D' at once."""
        entries, (t, s) = self._entries, pairs(P.shape[1])
        scores = entries.at_rows(P)
        moved = np.zeros((len(entries), len(t)), order="F")
        for m, (one, other) in enumerate(zip(t, s, strict=True)):
            moved[entries.slices[one], m] = scores[entries.slices[one], other]
            moved[entries.slices[other], m] = scores[entries.slices[other], one]
        Z = self._project(self._forward(moved))
        return np.asarray(Z.T @ Z)

    def inverse_blocks(self, blocks: list[NDArray[np.intp]]) -> list[Array]:
        """The blocks on the diagonal of N that belong to these labels."""
        inverse = np.tril(linalg.lapack.dtrtri(self._L, lower=1)[0])
        # N = L^-T (I - FF') L^-1 for the orthonormal border F.
        outside = self._border.T @ inverse
        return [inverse[:, b].T @ inverse[:, b] - outside[:, b].T @ outside[:, b] for b in blocks]


def label_products(inverse: Inverse, entries: Entries, P: Array) -> Callable[[Array], Array]:
    """D -> P' Phi' N Phi P D from the scores of P at the labels, so that the rows are passed once for all D."""
    scores = entries.at_rows(P)

    def product(D: Array) -> Array:
        moved = inverse.solve(np.einsum("ls,ls->l", scores, D[entries.task]))
        return entries.task_sums(moved[:, None] * scores).T

    return product


def dual_coefficients(factor: Inverse, entries: Entries, A: Array, ridge: float, start: Array, gap: float) -> Array:
    """c for the structure A from the factor of another, to a gap of the supervised step relative to alpha ||f||_A^2.

    The border is that of the factor, so that all directions keep E'c = 0.
    """

    def apply(c: Array) -> Array:
        return entries.centred(entries.mixed(c, A) + ridge * entries.inverse_weight * c)

    def finished(left: Array, _: float) -> bool:
        # The gap of predictors and dual coefficients that belong to one another is the error that is left in y.
        return float(np.sum(left**2 / entries.inverse_weight)) <= enough

    # y'c is n / ridge times the value, of which the squared errors are the other part; below rounding, directions
    # would lean out of E'c = 0.
    y = entries.centred(entries.y)
    norm = ridge * (float(y @ start) - ridge * float(np.sum(start**2 * entries.inverse_weight)))
    enough = max(gap * norm, ROUNDING**2 * float(np.sum(y**2 / entries.inverse_weight)))
    c = start + conjugate_gradients(apply, y - apply(start), factor.solve, finished, max_steps=MAX_STEPS)
    return entries.without_sums(c)


class FeatureSystem:
    """Features by features, of all tasks, factorized: predictors W, of shape (r, n_tasks), and their norm."""

    def __init__(self, observed: Observed, A: Array, ridge: float) -> None:
        grams = observed.grams()
        self._observed, self._grams, self._ridge, self._white = observed, grams, ridge, Whitening(A)
        n_tasks, r, _ = grams.shape
        size = n_tasks * r
        self._V = self._white.R
        j, k = pairs(n_tasks)
        self.step_cost, self.curvature_cost = 2.0 * WAIT * size**2, float(len(j) * size**2)
        # All blocks by one product: T (T + 1) / 2 pairs of coordinates times the matrices of the tasks.
        blocks = (self._V[:, j] * self._V[:, k]).T @ grams.reshape(n_tasks, -1)

        def system() -> Array:
            S: Array = np.empty((size, size))
            S.reshape(n_tasks, r, n_tasks, r)[j, :, k, :] = blocks.reshape(len(j), r, r)
            S[np.diag_indices_from(S)] += ridge
            # The lower triangle in the order of C is the upper one in that of LAPACK.
            return S.T

        self._R = cholesky(system, lower=False)
        G = self._solve(self._white.whiten_gradient(observed.cross))
        self.W, self.norm = self._white.unwhiten(G), float(np.sum(G**2))

    @cached_property
    def curved(self) -> Array:
        """(G_t w_t), of shape (r, n_tasks)."""
        return self._observed.curve(self.W)

    def _solve(self, rhs: Array) -> Array:
        if not rhs.size:
            # Some releases of SciPy fail at a factor of nothing.
            return rhs
        solved = linalg.cho_solve((self._R, False), np.ascontiguousarray(rhs.T).ravel(), check_finite=False)
        return np.asarray(solved.reshape(rhs.T.shape).T)

    def along(self, P: Array) -> Callable[[Array], Array]:
        """D -> P' Phi' M^-1 Phi P D."""

        def product(D: Array) -> Array:
            curved = times_grams(self._grams, P @ D)
            moved = self._white.unwhiten(self._solve(self._white.whiten_gradient(curved)))
            return np.asarray(P.T @ (curved - times_grams(self._grams, moved))) / self._ridge

        return product

    def curvature(self, P: Array) -> Array:
        """<P D, Phi' M^-1 Phi P D'> for all ``pairs`` D and D' at once."""
        n_tasks = len(self._grams)
        t, s = pairs(n_tasks)
        place = np.empty((n_tasks, n_tasks), dtype=np.intp)
        place[t, s] = place[s, t] = np.arange(len(t))
        # G_t p_s for all t and s; D = ts moves the predictor of t along p_s and that of s along p_t.
        curved = self._grams @ P
        H = np.zeros((len(t), len(t)))
        for task in range(n_tasks):
            H[np.ix_(place[task], place[task])] += P.T @ curved[task]
        one, two = curved[t, :, s], curved[s, :, t] * (t != s)[:, None]
        moved = self._V[t][:, :, None] * one[:, None, :] + self._V[s][:, :, None] * two[:, None, :]
        Z = linalg.blas.dtrsm(1.0, self._R, np.asfortranarray(moved.reshape(len(t), -1).T), trans_a=1)
        # M^-1 = (I - Phi (n alpha + Phi'Phi)^-1 Phi') / (n alpha) in whitened coordinates.
        return (H - Z.T @ Z) / self._ridge

    def covariance(self) -> Array:
        """Posterior covariance of W where the noise of a label of weight one is one, (n_tasks, r, n_tasks, r)."""
        n_tasks, r, _ = self._grams.shape
        C = inverse_from_factor(self._R, lower=False).reshape(n_tasks, r, n_tasks, r)
        return np.einsum("tb,birj,sr->tisj", self._V, C, self._V, optimize=True)

    def leverages(self, entries: Entries, center: Array) -> Array:
        """R^-T of the labels' features about the means of their tasks, whitened, of shape (r n_tasks, n_labels)."""
        Phi = entries.rows() - center.T[entries.task]
        whitened = self._V[entries.task][:, :, None] * Phi[:, None, :]
        moved = np.asfortranarray(whitened.reshape(len(entries), -1).T)
        return np.asarray(linalg.blas.dtrsm(1.0, self._R, moved, trans_a=1))


class Unformed(ABC):
    """A system whose products with a direction are cheap, so that nothing is formed."""

    step_cost, curvature_cost = 0.0, np.inf

    @abstractmethod
    def respond(self, E: Array) -> Array:
        """Phi' M^-1 Phi E, or near that, of shape (r, n_tasks)."""

    def along(self, P: Array) -> Callable[[Array], Array]:
        """D -> P' Phi' M^-1 Phi P D."""
        return lambda D: np.asarray(P.T @ self.respond(P @ D))

    def curvature(self, P: Array) -> Array | None:
        """None: directions are taken one by one."""
        return None


class SeparateSystem(Unformed):
    """The tasks apart, for a structure diag(a): each in the eigenbasis of its own G_t."""

    def __init__(self, observed: Observed, a: Array, ridge: float) -> None:
        self._observed, self._bases, self._a, self._ridge = observed, observed.bases(), a, ridge
        # In terms of P = W A^-1, for a task may have no structure at all.
        P = np.stack([X @ (z / (g * a_t + ridge)) for a_t, (X, g, z) in zip(a, self._bases, strict=True)], axis=1)
        self.W, self.norm = a * P, float(np.sum(a * P**2))

    @cached_property
    def curved(self) -> Array:
        """(G_t w_t), of shape (r, n_tasks)."""
        return self._observed.curve(self.W)

    def respond(self, E: Array) -> Array:
        """Phi' M^-1 Phi E, of shape (r, n_tasks)."""
        columns = [
            X @ ((g / (g * a_t + self._ridge)) * (X.T @ e))
            for a_t, (X, g, _), e in zip(self._a, self._bases, E.T, strict=True)
        ]
        return np.stack(columns, axis=1)


class MeanSystem(Unformed):
    """Features by features with the mean of the G_t for each of them, times the share of labels that the task has.

    In the basis of :class:`Whitening` it is diagonal.
    """

    def __init__(self, observed: Observed, A: Array, ridge: float) -> None:
        self._observed, self._ridge, self._white = observed, ridge, Whitening(A, observed.shares)
        self._diagonal = ridge + observed.values[:, None] * self._white.squares

    def respond(self, E: Array) -> Array:
        """Phi' M^-1 Phi E, of shape (r, n_tasks)."""
        near = self._observed.values[:, None] * (E * self._observed.shares)
        return self._white.times_inverse(self._white.whiten_gradient(near) / self._diagonal)


class IterativeSystem(MeanSystem):
    """Features by features, by conjugate gradients, to a gap of the supervised step relative to alpha ||f||_A^2.

    The preconditioner is the system of the mean, and so is the second derivative.
    """

    def __init__(self, observed: Observed, A: Array, ridge: float, start: Predictors, gap: float) -> None:
        super().__init__(observed, A, ridge)
        rhs = self._white.whiten_gradient(observed.cross)
        G, self.steps = self._white.whiten(start.W), 0
        (W, curved), inside = start, self._white.unwhiten(G)
        if np.abs(inside - W).max(initial=0.0) > ROUNDING * np.abs(W).max(initial=0.0):
            # The start has directions that the structure does not have.
            W, curved = inside, observed.curve(inside)
        rounding = ROUNDING**2 * float(np.sum(rhs**2))
        for _ in range(MAX_ROUNDS):
            left = rhs - self._white.whiten_gradient(curved) - ridge * G
            # The gap is at most |left|^2 / (n alpha); at first the norm is about that of the preconditioner's answer.
            norm = float(np.sum(G**2)) or float(np.sum((rhs / self._diagonal) ** 2))
            enough = max(ridge**2 * gap * norm, rounding)
            if float(np.sum(left**2)) <= enough:
                break
            # What single precision leaves is solved for once more.
            G = G + self._solve(left, max(enough, SINGLE**2 * float(np.sum(left**2))))
            W = self._white.unwhiten(G)
            curved = observed.curve(W)
        self.W, self.curved, self.norm = W, curved, float(np.sum(G**2))

    def _apply_roughly(self, G: Array) -> Array:
        self.steps += 1
        curved = self._observed.curve_roughly(self._white.unwhiten(G))
        return self._white.whiten_gradient(curved) + self._ridge * G

    def _solve(self, rhs: Array, enough: float) -> Array:
        return conjugate_gradients(
            self._apply_roughly,
            rhs,
            lambda r: r / self._diagonal,
            lambda r, _: float(np.sum(r**2)) <= enough,
            max_steps=MAX_STEPS,
        )
