"""Objectives are known as far as scores are: sums of large numbers that nearly cancel have few digits."""

import warnings
from copy import copy
from decimal import localcontext
from pathlib import Path

import numpy as np
import pytest
from problems import related_tasks, with_gaps
from sklearn.exceptions import ConvergenceWarning

import skmtl._rows
import skmtl.estimators.blocks
from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.estimators.base import make_effort, make_settings, train
from skmtl.estimators.clean import clean, reads_blocks
from skmtl.features import make_feature_map
from skmtl.losses import LOSSES, Square
from skmtl.penalties import Fixed
from skmtl.solvers import returned
from skmtl.solvers.returned import ReturnedModel, Values

EPS = np.finfo(float).eps


@pytest.fixture
def recompute(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import recompute

    return recompute


def trained(estimator, loss, X, y, *, weight=None, tasks=None):
    blocks = reads_blocks(estimator, X, loss)
    made = train(estimator, clean(estimator, X, y, weight, tasks, blocks=blocks), loss)
    settings = make_settings(estimator, made.labels.n_tasks)
    solution = made.solve(settings, make_effort(estimator))
    return made, solution, ReturnedModel(made, settings, solution, made.model(solution))


def rounding(returned_model, sums, sizes):
    """What is said of a model that makes other values of the rows."""
    other = copy(returned_model)
    other.values = Values(sums, sizes)
    return other.rounding()


@pytest.mark.parametrize("entries", [1, 100, 2**23])
def test_sizes_are_those_of_what_is_summed_up(entries, rng, monkeypatch):
    """However many rows are read at a time."""
    monkeypatch.setattr(returned, "BLOCK_ENTRIES", entries)
    X, Y = related_tasks(rng, 12, 3)
    *_, one = trained(MultiTaskRegressor(), Square(), X, Y)
    coef = rng.standard_normal((5, 3))
    one.model = one.model._replace(coef=coef)
    values = one.values
    np.testing.assert_allclose(values.sums, np.einsum("ij,jt->it", X, coef), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(values.sizes, np.sum(np.abs(X[:, :, None] * coef), axis=1), rtol=1e-13)


@pytest.mark.parametrize("layout", ["complete", "weights", "gaps", "long"])
def test_of_squares_rounding_is_that_of_errors(layout, rng):
    """Errors r become r + a: their squares change by 2 r a, of either sign, and by a^2, which adds up."""
    X, Y = related_tasks(rng, 20, 3)
    Y = Y * (1.0, 10.0, 0.1) + 5.0
    weight, tasks = np.ones((20, 3)), None
    if layout == "weights":
        weight = rng.uniform(0.5, 2.0, (20, 3))
    elif layout == "gaps":
        Y = with_gaps(rng, Y)
        weight = (~np.isnan(Y)).astype(float)
    elif layout == "long":
        tasks = np.arange(20) % 3
        weight = (tasks[:, None] == np.arange(3)).astype(float)
    estimator = MultiTaskRegressor(Fixed(np.eye(3)), alpha=1e-2)
    y = Y[np.arange(20), tasks] if layout == "long" else Y
    made, solution, one = trained(
        estimator, Square(), X, y, weight=weight if layout == "weights" else None, tasks=tasks
    )
    model = made.model(solution)
    sums = X @ model.coef
    # As if much larger numbers had been summed up.
    sizes = 1e12 * rng.uniform(0.5, 1.0, sums.shape)
    scale = made.scaling.scale
    errors = np.where(weight > 0.0, Y - sums - model.intercept, 0.0) / scale
    away = np.where(weight > 0.0, EPS * sizes / scale, 0.0)
    expected = 2.0 * np.linalg.norm(2.0 * weight * errors * away) + np.sum(weight * away**2)
    found = rounding(one, sums, sizes)
    assert found == pytest.approx(expected / (weight.sum() / 3.0), rel=1e-6)
    assert found > 1e-7


@pytest.mark.parametrize("positive", [5, 15])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_margins_that_are_met_are_lost_on_either_side(loss, positive, rng):
    """Beyond the margin a loss is flat, and before it, it grows: labels of one class are there when all scores move."""
    X, y = rng.standard_normal((20, 2)), (np.arange(20) < positive).astype(int)
    made, solution, one = trained(MultiTaskClassifier(Fixed(np.eye(1)), loss=loss), LOSSES[loss](), X, y)
    model, sign = made.model(solution), 2.0 * y[:, None] - 1.0
    sizes = np.full((20, 1), 0.01 / EPS)
    assert rounding(one, sign - model.intercept, sizes) == pytest.approx(
        0.75 * (0.01 if loss == "hinge" else 0.01**2), rel=1e-6
    )
    # Far beyond it nothing that rounding does is a loss.
    assert rounding(one, 3.0 * sign - model.intercept, sizes) == 0.0


def test_norms_are_rounded_in_the_units_of_the_fit(rng):
    """Of landmarks, whose coefficients c have norms that are wrong by some eps c^2 k(x, x)."""
    X, Y = related_tasks(rng, 20, 2)
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    estimator = MultiTaskRegressor(Fixed(A), alpha=0.3, kernel="rbf", n_components=6, random_state=0)
    made, solution, one = trained(estimator, Square(), X, Y * (1e3, 1e-3))
    model = made.model(solution)
    coef = model.coef / made.scaling.scale
    # k(x, x) is one, and the structure weighs the tasks as in the norm.
    gram = np.linalg.cholesky(np.linalg.inv(A)).T @ (coef.T @ coef) @ np.linalg.cholesky(np.linalg.inv(A))
    expected = 0.3 * 10.0 * EPS * np.linalg.norm(gram)
    assert rounding(one, one.values.sums, np.zeros((20, 2))) == pytest.approx(expected, rel=1e-9)


@pytest.mark.filterwarnings("ignore:.*all but linear")
@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4, 1e5])
@pytest.mark.parametrize("params", [{}, {"n_components": 8, "random_state": 0}, {"fit_intercept": False}])
@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_what_is_certified_is_so_with_all_digits(kernel, params, offset, rng, recompute):
    """The objective of the returned coefficients, by the formula of the kernel with 60 digits; no bound is above it."""
    X, Y = related_tasks(rng, 25, 3, n_features=2)
    est = MultiTaskRegressor(kernel=kernel, degree=2, alpha=1e-2, **params)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        est.fit(X + offset, Y)
    _, exact = recompute.objectives(est, X + offset, Y)
    solution = est.solution_
    assert solution.lower_bound <= exact * (1.0 + 1e-12)
    if not caught:
        assert abs(exact - solution.objective) <= est.tol * solution.objective
    if offset == 0.0:
        assert not caught


@pytest.mark.parametrize(
    ("kernel", "params"),
    [
        ("rbf", {"gamma": 1e-3}),
        ("rbf", {"gamma": 10.0}),
        ("rbf", {"gamma": 200.0}),
        ("laplacian", {"gamma": 0.01}),
        ("poly", {"degree": 2}),
        ("poly", {"degree": 5}),
    ],
)
def test_rounding_of_scores_is_what_is_said_of_it(kernel, params, rng, recompute):
    """Of coefficients that nearly cancel, against their sums with 60 digits: no less, and not a thousand times more."""
    X = rng.standard_normal((30, 3))
    estimator = MultiTaskRegressor(kernel=kernel, **params)
    fitted = make_feature_map(kernel, **params).fit(X)
    coef = rng.standard_normal((30, 2))
    said = fitted.relative_error() * (np.abs(fitted.transform(X)) @ np.abs(coef))
    with localcontext(prec=recompute.DIGITS):
        K = recompute.formula(estimator, recompute.exactly(X), recompute.exactly(X))
        away = np.abs((K @ recompute.exactly(coef) - recompute.exactly(fitted.transform(X) @ coef)).astype(float))
    assert np.all(away < said)
    assert said.max() < 1000.0 * away.max()


def test_a_gaussian_without_a_width_is_a_constant(rng):
    """However large the features are; distances are taken from differences there."""
    X = 100.0 * rng.standard_normal((20, 3))
    est = MultiTaskRegressor(kernel="rbf", gamma=0.0).fit(X, rng.standard_normal((20, 2)))
    assert np.ptp(est.predict(X), axis=0).max() < 1e-12


@pytest.fixture
def blocks(monkeypatch):
    """Every table is large, and is read a few rows at a time."""
    monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 0)
    monkeypatch.setattr(skmtl._rows, "BLOCK_ENTRIES", 64)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("params", [{}, {"kernel": "rbf", "n_components": 8, "random_state": 0}])
def test_sums_over_blocks_know_how_large_scores_are(params, gaps, rng, blocks):
    """Means of |Z| |coef|; errors a then change the mean of squares r^2 by 2 sqrt(r^2 a^2) and a^2 at most."""
    X, Y = related_tasks(rng, 40, 3)
    Y = (with_gaps(rng, Y) if gaps else Y) * (1.0, 10.0, 0.1) + 5.0
    made, solution, one = trained(MultiTaskRegressor(Fixed(np.eye(3)), alpha=1e-2, **params), Square(), X, Y)
    model, known = made.model(solution), ~np.isnan(Y)
    share = known.mean(axis=1) / known.mean()
    Z = made.feature_map.transform(X)
    sizes = 1e12 * (share @ np.abs(Z)) / 40.0
    np.testing.assert_allclose(made.design.sizes, 1e-12 * sizes, rtol=1e-12)
    made.design.sizes = sizes
    away = made.feature_map.relative_error() * (sizes @ np.abs(model.coef)) / made.scaling.scale
    squares = np.sum(known.mean(axis=0) / known.mean() * away**2)
    expected = 2.0 * np.sqrt(squares * solution.objective) + squares
    assert one.rounding_in_blocks() == pytest.approx(expected, rel=1e-6)
    assert expected > 1e-6


@pytest.mark.filterwarnings("ignore:.*all but linear")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("offset", [0.0, 1e2, 1e5])
def test_what_is_certified_in_blocks_is_so_with_all_digits(offset, seed, recompute, blocks):
    rng = np.random.default_rng(seed)
    X, Y = related_tasks(rng, 60, 3, n_features=2)
    est = MultiTaskRegressor(kernel="poly", degree=2, n_components=8, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        est.fit(X + offset, Y)
    _, exact = recompute.objectives(est, X + offset, Y)
    assert est.solution_.lower_bound <= exact * (1.0 + 1e-12)
    if not caught:
        assert abs(exact - est.solution_.objective) <= est.tol * est.solution_.objective
    if offset == 0.0:
        assert not caught
