"""Tables of graphs, halves of rows and candidates of a search, made by hand and read off by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skmtl.model_selection import best_candidate, both_graphs, stability
from skmtl.targets import LongLabels, TableLabels

NAMES = np.array(["a", "b", "c", "d"])


def structures_of(weights):
    """Structures whose pairs (a, b), (a, c), ... have these weights, a row per structure."""
    A = np.tile(np.eye(4), (len(weights), 1, 1))
    upper = np.triu_indices(4, 1)
    A[:, *upper] = weights
    A[:, upper[1], upper[0]] = weights
    return A


def test_a_table_of_edges_counts_the_halves():
    weights = np.zeros((11, 6))
    weights[:, 0] = np.linspace(0.1, 1.1, 11)  # always, and moves
    weights[:, 1] = -0.5  # always, and does not
    weights[:10, 2] = 0.3  # in ten of eleven
    weights[:9, 3] = np.where(np.arange(9) % 2, 0.2, -0.2)  # of either sign
    weights[:9, 4] = 0.2
    table = stability._summarize(structures_of(weights), NAMES)
    assert [f"{a}{b}" for a, b in zip(table["task_a"], table["task_b"], strict=True)] == ["ac", "ab", "ad", "bd", "bc"]
    np.testing.assert_allclose(table["frequency"], [1.0, 1.0, 10 / 11, 9 / 11, 9 / 11])
    np.testing.assert_allclose(table["weight"], [-0.5, 0.6, 0.3, 0.2, 0.0], atol=1e-15)
    assert table["stable"].tolist() == [True, True, True, False, False]
    assert table["steadiness"][0] == np.inf
    columns = {"ab": 1, "ad": 2, "bd": 3, "bc": 4}
    for name, row in columns.items():
        w = weights[:, ["ab", "ac", "ad", "bc", "bd"].index(name)]
        assert table["steadiness"][row] == pytest.approx(abs(w.mean()) / w.std())
        assert (table["weight_low"][row], table["weight_high"][row]) == pytest.approx(
            tuple(np.quantile(w, [0.05, 0.95]))
        )


def test_bounds_on_false_edges_are_those_of_the_formula():
    # Two halves and three graphs, of 1 and 2, 3 and 3, 6 and 6 edges out of 6 pairs.
    counts = np.array([[1, 3, 6], [2, 3, 6]])
    weights = np.array([[np.arange(6) < n for n in row] for row in counts], dtype=float)
    found = np.array([structures_of(half) for half in weights])
    q = counts.mean(axis=0)
    np.testing.assert_allclose(stability._bound_false(found), q**2 / (0.8 * 6))


@pytest.mark.parametrize(("bounds", "chosen"), [([0.1, 0.5, 0.9], 2), ([0.1, 0.5, 1.1], 1), ([0.1, 2.0, 0.5], 0)])
def test_the_first_excess_ends_the_search(bounds, chosen):
    assert stability._allow_false(np.array(bounds), 1.0) == chosen


def test_too_many_false_edges_at_once_are_told():
    with pytest.warns(UserWarning, match="more of the stable edges may be false than max_false=1"):
        assert stability._allow_false(np.array([3.0, 4.0]), 1.0) == 0


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("n_rows", [20, 21])
def test_halves_come_with_their_complements(long, n_rows, rng):
    tasks = np.arange(n_rows) % 3
    labels = TableLabels(np.zeros((n_rows, 3)), np.ones((n_rows, 3)))
    if long:
        labels = LongLabels.from_rows(np.zeros(n_rows), np.ones(n_rows), tasks, 3)
    halves = list(stability._halves(labels, 5, rng))
    assert len(halves) == 5
    for one, other in (halves[:2], halves[2:4]):
        assert sorted([*one, *other]) == list(range(n_rows))
        assert abs(len(one) - len(other)) <= 1
        assert np.all(np.diff(one) > 0)
        if long:
            # Half of the rows of every task, or nearly so.
            assert np.all(np.abs(np.bincount(tasks[one], minlength=3) - np.bincount(tasks) / 2) <= 1.0)
    assert not np.array_equal(halves[0], halves[2])


def test_both_graphs_are_one_table():
    relations = pd.DataFrame(
        {
            "task_a": ["a", "a", "b"],
            "task_b": ["b", "c", "c"],
            "weight": [0.1, -0.9, 0.4],
            "correlation": [0.1, -0.9, 0.4],
        }
    )
    stable = pd.DataFrame(
        {
            "task_a": ["a", "a", "b", "c"],
            "task_b": ["b", "d", "d", "d"],
            "frequency": [0.95, 1.0, 0.5, 1.0],
            "weight": [0.2, 0.3, 0.1, 0.4],
            "stable": [True, True, False, True],
            "mu": 0.7,
        }
    )
    stable.attrs["mu"] = 0.7
    table = both_graphs(relations, stable)
    # The stable ones first, by frequency; then those that only predict, by size.
    assert (table["task_a"] + table["task_b"]).tolist() == ["ad", "cd", "ab", "ac", "bc"]
    assert table["stable"].tolist() == [True, True, True, False, False]
    assert table["weight"].tolist() == [0.0, 0.0, 0.1, -0.9, 0.4]
    assert table["stable_weight"].tolist() == [0.3, 0.4, 0.2, 0.0, 0.0]
    assert table["frequency"].tolist() == [1.0, 1.0, 0.95, 0.0, 0.0]
    assert np.isnan(table["correlation"][:2]).all()
    assert table["mu"].tolist() == [0.7] * 5
    assert both_graphs(relations, None) is relations


def test_other_candidates_are_chosen_as_a_search_would():
    gamma = np.ma.array([0.0, 0.5, 0.5, 1.0], mask=[True, False, False, False])
    results = {
        "params": [{}] * 4,
        "param_penalty": np.array(["trace", "sparse", "sparse", "sparse"]),
        "param_gamma": gamma,
        "split0_test_score": np.array([0.9, 0.5, 0.60, 0.62]),
        "split1_test_score": np.array([0.9, 0.5, 0.66, 0.61]),
        "mean_test_score": np.array([0.9, 0.5, 0.63, 0.615]),
        "mean_edges": np.array([6.0, 1.0, 5.0, 2.0]),
    }
    search = SimpleNamespace(cv_results_=results)
    assert best_candidate(search) == {"penalty": "trace"}
    assert best_candidate(search, penalty="sparse") == {"penalty": "sparse", "gamma": 0.5}
    # Behind by -0.02 and 0.05, 0.015 on average, with a standard error of 0.035.
    assert best_candidate(search, penalty="sparse", rule="1se") == {"penalty": "sparse", "gamma": 1.0}
    assert best_candidate(search, gamma=1.0) == {"penalty": "sparse", "gamma": 1.0}
    with pytest.raises(ValueError, match=r"no candidate of the search has penalty='trace', gamma=0\.5"):
        best_candidate(search, penalty="trace", gamma=0.5)
    with pytest.raises(ValueError, match="no parameter 'mu'; they have penalty, gamma"):
        best_candidate(search, mu=0.3)
