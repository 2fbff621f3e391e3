"""Which candidate a search takes, and the folds that it takes it on, beside scores written by hand."""

from dataclasses import replace

import numpy as np
import pytest
from problems import related_tasks
from scipy.stats import rankdata
from sklearn.model_selection import KFold

from skmtl import MultiTaskClassifier, MultiTaskClassifierCV, MultiTaskRegressor, MultiTaskRegressorCV, compare_methods
from skmtl.estimators.clean import clean
from skmtl.model_selection import folds
from skmtl.model_selection.candidates import (
    Candidate,
    CandidateScores,
    choose,
    make_results,
    middle_alpha,
    row_means,
    standard_error,
)
from skmtl.model_selection.folds import _strata, has_few_labels, make_splits
from skmtl.penalties import Independent, Sparse
from skmtl.solvers.training import Settings
from skmtl.targets import TableLabels


def outcome(scores, edges):
    scores = np.array(scores, dtype=float)
    edges = np.repeat(np.array(edges, dtype=float)[:, None], scores.shape[1], axis=1)
    return CandidateScores(scores, edges, row_means(scores))


def test_the_best_mean_wins():
    assert choose(outcome([[1, 2], [3, 1], [0, 5]], [0, 0, 9]), "best") == 2


def test_of_equal_means_the_sparsest_graph_wins_and_then_the_first():
    assert choose(outcome([[1, 3], [2, 2], [3, 1]], [4, 2, 3]), "best") == 1
    assert choose(outcome([[1, 3], [2, 2], [3, 1]], [4, 4, 4]), "best") == 0
    # Rounding does not decide, a difference does.
    assert choose(outcome([[2.0, 2.0], [2.0, 2.0 + 1e-13]], [1, 5]), "best") == 0
    assert choose(outcome([[2.0, 2.0], [2.0, 2.0 + 1e-9]], [1, 5]), "best") == 1


def test_ties_are_relative_to_large_scores():
    assert choose(outcome([[-2e9], [-2e9 + 1e-4]], [1, 5]), "best") == 0
    assert choose(outcome([[-2e9], [-2e9 + 10.0]], [1, 5]), "best") == 1


def test_one_standard_error_takes_the_sparsest_within_it():
    best, behind = np.ones(4), np.array([0.4, -0.3, 0.2, -0.1])
    # Behind by 0.05 on average, with a standard error of 0.155.
    error = np.std(behind, ddof=1) / 2.0
    assert error == pytest.approx(0.1555, abs=1e-3)
    far = best - 1.0
    assert choose(outcome([best, best - behind, far], [5, 3, 0]), "1se") == 1
    within, beyond = best - behind - (error - 0.06), best - behind - (error - 0.04)
    assert choose(outcome([best, within, far], [5, 3, 0]), "1se") == 1
    assert choose(outcome([best, beyond, far], [5, 3, 0]), "1se") == 0
    # Of equally sparse ones, the better.
    assert choose(outcome([best, within, best - behind, far], [5, 3, 3, 0]), "1se") == 2


def test_of_alphas_that_are_level_the_middle_one_is_taken():
    noise = np.array([-0.1, 0.1])  # a standard error of 0.1, so that 0.01 is level
    means = {1e-5: 0.5, 1e-4: 0.895, 1e-3: 0.892, 1e-2: 0.894, 1e-1: 0.898, 1.0: 0.6, 10.0: 0.9}
    alphas, scores = list(means), np.array([mean + noise for mean in means.values()])
    best, everyone = alphas.index(10.0), [True] * len(alphas)
    assert alphas[middle_alpha(alphas, scores, best, everyone)] == 1e-2
    # Of two in the middle the best, else the larger; other candidates than these do not count.
    assert middle_alpha(alphas, scores, best, [alpha >= 0.1 for alpha in alphas]) == best
    assert alphas[middle_alpha(alphas, scores, best, [alpha >= 1e-3 for alpha in alphas])] == 0.1
    assert middle_alpha(alphas, scores, best, [alpha >= 1.0 for alpha in alphas]) == best


def test_areas_under_curves_do_not_ask_for_the_strongest_shrinkage(rng):
    X = rng.standard_normal((600, 3))
    Y = (X @ rng.standard_normal((3, 3)) + 2.0 * rng.standard_normal((600, 3)) > 2.0).astype(int)
    search = MultiTaskClassifierCV("independent", kernel="linear", scoring="roc_auc").fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert np.ptp(scores) < 2e-3  # the order of rows hardly depends on alpha
    tried = np.unique(search.cv_results_["param_alpha"].filled(np.nan).astype(float))
    assert tried[1] < search.alpha_ < tried[-2]
    assert search.best_score_ > scores.max() - 1e-3


@pytest.mark.parametrize("n_level", range(1, 7))
def test_the_middle_is_that_of_the_level_ones_and_the_best_where_it_is_in_the_middle(n_level):
    """Scores of three folds that differ by less than their error, and one candidate far behind on either side."""
    alphas = [float(k) for k in range(n_level + 2)]
    noise = np.array([-1.0, 0.0, 1.0])
    for best in range(1, n_level + 1):
        means = np.array([-50.0, *np.zeros(n_level), -50.0])
        means[best] += 1e-3
        middle = sorted({(n_level + 1) // 2, (n_level + 2) // 2})
        expected = best if best in middle else middle[-1]
        assert middle_alpha(alphas, means[:, None] + noise, best, [True] * len(alphas)) == expected


@pytest.mark.parametrize("rule", ["best", "1se"])
@pytest.mark.parametrize("scoring", ["roc_auc", "task_accuracy"])
def test_only_scores_of_an_order_and_only_the_best_ask_for_the_middle(rule, scoring, rng):
    X = rng.standard_normal((90, 3))
    Y = (X @ rng.standard_normal((3, 2)) + rng.standard_normal((90, 2)) > 0.0).astype(int)
    alphas = np.logspace(2, 6, 9)
    params = {"kernel": "linear", "alphas": alphas, "scoring": scoring, "rule": rule, "cv": 3}
    search = MultiTaskClassifierCV("independent", **params).fit(X, Y)
    results = search.cv_results_
    scores = np.array([results[f"split{k}_test_score"] for k in range(3)]).T
    plain = choose(CandidateScores(scores, np.zeros_like(scores), row_means(scores)), rule)
    tried = results["param_alpha"].filled(np.nan).astype(float)
    middle = middle_alpha(tried, scores, plain, np.ones(len(tried), dtype=bool))
    assert search.best_index_ == (middle if rule == "best" and scoring == "roc_auc" else plain)
    if scoring == "roc_auc":
        # The order of rows is the same at all of them, nearly.
        assert middle != plain


def test_the_best_itself_is_always_allowed():
    assert choose(outcome([[1.0, np.nan], [0.5, np.nan]], [5, 0]), "1se") == 0


def test_scores_that_are_not_defined_are_left_out():
    scores = np.array([[1.0, np.nan, 3.0], [np.nan] * 3])
    np.testing.assert_array_equal(row_means(scores), [2.0, np.nan])
    assert choose(outcome([[np.nan, np.nan], [1.0, np.nan]], [0, 0]), "best") == 1
    with pytest.raises(ValueError, match="not defined"):
        choose(outcome([[np.nan, np.nan]], [0]), "best")


def test_standard_errors_are_those_of_a_mean(rng):
    values = rng.standard_normal((4, 7))
    expected = values.std(axis=1, ddof=1) / np.sqrt(7)
    np.testing.assert_allclose(standard_error(values), expected)
    values[1, 2:] = np.nan
    expected[1] = values[1, :2].std(ddof=1) / np.sqrt(2)
    np.testing.assert_allclose(standard_error(values), expected)
    np.testing.assert_array_equal(standard_error(values[:, :1]), 0.0)


def test_results_have_the_ranks_and_deviations_of_scikit_learn(rng):
    scores = np.round(rng.standard_normal((6, 5)), 1)
    scores[4] = scores[2]
    scores[5] = np.nan
    candidates = [Candidate(Settings(Sparse(0.5) if k else Independent(), alpha=0.1 * (k + 1))) for k in range(6)]
    results = make_results(candidates, outcome(scores, range(6)))
    np.testing.assert_array_equal(results["rank_test_score"][:5], rankdata(-scores[:5].mean(axis=1), method="min"))
    assert results["rank_test_score"][5] == 6
    np.testing.assert_allclose(results["std_test_score"][:5], scores[:5].std(axis=1, ddof=1))
    np.testing.assert_allclose(results["mean_test_score"], scores.mean(axis=1))
    np.testing.assert_array_equal(results["mean_edges"], range(6))
    np.testing.assert_array_equal(results["split3_test_score"], scores[:, 3])


def test_searches_are_joined_on_the_folds_that_all_have():
    one, two = outcome([[1.0, 2.0, 6.0]], [1]), outcome([[3.0, 4.0]], [2])
    joined = CandidateScores.join([one, CandidateScores(two.scores, two.edges, two.means, finished=False)])
    np.testing.assert_array_equal(joined.scores, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(joined.means, [1.5, 3.5])
    assert not joined.finished


# Folds ----------------------------------------------------------------------------------------------------------------


def check_folds(splits, n, n_folds):
    """Every row is tested once, and trained on otherwise; folds are even."""
    assert len(splits) == n_folds
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(n))
    for train, test in splits:
        np.testing.assert_array_equal(np.union1d(train, test), np.arange(n))
        assert len(np.intersect1d(train, test)) == 0
    sizes = [len(test) for _, test in splits]
    assert max(sizes) - min(sizes) <= 1


def check_even(splits, strata):
    """Each stratum is spread over the folds as evenly as it can be."""
    for value in np.unique(strata):
        counts = [np.sum(strata[test] == value) for _, test in splits]
        assert max(counts) - min(counts) <= 1


def splits_of(estimator, X, y, n_folds, tasks=None):
    return make_splits(n_folds, clean(estimator, X, y, None, tasks))


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c", "d")])
def test_classes_are_spread_over_the_folds(classes, rng):
    X, y = rng.standard_normal((23, 2)), np.sort(rng.choice(classes, 23))
    splits = splits_of(MultiTaskClassifier(), X, y, 4)
    check_folds(splits, 23, 4)
    check_even(splits, y)


@pytest.mark.parametrize("classify", [True, False])
def test_tasks_in_long_format_are_spread_and_so_are_their_classes(classify, rng):
    X, tasks = rng.standard_normal((31, 2)), np.sort(rng.integers(0, 3, 31))
    y = np.where(rng.random(31) < 0.4, "yes", "no") if classify else rng.standard_normal(31)
    splits = splits_of(MultiTaskClassifier() if classify else MultiTaskRegressor(), X, y, 3, tasks)
    check_folds(splits, 31, 3)
    check_even(splits, tasks * 2 + (y == "yes") if classify else tasks)


def test_tables_of_numbers_have_the_folds_of_scikit_learn(rng):
    X, Y = rng.standard_normal((11, 2)), rng.standard_normal((11, 2))
    for (train, test), (other_train, other_test) in zip(
        splits_of(MultiTaskRegressor(), X, Y, 3), KFold(3).split(X), strict=True
    ):
        np.testing.assert_array_equal(train, other_train)
        np.testing.assert_array_equal(test, other_test)


def test_several_labels_of_a_row_are_no_classes_to_spread(rng):
    X, Y = rng.standard_normal((12, 2)), (rng.random((12, 3)) < 0.5).astype(float)
    Y[0] = 1.0
    for (_, test), (_, other) in zip(splits_of(MultiTaskClassifier(), X, Y, 3), KFold(3).split(X), strict=True):
        np.testing.assert_array_equal(test, other)


# Scores ---------------------------------------------------------------------------------------------------------------


def test_a_comparison_scores_as_its_search_does_unless_told(rng):
    X, Y = related_tasks(rng, 40, 3)
    Y = Y * (1.0, 1.0, 5.0) + rng.standard_normal((40, 3))
    grid = {"kernel": "linear", "alphas": [0.1], "mus": [0.5], "cv": 3}

    def scores(search, **params):
        return compare_methods(X, Y, ["sparse"], estimator=search, cv=3, **params)["score"].to_numpy()

    as_search = scores(MultiTaskRegressorCV(scoring="r2", **grid))
    np.testing.assert_array_equal(as_search, scores(MultiTaskRegressorCV(**grid), scoring="r2"))
    assert not np.allclose(as_search, scores(MultiTaskRegressorCV(**grid)))


def test_folds_have_even_shares_of_the_labels_of_each_task(rng):
    X, Y = rng.standard_normal((60, 2)), rng.standard_normal((60, 4))
    for t, n_kept in enumerate((10, 20, 30)):
        Y[rng.permutation(60)[n_kept:], t] = np.nan
    splits = splits_of(MultiTaskRegressor(), X, Y, 5)
    counts = np.array([np.sum(~np.isnan(Y[test]), axis=0) for _, test in splits])
    assert np.all(np.abs(counts - counts.mean(axis=0)) < 2.0)
    check_folds(splits, 60, 5)


@pytest.mark.parametrize(
    ("n_rows", "n_folds"), [(19, 5), (20, 10), (250, 10), (251, 5)], ids=["tiny", "small", "middle", "more"]
)
def test_few_labels_have_more_folds(n_rows, n_folds, rng):
    X, Y = rng.standard_normal((n_rows, 2)), rng.standard_normal((n_rows, 2))
    assert len(make_splits(None, clean(MultiTaskRegressor(), X, Y))) == n_folds
    classes = clean(MultiTaskClassifier(), X, (Y > 0.0).astype(int))
    assert len(make_splits(None, classes)) == 5


def test_what_counts_is_the_labels_of_a_task(rng):
    X, Y = rng.standard_normal((500, 2)), rng.standard_normal((500, 2))
    Y[:250, 0] = Y[250:, 1] = np.nan
    assert len(make_splits(None, clean(MultiTaskRegressor(), X, Y))) == 10
    grouped = clean(MultiTaskRegressor(), X[:200], rng.standard_normal((200, 2)), groups=np.arange(200) // 20)
    assert len(make_splits(None, grouped)) == 5


def test_labels_with_gaps_are_no_classes_to_spread(rng):
    """Though one label of every row is positive, and the first is known of all rows."""
    X, Y = rng.standard_normal((30, 2)), np.eye(3)[np.sort(rng.integers(0, 3, 30))]
    assert _strata(clean(MultiTaskClassifier(), X, Y)) is not None
    Y[::2, 1] = np.where(Y[::2, 1] == 1.0, 1.0, np.nan)
    assert _strata(clean(MultiTaskClassifier(), X, Y)) is None


@pytest.mark.parametrize(
    ("n_rows", "n_known", "few"),
    [(12, 6, True), (13, 6, False), (12, 7, False), (10, 14, True), (10, 13, False), (12, 18, False), (7, 8, True)],
)
def test_a_table_has_few_labels_where_fits_are_quick_and_tasks_know_little(n_rows, n_known, few, rng, monkeypatch):
    """At most 12 rows, 6 labels or 6 gaps, and 7 labels of each of two tasks."""
    monkeypatch.setattr(folds, "FEW_ROWS", 12)
    monkeypatch.setattr(folds, "FEW_IN_GAPS", 6)
    monkeypatch.setattr(folds, "FEW_LABELS", 7)
    Y = np.full((n_rows, 2), np.nan)
    Y.ravel()[rng.permutation(np.arange(2, 2 * n_rows))[: n_known - 2]] = 1.0
    Y[0] = 2.0
    weight = (~np.isnan(Y)).astype(float)
    data = clean(MultiTaskRegressor(), rng.standard_normal((n_rows, 2)), rng.standard_normal((n_rows, 2)))
    data = replace(data, labels=TableLabels(np.nan_to_num(Y), weight))
    assert has_few_labels(data) == few
