"""Missing labels at the price of complete ones, as ratios taken in one run: ``make bench-gaps``.

Fits with labels missing beside a Cholesky factor of labels by labels, or beside the fit on complete labels of the same
rows; what is compared takes turns, and the best of a few times counts, so that a busy machine slows all alike. School
and the searches need the data folder in SKMTL_DATA. ``--sweep 200`` fits random shapes instead, each with the road
that was chosen; ``--roads 40`` compares that road with the others.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from core import describe_machine, load, verdict
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.datasets import load_mulan, load_school
from skmtl.features import make_feature_map
from skmtl.objective import Problem
from skmtl.penalties import Sparse
from skmtl.solvers import solve
from skmtl.solvers.cost import roads
from skmtl.solvers.design import make_design
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.observed import ObservedRows
from skmtl.solvers.training import auto_eps
from skmtl.targets import make_labels

REPEATS = 3
MOST_FACTORS, MOST_FEW_MISSING, MOST_ITERATED, MOST_SCHOOL, MOST_SEARCH, MOST_MEDIANS = 8.0, 8.0, 5.0, 3.0, 2.0, 10.0
MOST_SCHOOL_SEARCH = 60.0
# A road that would cost more than this many times the cheapest is not tried.
FAR = 30.0


def main():
    arguments = parse_arguments()
    with threadpool_limits(limits=arguments.threads, user_api="blas"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*rows have no label")
        # What is not certified is counted.
        warnings.simplefilter("ignore", ConvergenceWarning)
        started = time.perf_counter()
        describe_machine()
        if arguments.sweep:
            sweep(arguments.sweep)
        elif arguments.roads:
            compare_roads(arguments.roads)
        else:
            few_labels()
            beside_complete()
            data = os.environ.get("SKMTL_DATA")
            if data is None:
                print("\nSchool and searches are skipped: SKMTL_DATA is not set.")
            else:
                school(Path(data))
                searches(Path(data))
                school_search(Path(data))
        print(f"\nThe run took {time.perf_counter() - started:.0f} s; load average now {load()}.")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1, help="threads of BLAS (default 1)")
    parser.add_argument("--sweep", type=int, metavar="COUNT", help="fit so many random shapes instead")
    parser.add_argument("--roads", type=int, metavar="COUNT", help="solve so many random shapes on every road instead")
    return parser.parse_args()


def related_tasks(rng, n, n_tasks, n_features, noise=0.3):
    """Rows X and targets Y whose tasks share smooth functions of X."""
    rank = max(1, n_tasks // 2)
    X = rng.standard_normal((n, n_features))
    shared = np.sin(X @ rng.standard_normal((n_features, rank)))
    return X, shared @ rng.standard_normal((rank, n_tasks)) + noise * rng.standard_normal((n, n_tasks))


def without(rng, Y, missing):
    return np.where(rng.random(Y.shape) < missing, np.nan, Y)


def take_turns(*calls):
    """The least seconds and the last result of each call."""
    seconds, results = [np.inf] * len(calls), [None] * len(calls)
    for _ in range(REPEATS):
        for i, call in enumerate(calls):
            started = time.perf_counter()
            results[i] = call()
            seconds[i] = min(seconds[i], time.perf_counter() - started)
    return seconds, results


def report(name, ratio, bar, unit, seconds, est):
    solution = est.solution_
    print(
        f"  {name:<44s} {seconds:7.2f} s = {ratio:5.1f} {unit}  gap {solution.gap:.0e}, {solution.n_iter} iterations  ",
        end="",
    )
    print(verdict(ratio <= bar and solution.converged), flush=True)


def few_labels():
    print(f"\nFew labels: a fit to 1e-6, bar {MOST_FACTORS:.0f} times a Cholesky factor of labels by labels")
    for n_tasks in (12, 30):
        rng = np.random.default_rng(0)
        X, Y = related_tasks(rng, 1000, n_tasks, 6)
        Y = without(rng, Y, 0.8)
        size = np.count_nonzero(~np.isnan(Y))
        M = np.full((size, size), 0.5, order="F")
        M[np.diag_indices(size)] = size
        for alpha in (1e-3, 1e-5):
            (one, fit), (_, est) = take_turns(
                lambda M=M: linalg.cholesky(M, lower=True, check_finite=False),
                lambda a=alpha, X=X, Y=Y: MultiTaskRegressor(kernel="rbf", alpha=a).fit(X, Y),
            )
            report(f"{size} labels of {n_tasks} tasks, alpha {alpha:.0e}", fit / one, MOST_FACTORS, "factors", fit, est)


def beside_complete():
    print(f"\nBeside complete labels: a fit to 1e-6, bars {MOST_FEW_MISSING:.0f}, then {MOST_ITERATED:.0f} times")
    landmarks = {"kernel": "rbf", "n_components": 1000, "random_state": 0}
    cases = [
        ("20% of 12,000 missing, rbf", (1000, 12, 6), 0.2, {"kernel": "rbf"}, (1e-3, 1e-5), MOST_FEW_MISSING),
        ("half of 100,000 missing, 200 features", (5000, 20, 200), 0.5, {}, (1e-3, 1e-1), MOST_ITERATED),
        ("half of 100,000 missing, 1000 landmarks", (5000, 20, 10), 0.5, landmarks, (1e-3, 1e-5), MOST_ITERATED),
    ]
    for name, shape, missing, params, alphas, bar in cases:
        rng = np.random.default_rng(0)
        X, Y = related_tasks(rng, *shape)
        gaps = without(rng, Y, missing)
        for alpha in alphas:
            (one, fit), (_, est) = take_turns(
                lambda a=alpha, X=X, Y=Y, p=params: MultiTaskRegressor(alpha=a, **p).fit(X, Y),
                lambda a=alpha, X=X, Y=gaps, p=params: MultiTaskRegressor(alpha=a, **p).fit(X, Y),
            )
            report(f"{name}, alpha {alpha:.0e}", fit / one, bar, "complete", fit, est)


def scaled_school(data):
    """Rows of mean squared length one, and the labels."""
    content = load_school(data / "school")
    scaler = StandardScaler().fit(content.X)
    return scaler.transform(content.X) / np.sqrt(np.count_nonzero(scaler.var_)), content


def school(data):
    print(f"\nSchool, 139 tasks: a fit to 1e-4, bar {MOST_SCHOOL:.0f} s")
    X, content = scaled_school(data)
    for common in (0.0, 10.0):
        for alpha in (1e-3, 1e-2, 1e-1, 1.0):
            model = MultiTaskRegressor(Sparse(0.9), alpha=alpha, common=common, tol=1e-4)
            (seconds,), (est,) = take_turns(lambda m=model: m.fit(X, content.y, tasks=content.tasks))
            report(f"alpha {alpha:.0e}, common {common:g}", seconds, MOST_SCHOOL, "s", seconds, est)


def searches(data):
    print(f"\nSearches with 80% of the labels removed, bar {MOST_SEARCH:.0f} times that on complete labels of all rows")
    for name in ("jura", "enb"):
        content = load_mulan(data / "mulan" / "multi-target" / f"{name}.arff")
        X, Y = StandardScaler().fit_transform(content.X), content.Y.to_numpy(dtype=float)
        gaps = without(np.random.default_rng(0), Y, 0.8)
        search = MultiTaskRegressorCV("sparse", kernel="rbf", mus=[0.8, 0.95, 1.0], eps_factors=[1.0, 100.0])
        (one, with_gaps), _ = take_turns(
            lambda s=search, X=X, Y=Y: s.fit(X, Y), lambda s=search, X=X, Y=gaps: s.fit(X, Y)
        )
        ratio = with_gaps / one
        print(f"  {name:<6s} complete {one:6.2f} s, with gaps {with_gaps:6.2f} s = {ratio:.1f}  ", end="")
        print(verdict(ratio <= MOST_SEARCH), flush=True)


def school_search(data):
    print(f"\nSchool, 139 tasks: a search over the grid of 'sparse', bar {MOST_SCHOOL_SEARCH:.0f} s")
    X, content = scaled_school(data)
    started = time.perf_counter()
    search = MultiTaskRegressorCV("sparse", kernel="linear").fit(X, content.y, tasks=content.tasks)
    seconds = time.perf_counter() - started
    print(
        f"  {len(search.cv_results_['params'])} candidates {seconds:6.1f} s  {verdict(seconds <= MOST_SCHOOL_SEARCH)}"
    )


# Random shapes --------------------------------------------------------------------------------------------------------


def random_shape(seed):
    """Rows, targets with gaps, parameters of a fit, and words for them."""
    rng = np.random.default_rng(seed)
    n, n_tasks = int(20.0 * 100.0 ** rng.random()), int(2.0 * 30.0 ** rng.random())
    d, missing = int(rng.integers(2, 12)), rng.uniform(0.0, 0.95)
    X, Y = related_tasks(rng, n, n_tasks, d)
    pattern = rng.choice(["random", "rows", "blocks", "long"])
    gaps = np.zeros(Y.shape, dtype=bool)
    if pattern == "random":
        gaps = rng.random(Y.shape) < missing
    elif pattern == "rows":
        # Every other task is missing in the same rows.
        gaps[np.ix_(rng.permutation(n)[: int(missing * n)], np.arange(1, n_tasks, 2))] = True
    elif pattern == "blocks":
        gaps[: int(missing * n), : n_tasks // 2] = True
        gaps[n - int(missing * n) :, n_tasks // 2 :] = True
    else:
        gaps[:] = np.arange(n_tasks) != rng.integers(0, n_tasks, n)[:, None]
    gaps[rng.integers(0, n, n_tasks), np.arange(n_tasks)] = False
    # The median of squared distances is about 2 d.
    params = {
        "kernel": "rbf",
        "gamma": 2.0 ** rng.uniform(-4.0, 4.0) / (2.0 * d),
        "alpha": 10.0 ** rng.uniform(-6.0, 0.0),
    }
    labels = gaps.size - np.count_nonzero(gaps)
    words = f"{n} rows, {n_tasks} tasks, {labels} labels, {pattern}, alpha {params['alpha']:.0e}"
    return X, np.where(gaps, np.nan, Y), params, labels, words


def sweep(count):
    """No fit much slower than the median of those of its size, all certified."""
    rows = []
    for seed in range(count):
        X, Y, params, labels, words = random_shape(seed)
        model = MultiTaskRegressor(Sparse(0.9), **params)
        (seconds,), (est,) = take_turns(lambda m=model, X=X, Y=Y: m.fit(X, Y))
        n_tasks = Y.shape[1]
        rows.append((seconds, labels + n_tasks * (n_tasks + 1) // 2, est.solution_.gap, words))
    sizes = np.array([np.log10(row[1]) for row in rows])
    classes = np.digitize(sizes, [2.0, 2.5, 3.0, 3.5, 4.0, 4.5])
    seconds = np.array([row[0] for row in rows])
    print(
        f"\n{count} random shapes, by the number of unknowns (labels and relations); "
        f"bar {MOST_MEDIANS:.0f} times the median"
    )
    for k in np.unique(classes):
        own = seconds[classes == k]
        worst = int(np.flatnonzero(classes == k)[own.argmax()])
        ratio = own.max() / np.median(own)
        print(
            f"  up to {10.0 ** (2.0 + 0.5 * k):8.0f} unknowns: {len(own):3d} fits, median {np.median(own):7.3f} s, "
            f"worst {own.max():7.3f} s = {ratio:4.1f} (seed {worst}: {rows[worst][3]})  "
            f"{verdict(ratio <= MOST_MEDIANS)}"
        )
    open_ended = [(seed, row[2]) for seed, row in enumerate(rows) if row[2] > 1e-6]
    print(f"  not certified: {open_ended or 'none'}  {verdict(not open_ended)}")


def compare_roads(count):
    """The road that was chosen beside the quickest of those that were tried, and how often they are the same."""
    print(f"\n{count} random shapes on every road that is not modelled as {FAR:.0f} times the cheapest, to 1e-6")
    ratios = []
    for seed in range(count):
        X, Y, params, _, words = random_shape(seed)
        observed = observe(X, Y, params["gamma"])
        costs = roads(observed, params["alpha"])
        chosen, seconds = min(costs, key=costs.__getitem__), {}
        for road in (road for road in costs if costs[road] <= FAR * costs[chosen]):
            started = time.perf_counter()
            step = MissingLabelRidge(observed, params["alpha"], road)
            solve(Problem(step, Sparse(0.9), auto_eps(step), 0.0), tol=1e-6)
            seconds[road] = time.perf_counter() - started
        ratios.append(seconds[chosen] / min(seconds.values()))
        shown = ", ".join(f"{road} {value:.2f}" for road, value in seconds.items())
        print(f"  seed {seed}: {words}: {chosen} of {shown} s = {ratios[-1]:.1f}", flush=True)
    ratios = np.array(ratios)
    print(f"  the quickest in {np.mean(ratios == 1.0):.0%}, median {np.median(ratios):.2f}, worst {ratios.max():.1f}")


def observe(X, Y, gamma):
    """Rows and labels as the solvers see them, targets standardized."""
    weight = (~np.isnan(Y)).astype(float)
    scaled = (Y - np.nanmean(Y, axis=0)) / np.maximum(np.nanstd(Y, axis=0), 1e-12)
    labels = make_labels(np.nan_to_num(scaled), weight)
    feature_map = make_feature_map("rbf", gamma=gamma).fit(X)
    Z = feature_map.transform(X)
    design = make_design(feature_map, Z, labels.design_weight(), intercept=True, overwrite=True)
    return ObservedRows(labels.arrange(design.rows()), design.values, labels, intercept=True)


if __name__ == "__main__":
    main()
