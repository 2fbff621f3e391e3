"""Real multi-target sets: the searching estimator beside kernel ridge: ``make bench-targets``.

For every set, 5 random 2/3-1/3 splits. ``complete``: ``MultiTaskRegressorCV`` beside ``GridSearchCV(KernelRidge)``,
with the same alphas, widths and folds. ``gaps``: 80% of the training labels are removed at random, each task keeping
rows of its own, and kernel ridge is selected and fitted for each task on its own rows. DATA is a folder with
``mulan/multi-target/*.arff`` and ``sarcos/sarcos_inv_test.mat``; by default the environment variable SKMTL_DATA.
"""

import time
from itertools import product

import numpy as np
from mulan_runs import make_parser, read_or_run
from scipy.io import loadmat
from scipy.spatial.distance import pdist
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.datasets import load_mulan
from skmtl.experiments.tables import interval
from skmtl.model_selection import best_candidate, target_scores

# Smallest first.
SETS = ("andro", "slump", "edm", "jura", "enb", "atp1d", "oes97", "osales", "sarcos", "rf1")
VARIANTS = ("complete", "gaps")
MAX_ROWS = {"rf1": (1000, 2000), "sarcos": (1000, 2000)}  # to learn from, to test on
KEPT = 0.2
N_FOLDS = 5
# The kernel's diagonal is one; inverse widths are multiples of the median heuristic.
ALPHAS = np.logspace(-1, -6, 6)
GAMMA_FACTORS = np.array([1 / 16, 1 / 4, 1.0, 4.0])
MUS = [0.8, 0.95, 1.0]


def main():
    arguments = parse_arguments()
    print(render(read_or_run(arguments, make_items(arguments), evaluate)))


def parse_arguments():
    parser = make_parser(__doc__.splitlines()[0], SETS)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS, help="default: both")
    return parser.parse_args()


def make_items(arguments):
    """Sets, variants and splits; the smallest sets first."""
    return [
        {"set": name, "split": split, "variant": variant}
        for name, variant, split in product(SETS, VARIANTS, range(1, arguments.splits + 1))
        if name in arguments.sets and variant in arguments.variants
    ]


def evaluate(data, *, set, split, variant):
    """Select and fit both on the training part of one split, and test."""
    X, Y, X_test, Y_test = make_split(*load(data, set), split, *MAX_ROWS.get(set, (None, None)))
    if variant == "gaps":
        Y = remove_labels(Y, np.random.default_rng([split, SETS.index(set)]))
    folds = KFold(N_FOLDS, shuffle=True, random_state=split)
    gammas = GAMMA_FACTORS / np.median(pdist(X, "sqeuclidean"))
    started = time.perf_counter()
    search = MultiTaskRegressorCV(kernel="rbf", alphas=ALPHAS, gammas=gammas, mus=MUS, cv=folds)
    search.fit(X, Y)
    skmtl_seconds = time.perf_counter() - started
    started = time.perf_counter()
    ridge = (
        kernel_ridge(X, Y, X_test, folds, gammas) if variant == "complete" else per_task(X, Y, X_test, folds, gammas)
    )
    return {
        "rows": len(X),
        "tasks": Y.shape[1],
        "skmtl": float(target_scores(Y_test, search.predict(X_test), "arrmse")["mean"]),
        "independent": float(target_scores(Y_test, independent(search, X, Y).predict(X_test), "arrmse")["mean"]),
        "ridge": float(target_scores(Y_test, ridge, "arrmse")["mean"]),
        "chosen": {**search.best_params_, "penalty": repr(search.penalty_)},
        "seconds": {"skmtl": skmtl_seconds, "ridge": time.perf_counter() - started},
    }


def load(data, name):
    if name == "sarcos":
        table = loadmat(data / "sarcos" / "sarcos_inv_test.mat")["sarcos_inv_test"]
        return table[:, :21], table[:, 21:]
    content = load_mulan(data / "mulan" / "multi-target" / f"{name}.arff")
    return content.X.to_numpy(dtype=float), content.Y.to_numpy(dtype=float)


def make_split(X, Y, seed, n_train, n_test):
    """Features and targets to learn from and to test on, all scaled as the training part is."""
    train, test = train_test_split(np.arange(len(X)), test_size=1 / 3, random_state=seed)
    train, test = train[:n_train], test[:n_test]
    scale = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()).fit(X[train])
    targets = StandardScaler().fit(Y[train])
    return scale.transform(X[train]), targets.transform(Y[train]), scale.transform(X[test]), targets.transform(Y[test])


def remove_labels(Y, rng):
    """A fifth of the labels of each task, its rows drawn apart from those of the others."""
    n_kept = round(KEPT * len(Y))
    masked = np.full_like(Y, np.nan)
    for t in range(Y.shape[1]):
        kept = rng.choice(len(Y), n_kept, replace=False)
        masked[kept, t] = Y[kept, t]
    return masked


def independent(search, X, Y):
    """Independent tasks, with the alpha and width that are best for them on the same folds."""
    best = best_candidate(search, penalty="independent")
    return MultiTaskRegressor("independent", kernel="rbf", alpha=best["alpha"], gamma=best["gamma"]).fit(X, Y)


def kernel_ridge(X, Y, X_test, folds, gammas):
    """Targets have mean zero and unit variance, so that the search's score is the estimator's own."""
    grid = {"alpha": len(X) * ALPHAS, "gamma": gammas}
    search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=folds, scoring="neg_mean_squared_error")
    return search.fit(X, Y).predict(X_test)


def per_task(X, Y, X_test, folds, gammas):
    """Alpha and width for each task, on its own rows; targets standardized on them, as the estimator does."""
    columns = []
    for y in Y.T:
        own = np.flatnonzero(~np.isnan(y))
        mean, size = y[own].mean(), y[own].std() or 1.0
        columns.append(mean + size * kernel_ridge(X[own], (y[own] - mean) / size, X_test, folds, gammas))
    return np.stack(columns, axis=1)


# Tables ---------------------------------------------------------------------------------------------------------------


def render(rows):
    """A table per variant, as Markdown."""
    return "\n\n".join(table(variant, [row for row in rows if row["variant"] == variant]) for variant in VARIANTS)


def table(variant, rows):
    ridge = "`GridSearchCV(KernelRidge)`" if variant == "complete" else "kernel ridge per task"
    lines = [
        f"| set | rows | tasks | splits | `MultiTaskRegressorCV` | {ridge} | difference (95%) | % | "
        "sparse chosen | | independent tasks | less them (95%) |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: |",
    ]
    counts = dict.fromkeys(("better", "worse", "no evidence"), 0)
    for name in SETS:
        of = [row for row in rows if row["set"] == name]
        if not of:
            continue
        ours, theirs, apart = (np.array([row[key] for row in of]) for key in ("skmtl", "ridge", "independent"))
        mean, low, high = interval(ours - theirs)
        verdict = "better" if high < 0.0 else "worse" if low > 0.0 else "no evidence"
        counts[verdict] += 1
        shared = sum(row["chosen"]["penalty"] == "sparse" for row in of)
        cells = [
            name,
            *(str(of[0][key]) for key in ("rows", "tasks")),
            str(len(of)),
            f"{ours.mean():.4f}",
            f"{theirs.mean():.4f}",
            f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]",
            f"{100.0 * mean / theirs.mean():+.1f}",
            f"{shared} of {len(of)}",
            verdict,
            f"{apart.mean():.4f}",
            "{:+.4f} [{:+.4f}, {:+.4f}]".format(*interval(ours - apart)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    summary = ", ".join(f"{verdict} on {count}" for verdict, count in counts.items())
    return "\n".join([f"{variant}: aRRMSE, less is better", "", *lines, "", f"{sum(counts.values())} sets: {summary}."])


if __name__ == "__main__":
    main()
