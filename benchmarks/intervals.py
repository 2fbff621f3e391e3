"""How often intervals cover on real multi-target sets, and what known labels teach: ``make bench-intervals``.

For every set, random 2/3-1/3 splits, with all labels (``complete``) and with half of the training labels removed at
random (``half``). Parameters are chosen by ``MultiTaskRegressorCV`` on the training part. ``predict_interval`` is
asked for intervals of 50, 80, 90 and 95%. So are, on the first ``--peer-splits`` of the splits, a quantile forest
where the package quantile-forest is installed, and a Gaussian process of GPyTorch with an intrinsic model of
coregionalization (ICM) where that is. Widths are in standard deviations of each training target: of intervals as they
come, and of intervals made longer or shorter until they cover exactly 90% of the test labels, so that they can be
compared. Last, half of the tasks, drawn for each split, are told at the new rows (``known``), and the error of the
others is compared with that without. DATA is a folder with ``mulan/multi-target/*.arff``; by default the environment
variable SKMTL_DATA.
"""

import resource
import time
from itertools import product

import numpy as np
import pandas as pd
from interval_peers import find_peers
from interval_tables import render
from mulan_runs import make_parser, read_or_run
from scipy import linalg
from scipy.spatial.distance import pdist
from scipy.stats import norm
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.datasets import load_mulan
from skmtl.penalties import Sparse

# Smallest first.
SETS = ("andro", "slump", "edm", "sf1", "atp1d", "jura", "oes97", "osales", "enb", "scpf", "sf2", "rf1")
VARIANTS = ("complete", "half")
COVERAGES = (0.5, 0.8, 0.9, 0.95)
MAX_ROWS = (300, 1000)  # to learn from, to test on
ALPHAS = np.logspace(-1, -5, 5)
GAMMA_FACTORS = np.array([1 / 4, 1.0])
MUS = [0.9]


def main():
    arguments = parse_arguments()
    if arguments.speed:
        print(speed())
        return
    print(render(read_or_run(arguments, make_items(arguments), evaluate), SETS))


def parse_arguments():
    parser = make_parser(__doc__.splitlines()[0], SETS)
    parser.add_argument("--peer-splits", type=int, default=2, help="splits on which others are run too (default 2)")
    parser.add_argument("--speed", action="store_true", help="time 100,000 predictions with their standard deviation")
    return parser.parse_args()


def make_items(arguments):
    """Splits, sets and variants, all sets once, then once more; others after ourselves."""
    splits = {"skmtl": arguments.splits, **dict.fromkeys(find_peers(), arguments.peer_splits)}
    return [
        {"set": name, "split": split, "variant": variant, "method": method}
        for method in splits
        for split, name, variant in product(range(1, splits[method] + 1), SETS, VARIANTS)
        if name in arguments.sets
    ]


def evaluate(data, *, set, split, variant, method):
    """Choose, fit and test on one split."""
    content = load_mulan(data / "mulan" / "multi-target" / f"{set}.arff")
    features = pd.get_dummies(content.X, drop_first=True).to_numpy(dtype=float)
    X, Y, X_test, Y_test = make_split(features, content.Y.to_numpy(dtype=float), split)
    rng = np.random.default_rng([split, SETS.index(set)])
    if variant == "half":
        Y = remove_half(Y, rng)
    sizes = {"rows": len(X), "tested": len(X_test), "of": len(features), "tasks": Y.shape[1]}
    if method != "skmtl":
        found = find_peers()[method](X, Y, X_test, COVERAGES)
        return {**sizes, "intervals": {str(c): judge(*found[c], Y_test) for c in COVERAGES}}
    told = np.isin(np.arange(Y.shape[1]), rng.permutation(Y.shape[1])[: Y.shape[1] // 2])
    return {**sizes, **evaluate_own(X, Y, X_test, Y_test, told, split)}


def evaluate_own(X, Y, X_test, Y_test, told, split):
    """Intervals, standard deviations alone, labels that are shared by many rows, and conditioning."""
    gammas = GAMMA_FACTORS / np.median(pdist(X, "sqeuclidean"))
    folds = KFold(3, shuffle=True, random_state=split)
    model = MultiTaskRegressorCV(kernel="rbf", alphas=ALPHAS, gammas=gammas, mus=MUS, cv=folds).fit(X, Y)
    mean, std = model.predict(X_test, return_std=True)
    found = {c: intervals(model, X_test, c) for c in COVERAGES}
    return {
        "intervals": {str(c): judge(*found[c], Y_test) for c in COVERAGES},
        "gaussian": {str(c): judge(*gaussian(mean, std, c), Y_test) for c in COVERAGES},
        "targets": judge_targets(*found[0.5], Y, Y_test),
        "conditioned": conditioned(model, X_test, Y_test, told, mean),
        "chosen": {**model.best_params_, "penalty": repr(model.penalty_)},
    }


def make_split(X, Y, seed):
    """Features and targets to learn from and to test on, all scaled as the training part is."""
    train, test = train_test_split(np.arange(len(X)), test_size=1 / 3, random_state=seed)
    train, test = train[: MAX_ROWS[0]], test[: MAX_ROWS[1]]
    scale = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()).fit(X[train])
    targets = StandardScaler().fit(Y[train])
    return scale.transform(X[train]), targets.transform(Y[train]), scale.transform(X[test]), targets.transform(Y[test])


def remove_half(Y, rng):
    """Half of the labels of each task, drawn apart from those of the others."""
    masked = np.full_like(Y, np.nan)
    for t in range(Y.shape[1]):
        kept = rng.choice(len(Y), -(-len(Y) // 2), replace=False)
        masked[kept, t] = Y[kept, t]
    return masked


def intervals(model, X_test, coverage):
    """NaN where the labels are too few for the coverage."""
    try:
        return model.predict_interval(X_test, coverage=coverage)
    except ValueError:
        return np.full((2, len(X_test), len(model.task_names_)), np.nan)


def gaussian(mean, std, coverage):
    """What the model alone believes."""
    reach = norm.ppf(0.5 + coverage / 2.0) * std
    return mean - reach, mean + reach


def judge(low, high, Y_test):
    """Shares of labels covered, of all targets and of each, and covered but not at an end.

    Then the mean width, and that once 90% are covered.
    """
    if np.isnan(low).any():
        return dict.fromkeys(["covered", "by target", "within", "width", "even"])
    middle, half = (low + high) / 2.0, np.maximum((high - low) / 2.0, 1e-6)
    factor = np.quantile(np.abs(Y_test - middle) / half, 0.9)
    covered = (low <= Y_test) & (Y_test <= high)
    return {
        "covered": float(np.mean(covered)),
        "by target": np.mean(covered, axis=0).tolist(),
        "within": float(np.mean((low < Y_test) & (Y_test < high))),
        "width": float(np.mean(high - low)),
        "even": float(factor * np.mean(2.0 * half)),
    }


def judge_targets(low, high, Y, Y_test):
    """For each target: whether its training labels are all the same, the share of the commonest, and its coverage."""
    result = []
    for t, y in enumerate(Y.T):
        values, counts = np.unique(y[~np.isnan(y)], return_counts=True)
        covered, common = (
            (low[:, t] <= Y_test[:, t]) & (Y_test[:, t] <= high[:, t]),
            Y_test[:, t] == values[counts.argmax()],
        )
        result.append(
            {
                "alone": len(values) == 1,
                "common": int(common.sum()),
                "common covered": int(covered[common].sum()),
                "other": int((~common).sum()),
                "other covered": int(covered[~common].sum()),
            }
        )
    return result


def conditioned(model, X_test, Y_test, told, mean):
    """Root mean squared errors of the tasks that are not told, without and with the others."""
    sharper = model.predict(X_test, known=np.where(told, Y_test, np.nan))
    errors = [np.sqrt(np.mean((F - Y_test)[:, ~told] ** 2)) for F in (mean, sharper)]
    return {"without": float(errors[0]), "with": float(errors[1])}


def speed(n=2000, n_tasks=20, n_new=100_000, block=2000):
    """Standard deviations beside the arithmetic of K_*n L^-1 in the same run, in seconds of the processor."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    Y = np.tanh(X @ rng.normal(size=(10, 4))) @ rng.normal(size=(4, n_tasks)) + 0.3 * rng.normal(size=(n, n_tasks))
    model = MultiTaskRegressor(Sparse(0.9), kernel="rbf", gamma=0.05, alpha=1e-4, tol=1e-3).fit(X, Y)
    new = rng.normal(size=(n_new, 10))
    L = linalg.cholesky(rbf_kernel(X, gamma=0.05) + n * 1e-4 * np.eye(n), lower=True)
    started = time.process_time()
    for i in range(0, n_new, block):
        linalg.blas.dtrsm(1.0, L, rbf_kernel(new[i : i + block], X, gamma=0.05).T, lower=1)
    plain = time.process_time() - started
    started = time.process_time()
    model.predict(X[:1], return_std=True)
    first = time.process_time() - started
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    model.predict(new, return_std=True)
    seconds = time.process_time() - started
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024.0
    return (
        f"{n_new} predictions with standard deviations, n = {n}, T = {n_tasks}: {seconds:.1f} s, {seconds / plain:.1f} "
        f"times K_*n L^-1 ({plain:.1f} s), after {first:.1f} s for the first; {more:.0f} MB more memory."
    )


if __name__ == "__main__":
    main()
