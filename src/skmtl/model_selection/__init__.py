"""Choosing hyper-parameters, and knowing whether the graph can be trusted."""

from skmtl.model_selection.classifier_cv import MultiTaskClassifierCV
from skmtl.model_selection.compare import compare_methods
from skmtl.model_selection.coverage import interval_coverage
from skmtl.model_selection.gains import describe_gains
from skmtl.model_selection.held_out import describe_comparison
from skmtl.model_selection.judged_choice import judge_choice
from skmtl.model_selection.judging import Judgement, judge_model
from skmtl.model_selection.kernel_choice import KernelChoice, choose_kernel, quick_search
from skmtl.model_selection.other_candidates import best_candidate
from skmtl.model_selection.parameter_choice import ParameterChoice, choose_parameters, given_parameters
from skmtl.model_selection.path import StructurePath, structure_path
from skmtl.model_selection.readable import both_graphs, readable_graph
from skmtl.model_selection.regressor_cv import MultiTaskRegressorCV
from skmtl.model_selection.scores import SCORES, target_scores
from skmtl.model_selection.stability import edge_stability

__all__ = [
    "SCORES",
    "Judgement",
    "KernelChoice",
    "MultiTaskClassifierCV",
    "MultiTaskRegressorCV",
    "ParameterChoice",
    "StructurePath",
    "best_candidate",
    "both_graphs",
    "choose_kernel",
    "choose_parameters",
    "compare_methods",
    "describe_comparison",
    "describe_gains",
    "edge_stability",
    "given_parameters",
    "interval_coverage",
    "judge_choice",
    "judge_model",
    "quick_search",
    "readable_graph",
    "structure_path",
    "target_scores",
]
