"""Every method chosen from one search: the paper's names, and an estimator for each choice."""

from typing import Any

from sklearn.base import clone

from skmtl.penalties import PENALTIES, StructurePenalty

Params = dict[str, Any]

# The paper's names of the methods that choose from the same search.
METHODS = {"STL": "independent", "MTRL": "trace", "OKL": "frobenius", "SKMTL": "sparse"}


def estimator_of(search: Any, params: Params, penalty: StructurePenalty | None = None) -> Any:
    """An estimator without search, not fitted, with the parameters of one candidate of a fitted search.

    A penalty that cannot be made from its name and parameters has to be given.
    """
    if penalty is None:
        penalty = PENALTIES[params["penalty"]]()
        penalty.set_params(**{name: params[name] for name in penalty.get_params() if name in params})
    return clone(search.best_estimator_).set_params(penalty=penalty, alpha=params["alpha"], eps="auto", solver="auto")
