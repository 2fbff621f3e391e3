"""Exam scores of 139 schools: how well every penalty predicts, and how long a fit takes.

``python benchmarks/school.py DATA`` compares all penalties, with and without a common component, with three ridge
regressions and with boosted trees: 75/25 splits within each school, hyper-parameters by three folds of the training
part. ``--timing`` times single fits instead, also on a masked problem of the size of Animals with Attributes. DATA is a
folder with ``school/school.mat`` and, if there, ``AwA/``; by default the environment variable SKMTL_DATA.
"""

import argparse
import json
import multiprocessing
import os
import resource
import sys
import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed, parallel_config
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.datasets import load_awa, load_school
from skmtl.penalties import PENALTIES, Fixed, Sparse

N_FOLDS, SELECT_TOL, FINAL_TOL = 3, 1e-3, 1e-4
COMMONS = (0.0, 10.0)
# What the common part explains, the tasks' own parts need not: with it, more regularization is useful.
ALPHAS = {0.0: (3e-3, 1e-2, 3e-2, 1e-1), 10.0: (3e-2, 1e-1, 3e-1, 1.0)}
# Their structure has trace one, so that a smaller alpha does the same.
SMALLER_ALPHAS = {"trace": 0.1, "features": 0.1}
CANDIDATES = {"sparse": [Sparse(0.9), Sparse(0.97)], "fixed": [Fixed.mean_coupled()]}
RIDGE_ALPHAS = np.logspace(-2.0, 2.0, 9).tolist()
LEARNING_RATES = [0.02, 0.05, 0.1]
# They come last, so that an interrupted run has all the rest.
SLOW = [("laplacian", 10.0), ("laplacian", 0.0), ("sparse", 0.0)]
TARGET = 38.0  # per cent of the variance, for `sparse` with a common component


def main():
    arguments = parse_arguments()
    if arguments.data is None or not (Path(arguments.data) / "school" / "school.mat").is_file():
        print("Skipped: give the folder that holds school/school.mat, as an argument or in SKMTL_DATA.")
        return
    data = Path(arguments.data)
    if arguments.timing:
        time_fits(data)
    else:
        rows = run(load_school(data / "school"), range(1, arguments.seeds + 1), arguments.out, arguments.jobs)
        print(render(rows))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default=os.environ.get("SKMTL_DATA"), help="folder (default: SKMTL_DATA)")
    parser.add_argument("--timing", action="store_true", help="time single fits instead")
    parser.add_argument("--seeds", type=int, default=10, help="number of splits (default 10)")
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one BLAS thread each (default 2)")
    parser.add_argument("--out", metavar="FILE", help="JSON lines, one per split and method; what is there is kept")
    return parser.parse_args()


# Accuracy -------------------------------------------------------------------------------------------------------------


def run(school, seeds, out, n_jobs):
    """One row per seed and method; rows that ``out`` has already are not computed again."""
    entries = list(entrants())
    rows = [json.loads(line) for line in Path(out).read_text().splitlines()] if out and Path(out).exists() else []
    rows = [row for row in rows if row["seed"] in seeds and (row["method"], row["common"], row["grid"]) in entries]
    done = [(row["seed"], row["method"], row["common"]) for row in rows]
    todo = [(seed, *entry) for seed, entry in product(seeds, entries) if (seed, *entry[:2]) not in done]
    todo.sort(key=lambda item: SLOW.index(item[1:3]) if item[1:3] in SLOW else -1)
    with parallel_config(backend="loky", inner_max_num_threads=1):
        results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
            delayed(evaluate)(school, *item) for item in todo
        )
        for count, row in enumerate(results, start=1):
            rows.append(row)
            if out:
                with open(out, "a") as file:
                    print(json.dumps(row), file=file)
            print(f"{count}/{len(todo)} {row}", file=sys.stderr, flush=True)
    return rows


def entrants():
    """All that take part: method, weight of the common component (None: does not apply), grid of alpha."""
    for name in BASELINES:
        yield name, None, LEARNING_RATES if name == "boosted trees" else RIDGE_ALPHAS
    for common, name in product(COMMONS, PENALTIES):
        yield name, common, [alpha * SMALLER_ALPHAS.get(name, 1.0) for alpha in ALPHAS[common]]


def evaluate(school, seed, method, common, grid):
    """Select on the training part of one split, fit it again, and test."""
    train, test = train_test_split(np.arange(len(school.y)), test_size=0.25, stratify=school.tasks, random_state=seed)
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(train, school.tasks[train]))
    fits = FitLog()
    if common is None:
        candidates = [partial(BASELINES[method], alpha=alpha) for alpha in grid]
    else:
        penalties = CANDIDATES.get(method) or [PENALTIES[method]()]
        candidates = [
            partial(multi_task, penalty=penalty, alpha=alpha, common=common, log=fits)
            for penalty, alpha in product(penalties, grid)
        ]

    def error(predict):
        squares = [
            np.sum((school.y[train[b]] - predict(*split(school, train[a], train[b]), tol=SELECT_TOL)) ** 2)
            for a, b in folds
        ]
        return sum(squares) / len(train)

    best = min(candidates, key=error)
    prediction = best(*split(school, train, test), tol=FINAL_TOL)
    mse = float(np.mean((school.y[test] - prediction) ** 2))
    return {
        "seed": seed,
        "method": method,
        "common": common,
        "grid": grid,
        "chosen": {key: str(value) for key, value in best.keywords.items() if key != "log"},
        "rmse": mse**0.5,
        "explained": 100.0 * (1.0 - mse / float(np.var(school.y[test]))),
        **fits.summary(),
    }


def split(school, train, test):
    """X, y and tasks to learn from, X and tasks to predict; features standardized, the mean of diag(K) one."""
    scaler = StandardScaler().fit(school.X[train])
    size = np.sqrt(np.count_nonzero(scaler.var_))
    X, X_test = (scaler.transform(school.X[rows]) / size for rows in (train, test))
    return X, school.y[train], school.tasks[train], X_test, school.tasks[test]


class FitLog:
    """Seconds and gaps of the fits of one method on one split; the last fit is the final one."""

    def __init__(self):
        self.fits = []

    def summary(self):
        if not self.fits:
            return {}
        seconds, gaps, converged, edges = zip(*self.fits, strict=True)
        return {
            "fits": len(seconds),
            "select_seconds": float(np.mean(seconds[:-1])),
            "slowest": max(seconds),
            "seconds": seconds[-1],
            "gap": gaps[-1],
            "uncertified": int(len(converged) - sum(converged)),
            "edges": edges[-1],
        }


def multi_task(X, y, tasks, X_test, tasks_test, *, penalty, alpha, common, log, tol):
    estimator = MultiTaskRegressor(penalty, alpha=alpha, common=common, tol=tol)
    started = time.perf_counter()
    with warnings.catch_warnings():
        # Fits that are not certified are counted, and the count is part of the output.
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, y, tasks=tasks)
    seconds, solution = time.perf_counter() - started, estimator.solution_
    edges = np.count_nonzero(np.triu(solution.structure, 1)) / (
        len(solution.structure) * (len(solution.structure) - 1) / 2
    )
    log.fits.append((seconds, solution.gap, solution.converged, edges))
    return estimator.predict(X_test, tasks=tasks_test)


def pooled_ridge(X, y, tasks, X_test, tasks_test, *, alpha, tol):
    return Ridge(alpha=alpha).fit(X, y).predict(X_test)


def per_task_ridge(X, y, tasks, X_test, tasks_test, *, alpha, tol):
    prediction = np.empty(len(X_test))
    for task in np.unique(tasks_test):
        own, asked = tasks == task, tasks_test == task
        prediction[asked] = Ridge(alpha=alpha).fit(X[own], y[own]).predict(X_test[asked])
    return prediction


def intercepts_ridge(X, y, tasks, X_test, tasks_test, *, alpha, tol):
    """One vector of coefficients, and a free constant per school: ridge on what is centred within schools."""
    count = np.bincount(tasks)
    y_mean = np.bincount(tasks, y) / count
    X_mean = np.stack([np.bincount(tasks, x) for x in X.T], axis=1) / count[:, None]
    ridge = Ridge(alpha=alpha, fit_intercept=False).fit(X - X_mean[tasks], y - y_mean[tasks])
    return ridge.predict(X_test - X_mean[tasks_test]) + y_mean[tasks_test]


def boosted_trees(X, y, tasks, X_test, tasks_test, *, alpha, tol):
    """What there is beyond linear effects: small trees that see the school as a category; alpha is their rate."""
    trees = HistGradientBoostingRegressor(
        learning_rate=alpha, max_iter=200, max_leaf_nodes=8, categorical_features=[X.shape[1]], random_state=0
    )
    return trees.fit(np.column_stack([X, tasks]), y).predict(np.column_stack([X_test, tasks_test]))


BASELINES = {
    "ridge per school": per_task_ridge,
    "pooled ridge": pooled_ridge,
    "pooled ridge, intercept per school": intercepts_ridge,
    "boosted trees": boosted_trees,
}


def render(rows):
    """The table and the verdicts, as Markdown."""
    table = {}
    for row in rows:
        table.setdefault((row["method"], row["common"]), {})[row["seed"]] = row
    explained = {key: {seed: row["explained"] for seed, row in of.items()} for key, of in table.items()}
    best = max(((name, None) for name in BASELINES), key=lambda key: np.mean(list(explained[key].values())))
    lines = [
        "| method | common | RMSE | explained variance (%) | less the best baseline | edges (%) | s per fit |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for method, common, _ in entrants():
        of = table.get((method, common), {})
        if not of:
            continue
        learned = common is not None
        cells = [
            f"`{method}`" if learned else method,
            f"{common:g}" if learned else "",
            mean_and_error([row["rmse"] for row in of.values()], 3),
            mean_and_error([row["explained"] for row in of.values()], 2),
            "best" if (method, common) == best else interval(*paired(of, table[best])),
            f"{100.0 * np.mean([row['edges'] for row in of.values()]):.0f}" if learned else "",
            f"{np.median([row['seconds'] for row in of.values()]):.2f}" if learned else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *verdicts(table, best)])


def verdicts(table, best):
    """What was asked of `sparse` with a common component, and which fits did not reach their tolerance."""
    n_splits = max(len(of) for of in table.values())
    yield f"{n_splits} splits; ± is their standard error, brackets the 95% interval of the paired difference."
    for (method, common), of in table.items():
        if len(of) < n_splits and common is not None:
            yield f"\nThe run has {len(of)} of them for `{method}` with common {common:g}."
    asked = table.get(("sparse", COMMONS[-1]))
    if asked:
        mean = np.mean([row["explained"] for row in asked.values()])
        yield f"\n`sparse` with common explains {mean:.2f}% (bar: {TARGET:g}%): {verdict(mean >= TARGET)}"
        upper = paired(asked, table[best])[2]
        yield f"\n`sparse` with common is not worse than {best[0]} beyond noise: {verdict(upper >= 0.0)}"
    for (method, common), of in table.items():
        short = sum(row.get("uncertified", 0) for row in of.values())
        if short:
            fits = sum(row["fits"] for row in of.values())
            yield f"\n`{method}`, common {common:g}: {short} of {fits} fits stopped above their tolerance."


def paired(of, baseline):
    """Mean difference in explained variance over the splits that both have, and its 95% interval (Student)."""
    seeds = sorted(set(of) & set(baseline))
    difference = np.array([of[seed]["explained"] - baseline[seed]["explained"] for seed in seeds])
    if len(difference) < 2:
        return difference.mean(), -np.inf, np.inf
    half = stats.t.ppf(0.975, len(difference) - 1) * stats.sem(difference)
    return difference.mean(), difference.mean() - half, difference.mean() + half


def interval(mean, low, high):
    return f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]" if np.isfinite(low) else f"{mean:+.2f}"


def mean_and_error(values, digits):
    error = f" ± {stats.sem(values):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{error}"


# Timing ---------------------------------------------------------------------------------------------------------------


def time_fits(data):
    """Each fit in a process of its own, so that its peak memory is its own."""
    print(f"{os.cpu_count()} cores, load average at the start {os.getloadavg()[0]:.1f}")
    print("| problem | penalty | alpha | common | tol | seconds | gap | iterations | peak memory (MB) | |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    settings = [(school_problem, "sparse", alpha, common, 1e-4, 30.0) for common in COMMONS for alpha in TIMED_ALPHAS]
    settings += [(school_problem, "trace", alpha, common, 1e-4, 10.0) for common in COMMONS for alpha in TIMED_ALPHAS]
    settings += [(animals_problem, "sparse", alpha, 0.0, 1e-3, 60.0) for alpha in (1e-4, 1e-3, 1e-2)]
    for setting in settings:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(time_fit, (data, *setting)), flush=True)


TIMED_ALPHAS = (1e-3, 1e-2, 1e-1)
MEMORY_BAR = 1000.0


def time_fit(data, problem, penalty, alpha, common, tol, bar):
    """One fit, as a line of the table."""
    name, estimator, X, y, tasks = problem(data)
    estimator.set_params(penalty=penalty, alpha=alpha, common=common, tol=tol)
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, y, tasks=tasks)
    seconds, gap = time.perf_counter() - started, estimator.solution_.gap
    # Kilobytes, but bytes on macOS.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    passed = seconds <= bar and gap <= tol and (memory <= MEMORY_BAR or problem is animals_problem)
    return (
        f"| {name} | {penalty} | {alpha:g} | {common:g} | {tol:g} | {seconds:.2f} | {gap:.1e} | {estimator.n_iter_} "
        f"| {memory:.0f} | bar {bar:.0f} s: {verdict(passed)} |"
    )


def school_problem(data):
    school = load_school(data / "school")
    X, y, tasks, _, _ = split(school, np.arange(len(school.y)), [0])
    return "School", MultiTaskRegressor(), X, y, tasks


def animals_problem(data, n_tasks=85, n_rows=150):
    """Every attribute with rows of its own, half of them positive; square roots of normalized counts."""
    rng = np.random.default_rng(0)
    if not (data / "AwA").is_dir():
        X = rng.dirichlet(np.full(2000, 0.1), size=n_tasks * n_rows) ** 0.5
        scores = X @ rng.standard_normal((2000, 10)) @ rng.standard_normal((10, n_tasks))
        tasks = np.repeat(np.arange(n_tasks), n_rows)
        own = scores[np.arange(len(tasks)), tasks]
        return "synthetic, AwA size", MultiTaskClassifier(), X, own > np.median(own), tasks
    animals = load_awa(data / "AwA")
    labels = animals.predicate_matrix[animals.y]
    free, rows = np.ones(len(labels), dtype=bool), {}
    for task in np.argsort(np.minimum(labels.sum(axis=0), (1 - labels).sum(axis=0))):  # the rarest choose first
        choices = [np.flatnonzero(free & (labels[:, task] == label)) for label in (0, 1)]
        rows[task] = np.concatenate([rng.choice(choice, n_rows // 2, replace=False) for choice in choices])
        free[rows[task]] = False
    tasks = np.repeat(list(rows), n_rows)
    rows = np.concatenate(list(rows.values()))
    counts = animals.X[rows].astype(float)
    X = np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))
    return "AwA", MultiTaskClassifier(), X, labels[rows, tasks], tasks


def verdict(passed):
    return "PASS" if passed else "MISS"


if __name__ == "__main__":
    main()
