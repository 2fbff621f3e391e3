"""The estimators: multi-task regression and classification with a learned task structure."""

from skmtl.estimators.classification import MultiTaskClassifier
from skmtl.estimators.regression import MultiTaskRegressor

__all__ = ["MultiTaskClassifier", "MultiTaskRegressor"]
