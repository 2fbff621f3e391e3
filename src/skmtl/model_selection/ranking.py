"""Scores of the order that predictions give to rows of two classes; rows with equal predictions count together."""

import numpy as np

from skmtl._linalg import Array, Mask


def average_precision(positive: Mask, scores: Array, weight: Array) -> float:
    """The mean over positive rows of the share of positive ones among all that are ranked no lower."""
    true, false = _found(positive, scores, weight)
    return float(np.sum(np.diff(true, prepend=0.0) * true / (true + false)) / true[-1])


def roc_auc(positive: Mask, scores: Array, weight: Array) -> float:
    """The share of pairs of a positive and a negative row whose order is right; ties are half right."""
    true, false = _found(positive, scores, weight)
    # Negative rows of each threshold have the positive ones above them right, and half of their own.
    right = np.sum(np.diff(false, prepend=0.0) * (true - 0.5 * np.diff(true, prepend=0.0)))
    return float(right / (true[-1] * false[-1]))


def _found(positive: Mask, scores: Array, weight: Array) -> tuple[Array, Array]:
    """Weights of the positive and of the negative rows above each threshold, from the highest to the lowest."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)
    true, all_of_them = np.cumsum(np.where(positive, weight, 0.0)[order])[ends], np.cumsum(weight[order])[ends]
    return true, all_of_them - true
