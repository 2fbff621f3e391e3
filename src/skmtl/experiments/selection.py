"""Every method chosen from one search: the paper's names, the best candidate of each, and an estimator for it."""

from typing import Any

import numpy as np

from skmtl.penalties import PENALTIES, StructurePenalty

Params = dict[str, Any]

# The paper's names of the methods that choose from the same search.
METHODS = {"STL": "independent", "MTRL": "trace", "OKL": "frobenius", "SKMTL": "sparse"}
SHARED = ("penalty", "alpha", "epsilon", "common", "gamma")


def best_of(search: Any, **wanted: Any) -> Params:
    """Parameters of the best candidate of a fitted search among those that have the wanted ones."""
    rows = _rows(search, wanted)
    return dict(search.cv_results_["params"][max(rows, key=lambda i: search.cv_results_["mean_test_score"][i])])


def sparsest_of(search: Any, **wanted: Any) -> Params:
    """Parameters of the sparsest graph whose score is within one standard error of the best, by paired differences."""
    results, rows = search.cv_results_, _rows(search, wanted)
    scores = np.array([results[name] for name in results if name.startswith("split")])[:, rows]
    best = int(np.argmax(scores.mean(axis=0)))
    behind = scores[:, [best]] - scores
    error = behind.std(axis=0, ddof=1) / np.sqrt(len(scores))
    near = [i for i in range(len(rows)) if behind[:, i].mean() <= error[i]]
    chosen = min([best, *near], key=lambda i: (results["mean_edges"][rows[i]], behind[:, i].mean()))
    return dict(results["params"][rows[chosen]])


def estimator_of(search: Any, params: Params, penalty: StructurePenalty | None = None) -> Any:
    """An estimator without search, not fitted, with the parameters of one candidate of a fitted search.

    A penalty that cannot be made from its name and parameters has to be given.
    """
    if penalty is None:
        own = {name: value for name, value in params.items() if name not in SHARED}
        penalty = PENALTIES[params["penalty"]](**own)
    return search.to_estimator().set_params(penalty=penalty, alpha=params["alpha"], eps="auto", solver="auto")


def _rows(search: Any, wanted: Params) -> list[int]:
    return [i for i, params in enumerate(search.cv_results_["params"]) if wanted.items() <= params.items()]
