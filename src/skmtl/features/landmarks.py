r"""Landmarks, the rows on which a kernel is approximated: how they are chosen, and the kernel between them.

The ridge leverage score of a row says how much the others miss of it. From a pilot sample of s rows,

.. math:: \ell_i \propto k(x_i, x_i) - k_i' (K_{ss} + \lambda I)^{-1} k_i,

and rows are drawn without replacement with these probabilities.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from skmtl._linalg import TINY, Array, eigvalsh, not_psd
from skmtl._numbers import check_plain, check_sparse
from skmtl._parameters import check_count
from skmtl._rows import Rows, as_rows
from skmtl.features.kernels import kernel_diagonal

Evaluate = Callable[[Any, Any], Array]
# How landmarks are drawn, or the landmarks themselves.
Landmarks = str | ArrayLike
LANDMARK_CHOICES = ("uniform", "leverage")

# A kernel misses its own values on the landmarks by no more than this, relative to their size.
ROUNDING = 1e-8
# A landmark of which the others leave less than this adds nothing but rounding: norms of predictors lose as many digits
# as there are between it and one.
NEARLY_EXPLAINED = 1e-10


def choose_landmarks(
    X: Any, n_components: int | None, landmarks: Landmarks, random_state: Any, evaluate: Evaluate
) -> Any:
    """Rows to be landmarks, of shape (m, d): those that are given, or drawn as their name says."""
    if not isinstance(landmarks, str):
        return _check_given(landmarks, n_components, X.shape[1])
    rows = as_rows(X)
    count = min(check_count("n_components", n_components), rows.shape[0])
    try:
        seed = int(check_random_state(random_state).randint(2**31))
    except (TypeError, ValueError) as error:
        raise ValueError(f"random_state={random_state!r:.50} is no seed: {error}") from error
    if landmarks == "uniform":
        return uniform_landmarks(rows, count, seed)
    if landmarks == "leverage":
        return leverage_landmarks(rows, count, seed, evaluate)
    raise ValueError(
        f"landmarks={landmarks!r} is not known; choose one of {', '.join(LANDMARK_CHOICES)}, or pass rows."
    )


def _check_given(given: Any, n_components: int | None, n_features: int) -> Any:
    """Landmarks that the user passed, as rows."""
    check_plain("landmarks", given)
    points = check_sparse("landmarks", given) if sparse.issparse(given) else _dense_points(given)
    if points.ndim != 2 or points.shape[1] != n_features or points.shape[0] == 0:
        raise ValueError(f"landmarks has shape {points.shape}; it must be (n_components, {n_features}).")
    values = points.data if sparse.issparse(points) else points
    if not np.all(np.isfinite(values)):
        raise ValueError(f"landmarks has {int((~np.isfinite(values)).sum())} NaN or infinite values; drop those rows.")
    if n_components not in (None, points.shape[0]):
        raise ValueError(f"n_components={n_components!r}, but landmarks has {points.shape[0]} rows; leave one out.")
    return points


def _dense_points(given: Any) -> Array:
    try:
        with np.errstate(over="ignore"):
            return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"landmarks={given!r:.50} is neither a name nor an array of rows.") from error


def uniform_landmarks(rows: Rows, count: int, seed: int) -> Any:
    """Rows drawn at random, in their order."""
    chosen = np.random.default_rng(seed).choice(rows.shape[0], count, replace=False)
    return rows.take(np.sort(chosen))


def leverage_landmarks(rows: Rows, count: int, seed: int, evaluate: Evaluate) -> Any:
    """Rows drawn by their leverage scores, in their order."""
    pilot = uniform_landmarks(rows, count, seed)
    draw = _Draw.from_pilot(pilot, count, seed, evaluate)
    drawn = rows.reduce(draw, draw.merge, width=2 * count)
    return drawn.points[np.argsort(drawn.positions)]


class _Drawn(NamedTuple):
    """Rows with the largest keys: keys and positions of shape (count,), points of shape (count, d)."""

    keys: Array
    positions: NDArray[np.intp]
    points: Any


@dataclass(frozen=True)
class _Draw:
    """Draws rows of a block; the same ones however the table is cut into blocks."""

    pilot: Any
    factor: Array
    count: int
    seed: int
    evaluate: Evaluate

    @classmethod
    def from_pilot(cls, pilot: Any, count: int, seed: int, evaluate: Evaluate) -> "_Draw":
        K = evaluate(pilot, pilot)
        values, size = eigvalsh(K), float(np.abs(K).max())
        if values[0] < -ROUNDING * size:
            raise not_psd(float(values[0]))
        # Half of the pilot's directions stand out against this ridge, and none is below zero; of nothing any will do.
        ridge = max(float(np.median(values)), 1e-12 * size, -2.0 * float(values[0])) or 1.0
        factor = linalg.cholesky(K + ridge * np.eye(len(K)), lower=True)
        return cls(pilot, factor, count, seed, evaluate)

    def __call__(self, start: int, X: Any, **columns: Any) -> _Drawn:
        n = X.shape[0]
        explained = linalg.solve_triangular(self.factor, self.evaluate(X, self.pilot).T, lower=True)
        own = kernel_diagonal(X, self.evaluate)
        scores = np.maximum(own - np.sum(explained**2, axis=0), 1e-12 * np.abs(own))
        # The stream of random numbers is entered at the row's position, one number for each row.
        stream = np.random.PCG64(self.seed)
        stream.advance(start)
        # The largest of u^(1/score) are a sample without replacement; -log(-log u / score) has the same order.
        exponential = -np.log(1.0 - np.random.Generator(stream).random(n))
        keys = np.log(np.maximum(scores, TINY)) - np.log(np.maximum(exponential, 1e-300))
        return self._largest(_Drawn(keys, start + np.arange(n), X))

    def merge(self, one: _Drawn, other: _Drawn) -> _Drawn:
        """The largest keys of both."""
        stack = sparse.vstack if sparse.issparse(one.points) else np.concatenate
        points = stack([one.points, other.points])
        return self._largest(_Drawn(np.append(one.keys, other.keys), np.append(one.positions, other.positions), points))

    def _largest(self, drawn: _Drawn) -> _Drawn:
        top = np.argsort(-drawn.keys, kind="stable")[: self.count]
        return _Drawn(drawn.keys[top], drawn.positions[top], drawn.points[top])


def pivoted_cholesky(K: Array) -> tuple[Array, Any]:
    """L, of shape (r, r), and r rows in an order such that K of them is LL' and the others add nothing to it."""
    factor, pivots, rank, _ = linalg.lapack.dpstrf(K, NEARLY_EXPLAINED * float(np.diag(K).max()), lower=1)
    order = pivots - 1
    if not np.any(K):
        # A kernel that is zero on all landmarks: one function, which is zero, stands for them.
        return np.ones((1, 1)), order[:1]
    factor = np.tril(factor)[:, :rank]
    if rank < len(K):
        missed = K[np.ix_(order, order)] - factor @ factor.T
        if np.abs(missed).max() > ROUNDING * np.abs(K).max():
            raise not_psd(float(eigvalsh(K)[0]))
    return np.asfortranarray(factor[:rank]), order[:rank]
