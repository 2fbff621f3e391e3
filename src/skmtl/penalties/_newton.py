"""Newton for smooth(A) + tr(A) + a norm of the relations between tasks, over positive definite A.

The norm has kinks, and they are what makes relations exactly zero: a graph read off A needs no threshold. Between its
kinks it is smooth. Each iteration takes one Newton step on the smooth piece of the norm that the subgradient of least
norm points into; what would cross a kink on the way stops there, at zero.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy import linalg

from skmtl._linalg import TINY, Array, conjugate_gradients, eigh, inverse_spd, symmetric_part
from skmtl.penalties.base import ASK_EARLY, Certify, Smooth, SmoothPoint

# Above this share of free entries the preconditioner that inverts the whole space pays.
DENSE_SHARE = 0.95
MAX_CG_STEPS = 100
# With the inverse itself one step is enough, and more than a few are those of rounding.
EXACT_CG_STEPS = 5
MAX_BACKTRACKS = 40
NOTHING_LEFT = 1e-9
# The share of what a model promises that a step must gain; steps within the model, and the share of all their gains
# below which there is no further one. Each needs only a direction that is roughly right: the next makes up for it.
ENOUGH_GAIN = 1e-4
MAX_MODEL_STEPS, MODEL_SHARE, MODEL_FORCING = 3, 0.03, 0.5
# A ridge of this share of the mean of diag(S) needs no continuation; stages need no more than this accuracy.
GENTLE_RIDGE = 3e-2
STAGE_TOL = 1e-7
# The search along a segment of dual points.
MAX_MIXTURES = 30
SMALLEST_THETA = 1e-12
RESOLUTION = 1e-10


class Piece(Protocol):
    """The norm near one structure, where relations that are zero either stay so or leave zero one way."""

    # The subgradient of least norm of the whole objective: zero on all relations that are rightly zero.
    residual: Array

    def project(self, D: Array) -> Array:
        """The part of a change of A that stays on this piece."""

    def curved(self, H: Array, D: Array) -> Array:
        """H plus the product of the second derivative of the norm with a change D of A."""

    def preconditioner(self, P: Array, Q: Array, *, exact: bool = False) -> Callable[[Array], Array]:
        """Approximate inverse, on this piece, of D -> P D Q + Q D P plus the curvature.

        With ``exact`` it is the inverse itself, where few tasks allow it: near the solution, where rounding hides what
        a rough direction gains. Far from it exact steps along directions that hardly curve lead astray.
        """

    def land(self, trial: Array) -> Array:
        """A structure with all that has left the piece at zero, where the piece ends."""


class RelationNorm(Protocol):
    """A norm of what is off the diagonal, as a solver needs it; it is max tr(A W) - tr(A) over its dual points W."""

    def value(self, A: Array) -> float:
        """The norm of A."""

    def dual_point(self, W: Array) -> Array:
        """A dual point near W. The identity is always one, and the dual points are a convex set."""

    def piece(self, A: Array, gradient: Array) -> Piece:
        """The piece to move on from A, given the gradient of all the rest of the objective."""


def soft_threshold(M: Array, threshold: Array | float) -> Array:
    """Shrink every entry towards zero by ``threshold``; the proximal map of the l1 norm (SKMTL eq. 8)."""
    return np.maximum(M - threshold, 0.0) + np.minimum(M + threshold, 0.0)


def hessian_diagonal(P: Array, Q: Array) -> Array:
    """The diagonal of D -> P D Q + Q D P over symmetric matrices, one number for each entry."""
    p, q = np.diag(P), np.diag(Q)
    diagonal = np.outer(p, q) + np.outer(q, p) + 2.0 * P * Q
    np.fill_diagonal(diagonal, 2.0 * p * q)
    return diagonal


def whole_inverse(P: Array, Q: Array) -> Callable[[Array], Array] | None:
    """The inverse of D -> P D Q + Q D P over all symmetric matrices; None where rounding leaves P or Q nothing."""
    # With X'PX = I and X'QX = diag(q) it is one division.
    try:
        q, X = linalg.eigh(Q, P, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    smallest = 1e-14 * q[-1]
    if smallest <= TINY:
        return None
    q = np.maximum(q, smallest)
    reciprocal = 1.0 / (q[:, None] + q[None, :])
    return lambda R: symmetric_part(X @ ((X.T @ R @ X) * reciprocal) @ X.T)


def active_newton(
    smooth: Smooth,
    start: Array,
    norm: RelationNorm,
    *,
    certify: Certify,
    tol: float,
    max_iter: int,
    exact: bool = False,
) -> tuple[Array, float, int]:
    """Minimize smooth(A) + tr(A) + norm(A); returns A, its relative gap and the iterations."""
    identity = np.eye(len(start))

    def objective(A: Array, point: SmoothPoint) -> float:
        return float(point.value + np.trace(A) + norm.value(A))

    A, point = start, smooth(start)
    if point is None:
        raise ValueError("the structure to start from must be positive definite")
    value, forcing, iteration, gap = objective(A, point), 0.1, 0, np.inf
    for iteration in range(1, max_iter + 1):
        gradient = point.gradient + identity
        piece = norm.piece(A, gradient)
        D, decrease = _newton_direction(point, piece, forcing, exact=exact)
        accepted = _stay_on_piece(smooth, objective, A, value, D, piece, 1 if point.dear else MAX_BACKTRACKS)
        if accepted is None and point.dear:
            end = _model_minimizer(point, norm, A, gradient, D, piece)
            slope = float(np.sum(gradient * (end - A))) + norm.value(end) - norm.value(A)
            accepted = _backtrack(smooth, objective, A, value, end - A, slope)
        if accepted is None:
            break
        before = value
        A, point, value = accepted
        # The model promised half of ``decrease``; by how much it was wrong is about what the next step can gain.
        remaining = min(decrease, 4.0 * abs(before - value - 0.5 * decrease))
        # The certificate is dearer: ask when it may pass.
        if remaining <= ASK_EARLY * tol * abs(value):
            last, gap = gap, certify(A, point, value)
            # With nothing left to gain, more iterations cannot help a certificate that is not tight.
            stuck = value == before and gap >= last
            if gap <= tol or stuck or decrease <= NOTHING_LEFT * tol * abs(value):
                return A, gap, iteration
        forcing = min(forcing, max(1e-3, np.sqrt(max(decrease, 0.0) / abs(value))))
    return A, certify(A, point, value), iteration


def _newton_direction(point: SmoothPoint, piece: Piece, forcing: float, *, exact: bool = False) -> tuple[Array, float]:
    """Conjugate gradients for Hessian D = -residual on the piece; D and -<D, residual>."""
    precondition = piece.preconditioner(point.P, point.Q, exact=exact)
    enough = forcing**2 * float(np.vdot(piece.residual, precondition(piece.residual)))

    def apply(D: Array) -> Array:
        return piece.project(piece.curved(point.hessian(D), D))

    max_steps = EXACT_CG_STEPS if exact else MAX_CG_STEPS
    D = conjugate_gradients(apply, -piece.residual, precondition, lambda r, rz: rz <= enough, max_steps=max_steps)
    # Of directions of very different curvatures rounding is large beside the flat ones, and need not be symmetric.
    D = symmetric_part(D)
    return D, -float(np.sum(D * piece.residual))


def _stay_on_piece(
    smooth: Smooth,
    objective: Callable[[Array, SmoothPoint], float],
    A: Array,
    value: float,
    D: Array,
    piece: Piece,
    max_tries: int,
) -> tuple[Array, SmoothPoint, float] | None:
    """The first step along D that gains enough, with all that has left the piece where it ends."""
    step = 1.0
    for _ in range(max_tries):
        trial = piece.land(A + step * D)
        point = smooth(trial)
        if point is not None:
            trial_value = objective(trial, point)
            if trial_value <= value + ENOUGH_GAIN * float(np.sum(piece.residual * (trial - A))):
                return trial, point, trial_value
        step *= 0.5
    return None


def _model_minimizer(
    point: SmoothPoint, norm: RelationNorm, A: Array, gradient: Array, D: Array, piece: Piece
) -> Array:
    """Where the norm and Newton's model of all else are least, roughly; D is the first step there.

    What stops at a kink on the way moves the others: where A is nearly singular, stopping alone can lead out of its
    cone. The model needs no value of the objective, so that further steps are cheap.
    """
    B, moved, value, gained = A, np.zeros_like(A), norm.value(A), 0.0
    for _ in range(MAX_MODEL_STEPS):
        step = 1.0
        for _ in range(MAX_BACKTRACKS):
            trial = piece.land(B + step * D)
            change = trial - A
            bent = point.hessian(change)
            trial_value = float(np.sum((gradient + 0.5 * bent) * change)) + norm.value(trial)
            if trial_value <= value + ENOUGH_GAIN * float(np.sum(piece.residual * (trial - B))):
                break
            step *= 0.5
        else:
            break
        B, moved, gain, value = trial, bent, value - trial_value, trial_value
        gained += gain
        if gain <= MODEL_SHARE * gained:
            break
        piece = norm.piece(B, gradient + moved)
        D, _ = _newton_direction(point, piece, MODEL_FORCING)
    return B


def _backtrack(
    smooth: Smooth,
    objective: Callable[[Array, SmoothPoint], float],
    A: Array,
    value: float,
    D: Array,
    slope: float,
) -> tuple[Array, SmoothPoint, float] | None:
    """The first step along D that gains enough; a short one that gains nothing is one of rounding."""
    step = 1.0
    for _ in range(MAX_BACKTRACKS):
        trial = A + step * D
        point = smooth(trial)
        if point is not None:
            trial_value = objective(trial, point)
            gains = trial_value < value or step == 1.0
            if gains and trial_value <= value + ENOUGH_GAIN * step * slope:
                return trial, point, trial_value
        step *= 0.5
    return None


def best_mixture(M: Array, N: Array, *, enough: float = np.inf) -> tuple[float, float]:
    """max over theta in [0, 1] of 2 tr(((1 - theta) M + theta N)^{1/2}), and theta; -inf and 1 when none tried is PSD.

    The function is concave, and every value returned is attained, so a search cut short costs tightness alone.
    It ends early at a value of ``enough``. At the optimum of the problem theta = 0 and nothing is searched.
    """
    low, high, theta, best, best_theta = SMALLEST_THETA, 1.0, 0.0, -np.inf, 1.0
    for _ in range(MAX_MIXTURES):
        m, U = eigh((1.0 - theta) * M + theta * N)
        slopes = np.einsum("it,it->t", U, (N - M) @ U)
        if m[0] > 0.0:
            value = 2.0 * float(np.sum(np.sqrt(m)))
            slope = float(np.sum(slopes / np.sqrt(m)))
            if value > best:
                best, best_theta = value, theta
            # By concavity nothing in the bracket is better than this.
            ahead = slope * ((high if slope > 0.0 else low) - theta)
            if best >= enough or ahead <= RESOLUTION * abs(best):
                break
        else:
            # Outside the cone, go where the smallest eigenvalue grows.
            slope = float(slopes[0])
        if slope > 0.0:
            low = max(theta, low)
        elif theta <= low:
            break
        else:
            high = theta
        # Useful values of theta span many decades.
        theta = float(np.sqrt(low * high))
        if high - low <= 1e-6 * high:
            break
    return best, best_theta


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
