"""Whether sharing helps, task by task."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from skmtl.model_selection import compare_methods
from skmtl.model_selection.score_words import call_score
from skmtl.plotting.canvas import GREY, VERDICTS, prepare_axes, short_names

# Methods of one task stand this close to one another; tasks are one apart.
BETWEEN = 0.7
MARKERS = "osD^vP*X"


class ComparisonDisplay:
    """What methods add to the score of independent tasks, with intervals: a row per task, a mark per method.

    Parameters
    ----------
    comparison : DataFrame
        What ``compare_methods`` returns.
    method : str, optional
        One of the methods compared; by default all are drawn.

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
        if "method" not in self.comparison:
            raise ValueError("comparison has no column 'method'; pass what compare_methods or judge_model found.")
        known = list(dict.fromkeys(self.comparison["method"]))
        if self.method is not None and self.method not in known:
            raise ValueError(f"method={self.method!r} was not compared; choose one of {', '.join(known)}.")
        methods = known if self.method is None else [self.method]
        tasks = list(dict.fromkeys(self.comparison["task"]))
        height = 1.4 + len(tasks) * max(0.32, 0.17 * len(methods))
        self.figure_, self.ax_ = prepare_axes(ax, figsize=(6.4, height))
        # Without a score, for labels are all the same, there is nothing to draw.
        judged = self.comparison[self.comparison["score"].notna() & self.comparison["method"].isin(methods)]
        offsets = np.linspace(-0.5, 0.5, len(methods)) * BETWEEN if len(methods) > 1 else [0.0]
        for k, (method, offset) in enumerate(zip(methods, offsets, strict=True)):
            rows = judged[judged["method"] == method]
            self._draw_method(rows, [tasks.index(task) + offset for task in rows["task"]], MARKERS[k % len(MARKERS)])
        self.ax_.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
        marks = ["" if task in set(judged["task"]) else " (not judged)" for task in tasks]
        labels = [f"{name}{mark}" for name, mark in zip(short_names(tasks), marks, strict=True)]
        self.ax_.set_yticks(range(len(tasks)), labels)
        self.ax_.invert_yaxis()
        scoring = call_score(self.comparison["scoring"].iloc[0])
        # The legend stands where a title would: a single method is named below.
        whose = f" of {methods[0]}" if len(methods) == 1 else ""
        self.ax_.set_xlabel(f"{scoring}{whose} less that of independent tasks\n(right of zero sharing helps)")
        self._explain(methods, list(dict.fromkeys(judged["verdict"])))
        return self

    def _draw_method(self, rows: pd.DataFrame, heights: list[float], marker: str) -> None:
        """Points and intervals of one method."""
        values = rows[["difference", "low", "high", "verdict"]].itertuples(index=False)
        for height, (difference, low, high, verdict) in zip(heights, values, strict=True):
            color = VERDICTS[verdict]
            if np.isfinite(low) and np.isfinite(high):
                self.ax_.plot([low, high], [height, height], color=color, linewidth=2.0, solid_capstyle="round")
            self.ax_.plot(difference, height, marker, color=color, markersize=6)

    def _explain(self, methods: list[str], verdicts: list[str]) -> None:
        """Colours say the verdict, marks the method."""
        for verdict in verdicts:
            self.ax_.plot([], [], color=VERDICTS[verdict], linewidth=4, label=verdict)
        for k, method in enumerate(methods if len(methods) > 1 else ()):
            self.ax_.plot([], [], MARKERS[k % len(MARKERS)], color="0.35", label=method)
        self.ax_.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize=8)
