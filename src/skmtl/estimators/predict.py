"""Predictions of a fitted estimator, a block of rows at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl.estimators.blocks import open_rows
from skmtl.features import FeatureMap
from skmtl.targets import TaskOrder


@dataclass(frozen=True)
class Predict:
    """Predictions for a block of rows: scores of all tasks, (b, n_tasks), or of each row's own, (b,), then ``read``."""

    feature_map: FeatureMap
    coef: Array
    intercept: Array
    read: Callable[[Array], NDArray[Any]]

    def __call__(self, X: Any, tasks: NDArray[np.intp] | None = None) -> NDArray[Any]:
        Z = self.feature_map.transform(X)
        if tasks is None:
            return self.read(Z @ self.coef + self.intercept)
        # Each row times the coefficients of its own task only, task by task.
        by_task = TaskOrder(tasks, len(self.intercept))
        return self.read(by_task.in_rows(by_task.scores(Z[by_task.order], self.coef)) + self.intercept[tasks])


def coefficients(estimator: Any) -> Array:
    """The coefficients of a fitted estimator on its feature map, of shape (D, n_tasks)."""
    return np.asarray(estimator.dual_coef_ if estimator.feature_map_.dual else estimator.coef_.T)


def predict_scores(
    estimator: Any, X: Any, tasks: Any = None, read: Callable[[Array], NDArray[Any]] = np.asarray
) -> Any:
    """What ``read`` makes of the predictors at X: all of them, (n, n_tasks), or of one task per row, (n,)."""
    predict = Predict(estimator.feature_map_, coefficients(estimator), estimator.intercept_, read)
    rows = open_rows(estimator, X, tasks, len(predict.coef))
    return rows.map(predict, width=len(predict.coef) + rows.shape[1])
