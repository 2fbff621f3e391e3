"""Decisions of searches and verdicts that scores seldom show, each on both sides."""

from inspect import signature
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from problems import related_tasks
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from skmtl import (
    MultiTaskClassifier,
    MultiTaskClassifierCV,
    MultiTaskRegressor,
    MultiTaskRegressorCV,
    compare_methods,
    edge_stability,
)
from skmtl.estimators import metric
from skmtl.estimators.base import train
from skmtl.estimators.clean import clean
from skmtl.losses import Square
from skmtl.model_selection import (
    choose_parameters,
    compare,
    interval_coverage,
    kernel_choice,
    landmark_choice,
    metric_choice,
    quick_search,
    stability,
    verdict,
)
from skmtl.model_selection.candidates import Candidate, CandidateScores, choose, learn_all, row_means
from skmtl.model_selection.folds import _deal_labels, make_splits
from skmtl.model_selection.gains import _best_method
from skmtl.model_selection.held_out import _beyond
from skmtl.model_selection.metric_choice import MetricSource
from skmtl.model_selection.scores import SCORES, constant_score, score_name
from skmtl.model_selection.stability import _learn_half
from skmtl.model_selection.verdict import PairedScores, describe_verdict, judge_interval
from skmtl.penalties import Independent, Sparse
from skmtl.solvers.training import Effort, Settings
from skmtl.targets import TableLabels
from skmtl.targets.coding import ClassCoding, find_classes, make_coding, signs


def test_what_changes_nothing_is_told_by_the_larger_score():
    for scores in ((1.0, 1e-3), (1e-3, 1.0)):
        assert judge_interval(-2e-4, 2e-4, *scores) == verdict.UNCHANGED
        assert judge_interval(-6e-4, 2e-4, *scores) == verdict.CLOSE


@pytest.mark.parametrize(("kept", "worse"), [("sparse", True), ("independent", False), (None, False)])
def test_the_model_that_is_kept_is_held_against_the_constant(kept, worse):
    """And the better of the two where none is kept."""
    paired = PairedScores("sparse", "pooled_r2", 0.1, 0.5, 0.2, -0.4, -0.5, -0.3)
    assert describe_verdict(paired, kept=kept).startswith("Worse than a constant") == worse


def test_a_fold_that_gains_nothing_is_no_gain():
    gains = np.array([[8.0, 8.0, 0.3], [0.2, 0.2, 0.31], [0.0, 0.1, 0.29], [0.3, 0.3, 0.3], [0.2, 0.2, -0.01]])
    # Unless the mean is beyond two standard errors all the same.
    assert _beyond(gains).tolist() == [False, True, True]


def test_among_folds_with_as_many_labels_the_one_with_fewest_rows_is_taken():
    """Every row knows a task that no other knows."""
    assert np.bincount(_deal_labels(np.eye(6, dtype=bool), 3)).tolist() == [2, 2, 2]


def test_one_standard_error_is_that_of_paired_differences():
    """Folds that are hard for all say nothing about who is behind."""
    scores = np.array([[0.0, 1.0, 5.0], [-0.1, 0.9, 4.9]])
    assert choose(CandidateScores(scores, np.array([[5.0], [0.0]]), row_means(scores)), "1se") == 0


def test_of_methods_that_gain_the_same_the_first_is_named():
    table = pd.DataFrame({"method": ["trace", "trace", "sparse", "sparse"], "difference": [0.0, 0.3, 0.9, 0.3]})
    assert _best_method(table) == "the graph (trace, on rows that chose nothing) adds 0.300"
    worse = table.assign(difference=[0.5, -0.2, 0.5, -0.3])
    assert _best_method(worse) == "the graph (trace, on rows that chose nothing) takes 0.200"


def test_a_score_of_classes_is_refused_before_the_work_starts(rng, monkeypatch):
    monkeypatch.setattr(compare, "select", lambda *given: pytest.fail("the work started"))
    with pytest.raises(ValueError, match="scoring='roc_auc' is for classes"):
        compare_methods(*related_tasks(rng, 12, 2), ["sparse"], scoring="roc_auc", cv=2)


def test_known_structures_are_not_asked_for_a_solver():
    asked = []

    def solve(settings, effort, *, start, certify):
        asked.append((settings.penalty.name, effort.solver))
        return SimpleNamespace(structure=np.eye(2))

    candidates = [Candidate(Settings(penalty, 1.0)) for penalty in (Independent(), Sparse())]
    assert [one for one, _ in learn_all(SimpleNamespace(solve=solve), candidates, Effort("newton"))] == candidates
    assert asked == [("independent", "auto"), ("sparse", "newton")]


def test_a_round_has_the_scale_that_the_one_before_asks_for(rng, monkeypatch):
    X, Y = related_tasks(rng, 12, 2)
    scales, asked = [], []
    monkeypatch.setattr(metric_choice, "train", lambda *given, feature_scale: scales.append(feature_scale))
    before = SimpleNamespace(scale_after=lambda rows, rule: asked.append((rows.tolist(), rule)) or "learned")
    model = MultiTaskRegressor(kernel="rbf", metric_rounds=1, metric_rule="evidence")
    MetricSource(model, clean(model, X, Y), Square(), before).training(np.arange(4))
    assert (scales, asked) == (["learned"], [([0, 1, 2, 3], "evidence")])


@pytest.mark.parametrize(
    ("n_rows", "n_components", "kept"), [(12, 5, 5), (12, 6, None), (13, 6, 6), (13, 7, None), (12, None, None)]
)
def test_halves_with_as_many_landmarks_as_rows_need_none(n_rows, n_components, kept, rng, monkeypatch):
    """Unless the user chose the landmarks."""
    models, make = [], stability.TrainingSource
    monkeypatch.setattr(stability, "TrainingSource", lambda model, *given: models.append(model) or make(model, *given))
    X, Y = related_tasks(rng, n_rows, 2)
    edge_stability(MultiTaskRegressor(Sparse(0.5), kernel="rbf", n_components=n_components, random_state=0), X, Y, 2)
    assert models.pop().n_components == kept
    edge_stability(MultiTaskRegressor(Sparse(0.5), kernel="rbf", landmarks=X[:7], n_components=None), X, Y, 2)
    assert models.pop().landmarks.shape == (7, X.shape[1])


def test_two_tasks_keep_their_mu_and_one_pair_is_always_news(rng):
    """The bound on false edges is of no use for a single pair, and that it is in every half is no warning."""
    X = rng.standard_normal((24, 3))
    Y = X[:, :1] + 0.01 * rng.standard_normal((24, 2))
    table = edge_stability(MultiTaskRegressor(Sparse(0.85), alpha=1.0), X, Y, 2, max_false=1.0)
    assert table["frequency"].tolist() == [1.0]
    assert table.attrs["mu"] == 0.85
    assert np.isnan(table.attrs["false_bound"])


def test_relations_as_frequent_and_as_steady_are_ordered_by_their_size():
    A = np.eye(4)
    for (a, b), weight in {(0, 1): 0.1, (0, 2): -0.4, (1, 3): 0.2}.items():
        A[a, b] = A[b, a] = weight
    table = stability._summarize(np.array([A, A]), np.array(list("abcd")))
    assert (table["task_a"] + table["task_b"]).tolist() == ["ac", "bd", "ab"]


def test_a_difference_shows_where_it_is_half_of_the_last_decimal():
    last = 10.0**-verdict.MOST_DECIMALS
    assert [verdict._shows(share * last) for share in (0.4, -0.4, 0.6, -0.6)] == [False, False, True, True]


def test_labels_for_widths_are_counted_by_rows_and_by_tasks_that_vary(rng, monkeypatch):
    asked, count = [], metric.labels_for_widths
    monkeypatch.setattr(metric, "labels_for_widths", lambda *given: asked.append(given) or count(*given))
    X, Y = related_tasks(rng, 30, 3, n_features=2)
    Y[:, 1] = 7.0
    MultiTaskRegressor("independent", kernel="rbf", metric_rounds=1, metric_rule="task_evidence").fit(X, Y)
    assert asked == [(30, 2)]


@pytest.mark.parametrize(
    ("kernels", "words"), [(["linear"], "linear kernel, fold"), (["linear", "rbf"], "kernels, fold")]
)
def test_a_choice_says_which_kernels_it_tries(kernels, words, rng):
    states, search = [], quick_search(alphas=[0.1], gammas=[1.0], mus=[0.9], cv=3, metric_rounds=0)
    choose_parameters(*related_tasks(rng, 30, 2), search=search, kernels=kernels, callback=states.append)
    parts = [state for state in states if "part" in state]
    assert parts
    assert {state["total"] for state in states} == {2}
    # Whether there is something left to do after the first half or not, it is told to be over.
    assert [state["done"] for state in states if "part" not in state] == [1, 2]
    assert all(state["part"].startswith(words) and state["done"] <= 1.0 for state in parts)


def test_more_rows_are_the_second_half_of_a_choice(rng, monkeypatch):
    monkeypatch.setattr(kernel_choice, "MOST_ROWS", 20)
    for name, value in (("MOST_EXACT_ROWS", 20), ("MOST_LANDMARK_ROWS", 40), ("LANDMARKS", 8)):
        monkeypatch.setattr(landmark_choice, name, value)
    states, search = [], quick_search(alphas=[0.1], gammas=[1.0], mus=[0.9], cv=3, metric_rounds=0)
    choose_parameters(*related_tasks(rng, 60, 2), search=search, kernels=["rbf"], callback=states.append)
    more = [state["done"] for state in states if "40 rows" in state.get("part", "")]
    assert more
    assert all(1.0 <= done <= 2.0 for done in more)


def test_a_long_table_of_one_task_is_predicted_as_a_column(rng):
    X, Y = related_tasks(rng, 12, 1)
    est = MultiTaskRegressor().fit(X, Y[:, 0], tasks=["only"] * 12)
    assert est.predict(X).shape == est.predict(X, tasks=["only"] * 12).shape == (12,)


@pytest.mark.parametrize("others", [MultiTaskClassifier, MultiTaskRegressorCV, MultiTaskClassifierCV])
def test_what_nobody_asks_for_is_the_same_for_all_estimators(others):
    ours, theirs = (signature(one).parameters for one in (MultiTaskRegressor, others))
    for name in ("degree", "coef0", "fit_intercept", "kernel_params", "random_state"):
        assert theirs[name].default == ours[name].default


def test_factors_of_eps_are_positive(rng):
    with pytest.raises(ValueError, match="eps_factors"):
        MultiTaskRegressorCV(alphas=[0.1], eps_factors=[0.0], cv=3).fit(*related_tasks(rng, 12, 2))


def test_a_scale_of_the_features_that_is_known_is_not_learned_again(rng, monkeypatch):
    X, Y = related_tasks(rng, 30, 2)
    est, scale = MultiTaskRegressor(kernel="rbf", metric_rounds=2), np.array([1.0, 0.5, 0.3, 0.2, 0.1])
    data = clean(est, X, Y)
    assert train(est, data, Square(), feature_scale=scale).feature_map.feature_scale is scale
    asked = []
    monkeypatch.setattr("skmtl.estimators.base.next_scale", lambda *given: asked.append(given) or scale)
    train(est, data, Square(), feature_scale=scale)
    assert not asked
    train(est, data, Square())
    assert len(asked) == 2


def test_a_column_of_classes_in_a_table_of_one_is_taken_with_a_warning():
    """As scikit-learn does it, in blocks too."""
    with pytest.warns(DataConversionWarning):
        found = find_classes(0, None, y=np.array([["a"], ["b"], ["a"]]))
    assert (found.classes.tolist(), found.weight.tolist()) == (["a", "b"], [2.0, 1.0])


def test_a_class_that_has_no_weight_is_named_and_does_not_count():
    found = find_classes(0, None, y=np.array(["a", "b", "a"]), weight=np.array([1.0, 0.0, 2.0]))
    assert (found.classes.tolist(), found.weight.tolist()) == (["a", "b"], [3.0, 0.0])
    with pytest.raises(ValueError, match="one class only"):
        make_coding(found)


def test_every_entry_of_an_indicator_matrix_is_looked_at():
    np.testing.assert_array_equal(signs(np.array([[0, 1.0], [np.nan, 0]])), [[-1.0, 1.0], [np.nan, -1.0]])
    with pytest.raises(ValueError, match="0"):
        signs(np.array([[0, 1], [1, 2]]))


def test_rows_that_know_most_are_dealt_first():
    """Those that know one of two tasks come together in the fold that the one which knows both has left."""
    known = np.array([[0, 1], [1, 0], [1, 1]], dtype=bool)
    assert _deal_labels(known, 2).tolist() == [1, 1, 0]


@pytest.mark.parametrize("size", [1.0, 1e-300, 1e300])
def test_two_labels_that_differ_vary(size):
    assert metric._varies(size * np.array([1.0, 2.0]))
    assert not metric._varies(size * np.array([1.0, 1.0]))
    assert not metric._varies(size * np.ones(1))


def test_a_score_of_zero_speaks_for_the_first_class():
    """As in scikit-learn."""
    coding = ClassCoding(np.array(["no", "yes"]), one_vs_all=False)
    assert coding.decode(np.array([-1.0, 0.0, 1e-300])).tolist() == ["no", "no", "yes"]


@pytest.mark.parametrize("kernel", ["auto", "rbf", ["laplacian", "linear"]])
def test_a_search_starts_from_a_plain_model(kernel):
    """All that is searched over is left out; kernels are tried from the first one on."""
    search = MultiTaskRegressorCV("sparse", kernel=kernel, metric_rounds=[1, 2], metric_rule="evidence")
    model = search.model()
    found = model.penalty, model.metric_rounds, model.metric_rule, model.kernel
    first = {"auto": "linear", "rbf": "rbf"}.get(str(kernel), "laplacian")
    assert found == ("independent", 0, "slopes", first)


def test_folds_that_judge_intervals_say_nothing_of_convergence(rng):
    X, Y = related_tasks(rng, 40, 2)
    est = MultiTaskRegressor(max_iter=1, tol=1e-12, solver="alternating")
    with pytest.warns(ConvergenceWarning):
        est.fit(X, Y)
    assert len(interval_coverage(est, X, Y, coverages=[0.5])) == 80


def test_halves_are_learned_while_there_is_room_for_their_edges():
    """As many edges as there is room for are not too many; the first structure with more is the last."""
    path = [SimpleNamespace(edges=k) for k in range(4)]

    def solve(settings, effort, start):
        A = np.eye(4)
        A[0, 1 : 1 + settings.edges] = A[1 : 1 + settings.edges, 0] = 0.5
        return SimpleNamespace(structure=A)

    source = SimpleNamespace(model=MultiTaskRegressor(), training=lambda half: SimpleNamespace(solve=solve))
    assert len(_learn_half(source, path, np.arange(3), np.full(4, 1.0))) == 3
    assert len(_learn_half(source, path, np.arange(3), np.full(4, 3.0))) == 4


def test_folds_have_their_share_of_every_class(rng):
    y = rng.permutation(np.repeat(["a", "b", "c", "d"], 10))
    data = clean(MultiTaskClassifier(), rng.standard_normal((40, 2)), y)
    for _, test in make_splits(5, data):
        assert np.unique(y[test], return_counts=True)[1].tolist() == [2, 2, 2, 2]


def test_a_constant_has_no_score_where_no_fold_has_one(rng):
    """All labels of a fold are of one class, which no order of the rows can be right or wrong about."""
    y = np.repeat([0, 1], 10)
    data = clean(MultiTaskClassifier(), rng.standard_normal((20, 2)), y)
    splits = [(np.arange(20), np.arange(10)), (np.arange(20), np.arange(10, 20))]
    assert constant_score("roc_auc", data, splits) is None
    mixed = [*splits, (np.arange(20), np.arange(20))]
    assert constant_score("roc_auc", data, mixed) == pytest.approx(0.5)


def test_tasks_that_do_not_vary_have_no_score_beside_others(rng):
    """Whoever predicts a constant is right; where all are constants nobody is better."""
    Y = np.c_[rng.standard_normal(20), np.full(20, 3.0)]
    labels, score = TableLabels(Y, np.ones((20, 2))), SCORES["nmse"]
    assert np.isnan(score.signed(labels, Y, np.array([1.0, 0.0]))).tolist() == [False, True]
    assert score.signed(labels, Y, np.zeros(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("counts", "name"), [((90, 6, 4), "roc_auc"), ((60, 30, 10), "accuracy")])
def test_classes_beside_a_large_one_are_judged_by_their_order(counts, name, rng):
    y = np.repeat(["a", "b", "c"], counts)
    assert score_name(None, clean(MultiTaskClassifier(), rng.standard_normal((100, 2)), y)) == name


@pytest.mark.parametrize("rule", ["best", "1se"])
def test_a_graph_is_as_sparse_as_it_is_in_the_mean_over_folds(rule):
    """Not on its worst fold: of candidates that are level the first has more edges on one fold, and fewer on all."""
    scores = np.tile([0.5, 0.6, 0.7, 0.8], (2, 1))
    edges = np.array([[0.0, 0.0, 0.0, 5.0], [3.0, 3.0, 3.0, 3.0]])
    assert choose(CandidateScores(scores, edges, row_means(scores)), rule) == 0
    assert choose(CandidateScores(scores, edges[::-1], row_means(scores)), rule) == 1
