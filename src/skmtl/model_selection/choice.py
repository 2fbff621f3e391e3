"""Which candidate to take, and what to say about it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skmtl._linalg import Array
from skmtl.model_selection.grid import Candidate
from skmtl.model_selection.search import Outcome
from skmtl.penalties import Independent

RULES = ("best", "1se")


def check_rule(rule: Any) -> str:
    """A known rule."""
    if rule not in RULES:
        raise ValueError(f"rule={rule!r} is not known; choose one of {', '.join(RULES)}.")
    return str(rule)


def choose(outcome: Outcome, rule: str) -> int:
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


def make_results(candidates: Sequence[Candidate], outcome: Outcome) -> dict[str, Any]:
    """The search as columns, a row per candidate, in the manner of ``GridSearchCV``."""
    params = [candidate.params() for candidate in candidates]
    results: dict[str, Any] = {"params": params}
    for name in dict.fromkeys(name for row in params for name in row):
        results[f"param_{name}"] = np.ma.masked_all(len(params), dtype=object)
        for i, row in enumerate(params):
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


def describe_choice(candidates: Sequence[Candidate], outcome: Outcome, chosen: int, score: str) -> str:
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
