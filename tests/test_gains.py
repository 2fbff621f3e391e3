"""What each step of a search gained, in words, of searches whose scores are written down by hand."""

from types import SimpleNamespace

import pandas as pd
import pytest

from skmtl.model_selection import describe_gains
from skmtl.model_selection.gains import STEPS
from skmtl.penalties import Independent, Sparse


def make_search(*rows):
    """A search over candidates (kernel, rounds of the metric, whether tasks share, score)."""
    params = [
        {"kernel": kernel, "metric_rounds": rounds, "penalty": Sparse() if shared else Independent(), "common": 0.0}
        for kernel, rounds, shared, _ in rows
    ]
    scores = [score for *_, score in rows]
    kernel, rounds, *_ = max(rows, key=lambda row: row[-1])
    best = SimpleNamespace(kernel=kernel, metric_rounds=rounds)
    return SimpleNamespace(
        cv_results_={"params": params, "mean_test_score": scores},
        best_estimator_=best,
        scoring_="r2",
        task_names_=["a", "b"],
    )


def gained(*rows):
    """What is said after the score of the first kernel."""
    return describe_gains(make_search(*rows)).split("tasks; ")[1]


def test_a_step_names_its_kernel_where_that_is_another_one_than_before():
    rows = [("linear", 0, False, 0.1), ("rbf", 0, False, 0.2), ("rbf", 1, False, 0.4)]
    assert gained(*rows) == "the rbf kernel adds 0.100, scaling the features adds 0.200."
    other = [*rows, ("laplacian", 1, False, 0.5)]
    assert gained(*other) == "the rbf kernel adds 0.100, scaling the features with the laplacian kernel adds 0.300."


def test_a_kernel_that_is_as_good_with_another_step_does_not_take_the_place():
    """What comes next is held against the kernel that gained, not against one that came up to it."""
    rows = [("linear", 0, False, 0.1), ("laplacian", 1, False, 0.2), ("rbf", 0, False, 0.2), ("rbf", 0, True, 0.5)]
    said = "the rbf kernel adds 0.100, the graph adds 0.300; nothing is gained by scaling the features."
    assert gained(*rows) == said


@pytest.mark.parametrize(("shared", "said"), [(0.2, False), (0.3, True)])
def test_where_tasks_share_another_kernel_is_named_if_it_is_better(shared, said):
    rows = [("linear", 0, False, 0.1), ("linear", 0, True, shared), ("rbf", 0, False, 0.2)]
    words = describe_gains(make_search(*rows), STEPS[:-1])
    assert ("where tasks share, the linear kernel is best" in words) == said


def test_a_comparison_has_the_word_on_the_graph_alone():
    """What was gained before, strengths of the tasks' own too, is told by the search."""
    search = make_search(("linear", 0, False, 0.1), ("linear", 0, False, 0.3), ("linear", 0, True, 0.9))
    search.cv_results_["params"][1]["penalty"] = Independent(strengths=[1.0, 2.0])
    comparison = pd.DataFrame({"method": ["trace"] * 3, "difference": [0.5, 0.5, 0.25]})
    words = describe_gains(search, comparison=comparison).split("tasks; ")[1]
    said = "a strength of its own for each task adds 0.200, the graph (trace, on rows that chose nothing) adds 0.250."
    assert words == said
