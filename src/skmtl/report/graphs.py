"""The two graphs of a page: the stable one, to look at, and the one that the model predicts with."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl.plotting.arrangement import arrange
from skmtl.report.json_values import to_json
from skmtl.report.results import TaskIndex

STABLE, PREDICTIVE = "stable", "predictive"


def predictive_graph(estimator: Any, moot: NDArray[np.bool_], mu: float | None) -> dict[str, Any]:
    """All relations of a fitted estimator, the strongest first; those of tasks that cannot be predicted are moot."""
    A, correlation = estimator.structure_, estimator.correlation_
    a, b = np.nonzero(np.triu(A, 1))
    order = np.argsort(-np.abs(A[a, b]), kind="stable")
    relations = [
        {
            "a": int(i),
            "b": int(j),
            "weight": float(A[i, j]),
            "correlation": float(correlation[i, j]),
            "moot": bool(moot[i] or moot[j]),
        }
        for i, j in zip(a[order], b[order], strict=True)
    ]
    return {"kind": PREDICTIVE, "mu": mu, "relations": relations, **_arranged(A)}


def stable_graph(stability: pd.DataFrame, index: TaskIndex, moot: NDArray[np.bool_]) -> dict[str, Any]:
    """The relations that came back on other rows, between tasks that can be predicted, the steadiest first."""
    relations, A = [], np.eye(len(index.names))
    for row in stability[stability["stable"]].to_dict("records"):
        i, j = (index.find(row[name], "stability") for name in ("task_a", "task_b"))
        if not (moot[i] or moot[j]):
            A[i, j] = A[j, i] = row["weight"]
            relations.append({"a": i, "b": j, "weight": float(row["weight"]), "frequency": float(row["frequency"])})
    bound = to_json(stability.attrs.get("false_bound", np.nan))
    return {"kind": STABLE, "mu": stability_mu(stability), "bound": bound, "relations": relations, **_arranged(A)}


def stability_mu(stability: pd.DataFrame) -> float | None:
    """The mu at which edges were counted; None where there was no edge, or no mu."""
    return to_json(float(stability["mu"].iloc[0] if len(stability) else stability.attrs.get("mu", np.nan)))


def add_frequencies(graph: dict[str, Any], stability: pd.DataFrame, index: TaskIndex) -> None:
    """How often the relations of a graph were found again, where that was counted at the mu of the graph."""
    if stability_mu(stability) != graph["mu"]:
        return
    found = {
        (index.find(row["task_a"], "stability"), index.find(row["task_b"], "stability")): float(row["frequency"])
        for row in stability.to_dict("records")
    }
    for relation in graph["relations"]:
        pair = relation["a"], relation["b"]
        relation["frequency"] = found.get(pair, found.get(pair[::-1], 0.0))


def _arranged(structure: Array) -> dict[str, Any]:
    """Groups, places and an order of the tasks; those without relations have no place."""
    arrangement = arrange(structure)
    places = [
        to_json(place) if group >= 0 else None
        for group, place in zip(arrangement.groups, arrangement.places, strict=True)
    ]
    return {
        "groups": arrangement.groups.tolist(),
        "places": places,
        "order": arrangement.order.tolist(),
        "n_groups": arrangement.n_groups,
    }
