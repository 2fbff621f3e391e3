"""Errors at labels that a fit has not seen, with the structure held: leaving one row out, or folds of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array, eigh
from skmtl.losses import Loss
from skmtl.solvers.cost import LARGEST
from skmtl.solvers.design import Design
from skmtl.solvers.leave_one_out import Residuals, make_leave_one_out
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.observed import ObservedRows
from skmtl.solvers.posterior import CompletePosterior, NewRows, Posterior, make_posterior
from skmtl.solvers.training import make_supervised

Index = NDArray[np.intp]
N_FOLDS = 10
# Numbers that rows may become at a time: 64 MB.
BLOCK_ENTRIES = 2**23
# Relative gap of the fits without a fold: of square loss, and of others, whose scores are made probabilities of.
ACCURACY, FOLD_ACCURACY = 1e-6, 1e-4


def held_out_residuals(
    design: Design, labels: Any, A: Array, alpha: float, *, intercept: bool, groups: Index | None = None
) -> Residuals:
    """Errors and their standard deviation for noise of variance one: by leaving one out where it is direct.

    ``groups`` are numbers of rows that are left out together.
    """
    groups = groups_of_labels(labels, groups)
    n_labels, size = int(np.count_nonzero(labels.weight)), len(design.values) * labels.n_tasks
    if groups is None and (labels.complete() or min(n_labels, size) ** 2 <= LARGEST):
        return make_leave_one_out(design, labels, intercept=intercept).residuals(A, alpha)
    return fold_residuals(design, labels, A, alpha, intercept=intercept, groups=groups)


def fold_residuals(
    design: Design, labels: Any, A: Array, alpha: float, *, intercept: bool, groups: Index | None = None
) -> Residuals:
    """The same from folds of rows, each predicted by a fit of the others."""
    fold = _folds(labels, groups)
    error, spread = np.zeros(labels.y.shape), np.full(labels.y.shape, np.inf)
    sums, folds = np.zeros(A.shape), np.zeros(A.shape)
    for k in range(int(fold.max()) + 1):
        held_out = labels.arrange(fold == k)
        rest = _labels_without(labels, held_out)
        one, S = _without(design, labels, rest, A, alpha, held_out, intercept=intercept)
        # The constant of a task that has no other label may be anything.
        taught = (labels.sums(rest.weight) > 0.0) | (not intercept)
        known = _spread_rows(held_out, labels) & (labels.weight > 0.0)
        error[known] = one[known]
        known &= labels.spread(taught)
        spread[known] = np.sqrt(_own(labels, np.einsum("ntt->nt", S))[known] + 1.0 / labels.weight[known])
        # Over all its rows, whether or not they have labels of both tasks.
        both = np.outer(taught, taught)
        sums += np.mean(np.where(both, S[held_out], 0.0), axis=0)
        folds += both
    counts = labels.sums((labels.weight > 0.0).astype(float))
    noise = np.diag(counts / labels.sums(labels.weight))
    return Residuals(error, spread, sums / np.maximum(folds, 1.0) + noise)


def _labels_without(labels: Any, held_out: NDArray[np.bool_]) -> Any:
    """The labels with no weight at some rows."""
    return labels.with_labels(labels.y, np.where(_spread_rows(held_out, labels), 0.0, labels.weight))


def _without(
    design: Design, labels: Any, rest: Any, A: Array, alpha: float, held_out: NDArray[np.bool_], *, intercept: bool
) -> tuple[Array, Array]:
    """Errors at all labels of a fit to the rest of them, and covariances of its predictors at the rows held out."""
    Phi = labels.arrange(design.rows())
    # n alpha stays what it is for all rows.
    n = float(labels.weight.sum()) / labels.n_tasks
    other_alpha = alpha * float(labels.weight.sum()) / float(rest.weight.sum())
    # The rows were decomposed with the weights of all labels.
    whole = float(labels.design_weight().sum())
    observed = ObservedRows(Phi, design.values, rest, intercept=intercept, n=n, row_total=whole)
    fit = MissingLabelRidge(observed, alpha).solve(A, tol=ACCURACY)
    posterior, located = _posterior_without(design, rest, A, other_alpha, intercept=intercept)
    S = np.zeros((len(Phi), len(A), len(A)))
    rows = np.flatnonzero(held_out)
    for start in range(0, len(rows), step := max(BLOCK_ENTRIES // posterior.width, 1)):
        some = rows[start : start + step]
        S[some] = posterior.covariances(NewRows(located[some], np.zeros(len(some))))
    return labels.y - labels.scores(Phi, fit.coefficients()) - labels.spread(fit.intercept), S


def _posterior_without(
    design: Design, rest: Any, A: Array, alpha: float, *, intercept: bool
) -> tuple[Posterior, Array]:
    """The posterior of the labels that are left, and all rows in its basis, in the order of ``arrange``."""
    Phi = rest.arrange(design.rows())
    if not rest.complete():
        return make_posterior(design, rest, A, alpha, intercept=intercept), Phi
    # Rows that are left have all labels: they are decomposed by themselves.
    weight = rest.arrange(rest.row_weight())
    n = float(weight.sum())
    Phi = Phi - weight @ Phi / n if intercept else Phi
    values, V = eigh((weight[:, None] * Phi).T @ Phi)
    return CompletePosterior(np.maximum(values, 0.0), A, n * alpha, n if intercept else np.inf), Phi @ V


def held_out_scores(
    design: Design,
    labels: Any,
    A: Array,
    alpha: float,
    *,
    loss: Loss,
    intercept: bool,
    groups: Index | None = None,
) -> Array:
    """Scores of rows held out in folds, for any loss, laid out like the labels."""
    fold = _folds(labels, groups)
    scores, Phi = np.zeros(labels.y.shape), labels.arrange(design.rows())
    for k in range(int(fold.max()) + 1):
        rows = labels.arrange(fold == k)
        held_out, rest = _spread_rows(rows, labels), _labels_without(labels, rows)
        # n alpha stays what it is for all rows.
        other_alpha = alpha * float(labels.weight.sum()) / float(rest.weight.sum())
        fit = make_supervised(design, rest, loss, other_alpha, intercept=intercept).solve(A, tol=FOLD_ACCURACY)
        F = labels.scores(Phi, fit.coefficients()) + labels.spread(fit.intercept)
        scores[held_out] = F[held_out]
    return scores


def groups_of_labels(labels: Any, groups: Index | None) -> Index | None:
    """The groups, where two of them have labels: without the only one there would be nothing to learn from."""
    return None if groups is None or len(np.unique(groups[labels.row_weight() > 0.0])) < 2 else groups


def _folds(labels: Any, groups: Index | None) -> Index:
    """The fold of each row, or of its group, drawn at random.

    Those with labels are dealt, so that some are left without any of the folds. Others, and the only one, have -1.
    """
    groups = groups_of_labels(labels, groups)
    _, unit = np.unique(np.arange(labels.n_rows) if groups is None else groups, return_inverse=True)
    dealt = np.unique(unit[labels.row_weight() > 0.0])
    fold = np.full(len(unit), -1)
    if len(dealt) > 1:
        fold[dealt] = np.random.default_rng(0).permutation(len(dealt)) % min(N_FOLDS, len(dealt))
    return np.asarray(fold[unit])


def _spread_rows(rows: NDArray[np.bool_], labels: Any) -> NDArray[np.bool_]:
    """A mark per row, in the order of ``arrange``, at all its entries."""
    return np.broadcast_to(rows.reshape(len(rows), *[1] * (labels.y.ndim - 1)), labels.y.shape)


def _own(labels: Any, S: Array) -> Array:
    """Of values of all tasks at the rows of ``arrange`` those laid out like the labels."""
    if not labels.long:
        return S
    tasks = labels.spread(np.arange(labels.n_tasks))
    return S[np.arange(len(S)), tasks]
