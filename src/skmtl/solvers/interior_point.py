"""The supervised step for losses with corners, which are sums of ramps: a primal-dual interior point method.

With z = s f - d at each label, a ramp max(0, z) is the least xi with xi >= z and xi >= 0. Their multipliers are p and
1 - p, and t = xi - z is the slack of the first, so that at the solution

    p t = 0,   (1 - p) xi = 0,   and the slope of the data term is w (slope + sum over the ramps of s p).

Newton's method follows the solutions of p t = (1 - p) xi = m to m = 0, with Mehrotra's predictor and corrector.
Any p between 0 and 1 is a dual point, so that every iterate proves how good it is.
"""

from copy import copy
from typing import NamedTuple

import numpy as np

from skmtl._linalg import TINY, Array, conjugate_gradients
from skmtl.losses import Loss
from skmtl.losses.corners import shares
from skmtl.solvers.curvature import LabelCurvature
from skmtl.solvers.curvature_inverse import Inverses
from skmtl.solvers.entries import Entries
from skmtl.solvers.newton_cg import NewtonFit, Point
from skmtl.solvers.whitening import Whitening
from skmtl.targets import Labels

# A dozen steps lead from anywhere to the last digit. So many in turn that bring neither the gap nor the slacks down are
# the last: rounding has the say.
MAX_STEPS, PATIENCE = 80, 5
# The share of the way to where one of the slacks is zero that a step goes.
NEARLY = 0.995
# How much of its residual a direction may leave, squared.
FORCING = 1e-16
# Predictors and dual coefficients are as wrong as the root of the gap, and structures and their proofs feel it: the gap
# is closed to this share of the tolerance, which takes two steps more.
EXACT = 1e-3
# A gap that stays open when the slacks leave no more than this share of the tolerance is rounding, as is one that is no
# wider than what scores are rounded by.
NOTHING_LEFT, FALLING = 1e-3, 0.5
# A gap of so many times the one at which rounding ended the last solve is rounding, too.
NEAR_FLOOR = 5.0
EPS = float(np.finfo(float).eps)
# The least m to begin with, relative to the heights of the ramps, and absolutely.
SMALLEST, LEAST = 1e-13, TINY**0.25


class _Slacks(NamedTuple):
    """For each ramp and label p, 1 - p, t and xi, all positive, or how they change; of shape (n_ramps, n_labels)."""

    p: Array
    rest: Array
    t: Array
    xi: Array

    def moved(self, change: "_Slacks", length: float) -> "_Slacks":
        return _Slacks(*(x + length * dx for x, dx in zip(self, change, strict=True)))

    def longest(self, change: "_Slacks") -> float:
        """How far along a change all of them stay positive, and no farther than 1 / NEARLY."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            ends = [np.min(-x / dx, where=dx < 0.0, initial=1.0 / NEARLY) for x, dx in zip(self, change, strict=True)]
        return float(min(ends))

    def consistent(self, z: Array) -> "_Slacks":
        """The same with xi - t = z; the smaller of the two keeps its digits."""
        return self._replace(t=np.where(z > 0.0, self.t, self.xi - z), xi=np.where(z > 0.0, z + self.t, self.xi))


class _Start(NamedTuple):
    """A point and its p."""

    point: Point
    p: Array


class InteriorPointStep:
    """min over f and the intercepts of (1/n) sum w V(y, f) + alpha ||f||_A^2, for a loss that is a sum of ramps.

    Each solution starts from the one before it.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, r)
        The rows in an orthonormal basis of functions.
    """

    eliminable = False

    def __init__(self, rows: Array, labels: Labels, loss: Loss, alpha: float, *, intercept: bool) -> None:
        self.alpha, self.labels, self.loss, self.intercept = alpha, labels, loss, intercept
        self.Phi = labels.arrange(rows)
        self.n = float(labels.weight.sum()) / labels.n_tasks
        self._entries = Entries(self.Phi, labels, intercept=intercept)
        self._weight = labels.weight[self._entries.place]
        self._ramps = loss.ramps(self._entries.y)
        self._W, self._b = np.zeros((rows.shape[1], labels.n_tasks)), np.zeros(labels.n_tasks)
        self._p = np.full(self._ramps.sign.shape, 0.5)
        # The gap at which rounding ended the last solve, from wherever it began.
        self._floor = 0.0
        # Whether the way from the middle led there.
        self._from_middle = False

    @property
    def n_tasks(self) -> int:
        return self.labels.n_tasks

    def with_alpha(self, alpha: float) -> "InteriorPointStep":
        """The same rows and labels at another alpha, from where this one is."""
        other = copy(self)
        other.alpha, other._floor, other._from_middle = alpha, 0.0, False
        return other

    def diagonal_energy(self, a: Array, *, tol: float = 1e-8) -> Array:
        """Squared norms of the tasks' predictors for the structure diag(a), of shape (n_tasks,)."""
        # Predictors are as wrong as the square root of their value.
        return np.diag(self.solve(np.diag(a), tol=tol**2).energy(np.diag(a)))

    def solve(self, A: Array, *, tol: float = 1e-8) -> NewtonFit:
        """The best f for the structure A, its value exact to ``tol``, relative to it."""
        basis = Whitening(A)
        inverses = Inverses(self._entries, basis, self.n, self.alpha)
        near = _Start(Point(inverses.felt(basis.whiten(self._W)), self._b), self._p)
        # Of a start near the boundary slacks can hold all steps back. The middle is far from it, and the way from there
        # is longer: it is first where it led farther, and rounding ended it.
        middle = _Start(Point(np.zeros_like(near.point.G), np.zeros_like(self._b)), np.full_like(self._p, 0.5))
        starts = (middle, near) if self._from_middle else (near, middle)
        best = self._follow(starts[0], inverses, EXACT * tol)
        enough = max(EXACT * tol, self._noise(best[0]))
        if min(best[0].gap, 1.0) > max(enough, NEAR_FLOOR * self._floor) and np.any(self._W):
            other = self._follow(starts[1], inverses, EXACT * tol)
            best, start = min((best, starts[0]), (other, starts[1]), key=lambda one: _rank(one[0][0]))
            self._floor = best[0].gap if best[0].gap > enough else 0.0
            self._from_middle = self._floor > 0.0 and start is middle
        fit, self._p = self._settled(best[0]), best[1]
        self._W, self._b = fit.coefficients(), fit.intercept
        return self._with_dual_point_that_proves(fit)

    def _with_dual_point_that_proves(self, fit: NewtonFit) -> NewtonFit:
        """The same with dual coefficients scaled down where rounding has made them worse than none."""
        if fit.gap <= 1.0:
            return fit
        # Conjugates of sums of ramps are proportional to the scale, and norms to its square.
        proved, norm = fit.dual(1.0), self.alpha * float(np.sum(fit.basis.A * fit.Q))
        scale = 0.5 * proved / norm if 0.0 < proved < norm < np.inf else 0.0
        return NewtonFit(self, fit.point, fit.basis, scale * fit.gradient)

    def _settled(self, fit: NewtonFit) -> NewtonFit:
        """The same with constants that only run away, those of tasks of one class, back where they suffice."""
        if not self.intercept or self._ramps.slope:
            return fit
        z, b = self._heights(fit.scores), fit.intercept.copy()
        for t, own in enumerate(self._entries.slices):
            sign, heights = self._ramps.sign[:, own], z[:, own]
            # Nothing changes as long as all ramps are zero, and all are sunk by the same change.
            if sign.size and heights.max() < 0.0 and sign.min() == sign.max():
                deep = float(np.ptp(heights) + np.max(np.abs(self._ramps.offset[:, own])))
                b[t] += sign[0, 0] * max(-float(heights.max()) - deep, 0.0)
        return NewtonFit(self, Point(fit.point.G, b), fit.basis, fit.gradient)

    def _follow(self, start: _Start, inverses: Inverses, exact: float) -> tuple[NewtonFit, Array]:
        """The best fit on the way from a start to a gap of ``exact``, and its p."""
        p = start.p
        fit = best = self._fit(start.point, p, inverses.basis)
        slacks = self._begin(fit, p)
        least, patience, last = np.inf, PATIENCE, np.inf
        for _ in range(MAX_STEPS):
            left = self._left(slacks)
            # From a start that is near, slacks vanish before the slopes that they belong to: the gap may fall further.
            nothing, noise = NOTHING_LEFT * exact * abs(fit.value), self._noise(fit)
            is_rounding = left <= nothing or best.gap <= noise or left <= noise * abs(fit.value)
            # A value that is all rounding is zero.
            nothing_left = noise >= 1.0 or (is_rounding and not fit.gap < FALLING * last)
            if best.gap <= exact or nothing_left or patience == 0:
                break
            last = fit.gap
            # Quotients of slacks that are next to nothing may be beyond the range of numbers: such ramps do not bend.
            with np.errstate(over="ignore", invalid="ignore"):
                moved, slacks = self._step(fit, slacks, inverses)
            if not np.all(np.isfinite(moved.G)):
                break
            fit = self._fit(moved, slacks.p, inverses.basis)
            is_better = _rank(fit) < _rank(best)
            if is_better:
                best, p = fit, slacks.p
            patience = PATIENCE if is_better or left < least else patience - 1
            least = min(least, left)
        return best, p

    def _fit(self, point: Point, p: Array, basis: Whitening) -> NewtonFit:
        """A point with the dual coefficients of p."""
        return NewtonFit(self, point, basis, self._spread(self._slope(p)))

    def _noise(self, fit: NewtonFit) -> float:
        """What rounding of scores and labels adds to the value, relative to it."""
        scores = fit.scores[self._entries.place]
        rounding = EPS * (np.abs(self._entries.y) + np.abs(scores))
        # A ramp that is surely zero stays zero.
        rising = np.sum(self._heights(fit.scores) > -rounding, axis=0)
        # Each is rounded by itself, and so the squares add up.
        size = float(np.linalg.norm(self._weight * (abs(self._ramps.slope) + rising) * rounding))
        return size / (self.n * max(abs(fit.value), TINY))

    def _slope(self, p: Array) -> Array:
        """That of the data term in the score of each label."""
        return self._weight * (self._ramps.slope + np.sum(self._ramps.sign * p, axis=0))

    def _spread(self, u: Array) -> Array:
        """Values of the labels, laid out like them."""
        U = np.zeros(self.labels.y.shape)
        U[self._entries.place] = u
        return U

    def _begin(self, fit: NewtonFit, p: Array) -> _Slacks:
        """Slacks for a point and its p, as large as the gap says that they may be."""
        z = self._heights(fit.scores)
        m = max(min(fit.gap, 1.0) * fit.value / self.n_tasks, SMALLEST * float(np.max(np.abs(z), initial=0.0)), LEAST)
        low, high = shares(z, m)
        # Far from their corners ramps get the p of m. Near them, where p has learned something, it stays.
        rest = np.maximum(1.0 - p, np.minimum(high, 0.5))
        p = np.where(rest > 0.5, np.maximum(p, np.minimum(low, 0.5)), 1.0 - rest)
        rest = np.where(rest > 0.5, 1.0 - p, rest)
        t = np.maximum(m / p, m / rest - z)
        return _Slacks(p, rest, t, z + t).consistent(z)

    def _heights(self, scores: Array) -> Array:
        """z of each ramp and label."""
        return self._ramps.sign * scores[self._entries.place] - self._ramps.offset

    def _left(self, slacks: _Slacks) -> float:
        """The gap that the slacks leave where the slope of the objective is zero."""
        products = slacks.p * slacks.t + slacks.rest * slacks.xi
        return float(np.sum(self._weight * products)) / self.n

    def _step(self, fit: NewtonFit, slacks: _Slacks, inverses: Inverses) -> tuple[Point, _Slacks]:
        """One step of predictor and corrector."""
        p, rest, t, xi = slacks
        newton = _Newton(self, fit, slacks, inverses, self._weight, self._ramps.sign)
        _, ahead = newton.solve(-p * t, -rest * xi)
        left = self._left(slacks)
        # The less the predictor leaves, the nearer to zero the next m.
        share = min(self._left(slacks.moved(ahead, slacks.longest(ahead))) / left, 1.0) ** 3
        m = share * left / (2.0 * len(p) * self.n_tasks)
        direction, change = newton.solve(m - p * t - ahead.p * ahead.t, m - rest * xi - ahead.rest * ahead.xi)
        length = NEARLY * slacks.longest(change)
        point = Point(fit.point.G + length * direction.G, fit.point.b + length * direction.b)
        scores = self.labels.scores(self.Phi, fit.basis.unwhiten(point.G)) + self.labels.spread(point.b)
        return point, slacks.moved(change, length).consistent(self._heights(scores))


class _Newton:
    """Newton's equations at one point, for any aims of the products p t and (1 - p) xi.

    Their changes by ``first`` and ``second`` make p change by bend (dz + first / p - second / (1 - p)), with
    bend = 1 / (xi / (1 - p) + t / p): to first order the ramps are as curved as that.
    """

    def __init__(
        self, step: InteriorPointStep, fit: NewtonFit, slacks: _Slacks, inverses: Inverses, weight: Array, sign: Array
    ) -> None:
        self._step, self._fit, self._slacks, self._place = step, fit, slacks, inverses.entries.place
        with np.errstate(over="ignore"):
            # A ramp far from its corner is not curved.
            self._bend = 1.0 / (slacks.xi / slacks.rest + slacks.t / slacks.p)
        self._sign, self._weight = sign, weight
        h = np.zeros(step.labels.y.shape)
        h[self._place] = weight * self._bend.sum(axis=0)
        self._curvature = LabelCurvature(step.labels, step.Phi, h, intercept=step.intercept)
        self._inverse = inverses.make(self._curvature, h[self._place])

    def solve(self, first: Array, second: Array) -> tuple[Point, _Slacks]:
        """The change of the point and of the slacks."""
        step, basis, (p, rest, t, xi) = self._step, self._fit.basis, self._slacks
        ahead = first / p - second / rest
        u = self._fit.gradient.copy()
        u[self._place] += self._weight * np.sum(self._sign * self._bend * ahead, axis=0)
        slope = basis.whiten_gradient(step.labels.adjoint(step.Phi, self._curvature.without_intercepts(u)))
        residual = -(slope / step.n + 2.0 * step.alpha * self._fit.point.G)
        enough = FORCING * float(np.sum(residual**2))
        G = conjugate_gradients(
            self._apply,
            residual,
            self._inverse,
            lambda r, _: float(np.sum(r**2)) <= enough,
            max_steps=self._inverse.max_steps,
        )
        moved = step.labels.scores(step.Phi, basis.unwhiten(G))
        b = self._curvature.intercepts(u + self._curvature.times(moved))
        dz = self._sign * (moved + step.labels.spread(b))[self._place]
        dp = self._bend * (dz + ahead)
        return Point(G, b), _Slacks(dp, -dp, (first - t * dp) / p, (second + xi * dp) / rest)

    def _apply(self, V: Array) -> Array:
        """The Hessian in G times V."""
        basis, step = self._fit.basis, self._step
        return basis.whiten_gradient(self._curvature.normal(basis.unwhiten(V))) / step.n + 2.0 * step.alpha * V


def _rank(fit: NewtonFit) -> tuple[float, float]:
    """The lower the better: by the gap, and by the value where rounding has made the gap meaningless."""
    return (min(abs(fit.gap), 1.0), fit.value) if np.isfinite(fit.gap) else (np.inf, np.inf)
