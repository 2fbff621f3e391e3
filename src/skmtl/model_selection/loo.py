r"""Leaving one row out in closed form, for square loss, complete labels and a given structure.

With :math:`A = U \operatorname{diag}(a) U'` and the eigenbasis V, k of the kernel of the weighted, centred rows, the
errors at the rows left out are

.. math::

    R = \bigl( (C U) / H \bigr) U', \qquad
    H_{ij} = \sum_l \frac{V_{il}^2}{k_l a_j + n \alpha} + \frac{1 - e_i^2 - \sum_l V_{il}^2}{n \alpha},

where :math:`n \alpha` stays what it is for all rows, and e is the direction of the constant (:math:`e_i^2 = 1/n`
without weights), or zero without an intercept. The second term is what lies outside the range of the kernel; without
:math:`e_i^2` in it the row's own label would leak through the mean.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array, eigh
from skmtl.losses import Loss
from skmtl.model_selection.candidates import Answer, CandidateScores, count_edges
from skmtl.model_selection.scores import SCORES
from skmtl.objective import predictor_structure
from skmtl.solvers.design import Design
from skmtl.solvers.training import Training
from skmtl.targets import Labels, TaskData

# Leaving one out gives one score; its error is judged from this many groups of rows.
LOO_GROUPS = 10


class LeaveOneOut:
    """Predictions for every row by a fit without it, for any alpha and any structure.

    Parameters
    ----------
    design : Design
        The design of all rows.
    targets : ndarray of shape (n, n_tasks)
        Targets, centred by their weighted mean where there is an intercept.
    weight : ndarray of shape (n,)
        Weights of the rows.
    """

    def __init__(self, design: Design, targets: Array, weight: Array, *, intercept: bool) -> None:
        root = np.sqrt(weight)[:, None]
        self._values, self._targets, self._weight = design.values, targets, weight
        self._V = root * design.rows() / np.sqrt(design.values)
        constant = weight / weight.sum() if intercept else np.zeros(len(weight))
        self._V2 = self._V**2
        weighted = root * targets
        self._projected = self._V.T @ weighted
        # The share of each row outside the range of the kernel and the constant, which is nothing at full rank:
        # divided by n alpha, rounding would count.
        outside = float(self._V.shape[1] < np.count_nonzero(weight) - intercept)
        self._null = outside * np.maximum(1.0 - constant - self._V2.sum(axis=1), 0.0)[:, None]
        self._rest = outside * (weighted - self._V @ self._projected)

    def predict(self, structures: Sequence[Array], alpha: float) -> list[Array]:
        """Predictions at the rows left out, of shape (n, n_tasks), for each structure that a predictor sees."""
        ridge = float(self._weight.sum()) * alpha
        bases = [eigh(A) for A in structures]
        a, U = (
            np.concatenate([values for values, _ in bases]),
            np.concatenate([vectors for _, vectors in bases], axis=1),
        )
        # All structures at once: the products with V are those that cost.
        inverse = 1.0 / (self._values[:, None] * np.maximum(a, 0.0) + ridge)
        C = self._V @ ((self._projected @ U) * inverse) + (self._rest @ U) / ridge
        H = self._V2 @ inverse + self._null / ridge
        root = np.sqrt(self._weight)[:, None]
        error = np.divide(C, H * root, out=np.zeros_like(C), where=root > 0.0)
        parts = np.split(error, len(structures), axis=1)
        return [self._targets - part @ vectors.T for part, (_, vectors) in zip(parts, bases, strict=True)]


def check_loo(data: TaskData, loss: Loss, score: str) -> None:
    """Refuse what the closed form cannot do."""
    labels = data.labels
    if not loss.quadratic:
        raise ValueError(f'cv="loo" needs loss="square", not {loss.name!r}; use cv=5.')
    if not labels.complete():
        gaps = int(np.count_nonzero(labels.weight == 0.0)) if not labels.long else "most"
        raise ValueError(f'cv="loo" needs every label of every row, with one weight; {gaps} are missing. Use cv=5.')
    if score not in SCORES:
        raise ValueError(f'scoring={score!r} is not possible with cv="loo"; choose one of {", ".join(SCORES)}.')


def search_loo(
    training: Training,
    answers: Iterable[tuple[float, Sequence[Answer]]],
    score: Callable[[Labels, Array], float],
) -> CandidateScores:
    """Score answers, which come alpha by alpha, on rows left out in turn."""
    labels, scaled = training.data.labels, training.labels
    n_rows = labels.n_rows
    leave_out = LeaveOneOut(
        training.design, scaled.y.reshape(n_rows, -1), scaled.row_weight(), intercept=training.intercept
    )
    groups = [np.arange(n_rows)[k::LOO_GROUPS] for k in range(min(LOO_GROUPS, n_rows))]
    scores, edges, means = [], [], []
    for alpha, some in answers:
        structures = [predictor_structure(solution.structure, one.settings.common) for one, solution in some]
        for (_, solution), F in zip(some, leave_out.predict(structures, alpha), strict=True):
            F = np.add(*training.scaling.undo(F, np.zeros(labels.n_tasks))).reshape(labels.y.shape)
            means.append(score(labels, F))
            scores.append([_score_group(score, labels, F, group) for group in groups])
            edges.append([float(count_edges(solution.structure))])
    return CandidateScores(np.array(scores), np.array(edges), np.array(means))


def _score_group(score: Callable[[Labels, Array], float], labels: Labels, F: Array, group: NDArray[np.intp]) -> float:
    some = labels.take(group)
    return score(some, some.arrange(labels.in_rows(F)[group]))
