"""A metric learned by all tasks beside one learned by each task alone: ``python benchmarks/metric.py``.

Ten tasks are functions of the same 5 of 20 features. Each task has a few labels, on rows of its own. All tasks are
independent and have the RBF kernel; inverse width and strength are chosen on folds. What differs is only whose slopes,
or whose evidence, scale the features: nobody's, those of the task itself, or those of all tasks.
"""

import argparse

import numpy as np

from skmtl import MultiTaskRegressorCV
from skmtl.model_selection import target_scores

N_ROWS, N_FEATURES, N_RELEVANT, N_TASKS, NOISE = 400, 20, 5, 10, 0.1
LABELS = (15, 30, 60)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="number of problems (default 3)")
    parser.add_argument("--rule", choices=("slopes", "evidence"), default="slopes", help="what scales the features")
    arguments = parser.parse_args()
    seeds = range(arguments.seeds)
    print("| labels per task | no metric | each task its own | all tasks one |\n| ---: | ---: | ---: | ---: |")
    for n_labels in LABELS:
        errors = np.array(
            [compare(n_labels, np.random.default_rng([seed, n_labels]), arguments.rule) for seed in seeds]
        )
        print(f"| {n_labels} | " + " | ".join(f"{error:.3f}" for error in errors.mean(axis=0)) + " |", flush=True)


def compare(n_labels, rng, rule):
    """Errors (aRRMSE) without a metric, with one for each task, and with one for all."""
    X, Y, X_test, Y_test = make_tasks(n_labels, rng)
    apart = np.column_stack([fit(X, y[:, None], [2], rule).predict(X_test) for y in Y.T])
    found = fit(X, Y, 0, rule).predict(X_test), apart, fit(X, Y, [2], rule).predict(X_test)
    return [target_scores(Y_test, F, "arrmse")["mean"] for F in found]


def fit(X, Y, rounds, rule):
    known = ~np.isnan(Y).all(axis=1)
    options = {"metric_rounds": rounds, "metric_rule": rule}
    return MultiTaskRegressorCV("independent", kernel="rbf", **options).fit(X[known], Y[known])


def make_tasks(n_labels, rng):
    X, X_test = rng.standard_normal((N_ROWS, N_FEATURES)), rng.standard_normal((500, N_FEATURES))
    inner, outer = rng.standard_normal((N_RELEVANT, 8)) / np.sqrt(N_RELEVANT), rng.standard_normal((8, N_TASKS))

    def value(rows):
        return np.sin(2.0 * rows[:, :N_RELEVANT] @ inner) @ outer

    Y = np.full((N_ROWS, N_TASKS), np.nan)
    for t in range(N_TASKS):
        rows = rng.choice(N_ROWS, n_labels, replace=False)
        truth = value(X[rows])[:, t]
        Y[rows, t] = truth + NOISE * rng.standard_normal(n_labels)
    return X, Y, X_test, value(X_test)


if __name__ == "__main__":
    main()
