"""Errors at labels that a fit has not seen, with the structure held: leaving one row out, or folds of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl.losses import Loss
from skmtl.solvers.cost import LARGEST
from skmtl.solvers.design import Design
from skmtl.solvers.leave_one_out import Residuals, make_leave_one_out
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.observed import ObservedRows
from skmtl.solvers.posterior import NewRows, posterior_of_some
from skmtl.solvers.training import make_supervised

N_FOLDS = 10
# Numbers that rows may become at a time: 64 MB.
BLOCK_ENTRIES = 2**23
# Relative gap of the fits without a fold: of square loss, and of others, whose scores are made probabilities of.
ACCURACY, FOLD_ACCURACY = 1e-6, 1e-4


def held_out_residuals(design: Design, labels: Any, A: Array, alpha: float, *, intercept: bool) -> Residuals:
    """Errors and their standard deviation for noise of variance one: by leaving one out where it is direct."""
    n_labels, size = int(np.count_nonzero(labels.weight)), len(design.values) * labels.n_tasks
    if labels.complete() or min(n_labels, size) ** 2 <= LARGEST:
        return make_leave_one_out(design, labels, intercept=intercept).residuals(A, alpha)
    return fold_residuals(design, labels, A, alpha, intercept=intercept)


def fold_residuals(design: Design, labels: Any, A: Array, alpha: float, *, intercept: bool) -> Residuals:
    """The same from folds of rows, each predicted by a fit of the others."""
    fold = np.random.default_rng(0).permutation(labels.n_rows) % min(N_FOLDS, labels.n_rows)
    error, spread, together = np.zeros(labels.y.shape), np.full(labels.y.shape, np.inf), []
    for k in range(int(fold.max()) + 1):
        held_out = labels.arrange(fold == k)
        one, S = _without(design, labels, A, alpha, held_out, intercept=intercept)
        known = _spread_rows(held_out, labels) & (labels.weight > 0.0)
        spread[known] = np.sqrt(_own(labels, np.einsum("ntt->nt", S))[known] + 1.0 / labels.weight[known])
        error[known] = one[known]
        # Over all its rows, whether or not they have labels of both tasks.
        together.append(np.mean(S[held_out], axis=0))
    counts = labels.sums((labels.weight > 0.0).astype(float))
    noise = np.diag(counts / labels.sums(labels.weight))
    return Residuals(error, spread, np.mean(together, axis=0) + noise)


def _without(
    design: Design, labels: Any, A: Array, alpha: float, held_out: NDArray[np.bool_], *, intercept: bool
) -> tuple[Array, Array]:
    """Errors at all labels of a fit without some rows, and covariances of its predictors at all rows."""
    Phi = labels.arrange(design.rows())
    rest = labels.with_labels(labels.y, np.where(_spread_rows(held_out, labels), 0.0, labels.weight))
    # n alpha stays what it is for all rows.
    n = float(labels.weight.sum()) / labels.n_tasks
    other_alpha = alpha * float(labels.weight.sum()) / float(rest.weight.sum())
    # The rows were decomposed with the weights of all labels, even where the others are complete.
    whole = float(labels.design_weight().sum())
    observed = ObservedRows(Phi, design.values, rest, intercept=intercept, n=n, row_total=whole)
    fit = MissingLabelRidge(observed, alpha).solve(A, tol=ACCURACY)
    posterior = posterior_of_some(design, rest, A, other_alpha, intercept=intercept)
    S = np.zeros((len(Phi), len(A), len(A)))
    rows = np.flatnonzero(held_out)
    for start in range(0, len(rows), step := max(BLOCK_ENTRIES // posterior.width, 1)):
        some = rows[start : start + step]
        S[some] = posterior.covariances(NewRows(Phi[some], np.zeros(len(some))))
    return labels.y - labels.scores(Phi, fit.coefficients()) - labels.spread(fit.intercept), S


def held_out_scores(design: Design, labels: Any, A: Array, alpha: float, *, loss: Loss, intercept: bool) -> Array:
    """Scores of rows held out in folds, for any loss, laid out like the labels."""
    fold = np.random.default_rng(0).permutation(labels.n_rows) % min(N_FOLDS, labels.n_rows)
    scores, Phi = np.zeros(labels.y.shape), labels.arrange(design.rows())
    for k in range(int(fold.max()) + 1):
        held_out = _spread_rows(labels.arrange(fold == k), labels)
        rest = labels.with_labels(labels.y, np.where(held_out, 0.0, labels.weight))
        # n alpha stays what it is for all rows.
        other_alpha = alpha * float(labels.weight.sum()) / float(rest.weight.sum())
        fit = make_supervised(design, rest, loss, other_alpha, intercept=intercept).solve(A, tol=FOLD_ACCURACY)
        F = labels.scores(Phi, fit.coefficients()) + labels.spread(fit.intercept)
        scores[held_out] = F[held_out]
    return scores


def _spread_rows(rows: NDArray[np.bool_], labels: Any) -> NDArray[np.bool_]:
    """A mark per row, in the order of ``arrange``, at all its entries."""
    return np.broadcast_to(rows.reshape(len(rows), *[1] * (labels.y.ndim - 1)), labels.y.shape)


def _own(labels: Any, S: Array) -> Array:
    """Of values of all tasks at the rows of ``arrange`` those laid out like the labels."""
    if not labels.long:
        return S
    tasks = labels.spread(np.arange(labels.n_tasks))
    return S[np.arange(len(S)), tasks]
