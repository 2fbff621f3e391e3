"""Time to a selected model beside GPyTorch's ICM, 500 rows and 10 tasks: ``python benchmarks/peers/icm_time.py``.

Processor time with one thread, from data to predictions, the least of three runs, of ICM one run of many steps. ICM
climbs its marginal likelihood, and is better the longer it climbs: it is timed with as many steps as in the tables of
peers, and with as many as bring it to the errors of ours.
"""

import time

import coregion
import numpy as np
import torch
from problems import Problem
from threadpoolctl import threadpool_limits

from skmtl import MultiTaskRegressorCV
from skmtl.datasets import make_sparse_tasks
from skmtl.model_selection import quick_search, target_scores

REPEATS = 3
STEPS = (100, 1000)
# Strengths of a coarse grid, for a kernel whose diagonal is one.
ALPHAS = np.logspace(-1, -6, 6)


def main():
    torch.set_num_threads(1)
    tasks = make_sparse_tasks(n_samples=1000, n_tasks=10, n_features=10, random_state=0)
    Y = (tasks.Y - tasks.Y[:500].mean(axis=0)) / tasks.Y[:500].std(axis=0)
    problem = Problem(tasks.X[:500], Y[:500], tasks.X[500:], Y[500:], np.arange(10), False)
    coregion.MOST_LABELS = problem.Y.size
    with threadpool_limits(1):
        theirs = []
        for coregion.N_STEPS in STEPS:
            seconds, F = measure(
                lambda: coregion.predict(problem), repeats=REPEATS if coregion.N_STEPS == STEPS[0] else 1
            )
            theirs.append(seconds)
            print(
                f"GPyTorch ICM, {coregion.N_STEPS} steps: {seconds:.1f} s, error {arrmse(problem, F):.4f}", flush=True
            )
        for name, fit in {
            "rbf, five folds": MultiTaskRegressorCV(kernel="rbf", cv=5).fit,
            "rbf, leaving one out": MultiTaskRegressorCV(kernel="rbf", cv="loo").fit,
            "rbf, leaving one out, coarse grid": quick_search(kernel="rbf", cv="loo", alphas=ALPHAS).fit,
            "the same, width on half of the rows": fit_in_two,
            "nothing set": MultiTaskRegressorCV().fit,
        }.items():
            ours, F = measure(lambda fit=fit: fit(problem.X, problem.Y).predict(problem.X_test))
            ratios = " and ".join(f"{seconds / ours:.0f}x" for seconds in theirs)
            print(f"skmtl, {name}: {ours:.2f} s, {ratios}, error {arrmse(problem, F):.4f}", flush=True)


def fit_in_two(X, Y):
    """The width on half of the rows with independent tasks, and the rest on all of them."""
    options = {"kernel": "rbf", "cv": "loo", "alphas": ALPHAS}
    half = quick_search("independent", **options).fit(X[::2], Y[::2])
    return quick_search(**options, gammas=[half.gamma_]).fit(X, Y)


def measure(work, repeats=REPEATS):
    """The least time of several runs, for others on the machine can only add to it, and the result."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return min(times), result


def arrmse(problem, F):
    return target_scores(problem.Y_test, F, "arrmse")["mean"]


if __name__ == "__main__":
    main()
