"""Whether sharing helps, in one sentence that is made of one paired comparison, wherever somebody asks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from skmtl._linalg import Array
from skmtl.model_selection.score_words import call_score
from skmtl.penalties import Independent

ALL_TASKS = "(all tasks)"
HELPS, HURTS, CLOSE, WORSE = "helps", "hurts", "too close to call", "no better than a constant"
UNCHANGED, ALONE, NOT_JUDGED = "changes nothing", "nothing is shared", "not judged"
OPENINGS = {
    HELPS: "Sharing helps",
    HURTS: "Sharing hurts",
    CLOSE: "Too close to call",
    UNCHANGED: "Sharing changes next to nothing",
}
COMMON = "a common part"
PASSED_OVER = ", the sparsest within one standard error of the best"
LEVEL = 0.95
FEWEST_DECIMALS, MOST_DECIMALS = 3, 6
# Scores that differ by less than this share of them are the same: so little comes of the order of additions.
ROUNDING = 1e-6
# A difference that is surely smaller than this share of the score is none to speak of, whatever its unit.
UNSEEN = 5e-4


@dataclass(frozen=True)
class PairedScores:
    """Mean scores of a shared model, of independent tasks and of a constant on the same folds; more is better.

    ``difference`` is that of the first two, with its interval; ``constant`` is None where the score has none.
    """

    method: str
    scoring: str
    score: float
    independent: float
    constant: float | None
    difference: float
    low: float
    high: float

    @property
    def word(self) -> str:
        """What the interval says about sharing."""
        return judge_interval(self.low, self.high, self.score, self.independent)


def judge_interval(low: float, high: float, score: float, independent: float) -> str:
    """What an interval of the gain by sharing says; where there is no gain and no loss to speak of, that.

    A single fold has no interval, and the two scores say whether they are the same.
    """
    unseen = max(abs(low), abs(high)) < UNSEEN * max(abs(score), abs(independent))
    if unseen or are_same(low, high, score, independent):
        return UNCHANGED
    if low > 0.0 or high < 0.0:
        return HELPS if low > 0.0 else HURTS
    return CLOSE


def are_same(low: float, high: float, score: float, independent: float) -> bool:
    """Whether two models have the same scores on every fold, but for rounding."""
    ends = [abs(end) for end in (low, high, score - independent) if math.isfinite(end)]
    return bool(ends) and max(ends) <= ROUNDING * max(abs(score), abs(independent))


def method_name(penalty: str, common: float) -> str:
    """What a model shares, by name."""
    return COMMON if penalty == Independent.name and common > 0.0 else penalty


def describe_verdict(paired: PairedScores, *, kept: str | None = None, note: str = "") -> str:
    """The sentence; ``kept`` is the method of the model that is kept, or None where there is none.

    ``note``, where it is given, says why that one.
    """
    said, scoring = _Numbers(paired), call_score(paired.scoring)
    ours = paired.independent if kept == Independent.name else paired.score
    if kept is None:
        ours = max(ours, paired.independent)
    if paired.constant is not None and ours <= paired.constant:
        said = _Numbers(paired, ours - paired.constant)
        worse = "Worse than a constant" if ours < paired.constant else "No better than a constant"
        return (
            f"{worse}: {scoring} is {said(paired.score)} with {paired.method} and {said(paired.independent)} "
            f"with independent tasks, but {said(paired.constant)} for the same prediction at every row."
        )
    against = "" if paired.constant is None else f"; a constant has {said(paired.constant)}"
    saved = "" if kept is None else f" The model that is kept {'has' if kept == COMMON else 'is'} {kept}{note}."
    if are_same(paired.low, paired.high, paired.score, paired.independent):
        same = f"both have {scoring} {said(paired.score)}{against}.{saved}"
        return f"Sharing changes nothing: {paired.method} and independent tasks agree on every fold, {same}"
    return (
        f"{OPENINGS[paired.word]}: {scoring} is {said(paired.score)} with {paired.method} and "
        f"{said(paired.independent)} with independent tasks, {_difference(paired, said)}{against}.{saved}"
    )


def describe_alone(scoring: str, score: float, constant: float | None, n_tasks: int) -> str:
    """The sentence where there is nothing to compare with, and why."""
    one, apart = "There is one task and nothing to share", "Tasks are independent, and nothing is shared"
    reason, scoring = one if n_tasks == 1 else apart, call_score(scoring)
    if constant is None:
        return f"{reason}: {scoring} is {score:z.3f}."
    if score <= constant:
        worse = "Worse than a constant" if score < constant else "No better than a constant"
        k = count_decimals(score - constant)
        rest = f"{scoring} is {score:z.{k}f}, but {constant:z.{k}f} for the same prediction at every row"
        return f"{worse}: {rest}. {reason}."
    return f"{reason}: {scoring} is {score:z.3f}; a constant has {constant:z.3f}."


def _difference(paired: PairedScores, said: "_Numbers") -> str:
    if not (math.isfinite(paired.low) and math.isfinite(paired.high)):
        return f"a difference of {said.signed(paired.difference)} on a single fold, which has no interval"
    if paired.word == UNCHANGED:
        return f"a difference within ±{_round_up(max(abs(paired.low), abs(paired.high)))}"
    interval = f"[{said.signed(paired.low)}, {said.signed(paired.high)}]"
    return f"a difference of {said.signed(paired.difference)} {interval}"


def _round_up(size: float) -> str:
    """A bound that stays one, with few digits."""
    decimals = count_decimals(size)
    return f"{math.ceil(size * 10.0**decimals) / 10.0**decimals:.{decimals}f}"


def count_decimals(*values: float) -> int:
    """With so many decimals none of these values looks like zero that is not."""
    sizes: Sequence[float] = [abs(value) for value in values if value and math.isfinite(value)]
    wanted = max([math.ceil(-math.log10(size)) for size in sizes], default=0)
    return min(max(wanted, FEWEST_DECIMALS), MOST_DECIMALS)


def telling_end(word: str, low: float, high: float) -> float:
    """The end of an interval that must not look like zero: the one next to it where it decides, else the other."""
    if word == UNCHANGED:
        return 0.0
    return min(low, high, key=abs) if word in (HELPS, HURTS) else max(low, high, key=abs)


def signed(value: float, decimals: int) -> str:
    """A number with its sign; what is rounded to zero has none."""
    text = f"{value:+z.{decimals}f}"
    return text.lstrip("+") if float(text) == 0.0 else text


class _Numbers:
    """Writes scores with three decimals, or more where the verdict, or that a difference is right, needs more."""

    def __init__(self, paired: PairedScores, *others: float) -> None:
        told = telling_end(paired.word, paired.low, paired.high)
        # Without an interval there is only the difference to tell.
        told = told if math.isfinite(told) else paired.difference if _shows(paired.difference) else 0.0
        fewest = count_decimals(told, *others)
        enough = (k for k in range(fewest, MOST_DECIMALS) if _adds_up(paired, k))
        self.decimals = next(enough, fewest)

    def __call__(self, value: float) -> str:
        return f"{value:z.{self.decimals}f}"

    def signed(self, value: float) -> str:
        """The same with its sign."""
        return signed(value, self.decimals)


def _adds_up(paired: PairedScores, decimals: int) -> bool:
    """Whether the difference is that of the two scores as they are written."""
    score, alone, difference = (round(one, decimals) for one in (paired.score, paired.independent, paired.difference))
    return abs(score - alone - difference) < 0.5 * 10.0**-decimals


def _shows(difference: float) -> bool:
    """Whether as many decimals as there may be show a difference."""
    return abs(difference) >= 0.5 * 10.0**-MOST_DECIMALS


def paired_interval(differences: Array, ratio: float, level: float) -> tuple[Array, Array]:
    """The interval of the mean of each column over folds that share training rows; all numbers for a single fold.

    ``ratio`` is the number of test rows to that of training rows: folds are not independent, and the variance of
    their mean is (1/K + ratio) times that of one.
    """
    known = ~np.isnan(differences)
    count = known.sum(axis=0)
    mean = column_means(differences)
    squares = np.where(known, (differences - mean) ** 2, 0.0).sum(axis=0)
    variance = squares / np.maximum(count - 1, 1) * (1.0 / np.maximum(count, 1) + ratio)
    quantile = stats.t.ppf(0.5 + 0.5 * level, np.maximum(count - 1, 1))
    width = np.where(count > 1, quantile * np.sqrt(variance), np.inf)
    return mean - width, mean + width


def column_means(values: Array) -> Array:
    """Means over the folds where a score is defined; NaN where there is none."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.divide(total, count, out=np.full(values.shape[1], np.nan), where=count > 0)


def describe_choice(search: Any) -> str:
    """Whether sharing helps, and which model is kept, as a sentence made of what a search publishes."""
    results, chosen, scoring = search.cv_results_, search.best_index_, search.scoring_
    means = np.where(np.isnan(results["mean_test_score"]), -np.inf, results["mean_test_score"])
    shares = list(zip(results["param_penalty"], results["param_common"], strict=True))
    apart = np.array([penalty == Independent.name and common == 0.0 for penalty, common in shares])
    if apart.all():
        return describe_alone(scoring, search.best_score_, search.constant_score_, len(search.task_names_))
    alone, shared = (_best(means, which, chosen) for which in (apart, ~apart))
    note = PASSED_OVER if search.rule == "1se" and means[chosen] < means.max() else ""
    return describe_verdict(_pair(search, shared, alone), kept=method_name(*shares[chosen]), note=note)


def _best(means: Array, which: Any, chosen: int) -> int:
    """The chosen candidate, if it is one of these, else the best of them."""
    return chosen if which[chosen] else int(np.argmax(np.where(which, means, -np.inf)))


def _pair(search: Any, shared: int, alone: int) -> PairedScores:
    """Two candidates of a search on the same folds."""
    results = search.cv_results_
    folds = [scores for name, scores in results.items() if name.startswith("split")]
    differences = np.array([scores[shared] - scores[alone] for scores in folds])
    score, independent = (float(results["mean_test_score"][k]) for k in (shared, alone))
    low, high = paired_interval(differences[:, None], search.test_share_, LEVEL)
    # Leaving one out has a score of all rows, which need not be the mean of the groups': the interval is about both.
    shift = score - independent - float(np.nanmean(differences))
    return PairedScores(
        method=method_name(results["param_penalty"][shared], results["param_common"][shared]),
        scoring=search.scoring_,
        score=score,
        independent=independent,
        constant=search.constant_score_,
        difference=score - independent,
        low=float(low[0]) + min(shift, 0.0),
        high=float(high[0]) + max(shift, 0.0),
    )
