"""Rows that belong together stay together in folds; progress can be printed; an exact kernel must fit in memory."""

import numpy as np
import pandas as pd
import pytest
from problems import related_tasks
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut

from skmtl import (
    MultiTaskClassifier,
    MultiTaskClassifierCV,
    MultiTaskRegressor,
    MultiTaskRegressorCV,
    _memory,
    compare_methods,
    edge_stability,
    structure_path,
)
from skmtl.estimators.clean import clean
from skmtl.features import kernel_maps
from skmtl.model_selection import interval_coverage, readable_graph, stability
from skmtl.model_selection.folds import make_splits
from skmtl.model_selection.landmark_choice import choose_landmarks
from skmtl.penalties import Sparse
from skmtl.targets import LongLabels, TableLabels

GRID = {"kernel": "linear", "alphas": [1e-2, 1e-1], "mus": [0.9], "eps_factors": [1.0]}


@pytest.fixture
def problem(rng):
    X, Y = related_tasks(rng, 40, 3)
    return X, Y, np.repeat([f"patient {k}" for k in range(10)], 4)


def test_no_fold_tears_a_group_apart(problem):
    X, Y, groups = problem
    Y[5] = np.nan  # a row without labels, which is dropped
    with pytest.warns(UserWarning, match="1 row has no label"):
        data = clean(MultiTaskRegressor(), X, Y, groups=groups)
    kept = np.delete(groups, 5)
    splits = make_splits(3, data)
    for train, test in splits:
        assert not set(kept[train]) & set(kept[test])
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(39))
    # Nor do folds within folds.
    inner = data.take(splits[0][0])
    for train, test in make_splits(3, inner):
        assert not set(kept[splits[0][0]][train]) & set(kept[splits[0][0]][test])


def test_hidden_groups_are_missing_and_dates_are_groups(problem):
    X, Y, _ = problem
    days = pd.date_range("2020", periods=10).repeat(4)
    assert len(np.unique(clean(MultiTaskRegressor(), X, Y, groups=days).groups)) == 10
    with pytest.raises(ValueError, match="groups is a masked array with 4 masked values"):
        MultiTaskRegressor().fit(X, Y, groups=np.ma.array(np.arange(40) // 4, mask=days == days[7]))
    for groups in ({"a": 1}, [["a"], ["b", "c"]] * 20):
        with pytest.raises(ValueError, match=r"groups=.* does not say which rows belong together; name a group for"):
            MultiTaskRegressor().fit(X, Y, groups=groups)


@pytest.mark.parametrize("search", [MultiTaskRegressorCV, MultiTaskClassifierCV])
def test_a_search_with_groups_is_one_on_folds_of_groups(problem, search):
    X, Y, groups = problem
    Y = Y if search is MultiTaskRegressorCV else (Y > 0).astype(int)
    ours = search(cv=5, **GRID).fit(X, Y, groups=groups)
    theirs = search(cv=list(GroupKFold(5).split(X, groups=groups)), **GRID).fit(X, Y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    whole = search(cv=LeaveOneGroupOut(), **GRID).fit(X, Y, groups=groups)
    assert "split9_test_score" in whole.cv_results_


def patients(rng, n_groups, n_visits=5):
    """Visits that look alike, and labels with a part that belongs to the patient: no row of another tells of it."""
    center = np.repeat(rng.normal(size=(n_groups, 3)), n_visits, axis=0)
    X = center + 0.05 * rng.normal(size=center.shape)
    own = np.repeat(rng.normal(size=(n_groups, 2)), n_visits, axis=0)
    return X, X[:, :2] + own + 0.1 * rng.normal(size=own.shape), np.repeat(np.arange(n_groups), n_visits)


@pytest.mark.parametrize("form", ["complete", "gaps", "long"])
def test_intervals_hold_for_new_groups(form, rng):
    X, Y, groups = patients(rng, 40)
    new, truth, _ = patients(rng, 200)
    rest = {}
    if form == "gaps":
        Y[np.arange(len(Y)) % 3 == 0, 0] = np.nan
    if form == "long":
        X, Y, groups = np.tile(X, (2, 1)), Y.T.ravel(), np.tile(groups, 2)
        rest = {"tasks": np.repeat([0, 1], len(X) // 2)}
    model = MultiTaskRegressor(kernel="rbf", gamma=2.0, alpha=1e-3)
    share = {}
    for name, known in (("apart", {}), ("together", {"groups": groups})):
        low, high = model.fit(X, Y, **rest, **known).predict_interval(new, coverage=0.9)
        share[name] = np.mean((low <= truth) & (truth <= high))
    assert share["apart"] < 0.75
    assert 0.8 < share["together"] < 0.98


@pytest.mark.parametrize("long", [False, True])
def test_ranks_of_errors_are_those_of_groups(long, rng):
    """Intervals reach to the least error below which (m + 1) coverage of m groups lie, however many rows each has."""
    X, Y, groups = patients(rng, 12)
    kept = (np.arange(60) % 5 == 0) | (rng.random(60) < 0.5)
    X, Y, groups = X[kept], Y[kept], groups[kept]
    Y[groups == 3, 1] = np.nan
    rest = {"groups": groups}
    if long:
        row, task = np.nonzero(~np.isnan(Y))
        mixed = rng.permutation(len(row))
        row, task = row[mixed], task[mixed]
        X, Y, rest = X[row], Y[row, task], {"groups": groups[row], "tasks": task}
    est = MultiTaskRegressor(kernel="rbf", alpha=1e-2).fit(X, Y, **rest)
    found, labels = est.evidence_.residuals, est.evidence_.labels
    sizes = labels.in_rows(np.abs(found.error) / found.spread)
    far = np.full((1, 3), 1e3)
    mean, std = est.predict(far, return_std=True)
    for coverage in (0.5, 0.8, 0.9):
        reach = (est.predict_interval(far, coverage=coverage)[1] - mean) / std * est.evidence_.noise
        for t in range(2):
            own = rest["tasks"] == t if long else ~np.isnan(Y[:, t])
            errors, of = (sizes[own] if long else sizes[own, t]), rest["groups"][own]
            shares = np.array([[np.mean(errors[of == g] <= q) for g in np.unique(of)] for q in np.sort(errors)])
            least = np.flatnonzero(shares.sum(axis=1) / (len(np.unique(of)) + 1) >= coverage - 1e-9)[0]
            np.testing.assert_allclose(reach[0, t], np.sort(errors)[least], rtol=1e-9)


def test_too_few_groups_for_the_coverage_asked(rng):
    X, Y, groups = patients(rng, 8)
    est = MultiTaskRegressor(kernel="rbf", alpha=1e-2).fit(X, Y, groups=groups)
    est.predict_interval(X, coverage=0.88)
    with pytest.raises(ValueError, match=r"needs at least 9 groups .* task 'y0' has 8; ask for at most 0.88"):
        est.predict_interval(X, coverage=0.9)
    # Folds of eight groups learn from six or seven.
    found = interval_coverage(est, X, Y, groups=groups, coverages=[0.5, 0.8, 0.87, 0.9])
    assert found["coverage"].unique().tolist() == [0.5, 0.8, 0.87]
    assert found["coverage"].value_counts()[0.87] < found["coverage"].value_counts()[0.8] == Y.size
    # Labels of a task may be in fewer groups than rows are; a single group cannot be left out, but its rows can.
    Y[groups > 2, 1] = np.nan
    est.fit(X, Y, groups=groups)
    with pytest.raises(ValueError, match=r"needs at least 4 groups .* task 'y1' has 3; ask for at most 0.75, or"):
        est.predict_interval(X, coverage=0.8)
    est.fit(X, Y, groups=np.zeros(len(X), dtype=int)).predict_interval(X, coverage=0.9)


def test_left_out_with_its_group_a_row_is_predicted_by_a_fit_without_it(rng):
    X, Y, groups = patients(rng, 6)
    settings = {"penalty": "independent", "kernel": "rbf", "gamma": 2.0, "scale_targets": False}
    est = MultiTaskRegressor(alpha=1e-2, **settings).fit(X, Y, groups=groups)
    one = groups == 2
    # n alpha stays what it is for all rows.
    other = MultiTaskRegressor(alpha=1e-2 * len(X) / np.sum(~one), **settings).fit(X[~one], Y[~one])
    found = est.evidence_.residuals
    np.testing.assert_allclose(found.error[one], Y[one] - other.predict(X[one]), atol=1e-5)
    _, std = other.predict(X[one], return_std=True)
    np.testing.assert_allclose(found.spread[one], std / other.evidence_.noise, rtol=1e-6)


@pytest.mark.parametrize("long", [False, True])
def test_a_task_that_one_group_has_leaves_no_errors(long, rng):
    """Without the group its constant may be anything: nobody knows how large its errors are."""
    X, Y = related_tasks(rng, 40, 2)
    groups = np.r_[np.arange(20) % 8, np.full(20, 99)]
    tasks = np.repeat([0, 1], 20)
    if long:
        est = MultiTaskRegressor().fit(X, Y[np.arange(40), tasks], tasks=tasks, groups=groups)
    else:
        Y[:20, 1] = Y[20:, 0] = np.nan
        est = MultiTaskRegressor().fit(X, Y, groups=groups)
    np.testing.assert_allclose(est.noise_[1], est.target_scale_[1])
    assert 0.1 < est.noise_[0] / est.target_scale_[0] < 2.0
    mean, std = est.predict(X, return_std=True)
    assert np.all((std > 0.1 * est.noise_) & (std < 100.0 * est.noise_))
    known = np.column_stack([np.full(40, np.nan), mean[:, 1] + 1.0])
    assert np.abs(est.predict(X, known=known)[:, 0] - mean[:, 0]).max() < 10.0
    with pytest.raises(ValueError, match=r"1 groups with labels .* task .*1.* has 0; collect more"):
        est.predict_interval(X, coverage=0.5)


def test_labels_of_one_group_are_left_out_one_by_one(rng):
    """As without groups, and so are those of the only group whose rows have weight."""
    X, Y = related_tasks(rng, 30, 2)
    weight, groups = np.repeat([1.0, 0.0], 15), np.repeat([0, 1], 15)
    expected = MultiTaskRegressor().fit(X, Y, sample_weight=weight)
    for given in (groups, np.zeros(30)):
        est = MultiTaskRegressor().fit(X, Y, sample_weight=weight, groups=given)
        np.testing.assert_array_equal(est.predict(X, return_std=True)[1], expected.predict(X, return_std=True)[1])
        np.testing.assert_array_equal(est.predict_interval(X, coverage=0.5), expected.predict_interval(X, coverage=0.5))
    classes = (Y > 0.0).astype(float)
    plain, grouped = (
        MultiTaskClassifier(loss="hinge").fit(X, classes, sample_weight=weight, groups=given).predict_proba(X)
        for given in (None, groups)
    )
    np.testing.assert_array_equal(grouped, plain)


@pytest.mark.parametrize("n_weighted", [1, 2])
def test_few_rows_with_weight_are_dealt_among_themselves(n_weighted, rng):
    """So that labels are left without any of the folds; one row leaves nothing to learn from, and all is even."""
    X, _ = related_tasks(rng, 30, 2)
    classes = np.where(np.arange(30)[:, None] % 2 == 0, [1.0, 0.0], [0.0, 1.0])
    weight = (np.arange(30) < n_weighted).astype(float)
    est = MultiTaskClassifier(loss="hinge").fit(X, classes, sample_weight=weight)
    proba = est.predict_proba(X)
    assert np.all((proba >= 0.0) & (proba <= 1.0))
    if n_weighted == 1:
        np.testing.assert_allclose(proba, 0.5, atol=1e-3)


def test_coverage_and_path_keep_groups_together(rng):
    X, Y, groups = patients(rng, 40)
    model = MultiTaskRegressor(kernel="rbf", gamma=2.0, alpha=1e-3)
    found = interval_coverage(model, X, Y, groups=groups, coverages=[0.9])
    assert 0.8 < found["covered"].mean() < 0.98
    ours = structure_path(model, X, Y, [0.5], groups=groups)
    theirs = structure_path(model, X, Y, [0.5], cv=list(GroupKFold(5).split(X, groups=groups)))
    np.testing.assert_allclose(ours.scores, theirs.scores)


@pytest.mark.parametrize("form", ["table", "crossed", "nested"])
def test_no_half_tears_a_group_apart(form, rng):
    """Halves are complementary in groups; in long format every task has rows in both, where groups are of one task."""
    groups = rng.permutation(np.repeat(np.arange(24), rng.integers(1, 6, size=24)))
    tasks = groups % 3 if form == "nested" else rng.integers(3, size=len(groups))
    labels = TableLabels(np.zeros((len(groups), 3)), np.ones((len(groups), 3)))
    if form != "table":
        labels = LongLabels.from_rows(np.zeros(len(groups)), np.ones(len(groups)), tasks, 3)
    halves = list(stability._halves(labels, 8, rng, groups))
    for one, other in zip(halves[::2], halves[1::2], strict=True):
        assert sorted([*one, *other]) == list(range(len(groups)))
        assert not set(groups[one]) & set(groups[other])
        assert len(set(groups[one])) == len(set(groups[other])) == 12
        if form == "nested":
            assert [len(set(groups[one][tasks[one] == t])) for t in range(3)] == [4, 4, 4]
    assert not np.array_equal(halves[0], halves[2])


def test_copies_of_rows_make_no_edge_steadier(rng):
    """With every row there five times and told so, halves are those of the rows themselves."""
    X, Y = related_tasks(rng, 24, 4)
    model = MultiTaskRegressor(Sparse(0.6), alpha=1e-2)
    once = edge_stability(model, X, Y, 6)
    copies = np.repeat(np.arange(24), 5)
    told = edge_stability(model, X[copies], Y[copies], 6, groups=copies)
    assert 0.0 < once["frequency"].min() < 1.0
    pd.testing.assert_frame_equal(told, once, rtol=1e-4)
    graph = readable_graph(model, X, Y, 6, groups=np.arange(24))
    pd.testing.assert_frame_equal(graph, readable_graph(model, X, Y, 6))
    with pytest.raises(ValueError, match="there are 3 groups of rows with labels; halves of them need at least 4"):
        edge_stability(model, X, Y, 6, groups=np.arange(24) % 3)


def test_rows_that_are_copies_flatter_unless_they_stay_together(rng):
    X = np.repeat(rng.normal(size=(20, 3)), 3, axis=0)
    Y = np.repeat(rng.normal(size=(20, 2)), 3, axis=0)
    groups = np.repeat(np.arange(20), 3)
    shuffled = rng.permutation(60)
    grid = {**GRID, "kernel": "rbf", "gammas": [5.0], "alphas": [1e-4]}
    apart = MultiTaskRegressorCV(**grid).fit(X[shuffled], Y[shuffled])
    together = MultiTaskRegressorCV(**grid).fit(X[shuffled], Y[shuffled], groups=groups[shuffled])
    assert apart.best_score_ > 0.9
    assert together.best_score_ < 0.2
    table = compare_methods(
        X[shuffled], Y[shuffled], ["sparse"], estimator=MultiTaskRegressorCV(**grid), cv=3, groups=groups[shuffled]
    )
    assert table["score"].max() < 0.3


def test_groups_that_do_not_fit_are_refused(problem):
    X, Y, groups = problem
    for wrong, part in [
        (groups[:-1], "groups has 39 entries but X has 40 rows"),
        ([None, *groups[1:]], "groups has missing values"),
        (np.repeat([0, 1], 20), "here are 2 groups"),
    ]:
        with pytest.raises(ValueError, match=part):
            MultiTaskRegressorCV(**GRID).fit(X, Y, groups=wrong)
    with pytest.raises(ValueError, match="leaves out one row at a time, not a group"):
        MultiTaskRegressorCV(cv="loo", **GRID).fit(X, Y, groups=groups)


def test_verbose_prints_a_line_for_every_fold(problem, capsys):
    X, Y, _ = problem
    MultiTaskRegressorCV(cv=4, verbose=1, **GRID).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("1 of 4")
    assert lines[-1].endswith("about 0 s left")
    compare_methods(X, Y, ["trace"], estimator=MultiTaskRegressorCV(cv=3, verbose=1, **GRID), cv=3, verbose=1)
    assert len(capsys.readouterr().out.splitlines()) == 6
    MultiTaskRegressorCV(cv=4, **GRID).fit(X, Y)
    assert capsys.readouterr().out == ""


# Memory ---------------------------------------------------------------------------------------------------------------


def test_an_exact_kernel_beyond_memory_is_refused_before_it_is_computed(problem, monkeypatch):
    X, Y, _ = problem
    needed = _memory.kernel_bytes(len(X))
    monkeypatch.setattr(kernel_maps, "ROWS_THAT_FIT", len(X) - 1)
    monkeypatch.setattr(_memory, "memory_available", lambda: needed)
    fitted = MultiTaskRegressor(kernel="rbf").fit(X, Y)
    monkeypatch.setattr(_memory, "memory_available", lambda: needed - 1)
    for estimator in (
        MultiTaskRegressor(kernel="rbf"),
        MultiTaskRegressorCV(**{**GRID, "kernel": "rbf"}, gammas=[1.0]),
    ):
        with pytest.raises(MemoryError, match=r"an exact kernel of 40 rows needs .* n_components=1000"):
            estimator.fit(X, Y)
    # Predictions, landmarks and features need no such matrix.
    assert fitted.predict(X).shape == Y.shape
    MultiTaskRegressor(kernel="rbf", n_components=10, random_state=0).fit(X, Y)
    MultiTaskRegressor(kernel="linear").fit(X, Y)


def test_memory_is_what_is_left_of_the_machine_and_of_the_container(monkeypatch, tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    2000 kB\n")
    monkeypatch.setattr(_memory, "MEMINFO", tmp_path / "meminfo")
    most, used = tmp_path / "most", tmp_path / "used"
    monkeypatch.setattr(_memory, "CONTAINER", (most, used))
    assert _memory.memory_available() == 2000 * 1024
    most.write_text("max\n")
    used.write_text("500000\n")
    assert _memory.memory_available() == 2000 * 1024
    most.write_text("1500000\n")
    assert _memory.memory_available() == 1_000_000
    used.write_text("1600000\n")
    assert _memory.memory_available() == 0
    monkeypatch.setattr(_memory, "MEMINFO", tmp_path / "nothing")
    monkeypatch.setattr(_memory, "CONTAINER", (tmp_path / "nothing", used))
    assert _memory.memory_available() is None


@pytest.mark.parametrize("n_rows", [1, 500, 3000, 3001, 40_000, 10**7])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "poly"])
def test_landmarks_are_for_kernels_and_for_many_rows(kernel, n_rows):
    landmarks = choose_landmarks(kernel, n_rows)
    assert (landmarks is None) == (kernel == "linear" or n_rows <= 3000)
    assert landmarks is None or 1 <= landmarks <= n_rows
    held = choose_landmarks(kernel, n_rows, quadratic=False)
    assert (held is None) == (landmarks is None)
    assert held is None or held <= 100 or held * n_rows <= 2**26
