"""Candidates of a fitted search other than the one that it chose."""

from typing import Any

import numpy as np

from skmtl.model_selection.candidates import CandidateScores, check_rule, choose


def best_candidate(search: Any, *, rule: str = "best", **wanted: Any) -> dict[str, Any]:
    """What a fitted search would have chosen among the candidates that have certain parameters.

    Parameters
    ----------
    search : MultiTaskRegressorCV or MultiTaskClassifierCV
        Fitted.
    rule : {"best", "1se"}, default="best"
        The best score, or the sparsest graph within one standard error of it.
    **wanted
        Parameters by the names of the columns ``param_...`` of ``cv_results_``, such as ``penalty="trace"``.

    Returns
    -------
    dict
        The parameters of the candidate, by the same names: strings and numbers.

    Raises
    ------
    ValueError
        When no candidate has these parameters.

    See Also
    --------
    MultiTaskRegressorCV : Has all candidates in ``cv_results_``.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressorCV
    >>> from skmtl.model_selection import best_candidate
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> search = MultiTaskRegressorCV(["sparse", "trace"], cv=3).fit(X, Y)
    >>> best_candidate(search, penalty="trace")["penalty"]
    'trace'
    """
    results = search.cv_results_
    columns = {name.removeprefix("param_"): results[name] for name in results if name.startswith("param_")}
    unknown = [name for name in wanted if name not in columns]
    if unknown:
        raise ValueError(f"candidates have no parameter {unknown[0]!r}; they have {', '.join(columns)}.")
    matches = np.ones(len(results["params"]), dtype=bool)
    for name, value in wanted.items():
        matches &= np.ma.filled(columns[name] == value, False).astype(bool)
    rows = np.flatnonzero(matches)
    if not len(rows):
        given = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
        raise ValueError(f"no candidate of the search has {given}.")
    scores = np.array([results[name] for name in results if name.startswith("split")]).T[rows]
    outcome = CandidateScores(scores, results["mean_edges"][rows, None], results["mean_test_score"][rows])
    chosen = rows[choose(outcome, check_rule(rule))]
    return {name: column[chosen] for name, column in columns.items() if column[chosen] is not np.ma.masked}
