"""Newton's model of a loss: its Hessian by hand, and how few steps it takes where losses are nearly nothing."""

import itertools

import numpy as np
import pytest
from problems import related_tasks

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.losses import LOSSES, Logistic, Poisson, Softmax
from skmtl.solvers.curvature import LabelCurvature, RowCurvature
from skmtl.targets.layout import make_labels

SHAPE = n, n_tasks = 9, 3
KINDS = {"logistic": LabelCurvature, "poisson": LabelCurvature, "softmax": RowCurvature}


@pytest.fixture
def problem(rng):
    """Rows, labels that are classes of the rows, and scores."""
    Y = np.full(SHAPE, -1.0)
    Y[np.arange(n), rng.integers(0, n_tasks, n)] = 1.0
    weight = np.repeat(rng.uniform(0.5, 2.0, n)[:, None], n_tasks, axis=1)
    return rng.standard_normal((n, 4)), make_labels(Y, weight), rng.standard_normal(SHAPE)


def whole_hessian(loss, labels, F):
    """The derivative of the gradient, of shape (n T, n T), by differences."""
    columns = []
    for unit in np.eye(F.size).reshape(-1, *SHAPE):
        ahead, behind = (loss.gradient(labels.y, F + s * unit, labels.weight) for s in (1e-5, -1e-5))
        columns.append((ahead - behind).ravel() / 2e-5)
    return np.array(columns).T


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("intercept", [True, False])
def test_newton_sees_the_hessian(name, intercept, problem, rng):
    """In the scores, and in G for predictors G R' with constants that are always the best."""
    Phi, labels, F = problem
    loss = LOSSES[name]()
    h = loss.curvature(labels.y, F, labels.weight)
    H = whole_hessian(loss, labels, F)
    curvature = KINDS[name](labels, Phi, h, intercept=intercept)
    U, R = rng.standard_normal(SHAPE), rng.standard_normal((n_tasks, n_tasks))
    np.testing.assert_allclose(curvature.times(U).ravel(), H @ U.ravel(), atol=1e-8)
    J = np.einsum("ia,tc->itac", Phi, R).reshape(F.size, -1)
    constants = np.tile(np.eye(n_tasks), (n, 1))
    expected = J.T @ H @ J
    if intercept:
        mixed = J.T @ H @ constants
        expected = expected - mixed @ np.linalg.pinv(constants.T @ H @ constants, rcond=1e-7) @ mixed.T
    np.testing.assert_allclose(curvature.matrix(R), expected, atol=1e-6)
    G = rng.standard_normal((4, n_tasks))
    np.testing.assert_allclose(curvature.normal(G @ R.T) @ R, (expected @ G.ravel()).reshape(G.shape), atol=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_no_constants_are_better_for_a_slope(name, problem, rng):
    Phi, labels, F = problem
    h = LOSSES[name]().curvature(labels.y, F, labels.weight)
    curvature = KINDS[name](labels, Phi, h, intercept=True)
    # Slopes of one loss over a row sum to zero.
    slope = rng.standard_normal(SHAPE)
    slope -= slope.mean(axis=1, keepdims=True) if name == "softmax" else 0.0
    b = curvature.intercepts(slope)
    np.testing.assert_allclose((slope + curvature.times(np.tile(b, (n, 1)))).sum(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(curvature.without_intercepts(slope).sum(axis=0), 0.0, atol=1e-10)
    apart = KINDS[name](labels, Phi, h, intercept=False)
    np.testing.assert_array_equal(apart.without_intercepts(slope), slope)
    assert not apart.intercepts(slope).any()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("doubt", [1.0, 1e-6, 1e-12])
def test_rows_that_are_sure_of_their_class_keep_their_digits(doubt, intercept, problem, rng):
    """The Hessian is a sum over pairs of classes, and as exact as its largest entry, however small that is."""
    Phi, labels, _ = problem
    h = doubt * rng.uniform(0.5, 1.0, SHAPE)
    h[np.arange(n), rng.integers(0, n_tasks, n)] = 1.0
    curvature, R = RowCurvature(labels, Phi, h, intercept=intercept), rng.standard_normal((n_tasks, n_tasks))
    differences, weights = [], []
    for s, t in itertools.combinations(range(n_tasks), 2):
        differences.append(np.einsum("ia,c->iac", Phi, R[s] - R[t]).reshape(n, -1))
        weights.append(h[:, s] * h[:, t] / h.sum(axis=1))
    J, w = np.concatenate(differences), np.concatenate(weights)
    if intercept:
        J = np.sqrt(w)[:, None] * J
        pairs = [
            np.tile(np.eye(n_tasks)[s] - np.eye(n_tasks)[t], (n, 1)) for s, t in itertools.combinations(range(3), 2)
        ]
        constants = np.sqrt(w)[:, None] * np.concatenate(pairs)[:, 1:]
        Q = np.linalg.qr(constants)[0]
        J, w = J - Q @ (Q.T @ J), np.ones(len(J))
    expected = J.T @ (w[:, None] * J)
    np.testing.assert_allclose(curvature.matrix(R), expected, atol=1e-12 * np.abs(expected).max())
    G = rng.standard_normal((4, n_tasks))
    moved, products = expected @ G.ravel(), curvature.normal(G @ R.T) @ R
    np.testing.assert_allclose(products.ravel(), moved, atol=1e-9 * np.abs(moved).max())


def counting(cls, calls):
    """A loss that counts how often its curvature is asked for: the steps of Newton's method."""

    class Counting(cls):
        def curvature(self, *args):
            calls.append(None)
            return super().curvature(*args)

    return Counting()


@pytest.mark.parametrize("cls", [Logistic, Softmax, Poisson])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_losses_that_are_nearly_nothing_take_few_steps(cls, kernel, rng):
    """Classes that a small alpha separates, and counts of zero: curvature vanishes with the slope, and is no less."""
    X, Y = related_tasks(rng, 40, 3)
    calls = []
    params = {"penalty": "independent", "kernel": kernel, "alpha": 1e-9, "loss": counting(cls, calls), "eps": 1.0}
    if cls is Poisson:
        est = MultiTaskRegressor(**params).fit(X, np.maximum(np.round(3.0 * Y), 0.0))
    else:
        est = MultiTaskClassifier(**params).fit(X, np.argmax(Y, axis=1))
    assert est.solution_.converged
    assert len(calls) < 60


@pytest.mark.parametrize("sure", [1.0, 1e-6, 1e-12])
def test_constants_of_classes_are_as_exact_for_a_loss_that_is_nearly_nothing(sure, rng):
    """Most rows are sure of their class, and what the constants weigh would be lost beside one."""
    h = np.full((n, n_tasks), sure)
    h[:, 0] = 1.0
    h *= rng.uniform(0.5, 2.0, (n, 1))
    labels = make_labels(np.ones(SHAPE), np.ones(SHAPE))
    curvature = RowCurvature(labels, rng.standard_normal((n, 2)), h, intercept=True)
    b = rng.standard_normal(n_tasks)
    b -= b.mean()
    # A slope that constants make is undone by them.
    np.testing.assert_allclose(curvature.intercepts(curvature.times(np.tile(b, (n, 1)))), -b, rtol=1e-3)
