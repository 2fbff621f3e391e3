"""The training rows as sums over their blocks, for square loss."""

from collections.abc import Callable

import numpy as np

from skmtl._linalg import Array
from skmtl.features import FeatureMap
from skmtl.objective import Supervised
from skmtl.solvers.design import spectrum
from skmtl.solvers.gaps import GapStep
from skmtl.solvers.ridge import Ridge
from skmtl.solvers.sums import LARGEST_GRAMS, Gather, Gathered, Normal
from skmtl.targets import BlockLabels


class BlockDesign:
    """The rows of a table that is read a block at a time, once; with gaps it is read again where sums are too large."""

    def __init__(self, feature_map: FeatureMap, labels: BlockLabels, *, intercept: bool) -> None:
        self._map, self._labels, self._intercept = feature_map, labels, intercept
        self._complete = labels.complete()
        # As many coordinates as basis functions, at most.
        size = feature_map.n_functions(labels.rows.shape[1])
        self._width = size + labels.rows.shape[1]
        grams = labels.n_tasks * size**2 <= LARGEST_GRAMS
        late = feature_map.well_conditioned()
        gather = Gather(feature_map, labels.reader, late, self._complete, grams, intercept)
        sums = labels.rows.reduce(gather, Gathered.merge, width=self._width)
        self._sums = sums = sums.orthonormal(feature_map) if late else sums
        self.n = float(sums.pooled.weight[0])
        self.center = sums.functions / self.n if intercept else np.zeros_like(sums.functions)
        pooled = sums.pooled.gram[0] if len(sums.pooled.gram) else sums.by_task.gram.mean(axis=0)
        self.values, self._basis = spectrum(pooled.copy(), self.n)

    def lift(self, W: Array) -> Array:
        return self._map.lift(self._basis @ W)

    def supervised(self, alpha: float) -> Supervised:
        """The supervised step: closed form for complete labels, else conjugate gradients."""
        tasks = self._sums.by_task
        cross = self._basis.T @ tasks.cross
        if self._complete:
            projected = cross / np.sqrt(self.values)[:, None]
            rest = float(np.sum(tasks.squares) - np.sum(projected**2))
            return Ridge(self.values, projected, max(rest, 0.0), self.n, alpha)
        shift = (tasks.mean - self._sums.pooled.mean) @ self._basis
        curve = self._curve()

        def rotated(W: Array) -> Array:
            return self._basis.T @ curve(self._basis @ W)

        return GapStep(self.values, rotated, cross, tasks.squares, shift.T, self.n, alpha)

    def _curve(self) -> Callable[[Array], Array]:
        """W -> (G_t w_t), from the matrices of the tasks or from the rows once more."""
        tasks, labels = self._sums.by_task, self._labels
        if len(tasks.gram):
            return lambda W: (tasks.gram @ W.T[:, :, None])[:, :, 0].T

        def curve(W: Array) -> Array:
            step = Normal(self._map, labels.reader, self._map.lift(W))
            products = self._map.orthonormal(labels.rows.reduce(step, np.add, width=self._width).T).T
            return products - (tasks.weight * np.sum(tasks.mean.T * W, axis=0)) * tasks.mean.T

        return curve
