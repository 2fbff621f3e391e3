"""The small picture of a task graph that a notebook shows; SVG, without any package."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skmtl._linalg import TINY, Array

Index = NDArray[np.intp]

SAME, OPPOSITE = "#2a7f9e", "#d0603f"
SIZE, RADIUS, MARGIN = 200.0, 92.0, 150.0
MOST_EDGES, MOST_LABELS, LONGEST = 400, 24, 22


class DrawsRelations:
    """Adds the task graph and the certificate of a fitted model to what scikit-learn shows in a notebook."""

    # Mypy does not know whose parent is asked: this class stands before scikit-learn's BaseEstimator, which has both.

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._picture()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = dict(super()._repr_mimebundle_(**kwargs))  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._picture()
        return bundle

    def _picture(self: Any) -> str:
        """The picture below scikit-learn's diagram; nothing before ``fit``."""
        try:
            check_is_fitted(self)
        except NotFittedError:
            return ""
        names = [str(name) for name in self.task_names_.tolist()]
        return draw_relations(names, self.structure_, self.solution_.certificate)


def draw_relations(names: Sequence[str], structure: Array, certificate: str) -> str:
    """Tasks on a circle and the relations between them, as HTML; ``structure`` has shape (n_tasks, n_tasks)."""
    a, b = np.nonzero(np.triu(structure, 1))
    n_pairs = len(names) * (len(names) - 1) // 2
    found = (
        f"{len(a)} of {n_pairs} pairs of tasks are joined by the graph that predicts."
        if n_pairs
        else "There is one task."
    )
    # At most the strongest are drawn, the strongest last and so on top.
    shown = np.argsort(np.abs(structure[a, b]), kind="stable")[-MOST_EDGES:]
    if len(shown) < len(a):
        found += f" The {MOST_EDGES} strongest are drawn."
    figure = _figure(names, structure, a[shown], b[shown], found) if n_pairs else ""
    return (
        '<figure style="margin:0.8em 0 0;max-width:36em;font:14px/1.45 system-ui,sans-serif">'
        f"{figure}<figcaption>{escape(found)} {escape(certificate)}</figcaption></figure>"
    )


def circle_order(structure: Array) -> Index:
    """An order of the tasks in which related ones are neighbours."""
    sizes = np.sqrt(np.maximum(np.diag(structure), TINY))
    distance = 1.0 - np.minimum(np.abs(structure) / np.outer(sizes, sizes), 1.0)
    np.fill_diagonal(distance, 0.0)
    if len(structure) < 3:
        return np.arange(len(structure), dtype=np.intp)
    return np.asarray(
        leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True)), dtype=np.intp
    )


def _figure(names: Sequence[str], structure: Array, a: Index, b: Index, title: str) -> str:
    turn = np.empty(len(names))
    turn[circle_order(structure)] = 2.0 * np.pi * (np.arange(len(names)) + 0.5) / len(names)
    x, y = RADIUS * np.sin(turn), -RADIUS * np.cos(turn)
    labelled = len(names) <= MOST_LABELS
    width, height = SIZE + (2.0 * MARGIN if labelled else 10.0), SIZE + 30.0
    weights = structure[a, b]
    edges = [
        f'<path d="M{x[i]:.1f} {y[i]:.1f}Q0 0 {x[j]:.1f} {y[j]:.1f}" stroke="{SAME if weight > 0 else OPPOSITE}" '
        f'stroke-width="{0.6 + 5.0 * size:.2f}" stroke-opacity="{0.35 + 0.6 * size:.2f}"/>'
        for i, j, weight, size in zip(a, b, weights, np.abs(weights) / np.abs(weights).max(initial=1e-300), strict=True)
    ]
    tasks = [
        f'<circle cx="{x[i]:.1f}" cy="{y[i]:.1f}" r="{4.0 if labelled else 2.5}"><title>{escape(name)}</title></circle>'
        for i, name in enumerate(names)
    ]
    labels = [_label(name, x[i], y[i]) for i, name in enumerate(names) if labelled]
    return (
        f'<svg viewBox="{-width / 2:g} {-height / 2:g} {width:g} {height:g}" role="img" aria-label="{escape(title)}" '
        f'style="display:block;max-width:100%;width:{width:g}px">'
        f'<g fill="none" stroke-linecap="round">{"".join(edges)}</g><g fill="currentColor">{"".join(tasks)}</g>'
        f'<g fill="currentColor" font-size="11">{"".join(labels)}</g></svg>'
    )


def _label(name: str, x: float, y: float) -> str:
    """The name beside its place on the circle, shortened."""
    half = (LONGEST - 1) // 2
    short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1 - half]}…{name[-half:]}"
    anchor = "start" if x >= 0.0 else "end"
    # A name from right to left must not turn its neighbours around.
    place = f'x="{x + np.copysign(8.0, x):.1f}" y="{y + 4.0:.1f}" text-anchor="{anchor}"'
    return f'<text {place} style="unicode-bidi:isolate">{escape(short)}</text>'
