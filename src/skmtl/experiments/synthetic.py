"""The paper's figures on artificial tasks: error against sparsity, and a structure recovered.

What the paper leaves open, and what is done here. The generator of A is :func:`skmtl.datasets.make_sparse_tasks`. The
number of tasks is drawn from 5 to 20 for every seed; a share of nonzero entries below ``1 / n_tasks`` is impossible,
for the diagonal of A is positive, so at 10% there are at least 10 tasks. The model has no constants, and neither have
the predictors; targets are not scaled. Errors are divided by the variance of the test targets, task by task and then
averaged (per task), or both summed over tasks first (pooled). Five-fold selection maximizes the per-task score.

The literal reading of the corruption is the main run. ``readings`` names others, at the support and number of tasks of
``recovery``: settings of the generator that take the place of the main ones.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from skmtl._linalg import Array
from skmtl.datasets import SparseTasks, make_sparse_tasks
from skmtl.experiments.runs import Item, Progress
from skmtl.experiments.selection import LEARNED, METHODS, Params, estimator_of, fit_together, stable_structure
from skmtl.experiments.synthetic_report import OURS, PER_TASK, READING, rank_pairs, report
from skmtl.model_selection import MultiTaskRegressorCV, best_candidate
from skmtl.penalties import Fixed

__all__ = ["QUICK", "SETTINGS", "evaluate", "load", "make_items", "prepare", "report"]

SETTINGS: dict[str, Any] = {
    "supports": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
    "n_seeds": 50,
    "n_tasks": (5, 20),
    "n_features": 100,
    "n_samples": 50,
    "n_test": 100,
    "noise": 0.1,
    "corruption": 0.1,
    "corruption_as": "variance",
    "entries": "normal",
    # Multiples of the mean of the kernel's diagonal.
    "alphas": [round(10.0 ** (-k / 4), 6) for k in range(4, 17)],
    "mus": [0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0],
    "n_folds": 5,
    "recovery": {"n_tasks": 10, "support": 0.5},
    "n_halves": 20,
    "readings": {
        "as printed": {},
        "no corruption": {"corruption": 0.0},
        "uniform entries": {"entries": "uniform"},
        "deviation": {"corruption_as": "deviation"},
        "deviation, uniform entries": {"corruption_as": "deviation", "entries": "uniform"},
        "deviation, signs": {"corruption_as": "deviation", "entries": "signs"},
        "deviation, blocks": {"corruption_as": "deviation", "entries": "blocks"},
    },
    "reading_seeds": 20,
}
QUICK: dict[str, Any] = {
    "supports": [0.2, 0.5, 1.0],
    "n_seeds": 4,
    "alphas": [0.01, 0.003, 0.001],
    "mus": [0.8, 1.0],
    "readings": {"as printed": {}, "deviation, blocks": {"corruption_as": "deviation", "entries": "blocks"}},
    "reading_seeds": 2,
}


def load(data: object, settings: Params) -> tuple[None, None]:
    """Nothing: the data are made from the seeds."""
    return None, None


def prepare(loaded: None, settings: Params, folder: Path, n_jobs: int, progress: Progress | None) -> None:
    """Nothing, again."""


def make_items(settings: Params) -> list[Item]:
    """Every sparsity with every seed, then the structures to recover, and both in other readings."""
    seeds = range(settings["n_seeds"])
    errors = [{"part": "errors", "support": s, "seed": seed} for seed in seeds for s in settings["supports"]]
    support = settings["recovery"]["support"]
    recovery = [{"part": "recovery", "support": support, "seed": seed} for seed in seeds]
    readings = [
        {"part": READING + name, "support": support, "seed": seed}
        # Runs from before there were readings have none.
        for seed in range(settings.get("reading_seeds", 0))
        for name in settings.get("readings", {})
    ]
    return [*errors, *recovery, *readings]


def evaluate(prepared: None, settings: Params, *, part: str, support: float, seed: int) -> dict[str, Any]:
    """One data set: choose, fit and test every method; or choose SKMTL and look at its structure; or both."""
    if part == "errors":
        tasks = _make_tasks(settings, support, seed, n_tasks=_draw_n_tasks(settings["n_tasks"], support, seed))
        return _errors(settings, tasks)[0]
    settings = {**settings, **(settings["readings"][part.removeprefix(READING)] if part != "recovery" else {})}
    tasks = _make_tasks(settings, support, seed, n_tasks=settings["recovery"]["n_tasks"])
    if part == "recovery":
        return _recovery(settings, tasks, _search(settings, tasks, [METHODS[OURS]["penalty"]]))
    errors, search = _errors(settings, tasks)
    found = {**_recovery(settings, tasks, search), **errors}
    # Matrices would be most of the file.
    found["ranked"] = {
        "learned": rank_pairs(tasks.structure, found.pop("learned")["best"]),
        "corrupted": rank_pairs(found.pop("true"), found.pop("corrupted")),
    }
    return found


def _errors(settings: Params, tasks: SparseTasks) -> tuple[dict[str, Any], MultiTaskRegressorCV]:
    """Errors of all methods, and the search that chose them."""
    truth = Fixed(tasks.corrupted_structure)
    search = _search(settings, tasks, [*LEARNED, truth])
    chosen = {method: best_candidate(search, **wanted) for method, wanted in METHODS.items()}
    models = {method: estimator_of(search, params) for method, params in chosen.items()}
    chosen["GT"] = best_candidate(search, penalty=truth.name)
    models["GT"] = estimator_of(search, chosen["GT"], truth)
    fit_together(models, tasks.X, tasks.Y)
    predicted = {name: model.predict(tasks.X_test) for name, model in models.items()}
    predicted[PER_TASK], chosen[PER_TASK] = one_alpha_each(settings, tasks)
    squares = {name: (F - tasks.Y_test) ** 2 for name, F in predicted.items()}
    variance = tasks.Y_test.var(axis=0)
    result = {
        "n_tasks": tasks.Y.shape[1],
        "per_task": {name: float(np.mean(E.mean(axis=0) / variance)) for name, E in squares.items()},
        "pooled": {name: float(E.mean() / variance.mean()) for name, E in squares.items()},
        "chosen": chosen,
        "max_gap": float(max(model.solution_.gap for model in models.values())),
    }
    return result, search


def one_alpha_each(settings: Params, tasks: SparseTasks) -> tuple[Array, dict[str, list[float]]]:
    """Predictions of single tasks that choose their alphas by themselves, on the same folds, and the alphas."""
    X, Y, alphas = tasks.X, tasks.Y, _alphas(settings, tasks)
    folds = KFold(settings["n_folds"]).split(X)
    errors = np.mean([np.mean((_ridges(X[a], Y[a], X[b], alphas) - Y[b]) ** 2, axis=1) for a, b in folds], axis=0)
    chosen = errors.argmin(axis=0)
    return (
        np.take_along_axis(_ridges(X, Y, tasks.X_test, alphas), chosen[None, None, :], axis=0)[0],
        {"alpha": alphas[chosen].tolist()},
    )


def _ridges(X: Array, Y: Array, X_test: Array, alphas: Array) -> Array:
    """Predictions of ridge regression for every alpha, of shape (n_alphas, n_test, n_tasks)."""
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    return np.stack([X_test @ Vt.T @ ((s / (s**2 + len(X) * alpha))[:, None] * (U.T @ Y)) for alpha in alphas])


def _recovery(settings: Params, tasks: SparseTasks, search: MultiTaskRegressorCV) -> dict[str, Any]:
    """The structures of SKMTL: the one that predicts best, the sparsest that is as good, and one to be looked at."""
    wanted = METHODS[OURS]
    chosen = {rule: best_candidate(search, rule=rule, **wanted) for rule in ("best", "1se")}
    models = {rule: estimator_of(search, params) for rule, params in chosen.items()}
    learned = {rule: model.structure_ for rule, model in fit_together(models, tasks.X, tasks.Y).items()}
    learned["stable"], mu = stable_structure(models["best"], tasks.X, tasks.Y, settings["n_halves"])
    return {
        "true": tasks.structure,
        "corrupted": tasks.corrupted_structure,
        "learned": learned,
        "chosen": {**chosen, "stable": {"mu": mu}},
        "support_of": {rule: _judge_support(tasks.structure, A) for rule, A in learned.items()},
    }


def _draw_n_tasks(bounds: Sequence[int], support: float, seed: int) -> int:
    """A number of tasks for which the support is possible."""
    low, high = bounds
    smallest = max(low, int(np.ceil(1 / support - 1e-9)))
    if smallest > high:
        raise ValueError(f"n_tasks={[low, high]} has no number that is possible; support={support} needs {smallest}.")
    return int(np.random.default_rng(seed).integers(smallest, high + 1))


def _make_tasks(settings: Params, support: float, seed: int, *, n_tasks: int) -> SparseTasks:
    names = ("n_features", "n_samples", "n_test", "noise", "corruption", "corruption_as", "entries")
    given = {name: settings[name] for name in names}
    return make_sparse_tasks(n_tasks, support=support, random_state=seed, **given)


def _search(settings: Params, tasks: SparseTasks, penalties: list[Any]) -> MultiTaskRegressorCV:
    """All candidates of all penalties on the same folds."""
    return MultiTaskRegressorCV(
        penalties,
        kernel="linear",
        alphas=_alphas(settings, tasks),
        # MTRL is SKMTL at mu = 1.
        mus=sorted({*settings["mus"], 1.0}),
        eps_factors=[1.0],
        cv=settings["n_folds"],
        scoring="nmse",
        fit_intercept=False,
        scale_targets=False,
    ).fit(tasks.X, tasks.Y)


def _alphas(settings: Params, tasks: SparseTasks) -> Array:
    """Multiples of the mean of the kernel's diagonal."""
    return float(np.mean(np.sum(tasks.X**2, axis=1))) * np.array(settings["alphas"])


def _judge_support(true: Array, learned: Array) -> dict[str, float]:
    """Precision and recall of the pairs of different tasks that are related."""
    pairs = np.triu_indices(len(true), 1)
    is_edge, found = true[pairs] != 0.0, learned[pairs] != 0.0
    hits = int(np.count_nonzero(is_edge & found))
    return {
        "precision": hits / max(int(found.sum()), 1),
        "recall": hits / max(int(is_edge.sum()), 1),
        "edges": int(found.sum()),
    }
