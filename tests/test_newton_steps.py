"""Newton's method for curved losses by its own equations: directions, lengths of steps, and how many there may be."""

import numpy as np
import pytest
from test_missing_labels import LAYOUTS, N_ROWS, N_TASKS, make_structure, observe

from skmtl.losses import LOSSES
from skmtl.solvers import newton_cg
from skmtl.solvers.newton_cg import FEW_CG_STEPS, FEWEST_CG_STEPS, NewtonFit, NewtonStep, Point
from skmtl.solvers.whitening import Whitening
from skmtl.targets import TableLabels

ALPHA = 0.02
LOSS_NAMES = ["logistic", "softmax", "huber", "poisson", "square"]


def make_step(rng, name, *, intercept=True, layout="weights", alpha=ALPHA):
    labels, loss = LAYOUTS[layout](rng), LOSSES[name]()
    y = labels.y
    if name == "softmax":
        # One class for each row, and no gaps.
        chosen = np.argmax(y, axis=1)
        y, weight = np.where(np.arange(N_TASKS) == chosen[:, None], 1.0, -1.0), np.ones_like(y)
        labels = TableLabels(y, weight)
    elif loss.for_classification:
        labels = labels.with_labels(np.where(y > 0.0, 1.0, -1.0), labels.weight)
    elif loss.nonnegative_targets:
        labels = labels.with_labels(np.abs(y), labels.weight)
    rows, values, _ = observe(rng, labels, intercept=intercept)
    return NewtonStep(rows, values, labels, loss, alpha, intercept=intercept)


def slopes(step, point, basis):
    """Of the objective in G and in the constants, by its definition."""
    labels = step.labels
    scores = labels.scores(step.Phi, basis.unwhiten(point.G)) + labels.spread(point.b)
    u = step.loss.gradient(labels.y, scores, labels.weight)
    in_G = basis.whiten_gradient(labels.adjoint(step.Phi, u)) / step.n + 2.0 * step.alpha * point.G
    return in_G, labels.sums(u) / step.n


@pytest.mark.parametrize("road", ["conjugate gradients", "factor"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", LOSS_NAMES)
def test_along_the_direction_all_slopes_fall_alike(name, intercept, road, rng, monkeypatch):
    """A share of the way takes that share of each, to first order."""
    monkeypatch.setattr(newton_cg, "FORCING", 0.0)
    monkeypatch.setattr(newton_cg, "MAX_FACTOR", 0 if road == "conjugate gradients" else 10_000)
    monkeypatch.setattr(newton_cg, "FEW_CG_STEPS", 0)
    step, A = make_step(rng, name, intercept=intercept), make_structure(rng)
    basis = Whitening(A)
    point = Point(0.2 * rng.standard_normal(step._W.shape), intercept * 0.3 * rng.standard_normal(N_TASKS))
    fit = NewtonFit(step, point, basis)
    direction = step._direction(fit, 1e-16)
    share = 1e-5
    ahead = Point(point.G + share * direction.G, point.b + share * direction.b)
    before, after = slopes(step, point, basis), slopes(step, ahead, basis)
    for one, other, part in zip(before, after, direction, strict=True):
        if one is before[1] and not intercept:
            np.testing.assert_array_equal(part, 0.0)
            continue
        # Of softmax constants that are the same for all tasks are of no use, and of no harm.
        np.testing.assert_allclose((one - other) / share, one, atol=2e-3 * np.abs(one).max())


def test_steps_that_did_not_suffice_are_half_as_many_the_next_time(rng, monkeypatch):
    step, basis, allowed = make_step(rng, "logistic"), Whitening(make_structure(rng)), []
    direction = 0.1 * rng.standard_normal(step._W.shape)
    fit = NewtonFit(step, Point(0.2 * rng.standard_normal(step._W.shape), np.zeros(N_TASKS)), basis)
    suffices = iter([False] * 4 + [True, False, False])

    def solve(apply, residual, precondition, finished, *, max_steps):
        allowed.append(max_steps)
        return exact if next(suffices) else direction

    monkeypatch.setattr(newton_cg, "conjugate_gradients", lambda *given, **_: np.zeros_like(given[1]))
    exact = step._direction(fit, 1e-16).G
    step._cg_steps = FEW_CG_STEPS
    monkeypatch.setattr(newton_cg, "conjugate_gradients", solve)
    for _ in range(7):
        np.testing.assert_allclose(step._direction(fit, 1e-16).G, exact, rtol=1e-9)
    most = FEW_CG_STEPS
    assert allowed == [most, most // 2, most // 4, FEWEST_CG_STEPS, FEWEST_CG_STEPS, most, most // 2]
    # Another strength is another problem.
    assert step._cg_steps == most // 4
    assert step.with_alpha(2.0 * step.alpha)._cg_steps == most


@pytest.mark.parametrize("name", LOSS_NAMES)
def test_directions_are_as_exact_as_the_gap_asks_for(name, rng, monkeypatch):
    """What is left, squared, is at most 4 alpha of half of the gap; of a curved loss a share of what there was."""
    monkeypatch.setattr(newton_cg, "MAX_FACTOR", 0)
    step, A = make_step(rng, name), make_structure(rng)
    basis = Whitening(A)
    fit = NewtonFit(step, Point(0.2 * rng.standard_normal(step._W.shape), np.zeros(N_TASKS)), basis)
    asked = []
    solve = NewtonStep._solve
    monkeypatch.setattr(NewtonStep, "_solve", lambda *given: asked.append(given) or solve(*given))
    for tol in (1e-3, 1e-12):
        step._direction(fit, tol)
        _, _, _, residual, diagonal, enough = asked.pop()
        least = 2.0 * ALPHA * tol * abs(fit.value)
        assert enough == pytest.approx(
            least if step.loss.quadratic else max(least, 1e-4 * np.sum(residual**2)), abs=0.0
        )
        assert diagonal.min() >= 2.0 * ALPHA


def test_the_preconditioner_is_exact_for_complete_labels(rng):
    """Their Hessian is diagonal in the eigenbases of rows and structure."""
    y = rng.standard_normal((N_ROWS, N_TASKS))
    labels = TableLabels(y, np.full(y.shape, 0.7))
    rows, values, _ = observe(rng, labels, intercept=True)
    step, A = NewtonStep(rows, values, labels, LOSSES["square"](), ALPHA, intercept=True), make_structure(rng)
    basis, asked = Whitening(A), []
    step._solve = lambda *given: asked.append(given) or np.zeros_like(given[2])
    step._direction(NewtonFit(step, Point(np.zeros((len(values), N_TASKS)), np.zeros(N_TASKS)), basis), 1e-9)
    curvature, _, _, diagonal, _ = asked[0]
    D = rng.standard_normal(diagonal.shape)
    curved = basis.whiten_gradient(curvature.normal(basis.unwhiten(D))) / step.n + 2.0 * ALPHA * D
    np.testing.assert_allclose(diagonal * D, curved, atol=1e-9)


@pytest.mark.parametrize("first_good", [0, 1, 3])
def test_steps_are_halved_until_one_gains_enough(first_good, rng, monkeypatch):
    step, A = make_step(rng, "logistic"), make_structure(rng)
    basis = Whitening(A)
    fit = NewtonFit(step, Point(0.2 * rng.standard_normal(step._W.shape), rng.standard_normal(N_TASKS)), basis)
    newton = step._direction(fit, 1e-10)
    direction = Point(0.1 * newton.G, 0.1 * newton.b)
    long = Point(2.0**first_good * direction.G, 2.0**first_good * direction.b)
    tried, init = [], NewtonFit.__init__

    def refuse(self, problem, point, *rest):
        init(self, problem, point, *rest)
        tried.append(point)
        if len(tried) <= first_good:
            self.value = fit.value * 2.0

    monkeypatch.setattr(NewtonFit, "__init__", refuse)
    found = step._backtrack(fit, long)
    assert len(tried) == first_good + 1
    np.testing.assert_allclose(found.point.G, fit.point.G + direction.G)
    np.testing.assert_allclose(found.point.b, fit.point.b + direction.b)
    # Uphill there is no step.
    tried.clear()
    assert step._backtrack(fit, Point(-direction.G, -direction.b)) is None
    assert len(tried) == newton_cg.MAX_BACKTRACKS


def test_a_step_must_gain_a_share_of_what_its_slope_promises(rng, monkeypatch):
    step, A = make_step(rng, "logistic"), make_structure(rng)
    basis = Whitening(A)
    fit = NewtonFit(step, Point(0.2 * rng.standard_normal(step._W.shape), rng.standard_normal(N_TASKS)), basis)
    direction = step._direction(fit, 1e-10)
    in_G, in_b = slopes(step, fit.point, basis)
    slope = np.sum(in_G * direction.G) + in_b @ direction.b
    assert slope < 0.0
    tried, init = [], NewtonFit.__init__
    for share, enough in [(0.9, False), (1.1, True)]:
        tried.clear()

        def gain(self, problem, point, *rest, share=share):
            init(self, problem, point, *rest)
            length = 0.5 ** len(tried)
            tried.append(1)
            self.value = fit.value + share * newton_cg.ENOUGH_GAIN * length * slope

        monkeypatch.setattr(NewtonFit, "__init__", gain)
        assert (step._backtrack(fit, direction) is not None) == enough


def test_steps_that_did_not_suffice_are_fewer_the_next_time(rng, monkeypatch):
    """Half as many, down to a few; and as many as ever once they suffice."""
    monkeypatch.setattr(newton_cg, "MAX_NEWTON_STEPS", 8)
    monkeypatch.setattr(newton_cg, "FEWEST_NEWTON_STEPS", 3)
    step, A = make_step(rng, "logistic"), make_structure(rng)
    taken, direction = [], NewtonStep._direction
    monkeypatch.setattr(NewtonStep, "_direction", lambda self, fit, tol: taken.append(1) or direction(self, fit, tol))
    # Steps that hardly lead anywhere.
    backtrack = NewtonStep._backtrack
    monkeypatch.setattr(
        NewtonStep, "_backtrack", lambda self, fit, d: backtrack(self, fit, Point(1e-3 * d.G, 1e-3 * d.b))
    )
    for most in (8, 4, 3, 3):
        taken.clear()
        step.solve(A, tol=1e-6)
        assert len(taken) == most
    other = step.with_alpha(2.0 * ALPHA)
    taken.clear()
    other.solve(A, tol=1e-6)
    assert len(taken) == 8
    monkeypatch.setattr(NewtonStep, "_backtrack", backtrack)
    for _ in range(5):
        step.solve(A, tol=1e-6)
    assert step.solve(A, tol=1e-6).gap <= 1e-12
    monkeypatch.setattr(
        NewtonStep, "_backtrack", lambda self, fit, d: backtrack(self, fit, Point(1e-3 * d.G, 1e-3 * d.b))
    )
    taken.clear()
    step.solve(make_structure(rng), tol=1e-6)
    assert len(taken) == 8


@pytest.mark.parametrize("intercept", [True, False])
def test_entries_without_curvature_have_a_little(intercept, rng):
    """So that intercepts always have a direction, and no score moves farther than a limit."""
    step, A = make_step(rng, "squared_hinge", intercept=intercept), make_structure(rng)
    far = Point(np.zeros_like(step._W), np.full(N_TASKS, -50.0))
    fit = NewtonFit(step, far, Whitening(A))
    h, weight = step._least_curvature(fit), step.labels.weight
    curved = step.loss.curvature(step.labels.y, fit.scores, weight)
    flat = curved == 0.0
    assert flat[weight > 0.0].any()
    assert not flat[weight > 0.0].all()
    least = np.maximum(newton_cg.LEAST_CURVATURE * weight, np.abs(fit.gradient) / newton_cg.FARTHEST)
    np.testing.assert_allclose(h, np.maximum(curved, least))
