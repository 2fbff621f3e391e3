"""Newton's model with a norm that has kinks: where steps that stop at kinks lead."""

import numpy as np
import pytest
from problems import random_psd

from skmtl._linalg import inverse_spd, symmetric_part
from skmtl.penalties import _newton
from skmtl.penalties.sparse import EntryNorm


class Point:
    """tr(S A^-1), with its exact second derivative."""

    def __init__(self, S, A):
        self.P = inverse_spd(A)
        self.Q = symmetric_part(self.P @ S @ self.P)
        self.value = float(np.sum(S * self.P))
        self.gradient = -self.Q

    def hessian(self, D):
        half = self.P @ D @ self.Q
        return half + half.T


def model(point, norm, gradient, A, B):
    change = B - A
    return np.sum((gradient + 0.5 * point.hessian(change)) * change) + norm.value(B)


def minimizer(rng, n_steps, monkeypatch, n_tasks=8):
    """A structure, its model, and where the steps lead."""
    norm, S = EntryNorm(0.3, n_tasks), random_psd(rng, n_tasks)
    root = rng.standard_normal((n_tasks, 3))
    A = root @ root.T + 0.3 * np.eye(n_tasks)
    point = Point(S, A)
    gradient = point.gradient + np.eye(n_tasks)
    piece = norm.piece(A, gradient)
    D, _ = _newton._newton_direction(point, piece, 1e-8)
    monkeypatch.setattr(_newton, "MAX_MODEL_STEPS", n_steps)
    monkeypatch.setattr(_newton, "MODEL_SHARE", 0.0)
    monkeypatch.setattr(_newton, "MODEL_FORCING", 1e-8)
    B = _newton._model_minimizer(point, norm, A, gradient, D, piece)
    return point, norm, gradient, A, B


def test_steps_lead_near_the_least_of_the_model(rng, monkeypatch):
    """Proximal gradients from there find little that is better."""
    point, norm, gradient, A, B = minimizer(rng, 60, monkeypatch)
    least = model(point, norm, gradient, A, B)
    size = 1.0 / (2.0 * np.linalg.norm(point.P, 2) * np.linalg.norm(point.Q, 2))
    C = B
    for _ in range(500):
        slope = gradient + point.hessian(C - A)
        C = C - size * slope
        off = ~np.eye(len(C), dtype=bool)
        C[off] = _newton.soft_threshold(C, size * norm.rho)[off]
    best = model(point, norm, gradient, A, C)
    assert norm.value(A) - least >= 0.95 * (norm.value(A) - best)


def test_every_step_of_the_model_gains(rng, monkeypatch):
    values = []
    for n_steps in (1, 2, 4):
        point, norm, gradient, A, B = minimizer(np.random.default_rng(3), n_steps, monkeypatch)
        values.append(model(point, norm, gradient, A, B))
    assert norm.value(A) > values[0] >= values[1] >= values[2]


def test_the_objective_falls_along_the_way(rng, monkeypatch):
    """By convexity, a short enough part of the way gains."""
    point, norm, gradient, A, B = minimizer(rng, 3, monkeypatch)
    slope = np.sum(gradient * (B - A)) + norm.value(B) - norm.value(A)
    assert slope < 0.0

    def objective(A, point):
        return point.value + np.trace(A) + norm.value(A)

    S = symmetric_part(A @ point.Q @ A)
    taken = _newton._backtrack(
        lambda A: Point(S, A) if inverse_spd(A) is not None else None, objective, A, objective(A, point), B - A, slope
    )
    assert taken is not None
    assert taken[2] < objective(A, point)


def test_a_short_step_that_gains_nothing_is_no_step():
    """Its share of what a model promises is below rounding; a whole step may better what values do not show."""

    def taken(slope):
        return _newton._backtrack(lambda A: A, lambda A, point: 1.0, np.eye(2), 1.0, np.eye(2), slope)

    assert taken(-0.02) is None
    np.testing.assert_array_equal(taken(-1e-20)[0], 2.0 * np.eye(2))


def test_the_slope_of_a_step_within_the_model_is_that_of_the_objective(rng, monkeypatch):
    """Where values are dear: the smooth part to first order, and the norm from end to end."""
    asked, backtrack = [], _newton._backtrack
    norm, S = EntryNorm(0.3, 6), random_psd(rng, 6, rank=2, ridge=1e-3)

    class Dear(Point):
        dear = True

    def smooth(A):
        return None if inverse_spd(A) is None else Dear(S, A)

    def listen(smooth, objective, A, value, D, slope):
        h = 1e-6
        rise = (smooth(A + h * D).value - smooth(A - h * D).value) / (2.0 * h) + np.trace(D)
        asked.append((slope, rise + norm.value(A + D) - norm.value(A)))
        return backtrack(smooth, objective, A, value, D, slope)

    monkeypatch.setattr(_newton, "_backtrack", listen)
    start = np.eye(6) + 0.9 * np.ones((6, 6))
    _newton.active_newton(smooth, start, norm, certify=lambda *_: 0.0, tol=1e-8, max_iter=60)
    assert asked
    np.testing.assert_allclose(*zip(*asked, strict=True), rtol=1e-3, atol=1e-9)
    assert all(slope < 0.0 for slope, _ in asked)


class Flat:
    """A model without curvature, on a piece where all is free."""

    def __init__(self, residual):
        self.residual = residual

    def hessian(self, D):
        return np.zeros_like(D)

    def land(self, trial):
        return trial


@pytest.mark.parametrize(("share", "enough"), [(0.9, False), (1.1, True)])
def test_a_step_of_the_model_must_gain_a_share_of_what_its_slope_promises(share, enough, rng, monkeypatch):
    # One step is all.
    monkeypatch.setattr(_newton, "MODEL_SHARE", 1.0)
    A, D = random_psd(rng, 3), -random_psd(rng, 3)
    model = Flat(random_psd(rng, 3))
    B = _newton._model_minimizer(model, EntryNorm(0.0, 3), A, share * _newton.ENOUGH_GAIN * model.residual, D, model)
    np.testing.assert_array_equal(B, A + D if enough else A)


def test_a_model_in_any_unit_takes_the_same_steps(rng, monkeypatch):
    """To the last bit: gains are compared with gains."""
    monkeypatch.setattr(_newton, "MODEL_SHARE", 1e-6)
    n_tasks, S = 8, random_psd(rng, 8)
    root = rng.standard_normal((n_tasks, 3))
    A = root @ root.T + 0.3 * np.eye(n_tasks)

    def least(unit):
        point, norm = Point(unit * S, A), EntryNorm(0.3 * unit, n_tasks)
        gradient = point.gradient + unit * np.eye(n_tasks)
        piece = norm.piece(A, gradient)
        D, _ = _newton._newton_direction(point, piece, 0.1)
        return _newton._model_minimizer(point, norm, A, gradient, D, piece)

    found = least(1.0)
    for unit in (2.0**-20, 2.0**20):
        np.testing.assert_array_equal(least(unit), found)
    monkeypatch.setattr(_newton, "MAX_MODEL_STEPS", 1)
    assert not np.array_equal(least(1.0), found)
