"""Every method chosen from one search: the paper's names, the best candidate of each, and an estimator for it."""

from typing import Any

import numpy as np

from skmtl.model_selection.candidates import CandidateScores, choose
from skmtl.penalties import PENALTIES, StructurePenalty

Params = dict[str, Any]

# The paper's names of the methods that choose from the same search.
METHODS = {"STL": "independent", "MTRL": "trace", "OKL": "frobenius", "SKMTL": "sparse"}
SHARED = ("penalty", "alpha", "epsilon", "common", "gamma")


def best_of(search: Any, **wanted: Any) -> Params:
    """Parameters of the best candidate of a fitted search among those that have the wanted ones."""
    return _chosen(search, wanted, "best")


def sparsest_of(search: Any, **wanted: Any) -> Params:
    """The same of the sparsest graph whose score is within one standard error of the best."""
    return _chosen(search, wanted, "1se")


def estimator_of(search: Any, params: Params, penalty: StructurePenalty | None = None) -> Any:
    """An estimator without search, not fitted, with the parameters of one candidate of a fitted search.

    A penalty that cannot be made from its name and parameters has to be given.
    """
    if penalty is None:
        own = {name: value for name, value in params.items() if name not in SHARED}
        penalty = PENALTIES[params["penalty"]](**own)
    return search.to_estimator().set_params(penalty=penalty, alpha=params["alpha"], eps="auto", solver="auto")


def _chosen(search: Any, wanted: Params, rule: str) -> Params:
    """What the search itself would choose from the candidates that have the wanted parameters."""
    results = search.cv_results_
    rows = [i for i, params in enumerate(results["params"]) if wanted.items() <= params.items()]
    scores = np.array([results[name] for name in results if name.startswith("split")]).T[rows]
    outcome = CandidateScores(scores, results["mean_edges"][rows, None], results["mean_test_score"][rows])
    return dict(results["params"][rows[choose(outcome, rule)]])
