"""``RandomForest`` of scikit-learn."""

from forests import predict_with
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

PACKAGES = ("scikit-learn",)


def predict(problem):
    return predict_with(RandomForestRegressor, RandomForestClassifier, problem)
