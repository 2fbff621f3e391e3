"""Folds, what is trained and predicted on them, and the count of what is done, each beside its definition."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems import related_tasks, with_gaps
from sklearn.model_selection import KFold, StratifiedKFold

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.estimators.clean import clean
from skmtl.losses import LOSSES
from skmtl.model_selection import folds
from skmtl.model_selection import kernel_choice as kernels
from skmtl.model_selection.folds import Progress, TrainingSource, deal_again, keep_finished, make_splits
from skmtl.penalties import Trace
from skmtl.solvers.training import Effort, Settings


def data_of(estimator, X, y, tasks=None, weight=None, groups=None):
    return clean(estimator, X, y, weight, tasks, groups)


def same_splits(splits, others):
    for one, other in zip(splits, others, strict=True):
        for part, same in zip(one, other, strict=True):
            np.testing.assert_array_equal(part, same)


# Which rows -----------------------------------------------------------------------------------------------------------


def test_groups_stay_together_and_folds_are_as_even_as_they_allow(rng):
    groups = np.repeat(np.arange(9), 4)[rng.permutation(36)]
    splits = make_splits(3, data_of(MultiTaskRegressor(), *related_tasks(rng, 36, 2), groups=groups))
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])
        assert len(test) == 12
    assert make_splits(9, data_of(MultiTaskRegressor(), *related_tasks(rng, 36, 2), groups=groups))
    assert len(make_splits(2, data_of(MultiTaskRegressor(), *related_tasks(rng, 36, 2), groups=groups))) == 2
    for n_folds in (10, 1):
        with pytest.raises(ValueError, match=f"cv={n_folds} folds need at least 2 folds and {n_folds} groups"):
            make_splits(n_folds, data_of(MultiTaskRegressor(), *related_tasks(rng, 36, 2), groups=groups))


def test_the_number_of_folds_lies_between_two_and_the_rows(rng):
    data = data_of(MultiTaskRegressor(), *related_tasks(rng, 5, 2))
    assert len(make_splits(2, data)) == 2
    assert len(make_splits(5, data)) == 5
    with pytest.raises(ValueError, match="at least 2 folds"):
        make_splits(1, data)
    with pytest.raises(ValueError, match="need at least 6 rows"):
        make_splits(6, data)
    for cv in (True, "five", 2.5):
        with pytest.raises(ValueError, match="cv="):
            make_splits(cv, data)


@pytest.mark.parametrize("gaps", [False, True])
def test_few_rows_are_dealt_again_and_each_deal_holds_out_every_row_once(gaps, rng, monkeypatch):
    X, Y = related_tasks(rng, 40, 2)
    data = data_of(MultiTaskRegressor(), X, with_gaps(rng, Y, 0.3) if gaps else Y)
    monkeypatch.setattr(folds, "ROWS_TO_DEAL_AGAIN", data.labels.n_rows)
    splits = deal_again(data)
    once = make_splits(None, data)
    same_splits(splits[: len(once)], once)
    deals = [splits[i : i + len(once)] for i in range(0, len(splits), len(once))]
    assert len(deals) == folds.N_DEALS
    for deal in deals:
        assert sorted(np.concatenate([test for _, test in deal])) == list(range(data.labels.n_rows))
        for train, test in deal:
            assert sorted([*train, *test]) == list(range(data.labels.n_rows))
        # Labels of each task are as even as they were.
        counts = [[data.labels.take(test).weight.sum(axis=0) for _, test in some] for some in (deal, once)]
        assert np.max(np.ptp(counts[0], axis=0)) <= np.max(np.ptp(counts[1], axis=0)) + 1
    assert {tuple(test) for _, test in deals[1]}.isdisjoint({tuple(test) for _, test in deals[2]})
    monkeypatch.setattr(folds, "ROWS_TO_DEAL_AGAIN", data.labels.n_rows - 1)
    same_splits(deal_again(data), once)


def test_classes_and_groups_are_dealt_once(rng):
    X, Y = related_tasks(rng, 40, 2)
    for data in (
        data_of(MultiTaskRegressor(), X, Y, groups=np.arange(40) // 2),
        data_of(MultiTaskClassifier(), X, (Y > 0.0).astype(int)),
    ):
        same_splits(deal_again(data), make_splits(None, data))


def test_pairs_of_indices_are_of_the_rows_that_were_passed(rng):
    """Rows without labels are not among those that are learned from: positions move up."""
    X, Y = related_tasks(rng, 8, 2)
    Y[[1, 4]] = np.nan
    with pytest.warns(UserWarning, match="2 rows have no label"):
        data = data_of(MultiTaskRegressor(), X, Y)
    train, test = np.array([0, 1, 2, 7]), np.array([3, 4, 5])
    expected = [(np.array([0, 1, 5]), np.array([2, 3]))]
    same_splits(make_splits([(train, test)], data), expected)
    masks = [np.isin(np.arange(8), part) for part in (train, test)]
    same_splits(make_splits([masks], data), expected)
    for wrong in (np.array([0, 8]), np.array([-1, 2])):
        with pytest.raises(ValueError, match="rows are 0 to 7"):
            make_splits([(wrong, test)], data)
    for empty in ([], [(train, np.array([4]))], [(np.array([1]), test)]):
        with pytest.raises(ValueError, match="no folds, or a fold without"):
            make_splits(empty, data)
    with pytest.raises(ValueError, match="more rows than the 6 that have labels"):
        make_splits(SimpleNamespace(split=lambda *_: KFold(2).split(X)), data)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_splitters_of_scikit_learn_see_the_classes(n_classes, rng):
    X, y = rng.standard_normal((24, 2)), rng.permutation(np.repeat(np.arange(n_classes), 24 // n_classes))
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    same_splits(make_splits(splitter, data_of(MultiTaskClassifier(), X, y)), splitter.split(X, y))


def test_splitters_see_the_labels_of_several_tasks_and_the_groups(rng):
    X, Y = related_tasks(rng, 6, 2)
    seen = []

    def split(*given):
        seen.extend(given)
        return KFold(2).split(X)

    make_splits(SimpleNamespace(split=split), data_of(MultiTaskRegressor(), X, Y, groups=[*"aabbcc"]))
    np.testing.assert_array_equal(seen[0], X)
    np.testing.assert_array_equal(seen[1], Y)
    np.testing.assert_array_equal(seen[2], [0, 0, 1, 1, 2, 2])
    make_splits(SimpleNamespace(split=split), data_of(MultiTaskRegressor(), X, Y[:, 0]))
    np.testing.assert_array_equal(seen[4], Y[:, 0])


@pytest.mark.parametrize("layout", ["table", "long"])
def test_labels_of_tasks_that_were_not_trained_do_not_count(layout, rng):
    X, Y = related_tasks(rng, 9, 3)
    tasks = np.array([0, 1, 0, 1, 0, 1, 2, 2, 0]) if layout == "long" else None
    if layout == "table":
        Y[:6, 2] = np.nan
    labels = data_of(MultiTaskRegressor(), X, Y if tasks is None else Y[:, 0], tasks).labels
    train, test = np.arange(6), np.arange(6, 9)
    tested = folds.test_labels(labels, train, test)
    expected = [3.0, 3.0, 0.0] if layout == "table" else [1.0, 0.0, 0.0]
    np.testing.assert_array_equal(tested.stats().total, expected)


# What is predicted ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["table", "gaps", "long"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", ["square", "poisson"])
def test_a_fold_predicts_what_its_training_rows_predict(loss, kernel, layout, rng):
    X, Y = related_tasks(rng, 24, 3)
    Y = rng.poisson(np.exp(0.5 * Y)).astype(float) + 1.0 if loss == "poisson" else 5.0 + 3.0 * Y
    Y = with_gaps(rng, Y) if layout == "gaps" else Y
    tasks = np.arange(24) % 3 if layout == "long" else None
    y = Y if tasks is None else Y[np.arange(24), tasks]
    est = MultiTaskRegressor(loss=loss, kernel=kernel, alpha=0.05, penalty="trace", eps=0.1, tol=1e-9)
    source = TrainingSource(est, data_of(est, X, y, tasks), LOSSES[loss]())
    train, test = np.arange(0, 24, 2), np.arange(1, 24, 2)
    fold = source.fold((train, test))
    settings = [Settings(Trace(), alpha=a, eps=0.1) for a in (0.05, 0.5)]
    solutions = [fold.training.solve(one, Effort(tol=1e-9)) for one in settings]
    for alpha, found in zip((0.05, 0.5), fold.predict(solutions), strict=True):
        own = {} if tasks is None else {"tasks": tasks[train]}
        refit = est.set_params(alpha=alpha).fit(X[train], y[train], **own)
        expected = refit.predict(X[test], **({} if tasks is None else {"tasks": tasks[test]}))
        np.testing.assert_allclose(fold.labels.in_rows(found), expected, rtol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_size_of_a_kernel_is_the_mean_of_its_diagonal(intercept, rng):
    """Of features about their mean, where there are intercepts; one where all are zero."""
    X, Y = related_tasks(rng, 15, 2)
    X = X + 2.0

    def size(kernel, rows=X):
        est = MultiTaskRegressor(kernel=kernel, fit_intercept=intercept)
        return TrainingSource(est, data_of(est, rows, Y), LOSSES["square"]()).size()

    centred = X - X.mean(axis=0) if intercept else X
    assert size("linear") == pytest.approx(np.mean(np.sum(centred**2, axis=1)))
    assert size("rbf") == pytest.approx(1.0)
    assert size("poly") == pytest.approx(np.mean((np.sum(X**2, axis=1) / 5 + 1.0) ** 3))
    K = X @ X.T
    assert size("precomputed", K) == pytest.approx(np.mean(np.diag(K)))
    assert size("precomputed", 0.0 * K) == 1.0


# The count of what is done --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("total", [4, None])
def test_what_is_left_is_the_parts_that_are_left_at_the_pace_so_far(total, monkeypatch, capsys):
    clock = iter([100.0, 103.0, 104.0])
    monkeypatch.setattr(folds, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    states = []
    progress = Progress(states.append, total, verbose=True)
    progress()
    progress()
    # 3 s for the first; then 2 s each.
    remaining = [9.0, 4.0] if total else [None, None]
    assert states == [{"done": k + 1, "total": total, "remaining": remaining[k]} for k in range(2)]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 of 4 fits" if total else "1 of ? fits")
    assert ("about 4 s left" in lines[1]) == bool(total)


def test_a_count_nobody_asked_for_says_nothing(capsys):
    Progress(None, 3)()
    Progress(lambda state: None, 3)()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("finished", "at_least", "kept"), [(2, 1, True), (2, 2, True), (1, 2, False), (0, 1, False)])
def test_an_interruption_keeps_what_is_enough(finished, at_least, kept):
    def results():
        yield from range(finished)
        raise KeyboardInterrupt

    counted = []
    if kept:
        with pytest.warns(UserWarning, match=f"rests on the {finished} parts"):
            assert keep_finished(results(), lambda: counted.append(1), "parts", at_least=at_least) == [0, 1]
    else:
        with pytest.raises(KeyboardInterrupt):
            keep_finished(results(), lambda: counted.append(1), "parts", at_least=at_least)
    assert len(counted) == finished


# Rows and kernels that are compared -----------------------------------------------------------------------------------


def contest(first, other):
    """Searches of two kernels with these scores on the folds."""

    def search(scores):
        results = {f"split{k}_test_score": np.array([-9.0, score]) for k, score in enumerate(scores)}
        return SimpleNamespace(cv_results_=results, best_index_=1, best_score_=float(np.mean(scores)))

    return {"linear": search(first), "rbf": search(other), "laplacian": search([s - 1.0 for s in first])}


@pytest.mark.parametrize(
    ("ahead", "winner"),
    [
        ([0.02, 0.02, 0.02], "rbf"),
        # By less than a margin; by the margin alone, but not by two standard errors.
        ([0.005, 0.005, 0.005], "linear"),
        ([0.09, 0.0, 0.0], "linear"),
        ([0.05, 0.02, 0.02], "rbf"),
        ([-0.5, -0.5, -0.5], "linear"),
    ],
)
def test_another_kernel_must_be_ahead_by_a_margin_and_by_two_standard_errors(ahead, winner):
    ahead = np.array(ahead)
    error = ahead.std(ddof=1) / np.sqrt(3)
    assert (winner == "rbf") == (ahead.mean() > max(0.01, 2.0 * error))
    assert kernels._winner(contest(0.5 * np.ones(3), 0.5 + ahead)) == winner


def test_widths_are_those_of_the_search_unless_one_is_given_and_linear_has_none(rng):
    search, X = kernels.quick_search(gammas=[0.1, 1.0], alphas=[0.01]), rng.standard_normal((9, 2))
    assert kernels.at_kernel(search, "rbf", X).gammas == [0.1, 1.0]
    assert kernels.at_kernel(search, "rbf", X, gamma=0.3).gammas == [0.3]
    assert kernels.at_kernel(search, "linear", X, gamma=0.3).gammas is None
    assert kernels.at_kernel(search, "rbf", X).alphas == [0.01]
    assert kernels.at_kernel(search, "rbf", X, cv=7).cv == 7
    assert kernels.at_kernel(search, "laplacian", X).kernel == "laplacian"


@pytest.mark.parametrize("share", [0.0, 0.25, 0.75])
def test_rows_that_are_drawn_have_no_more_labels_than_there_is_time_for(share, rng, monkeypatch):
    """Of a row those labels count that are there, or that are not, whichever are fewer; of long rows one."""
    monkeypatch.setattr(kernels, "MOST_ROWS", 50)
    monkeypatch.setattr(kernels, "MOST_LABELS", 40)
    monkeypatch.setattr(kernels, "MOST_ROWS_LINEAR", 70)
    X, Y = np.zeros((80, 1)), np.zeros((80, 4))
    Y[:, : int(4 * share)] = np.nan
    assert len(kernels.draw_rows(X, Y, "linear")) == 70
    rows = kernels.draw_rows(X, Y, "rbf")
    # One label of four is there, or is not.
    assert len(rows) == (50 if share == 0.0 else 40)
    assert len(set(rows.tolist())) == len(rows)
    assert len(kernels.draw_rows(X, Y[:, 3], "rbf", tasks=np.zeros(80))) == 40
    np.testing.assert_array_equal(rows, kernels.draw_rows(X, Y, "rbf"))


def test_folds_of_one_kernel_are_parts_of_a_step():
    states = []
    count = kernels.count_folds(states.append, 2, 3, "rbf kernel")
    count({"done": 1, "total": 4})
    count({"done": 1, "total": None})
    count({"gap": 0.1})
    kernels.report_progress(states.append, 3, 3)
    assert states == [
        {"done": 2.25, "total": 3, "part": "rbf kernel, fold 1 of 4"},
        {"done": 2.0, "total": 3, "part": "rbf kernel, fold 1"},
        {"done": 3, "total": 3},
    ]
    assert kernels.count_folds(None, 0, 1, "") is None


def test_long_tables_of_many_tasks_try_one_kernel(rng, monkeypatch):
    monkeypatch.setattr(kernels, "MOST_ROWS", 60)
    monkeypatch.setattr(kernels, "LABELS_PER_TASK", 10)
    X = np.zeros((100, 1))
    assert kernels.is_crowded(X, np.arange(100) % 7)
    assert not kernels.is_crowded(X, np.arange(100) % 6)
    assert not kernels.is_crowded(X, np.arange(100) % 10)
    assert not kernels.is_crowded(X, None)
