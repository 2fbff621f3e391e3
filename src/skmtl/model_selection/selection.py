"""Search, choose, and say what was chosen: the road from a table to the best candidate."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skmtl._linalg import Array
from skmtl.estimators.base import make_effort, make_settings, publish
from skmtl.features import KERNELS, check_kernel, default_gammas
from skmtl.losses import Loss
from skmtl.model_selection.grid import (
    ALPHAS,
    COMMONS,
    EPS_FACTORS,
    LONG_COMMONS,
    Candidate,
    candidate_estimator,
    check_grid,
    make_candidates,
    make_penalties,
)
from skmtl.model_selection.search import CandidateScores, Run, TrainingSource, make_run
from skmtl.penalties import Independent
from skmtl.targets import TaskData

RULES = ("best", "1se")


class Selection(NamedTuple):
    """The candidates of a search, their scores, the number of the chosen one, and an estimator fitted with it."""

    candidates: list[Candidate]
    outcome: CandidateScores
    chosen: int
    best_estimator: Any


def select(search: Any, model: Any, data: TaskData, loss: Loss) -> Selection:
    """Score the candidates of a search on data, choose one, and fit it to all rows.

    ``search`` has the grids, ``cv``, ``scoring``, ``rule`` and ``n_jobs``; ``model`` is an estimator with all that is
    not searched over.
    """
    rule = check_rule(search.rule)
    run = make_run(model, data, loss, cv=search.cv, scoring=search.scoring, n_jobs=search.n_jobs)
    open_source = partial(TrainingSource, model, data, loss)
    candidates, outcome, source = _score_grid(search, data, open_source, run)
    index = choose(outcome, rule)
    best = candidates[index]
    source = source if best.gamma == source.gamma else open_source(best.gamma)
    return Selection(candidates, outcome, index, _fit_best(source, best))


def _score_grid(
    search: Any, data: TaskData, open_source: Callable[[float | None], TrainingSource], run: Run
) -> tuple[list[Candidate], CandidateScores, TrainingSource]:
    """The candidates, what became of them, and the source that was used last.

    First the kernel's gamma is chosen, with independent tasks, then the rest.
    """
    variants = make_penalties(search.penalty, search.mus, data.n_tasks)
    gammas = _gammas(search, data)
    eps_factors = check_grid("eps_factors", search.eps_factors, EPS_FACTORS, zero=False)
    commons = check_grid("commons", search.commons, LONG_COMMONS if data.labels.long else COMMONS)
    commons = commons if data.n_tasks > 1 else [0.0]
    source = open_source(gammas[0])
    alphas = check_grid("alphas", search.alphas, source.size() * ALPHAS, zero=False)
    grid = partial(make_candidates, alphas=alphas, eps_factors=eps_factors, commons=commons)
    if len(gammas) == 1:
        candidates = grid(variants, gamma=gammas[0])
        return candidates, run(source, candidates), source
    tried: list[Candidate] = []
    outcomes = []
    for gamma in gammas:
        candidates = grid(variants[:1], gamma=gamma)
        tried += candidates
        source = source if gamma == source.gamma else open_source(gamma)
        outcomes.append(run(source, candidates))
    gamma = tried[choose(CandidateScores.join(outcomes), "best")].gamma
    source = source if gamma == source.gamma else open_source(gamma)
    candidates = grid(variants[1:], gamma=gamma)
    if candidates:
        tried += candidates
        outcomes.append(run(source, candidates))
    return tried, CandidateScores.join(outcomes), source


def _gammas(search: Any, data: TaskData) -> list[float | None]:
    if search.gammas is None:
        return default_gammas(search.kernel, data.X)
    if "gamma" not in check_kernel(search.kernel).parameters:
        known = ", ".join(name for name, facts in KERNELS.items() if "gamma" in facts.parameters)
        raise ValueError(f"gammas was given, but kernel={search.kernel!r} has no gamma; kernels that do are {known}.")
    return list(check_grid("gammas", search.gammas, zero=False))


def _fit_best(source: TrainingSource, best: Candidate) -> Any:
    """The estimator of the best candidate, fitted to all rows."""
    training, settings = source.whole(), best.settings
    model = candidate_estimator(source.model, best)
    if settings.eps is None and settings.eps_factor != 1.0:
        model.set_params(eps=training.problem(settings).eps)
    settings = make_settings(model, source.data.n_tasks)
    solution = training.solve(settings, make_effort(model), callback=model.callback)
    return publish(model, training, settings, solution)


def check_rule(rule: Any) -> str:
    """A known rule."""
    if rule not in RULES:
        raise ValueError(f"rule={rule!r} is not known; choose one of {', '.join(RULES)}.")
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
    # For people: the penalty by its name, and beside it the parameters of its own.
    shown = [{**row, "penalty": c.penalty.name, **c.own} for row, c in zip(params, candidates, strict=True)]
    results: dict[str, Any] = {"params": params}
    for name in dict.fromkeys(name for row in shown for name in row):
        results[f"param_{name}"] = np.ma.masked_all(len(params), dtype=object)
        for i, row in enumerate(shown):
            if name in row:
                results[f"param_{name}"][i] = row[name]
    for k, scores in enumerate(outcome.scores.T):
        results[f"split{k}_test_score"] = scores
    results["mean_test_score"] = outcome.means
    with_nan = np.where(np.isnan(outcome.means), -np.inf, outcome.means)
    results["std_test_score"] = standard_error(outcome.scores) * np.sqrt(outcome.scores.shape[1])
    results["rank_test_score"] = np.array([1 + int(np.sum(with_nan > value)) for value in with_nan], dtype=np.int32)
    results["mean_edges"] = outcome.edges.mean(axis=1)
    return results


def describe_choice(candidates: Sequence[Candidate], outcome: CandidateScores, chosen: int, score: str) -> str:
    """Whether sharing won over independent tasks, as a sentence."""
    means = np.where(np.isnan(outcome.means), -np.inf, outcome.means)
    apart = np.array([candidate.independent for candidate in candidates])
    if apart.all():
        return f"There is nothing to share; independent tasks score {means[chosen]:.4g} ({score})."
    alone, shared = (int(np.argmax(np.where(which, means, -np.inf))) for which in (apart, ~apart))
    if apart[chosen]:
        rest = f"{means[shared]:.4g} of the best shared model ({_name(candidates[shared])})"
        if means[shared] > means[chosen]:
            return f"Independent tasks are taken: {score} {means[chosen]:.4g} is within one standard error of {rest}."
        return f"Independent tasks win: {score} {means[chosen]:.4g}, against {rest}. Sharing does not help here."
    if means[chosen] < means[alone]:
        return (
            f"A shared model is taken ({_name(candidates[chosen])}): {score} {means[chosen]:.4g} is within one "
            f"standard error of the best, but independent tasks have {means[alone]:.4g}."
        )
    wins = int(np.sum(outcome.scores[chosen] > outcome.scores[alone]))
    return (
        f"Sharing wins: {score} {means[chosen]:.4g} with {_name(candidates[chosen])}, against {means[alone]:.4g} "
        f"of independent tasks; better on {wins} of {outcome.scores.shape[1]} folds."
    )


def _name(candidate: Candidate) -> str:
    """What a candidate shares."""
    return "a common part" if candidate.penalty.name == Independent.name else candidate.penalty.name
