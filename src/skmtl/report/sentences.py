"""Sentences about what was learned. A sentence is a list of text and of task numbers, which stand for names."""

from typing import Any

from skmtl.features import check_kernel
from skmtl.penalties import StructurePenalty
from skmtl.report.json_values import to_json, to_text
from skmtl.report.numbers import format_number

Sentence = list[str | int]

MEANINGS = {
    "penalty": "what relations between tasks cost, and so which are learned",
    "alpha": "strength of the regularization: the larger, the smoother the predictors",
    "eps": "keeps the structure away from singular matrices; large values lead to independent tasks",
    "common": "weight of a component that all tasks share; 0 is none",
    "loss": "how errors on the training rows are counted",
    "kernel": "how alike two rows are, and so which functions can be learned",
    "gamma": "inverse width of the kernel: the larger, the more local the predictors",
    "degree": "degree of the kernel's polynomials",
    "metric_rounds": "how often features were scaled by how much the predictors change along them; 0 is never",
    "fit_intercept": "whether each task has a constant of its own, never penalized",
    "scale_targets": "whether tasks are brought to unit variance for the fit",
    "balance_tasks": "whether every task counts the same however many labels it has",
    "tol": "relative gap to the global optimum at which the solver stops",
}
# The share of all slopes that the features that matter make up.
MOST_OF_IT = 0.9
# Parameters that only some kernels have.
OF_KERNELS = ("gamma", "degree")


def describe_relations(summary: dict[str, Any]) -> Sentence:
    """Which tasks are related."""
    n_tasks, relations = len(summary["tasks"]), summary["relations"]
    n_pairs = n_tasks * (n_tasks - 1) // 2
    if not n_pairs:
        return ["There is one task, so there is nothing to relate."]
    if not relations:
        return [f"None of the {n_pairs} pairs of tasks {_why_none(summary)}."]
    many = "All" if len(relations) == n_pairs > 1 else f"{len(relations)} of"
    strongest = relations[0]
    together = "move together" if strongest["weight"] > 0 else "move in opposite directions"
    return [
        f"{many} {_count(n_pairs, 'pair')} of tasks {'are' if len(relations) != 1 else 'is'} related"
        f"{_groups(summary)}; the strongest relation is between ",
        strongest["a"],
        " and ",
        strongest["b"],
        f", which {together} (correlation {format_number(strongest['correlation'], form='.2f')}).",
    ]


def _why_none(summary: dict[str, Any]) -> str:
    if summary["penalty"] == "independent":
        return "is related, for this model keeps its tasks independent"
    if summary["mu"] is None:
        return "is related"
    return f"is related: no correlation of two predictors exceeds the threshold {threshold(summary['mu'])}"


def _groups(summary: dict[str, Any]) -> str:
    alone = sum(task["group"] < 0 for task in summary["tasks"])
    text = f", in {_count(summary['n_groups'], 'group')}" if summary["n_groups"] > 1 else ""
    return text + (f", and {_count(alone, 'task')} {'stand' if alone > 1 else 'stands'} alone" if alone else "")


def describe_features(importances: list[dict[str, Any]]) -> str:
    """Which features matter, of rows with ``name`` and ``share``, the largest first."""
    total, needed = 0.0, 0
    while total < MOST_OF_IT and needed < len(importances):
        total, needed = total + importances[needed]["share"], needed + 1
    first = importances[0]
    return (
        f"Of {_count(len(importances), 'feature')} {first['name']} matters most, with {first['share']:.0%} of how much "
        f"the predictors change; {needed} of them {'make' if needed > 1 else 'makes'} up {MOST_OF_IT:.0%} or more."
    )


def describe_sharing(summary: dict[str, Any]) -> Sentence:
    """Whether sharing helps."""
    if summary["comparison"] is not None and summary["comparison"]["methods"]:
        return [_compared(summary["comparison"]["methods"][summary["comparison"]["shown"]])]
    if summary["selection"] is not None:
        chosen = summary["selection"]
        return [f"In cross-validation: {chosen['verdict']}", *([f" {chosen['gains']}"] if chosen["gains"] else [])]
    return ["Whether sharing helps these tasks has not been measured; compare_methods tells."]


def _compared(method: dict[str, Any]) -> str:
    verdicts = [row["verdict"] for row in method["tasks"]]
    helps, hurts, rest = (verdicts.count(verdict) for verdict in ("helps", "hurts", "no evidence"))
    text = f"Measured against independent tasks on held-out rows, the method {method['method']} "
    if all(row["difference"] == 0.0 for row in method["tasks"]):
        return text + "does just as well, for it chose independent tasks whenever it was free to."
    if rest == len(verdicts):
        text += f"shows no evidence of a difference on any single one of {_count(rest, 'task')}"
    else:
        text += f"helps {helps} of {_count(len(verdicts), 'task')} and hurts {hurts}"
        text += f"; for the other {rest} there is no evidence" if rest else ""
    overall = method["overall"]
    if overall is None or overall["difference"] is None:
        return text + "."
    change = format_number(overall["difference"], form="+.2g")
    return f"{text}; over all tasks the score changes by {change} ({overall['verdict']})."


def describe_proof(summary: dict[str, Any]) -> Sentence:
    """How far from the global optimum the fit can be."""
    certificate = summary["certificate"]
    unfinished = "" if certificate["converged"] else " The solver stopped before it reached its tolerance."
    return [certificate["words"] + unfinished]


def describe_parameters(params: dict[str, Any], penalty: StructurePenalty, eps: float) -> list[dict[str, Any]]:
    """The parameters of an estimator, each with its meaning; ``penalty`` and ``eps`` are those that were used."""
    given = {**params, "penalty": penalty.name, "eps": eps}
    own = [_parameter(name, value, _own_meaning(penalty, name)) for name, value in penalty.get_params().items()]
    rows = [_parameter(name, given[name], meaning) for name, meaning in MEANINGS.items() if name in given]
    taken = check_kernel(params["kernel"]).parameters
    rows = [row for row in rows if row["name"] not in OF_KERNELS or row["name"] in taken]
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


def threshold(mu: float) -> str:
    """The correlation beyond which tasks are joined."""
    return f"1 \N{MINUS SIGN} mu = {1.0 - mu:.3g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
