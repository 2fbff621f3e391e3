"""Can the edges of a learned graph be trusted: ``python benchmarks/edges.py`` or ``make bench-edges``.

Tasks with a known sparse structure (10 tasks, 200 rows, half of the structure zero), 20 seeds. The sparse penalty's
alpha and mu are chosen once per seed by ``MultiTaskRegressorCV``; ``edge_stability`` then learns the graph on 50
halves of the rows, with a mu for which at most one false edge is expected, and with that of the search. Reported: the
share of false edges among those in more than 0.9 of the halves, and the average precision of all 45 pairs, ranked by
stability, equal ones by steadiness, and by other measures. An edge is true when the structure is not zero there. By
default the targets come from a corrupted copy of the structure, which is dense; its own entries are one of the
rankings, since no method can learn more from the targets. The same is done without corruption, and for each mu.
"""

import argparse
import sys
import warnings
from itertools import product

import numpy as np
from scipy import stats
from sklearn.covariance import GraphicalLassoCV
from sklearn.metrics import average_precision_score

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV, edge_stability
from skmtl.datasets import make_sparse_tasks
from skmtl.experiments.runs import read_rows, run_rest
from skmtl.experiments.selection import best_of
from skmtl.experiments.tables import interval
from skmtl.penalties import Sparse

N_TASKS, N_ROWS, SUPPORT = 10, 200, 0.5
PAIRS = np.triu_indices(N_TASKS, 1)
N_RESAMPLES, STABLE, BAR, MAX_FALSE = 50, 0.9, 5.0, 1.0
MUS = [0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 1.0]
RANKINGS = {
    "stability": "stability at the mu of the search",
    "cautious": "stability, one false edge expected",
    "A": "`abs(A)` of `sparse`, one fit",
    "independent": "correlation of independent kernel ridge predictors",
    "trace": "`abs(A)` of `trace` (MTRL)",
    "lasso": "graphical lasso on the targets",
    "source": "the structure that made the targets (not a method)",
}
CORRUPTIONS = (0.1, 0.0)


def main():
    arguments = parse_arguments()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    if arguments.report:
        rows = [row for row in read_rows(arguments.out) if row["seed"] in seeds]
    else:
        items = [{"corruption": corruption, "seed": seed} for corruption, seed in product(CORRUPTIONS, seeds)]
        rows = run_rest(items, evaluate, file=arguments.out, n_jobs=arguments.jobs, progress=show)
    print(render(rows))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="number of seeds (default 20)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one BLAS thread each (default 1)")
    parser.add_argument("--out", metavar="FILE", help="JSON lines, one per corruption and seed; kept")
    parser.add_argument("--report", action="store_true", help="print the tables of what --out has, and compute nothing")
    return parser.parse_args()


def show(done, total, what):
    print(f"{done}/{total} {what}", file=sys.stderr, flush=True)


def evaluate(corruption, seed):
    """All rankings of one seed, and how many stable edges are false."""
    data = make_sparse_tasks(N_TASKS, n_samples=N_ROWS, support=SUPPORT, corruption=corruption, random_state=seed)
    true = data.structure[PAIRS] != 0.0
    search = MultiTaskRegressorCV(["sparse", "trace"], kernel="linear", mus=MUS, eps_factors=[1.0]).fit(data.X, data.Y)
    chosen = {name: best_of(search, penalty=name) for name in ("sparse", "trace", "independent")}
    models = {name: make_model(params).fit(data.X, data.Y) for name, params in chosen.items()}
    along = {mu: find_edges(best_of(search, penalty="sparse", mu=mu), data, seed) for mu in MUS}
    frequency, steadiness, mu = find_edges(chosen["sparse"], data, seed, max_false=MAX_FALSE)
    searched, *_ = along[chosen["sparse"]["mu"]]
    measures = {
        "stability": break_ties(*along[chosen["sparse"]["mu"]][:2]),
        "cautious": break_ties(frequency, steadiness),
        "A": models["sparse"].structure_[PAIRS],
        "independent": correlations(models["independent"])[PAIRS],
        "trace": models["trace"].structure_[PAIRS],
        "lasso": partial_correlations(data.Y)[PAIRS],
        "source": data.corrupted_structure[PAIRS],
    }
    return {
        "true": int(true.sum()),
        **count_stable(true, frequency),
        "mu": mu,
        "searched": count_stable(true, searched),
        "edges": int(np.count_nonzero(measures["A"])),
        "false_edges": int(np.count_nonzero(measures["A"][~true])),
        "precision": {name: float(average_precision_score(true, np.abs(of))) for name, of in measures.items()},
        "along": [
            {
                "mu": mu,
                **count_stable(true, frequency),
                "precision": float(average_precision_score(true, break_ties(frequency, steadiness))),
            }
            for mu, (frequency, steadiness, _) in along.items()
        ],
        "chosen": chosen,
        "best": search.penalty_.name,
    }


def make_model(params):
    penalty = Sparse(params["mu"]) if params["penalty"] == "sparse" else params["penalty"]
    return MultiTaskRegressor(penalty, alpha=params["alpha"])


def find_edges(params, data, seed, max_false=None):
    """For each pair how often it is an edge, and how steady its weight is; and the mu."""
    model = make_model(params)
    with warnings.catch_warnings():
        # Dense structures are among those that are looked at, on purpose.
        warnings.filterwarnings("ignore", "every pair of tasks is related")
        table = edge_stability(model, data.X, data.Y, N_RESAMPLES, max_false=max_false, random_state=seed)
    names = model.fit(data.X, data.Y).task_names_.tolist()
    a, b = ([names.index(task) for task in table[side]] for side in ("task_a", "task_b"))
    matrices = np.zeros((2, N_TASKS, N_TASKS))
    for matrix, column in zip(matrices, ("frequency", "steadiness"), strict=True):
        matrix[a, b] = matrix[b, a] = table[column]
    return matrices[0][PAIRS], matrices[1][PAIRS], table.attrs.get("mu", params["mu"])


def break_ties(frequency, steadiness):
    """Frequencies are multiples of 1/50; half a step at most is added to them."""
    return frequency + 0.5 / N_RESAMPLES * stats.rankdata(steadiness) / len(steadiness)


def count_stable(true, frequency):
    stable = frequency > STABLE
    return {"stable": int(stable.sum()), "false": int((stable & ~true).sum())}


def correlations(model):
    """B'KB scaled to a unit diagonal; with a linear kernel it is W'W."""
    W = np.asarray(model.coef_)
    S = W.T @ W if W.shape[1] == N_TASKS else W @ W.T
    size = np.sqrt(np.diag(S))
    return S / np.outer(size, size)


def partial_correlations(Y):
    precision = GraphicalLassoCV().fit((Y - Y.mean(axis=0)) / Y.std(axis=0)).precision_
    size = np.sqrt(np.diag(precision))
    return -precision / np.outer(size, size)


# Tables ---------------------------------------------------------------------------------------------------------------


def render(rows):
    """All results, as Markdown."""
    parts = ((corruption, [row for row in rows if row["corruption"] == corruption]) for corruption in CORRUPTIONS)
    return "\n\n".join(f"corruption={corruption:g}\n\n{summarize(of)}\n\n{path(of)}" for corruption, of in parts if of)


def summarize(rows):
    """False edges and rankings with the chosen mu."""
    shares = 100.0 * np.array([row["false"] / row["stable"] for row in rows if row["stable"]])
    n_stable, n_false, n_true = (sum(row[key] for row in rows) for key in ("stable", "false", "true"))
    share = percent(n_false, n_stable)
    mus, searched = [row["mu"] for row in rows], [row["chosen"]["sparse"]["mu"] for row in rows]
    there, wrong = (sum(row["searched"][key] for row in rows) for key in ("stable", "false"))
    lines = [
        f"{len(rows)} seeds; {n_true} of {45 * len(rows)} pairs are true edges. With one false edge expected, mu is "
        f"{min(mus):.2f} to {max(mus):.2f}; the search chose "
        + ", ".join(f"{mu:g} ({searched.count(mu)} times)" for mu in MUS if mu in searched)
        + ".",
        "",
        f"At the mu of the search: {there} edges above {STABLE}, {wrong} of them false: {percent(wrong, there):.1f}%.",
        "",
        f"One false edge expected: {n_stable} edges above {STABLE}, {n_false} of them false: {share:.1f}% "
        f"(aim: {BAR:g}% at most): "
        f"{'PASS' if share <= BAR else 'MISS'}. Mean over the {len(shares)} seeds with such an edge: "
        f"{mean_and_error(shares, 1)}%. Found: {percent(n_stable - n_false, n_true):.0f}% of the true edges.",
        "",
        "| edges ranked by | average precision | stability less this (95%) | |",
        "| --- | ---: | ---: | --- |",
    ]
    precision = {name: np.array([row["precision"][name] for row in rows]) for name in RANKINGS}
    for name, words in RANKINGS.items():
        cells = [words, mean_and_error(precision[name], 3), "", ""]
        if name != "stability":
            mean, low, high = interval(precision["stability"] - precision[name])
            cells[2:] = f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]", verdict(low, high)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"A random order has {np.mean([row['true'] / 45 for row in rows]):.3f}."])


def path(rows):
    """The same for each mu, alpha being the best for it."""
    lines = [
        f"| mu | edges with stability above {STABLE} | false | share (%) | of the true edges (%) | average precision |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    n_true = sum(row["true"] for row in rows)
    for k, mu in enumerate(MUS):
        n_stable, n_false = (sum(row["along"][k][key] for row in rows) for key in ("stable", "false"))
        share = f"{percent(n_false, n_stable):.1f}" if n_stable else ""
        precision = mean_and_error([row["along"][k]["precision"] for row in rows], 3)
        found = f"{percent(n_stable - n_false, n_true):.0f}"
        lines.append(f"| {mu:g} | {n_stable} | {n_false} | {share} | {found} | {precision} |")
    return "\n".join(lines)


def percent(part, whole):
    return 100.0 * part / max(whole, 1)


def verdict(low, high):
    return "stability is ahead" if low > 0.0 else "stability is behind" if high < 0.0 else "no evidence"


def mean_and_error(values, digits):
    return f"{np.mean(values):.{digits}f} ± {stats.sem(values) if len(values) > 1 else np.nan:.{digits}f}"


if __name__ == "__main__":
    main()
