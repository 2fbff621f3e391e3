"""What several competitors share: tasks one by one on the rows that have labels, and grids chosen on folds."""

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

# The diagonal of a kernel is one. Inverse widths are multiples of the median heuristic.
ALPHAS = np.logspace(-1, -6, 6)
GAMMA_FACTORS = np.array([1 / 16, 1 / 4, 1.0, 4.0])


def folds(n=5):
    return KFold(n, shuffle=True, random_state=0)


def search(estimator, grid, X, Y, n_folds=5):
    """The estimator with the best parameters of a grid by mean squared error, fitted to all rows."""
    n_folds = min(n_folds, len(X))
    return GridSearchCV(estimator, grid, cv=folds(n_folds), scoring="neg_mean_squared_error").fit(X, Y)


def per_task(fit_predict, problem):
    """Predictions of a method that knows no missing labels: task by task on its own rows, standardized there."""
    columns = []
    for y in problem.Y.T:
        own = np.flatnonzero(~np.isnan(y))
        mean, size = y[own].mean(), y[own].std() or 1.0
        column = fit_predict(problem.X[own], (y[own] - mean)[:, None] / size, problem.X_test)
        columns.append(mean + size * np.ravel(column))
    return np.stack(columns, axis=1)


def whole_or_per_task(fit_predict, problem):
    """All tasks at once where all labels are there, else task by task."""
    if problem.complete:
        return fit_predict(problem.X, problem.Y, problem.X_test)
    return per_task(fit_predict, problem)
