"""Choosing hyper-parameters, and knowing whether the graph can be trusted."""

from skmtl.model_selection.compare import compare_methods
from skmtl.model_selection.coverage import interval_coverage
from skmtl.model_selection.cv import MultiTaskClassifierCV, MultiTaskRegressorCV
from skmtl.model_selection.kernel_choice import KernelChoice, choose_kernel, quick_search
from skmtl.model_selection.other_candidates import best_candidate
from skmtl.model_selection.parameter_choice import (
    ParameterChoice,
    choose_parameters,
    compare_with_independent,
    given_parameters,
)
from skmtl.model_selection.path import StructurePath, structure_path
from skmtl.model_selection.scores import SCORES, target_scores
from skmtl.model_selection.stability import edge_stability

__all__ = [
    "SCORES",
    "KernelChoice",
    "MultiTaskClassifierCV",
    "MultiTaskRegressorCV",
    "ParameterChoice",
    "StructurePath",
    "best_candidate",
    "choose_kernel",
    "choose_parameters",
    "compare_methods",
    "compare_with_independent",
    "edge_stability",
    "given_parameters",
    "interval_coverage",
    "quick_search",
    "structure_path",
    "target_scores",
]
