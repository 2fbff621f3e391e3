"""Statistics, scaling and layouts of labels, beside what NumPy says of each task's labels alone."""

import numpy as np
import pytest

from skmtl._rows import MemoryRows
from skmtl.targets import BlockLabels, LabelReader, NumberCoding, TaskData, as_numbers
from skmtl.targets.coding import is_indicator
from skmtl.targets.layout import LongLabels, TableLabels, make_labels
from skmtl.targets.scaling import ErrorSums, TaskStats, balance, standardize


def make(rng, layout, n=30, n_tasks=3):
    """Labels with gaps and weights; and y and weights of each task, as lists of arrays, and its rows.

    Weights are relative: even together they are less than one.
    """
    Y = 5.0 + rng.standard_normal((n, n_tasks)) * (1.0, 10.0, 0.1) + (0.0, -50.0, 3.0)
    weight = 2.0**-10 * rng.uniform(0.5, 2.0, Y.shape) * (rng.random(Y.shape) < 0.7)
    if layout == "long":
        weight *= np.arange(n_tasks) == rng.integers(0, n_tasks, n)[:, None]
        weight[~weight.any(axis=1), 1] = 2.0**-10
        # Some rows count for nothing.
        weight[3:6] = 0.0
    labels = make_labels(np.where(weight > 0, Y, np.nan), weight)
    assert isinstance(labels, LongLabels if layout == "long" else TableLabels)
    rows = [np.flatnonzero(w > 0) for w in weight.T]
    return labels, [Y[r, t] for t, r in enumerate(rows)], [weight[r, t] for t, r in enumerate(rows)], rows


def moments(y, w):
    mean = np.average(y, weights=w)
    return mean, np.sqrt(np.average((y - mean) ** 2, weights=w))


@pytest.fixture(params=["table", "long"])
def layout(request):
    return request.param


def test_statistics_are_those_of_each_task_alone(layout, rng):
    labels, y, w, _ = make(rng, layout)
    stats = labels.stats()
    np.testing.assert_allclose(stats.total, [one.sum() for one in w])
    np.testing.assert_array_equal(stats.lowest, [one.min() for one in y])
    np.testing.assert_array_equal(stats.highest, [one.max() for one in y])
    expected = [moments(*pair) for pair in zip(y, w, strict=True)]
    np.testing.assert_allclose(stats.mean, [mean for mean, _ in expected])
    np.testing.assert_allclose(stats.spread, [spread for _, spread in expected])


def test_statistics_of_parts_make_those_of_the_whole(layout, rng):
    labels, *_ = make(rng, layout)
    parts = [labels.take(np.arange(a, b)).stats() for a, b in ((0, 4), (4, 25), (25, 30))]
    merged = parts[0].merge(parts[1]).merge(parts[2])
    for name in ("total", "lowest", "highest", "mean", "spread"):
        np.testing.assert_allclose(getattr(merged, name), getattr(labels.stats(), name), err_msg=name)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_standardized_labels_have_the_moments_asked_for(layout, center, scale, rng):
    labels, y, w, _ = make(rng, layout)
    scaled, scaling = standardize(labels, center=center, scale=scale)
    for t in range(labels.n_tasks):
        mean, spread = moments(y[t], w[t])
        middle = mean if center else 0.0
        size = np.sqrt(np.average((y[t] - middle) ** 2, weights=w[t])) if scale else 1.0
        np.testing.assert_allclose(np.sort(scaled.of_task(scaled.y, t)), np.sort((y[t] - middle) / size))
        assert scaling.mean[t] == pytest.approx(middle)
        assert scaling.scale[t] == pytest.approx(size)
        if center and scale:
            assert size == pytest.approx(spread)


def test_the_way_back_from_scaled_labels(layout, rng):
    labels, *_ = make(rng, layout)
    scaled, scaling = standardize(labels, center=True, scale=True)
    known = labels.weight > 0
    np.testing.assert_allclose(scaling.restore(labels, scaled.y)[known], labels.y[known])
    # Predictors: z'coef + constant in scaled units is what `restore` makes of it.
    coef, constant, z = rng.standard_normal((4, 3)), rng.standard_normal(3), rng.standard_normal(4)
    back, intercept = scaling.undo(coef, constant)
    np.testing.assert_allclose(z @ back + intercept, (z @ coef + constant) * scaling.scale + scaling.mean)


def test_balanced_tasks_weigh_the_same_and_together_what_they_did(layout, rng):
    labels, *_ = make(rng, layout)
    balanced = balance(labels)
    total = balanced.stats().total
    np.testing.assert_allclose(total, total[0])
    assert total.sum() == pytest.approx(labels.weight.sum())
    np.testing.assert_array_equal(balanced.y, labels.y)


def test_a_task_without_labels_stays_without_weight(rng):
    weight = np.ones((6, 2)) * (1.0, 0.0)
    labels = TableLabels(rng.standard_normal((6, 2)), weight)
    np.testing.assert_array_equal(balance(labels).weight[:, 1], 0.0)
    stats = labels.stats()
    assert stats.lowest[1] == np.inf
    assert stats.total[1] == 0.0
    for center in (True, False):
        scaled, scaling = standardize(labels, center=center, scale=True)
        assert (scaling.mean[1], scaling.scale[1]) == (0.0, 1.0)
        np.testing.assert_array_equal(scaled.y[:, 1], 0.0)
    # Nor has it a say in how large targets are.
    tiny = TableLabels(1e-90 * labels.y, weight)
    with pytest.raises(ValueError, match="scale_targets"):
        standardize(tiny, center=True, scale=False)


@pytest.mark.parametrize("value", [0.0, 3.0, -1e9, 0.1])
def test_a_constant_is_its_own_mean(value):
    labels = TableLabels(np.full((7, 1), value), np.linspace(0.1, 1.0, 7)[:, None])
    stats = TaskStats.from_labels(labels)
    assert stats.mean[0] == value
    assert stats.spread[0] == 0.0
    scaled, scaling = standardize(labels, center=True, scale=True)
    np.testing.assert_array_equal(scaled.y, 0.0)
    assert scaling.scale[0] == (abs(value) or 1.0)


@pytest.mark.parametrize("weight", [1.0, 1e-3])
@pytest.mark.parametrize("size", [1e80, 1e-80, -1e200, 1e200])
def test_sizes_whose_squares_are_lost_need_scaling(size, weight, rng):
    """Of either sign alone, too: the largest label may be the lowest. Weights are relative."""
    labels = TableLabels(size * (3.0 + rng.uniform(-1.0, 1.0, (9, 2))), np.full((9, 2), weight))
    with pytest.raises(ValueError, match="scale_targets"):
        standardize(labels, center=True, scale=False)
    scaled, _ = standardize(labels, center=True, scale=True)
    np.testing.assert_allclose((scaled.y**2).mean(axis=0), 1.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_label_may_be_far_larger_than_the_others(sign):
    labels = TableLabels(sign * np.array([[1e200], [1.0], [2.0]]), np.ones((3, 1)))
    scaled, scaling = standardize(labels, center=True, scale=True)
    assert scaling.scale[0] == pytest.approx(1e200 * np.sqrt(2.0) / 3.0)
    np.testing.assert_allclose((scaled.y**2).mean(axis=0), 1.0)


# Products -------------------------------------------------------------------------------------------------------------


def task_rows(labels, Phi, h, t, rows):
    """Rows of Phi and their h, of one task."""
    if labels.long:
        return Phi[rows[t]], labels.in_rows(h)[rows[t]]
    return Phi, h[:, t]


@pytest.mark.parametrize("center", [True, False])
def test_normal_matrices_are_those_of_centered_rows(layout, center, rng):
    labels, _, _, rows = make(rng, layout)
    Phi, W = rng.standard_normal((30, 4)) + 3.0, rng.standard_normal((4, 3))
    h = rng.uniform(0.1, 3.0, labels.y.shape)
    h = h * (labels.weight > 0)
    expected = []
    for t in range(3):
        own, weight = task_rows(labels, Phi, h, t, rows)
        own = own - np.average(own, axis=0, weights=weight) if center else own
        expected.append(own.T @ np.diag(weight) @ own)
    arranged = labels.arrange(Phi)
    np.testing.assert_allclose(labels.grams(arranged, h, center=center), expected)
    products = np.stack([gram @ w for gram, w in zip(expected, W.T, strict=True)], axis=1)
    if center:
        # `normal` leaves the mean of the right factor to the basis, whose rows have the mean zero as a whole.
        own = [task_rows(labels, Phi, h, t, rows) for t in range(3)]
        left = [
            p.T @ (weight * (p @ w) - weight * np.average(p @ w, weights=weight))
            for (p, weight), w in zip(own, W.T, strict=True)
        ]
        np.testing.assert_allclose(np.stack(left, axis=1), products)
    np.testing.assert_allclose(labels.normal(arranged, h, W, center=center), products)


def test_scores_and_adjoint_are_transposed_to_one_another(layout, rng):
    labels, _, _, rows = make(rng, layout)
    Phi, W, U = rng.standard_normal((30, 4)), rng.standard_normal((4, 3)), rng.standard_normal(labels.y.shape)
    arranged = labels.arrange(Phi)
    scores = labels.scores(arranged, W)
    assert np.sum(scores * U) == pytest.approx(np.sum(W * labels.adjoint(arranged, U)))
    for t in range(3):
        own = labels.in_rows(scores)[rows[t]] if labels.long else scores[rows[t], t]
        np.testing.assert_allclose(own, Phi[rows[t]] @ W[:, t])


def test_means_leave_out_tasks_without_labels(layout, rng):
    labels, y, w, _ = make(rng, layout)
    expected = [np.average(a, weights=b) for a, b in zip(y, w, strict=True)]
    np.testing.assert_allclose(labels.means(labels.y), expected)
    none = labels.with_labels(labels.y, labels.weight * labels.spread(np.array([1.0, 0.0, 1.0])))
    np.testing.assert_allclose(none.means(labels.y), [expected[0], np.nan, expected[2]])


def test_row_weights_share_out_the_total(layout, rng):
    labels, *_ = make(rng, layout)
    assert labels.row_weight().sum() * labels.n_tasks == pytest.approx(labels.weight.sum())


def test_parts_of_tasks_have_their_labels(layout, rng):
    labels, y, *_ = make(rng, layout)
    part, rows = labels.part(np.array([2, 0]))
    Phi = rng.standard_normal((30, 2))
    for place, t in enumerate((2, 0)):
        np.testing.assert_array_equal(np.sort(part.of_task(part.y, place)), np.sort(y[t]))
    W = rng.standard_normal((2, 3))
    whole = labels.scores(labels.arrange(Phi), W)
    few = part.scores(labels.arrange(Phi)[rows], W[:, [2, 0]])
    for place, t in enumerate((2, 0)):
        np.testing.assert_allclose(part.of_task(few, place), labels.of_task(whole, t))


# Errors ---------------------------------------------------------------------------------------------------------------


def test_errors_are_those_of_scikit_learn(layout, rng):
    from sklearn.metrics import mean_squared_error, r2_score

    labels, y, w, rows = make(rng, layout)
    F = rng.standard_normal((30, 3))
    laid_out = labels.arrange(F[np.arange(30), labels.tasks]) if labels.long else F
    sums = ErrorSums.from_labels(labels, laid_out)
    own = [F[r, t] for t, r in enumerate(rows)]
    r2 = [r2_score(a, f, sample_weight=b) for a, f, b in zip(y, own, w, strict=True)]
    np.testing.assert_allclose(sums.r2(), r2)
    errors = [mean_squared_error(a, f, sample_weight=b) for a, f, b in zip(y, own, w, strict=True)]
    np.testing.assert_allclose(sums.nmse(np.full(3, 2.0)), np.array(errors) / 4.0)
    np.testing.assert_array_equal(sums.counts, [len(r) for r in rows])
    few = ErrorSums.from_labels(labels.take(np.arange(9)), _take(labels, laid_out, np.arange(9)))
    rest = ErrorSums.from_labels(labels.take(np.arange(9, 30)), _take(labels, laid_out, np.arange(9, 30)))
    np.testing.assert_allclose(few.merge(rest).r2(), r2)
    # Of several predictions at once, however large, each by itself.
    both = ErrorSums.from_labels(labels, np.array([1e200 * laid_out, laid_out]))
    np.testing.assert_array_equal(both.roots[1], sums.roots)
    np.testing.assert_allclose(both.roots[0], ErrorSums.from_labels(labels, 1e200 * laid_out).roots)
    np.testing.assert_array_equal(both.nmse(np.full(3, 2.0))[1], sums.nmse(np.full(3, 2.0)))


def _take(labels, U, rows):
    if not labels.long:
        return U[rows]
    part = labels.take(rows)
    return part.arrange(labels.in_rows(U)[rows])


def test_a_constant_target_is_explained_or_not():
    labels = TableLabels(np.full((4, 2), 2.0), np.ones((4, 2)))
    np.testing.assert_array_equal(ErrorSums.from_labels(labels, np.full((4, 2), (2.0, 3.0))).nmse(), [0.0, 1.0])
    one = TableLabels(np.ones((1, 1)), np.ones((1, 1)))
    assert np.isnan(ErrorSums.from_labels(one, np.ones((1, 1))).r2()).all()


# Classes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "found"),
    [
        ([[0, 1], [1, 0]], True),
        ([[1, 1], [1, 1]], True),
        ([[0.0, np.nan], [1.0, 1.0]], True),
        ([[True, False], [False, False]], True),
        ([[np.nan, np.nan], [np.nan, np.nan]], True),
        ([0, 1, 1], False),
        ([[0], [1]], False),
    ],
)
def test_zeros_and_ones_of_several_columns_are_indicators(y, found):
    assert is_indicator(np.array(y)) is found


@pytest.mark.parametrize("y", [[[1, 2], [2, 1]], [[0.5, 1.0], [0.0, 1.0]], [["a", "b"], ["b", "a"]], [[0, -1], [1, 1]]])
def test_other_columns_are_none(y):
    with pytest.raises(ValueError, match="not 0/1"):
        is_indicator(np.array(y))


# Blocks ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def read_in_blocks(monkeypatch):
    """Labels read 64 rows at a time; and the same in memory."""
    monkeypatch.setattr("skmtl._rows.BLOCK_ENTRIES", 64)

    def read(Y, weight):
        reader = LabelReader(Y.shape[1], as_numbers)
        labels = BlockLabels.from_rows(MemoryRows(np.zeros((len(Y), 2)), {"y": Y, "weight": weight}), reader)
        return labels, TableLabels(Y, np.where(np.isnan(Y), 0.0, weight))

    return read


@pytest.mark.parametrize("gap", [None, 3, 70, 149])
@pytest.mark.parametrize("factor", [(1.0, 1.0), (3.0, 3.0), (1.0, 2.0), (2.0, 1.0)])
def test_blocks_know_what_a_table_knows(gap, factor, read_in_blocks, rng):
    """Wherever the gap is, and however tasks are weighted."""
    Y, weight = rng.standard_normal((150, 2)), np.repeat(rng.uniform(0.5, 2.0, (150, 1)), 2, axis=1)
    if gap is not None:
        Y[gap, 1] = np.nan
    blocks, table = (labels.reweighted(np.array(factor)) for labels in read_in_blocks(Y, weight))
    assert blocks.complete() == table.complete()
    assert blocks.complete() == (gap is None and factor[0] == factor[1])
    for name in ("total", "lowest", "highest", "mean", "spread"):
        np.testing.assert_allclose(getattr(blocks.stats(), name), getattr(table.stats(), name), err_msg=name)


def test_one_task_in_blocks_is_complete_whatever_its_factor(read_in_blocks, rng):
    blocks, _ = read_in_blocks(rng.standard_normal((150, 1)), np.ones((150, 1)))
    assert blocks.reweighted(np.array([0.3])).complete()


@pytest.mark.parametrize(("most", "left"), [(20, 20), (149, 149), (150, 150), (151, 150)])
def test_rows_are_drawn_without_repetition_and_always_the_same(most, left, read_in_blocks, rng):
    Y = rng.standard_normal((150, 2))
    labels, _ = read_in_blocks(Y, np.ones((150, 2)))
    one, two = labels.drawn(most), labels.drawn(most)
    assert one.rows.shape[0] == left
    np.testing.assert_array_equal(one.stats().mean, two.stats().mean)
    np.testing.assert_array_equal(one.stats().total, left)
    if left == 150:
        np.testing.assert_allclose(one.stats().spread, Y.std(axis=0))


def test_rows_without_any_label_are_counted(read_in_blocks, rng):
    Y, weight = rng.standard_normal((150, 2)), np.ones((150, 2))
    Y[[5, 80, 81]], weight[140], Y[7, 0] = np.nan, 0.0, np.nan
    assert read_in_blocks(Y, weight)[0].summary.unlabelled == 4


# The record -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairwise", [True, False])
def test_some_rows_are_a_record_of_their_own(pairwise, rng):
    """As if nothing else had been passed: of a kernel matrix rows and columns."""
    X, Y = rng.standard_normal((6, 6 if pairwise else 3)), rng.standard_normal((6, 2))
    given = {"feature_names": None, "rows": np.arange(6) + 2, "n_given": 9, "groups": np.arange(6) // 2}
    labels = TableLabels(Y, np.ones((6, 2)))
    data = TaskData(X, labels, NumberCoding(False), np.array(["a", "b"]), X.shape[1], pairwise=pairwise, **given)
    rows = np.array([4, 0, 1])
    part = data.take(rows)
    expected = X[np.ix_(rows, rows)] if pairwise else X[rows]
    np.testing.assert_array_equal(part.X, expected)
    np.testing.assert_array_equal(part.labels.y, Y[rows])
    np.testing.assert_array_equal(part.rows, [0, 1, 2])
    np.testing.assert_array_equal(part.groups, [2, 0, 0])
    assert (part.n_features, part.n_given) == (expected.shape[1], 3)
    others = np.array([2, 3])
    np.testing.assert_array_equal(data.features(others, rows), X[np.ix_(others, rows)] if pairwise else X[others])
