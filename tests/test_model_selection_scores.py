"""Scores over known labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, average_precision_score, r2_score, roc_auc_score

from skmtl import MultiTaskClassifierCV
from skmtl.model_selection import SCORES, target_scores
from skmtl.model_selection.score_words import SCORE_WORDS, call_score, explain_score
from skmtl.model_selection.scores import own_score, own_scores
from skmtl.targets import ClassCoding, LongLabels, NumberCoding, TableLabels, TaskData


def reference(name, y, f, weight):
    nmse = 1.0 - r2_score(y, f, sample_weight=weight) if not SCORES[name].for_classes else None
    return {
        "r2": lambda: 1.0 - nmse,
        "pooled_r2": lambda: 1.0 - nmse,
        "nmse": lambda: nmse,
        "arrmse": lambda: np.sqrt(nmse),
        "accuracy": lambda: accuracy_score(y > 0, f > 0, sample_weight=weight),
        "task_accuracy": lambda: accuracy_score(y > 0, f > 0, sample_weight=weight),
        "average_precision": lambda: average_precision_score(y > 0, f, sample_weight=weight),
        "roc_auc": lambda: roc_auc_score(y > 0, f, sample_weight=weight),
    }[name]()


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_those_of_scikit_learn_on_the_known_labels(name, rng):
    Y = rng.standard_normal((40, 3))
    Y = np.sign(Y) if SCORES[name].for_classes else Y
    # To one decimal, so that some are equal.
    F = np.round(Y + rng.standard_normal(Y.shape), 1)
    weight = rng.uniform(0.5, 2.0, 40)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    scores = target_scores(pd.DataFrame(Y, columns=list("abc")), F, name, sample_weight=weight)
    for t, task in enumerate("abc"):
        known = ~np.isnan(Y[:, t])
        assert scores[task] == pytest.approx(reference(name, Y[known, t], F[known, t], weight[known]), rel=1e-10)
    assert scores["mean"] == pytest.approx(scores[list("abc")].mean())


@pytest.mark.parametrize("name", SCORES)
def test_long_entries_score_like_the_table(name, rng):
    Y, F = np.sign(rng.standard_normal((20, 3))), rng.standard_normal((20, 3))
    table = TableLabels(Y, np.ones_like(Y))
    tasks = np.tile(np.arange(3), 20)
    column = LongLabels.from_rows(Y.ravel(), np.ones(60), tasks, 3)
    by_task = SCORES[name].per_task(column, column.arrange(F.ravel()), None)
    np.testing.assert_allclose(SCORES[name].per_task(table, F, None), by_task, rtol=1e-12)


@pytest.mark.parametrize("long", [True, False])
@pytest.mark.parametrize("name", SCORES)
def test_many_predictions_score_like_one_after_the_other(name, long, rng):
    """A task without labels, and a constant one, are among them."""
    Y, weight = rng.standard_normal((20, 4)), rng.uniform(0.5, 2.0, (20, 4))
    Y[:, 2], weight[:, 3] = 1.0, 0.0
    tasks = np.arange(20) % 4
    rows = (Y[np.arange(20), tasks], weight[np.arange(20), tasks], tasks, 4)
    labels = LongLabels.from_rows(*rows) if long else TableLabels(Y, weight)
    coding = ClassCoding.of_indicators() if SCORES[name].for_classes else NumberCoding(False)
    data = TaskData(np.zeros((20, 1)), labels, coding, np.arange(4), 1, None, np.arange(20), 20)
    some = labels.take(np.arange(3, 15))
    F = rng.standard_normal((5, *some.y.shape))
    one, several = own_score(SCORES[name], data), own_scores(SCORES[name], data)
    np.testing.assert_allclose(several(some, F), [one(some, part) for part in F], rtol=1e-12)


def test_a_score_that_is_not_defined_is_left_out():
    Y = [[1.0, 1.0, np.nan], [1.0, 0.0, np.nan]]
    precision = target_scores(Y, [[0.5, 0.5, 0.5], [0.2, -0.5, 0.5]], "average_precision")
    assert precision.isna().tolist() == [True, False, True, False]
    assert precision["mean"] == 1.0
    # A constant is explained when it is predicted exactly.
    assert target_scores([3.0, 3.0, 3.0], [3.0, 3.0, 3.0])["mean"] == 1.0
    assert target_scores([3.0, 3.0, 3.0], [3.0, 3.0, 4.0])["mean"] == 0.0


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="scoring='mse' is not known"):
        target_scores([1.0, 2.0], [1.0, 2.0], "mse")
    with pytest.raises(ValueError, match="0 and 1, or -1 and"):
        target_scores([1.0, 2.0], [1.0, 2.0], "accuracy")
    with pytest.raises(ValueError, match="must match"):
        target_scores([[1.0, 2.0]], [[1.0]], "r2")


def test_every_score_has_a_name_for_people_and_no_two_have_the_same():
    assert list(SCORE_WORDS) == list(SCORES)
    assert len({call_score(name) for name in SCORES}) == len(SCORES)
    assert not any("_" in explain_score(name) for name in SCORES)
    # Scores of others keep their names.
    assert call_score("neg_max_error") == explain_score("neg_max_error") == "neg_max_error"


@pytest.mark.parametrize("cv", [3, "loo"])
@pytest.mark.parametrize(
    ("share", "one_column", "expected"),
    [
        (0.5, False, "task_accuracy"),
        (0.1, False, "roc_auc"),
        (0.9, False, "roc_auc"),
        (0.1, True, "roc_auc"),
        (0.9, True, "roc_auc"),
        (0.4, True, "accuracy"),
    ],
)
def test_a_search_judges_rare_classes_by_the_order_of_rows(share, one_column, expected, cv, rng):
    """Accuracy calls it a success to never predict a class that is rare."""
    X = rng.standard_normal((60, 3))
    F = X @ rng.standard_normal((3, 2)) + 0.5 * rng.standard_normal((60, 2))
    Y = np.column_stack([F[:, 0] > np.quantile(F[:, 0], 1.0 - share), F[:, 1] > np.median(F[:, 1])]).astype(int)
    search = MultiTaskClassifierCV(kernel="linear", alphas=[1e-3, 1e-1], mus=[0.9], eps_factors=[1.0], cv=cv)
    search.fit(X, Y[:, 0] if one_column else Y)
    assert search.scoring_ == expected
    assert 0.5 < search.best_score_ <= 1.0
    # Test rows to training rows; what leaving one row out gives is compared on ten groups of rows.
    assert search.test_share_ == pytest.approx(1 / 9 if cv == "loo" else 1 / 2)


def test_a_class_of_many_is_no_rare_one(rng):
    """Ten classes have a tenth of the rows each; that one has nearly all of them is another thing."""
    X = rng.standard_normal((100, 4))
    options = {"kernel": "linear", "alphas": [1e-2], "mus": [0.9], "eps_factors": [1.0], "cv": 3}
    even = MultiTaskClassifierCV(**options).fit(X, np.arange(100) % 10)
    uneven = MultiTaskClassifierCV(**options).fit(X, np.repeat([0, 1, 2], [84, 8, 8]))
    assert (even.scoring_, uneven.scoring_) == ("accuracy", "roc_auc")
