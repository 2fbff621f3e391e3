"""Which tasks are related, in words. A sentence is a list of text and of task numbers, which stand for names."""

from typing import Any

from skmtl.model_selection.verdict import COMMON
from skmtl.penalties import Independent
from skmtl.report.graphs import STABLE

Sentence = list[str | int]

# Models without relations of pairs.
APART = {
    Independent.name: "keeps its tasks independent",
    COMMON: "has a part common to all tasks, and no relations of pairs",
}
# Tasks that a sentence in the terminal names.
MOST_NAMED = 5
HALVES = "found related on more than nine tenths of random halves of the rows"


def describe_related(summary: dict[str, Any]) -> Sentence:
    """Which tasks are related, and what the model does with that."""
    if len(summary["tasks"]) == 1:
        # Where the task was judged, the verdict says the same.
        return ["There is one task, so there is nothing to relate."] if summary["comparison"] is None else []
    able = able_tasks(summary)
    if len(able) < 2:
        return ["No task is called related to another, ", *describe_unable(able), "."]
    first, n_pairs = summary["graphs"][0], count_pairs(len(able))
    two: Sentence = [able[0], " and ", able[1]]
    two = two if len(able) < len(summary["tasks"]) else ["The two tasks, ", *two, ","]
    stable = first["kind"] == STABLE
    relations = [one for one in first["relations"] if not one.get("moot")]
    found = HALVES if stable else "related in the model"
    rest = [*_left_out(weak_tasks(summary), unjudged_tasks(summary)), *([_used(summary)] if stable else [])]
    if not relations:
        if n_pairs == 1:
            why = f", but on {_able_share(summary)} of them" if stable else _why_none(summary)
            return [*two, f" are not {found}{why}.", *rest]
        nearest: Sentence = describe_nearest(summary) if stable else [_why_none(summary)]
        return [f"None of the {n_pairs:,} pairs of tasks is {found}", *nearest, ".", *rest]
    if tells_nothing(summary):
        return [f"All {n_pairs:,} pairs of tasks are {found}: these tasks are so alike that no pair stands out.", *rest]
    strongest = relations[0]
    sign = "positive" if strongest["weight"] > 0 else "negative"
    if n_pairs == 1:
        how = _how_signed(summary, sign) if stable and first["mu"] == 1.0 else f"{found}, with a {sign} weight"
        return [*two, f" are {how}.", *rest]
    pair: Sentence = [strongest["a"], " and ", strongest["b"], f", with a {sign} weight.", *rest]
    if len(relations) == 1:
        return [f"1 of {n_pairs:,} pairs of tasks is {found}: ", *pair]
    many = "All" if len(relations) == n_pairs else f"{len(relations):,} of"
    most = "steadiest" if stable else "strongest"
    return [f"{many} {n_pairs:,} pairs of tasks are {found}; the {most} relation is between ", *pair]


def _how_signed(summary: dict[str, Any], sign: str) -> str:
    """How two tasks are related at mu = 1, where any two are: only the sign of their weight can come back."""
    pair = _able_pairs(summary)[0]
    if pair["low"] * pair["high"] > 0.0:
        return f"related with a {sign} weight on more than nine tenths of random halves of the rows"
    return "related now with a positive, now with a negative weight on random halves of the rows, which says nothing"


def count_pairs(n_tasks: int) -> int:
    """How many pairs there are of so many tasks."""
    return n_tasks * (n_tasks - 1) // 2


def able_tasks(summary: dict[str, Any]) -> list[int]:
    """The tasks that are predicted clearly better than by a constant, as far as was measured."""
    return [i for i, task in enumerate(summary["tasks"]) if task["predictable"]]


def _able_pairs(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """How often these tasks are found related, pair by pair, the steadiest first."""
    able = set(able_tasks(summary))
    return [row for row in summary["stability"] if {row["a"], row["b"]} <= able]


def _able_share(summary: dict[str, Any]) -> str:
    """On how many of the halves the steadiest pair of them is found related."""
    share = max((row["frequency"] for row in _able_pairs(summary)), default=0.0)
    return f"{share:.0%}" if share else "none"


def describe_unable(able: list[int]) -> Sentence:
    """Why no two tasks are called related, where no more than one is predicted."""
    which: Sentence = ["only ", able[0]] if able else ["no task"]
    return ["for ", *which, " is predicted clearly better than by a constant"]


def describe_nearest(summary: dict[str, Any]) -> Sentence:
    """Of a stable graph without a relation, which pair comes nearest to one, or why none may."""
    able = able_tasks(summary)
    if len(able) < 2:
        return [", ", *describe_unable(able)]
    for one in _able_pairs(summary):
        return ["; ", one["a"], " and ", one["b"], f" come nearest, with {one['frequency']:.0%} of them"]
    return ["; not one is found on any half"]


def tells_nothing(summary: dict[str, Any]) -> bool:
    """Whether the stable graph joins all pairs, and every one of them as surely as the others."""
    graph = summary["graphs"][0]
    count = len(graph["relations"])
    if graph["kind"] != STABLE or not count == count_pairs(len(able_tasks(summary))) > 1:
        return False
    return (graph["bound"] or 0.0) >= count or all(one["frequency"] == 1.0 for one in graph["relations"])


def weak_tasks(summary: dict[str, Any]) -> list[int]:
    """The tasks for which no clear gain over a constant was seen."""
    return [i for i, task in enumerate(summary["tasks"]) if task.get("judged", True) and not task["predictable"]]


def unjudged_tasks(summary: dict[str, Any]) -> list[int]:
    """The tasks without a score; summaries of older versions have none."""
    return [i for i, task in enumerate(summary["tasks"]) if not task.get("judged", True)]


def describe_unjudged(names: list[str]) -> str:
    """Which tasks are not judged, and why; empty where all are."""
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    labels = "its labels" if len(names) == 1 else "the labels of each"
    listed = ", ".join(names[:MOST_NAMED])
    return f"Not judged, and left out of means: {listed}{more}; on the rows held out {labels} are all the same."


def _left_out(weak: list[int], unjudged: list[int]) -> Sentence:
    """How many tasks are not called related, or which one, and why."""
    reasons = ((weak, "for no clear gain over a constant was seen there"), (unjudged, "with labels all the same"))
    said: Sentence = []
    for tasks, why in reasons:
        if len(tasks) == 1:
            said += [" ", tasks[0], f" is left out of this, {why}."]
        elif tasks:
            said += [f" {len(tasks)} tasks are left out of this, {why}."]
    return said


def _used(summary: dict[str, Any]) -> str:
    """How many pairs the model joins to predict, of all tasks."""
    used, n_pairs = len(summary["relations"]), count_pairs(len(summary["tasks"]))
    if summary["method"] in APART:
        return f" The model that predicts {APART[summary['method']]}."
    if n_pairs == 1:
        return f" The model that predicts {'joins them' if used else 'does not join them'}."
    many = "all" if used == n_pairs else f"{used:,} of the" if used else "none of the"
    return f" The model that predicts joins {many} {n_pairs:,} pairs."


def _why_none(summary: dict[str, Any]) -> str:
    if summary["method"] in APART:
        return f", which {APART[summary['method']]}"
    if summary["mu"] is None:
        return ""
    return f": no correlation of two predictors exceeds the threshold {threshold(summary['mu'])}"


def threshold(mu: float) -> str:
    """The correlation beyond which tasks are joined."""
    return f"1 \N{MINUS SIGN} mu = {1.0 - mu:.3g}"
