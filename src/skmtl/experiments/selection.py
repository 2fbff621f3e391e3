"""Every method chosen from one search: the paper's names, and an estimator for each choice.

MTRL is SKMTL with mu = 1, as the paper itself says: the trace as a price, at the same alphas. The penalty ``trace`` has
the trace as a budget; it gives the same predictors, at other alphas.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from skmtl._linalg import Array
from skmtl.estimators.base import make_effort, make_settings, train
from skmtl.estimators.clean import clean
from skmtl.estimators.publish import publish
from skmtl.losses.base import check_loss
from skmtl.model_selection import edge_stability
from skmtl.penalties import PENALTIES, StructurePenalty

Params = dict[str, Any]

# The paper's names of the methods, and which candidates of the search each of them chooses from.
METHODS: dict[str, Params] = {
    "STL": {"penalty": "independent"},
    "OKL": {"penalty": "frobenius"},
    "MTRL": {"penalty": "sparse", "mu": 1.0},
    "SKMTL": {"penalty": "sparse"},
}
# What a search has to try for all of them; independent tasks are always among its candidates.
LEARNED = ["frobenius", "sparse"]


def matches(wanted: Params, params: Params) -> bool:
    """Whether parameters are those that are wanted."""
    return all(params.get(name) == value for name, value in wanted.items())


def estimator_of(search: Any, params: Params, penalty: StructurePenalty | None = None) -> Any:
    """An estimator without search, not fitted, with the parameters of one candidate of a fitted search.

    A penalty that cannot be made from its name and parameters has to be given.
    """
    if penalty is None:
        penalty = PENALTIES[params["penalty"]]()
        penalty.set_params(**{name: params[name] for name in penalty.get_params() if name in params})
    return clone(search.best_estimator_).set_params(penalty=penalty, alpha=params["alpha"], eps="auto", solver="auto")


def fit_together(models: dict[str, Any], X: Any, y: Any) -> dict[str, Any]:
    """Fit estimators that differ in penalty and alpha alone: the rows are decomposed once for all of them."""
    first = next(iter(models.values()))
    training = train(first, clean(first, X, y), check_loss(first.loss, purpose=first.purpose))
    for model in models.values():
        settings = make_settings(model, training.labels.n_tasks)
        publish(model, training, settings, training.solve(settings, make_effort(model)))
    return models


def stable_structure(model: Any, X: Any, y: Any, n_halves: int, tasks: Any = None) -> tuple[Array, float]:
    """A graph to be looked at, and its mu: edges that nine of ten halves of the rows agree on, and zero elsewhere.

    One of its edges is expected to be false at most; the diagonal is that of the fitted model.
    """
    with warnings.catch_warnings():
        # That there is no such graph is seen by who looks at it.
        warnings.filterwarnings("ignore", "even at mu|every pair", UserWarning)
        table = edge_stability(model, X, y, n_halves, max_false=1.0, tasks=tasks)
    stable = table[table["frequency"] > 0.9]
    place = {name: t for t, name in enumerate(model.task_names_.tolist())}
    a, b = (stable[column].map(place).to_numpy(dtype=int) for column in ("task_a", "task_b"))
    A = np.diag(np.diag(model.structure_))
    A[a, b] = A[b, a] = stable["weight"]
    return A, table.attrs["mu"]
