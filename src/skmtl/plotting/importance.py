"""Which features matter, as bars."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skmtl._notebook import SAME
from skmtl.plotting.canvas import prepare_axes, short_names

MOST_FEATURES = 20


class ImportanceDisplay:
    """How much the predictors of all tasks change along each feature, the largest first.

    Parameters
    ----------
    importances : array-like of shape (n_features,)
        Shares that sum to one.
    feature_names : array-like of shape (n_features,), optional
        By default x0, x1 and so on.
    n_features : int, default=20
        How many are drawn at most.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    GraphDisplay : Which tasks belong together.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.plotting import ImportanceDisplay
    >>> est = MultiTaskRegressor(kernel="rbf", gamma=1e-4).fit(*load_linnerud(return_X_y=True, as_frame=True))
    >>> display = ImportanceDisplay.from_estimator(est)
    >>> sorted(label.get_text() for label in display.ax_.get_yticklabels())
    ['Chins', 'Jumps', 'Situps']
    """

    def __init__(
        self, importances: ArrayLike, feature_names: ArrayLike | None = None, *, n_features: int = MOST_FEATURES
    ) -> None:
        self.importances = np.asarray(importances, dtype=float)
        default = [f"x{k}" for k in range(len(self.importances))]
        self.feature_names = np.asarray(default if feature_names is None else feature_names)
        self.n_features = n_features

    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: ArrayLike | None = None, ax: Any = None) -> Self:
        """Draw the ``feature_importances_`` of a fitted estimator.

        Parameters
        ----------
        estimator : MultiTaskRegressor, MultiTaskClassifier, or a search for one of them
        feature_names : array-like of shape (n_features,), optional
            By default those that the estimator has seen.
        ax : matplotlib Axes, optional
        """
        check_is_fitted(estimator)
        names = getattr(estimator, "feature_names_in_", None) if feature_names is None else feature_names
        return cls(estimator.feature_importances_, names).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones."""
        shown = np.argsort(-self.importances, kind="stable")[: self.n_features]
        self.figure_, self.ax_ = prepare_axes(ax, figsize=(6.4, 1.2 + 0.26 * len(shown)))
        self.ax_.barh(np.arange(len(shown)), self.importances[shown], color=SAME)
        self.ax_.set_yticks(range(len(shown)), short_names(self.feature_names[shown]), fontsize=8)
        self.ax_.invert_yaxis()
        left = len(self.importances) - len(shown)
        rest = f"; {left} others: {1.0 - self.importances[shown].sum():.2g}" if left else ""
        self.ax_.set(xlabel=f"share in the squared slopes{rest}")
        return self
