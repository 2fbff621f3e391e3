"""Probabilities for losses that have none, from scores of rows held out.

The logarithm of the odds is a line in the score, one above zero and one below it, where ``predict`` changes its
mind: above, a probability is more than one half, and below less. Where a side has few labels of either class, its line
goes through zero, which is what all these losses aim at. Targets of the fit are a little less certain than the labels,
as Platt has them.

References
----------
Platt. Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers 1999.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from skmtl._linalg import TINY, Array
from skmtl.losses import Loss
from skmtl.solvers.design import Design
from skmtl.solvers.held_out import held_out_residuals, held_out_scores
from skmtl.targets import Labels

# A weak ridge on the slopes, in units of the size of the scores: classes may be told apart without an error.
RIDGE, LEAST_SLOPE = 1e-4, 1e-3
# Scores that differ by no more than this, relative to their size, are the same.
ROUNDING = 1e-9
# Start, slope and least slope of the log odds on one side of zero.
Line = tuple[float, float, float]
# With fewer labels of a class on one side of zero, a line with a start of its own would follow chance.
ENOUGH = 20.0


class Calibration(NamedTuple):
    """Lines of the log odds for scores above and below zero: starts, slopes and least slopes, each (3, n_tasks)."""

    above: Array
    below: Array

    def log_odds(self, F: Array, tasks: NDArray[np.intp] | None = None) -> Array:
        """Of scores of all tasks, or of one task per row."""
        above, below = (self.above, self.below) if tasks is None else (self.above[:, tasks], self.below[:, tasks])
        # A line that starts on the wrong side of zero is cut there, with a little slope left: order is kept.
        high = np.maximum(above[0] + above[1] * F, above[2] * F)
        low = np.minimum(below[0] + below[1] * F, below[2] * F)
        return np.asarray(np.where(F > 0.0, high, low))


def held_out(
    design: Design,
    labels: Labels,
    A: Array,
    alpha: float,
    loss: Loss,
    *,
    intercept: bool,
    groups: NDArray[np.intp] | None = None,
) -> Array:
    """Scores of rows held out, laid out like the labels: one by one for square loss without groups, else in folds."""
    if loss.quadratic:
        scores = labels.y - held_out_residuals(design, labels, A, alpha, intercept=intercept, groups=groups).error
        if not intercept:
            return np.asarray(scores)
        # Without a label the mean of the others lies on its far side, and small scores would tell nothing but that.
        rest = labels.spread(labels.sums(labels.weight)) - labels.weight
        return np.asarray(scores + labels.weight * labels.y / np.maximum(rest, TINY))
    return held_out_scores(design, labels, A, alpha, loss=loss, intercept=intercept, groups=groups)


def calibrate(scores: Array, labels: Labels, *, together: bool) -> Calibration:
    """Slopes for each task, or with ``together`` the same for all, so that the order of classes is that of scores."""
    parts = [[labels.of_task(part, t) for part in (scores, labels.y, labels.weight)] for t in range(labels.n_tasks)]
    if together:
        parts = [[np.concatenate(part) for part in zip(*parts, strict=True)]] * labels.n_tasks
    above, below = np.array([_lines(*part) for part in parts]).transpose(1, 2, 0)
    return Calibration(above, below)


def _lines(score: Array, y: Array, weight: Array) -> tuple[Line, Line]:
    # Labels are counted, and what all weights are multiplied by makes them neither more nor fewer.
    weight = weight / weight.mean()
    positive, negative = (float(weight[y * sign > 0.0].sum()) for sign in (1.0, -1.0))
    target = np.where(y > 0.0, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
    sides = [score > 0.0, score < 0.0]
    lines = [_line(score[side], y[side], target[side], weight[side]) if side.any() else None for side in sides]
    # On a side without a score the line goes through zero, as steep as the other.
    steep = next((line[1] for line in lines if line is not None), 0.0)
    above, below = ((0.0, steep, 0.0) if line is None else line for line in lines)
    return above, below


def _line(score: Array, y: Array, target: Array, weight: Array) -> Line:
    """Start, slope and least slope on one side of zero; larger scores are more probable."""
    size = float(np.sqrt(np.mean(score**2)))
    least = LEAST_SLOPE / size
    starts = min(float(weight[y * sign > 0.0].sum()) for sign in (1.0, -1.0)) >= ENOUGH
    middle, spread = (float(np.mean(score)), float(np.std(score))) if starts else (0.0, size)
    if spread <= ROUNDING * size:
        starts, middle, spread = False, 0.0, size
    # Soft targets: each label counts for both classes, by its share in them.
    rows, classes = np.tile((score - middle) / spread, 2)[:, None], np.repeat([1, 0], len(score))
    shares = np.concatenate([weight * target, weight * (1.0 - target)])
    fit = LogisticRegression(C=1.0 / RIDGE, fit_intercept=starts).fit(rows, classes, sample_weight=shares)
    slope = max(float(fit.coef_[0, 0]) / spread, least)
    start = float(fit.intercept_[0]) - slope * middle if starts else 0.0
    return start, slope, least
