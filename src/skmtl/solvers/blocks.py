"""The training rows as sums over their blocks, for square loss."""

import numpy as np

from skmtl._linalg import Array
from skmtl.features import FeatureMap
from skmtl.objective import Supervised
from skmtl.solvers.design import spectrum
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.moments import LARGEST_GRAMS, ReadMoments, ReadNormal, TableMoments
from skmtl.solvers.observed_moments import ObservedMoments
from skmtl.solvers.ridge import Ridge
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
        # Changing coordinates once, after the sums, is cheaper; it must not cost digits.
        late = feature_map.well_conditioned()
        read = ReadMoments(feature_map, labels.reader, late, self._complete, grams, intercept)
        moments = labels.rows.reduce(read, TableMoments.merge, width=self._width)
        self._moments = moments = moments.orthonormal(feature_map) if late else moments
        self.n = float(moments.pooled.weight[0])
        self.center = moments.functions / self.n if intercept else np.zeros_like(moments.functions)
        # How large basis functions are in the mean, of shape (D,).
        self.sizes = moments.sizes / self.n
        pooled = moments.pooled.gram[0] if len(moments.pooled.gram) else moments.by_task.gram.mean(axis=0)
        self.values, self._basis, self.rounding = spectrum(pooled.copy(), self.n)

    def lift(self, W: Array) -> Array:
        return self._map.lift(self._basis @ W)

    def locate(self, Z: Array) -> Array:
        return self._map.orthonormal(Z - self.center) @ self._basis

    def supervised(self, alpha: float) -> Supervised:
        """The supervised step: closed form for complete labels, else conjugate gradients."""
        tasks = self._moments.by_task
        cross = self._basis.T @ tasks.cross
        if self._complete:
            projected = cross / np.sqrt(self.values)[:, None]
            rest = float(np.sum(tasks.squares) - np.sum(projected**2))
            return Ridge(self.values, projected, max(rest, 0.0), self.n, alpha)
        shift = (tasks.mean - self._moments.pooled.mean) @ self._basis
        observed = ObservedMoments(
            n=self.n,
            n_labels=round(self.n * cross.shape[1]),
            values=self.values,
            shares=tasks.weight / self.n,
            cross=cross,
            squares=tasks.squares,
            target_mean=np.zeros(cross.shape[1]),
            shift=shift.T,
            stacked=self._basis.T @ tasks.gram @ self._basis,
            read=self._read,
        )
        return MissingLabelRidge(observed, alpha)

    def _read(self, W: Array) -> Array:
        """W -> (G_t w_t), from the rows once more."""
        tasks, labels, W = self._moments.by_task, self._labels, self._basis @ W
        step = ReadNormal(self._map, labels.reader, self._map.lift(W))
        products = self._map.orthonormal(labels.rows.reduce(step, np.add, width=self._width).T).T
        return self._basis.T @ (products - (tasks.weight * np.sum(tasks.mean.T * W, axis=0)) * tasks.mean.T)
