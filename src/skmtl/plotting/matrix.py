"""The structure, or the correlations, as a heat map."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skmtl._notebook import OPPOSITE, SAME
from skmtl._validation import import_extra
from skmtl.plotting.arrangement import Arrangement, arrange
from skmtl.plotting.canvas import prepare_axes, short_names

MOST_LABELS = 40
KINDS = {"structure": "structure A", "correlation": "correlation"}


class MatrixDisplay:
    """A matrix of all pairs of tasks as a heat map, related tasks side by side.

    Parameters
    ----------
    matrix : array-like of shape (n_tasks, n_tasks)
        Symmetric.
    task_names : array-like of shape (n_tasks,)
        What is written beside rows and columns.
    arrangement : Arrangement, optional
        Order and groups; by default those that :func:`arrange` finds for the matrix.
    label : str, default=""
        What the matrix holds.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    image_ : matplotlib AxesImage
        The heat map.

    See Also
    --------
    GraphDisplay : The same as a graph.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.plotting import MatrixDisplay
    >>> est = MultiTaskRegressor(alpha=0.1).fit(*load_linnerud(return_X_y=True, as_frame=True))
    >>> MatrixDisplay.from_estimator(est, kind="correlation").image_.get_array().shape
    (3, 3)
    """

    def __init__(
        self, matrix: ArrayLike, task_names: ArrayLike, *, arrangement: Arrangement | None = None, label: str = ""
    ) -> None:
        self.matrix = np.asarray(matrix, dtype=float)
        self.task_names = np.asarray(task_names)
        self.arrangement = arrange(self.matrix) if arrangement is None else arrangement
        self.label = label

    @classmethod
    def from_estimator(cls, estimator: Any, *, kind: str = "structure", ax: Any = None) -> Self:
        """Draw what a fitted estimator has learned.

        Parameters
        ----------
        estimator : MultiTaskRegressor or MultiTaskClassifier
        kind : {"structure", "correlation"}, default="structure"
            The learned A, or the correlations of the predictors; both in the order of the groups of A.
        ax : matplotlib Axes, optional
        """
        if kind not in KINDS:
            raise ValueError(f"kind={kind!r} is not known; choose one of {', '.join(KINDS)}.")
        check_is_fitted(estimator)
        matrix = getattr(estimator, f"{kind}_")
        arrangement = arrange(estimator.structure_)
        return cls(matrix, estimator.task_names_, arrangement=arrangement, label=KINDS[kind]).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones."""
        colors = import_extra("matplotlib.colors")
        self.figure_, self.ax_ = prepare_axes(ax, figsize=(6.4, 5.4))
        order, n_tasks = self.arrangement.order, len(self.matrix)
        # Colours span what lies between tasks; the diagonal is larger and would drown it.
        limit = float(np.abs(self.matrix - np.diag(np.diag(self.matrix))).max()) or 1.0
        diverging = colors.LinearSegmentedColormap.from_list("skmtl", [OPPOSITE, "#ffffff", SAME])
        self.image_ = self.ax_.imshow(self.matrix[np.ix_(order, order)], cmap=diverging, vmin=-limit, vmax=limit)
        for border in self.arrangement.borders():
            self.ax_.axhline(border - 0.5, color="0.3", linewidth=0.6)
            self.ax_.axvline(border - 0.5, color="0.3", linewidth=0.6)
        if n_tasks <= MOST_LABELS:
            names = short_names(self.task_names[order])
            self.ax_.set_yticks(range(n_tasks), names, fontsize=8)
            self.ax_.set_xticks(range(n_tasks), names, fontsize=8, rotation=90)
        else:
            self.ax_.set(xticks=[], yticks=[], xlabel=f"{n_tasks} tasks", ylabel=f"{n_tasks} tasks")
        self.figure_.colorbar(self.image_, ax=self.ax_, label=self.label, extend="max")
        return self
