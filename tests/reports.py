"""Fitted models and names for the tests of report, plots and notebook."""

import numpy as np
import pandas as pd

from skmtl import MultiTaskRegressor, compare_methods, edge_stability, structure_path
from skmtl.model_selection import MultiTaskRegressorCV, judge_model
from skmtl.penalties import Sparse

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"double\" & 'single' quotes",
    "emoji \N{PARTY POPPER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{MICROSCOPE}",
    "\u0645\u0647\u0645\u0629 \u0639\u0631\u0628\u064a\u0629",
    "long" * 50,
    "{{ 7 * 7 }} ${alert(1)} `alert(1)`",
    "<!--",
    "line\nbreak\u2028and\u2029more",
    "<b onmouseover=alert(1)>bold",
]
# Beginnings and ends of these are the same.
ALIKE = [
    f"inhibition of isoform {a} in the liver of {b} (umol/l)" for a in ("1A2", "3A4") for b in ("rats", "mice", "cats")
]


def named_tasks(rng, names, *, n=80, n_groups=3, noise=0.3):
    """Rows, and targets in groups that share a function; the second task of each group has the opposite sign."""
    X = rng.standard_normal((n, 8))
    shared = X @ rng.standard_normal((8, n_groups))
    Y = shared[:, np.arange(len(names)) % n_groups] * np.where(np.arange(len(names)) // n_groups == 1, -1.0, 1.0)
    return X, pd.DataFrame(Y + noise * rng.standard_normal(Y.shape), columns=names)


def everything(rng, names, *, mu=0.7, **options):
    """A fitted estimator, and its comparison, stability and path."""
    X, Y = named_tasks(rng, names, **options)
    est = MultiTaskRegressor(Sparse(mu), alpha=1e-2).fit(X, Y)
    search = MultiTaskRegressorCV(alphas=[1e-2], mus=[mu], eps_factors=[1.0], cv=2)
    results = {
        "comparison": compare_methods(X, Y, ["sparse", "trace"], estimator=search, cv=3),
        "stability": edge_stability(est, X, Y, 6),
        "path": structure_path(est, X, Y, [0.3, mu, 0.95], cv=2),
        "predictions": judge_model(est, X, Y, cv=3).predictions,
    }
    return est, results
