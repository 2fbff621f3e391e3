"""The verdict of a search: the best candidate that shares beside the best one that does not, on the search's folds."""

from typing import Any

import numpy as np

from skmtl._linalg import Array
from skmtl.model_selection.candidates import Candidate, CandidateScores
from skmtl.model_selection.held_out import paired_interval, score_constant, test_share
from skmtl.model_selection.scores import SCORES
from skmtl.model_selection.search import Selection
from skmtl.model_selection.verdict import PairedScores, describe_alone, describe_verdict, method_name
from skmtl.targets import TaskData

LEVEL = 0.95
PASSED_OVER = ", the sparsest within one standard error of the best"


def describe_choice(found: Selection, data: TaskData, scoring: str) -> str:
    """Whether sharing helps, and which model is kept, as a sentence."""
    candidates, outcome, chosen = found.candidates, found.outcome, found.chosen
    # After an interruption there are fewer folds than splits.
    splits = found.splits[: outcome.scores.shape[1]]
    constant = (
        score_constant(SCORES[scoring], data, splits)[:, -1] if scoring in SCORES else np.full(len(splits), np.nan)
    )
    average = None if np.isnan(constant).all() else float(np.nanmean(constant))
    apart = np.array([candidate.independent for candidate in candidates])
    if apart.all():
        reason = (
            "There is one task and nothing to share"
            if data.labels.n_tasks == 1
            else "Tasks are independent, and nothing is shared"
        )
        return describe_alone(scoring, float(outcome.means[chosen]), average, reason)
    means = np.where(np.isnan(outcome.means), -np.inf, outcome.means)
    alone, shared = (_best(means, which, chosen) for which in (apart, ~apart))
    kept = candidates[chosen]
    return describe_verdict(
        _pair(outcome, shared, alone, _name(candidates[shared]), scoring, average, test_share(splits)),
        kept=_name(kept),
        note=PASSED_OVER if means[chosen] < means.max() else "",
    )


def _best(means: Array, which: Any, chosen: int) -> int:
    """The chosen candidate, if it is one of these, else the best of them."""
    return chosen if which[chosen] else int(np.argmax(np.where(which, means, -np.inf)))


def _pair(
    outcome: CandidateScores, shared: int, alone: int, method: str, scoring: str, constant: float | None, ratio: float
) -> PairedScores:
    differences = outcome.scores[shared] - outcome.scores[alone]
    middle = float(outcome.means[shared] - outcome.means[alone])
    low, high = paired_interval(differences[:, None], ratio, LEVEL)
    # Leaving one out has a score of all rows, about which the interval of the groups is laid.
    shift = middle - float(np.nanmean(differences))
    return PairedScores(
        method=method,
        scoring=scoring,
        score=float(outcome.means[shared]),
        independent=float(outcome.means[alone]),
        constant=constant,
        difference=middle,
        low=float(low[0]) + shift,
        high=float(high[0]) + shift,
    )


def _name(candidate: Candidate) -> str:
    return method_name(candidate.penalty.name, candidate.settings.common)
