"""The estimators: multi-task regression and classification with a learned task structure."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from skmtl._linalg import Array
from skmtl._validation import (
    check_classes,
    check_count,
    check_features,
    check_positive,
    check_rows,
    check_targets,
    check_task_names,
    check_weight,
    plain_names,
)
from skmtl.features import Kernel, make_feature_map
from skmtl.objective import Problem
from skmtl.penalties import StructurePenalty, check_penalty
from skmtl.solvers import auto_eps, solve
from skmtl.solvers.design import make_design
from skmtl.solvers.ridge import Ridge
from skmtl.targets import standardize

Callback = Callable[[dict[str, float]], None]


class _MultiTaskEstimator(BaseEstimator):
    """What regression and classification share: parameters, the fit, and what was learned about the tasks."""

    def __init__(
        self,
        penalty: str | StructurePenalty = "sparse",
        *,
        alpha: float = 1e-2,
        eps: float | str = "auto",
        common: float = 0.0,
        kernel: Kernel = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 200,
        callback: Callback | None = None,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.eps = eps
        self.common = common
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _fit(self, X: Array, Y: Array, weight: Array, *, scale: bool) -> Self:
        """Learn predictors and structure from numeric targets Y of shape (n, n_tasks)."""
        penalty = check_penalty(self.penalty, Y.shape[1])
        alpha, common = check_positive("alpha", self.alpha), check_positive("common", self.common, zero=True)
        tol, max_iter = check_positive("tol", self.tol), check_count("max_iter", self.max_iter)
        fixed_eps = None if self.eps == "auto" else check_positive('eps (a number, or "auto")', self.eps)

        targets = standardize(Y, weight, center=self.fit_intercept, scale=scale)
        self.feature_map_ = self._make_feature_map().fit(X)
        design = make_design(self.feature_map_, X, weight, intercept=self.fit_intercept)
        projected = design.project(targets.values)
        supervised = Ridge.from_targets(design.values, projected, targets.values, float(weight.sum()), alpha)
        self.eps_ = auto_eps(supervised) if fixed_eps is None else fixed_eps
        problem = Problem(supervised, penalty, self.eps_, common)
        solution = solve(problem, solver=self.solver, tol=tol, max_iter=max_iter, callback=self.callback)

        coef = np.ascontiguousarray(design.lift(solution.coef) * targets.scale)
        self.solution_ = replace(solution, coef=coef)
        self.structure_, self.n_iter_ = solution.structure, solution.n_iter
        self.intercept_ = targets.mean - design.center @ coef
        if self.feature_map_.on_rows:
            self.dual_coef_ = coef
        else:
            self.coef_ = coef.T
        if not solution.converged:
            warnings.warn(
                f"{solution.status} Raise max_iter (now {max_iter}), eps (now {self.eps_:.3g}) or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _make_feature_map(self):
        return make_feature_map(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, kernel_params=self.kernel_params
        )

    def _scores(self, X: ArrayLike) -> Array:
        """The predictors at X, of shape (n, n_tasks)."""
        check_is_fitted(self)
        X = check_features(self, X, reset=False)
        return self.feature_map_.transform(X) @ self.solution_.coef + self.intercept_

    def relations(self) -> pd.DataFrame:
        """The learned relations between tasks, strongest first.

        Returns
        -------
        DataFrame
            One row per pair of related tasks: ``task_a``, ``task_b``, ``weight`` (the entry of ``structure_``) and
            ``correlation``, the cosine of the two predictors in the kernel's space. With the sparse penalty two tasks
            are related when their correlation is strong enough for the threshold 1 - mu.
        """
        check_is_fitted(self)
        a, b = np.nonzero(np.triu(self.structure_, 1))
        S = self.solution_.energy + self.eps_ * np.eye(len(self.structure_))
        norms = np.sqrt(np.diag(S))
        table = pd.DataFrame(
            {
                "task_a": self.task_names_[a],
                "task_b": self.task_names_[b],
                "weight": self.structure_[a, b],
                "correlation": S[a, b] / (norms[a] * norms[b]),
            }
        )
        return table.sort_values("weight", key=np.abs, ascending=False, ignore_index=True)

    def to_networkx(self) -> Any:
        """The learned relations as an undirected ``networkx.Graph``, with ``weight`` and ``correlation`` on its edges."""
        try:
            import networkx
        except ImportError as error:
            raise ImportError("to_networkx needs networkx: pip install networkx, or skmtl[app].") from error
        graph = networkx.Graph()
        graph.add_nodes_from(self.task_names_.tolist())
        for a, b, weight, correlation in self.relations().itertuples(index=False):
            graph.add_edge(a, b, weight=weight, correlation=correlation)
        return graph


class MultiTaskRegressor(RegressorMixin, _MultiTaskEstimator):
    r"""Learn several regression tasks together with the graph that relates them.

    Minimises, over predictors f and the structure A of the tasks,

    .. math::

        \frac{1}{n} \sum_i \lVert y_i - f(x_i) \rVert^2
        + \alpha \bigl( \lVert f \rVert_A^2 + \epsilon \operatorname{tr}(A^{-1}) + R(A) \bigr),

    and proves with every fit how far from the global minimum the answer can be.

    Parameters
    ----------
    penalty : str or StructurePenalty, default="sparse"
        The penalty R on the structure, by name or as an object such as ``Sparse(mu=0.95)``.
    alpha : float, default=1e-2
        Strength of the regularisation.
    eps : float or "auto", default="auto"
        Keeps A away from singular matrices. "auto" is 1e-2 times the mean squared norm of independent predictors;
        the value used is ``eps_``. Large values lead to independent tasks.
    common : float, default=0.0
        Weight of a component common to all tasks: A becomes A + common * 11' in the predictor.
    kernel : str or callable, default="linear"
        A kernel that scikit-learn's ``KernelRidge`` takes, ``"precomputed"``, or a function of two rows.
    gamma, degree, coef0 : float
        Parameters of the kernel.
    kernel_params : mapping, optional
        Parameters of a kernel given as a callable.
    fit_intercept : bool, default=True
        Whether each task has a constant, which is never penalised.
    scale_targets : bool, default=True
        Whether tasks are brought to unit variance for the fit. Predictions are in the unit of y all the same;
        ``structure_`` relates the scaled tasks.
    solver : {"auto", "newton", "anderson", "alternating"}, default="auto"
        The outer loop: joint Newton, accelerated alternation, or the paper's alternation.
    tol : float, default=1e-6
        Relative gap to the global optimum at which to stop.
    max_iter : int, default=200
        Bound on the iterations of the outer loop.
    callback : callable, optional
        Called with a dict of objective, lower_bound and gap whenever the solver computes a certificate.

    Attributes
    ----------
    structure_ : ndarray of shape (n_tasks, n_tasks)
        How the tasks are related; entries are exactly zero where they are not.
    coef_ : ndarray of shape (n_tasks, n_features)
        Coefficients, for the linear kernel only.
    dual_coef_ : ndarray of shape (n_samples, n_tasks)
        Coefficients on the training rows, for other kernels.
    intercept_ : ndarray of shape (n_tasks,)
    task_names_ : ndarray of shape (n_tasks,)
    eps_ : float
    n_iter_ : int
    solution_ : Solution
        ``objective``, ``lower_bound``, ``gap``, ``status``, ``n_iter`` and ``history`` of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> est = MultiTaskRegressor("sparse", alpha=0.1).fit(X, Y)
    >>> est.solution_.gap <= 1e-6
    True
    >>> est.relations().loc[0, ["task_a", "task_b"]].tolist()
    ['Weight', 'Waist']
    """

    def __init__(
        self,
        penalty: str | StructurePenalty = "sparse",
        *,
        alpha: float = 1e-2,
        eps: float | str = "auto",
        common: float = 0.0,
        kernel: Kernel = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        scale_targets: bool = True,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 200,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(
            penalty,
            alpha=alpha,
            eps=eps,
            common=common,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            fit_intercept=fit_intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            callback=callback,
        )
        self.scale_targets = scale_targets

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn predictors and structure.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For ``kernel="precomputed"`` the kernel matrix, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples, n_tasks) or (n_samples,)
            The names of a data frame's columns become task names.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts like two equal rows.
        """
        X = check_features(self, X, reset=True)
        Y, self._flat = check_targets(y, len(X))
        self.task_names_ = check_task_names(y, Y.shape[1])
        return self._fit(X, Y, check_weight(sample_weight, X), scale=self.scale_targets)

    def predict(self, X: ArrayLike) -> Array:
        """Predictions of shape (n, n_tasks), or (n,) when y was one column."""
        F = self._scores(X)
        return F[:, 0] if self._flat else F

    def predict_frame(self, X: ArrayLike) -> pd.DataFrame:
        """Predictions as a data frame with one column per task; rows keep the index of X."""
        return pd.DataFrame(self._scores(X), columns=self.task_names_, index=getattr(X, "index", None))


class MultiTaskClassifier(ClassifierMixin, _MultiTaskEstimator):
    r"""Learn classes, or several labels, together with the graph that relates them.

    Classes are coded -1 and +1: a binary problem is one task, several classes are one task each (one against all),
    and a 0/1 indicator matrix is one task per column. Parameters and attributes are those of
    :class:`MultiTaskRegressor` except ``scale_targets``.

    Attributes
    ----------
    classes_ : ndarray
        The classes; for an indicator matrix the indices of its columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmtl import MultiTaskClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> est = MultiTaskClassifier(kernel="rbf", alpha=1e-3).fit(X, y)
    >>> bool(est.score(X, y) > 0.95)
    True
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn predictors and structure.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For ``kernel="precomputed"`` the kernel matrix, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,) or (n_samples, n_tasks)
            Labels of any type, or a 0/1 indicator matrix.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts like two equal rows.
        """
        X = check_features(self, X, reset=True)
        weight = check_weight(sample_weight, X)
        Y = self._encode(y, weight)
        return self._fit(X, Y, weight, scale=False)

    def _encode(self, y: Any, weight: Array) -> Array:
        """Targets -1 and +1 of shape (n, n_tasks); sets classes and task names."""
        labels = check_classes(y)
        kind = type_of_target(y, input_name="y")
        if kind == "multiclass-multioutput":
            raise ValueError(
                "y has several columns that are not 0/1; pass one column of classes or an indicator matrix."
            )
        check_rows(labels, len(weight))
        self._multilabel = kind == "multilabel-indicator"
        if self._multilabel:
            self.classes_ = np.arange(labels.shape[1])
            self.task_names_ = check_task_names(y, labels.shape[1])
            return 2.0 * labels.astype(float) - 1.0
        self.classes_, codes = np.unique(column_or_1d(labels, warn=True), return_inverse=True)
        if len(np.unique(codes[weight > 0.0])) < 2:
            raise ValueError("y has one class only; a classifier needs at least two classes.")
        if len(self.classes_) == 2:
            self.task_names_ = plain_names(self.classes_[1:].tolist())
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        self.task_names_ = plain_names(self.classes_.tolist())
        return np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of shape (n,) for two classes, (n, n_classes) for more, (n, n_tasks) for an indicator matrix."""
        F = self._scores(X)
        return F[:, 0] if not self._multilabel and len(self.classes_) == 2 else F

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Classes of shape (n,), or a 0/1 matrix of shape (n, n_tasks) when y was one."""
        F = self.decision_function(X)
        if self._multilabel:
            return (F > 0.0).astype(int)
        return self.classes_[(F > 0.0).astype(int) if F.ndim == 1 else F.argmax(axis=1)]

    def predict_frame(self, X: ArrayLike) -> pd.DataFrame:
        """Scores as a data frame with one column per task; rows keep the index of X."""
        return pd.DataFrame(self._scores(X), columns=self.task_names_, index=getattr(X, "index", None))
