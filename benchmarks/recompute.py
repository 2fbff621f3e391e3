"""The objective of a fitted estimator, from what it returned: scores at its rows, coefficients and structure.

Kernels are computed by their formulas, and norms are summed up, with 60 digits or more, so that nothing is lost where
coefficients, structures and rows nearly cancel. Nothing of the solvers is used. Scores are those that the estimator
predicts, or those that its coefficients have by the formula: coefficients that are large beside what they sum up to
lose digits when predictions are made, and a function that is not in the space of the kernel may have an objective below
the minimum.
"""

from decimal import Decimal, localcontext

import numpy as np
from scipy import sparse

DIGITS = 60
# Of means too small for a number.
LEAST_LOGARITHM = float(np.log(np.finfo(float).tiny))
# Arrays of numbers with all the digits of the context; what a float is has no rounding.
exactly = np.frompyfunc(lambda number: Decimal(float(number)), 1, 1)


def objective(est, X, y, *, sample_weight=None, tasks=None):
    """P(f, A) of the model with the scores that it predicts."""
    return objectives(est, X, y, sample_weight=sample_weight, tasks=tasks)[0]


def objectives(est, X, y, *, sample_weight=None, tasks=None):
    """P(f, A) of the model with the scores that it predicts, and with those that its coefficients have.

    The labels of all tasks count, whatever was made of them.
    """
    Y, weight = coded_labels(est, y, X.shape[0], sample_weight, tasks)
    n = weight.sum() / len(est.structure_)
    predicted, X = predicted_scores(est, X), dense(X)
    with localcontext(prec=DIGITS + lost_in_sum(est)):
        B, K, K_points = coefficients(est), *kernels(est, X)
        norms = float(exactly(est.alpha) * structure_term(est, B, K_points))
        scores = exactly(predicted), exact_scores(est, K @ B, predicted)
        return tuple(loss_of(est, *errors_of(est, Y, F), weight) / n + norms for F in scores)


def lost_in_sum(est):
    """Twice the digits of the structure that are lost in its sum with the common part: its inverse is asked for."""
    least = float(np.diag(est.structure_).min())
    return 2 * int(np.log10(1.0 + est.common / least)) if least > 0.0 else 0


def coded_labels(est, y, n, sample_weight, tasks):
    """Labels as numbers and their weights, zero at gaps, both of shape (n, T)."""
    n_tasks = len(est.task_names_)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    numbers = np.asarray(y, dtype=float)
    if hasattr(est, "classes_"):
        if np.ndim(y) == 1 and n_tasks > 1 and tasks is None:
            numbers = np.asarray(y)[:, None] == est.classes_
        elif np.ndim(y) == 1:
            numbers = np.asarray(y) == est.classes_[1]
        numbers = 2.0 * numbers - 1.0
    if tasks is not None:
        column = np.array([est.task_names_.tolist().index(task) for task in np.asarray(tasks).tolist()])
        Y, W = np.zeros((n, n_tasks)), np.zeros((n, n_tasks))
        Y[np.arange(n), column], W[np.arange(n), column] = numbers, weight
    else:
        Y = numbers.reshape(n, n_tasks)
        W = np.where(np.isnan(Y), 0.0, weight if weight.ndim == 2 else weight[:, None])
        Y = np.where(W > 0.0, Y, 0.0)
    if est.balance_tasks:
        W = W * (W.sum(axis=0).mean() / W.sum(axis=0))
    return Y, W


def errors_of(est, Y, scores):
    """Labels and scores in the units of the fit; of losses of errors the errors, and zeros."""
    if hasattr(est, "classes_") or est.loss_.name == "poisson":
        return Y, scores.astype(float)
    # The mean that was taken off both is in neither.
    left = ((exactly(Y) - scores) / exactly(est.target_scale_)).astype(float)
    return left, np.zeros_like(left)


def loss_of(est, Y, F, weight):
    return float(est.loss_.value(np.where(weight > 0.0, Y, 0.0), np.where(weight > 0.0, F, 0.0), weight))


def predicted_scores(est, X):
    """Scores as the estimator predicts them, of shape (n, T)."""
    F = np.asarray(est.decision_function(X) if hasattr(est, "classes_") else est.predict(X))
    F = F.reshape(X.shape[0], len(est.task_names_))
    # A mean may be too small for a number.
    return np.log(np.maximum(F, np.finfo(float).smallest_subnormal)) if est.loss_.name == "poisson" else F


def exact_scores(est, scores, predicted):
    """Scores of the coefficients with their constants."""
    if not is_centered(est):
        return scores + exactly(est.intercept_)
    # Any constant beside a centered kernel makes a model; that of most predictions, but of logarithms at their end.
    told = (predicted > LEAST_LOGARITHM) | (est.loss_.name != "poisson")
    away = np.where(told | ~told.any(axis=0), predicted - scores.astype(float), np.nan)
    return scores + exactly(np.nanmedian(away, axis=0))


def structure_term(est, B, K):
    """||f||_A^2 + eps tr(A^-1) + R(A)."""
    A, B = est.structure_, B / exactly(est.target_scale_)
    S, seen = B.T @ K @ B, exactly(A) + exactly(est.common)
    if est.penalty_.known:
        return np.trace(inverse_on_range(seen) @ S)
    penalty = exactly(est.eps_) * np.trace(inverse(exactly(A))) + exactly(est.penalty_.value(A))
    return np.trace(inverse(seen) @ S) + penalty


def inverse_on_range(A):
    """The inverse of a matrix that may be singular but for rounding, on the directions that it has."""
    values, U = np.linalg.eigh(A.astype(float))
    keep = values > len(values) * np.finfo(float).eps * values[-1]
    if keep.all():
        return inverse(A)
    U = exactly(U[:, keep])
    return U @ inverse(U.T @ A @ U) @ U.T


def inverse(A):
    """The inverse by Gauss and Jordan."""
    n = len(A)
    M = np.concatenate([A, exactly(np.eye(n))], axis=1)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(M[k:, k])))
        M[[k, pivot]] = M[[pivot, k]]
        if M[k, k] == 0:
            raise np.linalg.LinAlgError("Singular matrix")
        M[k] /= M[k, k]
        others = np.arange(n) != k
        M[others] -= np.outer(M[others, k], M[k])
    return M[:, n:]


def coefficients(est):
    """Coefficients of features, or of the points of the kernel, a column for each task."""
    return exactly(est.coef_.T if hasattr(est, "coef_") else est.dual_coef_)


def kernels(est, X):
    """What scores, and norms, are made of: the kernel between rows and points, and between points.

    Points are the rows that the coefficients belong to; those without labels are not among them.
    """
    if est.kernel == "linear":
        return exactly(X), exactly(np.eye(X.shape[1]))
    if est.kernel == "precomputed":
        K = kernel(est, X, X)
        return K, K
    points = dense(est.feature_map_.X_fit_)
    K = kernel(est, X, points)
    return K, K if np.array_equal(X, points) else kernel(est, points, points)


def dense(X):
    """Rows with their zeros."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def is_centered(est):
    """Whether polynomials, and kernels that were given, are taken about the mean.

    Coefficients of a model with intercepts on all rows sum to zero but for rounding, and the origin may be anywhere.
    """
    moves = est.kernel in ("poly", "polynomial", "precomputed")
    return moves and est.fit_intercept and not hasattr(est, "landmarks_")


def kernel(est, X, points):
    """The kernel between rows and points, about the mean of the points where that is the same model."""
    X, points = exactly(X), exactly(points)
    if not is_centered(est):
        return formula(est, X, points)
    if est.kernel == "precomputed":
        return X - X.mean(axis=0) - X.mean(axis=1)[:, None] + X.mean()
    mean = points.mean(axis=0, keepdims=True)
    K, to_mean, of_mean = formula(est, X, points), formula(est, X, mean), formula(est, mean, points)
    return K - to_mean - of_mean + formula(est, mean, mean)


def formula(est, X, points):
    """k(x, z) for all rows and points."""
    gamma = Decimal(1) / X.shape[1] if est.gamma is None else exactly(est.gamma)
    match est.kernel:
        case "precomputed":
            return X
        case "rbf":
            return np.exp(-gamma * ((X[:, None] - points) ** 2).sum(axis=2))
        case "laplacian":
            return np.exp(-gamma * np.abs(X[:, None] - points).sum(axis=2))
        case "poly" | "polynomial":
            return (gamma * (X @ points.T) + exactly(est.coef0)) ** est.degree
    raise ValueError(f"kernel={est.kernel!r} is not written here.")
