"""``KernelRidge`` of scikit-learn: kernel, inverse width and alpha by ``GridSearchCV``."""

import numpy as np
from scipy.spatial.distance import pdist
from selection import ALPHAS, GAMMA_FACTORS, search, whole_or_per_task
from sklearn.kernel_ridge import KernelRidge

PACKAGES = ("scikit-learn",)


def predict(problem):
    return whole_or_per_task(fit_predict, problem)


def fit_predict(X, Y, X_test):
    # The formula of KernelRidge leaves the number of rows out.
    n, size = len(X), float(np.mean(np.sum(X**2, axis=1)))
    grid = [{"kernel": ["linear"], "alpha": n * size * ALPHAS}]
    for kernel, distance in (("rbf", "sqeuclidean"), ("laplacian", "cityblock")):
        between = pdist(X, distance)
        gammas = GAMMA_FACTORS / (np.median(between[between > 0.0]) if np.any(between > 0.0) else 1.0)
        grid.append({"kernel": [kernel], "gamma": gammas, "alpha": n * ALPHAS})
    return search(KernelRidge(), grid, X, Y, 3).predict(X_test)
