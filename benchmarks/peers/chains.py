"""Chains of scikit-learn over three random orders: extra trees for targets, logistic regression for classes."""

import numpy as np
from selection import folds
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain, RegressorChain

PACKAGES = ("scikit-learn",)
N_CHAINS = 3


def predict(problem):
    if problem.classes:
        return np.mean([_classes(problem, seed) for seed in range(N_CHAINS)], axis=0)
    if not problem.complete:
        raise NotImplementedError("a chain needs all labels: each task is a feature of the next")
    return np.mean([_targets(problem, seed) for seed in range(N_CHAINS)], axis=0)


def _targets(problem, seed):
    trees = ExtraTreesRegressor(100, max_features=1 / 3, random_state=seed)
    chain = RegressorChain(trees, order="random", random_state=seed)
    return chain.fit(problem.X, problem.Y).predict(problem.X_test)


def _classes(problem, seed):
    # The strength is chosen on the first label alone: a chain of hundreds of searches is more than anybody waits for.
    logistic = GridSearchCV(LogisticRegression(max_iter=300), {"C": np.logspace(-3, 0, 4)}, cv=folds(3))
    strength = logistic.fit(problem.X, problem.Y[:, 0]).best_params_["C"]
    chain = ClassifierChain(LogisticRegression(C=strength, max_iter=300), order="random", random_state=seed)
    return chain.fit(problem.X, problem.Y).predict_proba(problem.X_test)
