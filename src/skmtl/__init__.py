"""Sparse kernel multi-task learning: many related tasks, and the sparse graph that relates them."""

from skmtl.estimators import MultiTaskClassifier, MultiTaskRegressor
from skmtl.model_selection import (
    MultiTaskClassifierCV,
    MultiTaskRegressorCV,
    compare_methods,
    edge_stability,
    structure_path,
)
from skmtl.penalties import minimize_structure

__version__ = "0.1.0.dev0"

__all__ = [
    "MultiTaskClassifier",
    "MultiTaskClassifierCV",
    "MultiTaskRegressor",
    "MultiTaskRegressorCV",
    "compare_methods",
    "edge_stability",
    "minimize_structure",
    "structure_path",
]
