"""Where tasks stand in a picture: their groups, an order that keeps groups together, and places in the plane."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skmtl._linalg import Array
from skmtl._notebook import circle_order
from skmtl._validation import import_extra

ALONE = -1
# Attraction between all tasks of a graph, so that its parts stay near one another, and extra attraction in a group.
EVERYWHERE, IN_GROUP = 0.02, 1.5


@dataclass(frozen=True)
class Arrangement:
    """Groups, order and places of tasks.

    Attributes
    ----------
    groups : ndarray of shape (n_tasks,)
        The group of each task, from 0, the largest; -1 for a task without relations.
    order : ndarray of shape (n_tasks,)
        Tasks group by group, those without relations last.
    places : ndarray of shape (n_tasks, 2)
        In the unit square; NaN for a task without relations.
    """

    groups: NDArray[np.intp]
    order: NDArray[np.intp]
    places: Array

    @property
    def n_groups(self) -> int:
        return int(self.groups.max(initial=ALONE)) + 1

    def borders(self) -> NDArray[np.intp]:
        """Positions in the order at which another group begins."""
        return np.flatnonzero(np.diff(self.groups[self.order])) + 1


def arrange(structure: Array) -> Arrangement:
    """Group and place tasks by a structure of shape (n_tasks, n_tasks); the same structure always gives the same."""
    strength = np.abs(np.asarray(structure, dtype=float))
    np.fill_diagonal(strength, 0.0)
    strength /= max(float(strength.max(initial=0.0)), np.finfo(float).tiny)
    groups = _find_groups(strength)
    position = np.empty(len(groups), dtype=np.intp)
    position[circle_order(np.asarray(structure, dtype=float))] = np.arange(len(groups))
    position = np.where(groups == ALONE, np.arange(len(groups)), position)
    order = np.lexsort((position, np.where(groups == ALONE, len(groups), groups)))
    return Arrangement(groups, order, _find_places(strength, groups, order))


def _find_groups(strength: Array) -> NDArray[np.intp]:
    """Communities of the graph by modularity, the largest first."""
    networkx = import_extra("networkx")
    graph = _graph(strength)
    groups = np.full(len(strength), ALONE, dtype=np.intp)
    found = networkx.community.louvain_communities(graph, weight="weight", seed=0)
    for k, members in enumerate(sorted(found, key=lambda members: (-len(members), min(members)))):
        groups[list(members)] = k
    return groups


def _find_places(strength: Array, groups: NDArray[np.intp], order: NDArray[np.intp]) -> Array:
    """Springs between related tasks, started with the groups around a circle."""
    networkx = import_extra("networkx")
    related = order[groups[order] != ALONE]
    places = np.full((len(strength), 2), np.nan)
    if not len(related):
        return places
    turns = 2.0 * np.pi * np.arange(len(related)) / len(related)
    start = {int(t): (np.cos(turn), np.sin(turn)) for t, turn in zip(related, turns, strict=True)}
    pull = strength * np.where(groups[:, None] == groups, 1.0 + IN_GROUP, 1.0) + EVERYWHERE
    everyone = _graph(pull, related)
    spread = 2.2 / np.sqrt(len(related))
    found = networkx.spring_layout(everyone, k=spread, pos=start, iterations=200, seed=0, weight="weight")
    places[related] = [found[int(t)] for t in related]
    low, high = places[related].min(axis=0), places[related].max(axis=0)
    return (places - low) / np.maximum(high - low, 1e-9)


def _graph(weights: Array, nodes: NDArray[np.intp] | None = None) -> Any:
    """The graph of the positive entries above the diagonal, between ``nodes`` or between all that have one."""
    graph = import_extra("networkx").Graph()
    a, b = np.nonzero(np.triu(weights, 1))
    keep = np.ones(len(a), dtype=bool) if nodes is None else np.isin(a, nodes) & np.isin(b, nodes)
    # In a fixed order: layouts and communities depend on it.
    graph.add_nodes_from(sorted({int(t) for t in (*a[keep], *b[keep])}))
    graph.add_weighted_edges_from((int(i), int(j), float(weights[i, j])) for i, j in zip(a[keep], b[keep], strict=True))
    return graph
