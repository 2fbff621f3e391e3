"""Estimators that choose their own hyper-parameters."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from skmtl.estimators import MultiTaskClassifier, MultiTaskRegressor
from skmtl.estimators.base import Callback
from skmtl.features import Kernel, Landmarks
from skmtl.losses import Loss
from skmtl.model_selection.base import SearchEstimator
from skmtl.penalties import StructurePenalty

Grid = ArrayLike | None
Penalties = str | StructurePenalty | Sequence[str | StructurePenalty]


class MultiTaskRegressorCV(SearchEstimator, MultiTaskRegressor):
    r"""A :class:`MultiTaskRegressor` that chooses its hyper-parameters by cross-validation.

    The structure is learned anew in every fold, and independent tasks are always among the candidates: ``verdict_``
    says whether sharing won. One decomposition per fold and kernel width serves the whole grid. Kernel widths are
    chosen first, with independent tasks. After the search the best candidate is fitted to all rows.

    ``cv="loo"`` leaves one row out in closed form: the quick choice for square loss and complete labels. It holds the
    structure at the one learned on all rows, which is optimistic when there are many tasks for the number of rows.

    Parameters
    ----------
    penalty : str, StructurePenalty or list of them, default="sparse"
        Penalties to try. Each brings the grid of its own parameters.
    alphas : array-like, optional
        Strengths of the regularisation; by default ten from 1e-1 to 1e-7 times the mean of the kernel's diagonal.
    mus : array-like, optional
        Values of ``mu`` of the sparse penalty; by default those of ``Sparse().grid()``.
    epsilons : array-like, optional
        Multiples of the automatic eps, by default 1 and 100.
    commons : array-like, optional
        Weights of a common component; by default 0, and 0 and 10 where every row is of one task.
    gammas : array-like, optional
        Widths of the kernel; by default the median heuristic times 1/16 to 4 for "rbf" and "laplacian".
    cv : int, "loo", splitter or iterable of index pairs, default=5
        Whole numbers spread the tasks of a long table evenly over the folds.
    scoring : str or callable, optional
        "r2" (the default), "nmse" or "arrmse" over known labels, averaged over tasks, each task measured by its
        variance over all rows; or any scikit-learn scorer, except with ``tasks`` or ``cv="loo"``. Errors are negative
        scores.
    rule : {"best", "1se"}, default="best"
        The best score, or the sparsest graph within one standard error of it, by paired differences over the folds.
    n_jobs : int, optional
        Folds searched in parallel, through joblib.
    loss, kernel, degree, coef0, kernel_params, n_components, landmarks, fit_intercept, scale_targets, balance_tasks, \
solver, tol, max_iter, callback, random_state
        As in :class:`MultiTaskRegressor`.

    Attributes
    ----------
    best_params_ : dict
        ``penalty``, ``alpha``, ``epsilon`` (the multiple), ``common``, ``gamma`` and the penalty's own parameters.
    best_score_ : float
    best_index_ : int
    cv_results_ : dict of arrays
        A row per candidate: parameters, score per fold, mean, rank, and ``mean_edges`` of the graph. With "loo" the
        splits are ten groups of rows. Candidates are compared to about three digits; the certificate is that of the
        final fit.
    verdict_ : str
        Whether sharing won over independent tasks.

    See Also
    --------
    MultiTaskRegressor : Has the other attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressorCV
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> est = MultiTaskRegressorCV(cv="loo").fit(X, Y)
    >>> sorted(est.best_params_)
    ['alpha', 'common', 'epsilon', 'gamma', 'mu', 'penalty']
    """

    _model_class = MultiTaskRegressor

    def __init__(
        self,
        penalty: Penalties = "sparse",
        *,
        alphas: Grid = None,
        mus: Grid = None,
        epsilons: Grid = None,
        commons: Grid = None,
        gammas: Grid = None,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        n_jobs: int | None = None,
        loss: str | Loss = "square",
        kernel: Kernel = "linear",
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        n_components: int | None = None,
        landmarks: Landmarks = "uniform",
        fit_intercept: bool = True,
        scale_targets: bool = True,
        balance_tasks: bool = False,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 200,
        callback: Callback | None = None,
        random_state: Any = None,
    ) -> None:
        _store(self, locals())


class MultiTaskClassifierCV(SearchEstimator, MultiTaskClassifier):
    """A :class:`MultiTaskClassifier` that chooses its hyper-parameters by cross-validation.

    Parameters and attributes are those of :class:`MultiTaskRegressorCV` except ``scale_targets``. ``scoring`` is
    "accuracy" (the default; of a table of labels the mean over its columns), "average_precision", or a scikit-learn
    scorer. Whole numbers for ``cv`` spread classes evenly over the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmtl import MultiTaskClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> est = MultiTaskClassifierCV(kernel="rbf", alphas=[1e-4, 1e-2], gammas=[0.1, 1.0], mus=[0.9]).fit(X, y)
    >>> bool(est.best_score_ > 0.95)
    True
    """

    _model_class = MultiTaskClassifier
    _for_classes = True

    def __init__(
        self,
        penalty: Penalties = "sparse",
        *,
        alphas: Grid = None,
        mus: Grid = None,
        epsilons: Grid = None,
        commons: Grid = None,
        gammas: Grid = None,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        n_jobs: int | None = None,
        loss: str | Loss = "square",
        kernel: Kernel = "linear",
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
        _store(self, locals())


def _store(estimator: Any, parameters: Mapping[str, Any]) -> None:
    """Store the parameters of ``__init__`` as they came."""
    for name, value in parameters.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)
