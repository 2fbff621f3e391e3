"""Was it the candidates or the selection? ``python benchmarks/peers/candidates.py slump 0.5 1``.

The best candidate of every sort that ``MultiTaskRegressorCV()`` tried on one split of a set, by its score on folds, and
beside it the error on the test rows, which chose nothing.
"""

import argparse
import os
import warnings

from problems import REMOVED, TARGET_SETS, make_problem

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.model_selection import target_scores


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=TARGET_SETS)
    parser.add_argument("removed", type=float, choices=REMOVED, help="share of the training labels that is removed")
    parser.add_argument("split", type=int)
    parser.add_argument("data", nargs="?", default=os.environ.get("SKMTL_DATA"), help="folder (default: SKMTL_DATA)")
    given = parser.parse_args()
    problem = make_problem(given.data, given.set, given.removed, given.split)
    search = MultiTaskRegressorCV().fit(problem.X, problem.Y)
    print("| tasks | kernel | metric | score on folds | error on test rows |\n| --- | --- | --- | ---: | ---: |")
    for sort, (score, params) in sorted(best_of_each(search).items(), key=lambda item: -item[1][0]):
        model = MultiTaskRegressor(**params).fit(problem.X, problem.Y)
        error = target_scores(problem.Y_test, model.predict(problem.X_test), "arrmse")["mean"]
        print(f"| {' | '.join(sort)} | {score:.3f} | {error:.3f} |", flush=True)


def best_of_each(search):
    """Score and parameters of the best candidate of every sort: tasks, kernel, metric."""
    found = {}
    for score, row in zip(search.cv_results_["mean_test_score"], search.cv_results_["params"], strict=True):
        params = {name: value for name, value in row.items() if name != "eps_factor"}
        own = row["penalty"].get_params().get("strengths") is not None
        rounds = row["metric_rounds"]
        metric = f"{row['metric_rule']}, {rounds} round{'s' * (rounds > 1)}" if rounds else "none"
        sort = f"{row['penalty'].name}{', own strengths' * own}", row["kernel"], metric
        if sort not in found or score > found[sort][0]:
            found[sort] = score, params
    return found


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
