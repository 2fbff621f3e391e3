"""The report as one HTML page that needs nothing but a browser: no network, no other file."""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from skmtl._validation import import_extra
from skmtl.model_selection.readable import MAX_FALSE
from skmtl.model_selection.score_words import call_score
from skmtl.model_selection.stability import edges_allowed
from skmtl.plotting.names import cut, split_name, tell_apart
from skmtl.report.intervals import interval_charts
from skmtl.report.numbers import FILTERS
from skmtl.report.pictures import draw_graph, draw_matrix, draw_path, draw_predictions, shown_matrix
from skmtl.report.related import able_tasks, describe_nearest, describe_unjudged, unjudged_tasks, weak_tasks

# The parts of the script, in this order, make one function.
SCRIPT = ("base", "graph", "matrix", "charts", "tables", "start")
DIGITS = 5
MOST_ROWS, WIDEST_TABLE, MOST_FEATURES = 300, 30, 30
# From so many tasks on only the strongest relations are drawn, this many for each task.
MANY_TASKS, EDGES_PER_TASK = 60, 2
# Up to so many tasks the bound on false relations leaves little room, which is said where none is found.
FEW_TASKS = 5
# Pictures of predictions that are seen at once; the rest unfolds.
FIRST_SCATTERS = 12
# Tasks that are listed by name; more unfold.
MOST_LISTED = 24
# Letters of a name in the graph, and in ever smaller places.
LABEL, SMALLER = 22, (16, 12, 10)
# What ends a script element, starts a comment in it, or ends a line of JavaScript.
ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def render(summary: dict[str, Any]) -> str:
    """A page of HTML that shows a summary.

    Parameters
    ----------
    summary : dict
        What :func:`summarize` returns.

    Returns
    -------
    str
        A whole document. It loads nothing, and nothing in the names of tasks is taken for markup.

    See Also
    --------
    summarize : Makes the summary.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.report import render, summarize
    >>> est = MultiTaskRegressor(alpha=0.1).fit(*load_linnerud(return_X_y=True, as_frame=True))
    >>> "<!doctype html>" in render(summarize(est))
    True
    """
    jinja2 = import_extra("jinja2")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(FILTERS, split=split_name)
    # Ours, not a user's: the page allows this script and this style and no other, by their hashes.
    script = "(() => {\n" + "\n".join(_asset(f"{part}.js") for part in SCRIPT) + "})();"
    style = _asset("page.css")
    markup = import_extra("markupsafe").Markup
    names = [task["name"] for task in summary["tasks"]]
    labels = tell_apart(names, LABEL)
    return environment.from_string(_asset("page.html")).render(
        summary=summary,
        views=[_view(summary, graph, markup) for graph in summary["graphs"]],
        nearest=describe_nearest(summary) if summary["stability"] is not None else [],
        n_able=len(able_tasks(summary)),
        mark=_mark(summary),
        few_tasks=FEW_TASKS,
        room=round(edges_allowed(MAX_FALSE, len(summary["tasks"])), 1),
        common=any(row["name"] == "common" and row["value"] for row in summary["parameters"]),
        weak=weak_tasks(summary),
        unjudged=unjudged_tasks(summary),
        grey=_has_grey(summary),
        not_judged=describe_unjudged([summary["tasks"][i]["name"] for i in unjudged_tasks(summary)]),
        matrix=markup(draw_matrix(summary)),
        limit=_largest(summary[shown_matrix(summary)]),
        path_picture=markup(draw_path(summary["path"])) if summary["path"] else "",
        scatters=_scatters(summary, markup),
        first_scatters=FIRST_SCATTERS,
        most_listed=MOST_LISTED,
        long_names=[(one, name) for one, name in zip(labels, names, strict=True) if len(name) > LABEL],
        alike=_alike(names),
        most_rows=MOST_ROWS,
        most_features=MOST_FEATURES,
        widest_table=WIDEST_TABLE,
        forests=[_forest(method) for method in (summary["comparison"] or {"methods": []})["methods"]],
        interval_charts=interval_charts(summary.get("intervals")),
        script=markup(script),
        style=markup(style),
        script_hash=_hash(script),
        style_hash=_hash(style),
        data=markup(embed(_page_data(summary))),
    )


def _mark(summary: dict[str, Any]) -> str:
    """What stands between names in a list: a semicolon where some of them have commas."""
    lists = [value for value in summary["about"].values() if isinstance(value, list)]
    names = [task["name"] for task in summary["tasks"]] + [str(item) for value in lists for item in value]
    return ";" if any("," in name for name in names) else ","


def _has_grey(summary: dict[str, Any]) -> bool:
    """Whether the table of stability has pairs of tasks that are not called related."""
    able = set(able_tasks(summary))
    return any(not {row["a"], row["b"]} <= able for row in (summary["stability"] or [])[:MOST_ROWS])


def _alike(names: list[str]) -> dict[int, str]:
    """Labels of the tasks whose names would look like that of another where there is little room, by number."""
    labels = enumerate(zip(tell_apart(names), tell_apart(names, LABEL), names, strict=True))
    return {i: label for i, (short, label, name) in labels if short != cut(name)}


def embed(data: Any) -> str:
    """JSON that can stand inside a script element."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).translate(ESCAPES)


def _asset(name: str) -> str:
    return files("skmtl.report").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _largest(matrix: list[list[float]]) -> float:
    """The size of the largest entry off the diagonal; 1 where there is none."""
    return max((abs(value) for i, row in enumerate(matrix) for value in row[:i]), default=0.0) or 1.0


def _view(summary: dict[str, Any], graph: dict[str, Any], markup: Any) -> dict[str, Any]:
    """A graph with its picture, and what is said about it."""
    drawn, order, groups = _drawn(summary, graph), graph["order"], graph["groups"]
    # A file may promise more groups than it has tasks.
    n_groups = min(graph["n_groups"], len(order))
    return {
        **graph,
        "n_drawn": len(drawn),
        "picture": markup(draw_graph(summary, graph, drawn)),
        "members": [[i for i in order if groups[i] == k] for k in range(n_groups)],
        "counted": any("frequency" in one for one in graph["relations"]),
        "alone": [i for i in order if groups[i] < 0 and summary["tasks"][i]["predictable"]],
    }


def _drawn(summary: dict[str, Any], graph: dict[str, Any]) -> list[dict[str, Any]]:
    """The relations that are drawn: of many tasks the strongest."""
    n_tasks, strongest = len(summary["tasks"]), sorted(graph["relations"], key=lambda one: -abs(one["weight"]))
    return strongest[: EDGES_PER_TASK * n_tasks] if n_tasks >= MANY_TASKS else strongest


def _scatters(summary: dict[str, Any], markup: Any) -> list[dict[str, Any]]:
    classes, compared = summary["kind"] == "classification", summary["comparison"]
    rows = compared["methods"][compared["shown"]]["tasks"] if compared else []
    of_kept = "independent" if compared and compared["kept"] == "independent" else "score"
    scores = {row["task"]: row[of_kept] for row in rows}
    return [
        {**one, "score": scores.get(one["task"]), "picture": markup(draw_predictions(one, classes=classes))}
        for one in summary["predictions"] or []
        if one["observed"]
    ]


def _page_data(summary: dict[str, Any]) -> dict[str, Any]:
    """What the script of the page draws from."""
    names = [task["name"] for task in summary["tasks"]]
    return {
        "names": names,
        "labels": [tell_apart(names, most) for most in (LABEL, *SMALLER)],
        "predictable": [task["predictable"] for task in summary["tasks"]],
        "unjudged": unjudged_tasks(summary),
        "groups": [task["group"] for task in summary["tasks"]],
        "order": summary["order"],
        "structure": _lower_half(summary["structure"]),
        "correlation": _lower_half(summary["correlation"]),
        "graphs": [_graph_data(summary, graph) for graph in summary["graphs"]],
        "mu": summary["mu"],
        "stableMu": summary["stability_mu"],
        "path": _path_data(summary["path"]),
        "history": _short(summary["certificate"]["history"]),
    }


def _path_data(path: dict[str, Any] | None) -> Any:
    return None if path is None else _short({**path, "scoring": call_score(path["scoring"])})


def _graph_data(summary: dict[str, Any], graph: dict[str, Any]) -> dict[str, Any]:
    edges = [
        [one["a"], one["b"], one["weight"], one.get("correlation"), one.get("frequency"), one.get("moot", False)]
        for one in _drawn(summary, graph)
    ]
    return {
        "groups": graph["groups"],
        "places": _short(graph["places"]),
        "order": graph["order"],
        "edges": _short(edges),
    }


def _lower_half(matrix: list[list[float]]) -> list[float]:
    """A symmetric matrix without its upper half, row by row."""
    return [_short(value) for i, row in enumerate(matrix) for value in row[: i + 1]]


def _short(value: Any) -> Any:
    """The same with numbers of few digits."""
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _forest(method: dict[str, Any]) -> dict[str, Any]:
    """Rows of a method, the largest difference first, with the places of their intervals from 0 to 100."""
    rows = sorted(method["tasks"], key=lambda row: -(row["difference"] if row["difference"] is not None else -1e300))
    ends = [row[end] for row in rows for end in ("low", "difference", "high") if row[end] is not None]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    low, high = (low, high) if low < high else (-1.0, 1.0)

    def place(value: float | None, missing: float) -> float:
        return missing if value is None else round(4.0 + 92.0 * (value - low) / (high - low), 2)

    bars = [
        {"low": place(row["low"], 0.0), "high": place(row["high"], 100.0), "at": place(row["difference"], -10.0)}
        for row in rows
    ]
    return {"rows": list(zip(rows, bars, strict=True)), "zero": place(0.0, 0.0)}
