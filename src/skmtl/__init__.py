"""Sparse kernel multi-task learning: many related tasks, and the sparse graph that relates them."""

from skmtl._version import __version__
from skmtl.estimators import MultiTaskClassifier, MultiTaskRegressor
from skmtl.model_selection import (
    MultiTaskClassifierCV,
    MultiTaskRegressorCV,
    compare_methods,
    edge_stability,
    structure_path,
)
from skmtl.penalties import minimize_structure
from skmtl.persistence import load_model, save_model

__all__ = [
    "MultiTaskClassifier",
    "MultiTaskClassifierCV",
    "MultiTaskRegressor",
    "MultiTaskRegressorCV",
    "__version__",
    "compare_methods",
    "edge_stability",
    "load_model",
    "minimize_structure",
    "save_model",
    "structure_path",
]
