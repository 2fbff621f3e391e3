"""Whether sharing helps, task by task."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skmtl.model_selection import compare_methods
from skmtl.plotting.canvas import GREY, VERDICTS, prepare_axes, short_names


class ComparisonDisplay:
    """What a method adds to the score of independent tasks, with intervals, a row per task.

    Parameters
    ----------
    comparison : DataFrame
        What ``compare_methods`` returns.
    method : str, optional
        Which of the methods compared; by default the first.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    compare_methods : Makes the comparison.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressorCV
    >>> from skmtl.plotting import ComparisonDisplay
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> search = MultiTaskRegressorCV(alphas=[1.0], mus=[0.9], cv=3)
    >>> display = ComparisonDisplay.from_estimator(search, X, Y, ["sparse"], cv=3)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['Weight', 'Waist', 'Pulse', '(all tasks)']
    """

    def __init__(self, comparison: pd.DataFrame, *, method: str | None = None) -> None:
        self.comparison = comparison
        self.method = method

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, Y: ArrayLike, methods: Any = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """Compare methods with an estimator that chooses its parameters, and draw; ``options`` as there."""
        return cls.from_comparison(compare_methods(X, Y, methods, estimator=estimator, **options), ax=ax)

    @classmethod
    def from_comparison(cls, comparison: pd.DataFrame, *, method: str | None = None, ax: Any = None) -> Self:
        """Draw what ``compare_methods`` returned."""
        return cls(comparison, method=method).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones."""
        known = list(dict.fromkeys(self.comparison["method"]))
        method = known[0] if self.method is None else self.method
        if method not in known:
            raise ValueError(f"method={method!r} was not compared; choose one of {', '.join(known)}.")
        rows = self.comparison[self.comparison["method"] == method]
        self.figure_, self.ax_ = prepare_axes(ax, figsize=(6.4, 1.2 + 0.32 * len(rows)))
        for k, (difference, low, high, verdict) in enumerate(
            rows[["difference", "low", "high", "verdict"]].itertuples(index=False)
        ):
            color = VERDICTS[verdict]
            if np.isfinite(low) and np.isfinite(high):
                self.ax_.plot([low, high], [k, k], color=color, linewidth=2.5, solid_capstyle="round")
            self.ax_.plot(difference, k, "o", color=color, markersize=6)
        self.ax_.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
        self.ax_.set_yticks(range(len(rows)), short_names(rows["task"]))
        self.ax_.invert_yaxis()
        self.ax_.set(xlabel="score less that of independent tasks", title=method)
        for verdict in dict.fromkeys(rows["verdict"]):
            self.ax_.plot([], [], "o", color=VERDICTS[verdict], label=verdict)
        self.ax_.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12 - 1.2 / (4 + len(rows))), ncols=3, frameon=False)
        return self
