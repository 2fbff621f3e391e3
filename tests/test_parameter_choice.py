"""Choosing kernel and parameters for prepared rows, and judging the choice, as a Python user calls them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from problems import related_tasks
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold

from skmtl import MultiTaskClassifier, MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.model_selection import (
    choose_kernel,
    choose_parameters,
    given_parameters,
    judge_choice,
    judge_model,
    kernel_choice,
    landmark_choice,
    parameter_choice,
    quick_search,
)
from skmtl.model_selection.judging import _settings, best_rival, graph_model
from skmtl.model_selection.kernel_choice import crowded_reason
from skmtl.model_selection.recommended import KERNELS
from skmtl.penalties import Independent, Sparse

SMALL = {"alphas": [1e-1, 1e-3], "mus": [0.7, 0.9]}


@pytest.fixture
def curved(rng):
    """Rows whose tasks are no linear functions of them."""
    X = rng.uniform(-2, 2, size=(90, 2))
    base = np.column_stack([np.cos(2 * X[:, 0]), np.sin(2 * X[:, 1])])
    return X, base @ np.array([[1.0, 1.0], [1.0, -1.0]]) + 0.05 * rng.normal(size=(90, 2))


def test_the_kernel_suits_the_rows(rng, curved):
    X, Y = curved
    found = choose_kernel(X, Y, kernels=("linear", "rbf"))
    assert found.kernel == "rbf"
    assert found.gamma > 0.0
    assert found.scores["rbf"] > found.scores["linear"] + 0.01
    assert "The rbf kernel is used" in found.reason
    straight = X @ rng.normal(size=(2, 2))
    assert choose_kernel(X, straight + 0.1 * rng.normal(size=straight.shape)).kernel == "linear"


def test_the_best_of_several_kernels_is_held_against_the_first(curved):
    X, Y = curved
    found = choose_kernel(X, Y, search=quick_search(**SMALL), kernels=("linear", "poly", "rbf"))
    assert found.scores.keys() == {"linear", "poly", "rbf"}
    assert found.kernel == max(found.scores, key=found.scores.get)


def test_one_kernel_is_no_choice(curved):
    seen = []
    found = choose_kernel(*curved, kernels=["poly"], callback=seen.append)
    assert (found.kernel, found.gamma, found.reason, seen) == ("poly", None, "", [])


def test_a_crowd_of_tasks_is_left_to_the_first_kernel(rng, monkeypatch):
    monkeypatch.setattr(kernel_choice, "MOST_ROWS", 300)
    tasks = np.repeat(np.arange(20), 60)
    found = choose_kernel(rng.normal(size=(1200, 2)), rng.normal(size=1200), tasks=tasks)
    assert found.kernel == "linear"
    assert "many tasks" in found.reason


@pytest.mark.parametrize("form", ["array", "frame", "list", "sparse"])
def test_rows_of_any_form_give_the_same_choice(rng, form):
    X, Y = related_tasks(rng, 40, 3)
    forms = {
        "array": (X, Y),
        "frame": (pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y)),
        "list": (X.tolist(), Y.tolist()),
        "sparse": (sparse.csr_array(X), Y),
    }
    search = quick_search(**SMALL)
    expected = choose_parameters(X, Y, search=search, kernels=["linear"]).estimator.fit(X, Y).predict(X)
    choice = choose_parameters(*forms[form], search=search, kernels=["linear"])
    np.testing.assert_allclose(choice.estimator.fit(*forms[form]).predict(forms[form][0]), expected, atol=1e-9)


def test_the_choice_is_that_of_the_search_at_this_kernel(rng):
    X, Y = related_tasks(rng, 60, 4)
    search = quick_search(**SMALL)
    choice = choose_parameters(X, Y, search=search, kernels=["linear"])
    order = choice.rows
    alone = MultiTaskRegressorCV(Sparse(), kernel="linear", **SMALL, eps_factors=[1.0], cv=5, tol=1e-3).fit(
        X[order], Y[order]
    )
    assert type(choice.estimator) is MultiTaskRegressor
    assert choice.estimator.alpha == alone.best_params_["alpha"]
    assert choice.rival["alpha"] in SMALL["alphas"]
    assert {choice.rival["penalty"].name, choice.estimator.penalty.name} == {"independent", "sparse"}
    # The search and the judgement, on the same folds, say the same in the same words.
    assert judge_choice(choice, X, Y).verdict.split(":")[0] == alone.verdict_.split(":")[0]


def test_given_strengths_are_the_only_ones(rng):
    X, Y = related_tasks(rng, 40, 3)
    choice = choose_parameters(X, Y, search=quick_search(alphas=[0.5], mus=[0.6]))
    assert choice.estimator.alpha == 0.5
    assert choice.estimator.get_params().get("penalty__mu", 0.6) == 0.6


def test_classes_and_long_tables(rng):
    X = rng.normal(size=(90, 2))
    tasks = rng.choice(["p", "q", "r"], 90)
    y = np.where(X[:, 0] + (tasks == "q") * X[:, 1] > 0, "yes", "no")
    search = quick_search("trace", classification=True, alphas=[1e-2])
    choice = choose_parameters(X, y, search=search, kernels=["linear"], tasks=tasks)
    assert type(choice.estimator) is MultiTaskClassifier
    fitted = choice.estimator.fit(X, y, tasks=tasks)
    assert np.mean(fitted.predict(X, tasks=tasks) == y) > 0.8
    scores = judge_choice(choice, X, y, tasks=tasks, cv=3).comparison
    assert scores["task"].tolist() == ["p", "q", "r", "(all tasks)"]
    assert set(scores["method"]) <= {"trace", "a common part"}


def test_few_rows_decide_where_rows_are_dear(rng, monkeypatch):
    monkeypatch.setattr(kernel_choice, "MOST_ROWS", 30)
    monkeypatch.setattr(kernel_choice, "MOST_LABELS", 20)
    monkeypatch.setattr(landmark_choice, "MOST_EXACT_ROWS", 30)
    monkeypatch.setattr(landmark_choice, "MOST_LANDMARK_ROWS", 40)
    monkeypatch.setattr(landmark_choice, "LANDMARKS", 10)
    X, Y = related_tasks(rng, 50, 2)
    search = quick_search(**SMALL, gammas=[0.5])
    choice = choose_parameters(X, Y, search=search, kernels=["rbf"])
    # All rows would take too long exactly; on landmarks more of them are affordable, and that is said.
    assert len(choice.rows) == len(set(choice.rows)) == 40
    assert "scores found on 40 of 50 rows" in " ".join(choice.reasons)
    assert "approximated on 10 of 50 rows" in " ".join(choice.reasons)
    assert (choice.estimator.gamma, choice.estimator.n_components) == (0.5, 10)
    assert len(choice.estimator.fit(X, Y).landmarks_) == 10
    assert choose_parameters(X[:30], Y[:30], search=search, kernels=["rbf"]).estimator.n_components is None
    # A few gaps cost little; where half of the labels are missing, there is a factor of the size of that half.
    Y[0, 0] = np.nan
    assert len(choose_parameters(X, Y, search=search, kernels=["rbf"]).rows) == 30
    Y[::2, 0] = Y[1::2, 1] = np.nan
    assert len(choose_parameters(X, Y, search=search, kernels=["rbf"]).rows) == 20
    assert len(choose_parameters(X, Y, search=search, kernels=["linear"]).rows) == 50


def test_callbacks_count_every_search_and_every_fold(rng):
    """What a bar is told is what happens."""
    X, Y = related_tasks(rng, 40, 3)
    searches, folds = [], []
    choice = choose_parameters(X, Y, search=quick_search(**SMALL), callback=searches.append)
    parts = [state["part"] for state in searches if "part" in state]
    assert parts[0].startswith("kernels, fold 1")
    assert [state["done"] for state in searches] == sorted(state["done"] for state in searches)
    assert [state["done"] for state in searches if "part" not in state] == [1, 2]
    assert {state["total"] for state in searches} == {2}
    judge_choice(choice, X, Y, cv=4, callback=folds.append)
    assert [(state["done"], state["total"]) for state in folds] == [(k, 4) for k in range(1, 5)]


def test_scores_of_the_search_are_those_of_the_judgement_unless_it_is_said_why_not(rng):
    X, Y = related_tasks(rng, 60, 3)
    search = quick_search(**SMALL)
    for kernels, others in ((["linear", "rbf"], False), (KERNELS, True)):
        choice = choose_parameters(X, Y, search=search, kernels=kernels)
        why = "The search had 60 rows in 10 folds, dealt 3 times; the model is judged on 60 rows in 5 folds, so that"
        assert any(reason.startswith(why) for reason in choice.reasons) == others
        whole = judge_choice(choice, X, Y).comparison.iloc[-1]
        ours = whole["independent" if choice.estimator.penalty.name == "independent" else "score"]
        assert (choice.search.best_score_ == pytest.approx(ours, abs=1e-4)) != others


def test_what_is_given_is_judged_as_it_is(rng):
    X, Y = related_tasks(rng, 60, 3, rank=1)
    estimator = MultiTaskRegressor(Sparse(0.8), alpha=0.05, kernel="rbf", gamma=0.3)
    choice = given_parameters(estimator, X, Y)
    assert choice.estimator is estimator
    other = quick_search("trace")
    assert given_parameters(estimator, X, Y, search=other).search is other
    judgement = judge_choice(choice, X, Y)
    scores = judgement.comparison
    assert scores["task"].tolist() == ["y0", "y1", "y2", "(all tasks)"]
    np.testing.assert_allclose(scores["score"] - scores["independent"], scores["difference"], atol=1e-12)
    # Rows in random order, and fitted fold by fold as anybody would.
    rows, Yr = X[choice.rows], Y[choice.rows]
    folds = KFold(5).split(rows)
    fits = [(clone(estimator).fit(rows[train], Yr[train]).predict(rows[test]), Yr[test]) for train, test in folds]
    by_hand = [1.0 - np.mean((F - truth) ** 2, axis=0) / Y.var(axis=0) for F, truth in fits]
    np.testing.assert_allclose(scores["score"].iloc[:3], np.mean(by_hand, axis=0), atol=1e-3)
    assert "The model that is kept is sparse." in judgement.verdict or judgement.verdict.startswith("Worse")


@pytest.mark.parametrize("kernels", [["rbf"], ["linear", "rbf"], ["linear", "rbf", "laplacian"]])
def test_the_kernels_that_are_named_are_tried_and_no_others(kernels, curved):
    search = quick_search(**SMALL, metric_rounds=0, cv=3)
    choice = choose_parameters(*curved, search=search, kernels=kernels)
    fitted = choice.contest
    tried = {row.get("kernel", fitted.best_estimator_.kernel) for row in fitted.cv_results_["params"]}
    assert tried == set(kernels)
    assert choice.kernel_reasons == (f"The {choice.estimator.kernel} kernel is used.",)


def test_names_that_are_not_known_get_a_sentence():
    with pytest.raises(ValueError, match="penalty='spase' is not known"):
        quick_search("spase")


def test_with_many_gaps_the_kernel_comes_first(curved, monkeypatch):
    """Every kernel with every metric and relation would take minutes there."""
    X, Y = curved
    gaps = np.array(Y, dtype=float)
    gaps[::3, 0] = np.nan
    monkeypatch.setattr(parameter_choice, "MOST_AT_ONCE", 5)
    choice = choose_parameters(X, gaps, search=quick_search(**SMALL))
    assert any("kernel" in reason for reason in choice.reasons)
    # One kernel at one width was searched with relations, however many were tried without.
    assert {row["kernel"] for row in choice.search.cv_results_["params"] if "kernel" in row} <= {
        choice.estimator.kernel
    }
    assert choice.search.kernel == choice.estimator.kernel


def test_reasons_name_the_kernel_and_leave_the_graph_to_the_judgement(curved, monkeypatch):
    told, describe = [], parameter_choice.describe_gains

    def listen(search, steps):
        told.append(tuple(steps))
        return describe(search, steps)

    monkeypatch.setattr(parameter_choice, "describe_gains", listen)
    several = choose_parameters(*curved, search=quick_search(**SMALL), kernels=("linear", "rbf"))
    assert several.reasons[0] == f"The {several.estimator.kernel} kernel is used."
    assert told == [("kernel", "metric", "own strengths")]
    one = choose_parameters(*curved, search=quick_search(**SMALL), kernels=("rbf",))
    assert ["kernel is used" in reason for reason in one.reasons] == [True] + [False] * len(one.other_reasons)


def test_kernels_of_long_tables_are_compared_task_by_task(curved):
    """A long table of all labels is the wide one."""
    X, Y = curved
    names = np.repeat(["first", "second"], len(X))
    long = choose_kernel(np.vstack([X, X]), Y.T.ravel(), kernels=("linear", "rbf"), tasks=names)
    assert long.kernel == "rbf"
    assert long.scores["rbf"] > 0.8


def test_kernels_are_compared_by_the_search_that_is_given(curved, monkeypatch):
    seen, at_kernel = [], kernel_choice.at_kernel
    monkeypatch.setattr(
        kernel_choice,
        "at_kernel",
        lambda search, *given, **named: seen.append(search) or at_kernel(search, *given, **named),
    )
    given = quick_search(alphas=[0.1])
    choose_kernel(*curved, search=given, kernels=("linear", "rbf"))
    assert len(seen) == 2
    assert all(search is given for search in seen)


# Rivals ---------------------------------------------------------------------------------------------------------------


def test_a_model_that_shares_is_held_against_tasks_apart():
    """With nothing in common, at its own strength and an eps of their own; who does not share has no such rival."""
    model = MultiTaskRegressor(Sparse(0.7), alpha=0.3, common=2.0, eps=0.5, solver="newton")
    ours, rival = _settings(model, None, 3)
    assert (ours.penalty.name, ours.common, ours.eps) == ("sparse", 2.0, 0.5)
    assert (rival.penalty.name, rival.common, rival.eps, rival.alpha) == ("independent", 0.0, None, 0.3)
    assert len(_settings(model, None, 1)) == 1
    assert len(_settings(MultiTaskRegressor(Independent()), None, 3)) == 1
    assert len(_settings(MultiTaskRegressor(Independent(), common=1.0), None, 3)) == 2
    _, given = _settings(model, {"penalty": Sparse(0.2), "alpha": 7.0}, 3)
    assert (given.penalty.mu, given.alpha, given.common) == (0.2, 7.0, 2.0)


def test_the_best_rival_of_a_candidate_shares_where_it_does_not():
    """With the same kernel and width; a candidate without a score is behind all others."""
    rows = [
        (Independent(), 0.0, 1.0, 0.5),
        (Sparse(0.7), 0.0, 1.0, 0.4),
        (Sparse(0.9), 0.0, 1.0, np.nan),
        (Independent(), 2.0, 1.0, 0.45),
        (Sparse(0.9), 0.0, 3.0, 0.9),
    ]
    params = [{"penalty": p, "common": c, "gamma": g, "alpha": 0.1 * k} for k, (p, c, g, _) in enumerate(rows)]
    search = SimpleNamespace(cv_results_={"params": params, "mean_test_score": np.array([row[-1] for row in rows])})
    assert best_rival(search, 0) == {"penalty": rows[3][0], "alpha": pytest.approx(0.3), "common": 2.0, "eps": "auto"}
    for index in (1, 2, 3):
        assert best_rival(search, index)["alpha"] == 0.0
    assert best_rival(search, 4) is None
    apart, shares = MultiTaskRegressor(Independent(), alpha=1.0), MultiTaskRegressor(Sparse())
    assert graph_model(shares, best_rival(search, 1)) is shares
    assert graph_model(apart, None) is apart
    assert graph_model(apart, best_rival(search, 0)).common == 2.0


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("layout", ["table", "gaps", "long"])
def test_a_judgement_is_made_of_refits(layout, apart, rng):
    """Of the model, of its rival and of the constant, fold by fold; predictions are those of the model."""
    X, Y = related_tasks(rng, 30, 2)
    splits = [(np.arange(15), np.arange(15, 30)), (np.arange(15, 30), np.arange(15))]
    given = {"alpha": 0.05, "eps": 0.1, "scale_targets": False, "tol": 1e-10, "kernel": "rbf", "gamma": 0.1}
    shares, alone = (MultiTaskRegressor(penalty, **given) for penalty in (Sparse(0.9), Independent()))
    more, tasks = {}, np.arange(30) % 2
    if layout == "long":
        Y, more = Y[np.arange(30), tasks], {"tasks": tasks}
    elif layout == "gaps":
        Y[rng.random(Y.shape) < 0.2] = np.nan
        Y[np.isnan(Y).all(axis=1), 0] = 0.5
    model, rival = (alone, {"penalty": Sparse(0.9), "eps": 0.1}) if apart else (shares, None)
    judged = judge_model(model, X, Y, cv=splits, scoring="r2", rival=rival, **more)
    expected = {"score": [], "independent": [], "constant": []}
    for train, test in splits:
        own = {name: part[train] for name, part in more.items()}
        there = {name: part[test] for name, part in more.items()}
        for name, one in (("score", shares), ("independent", alone)):
            fitted = clone(one).fit(X[train], Y[train], **own)
            F = fitted.predict(X[test], **there)
            expected[name].append(r2_by_task(Y[test], F, tasks[test]))
            if one is model:
                of_fold = judged.predictions[judged.predictions["row"].isin(test)]
                table = dict(zip(zip(of_fold["task"], of_fold["row"], strict=True), of_fold["predicted"], strict=True))
                known = np.argwhere(~np.isnan(Y[test]))
                assert len(table) == len(known)
                for entry in known:
                    name = tasks[test[entry[0]]] if layout == "long" else f"y{entry[1]}"
                    assert table[name, test[entry[0]]] == pytest.approx(F[tuple(entry)], abs=1e-4)
        means = [np.nanmean(each) for each in by_task(Y[train], tasks[train])]
        constant = np.array(means)[tasks[test]] if layout == "long" else np.tile(means, (len(test), 1))
        expected["constant"].append(r2_by_task(Y[test], constant, tasks[test]))
    rows = judged.comparison.iloc[:2]
    for name, folds in expected.items():
        np.testing.assert_allclose(rows[name].astype(float), np.mean(folds, axis=0), atol=1e-4)
    np.testing.assert_allclose(rows["difference"].astype(float), rows["score"] - rows["independent"], atol=1e-12)


def by_task(values, tasks):
    return values.T if values.ndim == 2 else [values[tasks == t] for t in range(2)]


def r2_by_task(Y, F, tasks):
    """As scikit-learn has it, of labels that are known."""
    found = []
    for y, f in zip(by_task(Y, tasks), by_task(F, tasks), strict=True):
        known = ~np.isnan(y)
        found.append(1.0 - np.sum((y - f)[known] ** 2) / np.sum((y[known] - y[known].mean()) ** 2))
    return found


@pytest.mark.parametrize("crowded", [True, False])
def test_where_tasks_are_crowded_the_first_kernel_is_taken(crowded, rng, monkeypatch):
    """A linear predictor for each of them leaves nothing to choose from."""
    X, Y = related_tasks(rng, 24, 2)
    monkeypatch.setattr(parameter_choice, "is_crowded", lambda X, tasks: crowded)
    choice = choose_parameters(X, Y, kernels=["linear", "rbf"], search=quick_search(alphas=[0.1], mus=[0.9]))
    assert (crowded_reason("linear") in choice.reasons) == crowded
    # A search at one kernel has no such parameter.
    tried = set(choice.contest.cv_results_.get("param_kernel", ()))
    assert tried == (set() if crowded else {"linear", "rbf"})
