"""Pictures of a summary as SVG, for readers without JavaScript and for what never moves."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from skmtl.model_selection.score_words import call_score
from skmtl.plotting.names import tell_apart

WIDTH, HEIGHT, SIDE, LABELLED = 480, 330, 60, 40
# Letters of a name at a node, and beside a row of the matrix.
NODE_LABEL, ROW_LABEL = 18, 14
# A name whose node is nearer to a side of the picture than this begins or ends at the node.
NEAR_SIDE = 90
# Width and height of a letter there, about, where screens are small.
LETTER = 8.8, 18.0
# Cells of the matrix are drawn level by level: one path for each sign and shade.
SHADES, MATRIX = 6, 340
CHART, CHART_HEIGHT, MARGIN = 480, 130, 58
SCATTER = 150


def draw_graph(summary: dict[str, Any], graph: dict[str, Any], relations: Sequence[dict[str, Any]]) -> str:
    """The tasks of a graph at their places, joined by some of its relations."""
    joined = {end for one in relations for end in (one["a"], one["b"])}
    # Few tasks need little room.
    few = min(1.0, len(joined) / 6)
    room, side = 28 + (HEIGHT - 90) * few**2, SIDE + (WIDTH / 2 - 130) * (1.0 - few)
    places = {t: graph["places"][t] for t in sorted(joined)}
    levels = [up for _, up in places.values()] or [0.5]
    # And what is flat less.
    highest, height = max(levels), round(62 + max(28.0, room * (max(levels) - min(levels))))
    spots = {t: (side + x * (WIDTH - 2 * side), 26 + (highest - up) * room) for t, (x, up) in places.items()}
    largest = max((abs(one["weight"]) for one in relations), default=1.0) or 1.0
    lines = []
    for one in reversed(relations):
        (x1, y1), (x2, y2) = spots[one["a"]], spots[one["b"]]
        part = abs(one["weight"]) / largest
        kind = "moot" if one.get("moot") else "same" if one["weight"] > 0 else "opposite"
        lines.append(
            f'<line class="edge {kind}" x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" '
            f'stroke-width="{0.7 + 6.0 * part**1.3:.1f}" stroke-opacity="{0.4 + 0.5 * part:.2f}"/>'
        )
    names = tell_apart([task["name"] for task in summary["tasks"]], NODE_LABEL)
    down = _keep_apart(_lead_down(relations, spots), names, spots) if len(spots) <= LABELLED else {}
    nodes = [_node(summary["tasks"][t], names[t], graph["groups"][t], *spot, down.get(t)) for t, spot in spots.items()]
    return _svg(WIDTH, height, "Task graph", "".join(lines) + "".join(nodes))


def _lead_down(relations: Sequence[dict[str, Any]], spots: dict[int, tuple[float, float]]) -> dict[int, bool]:
    """Whether the lines of each task lead downwards, where its name would be in their way."""
    pull = dict.fromkeys(spots, 0.0)
    for one in relations:
        (x1, y1), (x2, y2) = spots[one["a"]], spots[one["b"]]
        slope = abs(one["weight"]) * (y2 - y1) / (np.hypot(x2 - x1, y2 - y1) or 1.0)
        pull[one["a"]] += slope
        pull[one["b"]] -= slope
    return {t: value > 0.0 for t, value in pull.items()}


def _keep_apart(down: dict[int, bool], names: Sequence[str], spots: dict[int, tuple[float, float]]) -> dict[int, bool]:
    """The same, but with names on the other side of their tasks where they would lie upon others, and do not there."""
    chosen: dict[int, bool] = {}

    def is_free(t: int, above: bool) -> bool:
        return not any(_overlap(names, spots, (t, above), other) for other in chosen.items())

    for t in sorted(spots, key=spots.__getitem__):
        chosen[t] = down[t] if is_free(t, down[t]) or not is_free(t, not down[t]) else not down[t]
    return chosen


def _overlap(names: Sequence[str], spots: dict[int, tuple[float, float]], *two: tuple[int, bool]) -> bool:
    """Whether the names of two tasks, above or below them, lie upon one another."""
    (left, a, first), (right, b, second) = (_extent(names[t], *spots[t], above) for t, above in two)
    return left < b and right < a and abs(first - second) < LETTER[1]


def _extent(name: str, x: float, y: float, above: bool) -> tuple[float, float, float]:
    """From where to where a name reaches, and its height."""
    anchor, shift = _anchor(x)
    width = LETTER[0] * len(name)
    start = x + shift - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
    return start, start + width, y - 12.0 if above else y + 21.0


def _anchor(x: float) -> tuple[str, float]:
    """Where a name is held, and how far from its task."""
    return ("start", -8.0) if x < NEAR_SIDE else ("end", 8.0) if x > WIDTH - NEAR_SIDE else ("middle", 0.0)


def _node(task: dict[str, Any], label: str, group: int, x: float, y: float, down: bool | None) -> str:
    """A task, its name above it where its lines lead down and else below; without a name where ``down`` is None."""
    kind = "moot" if not task["predictable"] else f"g{group if 0 <= group < 8 else 'x'}"
    at = y - 12 if down else y + 21
    anchor, shift = _anchor(x)
    text = f'<text x="{x + shift:.0f}" y="{at:.0f}" text-anchor="{anchor}">{escape(label)}</text>'
    radius, title = 4 if down is None else 7, escape(task["name"])
    circle = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius}"><title>{title}</title></circle>'
    return f'<g class="node {kind}">{circle}{"" if down is None else text}</g>'


def shown_matrix(summary: dict[str, Any]) -> str:
    """Which matrix is seen first."""
    return "structure" if summary["relations"] else "correlation"


def draw_matrix(summary: dict[str, Any]) -> str:
    """The structure as a heat map, or where it joins no tasks their correlation; an empty cell is zero."""
    A, order = np.asarray(summary[shown_matrix(summary)]), summary["order"]
    n = len(order)
    shown = A[np.ix_(order, order)] * (1.0 - np.eye(n))
    size = np.abs(shown) / (np.abs(shown).max(initial=0.0) or 1.0)
    shade = np.where(shown == 0.0, 0, np.maximum(np.ceil(SHADES * size**0.6), 1.0)).astype(int)
    cell = MATRIX / n
    paths = []
    for sign, kind in ((1.0, "same"), (-1.0, "opposite")):
        for level in range(1, SHADES + 1):
            i, j = np.nonzero((shade == level) & (sign * shown > 0.0))
            cells = "".join(f"M{q} {p}h1v1h-1z" for p, q in zip(i.tolist(), j.tolist(), strict=True))
            if cells:
                paths.append(f'<path class="cell {kind}" fill-opacity="{level / SHADES:.2f}" d="{cells}"/>')
    diagonal = f'<path class="cell middle" d="{"".join(f"M{k} {k}h1v1h-1z" for k in range(n))}"/>'
    left = 165 if n <= LABELLED else 10
    names = tell_apart([task["name"] for task in summary["tasks"]], ROW_LABEL)
    labels = [
        f'<text x="{left - 8}" y="{12 + (k + 0.5) * cell + 4:.1f}" text-anchor="end">{escape(names[t])}</text>'
        for k, t in enumerate(order)
        if n <= LABELLED
    ]
    frame = f'<rect class="frame" x="{left}" y="12" width="{MATRIX}" height="{MATRIX}"/>'
    cells = f'<g transform="translate({left} 12) scale({cell:.4f})">{"".join(paths)}{diagonal}</g>'
    words = f'<g class="axis">{"".join(labels)}</g>'
    return _svg(left + MATRIX + 10, MATRIX + 24, f"Heat map of the {shown_matrix(summary)}", cells + frame + words)


def draw_path(path: dict[str, Any]) -> str:
    """The number of related pairs, and the score, along mu."""
    panels = [("related pairs", path["n_edges"], None)]
    if any(score is not None for score in path["scores"]):
        panels.append(
            (
                f"{call_score(path['scoring'] or 'score')} on held-out rows, \N{PLUS-MINUS SIGN} error",
                path["scores"],
                path["errors"],
            )
        )
    top, parts = 26, []
    for title, values, errors in panels:
        parts.append(_panel(title, path["mus"], values, errors, top))
        top += CHART_HEIGHT + 36
    axis = [
        f'<text x="{_across(mu, path["mus"]):.0f}" y="{top - 16}" text-anchor="middle">{mu:g}</text>'
        for mu in (path["mus"][0], path["mus"][len(path["mus"]) // 2], path["mus"][-1])
    ]
    words = f'<text x="{CHART - 10}" y="{top + 2}" text-anchor="end">mu, to the right more relations</text>'
    return _svg(CHART, top + 10, "The path along mu", "".join(parts) + f'<g class="axis">{"".join(axis)}{words}</g>')


def _across(mu: float, mus: Sequence[float]) -> float:
    return MARGIN + (mu - mus[0]) / ((mus[-1] - mus[0]) or 1.0) * (CHART - MARGIN - 20)


def _panel(
    title: str, mus: Sequence[float], values: Sequence[float | None], errors: Sequence[float | None] | None, top: int
) -> str:
    """A curve with a band of its errors; without errors it is of counts, and begins at zero."""
    wide = [0.0] * len(mus) if errors is None else [error or 0.0 for error in errors]
    known = [(mu, value, error) for mu, value, error in zip(mus, values, wide, strict=True) if value is not None]
    low, high = min(value - error for _, value, error in known), max(value + error for _, value, error in known)
    low = min(low, 0.0) if errors is None else low
    high = high if high > low else low + 1.0
    # As many digits as it takes for the ends to look different.
    digits = next((k for k in range(3, 6) if f"{low:.{k}g}" != f"{high:.{k}g}"), 6)
    height, form = CHART_HEIGHT - 30, ".0f" if errors is None else f".{digits}g"

    def up(value: float) -> float:
        return top + 10 + height - (value - low) / (high - low) * height

    points = " ".join(f"{_across(mu, mus):.1f},{up(value):.1f}" for mu, value, _ in known)
    upper, lower = ([f"{_across(mu, mus):.1f},{up(v + s * e):.1f}" for mu, v, e in known] for s in (1.0, -1.0))
    band = "" if errors is None else f'<path class="band" d="M{"L".join([*upper, *reversed(lower)])}Z"/>'
    marks = [f'<circle class="mark" cx="{x}" cy="{y}" r="2.6"/>' for x, y in (p.split(",") for p in points.split())]
    ends = [
        f'<line x1="{MARGIN}" x2="{CHART - 20}" y1="{up(v):.1f}" y2="{up(v):.1f}"/>'
        f'<text x="{MARGIN - 7}" y="{up(v) + 4:.1f}" text-anchor="end">{v:{form}}</text>'
        for v in (low, high)
    ]
    axis = f'<g class="axis"><text class="title" x="0" y="{top - 6}">{escape(title)}</text>{"".join(ends)}</g>'
    return f'{axis}{band}<polyline class="curve main" points="{points}"/>{"".join(marks)}'


def draw_predictions(one: dict[str, Any], *, classes: bool) -> str:
    """Predictions across, observed labels up; of classes the scores of each class, one above the other."""
    x, y = np.asarray(one["observed"], dtype=float), np.asarray(one["predicted"], dtype=float)
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    low, high = (low, high) if high > low else (low - 1.0, high + 1.0)
    if classes:
        reach = float(np.abs(y).max()) or 1.0
        across = 6.0 + (SCATTER - 12.0) * (y + reach) / (2.0 * reach)
        # Points of a class lie side by side in a band of its own, so that many of them are seen.
        spread = (np.arange(len(x)) * 0.618034) % 1.0
        up = np.where(x > 0.0, 18.0, 0.55 * SCATTER) + spread * 0.3 * SCATTER
        middle = f'<line class="zero" x1="{SCATTER / 2:g}" x2="{SCATTER / 2:g}" y1="6" y2="{SCATTER - 6}"/>'
        words = f'<text x="4" y="13">yes</text><text x="4" y="{SCATTER - 8}">no</text>'
        back = f'{middle}<g class="axis">{words}</g>'
    else:
        across = 6.0 + (SCATTER - 12.0) * (y - low) / (high - low)
        up = SCATTER - 6.0 - (SCATTER - 12.0) * (x - low) / (high - low)
        back = f'<line class="zero" x1="6" y1="{SCATTER - 6}" x2="{SCATTER - 6}" y2="6"/>'
    dots = "".join(f"M{a:.0f} {b:.0f}h0" for a, b in zip(across, up, strict=True))
    frame = f'<rect class="frame" x="0.5" y="0.5" width="{SCATTER - 1}" height="{SCATTER - 1}"/>'
    return _svg(SCATTER, SCATTER, "Observed and predicted", f'{frame}{back}<path class="dots" d="{dots}"/>')


def _svg(width: float, height: float, label: str, inside: str) -> str:
    return f'<svg class="still" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{label}">{inside}</svg>'
