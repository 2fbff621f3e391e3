"""The graph along mu: how many relations, and how good the predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skmtl._notebook import OPPOSITE, SAME
from skmtl.model_selection import StructurePath, structure_path
from skmtl.model_selection.score_words import call_score
from skmtl.plotting.canvas import prepare_axes


class PathDisplay:
    """The number of relations and the cross-validated score along mu, one above the other.

    Parameters
    ----------
    path : StructurePath
        What ``structure_path`` returns.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    structure_path : Makes the path.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.plotting import PathDisplay
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> display = PathDisplay.from_estimator(MultiTaskRegressor(alpha=1.0), X, Y, [0.5, 1.0], cv=3)
    >>> len(display.axes_)
    2
    """

    def __init__(self, path: StructurePath) -> None:
        self.path = path

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, Y: ArrayLike, mus: ArrayLike | None = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """Follow the estimator along mu and draw; ``options`` are those of ``structure_path``."""
        return cls.from_path(structure_path(estimator, X, Y, mus, **options), ax=ax)

    @classmethod
    def from_path(cls, path: StructurePath, *, ax: Any = None) -> Self:
        """Draw what ``structure_path`` returned."""
        return cls(path).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the two axes given, or on new ones."""
        self.figure_, self.axes_ = prepare_axes(ax, n_rows=2, figsize=(6.4, 5.4))
        edges, score = np.ravel(self.axes_)
        mus = self.path.mus
        edges.plot(mus, self.path.n_edges, color=SAME, marker="o", markersize=4)
        edges.set(ylabel="related pairs", ylim=(0, None))
        if np.isnan(self.path.scores).all():
            score.text(0.5, 0.5, "no scores: the path was followed without cv", transform=score.transAxes, ha="center")
        else:
            score.errorbar(mus, self.path.scores, self.path.errors, color=OPPOSITE, marker="o", markersize=4, capsize=2)
        score.set(
            ylabel=f"{call_score(self.path.scoring)}, cross-validated",
            xlabel="mu (tasks are joined beyond the correlation 1 - mu)",
        )
        return self
