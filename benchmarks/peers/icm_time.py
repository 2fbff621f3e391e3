"""Time to a selected model beside GPyTorch's ICM, 500 rows and 10 tasks: ``python benchmarks/peers/icm_time.py``.

Processor time with one thread. The marginal likelihood is climbed for STEPS steps, and the time of 100, the number of
the tables, follows from them; errors are compared only where all 100 were made.
"""

import argparse
import time

import coregion
import numpy as np
import torch
from problems import Problem
from threadpoolctl import threadpool_limits

from skmtl import MultiTaskRegressorCV
from skmtl.datasets import make_sparse_tasks
from skmtl.model_selection import target_scores

ALL_STEPS = coregion.N_STEPS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=ALL_STEPS, help=f"steps of the likelihood (default {ALL_STEPS})")
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    tasks = make_sparse_tasks(n_samples=1000, n_tasks=10, n_features=10, random_state=0)
    Y = (tasks.Y - tasks.Y[:500].mean(axis=0)) / tasks.Y[:500].std(axis=0)
    problem = Problem(tasks.X[:500], Y[:500], tasks.X[500:], Y[500:], np.arange(10), False)
    coregion.N_STEPS, coregion.MOST_LABELS = steps, np.inf
    with threadpool_limits(1):
        theirs, F = measure(lambda: coregion.predict(problem))
        theirs *= ALL_STEPS / steps
        whole = steps == ALL_STEPS
        error = f", error {arrmse(problem, F):.4f}" if whole else f" (from {steps} steps)"
        print(f"GPyTorch ICM: {theirs:.1f} s{error}", flush=True)
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
