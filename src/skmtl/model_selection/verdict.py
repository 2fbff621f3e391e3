"""Whether sharing helps, in one sentence that is made of one paired comparison, wherever somebody asks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from skmtl.penalties import Independent

ALL_TASKS = "(all tasks)"
HELPS, HURTS, CLOSE, WORSE = "helps", "hurts", "too close to call", "no better than a constant"
ALONE = "nothing is shared"
OPENINGS = {HELPS: "Sharing helps", HURTS: "Sharing hurts", CLOSE: "Too close to call"}
FEWEST_DECIMALS, MOST_DECIMALS = 3, 6


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
        return judge_interval(self.low, self.high)


def judge_interval(low: float, high: float) -> str:
    """What an interval of the gain by sharing says."""
    return HELPS if low > 0.0 else HURTS if high < 0.0 else CLOSE


def method_name(penalty: str, common: float) -> str:
    """What a model shares, by name."""
    return "a common part" if penalty == Independent.name and common > 0.0 else penalty


def describe_verdict(paired: PairedScores, *, kept: str | None = None, note: str = "") -> str:
    """The sentence; ``kept`` is the method of the model that is kept, or None where there is none.

    ``note``, where it is given, says why that one.
    """
    said = _Numbers(paired)
    ours = paired.independent if kept == Independent.name else paired.score
    if kept is None:
        ours = max(ours, paired.independent)
    if paired.constant is not None and ours <= paired.constant:
        worse = "Worse than a constant" if ours < paired.constant else "No better than a constant"
        return (
            f"{worse}: {paired.scoring} is {said(paired.score)} with {paired.method} and {said(paired.independent)} "
            f"with independent tasks, but {said(paired.constant)} for the same prediction at every row."
        )
    against = "" if paired.constant is None else f"; a constant has {said(paired.constant)}"
    if paired.difference == paired.low == paired.high == 0.0:
        same = f"both have {paired.scoring} {said(paired.score)}{against}."
        return f"Sharing changes nothing: {paired.method} and independent tasks agree on every fold, {same}"
    saved = "" if kept is None else f" The model that is kept is {kept}{note}."
    return (
        f"{OPENINGS[paired.word]}: {paired.scoring} is {said(paired.score)} with {paired.method} and "
        f"{said(paired.independent)} with independent tasks, {_difference(paired, said)}{against}.{saved}"
    )


def describe_alone(scoring: str, score: float, constant: float | None, reason: str) -> str:
    """The sentence where there is nothing to compare with; ``reason`` says why."""
    if constant is None:
        return f"{reason}: {scoring} is {score:.3f}."
    if score <= constant:
        worse = "Worse than a constant" if score < constant else "No better than a constant"
        rest = f"{scoring} is {score:.3f}, but {constant:.3f} for the same prediction at every row"
        return f"{worse}: {rest}. {reason}."
    return f"{reason}: {scoring} is {score:.3f}; a constant has {constant:.3f}."


def describe_comparison(comparison: pd.DataFrame, method: str | None = None, *, kept: str | None = None) -> str:
    """The verdict of a comparison with independent tasks, in one sentence.

    Parameters
    ----------
    comparison : DataFrame
        What :func:`compare_methods` returns.
    method : str, optional
        Which of the methods compared; by default the first.
    kept : str, optional
        The method of a model that is kept, where the comparison judges one.

    Returns
    -------
    str
        It begins with "Sharing helps", "Sharing hurts" or "Too close to call", as the interval of the difference over
        all tasks says; with "Worse than a constant" where that is so, for then nothing else matters.

    See Also
    --------
    compare_methods : Makes the comparison.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressorCV, compare_methods
    >>> from skmtl.model_selection import describe_comparison
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> search = MultiTaskRegressorCV(alphas=[0.1, 1.0], mus=[0.9], cv=3)
    >>> describe_comparison(compare_methods(X, Y, ["sparse"], estimator=search, cv=3))[:22]
    'Worse than a constant:'
    """
    known = list(dict.fromkeys(comparison["method"]))
    name = known[0] if method is None else method
    if name not in known:
        raise ValueError(f"method={name!r} was not compared; choose one of {', '.join(map(str, known))}.")
    rows = comparison[comparison["method"] == name]
    row: dict[Any, Any] = rows[rows["task"] == ALL_TASKS].iloc[0].to_dict()
    scoring, constant = str(row["scoring"]), _known(row["constant"])
    if name == Independent.name:
        return describe_alone(scoring, row["score"], constant, "Tasks are independent, and nothing is shared")
    return describe_verdict(_paired(row, constant), kept=kept)


def _paired(row: dict[Any, Any], constant: float | None) -> PairedScores:
    numbers = {name: float(row[name]) for name in ("score", "independent", "difference", "low", "high")}
    return PairedScores(str(row["method"]), str(row["scoring"]), constant=constant, **numbers)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _difference(paired: PairedScores, said: "_Numbers") -> str:
    if not (math.isfinite(paired.low) and math.isfinite(paired.high)):
        return f"a difference of {said.signed(paired.difference)} on a single fold, which has no interval"
    interval = f"[{said.signed(paired.low)}, {said.signed(paired.high)}]"
    return f"a difference of {said.signed(paired.difference)} {interval}"


class _Numbers:
    """Writes scores with so many decimals that those which differ look different."""

    def __init__(self, paired: PairedScores) -> None:
        sizes: Sequence[float] = [abs(value) for value in (paired.difference,) if value and math.isfinite(value)]
        wanted = max([math.ceil(-math.log10(size)) for size in sizes], default=0)
        self.decimals = min(max(wanted, FEWEST_DECIMALS), MOST_DECIMALS)

    def __call__(self, value: float) -> str:
        return f"{value:.{self.decimals}f}"

    def signed(self, value: float) -> str:
        """The same with its sign."""
        return f"{value:+.{self.decimals}f}"
