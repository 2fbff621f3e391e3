"""``ExtraTrees`` of scikit-learn."""

from forests import predict_with
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

PACKAGES = ("scikit-learn",)


def predict(problem):
    return predict_with(ExtraTreesRegressor, ExtraTreesClassifier, problem)
