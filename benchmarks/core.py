"""Speed of the core, as ratios taken in one run: ``python benchmarks/core.py`` or ``make bench-core``.

Times are wall-clock and medians; what is compared takes turns, so that a busy machine slows all alike. Costs and gaps
are recomputed from the answers by ``objective.py``.
"""

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path

import conic
import newton
import numpy as np
import scipy
import splitting
from objective import certify_fit, certify_step
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_info, threadpool_limits

from skmtl import MultiTaskRegressor
from skmtl.penalties import Sparse

REPEATS = 5
# A competitor that takes longer than this is run once.
LONG = 10.0
# A call shorter than this is repeated and the time divided, for one call would measure the clock and the scheduler.
SHORT = 0.2
MU, ALPHA = 0.9, 1e-2


def main():
    arguments = parse_arguments()
    with threadpool_limits(limits=arguments.threads, user_api="blas"):
        started = time.perf_counter()
        results = {"machine": describe_machine()}
        results["structure step"] = structure_step(n_tasks=30, rank=10, ridge=1e-3)
        results["whole fit"] = whole_fit(n=2000, n_tasks=30)
        results["table"] = table(sizes=(500, 1000, 2000), task_counts=(10, 30, 100, 300))
        print(f"\nThe run took {time.perf_counter() - started:.0f} s; load average now {load()}.")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file, indent=2)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="threads of BLAS (default 2)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    return parser.parse_args()


def describe_machine():
    blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    # Wheels keep their copy in a folder named after the package, such as numpy.libs.
    pools = [f"{pool['internal_api']} {pool['version']} in {Path(pool['filepath']).parent.name}" for pool in blas]
    threads = [pool["num_threads"] for pool in blas]
    print(f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}")
    print(
        f"{os.cpu_count()} cores; BLAS: {'; '.join(f'{p}, threads: {t}' for p, t in zip(pools, threads, strict=True))}"
    )
    print(f"Load average at the start {load()}; above {os.cpu_count()} others compete for the cores.")
    return {"cores": os.cpu_count(), "blas": pools, "threads": threads}


def load():
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


# (a) ------------------------------------------------------------------------------------------------------------------


def structure_step(n_tasks, rank, ridge):
    """Newton against a conic solver and against the paper's algorithm, on one nearly singular S."""
    S = nearly_singular(np.random.default_rng(0), n_tasks, rank, ridge)
    print(f"\n(a) Structure step: T = {n_tasks}, rank {rank} plus relative ridge {ridge:.0e}, mu = {MU}")
    print(f"    condition number of S: {np.linalg.cond(S):.2e}")
    entrants = [(newton, 1e-8), (conic, 1e-8), (splitting, 1e-6)]
    times, answers = take_turns([(module, tol) for module, tol in entrants if module.skip is None], S)
    # Any dual point bounds every cost, so all are held against the best bound found.
    proofs = {name: certify_step(A, S, MU) for name, (A, _) in answers.items()}
    best = max(proof.bound for proof in proofs.values())
    rows = {}
    for module, tol in entrants:
        if module.skip is not None:
            print(f"    {module.name:16s} skipped: {module.skip}")
            continue
        seconds, proof = float(np.median(times[module.name])), proofs[module.name]
        repeats = len(times[module.name])
        rows[module.name] = {
            "seconds": seconds,
            "repetitions": repeats,
            "tol": tol,
            "cost": proof.cost,
            "gap": proof.gap,
        }
        above = (proof.cost - best) / proof.cost
        how = f"median of {repeats}" if repeats > 1 else "one repetition"
        note = f"; {answers[module.name][1]}" if answers[module.name][1] else ""
        print(
            f"    {module.name:16s} {seconds:10.4f} s  (asked {tol:.0e}; own gap {proof.gap:8.1e}, "
            f"above the best bound {above:8.1e}; {how}{note})"
        )
    certified = rows["newton"]["gap"] <= 1e-8
    print(f"    newton certified at 1e-8, recomputed: {verdict(certified)}")
    for name, bar in (("CVXPY/Clarabel", 100.0), ("primal-dual", 1000.0)):
        if name in rows:
            ratio = rows[name]["seconds"] / rows["newton"]["seconds"]
            rows[name]["ratio"] = ratio
            print(
                f"    {name} / newton: {ratio:.0f}x  (bar: at least {bar:.0f}x)  {verdict(ratio >= bar and certified)}"
            )
    return {"condition": float(np.linalg.cond(S)), "competitors": rows}


def nearly_singular(rng, n_tasks, rank, ridge):
    """S of low rank, with tasks of unequal size, plus ``ridge`` times the mean of its diagonal."""
    B = rng.standard_normal((rank, n_tasks)) * np.exp(0.5 * rng.standard_normal(n_tasks))
    S = B.T @ B / rank
    return S + ridge * np.mean(np.diag(S)) * np.eye(n_tasks)


def take_turns(entrants, S):
    """Seconds of every repetition and the last answer, per competitor."""
    tiny = np.array([[2.0, 1.5], [1.5, 2.0]])
    for module, _ in entrants:
        module.minimize(tiny, MU, 1e-4)  # imports and start-up are not what is measured
    times, answers = {module.name: [] for module, _ in entrants}, {}
    for _ in range(REPEATS):
        for module, tol in entrants:
            if times[module.name] and times[module.name][0] > LONG:
                continue
            seconds, answers[module.name] = seconds_of(lambda m=module, t=tol: m.minimize(S, MU, t))
            times[module.name].append(seconds)
    return times, answers


def seconds_of(call):
    """Wall-clock seconds of one call, the mean over as many as last ``SHORT`` seconds; and what it returned."""
    started, calls = time.perf_counter(), 0
    while True:
        answer = call()
        calls += 1
        elapsed = time.perf_counter() - started
        if elapsed >= SHORT:
            return elapsed / calls, answer


# (b) and (c) ----------------------------------------------------------------------------------------------------------


def whole_fit(n, n_tasks):
    """A fit against one eigendecomposition of the same K, in turns, with a fresh K in every repetition."""
    print(f"\n(b) Whole fit: RBF kernel, n = {n}, T = {n_tasks}, default settings but alpha = {ALPHA:g}, mu = {MU}")
    print(
        '    MultiTaskRegressor(kernel="precomputed").fit(K, Y), input checks and copy of K included, kernel evaluation'
    )
    print('    not; against scipy.linalg.eigh(K, driver="evd"); fresh K in every repetition')
    pair_times(300, n_tasks, seed=999)  # warm up
    pairs = [pair_times(n, n_tasks, seed) for seed in range(REPEATS)]
    for pair in pairs:
        seconds = f"eigh {pair['eigh']:7.3f} s  fit {pair['fit']:7.3f} s"
        print(f"    {seconds}  ratio {pair['ratio']:5.2f}  gap {pair['gap']:.1e}", flush=True)
    ratio = float(np.median([pair["ratio"] for pair in pairs]))
    certified = max(pair["gap"] for pair in pairs) <= 1e-6
    print(f"    all certified at 1e-6, recomputed: {verdict(certified)}")
    print(f"    median ratio fit / eigh: {ratio:.2f}  (bar: at most 1.30)  {verdict(ratio <= 1.3 and certified)}")
    return {"pairs": pairs, "ratio": ratio}


def table(sizes, task_counts):
    """Cost of the fit against the number of rows and tasks."""
    print("\n(c) Cost of the fit, as in (b); one repetition at n = 2000 or T = 300, else the median of 3")
    print(f"    {'n':>5s} {'T':>4s} {'eigh(K) s':>10s} {'fit s':>8s} {'ratio':>6s} {'iterations':>10s} {'gap':>8s}")
    rows = []
    for n in sizes:
        for n_tasks in task_counts:
            pairs = [pair_times(n, n_tasks, seed) for seed in range(3 if n < 2000 and n_tasks < 300 else 1)]
            row = {"n": n, "T": n_tasks, **{key: float(np.median([p[key] for p in pairs])) for key in pairs[0]}}
            row["gap"] = max(pair["gap"] for pair in pairs)
            rows.append(row)
            print(
                f"    {n:5d} {n_tasks:4d} {row['eigh']:10.3f} {row['fit']:8.3f} {row['ratio']:6.2f} "
                f"{row['iterations']:10.0f} {row['gap']:8.1e}",
                flush=True,
            )
    return rows


def pair_times(n, n_tasks, seed):
    """One eigendecomposition and one fit of the same fresh K; which goes first depends on the seed."""
    K, Y = kernel_problem(np.random.default_rng(seed), n, n_tasks)
    seconds = {}
    estimator = MultiTaskRegressor(Sparse(MU), kernel="precomputed", alpha=ALPHA)
    calls = {"eigh": lambda: linalg.eigh(K, driver="evd"), "fit": lambda: fit(estimator, K, Y)}
    for name in sorted(calls, reverse=bool(seed % 2)):
        started = time.perf_counter()
        calls[name]()
        seconds[name] = time.perf_counter() - started
    return {
        **seconds,
        "ratio": seconds["fit"] / seconds["eigh"],
        "iterations": estimator.n_iter_,
        "gap": recomputed_gap(estimator, K, Y),
    }


def fit(estimator, K, Y):
    with warnings.catch_warnings():
        # The gap is in the output, whatever it is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(K, Y)


def kernel_problem(rng, n, n_tasks):
    """An RBF kernel matrix, and targets that share n_tasks / 3 smooth functions of the rows."""
    X = rng.standard_normal((n, 5))
    shared = np.sin(X @ rng.standard_normal((5, max(1, n_tasks // 3))))
    Y = shared @ rng.standard_normal((shared.shape[1], n_tasks)) + 0.3 * rng.standard_normal((n, n_tasks))
    return rbf_kernel(X), Y


def recomputed_gap(estimator, K, Y):
    # The fit brings tasks to unit variance; its cost is in that unit.
    mean, spread = Y.mean(axis=0), Y.std(axis=0)
    proof = certify_fit(
        K,
        (Y - mean) / spread,
        estimator.dual_coef_ / spread,
        (estimator.intercept_ - mean) / spread,
        estimator.structure_,
        alpha=ALPHA,
        eps=estimator.eps_,
        mu=MU,
    )
    return proof.gap


def verdict(passed):
    return "PASS" if passed else "MISS"


if __name__ == "__main__":
    main()
