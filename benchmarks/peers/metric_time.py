"""What a learned metric adds to the time of a search: ``python benchmarks/peers/metric_time.py [DATA]``.

Processor time with one thread of ``MultiTaskRegressorCV()``, as it is and with ``metric_rounds=0``, on tasks of many
shapes and, where DATA or the environment variable SKMTL_DATA names the folder, on public sets.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from problems import make_problem
from threadpoolctl import threadpool_limits

from skmtl import MultiTaskRegressorCV

# Rows, features and tasks.
SHAPES = (
    *((60, 5, 3), (100, 10, 8), (90, 6, 20), (150, 10, 12), (200, 10, 4), (250, 15, 10), (300, 20, 6), (300, 5, 12)),
    *((500, 10, 6), (600, 5, 25), (800, 10, 5)),
)
SETS = ("andro", "slump", "jura", "enb", "scpf")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default=os.environ.get("SKMTL_DATA"), help="folder (default: SKMTL_DATA)")
    data = parser.parse_args().data
    warnings.simplefilter("ignore")
    print("| problem | without a metric, s | as it is, s | ratio |\n| --- | ---: | ---: | ---: |")
    for name, X, Y in problems(data):
        with threadpool_limits(1):
            without, with_metric = measure(X, Y, metric_rounds=0), measure(X, Y)
        print(f"| {name} | {without:.1f} | {with_metric:.1f} | {with_metric / without:.2f} |", flush=True)


def problems(data):
    """Names, rows and labels: complete, for gaps make all else dearer than a metric, and half of them."""
    for shape in SHAPES:
        yield " x ".join(map(str, shape)), *make_tasks(*shape)
    X, Y = make_tasks(300, 20, 6)
    Y[np.random.default_rng(1).random(Y.shape) < 0.5] = np.nan
    yield "300 x 20 x 6, half missing", X, Y
    if data is None or not (Path(data) / "mulan").is_dir():
        print("Public sets are skipped: give the folder that holds mulan, or set SKMTL_DATA.", file=sys.stderr)
        return
    for name in SETS:
        problem = make_problem(data, name, 0.0, 1)
        yield name, problem.X, problem.Y


def make_tasks(n_rows, n_features, n_tasks):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    signal = np.sin(X @ rng.standard_normal((n_features, n_tasks)) / 2.0)
    return X, signal + 0.2 * rng.standard_normal(signal.shape)


def measure(X, Y, **params):
    start = time.process_time()
    MultiTaskRegressorCV(**params).fit(X, Y)
    return time.process_time() - start


if __name__ == "__main__":
    main()
