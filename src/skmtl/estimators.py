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
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmtl._linalg import Array
from skmtl._validation import (
    check_count,
    check_features,
    check_positive,
    check_rows,
    check_targets,
    check_task_names,
    check_tasks,
    check_weight,
    match_tasks,
    plain_names,
)
from skmtl.classes import ClassCoding, code_column, is_indicator
from skmtl.features import FeatureMap, Kernel, make_feature_map
from skmtl.losses import LOSSES, Loss, check_loss
from skmtl.objective import Problem
from skmtl.penalties import StructurePenalty, check_penalty
from skmtl.solvers import auto_eps, make_supervised, solve
from skmtl.solvers.design import make_design
from skmtl.targets import Grouped, Labels, balance, make_labels, standardize

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
        loss: str | Loss = "square",
        kernel: Kernel = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        balance_tasks: bool = False,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 200,
        callback: Callback | None = None,
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
        self.fit_intercept = fit_intercept
        self.balance_tasks = balance_tasks
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _table(self, X: Array, Y: Array, sample_weight: Any) -> tuple[Array, Labels]:
        """The rows that have labels, and the labels of a table Y of shape (n, n_tasks) with NaN at its gaps."""
        weight = check_weight(sample_weight, X, Y.shape[1])
        missing = np.isnan(Y)
        for t in np.flatnonzero(missing.all(axis=0)):
            name = self.task_names_.tolist()[t]
            raise ValueError(f"task {name!r} has no label at all (NaN everywhere); leave it out of y.")
        unlabelled = missing.all(axis=1)
        if unlabelled.any():
            warnings.warn(f"{int(unlabelled.sum())} rows have no label and are left out.", UserWarning, stacklevel=3)
        weight = np.where(missing, 0.0, weight if weight.ndim == 2 else weight[:, None])
        self._rows = np.flatnonzero(~unlabelled)
        return self._select(X), make_labels(Y[self._rows], weight[self._rows])

    def _column(self, X: Array, y: Array, sample_weight: Any, codes: NDArray[np.intp]) -> tuple[Array, Labels]:
        """The rows and labels of a column y with one task per row."""
        self._rows = np.arange(len(X))
        return X, Grouped.from_rows(y, check_weight(sample_weight, X), codes, len(self.task_names_))

    def _select(self, X: Array) -> Array:
        """The rows that have labels; rows and columns of a kernel matrix."""
        if len(self._rows) == len(X):
            return X
        return X[np.ix_(self._rows, self._rows)] if self.kernel == "precomputed" else X[self._rows]

    def _fit(self, X: Array, labels: Labels, loss: Loss, *, scale: bool) -> Self:
        """Learn predictors and structure from rows and their labels."""
        penalty = check_penalty(self.penalty, labels.n_tasks)
        alpha, common = check_positive("alpha", self.alpha), check_positive("common", self.common, zero=True)
        tol, max_iter = check_positive("tol", self.tol), check_count("max_iter", self.max_iter)
        eps = None if self.eps == "auto" else check_positive('eps (a number, or "auto")', self.eps)

        targets = standardize(
            balance(labels) if self.balance_tasks else labels,
            center=self.fit_intercept and loss.for_regression,
            scale=scale,
        )
        self.feature_map_ = self._make_feature_map().fit(X)
        design = make_design(self.feature_map_, X, targets.labels.row_weight(), intercept=self.fit_intercept)
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
        if hasattr(penalty, "feature_structure"):
            self._basis_coef = solution.coef if self.feature_map_.on_rows else design.lift(solution.coef)
        if not solution.converged:
            advice = f"Raise max_iter (now {max_iter}), eps (now {self.eps_:.3g}) or tol."
            warnings.warn(f"{solution.status} {advice}", ConvergenceWarning, stacklevel=3)
        return self

    def _make_feature_map(self) -> FeatureMap:
        return make_feature_map(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, kernel_params=self.kernel_params
        )

    def _set_coefficients(self, coef: Array) -> None:
        """Publish coefficients on the feature map, of shape (D, n_tasks)."""
        if self.kernel == "precomputed":
            # Columns of a kernel matrix for rows without labels keep coefficients zero.
            full = np.zeros((self.n_features_in_, coef.shape[1]))
            full[self._rows] = coef
            coef = full
        self._coef = np.ascontiguousarray(coef)
        if self.feature_map_.on_rows:
            self.dual_coef_ = self._coef
        else:
            self.coef_ = self._coef.T

    def _scores(self, X: ArrayLike, tasks: Any = None) -> Array:
        """The predictors at X: all of them, (n, n_tasks), or of one task per row, (n,)."""
        check_is_fitted(self)
        Z = self.feature_map_.transform(check_features(self, X, reset=False))
        if tasks is None:
            return Z @ self._coef + self.intercept_
        codes = match_tasks(tasks, self.task_names_, len(Z))
        groups = Grouped(np.empty(0), np.empty(0), codes, len(self.task_names_))
        return groups.in_rows(groups.scores(groups.arrange(Z), self._coef)) + self.intercept_[codes]

    @property
    def feature_structure_(self) -> Array:
        """The matrix D of multi-task feature learning, with the penalty ``features`` only.

        Of shape (n_features, n_features) for the linear kernel; for others in the eigenbasis of the kernel.
        """
        check_is_fitted(self)
        if self._basis_coef is None:
            raise AttributeError(f"penalty={self.penalty!r} has no matrix on the side of the features.")
        return np.asarray(self._penalty.feature_structure(self._basis_coef, self.eps_))

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
        """The learned relations as an undirected ``networkx.Graph``; edges have ``weight`` and ``correlation``."""
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

        \frac{1}{n} \sum_{it} w_{it} V(y_{it}, f_t(x_i))
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
        Weight of a component common to all tasks: A becomes A + common * 11' in the predictor. Tasks with rows of
        their own nearly always need it; anything from 1 to 100 serves.
    loss : {"square", "huber"} or Loss, default="square"
        The loss V.
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
    balance_tasks : bool, default=False
        Whether every task counts the same however many labels it has.
    solver : {"auto", "newton", "anderson", "alternating"}, default="auto"
        The outer loop: joint Newton (square loss and complete labels), accelerated alternation, or the paper's
        alternation.
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
        loss: str | Loss = "square",
        kernel: Kernel = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        scale_targets: bool = True,
        balance_tasks: bool = False,
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
            loss=loss,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            fit_intercept=fit_intercept,
            balance_tasks=balance_tasks,
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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, tasks: Any = None) -> Self:
        """Learn predictors and structure.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For ``kernel="precomputed"`` the kernel matrix, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples, n_tasks) or (n_samples,)
            Targets, NaN where they are not known. The names of a data frame's columns become task names.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_tasks), optional
            A label of weight 2 counts like two equal ones.
        tasks : array-like of shape (n_samples,), optional
            Long format: the task of each row, and y has one column.
        """
        X = check_features(self, X, reset=True)
        Y, flat = check_targets(y, len(X))
        loss = check_loss(self.loss, purpose="regression")
        self._flat = flat or tasks is not None
        if tasks is None:
            self.task_names_ = check_task_names(y, Y.shape[1])
            rows, labels = self._table(X, Y, sample_weight)
        else:
            codes, self.task_names_ = check_tasks(tasks, len(X))
            rows, labels = self._column(X, _one_column(Y), sample_weight, codes)
        return self._fit(rows, labels, loss, scale=self.scale_targets)

    def predict(self, X: ArrayLike, tasks: Any = None) -> Array:
        """Predictions of shape (n, n_tasks); (n,) when y was one column of one task, or with ``tasks``."""
        F = self._scores(X, tasks)
        return F[:, 0] if F.ndim == 2 and F.shape[1] == 1 and self._flat else F

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, tasks: Any = None) -> float:
        """R squared, averaged over tasks; over the known targets only. With ``tasks``, over all rows at once."""
        prediction = self.predict(X, tasks)
        Y, _ = check_targets(y, len(prediction))
        F = prediction.reshape(Y.shape)
        weight = check_weight(sample_weight, F, Y.shape[1])
        weight = np.where(np.isnan(Y), 0.0, weight if weight.ndim == 2 else weight[:, None])
        scores = [
            r2_score(y_t[w > 0.0], f[w > 0.0], sample_weight=w[w > 0.0])
            for y_t, f, w in zip(Y.T, F.T, weight.T, strict=True)
            if np.count_nonzero(w) > 1
        ]
        return float(np.mean(scores)) if scores else float("nan")


class MultiTaskClassifier(ClassifierMixin, _MultiTaskEstimator):
    r"""Learn classes, or several labels, together with the graph that relates them.

    Classes are coded -1 and +1: a binary problem is one task, several classes are one task each (one against all),
    and a 0/1 indicator matrix is one task per column, NaN where a label is not known. In long format all tasks share
    the same two classes. Parameters and attributes are those of :class:`MultiTaskRegressor` except
    ``scale_targets``; ``loss`` is one of "square", "logistic", "hinge" and "squared_hinge".

    Attributes
    ----------
    classes_ : ndarray
        The classes of a column; of an indicator matrix 0 and 1.

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

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, tasks: Any = None) -> Self:
        """Learn predictors and structure.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            For ``kernel="precomputed"`` the kernel matrix, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,) or (n_samples, n_tasks)
            Classes of any type, or a 0/1 indicator matrix with NaN where a label is not known.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_tasks), optional
            A label of weight 2 counts like two equal ones.
        tasks : array-like of shape (n_samples,), optional
            Long format: the task of each row; y holds the same two classes for all of them.
        """
        X = check_features(self, X, reset=True)
        loss = check_loss(self.loss, purpose="classification")
        if tasks is None and is_indicator(y):
            rows, labels = self._indicator(X, y, sample_weight)
        else:
            rows, labels = self._classes(X, y, sample_weight, tasks)
        self.classes_ = self._coding.classes
        return self._fit_both_classes(rows, labels, loss)

    def _indicator(self, X: Array, y: Any, sample_weight: Any) -> tuple[Array, Labels]:
        Y, _ = check_targets(y, len(X))
        self._coding = ClassCoding(np.array([0, 1]), one_vs_all=False)
        self.task_names_ = check_task_names(y, Y.shape[1])
        return self._table(X, 2.0 * Y - 1.0, sample_weight)

    def _classes(self, X: Array, y: Any, sample_weight: Any, tasks: Any) -> tuple[Array, Labels]:
        weight = check_weight(sample_weight, X)
        if y is not None:
            check_rows(np.asarray(y), len(X))
        self._coding, column = code_column(y, weight)
        classes = self._coding.classes
        if tasks is None:
            self.task_names_ = plain_names(classes.tolist() if self._coding.one_vs_all else classes[1:].tolist())
            return self._table(X, self._coding.encode(column).reshape(len(X), -1), weight)
        if self._coding.one_vs_all:
            raise ValueError(f"y has {len(classes)} classes; in long format all tasks share the same two.")
        codes, self.task_names_ = check_tasks(tasks, len(X))
        return self._column(X, self._coding.encode(column), weight, codes)

    def _fit_both_classes(self, X: Array, labels: Labels, loss: Loss) -> Self:
        """Fit; where a loss has no minimiser for a task of one class, that task becomes a constant."""
        single = labels.maxima(labels.y) == -labels.maxima(-labels.y)
        if not (loss.needs_both_classes and self.fit_intercept and single.any()):
            return self._fit(X, labels, loss, scale=False)
        names = ", ".join(repr(name) for name in self.task_names_[single].tolist())
        warnings.warn(f"all labels of {names} are of one class; a constant is predicted.", UserWarning, stacklevel=3)
        constant = labels.maxima(labels.y) * np.log1p(labels.sums(labels.weight))
        self._fit(X, labels.with_labels(labels.y, labels.weight * labels.spread(~single)), loss, scale=False)
        self.intercept_[single] = constant[single]
        return self

    def decision_function(self, X: ArrayLike, tasks: Any = None) -> Array:
        """Scores: (n,) for two classes or with ``tasks``, (n, n_classes) for more classes, else (n, n_tasks)."""
        F = self._scores(X, tasks)
        return F[:, 0] if F.ndim == 2 and F.shape[1] == 1 else F

    def predict(self, X: ArrayLike, tasks: Any = None) -> NDArray[Any]:
        """Classes of shape (n,); (n, n_tasks) for an indicator matrix, or for long format without ``tasks``."""
        F = self.decision_function(X, tasks)
        return self._coding.decode(F)

    def _gives_probabilities(self) -> bool:
        loss = LOSSES.get(self.loss) if isinstance(self.loss, str) else self.loss
        if loss is None or not loss.gives_probabilities:
            raise AttributeError(f"loss={self.loss!r} gives no probabilities; use loss='logistic'.")
        return True

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike, tasks: Any = None) -> Array:
        """Probabilities: (n, n_classes), or (n, n_tasks) of the second class where there are several tasks."""
        F = self.decision_function(X, tasks)
        return self._coding.probabilities(F)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, tasks: Any = None) -> float:
        """Accuracy; of an indicator matrix the share of rows whose known labels are all right."""
        prediction = self.predict(X, tasks)
        if prediction.ndim == 1:
            return float(accuracy_score(y, prediction, sample_weight=sample_weight))
        Y, _ = check_targets(y, len(prediction))
        right = np.all((prediction == Y) | np.isnan(Y), axis=1)
        return float(np.average(right, weights=check_weight(sample_weight, prediction)))


def _one_column(Y: Array) -> Array:
    """The single column that long format has."""
    if Y.shape[1] != 1:
        raise ValueError(f"y has {Y.shape[1]} columns; in long format it has one, and tasks says which task it is of.")
    if np.isnan(Y).any():
        raise ValueError(f"y has {int(np.isnan(Y).sum())} NaN values; in long format drop the rows without a label.")
    return Y[:, 0]
