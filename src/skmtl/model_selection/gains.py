"""What a search gained, and by what: the kernel, the metric, strengths of the tasks' own, the graph."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from skmtl.model_selection.score_words import call_score
from skmtl.penalties import Independent

# What candidates may have besides, in the order in which a search tries it.
STEPS = ("kernel", "metric", "own strengths", "graph")
WORDS = {
    "metric": "scaling the features",
    "own strengths": "a strength of its own for each task",
    "graph": "the graph",
}


def describe_gains(search: Any, steps: Sequence[str] = STEPS, *, comparison: pd.DataFrame | None = None) -> str:
    """What each part of the model adds to the score of linear independent tasks, as a sentence.

    Parameters
    ----------
    search : MultiTaskRegressorCV or MultiTaskClassifierCV
        Fitted.
    steps : sequence of str, default=("kernel", "metric", "own strengths", "graph")
        Which parts are said.
    comparison : DataFrame, optional
        What :func:`compare_methods` found. Then the graph is the best of its methods, and what it adds is measured on
        rows that chose nothing.

    Returns
    -------
    str
        The best score without any of them, and what kernel, metric, strengths of the tasks' own and graph add to it,
        as far as they were tried, or that they add nothing; empty where there was one thing to try.

    See Also
    --------
    compare_methods : Measures the graph on rows that chose nothing.

    Notes
    -----
    Scores are those of the folds that also chose, and a maximum over many candidates flatters.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl import MultiTaskRegressorCV
    >>> from skmtl.model_selection import describe_gains
    >>> X = np.linspace(0.0, 6.0, 40)[:, None]
    >>> search = MultiTaskRegressorCV("independent", kernel=["linear", "rbf"], cv=3).fit(X[::-1], np.sin(X))
    >>> describe_gains(search).split(";")[1][:21]
    ' the rbf kernel adds '
    """
    results = search.cv_results_
    params = [_facts(row, search.best_estimator_) for row in results["params"]]
    means = np.where(np.isnan(results["mean_test_score"]), -np.inf, results["mean_test_score"])
    first = params[0]["kernel"]

    def best(allowed: Callable[[dict[str, Any]], bool]) -> tuple[float, Any]:
        scored = ((float(mean), one["kernel"]) for mean, one in zip(means, params, strict=True) if allowed(one))
        return max(scored, key=lambda pair: pair[0], default=(-np.inf, first))

    filters: dict[str, Callable[[dict[str, Any]], bool]] = {
        "kernel": lambda one: not (one["rounds"] or one["own"] or one["shared"]),
        "metric": lambda one: not (one["own"] or one["shared"]),
        "own strengths": lambda one: not one["shared"],
        "graph": lambda one: True,
    }
    start, at = best(lambda one: filters["kernel"](one) and one["kernel"] == first)
    tried = {"kernel": "kernel", "metric": "rounds", "own strengths": "own", "graph": "shared"}
    gained, idle, last, scaled = list[str](), list[str](), start, False
    for name in STEPS if comparison is None else STEPS[:-1]:
        now, kernel = best(filters[name])
        if name in steps and len({str(one[tried[name]]) for one in params}) > 1:
            if now > last:
                gained.append(f"{_called(name, kernel, at)} adds {_amount(now - last)}")
            else:
                idle.append(_idle(name, first, search.best_estimator_))
        scaled |= name == "metric" and now > last
        last, at = now, kernel if now > last else at
    gained += [] if comparison is None else [_best_method(comparison)]
    if not (gained or idle) or not np.isfinite(start):
        return ""
    score = f"{call_score(search.scoring_)} is {start:z.3f}"
    apart = " with independent tasks" if len(search.task_names_) > 1 else ""
    parts = [f"In the search {score} for the {first} kernel{apart}"]
    parts += [", ".join(gained)] if gained else []
    parts += [f"nothing is gained by {_listed(idle)}"] if idle else []
    if {*steps} >= {*STEPS[:-1]} and (comparison is not None or "graph" not in steps):
        # What the graph adds is not said, and may have decided all the same.
        shared, alone = params[int(np.argmax(means))], best(filters["own strengths"])
        parts += _best_shared(shared, alone[1], scaled=scaled) if means.max() > alone[0] else []
    return f"{'; '.join(parts)}."


def _best_shared(shared: dict[str, Any], kernel: Any, *, scaled: bool) -> list[str]:
    """With what tasks share best, where that is not the kernel that is best without, or features are not scaled."""
    unscaled = scaled and not shared["rounds"]
    if shared["kernel"] == kernel and not unscaled:
        return []
    return [f"where tasks share, the {shared['kernel']} kernel{' on unscaled features' if unscaled else ''} is best"]


def _best_method(comparison: pd.DataFrame) -> str:
    """The method with the best score of all tasks together, and its difference from independent tasks."""
    # The last row of every method is that of all tasks.
    whole = comparison.groupby("method", sort=False)["difference"].last()
    what = "adds" if whole.max() >= 0.0 else "takes"
    return f"the graph ({whole.idxmax()}, on rows that chose nothing) {what} {_amount(abs(whole.max()))}"


def _amount(gain: float) -> str:
    """A gain with three decimals; one that these do not show is small."""
    return f"{gain:.3f}" if gain >= 0.0005 else "less than 0.001"


def _listed(names: Sequence[str]) -> str:
    return " or ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])


def _facts(row: dict[str, Any], best: Any) -> dict[str, Any]:
    """What a candidate consists of; what all candidates have alike is read off the best one."""
    penalty = row["penalty"]
    apart = penalty.name == Independent.name
    return {
        "kernel": row.get("kernel", best.kernel),
        "rounds": row.get("metric_rounds", best.metric_rounds),
        "own": apart and penalty.get_params()["strengths"] is not None,
        "shared": not apart or row["common"] > 0.0,
    }


def _called(name: str, kernel: Any, before: Any) -> str:
    """A step in words, and with which kernel it gains, where that is another one than before."""
    if name == "kernel":
        return f"the {kernel} kernel"
    return WORDS[name] if kernel == before else f"{WORDS[name]} with the {kernel} kernel"


def _idle(name: str, first: Any, best: Any) -> str:
    """A step that gains nothing; with a later step it may gain, and be used."""
    if name == "kernel":
        return "other kernels" if best.kernel == first else "other kernels alone"
    return f"{WORDS[name]} alone" if name == "metric" and best.metric_rounds else WORDS[name]
