"""Sparse kernel multi-task learning: many related tasks, and the sparse graph that relates them."""

import importlib
from typing import TYPE_CHECKING, Any

from skmtl._version import __version__

if TYPE_CHECKING:
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

# Names are imported when somebody asks for them (SPEC 1 of Scientific Python), so that `skmtl --help` need not wait for
# scikit-learn. The imports above tell type checkers the same.
HOMES = {
    "MultiTaskClassifier": "estimators",
    "MultiTaskRegressor": "estimators",
    "MultiTaskClassifierCV": "model_selection",
    "MultiTaskRegressorCV": "model_selection",
    "compare_methods": "model_selection",
    "edge_stability": "model_selection",
    "structure_path": "model_selection",
    "minimize_structure": "penalties",
    "load_model": "persistence",
    "save_model": "persistence",
}
MODULES = (
    "datasets",
    "estimators",
    "features",
    "losses",
    "model_selection",
    "objective",
    "penalties",
    "persistence",
    "plotting",
    "report",
    "solvers",
    "tables",
    "targets",
)


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(importlib.import_module(f"skmtl.{HOMES[name]}"), name)
    if name in MODULES:
        return importlib.import_module(f"skmtl.{name}")
    raise AttributeError(f"module 'skmtl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *MODULES})


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
