"""What a search tries where its user names no kernel, and what it says that each part gained."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from problems import related_tasks
from scipy import sparse

from skmtl import MultiTaskClassifierCV, MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.model_selection import describe_gains, quick_search, recommended
from skmtl.model_selection.gains import STEPS, WORDS
from skmtl.penalties import Independent, Sparse
from skmtl.report.summary import summarize
from skmtl.tables import ColumnRoles, compare_table, make_problem
from skmtl.tables.pipeline import feature_groups, make_preparation


def kernels_tried(search):
    params = search.cv_results_["params"]
    return {row.get("kernel", search.best_estimator_.kernel) for row in params}


@pytest.fixture
def bent(rng):
    """Two of eight features matter, and not linearly."""
    X = rng.standard_normal((90, 8))
    Y = np.column_stack([np.sin(2 * X[:, 0]), np.sin(2 * X[:, 0]) + 0.5 * np.abs(X[:, 1]), np.abs(X[:, 1])])
    return X, Y + 0.1 * rng.standard_normal(Y.shape)


def test_nothing_named_is_kernels_metric_and_strengths(bent):
    X, Y = bent
    search = MultiTaskRegressorCV(cv=3).fit(X, Y)
    assert kernels_tried(search) == {"linear", "rbf", "laplacian"}
    assert {row["metric_rounds"] for row in search.cv_results_["params"]} == {0, 1, 2}
    assert any("strengths=[" in repr(row["penalty"]) for row in search.cv_results_["params"])
    again = MultiTaskRegressor(**search.best_params_).fit(X, Y)
    np.testing.assert_allclose(again.predict(X), search.predict(X), atol=1e-4)


def test_a_kernel_that_is_named_is_the_only_one_and_has_no_metric(bent):
    search = MultiTaskRegressorCV(kernel="rbf", cv=3, mus=[0.9]).fit(*bent)
    assert kernels_tried(search) == {"rbf"}
    assert "metric_rounds" not in search.cv_results_["params"][0]
    assert search.best_estimator_.metric_rounds == 0


def test_own_parameters_are_tried_at_the_best_strength(bent):
    search = MultiTaskRegressorCV(cv=3, alphas=[1e-3, 1e-2, 1e-1], mus=[0.5, 0.9, 1.0]).fit(*bent)
    scores = search.cv_results_["mean_test_score"]
    places = {}
    for score, row in zip(scores, search.cv_results_["params"], strict=True):
        if row["penalty"].name == "sparse":
            place = places.setdefault((row["kernel"], row["gamma"], row["metric_rounds"]), {0.5: {}, 0.9: {}, 1.0: {}})
            place[row["penalty"].mu][row["alpha"]] = score
    # With few labels relations are tried with every kernel, and with the metric.
    assert {kernel for kernel, _, _ in places} == {"linear", "rbf", "laplacian"}
    for place in places.values():
        assert sorted(place[0.9]) == [1e-3, 1e-2, 1e-1]
        assert list(place[0.5]) == list(place[1.0]) == [max(place[0.9], key=place[0.9].get)]


def test_the_best_width_is_refined(bent):
    options = {"cv": 3, "alphas": [1e-3, 1e-2], "metric_rounds": 0}
    coarse = MultiTaskRegressorCV("independent", kernel=["linear", "rbf", "laplacian"], **options).fit(*bent)
    fine = MultiTaskRegressorCV("independent", **options).fit(*bent)
    widths, more = (
        {(row["kernel"], row["gamma"]) for row in search.cv_results_["params"]} for search in (coarse, fine)
    )
    best = coarse.best_params_
    assert more - widths == {(best["kernel"], 0.5 * best["gamma"]), (best["kernel"], 2.0 * best["gamma"])}
    assert fine.best_score_ >= coarse.best_score_


def test_a_kernel_without_a_width_has_none_to_refine_and_relations_are_tried_all_the_same(rng):
    X = rng.standard_normal((60, 4))
    Y = X @ rng.standard_normal((4, 3)) + 0.1 * rng.standard_normal((60, 3))
    options = {"cv": 3, "alphas": [1e-3, 1e-2], "mus": [0.9], "metric_rounds": 0}
    search = MultiTaskRegressorCV(**options).fit(X, Y)
    assert search.best_estimator_.kernel == "linear"
    widths = {(row["kernel"], row["gamma"]) for row in search.cv_results_["params"]}
    coarse = MultiTaskRegressorCV(kernel=["linear", "rbf", "laplacian"], **options).fit(X, Y)
    assert widths == {(row["kernel"], row["gamma"]) for row in coarse.cv_results_["params"]}
    assert {row["penalty"].name for row in search.cv_results_["params"]} == {"independent", "sparse"}


@pytest.mark.parametrize("case", ["loo", "sparse rows", "many rows", "loss"])
def test_what_costs_too_much_is_left_out(case, bent, monkeypatch):
    X, Y = bent
    options = {"alphas": [1e-2], "mus": [0.9], "cv": 3}
    if case == "many rows":
        monkeypatch.setattr(recommended, "MOST_ROWS", 80)
    if case == "loo":
        options["cv"] = "loo"
    if case == "loss":
        options["loss"] = "huber"
    search = MultiTaskRegressorCV(**options).fit(sparse.csr_array(X) if case == "sparse rows" else X, Y)
    assert kernels_tried(search) == ({"linear", "rbf", "laplacian"} if case == "loo" else {"linear"})
    assert search.best_estimator_.metric_rounds == 0


def test_landmarks_allow_every_kernel_on_many_rows(bent, monkeypatch):
    monkeypatch.setattr(recommended, "MOST_ROWS", 80)
    search = MultiTaskRegressorCV(n_components=20, random_state=0, cv=3, alphas=[1e-2], mus=[0.9]).fit(*bent)
    assert kernels_tried(search) == {"linear", "rbf", "laplacian"}


def test_classes_choose_a_kernel_too(bent):
    X, Y = bent
    search = MultiTaskClassifierCV(cv=3, alphas=[1e-2], mus=[0.9]).fit(X, (Y > Y.mean(axis=0)).astype(int))
    assert search.best_estimator_.kernel != "linear"


def test_a_row_twice_does_not_change_the_widths(rng):
    X, Y = related_tasks(rng, 30, 2)
    options = {"kernel": "rbf", "alphas": [1e-2], "mus": [0.9], "cv": 3}
    once = MultiTaskRegressorCV(**options).fit(X, Y)
    twice = MultiTaskRegressorCV(**options).fit(np.tile(X, (2, 1)), np.tile(Y, (2, 1)))
    widths, again = (sorted(set(search.cv_results_["param_gamma"])) for search in (once, twice))
    np.testing.assert_allclose(widths, again, rtol=1e-12)


def test_gains_add_up_to_the_best_score(bent):
    search = MultiTaskRegressorCV(cv=3).fit(*bent)
    words = describe_gains(search)
    start = float(re.search(r"In the search R2 is (-?[\d.]+)", words)[1])
    gains = [float(number) for number in re.findall(r" adds (\d\.\d{3})\b", words)]
    assert all(name in words for name in ("kernel adds", *WORDS.values()))
    assert ("nothing is gained by" in words) == (words.count(" adds ") < 4)
    assert start + sum(gains) == pytest.approx(np.nanmax(search.cv_results_["mean_test_score"]), abs=0.02)
    assert gains[0] + gains[1] > 0.3
    # The kernel is the one that does best without the other steps.
    results = search.cv_results_
    plain = [
        (score, params["kernel"])
        for params, score in zip(results["params"], results["mean_test_score"], strict=True)
        if params["penalty"].get_params() == {"strengths": None} and not params["metric_rounds"] + params["common"]
    ]
    assert f"the {max(plain)[1]} kernel adds" in words


def test_gains_name_only_what_was_tried(bent):
    assert describe_gains(MultiTaskRegressorCV("independent", kernel="rbf", gammas=[0.1]).fit(*bent)) == ""
    words = describe_gains(MultiTaskRegressorCV(kernel="linear", mus=[0.9], cv=3).fit(*bent))
    assert "graph" in words
    assert not any(name in words for name in ("scaling", "a strength", "kernel adds"))


def test_what_gains_nothing_is_said_without_a_number(rng):
    X = rng.standard_normal((60, 3))
    Y = X @ rng.standard_normal((3, 2)) + 0.1 * rng.standard_normal((60, 2))
    search = MultiTaskRegressorCV(kernel=["linear", "rbf"], gammas=[10.0], mus=[0.9], cv=3).fit(X, Y)
    words = describe_gains(search)
    assert "nothing is gained by other kernels" in words
    assert "the linear kernel adds" not in words
    assert "adds 0.000" not in words


def test_categories_of_one_column_are_one_group():
    frame = pd.DataFrame({"a": np.arange(12.0), "b": list("xyz") * 4, "c": list("uv") * 6, "y": np.arange(12.0) ** 2})
    problem = make_problem(frame, ColumnRoles(["y"]))
    assert feature_groups(make_preparation(problem.features).fit(problem.X)) == list("abbbcc")


def test_the_report_of_a_search_says_what_gained(bent):
    search = MultiTaskRegressorCV(cv=3, alphas=[1e-2], mus=[0.9]).fit(*bent)
    assert summarize(search)["selection"]["gains"] == describe_gains(search) != ""


def test_a_comparison_says_what_kernel_metric_and_graph_gained(bent):
    X, Y = bent
    columns = [f"x{k}" for k in range(X.shape[1])] + [f"y{t}" for t in range(Y.shape[1])]
    problem = make_problem(pd.DataFrame(np.hstack([X, Y]), columns=columns), ColumnRoles(columns[X.shape[1] :]))
    comparison, reasons = compare_table(problem, ["trace"], search=quick_search(alphas=[1e-2], cv=3))
    said = [reason for reason in reasons if reason.startswith("In the search ")]
    assert len(said) == 1
    assert all(name in said[0] for name in ("kernel", WORDS["metric"], "the graph (trace"))
    whole = comparison.loc[comparison["task"] == "(all tasks)", "difference"].item()
    amount = f"{abs(whole):.3f}" if abs(whole) >= 5e-4 else "less than 0.001"
    assert f"the graph (trace, on rows that chose nothing) {'adds' if whole >= 0.0 else 'takes'} {amount}" in said[0]


def candidate(kernel, penalty=None, *, rounds=0, common=0.0):
    penalty = Independent() if penalty is None else penalty
    return {"kernel": kernel, "penalty": penalty, "metric_rounds": rounds, "common": common}


@pytest.mark.parametrize(
    "other",
    [
        candidate("laplacian", rounds=1),
        candidate("laplacian", Independent(strengths=[1.0, 2.0])),
        candidate("laplacian", Sparse(0.9)),
        candidate("laplacian", common=1.0),
    ],
)
def test_the_kernel_that_gains_is_the_best_of_those_without_other_steps(other):
    tried = [candidate("linear"), candidate("rbf"), candidate("laplacian"), candidate("poly"), other]
    means = np.array([0.125, 0.5, 0.25, np.nan, 0.875])
    best = SimpleNamespace(kernel="laplacian", metric_rounds=0)
    results = {"params": tried, "mean_test_score": means}
    search = SimpleNamespace(cv_results_=results, best_estimator_=best, scoring_="r2", task_names_=["a", "b"])
    words = describe_gains(search)
    step = "metric" if other["metric_rounds"] else "graph"
    step = "own strengths" if other["penalty"].get_params().get("strengths") else step
    start = "In the search R2 within folds is 0.125 for the linear kernel with independent tasks"
    there = f"{WORDS[step]} with the laplacian kernel adds 0.375."
    assert words == f"{start}; the rbf kernel adds 0.375, {there}"
    # What is not asked for is not said, and what comes after it is counted from where it led.
    assert describe_gains(search, ["kernel"]) == f"{start}; the rbf kernel adds 0.375."
    assert describe_gains(search, [step]) == f"{start}; {there}"


def test_a_step_that_gains_nothing_is_idle():
    tried = [candidate("linear"), candidate("rbf"), candidate("rbf", rounds=1), candidate("rbf", Sparse(0.9))]
    results = {"params": tried, "mean_test_score": np.array([0.5, 0.25, 0.75, 0.75])}
    best = SimpleNamespace(kernel="rbf", metric_rounds=1)
    search = SimpleNamespace(cv_results_=results, best_estimator_=best, scoring_="r2", task_names_=["a", "b"])
    start = "In the search R2 within folds is 0.500 for the linear kernel with independent tasks"
    start = f"{start}; scaling the features with the rbf kernel adds 0.250; nothing is gained by"
    # Another kernel that gains nothing alone is used with the metric.
    assert describe_gains(search) == f"{start} other kernels alone or the graph."
    best.kernel = "linear"
    assert describe_gains(search) == f"{start} other kernels or the graph."
    # And so is a metric that gains nothing but with the graph.
    results["mean_test_score"] = np.array([0.5, 0.25, 0.5, 0.75])
    assert describe_gains(search).endswith("; nothing is gained by other kernels or scaling the features alone.")
    # What three decimals do not show is small, and not nothing; and so is a score near zero.
    results["mean_test_score"] = np.array([-2e-5, -1.0, 1e-5, 2e-4])
    said = "0.000 for the linear kernel with independent tasks; scaling the features with the rbf kernel adds less than"
    assert f"is {said} 0.001, the graph adds less than 0.001;" in describe_gains(search)
    results["mean_test_score"] = np.full(4, np.nan)
    assert describe_gains(search) == ""


def test_where_the_graph_decides_for_another_kernel_that_is_said():
    """Otherwise a kernel would be used that gains nothing, beside one that gains."""
    tried = [candidate("linear"), candidate("rbf", rounds=1), candidate("linear", Sparse(0.9)), candidate("rbf")]
    results = {"params": tried, "mean_test_score": np.array([0.25, 0.5, 0.75, 0.125])}
    best = SimpleNamespace(kernel="linear", metric_rounds=0)
    search = SimpleNamespace(cv_results_=results, best_estimator_=best, scoring_="r2", task_names_=["a", "b"])
    said = describe_gains(search, STEPS[:-1])
    assert "; scaling the features with the rbf kernel adds 0.250; nothing is gained by other kernels; " in said
    assert said.endswith("; where tasks share, the linear kernel on unscaled features is best.")
    # Where the graph is said it names its kernel, and where it has the same there is nothing to explain.
    assert "where tasks share" not in describe_gains(search)
    tried[2] = candidate("rbf", Sparse(0.9), rounds=2)
    assert "where tasks share" not in describe_gains(search, STEPS[:-1])
    tried[2] = candidate("rbf", Sparse(0.9))
    assert "; where tasks share, the rbf kernel on unscaled features is best." in describe_gains(search, STEPS[:-1])
    # Nor where it gains nothing.
    results["mean_test_score"][2] = 0.5
    assert "where tasks share" not in describe_gains(search, STEPS[:-1])


def test_one_task_is_not_called_independent_tasks():
    results = {"params": [candidate("linear"), candidate("rbf")], "mean_test_score": np.array([0.25, 0.5])}
    best = SimpleNamespace(kernel="rbf", metric_rounds=0)
    search = SimpleNamespace(cv_results_=results, best_estimator_=best, scoring_="pooled_r2", task_names_=["a"])
    assert describe_gains(search) == "In the search R2 is 0.250 for the linear kernel; the rbf kernel adds 0.250."
