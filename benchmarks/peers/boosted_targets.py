"""CatBoost on all tasks at once: MultiRMSE, MultiRMSEWithMissingValues or MultiLogloss, rounds by early stopping."""

from dataclasses import replace

import numpy as np
from catboost import CatBoostClassifier, CatBoostRegressor
from sklearn.model_selection import train_test_split

PACKAGES = ("catboost",)
DEPTHS = (4, 6)
# One round of many labels takes as long as hundreds of rounds of few.
MOST_ROUNDS, ROUNDS_TIMES_TASKS = 1000, 6000


def predict(problem):
    """Depth and number of rounds on a held-out fifth of the rows, then all rows."""
    fit, hold = train_test_split(np.arange(len(problem.X)), test_size=0.2, random_state=0)
    # CatBoost refuses a column of equal labels, of which there is nothing to learn but their value.
    varies = np.nanstd(problem.Y[fit], axis=0) > 1e-9
    found = np.tile(np.nanmean(problem.Y, axis=0), (len(problem.X_test), 1))
    found[:, varies] = _predict(replace(problem, Y=problem.Y[:, varies]), fit, hold)
    return found


def _predict(problem, fit, hold):
    n_rounds = min(MOST_ROUNDS, max(ROUNDS_TIMES_TASKS // problem.Y.shape[1], 50))
    tried = []
    for depth in DEPTHS if problem.Y.shape[1] * problem.X.shape[1] < 5000 else DEPTHS[:1]:
        model = make_model(problem, depth, n_rounds)
        held = (problem.X[hold], problem.Y[hold])
        model.fit(problem.X[fit], problem.Y[fit], eval_set=held, early_stopping_rounds=40)
        score = next(iter(model.get_best_score()["validation"].values()))
        tried.append((score, depth, max(model.get_best_iteration() + 1, 5)))
    _, depth, n_rounds = min(tried)
    model = make_model(problem, depth, n_rounds).fit(problem.X, problem.Y)
    found = model.predict_proba(problem.X_test) if problem.classes else model.predict(problem.X_test)
    return np.asarray(found).reshape(len(problem.X_test), -1)


def make_model(problem, depth, n_rounds):
    given = {"depth": depth, "iterations": n_rounds, "learning_rate": 0.1, "verbose": False, "thread_count": 1}
    given |= {"random_seed": 0, "allow_writing_files": False, "boosting_type": "Plain"}
    if problem.classes:
        return CatBoostClassifier(loss_function="MultiLogloss", **given)
    loss = "MultiRMSE" if problem.complete else "MultiRMSEWithMissingValues"
    return CatBoostRegressor(loss_function=loss, **given)
