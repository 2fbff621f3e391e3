"""``MultiTaskRegressorCV()`` and ``MultiTaskClassifierCV()`` of skmtl, nothing set."""

from skmtl import MultiTaskClassifierCV, MultiTaskRegressorCV

PACKAGES = ("skmtl",)


def predict(problem):
    if problem.classes:
        return MultiTaskClassifierCV().fit(problem.X, problem.Y).decision_function(problem.X_test)
    return MultiTaskRegressorCV().fit(problem.X, problem.Y).predict(problem.X_test)
