"""Progress of long work, and what an interruption leaves."""

import numpy as np
import pytest
from problems import related_tasks

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV, compare_methods, edge_stability, structure_path
from skmtl.model_selection import run
from skmtl.model_selection import search as search_module

GRID = {"kernel": "linear", "alphas": [1e-2, 1e-1], "mus": [0.9], "eps_factors": [1.0], "cv": 4}


def interrupt_after(monkeypatch, module, name, calls):
    """Make a function raise what Ctrl-C raises, once it was called so often."""
    function, counted = getattr(module, name), []

    def interrupted(*args, **kwargs):
        counted.append(1)
        if len(counted) > calls:
            raise KeyboardInterrupt
        return function(*args, **kwargs)

    monkeypatch.setattr(module, name, interrupted)


@pytest.mark.parametrize(("gammas", "total"), [([0.1], 4), ([0.1, 1.0], 12)])
def test_a_search_counts_its_folds_and_estimates_what_is_left(gammas, total, rng):
    states = []
    X, Y = related_tasks(rng, 40, 3)
    MultiTaskRegressorCV(**{**GRID, "kernel": "rbf"}, gammas=gammas, callback=states.append).fit(X, Y)
    folds = [state for state in states if "done" in state]
    assert [state["done"] for state in folds] == list(range(1, total + 1))
    assert {state["total"] for state in folds} == {total}
    assert all(state["remaining"] >= 0.0 for state in folds)
    assert folds[-1]["remaining"] == 0.0
    # The certificates of the final fit come after the search.
    assert states[-1]["gap"] <= 1e-6


def test_an_interrupted_search_chooses_from_the_folds_that_are_finished(rng, monkeypatch):
    X, Y = related_tasks(rng, 40, 3)
    whole = MultiTaskRegressorCV(**GRID).fit(X, Y)
    interrupt_after(monkeypatch, run, "_score_fold", 2)
    with pytest.warns(UserWarning, match="interrupted: the result rests on the 2 folds"):
        search = MultiTaskRegressorCV(**GRID).fit(X, Y)
    for k in (0, 1):
        np.testing.assert_array_equal(
            search.cv_results_[f"split{k}_test_score"], whole.cv_results_[f"split{k}_test_score"]
        )
    assert "split2_test_score" not in search.cv_results_
    expected = np.mean([search.cv_results_[f"split{k}_test_score"] for k in (0, 1)], axis=0)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert search.predict(X).shape == Y.shape


def test_interrupted_between_gammas_candidates_are_compared_on_the_same_folds(rng, monkeypatch):
    X, Y = related_tasks(rng, 40, 3)
    interrupt_after(monkeypatch, run, "_score_fold", 7)
    with pytest.warns(UserWarning, match="rests on the 3 folds"):
        search = MultiTaskRegressorCV(**{**GRID, "kernel": "rbf"}, gammas=[0.1, 1.0, 10.0]).fit(X, Y)
    assert "split3_test_score" not in search.cv_results_
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.penalty_.name == "independent"


def test_before_the_first_fold_there_is_nothing_to_keep(rng, monkeypatch):
    X, Y = related_tasks(rng, 40, 3)
    interrupt_after(monkeypatch, run, "_score_fold", 0)
    with pytest.raises(KeyboardInterrupt):
        MultiTaskRegressorCV(**GRID).fit(X, Y)


def test_an_interrupted_comparison_keeps_whole_folds(rng, monkeypatch):
    X, Y = related_tasks(rng, 60, 3)
    states, search = [], MultiTaskRegressorCV(**GRID)
    whole = compare_methods(X, Y, ["sparse", "trace"], estimator=search, cv=[*halves(X)], callback=states.append)
    assert [state["done"] for state in states] == list(range(1, 7))
    assert {state["total"] for state in states} == {6}
    # Of three methods on two folds, four fits end: one fold is whole.
    interrupt_after(monkeypatch, search_module, "select", 4)
    monkeypatch.setattr("skmtl.model_selection.compare.select", search_module.select)
    with pytest.warns(UserWarning, match="rests on the 4 fits"):
        part = compare_methods(X, Y, ["sparse", "trace"], estimator=search, cv=[*halves(X)])
    assert part["task"].equals(whole["task"])
    assert np.isinf(part["low"]).all()


def halves(X):
    rows = np.arange(len(X))
    yield rows[::2], rows[1::2]
    yield rows[1::2], rows[::2]


def test_paths_and_halves_report_too(rng):
    X, Y = related_tasks(rng, 40, 3)
    est, states = MultiTaskRegressor(alpha=1e-2), []
    structure_path(est, X, Y, [0.5, 0.9], cv=3, callback=states.append)
    edge_stability(est, X, Y, 4, callback=states.append)
    assert [(state["done"], state["total"]) for state in states] == [
        *((k, 3) for k in (1, 2, 3)),
        *((k, 4) for k in (1, 2, 3, 4)),
    ]
