"""Pictures of a summary as SVG, for readers without JavaScript and for what never moves."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from skmtl._linalg import Array
from skmtl.model_selection.score_words import call_score
from skmtl.plotting.names import tell_apart
from skmtl.report.numbers import format_number

WIDTH, HEIGHT, SIDE, LABELLED = 480, 330, 60, 40
# Letters of a name at a node, and beside a row of the matrix.
NODE_LABEL, ROW_LABEL = 18, 14
# A name whose node is nearer to a side of the picture than this begins or ends at the node.
NEAR_SIDE = 90
# Width of a letter there, about, where screens are small, and how much wider an ellipsis is.
LETTER, ELLIPSIS = 8.9, 7.0
RADIUS = 7
# Cells of the matrix are drawn level by level: one path for each sign and shade.
SHADES, MATRIX = 6, 340
CHART, CHART_HEIGHT, MARGIN = 480, 130, 62
SCATTER = 150

Spot = tuple[float, float]
# How a name is held, and where; and left, top, right and bottom of what it takes.
Place = tuple[str, float, float]
Box = tuple[float, float, float, float]


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
    held = _place_names(names, spots, relations, height) if len(spots) <= LABELLED else {}
    nodes = [_node(summary["tasks"][t], names[t], graph["groups"][t], spot, held.get(t)) for t, spot in spots.items()]
    return _svg(WIDTH, height, "Task graph", "".join(lines) + "".join(nodes))


def _lead_down(relations: Sequence[dict[str, Any]], spots: dict[int, Spot]) -> dict[int, bool]:
    """Whether the lines of each task lead downwards, where its name would be in their way."""
    pull = dict.fromkeys(spots, 0.0)
    for one in relations:
        (x1, y1), (x2, y2) = spots[one["a"]], spots[one["b"]]
        slope = abs(one["weight"]) * (y2 - y1) / (np.hypot(x2 - x1, y2 - y1) or 1.0)
        pull[one["a"]] += slope
        pull[one["b"]] -= slope
    return {t: value > 0.0 for t, value in pull.items()}


def _place_names(
    names: Sequence[str], spots: dict[int, Spot], relations: Sequence[dict[str, Any]], height: float
) -> dict[int, Place]:
    """For each task the first free place for its name that no line crosses, or as few as can be."""
    down = _lead_down(relations, spots)
    ends = np.array([[*spots[one["a"]], *spots[one["b"]]] for one in relations]).reshape(-1, 4)
    taken = [(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in spots.values()]
    chosen: dict[int, Place] = {}
    for t in sorted(spots, key=spots.__getitem__):
        boxes = {place: _extent(names[t], *place) for place in _places(*spots[t], above=down[t])}
        free = [place for place, box in boxes.items() if _is_free(box, taken, height)]
        chosen[t] = min(free or list(boxes)[:1], key=lambda place: _crossings(boxes[place], ends))
        taken.append(boxes[chosen[t]])
    return chosen


def _places(x: float, y: float, *, above: bool) -> list[Place]:
    """Where the name of a task may be held: above or below it, beside it, or aslant."""
    first, second = (y - 12.0, y + 21.0) if above else (y + 21.0, y - 12.0)
    middle: tuple[str, float] = ("middle", x)
    if x < NEAR_SIDE or x > WIDTH - NEAR_SIDE:
        middle = ("start", x - 8.0) if x < NEAR_SIDE else ("end", x + 8.0)
    beside: list[Place] = [("start", x + 12.0, y + 5.0), ("end", x - 12.0, y + 5.0)]
    aslant: list[Place] = [(*side, at) for at in (first, second) for side in (("start", x - 8.0), ("end", x + 8.0))]
    return [(*middle, first), (*middle, second), *beside, *aslant]


def _extent(name: str, anchor: str, x: float, y: float) -> Box:
    """The place that a name takes: left, top, right, bottom."""
    width = LETTER * len(name) + ELLIPSIS * name.count("\N{HORIZONTAL ELLIPSIS}")
    left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
    return left, y - 13.0, left + width, y + 4.0


def _is_free(box: Box, taken: Sequence[Box], height: float) -> bool:
    """Whether a box is within the picture, and upon no other."""
    left, top, right, bottom = box
    within = left >= 1.0 and top >= 0.0 and right <= WIDTH - 1.0 and bottom <= height
    return within and not any(left < b and a < right and top < d and c < bottom for a, c, b, d in taken)


def _crossings(box: Box, ends: Array) -> int:
    """How many lines pass through a box: of each the part between the sides, and between top and bottom."""
    start, step = ends[:, :2], ends[:, 2:] - ends[:, :2]
    step = np.where(step == 0.0, 1e-9, step)
    low, high = ((np.array(corner) - start) / step for corner in (box[:2], box[2:]))
    enter, leave = np.minimum(low, high).max(axis=1), np.maximum(low, high).min(axis=1)
    return int(np.sum(np.maximum(enter, 0.0) < np.minimum(leave, 1.0)))


def _node(task: dict[str, Any], label: str, group: int, spot: Spot, place: Place | None) -> str:
    """A task and its name; without a name where there is no place for it."""
    kind = "moot" if not task["predictable"] else f"g{group if 0 <= group < 8 else 'x'}"
    radius, title = 4 if place is None else RADIUS, escape(task["name"])
    circle = f'<circle cx="{spot[0]:.0f}" cy="{spot[1]:.0f}" r="{radius}"><title>{title}</title></circle>'
    text = ""
    if place is not None:
        anchor, x, y = place
        text = f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(label)}</text>'
    return f'<g class="node {kind}">{circle}{text}</g>'


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
    height, form = CHART_HEIGHT - 30, ",.0f" if errors is None else f".{digits}g"

    def up(value: float) -> float:
        return top + 10 + height - (value - low) / (high - low) * height

    points = " ".join(f"{_across(mu, mus):.1f},{up(value):.1f}" for mu, value, _ in known)
    upper, lower = ([f"{_across(mu, mus):.1f},{up(v + s * e):.1f}" for mu, v, e in known] for s in (1.0, -1.0))
    band = "" if errors is None else f'<path class="band" d="M{"L".join([*upper, *reversed(lower)])}Z"/>'
    marks = [f'<circle class="mark" cx="{x}" cy="{y}" r="2.6"/>' for x, y in (p.split(",") for p in points.split())]
    ends = [
        f'<line x1="{MARGIN}" x2="{CHART - 20}" y1="{up(v):.1f}" y2="{up(v):.1f}"/>'
        f'<text x="{MARGIN - 7}" y="{up(v) + 4:.1f}" text-anchor="end">{format_number(v, form=form)}</text>'
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
