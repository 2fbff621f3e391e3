"""``HistGradientBoostingRegressor`` of scikit-learn, task by task: size of trees and leaves chosen on folds."""

from selection import per_task, search
from sklearn.ensemble import HistGradientBoostingRegressor

PACKAGES = ("scikit-learn",)
GRID = [{"max_leaf_nodes": [6], "min_samples_leaf": [5]}, {"max_leaf_nodes": [31], "min_samples_leaf": [20]}]


def predict(problem):
    if problem.classes:
        raise NotImplementedError("beside the other boosting, hundreds of labels one by one take too long")
    return per_task(fit_predict, problem)


def fit_predict(X, Y, X_test):
    boosting = HistGradientBoostingRegressor(learning_rate=0.1, max_iter=100, random_state=0)
    return search(boosting, GRID, X, Y[:, 0], 3).predict(X_test)
