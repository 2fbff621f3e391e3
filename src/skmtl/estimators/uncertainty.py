"""Predictions with their standard deviation, with intervals, and given what is known of a row already."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl._numbers import gaps_of_mask, read_numbers
from skmtl._parameters import is_number
from skmtl._validation import check_columns, is_dask, plain_names
from skmtl.estimators.blocks import open_rows
from skmtl.estimators.evidence import Evidence
from skmtl.estimators.predict import Predict, coefficients


def uncertain(estimator: Any, X: Any, tasks: Any = None, known: Any = None) -> tuple[Array, Array]:
    """Predictions and the factor of the noise in their standard deviation, each (n, n_tasks), or (n,) with ``tasks``.

    The factor is that of ``noise`` in :class:`Evidence`, in the units of y.
    """
    evidence = find_evidence(estimator, X)
    predict = Predict(estimator.feature_map_, coefficients(estimator), estimator.intercept_, np.asarray)
    function = PredictUncertain(predict, evidence, estimator.target_scale_)
    columns = {} if known is None else {"known": check_known(known, estimator.task_names_, X)}
    rows = open_rows(estimator, X, tasks, len(predict.coef), columns)
    # Rows are located in the basis of the design, beside their basis functions.
    both = rows.map(function, width=4 * (len(predict.coef) + rows.shape[1]) + evidence.posterior.width)
    return both[:, 0], both[:, 1]


@dataclass(frozen=True)
class PredictUncertain:
    """Predictions and standard deviations for a block of rows, of shape (b, 2, n_tasks), or (b, 2) with tasks."""

    predict: Predict
    evidence: Evidence
    scale: Array

    def __call__(self, X: Any, tasks: NDArray[np.intp] | None = None, known: Array | None = None) -> Array:
        mean = self.predict(X)
        with np.errstate(over="ignore", invalid="ignore"):
            rows = self.evidence.rows(X)
            if known is None:
                variance = _check_finite(self.evidence.posterior.variances(rows) + self.evidence.label_noise)
            else:
                # In units of the noise of each task, for which all that follows is.
                unit = self.scale * np.where(self.evidence.noise > 0.0, self.evidence.noise, 1.0)
                P = _check_finite(self.evidence.posterior.covariances(rows) + self.evidence.noise_covariance)
                shift, variance = condition(P, (known - mean) / unit)
                mean = np.where(np.isnan(known), mean + unit * shift, known)
        if known is not None and not np.all(np.isfinite(mean)):
            raise ValueError(
                f"known reaches {np.nanmax(np.abs(known)):.3g}, and what follows for other tasks is beyond double "
                "precision; leave such labels out, or make them NaN."
            )
        both = np.stack([mean, self.scale * np.sqrt(variance)], axis=1)
        return both if tasks is None else both[np.arange(len(both)), :, tasks]


def _check_finite(variances: Array) -> Array:
    if not np.all(np.isfinite(variances)):
        raise ValueError(
            "X has rows so far from those of the fit that their variances are beyond double precision; leave such rows "
            "out."
        )
    return variances


def condition(P: Array, error: Array) -> tuple[Array, Array]:
    r"""How predictions move, and the variances that are left, when labels of the same row are known.

    With B the tasks whose labels are known, :math:`P_{\cdot B} P_{BB}^{-1} (y_B - f_B)`.

    Parameters
    ----------
    P : ndarray of shape (n, n_tasks, n_tasks)
        The covariance of labels at each row: that of the predictors, and of the noise.
    error : ndarray of shape (n, n_tasks)
        What is known less what is predicted, NaN where nothing is known.

    Returns
    -------
    shift, variance : ndarray of shape (n, n_tasks)
        The variance of a label that is known is zero.
    """
    known = ~np.isnan(error)
    # Rows and columns of tasks that are not known are those of the identity, so that all rows are solved at once.
    system = np.where(known[:, :, None] & known[:, None, :], P, np.eye(error.shape[1]))
    cross = np.where(known[:, :, None], P, 0.0)
    gain = np.linalg.solve(system, cross)
    shift = np.einsum("nst,ns->nt", gain, np.where(known, error, 0.0))
    left = np.einsum("ntt->nt", P) - np.einsum("nst,nst->nt", gain, cross)
    return shift, np.where(known, 0.0, np.maximum(left, 0.0))


def score_quantiles(evidence: Evidence, names: NDArray[Any], coverage: float) -> Array:
    """By how many standard deviations, for noise of variance one, intervals reach from the prediction, (n_tasks,).

    Of m errors at labels left out the one in place ceil((m + 1) coverage): the finite-sample correction of conformal
    prediction. Where groups were left out, m are the groups; see :func:`unit_quantile`.
    """
    needed, what = units_needed(coverage), "groups with labels" if evidence.grouped else "labels"
    for name, m in zip(names.tolist(), count_units(evidence).tolist(), strict=True):
        if m < needed:
            less = f"ask for at most {math.floor(100 * m / (m + 1)) / 100}, or " if m else ""
            raise ValueError(
                f"coverage={coverage} needs at least {needed} {what} of each task that can be left out, and task "
                f"{name!r} has {m}; {less}collect more."
            )
    return np.array([unit_quantile(*evidence.scores(t), coverage) for t in range(len(names))])


def units_needed(coverage: float) -> int:
    """How many labels, or groups where these are left out, a task must have for intervals of this coverage."""
    if not (is_number(coverage) and 0.0 < coverage < 1.0):
        raise ValueError(f"coverage={coverage!r:.50} must lie between 0 and 1, such as 0.9.")
    # Decimal fractions are not exact: 10 * 0.9 must not be rounded up to 10.
    return math.ceil(coverage / (1.0 - coverage) - 1e-9)


def count_units(evidence: Evidence) -> NDArray[np.intp]:
    """How many labels of each task, or groups with labels of it, can be left out, of shape (n_tasks,)."""
    return np.array([len(np.unique(evidence.scores(t)[1])) for t in range(evidence.n_tasks)])


def unit_quantile(scores: Array, unit: NDArray[Any], coverage: float) -> float:
    """The least score at which (m + 1) coverage of m units are reached, of which there are enough.

    The scores of a unit have equal shares of it, so that a label of a new unit, drawn like the others, has no larger
    score as often as ``coverage`` says [1]_. Units of one label are ranks: the one in place ceil((m + 1) coverage).

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Ascending.
    unit : ndarray of int, of shape (n,)
        What each belongs to.
    coverage : float

    References
    ----------
    .. [1] Lee, Barber and Willett. Distribution-free inference with hierarchical data. arXiv:2306.06342, 2023.
    """
    _, position, counts = np.unique(unit, return_inverse=True, return_counts=True)
    reached = np.cumsum(1.0 / counts[position])
    # Decimal fractions are not exact.
    return float(scores[np.searchsorted(reached, (len(counts) + 1) * coverage - 1e-9)])


def find_evidence(estimator: Any, X: Any) -> Evidence:
    """What an estimator kept for the uncertainty of its predictions; an error that says why there is nothing."""
    if not estimator.loss_.quadratic:
        raise ValueError(
            f"loss={estimator.loss_.name!r} has no posterior in closed form, and so no standard deviations, intervals "
            "or conditioning; they need loss='square'. Quantiles are to be had with loss='quantile'."
        )
    if estimator.kernel == "precomputed":
        raise ValueError(
            "kernel='precomputed' does not say k(x, x) of a new row, without which its uncertainty is not known; pass "
            "the kernel as a function, or by its name."
        )
    if is_dask(X):
        raise ValueError(
            "standard deviations, intervals and conditioning need rows in memory, and these are a Dask collection; "
            "pass X.compute(), or a partition at a time."
        )
    if estimator.evidence_ is None:
        raise ValueError(
            "this model was fitted to rows that were read in blocks, of which nothing was kept, so that the "
            "uncertainty of its predictions is not known; fit the same parameters to a sample of rows in memory."
        )
    return estimator.evidence_


def check_known(known: Any, names: NDArray[Any], X: Any) -> Array:
    """Labels that are known of new rows, (n, n_tasks), NaN where they are not; columns of a data frame by name."""
    if isinstance(known, pd.DataFrame):
        check_columns(known, "known")
        # By the names that the tasks have had since the model was fitted.
        known = known.set_axis(pd.Index(plain_names(list(known.columns)).tolist(), dtype=object), axis=1)
        strangers = [str(name) for name in known.columns if name not in names.tolist()]
        if strangers:
            raise ValueError(
                f"known has columns that are no tasks: {', '.join(strangers)}; tasks are {names.tolist()}."
            )
        known = known.reindex(columns=pd.Index(names.tolist(), dtype=object))
    values = read_numbers("known", gaps_of_mask("known", known))
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if values.ndim == 1 and len(names) == 1:
        values = values[:, None]
    if values.shape != (n, len(names)):
        raise ValueError(
            f"known has shape {values.shape}; it must be ({n}, {len(names)}), with NaN where a label is not known, or "
            "a data frame with the names of tasks."
        )
    if np.isinf(values).any():
        raise ValueError("known has infinite values; NaN says that a label is not known.")
    return values
