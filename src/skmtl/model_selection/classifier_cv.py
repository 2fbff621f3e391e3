"""The classifier that chooses its own hyper-parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmtl._linalg import Array
from skmtl.estimators import MultiTaskClassifier
from skmtl.estimators.classification import gives_probabilities
from skmtl.features import Kernel, Landmarks
from skmtl.losses import Loss
from skmtl.model_selection.base import Grid, MultiTaskSearch, Penalties
from skmtl.solvers.training import Callback


class MultiTaskClassifierCV(MultiTaskSearch):
    """A search for the :class:`MultiTaskClassifier` with the best hyper-parameters, by cross-validation.

    Works as :class:`MultiTaskRegressorCV`. Whole numbers for ``cv`` spread classes evenly over the folds.

    Parameters
    ----------
    penalty : str, StructurePenalty or list of them, default="sparse"
        Penalties to try. Each brings the grid of its own parameters.
    alphas, mus, eps_factors, commons, gammas : array-like, optional
        Grids, as in :class:`MultiTaskRegressorCV`.
    cv : int, "loo", splitter or iterable of index pairs, optional
        By default 5 folds. Folds, or leaving one row out in closed form.
    scoring : str or callable, optional
        "accuracy", which is what ``score`` gives (the default for one column of classes), "task_accuracy", the mean
        over tasks (the default for several columns of labels, and with ``tasks``), "roc_auc" (the default where a class
        has less than 20% of the labels, for accuracy hardly sees it), "average_precision", or a scorer of scikit-learn.
    rule : {"best", "1se"}, default="best"
        As in :class:`MultiTaskRegressorCV`.
    n_jobs : int, optional
        Folds searched in parallel, through joblib.
    loss : {"square", "logistic", "softmax", "hinge", "squared_hinge"} or Loss, default="square"
        As in :class:`MultiTaskClassifier`, like all that follows.
    kernel : str, callable or list of them, default="auto"
        The kernel, or kernels to choose from, each with inverse widths of its own. With "auto" those that do
        best on public sets: "linear", "rbf" and "laplacian" are tried, the better of the last two with a metric too.
        Only "linear" for losses that are not quadratic, for sparse rows, and for more than 2,000 rows without
        landmarks.
    degree, coef0 : float
        Parameters of the kernel.
    kernel_params : mapping, optional
        Parameters of a kernel given as a callable.
    n_components : int, optional
        The number of landmarks.
    landmarks : {"uniform", "leverage"} or array-like of shape (n_components, n_features), default="uniform"
        How landmarks are drawn, or the landmarks themselves.
    fit_intercept : bool, default=True
        Whether each task has a constant.
    balance_tasks : bool, default=False
        Whether every task counts the same however many labels it has.
    metric_rounds : int or list of int, optional
        How often features are scaled by how much the predictors change along them, see
        :class:`MultiTaskRegressor`. Of a list the best number is chosen, on folds that learn the metric on their
        training rows; at the inverse width that is best without a metric. By default 0, 1 and 2
        are tried with ``kernel="auto"`` on folds, else 0.
    metric_rule : {"slopes", "evidence", "task_evidence"} or list of them, optional
        What features are scaled by, see :class:`MultiTaskRegressor`; of a list the best one is chosen. By default
        "slopes".
    feature_groups : array-like of shape (n_features,), optional
        Groups of features that are scaled together.
    solver : {"auto", "newton", "anderson", "alternating"}, default="auto"
        The outer loop.
    tol : float, default=1e-6
        Relative gap to the global optimum of the final fit.
    max_iter : int, default=200
        Bound on the iterations of the outer loop.
    callback : callable, optional
        Called with ``{"done": k, "total": n, "remaining": seconds}`` after every fold of the search, and during the
        final fit as in :class:`MultiTaskRegressor`.
    random_state : int, RandomState instance or None, default=None
        For drawing landmarks.
    verbose : int, default=0
        Above zero, every fold that is searched is a line on the screen, with an estimate of the time that is left.

    Attributes
    ----------
    best_estimator_ : MultiTaskClassifier
        Fitted to all rows with the chosen parameters.
    best_params_, alpha_, penalty_, common_, gamma_, best_score_, best_index_
        As in :class:`MultiTaskRegressorCV`.
    cv_results_, scoring_, constant_score_, test_share_, verdict_
        As in :class:`MultiTaskRegressorCV`.

    See Also
    --------
    MultiTaskClassifier : Has the other attributes, such as ``classes_``, which can be asked of the search too.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmtl import MultiTaskClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = MultiTaskClassifierCV(kernel="rbf", alphas=[1e-4, 1e-2], gammas=[0.1, 1.0], mus=[0.9]).fit(X, y)
    >>> bool(search.best_score_ > 0.95)
    True
    """

    model_class = MultiTaskClassifier

    def __init__(
        self,
        penalty: Penalties = "sparse",
        *,
        alphas: Grid | str = None,
        mus: Grid = None,
        eps_factors: Grid = None,
        commons: Grid = None,
        gammas: Grid = None,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        n_jobs: int | None = None,
        loss: str | Loss = "square",
        kernel: Kernel | Sequence[Kernel] = "auto",
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        n_components: int | None = None,
        landmarks: Landmarks = "uniform",
        fit_intercept: bool = True,
        balance_tasks: bool = False,
        metric_rounds: int | Sequence[int] | None = None,
        metric_rule: str | Sequence[str] | None = None,
        feature_groups: ArrayLike | None = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 200,
        callback: Callback | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.penalty = penalty
        self.alphas = alphas
        self.mus = mus
        self.eps_factors = eps_factors
        self.commons = commons
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_jobs = n_jobs
        self.loss = loss
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.landmarks = landmarks
        self.fit_intercept = fit_intercept
        self.balance_tasks = balance_tasks
        self.metric_rounds = metric_rounds
        self.metric_rule = metric_rule
        self.feature_groups = feature_groups
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback
        self.random_state = random_state
        self.verbose = verbose

    def decision_function(self, X: Any, tasks: Any = None) -> Any:
        """Scores of the best estimator; see its ``decision_function``."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X, tasks)

    # scikit-learn has no types, and its decorator takes them from the method.
    @available_if(gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, tasks: Any = None) -> Array:
        """Probabilities of the best estimator; see its ``predict_proba``."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X, tasks)
