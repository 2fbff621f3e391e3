"""Choosing kernel and hyper-parameters for a table, and judging what was chosen beside independent tasks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from skmtl import MultiTaskClassifier, MultiTaskClassifierCV, MultiTaskRegressor, MultiTaskRegressorCV, compare_methods
from skmtl.cli.problem import Problem
from skmtl.penalties import PENALTIES, StructurePenalty

KERNELS = ("linear", "rbf")
# Coarser than the library's grids, for someone is waiting: multiples of the mean of the kernel's diagonal, and mus.
ALPHAS = np.logspace(-1, -6, 6)
MUS = (0.8, 0.95, 1.0)
SEARCH_TOL, FINAL_TOL = 1e-3, 1e-6
CONTEST_FOLDS, N_FOLDS = 3, 5
# Rows on which parameters are chosen. The linear kernel costs little per row; others pay for the square, and more where
# labels are missing.
MOST_ROWS_LINEAR, MOST_ROWS_COMPLETE, MOST_ROWS = 20_000, 1000, 300
# What another kernel than the linear one, which is quick and can be read, must add to the score.
MARGIN = 0.01
# Below this the sample of a long table says nothing about its tasks.
LABELS_PER_TASK = 20

Tick = Callable[[], None]


@dataclass(frozen=True)
class Wishes:
    """Hyper-parameters that a person gives; what is None is chosen by cross-validation."""

    penalty: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    alpha: float | None = None
    kernel: str | None = None
    gamma: float | None = None
    common: float | None = None
    loss: str = "square"
    rule: str = "best"

    @property
    def complete(self) -> bool:
        """Whether nothing is left to choose."""
        return self.penalty is not None and self.alpha is not None

    def check(self) -> None:
        """Raise ``ValueError`` for wishes that do not go together, before work starts."""
        self.make_penalty()
        linear = self.kernel == "linear" or (self.kernel is None and self.complete)
        if linear and self.gamma is not None:
            raise ValueError("the linear kernel has no gamma; leave --gamma out, or say --kernel rbf.")

    def make_penalty(self) -> StructurePenalty:
        name = self.penalty or "sparse"
        if name not in PENALTIES:
            raise ValueError(f"penalty {name!r} is not known; choose one of {', '.join(PENALTIES)}.")
        penalty = PENALTIES[name]()
        for key in self.settings:
            if key not in penalty.get_params():
                known = ", ".join(penalty.get_params()) or "nothing"
                raise ValueError(f"--set {key}: penalty {name!r} has no such parameter; it has {known}.")
        searched = set(penalty.grid()) & set(self.settings) - {"mu"}
        if searched and not self.complete:
            raise ValueError(f"--set {searched.pop()} needs --penalty and --alpha too, for else it is searched for.")
        return penalty.set_params(**self.settings)

    def mus(self, default: Sequence[float] | None = MUS) -> Sequence[float] | None:
        """Values of mu to try; None for a penalty that has none."""
        if "mu" not in self.make_penalty().get_params():
            return None
        return [self.settings["mu"]] if "mu" in self.settings else default


@dataclass(frozen=True)
class Rows:
    """Prepared rows, in random order, with the arguments that ``fit`` takes."""

    X: np.ndarray
    Y: Any
    tasks: Any

    def fit(self, estimator: Any) -> Any:
        return estimator.fit(self.X, self.Y, tasks=self.tasks)


@dataclass(frozen=True)
class Choice:
    """An estimator with parameters chosen, not fitted yet; why; and the rows that decided."""

    estimator: Any
    why: tuple[str, ...]
    rows: Rows
    search: Any = None


def choose(problem: Problem, Z: np.ndarray, wishes: Wishes, tick: Tick = lambda: None) -> Choice:
    """The best kernel and parameters; ``tick`` is called after each search. Z holds the prepared rows."""
    if wishes.complete:
        kernel = wishes.kernel or "linear"
        return Choice(_given(problem, wishes, kernel), ("Parameters are as given.",), rows_for(problem, Z, kernel))
    kernel, gammas, why = choose_kernel(problem, Z, wishes, tick)
    rows = rows_for(problem, Z, kernel)
    search = rows.fit(make_search(problem, wishes, kernel, rows.X, gammas=gammas))
    tick()
    if len(rows.X) < len(Z):
        why.append(f"Parameters were chosen on {len(rows.X)} of {len(Z)} rows, drawn at random.")
    estimator = clone(search.best_estimator_).set_params(tol=FINAL_TOL)
    return Choice(estimator, (*why, search.verdict_), rows, search)


def choose_kernel(
    problem: Problem, Z: np.ndarray, wishes: Wishes, tick: Tick = lambda: None
) -> tuple[str, list[float] | None, list[str]]:
    """The kernel that does best without a graph, its width, and why; in doubt the linear one."""
    gammas = None if wishes.gamma is None else [wishes.gamma]
    kernels, why = _kernels(problem, wishes)
    if len(kernels) == 1:
        return kernels[0], gammas if kernels[0] != "linear" else None, why
    rows = min((rows_for(problem, Z, kernel) for kernel in kernels), key=lambda rows: len(rows.X))
    searches = {}
    for kernel in kernels:
        options = {"penalty": "independent", "mus": None, "cv": CONTEST_FOLDS}
        searches[kernel] = rows.fit(make_search(problem, wishes, kernel, rows.X, **options))
        tick()
    best = _better(*searches.values())
    scores = ", ".join(f"{kernel} {search.best_score_:.4f}" for kernel, search in searches.items())
    why.append(
        f"The {best} kernel is used; scores without a graph on {len(rows.X)} rows: {scores} (linear, "
        f"unless another is ahead by {MARGIN:g} and by two standard errors)."
    )
    gamma = searches[best].best_params_["gamma"]
    return best, None if gamma is None else [gamma], why


def make_search(problem: Problem, wishes: Wishes, kernel: str, Z: np.ndarray, **options: Any) -> Any:
    """The estimator that searches what was not given, at one kernel."""
    cls = MultiTaskClassifierCV if problem.classification else MultiTaskRegressorCV
    given = {
        "penalty": wishes.make_penalty(),
        "alphas": _alphas(kernel, Z) if wishes.alpha is None else [wishes.alpha],
        "mus": wishes.mus(),
        "eps_factors": [1.0],
        "commons": None if wishes.common is None else [wishes.common],
        "gammas": None if wishes.gamma is None or kernel == "linear" else [wishes.gamma],
    }
    rest = {"cv": N_FOLDS, "kernel": kernel, "loss": wishes.loss, "rule": wishes.rule, "tol": SEARCH_TOL}
    return cls(**{**given, **rest, **options})


def judge(problem: Problem, choice: Choice, wishes: Wishes, tick: Tick = lambda: None) -> pd.DataFrame:
    """The chosen method beside independent tasks, task by task; ``tick`` is called after each of their fits.

    Each has its best alpha of the search, and the other's; the rest is held.
    """
    estimator = choice.estimator
    penalty = estimator.penalty if _is_shared(estimator) else wishes.make_penalty()
    params = {
        "alphas": _best_alphas(choice),
        "mus": [penalty.mu] if hasattr(penalty, "mu") else None,
        "commons": [estimator.common],
        "gammas": None if estimator.gamma is None else [estimator.gamma],
    }
    search = make_search(problem, wishes, estimator.kernel, choice.rows.X, callback=at_first(tick), **params)
    rows = choice.rows
    return compare_methods(rows.X, rows.Y, {penalty.name: penalty}, estimator=search, cv=N_FOLDS, tasks=rows.tasks)


def rows_for(problem: Problem, Z: np.ndarray, kernel: str) -> Rows:
    """As many rows as there is time for, at random."""
    order = np.random.default_rng(0).permutation(len(Z))
    limit = MOST_ROWS_LINEAR if kernel == "linear" else MOST_ROWS_COMPLETE if problem.complete else MOST_ROWS
    some = problem.take(order[:limit])
    return Rows(Z[order[:limit]], some.Y, some.tasks)


def at_first(tick: Tick) -> Callable[[dict[str, float]], None]:
    """A callback for estimators that calls ``tick`` once per fit, at its first certificate."""

    def callback(state: dict[str, float]) -> None:
        if state["certificate"] == 1:
            tick()

    return callback


def _given(problem: Problem, wishes: Wishes, kernel: str) -> Any:
    cls: Any = MultiTaskClassifier if problem.classification else MultiTaskRegressor
    common = 0.0 if wishes.common is None else wishes.common
    given: dict[str, Any] = {"alpha": wishes.alpha, "gamma": wishes.gamma, "common": common, "loss": wishes.loss}
    return cls(wishes.make_penalty(), kernel=kernel, **given)


def _kernels(problem: Problem, wishes: Wishes) -> tuple[Sequence[str], list[str]]:
    """Kernels to try, and why not others."""
    if wishes.kernel is not None:
        return (wishes.kernel,), []
    if problem.tasks is not None and MOST_ROWS < LABELS_PER_TASK * problem.n_tasks < len(problem.X):
        return KERNELS[:1], ["Only the linear kernel was tried, for there are many tasks; --kernel rbf asks for it."]
    return KERNELS, []


def _better(simple: Any, other: Any) -> str:
    """The other search's kernel only if it is clearly ahead: by a margin, and by two standard errors over folds."""
    scores = [
        np.array([search.cv_results_[f"split{k}_test_score"][search.best_index_] for k in range(CONTEST_FOLDS)])
        for search in (simple, other)
    ]
    ahead = scores[1] - scores[0]
    error = np.std(ahead, ddof=1) / np.sqrt(len(ahead))
    return str((other if np.mean(ahead) > max(MARGIN, 2.0 * error) else simple).kernel)


def _alphas(kernel: str, Z: np.ndarray) -> Any:
    """Strengths relative to the kernel's diagonal where it is known, else those of the library."""
    if kernel == "linear":
        return ALPHAS * (float(np.mean(np.sum((Z - Z.mean(axis=0)) ** 2, axis=1))) or 1.0)
    return ALPHAS if kernel in ("rbf", "laplacian") else None


def _best_alphas(choice: Choice) -> list[float]:
    """The best alpha of shared and of independent tasks in the search, or the one given."""
    if choice.search is None:
        return [choice.estimator.alpha]
    results = choice.search.cv_results_
    apart = np.array([p["penalty"] == "independent" and p["common"] == 0.0 for p in results["params"]])
    means = np.where(np.isnan(results["mean_test_score"]), -np.inf, results["mean_test_score"])
    best = {int(np.argmax(np.where(which, means, -np.inf))) for which in (apart, ~apart) if which.any()}
    return sorted({results["params"][i]["alpha"] for i in best} | {choice.estimator.alpha})


def _is_shared(estimator: Any) -> bool:
    return estimator.penalty.name != "independent"
