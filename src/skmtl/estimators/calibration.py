"""Probabilities for losses that have none: sigmoids of scores, fitted to scores of rows held out.

References
----------
Platt. Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers 1999.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from skmtl._linalg import Array
from skmtl.losses import Loss
from skmtl.solvers.design import Design
from skmtl.solvers.held_out import held_out_residuals, held_out_scores
from skmtl.targets import Labels

# Steeper sigmoids than this, in units of the spread of the scores, say no more: rows held out are told apart.
WEAKEST = 1e-4


class Calibration(NamedTuple):
    """The logarithm of the odds is ``slope * score + shift``; arrays of shape (n_tasks,)."""

    slope: Array
    shift: Array

    def log_odds(self, F: Array, tasks: Any = None) -> Array:
        """Of scores of all tasks, or of one task per row."""
        slope, shift = (self.slope, self.shift) if tasks is None else (self.slope[tasks], self.shift[tasks])
        return np.asarray(F * slope + shift)


def calibrate(design: Design, labels: Labels, A: Array, alpha: float, loss: Loss, *, intercept: bool) -> Calibration:
    """A sigmoid for each task, from scores of rows held out: one by one for square loss, else in folds."""
    if loss.quadratic:
        scores = labels.y - held_out_residuals(design, labels, A, alpha, intercept=intercept).error
    else:
        scores = held_out_scores(design, labels, A, alpha, loss=loss, intercept=intercept)
    parts = [
        _sigmoid(*(labels.of_task(part, t) for part in (scores, labels.y, labels.weight)))
        for t in range(labels.n_tasks)
    ]
    slope, shift = np.array(parts).T
    return Calibration(slope, shift)


def _sigmoid(score: Array, y: Array, weight: Array) -> tuple[float, float]:
    """Slope and shift of one task; targets are a little less certain than the labels, as Platt has them."""
    positive, negative = (float(weight[y * sign > 0.0].sum()) for sign in (1.0, -1.0))
    target = np.where(y > 0.0, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
    size = float(np.std(score))
    if size == 0.0 or min(positive, negative) == 0.0:
        # Nothing to learn a slope from.
        return _constant(target, weight)
    # Soft targets: each label counts for both classes, by its share in them.
    rows, classes = np.tile(score / size, 2)[:, None], np.repeat([1, 0], len(score))
    shares = np.concatenate([weight * target, weight * (1.0 - target)])
    fit = LogisticRegression(C=1.0 / WEAKEST, max_iter=1000).fit(rows, classes, sample_weight=shares)
    slope = float(fit.coef_[0, 0])
    # Where scores say nothing, a row that is left out is predicted by a mean that its own label has left.
    return (slope / size, float(fit.intercept_[0])) if slope > 0.0 else _constant(target, weight)


def _constant(target: Array, weight: Array) -> tuple[float, float]:
    """The same probability whatever the score is."""
    share = float(np.average(target, weights=weight))
    return 0.0, float(np.log(share / (1.0 - share)))
