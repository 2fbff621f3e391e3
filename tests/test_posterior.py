"""How sure predictions are, against the dense covariance of all labels."""

import numpy as np
import pandas as pd
import pytest
from problems import gram, related_tasks, with_gaps
from scipy import sparse

from skmtl import MultiTaskRegressor
from skmtl.penalties import Fixed, Sparse

ALPHA, GAMMA = 1e-2, 0.3
STRUCTURE = np.array([[1.0, 0.8, -0.3], [0.8, 2.0, 0.1], [-0.3, 0.1, 0.5]])


class DensePosterior:
    """Gaussian processes with a constant for each task, all labels at once; noise of a label of weight one is one.

    ``K`` is the kernel of training rows, ``ridge`` n alpha, ``labels`` rows, tasks and weights of all labels.
    """

    def __init__(self, K, A, labels, ridge, *, intercept=True):
        self.A, self.ridge, (self.row, self.task, weight) = A, ridge, labels
        n_labels, n_tasks = len(self.row), len(A)
        prior = K[np.ix_(self.row, self.row)] * A[np.ix_(self.task, self.task)] / ridge
        self.M = np.zeros((n_labels + n_tasks * intercept,) * 2)
        self.M[:n_labels, :n_labels] = prior + np.diag(1.0 / weight)
        if intercept:
            E = np.eye(n_tasks)[self.task]
            self.M[:n_labels, n_labels:], self.M[n_labels:, :n_labels] = E, E.T
        self.intercept = intercept

    def cross(self, k):
        """Covariances of f(x) of all tasks and the labels, and the constants, for k = k(x, rows)."""
        kappa = self.A[:, self.task] * k[self.row] / self.ridge
        return np.hstack([kappa, np.eye(len(self.A))]) if self.intercept else kappa

    def mean(self, k, y):
        y = np.concatenate([y, np.zeros(len(self.M) - len(y))])
        return self.cross(k) @ np.linalg.solve(self.M, y)

    def covariance(self, k, own):
        # With a border M is the inverse of a matrix whose corner is zero, and signs come out right.
        h = self.cross(k)
        return self.A * own / self.ridge - h @ np.linalg.solve(self.M, h.T)


def layouts(rng, n=24, n_tasks=3):
    """Tables of labels of all kinds: y, sample_weight and tasks, as ``fit`` takes them."""
    X, Y = related_tasks(rng, n, n_tasks)
    Y = Y * np.array([1.0, 50.0, 0.1])
    tasks = np.arange(n) % n_tasks
    long = Y[np.arange(n), tasks]
    few = np.full(Y.shape, np.nan)
    few[:, 0], few[::2, 1], few[::3, 2] = Y[:, 0], Y[::2, 1], Y[::3, 2]
    return X, {
        "complete": (Y, None, None),
        "row weights": (Y, rng.uniform(0.5, 2.0, n), None),
        "label weights": (Y, rng.uniform(0.5, 2.0, Y.shape), None),
        "gaps": (with_gaps(rng, Y), None, None),
        "nested gaps": (few, rng.uniform(0.5, 2.0, n), None),
        "long": (long, None, tasks),
        "long with weights": (long, rng.uniform(0.5, 2.0, n), tasks),
    }


LAYOUTS = tuple(layouts(np.random.default_rng(0))[1])
MODELS = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "gamma": GAMMA},
    "rbf, learned": {"kernel": "rbf", "gamma": GAMMA, "penalty": Sparse(mu=0.7), "tol": 1e-9},
    "rbf, common": {"kernel": "rbf", "gamma": GAMMA, "common": 0.7},
    "rbf, no constants": {"kernel": "rbf", "gamma": GAMMA, "fit_intercept": False},
    "linear, no constants": {"kernel": "linear", "fit_intercept": False},
    "landmarks": {"kernel": "rbf", "gamma": GAMMA, "n_components": 6, "random_state": 0},
    "metric": {"kernel": "rbf", "gamma": GAMMA, "metric_rounds": 1},
    "balanced, singular": {"kernel": "rbf", "gamma": GAMMA, "balance_tasks": True, "penalty": Fixed(np.ones((3, 3)))},
}


def list_labels(Y, weight, tasks, n_tasks):
    """Rows, tasks, weights and values of labels in any layout, row by row."""
    if tasks is not None:
        weight = np.ones(len(Y)) if weight is None else weight
        return np.arange(len(Y)), tasks, weight, Y
    weight = np.ones(Y.shape) if weight is None else np.broadcast_to(weight.reshape(len(Y), -1), Y.shape)
    row, task = np.nonzero(~np.isnan(Y))
    return row, task, weight[row, task], Y[row, task]


def brute_force(est, X, Xnew, Y, weight, tasks):
    """Dense posterior, standardized labels, kernels of new rows with training rows and themselves, weights, scale."""
    row, task, w, y = list_labels(Y, weight, tasks, len(est.task_names_))
    n_tasks = len(est.task_names_)
    if est.balance_tasks:
        totals = np.bincount(task, w)
        w = w * (totals.mean() / totals)[task]
    total = np.bincount(task, w)
    mean = np.bincount(task, w * y) / total if est.fit_intercept else np.zeros(n_tasks)
    y = (y - mean[task]) / est.target_scale_[task]
    points = np.vstack([X, Xnew]) * (1.0 if (s := est.feature_map_.get_params().get("feature_scale")) is None else s)
    K = gram(points, "linear") if est.kernel == "linear" else np.exp(-GAMMA * ((points[:, None] - points) ** 2).sum(2))
    own = np.diag(K)[len(X) :]
    if est.n_components is not None:
        landmarks = est.landmarks_
        Z = np.exp(-GAMMA * ((points[:, None] - landmarks) ** 2).sum(2))
        Kmm = np.exp(-GAMMA * ((landmarks[:, None] - landmarks) ** 2).sum(2))
        K = Z @ np.linalg.solve(Kmm, Z.T)
    ridge = w.sum() / n_tasks * est.alpha
    dense = DensePosterior(
        K[: len(X), : len(X)], est.structure_ + est.common, (row, task, w), ridge, intercept=est.fit_intercept
    )
    return dense, y, mean, K[len(X) :, : len(X)], own, np.bincount(task, w) / np.bincount(task)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_mean_and_standard_deviation_are_those_of_the_dense_posterior(layout, model, rng):
    X, tables = layouts(rng)
    Y, weight, tasks = tables[layout]
    est = MultiTaskRegressor(**{"penalty": Fixed(STRUCTURE), "alpha": ALPHA, "tol": 1e-9, **MODELS[model]})
    est.fit(X, Y, sample_weight=weight, tasks=tasks)
    Xnew = np.vstack([rng.normal(size=(5, X.shape[1])), X[:2], 10.0 * X[2:3]])
    dense, y, center, cross, own, mean_weight = brute_force(est, X, Xnew, Y, weight, tasks)
    mean, std = est.predict(Xnew, return_std=True)
    for i in range(len(Xnew)):
        expected = dense.mean(cross[i], y) * est.target_scale_ + center
        np.testing.assert_allclose(mean[i], expected, rtol=1e-8, atol=1e-8 * est.target_scale_.max())
        variance = np.diag(dense.covariance(cross[i], own[i])) * mean_weight + 1.0
        np.testing.assert_allclose(std[i], est.noise_ * np.sqrt(variance), rtol=1e-8)


def known_half(rng, n, n_tasks):
    """Which labels of new rows are known: none, some and all of a row."""
    known = rng.random((n, n_tasks)) < 0.5
    known[0], known[1] = False, True
    return known


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_known_labels_condition_the_dense_posterior(layout, model, rng):
    """Labels of a row are jointly Gaussian: the dense posterior of the predictors, and noise that goes together."""
    X, tables = layouts(rng)
    Y, weight, tasks = tables[layout]
    est = MultiTaskRegressor(**{"penalty": Fixed(STRUCTURE), "alpha": ALPHA, "tol": 1e-9, **MODELS[model]})
    est.fit(X, Y, sample_weight=weight, tasks=tasks)
    Xnew = np.vstack([rng.normal(size=(4, X.shape[1])), X[:1]])
    known = known_half(rng, 5, 3)
    given = np.where(known, est.predict(Xnew) + est.target_scale_ * rng.normal(size=(5, 3)), np.nan)
    dense, y, center, cross, own, mean_weight = brute_force(est, X, Xnew, Y, weight, tasks)
    mean, std = est.predict(Xnew, known=given, return_std=True)
    np.testing.assert_array_equal(mean, est.predict(Xnew, known=given))
    np.testing.assert_array_equal(mean[known], given[known])
    assert np.all(std[known] == 0.0)
    noise = est.evidence_.noise_correlation
    np.testing.assert_array_equal(np.diag(noise).round(12), 1.0)
    for i in range(len(Xnew)):
        unit = est.noise_ * np.sqrt(mean_weight)
        joint = dense.covariance(cross[i], own[i]) + noise / np.sqrt(np.outer(mean_weight, mean_weight))
        B = known[i]
        plain = dense.mean(cross[i], y) * est.target_scale_ + center
        gain = joint[:, B] @ np.linalg.inv(joint[np.ix_(B, B)])
        expected = plain + unit * (gain @ ((given[i] - plain) / unit)[B])
        np.testing.assert_allclose(mean[i][~B], expected[~B], rtol=1e-8, atol=1e-8 * est.target_scale_.max())
        variance = np.diag(joint - gain @ joint[B])
        np.testing.assert_allclose(std[i][~B], unit[~B] * np.sqrt(variance[~B]), rtol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_known_labels_predict_like_a_fit_with_them(kernel, rng):
    """The other road: a row with the labels that are known is added to the training set, and the fit made again."""
    X, Y = related_tasks(rng, 30, 3)
    row, y = rng.normal(size=(1, X.shape[1])), np.array([[1.0, np.nan, -0.5]])
    fixed = {"penalty": Fixed(STRUCTURE), "kernel": kernel, "scale_targets": False, "fit_intercept": False}
    est = MultiTaskRegressor(**fixed, alpha=ALPHA).fit(X, Y)
    # What was estimated of the noise is replaced by what the fit takes it for: all alike, and nothing in common.
    est.evidence_.noise, est.evidence_.noise_correlation = np.ones(3), np.eye(3)
    # n alpha is to stay what it is.
    n = 30.0 + 2.0 / 3.0
    again = MultiTaskRegressor(**fixed, alpha=ALPHA * 30.0 / n).fit(np.vstack([X, row]), np.vstack([Y, y]))
    np.testing.assert_allclose(est.predict(row, known=y)[0, 1], again.predict(row)[0, 1], rtol=1e-7)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("model", ["linear", "rbf, common", "landmarks"])
def test_noise_gives_errors_at_rows_left_out_unit_variance(layout, model, rng):
    """Every row is left out of the dense posterior in turn."""
    X, tables = layouts(rng)
    Y, weight, tasks = tables[layout]
    est = MultiTaskRegressor(**{"penalty": Fixed(STRUCTURE), "alpha": ALPHA, **MODELS[model]})
    est.fit(X, Y, sample_weight=weight, tasks=tasks)
    dense, y, _, cross, own, mean_weight = brute_force(est, X, X, Y, weight, tasks)
    squares = np.zeros(len(y))
    for i in range(len(X)):
        out = dense.row == i
        kept = np.concatenate([~out, np.ones(len(dense.M) - len(y), dtype=bool)])
        h = dense.cross(cross[i])[:, kept]
        M = dense.M[np.ix_(kept, kept)]
        mean = h @ np.linalg.solve(M, np.concatenate([y[~out], np.zeros(len(M) - (~out).sum())]))
        S = dense.A * own[i] / dense.ridge - h @ np.linalg.solve(M, h.T)
        task = dense.task[out]
        noise = np.diag(dense.M)[: len(y)][out] - np.diag(dense.A)[task] * cross[i, i] / dense.ridge
        squares[out] = (y[out] - mean[task]) ** 2 / (np.diag(S)[task] + noise)
    sigma = np.sqrt(np.bincount(dense.task, squares) / np.bincount(dense.task))
    np.testing.assert_allclose(est.noise_, sigma / np.sqrt(mean_weight) * est.target_scale_, rtol=1e-6)


def test_masked_labels_are_not_known(rng):
    X, Y = related_tasks(rng, 20, 3)
    est, hidden = MultiTaskRegressor().fit(X, Y), known_half(rng, 20, 3)
    masked, gaps = np.ma.array(Y, mask=hidden), np.where(hidden, np.nan, Y)
    np.testing.assert_array_equal(est.predict(X, known=masked), est.predict(X, known=gaps))


@pytest.mark.parametrize(
    "names",
    [[("a", 1), ("a", 2), ("b", 1)], pd.date_range("2020", periods=3), [1, 2.5, "x"]],
    ids=["levels", "dates", "numbers and text"],
)
def test_known_columns_have_the_names_of_the_columns_of_fit(names, rng):
    X, Y = related_tasks(rng, 20, 3)
    table = pd.DataFrame(Y)
    table.columns = pd.MultiIndex.from_tuples(names) if isinstance(names[0], tuple) else names
    est = MultiTaskRegressor().fit(X, table)
    expected = est.predict(X, known=np.where([True, False, True], Y, np.nan))
    np.testing.assert_array_equal(est.predict(X, known=table.iloc[:, [2, 0]]), expected)


@pytest.mark.parametrize("alpha", [1e-2, 10.0])
@pytest.mark.parametrize("gaps", [0.0, 0.1, 0.7])
def test_variances_beyond_double_precision_are_refused(gaps, alpha, rng):
    """What is known is not to blame for them, whatever the labels."""
    X, Y = related_tasks(rng, 20, 3)
    missing = rng.random(Y.shape) < gaps
    missing[np.arange(20), rng.integers(0, 3, 20)] = False
    est = MultiTaskRegressor(kernel="poly", alpha=alpha).fit(X, np.where(missing, np.nan, Y))
    known = np.where([True, False, False], Y[:2], np.nan)
    for ask in (
        lambda: est.predict(1e60 * X[:2], return_std=True),
        lambda: est.predict_interval(1e60 * X[:2]),
        lambda: est.predict(1e60 * X[:2], known=known),
    ):
        with pytest.raises(ValueError, match="X has rows so far from those of the fit"):
            ask()


def with_first(value):
    return [[value, np.nan, np.nan]] * 20


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (with_first(1j), "known cannot be read as numbers|known has complex numbers"),
        (np.array(with_first(1j)), "known has complex numbers"),
        (np.full((20, 3), np.timedelta64(1, "D")), "known has dates or durations"),
        (np.ma.array(np.full((20, 3), np.timedelta64(1, "D")), mask=np.eye(20, 3)), "known has dates or durations"),
        (with_first("low"), "known holds text such as 'low' where numbers are needed"),
        (sparse.csr_array(np.ones((20, 3))), r"known is a sparse matrix, .*known.toarray\(\)"),
        ([[1.0], [1.0, 2.0]], "known has rows of different lengths"),
        (with_first(10**400), "known has numbers beyond"),
        (with_first(1.7e308), r"known reaches 1.7e\+308, .* beyond double precision"),
        (pd.DataFrame(np.ones((20, 2)), columns=["y0", "y0"]), "known has two columns called 'y0'"),
        (pd.DataFrame(np.ones((20, 2)), columns=["y0", "z"]), "known has columns that are no tasks: z"),
    ],
)
def test_what_is_known_is_numbers_of_tasks(known, message, rng):
    X, Y = related_tasks(rng, 20, 3)
    with pytest.raises((ValueError, TypeError), match=message):
        MultiTaskRegressor().fit(X, 1e-3 * Y).predict(X, known=known)
