"""The objective of a fitted estimator, from what it returned: scores at its rows, coefficients and structure.

Kernels are computed by their formulas, and all sums are taken, in extended precision. Nothing of the solvers is used.
Scores are those that the estimator predicts, or those that its coefficients have by the formula: coefficients that are
large beside what they sum up to lose digits when predictions are made, and a function that is not in the space of the
kernel may have an objective below the minimum.
"""

from contextlib import suppress
from math import comb

import numpy as np

Wide = np.longdouble
# Kernels of differences, which have all digits of their rows, wherever these are.
OF_DIFFERENCES = ("rbf", "laplacian")


def objective(est, X, y, *, sample_weight=None, tasks=None, scores=None):
    """P(f, A) of the model, with the scores that it predicts or with others.

    The labels of all tasks count, whatever was made of them.
    """
    Y, weight = coded_labels(est, y, X.shape[0], sample_weight, tasks)
    F = predicted_scores(est, X) if scores is None else scores
    n = weight.sum() / len(est.structure_)
    return float(data_term(est, Y, F, weight) / n + Wide(est.alpha) * structure_term(est, X))


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
    return Y.astype(Wide), W.astype(Wide)


def data_term(est, Y, F, weight):
    """sum w V(y, f) in the units of the fit."""
    if hasattr(est, "classes_") or est.loss_.name == "poisson":
        return loss_of(est, Y, F, weight)
    # Losses of errors; the mean that was taken off both is in neither.
    left = np.where(weight > 0.0, Y - F, 0.0) / est.target_scale_
    return loss_of(est, left, np.zeros_like(left), weight)


def predicted_scores(est, X):
    """Scores as the estimator predicts them, of shape (n, T)."""
    F = np.asarray(est.decision_function(X) if hasattr(est, "classes_") else est.predict(X))
    F = F.reshape(X.shape[0], len(est.task_names_))
    # A mean may be too small for a number.
    return np.log(np.maximum(F, np.finfo(float).smallest_subnormal)) if est.loss_.name == "poisson" else F


def exact_scores(est, X):
    """Scores that the coefficients have by the formula, where kernels are of differences; elsewhere the predictions."""
    if est.kernel not in OF_DIFFERENCES:
        return predicted_scores(est, X)
    K = kernel(est, X.astype(Wide), np.asarray(est.feature_map_.X_fit_).astype(Wide))
    return K @ est.dual_coef_.astype(Wide) + np.asarray(est.intercept_, dtype=Wide)


def loss_of(est, *arrays):
    return Wide(est.loss_.value(*(np.asarray(array, dtype=float) for array in arrays)))


def structure_term(est, X):
    """||f||_A^2 + eps tr(A^-1) + R(A)."""
    A = est.structure_
    seen = A + est.common
    B, dual = predictors(est, X)
    if est.penalty_.known:
        values, U = np.linalg.eigh(seen)
        keep = values > len(values) * np.finfo(float).eps * values[-1]
        # Predictors first: of their inner products too few digits would be left along small eigenvalues.
        root = (U[:, keep] / np.sqrt(values[keep])).astype(Wide)
        return np.sum((B @ root) * (dual @ root))
    inverse = inverse_with_common(A, Wide(est.common))
    root = lower_factor(inverse)
    # Predictors first here, too: of tasks that are nearly the same the inverse weighs the differences.
    norm = np.sum((B @ root) * (dual @ root)) if np.all(np.isfinite(root)) else np.trace(inverse @ (B.T @ dual))
    return norm + Wide(est.eps_) * np.trace(refined_inverse(A)) + est.penalty_.value(A)


def inverse_with_common(A, common):
    """The inverse of A + c 11', itself or through that of A (Sherman, Morrison), for A may be lost beside c."""
    whole, found = A.astype(Wide) + common, []
    for road in (lambda: refined_inverse(whole), lambda: inverse_beside(refined_inverse(A), common)):
        with suppress(np.linalg.LinAlgError):
            found.append(road())
    if not found:
        raise np.linalg.LinAlgError("Singular matrix")
    # The one that is nearer to an inverse; what is not a number is none.
    return min(found, key=lambda P: np.nan_to_num(np.abs(P @ whole - np.eye(len(A))).max(), nan=np.inf))


def inverse_beside(P, common):
    """The inverse of A + c 11' from P, that of A."""
    sums = P.sum(axis=1)
    return P - np.outer(sums, sums) * (common / (1 + common * sums.sum()))


def lower_factor(P):
    """L with LL' = P by Cholesky, in the precision of P; NaN where P is not positive definite but for rounding."""
    L = np.zeros_like(P)
    with np.errstate(invalid="ignore", divide="ignore"):
        for k in range(len(P)):
            L[k, k] = np.sqrt(P[k, k] - np.sum(L[k, :k] ** 2))
            L[k + 1 :, k] = (P[k + 1 :, k] - L[k + 1 :, :k] @ L[k, :k]) / L[k, k]
    return L


def refined_inverse(A):
    """The inverse of A, with two steps of Newton in extended precision."""
    wide, identity = A.astype(Wide), np.eye(len(A), dtype=Wide)
    near = A.astype(float)
    P = eliminate(wide) if np.linalg.cond(near) > 1e9 else np.linalg.inv(near).astype(Wide)
    for _ in range(2):
        P = P + P @ (identity - wide @ P)
    return P


def eliminate(A):
    """The inverse by Gauss and Jordan, in the precision of A, where double precision calls it singular."""
    n = len(A)
    M = np.concatenate([A, np.eye(n, dtype=A.dtype)], axis=1)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(M[k:, k])))
        M[[k, pivot]] = M[[pivot, k]]
        if M[k, k] == 0:
            raise np.linalg.LinAlgError("Singular matrix")
        M[k] /= M[k, k]
        others = np.arange(n) != k
        M[others] -= np.outer(M[others, k], M[k])
    return M[:, n:]


def predictors(est, X):
    """Matrices whose product are inner products of the predictors in the space of the kernel, for scaled targets."""
    if hasattr(est, "coef_"):
        W = est.coef_.T.astype(Wide) / est.target_scale_
        return W, W
    # Rows without labels are not among those that the model holds.
    points = X if est.kernel == "precomputed" else est.feature_map_.X_fit_
    B = est.dual_coef_.astype(Wide) / est.target_scale_
    points = np.asarray(points, dtype=float).astype(Wide)
    return B, kernel(est, points, points) @ B


def kernel(est, X, points):
    """The kernel between rows and points by its formula.

    Coefficients of a model with intercepts on all rows sum to zero, and then polynomials, and kernels that were given,
    may be taken about the mean.
    """
    gamma = 1.0 / X.shape[1] if est.gamma is None else Wide(est.gamma)
    match est.kernel:
        case "precomputed":
            return X - X.mean(axis=0) - X.mean(axis=1)[:, None] + X.mean() if est.fit_intercept else X
        case "rbf":
            return np.exp(-gamma * ((X[:, None] - points) ** 2).sum(axis=2))
        case "laplacian":
            return np.exp(-gamma * np.abs(X[:, None] - points).sum(axis=2))
        case "poly" | "polynomial":
            if est.fit_intercept and not hasattr(est, "landmarks_"):
                return polynomial_about_mean(X, gamma, est.degree, Wide(est.coef0))
            return (gamma * X @ points.T + Wide(est.coef0)) ** est.degree
    raise ValueError(f"kernel={est.kernel!r} is not written here.")


def polynomial_about_mean(X, gamma, degree, coef0):
    """k(x, z) - k(x, m) - k(m, z) + k(m, m) for the mean m, without the cancellation."""
    mean = X.mean(axis=0)
    U = X - mean
    at_mean, slope = gamma * mean @ mean + coef0, gamma * U @ mean
    cross, a, b = gamma * U @ U.T, slope[:, None], slope[None]
    total = np.zeros_like(cross)
    for k in range(1, degree + 1):
        mixed = sum(comb(k, j) * a**j * b ** (k - j) for j in range(1, k))
        bent = cross * sum((a + b + cross) ** j * (a + b) ** (k - 1 - j) for j in range(k))
        total = total + comb(degree, k) * at_mean ** (degree - k) * (mixed + bent)
    return total
