"""What regression and classification share: parameters, the fit, and what was learned about the tasks."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skmtl._cluster import is_dask
from skmtl._linalg import SMALL_DECOMPOSITION, Array, single_threaded
from skmtl._notebook import draw_relations
from skmtl._rows import Rows
from skmtl._validation import check_count, check_positive, check_weight, import_extra
from skmtl.estimators.table import Predict, is_large, open_rows
from skmtl.features import FeatureMap, Kernel, Landmarks, make_feature_map
from skmtl.losses import Loss
from skmtl.objective import Problem
from skmtl.penalties import StructurePenalty, check_penalty
from skmtl.solvers import BlockDesign, auto_eps, check_square_and_symmetric, make_design, make_supervised, solve
from skmtl.targets import BlockLabels, Grouped, LabelReader, Labels, Standardized, balance, make_labels, standardize

# Kernels that sparse rows do not have.
DENSE_KERNELS = ("precomputed", "chi2", "additive_chi2")

Callback = Callable[[dict[str, float]], None]


class Settings(NamedTuple):
    """Parameters of one fit, checked; ``eps=None`` is automatic."""

    penalty: StructurePenalty
    alpha: float
    common: float
    eps: float | None
    tol: float
    max_iter: int


class MultiTaskEstimator(BaseEstimator):
    """What regression and classification share: parameters, the fit, and what was learned about the tasks."""

    def __init__(
        self,
        penalty: str | StructurePenalty = "sparse",
        *,
        alpha: float = 1e-2,
        eps: float | str = "auto",
        common: float = 0.0,
        loss: str | Loss = "square",
        kernel: Kernel = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        n_components: int | None = None,
        landmarks: Landmarks = "uniform",
        fit_intercept: bool = True,
        balance_tasks: bool = False,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 200,
        callback: Callback | None = None,
        random_state: Any = None,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.eps = eps
        self.common = common
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.landmarks = landmarks
        self.fit_intercept = fit_intercept
        self.balance_tasks = balance_tasks
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel not in DENSE_KERNELS
        return tags

    def _on_landmarks(self) -> bool:
        return self.n_components is not None or not isinstance(self.landmarks, str)

    def _in_blocks(self, X: Any, loss: Loss) -> bool:
        """Whether X is read a block at a time: Dask, or features too many to be held; square loss needs no more."""
        landmarks = self._on_landmarks()
        if is_dask(X):
            if self.kernel != "linear" and not landmarks:
                raise ValueError(
                    f"kernel={self.kernel!r} on Dask collections needs n_components, the number of landmarks on which "
                    "it is approximated; an exact kernel would have to gather all rows."
                )
            if not loss.quadratic:
                raise ValueError(f"loss={loss.name!r} needs all rows in memory; Dask collections need loss='square'.")
            return True
        if not loss.quadratic or not (landmarks or self.kernel == "linear"):
            return False
        # Sparse rows are small as they are; what they become on landmarks is not.
        return (landmarks or not sparse.issparse(X)) and is_large(X, self.n_components or 1)

    def _blocks(self, rows: Rows, reader: LabelReader) -> BlockLabels:
        """Labels that are read a block at a time."""
        labels = BlockLabels(rows, reader)
        self._check_labelled(labels.stats().total)
        if labels.unlabelled:
            _warn_unlabelled(labels.unlabelled)
        return labels

    def _table(self, X: Array, Y: Array, sample_weight: Any) -> tuple[Array, Labels]:
        """The rows that have labels, and the labels of a table Y of shape (n, n_tasks) with NaN at its gaps."""
        weight = check_weight(sample_weight, X, Y.shape[1])
        missing = np.isnan(Y)
        unlabelled = missing.all(axis=1)
        weight = np.where(missing, 0.0, weight if weight.ndim == 2 else weight[:, None])
        self._check_labelled(weight.sum(axis=0))
        if unlabelled.any():
            _warn_unlabelled(int(unlabelled.sum()))
        # Any row may become a landmark; what has no weight counts for nothing else.
        self._n_given = len(Y)
        self._rows = np.arange(len(Y)) if self._on_landmarks() else np.flatnonzero(~unlabelled)
        return self._select(X), make_labels(Y[self._rows], weight[self._rows])

    def _column(self, X: Array, y: Array, sample_weight: Any, codes: NDArray[np.intp]) -> tuple[Array, Labels]:
        """The rows and labels of a column y with one task per row."""
        self._n_given = len(y)
        self._rows = np.arange(len(y))
        labels = Grouped.from_rows(y, check_weight(sample_weight, X), codes, len(self.task_names_))
        self._check_labelled(labels.sums(labels.weight))
        return X, labels

    def _check_labelled(self, totals: Array) -> None:
        """Every task needs a label that counts; ``totals`` are sums of weights, of shape (n_tasks,)."""
        for t in np.flatnonzero(totals == 0.0):
            name = self.task_names_.tolist()[t]
            raise ValueError(f"task {name!r} has no label at all (all are NaN or of weight zero); leave it out.")

    def _select(self, X: Array) -> Array:
        """The rows that have labels; rows and columns of a kernel matrix."""
        if len(self._rows) == X.shape[0]:
            return X
        return X[np.ix_(self._rows, self._rows)] if self.kernel == "precomputed" else X[self._rows]

    def _fit(self, X: Any, labels: Any, loss: Loss, *, scale: bool) -> Self:
        """Learn predictors and structure from rows and their labels."""
        settings = self._settings(labels.n_tasks)
        targets = standardize(
            balance(labels) if self.balance_tasks else labels,
            center=self.fit_intercept and loss.for_regression,
            scale=scale,
        )
        self.feature_map_ = self._make_feature_map().fit(X)
        return self._fit_design(self._decompose(X, targets.labels), targets, loss, settings)

    def _decompose(self, X: Any, labels: Any) -> Any:
        """The training rows in a good basis: from memory, or from sums over their blocks."""
        feature_map = self.feature_map_
        if labels.in_blocks:
            return BlockDesign(feature_map, labels, intercept=self.fit_intercept)
        with single_threaded(X.shape[0], SMALL_DECOMPOSITION):
            Z = feature_map.transform(X)
            if feature_map.on_rows and not feature_map.fresh:
                check_square_and_symmetric(Z)
            weight = labels.row_weight()
            return make_design(feature_map, Z, weight, intercept=self.fit_intercept, overwrite=feature_map.fresh)

    def _settings(self, n_tasks: int) -> Settings:
        return Settings(
            check_penalty(self.penalty, n_tasks),
            alpha=check_positive("alpha", self.alpha),
            common=check_positive("common", self.common, zero=True),
            eps=None if self.eps == "auto" else check_positive('eps (a number, or "auto")', self.eps),
            tol=check_positive("tol", self.tol),
            max_iter=check_count("max_iter", self.max_iter),
        )

    def _fit_design(self, design: Any, targets: Standardized, loss: Loss, settings: Settings) -> Self:
        """Learn predictors and structure from rows that are decomposed already."""
        penalty, alpha, common, eps, tol, max_iter = settings
        supervised = make_supervised(design, targets.labels, loss, alpha, intercept=self.fit_intercept)
        self.eps_ = auto_eps(supervised) if eps is None else eps
        problem = Problem(supervised, penalty, self.eps_, common)
        solution = solve(problem, solver=self.solver, tol=tol, max_iter=max_iter, callback=self.callback)

        coef = design.lift(solution.coef) * targets.scale
        self.intercept_ = targets.mean + targets.scale * solution.intercept - design.center @ coef
        self._set_coefficients(coef)
        self.solution_ = replace(solution, coef=self._coef, intercept=self.intercept_)
        self.structure_, self.n_iter_ = solution.structure, solution.n_iter
        self._penalty, self._basis_coef = penalty, None
        if penalty.on_features:
            self._basis_coef = solution.coef if self.feature_map_.dual else design.lift(solution.coef)
        if not solution.converged:
            advice = f"Raise max_iter (now {max_iter}), eps (now {self.eps_:.3g}) or tol."
            warnings.warn(f"{solution.status} {advice}", ConvergenceWarning, stacklevel=3)
        return self

    def _make_feature_map(self) -> FeatureMap:
        return make_feature_map(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            n_components=self.n_components,
            landmarks=self.landmarks,
            random_state=self.random_state,
        )

    def _set_coefficients(self, coef: Array) -> None:
        """Publish coefficients on the feature map, of shape (D, n_tasks)."""
        if self.kernel == "precomputed":
            # Columns of a kernel matrix for rows without labels keep coefficients zero.
            full = np.zeros((self.n_features_in_, coef.shape[1]))
            full[self._rows] = coef
            coef = full
        self._coef = np.ascontiguousarray(coef)
        for name in ("coef_", "dual_coef_", "landmarks_"):
            # Of an earlier fit with another kernel.
            self.__dict__.pop(name, None)
        if self.feature_map_.dual:
            self.dual_coef_ = self._coef
        else:
            self.coef_ = self._coef.T
        if hasattr(self.feature_map_, "landmarks_"):
            self.landmarks_ = self.feature_map_.landmarks_

    def _scores(self, X: Any, tasks: Any = None, read: Callable[[Array], NDArray[Any]] = np.asarray) -> Any:
        """What ``read`` makes of the predictors at X: all of them, (n, n_tasks), or of one task per row, (n,)."""
        check_is_fitted(self)
        n_functions = self._coef.shape[0]
        rows = open_rows(self, X, tasks, n_functions)
        predict = Predict(self.feature_map_, self._coef, self.intercept_, read)
        return rows.map(predict, width=n_functions + rows.shape[1])

    @property
    def feature_structure_(self) -> Array:
        """The matrix D of multi-task feature learning, with the penalty ``features`` only.

        Of shape (n_features, n_features) for the linear kernel; for others in the eigenbasis of the kernel.
        """
        check_is_fitted(self)
        if self._basis_coef is None:
            raise AttributeError(f"penalty={self.penalty!r} has no matrix on the side of the features.")
        return np.asarray(self._penalty.feature_structure(self._basis_coef, self.eps_))

    @property
    def correlation_(self) -> Array:
        """Cosines of the tasks' predictors in the kernel's space, eps on the diagonal: (n_tasks, n_tasks)."""
        check_is_fitted(self)
        S = self.solution_.energy + self.eps_ * np.eye(len(self.structure_))
        norms = np.sqrt(np.diag(S))
        return np.asarray(S / np.outer(norms, norms))

    def predict_frame(self, X: ArrayLike) -> pd.DataFrame:
        """Predictions of a regressor, scores of a classifier: a column per task, and the index of X."""
        return pd.DataFrame(self._scores(X), columns=self.task_names_, index=getattr(X, "index", None))

    def relations(self) -> pd.DataFrame:
        """The learned relations between tasks, strongest first.

        Returns
        -------
        DataFrame
            One row per pair of related tasks: ``task_a``, ``task_b``, ``weight`` (the entry of ``structure_``) and
            ``correlation``, the cosine of the two predictors in the kernel's space. With the sparse penalty there are
            relations as soon as a correlation exceeds the threshold 1 - mu.
        """
        correlation = self.correlation_
        a, b = np.nonzero(np.triu(self.structure_, 1))
        table = pd.DataFrame(
            {
                "task_a": self.task_names_[a],
                "task_b": self.task_names_[b],
                "weight": self.structure_[a, b],
                "correlation": correlation[a, b],
            }
        )
        return table.sort_values("weight", key=np.abs, ascending=False, ignore_index=True)

    def to_networkx(self) -> Any:
        """The learned relations as an undirected ``networkx.Graph``; edges have ``weight`` and ``correlation``."""
        networkx = import_extra("networkx")
        graph = networkx.Graph()
        graph.add_nodes_from(self.task_names_.tolist())
        for a, b, weight, correlation in self.relations().itertuples(index=False):
            graph.add_edge(a, b, weight=weight, correlation=correlation)
        return graph

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._picture()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = dict(super()._repr_mimebundle_(**kwargs))
        if "text/html" in bundle:
            bundle["text/html"] += self._picture()
        return bundle

    def _picture(self) -> str:
        """What a notebook shows below scikit-learn's diagram: the task graph and the certificate of a fitted model."""
        if not hasattr(self, "solution_"):
            return ""
        names = [str(name) for name in self.task_names_.tolist()]
        return draw_relations(names, self.structure_, self.solution_.certificate)


def _warn_unlabelled(count: int) -> None:
    warnings.warn(f"{count} rows have no label and are left out.", UserWarning, stacklevel=4)
