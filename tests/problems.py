"""Random problems for the tests."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics.pairwise import rbf_kernel


def random_psd(rng, n_tasks, *, rank=None, ridge=0.1):
    """A positive definite matrix with tasks of unequal size; ``ridge`` is relative to the mean of its diagonal."""
    rank = rank or 2 * n_tasks
    B = rng.standard_normal((rank, n_tasks)) * np.exp(0.5 * rng.standard_normal(n_tasks))
    S = B.T @ B / rank
    return S + ridge * np.mean(np.diag(S)) * np.eye(n_tasks)


def step_cost(penalty, A, S):
    """What the structure step minimizes: tr(A^-1 S) + R(A)."""
    return float(np.trace(np.linalg.solve(A, S))) + penalty.value(A)


def structure_cost(penalty, A, eps):
    """eps tr(A^-1) + R(A), what a structure costs in the objective; without eps where it is known."""
    return penalty.value(A) if penalty.known else step_cost(penalty, A, eps * np.eye(len(A)))


def related_tasks(rng, n, n_tasks, *, n_features=5, rank=None, noise=0.3):
    """Rows X and targets Y whose tasks share ``rank`` smooth functions of X."""
    rank = rank or max(1, n_tasks // 2)
    X = rng.standard_normal((n, n_features))
    shared = np.sin(X @ rng.standard_normal((n_features, rank)))
    Y = shared @ rng.standard_normal((rank, n_tasks)) + noise * rng.standard_normal((n, n_tasks))
    return X, Y


def with_gaps(rng, Y, share=0.4):
    """Y with NaN at random, at least one label in every row and two of every task."""
    gaps = rng.random(Y.shape) < share
    gaps[np.arange(len(Y)), rng.integers(0, Y.shape[1], len(Y))] = False
    gaps[:2] = False
    return np.where(gaps, np.nan, Y)


def gram(X, kernel):
    """The kernel matrix of X, ``linear`` or ``rbf`` with scikit-learn's default width."""
    return X @ X.T if kernel == "linear" else rbf_kernel(X)


def grouped_psd(rng, sizes, *, between=0.1, ridge=0.05):
    """A positive definite matrix of tasks in groups; ``between`` weighs the part that all groups share."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    own = rng.standard_normal((2 * len(sizes), len(group))) * (np.arange(2 * len(sizes))[:, None] // 2 == group)
    B = np.vstack([own, between * rng.standard_normal((3, len(group)))]) * np.exp(0.3 * rng.standard_normal(len(group)))
    S = B.T @ B
    return S + ridge * np.mean(np.diag(S)) * np.eye(len(group)), group


def grouped_tasks(rng, n, sizes, *, per_group=3, noise=0.3, between=0.0):
    """Rows X and targets Y of tasks in groups; each group has its own features, and ``between`` weighs those of all."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    features = np.repeat(np.arange(len(sizes)), per_group)
    X = rng.standard_normal((n, len(features)))
    W = rng.standard_normal((len(features), len(group))) * ((features[:, None] == group) + between)
    return X, X @ W + noise * rng.standard_normal((n, len(group))), group


def labelled_tables(rng, n):
    """Rows far from zero with labels of four tasks in every layout: X, y and what goes with them."""
    X, Y = related_tasks(rng, n, 4)
    X, Y = X + 3.0, Y * [1.0, 10.0, 1.0, 1.0] + [0.0, 5.0, 100.0, 0.0]
    names = np.array(list("abcd"))[rng.integers(0, 4, n)]
    weight = rng.uniform(0.1, 3.0, n)
    return {
        "complete": (X, Y, {}),
        "weights": (X, Y, {"sample_weight": weight}),
        "gaps": (X, with_gaps(rng, Y), {}),
        "gaps and weights": (X, with_gaps(rng, Y), {"sample_weight": rng.uniform(0.1, 3.0, Y.shape)}),
        "long": (X, Y[:, 0], {"tasks": names, "sample_weight": weight}),
    }


LAYOUTS = list(labelled_tables(np.random.default_rng(0), 10))
# Estimators that can take rows in blocks.
BLOCK_MODELS = {
    "linear": {},
    "landmarks": {"kernel": "rbf", "n_components": 30},
    "common part": {"kernel": "rbf", "n_components": 30, "landmarks": "leverage", "common": 1.0, "balance_tasks": True},
    "plain": {"kernel": "laplacian", "n_components": 20, "fit_intercept": False, "scale_targets": False},
}


def expected_failures(estimator):
    """Checks that ask for what an estimator is not for."""
    if estimator.loss == "poisson":
        return {"check_regressor_multioutput": "passes negative targets, whatever the tag positive_only says"}
    if is_classifier(estimator) and estimator.loss in ("square", "hinge", "squared_hinge"):
        # As scikit-learn says of its own CalibratedClassifierCV.
        folds = "probabilities are calibrated on rows held out, and a row twice is two rows to hold out"
        return {f"check_sample_weight_equivalence_on_{kind}_data": folds for kind in ("dense", "sparse")}
    return {}
