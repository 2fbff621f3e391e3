"""What is said of sharing: the sentence, the candidates that it compares, and the interval, beside numbers by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from skmtl.model_selection import describe_comparison, verdict
from skmtl.model_selection.held_out import compare_scores
from skmtl.model_selection.verdict import PairedScores, describe_alone, describe_choice, describe_verdict


def search_of(scores, penalties, commons=None, *, chosen=0, rule="best", constant=0.0, means=None):
    """A search as far as a verdict reads it; ``scores`` has a row per candidate and a column per fold."""
    scores = np.array(scores, dtype=float)
    results = {f"split{k}_test_score": column for k, column in enumerate(scores.T)}
    results["mean_test_score"] = scores.mean(axis=1) if means is None else np.array(means)
    results["param_penalty"] = penalties
    results["param_common"] = [0.0] * len(penalties) if commons is None else commons
    return SimpleNamespace(
        cv_results_=results,
        best_index_=chosen,
        scoring_="pooled_r2",
        rule=rule,
        best_score_=float(results["mean_test_score"][chosen]),
        constant_score_=constant,
        test_share_=0.5,
        task_names_=np.array(["a", "b"]),
    )


def expected_interval(differences):
    """Nadeau and Bengio: the variance of the mean of K folds that share rows is 1/K + test/train times that of one."""
    K = len(differences)
    half = stats.t.ppf(0.975, K - 1) * np.std(differences, ddof=1) * np.sqrt(1.0 / K + 0.5)
    return np.mean(differences) - half, np.mean(differences) + half


def test_the_sentence_compares_the_best_of_both_sides():
    scores = [[0.1, 0.2, 0.3], [0.50, 0.61, 0.72], [0.30, 0.42, 0.50], [0.9, 0.2, 0.1]]
    search = search_of(scores, ["sparse", "sparse", "independent", "independent"], chosen=1)
    low, high = expected_interval(np.subtract(scores[1], scores[2]))
    assert describe_choice(search) == (
        "Sharing helps: R2 is 0.610 with sparse and 0.407 with independent tasks, a difference of +0.203 "
        f"[{low:+.3f}, {high:+.3f}]; a constant has 0.000. The model that is kept is sparse."
    )
    assert low > 0.0


def test_a_common_part_is_shared_and_named():
    search = search_of([[0.5, 0.6], [0.1, 0.4]], ["independent", "independent"], [2.0, 0.0])
    words = describe_choice(search)
    assert "0.550 with a common part and 0.250 with independent tasks" in words
    assert words.endswith("The model that is kept has a common part.")


def test_a_chosen_model_that_is_not_the_best_says_by_which_rule():
    scores = [[0.5, 0.6], [0.4, 0.6], [0.1, 0.2]]
    penalties = ["sparse", "sparse", "independent"]
    passed_over = describe_choice(search_of(scores, penalties, chosen=1, rule="1se"))
    assert verdict.PASSED_OVER in passed_over
    # The chosen one is compared, though another is better.
    assert "R2 is 0.500 with sparse" in passed_over
    assert verdict.PASSED_OVER not in describe_choice(search_of(scores, penalties, chosen=0, rule="1se"))
    assert verdict.PASSED_OVER not in describe_choice(search_of(scores, penalties, chosen=1, rule="best"))


@pytest.mark.parametrize("more", [0.1, -0.1])
def test_the_interval_lies_about_the_score_of_all_rows_and_those_of_groups(more):
    """Leaving one out scores all rows at once, and groups of rows show how sure that is."""
    scores, means = [[0.5, 0.7, 0.6], [0.4, 0.4, 0.4]], [0.6 + more, 0.4]
    found = verdict._pair(search_of(scores, ["sparse", "independent"], means=means), 0, 1)
    low, high = expected_interval([0.1, 0.3, 0.2])
    assert found.difference == pytest.approx(0.2 + more)
    assert (found.low, found.high) == pytest.approx((low + min(more, 0.0), high + max(more, 0.0)))


def test_a_gain_that_no_group_shows_decides_nothing():
    """Areas under the curve of groups of rows may all be the same, where that of all rows is a little larger."""
    search = search_of([[0.9, 0.8], [0.9, 0.8]], ["sparse", "independent"], means=[0.8506, 0.85])
    assert describe_choice(search).startswith("Too close to call")


def test_a_candidate_without_a_score_is_not_the_best():
    scores = [[0.5, 0.6], [np.nan, np.nan], [0.1, 0.2], [np.nan, np.nan]]
    words = describe_choice(search_of(scores, ["sparse", "sparse", "independent", "independent"]))
    assert "0.550 with sparse and 0.150 with independent tasks" in words


@pytest.mark.parametrize(
    ("difference", "said"), [(0.0123, "+0.012"), (0.0005, "+0.0005"), (0.00003, "+0.00003"), (-9e-7, "-0.000001")]
)
def test_scores_that_differ_look_different(difference, said):
    paired = PairedScores("sparse", "r2", 0.5 + difference, 0.5, None, difference, -np.inf, np.inf)
    words = describe_verdict(paired)
    assert f"a difference of {said} on a single fold, which has no interval." in words
    assert "constant" not in words


def test_no_better_than_a_constant_is_said_first():
    numbers = {"method": "sparse", "scoring": "r2", "difference": 0.2, "low": 0.1, "high": 0.3}

    def opening(score, independent, constant, kept):
        paired = PairedScores(score=score, independent=independent, constant=constant, **numbers)
        return describe_verdict(paired, kept=kept).split(":")[0]

    assert opening(0.5, 0.3, 0.6, "sparse") == "Worse than a constant"
    assert opening(0.5, 0.3, 0.5, "sparse") == "No better than a constant"
    assert opening(0.5, 0.3, 0.4, "sparse") == "Sharing helps"
    # The model that is kept counts, and the better of both where there is none.
    assert opening(0.5, 0.3, 0.4, "independent") == "Worse than a constant"
    assert opening(0.3, 0.5, 0.4, None) == "Sharing helps"
    assert opening(0.3, 0.5, 0.6, None) == "Worse than a constant"


def test_what_stands_alone_is_said_to():
    assert describe_alone("pooled_r2", 0.5, None, 1) == "There is one task and nothing to share: R2 is 0.500."
    apart = "Tasks are independent, and nothing is shared"
    assert describe_alone("pooled_r2", 0.5, 0.1, 2) == f"{apart}: R2 is 0.500; a constant has 0.100."
    rest = "for the same prediction at every row"
    assert describe_alone("pooled_r2", 0.0, 0.1, 2) == f"Worse than a constant: R2 is 0.000, but 0.100 {rest}. {apart}."
    assert describe_alone("pooled_r2", 0.1, 0.1, 2).startswith("No better than a constant: ")
    search = search_of([[0.5, 0.7], [0.1, 0.2]], ["independent", "independent"], constant=None)
    assert describe_choice(search) == f"{apart}: R2 is 0.600."


def test_folds_without_a_score_are_left_out(rng):
    """As if they had not been, task by task; a single fold has no interval, and none has no mean."""
    differences = rng.standard_normal((6, 4))
    differences[2:4, 1] = differences[1:, 2] = differences[:, 3] = np.nan
    low, high = verdict.paired_interval(differences, 0.25, 0.9)
    for t in (0, 1):
        some = differences[~np.isnan(differences[:, t]), t : t + 1]
        ends = verdict.paired_interval(some, 0.25, 0.9)
        np.testing.assert_allclose([low[t], high[t]], np.ravel(ends))
        half = stats.t.ppf(0.95, len(some) - 1) * some.std(ddof=1) * np.sqrt(1 / len(some) + 0.25)
        assert (high[t] - low[t]) / 2 == pytest.approx(half)
    assert (low[2], high[2]) == (-np.inf, np.inf)
    assert np.isnan(low[3])
    assert np.isnan(verdict.column_means(differences)[3])


# A comparison ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_a_comparison_is_made_of_paired_differences_task_by_task(ratio, rng):
    """Where sharing or independent tasks beat the constant, the interval has the word; else the constant has."""
    shared, alone = 0.5 + 0.01 * rng.standard_normal((2, 6, 4))
    alone[:, 0] -= 0.3
    shared[:, 1] -= 0.3
    constant = np.zeros((6, 4))
    constant[:, 2], constant[:, 3] = 0.9, np.nan
    table = compare_scores("trace", shared, alone, constant, tasks=list("abc"), ratio=ratio, level=0.9, scoring="r2")
    assert table["task"].tolist() == ["a", "b", "c", "(all tasks)"]
    assert table["verdict"].tolist()[:3] == ["helps", "hurts", "no better than a constant"]
    assert table["predictable"].tolist() == [True, True, False, True]
    np.testing.assert_allclose(table["difference"], (shared - alone).mean(axis=0))
    np.testing.assert_allclose(table["score"], shared.mean(axis=0))
    np.testing.assert_allclose(table["independent"], alone.mean(axis=0))
    np.testing.assert_allclose(table["constant"], constant.mean(axis=0))
    # Folds share training rows: the variance of their mean is (1/K + ratio) times that of one.
    deviation = (shared - alone).std(axis=0, ddof=1) * np.sqrt(1 / 6 + ratio)
    width = stats.t.ppf(0.95, 5) * deviation
    np.testing.assert_allclose(table["high"] - table["low"], 2 * width)
    np.testing.assert_allclose(table["high"] + table["low"], 2 * table["difference"])
    with pytest.raises(ValueError, match="method='spase' was not compared; choose one of trace"):
        describe_comparison(table, "spase")
    assert describe_comparison(table, "trace") == describe_comparison(table)
    # The constant has no score over all tasks, and nothing is said of it.
    assert "constant" not in describe_comparison(table)
    one = compare_scores(
        "trace", *(part[:, :2] for part in (shared, alone, constant)), tasks=["a"], ratio=ratio, level=0.9, scoring="r2"
    )
    assert describe_comparison(one).startswith("There is one task and nothing to share: ")


@pytest.mark.parametrize(("one", "other", "above"), [(0.2, -5.0, True), (-5.0, 0.2, True), (-0.1, -0.2, False)])
def test_one_of_the_two_must_beat_the_constant(one, other, above):
    """On average, where folds differ so much that nothing is sure."""
    noise = np.array([[-1.0], [1.0], [0.0]])
    scores = [np.full((3, 1), 0.5 + value) + noise for value in (one, other)]
    table = compare_scores("trace", *scores, np.full((3, 1), 0.5), tasks=[], ratio=0.5, level=0.95, scoring="r2")
    assert (table["verdict"].iloc[0] != verdict.WORSE) == above
    assert not table["predictable"].iloc[0]


@pytest.mark.parametrize("swap", [False, True])
def test_what_one_of_two_models_surely_predicts_can_be_predicted(swap):
    """Whatever the other one does."""
    surely, perhaps = 0.5 + 0.01 * np.arange(6.0)[:, None], np.array([[-3.0, 3.0, -2.0, 2.0, -1.0, 1.5]]).T
    both = (perhaps, surely) if swap else (surely, perhaps)
    table = compare_scores("trace", *both, np.zeros((6, 1)), tasks=[], ratio=0.2, level=0.95, scoring="r2")
    assert table["predictable"].iloc[0]


@pytest.mark.parametrize(("n_folds", "loss", "sure"), [(5, 0.0, True), (4, 0.0, False), (5, 0.3, False)])
def test_a_gain_in_each_of_five_folds_is_no_chance(n_folds, loss, sure):
    """However much more one of them gains, which two standard errors would doubt."""
    gains = np.array([[8.0], [0.2], [0.3], [0.2], [0.3]])[:n_folds]
    gains[1] -= loss
    constant = np.zeros_like(gains)
    table = compare_scores("trace", gains, gains, constant, tasks=[], ratio=0.5, level=0.95, scoring="r2")
    assert table["predictable"].iloc[0] == sure


def test_a_score_that_is_worse_than_a_constant_looks_worse():
    paired = PairedScores("sparse", "pooled_r2", -0.07941, -0.0835, -0.07935, 0.00409, -0.1, 0.1)
    assert "-0.07941 with sparse" in describe_verdict(paired, kept="sparse")
    assert "but -0.07935 for" in describe_verdict(paired, kept="sparse")
    assert "R2 is 0.10001, but 0.10004 for" in describe_alone("pooled_r2", 0.10001, 0.10004, 1)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (-1e-9, 1e-8, verdict.UNCHANGED),
        (1e-9, 1e-8, verdict.UNCHANGED),
        (-1e-9, 1e-5, verdict.UNCHANGED),
        (-2.4e-4, 2.4e-4, verdict.UNCHANGED),
        (-2e-4, 2.6e-4, verdict.CLOSE),
        (-1e-5, -2e-6, verdict.UNCHANGED),
        (1.5e-4, 2.4e-4, verdict.UNCHANGED),
        (1.5e-4, 2.6e-4, verdict.HELPS),
        (0.0, 0.0, verdict.UNCHANGED),
        (0.0, 0.1, verdict.CLOSE),
        (-0.1, 0.0, verdict.CLOSE),
        (1e-9, 0.1, verdict.HELPS),
        (-0.1, -1e-9, verdict.HURTS),
        (-0.1, 0.1, verdict.CLOSE),
    ],
)
@pytest.mark.parametrize("unit", [1.0, 1e-7, 1e5])
def test_an_interval_that_touches_zero_decides_nothing(low, high, word, unit):
    """Nor does one that three decimals do not show, on whichever side it is; beside scores of any size."""
    score, independent = 0.5 + (low + high) / 2, 0.5
    assert verdict.judge_interval(*(unit * value for value in (low, high, score, independent))) == word


@pytest.mark.parametrize("n_folds", [1, 5])
@pytest.mark.parametrize("constant", [0.0, np.nan])
def test_models_that_are_the_same_but_for_rounding_are_called_the_same(n_folds, constant, rng):
    """Where a search for sharing chooses independent tasks on every fold, both give the same scores."""
    alone = 0.5 + 0.1 * rng.random((n_folds, 3))
    shared = alone + 1e-12 * rng.standard_normal(alone.shape)
    options = {"tasks": ["a", "b"], "ratio": 0.25, "level": 0.95, "scoring": "r2"}
    table = compare_scores("sparse", shared, alone, np.full_like(alone, constant), **options)
    assert set(table["verdict"]) == {verdict.UNCHANGED}
    words = describe_comparison(table)
    assert words.startswith("Sharing changes nothing: sparse and independent tasks agree on every fold, both have ")
    assert "difference" not in words


def test_a_difference_that_is_surely_next_to_nothing_is_not_too_close_to_call():
    paired = PairedScores("sparse", "pooled_r2", 0.997720, 0.997715, None, 5e-6, -4.8e-5, 5.8e-5)
    assert describe_verdict(paired, kept="sparse") == (
        "Sharing changes next to nothing: R2 is 0.998 with sparse and 0.998 with independent tasks, a difference "
        "within ±0.00006. The model that is kept is sparse."
    )
    # What is written as different is not said to be the same.
    paired = PairedScores("sparse", "pooled_r2", 0.9976, 0.9974, None, 2e-4, -1e-4, 4e-4)
    said = "R2 is 0.9976 with sparse and 0.9974 with independent tasks, a difference within ±0.0004."
    assert describe_verdict(paired).endswith(said)


def test_a_difference_that_decides_nothing_has_as_few_decimals_as_the_table():
    """Which shows three, unless the difference would not be that of the scores."""
    paired = PairedScores("sparse", "pooled_r2", 0.69005, 0.69071, -0.02495, -0.00066, -0.0189, 0.01758)
    assert describe_verdict(paired) == (
        "Too close to call: R2 is 0.690 with sparse and 0.691 with independent tasks, a difference of -0.001 "
        "[-0.019, +0.018]; a constant has -0.025."
    )


@pytest.mark.parametrize(
    ("score", "independent", "said"),
    [
        (0.2416, 0.2432, "0.2416 with sparse and 0.2432 with independent tasks, a difference of -0.0016"),
        (0.24154, 0.24346, "0.24154 with sparse and 0.24346 with independent tasks, a difference of -0.00192"),
        (0.2412, 0.2432, "0.241 with sparse and 0.243 with independent tasks, a difference of -0.002"),
    ],
)
def test_the_difference_is_that_of_the_scores_as_they_are_written(score, independent, said):
    paired = PairedScores("sparse", "pooled_r2", score, independent, None, score - independent, -0.004, 0.001)
    assert f"R2 is {said} [" in describe_verdict(paired)


def test_a_difference_of_zero_has_no_sign_and_few_decimals():
    """Folds may differ where their means do not."""
    paired = PairedScores("sparse", "r2", 0.5 - 1e-8, 0.5, None, -1e-8, -0.0123, 0.0123)
    assert describe_verdict(paired) == (
        "Too close to call: R2 within folds is 0.500 with sparse and 0.500 with independent tasks, a difference of "
        "0.000 [-0.012, +0.012]."
    )


@pytest.mark.parametrize("constant", [0.0, np.nan])
def test_a_task_without_a_score_is_not_judged(constant, rng):
    """On the rows held out all its labels are the same; where that is so on some folds, the others judge it."""
    shared, alone = 0.5 + 0.01 * rng.standard_normal((2, 5, 3))
    shared[:, 0] = alone[:, 0] = shared[1:3, 1] = alone[1:3, 1] = np.nan
    options = {"tasks": ["a", "b"], "ratio": 0.25, "level": 0.95, "scoring": "r2"}
    table = compare_scores("sparse", shared, alone, np.where(np.isnan(alone), np.nan, constant), **options)
    assert [word == verdict.NOT_JUDGED for word in table["verdict"]] == [True, False, False]
    assert table["predictable"].tolist() == [False, True, True]
