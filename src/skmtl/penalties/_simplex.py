"""A quadratic model over the edges of a graph: all >= 0, with a given sum."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from skmtl._linalg import Array, conjugate_gradients

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

# Up to this many edges the model's Hessian is factorized, above it conjugate gradients are faster.
DIRECT_EDGES = 800
# Up to this many edges the Hessian of all of them is cheaper than its products, and made once for all pivots.
FEW_EDGES = 120
MAX_PIVOTS = 30
MAX_CG_STEPS = 200


class Model(Protocol):
    """A convex function of the edges, to second order."""

    gradient: Array

    def hessian(self, d: Array) -> Array:
        """Product of the Hessian with a change of the edges."""

    def dense_hessian(self, edges: Index) -> Array:
        """The Hessian of the edges with these indices."""

    def preconditioner(self, share: float) -> Callable[[Array], Array]:
        """Approximate inverse of the Hessian where this share of the edges is free."""


def model_step(model: Model, w: Array, forcing: float) -> Array:
    """The change of w that minimizes the model over the simplex, as far as the pivots reach.

    Edges outside ``free`` are zero. Each pivot solves the model on the free edges; those that would fall below zero
    leave, and when there are none, those that want to grow join. The model never increases.
    """
    if len(w) <= FEW_EDGES:
        model = _DenseModel(model)
    x, total = w, float(w.sum())
    # The sum does not change, and so a constant in the gradient is nothing but rounding.
    size = float(np.abs(model.gradient).max())
    gradient = model.gradient - float(w @ model.gradient) / total
    free = (w > 0.0) | (gradient < 0.0)
    for _ in range(MAX_PIVOTS):
        d = _solve(model, free, gradient, forcing)
        outside = free & (x + d < 0.0)
        finished = not outside.any()
        if not finished:
            d, leave = _stay_inside(model, x, d, gradient, outside)
            free = free & ~leave
        x = np.where(free, np.maximum(x + d, 0.0), 0.0)
        gradient = gradient + model.hessian(d)
        if not free.any():
            # Rounding took the last edge.
            break
        if finished:
            level = float(np.mean(gradient[free]))
            join = ~free & (gradient < level - 1e-13 * size)
            if not join.any():
                break
            free = free | join
    # Rounding must not add up over many steps; where it leaves nothing, there is no step.
    left = float(x.sum())
    return x * (total / left) - w if left > 0.0 else np.zeros_like(w)


class _DenseModel:
    """A model of few edges, with the Hessian of all of them at hand."""

    def __init__(self, model: Model) -> None:
        self.gradient, self.preconditioner = model.gradient, model.preconditioner
        self._hessian = model.dense_hessian(np.arange(len(model.gradient)))

    def hessian(self, d: Array) -> Array:
        return self._hessian @ d

    def dense_hessian(self, edges: Index) -> Array:
        return self._hessian[edges[:, None], edges]


def _stay_inside(model: Model, x: Array, d: Array, gradient: Array, outside: Mask) -> tuple[Array, Mask]:
    """A step along d that stays in the simplex, and the edges that it removes."""
    total = float(x.sum())
    for step in (1.0, 0.5, 0.2, 0.05, 0.01, 0.002):
        y = np.maximum(x + step * d, 0.0)
        if not y.any():
            continue
        e = y * (total / float(y.sum())) - x
        if float(e @ gradient) + 0.5 * float(e @ model.hessian(e)) < 0.0:
            return e, outside & (y == 0.0)
    # Removing several at once goes too far: stop at the first.
    ratio = np.where(outside, x / np.where(outside, -d, 1.0), np.inf)
    step = float(ratio.min())
    return step * d, ratio <= step


def _solve(model: Model, free: Mask, gradient: Array, forcing: float) -> Array:
    """The least of gradient'd + d'Hd/2 over changes d of the free edges with sum zero."""
    n_free = int(free.sum())
    if n_free <= DIRECT_EDGES:
        return _solve_directly(model, np.flatnonzero(free), gradient)
    return _solve_by_cg(model, free, gradient, forcing)


def _solve_directly(model: Model, edges: Index, gradient: Array) -> Array:
    H, d = model.dense_hessian(edges), np.zeros_like(gradient)
    unit = float(np.max(np.diag(H), initial=0.0))
    if not 0.0 < unit < np.inf:
        return d
    # In units of the largest entry nothing is lost below the smallest numbers there are.
    H, gradient = H / unit, gradient / unit
    diagonal = np.diag(H).copy()
    # A ridge of the size of rounding keeps the factor alive where edges are nearly redundant.
    for ridge in (1e-15, 1e-12, 1e-8):
        np.fill_diagonal(H, diagonal * (1.0 + ridge))
        factor, info = linalg.lapack.dpotrf(H, lower=1)
        if info == 0:
            right = np.column_stack([gradient[edges], np.ones(len(edges))])
            z, one = linalg.lapack.dpotrs(factor, right, lower=1)[0].T
            d[edges] = one * (z.sum() / one.sum()) - z
            break
    return d


def _solve_by_cg(model: Model, free: Mask, gradient: Array, forcing: float) -> Array:
    inverse = model.preconditioner(float(free.mean()))
    one = np.where(free, inverse(free.astype(float)), 0.0)
    share: Array = one / one.sum()

    def precondition(r: Array) -> Array:
        z: Array = np.where(free, inverse(r), 0.0)
        return z - share * float(z.sum())

    def apply(d: Array) -> Array:
        return np.where(free, model.hessian(d), 0.0)

    residual = np.where(free, float(gradient[free].mean()) - gradient, 0.0)
    enough = forcing**2 * float(residual @ precondition(residual))
    return conjugate_gradients(apply, residual, precondition, lambda r, rz: rz <= enough, max_steps=MAX_CG_STEPS)
