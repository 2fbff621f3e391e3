"""Dask beside memory: ``python benchmarks/cluster.py``, a part of ``make bench-scale``.

A local cluster of two worker processes: the same answer, the same with a worker killed during the fit, a table larger
than the memory of the workers, and the folds of a search through joblib.
"""

import os
import tempfile
import threading
import time
import warnings
from pathlib import Path

import dask.array as da
import joblib
import numpy as np
from distributed import Client, LocalCluster
from scale import make_model

from skmtl import MultiTaskRegressorCV


def main():
    # The small tables are sent from here on purpose.
    warnings.filterwarnings("ignore", "Sending large graph")
    print(f"{os.cpu_count()} cores, 2 worker processes, load average {os.getloadavg()[0]:.1f}.")
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="600MB", dashboard_address=None) as workers,
        Client(workers) as client,
    ):
        selection(client)
        same_answer(client, killed=False)
        same_answer(client, killed=True)
        larger_than_memory(client, Path(folder))


def random_table(n, n_features=20, n_tasks=6):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, n_features))
    Y = np.sin(X[:, :4]) @ rng.standard_normal((4, n_tasks)) + 0.3 * rng.standard_normal((n, n_tasks))
    return X, Y


def same_answer(client, *, killed):
    X, Y = random_table(60_000)
    params = {"n_components": 300, "gamma": 0.05, "alpha": 1e-3}
    memory = make_model(**params).fit(X, Y)
    Xd, Yd = da.from_array(X, chunks=(3000, -1)), da.from_array(Y, chunks=(4000, -1))
    est = make_model(**params)
    thread = threading.Timer(1.0, kill_one, [client]) if killed else None
    if thread:
        thread.start()
    started = time.perf_counter()
    est.fit(Xd, Yd)
    seconds = time.perf_counter() - started
    if thread:
        thread.join()
    A = np.abs(est.structure_ - memory.structure_).max()
    F = np.abs(est.predict(Xd).compute() - memory.predict(X)).max()
    what = "a worker killed after one second" if killed else "2 workers"
    print(f"\n{len(X):,} rows, {what}: {seconds:.1f} s; differs from memory by {A:.0e} in A, {F:.0e} in predictions.")
    print(f"Score by blocks {est.score(Xd, Yd):.10f}, in memory {memory.score(X, Y):.10f}.", flush=True)


def kill_one(client):
    """End a worker of our own cluster at once, as a machine that fails would; the nanny starts another."""
    workers = client.cluster.workers
    before = set(client.scheduler_info()["workers"])
    os.kill(next(iter(workers.values())).pid, 9)
    deadline = time.time() + 30.0
    while time.time() < deadline and set(client.scheduler_info()["workers"]) == before:
        time.sleep(0.1)
    gone = before - set(client.scheduler_info()["workers"])
    print(f"Killed one worker; the scheduler lost {len(gone)} of {len(before)}.")


def larger_than_memory(client, folder):
    """1.6 GB of float64 for two workers with 0.6 GB each: made by the workers, never whole."""
    n = 2_000_000
    state = da.random.default_rng(2)
    X = state.standard_normal((n, 100), chunks=(50_000, 100))
    Y = da.sin(X[:, :4]) @ np.random.default_rng(3).standard_normal((4, 6)) + 0.3 * state.standard_normal(
        (n, 6), chunks=(50_000, 6)
    )
    limit = sum(worker["memory_limit"] for worker in client.scheduler_info()["workers"].values())
    est = make_model(n_components=200, gamma=0.01, alpha=1e-3)
    started = time.perf_counter()
    est.fit(X, Y)
    fitted = time.perf_counter()
    da.to_npy_stack(folder / "predictions", est.predict(X))
    written = time.perf_counter()
    print(f"\n{n:,} rows x 100 features, {X.nbytes / 1e9:.1f} GB, for workers with {limit / 1e9:.1f} GB in all:")
    times = f"fitted in {fitted - started:.0f} s, predictions written in {written - fitted:.0f} s"
    print(f"{times}, gap {est.solution_.gap:.0e}.", flush=True)


def selection(client):
    """The folds of a search on the workers, through joblib."""
    X, Y = random_table(600)
    search = MultiTaskRegressorCV(kernel="rbf", alphas=[1e-3, 1e-2], mus=[0.9], n_jobs=2)
    alone = search.fit(X, Y).cv_results_["mean_test_score"]
    with joblib.parallel_config("dask"):
        there = search.fit(X, Y).cv_results_["mean_test_score"]
    print(
        f"\nThe folds of a search on the workers, through joblib: scores differ by {np.abs(alone - there).max():.0e}."
    )


if __name__ == "__main__":
    main()
