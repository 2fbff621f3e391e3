"""The task graph."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skmtl._notebook import OPPOSITE, SAME
from skmtl.plotting.arrangement import ALONE, Arrangement, arrange
from skmtl.plotting.canvas import group_color, prepare_axes, short_names

# What can be seen: lines for each task, but so many in a small graph, and names.
LINES_PER_TASK, FEWEST_LINES, MOST_NAMES = 2, 30, 40
# In points: how far above its task the middle of a name may be, the first that is free, and the size of a letter.
OFFSETS, LETTER = (-13.0, 13.0, -23.0, 23.0, -33.0), (4.6, 10.0)
# Letters in a row of tasks without relations.
ROW = 100
PREDICTS, TO_LOOK_AT = "the graph that predicts", "stable edges, the graph to look at"


class GraphDisplay:
    """The relations between tasks as a graph: width is strength, colour is sign, and tasks are coloured by group.

    At most as many lines and names are drawn as can be seen, the strongest first; the title says how many.

    Parameters
    ----------
    structure : array-like of shape (n_tasks, n_tasks)
        Two tasks are joined where it is not zero.
    task_names : array-like of shape (n_tasks,)
        What is written beside the tasks.
    arrangement : Arrangement, optional
        Groups and places of the tasks; by default those that :func:`arrange` finds.
    title : str, default=""
        Which graph it is.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.

    See Also
    --------
    MatrixDisplay : The same as a heat map.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.plotting import GraphDisplay
    >>> est = MultiTaskRegressor(alpha=0.1).fit(*load_linnerud(return_X_y=True, as_frame=True))
    >>> display = GraphDisplay.from_estimator(est)
    >>> len(display.ax_.texts)
    3
    """

    def __init__(
        self, structure: ArrayLike, task_names: ArrayLike, *, arrangement: Arrangement | None = None, title: str = ""
    ) -> None:
        self.structure = np.asarray(structure, dtype=float)
        self.task_names = np.asarray(task_names)
        self.arrangement = arrange(self.structure) if arrangement is None else arrangement
        self.title = title

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the graph that a fitted estimator predicts with."""
        check_is_fitted(estimator)
        return cls(estimator.structure_, estimator.task_names_, title=PREDICTS).plot(ax)

    @classmethod
    def from_stability(cls, stability: pd.DataFrame, task_names: ArrayLike, *, ax: Any = None) -> Self:
        """Draw the stable edges of what ``readable_graph`` or ``edge_stability`` returned: the graph to look at."""
        names = np.asarray(task_names)
        number = {name: k for k, name in enumerate(names.tolist())}
        structure = np.eye(len(names))
        for row in stability[stability["stable"]].to_dict("records"):
            i, j = number[row["task_a"]], number[row["task_b"]]
            structure[i, j] = structure[j, i] = float(row["weight"])
        return cls(structure, names, title=TO_LOOK_AT).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones."""
        self.figure_, self.ax_ = prepare_axes(ax, figsize=(8.0, 6.0))
        places = self._places()
        self._draw_edges(places)
        colors = [group_color(group) for group in self.arrangement.groups]
        self.ax_.scatter(*places.T, s=90, c=colors, edgecolors="white", linewidths=1.2, zorder=3)
        self.ax_.margins(0.12)
        self.ax_.set_axis_off()
        self._write_names(places)
        return self

    def _write_names(self, places: Any) -> None:
        """Names below their tasks, or where others are in the way, above, or further off."""
        from matplotlib.patheffects import withStroke

        names = short_names(self.task_names)
        for k, up in self._offsets(places, names).items():
            self.ax_.annotate(
                names[k],
                places[k],
                (0, up),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=8,
                zorder=4,
                path_effects=[withStroke(linewidth=2.5, foreground="white")],
            )

    def _offsets(self, places: Any, names: Any) -> dict[int, float]:
        """How far above its task each name is written, in points."""
        self.ax_.autoscale_view()
        at = self.ax_.transData.transform(places) * 72.0 / self.figure_.dpi
        chosen, taken = dict.fromkeys(self._named(), OFFSETS[0]), list[tuple[float, float, float]]()
        for k in sorted(chosen, key=lambda k: tuple(at[k])):
            half = 0.5 * LETTER[0] * len(names[k])
            near = [y for x, y, reach in taken if abs(at[k, 0] - x) < half + reach]
            free = (up for up in OFFSETS if not any(abs(at[k, 1] + up - y) < LETTER[1] for y in near))
            chosen[k] = next(free, OFFSETS[0])
            taken.append((at[k, 0], at[k, 1] + chosen[k], half))
        return chosen

    def _draw_edges(self, places: Any) -> None:
        a, b = np.nonzero(np.triu(self.structure, 1))
        most, total = max(LINES_PER_TASK * len(self.structure), FEWEST_LINES), len(a)
        strongest = np.argsort(-np.abs(self.structure[a, b]), kind="stable")[:most]
        a, b = a[strongest], b[strongest]
        weights = self.structure[a, b]
        some = f" (the {most:,} strongest of {total:,} relations)" if total > most else ""
        self.ax_.set_title(f"{self.title}{some}", fontsize=10, y=-0.02, va="top")
        strengths = np.abs(weights) / np.abs(weights).max(initial=1e-300)
        for k in np.argsort(strengths):
            color = SAME if weights[k] > 0.0 else OPPOSITE
            self.ax_.plot(
                *places[[a[k], b[k]]].T,
                color=color,
                linewidth=0.6 + 5.0 * strengths[k],
                alpha=0.35 + 0.6 * strengths[k],
                solid_capstyle="round",
                zorder=1,
            )
        for color, label in ((SAME, "positive weight"), (OPPOSITE, "negative weight")):
            if color in {SAME if weight > 0.0 else OPPOSITE for weight in weights}:
                self.ax_.plot([], [], color=color, linewidth=4, label=label)
        if len(weights):
            self.ax_.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)

    def _named(self) -> Any:
        """The tasks whose names are written: of many the most related."""
        strength = np.abs(self.structure - np.diag(np.diag(self.structure))).sum(axis=1)
        return np.sort(np.argsort(-strength, kind="stable")[:MOST_NAMES])

    def _places(self) -> Any:
        """Places of all tasks; those without relations stand in rows beneath the graph."""
        places = self.arrangement.places.copy()
        alone = self.arrangement.order[self.arrangement.groups[self.arrangement.order] == ALONE]
        # Long names need more room than short ones.
        per_row = min(max(ROW // max(1, *map(len, short_names(self.task_names))), 2), 8)
        for k, task in enumerate(alone):
            places[task] = ((k % per_row + 0.5) / min(per_row, len(alone)), -0.25 - 0.15 * (k // per_row))
        return places
