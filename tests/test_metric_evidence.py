"""A metric by evidence: its slope against finite differences, units, layouts, groups, and what it refuses."""

import warnings

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score

from skmtl import MultiTaskClassifier, MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.estimators import metric
from skmtl.estimators.metric import OF_EVIDENCE
from skmtl.features import KernelMap
from skmtl.features.evidence import (
    LARGEST_STEP,
    SEPARABLE,
    follow_evidence,
    inverse_without_constant,
    roughness,
    scale_from_evidence,
)

ALPHA = 1e-2


def planted(rng, n=60, n_features=6, n_tasks=3, relevant=2, noise=0.1):
    """Tasks that depend on the first features, in a way that is not linear."""
    X = rng.standard_normal((n, n_features))
    hidden = np.tanh(X[:, :relevant] @ rng.standard_normal((relevant, 20)))
    return X, hidden @ rng.standard_normal((20, n_tasks)) / 4 + noise * rng.standard_normal((n, n_tasks))


def gram(kernel, X, widths):
    """exp(-sum_k w_k |x_k - z_k|^p), written out."""
    power = {"laplacian": 1, "rbf": 2}[kernel]
    return np.exp(-(np.abs(X[:, None] - X[None]) ** power) @ widths)


def restricted_evidence(K, y, noise, *, intercept):
    """The log density of the contrasts of y at the best variance, up to constants."""
    B = null_space(np.ones((1, len(y)))) if intercept else np.eye(len(y))
    M, z = B.T @ (K + np.diag(noise)) @ B, B.T @ y
    return -0.5 * (np.linalg.slogdet(M)[1] + len(z) * np.log(z @ np.linalg.solve(M, z)))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", SEPARABLE)
def test_difference_of_roughness_is_the_slope_of_the_evidence(kernel, intercept, rng):
    X, y, noise = rng.standard_normal((15, 3)), rng.standard_normal(15), rng.uniform(0.05, 0.2, size=15)
    widths, step = np.array([0.3, 0.7, 0.1]), 1e-5
    scale = widths ** (1.0 if kernel == "laplacian" else 0.5)
    K = gram(kernel, X, widths)
    N = inverse_without_constant(K, noise, intercept=intercept)
    c = N @ y
    variance = y @ c / (len(y) - intercept)
    found, expected = roughness(kernel, X, scale, 1.0, [K * np.outer(c, c) / variance, K * N])
    for k in range(3):
        high, low = (
            restricted_evidence(gram(kernel, X, widths * np.exp(side * np.eye(3)[k])), y, noise, intercept=intercept)
            for side in (step, -step)
        )
        assert np.isclose((found - expected)[k] / 2, (high - low) / (2 * step), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("coded", [[2, 7], range(6)])
@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("kernel", SEPARABLE)
def test_roughness_of_rows_far_away_has_the_digits_of_the_others(kernel, offset, coded, rng):
    """Some have the same value of 1e20, as a code of missing values has, and nothing in common with the rest."""
    X, scale = rng.standard_normal((12, 3)) + offset, np.array([0.5, 1.0, 2.0])
    X[coded, 1] = 1e20
    K = gram(kernel, X * scale, np.ones(3))
    distances = np.abs((X[:, None] - X) * scale) ** {"laplacian": 1, "rbf": 2}[kernel]
    (found,) = roughness(kernel, X, scale, 1.0, [K])
    np.testing.assert_allclose(found, -np.einsum("ij,ijk->k", K, distances), rtol=1e-7)


@pytest.mark.parametrize("kernel", SEPARABLE)
def test_step_ends_where_both_are_equal_and_is_never_long(kernel):
    scale = np.array([1.0, 2.0, 3.0, 4.0])
    same = scale_from_evidence(scale, np.full(4, 0.3), np.full(4, 0.3), kernel)
    assert np.allclose(same, scale)
    far = scale_from_evidence(scale, np.array([1.0, -1.0, 0.0, 2.0]), np.array([1e-9, 1.0, 0.0, 1.0]), kernel)
    power = 1.0 if kernel == "laplacian" else 0.5
    assert np.allclose(far / scale, np.array([LARGEST_STEP, 1 / LARGEST_STEP, 1.0, 2.0]) ** power)


@pytest.mark.parametrize("kernel", SEPARABLE)
def test_rounds_make_the_labels_more_likely_with_gaps_and_weights(kernel, rng):
    X, Y = planted(rng)
    Y[:20, 0] = Y[30:50, 2] = np.nan
    weight = rng.uniform(0.5, 2.0, size=Y.shape)
    known, n = ~np.isnan(Y), np.sum(weight[~np.isnan(Y)]) / 3

    def evidence(rounds):
        est = MultiTaskRegressor(
            "independent", kernel=kernel, gamma=0.1, alpha=ALPHA, metric_rounds=rounds, metric_rule="evidence"
        ).fit(X, Y, sample_weight=weight)
        scale = est.feature_map_.feature_scale
        widths = 0.1 * (np.ones(6) if scale is None else scale ** (1 if kernel == "laplacian" else 2))
        K = gram(kernel, X, widths)
        parts = ((np.flatnonzero(known[:, t]), t) for t in range(3))
        return sum(
            restricted_evidence(K[np.ix_(o, o)], Y[o, t], n * ALPHA / weight[o, t], intercept=True) for o, t in parts
        )

    assert evidence(0) < evidence(1) < evidence(2)


@pytest.mark.parametrize("kernel", SEPARABLE)
def test_few_features_that_matter_are_found(kernel, rng):
    X, Y = planted(rng, n=200, n_features=50, n_tasks=10, relevant=5)
    rule = {"metric_rounds": 2, "metric_rule": "evidence"}
    shares = MultiTaskRegressor(kernel=kernel, alpha=1e-3, **rule).fit(X, Y).feature_importances_
    assert average_precision_score(np.arange(50) < 5, shares) > 0.95


@pytest.mark.parametrize("rule", OF_EVIDENCE)
def test_permuted_features_are_scaled_alike_and_units_of_targets_do_not_matter(rule, rng):
    X, Y = planted(rng)
    order = rng.permutation(6)
    model = MultiTaskRegressor(kernel="laplacian", alpha=ALPHA, metric_rounds=2, metric_rule=rule)
    scale = model.fit(X, Y).feature_map_.feature_scale
    again = model.fit(X[:, order], Y * [1.0, 10.0, 0.01] + 5.0).feature_map_.feature_scale
    assert np.allclose(again, scale[..., order])


@pytest.mark.parametrize("rule", OF_EVIDENCE)
def test_long_table_learns_the_scale_of_the_wide_one(rule, rng):
    X, Y = planted(rng)
    Y[:20, 1] = Y[25:, 2] = np.nan
    row, task = np.nonzero(~np.isnan(Y))
    model = MultiTaskRegressor("independent", kernel="rbf", alpha=ALPHA, metric_rounds=2, metric_rule=rule)
    wide = model.fit(X, Y).feature_map_.feature_scale
    assert np.allclose(model.fit(X[row], Y[row, task], tasks=task).feature_map_.feature_scale, wide)


@pytest.mark.parametrize("rule", OF_EVIDENCE)
def test_features_of_a_group_are_scaled_together_and_a_constant_one_not_at_all(rule, rng):
    X, Y = planted(rng)
    X[:, 5] = 1.0
    # A task whose labels are all the same says nothing.
    Y[:, 2] = 7.0
    groups = {"feature_groups": [0, 0, 1, 1, 2, 3]}
    model = MultiTaskRegressor(kernel="rbf", alpha=ALPHA, metric_rounds=1, metric_rule=rule, **groups)
    scale = model.fit(X, Y).feature_map_.feature_scale
    for one in np.atleast_2d(scale):
        assert one[0] == one[1] != one[2] == one[3]
        assert one[5] == 1.0
    assert np.allclose(scale, model.fit(X, Y[:, :2]).feature_map_.feature_scale, rtol=1e-6)


@pytest.mark.parametrize("kernel", SEPARABLE)
def test_steps_of_one_task_end_where_evidence_has_no_slope_along_widths_and_noise(kernel, rng):
    X = rng.standard_normal((40, 3))
    y = np.sin(2.0 * X).sum(axis=1) + 0.3 * rng.standard_normal(40)
    power, weight = {"laplacian": 1, "rbf": 2}[kernel], rng.uniform(0.5, 2.0, size=40)

    def unlikely(logs):
        K = gram(kernel, X, np.exp(logs[:3]))
        return -restricted_evidence(K, y, np.exp(logs[3]) / weight, intercept=True)

    for width, level in ((0.3, 0.01), (0.3, 1.0), (1.0, 0.1)):
        first = np.log([width, width, width, level])
        start = KernelMap(kernel, {"gamma": 0.1}, np.full(3, (width / 0.1) ** (1 / power))), X, y, level / weight
        found, left = follow_evidence(*start, 100, intercept=True, share=lambda rough: rough)
        assert np.allclose(left * weight, left[0] * weight[0])
        last = np.log([*(0.1 * found**power), left[0] * weight[0]])
        # There are several such places.
        before, after = (approx_fprime(place, unlikely) for place in (first, last))
        assert np.max(np.abs(after)) < 0.05 * np.max(np.abs(before))


@pytest.mark.parametrize("kernel", SEPARABLE)
def test_a_width_without_end_is_no_default_width(kernel, rng):
    """gamma = 0 is the limit of small ones."""
    X, y, noise = rng.standard_normal((20, 3)), rng.standard_normal(20), np.full(20, 0.1)
    zero, small, other = (
        follow_evidence(KernelMap(kernel, {"gamma": gamma}), X, y, noise, 1, intercept=True, share=lambda rough: rough)
        for gamma in (0.0, 1e-12, None)
    )
    np.testing.assert_allclose(zero[0], small[0], rtol=1e-6)
    assert np.abs(zero[0] - other[0]).max() > 0.1


@pytest.mark.parametrize("kernel", SEPARABLE)
def test_each_task_has_the_scale_that_it_would_have_alone(kernel, rng):
    X, Y = planted(rng, n_tasks=2)
    Y[:20, 0] = Y[40:, 1] = np.nan
    for rounds in (1, 2):
        model = MultiTaskRegressor(kernel=kernel, alpha=ALPHA, metric_rounds=rounds, metric_rule="task_evidence")
        parts = (X, Y), (X[20:], Y[20:, 0]), (X[:40], Y[:40, 1])
        both, *each = (model.fit(*part).feature_map_.feature_scale for part in parts)
        assert np.allclose(both, np.concatenate(each))


def test_a_feature_that_a_noisy_task_needs_is_kept_beside_a_task_without_noise(rng):
    X = rng.standard_normal((80, 4))
    Y = np.column_stack([np.sin(2 * X[:, 0]), np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(80)])
    model = MultiTaskRegressor(kernel="rbf", gamma=0.1, alpha=1e-3, metric_rounds=2, metric_rule="task_evidence")
    model.fit(X, Y)
    one, two = model.feature_map_.feature_scale
    assert one[0] > 5.0 * one[1:].max()
    assert two[1] > 5.0 * two[[0, 2, 3]].max()
    assert model.feature_importances_[:2].min() > 5.0 * model.feature_importances_[2:].max()
    new = rng.standard_normal((200, 4))
    assert np.std(np.sin(2 * new[:, 0]) - model.predict(new)[:, 0]) < 0.1


def test_widths_of_a_task_are_learned_from_some_of_many_labels(rng, monkeypatch):
    X, Y = planted(rng, n_tasks=2)
    Y[:10, 1] = np.nan
    model = MultiTaskRegressor(kernel="rbf", alpha=ALPHA, metric_rounds=1, metric_rule="task_evidence")
    monkeypatch.setattr(metric, "LABELS_FOR_WIDTHS", 30)
    both = model.fit(X, Y).feature_map_.feature_scale
    monkeypatch.undo()
    # 30 labels of each task, evenly spaced, at the strength that all of them have.
    n = 110 / 2
    for t, rows in enumerate((np.arange(0, 60, 2), 10 + np.arange(30) * 50 // 30)):
        y = (Y[rows, t] - np.nanmean(Y[:, t])) / np.nanstd(Y[:, t])
        given = KernelMap("rbf", {"gamma": None}), X[rows], y, np.full(len(rows), n * ALPHA), metric.FIRST_STEPS
        alone, _ = follow_evidence(*given, intercept=True, share=lambda rough: rough)
        assert np.allclose(both[t], alone)


@pytest.mark.parametrize(("n_rows", "n_tasks", "most"), [(100, 2, 173), (100, 20, 80), (500, 2, 250), (500, 40, 121)])
def test_widths_of_many_tasks_are_learned_from_fewer_labels_each(n_rows, n_tasks, most):
    """Cubes of all tasks are 1e7, which is quick, and half of that of the rows."""
    assert metric.labels_for_widths(n_rows, n_tasks) == most


def test_labels_that_say_nothing_leave_the_scale_as_it_is(rng):
    X = rng.standard_normal((10, 2))
    Y = np.full((10, 2), 3.0)
    Y[1:, 1] = np.nan
    model = MultiTaskRegressor(kernel="rbf", metric_rounds=2, metric_rule="task_evidence")
    assert np.all(model.fit(X, Y).feature_map_.feature_scale == 1.0)


def test_search_chooses_among_rules_and_its_parameters_make_the_same_model(rng):
    X, Y = planted(rng)
    search = MultiTaskRegressorCV(
        kernel="laplacian", metric_rounds=[0, 1, 2], metric_rule=["slopes", "evidence"], cv=3, alphas=[1e-3, 1e-2]
    ).fit(X, Y)
    tried = {(row["metric_rounds"], row["metric_rule"]) for row in search.cv_results_["params"]}
    assert tried == {(0, "slopes"), *((k, rule) for k in (1, 2) for rule in ("slopes", "evidence"))}
    again = MultiTaskRegressor(**search.best_params_).fit(X, Y)
    assert np.allclose(again.predict(X), search.predict(X), atol=1e-6)


def test_folds_learn_the_widths_on_their_own_rows(rng):
    X, Y = planted(rng)
    split = [(np.arange(40), np.arange(40, 60))]
    rule = {"metric_rounds": 1, "metric_rule": "evidence"}
    search = MultiTaskRegressorCV(
        "independent", kernel="rbf", gammas=[0.1], alphas=[ALPHA], cv=split, scoring="arrmse", **rule
    ).fit(X, Y)
    model = MultiTaskRegressor("independent", kernel="rbf", gamma=0.1, alpha=ALPHA, **rule).fit(X[:40], Y[:40])
    errors = np.sqrt(np.mean((Y[40:] - model.predict(X[40:])) ** 2, axis=0))
    assert np.isclose(-search.best_score_, np.mean(errors / Y.std(axis=0)), rtol=1e-2)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"metric_rule": "likelihood"}, "slopes, evidence"),
        ({"metric_rule": "evidence", "kernel": "polynomial"}, "laplacian or rbf"),
        ({"metric_rule": "task_evidence", "n_components": 5}, "landmarks"),
        ({"metric_rule": "evidence", "loss": "huber"}, "square"),
    ],
)
@pytest.mark.parametrize("cls", [MultiTaskRegressor, MultiTaskRegressorCV])
def test_rules_that_cannot_be_are_refused(cls, params, reason, rng):
    with pytest.raises(ValueError, match=reason):
        cls(**{"kernel": "rbf", "metric_rounds": 1, **params}).fit(*planted(rng, n=20))


def test_classes_have_evidence_with_square_loss(rng):
    X, Y = planted(rng)
    model = MultiTaskClassifier(loss="square", kernel="rbf", metric_rounds=2, metric_rule="evidence")
    assert model.fit(X, (Y > 0) * 1).feature_importances_[:2].sum() > 0.5


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("labels", [1, 2])
def test_a_task_with_next_to_no_labels_says_next_to_nothing_about_widths(labels, intercept, rng):
    X, Y = planted(rng)
    Y[labels:, 2] = np.nan
    est = MultiTaskRegressor(
        kernel="rbf", alpha=ALPHA, fit_intercept=intercept, metric_rounds=1, metric_rule="evidence"
    ).fit(X, Y)
    scale = est.feature_map_.feature_scale
    assert np.all(np.isfinite(scale))
    assert scale[:2].min() > scale[2:].max()


@pytest.mark.parametrize("rule", OF_EVIDENCE)
@pytest.mark.parametrize("kernel", SEPARABLE)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_have_nothing_in_common_say_nothing_about_widths(kernel, rule, weighted):
    X, Y = np.random.default_rng(1).standard_normal((8, 2)), np.random.default_rng(2).standard_normal((8, 2))
    weight = np.geomspace(1e-12, 1e12, 8) if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for gamma in 10.0 ** np.arange(16):
            model = MultiTaskRegressor("independent", kernel=kernel, gamma=gamma, metric_rounds=2, metric_rule=rule)
            scale = model.fit(X, Y, sample_weight=weight).feature_map_.feature_scale
            assert np.all(np.isfinite(scale) & (scale > 0.0))


@pytest.mark.parametrize("expected", [0.0, 1e-320, 1e-300, 1.0, 1e300])
@pytest.mark.parametrize("explained", [-1.0, 0.0, 1e-320, 1e-300, 1.0, 1e300])
def test_a_step_is_bounded_whatever_numbers_there_are(explained, expected):
    with np.errstate(all="raise", under="ignore"):
        scale = scale_from_evidence(np.ones(1), np.array([explained]), np.array([expected]), "laplacian")
    assert 1.0 / LARGEST_STEP <= scale[0] <= LARGEST_STEP


@pytest.mark.parametrize("rule", OF_EVIDENCE)
@pytest.mark.parametrize("kernel", SEPARABLE)
@pytest.mark.parametrize("spread", [1.0, 1e-9])
def test_rows_that_repeat_leave_digits_without_noise(kernel, rule, spread, rng):
    X, Y = np.repeat(spread * rng.standard_normal((30, 2)), 4, axis=0), rng.standard_normal((120, 3))
    model = MultiTaskRegressor("independent", kernel=kernel, gamma=1.0, metric_rounds=2, metric_rule=rule)
    with warnings.catch_warnings():
        # Interpolation of labels that differ is lost to rounding, and is said to be.
        warnings.simplefilter("ignore", ConvergenceWarning)
        scale = model.set_params(alpha=1e-18).fit(X, Y).feature_map_.feature_scale
    assert np.all(np.isfinite(scale) & (scale > 0.0))


@pytest.mark.parametrize("rule", ["evidence", "task_evidence"])
def test_labels_of_next_to_no_weight_teach_no_widths(rule, rng):
    """A weight says how little noise a label has: wrong labels of a small one are as good as none."""
    X = rng.uniform(-1.0, 1.0, (60, 2))
    Y = np.c_[np.sin(3.0 * X[:, 0]), np.cos(2.0 * X[:, 0])] + 0.1 * rng.standard_normal((60, 2))
    weight = np.ones((60, 2))
    Y[40:], weight[40:] = rng.standard_normal((20, 2)), 1e-9
    model = MultiTaskRegressor(
        "independent", kernel="rbf", alpha=1e-2, metric_rounds=1, metric_rule=rule, scale_targets=False
    )
    few = model.fit(X[:40], Y[:40]).feature_importances_
    np.testing.assert_allclose(clone(model).fit(X, Y, sample_weight=weight).feature_importances_, few, atol=0.02)
    assert few[0] > 0.9
