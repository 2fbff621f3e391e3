"""The joint Newton, by a script: where it starts, how exact its values are, when it is proved, and when it gives up."""

from types import SimpleNamespace

import numpy as np
import pytest

from skmtl.objective import Proof
from skmtl.penalties._newton import GENTLE_RIDGE, STAGE_TOL
from skmtl.penalties.base import ASK_EARLY, StructureStep
from skmtl.solvers import joint
from skmtl.solvers.joint import (
    CERTIFY_TOL,
    DIAGONAL_ROUNDS,
    DIRECT_RIDGE,
    ENOUGH,
    FEW_ITERATIONS,
    FIRST_ERROR,
    GAIN_ERROR,
    LOOSE_STAGE_TOL,
    NEAR_ERROR,
    ROUGH_TOL,
    START_TOL,
    SURROGATE_ROUNDS,
    WARM_ITERATIONS,
    estimate_jointly,
    solve_jointly,
)
from skmtl.solvers.training import Training

TOL, EPS = 1e-6, 0.25


class Fit:
    """Of a structure a I: the value is 4 / a, and Q = I."""

    stiffness = 0.5

    def __init__(self, A, tol, surrogate=None):
        self.A, self.tol, self._surrogate = A, tol, surrogate
        self.value, self.Q = 4.0 / A[0, 0], np.eye(len(A))

    def surrogate(self):
        return self._surrogate

    def energy(self, A):
        return 3.0 * A


class Script:
    """A problem that is its own supervised step and penalty, and writes down what it is asked."""

    alpha, eps, n_tasks, exact_curvature = 2.0, EPS, 2, True

    def __init__(self, gaps=(), *, quick=True, path=(), surrogates=()):
        self.quick, self.path = quick, path
        self.gaps, self.surrogates = iter(gaps), iter(surrogates)
        self.supervised = self.penalty = self
        self.fits, self.newtons, self.steps, self.energies = [], [], [], []
        self.tightened = 0

    def fit(self, A, *, tol=0.0):
        self.fits.append(tol)
        return Fit(A, tol, next(self.surrogates, None))

    def certify(self, A, fit):
        return Proof(A, fit, 1.0, 1.0 - next(self.gaps))

    def tighten(self, proof):
        self.tightened += 1
        return Proof(proof.structure, proof.fit, 1.0, 1.0 - 0.5 * proof.gap)

    def unproved(self, A, fit):
        return Proof(A, fit, 1.0, -np.inf)

    def minimize(self, S, *, start=None, tol=1e-9):
        self.steps.append((S[0, 0], tol))
        return StructureStep(S.copy(), 0.0)

    def minimize_with(self, smooth, A, *, certify, tol, max_iter):
        """Visits the structures of the path, and asks for a certificate at the end."""
        self.newtons.append({"start": A[0, 0], "tol": tol, "max_iter": max_iter, "eps": None})
        point = smooth(A)
        for a in self.path:
            point = smooth(a * np.eye(2))
        self.newtons[-1]["eps"] = point._eps
        return A, certify(A, point, 1.0), 3

    def surrogate(self):
        return None

    def diagonal_energy(self, a):
        self.energies.append(a.copy())
        return 16.0 * np.ones(2)


def told():
    proofs = []
    return proofs, proofs.append


def test_a_start_that_is_near_is_tried_first():
    problem, (proofs, report) = Script([0.5 * ENOUGH * TOL]), told()
    proof, n_iter = solve_jointly(problem, start=9.0 * np.eye(2), tol=TOL, max_iter=100, report=report)
    assert problem.newtons == [{"start": 9.0, "tol": TOL, "max_iter": WARM_ITERATIONS, "eps": EPS}]
    assert n_iter == 3
    assert proofs == [proof]
    # Its first value is nearly exact.
    assert problem.fits == [pytest.approx(np.sqrt(NEAR_ERROR))]
    assert problem.tightened == 0


@pytest.mark.parametrize(("persist", "most"), [(True, WARM_ITERATIONS), (False, FEW_ITERATIONS)])
def test_iterations_from_a_start_are_limited(persist, most):
    for max_iter in (2, 100):
        problem, (_, report) = Script([100 * TOL] * 9), told()
        _, n_iter = solve_jointly(
            problem, start=9.0 * np.eye(2), tol=TOL, max_iter=max_iter, report=report, persist=persist
        )
        assert problem.newtons[0]["max_iter"] == min(most, max_iter)
        # Who does not persist ends here, proved or not; else all stages follow, with all iterations.
        assert (len(problem.newtons) == 1) == (not persist)
        assert n_iter == 3 * len(problem.newtons)
        assert all(one["max_iter"] == max_iter for one in problem.newtons[1:])


@pytest.mark.parametrize("quick", [True, False])
def test_stages_fall_to_the_ridge_that_was_asked_for(quick):
    """From a diagonal structure; where evaluations are dear, from one structure step further, and less exactly."""
    problem, (proofs, report) = Script([100 * TOL, 100 * TOL], quick=quick), told()
    problem.eps = 1e-4
    proof, n_iter = solve_jointly(problem, start=None, tol=TOL, max_iter=100, report=report)
    diagonal = np.sqrt(16.0 + 1e-4)
    gentle = GENTLE_RIDGE * 16.0
    assert problem.newtons[0]["start"] == pytest.approx(diagonal if quick else 3.0 * diagonal + gentle)
    ridges = [one["eps"] for one in problem.newtons]
    assert ridges[0] == pytest.approx(gentle)
    assert ridges[-1] == 1e-4
    assert len(ridges) > 4
    assert np.all(np.diff(ridges) < 0.0)
    rough = STAGE_TOL if quick else LOOSE_STAGE_TOL
    assert [one["tol"] for one in problem.newtons] == [rough] * (len(ridges) - 1) + [TOL]
    assert n_iter == 3 * len(ridges)
    # Only the last is proved; and where that fails, with the best scale.
    assert problem.tightened == 1
    assert [one.gap for one in proofs] == pytest.approx([100 * TOL, 50 * TOL])
    assert proof is proofs[-1]
    if not quick:
        assert problem.steps == [(pytest.approx(3.0 * diagonal + gentle), START_TOL)]


@pytest.mark.parametrize(
    ("gap", "again"), [(0.9 * ENOUGH, False), (1.1 * ENOUGH, True), (0.9 * ASK_EARLY, True), (1.1 * ASK_EARLY, False)]
)
def test_near_the_end_dual_coefficients_are_made_exact_for_the_proof(gap, again):
    problem, (proofs, report) = Script([gap * TOL, 0.2 * ENOUGH * TOL]), told()
    solve_jointly(problem, start=np.eye(2), tol=TOL, max_iter=9, report=report, persist=False)
    assert problem.fits[1:] == ([pytest.approx(CERTIFY_TOL * TOL)] if again else [])
    assert [one.gap for one in proofs] == [pytest.approx(0.2 * ENOUGH * TOL if again else gap * TOL)]


def test_values_are_as_exact_as_the_last_step_gained():
    """Relative to the part that the structure is learned from, never less exact than before, and within limits."""
    path = [4.0, 4.5, 4.6, 4.6 + 1e-12, 9.0]
    problem, (_, report) = Script([0.01 * TOL], path=path), told()
    solve_jointly(problem, start=2.0 * np.eye(2), tol=TOL, max_iter=9, report=report)
    # The value is 4 / a over alpha, and eps tr(A^-1); <A, Q> = 2 a.
    values = [4.0 / a / 2.0 + 2.0 * EPS / a for a in (2.0, *path)]
    errors = [NEAR_ERROR, NEAR_ERROR]
    for k, a in enumerate(path[:-1]):
        gain = abs(values[k + 1] - values[k]) / (2.0 * a)
        errors.append(max((CERTIFY_TOL * TOL) ** 2, min(errors[-1], GAIN_ERROR * gain)))
    assert errors[-1] == (CERTIFY_TOL * TOL) ** 2 < errors[-3] < NEAR_ERROR
    np.testing.assert_allclose(problem.fits, np.sqrt(errors), rtol=1e-6)


def test_a_structure_outside_of_the_cone_has_no_value():
    problem = Script([0.01 * TOL])
    seen = []
    problem.minimize_with = lambda smooth, A, **_: seen.append(smooth(-np.eye(2))) or smooth(A)
    joint._newton(problem, np.eye(2), EPS, lambda *_: 0.0, TOL, 5)
    assert seen == [None]
    assert problem.fits == [pytest.approx(np.sqrt(FIRST_ERROR))]


def test_what_newton_sees_of_the_whole_problem(rng):
    """The value over alpha with its ridge, the gradient, and a stiffness between the two parts."""
    problem, A = Script(quick=False), np.diag([2.0, 4.0])
    P = np.linalg.inv(A)
    point = joint._Eliminated(problem, A, P, EPS, 0.1)
    assert point.value == pytest.approx(4.0 / 2.0 / 2.0 + EPS * (0.5 + 0.25))
    np.testing.assert_allclose(point.gradient, -np.eye(2) - EPS * P @ P)
    np.testing.assert_allclose(point.Q, 0.5 * np.eye(2) + EPS * P @ P)
    assert point.dear
    assert not joint._Eliminated(Script(quick=True), A, P, EPS, 0.1).dear
    D = rng.standard_normal((2, 2))
    D = D + D.T
    point.fit.hessian = lambda D: 7.0 * D
    expected = 7.0 * D + EPS * (P @ D @ P @ P + P @ P @ D @ P)
    np.testing.assert_allclose(point.hessian(D), expected)


# Where nothing is proved, and starts that are near --------------------------------------------------------------------


def test_an_estimate_asks_for_what_a_proof_would_and_proves_nothing():
    problem, (proofs, report) = Script(), told()
    estimate, n_iter = estimate_jointly(problem, start=5.0 * np.eye(2), tol=TOL, max_iter=7, report=report)
    assert problem.newtons == [{"start": 5.0, "tol": TOL / ASK_EARLY, "max_iter": 7, "eps": EPS}]
    assert problem.fits == [pytest.approx(np.sqrt(FIRST_ERROR))]
    assert (estimate.lower_bound, n_iter, proofs) == (-np.inf, 3, [])
    for quick in (True, False):
        problem = Script(quick=quick)
        estimate_jointly(problem, start=None, tol=TOL, max_iter=7, report=report)
        diagonal = np.sqrt(16.0 + EPS)
        assert problem.newtons[0]["start"] == pytest.approx(diagonal if quick else 3.0 * diagonal + EPS)


@pytest.mark.parametrize("quick", [True, False])
def test_diagonal_structures_lead_to_where_sizes_stand_still(quick):
    problem = Script(quick=quick)
    A, size = joint._diagonal_start(problem)
    np.testing.assert_allclose(A, np.sqrt(16.0 + EPS) * np.eye(2))
    assert size == 16.0
    # From ones; where steps are dear no longer than they change.
    np.testing.assert_array_equal(problem.energies[0], 1.0)
    assert len(problem.energies) == (DIAGONAL_ROUNDS if quick else 2)
    falling = iter(np.linspace(40.0, 1.0, DIAGONAL_ROUNDS))
    problem.diagonal_energy = lambda a: np.full(2, next(falling))
    assert joint._diagonal_start(problem)[1] == 40.0


@pytest.mark.parametrize(("share", "near"), [(1.1, True), (0.9, False)])
def test_a_ridge_that_is_nothing_beside_the_predictors_is_reached_in_stages(share, near):
    problem = Script(quick=False)
    problem.eps = share * DIRECT_RIDGE * 16.0
    A = joint._near_start(problem)
    assert (A is not None) == near
    if near:
        np.testing.assert_allclose(np.diag(A), 3.0 * np.sqrt(16.0 + problem.eps) + problem.eps)
        assert problem.steps[0][1] == START_TOL
        # A fit that has no surrogate is the end.
        assert problem.fits == [START_TOL, ROUGH_TOL]


def test_a_start_at_the_border_of_the_cone_is_none(monkeypatch):
    monkeypatch.setattr(joint, "_nearby", lambda problem: np.ones((2, 2)))
    assert joint._near_start(Script()) is None


def test_surrogates_are_followed_until_they_stand_still(monkeypatch):
    """Structures whose ratio is within a tenth in all directions, or a few rounds."""
    problem, sizes = Script(surrogates=["quick"] * 9), iter([1.0, 3.0, 3.2, 5.0])
    asked = []

    def solve_nearby(problem, surrogate, start):
        asked.append((surrogate, start[0, 0]))
        # Along another direction it stands still from the first.
        return np.diag([next(sizes), 1.0])

    monkeypatch.setattr(joint, "_solve_nearby", solve_nearby)
    A = joint._follow_surrogates(problem, np.diag([8.0, 1.0]))
    assert [start for _, start in asked] == [8.0, 1.0, 3.0]
    assert A[0, 0] == 3.2
    assert problem.fits == [ROUGH_TOL, START_TOL, START_TOL]
    sizes = iter(2.0 ** np.arange(1, 20))
    asked.clear()
    joint._follow_surrogates(Script(surrogates=["quick"] * 99), np.eye(2))
    assert len(asked) == SURROGATE_ROUNDS


def test_solutions_along_a_path_start_from_the_one_before(monkeypatch):
    begun = []

    def solve(self, settings, effort, *, start=None):
        begun.append((settings, effort, start))
        return SimpleNamespace(structure=f"structure {settings}")

    monkeypatch.setattr(Training, "solve", solve)
    found = Training.follow(Training.__new__(Training), [1, 2, 3], "effort", "first")
    assert begun == [(1, "effort", "first"), (2, "effort", "structure 1"), (3, "effort", "structure 2")]
    assert [one.structure for one in found] == ["structure 1", "structure 2", "structure 3"]
