"""Random fits over wide ranges: a seed makes an estimator, rows, labels and what goes with them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.penalties import PENALTIES, Cluster, Fixed, Groups, Independent, Laplacian, Sparse, Trace

LARGEST_N = 60
# The generator that says which seeds have rows that are all the same, and how many of them do.
SAME_ROWS, SHARE_OF_SAME_ROWS = 3, 0.01
# Those of values far away from all others, and of sparse rows, which these kernels take.
FAR_VALUES, SHARE_OF_FAR_VALUES, FARTHEST = 5, 0.04, 1e20
SPARSE_ROWS, SHARE_OF_SPARSE_ROWS = 7, 0.06
OF_SPARSE_ROWS = ("linear", "rbf", "poly", "laplacian")


@dataclass(frozen=True)
class Case:
    """One fit that is to be tried; ``traits`` says what is unusual about it."""

    estimator: Any
    X: Any
    y: Any
    extra: dict[str, Any]
    traits: tuple[str, ...]


def draw(seed: int) -> Case:
    """The case of a seed."""
    rng = np.random.default_rng(seed)
    traits: list[str] = []
    classify = rng.random() < 0.3
    X = draw_rows(rng, traits)
    n_tasks = int(rng.integers(1, 9))
    params = draw_params(rng, n_tasks, traits, classify=classify)
    F = draw_functions(rng, X, n_tasks, traits)
    X = place_rows(rng, X, traits)
    y, extra = (draw_classes if classify else draw_targets)(rng, F, params, traits)
    X = sparse_rows(seed, far_values(seed, same_rows(seed, X, traits), traits), params, traits)
    if params["kernel"] == "precomputed":
        X = X @ X.T
    if extra.get("tasks") is not None:
        n_tasks = len(np.unique(extra["tasks"]))
    elif classify and np.ndim(y) == 1:
        n_classes = len(np.unique(y))
        n_tasks = 1 if n_classes == 2 else n_classes
    params["penalty"] = draw_penalty(rng, n_tasks, traits)
    cls = MultiTaskClassifier if classify else MultiTaskRegressor
    if classify:
        params.pop("scale_targets")
    return Case(cls(**params), X, y, extra, tuple(traits))


def draw_rows(rng, traits):
    n, d = int(rng.integers(6, LARGEST_N + 1)), int(rng.integers(1, 9))
    X = rng.standard_normal((n, d))
    match rng.integers(0, 10):
        case 0:
            X = X[:, :1] * rng.standard_normal(d)
            traits.append("rank one")
        case 1:
            X *= 10.0 ** -rng.uniform(0, 16 / max(d - 1, 1), d).cumsum()
            traits.append("ill-conditioned")
        case 2:
            X = X[rng.integers(0, n, n)]
            traits.append("repeated rows")
        case 3:
            X[:, rng.integers(0, d)] = 1.0
            traits.append("constant column")
    return X


def place_rows(rng, X, traits):
    """Rows in another unit, and away from zero."""
    if rng.random() < 0.25:
        ratio = 10.0 ** rng.uniform(0, 8)
        X = X + ratio * np.sign(rng.standard_normal(X.shape[1]))
        traits.append(f"offset 1e{np.log10(ratio):.0f}")
    if rng.random() < 0.2:
        unit = 10.0 ** rng.uniform(-7, 7)
        X = X * unit
        traits.append(f"unit 1e{np.log10(unit):.0f}")
    return X


def same_rows(seed, X, traits):
    """For one seed in a hundred all rows are the same, or zeros: of their kernel intercepts leave nothing.

    It is drawn apart, so that all other seeds are what they were.
    """
    rng = np.random.default_rng([SAME_ROWS, seed])
    if rng.random() >= SHARE_OF_SAME_ROWS:
        return X
    traits.append("the same rows")
    return np.tile(X[0] * rng.integers(0, 2), (len(X), 1))


def far_values(seed, X, traits):
    """For four seeds in a hundred one or a few values are far away from all others: a typo, a missing value coded."""
    rng = np.random.default_rng([FAR_VALUES, seed])
    if rng.random() >= SHARE_OF_FAR_VALUES:
        return X
    ratio = 10.0 ** rng.uniform(2, np.log10(FARTHEST))
    X, places = X.copy(), rng.integers(0, X.shape, (int(rng.integers(1, 4)), 2))
    X[tuple(places.T)] += rng.choice([-1.0, 1.0]) * ratio * (np.abs(X).max() or 1.0)
    traits.append(f"far values 1e{np.log10(ratio):.0f}")
    return X


def sparse_rows(seed, X, params, traits):
    """For some seeds most values are zero, and the rows a sparse matrix."""
    rng = np.random.default_rng([SPARSE_ROWS, seed])
    if params["kernel"] not in OF_SPARSE_ROWS or rng.random() >= SHARE_OF_SPARSE_ROWS:
        return X
    traits.append("sparse rows")
    return sparse.csr_array(np.where(rng.random(X.shape) < rng.uniform(0, 0.9), 0.0, X))


def draw_functions(rng, X, n_tasks, traits):
    """What the tasks would be without noise, (n, T), of size about one."""
    d = X.shape[1]
    size = np.abs(X).max(axis=0)
    Z = X / np.where(size > 0.0, size, 1.0)
    F = np.sin(2.0 * Z @ rng.standard_normal((d, n_tasks))) + Z @ rng.standard_normal((d, n_tasks))
    match rng.integers(0, 8):
        case 0:
            F = F[:, :1] + 10.0 ** -rng.uniform(3, 12) * F
            traits.append("nearly the same tasks")
        case 1:
            F = F[:, :1] * rng.standard_normal(n_tasks)
            traits.append("multiples of one task")
        case 2 if n_tasks > 2:
            F[:, -1] = F[:, :-1] @ rng.standard_normal(n_tasks - 1)
            traits.append("a task is a combination")
    if rng.random() < 0.75:
        F = F + 10.0 ** rng.uniform(-3, 0) * rng.standard_normal(F.shape)
    else:
        traits.append("no noise")
    return F


def draw_targets(rng, F, params, traits):
    Y = np.exp(F) if params["loss"] == "poisson" else F
    if params["loss"] == "poisson":
        Y = rng.poisson(np.minimum(Y, 50.0)).astype(float)
    elif rng.random() < 0.2:
        Y = Y * 10.0 ** rng.uniform(-8, 8) + rng.choice([0.0, 1.0]) * 10.0 ** rng.uniform(-3, 6)
        traits.append("targets in another unit")
    if rng.random() < 0.05:
        Y[:, 0] = Y[0, 0]
        traits.append("a constant task")
    return draw_labels(rng, Y, traits, gaps=True)


def draw_classes(rng, F, params, traits):
    if params["loss"] == "softmax" or rng.random() < 0.25:
        y = np.argmax(F, axis=1) if F.shape[1] > 1 else (F[:, 0] > 0.0).astype(int)
        if len(np.unique(y)) < 2:
            y[0] = y.max() + 1
        return y, draw_weight(rng, (len(y),), traits)
    Y = (F > np.median(F, axis=0)).astype(float)
    if rng.random() < 0.1 and Y.shape[1] > 1:
        Y[:, 0] = rng.integers(0, 2)
        traits.append("a task of one class")
    return draw_labels(rng, Y, traits, gaps=Y.shape[1] > 1)


def draw_labels(rng, Y, traits, *, gaps):
    """Labels complete, with gaps, or in long format."""
    n, n_tasks = Y.shape
    pattern = rng.choice(["complete", "gaps", "long"], p=[0.55, 0.25, 0.2])
    if pattern == "gaps" and gaps and n_tasks > 1:
        hidden = rng.random(Y.shape) < rng.uniform(0.05, 0.8)
        hidden[:2] = False
        traits.append("gaps")
        return np.where(hidden, np.nan, Y), draw_weight(rng, Y.shape, traits)
    if pattern == "long" and n_tasks > 1:
        tasks = rng.integers(0, n_tasks, n)
        tasks[:n_tasks] = np.arange(min(n_tasks, n))
        traits.append("long")
        return Y[np.arange(n), tasks], {"tasks": tasks, **draw_weight(rng, (n,), traits)}
    return Y, draw_weight(rng, (n,), traits)


def draw_weight(rng, shape, traits):
    if rng.random() < 0.8:
        return {}
    traits.append("weights")
    return {"sample_weight": 10.0 ** rng.uniform(-rng.uniform(0, 4), 0, shape)}


def draw_params(rng, n_tasks, traits, *, classify):
    losses = (
        ["square", "square", "logistic", "hinge", "squared_hinge", "softmax"]
        if classify
        else ["square", "square", "square", "square", "huber", "quantile", "epsilon_insensitive", "poisson"]
    )
    kernel = str(rng.choice(["linear", "rbf", "poly", "laplacian", "precomputed"], p=[0.3, 0.3, 0.25, 0.1, 0.05]))
    narrow = rng.random() < 0.6
    params = {
        "alpha": 10.0 ** (rng.uniform(-5, 0) if narrow else rng.uniform(-12, 6)),
        "loss": str(rng.choice(losses)),
        "kernel": kernel,
        "degree": int(rng.integers(2, 5)),
        "common": float(rng.choice([0.0, 0.0, 0.0, 1.0, 100.0])),
        "fit_intercept": bool(rng.random() < 0.85),
        "scale_targets": bool(rng.random() < 0.85),
        "balance_tasks": bool(rng.random() < 0.15),
        "tol": 10.0 ** rng.uniform(-7, -4) if rng.random() < 0.3 else 1e-6,
        "random_state": 0,
    }
    if kernel in ("rbf", "laplacian") and rng.random() < 0.5:
        params["gamma"] = 10.0 ** rng.uniform(-4, 2)
    if kernel in ("rbf", "poly") and rng.random() < 0.1:
        params["n_components"] = int(rng.integers(2, 20))
        traits.append("landmarks")
    if rng.random() < 0.15:
        params["eps"] = 10.0 ** rng.uniform(-8, 2)
    if rng.random() < 0.15:
        params["solver"] = "anderson"
    return params


def draw_penalty(rng, n_tasks, traits):
    name = str(rng.choice(list(PENALTIES)))
    match name:
        case "sparse":
            return Sparse(float(rng.choice([0.0, 0.3, 0.9, 0.97, 1.0])))
        case "groups":
            return Groups(rng.integers(0, 3, n_tasks).tolist(), float(rng.uniform(0.3, 1.0)))
        case "trace":
            return Trace(ridge=float(rng.choice([0.0, 0.5])))
        case "cluster":
            return Cluster(int(rng.integers(1, n_tasks + 1)))
        case "laplacian":
            return Laplacian(share=float(rng.uniform(0.1, 0.9)))
        case "fixed":
            B = rng.standard_normal((n_tasks, int(rng.integers(1, n_tasks + 1))))
            if rng.random() < 0.3:
                traits.append("structure with zeros")
                B *= rng.random(B.shape) < 0.5
            if np.linalg.matrix_rank(B) < n_tasks:
                traits.append("singular structure")
            return Fixed(B @ B.T)
        case "independent" if rng.random() < 0.3:
            return Independent(strengths=10.0 ** rng.uniform(-2, 2, n_tasks))
    return PENALTIES[name]()
