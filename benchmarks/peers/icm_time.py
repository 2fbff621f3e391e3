"""Time to a selected model beside GPyTorch's ICM, 500 rows and 10 tasks: ``python benchmarks/peers/icm_time.py``.

Processor time with one thread, from data to predictions.
"""

import time

import coregion
import numpy as np
import torch
from problems import Problem
from threadpoolctl import threadpool_limits

from skmtl import MultiTaskRegressorCV
from skmtl.datasets import make_sparse_tasks
from skmtl.model_selection import target_scores


def main():
    torch.set_num_threads(1)
    tasks = make_sparse_tasks(n_samples=1000, n_tasks=10, n_features=10, random_state=0)
    Y = (tasks.Y - tasks.Y[:500].mean(axis=0)) / tasks.Y[:500].std(axis=0)
    problem = Problem(tasks.X[:500], Y[:500], tasks.X[500:], Y[500:], np.arange(10), False)
    coregion.MOST_LABELS = problem.Y.size
    with threadpool_limits(1):
        theirs, F = measure(lambda: coregion.predict(problem))
        print(f"GPyTorch ICM: {theirs:.1f} s, error {arrmse(problem, F):.4f}", flush=True)
        for name, options in {
            "rbf, five folds": {"kernel": "rbf"},
            "rbf, leaving one out": {"kernel": "rbf", "cv": "loo"},
            "nothing set": {},
        }.items():
            search = MultiTaskRegressorCV(**options)
            ours, F = measure(lambda search=search: search.fit(problem.X, problem.Y).predict(problem.X_test))
            print(f"skmtl, {name}: {ours:.2f} s, {theirs / ours:.0f}x, error {arrmse(problem, F):.4f}", flush=True)


def measure(work):
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def arrmse(problem, F):
    return target_scores(problem.Y_test, F, "arrmse")["mean"]


if __name__ == "__main__":
    main()
