"""Where tasks stand in a picture: their groups, an order that keeps groups together, and places in the plane."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from skmtl._linalg import Array
from skmtl._notebook import circle_order
from skmtl._validation import import_extra

ALONE = -1
# Attraction between all tasks of a graph, so that its parts stay near one another, and extra attraction in a group.
EVERYWHERE, IN_GROUP = 0.02, 1.5
# The length of springs in the unit square times the root of the number of tasks; steps and their number.
SPREAD, FIRST_STEP, ROUNDS = 2.2, 0.2, 150
# Places are stretched over the picture, but not where they are this much flatter than wide.
FLATTEST = 0.3


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

    See Also
    --------
    arrange : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.plotting import arrange
    >>> arrangement = arrange(np.kron(np.eye(2), np.ones((3, 3))))
    >>> arrangement.n_groups, arrangement.borders().tolist()
    (2, [3])
    """

    groups: NDArray[np.intp]
    order: NDArray[np.intp]
    places: Array

    @property
    def n_groups(self) -> int:
        """The number of groups, tasks without relations apart."""
        return int(self.groups.max(initial=ALONE)) + 1

    def borders(self) -> NDArray[np.intp]:
        """Positions in the order at which another group begins."""
        return np.flatnonzero(np.diff(self.groups[self.order])) + 1


def arrange(structure: Array) -> Arrangement:
    """Group tasks by their relations, and give them places in a picture.

    Parameters
    ----------
    structure : array-like of shape (n_tasks, n_tasks)
        Two tasks are related where it is not zero.

    Returns
    -------
    Arrangement
        Always the same for the same structure.

    See Also
    --------
    GraphDisplay, MatrixDisplay : Draw tasks so.

    Examples
    --------
    >>> import numpy as np
    >>> from skmtl.plotting import arrange
    >>> A = np.eye(4)
    >>> A[0, 2] = A[2, 0] = 0.5
    >>> arrange(A).groups.tolist()
    [0, -1, 0, -1]
    """
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
    a, b = np.nonzero(np.triu(strength, 1))
    graph = networkx.Graph()
    # In a fixed order: communities depend on it.
    graph.add_nodes_from(np.unique([a, b]).tolist())
    graph.add_weighted_edges_from(zip(a.tolist(), b.tolist(), strength[a, b].tolist(), strict=True))
    groups = np.full(len(strength), ALONE, dtype=np.intp)
    found = _merge(strength, networkx.community.louvain_communities(graph, weight="weight", seed=0))
    for k, members in enumerate(sorted(found, key=lambda members: (-len(members), min(members)))):
        groups[list(members)] = k
    return groups


def _merge(strength: Array, found: list[set[int]]) -> list[set[int]]:
    """Communities, with those made one that are joined more strongly than either of them holds together.

    Modularity cuts a chain in its middle, be that its strongest relation or not.
    """
    parts = sorted((sorted(members) for members in found), key=min)
    while True:
        within = [strength[np.ix_(part, part)].max() for part in parts]
        pairs = ((i, j) for i in range(len(parts)) for j in range(i))
        between = {(i, j): strength[np.ix_(parts[i], parts[j])].max() - max(within[i], within[j]) for i, j in pairs}
        i, j = max(between, key=lambda pair: between[pair], default=(0, 0))
        if between.get((i, j), 0.0) <= 0.0:
            return [set(part) for part in parts]
        parts[j] += parts.pop(i)


def _find_places(strength: Array, groups: NDArray[np.intp], order: NDArray[np.intp]) -> Array:
    """Springs between related tasks, started with the groups around a circle."""
    related = order[groups[order] != ALONE]
    places = np.full((len(strength), 2), np.nan)
    if not len(related):
        return places
    turns = 2.0 * np.pi * np.arange(len(related)) / len(related)
    pull = strength * np.where(groups[:, None] == groups, 1.0 + IN_GROUP, 1.0) + EVERYWHERE
    found = _relax(pull[np.ix_(related, related)], np.column_stack([np.cos(turns), np.sin(turns)]))
    found = _lay_down(found - found.mean(axis=0))
    low, high = found.min(axis=0), found.max(axis=0)
    # What is nearly a line stays one, in the middle of the other direction.
    reach = np.maximum(high - low, max(FLATTEST * float((high - low)[0]), 1e-9))
    places[related] = 0.5 + (found - (low + high) / 2.0) / reach
    return places


def _lay_down(centred: Array) -> Array:
    """The same places turned so that they reach furthest from side to side: pictures are wide, and names too."""
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    return centred @ (axes * np.where(axes[np.argmax(np.abs(axes), axis=0), [0, 1]] < 0.0, -1.0, 1.0))


def _relax(pull: Array, places: Array) -> Array:
    """Let all tasks repel one another and springs pull them together, in ever smaller steps.

    References
    ----------
    Fruchterman, Reingold. Graph drawing by force-directed placement. Software: Practice and Experience 1991.
    """
    rest = SPREAD / np.sqrt(len(pull))
    for step in np.linspace(FIRST_STEP, 0.0, ROUNDS, endpoint=False):
        distance = np.maximum(cdist(places, places), 0.01)
        push = rest**2 / distance**2 - pull * distance / rest
        # sum_j push_ij (x_i - x_j)
        force = push.sum(axis=1, keepdims=True) * places - push @ places
        places = places + step * force / np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 0.01)
    return places
