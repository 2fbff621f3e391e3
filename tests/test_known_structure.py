"""Structures from knowledge, and the latent tasks that a structure mixes."""

import numpy as np
import pytest
from problems import related_tasks

from skmtl import MultiTaskRegressor
from skmtl.penalties import Fixed, Sparse


def test_groups_pay_for_the_variance_around_their_means(rng):
    groups, strength = np.array(["b", "a", "b", "c", "a"]), 2.5
    A = Fixed.from_groups(groups, strength).structure(5)
    f = rng.standard_normal(5)
    means = np.array([f[groups == group].mean() for group in groups])
    price = f @ f + strength * np.sum((f - means) ** 2)
    assert f @ np.linalg.solve(A, f) == pytest.approx(price)


def test_one_group_is_mean_coupling():
    one, other = Fixed.from_groups(np.zeros(4), 3.0), Fixed.mean_coupled(3.0)
    np.testing.assert_allclose(one.structure(4), other.structure(4))
    # Of one task, nothing but itself.
    np.testing.assert_allclose(Fixed.from_groups(["a"], 3.0).structure(1), [[1.0]])
    np.testing.assert_allclose(Fixed.from_tree([["a"]], strength=3.0).structure(1), [[4.0]])


def test_a_tree_is_the_covariance_of_parts_that_are_handed_down(rng):
    """Each node has a part of its own, and a task is the sum of its own and those above it."""
    paths = [["animal", "bird"], ["animal", "bird"], ["animal", "fish"], ["plant"], ["plant", "fish"], []]
    nodes = [("animal",), ("animal", "bird"), ("animal", "fish"), ("plant",), ("plant", "fish")]
    under = np.array([[tuple(path[: len(node)]) == node for node in nodes] for path in paths], dtype=float)
    A = Fixed.from_tree(paths, strength=0.7).structure(6)
    np.testing.assert_allclose(A, np.eye(6) + 0.7 * under @ under.T)


def test_a_tree_of_one_level_relates_what_groups_relate():
    tree, groups = Fixed.from_tree([["a"], ["a"], ["b"]]).structure(3), Fixed.from_groups(["a", "a", "b"]).structure(3)
    np.testing.assert_array_equal(tree != 0.0, groups != 0.0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Fixed.from_groups([[0, 1]]), "one group for each task"),
        (lambda: Fixed.from_groups([0, 1], strength=-1.0), "strength"),
        (lambda: Fixed.from_tree(["animal", "plant"]), "sequence of nodes"),
        (lambda: Fixed.from_tree([["a"], ["b"]], strength=-1.0), "strength"),
    ],
)
def test_nonsense_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize(("penalty", "common"), [(Sparse(0.6), 0.0), (Sparse(0.9), 2.0), (Fixed(np.ones((3, 3))), 0.0)])
def test_predictors_are_mixtures_of_latent_tasks(penalty, common, scale, rng):
    X, Y = related_tasks(rng, 40, 3)
    Y = Y * [1.0, 10.0, 0.1] + 3.0
    est = MultiTaskRegressor(penalty, kernel="rbf", common=common, scale_targets=scale).fit(X, Y)
    new = rng.standard_normal((7, X.shape[1]))
    mixed = est.latent_tasks(new) @ (est.structure_ + common)
    np.testing.assert_allclose(est.intercept_ + est.target_scale_ * mixed, est.predict(new), rtol=1e-8)


def test_latent_tasks_are_made_of_the_labels_of_their_task(rng):
    """For square loss c = (y - f) / (n alpha): residuals of task s, and nothing else, make g_s (SKMTL eq. 3)."""
    X, Y = related_tasks(rng, 30, 3)
    est = MultiTaskRegressor(kernel="rbf", alpha=0.05, scale_targets=False, tol=1e-12).fit(X, Y)
    K = est.feature_map_.transform(X)
    C = (Y - est.predict(X)) / (30 * 0.05)
    np.testing.assert_allclose(est.latent_tasks(X), K @ C, atol=1e-6)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("unit", [1.0, 1e3, 1e5])
def test_tasks_are_as_alike_as_the_predictors_that_come_out(unit, gaps, rng):
    """Directions that a singular structure does not have are large in the dual, and none of their digits gets in."""
    X = rng.standard_normal((20, 2)) * [unit, 1.0]
    Y = X / [unit, 1.0] @ rng.standard_normal((2, 3)) + 0.1 * rng.standard_normal((20, 3))
    Y[rng.random(Y.shape) < 0.2 * gaps] = np.nan
    est = MultiTaskRegressor(Fixed([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])).fit(X, Y)
    W = est.coef_.T / est.target_scale_
    S = W.T @ W + est.eps_ * np.eye(3)
    size = np.sqrt(np.diag(S))
    np.testing.assert_allclose(est.correlation_, S / np.outer(size, size), atol=1e-9)
