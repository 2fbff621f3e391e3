"""``MultipleKernelRidgeCV`` of himalaya: linear and RBF kernels weighted anew for each target, by random search."""

import numpy as np
from himalaya.kernel_ridge import ColumnKernelizer, Kernelizer, MultipleKernelRidgeCV
from scipy.spatial.distance import pdist
from selection import GAMMA_FACTORS, folds, whole_or_per_task
from sklearn.pipeline import make_pipeline

PACKAGES = ("himalaya",)


def predict(problem):
    return whole_or_per_task(fit_predict, problem)


def fit_predict(X, Y, X_test):
    between = pdist(X, "sqeuclidean")
    gammas = GAMMA_FACTORS / (np.median(between[between > 0.0]) if np.any(between > 0.0) else 1.0)
    every = slice(0, X.shape[1])
    kernels = [("linear", Kernelizer(kernel="linear"), every)]
    kernels += [
        (f"rbf{k}", Kernelizer(kernel="rbf", kernel_params={"gamma": gamma}), every) for k, gamma in enumerate(gammas)
    ]
    solver = {"n_iter": 20, "alphas": np.logspace(-4, 5, 19), "progress_bar": False, "n_targets_batch": 8}
    ridge = MultipleKernelRidgeCV(
        kernels="precomputed",
        solver="random_search",
        solver_params=solver,
        fit_intercept=True,
        cv=folds(min(5, len(X))),
        random_state=0,
    )
    return make_pipeline(ColumnKernelizer(kernels), ridge).fit(X, Y).predict(X_test)
