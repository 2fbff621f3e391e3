"""Choices of kernels, rivals, rows and graphs: each decision beside a table of all cases."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from problems import related_tasks
from scipy import sparse

from skmtl import MultiTaskClassifier, MultiTaskRegressor, MultiTaskRegressorCV, edge_stability
from skmtl.estimators.clean import clean
from skmtl.model_selection import (
    Judgement,
    ParameterChoice,
    choose_kernel,
    choose_parameters,
    compare,
    describe_comparison,
    given_parameters,
    judge_choice,
    judge_model,
    judged_choice,
    judging,
    kernel_choice,
    landmark_choice,
    parameter_choice,
    quick_search,
    readable,
    readable_graph,
    structure_path,
)
from skmtl.model_selection.candidates import standard_error
from skmtl.model_selection.compare import _check_methods
from skmtl.model_selection.folds import make_splits
from skmtl.model_selection.held_out import is_shared
from skmtl.model_selection.judged_choice import ASKED_FOR, SPARSEST, WAS_AHEAD
from skmtl.model_selection.kernel_choice import at_kernel, quick_alphas
from skmtl.model_selection.landmark_choice import describe_landmarks
from skmtl.model_selection.loo import loo_splits
from skmtl.model_selection.parameter_choice import _describe_kernel, _other_folds, _search_kernels, best_with_penalty
from skmtl.model_selection.recommended import KERNELS
from skmtl.model_selection.stability import _allow_false, _Room
from skmtl.model_selection.verdict import ALL_TASKS
from skmtl.penalties import PENALTIES, Independent, Sparse, Trace
from skmtl.solvers.training import Training

SMALL = {"alphas": [1.0, 0.1], "mus": [0.7], "eps_factors": [1.0], "cv": 3}


@pytest.fixture
def small(rng):
    return related_tasks(rng, 30, 2)


def listen(monkeypatch, module, name):
    """The named arguments that a function is called with."""
    function, asked = getattr(module, name), []
    monkeypatch.setattr(module, name, lambda *given, **named: asked.append(named) or function(*given, **named))
    return asked


# Methods --------------------------------------------------------------------------------------------------------------


def test_methods_have_names_and_independent_tasks_are_none():
    assert _check_methods("sparse") == {"sparse": "sparse"}
    assert _check_methods(["trace", "independent"]) == {"trace": "trace"}
    assert _check_methods({"mine": "sparse", "independent": Independent()}) == {"mine": "sparse"}
    penalty = Sparse()
    assert _check_methods([penalty]) == {"sparse": penalty}
    default = [name for name, cls in PENALTIES.items() if cls.by_default and not cls.known]
    assert list(_check_methods(None)) == default
    assert "independent" not in default
    for nothing in ([], "independent", ["independent"]):
        with pytest.raises(ValueError, match="no method to compare with independent tasks"):
            _check_methods(nothing)
    with pytest.raises(ValueError, match="the same name"):
        _check_methods([Sparse(), "sparse"])


def test_methods_get_what_they_can_use(small, monkeypatch):
    """Independent tasks have nothing in common, and who has no mu is not given any."""
    seen, select = [], compare.select

    def listen(search, *given):
        seen.append((search.penalty, search.commons, search.mus, search.callback, search.verbose))
        return select(search, *given)

    monkeypatch.setattr(compare, "select", listen)
    search = MultiTaskRegressorCV(kernel="linear", **SMALL, commons=[0.0, 2.0], callback=seen.clear)
    table = compare.compare_methods(*small, ["sparse", "trace"], estimator=search, cv=2)
    given = {getattr(row[0], "name", row[0]): row[1:] for row in seen}
    assert given == {
        "independent": ([0.0], None, None, 0),
        "sparse": ([0.0, 2.0], [0.7], None, 0),
        "trace": ([0.0, 2.0], None, None, 0),
    }
    assert len(seen) == 2 * 3
    assert table["method"].tolist() == ["sparse"] * 3 + ["trace"] * 3


@pytest.mark.parametrize(
    ("method", "n_rows", "shared"), [("sparse", 3, True), ("sparse", 2, False), ("independent", 3, False)]
)
def test_one_task_and_independent_ones_share_nothing(method, n_rows, shared):
    assert is_shared(pd.DataFrame({"method": [method] * n_rows})) == shared


# Kernels and widths ---------------------------------------------------------------------------------------------------


def test_a_width_that_was_found_is_the_only_one(small):
    X, _ = small
    search = quick_search(gammas=[0.1, 0.2])
    assert _search_kernels(search, ["rbf"], X, 0.5).gammas == [0.5]
    assert _search_kernels(search, ["rbf"], X, None).gammas == [0.1, 0.2]
    assert _search_kernels(search, ["linear"], X, None).gammas is None
    assert _search_kernels(search, list(KERNELS), X, None).kernel == "auto"
    assert _search_kernels(search, KERNELS[::-1], X, None).kernel == list(KERNELS[::-1])
    assert _search_kernels(search, KERNELS[:2], X, None).gammas == [0.1, 0.2]


def test_strengths_suit_the_kernel_unless_they_are_given(small):
    X, _ = small
    X = X + 3.0
    spread = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    np.testing.assert_allclose(quick_alphas("linear", X), kernel_choice.ALPHAS * spread)
    for kernel in ("rbf", "laplacian"):
        np.testing.assert_array_equal(quick_alphas(kernel, X), kernel_choice.ALPHAS)
    np.testing.assert_array_equal(quick_alphas("linear", np.ones((4, 2))), kernel_choice.ALPHAS)
    assert quick_alphas("poly", X) is quick_alphas("linear", sparse.csr_array(X)) is None
    assert at_kernel(quick_search(alphas=[2.0]), "linear", X).alphas == [2.0]
    np.testing.assert_allclose(at_kernel(quick_search(), "linear", X).alphas, kernel_choice.ALPHAS * spread)
    assert at_kernel(quick_search(), "rbf", X, cv=7).cv == 7


def test_a_contest_of_kernels_is_one_of_independent_tasks(small, monkeypatch):
    fitted, at = [], kernel_choice.at_kernel
    monkeypatch.setattr(
        kernel_choice, "at_kernel", lambda *given, **named: fitted.append(at(*given, **named)) or fitted[-1]
    )
    states = []
    found = choose_kernel(*small, search=quick_search(**SMALL), kernels=["linear", "rbf"], callback=states.append)
    assert [(one.kernel, one.penalty, one.mus, one.cv) for one in fitted] == [
        ("linear", "independent", None, 3),
        ("rbf", "independent", None, 3),
    ]
    assert found.scores == {one.kernel: one.best_score_ for one in fitted}
    assert found.gamma == fitted[["linear", "rbf"].index(found.kernel)].gamma_
    assert "on 30 rows in 3 folds" in found.reason
    assert [state["done"] for state in states if "part" not in state] == [1, 2]
    assert {state["total"] for state in states} == {2}


def test_the_kernel_is_named_with_its_metric_and_landmarks():
    def said(asked=None, **params):
        return _describe_kernel(MultiTaskRegressor(**params), 5000, asked=asked)

    assert [said(kernel="rbf", metric_rounds=k) for k in range(4)] == [
        ["The rbf kernel is used."],
        ["The rbf kernel is used, on features scaled once by how much they matter."],
        ["The rbf kernel is used, on features scaled twice by how much they matter."],
        ["The rbf kernel is used, on features scaled 3 times by how much they matter."],
    ]
    assert said(kernel=np.dot) == ["The given kernel is used."]
    landmarks = {"kernel": "laplacian", "n_components": 1200}
    assert said(**landmarks) == ["The laplacian kernel is used.", describe_landmarks(1200, 5000)]
    assert said(1200, **landmarks) == ["The laplacian kernel is used, approximated on 1,200 rows."]


@pytest.mark.parametrize(
    ("cv", "n_folds", "n_searched", "n_judged", "opening"),
    [
        (None, 5, 60, 60, None),
        (None, 10, 60, 60, "The search had 60 rows in 10 folds; the model is judged on 60 rows in 5 folds"),
        (None, 30, 60, 60, "The search had 60 rows in 10 folds, dealt 3 times; the model is judged on 60 rows in 5"),
        (None, 15, 15, 15, "The search had 15 rows in 5 folds, dealt 3 times; the model is judged on 15 rows in 5"),
        (30, 30, 60, 60, "The search had 60 rows in 30 folds; the model is judged on 60 rows in 5 folds"),
        (None, 5, 60, 90, "The search that chose the kernel had 60 rows in 5 folds; the model is judged on 90"),
    ],
)
def test_other_folds_are_explained(cv, n_folds, n_searched, n_judged, opening):
    results = {"mean_test_score": 0, **{f"split{k}_test_score": 0 for k in range(n_folds)}}
    said = _other_folds(SimpleNamespace(cv_results_=results, cv=cv, rule="best"), n_searched, n_judged)
    assert len(said) == (opening is not None)
    assert all(one.startswith(opening) for one in said)


@pytest.mark.parametrize("rule", ["slopes", "evidence"])
def test_landmarks_compare_a_metric_of_another_rule_with_none(rule, rng, monkeypatch):
    """More rows are searched at the kernel, the width and the rounds that were found."""
    monkeypatch.setattr(kernel_choice, "MOST_ROWS", 20)
    monkeypatch.setattr(landmark_choice, "MOST_EXACT_ROWS", 20)
    monkeypatch.setattr(landmark_choice, "LANDMARKS", 8)
    asked, at = [], parameter_choice.at_kernel
    monkeypatch.setattr(
        parameter_choice, "at_kernel", lambda *given, **named: asked.append(named) or at(*given, **named)
    )
    X, Y = related_tasks(rng, 40, 2)
    search = quick_search("independent", alphas=[0.1], cv=3, gammas=[0.2], metric_rounds=1, metric_rule=rule)
    choice = choose_parameters(X, Y, search=search, kernels=["rbf"])
    first, second = asked
    assert "metric_rounds" not in first
    assert second["metric_rounds"] == (1 if rule == "slopes" else [0, 1])
    assert (second["gamma"], second["metric_rule"], second["n_components"]) == (0.2, "slopes", 8)
    assert second["random_state"] == 0
    assert (len(choice.rows), choice.estimator.n_components, choice.estimator.tol) == (
        40,
        8,
        parameter_choice.FINAL_TOL,
    )
    assert choice.contest is not choice.search


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n_components", [None, 5])
def test_landmarks_that_are_asked_for_are_kept(n_components, kernel, small):
    search = quick_search(**SMALL, gammas=[0.2], n_components=n_components)
    choice = choose_parameters(*small, search=search, kernels=[kernel])
    assert choice.estimator.n_components == (n_components if kernel == "rbf" else None)
    on = ", approximated on 5 rows" if choice.estimator.n_components else ""
    assert choice.kernel_reasons == (f"The {kernel} kernel is used{on}.",)
    assert choice.contest is choice.search


# The penalty that is kept ---------------------------------------------------------------------------------------------


def fitted_search(rows, *, penalty, scoring="pooled_r2", best=0, rule="best"):
    """What a fitted search says of itself, by hand: penalty, alpha, the scores of two folds, and edges by mu."""
    scores = np.array([row[2] for row in rows], dtype=float)
    params = [{"penalty": row[0], "alpha": row[1], "common": 0.0} for row in rows]
    folds = {f"split{k}_test_score": scores[:, k] for k in range(2)}
    edges = np.array([getattr(row[0], "mu", 0.0) for row in rows])
    results = {"params": params, "mean_test_score": scores.mean(axis=1), "mean_edges": edges, **folds}
    given = {"penalty": penalty, "scoring_": scoring, "best_index_": best, "rule": rule}
    return SimpleNamespace(cv_results_=results, task_names_=np.array(["a", "b"]), **given)


def test_a_penalty_that_is_kept_is_taken_at_its_best():
    shares = Sparse(0.7)
    rows = [
        (Independent(), 1.0, (0.9, 0.9)),
        (shares, 0.01, (0.4, 0.8)),
        (shares, 0.1, (0.41, 0.79)),
        (shares, 1.0, (0.4, 0.79)),
        (shares, 10.0, (np.nan, np.nan)),
        (Sparse(0.9), 1e-3, (0.0, 0.0)),
    ]
    assert best_with_penalty(fitted_search(rows, penalty="sparse")) == 1
    assert best_with_penalty(fitted_search(rows, penalty="independent")) == 0
    # Of an order, the middle of those that are level, and of the same penalty.
    assert best_with_penalty(fitted_search(rows, penalty="sparse", scoring="roc_auc")) == 2
    # By one standard error, the sparsest that is not surely behind the best with this penalty.
    errs = [*rows, (Sparse(0.1), 1.0, (0.38, 0.81)), (Sparse(0.05), 1.0, (0.38, 0.79))]
    assert best_with_penalty(fitted_search(errs, penalty="sparse", rule="1se", scoring="roc_auc")) == 6
    # Where the search itself chose one with this penalty, that one.
    assert best_with_penalty(fitted_search(errs, penalty="sparse", best=5)) == 5
    # One task has no other penalty than the one of independent tasks.
    assert best_with_penalty(fitted_search(rows, penalty="trace", best=3)) == 3


@pytest.mark.parametrize("keep", [False, True])
def test_who_asks_for_a_penalty_gets_it(keep, rng):
    """However independent tasks do, which are its rival then; the strength is that of the candidate."""
    X = rng.standard_normal((40, 3))
    Y = np.column_stack([X[:, 0], rng.standard_normal(40)])
    choice = choose_parameters(X, Y, search=quick_search(**SMALL), kernels=["linear"], keep_penalty=keep)
    means = choice.search.cv_results_["mean_test_score"]
    params = choice.search.cv_results_["params"]
    allowed = [k for k, row in enumerate(params) if not keep or row["penalty"].name == "sparse"]
    best = max(allowed, key=lambda k: means[k])
    assert choice.estimator.alpha == params[best]["alpha"]
    assert choice.estimator.penalty.name == params[best]["penalty"].name
    assert (choice.rival["penalty"].name == "independent") == (choice.estimator.penalty.name == "sparse")


def test_a_penalty_that_is_kept_has_the_kernel_with_which_it_did_best(small, monkeypatch):
    """Of few labels relations are tried with every kernel, and independent tasks may be best with another one."""

    def other_kernel(search):
        rows = enumerate(search.cv_results_["params"])
        best = search.best_estimator_
        return next(k for k, row in rows if row["penalty"].name == "sparse" and row["kernel"] != best.kernel)

    monkeypatch.setattr(parameter_choice, "best_with_penalty", other_kernel)
    choice = choose_parameters(*small, search=quick_search(**SMALL), keep_penalty=True)
    row = choice.search.cv_results_["params"][other_kernel(choice.search)]
    for name in ("kernel", "gamma", "metric_rounds", "metric_rule", "metric_alpha", "alpha"):
        assert getattr(choice.estimator, name) == row[name]
    assert choice.reasons[0].startswith(f"The {row['kernel']} kernel is used")


# Rivals and judgements ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "won", "rule", "why"),
    [
        ("independent", "independent", "best", WAS_AHEAD),
        ("sparse", "sparse", "1se", SPARSEST),
        ("sparse", "independent", "best", ASKED_FOR),
        ("sparse", "a common part", "best", ASKED_FOR),
        ("sparse", None, "best", ASKED_FOR),
    ],
)
def test_a_model_that_is_kept_though_the_other_is_ahead_says_why(kept, won, rule, why, small, monkeypatch):
    """The search preferred it, or somebody asked for it; where it is ahead there is nothing to explain."""
    penalty = Sparse(0.7) if kept == "sparse" else Independent()
    best = SimpleNamespace(
        penalty=Sparse(0.7) if won == "sparse" else Independent(), common=float(won == "a common part")
    )
    search = SimpleNamespace(scoring=None, n_jobs=None, best_estimator_=best, rule=rule)
    estimator, rows = MultiTaskRegressor(penalty, alpha=1.0), np.arange(len(small[0]))
    contest = None if won is None else search
    choice = ParameterChoice(estimator, search, rows, (), (), {"penalty": Independent()}, contest)
    for ahead in (True, False):
        score, alone = (0.7, 0.6) if ahead == (kept == "sparse") else (0.6, 0.7)
        row = {"method": "sparse", "scoring": "pooled_r2", "score": score, "independent": alone, "constant": 0.0}
        row |= {"difference": score - alone, "low": -0.2, "high": 0.2}
        comparison = pd.DataFrame([{**row, "task": task} for task in ("a", "b", ALL_TASKS)])
        judgement = Judgement(comparison, "", comparison)
        monkeypatch.setattr(judged_choice, "judge_model", lambda *_, found=judgement, **__: found)
        said = f"The model that is kept is {kept}{'' if ahead else why}."
        found = judge_choice(choice, *small)
        assert found.verdict.endswith(said)
        # Whoever tells of the comparison says the same.
        assert describe_comparison(found.comparison, kept=kept) == found.verdict
        assert describe_comparison(found.comparison).endswith("a constant has 0.000.")


@pytest.mark.parametrize("penalty", [Sparse(0.7), "sparse", Independent(), "independent"], ids=str)
def test_beside_a_model_that_was_given_stand_independent_tasks_at_their_best(penalty, small, monkeypatch):
    """With its kernel, width and landmarks, and nothing in common; who shares nothing has no rival."""
    X, Y = small
    asked, judge = [], judged_choice.judge_model
    monkeypatch.setattr(
        judged_choice, "judge_model", lambda *given, **named: asked.append(named) or judge(*given, **named)
    )
    held = {"kernel": "rbf", "gamma": 0.2, "n_components": 9, "random_state": 3}
    choice = given_parameters(MultiTaskRegressor(penalty, alpha=7.0, **held), X, Y, search=quick_search(cv=3))
    judge_choice(choice, X, Y, cv=2)
    (named,) = asked
    if "independent" in str(penalty).lower():
        assert named["rival"] is None
        return
    alone = MultiTaskRegressorCV(
        "independent",
        **{name: value for name, value in held.items() if name != "gamma"},
        gammas=[0.2],
        alphas=quick_alphas("rbf", X),
        commons=[0.0],
        cv=3,
        tol=1e-3,
    ).fit(X[choice.rows], Y[choice.rows])
    rival = named["rival"]
    assert (rival["alpha"], rival["common"], rival["eps"]) == (alone.alpha_, 0.0, "auto")
    assert rival["penalty"].name == "independent"
    assert rival["alpha"] != 7.0


@pytest.mark.parametrize(("scoring", "kept"), [(None, None), ("nmse", "nmse"), ("neg_mean_absolute_error", None)])
def test_a_choice_is_judged_by_a_score_of_ours_and_beside_the_rival_it_has(scoring, kept, small, monkeypatch):
    asked = listen(monkeypatch, judged_choice, "judge_model")
    search = quick_search(**SMALL, scoring=scoring)
    choice = choose_parameters(*small, search=search, kernels=["linear"])
    judge_choice(choice, *small)
    (named,) = asked
    assert named["rival"] is choice.rival
    assert choice.rival is not None
    assert (named["scoring"], named["cv"]) == (kept, 5)


@pytest.mark.parametrize(("most", "step"), [(30, 1), (29, 2), (15, 2), (10, 3), (1000, 1)])
def test_of_many_rows_some_are_shown_from_end_to_end(most, step, small, monkeypatch):
    monkeypatch.setattr(judging, "MOST_ROWS", most)
    found = judge_model(MultiTaskRegressor(alpha=1.0), *small, cv=3).predictions
    rows = [row for start in (0, 10, 20) for row in range(start, start + 10, step)]
    assert sorted(set(found["row"])) == rows
    assert len(found) == 2 * len(rows)
    _, Y = small
    for _, one in found.iterrows():
        assert one["observed"] == Y[one["row"], ["y0", "y1"].index(one["task"])]


@pytest.mark.parametrize("noise", [0.01, 1e3])
def test_independent_tasks_alone_are_called_so_unless_a_constant_does_as_well(noise, rng):
    X = rng.standard_normal((40, 3))
    Y = X[:, :2] + noise * rng.standard_normal((40, 2))
    found = judge_model(MultiTaskRegressor(Independent(), alpha=0.1), X, Y)
    assert set(found.comparison["verdict"]) == {"nothing is shared" if noise < 1.0 else "no better than a constant"}
    assert set(found.comparison["method"]) == {"independent"}
    assert (found.comparison["difference"] == 0.0).all()


def test_the_rival_of_a_search_is_the_best_of_its_candidates(small, monkeypatch):
    asked, settings = [], judging._settings
    monkeypatch.setattr(judging, "_settings", lambda model, rival, n: asked.append(rival) or settings(model, rival, n))
    search = MultiTaskRegressorCV(kernel="linear", **SMALL)
    judge_model(search, *small)
    fitted = search.fit(*small)
    rival = judging.best_rival(fitted, fitted.best_index_)
    assert str(asked.pop()) == str(rival) != "None"
    mine = {"penalty": Independent(), "alpha": 5.0}
    judge_model(search, *small, rival=mine)
    assert asked.pop() is mine


def test_judgements_prove_nothing(small, monkeypatch):
    asked, solve = [], Training.solve

    def listen(self, settings, effort, **given):
        asked.append(given.get("certify", True))
        return solve(self, settings, effort, **given)

    monkeypatch.setattr(Training, "solve", listen)
    judge_model(MultiTaskRegressor(Sparse(0.7), alpha=1.0), *small, cv=3)
    assert asked == [False] * 6


# What is given --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "n_components", "expected"),
    [("rbf", None, 8), ("rbf", 4, 4), ("linear", None, None)],
)
def test_a_large_table_gets_landmarks_where_none_are_given(kernel, n_components, expected, rng, monkeypatch):
    monkeypatch.setattr(landmark_choice, "MOST_EXACT_ROWS", 20)
    monkeypatch.setattr(landmark_choice, "LANDMARKS", 8)
    monkeypatch.setattr(landmark_choice, "MOST_LANDMARK_ROWS", 25)
    monkeypatch.setattr(kernel_choice, "MOST_ROWS", 20)
    X, Y = related_tasks(rng, 40, 2)
    given = MultiTaskRegressor(Sparse(0.7), kernel=kernel, alpha=1.0, n_components=n_components, random_state=5)
    choice = given_parameters(given, X, Y)
    assert choice.estimator.n_components == expected
    changed = (kernel, n_components) == ("rbf", None)
    assert (choice.estimator is given) != changed
    assert choice.estimator.random_state == (0 if changed else 5)
    assert len(choice.rows) == (40 if kernel == "linear" else 25)
    on = f", approximated on {n_components} rows" if n_components is not None else ""
    why = (describe_landmarks(8, 40),) if changed else ()
    assert choice.kernel_reasons == (f"The {kernel} kernel is used{on}.", *why)
    assert choice.reasons[len(choice.kernel_reasons)] == "Parameters are as given."
    assert any("25 of 40 rows" in reason for reason in choice.other_reasons) == (kernel == "rbf")
    assert (choice.rival, choice.contest) == (None, None)
    # A loss that needs many steps has to do with fewer rows.
    labels = (Y > 0.0).astype(int)
    slow = MultiTaskClassifier(Sparse(0.7), loss="logistic", kernel="rbf", alpha=1.0, n_components=4)
    assert len(given_parameters(slow, X, labels, search=quick_search(classification=True)).rows) == 20


# Graphs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["trace", Trace(), "sparse", Sparse(0.3)])
def test_a_penalty_without_a_mu_lends_its_alpha_to_the_sparse_one(penalty, rng):
    X, Y = rng.standard_normal((20, 3)), rng.standard_normal((20, 3))
    solver = "anderson" if penalty == "trace" else "auto"
    table = readable_graph(MultiTaskRegressor(penalty, alpha=0.02, solver=solver), X, Y, 2)
    expected = edge_stability(MultiTaskRegressor(Sparse(), alpha=0.02), X, Y, 2, max_false=readable.MAX_FALSE)
    pd.testing.assert_frame_equal(table, expected, atol=1e-6)
    assert table.attrs["mu"] == expected.attrs["mu"]
    assert readable.MAX_FALSE == 1.0


def test_room_for_edges_is_used_up_from_the_densest_graph_on():
    dense, pair, empty = np.ones((3, 3)), np.eye(3), np.eye(3)
    pair[0, 1] = pair[1, 0] = 1.0
    room = _Room(3, 4.0)
    found = [empty, pair, dense]
    assert room.take(found) is found
    assert room.left.tolist() == [4.0, 3.0, 1.0]
    room.take([pair, dense, dense])
    assert room.left.tolist() == [3.0, 0.0]
    # What is not learned any more counts no more, and the first graph is always there.
    room.take([dense, empty, empty])
    assert room.left.tolist() == [0.0, 0.0]
    room.take([pair, pair])
    assert room.left.tolist() == [-1.0]
    room.take([empty])
    assert len(room.left) == 1


def test_the_densest_graph_before_the_first_excess_is_taken():
    assert _allow_false(np.array([0.1, 0.5, 2.0, 0.5]), 1.0) == 1
    assert _allow_false(np.array([0.1, 0.5, 1.0]), 1.0) == 2
    with pytest.warns(UserWarning, match=r"even at mu=0.1 so many pairs of tasks are related that more of"):
        assert _allow_false(np.array([1.5, 0.1]), 1.0) == 0


@pytest.mark.parametrize("cv", [3, "loo", None])
def test_a_path_has_errors_of_its_scores_and_mus_in_order(cv, small):
    X, Y = small
    states = []
    path = structure_path(MultiTaskRegressor(alpha=0.1), X, Y, [0.9, 0.3, 0.6], cv=cv, callback=states.append)
    np.testing.assert_array_equal(path.mus, [0.3, 0.6, 0.9])
    assert path.scoring == "pooled_r2"
    if cv is None:
        assert np.isnan(path.errors).all()
        assert states == []
        return
    given = {"kernel": "linear", "alphas": [0.1], "mus": [0.3, 0.6, 0.9], "eps_factors": [1.0], "cv": cv}
    results = MultiTaskRegressorCV(**given).fit(X, Y).cv_results_
    shared = [row["penalty"].name == "sparse" for row in results["params"]]
    folds = np.array([scores[shared] for name, scores in results.items() if name.startswith("split")]).T
    np.testing.assert_allclose(path.errors, standard_error(folds), rtol=1e-6)
    assert np.all(path.errors > 0.0)
    assert [state["done"] for state in states] == list(range(1, (3 if cv == 3 else 1) + 1))
    assert {state["total"] for state in states} == {3 if cv == 3 else None}


def test_edges_of_a_path_are_pairs_above_the_diagonal(small):
    path = structure_path(MultiTaskRegressor(alpha=0.1), *small, [1.0], cv=None)
    edges = path.edges()
    assert edges[["task_a", "task_b"]].to_numpy().tolist() == [["y0", "y1"]]
    assert edges["weight"].tolist() == [path.structures[0, 0, 1]]
    assert path.n_edges.tolist() == [1]


def test_rows_left_out_are_grouped_and_each_group_comes_after_the_rest(rng):
    for n_rows in (4, 25):
        splits = loo_splits(n_rows)
        assert len(splits) == min(n_rows, 10)
        np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(n_rows))
        for train, test in splits:
            np.testing.assert_array_equal(np.sort(np.append(train, test)), np.arange(n_rows))
    data = clean(MultiTaskRegressor(), rng.standard_normal((25, 2)), rng.standard_normal((25, 2)))
    assert len(make_splits(None, data)) == 10
