"""``MultiTaskRegressorCV()`` and ``MultiTaskClassifierCV()`` of skmtl, nothing set but the score of the tables."""

from skmtl import MultiTaskClassifierCV, MultiTaskRegressorCV

PACKAGES = ("skmtl",)


def predict(problem):
    if problem.classes:
        search = MultiTaskClassifierCV(scoring="average_precision")
        return search.fit(problem.X, problem.Y).decision_function(problem.X_test)
    return MultiTaskRegressorCV().fit(problem.X, problem.Y).predict(problem.X_test)
