"""More rows, as ratios taken in one run: ``python benchmarks/scale.py``, a part of ``make bench-scale``.

A million rows on landmarks, read from a memory map, beside the work that cannot be avoided. Each job has a process of
its own, for its peak memory.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

N_FEATURES, N_TASKS, N_LANDMARKS, ALPHA = 50, 20, 1000, 1e-4
# One over the number of features, as scikit-learn has it by default.
GAMMA = 0.02
BLOCK = 8000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="threads of BLAS (default 2)")
    parser.add_argument("--rows", type=float, default=1e6, help="rows of the large table (default 1e6)")
    parser.add_argument("--gamma", type=float, default=GAMMA, help=f"of the kernel (default {GAMMA})")
    parser.add_argument("--one", nargs=2, metavar=("JOB", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with threadpool_limits(limits=arguments.threads, user_api="blas"):
        if arguments.one:
            job, folder = arguments.one
            print(json.dumps(JOBS[job](Path(folder), int(arguments.rows), arguments.gamma)))
            return
        print(f"{os.cpu_count()} cores, {arguments.threads} threads of BLAS, load average {os.getloadavg()[0]:.1f}.")
        rows(arguments)
        print(f"Load average at the end {os.getloadavg()[0]:.1f}.")


def rows(arguments):
    """Fits of a tenth of the rows and of all, each beside the kernel's blocks and their products alone."""
    large = int(arguments.rows)
    with tempfile.TemporaryDirectory() as name:
        write_table(Path(name), large)
        print(f"\n{N_FEATURES} features in float32 on disk, {N_TASKS} tasks, RBF kernel, {N_LANDMARKS} landmarks")
        print("| rows | fit, s | kernel and Phi'Phi, s | ratio | ratio of CPU time | peak memory | gap |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        found = []
        for n in (large // 10, large):
            fit, bare = (alone(job, name, n, arguments) for job in ("fit", "bare"))
            found.append(fit["seconds"])
            print(
                f"| {n:,} | {fit['seconds']:.1f} | {bare['seconds']:.1f} | {fit['seconds'] / bare['seconds']:.2f} | "
                f"{fit['cpu'] / bare['cpu']:.2f} | {fit['peak'] / 1e9:.2f} GB | {fit['gap']:.0e} |",
                flush=True,
            )
        print(f"Ten times the rows take {found[1] / found[0]:.1f} times as long.")
        done = alone("predict", name, large, arguments)
        print(f"Prediction of all rows: {done['seconds']:.1f} s, peak memory {done['peak'] / 1e9:.2f} GB.")


def write_table(folder, n):
    """Rows and targets in float32, block by block."""
    rng = np.random.default_rng(0)
    mix, loads = rng.standard_normal((N_FEATURES, 8)) / 7.0, rng.standard_normal((8, N_TASKS))
    X = np.memmap(folder / "X", dtype=np.float32, mode="w+", shape=(n, N_FEATURES))
    Y = np.memmap(folder / "Y", dtype=np.float32, mode="w+", shape=(n, N_TASKS))
    for start in range(0, n, 50_000):
        rows = slice(start, min(start + 50_000, n))
        block = rng.standard_normal((rows.stop - rows.start, N_FEATURES))
        X[rows] = block
        Y[rows] = np.sin(block @ mix) @ loads + 0.3 * rng.standard_normal((len(block), N_TASKS))
    X.flush()
    Y.flush()


def open_table(folder, n):
    shapes = {"X": (n, N_FEATURES), "Y": (n, N_TASKS)}
    return (np.memmap(folder / name, dtype=np.float32, mode="r", shape=shape) for name, shape in shapes.items())


def alone(job, folder, n, arguments):
    """A job in a process of its own."""
    options = {"--rows": n, "--threads": arguments.threads, "--gamma": arguments.gamma}
    command = [sys.executable, __file__, "--one", job, str(folder)]
    command += [str(part) for option in options.items() for part in option]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measured(work):
    started, cpu = time.perf_counter(), time.process_time()
    result = work()
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return result, {"seconds": seconds, "cpu": cpu, "peak": peak}


def make_model(**params):
    from skmtl import MultiTaskRegressor

    given = {"kernel": "rbf", "gamma": GAMMA, "n_components": N_LANDMARKS, "alpha": ALPHA, "random_state": 0}
    return MultiTaskRegressor(**{**given, **params})


def fit_rows(folder, n, gamma):
    X, Y = open_table(folder, n)
    est = make_model(gamma=gamma)
    _, cost = measured(lambda: est.fit(X, Y))
    np.savez(folder / "model.npz", landmarks=est.landmarks_, coef=est.dual_coef_, intercept=est.intercept_)
    return {**cost, "gap": est.solution_.gap}


def bare_rows(folder, n, gamma):
    """The kernel at blocks of rows and landmarks, and the products of its columns: what no fit can leave out."""
    from sklearn.metrics.pairwise import rbf_kernel

    X, _ = open_table(folder, n)
    landmarks = np.asarray(X[:N_LANDMARKS], dtype=np.float64)

    def work():
        total = np.zeros((N_LANDMARKS, N_LANDMARKS))
        for start in range(0, n, BLOCK):
            K = rbf_kernel(np.asarray(X[start : start + BLOCK], dtype=np.float64), landmarks, gamma=gamma)
            total += K.T @ K
        return total

    return measured(work)[1]


def predict_rows(folder, n, gamma):
    X, Y = open_table(folder, n)
    est = make_model(gamma=gamma).fit(X[:40_000], Y[:40_000])
    F, cost = measured(lambda: est.predict(X))
    assert F.shape == Y.shape
    return cost


JOBS = {"fit": fit_rows, "bare": bare_rows, "predict": predict_rows}


if __name__ == "__main__":
    main()
