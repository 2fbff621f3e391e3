"""Paths, stability and the comparison of methods."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from problems import related_tasks
from scipy import stats
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.cli.console import show_comparison
from skmtl.model_selection import (
    MultiTaskClassifierCV,
    MultiTaskRegressorCV,
    compare_methods,
    edge_stability,
    structure_path,
)
from skmtl.model_selection.stability import MUS as STABILITY_MUS
from skmtl.model_selection.verdict import PairedScores, describe_verdict, paired_interval
from skmtl.penalties import Fixed, Independent, Sparse, Trace
from skmtl.solvers.training import Training

MUS = [0.5, 0.8, 0.95]
SMALL = {"kernel": "linear", "alphas": [1e-3, 1e-1], "mus": [0.8], "eps_factors": [1.0], "cv": 3}


def two_pairs(rng, n):
    """Tasks a, b and c, d go together; nothing else does."""
    X = rng.standard_normal((n, 6))
    first, second = X[:, :3] @ [1.0, -1.0, 2.0], X[:, 3:] @ [2.0, 1.0, -1.0]
    Y = np.column_stack([first, -first, second, second]) + 0.3 * rng.standard_normal((n, 4))
    return X, pd.DataFrame(Y, columns=list("abcd"))


@pytest.mark.parametrize("eps", ["auto", 0.05])
def test_a_path_is_a_fit_for_every_mu(eps, rng):
    X, Y = related_tasks(rng, 40, 5)
    est = MultiTaskRegressor(kernel="rbf", gamma=0.2, alpha=1e-2, eps=eps, common=0.5, tol=1e-9)
    path = structure_path(est, X, Y, MUS, cv=None)
    for mu, structure in zip(path.mus, path.structures, strict=True):
        alone = clone(est).set_params(penalty=Sparse(mu)).fit(X, Y)
        np.testing.assert_allclose(structure, alone.structure_, atol=1e-4)
        np.testing.assert_array_equal(structure != 0.0, alone.structure_ != 0.0)
    assert np.isnan(path.scores).all()
    assert path.gaps.max() <= 1e-9


def test_scores_of_a_path_are_those_of_the_search(rng):
    X, Y = related_tasks(rng, 40, 4)
    path = structure_path(MultiTaskRegressor(alpha=1e-1), X, Y, MUS)
    search = MultiTaskRegressorCV(kernel="linear", alphas=[1e-1], mus=MUS, eps_factors=[1.0], cv=5).fit(X, Y)
    np.testing.assert_allclose(path.scores, search.cv_results_["mean_test_score"][1:], rtol=1e-10)
    frame = path.to_frame()
    assert frame["n_edges"].is_monotonic_increasing
    assert len(path.edges()) == frame["n_edges"].sum()


def test_paths_of_classes_and_long_tables(rng):
    X, Y = related_tasks(rng, 60, 3)
    path = structure_path(MultiTaskClassifier(alpha=1e-1), X, (Y > 0).astype(int), MUS, cv=3)
    grid = {"kernel": "linear", "alphas": [1e-1], "mus": MUS, "eps_factors": [1.0]}
    search = MultiTaskClassifierCV(**grid, cv=3).fit(X, (Y > 0).astype(int))
    np.testing.assert_allclose(path.scores, search.cv_results_["mean_test_score"][1:])
    tasks = np.arange(60) % 3
    path = structure_path(MultiTaskRegressor(alpha=1e-1), X, Y[np.arange(60), tasks], MUS, tasks=tasks, cv=3)
    assert path.structures.shape == (3, 3, 3)
    with pytest.raises(ValueError, match="penalty='trace' has no mu"):
        structure_path(MultiTaskRegressor("trace"), X, Y)
    with pytest.raises(TypeError, match="pass a MultiTaskRegressor"):
        structure_path(Sparse(), X, Y)


def test_a_path_may_leave_out_one_row_at_a_time(rng):
    """As a search does, with the structure of all rows."""
    X, Y = related_tasks(rng, 20, 3)
    path = structure_path(MultiTaskRegressor(alpha=0.1, kernel="rbf", gamma=0.2), X, Y, [0.5, 0.9], cv="loo")
    given = {"alphas": [0.1], "mus": [0.5, 0.9], "kernel": "rbf", "gammas": [0.2], "cv": "loo"}
    results = MultiTaskRegressorCV("sparse", **given).fit(X, Y).cv_results_
    shared = [not isinstance(row["penalty"], Independent) for row in results["params"]]
    # The search tries another eps, too.
    np.testing.assert_allclose(path.scores, results["mean_test_score"][shared][::2], rtol=1e-4)


@pytest.mark.parametrize(
    ("penalty", "advice"), [("trace", "dense; use the sparse penalty"), (Sparse(), "dense at any mu")]
)
def test_relations_of_all_pairs_on_all_halves_are_no_news(penalty, advice, rng):
    X, _ = related_tasks(rng, 24, 3)
    Y = X[:, :1] + 0.01 * rng.standard_normal((24, 3))
    given = {"max_false": 1e6} if isinstance(penalty, Sparse) else {}
    with pytest.warns(UserWarning, match=f"frequencies say nothing: this structure is {advice}"):
        edge_stability(MultiTaskRegressor(penalty, alpha=1.0), X, Y, 2, **given)


def test_stable_edges_are_the_true_ones(rng):
    X, Y = two_pairs(rng, 80)
    calls = []
    table = edge_stability(MultiTaskRegressor(Sparse(0.5), alpha=1e-2), X, Y, 20, callback=calls.append)
    stable = table[table["frequency"] > 0.9]
    assert set(zip(stable["task_a"], stable["task_b"], strict=True)) == {("a", "b"), ("c", "d")}
    weight = stable.set_index("task_a")["weight"]
    assert weight["a"] < 0 < weight["c"]
    assert (table["weight_low"] <= table["weight"]).all()
    assert (table["weight"] <= table["weight_high"]).all()
    assert calls[-1] == {"done": 20, "total": 20, "remaining": 0.0}
    assert table["frequency"].is_monotonic_decreasing
    assert all(equal["steadiness"].is_monotonic_decreasing for _, equal in table.groupby("frequency"))


def test_a_half_is_a_fit_on_its_rows(rng):
    """Two resamples are the halves of one shuffle: refit them with the estimator."""
    X, Y = two_pairs(rng, 40)
    est = MultiTaskRegressor(Sparse(0.7), kernel="rbf", gamma=0.1, alpha=1e-2, tol=1e-10)
    table = edge_stability(est, X, Y, 2, random_state=3)
    order = np.random.default_rng(3).permutation(40)
    halves = [clone(est).fit(X[rows], Y.iloc[rows]).structure_ for rows in (np.sort(order[::2]), np.sort(order[1::2]))]
    assert len(table) == np.count_nonzero(np.triu(np.abs(halves).sum(axis=0), 1)) > 1
    for _, edge in table.iterrows():
        a, b = "abcd".index(edge["task_a"]), "abcd".index(edge["task_b"])
        assert edge["frequency"] == np.mean([A[a, b] != 0.0 for A in halves])
        weights = [A[a, b] for A in halves]
        assert edge["weight"] == pytest.approx(np.mean(weights), rel=1e-6)
        assert edge["steadiness"] == pytest.approx(abs(np.mean(weights)) / np.std(weights), rel=1e-4)


def test_stability_in_parallel_and_in_long_format(rng):
    X, Y = two_pairs(rng, 60)
    tasks = np.array(list("abcd"))[np.arange(60) % 4]
    y = Y.to_numpy()[np.arange(60), np.arange(60) % 4]
    est = MultiTaskRegressor(alpha=1e-2)
    one = edge_stability(est, X, y, 6, tasks=tasks)
    two = edge_stability(est, X, y, 6, tasks=tasks, n_jobs=2)
    pd.testing.assert_frame_equal(one, two)


def test_stability_of_a_search_is_that_of_its_choice(rng):
    X, Y = two_pairs(rng, 40)
    search = MultiTaskRegressorCV(alphas=[1e-2, 1.0], mus=[0.6], eps_factors=[2.0], cv=3)
    chosen = clone(clone(search).fit(X, Y).best_estimator_)
    pd.testing.assert_frame_equal(edge_stability(search, X, Y, 4), edge_stability(chosen, X, Y, 4))


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_comparison_is_nested_selection(kernel, rng):
    """Scores against searches fitted to every training fold by hand."""
    X, Y = related_tasks(rng, 45, 3)
    rows = X if kernel == "linear" else rbf_kernel(X, gamma=0.1)
    estimator = MultiTaskRegressorCV(**{**SMALL, "kernel": kernel})
    table = compare_methods(rows, Y, ["sparse", "trace"], estimator=estimator, cv=3)
    expected = np.zeros(3)
    for train, test in KFold(3).split(X):
        block = rows[np.ix_(train, train)] if kernel == "precomputed" else rows[train]
        new = rows[np.ix_(test, train)] if kernel == "precomputed" else rows[test]
        F = clone(estimator).fit(block, Y[train]).predict(new)
        expected += (1.0 - ((Y[test] - F) ** 2).mean(axis=0) / Y.var(axis=0)) / 3.0
    sparse = table[table["method"] == "sparse"]
    np.testing.assert_allclose(sparse["score"].iloc[:3], expected, rtol=1e-8)
    assert sparse["score"].iloc[3] == pytest.approx(expected.mean())
    assert table["method"].unique().tolist() == ["sparse", "trace"]
    np.testing.assert_allclose(table["difference"], table["score"] - table["independent"], atol=1e-12)
    assert set(table["verdict"]) <= {"helps", "hurts", "too close to call", "no better than a constant"}


def test_verdicts_follow_the_interval(rng):
    """Without the correction for shared rows the interval is the paired t-test of scipy."""
    differences = rng.standard_normal((8, 3)) + np.array([3.0, 0.0, -3.0])
    low, high = paired_interval(differences, 0.0, 0.9)
    interval = stats.ttest_1samp(differences, 0.0).confidence_interval(0.9)
    np.testing.assert_allclose([low, high], [interval.low, interval.high])
    wide = paired_interval(differences, 0.25, 0.9)
    assert np.all(wide[0] < low)
    assert np.all(wide[1] > high)


def test_comparison_of_classes_and_long_tables(rng):
    X, Y = related_tasks(rng, 60, 3)
    labels = (Y > 0).astype(int)
    labels[:, 2] = 0
    labels[4, 2] = 1
    estimator = MultiTaskClassifierCV(alphas=[1e-1], mus=[0.8], eps_factors=[1.0], cv=2, loss="logistic")
    table = compare_methods(X, labels, ["sparse"], estimator=estimator, cv=2)
    assert table["score"].between(0.0, 1.0).all()
    tasks = np.arange(60) % 3
    y = Y[np.arange(60), tasks]
    table = compare_methods(X, y, ["sparse"], estimator=MultiTaskRegressorCV(**SMALL), cv=3, tasks=tasks)
    assert table["task"].tolist() == [0, 1, 2, "(all tasks)"]


def test_mistakes_are_named(rng):
    X, Y = related_tasks(rng, 20, 2)
    with pytest.raises(ValueError, match="no method to compare"):
        compare_methods(X, Y, ["independent"])
    with pytest.raises(TypeError, match="with CV at the end"):
        compare_methods(X, Y, estimator=MultiTaskRegressor())
    with pytest.raises(ValueError, match=r"level=95 must lie"):
        compare_methods(X, Y, level=95)
    with pytest.raises(ValueError, match="n_resamples=0"):
        edge_stability(MultiTaskRegressor(), X, Y, 0)


def test_stability_of_a_dense_structure_is_a_warning(rng):
    X, Y = related_tasks(rng, 40, 3)
    with pytest.warns(UserWarning, match="frequencies say nothing"):
        table = edge_stability(MultiTaskRegressor("trace", kernel="rbf"), X, Y, n_resamples=4)
    assert (table["frequency"] == 1.0).all()


def test_expected_false_edges_choose_the_threshold(rng):
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 5))
    est = MultiTaskRegressor(Sparse(1.0), alpha=1e-2)
    tables = [edge_stability(est, X, Y, 6, max_false=allowed) for allowed in (0.2, 2.0, 8.0)]
    mus = [table.attrs["mu"] for table in tables]
    assert mus[0] < mus[1] < mus[2]
    for allowed, table in zip((0.2, 2.0, 8.0), tables, strict=True):
        # Frequencies sum to the mean number of edges of a half; there are 10 pairs.
        assert table["frequency"].sum() ** 2 / (0.8 * 10) <= allowed
        denser = edge_stability(MultiTaskRegressor(Sparse(table.attrs["mu"] + 0.05), alpha=1e-2), X, Y, 6)
        assert denser["frequency"].sum() ** 2 / (0.8 * 10) > allowed


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("allowed", [0.2, 2.0])
def test_the_graph_to_look_at_is_that_of_its_mu_though_denser_ones_are_not_learned_on_all_halves(
    allowed, n_jobs, rng, monkeypatch
):
    """Every mu on its own, on the same halves, and the last before one has too many edges; fewer fits find the same."""
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 5))
    every = [edge_stability(MultiTaskRegressor(Sparse(mu), alpha=1e-2, tol=1e-9), X, Y, 6) for mu in STABILITY_MUS[:-1]]
    excess = [table["frequency"].sum() ** 2 / (0.8 * 10) > allowed for table in every]
    solves, solve = [], Training.solve
    monkeypatch.setattr(Training, "solve", lambda *args, **options: solves.append(1) or solve(*args, **options))
    with parallel_config("threading"):
        found = edge_stability(MultiTaskRegressor(alpha=1e-2, tol=1e-9), X, Y, 6, max_false=allowed, n_jobs=n_jobs)
    expected = every[excess.index(True) - 1]
    assert found.attrs["mu"] == expected.attrs["mu"]
    numbers = ["frequency", "weight", "weight_low", "weight_high"]
    order = ["task_a", "task_b"]
    ours, theirs = (table.sort_values(order)[[*order, *numbers]].reset_index(drop=True) for table in (found, expected))
    pd.testing.assert_frame_equal(ours, theirs, atol=1e-5)
    # In parallel halves begin before others are finished.
    assert n_jobs is not None or len(solves) < 6 * len(STABILITY_MUS)


def test_more_expected_false_edges_than_allowed_is_a_warning(rng):
    X, Y = related_tasks(rng, 40, 4)
    with pytest.warns(UserWarning, match="even at mu=0.1"):
        edge_stability(MultiTaskRegressor(Sparse(1.0), alpha=1e-3), X, Y, 4, max_false=0.01)


def test_expected_false_edges_need_a_threshold_to_choose(rng):
    X, Y = related_tasks(rng, 20, 3)
    with pytest.raises(ValueError, match="has no mu"):
        edge_stability(MultiTaskRegressor("trace"), X, Y, 2, max_false=1.0)


def test_independent_tasks_have_nothing_in_common(rng):
    """One function for all tasks, few rows each: the reference of a comparison must not learn it."""
    X, tasks = rng.standard_normal((120, 6)), np.arange(120) % 12
    y = X @ rng.standard_normal(6) + 0.5 * rng.standard_normal(120)
    estimator = MultiTaskRegressorCV(kernel="linear", alphas=[1e-2, 0.1, 1.0], mus=[0.9], cv=3)
    table = compare_methods(X, y, ["sparse"], estimator=estimator, tasks=tasks, cv=3)
    apart = compare_methods(X, y, ["sparse"], estimator=estimator.set_params(commons=[0.0]), tasks=tasks, cv=3)
    np.testing.assert_array_equal(table["independent"], apart["independent"])
    assert table["verdict"].iloc[-1] == "helps"


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ([Sparse(mu=0.1), Sparse(mu=1.0)], "the same name"),
        ({"low": Sparse(mu=0.1), "high": Sparse(mu=1.0)}, "the same as another method"),
        ({"a": "trace", "b": Trace()}, "the same as another method"),
    ],
)
def test_methods_that_a_search_makes_equal_are_refused(methods, message, rng):
    X, Y = related_tasks(rng, 20, 2)
    with pytest.raises(ValueError, match=message):
        compare_methods(X, Y, methods, estimator=MultiTaskRegressorCV(**SMALL))


def test_two_known_structures_are_two_methods(rng):
    X, Y = related_tasks(rng, 30, 2)
    methods = {"together": Fixed(np.eye(2) + 0.9), "against": Fixed(np.eye(2) - 0.4)}
    table = compare_methods(X, Y, methods, estimator=MultiTaskRegressorCV(alphas=[0.1], cv=2), cv=2)
    assert table["method"].unique().tolist() == ["together", "against"]


@pytest.mark.parametrize(
    ("numbers", "kept", "opening"),
    [
        ((0.5, 0.4, 0.0, 0.1, 0.05, 0.15), "sparse", "Sharing helps: "),
        ((0.3, 0.4, 0.0, -0.1, -0.15, -0.05), "independent", "Sharing hurts: "),
        ((0.41, 0.4, 0.0, 0.01, -0.05, 0.07), "sparse", "Too close to call: "),
        ((-0.2, -0.3, 0.0, 0.1, 0.05, 0.15), "sparse", "Worse than a constant: "),
        ((0.1, -0.3, 0.0, 0.4, 0.05, 0.75), "independent", "Worse than a constant: "),
        ((0.9, 0.9, 0.9, 0.0, -0.1, 0.1), "sparse", "No better than a constant: "),
        ((0.5, 0.5, 0.0, 0.0, 0.0, 0.0), "independent", "Sharing changes nothing: "),
        ((0.5, 0.4, None, 0.1, 0.05, 0.15), None, "Sharing helps: "),
    ],
)
def test_the_verdict_has_one_opening_for_each_case(numbers, kept, opening):
    """Worse than a constant comes first, whatever sharing does; the model that is kept is the one that is judged."""
    score, independent, constant, difference, low, high = numbers
    paired = PairedScores("sparse", "r2", score, independent, constant, difference, low, high)
    sentence = describe_verdict(paired, kept=kept)
    assert sentence.startswith(opening)
    if kept is not None and "onstant: " not in opening:
        assert sentence.endswith(f"The model that is kept is {kept}.")


def test_a_verdict_has_the_decimals_that_it_needs():
    helps = describe_verdict(PairedScores("sparse", "r2", 0.8436, 0.8426, 0.0, 1e-3, 2e-4, 1.8e-3))
    assert "Sharing helps" in helps
    assert "+0.0010 [+0.0002, +0.0018]" in helps


def test_an_end_that_decides_does_not_look_like_zero_in_the_terminal(capsys):
    row = {"method": "sparse", "scoring": "r2", "score": 0.8427, "independent": 0.8426, "constant": 0.0}
    numbers = {"difference": 1e-4, "low": 2e-5, "high": 1.8e-4, "verdict": "helps", "predictable": True}
    show_comparison(pd.DataFrame([{"task": task, **row, **numbers} for task in ("a", "b", "(all tasks)")]))
    assert "+0.00010 [+0.00002, +0.00018]" in capsys.readouterr().out
    numbers = {"difference": -1e-9, "low": -6e-4, "high": 0.0, "verdict": "too close to call", "predictable": True}
    show_comparison(pd.DataFrame([{"task": task, **row, **numbers} for task in ("a", "b", "(all tasks)")]))
    assert capsys.readouterr().out.count("0.0000 [-0.0006, 0.0000]") == 4
