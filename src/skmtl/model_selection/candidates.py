"""The candidates of a search, and which of them to take."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import groupby, product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skmtl._linalg import Array
from skmtl._numbers import check_plain
from skmtl._parameters import LARGEST, SMALLEST, check_positive
from skmtl.estimators.base import make_effort
from skmtl.features import KERNELS, Kernel, check_kernel, middle_row
from skmtl.penalties import Independent, StructurePenalty, check_penalty
from skmtl.solvers.solution import Solution
from skmtl.solvers.training import Effort, Settings, Training

# Multiples of the mean of diag(K).
ALPHAS = np.logspace(-1, -7, 10)
# As eps grows, the sparse structure tends to a multiple of the identity: the second is halfway to independent tasks.
EPS_FACTORS = (1.0, 100.0)
COMMONS, LONG_COMMONS = (0.0,), (0.0, 10.0)

# Leaves the kernel to the search.
AUTO = "auto"
# Multiples of the median heuristic, and the rows that are enough to find the median.
GAMMA_FACTORS = (1 / 16, 1 / 4, 1.0, 4.0)
ROWS_FOR_MEDIAN = 500

# Candidates are compared to no more accuracy than this, relative to the objective.
SEARCH_ACCURACY = 1e-3
RULES = ("best", "1se")
# Scores that differ by no more than this share of their standard error are level.
LEVEL = 0.1
# Parameters that are shown only where several values were tried.
SELDOM = ("kernel", "metric_rounds", "metric_rule", "metric_alpha")

# A candidate and what it learned.
Answer = tuple["Candidate", Solution]
# A penalty with its own parameters set, and those parameters.
Variant = tuple[StructurePenalty, dict[str, float]]


@dataclass(frozen=True)
class Geometry:
    """What candidates that share a decomposition of the rows have in common, by the names that estimators give it."""

    kernel: Any
    gamma: float | None = None
    metric_rounds: int = 0
    metric_alpha: float | None = None
    metric_rule: str = "slopes"

    @classmethod
    def from_estimator(cls, estimator: Any) -> "Geometry":
        return cls(**{field.name: getattr(estimator, field.name) for field in fields(cls)})

    def params(self) -> dict[str, Any]:
        """Parameters of an estimator."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class Candidate:
    """One point of the grid: the settings of a fit, the kernel, and what the penalty has of its own."""

    settings: Settings
    geometry: Geometry = Geometry("linear")
    own: dict[str, float] = field(default_factory=dict)

    @property
    def penalty(self) -> StructurePenalty:
        return self.settings.penalty

    @property
    def independent(self) -> bool:
        """Whether the tasks share nothing."""
        return self.penalty.name == Independent.name and self.settings.common == 0.0

    def params(self) -> dict[str, Any]:
        """What is searched over, by the names that estimators give it; eps as a multiple of the automatic one."""
        settings = self.settings
        return {
            "penalty": settings.penalty,
            "alpha": settings.alpha,
            "eps_factor": settings.eps_factor,
            "common": settings.common,
            **self.geometry.params(),
        }

    def all_but_alpha(self) -> tuple[Any, ...]:
        """Candidates that are equal in this follow one another along alpha."""
        settings = self.settings
        return self.penalty.name, tuple(self.own.items()), settings.eps_factor, settings.common, self.geometry

    def all_but_own(self) -> tuple[Any, ...]:
        """Candidates that are equal in this differ in the penalty's own parameters at most.

        Where the joint Newton solves, any positive definite structure is one to start from; else only one that was
        found with the same parameters is sure to be in the domain.
        """
        settings = self.settings
        own = () if self.penalty.joint else tuple(self.own.items())
        return self.penalty.name, own, settings.alpha, settings.eps_factor, settings.common, self.geometry


def make_penalties(penalty: Any, mus: Any, n_tasks: int) -> list[Variant]:
    """Penalties with every value of their own parameters; independent tasks come first."""
    chosen = [check_penalty(one, n_tasks) for one in _as_list(penalty)]
    if not chosen:
        raise ValueError("penalty is an empty list; name at least one penalty.")
    if mus is not None and not any(one.path_parameter == "mu" for one in chosen):
        names = ", ".join(one.name for one in chosen)
        raise ValueError(f"mus={mus!r} was given, but {names} has no mu; leave mus out or use penalty='sparse'.")
    variants: list[Variant] = [(Independent(), {})]
    # One task has nothing to share: every penalty is independent tasks at another alpha.
    for one in chosen if n_tasks > 1 else ():
        grid = one.grid() if mus is None or one.path_parameter != "mu" else {"mu": check_grid("mus", mus)}
        for values in product(*grid.values()):
            own = dict(zip(grid, values, strict=True))
            variant = clone(one).set_params(**own)
            variant.check(n_tasks)
            if one.name != Independent.name:
                variants.append((variant, own))
    return variants


def make_candidates(
    variants: Iterable[Variant],
    *,
    alphas: Sequence[float],
    eps_factors: Sequence[float],
    commons: Sequence[float],
    geometry: Geometry,
) -> list[Candidate]:
    """The whole grid with one kernel, strong regularization first, independent tasks without a common part included."""
    candidates = []
    for alpha, (penalty, own) in product(sorted(alphas, reverse=True), variants):
        parts = sorted({0.0, *commons}) if penalty.name == Independent.name else commons
        for factor, common in product((1.0,) if penalty.known else eps_factors, parts):
            settings = Settings(penalty, alpha, common, eps_factor=factor)
            candidates.append(Candidate(settings, geometry, own))
    return candidates


def candidate_estimator(model: Any, candidate: Candidate) -> Any:
    """An estimator, not fitted, with the parameters of a candidate; eps apart, where it is a multiple."""
    settings = candidate.settings
    chosen = clone(model).set_params(
        penalty=clone(settings.penalty), alpha=settings.alpha, common=settings.common, **candidate.geometry.params()
    )
    # A known structure needs no solver, and not every one can be asked for.
    return chosen.set_params(solver="auto") if settings.penalty.known else chosen


def check_grid(name: str, values: Any, default: Iterable[float] = (), *, zero: bool = True) -> list[float]:
    """Numbers to search over, without repetition."""
    if values is None:
        return [float(value) for value in default]
    check_plain(name, values)
    listed = np.atleast_1d(np.asarray(values, dtype=object)).tolist()
    if not listed:
        raise ValueError(f"{name} is empty; give at least one number, or leave it out for the default grid.")
    return list(dict.fromkeys(check_positive(f"an entry of {name}", value, zero=zero) for value in listed))


def default_gammas(kernel: Kernel, X: Any) -> list[float | None]:
    """Inverse widths around the median heuristic where gamma is searched, else None, the kernel's own default."""
    # A kernel that is not in the table is refused where the map is made.
    facts = KERNELS.get(kernel) if isinstance(kernel, str) else None
    if facts is None or facts.distances is None:
        return [None]
    # Rows that stand twice say nothing about the width, and a weight is as good as a repetition.
    rows = X if sparse.issparse(X) else np.unique(X, axis=0)
    rows = rows[:: -(-rows.shape[0] // ROWS_FOR_MEDIAN)]
    # Products cost distances of dense rows far from zero their digits.
    rows = rows if sparse.issparse(rows) else rows - middle_row(rows)
    between = facts.distances(rows)[np.triu_indices(rows.shape[0], 1)]
    between = between[between > 0.0]
    if not len(between):
        return [None]
    middle = float(np.median(between))
    if not max(GAMMA_FACTORS) / LARGEST <= middle <= min(GAMMA_FACTORS) / SMALLEST:
        raise ValueError(f"X has distances of about {middle:.3g}, too far from 1 for a gamma; change its unit.")
    return [factor / middle for factor in GAMMA_FACTORS]


def is_auto(kernel: Any) -> bool:
    """Whether the kernel is left to the search."""
    return isinstance(kernel, str) and kernel == AUTO


def make_gammas(gammas: Any, kernels: Sequence[Any], X: Any) -> dict[Any, list[float | None]]:
    """Inverse widths to try with each kernel."""
    if gammas is None:
        return {kernel: default_gammas(kernel, X) for kernel in kernels}
    having = [kernel for kernel in kernels if "gamma" in check_kernel(kernel).parameters]
    if not having:
        known = ", ".join(name for name, facts in KERNELS.items() if "gamma" in facts.parameters)
        asked = repr(kernels[0] if len(kernels) == 1 else list(kernels))
        raise ValueError(f"gammas was given, but kernel={asked} has no gamma; kernels that do are {known}.")
    given: list[float | None] = [*check_grid("gammas", gammas, zero=False)]
    return {kernel: given if kernel in having else [None] for kernel in kernels}


def _as_list(penalty: Any) -> list[Any]:
    return list(penalty) if isinstance(penalty, list | tuple) else [penalty]


@dataclass(frozen=True)
class CandidateScores:
    """Scores of the candidates, of shape (n_candidates, n_folds); the same of edges; and mean scores.

    Not ``finished`` where somebody interrupted the work, so that folds are fewer than were asked for.
    """

    scores: Array
    edges: Array
    means: Array
    finished: bool = True

    @staticmethod
    def join(parts: Sequence["CandidateScores"]) -> "CandidateScores":
        """Those of several searches on the same folds, one after the other."""
        # After an interruption, candidates are compared on the folds that all of them have.
        n_folds = min(part.scores.shape[1] for part in parts)
        scores = np.concatenate([part.scores[:, :n_folds] for part in parts])
        edges = np.concatenate([part.edges[:, :n_folds] for part in parts])
        finished = all(part.finished for part in parts)
        means = np.concatenate([part.means for part in parts]) if finished else row_means(scores)
        return CandidateScores(scores, edges, means, finished)


def row_means(scores: Array) -> Array:
    """Means over the folds where a score is defined; NaN where there is none."""
    known = ~np.isnan(scores)
    count = known.sum(axis=1)
    total = np.where(known, scores, 0.0).sum(axis=1)
    return np.divide(total, count, out=np.full(len(scores), np.nan), where=count > 0)


# Candidates and what became of them.
Scored = tuple[list[Candidate], CandidateScores]


def count_edges(structure: Array) -> int:
    """The number of related pairs of tasks."""
    return int(np.count_nonzero(np.triu(structure, 1)))


def check_rule(rule: Any) -> str:
    """A known rule."""
    if not isinstance(rule, str) or rule not in RULES:
        raise ValueError(f"rule={rule!r:.50} is not known; choose one of {', '.join(RULES)}.")
    return str(rule)


def choose(outcome: CandidateScores, rule: str) -> int:
    """The best candidate, or the sparsest graph whose score is within one standard error of the best."""
    means, edges = outcome.means, outcome.edges.mean(axis=1)
    if np.all(np.isnan(means)):
        raise ValueError(
            "the score is not defined for any candidate on any fold (does every test fold hold one class only?); "
            "use fewer folds, shuffled folds, or another scoring."
        )
    highest = np.nanmax(means)
    ties = np.flatnonzero(means >= highest - 1e-12 * max(abs(highest), 1.0))
    best = int(ties[np.argmin(edges[ties])])
    if rule == "best":
        return best
    behind = outcome.scores[best] - outcome.scores
    allowed = means[best] - means <= standard_error(behind)
    allowed[best] = True
    return int(min(np.flatnonzero(allowed), key=lambda c: (edges[c], -means[c])))


def middle_alpha(alphas: Sequence[float], scores: Array, best: int, alike: Sequence[bool]) -> int:
    """The number of the candidate whose alpha is in the middle of those that are level with the best.

    For scores that see nothing but an order: predictors that are shrunk to almost nothing keep theirs, so that many
    alphas may be level, and chance would take the largest or the smallest. ``scores`` are those of the folds, and
    ``alike`` the candidates that differ from the best in alpha at most.
    """
    means = row_means(scores)
    allowed = means[best] - LEVEL * standard_error(scores[[best]])[0]
    level = sorted(np.flatnonzero(np.asarray(alike) & (means >= allowed)).tolist(), key=lambda k: alphas[k])
    # The best itself where it is one of two in the middle.
    middle = {level[(len(level) - 1) // 2], level[len(level) // 2]}
    return best if best in middle else max(middle, key=lambda k: alphas[k])


def standard_error(differences: Array) -> Array:
    """The standard error of the mean of each row, over the folds where it is defined; zero for a single fold."""
    known = ~np.isnan(differences)
    count = known.sum(axis=1)
    mean = np.where(known, differences, 0.0).sum(axis=1) / np.maximum(count, 1)
    squares = np.where(known, (differences - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return np.sqrt(squares / np.maximum(count - 1, 1) / np.maximum(count, 1))


def make_results(candidates: Sequence[Candidate], outcome: CandidateScores) -> dict[str, Any]:
    """The search as columns, a row per candidate, in the manner of ``GridSearchCV``."""
    params = [candidate.params() for candidate in candidates]
    # Most searches have one kernel, and learn no metric.
    single = [name for name in SELDOM if len({row[name] for row in params}) == 1]
    params = [{name: value for name, value in row.items() if name not in single} for row in params]
    # For people: the penalty by its name, and beside it the parameters of its own.
    shown = [{**row, "penalty": c.penalty.name, **c.own} for row, c in zip(params, candidates, strict=True)]
    results: dict[str, Any] = {"params": params}
    for name in dict.fromkeys(name for row in shown for name in row):
        # Values may be sequences, which would become another axis if all were given at once.
        column = np.empty(len(params), dtype=object)
        column[:] = [row.get(name) for row in shown]
        results[f"param_{name}"] = np.ma.MaskedArray(column, mask=[name not in row for row in shown])
    for k, scores in enumerate(outcome.scores.T):
        results[f"split{k}_test_score"] = scores
    results["mean_test_score"] = outcome.means
    with_nan = np.where(np.isnan(outcome.means), -np.inf, outcome.means)
    results["std_test_score"] = standard_error(outcome.scores) * np.sqrt(outcome.scores.shape[1])
    results["rank_test_score"] = np.array([1 + int(np.sum(with_nan > value)) for value in with_nan], dtype=np.int32)
    results["mean_edges"] = outcome.edges.mean(axis=1)
    return results


def search_effort(model: Any) -> Effort:
    """Only as much work as comparing candidates needs."""
    effort = make_effort(model)
    return replace(effort, tol=max(effort.tol, SEARCH_ACCURACY))


def learn_by_alpha(
    training: Training, candidates: Sequence[Candidate], effort: Effort
) -> Iterator[tuple[float, list[Answer]]]:
    """What the candidates learned, those in a row with the same alpha together."""
    answers = learn_all(training, candidates, effort)
    for alpha, some in groupby(answers, key=lambda answer: answer[0].settings.alpha):
        yield alpha, list(some)


def learn_all(training: Training, candidates: Sequence[Candidate], effort: Effort) -> Iterator[Answer]:
    """Learn the candidates in order, each from its neighbour at the same alpha, or from itself at the last one."""
    last: dict[Any, Array] = {}
    for candidate in candidates:
        here, along_alpha = candidate.all_but_own(), candidate.all_but_alpha()
        start = last.get(here, last.get(along_alpha))
        # A known structure needs no solver, and not every one can be asked for.
        chosen = replace(effort, solver="auto") if candidate.penalty.known else effort
        solution = training.solve(candidate.settings, chosen, start=start, certify=False)
        last[here] = last[along_alpha] = solution.structure
        yield candidate, solution
