"""Many tasks in groups: screening against no screening, as ratios taken in one run: ``make bench-tasks``.

(a) the structure step for 1000 tasks beside one ``eigh`` of a matrix of that size and beside the same solver without
screening, (b) the whole fit of the same tasks, (c) both for 5000 tasks, with the peak memory of a process of their own.
Gaps are recomputed from the answers by ``objective.py``, which knows nothing of blocks.
"""

import argparse
import multiprocessing
import resource
import time
from importlib import import_module

import numpy as np
from core import describe_machine, load, verdict
from objective import certify_fit, certify_step
from scipy import linalg
from scipy.sparse.csgraph import connected_components
from threadpoolctl import threadpool_limits

from skmtl import MultiTaskRegressor, minimize_structure
from skmtl.penalties import Sparse, sparse

# The module that decides whether blocks are worth it; the function of the same name hides it.
SOLVE = import_module("skmtl.solvers.solve")
ROWS, GROUPS, FEATURES_PER_GROUP, ALPHA, TOL = 2000, 50, 10, 1e-2, 1e-6
MUS = (0.5, 0.7, 0.8, 0.9)
# Where the targets are judged: at 0.9 noise alone links the groups, and nothing separates.
MU = 0.8
MOST_EIGH, LEAST_SPEEDUP, MOST_MEMORY = 60.0, 5.0, 24.0


def main():
    arguments = parse_arguments()
    with threadpool_limits(limits=arguments.threads, user_api="blas"):
        started = time.perf_counter()
        describe_machine()
        X, Y = grouped_tasks(np.random.default_rng(0), 1000)
        if "a" in arguments.parts:
            structure_step(X, Y)
        if "b" in arguments.parts:
            whole_fit(X, Y)
        if "c" in arguments.parts:
            many(5000, arguments.threads)
        print(f"\nThe run took {time.perf_counter() - started:.0f} s; load average now {load()}.")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1, help="threads of BLAS (default 1)")
    parser.add_argument("--parts", default="abc", help="what to run (default abc)")
    return parser.parse_args()


def grouped_tasks(rng, n_tasks, *, components=3, own=0.3, noise=0.5):
    """Rows X, and targets of tasks in groups, standardized.

    A group has its own features. Its tasks mix a few linear functions of them, each adds a part of its own, and noise.
    """
    group = np.arange(n_tasks) % GROUPS
    W = np.zeros((GROUPS * FEATURES_PER_GROUP, n_tasks))
    for g in range(GROUPS):
        rows, tasks = slice(g * FEATURES_PER_GROUP, (g + 1) * FEATURES_PER_GROUP), np.flatnonzero(group == g)
        shared = rng.standard_normal((FEATURES_PER_GROUP, components)) / np.sqrt(components)
        W[rows, tasks] = shared @ rng.standard_normal((components, len(tasks)))
        W[rows, tasks] += own * rng.standard_normal((FEATURES_PER_GROUP, len(tasks)))
    X = rng.standard_normal((ROWS, len(W)))
    Y = X @ W / np.sqrt(FEATURES_PER_GROUP) + noise * rng.standard_normal((ROWS, n_tasks))
    X -= X.mean(axis=0)
    Y -= Y.mean(axis=0)
    return X, Y / Y.std(axis=0)


def energy(X, Y):
    """S = B'KB + eps I of independent tasks, eps as the estimators choose it."""
    B = linalg.solve(X.T @ X + len(X) * ALPHA * np.eye(X.shape[1]), X.T @ Y, assume_a="pos")
    S = B.T @ B
    return S + 1e-2 * np.mean(np.diag(S)) * np.eye(len(S))


def timed(call):
    started = time.perf_counter()
    answer = call()
    return time.perf_counter() - started, answer


def describe_blocks(A):
    count, labels = connected_components(A != 0, directed=False)
    return f"{count:5d} {np.bincount(labels).max():8d} {np.mean(A != 0):7.2%}"


def structure_step(X, Y):
    S = energy(X, Y)
    print(f"\n(a) Structure step: T = {len(S)} in {GROUPS} groups, n = {ROWS}, certified to {TOL:.0e}")
    print(
        f"    {'mu':>4s} {'blocks':>6s} {'largest':>8s} {'nonzero':>7s} {'eigh s':>7s} {'screened s':>10s} "
        f"{'ratio':>6s} {'whole s':>8s} {'speed-up':>8s} {'gap':>8s} {'recomputed':>10s}"
    )
    for mu in MUS:
        penalty = Sparse(mu)
        seconds, step, eigh = between_eighs(S, lambda p=penalty: p.minimize(S, tol=TOL))
        whole, unscreened, eigh_whole = between_eighs(S, lambda p=penalty: sparse.minimize_whole(p, S, None, TOL))
        eigh = float(np.median(eigh + eigh_whole))
        gap = certify_step(step.structure, S, mu).gap
        print(
            f"    {mu:4.2f}  {describe_blocks(step.structure)} {eigh:7.3f} {seconds:10.2f} {seconds / eigh:6.1f} "
            f"{whole:8.2f} {whole / seconds:8.1f} {step.gap:8.1e} {gap:10.1e}",
            flush=True,
        )
        if mu == MU:
            certified = max(step.gap, gap) <= TOL and unscreened.gap <= TOL
            ratio, speedup = seconds / eigh, whole / seconds
    print(f"    at mu = {MU}: screened / eigh {ratio:.1f}  (bar: at most {MOST_EIGH:.0f})  ", end="")
    print(verdict(ratio <= MOST_EIGH and certified))
    print(f"    at mu = {MU}: whole / screened {speedup:.1f}  (bar: at least {LEAST_SPEEDUP:.0f})  ", end="")
    print(verdict(speedup >= LEAST_SPEEDUP and certified))


def between_eighs(S, call):
    """Seconds and answer of a call, and seconds of an eigendecomposition of S before and after it."""
    before, _ = timed(lambda: linalg.eigh(S, driver="evd"))
    seconds, answer = timed(call)
    after, _ = timed(lambda: linalg.eigh(S, driver="evd"))
    return seconds, answer, [before, after]


def whole_fit(X, Y):
    print(f"\n(b) Whole fit of the same tasks: MultiTaskRegressor(Sparse(mu)).fit(X, Y), {X.shape[1]} features")
    print(
        f"    {'mu':>4s} {'blocks':>6s} {'largest':>8s} {'nonzero':>7s} {'screened s':>10s} {'whole s':>8s} "
        f"{'speed-up':>8s} {'gap':>8s} {'recomputed':>10s}"
    )
    for mu in (MU, MUS[-1]):
        seconds, est = timed(lambda m=mu: MultiTaskRegressor(Sparse(m), alpha=ALPHA).fit(X, Y))
        SOLVE.WORTH_SCREENING, usual = Y.shape[1] + 1, SOLVE.WORTH_SCREENING
        whole, _ = timed(lambda m=mu: MultiTaskRegressor(Sparse(m), alpha=ALPHA).fit(X, Y))
        SOLVE.WORTH_SCREENING = usual
        # As a predictor K @ coef: the coefficients are X' coef.
        coef = np.linalg.pinv(X.T) @ est.coef_.T
        proof = certify_fit(X @ X.T, Y, coef, est.intercept_, est.structure_, alpha=ALPHA, eps=est.eps_, mu=mu)
        print(
            f"    {mu:4.2f}  {describe_blocks(est.structure_)} {seconds:10.2f} {whole:8.2f} {whole / seconds:8.1f} "
            f"{est.solution_.gap:8.1e} {proof.gap:10.1e}",
            flush=True,
        )


def many(n_tasks, threads):
    print(
        f"\n(c) T = {n_tasks} in {GROUPS} groups, n = {ROWS}, mu = {MU}: S has rank {GROUPS * FEATURES_PER_GROUP} plus"
    )
    print("    a ridge; each in a process of its own")
    for job in (step_of_many, fit_of_many):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, gap, shape, memory = pool.apply(job, (n_tasks, threads))
        passed = gap <= TOL and memory < MOST_MEMORY
        print(
            f"    {job.__doc__:14s} {seconds:7.1f} s  gap {gap:.1e}  blocks, largest, nonzero: {shape}  peak memory "
            f"{memory:.1f} GB  (bar: certified, below {MOST_MEMORY:.0f} GB)  {verdict(passed)}",
            flush=True,
        )


def step_of_many(n_tasks, threads):
    """structure step"""
    S = energy(*grouped_tasks(np.random.default_rng(0), n_tasks))
    with threadpool_limits(limits=threads, user_api="blas"):
        seconds, (A, gap) = timed(lambda: minimize_structure(S, Sparse(MU), tol=TOL))
    return seconds, gap, describe_blocks(A), peak_memory()


def fit_of_many(n_tasks, threads):
    """whole fit"""
    X, Y = grouped_tasks(np.random.default_rng(0), n_tasks)
    with threadpool_limits(limits=threads, user_api="blas"):
        seconds, est = timed(lambda: MultiTaskRegressor(Sparse(MU), alpha=ALPHA).fit(X, Y))
    return seconds, est.solution_.gap, describe_blocks(est.structure_), peak_memory()


def peak_memory():
    """Gigabytes, where the system counts in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    main()
