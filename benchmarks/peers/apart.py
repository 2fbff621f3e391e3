"""One kernel and metric for all tasks, or one for each? ``python benchmarks/peers/apart.py enb slump --removed 0.5``.

Errors (aRRMSE) of ``MultiTaskRegressorCV()`` on all tasks, and of one such search for each task by itself, on the rows
that have its labels; on the splits of the tables of peers.
"""

import argparse
import os
import warnings

import numpy as np
from problems import REMOVED, TARGET_SETS, make_problem
from threadpoolctl import threadpool_limits

from skmtl import MultiTaskRegressorCV
from skmtl.model_selection import target_scores


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", choices=TARGET_SETS)
    parser.add_argument("--removed", type=float, choices=REMOVED, default=0.5, help="share of labels (default 0.5)")
    parser.add_argument("--splits", type=int, default=2, help="number of splits (default 2)")
    parser.add_argument("--data", default=os.environ.get("SKMTL_DATA"), help="folder (default: SKMTL_DATA)")
    given = parser.parse_args()
    print("| set | split | all tasks | each task by itself |\n| --- | ---: | ---: | ---: |")
    for name in given.sets:
        for split in range(1, given.splits + 1):
            problem = make_problem(given.data, name, given.removed, split)
            errors = [error(problem, predict(problem)) for predict in (together, apart)]
            print(f"| {name} | {split} | " + " | ".join(f"{one:.3f}" for one in errors) + " |", flush=True)


def together(problem):
    return MultiTaskRegressorCV().fit(problem.X, problem.Y).predict(problem.X_test)


def apart(problem):
    """Nothing is shared, not even the kernel."""
    columns = []
    for y in problem.Y.T:
        known = ~np.isnan(y)
        columns.append(MultiTaskRegressorCV().fit(problem.X[known], y[known]).predict(problem.X_test))
    return np.column_stack(columns)


def error(problem, F):
    return target_scores(problem.Y_test, F, "arrmse")["mean"]


if __name__ == "__main__":
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        main()
