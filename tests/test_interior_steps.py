"""Steps of the interior point method by their own equations: slacks, where they begin, and what Newton changes."""

import numpy as np
import pytest
from test_interior_point import ALPHA, CORNERS, make_step
from test_missing_labels import make_structure

from skmtl.losses.corners import shares
from skmtl.solvers import curvature_inverse
from skmtl.solvers.curvature_inverse import Inverses
from skmtl.solvers.interior_point import EXACT, NEARLY, InteriorPointStep, _Newton, _rank, _Slacks
from skmtl.solvers.newton_cg import Point
from skmtl.solvers.whitening import Whitening


def random_slacks(rng, shape=(2, 5)):
    p = rng.uniform(0.1, 0.9, shape)
    return _Slacks(p, 1.0 - p, *rng.uniform(0.1, 2.0, (2, *shape)))


def test_the_longest_step_ends_where_the_first_slack_is_zero(rng):
    for part in range(4):
        slacks = random_slacks(rng)
        change = _Slacks(*(0.01 * rng.standard_normal((4, 2, 5))))
        change[part][1, 2] = -3.0 * slacks[part][1, 2]
        assert slacks.longest(change) == pytest.approx(1.0 / 3.0)
        moved = slacks.moved(change, 1.0 / 3.0)
        assert moved[part][1, 2] == pytest.approx(0.0, abs=1e-12)
        assert sum(np.count_nonzero(x < 1e-9) for x in moved) == 1
    # A whole step, and not a longer one, where all stay positive.
    assert NEARLY * slacks.longest(_Slacks(*np.zeros((4, 2, 5)))) == pytest.approx(1.0)
    assert NEARLY * slacks.longest(_Slacks(*np.full((4, 2, 5), -0.01))) == pytest.approx(1.0)


def test_slacks_belong_to_heights_and_the_smaller_one_keeps_its_digits(rng):
    slacks, z = random_slacks(rng), 10.0 * rng.standard_normal((2, 5))
    z[0, 0] = 0.0
    t, xi = slacks.consistent(z)[2:]
    np.testing.assert_allclose(xi - t, z)
    np.testing.assert_array_equal(np.where(z > 0.0, t, xi), np.where(z > 0.0, slacks.t, slacks.xi))


@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("few", [0.0, np.inf], ids=["features", "labels"])
def test_newton_solves_its_equations(name, intercept, few, rng, monkeypatch):
    """To first order products change as asked, slacks belong to the heights, and the slope of the objective is zero."""
    monkeypatch.setattr(curvature_inverse, "FEW", few)
    step, A = make_step(rng, name, "weights", intercept=intercept), make_structure(rng)
    basis, entries, labels = Whitening(A), step._entries, step.labels
    inverses = Inverses(entries, basis, step.n, ALPHA)
    point = Point(inverses.felt(0.3 * rng.standard_normal(step._W.shape)), intercept * rng.standard_normal(len(A)))
    p = rng.uniform(0.1, 0.9, step._p.shape)
    fit = step._fit(point, p, basis)
    slacks = step._begin(fit, p)
    newton = _Newton(step, fit, slacks, inverses, step._weight, step._ramps.sign)
    first, second = 0.1 * rng.standard_normal((2, *p.shape))
    change, (dp, drest, dt, dxi) = newton.solve(first, second)
    np.testing.assert_allclose(slacks.p * dt + slacks.t * dp, first, atol=1e-9)
    np.testing.assert_allclose(slacks.rest * dxi + slacks.xi * drest, second, atol=1e-9)
    np.testing.assert_array_equal(drest, -dp)
    scores = labels.scores(step.Phi, basis.unwhiten(change.G)) + labels.spread(change.b)
    np.testing.assert_allclose(dxi - dt, step._ramps.sign * scores[entries.place], atol=1e-8 * np.abs(scores).max())
    # The slope in G and in the constants, with p where it will be.
    u = step._spread(step._slope(p + dp))
    slope = basis.whiten_gradient(labels.adjoint(step.Phi, u)) / step.n + 2.0 * ALPHA * (point.G + change.G)
    np.testing.assert_allclose(slope, 0.0, atol=1e-7)
    sums = labels.sums(u)
    np.testing.assert_allclose(sums if intercept else change.b, 0.0, atol=1e-8 * np.abs(u).sum())


@pytest.mark.parametrize("name", CORNERS)
def test_slacks_begin_inside_as_large_as_the_gap_says(name, rng):
    step, A = make_step(rng, name, "weights"), make_structure(rng)
    for size in (1e-3, 1.0, 1e3):
        point = Point(size * rng.standard_normal(step._W.shape), size * rng.standard_normal(len(A)))
        p = rng.uniform(0.0, 1.0, step._p.shape)
        p[0, :3] = 0.0, 1.0, 0.5
        fit = step._fit(point, p, Whitening(A))
        slacks, z = step._begin(fit, p), step._heights(fit.scores)
        assert all(np.all(x > 0.0) for x in slacks)
        np.testing.assert_allclose(slacks.p + slacks.rest, 1.0)
        np.testing.assert_allclose(slacks.xi - slacks.t, z, atol=1e-12 * np.abs(z).max())
        m = min(fit.gap, 1.0) * fit.value / step.n_tasks
        assert m > 1e-12 * np.abs(z).max()
        # Neither product is below m, and one of them is m: nothing is farther inside than that.
        low, high = slacks.p * slacks.t, slacks.rest * slacks.xi
        np.testing.assert_allclose(np.minimum(low, high), m, rtol=1e-6)
        # Where p has learned nothing it is that of m; far from the corners, too.
        bound = np.minimum(np.stack(shares(z, m)), 0.5)
        assert np.all(slacks.p >= np.minimum(bound[0], slacks.p.max()) * (1 - 1e-12))
        assert np.all(slacks.rest >= bound[1] * (1 - 1e-12))


@pytest.mark.parametrize("name", CORNERS)
def test_steps_stay_inside_and_leave_less_and_less(name, rng):
    """What slacks leave is the weighted sum of all products over n; the last steps divide it by more than ten."""
    step, A = make_step(rng, name, "weights"), make_structure(rng)
    basis, p = Whitening(A), step._p
    fit = step._fit(Point(np.zeros_like(step._W), np.zeros(len(A))), p, basis)
    slacks, left, inverses = step._begin(fit, p), [], Inverses(step._entries, basis, step.n, ALPHA)
    for _ in range(9):
        point, slacks = step._step(fit, slacks, inverses)
        fit = step._fit(point, slacks.p, basis)
        products = slacks.p * slacks.t + slacks.rest * slacks.xi
        left.append(np.sum(step._weight * products) / step.n)
        assert step._left(slacks) == pytest.approx(left[-1])
        assert all(np.all(x > 0.0) for x in slacks)
        np.testing.assert_allclose(slacks.p + slacks.rest, 1.0)
        z = step._heights(fit.scores)
        np.testing.assert_allclose(slacks.xi - slacks.t, z, atol=1e-12 * np.abs(z).max())
    assert np.all(np.diff(left) < 0.0)
    assert left[-1] < 1e-3 * left[-4] < 1e-6 * left[0]


def test_fits_are_ranked_by_gap_and_where_it_is_meaningless_by_value():
    class Fit:
        def __init__(self, gap, value):
            self.gap, self.value = gap, value

    order = [Fit(1e-9, 5.0), Fit(-1e-8, 1.0), Fit(0.5, 9.0), Fit(3.0, 1.0), Fit(-7.0, 2.0), Fit(np.nan, 0.0)]
    assert sorted([order[k] for k in (4, 2, 5, 0, 3, 1)], key=_rank) == order
    assert _rank(Fit(np.inf, 1.0)) == (np.inf, np.inf)


@pytest.mark.parametrize("name", CORNERS)
def test_a_solution_is_a_little_more_exact_than_was_asked_for(name, rng, monkeypatch):
    """And a start from the middle is tried only where the first one failed."""
    asked, follow = [], InteriorPointStep._follow
    monkeypatch.setattr(InteriorPointStep, "_follow", lambda *given: asked.append(given[-1]) or follow(*given))
    step, A = make_step(rng, name), make_structure(rng)
    for _ in range(2):
        assert step.solve(A, tol=1e-5).gap <= 1e-5
    assert asked == [EXACT * 1e-5] * 2
    # Energies have the error of predictors, the root of that of values.
    asked.clear()
    step.diagonal_energy(np.ones(len(A)), tol=1e-3)
    assert asked[0] == pytest.approx(EXACT * 1e-6)


def test_the_start_that_led_farther_to_where_rounding_ends_comes_first(rng, monkeypatch):
    """And the other one only where a gap is several times wider; another strength begins anew."""
    gaps, asked, follow = [], [], InteriorPointStep._follow

    def end_at_a_gap(step, start, *given):
        fit, p = follow(step, start, *given)
        vars(fit)["gap"] = gaps.pop(0)
        asked.append("near" if np.any(start.point.G) else "middle")
        return fit, p

    step, A = make_step(rng, CORNERS[0]), make_structure(rng)
    step.solve(A, tol=1e-6)
    monkeypatch.setattr(InteriorPointStep, "_noise", lambda *_: 0.0)
    monkeypatch.setattr(InteriorPointStep, "_follow", end_at_a_gap)

    def starts(step, *found):
        asked.clear()
        gaps[:] = found
        step.solve(A, tol=1e-6)
        assert not gaps
        return asked

    assert starts(step, 1e-4, 2e-5) == ["near", "middle"]
    assert starts(step, 0.99e-4) == ["middle"]
    assert starts(step.with_alpha(2.0 * step.alpha), 0.9e-9) == ["near"]
    assert starts(step, 1.01e-4, 0.9e-9) == ["middle", "near"]
    # One of them led as far as was asked for, or the near one farther: the shorter way is first again.
    assert starts(step, 2e-5, 1e-4) == ["near", "middle"]
    assert starts(step, 0.99e-4) == ["near"]
    assert starts(step, 1.01e-4, 0.9e-9) == ["near", "middle"]
    assert starts(step, 1.1e-9, 3e-9) == ["near", "middle"]
    assert starts(step.with_alpha(2.0 * step.alpha), 1.1e-9, 3e-9) == ["near", "middle"]
    assert starts(step.with_alpha(2.0 * step.alpha), 0.9e-9) == ["near"]


@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.parametrize("alpha", [1e-4, 1e-6, 1e-8])
def test_structures_that_change_lead_as_far_as_the_first(name, alpha, rng):
    """Slacks of labels that are met vanish before the slopes, and what is proved has the root of the error."""
    step, A = make_step(rng, name, "long", alpha=alpha), make_structure(rng)
    for k in range(8):
        fit = step.solve(A + 0.1 * 0.3**k * np.diag(np.diag(A)), tol=1e-7)
        assert fit.gap <= max(EXACT * 1e-7, 5.0 * step._noise(fit))


@pytest.mark.parametrize("name", CORNERS)
def test_dual_coefficients_that_prove_less_than_none_are_scaled_down(name, rng):
    """To the scale that proves most; those that prove something stay."""
    step, A = make_step(rng, name), make_structure(rng)
    basis, point = Whitening(A), Point(1e3 * rng.standard_normal(step._W.shape), np.zeros(len(A)))
    fit = step._fit(point, rng.uniform(0.1, 0.9, step._p.shape), basis)
    step.alpha = 1e-9
    proved, norm = fit.dual(1.0), step.alpha * np.sum(A * fit.Q)
    assert fit.gap > 1.0
    scaled = step._with_dual_point_that_proves(fit)
    best = max(0.0, 0.25 * proved**2 / norm) if proved > 0.0 else 0.0
    assert scaled.dual(1.0) - step.alpha * np.sum(A * scaled.Q) == pytest.approx(best)
    assert scaled.gap <= 1.0
    assert scaled.point is point
    step.alpha = ALPHA
    good = step.solve(A, tol=1e-6)
    assert step._with_dual_point_that_proves(good) is good
