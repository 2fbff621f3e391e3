"""How often intervals cover on real multi-target sets, and what known labels teach: ``make bench-intervals``.

For every set, random 2/3-1/3 splits, with all labels (``complete``) and with half of the training labels removed at
random (``half``). Parameters are chosen by ``MultiTaskRegressorCV`` on the training part. ``predict_interval`` is
asked for intervals of 50, 80, 90 and 95%, and so is a quantile forest where the package quantile-forest is
installed, and a Gaussian process of GPyTorch with an intrinsic model of coregionalization (ICM) where that is, with
all labels and at most 1000 of them. Widths are in standard deviations of each training target: of intervals as they
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
from skmtl.model_selection.verdict import paired_interval
from skmtl.penalties import Sparse

try:
    from quantile_forest import RandomForestQuantileRegressor
except ImportError:
    RandomForestQuantileRegressor = None
try:
    import gpytorch
    import torch
except ImportError:
    gpytorch = None

# Smallest first.
SETS = ("andro", "slump", "edm", "sf1", "atp1d", "jura", "oes97", "osales", "enb", "scpf", "sf2", "rf1")
VARIANTS = ("complete", "half")
COVERAGES = (0.5, 0.8, 0.9, 0.95)
MAX_ROWS = (300, 1000)  # to learn from, to test on
MOST_ICM_LABELS = 1000
ALPHAS = np.logspace(-1, -5, 5)
GAMMA_FACTORS = np.array([1 / 4, 1.0])
MUS = [0.9]


def main():
    arguments = parse_arguments()
    if arguments.speed:
        print(speed())
        return
    print(render(read_or_run(arguments, make_items(arguments), evaluate)))


def parse_arguments():
    parser = make_parser(__doc__.splitlines()[0], SETS)
    parser.add_argument("--speed", action="store_true", help="time 100,000 predictions with their standard deviation")
    return parser.parse_args()


def make_items(arguments):
    """Splits, sets and variants: all sets once, then once more."""
    return [
        {"set": name, "split": split, "variant": variant}
        for split, name, variant in product(range(1, arguments.splits + 1), SETS, VARIANTS)
        if name in arguments.sets
    ]


def evaluate(data, *, set, split, variant):
    """Choose, fit and test on one split."""
    content = load_mulan(data / "mulan" / "multi-target" / f"{set}.arff")
    features = pd.get_dummies(content.X, drop_first=True).to_numpy(dtype=float)
    X, Y, X_test, Y_test = make_split(features, content.Y.to_numpy(dtype=float), split)
    rng = np.random.default_rng([split, SETS.index(set)])
    if variant == "half":
        Y = remove_half(Y, rng)
    gammas = GAMMA_FACTORS / np.median(pdist(X, "sqeuclidean"))
    folds = KFold(3, shuffle=True, random_state=split)
    model = MultiTaskRegressorCV(kernel="rbf", alphas=ALPHAS, gammas=gammas, mus=MUS, cv=folds).fit(X, Y)
    mean, std = model.predict(X_test, return_std=True)
    told = np.isin(np.arange(Y.shape[1]), rng.permutation(Y.shape[1])[: Y.shape[1] // 2])
    return {
        "rows": len(X),
        "tested": len(X_test),
        "of": len(features),
        "tasks": Y.shape[1],
        "intervals": {str(c): judge(*intervals(model, X_test, c), Y_test) for c in COVERAGES},
        "gaussian": {str(c): judge(*gaussian(mean, std, c), Y_test) for c in COVERAGES},
        "forest": forest(X, Y, X_test, Y_test),
        "icm": icm(X, Y, X_test, Y_test),
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
    """The share of labels covered, the mean width, and the mean width once as many are covered as should be at 90%."""
    if np.isnan(low).any():
        return {"covered": None, "width": None, "even": None}
    middle, half = (low + high) / 2.0, np.maximum((high - low) / 2.0, 1e-6)
    factor = np.quantile(np.abs(Y_test - middle) / half, 0.9)
    return {
        "covered": float(np.mean((low <= Y_test) & (Y_test <= high))),
        "width": float(np.mean(high - low)),
        "even": float(factor * np.mean(2.0 * half)),
    }


def forest(X, Y, X_test, Y_test):
    """A quantile forest for each task, on its own rows; quantiles as they come."""
    if RandomForestQuantileRegressor is None:
        return None
    quantiles = [0.5 + sign * c / 2.0 for c in COVERAGES for sign in (-1.0, 1.0)]
    found = np.empty((len(X_test), len(quantiles), Y.shape[1]))
    for t, y in enumerate(Y.T):
        own = ~np.isnan(y)
        trees = RandomForestQuantileRegressor(n_estimators=60, min_samples_leaf=3, random_state=0)
        found[:, :, t] = trees.fit(X[own], y[own]).predict(X_test, quantiles=quantiles)
    return {str(c): judge(found[:, 2 * k], found[:, 2 * k + 1], Y_test) for k, c in enumerate(COVERAGES)}


def icm(X, Y, X_test, Y_test):
    """A multi-task Gaussian process, its kernel, task matrix and noise by maximal likelihood; Gaussian intervals."""
    if gpytorch is None or np.isnan(Y).any() or Y.size > MOST_ICM_LABELS:
        return None
    torch.manual_seed(0)
    double, n_tasks = torch.float64, Y.shape[1]

    class Process(gpytorch.models.ExactGP):
        def __init__(self, *parts):
            super().__init__(*parts)
            self.mean = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=n_tasks)
            rbf = gpytorch.kernels.RBFKernel()
            self.kernel = gpytorch.kernels.MultitaskKernel(rbf, num_tasks=n_tasks, rank=min(n_tasks, 3))

        def forward(self, x):
            return gpytorch.distributions.MultitaskMultivariateNormal(self.mean(x), self.kernel(x))

    likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=n_tasks).to(double)
    process = Process(torch.tensor(X), torch.tensor(Y), likelihood).to(double)
    process.kernel.data_covar_module.lengthscale = float(np.sqrt(np.median(pdist(X, "sqeuclidean"))))
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, process)
    descent = torch.optim.Adam(process.parameters(), lr=0.1)
    for _ in range(80):
        descent.zero_grad()
        loss = -marginal(process(torch.tensor(X)), torch.tensor(Y))
        loss.backward()
        descent.step()
    process.eval(), likelihood.eval()
    with torch.no_grad():
        answer = likelihood(process(torch.tensor(X_test)))
        mean, std = answer.mean.numpy(), answer.variance.numpy() ** 0.5
    return {str(c): judge(*gaussian(mean, std, c), Y_test) for c in COVERAGES}


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


# Tables ---------------------------------------------------------------------------------------------------------------


def render(rows):
    """Tables of coverage and width for each variant, then of conditioning, as Markdown."""
    parts = []
    for variant in VARIANTS:
        of = [row for row in rows if row["variant"] == variant]
        parts += [coverage_table(variant, of), width_table(variant, of), conditioning_table(variant, of)]
    return "\n\n".join(parts)


def mean_of(rows, kind, coverage, key):
    """The mean over splits; NaN where there is none."""
    values = [row[kind][str(coverage)][key] for row in rows if row[kind] is not None]
    return float(np.mean([value for value in values if value is not None] or [np.nan]))


def binomial_errors(rows):
    """Standard errors in percent of shares of 50 and 90%, as if the labels of a row were covered together or not.

    However many splits there are, they test no more rows than the set has: those of some split are counted once.
    """
    share = np.mean([row["tested"] / row["of"] for row in rows])
    distinct = rows[0]["of"] * (1.0 - (1.0 - share) ** len(rows))
    return [100.0 * np.sqrt(c * (1.0 - c) / distinct) for c in (0.5, 0.9)]


def coverage_table(variant, rows):
    lines = [
        f"{variant}: labels covered, in percent; in brackets by the standard deviation and a Gaussian alone",
        "",
        "| set | rows | tasks | splits | " + " | ".join(f"{100 * c:.0f}%" for c in COVERAGES) + " | error |",
        "| --- | " + " | ".join(["---:"] * (4 + len(COVERAGES))) + " |",
    ]
    means = []
    for name in SETS:
        of = [row for row in rows if row["set"] == name]
        if not of:
            continue
        ours, plain = (
            [100.0 * mean_of(of, kind, c, "covered") for c in COVERAGES] for kind in ("intervals", "gaussian")
        )
        means.append([ours, plain])
        cells = [f"{a:.1f} ({b:.1f})" for a, b in zip(ours, plain, strict=True)]
        error = ", ".join(f"{one:.1f}" for one in binomial_errors(of))
        lines.append(f"| {name} | {of[0]['rows']} | {of[0]['tasks']} | {len(of)} | {' | '.join(cells)} | {error} |")
    if means:
        average = np.nanmean(np.array(means), axis=0)
        cells = [f"{a:.1f} ({b:.1f})" for a, b in average.T]
        lines.append(f"| mean | | | | {' | '.join(cells)} | |")
    return "\n".join(lines)


def width_table(variant, rows):
    kinds = ("intervals", "forest", "icm")
    names = ("intervals", "quantile forest", "GPyTorch ICM")
    lines = [
        f"{variant}: mean width of 90% intervals; in brackets labels covered, and after them the width at 90% exactly",
        "",
        "| set | " + " | ".join(names) + " |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name in SETS:
        of = [row for row in rows if row["set"] == name]
        if of:
            cells = []
            for kind in kinds:
                width, covered, even = (mean_of(of, kind, 0.9, key) for key in ("width", "covered", "even"))
                cells.append("" if np.isnan(width) else f"{width:.2f} ({100.0 * covered:.0f}) {even:.2f}")
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def conditioning_table(variant, rows):
    lines = [
        f"{variant}: root mean squared error of half of the tasks, the others known",
        "",
        "| set | without | with | difference (95%) | % |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name in SETS:
        of = [row for row in rows if row["set"] == name]
        if of:
            without, told = (np.array([row["conditioned"][key] for row in of]) for key in ("without", "with"))
            differences = told - without
            # Splits share rows, and so their differences are not independent.
            (low,), (high,) = paired_interval(differences[:, None], of[0]["tested"] / of[0]["rows"], 0.95)
            lines.append(
                f"| {name} | {without.mean():.4f} | {told.mean():.4f} | {differences.mean():+.4f} "
                f"[{low:+.4f}, {high:+.4f}] | {100.0 * differences.mean() / without.mean():+.1f} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
