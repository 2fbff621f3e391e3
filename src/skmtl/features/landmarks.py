r"""Landmarks, the rows on which a kernel is approximated: how they are chosen, and the kernel between them.

The ridge leverage score of a row says how much the others miss of it. From a pilot sample of s rows,

.. math:: \ell_i \propto k(x_i, x_i) - k_i' (K_{ss} + \lambda I)^{-1} k_i,

and rows are drawn without replacement with these probabilities.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from skmtl._linalg import Array, eigvalsh, not_psd
from skmtl._rows import Rows
from skmtl.features.kernels import kernel_diagonal

Evaluate = Callable[[Any, Any], Array]

# A kernel misses its own values on the landmarks by no more than this, relative to their size.
ROUNDING = 1e-8


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
        # Half of the pilot's directions stand out against this ridge.
        ridge = max(float(np.median(eigvalsh(K))), 1e-12 * float(np.abs(K).max()))
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
        keys = np.log(np.maximum(scores, np.finfo(float).tiny)) - np.log(np.maximum(exponential, 1e-300))
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
    factor, pivots, rank, _ = linalg.lapack.dpstrf(K, lower=1)
    order = pivots - 1
    if rank == 0:
        # A kernel that is zero on all landmarks: one function, which is zero, stands for them.
        return np.ones((1, 1)), order[:1]
    factor = np.tril(factor)[:, :rank]
    if rank < len(K):
        missed = K[np.ix_(order, order)] - factor @ factor.T
        if np.abs(missed).max() > ROUNDING * np.abs(K).max():
            raise not_psd(float(eigvalsh(K)[0]))
    return np.asfortranarray(factor[:rank]), order[:rank]
