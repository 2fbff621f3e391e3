"""Sentences about what was learned, what it is worth, and what to do next."""

from typing import Any

from skmtl.features import check_kernel
from skmtl.model_selection.verdict import CLOSE, HELPS, HURTS, UNCHANGED
from skmtl.penalties import StructurePenalty
from skmtl.report.graphs import STABLE
from skmtl.report.json_values import to_json, to_text
from skmtl.report.related import Sentence, tells_nothing, threshold, unjudged_tasks, weak_tasks

MEANINGS = {
    "penalty": "what relations between tasks cost, and so which are learned",
    "alpha": "strength of the regularization: the larger, the smoother the predictors",
    "eps": "keeps the structure away from singular matrices; large values lead to independent tasks",
    "common": "weight of a component that all tasks share; 0 is none",
    "loss": "how errors on the training rows are counted",
    "kernel": "how alike two rows are, and so which functions can be learned",
    "gamma": "inverse width of the kernel: the larger, the more local the predictors",
    "degree": "degree of the kernel's polynomials",
    "metric_rounds": "how often features were scaled by how much they matter; 0 is never",
    "metric_rule": "what says how much a feature matters: slopes, or how likely labels are, of all tasks or of each",
    "fit_intercept": "whether each task has a constant of its own, never penalized",
    "scale_targets": "whether tasks are brought to unit variance for the fit",
    "balance_tasks": "whether every task counts the same however many labels it has",
    "tol": "relative gap to the global optimum at which the solver stops",
}
# Tasks and pairs that a sentence names.
MOST_LISTED, MOST_PAIRS = 3, 2
# A gain of the score that would be worth having, if it is one.
NOTICED = 0.01
# The share of all slopes that the features that matter make up.
MOST_OF_IT = 0.9
# Parameters that only some kernels have.
OF_KERNELS = ("gamma", "degree")


def describe_next(summary: dict[str, Any]) -> Sentence:
    """What to do next; empty where nothing was measured."""
    compared = summary["comparison"]
    if compared is None or not compared["methods"]:
        return []
    weak, unjudged = weak_tasks(summary), unjudged_tasks(summary)
    if len(weak) + len(unjudged) == len(summary["tasks"]):
        return ["Next: look for other features or more rows before anything else."]
    clauses: list[Sentence] = []
    if unjudged:
        clauses.append(["leave out ", *_listed(unjudged), ", or get labels that differ"])
    if weak:
        clauses.append(["get more labels or other features for ", *_listed(weak)])
    clauses += _about_sharing(compared)
    first = summary["graphs"][0]
    if first["kind"] == STABLE and first["relations"] and not tells_nothing(summary):
        pairs = [[one["a"], " and ", one["b"]] for one in first["relations"][:MOST_PAIRS]]
        clauses.append(["look at ", *_joined(pairs, ", and at ")])
    return ["Next: ", *_joined(clauses, "; "), "."] if clauses else []


def _about_sharing(compared: dict[str, Any]) -> list[Sentence]:
    """What the verdict asks for."""
    overall = compared["methods"][compared["shown"]]["overall"]
    word = None if overall is None else overall["verdict"]
    apart = compared["kept"] == "independent"
    if word == HURTS and not apart:
        return [["try without sharing"]]
    if word == HELPS:
        return [[f"try sharing with {compared['methods'][compared['shown']]['method']}" if apart else "keep sharing"]]
    if word == CLOSE and not apart and (overall["difference"] or 0.0) > NOTICED:
        return [["get more rows, which would tell whether sharing helps"]]
    if word in (CLOSE, UNCHANGED) and not apart:
        as_well = "may do" if word == CLOSE else "does"
        return [[f"try without sharing, which is simpler and {as_well} as well"]]
    return []


def _listed(tasks: list[int]) -> Sentence:
    """Some of the tasks by name."""
    more = len(tasks) - MOST_LISTED
    names = _joined([[task] for task in tasks[:MOST_LISTED]], ", ")
    return names if more <= 0 else [*names, f" and {more} more"]


def _joined(parts: list[Sentence], between: str) -> Sentence:
    joined: Sentence = []
    for part in parts:
        joined += [between, *part] if joined else part
    return joined


def read_aloud(summary: dict[str, Any], sentence: Sentence) -> str:
    """A sentence as text, with the names of the tasks.

    Parameters
    ----------
    summary : dict
        What :func:`summarize` returns.
    sentence : list
        One of its sentences, such as ``summary["findings"][0]``.

    Returns
    -------
    str
        What one would say.

    See Also
    --------
    summarize : Makes the sentences.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.report import read_aloud, summarize
    >>> summary = summarize(MultiTaskRegressor(alpha=0.1).fit(*load_linnerud(return_X_y=True, as_frame=True)))
    >>> read_aloud(summary, summary["related"])[:16]
    'All 3 pairs of t'
    """
    return "".join(part if isinstance(part, str) else summary["tasks"][part]["name"] for part in sentence)


def describe_features(importances: list[dict[str, Any]]) -> str:
    """Which features matter, of rows with ``name`` and ``share``, the largest first."""
    total, needed = 0.0, 0
    while total < MOST_OF_IT and needed < len(importances):
        total, needed = total + importances[needed]["share"], needed + 1
    first, count = importances[0], len(importances)
    of_all = f"{count:,} feature{'s' if count != 1 else ''}"
    return (
        f"Of {of_all} {first['name']} matters most, with {first['share']:.0%} of how much predictions change; "
        f"{needed:,} of them {'make' if needed > 1 else 'makes'} up {MOST_OF_IT:.0%} or more."
    )


def describe_sharing(summary: dict[str, Any]) -> Sentence:
    """Whether sharing helps: the verdict, from the comparison or, without one, from the search."""
    if summary["comparison"] is not None:
        return [summary["comparison"]["verdict"]]
    if summary["selection"] is not None:
        return [summary["selection"]["verdict"]]
    return ["Whether sharing helps these tasks has not been measured; judge_model and compare_methods tell."]


def describe_proof(summary: dict[str, Any]) -> Sentence:
    """How far from the global optimum the fit can be, in words."""
    if summary["certificate"]["converged"]:
        return ["The calculation is finished: with these settings no other model fits the training rows better."]
    return ["The calculation stopped early: with these settings another model may fit the training rows better."]


def describe_parameters(params: dict[str, Any], penalty: StructurePenalty, eps: float) -> list[dict[str, Any]]:
    """The parameters of an estimator, each with its meaning; ``penalty`` and ``eps`` are those that were used."""
    given = {**params, "penalty": penalty.name, "eps": eps}
    own = [_parameter(name, value, _own_meaning(penalty, name)) for name, value in penalty.get_params().items()]
    rows = [_parameter(name, given[name], meaning) for name, meaning in MEANINGS.items() if name in given]
    taken = check_kernel(params["kernel"]).parameters
    rows = [row for row in rows if row["name"] not in OF_KERNELS or row["name"] in taken]
    if not params["metric_rounds"]:
        rows = [row for row in rows if row["name"] != "metric_rule"]
    return [*rows[:1], *(row for row in own if row["meaning"]), *rows[1:]]


def _parameter(name: str, value: Any, meaning: str) -> dict[str, Any]:
    simple = value is None or isinstance(value, bool | int | float | str)
    return {"name": name, "value": to_json(value) if simple else to_text(value), "meaning": meaning}


def _own_meaning(penalty: StructurePenalty, name: str) -> str:
    """The meaning of a penalty's own parameter; empty for those that only steer a solver."""
    if name == penalty.path_parameter:
        return (
            "a threshold on correlation: two tasks get an edge when their correlation exceeds "
            f"{threshold(penalty.get_params()[name])} in size; a pair that is explained by the tasks between them can "
            "stay apart"
        )
    return "" if name in ("solver", "max_iter", "matrix", "strengths") else "a parameter of the penalty"
