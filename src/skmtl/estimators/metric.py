"""A scale of the features learned by all tasks, and how much each feature matters.

A fit of independent tasks says how much predictors change along each feature, or how rough they are along it beside
what the kernel expects; the kernel of the next fit is taken on features scaled by it. Every fit is convex; the last one
learns the structure of the tasks too, and is certified.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl._parameters import NO_NUMBERS, check_positive
from skmtl.features.evidence import (
    SEPARABLE,
    follow_evidence,
    inverse_without_constant,
    roughness,
    scale_from_evidence,
)
from skmtl.features.metric import DIFFERENTIABLE, SCALABLE, mean_squared_slopes, scale_from_slopes
from skmtl.penalties import Independent
from skmtl.solvers.training import Effort, Settings, Training
from skmtl.targets import TaskData

# Slopes are averaged over 1/T of the rows, evenly spaced, so that a round costs n^2 d beside its fit; but over so many
# at least, which know the mean of a square to a tenth or so.
LEAST_ROWS = 100
# Rows of large tables that a round is fitted to: slopes need fewer rows than predictions, but not fewer landmarks.
MOST_ROWS = 20_000
# Relative gap that is small enough for the predictors whose slopes are taken.
ACCURACY = 1e-4
# Labels of each task that its own widths are learned from, evenly spaced, at most. Each of its steps costs the cube of
# them: those of all tasks are no more than half the cube of the rows, less than a decomposition has, and what is quick.
LABELS_FOR_WIDTHS, QUICK_CUBES = 250, 1e7
# Those steps: with few labels the first ones find what they know, with many the widths stand still after the further
# ones of a second round.
FIRST_STEPS, FURTHER_STEPS = 8, 16
# Every round is a fit, and after a few of them the scales stand still.
MOST_ROUNDS = 1000


def check_rounds(rounds: Any, kernel: Any) -> int:
    """The number of times that a metric is learned, for a kernel that can be taken on scaled features."""
    if not isinstance(rounds, Integral) or isinstance(rounds, NO_NUMBERS) or not 0 <= int(rounds) <= MOST_ROUNDS:
        raise ValueError(f"metric_rounds={rounds!r:.50} must be a whole number from 0 to {MOST_ROUNDS}.")
    if rounds and kernel not in tuple(SCALABLE):
        raise ValueError(
            f"metric_rounds={rounds} needs a kernel on scaled features, one of {', '.join(SCALABLE)}; "
            f"kernel={kernel!r} is none."
        )
    return int(rounds)


def few_rows(data: TaskData) -> TaskData:
    """The same tasks with as many rows as a round needs, where rows are read in blocks."""
    if not data.labels.in_blocks:
        return data
    labels: Any = data.labels
    some = labels.drawn(MOST_ROWS)
    return replace(data, X=some.rows, labels=some)


def check_rule(rule: Any, kernel: Any, *, quadratic: bool, exact: bool) -> str:
    """By what features are scaled, where that is known for the kernel and the loss."""
    if not isinstance(rule, str) or rule not in RULES:
        raise ValueError(f"metric_rule={rule!r:.50} is not known; choose one of {', '.join(RULES)}.")
    if rule in OF_EVIDENCE and not (suits(rule, kernel) and quadratic and exact):
        raise ValueError(
            f'metric_rule="{rule}" needs loss="square" and kernel {" or ".join(SEPARABLE)} on all rows, without '
            f'landmarks; use metric_rule="slopes".'
        )
    return str(rule)


def suits(rule: Any, kernel: Any) -> bool:
    """Whether features can be scaled by a rule for a kernel on scaled features; what is no rule is refused later."""
    return not isinstance(rule, str) or rule not in OF_EVIDENCE or kernel in tuple(SEPARABLE)


def next_scale(estimator: Any, training: Training) -> Array:
    """The scale of the features, of shape (d,) or one for each of m tasks, (m, d), that a training set asks for.

    ``estimator`` gives ``metric_rule``, ``metric_alpha``, or else ``alpha``, the weight of a common component, and
    groups of features.
    """
    alpha = estimator.alpha if estimator.metric_alpha is None else estimator.metric_alpha
    return RULES[estimator.metric_rule](estimator, training, check_positive("metric_alpha", alpha))


def _by_evidence(estimator: Any, training: Training, alpha: float) -> Array:
    """The next step to the widths of the features under which the labels are most likely."""
    X, feature_map = training.data.X, training.feature_map
    scale = np.ones(X.shape[1]) if feature_map.feature_scale is None else feature_map.feature_scale
    K = feature_map.transform(X)
    gamma = feature_map.parameters(X.shape[1])["gamma"]
    rough = roughness(estimator.kernel, X, scale, gamma, [K * W for W in _second_moments(K, training, alpha)])
    explained, expected = (share_in_groups(one, estimator.feature_groups) for one in rough)
    return scale_from_evidence(scale, explained, expected, estimator.kernel)


def _by_task_evidence(estimator: Any, training: Training, alpha: float) -> Array:
    """A scale for each task, with noise of its own, under which its labels are most likely, of shape (m, d).

    Tasks whose labels are all the same say nothing about widths, and have none.
    """
    X, feature_map = training.data.X, training.feature_map
    Y, weight, ridge = _wide(training, alpha)
    share, scales = partial(share_in_groups, groups=estimator.feature_groups), []
    varying = [t for t in range(Y.shape[1]) if _varies(Y[weight[:, t] > 0.0, t])]
    most = labels_for_widths(X.shape[0], len(varying))
    first = np.ndim(feature_map.feature_scale) < 2
    parts = feature_map.parts() * (len(varying) if first else 1)
    for t, part in zip(varying, parts, strict=True):
        rows = np.flatnonzero(weight[:, t] > 0.0)
        rows = rows[np.linspace(0, len(rows), min(len(rows), most), endpoint=False).astype(np.intp)]
        given = part, X[rows], Y[rows, t], ridge / weight[rows, t], FIRST_STEPS if first else FURTHER_STEPS
        scales.append(follow_evidence(*given, intercept=training.intercept, share=share)[0])
    return np.array(scales) if scales else np.ones(X.shape[1])


def labels_for_widths(n_rows: int, n_tasks: int) -> int:
    """Of how many labels each task makes its own widths, at most."""
    return min(LABELS_FOR_WIDTHS, int(np.cbrt((QUICK_CUBES + 0.5 * float(n_rows) ** 3) / max(n_tasks, 1))))


def _varies(y: Array) -> bool:
    return len(y) > 1 and bool(np.ptp(y) > np.finfo(float).eps * np.max(np.abs(y)))


def _wide(training: Training, alpha: float) -> tuple[Array, Array, float]:
    """Labels and weights of shape (n, n_tasks), zero weights at gaps, and the variance of noise of a weight of one."""
    labels = training.labels
    Y, weight = labels.in_rows(labels.y), labels.in_rows(labels.weight)
    if labels.long:
        weight = weight[:, None] * (labels.tasks[:, None] == np.arange(labels.n_tasks))
        Y = np.broadcast_to(Y[:, None], weight.shape)
    return Y, weight, float(labels.weight.sum()) / labels.n_tasks * alpha


def _second_moments(K: Array, training: Training, alpha: float) -> tuple[Array, Array]:
    """Those of the dual coefficients, over all tasks, as labels have them and as the kernel expects them, (n, n) each.

    Both are in units of the variance that the labels of each task suggest.
    """
    labels = training.labels
    Y, weight, ridge = _wide(training, alpha)
    found, prior = np.zeros_like(K), np.zeros_like(K)
    # Labels that are all the same say nothing about widths.
    least = (np.finfo(float).eps * float(np.max(np.abs(Y), initial=0.0))) ** 2
    # With all labels the tasks have one inverse.
    for tasks in [np.arange(labels.n_tasks)] if labels.complete() else np.arange(labels.n_tasks)[:, None]:
        rows = np.flatnonzero(weight[:, tasks[0]] > 0.0)
        if len(rows) <= 1:
            continue
        here, y = np.ix_(rows, rows), Y[np.ix_(rows, tasks)]
        N = inverse_without_constant(K[here], ridge / weight[rows, tasks[0]], intercept=training.intercept)
        C = N @ y
        variance = np.sum(y * C, axis=0) / (len(rows) - training.intercept)
        varying = variance > least
        found[here] += (C[:, varying] / variance[varying]) @ C[:, varying].T
        prior[here] += np.count_nonzero(varying) * N
    return found, prior


def _by_slopes(estimator: Any, training: Training, alpha: float) -> Array:
    """Features scaled by how much predictors change along them."""
    settings = Settings(Independent(), alpha, check_positive("common", estimator.common, zero=True))
    effort = Effort(tol=max(estimator.tol, ACCURACY), max_iter=estimator.max_iter)
    # A round that ends without a proof has slopes all the same; only the fit that is returned says how good it is.
    coef = training.model(training.solve(settings, effort)).coef
    X, weight = _rows_of(training)
    squares = mean_squared_slopes(training.feature_map, coef / training.scaling.scale, X, weight)
    squares = share_in_groups(squares, estimator.feature_groups)
    return scale_from_slopes(squares, X, weight, estimator.kernel)


# By what features are scaled.
RULES: dict[str, Callable[[Any, Training, float], Array]] = {
    "slopes": _by_slopes,
    "evidence": _by_evidence,
    "task_evidence": _by_task_evidence,
}
# Those that need square loss, and a kernel of a weighted sum of distances on all rows.
OF_EVIDENCE = ("evidence", "task_evidence")


def _rows_of(training: Training) -> tuple[Any, Array]:
    """Rows to average over, and their weights: some of the training rows, or landmarks where those are in blocks."""
    if training.labels.in_blocks:
        points: Any = training.feature_map
        return points.X_fit_, np.ones(points.X_fit_.shape[0])
    weight = training.labels.row_weight()
    rows = some_rows(np.flatnonzero(weight > 0.0), training.labels.n_tasks)
    return training.data.X[rows], weight[rows]


def some_rows(rows: Any, n_tasks: int) -> Any:
    """As many of the rows as slopes are averaged over, for so many tasks."""
    n_rows = rows.shape[0]
    return rows[:: -(-n_rows // max(LEAST_ROWS, n_rows // n_tasks))]


def importances(estimator: Any, coef: Array) -> Array:
    """The share of each feature in the mean squared slopes of a fitted estimator's predictors, of shape (d,).

    ``coef`` are its coefficients on its feature map, of shape (D, n_tasks).
    """
    kernel, feature_map = estimator.kernel, estimator.feature_map_
    if kernel not in DIFFERENTIABLE:
        known = ", ".join(DIFFERENTIABLE)
        raise AttributeError(
            f"the slopes of kernel={kernel!r} are not known; feature_importances_ needs one of {known}."
        )
    X = some_rows(feature_map.X_fit_, coef.shape[1]) if feature_map.dual else None
    weight = np.ones(1 if X is None else X.shape[0])
    squares = mean_squared_slopes(feature_map, coef / estimator.target_scale_, X, weight)
    squares = share_in_groups(squares, estimator.feature_groups)
    total = squares.sum()
    return squares / total if total > 0.0 else np.full(len(squares), 1.0 / len(squares))


def share_in_groups(squares: Array, groups: Any) -> Array:
    """The mean of each group of features at all its members; ``groups`` is a name or number per feature, or None."""
    if groups is None:
        return squares
    given: NDArray[Any] = np.asarray(groups)
    if given.shape != squares.shape:
        raise ValueError(
            f"feature_groups has shape {given.shape}; it must name a group for each of {len(squares)} features."
        )
    _, codes = np.unique(given, return_inverse=True)
    return np.asarray((np.bincount(codes, squares) / np.bincount(codes))[codes])
