"""Reach a nearly singular structure problem through a series of gentler ones."""

from collections.abc import Callable

import numpy as np

from skmtl._linalg import Array, inverse_spd

# A ridge of this share of the mean of diag(S) needs no continuation; stages need no more than this accuracy.
GENTLE_RIDGE = 3e-2
STAGE_TOL = 1e-7


def descend(
    solve: Callable[[Array, float, bool], tuple[Array, float, int]],
    start: Array,
    level: float,
    first_level: float,
    *,
    factor: float = 10.0**0.5,
) -> tuple[Array, float, int]:
    """Follow the solution from ``first_level`` of the ridge on S down to ``level``.

    Where S is nearly singular, Newton from a cold start crawls. Directions in which S has nothing but the
    ridge e carry eigenvalues sqrt(e) of A, so A is nearly linear in sqrt(e): each stage starts from the line
    through the two before it. ``solve(start, level, last)`` is one stage.
    """
    trail: list[tuple[float, Array]] = []
    current, n_iter = max(first_level, level), 0
    while True:
        last = current <= level
        A, gap, stage_iter = solve(_extrapolate(trail, current, start), current, last)
        n_iter += stage_iter
        if last:
            return A, gap, n_iter
        trail = [*trail[-1:], (np.sqrt(current), A)]
        # A last step shorter than half a usual one is merged into the one before it.
        current = level if current < level * factor**1.5 else current / factor


def _extrapolate(trail: list[tuple[float, Array]], level: float, start: Array) -> Array:
    """The line through the last two structures, at sqrt(level); entries that would cross zero stop there."""
    if len(trail) < 2:
        return trail[-1][1] if trail else start
    (x0, A0), (x1, A1) = trail
    ahead = (np.sqrt(level) - x1) / (x1 - x0)
    for damping in (1.0, 0.8, 0.5):
        A = A1 + damping * ahead * (A1 - A0)
        A = np.where(A * A1 > 0.0, A, 0.0)
        if inverse_spd(A) is not None:
            return A
    return A1
