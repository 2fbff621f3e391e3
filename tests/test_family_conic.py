"""Reference answers for the whole family: every penalty, every loss, with and without gaps, by a conic solver."""

import cvxpy as cp
import numpy as np
import pytest
from conic_penalties import CONIC, conic
from problems import gram, related_tasks
from reference import joint_optimum
from scipy.special import xlogy

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.losses import LOSSES
from skmtl.penalties import PENALTIES


def softmax(Y, F):
    """The loss of a row, shared out over its entries."""
    rows = cp.log_sum_exp(F, axis=1) - cp.sum(cp.multiply(Y > 0, F), axis=1)
    return cp.reshape(rows, (Y.shape[0], 1), order="C") @ np.full((1, Y.shape[1]), 1 / Y.shape[1])


CONIC_LOSSES = {
    "square": None,
    "huber": lambda Y, F: 0.5 * cp.huber(Y - F, 1.0),
    "quantile": lambda Y, F: cp.maximum(0.5 * (Y - F), -0.5 * (Y - F)),
    "epsilon_insensitive": lambda Y, F: cp.pos(cp.abs(Y - F) - 0.1),
    "poisson": lambda Y, F: cp.exp(F) - cp.multiply(Y, F) + xlogy(Y, Y) - Y,
    "softmax": softmax,
    "logistic": lambda Y, F: cp.logistic(-cp.multiply(Y, F)),
    "hinge": lambda Y, F: cp.pos(1 - cp.multiply(Y, F)),
    "squared_hinge": lambda Y, F: cp.square(cp.pos(1 - cp.multiply(Y, F))),
}


def labels_for(loss, Y, rng):
    """Y as an estimator takes it, and as the loss reads it."""
    if loss.nonnegative_targets:
        counts = rng.poisson(np.exp(Y)).astype(float)
        return counts, counts
    if loss.couples_tasks:
        classes = Y.argmax(axis=1)
        return classes, np.where(classes[:, None] == np.arange(Y.shape[1]), 1.0, -1.0)
    return (Y, Y) if loss.for_regression else ((Y > 0).astype(float), np.where(Y > 0, 1.0, -1.0))


N, N_TASKS, ALPHA, EPS = 14, 3, 2e-2, 0.05


def test_no_loss_is_left_out():
    assert set(CONIC_LOSSES) == set(LOSSES)
    assert set(CONIC) == set(PENALTIES)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("loss", CONIC_LOSSES)
@pytest.mark.parametrize("name", PENALTIES)
def test_joint_optimum(name, loss, missing):
    rng = np.random.default_rng(len(name) + 10 * len(loss) + missing)
    X, Y = related_tasks(rng, N, N_TASKS)
    observed = np.ones(Y.shape, dtype=bool)
    if missing and not LOSSES[loss].couples_tasks:
        # One label of a row is all there is of classes that belong together.
        observed = rng.random(Y.shape) < 0.6
        observed[:4] = True
        observed[:, 0] |= ~observed.any(axis=1)
    regression = LOSSES[loss].for_regression
    targets, read = labels_for(LOSSES[loss], Y, rng)
    common = 1.0 if missing else 0.0
    settings = {"kernel": "rbf", "alpha": ALPHA, "eps": EPS, "common": common, "loss": loss}
    settings["tol"] = 1e-5 if LOSSES[loss].has_corner else 1e-7
    if regression:
        est = MultiTaskRegressor(name, scale_targets=False, **settings)
    else:
        est = MultiTaskClassifier(name, **settings)
    est.fit(X, np.where(observed, targets, np.nan) if targets.ndim == 2 else targets)
    penalty = PENALTIES[name]()
    # What is known is not learned: the conic problem has no term for it.
    optimum, _ = joint_optimum(
        gram(X, "rbf"),
        read,
        conic(penalty),
        alpha=ALPHA,
        eps=EPS,
        common=common,
        loss=CONIC_LOSSES[loss],
        observed=observed,
    )
    if penalty.known:
        # Known structures leave eps tr(A^-1) out of the objective.
        optimum -= ALPHA * EPS * np.trace(np.linalg.inv(est.structure_))
    assert est.solution_.objective == pytest.approx(optimum, rel=1e-5)
    assert est.solution_.gap <= settings["tol"]
