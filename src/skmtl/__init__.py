"""Sparse kernel multi-task learning: many related tasks, and the sparse graph that relates them."""

from skmtl.estimators import MultiTaskClassifier, MultiTaskRegressor
from skmtl.penalties import minimize_structure

__version__ = "0.1.0.dev0"

__all__ = ["MultiTaskClassifier", "MultiTaskRegressor", "minimize_structure"]
