"""What a fitted regressor keeps of its training rows, so that it can say how sure its predictions are."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skmtl._linalg import Array
from skmtl.features import FeatureMap
from skmtl.solvers.design import Design, make_design
from skmtl.solvers.held_out import held_out_residuals
from skmtl.solvers.leave_one_out import Residuals
from skmtl.solvers.posterior import NewRows, Posterior, make_posterior
from skmtl.targets import Labels, LongLabels, TableLabels


@dataclass(eq=False)
class Evidence:
    """Training rows and standardized labels, and the structure that was learned of them.

    Nothing is computed before it is asked for, and nothing of what is computed is saved: a matrix of the size of the
    kernel can be made again from the rows.

    Attributes
    ----------
    X : ndarray or CSR array of shape (n, d)
        The training rows, as the feature map takes them.
    y, weight : ndarray of shape (n, n_tasks), or (n,) in long format
        Labels as the solver sees them, and their weights, zero at gaps.
    tasks : ndarray of int, of shape (n,), or None
        Long format: the task of each row.
    structure : ndarray of shape (n_tasks, n_tasks)
        As the predictor sees it, with the common part.
    alpha : float
    intercept : bool
    feature_map : FeatureMap
    """

    X: Any
    y: Array
    weight: Array
    tasks: NDArray[np.intp] | None
    structure: Array
    alpha: float
    intercept: bool
    feature_map: FeatureMap

    def __getstate__(self) -> dict[str, Any]:
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        if sparse.issparse(self.X):
            # Arrays, which any format of files can hold.
            state["X"] = {name: getattr(self.X, name) for name in ("data", "indices", "indptr", "shape")}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        X = state["X"]
        if isinstance(X, dict):
            X = sparse.csr_array((X["data"], X["indices"], X["indptr"]), shape=tuple(X["shape"]))
        for name, value in {**state, "X": X}.items():
            setattr(self, name, value)

    @property
    def n_tasks(self) -> int:
        return len(self.structure)

    @cached_property
    def labels(self) -> Labels:
        if self.tasks is None:
            return TableLabels(self.y, self.weight)
        return LongLabels.from_rows(self.y, self.weight, self.tasks, self.n_tasks)

    @cached_property
    def design(self) -> Design:
        """The training rows decomposed, as in the fit."""
        Z, weight = self.feature_map.transform(self.X), self.labels.row_weight()
        return make_design(self.feature_map, Z, weight, intercept=self.intercept, overwrite=self.feature_map.fresh)

    @cached_property
    def posterior(self) -> Posterior:
        """The covariance of the predictors for noise of variance one."""
        return make_posterior(self.design, self.labels, self.structure, self.alpha, intercept=self.intercept)

    def rows(self, X: Any) -> NewRows:
        """New rows as the posterior takes them."""
        return NewRows.from_features(X, self.feature_map, self.design)

    @cached_property
    def label_noise(self) -> Array:
        """The variance of a new label's noise relative to that of a label of weight one, of shape (n_tasks,).

        A new label is taken to have the mean weight of its task, so that multiplying all weights changes nothing.
        """
        counts = self.labels.sums((self.labels.weight > 0.0).astype(float))
        return counts / self.labels.sums(self.labels.weight)

    @cached_property
    def residuals(self) -> Residuals:
        """Errors at labels that were left out, and their standard deviation for noise of variance one."""
        labels, A = self.labels, self.structure
        found = held_out_residuals(self.design, labels, A, self.alpha, intercept=self.intercept)
        if not self.feature_map.on_landmarks:
            return found
        # New rows are uncertain by what the landmarks miss of them, and so is a row that is left out.
        missed = labels.arrange(self.feature_map.unspanned(self.X, self.feature_map.transform(self.X)))
        missed = missed.reshape(len(missed), *[1] * (found.spread.ndim - 1))
        n = float(labels.weight.sum()) / labels.n_tasks
        extra = missed * labels.spread(np.diag(A)) / (n * self.alpha)
        return Residuals(found.error, np.sqrt(found.spread**2 + extra))

    def scores(self, task: int) -> Array:
        """Sizes of errors of one task over their standard deviation for noise of variance one, ascending."""
        labels, residuals = self.labels, self.residuals
        error, spread = (labels.of_task(part, task) for part in residuals)
        known = np.isfinite(spread)
        return np.sort(np.abs(error[known]) / spread[known])

    @cached_property
    def noise(self) -> Array:
        """The standard deviation of the noise of a label of weight one, of the standardized labels, (n_tasks,).

        With it the errors at labels left out have the variance that they should have.
        """
        scores = [self.scores(t) for t in range(self.n_tasks)]
        # A task with one label says nothing about its noise; standardized labels have variance one.
        return np.array([np.sqrt(np.mean(some**2)) if len(some) else 1.0 for some in scores])
