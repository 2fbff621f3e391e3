"""Choosing hyper-parameters, and knowing whether the graph can be trusted."""

from skmtl.model_selection.scores import SCORES, target_scores

__all__ = ["SCORES", "target_scores"]
