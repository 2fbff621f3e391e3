"""The regressor that chooses its own hyper-parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skmtl._linalg import Array
from skmtl.estimators import MultiTaskRegressor
from skmtl.features import Kernel, Landmarks
from skmtl.losses import Loss
from skmtl.model_selection.base import Grid, MultiTaskSearch, Penalties
from skmtl.solvers.training import Callback


class MultiTaskRegressorCV(MultiTaskSearch):
    """A search for the :class:`MultiTaskRegressor` with the best hyper-parameters, by cross-validation.

    The structure is learned anew in every fold, and independent tasks are always among the candidates: ``verdict_``
    says whether sharing won. One decomposition per fold and gamma serves the whole grid. The kernel and its gamma are
    chosen first, with independent tasks, and so is how often a metric is learned, where there is a choice. After the
    search the best candidate is fitted to all rows: ``best_estimator_``, to which predictions and everything that was
    learned about the tasks are delegated.

    ``cv="loo"`` leaves one row out in closed form: the quick choice for square loss, gaps or not. It holds the
    structure at the one learned on all rows, which is optimistic when there are many tasks for the number of rows.

    Parameters
    ----------
    penalty : str, StructurePenalty or list of them, default="sparse"
        Penalties to try. Each brings the grid of its own parameters.
    alphas : array-like or "own", optional
        Strengths of the regularization; by default ten from 1e-1 to 1e-7 times the mean of the kernel's diagonal. With
        "own" these, and independent tasks are tried with a strength for each of them too.
    mus : array-like, optional
        Values of ``mu`` of the sparse penalty; by default those of ``Sparse().grid()``.
    eps_factors : array-like, optional
        Multiples of the automatic eps, by default 1 and 100.
    commons : array-like, optional
        Weights of a common component; by default 0, and 0 and 10 where every row is of one task.
    gammas : array-like, optional
        Inverse widths of the kernel; by default 1/16 to 4 times the median heuristic for "rbf" and "laplacian".
    cv : int, "loo", splitter or iterable of index pairs, optional
        By default 5 folds; with ``kernel="auto"`` 10 for at most 1,000 rows with at most 250 labels of each task and,
        where some are missing, at most 700 labels or gaps, and three deals of these for at most 150 rows without
        groups, unless ``rule`` is "1se". Whole numbers spread the tasks of a long table, or of one
        with missing labels, evenly over the folds.
    scoring : str or callable, optional
        One of ``skmtl.model_selection.SCORES``, over known labels: "pooled_r2" (the default), "nmse" or "arrmse",
        averaged over tasks, each task measured by its variance over all rows; "r2" is what ``score`` gives. Or any
        scorer of scikit-learn, except with missing labels, ``tasks`` or ``cv="loo"``. Errors are negative scores.
    rule : {"best", "1se"}, default="best"
        The best score, or the sparsest graph within one standard error of it, by paired differences over the folds.
    n_jobs : int, optional
        Folds searched in parallel, through joblib.
    loss : {"square", "huber", "quantile", "epsilon_insensitive", "poisson"} or Loss, default="square"
        As in :class:`MultiTaskRegressor`, like all that follows.
    kernel : str, callable or list of them, default="auto"
        The kernel, or kernels to choose from, each with inverse widths of its own. With "auto" what does best on public
        sets: "linear", "rbf" and "laplacian" are tried, the better of the last two with a metric too, and independent
        tasks also with strengths of their own. Only "linear" for losses that are not quadratic, for sparse rows, and
        for more than 2,000 rows without landmarks.
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
    scale_targets : bool, default=True
        Whether tasks are brought to unit variance for the fit.
    balance_tasks : bool, default=False
        Whether every task counts the same however many labels it has.
    metric_rounds : int or list of int, optional
        How often features are scaled by how much the predictors change along them, see
        :class:`MultiTaskRegressor`. Of a list the best number is chosen, on folds that learn the metric on their
        training rows; at the inverse width that is best without a metric. By default 0, 1 and 2
        are tried with ``kernel="auto"`` on folds, else 0.
    metric_rule : {"slopes", "evidence", "task_evidence"} or list of them, optional
        What features are scaled by, see :class:`MultiTaskRegressor`; of a list the best one is chosen. By default
        "slopes", and all of them with ``kernel="auto"`` and square loss; "task_evidence" for two to six tasks
        where there is time for as many kernels.
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
    best_estimator_ : MultiTaskRegressor
        Fitted to all rows with the chosen parameters.
    best_params_ : dict
        What was chosen, by the names that :class:`MultiTaskRegressor` has for it: ``penalty``, ``alpha``, ``eps``,
        ``common``, ``kernel`` and ``gamma``; and ``metric_rounds``, ``metric_rule`` and ``metric_alpha`` where a
        metric is learned.
    alpha_, penalty_, common_, gamma_
        The same one by one.
    best_score_ : float
        The mean score of the chosen candidate over the folds.
    best_index_ : int
        Its row in ``cv_results_``.
    cv_results_ : dict of arrays
        A row per candidate: parameters, score per fold, mean, rank, and ``mean_edges`` of the graph. With "loo" the
        splits are ten groups of rows. Candidates are fitted to a gap of 1e-3 of their objective, or ``tol`` where
        that is larger; scores may be farther than that from those of the same candidates at a smaller gap. The
        certificate is that of the final fit.
    scoring_ : str
        The name of the score.
    constant_score_ : float or None
        The mean score of the same prediction at every row, on the same folds; None for scorers of scikit-learn.
    test_share_ : float
        The number of test rows to that of training rows, on average over the folds.
    verdict_ : str
        Whether sharing won over independent tasks.

    See Also
    --------
    MultiTaskRegressor : Has the other attributes, such as ``structure_``, which can be asked of the search too.
    compare_methods : Whether sharing helps, task by task.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor, MultiTaskRegressorCV
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> search = MultiTaskRegressorCV(cv="loo").fit(X, Y)
    >>> sorted(search.best_params_)
    ['alpha', 'common', 'eps', 'gamma', 'kernel', 'penalty']
    >>> again = MultiTaskRegressor(**search.best_params_).fit(X, Y)
    >>> bool(abs(again.predict(X) - search.predict(X)).max() < 1e-6)
    True
    """

    model_class = MultiTaskRegressor

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
        scale_targets: bool = True,
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
        self.scale_targets = scale_targets
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

    def predict(self, X: Any, tasks: Any = None, return_std: bool = False, known: Any = None) -> Any:
        """Predictions of the best estimator, and how sure they are; see its ``predict``."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X, tasks, return_std=return_std, known=known)

    def predict_interval(self, X: Any, tasks: Any = None, *, coverage: float = 0.9) -> tuple[Array, Array]:
        """Intervals of the best estimator; see its ``predict_interval``."""
        check_is_fitted(self)
        return self.best_estimator_.predict_interval(X, tasks, coverage=coverage)
