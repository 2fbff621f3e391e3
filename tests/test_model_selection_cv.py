"""Estimators that choose their own parameters: the search against refitting, its rules, and hard cases."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from problems import expected_failures, random_psd, related_tasks, with_gaps
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import accuracy_score, average_precision_score, r2_score, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

import skmtl.model_selection.run
import skmtl.solvers.design
from skmtl import MultiTaskClassifier, MultiTaskRegressor, edge_stability
from skmtl.model_selection import SCORES, MultiTaskClassifierCV, MultiTaskRegressorCV, target_scores
from skmtl.model_selection.candidates import Candidate, CandidateScores, choose, make_results
from skmtl.model_selection.verdict import describe_choice
from skmtl.penalties import Fixed, Independent, Sparse
from skmtl.solvers.training import Settings

SMALL = {"kernel": "linear", "alphas": [1e-3, 1e-1], "mus": [0.8], "eps_factors": [1.0], "cv": 3}


@parametrize_with_checks(
    [
        MultiTaskRegressorCV(**SMALL),
        MultiTaskClassifierCV(**SMALL),
        MultiTaskRegressorCV("independent", alphas=[1e-2], kernel="rbf", gammas=[0.1, 1.0], cv=2),
        MultiTaskClassifierCV("independent", alphas=[1e-2], kernel="rbf", gammas=[0.1], loss="logistic", cv=2),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def refitted(params, **shared):
    """The estimator of one candidate."""
    params = dict(params)
    assert params.pop("eps_factor") == 1.0
    return MultiTaskRegressor(**params, **shared)


@pytest.mark.parametrize(("kernel", "gammas"), [("linear", None), ("rbf", [0.2])])
@pytest.mark.parametrize("penalty", ["sparse", ["trace", "frobenius"], ["cluster", "laplacian"]])
def test_search_is_refitting_on_every_fold(penalty, kernel, gammas, rng):
    """Every score of the search against an estimator fitted to the fold by itself."""
    X, Y = related_tasks(rng, 40, 4)
    X, Y = X + 1.0, 5.0 * Y + 3.0
    mus = [0.6, 0.9] if penalty == "sparse" else None
    search = MultiTaskRegressorCV(
        penalty, alphas=[1e-3, 1e-1], mus=mus, eps_factors=[1.0], kernel=kernel, gammas=gammas, cv=3, tol=1e-4
    ).fit(X, Y)
    results = search.cv_results_
    variance = Y.var(axis=0)
    assert results["params"][0]["penalty"].name == "independent"
    for i, params in enumerate(results["params"]):
        for k, (train, test) in enumerate(KFold(3).split(X)):
            est = refitted(params, kernel=kernel, tol=1e-8).fit(X[train], Y[train])
            error = (Y[test] - est.predict(X[test])) ** 2
            expected = 1.0 - np.mean(error.mean(axis=0) / variance)
            assert results[f"split{k}_test_score"][i] == pytest.approx(expected, abs=2e-2)
            if params["penalty"].name == "independent":
                assert results[f"split{k}_test_score"][i] == pytest.approx(expected, abs=1e-10)
    assert search.best_score_ == results["mean_test_score"].max()


def test_the_final_fit_is_that_of_the_estimator(rng):
    X, Y = related_tasks(rng, 40, 4)
    search = MultiTaskRegressorCV(alphas=[1e-2], mus=[0.9], eps_factors=[1.0], kernel="rbf", gammas=[0.2]).fit(X, Y)
    est = MultiTaskRegressor(**search.best_params_).fit(X, Y)
    np.testing.assert_allclose(search.predict(X), est.predict(X), rtol=1e-12)
    np.testing.assert_allclose(search.structure_, est.structure_, rtol=1e-12)
    assert search.eps_ == est.eps_
    assert search.relations().equals(est.relations())


def test_eps_factors_are_multiples_of_the_automatic_one(rng):
    X, Y = related_tasks(rng, 40, 4, rank=1, noise=1.0)
    search = MultiTaskRegressorCV(
        Sparse(), kernel="linear", alphas=[1e-2], mus=[0.9], eps_factors=[50.0], commons=[0.0]
    ).fit(X, Y)
    auto = MultiTaskRegressor("independent", alpha=1e-2).fit(X, Y).eps_
    assert search.penalty_.name == "sparse"
    assert search.eps_ == search.best_params_["eps"] == pytest.approx(50.0 * auto)
    assert set(search.cv_results_["param_eps_factor"][1:]) == {50.0}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("eps_factor", [1.0, 30.0])
def test_what_was_chosen_makes_the_same_estimator(kernel, eps_factor, rng):
    X, Y = related_tasks(rng, 40, 4)
    grid = {**SMALL, "eps_factors": [eps_factor], "kernel": kernel}
    search = MultiTaskRegressorCV(["sparse", "trace"], **grid).fit(X, Y)
    again = MultiTaskRegressor(**search.best_params_).fit(X, Y)
    np.testing.assert_allclose(again.predict(X), search.predict(X), rtol=1e-9)
    best = search.best_estimator_
    assert (search.alpha_, search.gamma_, search.common_) == (best.alpha, best.gamma, best.common)
    assert search.penalty_ is best.penalty_
    assert type(best) is MultiTaskRegressor
    assert not isinstance(search, MultiTaskRegressor)


def test_a_search_hands_on_what_its_best_estimator_knows(rng):
    X, Y = related_tasks(rng, 40, 3)
    search = MultiTaskRegressorCV(**SMALL)
    assert not hasattr(search, "structure_")
    search.fit(X, pd.DataFrame(Y, columns=["a", "b", "c"]))
    best = search.best_estimator_
    for name in ("structure_", "coef_", "intercept_", "task_names_", "solution_", "correlation_", "eps_", "n_iter_"):
        assert np.array_equal(getattr(search, name), getattr(best, name)) or getattr(search, name) is getattr(
            best, name
        )
    for call in ("predict", "predict_frame"):
        assert np.array_equal(getattr(search, call)(X), getattr(best, call)(X))
    assert search.score(X, Y) == best.score(X, Y)
    assert search.relations().equals(best.relations())
    assert search.to_networkx().edges == best.to_networkx().edges
    with pytest.raises(AttributeError, match="no attribute 'dual_coef_'"):
        _ = search.dual_coef_


@pytest.mark.parametrize("long", [False, True])
def test_the_score_called_r2_is_what_score_gives(long, rng):
    X, Y = related_tasks(rng, 40, 3)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    tasks = None
    if long:
        rows, tasks = np.nonzero(~np.isnan(Y))
        X, Y = X[rows], Y[rows, tasks]
    cv = [*KFold(3, shuffle=True, random_state=0).split(X)]
    search = MultiTaskRegressorCV("independent", kernel="linear", alphas=[1e-2], commons=[0.0], cv=cv, scoring="r2")
    expected = []
    for train, test in cv:
        part = [{} if tasks is None else {"tasks": tasks[rows]} for rows in (train, test)]
        est = MultiTaskRegressor("independent", alpha=1e-2).fit(X[train], Y[train], **part[0])
        expected.append(est.score(X[test], Y[test], **part[1]))
    # With gaps the search solves no better than comparing candidates needs.
    assert search.fit(X, Y, tasks=tasks).best_score_ == pytest.approx(np.mean(expected), abs=1e-4)
    assert search.scoring_ == "r2"


@pytest.mark.parametrize("y", ["classes", "labels", "long"])
def test_the_score_called_accuracy_is_what_score_gives(y, rng):
    X, Y = related_tasks(rng, 60, 3)
    tasks = None
    labels = Y.argmax(axis=1) if y == "classes" else (Y > 0.0).astype(int)
    if y == "long":
        tasks = np.arange(60) % 3
        labels = labels[np.arange(60), tasks]
    cv = [*KFold(3, shuffle=True, random_state=0).split(X)]
    search = MultiTaskClassifierCV(
        "independent", kernel="linear", alphas=[1e-2], commons=[0.0], cv=cv, scoring="accuracy"
    )
    expected = []
    for train, test in cv:
        part = [{} if tasks is None else {"tasks": tasks[rows]} for rows in (train, test)]
        est = MultiTaskClassifier("independent", alpha=1e-2).fit(X[train], labels[train], **part[0])
        expected.append(est.score(X[test], labels[test], **part[1]))
    assert search.fit(X, labels, tasks=tasks).best_score_ == pytest.approx(np.mean(expected), rel=1e-10)
    default = clone(search).set_params(scoring=None).fit(X, labels, tasks=tasks)
    assert default.scoring_ == ("accuracy" if y == "classes" else "task_accuracy")


def test_independent_tasks_alone_are_grid_search_over_kernel_ridge(rng):
    X, Y = related_tasks(rng, 60, 3)
    alphas = np.logspace(-4, 0, 5)
    options = {"kernel": "rbf", "gammas": [0.3], "fit_intercept": False, "scoring": "neg_mean_squared_error"}
    ours = MultiTaskRegressorCV("independent", alphas=alphas, cv=5, **options).fit(X, Y)
    theirs = GridSearchCV(
        KernelRidge(kernel="rbf", gamma=0.3), {"alpha": 48 * alphas[::-1]}, scoring="neg_mean_squared_error", cv=5
    ).fit(X, Y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-8)
    assert ours.best_index_ == theirs.best_index_
    assert "nothing is shared" in ours.verdict_


def test_a_scorer_of_scikit_learn_agrees_with_cross_val_score(rng):
    X, y = load_iris(return_X_y=True)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    search = MultiTaskClassifierCV(
        "independent", alphas=[1e-3], kernel="rbf", gammas=[0.5], scoring="balanced_accuracy", cv=cv
    ).fit(X, y)
    est = MultiTaskClassifier("independent", alpha=1e-3, kernel="rbf", gamma=0.5)
    expected = cross_val_score(est, X, y, scoring="balanced_accuracy", cv=cv)
    ours = [search.cv_results_[f"split{k}_test_score"][0] for k in range(3)]
    np.testing.assert_allclose(ours, expected)
    default = clone(search).set_params(scoring=None).fit(X, y)
    assert default.best_score_ == pytest.approx(cross_val_score(est, X, y, cv=cv).mean())


@pytest.mark.parametrize("intercept", [False, True])
def test_loo_scores_are_those_of_refitting_with_the_same_structure(intercept, rng):
    X, Y = related_tasks(rng, 15, 3, n_features=30)
    search = MultiTaskRegressorCV(
        Fixed(np.eye(3) + 0.5),
        kernel="linear",
        alphas=[1e-2],
        cv="loo",
        fit_intercept=intercept,
        scale_targets=False,
    ).fit(X, Y)
    for i, structure in enumerate((np.eye(3), np.eye(3) + 0.5)):
        F = np.empty_like(Y)
        for row in range(15):
            rest = np.arange(15) != row
            est = MultiTaskRegressor(
                Fixed(structure), alpha=1e-2 * 15 / 14, fit_intercept=intercept, scale_targets=False
            )
            F[row] = est.fit(X[rest], Y[rest]).predict(X[[row]])[0]
        expected = target_scores(Y, F, "r2")["mean"]
        assert search.cv_results_["mean_test_score"][i] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("cv", "total"), [("loo", 1), (3, 3)])
def test_progress_counts_the_parts_that_there_are(cv, total, rng):
    calls = []
    X, Y = related_tasks(rng, 30, 3)
    MultiTaskRegressorCV(kernel="linear", alphas=[0.1, 1.0], mus=[0.9], cv=cv, callback=calls.append).fit(X, Y)
    # The last fit, on all rows, tells of its certificates.
    parts = [call for call in calls if "done" in call]
    assert [(part["done"], part["total"]) for part in parts] == [(k, total) for k in range(1, total + 1)]
    assert parts[-1]["remaining"] == 0.0


def score_by_hand(name, Y, F, variance):
    """More is better; ``variance`` is that of each task over all rows."""
    nmse = np.mean((Y - F) ** 2, axis=0) / variance
    return {
        "pooled_r2": lambda: 1.0 - nmse.mean(),
        "r2": lambda: r2_score(Y, F),
        "nmse": lambda: -nmse.mean(),
        "arrmse": lambda: -np.sqrt(nmse).mean(),
        "task_accuracy": lambda: np.mean((F > 0) == Y),
        "accuracy": lambda: accuracy_score(Y, F > 0),
        "average_precision": lambda: average_precision_score(Y, F),
        "roc_auc": lambda: roc_auc_score(Y, F),
    }[name]()


@pytest.mark.parametrize("scoring", SCORES)
@pytest.mark.parametrize("cv", [3, "loo"])
def test_every_score_is_that_of_refitting(scoring, cv, rng):
    """Independent tasks, whose fit is in closed form; with "loo" n alpha is held, and all rows are scored at once."""
    X, Y = related_tasks(rng, 30, 3)
    variance = Y.var(axis=0)
    search, model, predict = MultiTaskRegressorCV, MultiTaskRegressor, "predict"
    if SCORES[scoring].for_classes:
        search, model, predict = MultiTaskClassifierCV, MultiTaskClassifier, "decision_function"
        Y = (Y > 0).astype(int)
    F, splits = np.empty(Y.shape), list((LeaveOneOut() if cv == "loo" else KFold(3)).split(X))
    for train, test in splits:
        est = model("independent", alpha=1e-2 * (30 / 29 if cv == "loo" else 1.0)).fit(X[train], Y[train])
        F[test] = getattr(est, predict)(X[test])
    tests = [np.arange(30)] if cv == "loo" else [test for _, test in splits]
    expected = np.mean([score_by_hand(scoring, Y[test], F[test], variance) for test in tests])
    found = search("independent", kernel="linear", alphas=[1e-2], cv=cv, scoring=scoring).fit(X, Y)
    assert found.best_score_ == pytest.approx(expected, abs=1e-10)


def test_precomputed_kernel_is_sliced(rng):
    X, Y = related_tasks(rng, 40, 3)
    Y[3] = np.nan
    Y[5:9, 1] = np.nan
    K = rbf_kernel(X, gamma=0.3)
    options = {"alphas": [1e-3, 1e-2], "mus": [0.9], "eps_factors": [1.0]}
    with pytest.warns(UserWarning, match="1 row has no label"):
        a = MultiTaskRegressorCV(kernel="precomputed", **options).fit(K, Y)
    with pytest.warns(UserWarning, match="1 row has no label"):
        b = MultiTaskRegressorCV(kernel="rbf", gammas=[0.3], **options).fit(X, Y)
    np.testing.assert_allclose(a.cv_results_["mean_test_score"], b.cv_results_["mean_test_score"], rtol=1e-8)
    np.testing.assert_allclose(a.predict(K), b.predict(X), rtol=1e-8, atol=1e-8)


def test_long_format_is_the_table_with_gaps(rng):
    X, Y = related_tasks(rng, 60, 3)
    tasks = rng.integers(0, 3, 60)
    table = np.full_like(Y, np.nan)
    table[np.arange(60), tasks] = y = Y[np.arange(60), tasks]
    options = {"kernel": "linear", "alphas": [1e-2, 1e-1], "mus": [0.9], "eps_factors": [1.0]}
    long = MultiTaskRegressorCV(**options).fit(X, y, tasks=tasks)
    wide = MultiTaskRegressorCV(**options).fit(X, table)
    assert set(long.cv_results_["param_common"]) == {0.0, 10.0}
    np.testing.assert_allclose(long.cv_results_["mean_test_score"], wide.cv_results_["mean_test_score"], rtol=1e-10)
    np.testing.assert_allclose(long.predict(X, tasks=tasks), wide.predict(X)[np.arange(60), tasks], rtol=1e-10)


def test_a_task_with_one_row_is_left_out_where_it_has_no_label(rng):
    X, y = rng.standard_normal((21, 2)), rng.standard_normal(21)
    tasks = np.array(["a"] * 10 + ["b"] * 10 + ["c"])
    search = MultiTaskRegressorCV(**SMALL).fit(X, y, tasks=tasks)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    classes = MultiTaskClassifierCV(**SMALL).fit(X, y > 0, tasks=tasks)
    assert np.isfinite(classes.best_score_)
    # The fold that holds the lone row scores the other tasks as if it were not there; n is labels per task.
    splits = [(np.arange(15), np.arange(15, 21))]
    three = MultiTaskRegressorCV("independent", kernel="linear", alphas=[0.15], commons=[0.0], cv=splits).fit(
        X, y, tasks=tasks
    )
    two = MultiTaskRegressorCV(
        "independent", kernel="linear", alphas=[0.10], commons=[0.0], cv=[(np.arange(15), np.arange(15, 20))]
    )
    two.fit(X[:20], y[:20], tasks=tasks[:20])
    assert three.best_score_ == pytest.approx(two.best_score_, rel=1e-8)


def test_weights_are_repetitions(rng):
    X, Y = related_tasks(rng, 30, 3)
    twice = np.concatenate([np.arange(30), np.arange(10)])
    groups = np.arange(30) % 3
    splits = [(np.flatnonzero(groups != k), np.flatnonzero(groups == k)) for k in range(3)]
    repeated = [(np.flatnonzero(groups[twice] != k), np.flatnonzero(groups[twice] == k)) for k in range(3)]
    options = {**SMALL, "tol": 1e-8}
    a = MultiTaskRegressorCV(**{**options, "cv": splits}).fit(X, Y, sample_weight=1.0 + (np.arange(30) < 10))
    b = MultiTaskRegressorCV(**{**options, "cv": repeated}).fit(X[twice], Y[twice])
    np.testing.assert_allclose(a.cv_results_["mean_test_score"], b.cv_results_["mean_test_score"], atol=1e-3)
    assert a.best_index_ == b.best_index_


def test_folds_in_parallel_change_nothing(rng):
    X, Y = related_tasks(rng, 30, 3)
    one = MultiTaskRegressorCV(**SMALL).fit(X, Y)
    two = MultiTaskRegressorCV(**SMALL, n_jobs=2).fit(X, Y)
    np.testing.assert_allclose(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], rtol=1e-9)


def test_one_standard_error_prefers_the_sparser_graph(rng):
    X, Y = related_tasks(rng, 60, 5, noise=1.0)
    options = {"alphas": [1e-2, 1e-1], "eps_factors": [1.0]}
    best = MultiTaskRegressorCV(**options).fit(X, Y)
    sparse = MultiTaskRegressorCV(**options, rule="1se").fit(X, Y)
    results = sparse.cv_results_
    scores = np.array([results[f"split{k}_test_score"] for k in range(5)])
    behind = scores[:, [best.best_index_]] - scores
    allowed = behind.mean(axis=0) <= behind.std(axis=0, ddof=1) / np.sqrt(5)
    assert allowed[sparse.best_index_]
    assert results["mean_edges"][sparse.best_index_] == results["mean_edges"][allowed].min()
    assert sparse.best_score_ <= best.best_score_


def test_the_verdict_says_who_won(rng):
    X, Y = related_tasks(rng, 60, 4)
    # All tasks forced to be one: bad for tasks that differ, good for copies of one.
    alike = MultiTaskRegressorCV(Fixed(np.ones((4, 4))), alphas=[1e-2], kernel="rbf", gammas=[0.1])
    apart = clone(alike).fit(X, Y).verdict_
    assert apart.startswith("Sharing hurts: ")
    assert apart.endswith("The model that is kept is independent.")
    rows = rng.standard_normal((100, 8))
    copies = rows[:, [0]] + 0.7 * rng.standard_normal((100, 4))
    together = clone(alike).set_params(alphas=[1e-4], cv=10).fit(rows, copies).verdict_
    assert together.startswith("Sharing helps: ")
    assert together.endswith("The model that is kept is fixed.")


def test_one_standard_error_says_that_the_best_was_passed_over():
    graph = Candidate(Settings(Sparse(), 1.0), own={"mu": 0.9})
    alone = Candidate(Settings(Independent(), 1.0))
    outcome = CandidateScores(
        scores=np.array([[0.5, 0.1, 0.3], [0.4, 0.2, 0.28]]),
        edges=np.array([[4.0] * 3, [0.0] * 3]),
        means=np.array([0.3, 0.88 / 3]),
    )
    assert choose(outcome, "best") == 0
    assert choose(outcome, "1se") == 1
    published = {
        "cv_results_": make_results([graph, alone], outcome),
        "scoring_": "r2",
        "constant_score_": 0.0,
        "test_share_": 0.5,
        "rule": "1se",
    }
    words = [describe_choice(SimpleNamespace(**published, best_index_=k)) for k in (0, 1)]
    assert all(text.startswith("Too close to call: ") for text in words)
    assert words[0].endswith("The model that is kept is sparse.")
    assert "is independent, the sparsest within one standard error" in words[1]
    # Scores of order take an alpha in the middle, which has nothing to do with the graph.
    middle = describe_choice(SimpleNamespace(**{**published, "rule": "best"}, best_index_=1))
    assert middle.endswith("The model that is kept is independent.")


def test_one_task(rng):
    X, Y = related_tasks(rng, 30, 1)
    search = MultiTaskRegressorCV(kernel="rbf").fit(X, Y[:, 0])
    assert search.predict(X).shape == (30,)
    assert search.penalty_.name == "independent"
    assert len(set(search.cv_results_["param_gamma"])) == 4
    # Nothing is common to one task.
    assert set(search.cv_results_["param_common"]) == {0.0}


def test_constant_targets(rng):
    X, Y = related_tasks(rng, 30, 3)
    Y[:, 1] = 7.0
    for cv in (5, "loo"):
        search = MultiTaskRegressorCV(**{**SMALL, "cv": cv}).fit(X, Y)
        np.testing.assert_allclose(search.predict(X)[:, 1], 7.0)
    constant = MultiTaskRegressorCV(**SMALL).fit(X, np.full(30, 2.0))
    assert constant.best_score_ == 1.0


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge"])
def test_a_fold_that_misses_a_class(loss, rng):
    X = rng.standard_normal((20, 2))
    Y = (rng.random((20, 3)) < 0.5).astype(int)
    Y[:, 2] = 0
    Y[7, 2] = 1
    search = MultiTaskClassifierCV(alphas=[1e-1], mus=[0.9], eps_factors=[1.0], loss=loss).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    y = np.array(["a"] * 9 + ["b"] * 10 + ["c"])
    assert MultiTaskClassifierCV(alphas=[1e-1], mus=[0.9], eps_factors=[1.0], loss=loss).fit(X, y).best_score_ > 0.0


def test_a_score_that_no_fold_defines_is_a_sentence(rng):
    X = rng.standard_normal((20, 2))
    Y = np.zeros((20, 2), dtype=int)
    Y[:10] = 1
    with pytest.raises(ValueError, match="not defined for any candidate"):
        MultiTaskClassifierCV(**{**SMALL, "cv": 2}, scoring="average_precision").fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "2se"}, "rule='2se' is not known; choose one of best, 1se"),
        ({"cv": 1}, "at least 2 folds"),
        ({"cv": 50}, "need at least 50 rows"),
        ({"cv": "five"}, "cv='five' is not known"),
        ({"mus": [0.5], "penalty": "trace"}, "trace has no mu"),
        ({"mus": []}, "mus is empty"),
        ({"alphas": [-1.0]}, "an entry of alphas"),
        ({"mus": [1.5]}, "mu=1.5 must lie between"),
        ({"penalty": []}, "empty list"),
        ({"gammas": [1.0], "kernel": "linear"}, "kernel='linear' has no gamma"),
        ({"scoring": "accuracy"}, "is for classes"),
        ({"cv": "loo", "loss": "huber"}, 'needs loss="square"'),
        ({"cv": "loo", "scoring": "neg_mean_squared_error"}, 'not possible with cv="loo"'),
    ],
)
def test_mistakes_are_named(options, message, rng):
    X, Y = related_tasks(rng, 20, 2)
    with pytest.raises(ValueError, match=message):
        MultiTaskRegressorCV(**options).fit(X, Y)


@pytest.mark.parametrize("layout", ["complete", "gaps", "weights", "long"])
@pytest.mark.parametrize(("kernel", "n_features"), [("linear", 3), ("linear", 40), ("rbf", 4)])
@pytest.mark.parametrize("intercept", [True, False])
def test_leaving_one_out_is_refitting(layout, kernel, n_features, intercept, rng):
    """The score of a known structure against n fits without each row, with the same n alpha."""
    X, Y = related_tasks(rng, 24, 3, n_features=n_features)
    X, Y, weight = X + 3.0, 5.0 * Y + 10.0, np.ones((24, 3))
    Y = with_gaps(rng, Y) if layout == "gaps" else Y
    weight = rng.uniform(0.5, 2.0, Y.shape) if layout == "weights" else np.where(np.isnan(Y), 0.0, weight)
    tasks = None
    if layout == "long":
        tasks = np.arange(24) % 3
        Y, weight = Y[np.arange(24), tasks], np.ones(24)
    A, alpha = random_psd(rng, 3), 1e-2
    shared = {"kernel": kernel, "fit_intercept": intercept, "scale_targets": False, "tol": 1e-10}
    given = {"sample_weight": weight} if layout == "weights" else {}
    search = MultiTaskRegressorCV(
        Fixed(A),
        alphas=[alpha],
        commons=[0.0],
        cv="loo",
        scoring="nmse",
        gammas=None if kernel == "linear" else [0.2],
        **shared,
    ).fit(X, Y, tasks=tasks, **given)
    F = np.zeros_like(Y)
    for i in range(24):
        rest = np.arange(24) != i
        same = alpha * weight.sum() / weight[rest].sum()
        part = {name: value[rest] for name, value in given.items()}
        part |= {} if tasks is None else {"tasks": tasks[rest]}
        gamma = {} if kernel == "linear" else {"gamma": 0.2}
        est = MultiTaskRegressor(Fixed(A), alpha=same, **gamma, **shared).fit(X[rest], Y[rest], **part)
        one = {} if tasks is None else {"tasks": tasks[[i]]}
        F[i] = est.predict(X[[i]], **one)[0]
    errors = np.where(weight > 0.0, (Y - F) ** 2, 0.0) * weight
    by_task = [t == tasks if tasks is not None else (slice(None), t) for t in range(3)]
    totals = [weight[own].sum() for own in by_task]
    means = [np.nansum((weight * Y)[own]) / total for own, total in zip(by_task, totals, strict=True)]
    spreads = [np.nansum((weight * (Y - mean) ** 2)[own]) for own, mean in zip(by_task, means, strict=True)]
    expected = -np.mean([errors[own].sum() / spread for own, spread in zip(by_task, spreads, strict=True)])
    fixed = [i for i, params in enumerate(search.cv_results_["params"]) if params["penalty"].name == "fixed"]
    assert search.cv_results_["mean_test_score"][fixed[0]] == pytest.approx(expected, rel=1e-7)


def test_splitters_and_frames(rng):
    X, Y = related_tasks(rng, 30, 3)
    frame = pd.DataFrame(Y, columns=["a", "b", "c"])
    search = MultiTaskRegressorCV(**{**SMALL, "cv": ShuffleSplit(4, random_state=0)}).fit(X, frame)
    assert search.task_names_.tolist() == ["a", "b", "c"]
    assert "split3_test_score" in search.cv_results_
    assert pd.DataFrame(search.cv_results_).shape[0] == len(search.cv_results_["params"])


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", lambda est, X, y: est.score(X, y)])
def test_a_score_that_does_not_know_gaps_is_refused(scoring, rng):
    X, Y = related_tasks(rng, 20, 2)
    labels = np.where(rng.random(Y.shape) < 0.3, np.nan, Y > 0.0)
    labels[0] = 1.0
    with pytest.raises(ValueError, match="knows nothing of missing labels"):
        MultiTaskClassifierCV(**SMALL, scoring=scoring).fit(X, labels)
    with pytest.raises(ValueError, match="knows nothing of missing labels"):
        MultiTaskRegressorCV(**SMALL, scoring=scoring).fit(X, Y, sample_weight=np.arange(20.0))


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([(np.arange(10), [-1, 12])], "indices from -1 to 12; rows are 0 to 19"),
        ([(np.arange(10), [12, 20])], "indices from 12 to 20; rows are 0 to 19"),
        (PredefinedSplit(np.arange(20) % 3), "more rows than the 17 that have labels"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*rows have no label")
def test_folds_of_other_rows_are_refused(cv, message, rng):
    X, Y = related_tasks(rng, 20, 2)
    Y[:3] = np.nan
    with pytest.raises(ValueError, match=message):
        MultiTaskRegressorCV(**{**SMALL, "cv": cv}).fit(X, Y)


@pytest.mark.parametrize("y", [np.array(["p"] * 29 + ["q"]), np.repeat([0, 1], 15)])
def test_training_rows_of_one_class_only(y, rng):
    """They predict that class, and the search goes on."""
    X = rng.standard_normal((30, 3))
    cv = KFold(2) if y.dtype.kind == "i" else 3
    search = MultiTaskClassifierCV(loss="logistic", alphas=[0.1, 1.0], cv=cv).fit(X, y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert y.dtype.kind != "i" or search.best_score_ == 0.0


def test_a_common_part_is_not_called_a_graph(rng):
    X = rng.standard_normal((180, 6))
    y = X @ rng.standard_normal(6) + 0.5 * rng.standard_normal(180)
    search = MultiTaskRegressorCV("independent", kernel="linear", alphas=[1e-2, 0.1, 1.0], cv=5)
    search.fit(X, y, tasks=np.arange(180) % 18)
    assert search.verdict_.startswith("Sharing helps: ")
    assert "with a common part and" in search.verdict_


def test_folds_that_a_thread_opens_are_the_same(rng, monkeypatch):
    X, Y = related_tasks(rng, 40, 3)
    found = []
    for threads in (True, False):
        monkeypatch.setattr(skmtl.model_selection.run, "has_threads", lambda threads=threads: threads)
        search = MultiTaskRegressorCV(**{**SMALL, "kernel": "rbf"}, gammas=[0.1, 1.0]).fit(X, Y)
        found.append((search.cv_results_["mean_test_score"], search.predict(X)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_best_width_is_decomposed_once(best, rng, monkeypatch):
    """Relations are learned at the best width and the last fit is made there, wherever it stands in the grid."""
    X, Y = related_tasks(rng, 40, 3)
    decomposed, decompose = [], skmtl.solvers.design.eigh_in_place
    monkeypatch.setattr(skmtl.solvers.design, "eigh_in_place", lambda M: decomposed.append(len(M)) or decompose(M))
    gammas = [100.0, 200.0, 400.0]
    gammas[best] = 0.05
    search = MultiTaskRegressorCV(kernel="rbf", gammas=gammas, cv="loo").fit(X, Y)
    assert search.gamma_ == 0.05
    assert decomposed == [40, 40, 40]


def test_a_thread_that_fails_is_heard(rng, monkeypatch):
    """A fold is opened in a thread ahead of the search; what it raises reaches the caller."""
    monkeypatch.setattr(skmtl.model_selection.run, "has_threads", lambda: True)
    X, Y = related_tasks(rng, 30, 2)
    kernel = X @ X.T - 5.0 * np.eye(30)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        MultiTaskRegressorCV(**{**SMALL, "kernel": "precomputed"}).fit(kernel, Y)


def test_scorers_see_data_frames_where_data_frames_came(rng):
    X, Y = related_tasks(rng, 30, 3)
    frame, targets = pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y, columns=["a", "b", "c"])
    seen = []

    def scorer(estimator, rows, labels):
        seen.append((rows, labels))
        return -float(np.mean((estimator.predict(rows) - np.asarray(labels)) ** 2))

    search = MultiTaskRegressorCV(**SMALL, scoring=scorer).fit(frame, targets)
    assert search.scoring_ == "score"
    for rows, labels in seen:
        assert rows.columns.tolist() == frame.columns.tolist()
        assert labels.columns.tolist() == ["a", "b", "c"]
    seen.clear()
    again = MultiTaskRegressorCV(**SMALL, scoring=scorer).fit(X, Y)
    assert {type(part) for pair in seen for part in pair} == {np.ndarray}
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"], rtol=1e-9)


@pytest.mark.parametrize("penalty", ["sparse", Sparse(0.2)])
def test_the_penalty_of_a_grid_may_be_a_name(penalty, rng):
    X, Y = related_tasks(rng, 30, 3)
    grid = GridSearchCV(MultiTaskRegressor(penalty), {"penalty__mu": [0.3, 0.9], "alpha": [1e-2]}, cv=3).fit(X, Y)
    assert grid.best_estimator_.penalty_.mu == grid.best_params_["penalty__mu"]
    est = MultiTaskRegressor("independent").set_params(penalty="sparse", penalty__mu=0.4)
    assert est.penalty.mu == 0.4
    with pytest.raises(ValueError, match="Invalid parameter 'mu'"):
        MultiTaskRegressor("independent").set_params(penalty__mu=0.4)


def test_best_params_construct_the_best_estimator(rng):
    X, Y = related_tasks(rng, 40, 3)
    search = MultiTaskRegressorCV(**{**SMALL, "eps_factors": [1.0, 100.0], "kernel": "rbf"}, gammas=[0.1, 1.0]).fit(
        X, Y
    )
    again = MultiTaskRegressor(**search.best_params_).fit(X, Y)
    np.testing.assert_allclose(again.predict(X), search.predict(X), atol=1e-5)


def test_relations_of_a_search_stand_beside_the_stable_ones(rng):
    X, Y = related_tasks(rng, 60, 5, noise=1.0)
    search = MultiTaskRegressorCV(kernel="linear", alphas=[1e-1], mus=[1.0], eps_factors=[1.0]).fit(X, Y)
    alone, both = search.relations(), search.relations(X, Y, n_resamples=10)
    stability = edge_stability(search.best_estimator_.set_params(penalty=Sparse()), X, Y, 10, max_false=1)
    pairs = {tuple(row) for row in stability.loc[stability["stable"], ["task_a", "task_b"]].to_numpy()}
    assert {tuple(row) for row in both.loc[both["stable"], ["task_a", "task_b"]].to_numpy()} == pairs
    assert both["stable"].tolist() == sorted(both["stable"], reverse=True)
    used = both[both["weight"] != 0.0].sort_values("weight", key=np.abs, ascending=False, ignore_index=True)
    pd.testing.assert_frame_equal(used[alone.columns], alone)
    assert set(both["mu"]) == {stability.attrs["mu"]}
    assert 0.0 <= stability.attrs["false_bound"] <= 1.0
    given = edge_stability(search.best_estimator_, X, Y, 4)
    assert np.isnan(given.attrs["false_bound"])
