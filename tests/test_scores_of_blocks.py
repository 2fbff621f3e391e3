"""Scores of rows that are read a block at a time: sums of blocks are the sums of all rows, by hand."""

import numpy as np
import pytest

from skmtl.estimators.predict import Predict
from skmtl.estimators.score import Errors, Hits
from skmtl.features import make_feature_map
from skmtl.targets import ErrorSums, LabelReader, NumberCoding, TableLabels, as_numbers

N, CUT = 20, 7


def predict_first(X, tasks=None):
    """The rows themselves, or the column of each row's task."""
    return X if tasks is None else X[np.arange(len(X)), tasks]


def in_blocks(function, merge, X, **columns):
    """The sums of two blocks."""
    cuts = (slice(0, CUT), slice(CUT, N))
    return merge(*(function(cut.start, X[cut], **{name: part[cut] for name, part in columns.items()}) for cut in cuts))


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("kind", ["column", "indicators", "long"])
def test_rows_whose_known_labels_are_all_right(kind, weighted, rng):
    X, weight = rng.integers(0, 2, (N, 3)).astype(float), rng.uniform(0.5, 2.0, N)
    y = np.where(rng.random((N, 3)) < 0.8, X, 1.0 - X)
    given = {"weight": weight} if weighted else {}
    tasks = rng.integers(0, 3, N)
    if kind == "indicators":
        y[rng.random(y.shape) < 0.3] = np.nan
        right = np.all((X == y) | np.isnan(y), axis=1)
    elif kind == "long":
        y, given = y[np.arange(N), tasks], {**given, "tasks": tasks}
        right = X[np.arange(N), tasks] == y
    else:
        X, y = X[:, 0], y[:, 0]
        right = X == y
    assert 0 < right.sum() < N
    found = in_blocks(Hits(predict_first), np.add, X, y=y, **given)
    sizes = weight if weighted else np.ones(N)
    np.testing.assert_allclose(found, [sizes[right].sum(), sizes.sum()])


@pytest.mark.parametrize("long", [True, False])
def test_squared_errors_of_known_labels(long, rng):
    """Of a long table all labels are one column, and predictions are those of each row's task."""
    X, Y, weight = rng.standard_normal((N, 3)), rng.standard_normal((N, 3)), rng.uniform(0.5, 2.0, N)
    tasks = np.arange(N) % 3
    if long:
        F, Y = X[np.arange(N), tasks][:, None], Y[:, :1]
        columns = {"y": Y[:, 0], "tasks": tasks}
    else:
        Y[rng.random(Y.shape) < 0.3] = np.nan
        F, columns = X, {"y": Y}
    errors = Errors(
        lambda *given: predict_first(*given).reshape(len(given[0]), -1), LabelReader(Y.shape[1], as_numbers)
    )
    sums = in_blocks(errors, ErrorSums.merge, X, weight=weight, **columns)
    known = ~np.isnan(Y)
    total = weight @ known
    np.testing.assert_allclose(sums.roots**2, weight @ np.where(known, Y - F, 0.0) ** 2)
    np.testing.assert_array_equal(sums.counts, known.sum(axis=0))
    mean = weight @ np.where(known, Y, 0.0) / total
    variance = weight @ np.where(known, Y - mean, 0.0) ** 2 / total
    np.testing.assert_allclose(sums.nmse(), sums.roots**2 / total / variance)
    np.testing.assert_allclose(sums.nmse(np.full(Y.shape[1], 2.0)), sums.roots**2 / total / 4.0)
    np.testing.assert_allclose(sums.r2(), 1.0 - sums.nmse())


def test_scores_of_tasks_without_labels_and_of_constants():
    """None without a label; of a constant nothing can be explained; R2 needs two labels."""
    Y = np.array([[1.0, 2.0, 5.0, 0.0, 3.0], [2.0, 2.0, 5.0, 0.0, 0.0]])
    weight = np.array([[1.0, 1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 1.0, 0.0, 0.0]])
    F = np.array([[1.0, 2.0, 5.0, 9.0, 1.0], [1.0, 2.0, 6.0, 9.0, 9.0]])
    sums = ErrorSums.from_labels(TableLabels(Y, weight), F)
    np.testing.assert_array_equal(sums.counts, [2, 2, 2, 0, 1])
    np.testing.assert_allclose(sums.roots, [1.0, 0.0, 1.0, 0.0, 2.0])
    np.testing.assert_array_equal(sums.nmse(), [2.0, 0.0, 1.0, np.nan, 1.0])
    np.testing.assert_array_equal(sums.r2(), [-1.0, 1.0, 0.0, np.nan, np.nan])


@pytest.mark.parametrize("unit", [1e-200, 2.0**-600, 1e160, 1e300])
def test_errors_of_blocks_are_summed_up_in_any_unit(unit, rng):
    """One block has no label of the last task, and another has errors that are much smaller."""
    Y, F = rng.standard_normal((12, 3)), rng.standard_normal((12, 3))
    Y[:4, 2] = np.nan
    Y[8:] *= 1e-3
    labels, moved = (TableLabels(np.nan_to_num(some), np.isfinite(some).astype(float)) for some in (Y, unit * Y))
    expected = ErrorSums.from_labels(labels, F)
    parts = [ErrorSums.from_labels(moved.take(np.arange(i, i + 4)), unit * F[i : i + 4]) for i in (0, 4, 8)]
    sums = parts[0].merge(parts[1]).merge(parts[2])
    np.testing.assert_allclose(sums.r2(), expected.r2(), rtol=1e-12)
    np.testing.assert_allclose(sums.roots / unit, expected.roots, rtol=1e-12)
    # A power of two costs no digits.
    if unit == 2.0**-600:
        np.testing.assert_array_equal(ErrorSums.from_labels(moved, unit * F).nmse(), expected.nmse())


@pytest.mark.parametrize("small", [0.0, 1e-310, 1e-200, 1e-80])
def test_labels_that_are_tiny_beside_their_errors(small, rng):
    """Such as p-values of a fold: a block of which all are tiny, beside one of which they are not."""
    Y, F = rng.standard_normal((8, 2)), rng.standard_normal((8, 2))
    Y[:4, 0] *= small
    labels = TableLabels(Y, np.ones_like(Y))
    whole = ErrorSums.from_labels(labels, F)
    parts = [ErrorSums.from_labels(labels.take(rows), F[rows]) for rows in (np.arange(4), np.arange(4, 8))]
    np.testing.assert_allclose(parts[0].roots, np.sqrt(np.sum((Y - F)[:4] ** 2, axis=0)))
    np.testing.assert_allclose(parts[0].nmse(np.full(2, 0.5)), np.mean((Y - F)[:4] ** 2, axis=0) / 0.25)
    np.testing.assert_allclose(parts[0].merge(parts[1]).nmse(), whole.nmse())
    np.testing.assert_allclose(whole.nmse(), np.mean((Y - F) ** 2, axis=0) / np.var(Y, axis=0))
    # A constant, or next to one: as bad as can be said in numbers whose squares are numbers.
    assert parts[0].nmse()[0] == 1.0 if small == 0.0 else 1e140 < parts[0].nmse()[0] < 1e152


def test_predictions_of_each_rows_own_task(rng):
    X, W, b = rng.standard_normal((9, 2)), rng.standard_normal((2, 4)), rng.standard_normal(4)
    predict = Predict(make_feature_map("linear").fit(X), W, b, NumberCoding(flat=False).predictions)
    F, tasks = X @ W + b, rng.integers(0, 4, 9)
    np.testing.assert_allclose(predict(X), F)
    np.testing.assert_allclose(predict(X, tasks), F[np.arange(9), tasks])
