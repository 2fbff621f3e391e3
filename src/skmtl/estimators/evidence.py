"""What a fitted regressor keeps of its training rows, so that it can say how sure its predictions are."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skmtl._linalg import TINY, Array, eigh
from skmtl.estimators.calibration import held_out
from skmtl.features import FeatureMap
from skmtl.losses import Loss
from skmtl.solvers.design import Design, make_design
from skmtl.solvers.held_out import groups_of_labels, held_out_residuals
from skmtl.solvers.leave_one_out import Residuals
from skmtl.solvers.posterior import NewRows, Posterior, make_posterior
from skmtl.targets import Labels, LongLabels, TableLabels

# Variance, of one, that the noise of every combination of tasks has at least: nothing is known without error.
LEAST_NOISE = 0.02
# Rows of which the landmarks miss no more than this, of what they miss most, are landmarks; with so many labels of each
# task at other rows, these alone say how large errors are.
SPANNED, ENOUGH = 1e-6, 50
# Errors at labels that are all one value are rounding up to this share of the largest label.
ROUNDING = 1e-12


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
    loss : Loss
    target_mean : ndarray of shape (n_tasks,)
        What was subtracted from the labels.
    groups : ndarray of int, of shape (n,), optional
        Rows of one group are left out together.
    """

    X: Any
    y: Array
    weight: Array
    tasks: NDArray[np.intp] | None
    structure: Array
    alpha: float
    intercept: bool
    feature_map: FeatureMap
    loss: Loss
    target_mean: Array
    groups: NDArray[np.intp] | None = None

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
        Z, weight = self.feature_map.transform(self.X), self.labels.design_weight()
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
        found = held_out_residuals(self.design, labels, A, self.alpha, intercept=self.intercept, groups=self.groups)
        if not self.feature_map.on_landmarks:
            return found
        # New rows are uncertain by what the landmarks miss of them, and so is a row that is left out.
        missed = labels.arrange(self.feature_map.unspanned(self.X, self.feature_map.transform(self.X)))
        others = missed > SPANNED * missed.max()
        missed, apart = (part.reshape(len(part), *[1] * (found.spread.ndim - 1)) for part in (missed, others))
        n = float(labels.weight.sum()) / labels.n_tasks
        spread = np.sqrt(found.spread**2 + missed * labels.spread(np.diag(A)) / (n * self.alpha))
        if labels.sums((apart & np.isfinite(spread)).astype(float)).min() >= ENOUGH:
            # A landmark has a function of its own, which no other label teaches as well: no new row is like it.
            spread = np.where(apart, spread, np.inf)
        together = found.together + float(np.mean(missed[others] if others.any() else missed)) * A / (n * self.alpha)
        return Residuals(found.error, spread, together)

    @property
    def grouped(self) -> bool:
        """Whether groups were left out, of which two at least have labels; else rows were."""
        return groups_of_labels(self.labels, self.groups) is not None

    @cached_property
    def units(self) -> NDArray[Any]:
        """What was left out together: the group of each label, or its row."""
        rows, shape = np.arange(self.labels.n_rows), self.labels.y.shape
        own: NDArray[Any] = rows if self.groups is None or not self.grouped else self.groups
        arranged = self.labels.arrange(own)
        return np.broadcast_to(arranged.reshape(len(arranged), *[1] * (len(shape) - 1)), shape)

    def scores(self, task: int) -> tuple[Array, NDArray[Any]]:
        """Sizes of errors of one task over their standard deviation for noise of variance one, ascending; their units.

        Both of shape (m,).
        """
        parts = self.residuals.error, self.residuals.spread, self.units
        error, spread, unit = (self.labels.of_task(part, task) for part in parts)
        known = np.isfinite(spread)
        scores = np.abs(error[known]) / spread[known]
        order = np.argsort(scores)
        return scores[order], unit[known][order]

    @cached_property
    def noise(self) -> Array:
        """The standard deviation of the noise of a label of weight one, of the standardized labels, (n_tasks,).

        With it the errors at labels left out have the variance that they should have.
        """
        scores = [self.scores(t)[0] for t in range(self.n_tasks)]
        # A task with one label says nothing about its noise; standardized labels have variance one.
        noise = np.array([np.sqrt(np.mean(some**2)) if len(some) else 1.0 for some in scores])
        # Labels that are all one value are zero; errors of next to nothing are the rounding of other tasks.
        sizes = self.labels.maxima(np.abs(self.labels.y))
        return np.where((sizes <= 0.0) & (noise <= ROUNDING * max(float(sizes.max()), 0.0)), 0.0, noise)

    @property
    def noise_covariance(self) -> Array:
        """Of new labels of all tasks at one row, in units of each task's ``noise``, of shape (n_tasks, n_tasks)."""
        root = np.sqrt(self.label_noise)
        return np.asarray(self.noise_correlation * np.outer(root, root))

    @cached_property
    def noise_correlation(self) -> Array:
        """How the noise of two tasks at one row goes together, of shape (n_tasks, n_tasks), diagonal one.

        It is what errors at labels of one row left out have in common beyond the posterior of the predictors, shrunk
        towards none by as much as there would be of it by chance [1]_.

        References
        ----------
        .. [1] Schaefer and Strimmer. A shrinkage approach to large-scale covariance matrix estimation. Statistical
           Applications in Genetics and Molecular Biology 2005.
        """
        if self.tasks is not None:
            # No row has labels of two tasks.
            return np.eye(self.n_tasks)
        known = np.isfinite(self.residuals.spread)
        Z = np.where(known, self.residuals.error, 0.0) / np.where(self.noise > 0.0, self.noise, 1.0)
        counts = known.T.astype(float) @ known
        root = np.sqrt(self.label_noise)
        R = (Z.T @ Z / np.maximum(counts, 1.0) - self.residuals.together) / np.outer(root, root)
        return shrunk_correlation(R, counts)

    @property
    def given_labels(self) -> Labels:
        """The labels in the units of y but for its scale, as ``held_out_scores`` are."""
        return self.labels.with_labels(self.labels.y + self.labels.spread(self.target_mean), self.labels.weight)

    @cached_property
    def held_out_scores(self) -> Array:
        """Scores of rows held out, in the units of y but for its scale, laid out like the labels."""
        road = self.design, self.labels, self.structure, self.alpha
        scores = held_out(*road, self.loss, intercept=self.intercept, groups=self.groups)
        return scores + self.labels.spread(self.target_mean)


def shrunk_correlation(R: Array, counts: Array) -> Array:
    """The nearest correlation matrix, or nearly so, to an estimate from so many pairs, shrunk by its own error."""
    R = np.clip(np.where(counts > 2.0, R, 0.0), -1.0, 1.0)
    np.fill_diagonal(R, 0.0)
    # Where nothing goes together, the squares of the estimates sum to this.
    pairs = ~np.eye(len(R), dtype=bool) & (counts > 2.0)
    by_chance = float(np.sum(1.0 / (counts[pairs] - 1.0)))
    R *= max(1.0 - by_chance / max(float(np.sum(R**2)), TINY), 0.0)
    a, U = eigh(R + np.eye(len(R)))
    R = (U * np.maximum(a, LEAST_NOISE)) @ U.T
    root = np.sqrt(np.diag(R))
    return np.asarray(R / np.outer(root, root))
