"""Newton among structures, by a script: how exact its directions are, which steps it takes, and when it ends."""

import numpy as np
import pytest
from problems import random_psd

from skmtl.penalties import _newton
from skmtl.penalties._newton import ENOUGH_GAIN, MAX_BACKTRACKS, NOTHING_LEFT, active_newton
from skmtl.penalties.base import ASK_EARLY
from skmtl.penalties.sparse import EntryNorm

TOL = 1e-6


class Point:
    """What a smooth function says at a structure."""

    def __init__(self, value, *, dear=False):
        self.value, self.dear, self.gradient = value, dear, np.zeros((1, 1))


class NoNorm:
    """Nothing is off the diagonal."""

    def value(self, A):
        return 0.0

    def piece(self, A, gradient):
        return None


def play(steps, gaps, monkeypatch, *, max_iter=50, start=10.0):
    """Iterations with given values and promises; None is a step that no length of it gains.

    Gives the structure, its gap and the iterations, how exact directions were, and after which iterations a certificate
    was asked for.
    """
    script, gaps, forcings, asked = iter(steps), iter(gaps), [], []
    made = []

    def direction(point, piece, forcing, **_):
        forcings.append(forcing)
        made.append(next(script))
        return np.zeros((1, 1)), (made[-1] or (0.0, 1.0))[1]

    def accept(smooth, objective, A, value, *rest):
        if made[-1] is None:
            return None
        # The trace of A is a part of the value.
        A = A + 1.0
        return A, Point(made[-1][0] - A[0, 0]), made[-1][0]

    def certify(A, point, value):
        asked.append(len(made))
        return next(gaps)

    monkeypatch.setattr(_newton, "_newton_direction", direction)
    monkeypatch.setattr(_newton, "_stay_on_piece", accept)
    A, gap, n_iter = active_newton(
        lambda A: Point(start - A[0, 0]), np.zeros((1, 1)), NoNorm(), certify=certify, tol=TOL, max_iter=max_iter
    )
    return A[0, 0], gap, n_iter, forcings, asked


def test_directions_are_as_exact_as_the_last_promise_asks_for(monkeypatch):
    """The root of it, relative to the value: from a tenth, never less exact than before, down to a thousandth."""
    promises = [8.0, 4e-2, 1.0, 3e-5, 1e-9, 1.0]
    steps = [(9.0 - k, 4.0 * promise) for k, promise in enumerate(promises)]
    *_, forcings, _ = play([*steps, None], [0.5] * 9, monkeypatch)
    expected = [0.1]
    for value, promise in steps:
        expected.append(min(expected[-1], max(1e-3, np.sqrt(promise / value))))
    np.testing.assert_allclose(forcings, expected)
    assert expected[1] == 0.1 > expected[4] > expected[5] == 1e-3


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_proof_is_asked_for_when_little_is_left(sign, monkeypatch):
    """No more than was promised, nor than four times what the promise of half of it was wrong by."""
    little = ASK_EARLY * TOL
    value = 3.0 if sign > 0.0 else -3.0
    for promise, gained, asked in [
        (0.9 * little * 3.0, 0.0, True),
        (1.1 * little * 3.0, 0.0, False),
        # What was promised, nearly.
        (1.0, 0.5 + 0.24 * little * 3.0, True),
        (1.0, 0.5 - 0.24 * little * 3.0, True),
        (1.0, 0.5 + 0.27 * little * 3.0, False),
        (1.0, 0.5 - 0.27 * little * 3.0, False),
    ]:
        result = play([(value, promise), None], [0.5, 0.5], monkeypatch, start=value + gained)
        # And of the last structure in any case.
        assert result[-1] == ([1, 2] if asked else [2])


def test_newton_ends_with_the_first_proof_that_passes(monkeypatch):
    steps = [(9.0, 1.0), (8.0, 1e-8), (7.0, 1e-8), (6.0, 1e-8)]
    assert play(steps, [5.0 * TOL, 0.9 * TOL], monkeypatch)[:3] == (3.0, 0.9 * TOL, 3)


def test_newton_ends_where_nothing_is_left_to_gain(monkeypatch):
    """Whatever the proof says: no more than next to nothing is promised, or the value stands still and the gap too."""
    little = NOTHING_LEFT * TOL
    assert play([(9.0, 8.0 * little), (8.0, 1.0)], [0.5], monkeypatch)[:3] == (1.0, 0.5, 1)
    assert play([(9.0, 10.0 * little), (9.0, 1e-8), (9.0, 1e-8)], [0.5, 0.4, 0.4], monkeypatch)[:3] == (3.0, 0.4, 3)
    # A gap that closes, and a value that falls, go on.
    assert play([(9.0, 1e-8), (9.0, 1e-8), None], [0.5, 0.4, 0.3], monkeypatch)[:3] == (2.0, 0.3, 3)
    assert play([(9.0, 1e-8), (8.0, 1e-8), None], [0.5, 0.5, 0.3], monkeypatch)[:3] == (2.0, 0.3, 3)


def test_iterations_are_limited_and_the_last_structure_is_proved(monkeypatch):
    steps = [(9.0 - k, 1.0) for k in range(9)]
    assert play(steps, [0.7], monkeypatch, max_iter=4)[:3] == (4.0, 0.7, 4)
    assert play(steps, [0.7], monkeypatch, max_iter=0)[:3] == (0.0, 0.7, 0)
    # A step that cannot be taken is the last.
    assert play([(9.0, 1.0), None], [0.7], monkeypatch)[:3] == (1.0, 0.7, 2)


# Steps ----------------------------------------------------------------------------------------------------------------


class Piece:
    """Where only the diagonal is free; structures land on it."""

    def __init__(self, residual):
        self.residual = residual

    def land(self, trial):
        return np.diag(np.diag(trial))


@pytest.mark.parametrize("road", ["piece", "line"])
@pytest.mark.parametrize("halvings", [0, 2, 5])
def test_steps_are_halved_until_one_gains_enough(road, halvings):
    """Structures that have no value are no steps, and a gain must be a share of what the slope promises."""
    A, D = 4.0 * np.eye(2), np.array([[-1.0, 0.5], [0.5, -2.0]])
    residual = np.diag([2.0, 1.0])
    slope = float(np.sum(residual * D))
    tried = []

    def smooth(trial):
        tried.append(trial)
        return None if len(tried) % 2 else Point(0.0)

    def objective(trial, point):
        length = 0.5 ** (len(tried) - 1)
        share = 1.1 if len(tried) > halvings else 0.9
        return 7.0 + share * ENOUGH_GAIN * length * slope

    def take(most):
        if road == "piece":
            return _newton._stay_on_piece(smooth, objective, A, 7.0, D, Piece(residual), most)
        return _newton._backtrack(smooth, objective, A, 7.0, D, slope)

    trial, _, value = take(40)
    # The first after so many that has a value: those with odd numbers have none.
    count = halvings + 1 + (halvings + 1) % 2
    assert len(tried) == count
    expected = A + 0.5 ** (count - 1) * D
    np.testing.assert_allclose(trial, np.diag(np.diag(expected)) if road == "piece" else expected)
    assert value < 7.0


@pytest.mark.parametrize("most", [1, 5])
def test_as_many_lengths_are_tried_as_are_allowed(most):
    tried = []
    never = lambda trial: tried.append(trial)  # noqa: E731
    A = np.eye(2)
    assert _newton._stay_on_piece(never, None, A, 1.0, A, Piece(A), most) is None
    assert len(tried) == most
    tried.clear()
    assert _newton._backtrack(never, None, A, 1.0, A, -1.0) is None
    assert len(tried) == MAX_BACKTRACKS


def test_where_values_are_dear_one_length_is_tried_before_the_model(monkeypatch):
    """And all of them where they are not."""
    allowed = []
    monkeypatch.setattr(_newton, "_stay_on_piece", lambda *given: allowed.append(given[-1]))
    monkeypatch.setattr(_newton, "_newton_direction", lambda *_, **__: (np.zeros((2, 2)), 1.0))
    ends = []
    monkeypatch.setattr(_newton, "_model_minimizer", lambda *given: ends.append(1) or given[2])
    monkeypatch.setattr(_newton, "_backtrack", lambda *_: None)
    for dear in (True, False):
        point = Point(1.0, dear=dear)
        point.gradient = np.zeros((2, 2))
        active_newton(
            lambda A, point=point: point, np.eye(2), EntryNorm(0.3, 2), certify=lambda *_: 0.0, tol=TOL, max_iter=9
        )
    assert allowed == [1, MAX_BACKTRACKS]
    assert len(ends) == 1


def test_directions_leave_as_much_as_was_allowed(rng):
    """Of the residual, in the metric of the preconditioner; and promise what they say."""
    n_tasks = 6
    A, norm = random_psd(rng, n_tasks), EntryNorm(0.05, n_tasks)

    class Smooth:
        P, Q = random_psd(rng, n_tasks), random_psd(rng, n_tasks)

        def hessian(self, D):
            half = self.P @ D @ self.Q
            return half + half.T

    point = Smooth()
    piece = norm.piece(A, random_psd(rng, n_tasks))
    precondition = piece.preconditioner(point.P, point.Q)
    whole = np.vdot(piece.residual, precondition(piece.residual))
    for forcing in (0.5, 1e-3, 1e-7):
        D, promise = _newton._newton_direction(point, piece, forcing)
        left = piece.residual + piece.project(piece.curved(point.hessian(D), D))
        assert np.vdot(left, precondition(left)) <= 1.01 * forcing**2 * whole
        assert promise == pytest.approx(-np.sum(D * piece.residual))
        assert promise > 0.0
    # The exact one promises all that the model has: half of it is gained.
    gain = -np.sum(D * piece.residual) - 0.5 * np.sum(D * point.hessian(D))
    assert gain == pytest.approx(0.5 * promise, rel=1e-4)


@pytest.mark.parametrize(("exact", "most"), [(True, _newton.EXACT_CG_STEPS), (False, _newton.MAX_CG_STEPS)])
def test_exact_directions_take_few_steps(exact, most, rng, monkeypatch):
    """One is enough for the inverse itself: what goes on is rounding, here a preconditioner that is none."""
    counted, size = [], 30

    class Piece:
        residual = rng.standard_normal((size, size))

        def project(self, D):
            return D

        def curved(self, H, D):
            return H

        def preconditioner(self, P, Q, *, exact):
            return lambda R: R

    class Model:
        P = Q = None
        weight = np.logspace(0.0, 12.0, size**2).reshape(size, size)

        def hessian(self, D):
            counted.append(1)
            return self.weight * D

    D, promise = _newton._newton_direction(Model(), Piece(), 1e-3, exact=exact)
    assert len(counted) == most
    assert promise == pytest.approx(-np.sum(D * Piece.residual))
    assert promise > 0.0
