"""What forests share: the share of features at a split, chosen on folds."""

import numpy as np
from selection import search, whole_or_per_task

GRID = {"max_features": [1 / 3, 1.0]}
SMALL, LARGE, N_FOLDS = 30, 200, 3


def predict_with(regressor, classifier, problem):
    if problem.classes:
        return _classes(classifier, problem)
    return whole_or_per_task(lambda X, Y, X_test: _targets(regressor, X, Y, X_test), problem)


def _targets(regressor, X, Y, X_test):
    found = search(regressor(SMALL, random_state=0), GRID, X, np.squeeze(Y), N_FOLDS)
    return regressor(LARGE, random_state=0, **found.best_params_).fit(X, np.squeeze(Y)).predict(X_test)


def _classes(classifier, problem):
    # Probabilities of many labels: the default leaves of a classifier, and features as scikit-learn recommends.
    model = classifier(LARGE, random_state=0, min_samples_leaf=1).fit(problem.X, problem.Y)
    return np.stack([share[:, 1] for share in model.predict_proba(problem.X_test)], axis=1)
