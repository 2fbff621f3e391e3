"""Corel5k and bibtex: ``python benchmarks/many_labels.py``, a part of ``make bench-scale``; data in SKMTL_DATA.

Sparse rows, linear kernel. Parameters are chosen and the model is fitted to the training part, beside one ridge for
each label with the same alphas, its own chosen by leaving one out. Scores are average precisions on the test part,
the mean over the labels that occur there.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from skmtl import MultiTaskClassifierCV
from skmtl.datasets import load_mulan

ALPHAS = np.logspace(0, -5, 6)
SETS = ("Corel5k", "bibtex")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="threads of BLAS (default 2)")
    parser.add_argument("--sets", default=",".join(SETS), help="the sets, separated by commas")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, {arguments.threads} threads of BLAS, load average {os.getloadavg()[0]:.1f}.\n")
    print("| set | rows | features | labels | method | selection and fit, s | average precision | chosen |")
    print("| --- | ---: | ---: | ---: | --- | ---: | ---: | --- |", flush=True)
    with threadpool_limits(limits=arguments.threads, user_api="blas"):
        for name in arguments.sets.split(","):
            compare(name, *load(name))


def load(name):
    """Training and test rows, features of unit variance, and the labels that occur in the training rows."""
    folder = Path(os.environ["SKMTL_DATA"]) / "mulan" / "multi-label"
    if (folder / f"{name}.arff").exists():
        whole = load_mulan(folder / f"{name}.arff", sparse=True)
        X, new, Y, truth = train_test_split(whole.X, whole.Y.to_numpy(), train_size=2 / 3, random_state=0)
    else:
        train, test = (load_mulan(folder / f"{name}-{part}-sparse.arff", sparse=True) for part in ("train", "test"))
        X, new, Y, truth = train.X, test.X, train.Y.to_numpy(), test.Y.to_numpy()
    scaler = StandardScaler(with_mean=False).fit(X)
    known = Y.min(axis=0) < Y.max(axis=0)
    return scaler.transform(X), scaler.transform(new), Y[:, known], truth[:, known]


def compare(name, X, new, Y, truth):
    n, d = X.shape
    size = float(X.multiply(X).sum()) / n - float(np.sum(X.mean(axis=0) ** 2))
    there = truth.max(axis=0) > 0.0

    def report(method, seconds, scores, chosen):
        precision = average_precision_score(truth[:, there], scores[:, there], average="macro")
        cells = (name, n, d, truth.shape[1], method, f"{seconds:.0f}", f"{precision:.4f}", chosen)
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)

    started = time.perf_counter()
    ridge = RidgeCV(alphas=ALPHAS * size * n).fit(X.toarray(), 2.0 * Y - 1.0)
    seconds = time.perf_counter() - started
    report("RidgeCV", seconds, ridge.predict(new.toarray()), f"alpha {ridge.alpha_ / (size * n):.0e}")
    search = MultiTaskClassifierCV(
        alphas=ALPHAS * size, mus=[0.8, 0.95], eps_factors=[1.0], cv=3, scoring="average_precision", tol=1e-4
    )
    started = time.perf_counter()
    search.fit(X, Y)
    seconds = time.perf_counter() - started
    chosen = f"{search.penalty_!r}, alpha {search.alpha_ / size:.0e}"
    report("MultiTaskClassifierCV", seconds, search.decision_function(new), f"{chosen}, gap {search.solution_.gap:.0e}")


if __name__ == "__main__":
    main()
