"""Whether probabilities are what they say."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skmtl.plotting.canvas import GREY, group_color, prepare_axes, short_names


class ReliabilityDisplay:
    """How often labels are positive, against the probability that was predicted for them; a curve per task.

    Parameters
    ----------
    curves : DataFrame
        Columns ``task``, ``predicted``, the mean probability of a bin, ``observed``, the share of positive labels in
        it, and ``labels``, their number.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : The same of one task.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from skmtl import MultiTaskClassifier
    >>> from skmtl.plotting import ReliabilityDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> est = MultiTaskClassifier(loss="square", alpha=1e-3).fit(X[::2], y[::2])
    >>> display = ReliabilityDisplay.from_estimator(est, X[1::2], y[1::2])
    >>> int(display.curves["labels"].sum()) == len(y[1::2])
    True
    """

    def __init__(self, curves: pd.DataFrame) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, tasks: Any = None, n_bins: int = 10, ax: Any = None
    ) -> Self:
        """Draw the reliability of a fitted classifier on rows that it has not seen.

        Parameters
        ----------
        estimator : MultiTaskClassifier, or a search for one
        X, y, tasks
            As for ``fit``; a label may be missing.
        n_bins : int, default=10
            Bins of equal width.
        ax : matplotlib Axes, optional
        """
        P = np.asarray(estimator.predict_proba(X) if tasks is None else estimator.predict_proba(X, tasks=tasks))
        names = estimator.task_names_.tolist()
        if tasks is not None or (P.ndim == 2 and P.shape[1] == 2 and len(names) == 1):
            positive = (np.asarray(y) == estimator.classes_[1]).astype(float)
            own = np.asarray(names * len(P) if tasks is None else tasks)
            parts = [(name, P[own == name, 1], positive[own == name]) for name in names]
        elif P.shape[1] == len(estimator.classes_) and np.ndim(y) == 1:
            parts = [(name, P[:, k], (np.asarray(y) == estimator.classes_[k]) * 1.0) for k, name in enumerate(names)]
        else:
            Y = np.asarray(y, dtype=float)
            parts = [(name, P[:, k], Y[:, k]) for k, name in enumerate(names)]
        return cls(pd.concat([_bins(*part, n_bins) for part in parts], ignore_index=True)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones."""
        self.figure_, self.ax_ = prepare_axes(ax, figsize=(4.8, 4.8))
        self.ax_.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=0.8, zorder=0)
        curves = list(self.curves.groupby("task", sort=False))
        labels = short_names([name for name, _ in curves])
        for k, (label, (_, rows)) in enumerate(zip(labels, curves, strict=True)):
            color = group_color(k)
            self.ax_.plot(rows["predicted"], rows["observed"], color=color, linewidth=1.2, label=label)
            self.ax_.scatter(rows["predicted"], rows["observed"], s=4.0 + np.sqrt(rows["labels"]), color=color)
        self.ax_.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), xlabel="probability predicted", ylabel="share of labels")
        self.ax_.set_aspect("equal")
        if self.curves["task"].nunique() <= len(self.curves):
            self.ax_.legend(frameon=False, fontsize=8)
        return self


def _bins(name: Any, probability: ArrayLike, label: ArrayLike, n_bins: int) -> pd.DataFrame:
    """Means of probabilities and of labels, 0 or 1, in bins; labels that are missing are left out."""
    p, y = np.asarray(probability), np.asarray(label)
    p, y = p[~np.isnan(y)], y[~np.isnan(y)]
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    some = counts > 0
    means = [np.bincount(bins, values, minlength=n_bins)[some] / counts[some] for values in (p, y)]
    return pd.DataFrame({"task": name, "predicted": means[0], "observed": means[1], "labels": counts[some]})
