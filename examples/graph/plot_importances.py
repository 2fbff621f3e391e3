"""
Which features matter
=====================

Three of twenty features carry everything, and a kernel cannot know. ``metric_rounds`` scales each feature by how much
the predictors of all tasks change along it and fits again; what it found is in ``feature_importances_``.
"""

import matplotlib.pyplot as plt
import numpy as np

from skmtl import MultiTaskRegressor
from skmtl.plotting import ImportanceDisplay

rng = np.random.default_rng(0)
X, X_test = rng.uniform(-2, 2, (100, 20)), rng.uniform(-2, 2, (500, 20))


def targets(X):
    """Three functions of the same few features."""
    wave, line, bowl = np.sin(X[:, 0]), X[:, 1], X[:, 2] ** 2 / 2
    return np.column_stack([wave + line, wave - bowl, line + bowl])


Y = targets(X) + 0.2 * rng.standard_normal((100, 3))
figure, axes = plt.subplots(1, 2, figsize=(11, 5.6), layout="constrained")
for ax, rounds in zip(axes, (0, 3), strict=True):
    model = MultiTaskRegressor(alpha=1e-3, kernel="rbf", gamma=0.02, metric_rounds=rounds).fit(X, Y)
    ImportanceDisplay.from_estimator(model, ax=ax)
    ax.set_title(f"{rounds} rounds: R squared {model.score(X_test, targets(X_test)):.2f} on new rows")

# %%
# It does not always pay: where a hundred rows are too few to see which features matter, the metric follows the noise.
# :class:`~skmtl.MultiTaskRegressorCV` chooses the number of rounds on folds: ``metric_rounds=[0, 1, 2, 3]``.
