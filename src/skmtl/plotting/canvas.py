"""What all displays share: axes to draw on, colours and short names."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from skmtl._notebook import OPPOSITE, SAME
from skmtl._validation import import_extra
from skmtl.model_selection.verdict import ALONE, CLOSE, HELPS, HURTS, UNCHANGED, WORSE
from skmtl.plotting.names import tell_apart

# Colours of groups; beyond them, grey. None is a colour of signs.
GROUPS = ("#c8921e", "#7f56a3", "#4a9a4e", "#cf6a97", "#5478c4", "#93694a", "#8f9a2c", "#3aa6a0")
GREY = "#8b909a"
PALE = "#c9ccd2"
VERDICTS = {HELPS: SAME, HURTS: OPPOSITE, CLOSE: GREY, WORSE: PALE, UNCHANGED: GREY, ALONE: GREY}
LONGEST = 28


def prepare_axes(ax: Any, *, n_rows: int = 1, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes: those given, or new ones, one above the other."""
    pyplot = import_extra("matplotlib.pyplot")
    if ax is None:
        return pyplot.subplots(n_rows, layout="constrained", sharex=True, **options)
    axes = np.ravel(ax)
    if len(axes) != n_rows:
        raise ValueError(f"ax has {len(axes)} axes, but this picture needs {n_rows}.")
    return axes[0].figure, ax


def group_color(group: int) -> str:
    """The colour of a group; grey for tasks without one, and when colours run out."""
    return GROUPS[group] if 0 <= group < len(GROUPS) else GREY


def short_names(names: Iterable[Any]) -> list[str]:
    """Names as plain text of bounded length, no two alike: a dollar sign starts no formula."""
    return [name.replace("$", r"\$") for name in tell_apart([str(name) for name in names], LONGEST)]
