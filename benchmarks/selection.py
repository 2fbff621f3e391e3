"""Speed of choosing hyper-parameters, as ratios: ``python benchmarks/selection.py`` or ``make bench-selection``.

The searches take turns, so that a busy machine slows all alike; times are wall-clock, and ratios those of medians.
``GridSearchCV`` over ``KernelRidge`` learns no structure; it has the same alphas, folds and kernel.
"""

import argparse
import os
import time

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from skmtl import MultiTaskRegressorCV

ALPHAS, MUS, GAMMA, FOLDS = np.logspace(-6, -1, 10), [0.5, 0.8, 0.9, 0.97, 1.0], 0.05, 5
TARGETS = {"5 folds": 0.5, "loo": 0.25}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="threads of BLAS (default 2)")
    parser.add_argument("--repeats", type=int, default=5, help="turns (default 5)")
    arguments = parser.parse_args()
    X, Y = make_problem(np.random.default_rng(0), n=1000, n_tasks=20)
    with threadpool_limits(limits=arguments.threads, user_api="blas"):
        times = take_turns(make_searches(len(X)), X, Y, arguments.repeats)
    report(times, arguments.threads)


def make_problem(rng, n, n_tasks, n_features=10, rank=6):
    X = rng.standard_normal((n, n_features))
    shared = np.sin(0.5 * X @ rng.standard_normal((n_features, rank)))
    return X, shared @ rng.standard_normal((rank, n_tasks)) + 0.5 * rng.standard_normal((n, n_tasks))


def make_searches(n):
    options = {"kernel": "rbf", "gammas": [GAMMA], "alphas": ALPHAS, "mus": MUS, "eps_factors": [1.0]}
    ridge_alphas = ALPHAS * n * (FOLDS - 1) / FOLDS
    return {
        "KernelRidge": GridSearchCV(KernelRidge(kernel="rbf", gamma=GAMMA), {"alpha": ridge_alphas}, cv=FOLDS),
        "5 folds": MultiTaskRegressorCV(**options, cv=FOLDS),
        "loo": MultiTaskRegressorCV(**options, cv="loo"),
    }


def take_turns(searches, X, Y, repeats):
    times = {name: [] for name in searches}
    for _ in range(repeats):
        for name, search in searches.items():
            started = time.perf_counter()
            search.fit(X, Y)
            times[name].append(time.perf_counter() - started)
    print(searches["5 folds"].verdict_)
    return {name: float(np.median(values)) for name, values in times.items()}


def report(times, threads):
    print(f"n = 1000, T = 20, rbf, 10 alphas x 5 mus, {threads} BLAS threads, load average {os.getloadavg()[0]:.1f}")
    base = times["KernelRidge"]
    print(f"{'GridSearchCV(KernelRidge), 5 folds':40s} {base:6.2f} s")
    for name, target in TARGETS.items():
        ratio = times[name] / base
        verdict = f"(at most {target})  {'PASS' if ratio <= target else 'MISS'}"
        print(f"{'MultiTaskRegressorCV, ' + name:40s} {times[name]:6.2f} s  ratio {ratio:5.2f}  {verdict}")


if __name__ == "__main__":
    main()
