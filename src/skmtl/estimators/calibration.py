"""Probabilities for losses that have none, from scores of rows held out.

The logarithm of the odds is a slope times the score, one slope above zero and one below it: a score of zero, where
``predict`` changes its mind, has the probability one half, which is what all these losses aim at. Targets of the fit
are a little less certain than the labels, as Platt has them.

References
----------
Platt. Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers 1999.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from skmtl._linalg import Array
from skmtl.losses import Loss
from skmtl.solvers.design import Design
from skmtl.solvers.held_out import held_out_residuals, held_out_scores
from skmtl.targets import Labels

# A weak ridge on the slopes, in units of the size of the scores: classes may be told apart without an error.
RIDGE, LEAST_SLOPE = 1e-4, 1e-3


class Calibration(NamedTuple):
    """Slopes of the log odds for scores above and below zero, each of shape (n_tasks,)."""

    above: Array
    below: Array

    def log_odds(self, F: Array, tasks: NDArray[np.intp] | None = None) -> Array:
        """Of scores of all tasks, or of one task per row."""
        above, below = (self.above, self.below) if tasks is None else (self.above[tasks], self.below[tasks])
        return np.asarray(above * np.maximum(F, 0.0) + below * np.minimum(F, 0.0))


def held_out(design: Design, labels: Labels, A: Array, alpha: float, loss: Loss, *, intercept: bool) -> Array:
    """Scores of rows held out, laid out like the labels: one by one for square loss, else in folds."""
    if loss.quadratic:
        return np.asarray(labels.y - held_out_residuals(design, labels, A, alpha, intercept=intercept).error)
    return held_out_scores(design, labels, A, alpha, loss=loss, intercept=intercept)


def calibrate(scores: Array, labels: Labels, *, together: bool) -> Calibration:
    """Slopes for each task, or with ``together`` the same for all, so that the order of classes is that of scores."""
    parts = [[labels.of_task(part, t) for part in (scores, labels.y, labels.weight)] for t in range(labels.n_tasks)]
    if together:
        parts = [[np.concatenate(part) for part in zip(*parts, strict=True)]] * labels.n_tasks
    above, below = np.array([_slopes(*part) for part in parts]).T
    return Calibration(above, below)


def _slopes(score: Array, y: Array, weight: Array) -> tuple[float, float]:
    positive, negative = (float(weight[y * sign > 0.0].sum()) for sign in (1.0, -1.0))
    target = np.where(y > 0.0, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
    sides = [score > 0.0, score < 0.0]
    slopes = [_slope(score[side], target[side], weight[side]) if side.any() else None for side in sides]
    known = [slope for slope in slopes if slope is not None] or [0.0]
    # On a side without a score the slope is that of the other.
    return slopes[0] if slopes[0] is not None else known[0], slopes[1] if slopes[1] is not None else known[0]


def _slope(score: Array, target: Array, weight: Array) -> float:
    """The slope on one side of zero; a little above zero at least, so that larger scores are more probable."""
    size = float(np.sqrt(np.mean(score**2)))
    # Soft targets: each label counts for both classes, by its share in them.
    rows, classes = np.tile(score / size, 2)[:, None], np.repeat([1, 0], len(score))
    shares = np.concatenate([weight * target, weight * (1.0 - target)])
    fit = LogisticRegression(C=1.0 / RIDGE, fit_intercept=False).fit(rows, classes, sample_weight=shares)
    return max(float(fit.coef_[0, 0]), LEAST_SLOPE) / size
