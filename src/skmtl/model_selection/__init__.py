"""Choosing hyper-parameters, and knowing whether the graph can be trusted."""

from skmtl.model_selection.compare import compare_methods
from skmtl.model_selection.cv import MultiTaskClassifierCV, MultiTaskRegressorCV
from skmtl.model_selection.path import StructurePath, structure_path
from skmtl.model_selection.scores import SCORES, target_scores
from skmtl.model_selection.stability import edge_stability

__all__ = [
    "SCORES",
    "MultiTaskClassifierCV",
    "MultiTaskRegressorCV",
    "StructurePath",
    "compare_methods",
    "edge_stability",
    "structure_path",
    "target_scores",
]
