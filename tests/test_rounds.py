"""Rounds of two steps, by a script: how exact each is, when a proof is asked for, what is kept where rounds lose."""

import numpy as np
import pytest

from skmtl.objective import Proof
from skmtl.penalties.base import StructureStep
from skmtl.solvers import alternation
from skmtl.solvers.alternation import (
    CHECK_EVERY,
    FIRST_STEP_TOL,
    LARGE_LOSS,
    MOST_LOSSES,
    SQUARED_ERROR,
    _Anderson,
    _Prover,
    alternate,
)

TOL = 1e-6
FINEST = 0.1 * TOL


class Fit:
    def __init__(self, A, tol):
        self.A, self.tol = A, tol

    def energy(self, A):
        return 2.0 * A


class Script:
    """A problem whose structures are numbers, one more with every step, with a value and a bound for each."""

    n_tasks, eps = 1, 0.25

    def __init__(self, values, bounds=None, *, eliminable=False, sign=1.0, outside=()):
        self.values, self.bounds, self.outside = values, bounds or {}, outside
        self.supervised = self.penalty = self
        self.eliminable, self.sign = eliminable, sign
        self.fits, self.steps, self.proofs, self.tightened = [], [], [], []

    def fit(self, A, *, tol=0.0):
        self.fits.append((A[0, 0], tol))
        return Fit(A, tol)

    def minimize(self, S, *, start=None, tol=1e-9):
        if start is None:
            np.testing.assert_array_equal(S, np.eye(1))
            return StructureStep(np.zeros((1, 1)), 0.0)
        # W'W of the predictor, and eps.
        np.testing.assert_array_equal(S, 2.0 * start + 0.25)
        self.steps.append((start[0, 0], tol))
        return StructureStep(start + 1.0, 0.0)

    def objective(self, A, fit):
        assert fit.A is A
        return self.sign * self.values[int(A[0, 0])]

    def structure_cost(self, A):
        return np.inf if A[0, 0] in self.outside else 0.0

    def certify(self, A, fit):
        self.proofs.append((A[0, 0], fit.tol))
        value = self.objective(A, fit)
        return Proof(A, fit, value, value - self.bounds.get(int(A[0, 0]), 0.5) * abs(value))

    def tighten(self, proof):
        self.tightened.append(proof.structure[0, 0])
        return proof


def play(problem, *, max_iter, start=None, report=None, accelerate=False):
    proof, n_iter = alternate(
        problem, start=start, tol=TOL, max_iter=max_iter, accelerate=accelerate, report=report or (lambda proof: None)
    )
    return proof.structure[0, 0], n_iter


@pytest.mark.parametrize("eliminable", [True, False])
def test_steps_are_as_exact_as_the_last_gain_asks_for(eliminable):
    """A hundredth of it, never less exact than before, and no more exact than a tenth of the tolerance."""
    values = [10.0, 8.0, 4.0, 3.999, 2.0, 1.9999, 1.999899, 1.999898]
    problem = Script(values, eliminable=eliminable)
    assert play(problem, max_iter=6) == (7, 6)
    gains = 0.01 * -np.diff(values) / values[1:]
    expected = [FIRST_STEP_TOL]
    for gain in gains[:5]:
        expected.append(max(FINEST, min(expected[-1], gain)))
    # Some of each: as before, of the gain, and as exact as can be asked for.
    assert FIRST_STEP_TOL == expected[2] > expected[3] == expected[4] > expected[5] > FINEST
    assert [start for start, _ in problem.steps] == [0, 1, 2, 3, 4, 5, 6]
    # One step more at the end, as exact as the answer.
    np.testing.assert_allclose([tol for _, tol in problem.steps], [*expected, FINEST])
    # Values of smooth losses are wrong by the square of what dual coefficients are wrong by.
    fits = [SQUARED_ERROR * np.sqrt(tol) if eliminable else tol for tol in [expected[0], *expected]]
    np.testing.assert_allclose([tol for _, tol in problem.fits], [*fits, FINEST])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_given_start_is_the_first_structure(sign):
    problem = Script([9.0, 8.0, 7.0, 6.0, 5.0], sign=sign)
    play(problem, start=np.full((1, 1), 2.0), max_iter=1)
    assert problem.fits[0][0] == 2


def exact_after(*values):
    """Values of which the first gain is so small that all steps from the second on are exact."""
    return [values[0] * (1.0 + 1e-9), *values]


@pytest.mark.parametrize("loss", [2.0 * TOL, 0.9 * LARGE_LOSS])
def test_so_many_exact_rounds_may_lose_and_no_more(loss):
    values = exact_after(*(1.0 + loss) ** np.arange(12.0))
    problem = Script(values)
    structure, n_iter = play(problem, max_iter=11)
    # The round that was one too many is not kept, and the last step neither, where it loses.
    assert n_iter == 1 + MOST_LOSSES + 1
    assert structure == 1 + MOST_LOSSES


def test_a_round_that_gains_again_forgives_those_that_lost():
    loss = 1.0 + 2.0 * TOL
    down = [1.0, loss, loss**2, loss**3, 0.9, 0.9 * loss, 0.9 * loss**2, 0.9 * loss**3, 0.9 * loss**4, 0.9 * loss**5]
    assert play(Script(exact_after(*down)), max_iter=9) == (8, 9)


@pytest.mark.parametrize("value", [1.0 + 1.1 * LARGE_LOSS, np.nan, np.inf])
def test_an_exact_round_that_loses_much_is_the_last_and_not_kept(value):
    assert play(Script(exact_after(1.0, value, 0.5, 0.4)), max_iter=9) == (1, 2)


@pytest.mark.parametrize("value", [1.0 + 1.1 * LARGE_LOSS, 1.0 + 2.0 * TOL])
def test_rounds_that_are_not_exact_may_lose(value):
    """The next is then as exact as can be."""
    problem = Script([3.0, 2.0, value, 0.9, 0.8, 0.7])
    assert play(problem, max_iter=4) == (5, 4)
    problem = Script([3.0, 1.0, value, 0.9, 0.8, 0.7])
    assert play(problem, max_iter=4) == (5, 4)
    assert problem.steps[2][1] == FINEST


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_losses_within_the_tolerance_are_none(sign):
    """Of an objective of either sign: rounds that lose less go on for as long as they may."""
    values = [sign * (1.0 + 0.5 * TOL * k) for k in range(MOST_LOSSES + 6)]
    assert play(Script(values), max_iter=MOST_LOSSES + 4)[1] == MOST_LOSSES + 4


@pytest.mark.parametrize("loss", [0.5 * TOL, 2.0 * TOL])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_last_step_is_kept_unless_it_loses_more_than_the_tolerance(loss, sign):
    values = [3.0, 2.0, 1.0, 1.0 + loss] if sign > 0.0 else [1.0, 2.0, 3.0, 3.0 * (1.0 - loss)]
    problem = Script(values, sign=sign)
    assert play(problem, max_iter=2) == (3 if loss < TOL else 2, 2)


def test_rounds_end_with_the_first_proof_that_passes():
    """Asked for when a round gains next to nothing; then one more step, whose proof is the answer."""
    told = []
    values = [3.0, 2.0, 1.0, 1.0 - 1.9 * TOL, 1.0 - 2.0 * TOL, 0.8, 0.7]
    problem = Script(values, {3: 0.5 * TOL, 4: 0.7 * TOL})
    assert play(problem, max_iter=50, report=told.append) == (4, 4)
    assert [start for start, _ in problem.proofs] == [3, 4]
    # A bound holds whatever the structure: the best is kept.
    bound = values[3] * (1.0 - 0.5 * TOL)
    assert [proof.lower_bound for proof in told] == pytest.approx([bound, bound], rel=1e-12)
    assert [proof.objective for proof in told] == [values[3], values[4]]


def test_where_the_last_step_has_no_proof_rounds_go_on_from_it():
    """It may lose a little, and then be too far from the bound."""
    values = [3.0, 1.0, 1.0 - 1.5 * TOL, 1.0 - 0.6 * TOL, 0.7, 0.6, 0.5, 0.4, 0.3]
    problem = Script(values, {2: 0.5 * TOL})
    assert play(problem, max_iter=4) == (6, 4)
    assert [start for start, _ in problem.proofs] == [2, 3, 6]
    assert [start for start, _ in problem.steps] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("eliminable", [True, False])
def test_a_proof_feels_errors_that_values_do_not(eliminable):
    """Dual coefficients of square loss are made exact for it; other losses have theirs."""
    problem = Script([3.0, 2.0, 1.0, 1.0 - TOL, 0.9, 0.8], eliminable=eliminable)
    play(problem, max_iter=4)
    made = SQUARED_ERROR * np.sqrt(problem.steps[2][1]) if eliminable else problem.steps[2][1]
    assert problem.proofs[0] == (3, FINEST if eliminable else pytest.approx(made))


def test_a_proof_is_asked_for_every_so_many_rounds_whatever_they_gain():
    problem = Script(list(np.linspace(9.0, 5.0, 40)))
    play(problem, max_iter=2 * CHECK_EVERY + 5)
    assert [start for start, _ in problem.proofs] == [CHECK_EVERY - 1, 2 * CHECK_EVERY - 1, 2 * CHECK_EVERY + 6]


@pytest.mark.parametrize(
    ("gap", "share"), [(0.5 * TOL, 0.7), (2.0 * TOL, 0.5), (4.0 * TOL, 0.25), (100.0 * TOL, 0.2), (0.0, 0.7)]
)
def test_a_proof_that_failed_is_asked_for_again_when_rounds_are_flatter_by_as_much_as_it_was_too_wide(gap, share):
    """Within reason: not before they gain seven tenths, and in any case when they gain a fifth."""
    prove = _Prover(Script([1.0], {0: gap}), TOL, lambda proof: None)
    A = np.zeros((1, 1))
    gain = 1.5 * TOL
    assert not prove.may_pass(1, 2.1 * TOL, 1.0)
    assert not prove.may_pass(1, 4.1 * TOL, -2.0)
    assert prove.may_pass(1, 3.9 * TOL, -2.0)
    assert prove.may_pass(1, gain, 1.0)
    prove(A, Fit(A, 0.0))
    assert not prove.may_pass(1, 1.01 * share * gain, 1.0)
    assert prove.may_pass(1, 0.99 * share * gain, 1.0)
    # Not a round later than its turn.
    assert prove.may_pass(CHECK_EVERY, 1.0, 1.0)
    assert not prove.may_pass(CHECK_EVERY + 1, 1.0, 1.0)


@pytest.mark.parametrize(("gap", "searched"), [(0.5, False), (2.0, True), (0.9e4, True), (1.1e4, False)])
def test_a_scale_is_searched_for_where_it_may_close_the_gap(gap, searched):
    problem = Script([1.0], {0: gap * TOL})
    prove, A = _Prover(problem, TOL, lambda proof: None), np.zeros((1, 1))
    prove(A, Fit(A, 0.0))
    assert len(problem.tightened) == searched
    # Of what is returned, in any case.
    problem.tightened.clear()
    prove.last(A, Fit(A, 0.0))
    assert len(problem.tightened) == (gap > 1.0)


# Extrapolation --------------------------------------------------------------------------------------------------------


def test_a_structure_that_extrapolation_finds_is_taken_where_it_is_better(monkeypatch):
    """Else the plain step, which is never dropped."""
    for mixed, expected in [(5, 5), (9, 1)]:
        proposals = iter([[np.full((1, 1), float(mixed)), np.ones((1, 1))]])
        monkeypatch.setattr(alternation, "_Anderson", lambda proposals=proposals: lambda A, step: next(proposals))
        problem = Script([3.0, 2.5, 2.0, 9.0, 9.0, 1.0, 0.9, 9.0, 9.0, 8.0])
        structure, _ = play(problem, max_iter=1, accelerate=True)
        assert structure == expected + 1


def test_a_mixture_that_is_no_structure_of_the_penalty_is_not_fitted(monkeypatch):
    """Its cost is infinite whatever the fit. The plain step always is one."""
    monkeypatch.setattr(alternation, "_Anderson", lambda: lambda A, step: [np.full((1, 1), 5.0), step])
    problem = Script([3.0, 2.5, 2.0, 9.0, 9.0, 1.0], outside=(1, 2, 5))
    play(problem, max_iter=1, accelerate=True)
    assert [structure for structure, _ in problem.fits] == [0, 1, 2]


def test_a_linear_map_is_solved_by_as_many_steps_as_it_has_directions(rng):
    """Its fixed point is where the extrapolated steps would stand still."""
    U = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    fixed = (U * [2.0, 3.0]) @ U.T

    def step(A):
        # Every entry of the distance shrinks at its own pace, alike on both sides of the diagonal.
        return fixed + np.array([[0.9, -0.5], [-0.5, 0.3]]) * (A - fixed)

    propose, A = _Anderson(), 4.0 * np.eye(2)
    for _ in range(4):
        proposals = propose(A, step(A))
        assert np.array_equal(proposals[-1], step(A))
        A = proposals[0]
    np.testing.assert_allclose(A, fixed, atol=1e-9)
    np.testing.assert_array_equal(A, A.T)


def test_a_structure_outside_of_the_cone_is_not_proposed():
    """The line through two steps of one half leads to minus one."""
    propose = _Anderson()
    assert len(propose(3.0 * np.eye(1), 1.0 * np.eye(1))) == 1
    (only,) = propose(1.0 * np.eye(1), 0.0 * np.eye(1) + 0.01)
    assert only[0, 0] == 0.01
