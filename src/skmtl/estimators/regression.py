"""Multi-task regression."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skmtl._linalg import Array, mean_known
from skmtl._validation import check_weight, is_dask, match_tasks
from skmtl.estimators.base import MultiTaskEstimator
from skmtl.estimators.blocks import open_on_cluster
from skmtl.estimators.predict import Predict, coefficients
from skmtl.estimators.score import Errors, labels_like
from skmtl.estimators.uncertainty import find_evidence, score_quantiles, uncertain
from skmtl.features import Kernel, Landmarks
from skmtl.losses import Loss
from skmtl.losses.base import named_loss
from skmtl.penalties import StructurePenalty
from skmtl.solvers.training import Callback
from skmtl.targets import ErrorSums, LabelReader, TableLabels, as_numbers


class MultiTaskRegressor(RegressorMixin, MultiTaskEstimator):
    r"""Learn several regression tasks together with the graph that relates them.

    Minimizes, over predictors f and the structure A of the tasks,

    .. math::

        \frac{1}{n} \sum_{it} w_{it} V(y_{it}, f_t(x_i))
        + \alpha \bigl( \lVert f \rVert_A^2 + \epsilon \operatorname{tr}(A^{-1}) + R(A) \bigr),

    and proves with every fit how far from the global minimum the answer can be.

    Parameters
    ----------
    penalty : str or StructurePenalty, default="sparse"
        The penalty R on the structure, by name or as an object such as ``Sparse(mu=0.95)``.
    alpha : float, default=1e-2
        Strength of the regularization.
    eps : float or "auto", default="auto"
        Keeps A away from singular matrices. "auto" is 1e-2 times the mean squared norm of independent predictors;
        the value used is ``eps_``. Large values lead to independent tasks.
    common : float, default=0.0
        Weight of a component common to all tasks: A becomes A + common * 11' in the predictor. Tasks with rows of
        their own nearly always need it; anything from 1 to 100 serves.
    loss : {"square", "huber", "quantile", "epsilon_insensitive", "poisson"} or Loss, default="square"
        The loss V. With "poisson" scores are logarithms, and ``predict`` returns means, :math:`e^f`; targets must not
        be negative and keep their unit, whatever ``scale_targets`` says.
    kernel : str or callable, default="linear"
        A kernel that scikit-learn's ``KernelRidge`` takes, ``"precomputed"``, or a function of two rows.
    gamma : float, optional
        Inverse width of the kernel; by default scikit-learn's, one over the number of features.
    degree, coef0 : float
        Parameters of polynomial and sigmoid kernels.
    kernel_params : mapping, optional
        Parameters of a kernel given as a callable.
    n_components : int, optional
        Approximate the kernel on so many rows, the landmarks (Nystroem). Time grows with the rows, memory does not:
        with square loss the table is read a block at a time. Objective, bound and gap are then those of the
        approximated problem. None: the exact kernel.
    landmarks : {"uniform", "leverage"} or array-like of shape (n_components, n_features), default="uniform"
        How landmarks are drawn: all rows alike, or by approximate ridge leverage scores, which costs another pass over
        the rows. Or the landmarks themselves.
    fit_intercept : bool, default=True
        Whether each task has a constant, which is never penalized.
    scale_targets : bool, default=True
        Whether tasks are brought to unit variance for the fit. Predictions are in the unit of y all the same;
        ``structure_`` relates the scaled tasks.
    balance_tasks : bool, default=False
        Whether every task counts the same however many labels it has.
    metric_rounds : int from 0 to 1000, default=0
        How often features are scaled by how much the predictors change along them, before the last fit: 1 to 3 where
        many features matter little. For kernels rbf, laplacian and polynomial, and features on one scale. The rounds
        are fits of independent tasks; certificate and structure are those of the last fit.
    metric_rule : {"slopes", "evidence", "task_evidence"}, default="slopes"
        What features are scaled by: how much the predictors change along them, or a step of widths of their own
        towards those under which the labels are most likely, for square loss and kernel "rbf" or "laplacian" on all
        rows. The first finds few features among many, the second also features with few values. With "task_evidence"
        each task has such widths, and noise, of its own, and the kernel is the mean of the tasks' kernels.
    metric_alpha : float, optional
        Strength of the regularization in those rounds; by default ``alpha``.
    feature_groups : array-like of shape (n_features,), optional
        Names or numbers of groups of features that are scaled, and count, together, such as the columns of a category
        that was one-hot encoded.
    solver : {"auto", "newton", "anderson", "alternating"}, default="auto"
        The outer loop: joint Newton (square loss, and a penalty that allows it), accelerated alternation, or the
        paper's alternation; "auto" is the first of them that is possible.
    tol : float, default=1e-6
        Relative gap to the global optimum at which to stop.
    max_iter : int, default=200
        Bound on the iterations of the outer loop.
    callback : callable, optional
        Called whenever the solver computes a certificate, with a dict of ``certificate`` (how many there were, this one
        included), ``objective``, ``lower_bound`` and ``gap``.
    random_state : int, RandomState instance or None, default=None
        For drawing landmarks.

    Attributes
    ----------
    structure_ : ndarray of shape (n_tasks, n_tasks)
        How the tasks are related; entries are exactly zero where they are not.
    coef_ : ndarray of shape (n_tasks, n_features)
        Coefficients, for the linear kernel only.
    dual_coef_ : ndarray of shape (n_samples, n_tasks) or (n_landmarks, n_tasks)
        Coefficients on the training rows, or on the landmarks, with kernels other than the linear one only.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The landmarks, with ``n_components``; those that others span to rounding are dropped.
    intercept_ : ndarray of shape (n_tasks,)
        The constant of each task.
    task_names_ : ndarray of shape (n_tasks,)
        Names of the tasks: columns of y, or the values of ``tasks``.
    correlation_ : ndarray of shape (n_tasks, n_tasks)
        Cosines of the tasks' predictors in the kernel's space.
    penalty_ : StructurePenalty
        The penalty that was used.
    loss_ : Loss
        The loss that was used.
    target_scale_ : ndarray of shape (n_tasks,)
        By what the targets of each task were divided for the fit; the structure relates the scaled tasks.
    eps_ : float
        The eps that was used.
    feature_map_ : FeatureMap
        The basis functions of the predictors.
    feature_importances_ : ndarray of shape (n_features,)
        How much the predictors change along each feature; sum one. For kernels whose derivative is known only.
    feature_structure_ : ndarray
        The matrix on the side of the features, with the penalty ``features`` only.
    feature_coef_ : ndarray of shape (r, n_tasks)
        Coefficients in an orthonormal basis of the features, with the penalty ``features`` only.
    noise_ : ndarray of shape (n_tasks,)
        The standard deviation of the noise of each task, in the units of y; for square loss only.
    evidence_ : Evidence or None
        Training rows and labels, kept for standard deviations and intervals; None where rows were read in blocks, or
        were a kernel matrix.
    coding_ : Coding
        How y was written, and so how predictions are.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had them.
    n_iter_ : int
        Iterations of the outer loop.
    solution_ : Solution
        ``objective``, ``lower_bound``, ``gap``, ``status``, ``n_iter`` and ``history`` of the fit.

    See Also
    --------
    MultiTaskRegressorCV : Chooses the hyper-parameters.
    MultiTaskClassifier : The same for classes.
    sklearn.kernel_ridge.KernelRidge : Independent tasks, without an intercept.

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

    purpose = "regression"

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
        scale_targets: bool = True,
        balance_tasks: bool = False,
        metric_rounds: int = 0,
        metric_rule: str = "slopes",
        metric_alpha: float | None = None,
        feature_groups: ArrayLike | None = None,
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
        self.scale_targets = scale_targets
        self.balance_tasks = balance_tasks
        self.metric_rounds = metric_rounds
        self.metric_rule = metric_rule
        self.metric_alpha = metric_alpha
        self.feature_groups = feature_groups
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        loss = named_loss(self.loss)
        tags.target_tags.positive_only = loss is not None and loss.nonnegative_targets
        return tags

    def predict(self, X: Any, tasks: Any = None, return_std: bool = False, known: Any = None) -> Any:
        """Predict the targets of new rows, and how sure that is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or a Dask array or data frame, for predictions alone.
        tasks : array-like of shape (n_samples,), optional
            The task of each row, of which alone a prediction is returned; a task that was not fitted is an error.
        return_std : bool, default=False
            Whether standard deviations are returned too. They are those of a new label: of the posterior of the
            predictor, for the structure and the kernel, and of the noise of the task, ``noise_``.
        known : array-like of shape (n_samples, n_tasks), or data frame, optional
            Labels of these rows that are known already, NaN where they are not, or a data frame with columns of some
            of the tasks. They sharpen the predictions of the other tasks at the same row (co-kriging), as if they had
            been among the training labels; rows do not inform one another. A label that is known is returned as it is,
            with standard deviation zero.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_tasks) or (n_samples,)
            One column with ``tasks``, and where y was one column; of long tables without ``tasks`` a column per task.
            Of Dask collections a Dask array, not computed yet.
        std : ndarray of the same shape
            With ``return_std`` only, in the units of y; zero where all training labels of a task are one value, unless
            it shares something with tasks whose labels are not.
        """
        check_is_fitted(self)
        if not return_std and known is None:
            return super().predict(X, tasks)
        mean, factor = uncertain(self, X, tasks, known)
        mean = self.coding_.predictions(mean)
        if not return_std:
            return mean
        noise = self.evidence_.noise
        return mean, self.coding_.predictions(factor * (noise if tasks is None else noise[self._task_numbers(tasks)]))

    def predict_interval(self, X: Any, tasks: Any = None, *, coverage: float = 0.9) -> tuple[Array, Array]:
        r"""Intervals that hold a new label of each task as often as they say.

        Every training label is predicted by a fit without its row (where that is not direct, without its tenth of
        the rows), the structure and all parameters held. Its error is divided by the standard deviation that
        ``predict`` would have given it. Intervals reach from the prediction by q standard deviations to both sides,
        where q is the :math:`\lceil (m + 1) \, \mathrm{coverage} \rceil`-th smallest of these m numbers of the
        task: the jackknife, studentized, with the finite-sample correction of conformal prediction. With ``groups`` in
        ``fit`` m counts groups, whose labels have equal shares of one [3]_.

        What is promised: coverage on average over new rows, drawn like the training rows, for any noise, as m grows
        and as far as one row changes the fit little, which a ridge ensures [1]_ [2]_. What is not: coverage at every
        single row, or for rows from elsewhere; nor in finite samples beyond the correction, for parameters and
        structure were chosen with all rows.

        Where all m labels of a task are one value, and it shares nothing with tasks whose labels are not, its interval
        is that value. That is no certainty: of m + 1 labels drawn alike the last alone differs with probability
        1 / (m + 1) at most, so that the value holds a new label as often as ``coverage`` says. How far another label
        would be is not known.

        Parameters
        ----------
        X, tasks
            As for ``predict``.
        coverage : float, default=0.9
            The share of labels to be covered. It needs at least coverage / (1 - coverage) labels of each task, in so
            many groups where there are groups.

        Returns
        -------
        low, high : ndarray of shape (n_samples, n_tasks) or (n_samples,)
            Like the predictions.

        References
        ----------
        .. [1] Steinberger and Leeb. Conditional predictive inference for stable algorithms. Annals of Statistics 2023.
        .. [2] Barber, Candes, Ramdas and Tibshirani. Predictive inference with the jackknife+. Annals of Statistics
           2021.
        .. [3] Lee, Barber and Willett. Distribution-free inference with hierarchical data. arXiv:2306.06342, 2023.
        """
        check_is_fitted(self)
        evidence = find_evidence(self, X)
        reach = score_quantiles(evidence, self.task_names_, coverage)
        mean, factor = uncertain(self, X, tasks)
        width = factor * (reach if tasks is None else reach[self._task_numbers(tasks)])
        return self.coding_.predictions(mean - width), self.coding_.predictions(mean + width)

    def _task_numbers(self, tasks: Any) -> Any:
        return match_tasks(tasks, self.task_names_)

    @property
    def noise_(self) -> Array:
        """The standard deviation of the noise of each task's labels, in the units of y, of shape (n_tasks,).

        It makes the variance of errors at labels left out what it should be; a label has the mean weight of its task.
        """
        evidence = find_evidence(self, None)
        return np.asarray(evidence.noise * np.sqrt(evidence.label_noise) * self.target_scale_)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, tasks: Any = None) -> float:
        """R squared, averaged over tasks.

        Parameters
        ----------
        X, y, sample_weight, tasks
            As for ``fit``.

        Returns
        -------
        float
            Over the known targets only, and over tasks with more than one of them. With ``tasks``, over all rows at
            once.
        """
        check_is_fitted(self)
        if is_dask(X):
            return self._score_blocks(X, y, sample_weight, tasks)
        prediction = self.predict(X, tasks)
        Y = labels_like(prediction, y)
        weight = check_weight(sample_weight, Y, Y.shape[1])
        labels = TableLabels(Y, np.where(np.isnan(Y), 0.0, weight if weight.ndim == 2 else weight[:, None]))
        return mean_known(ErrorSums.from_labels(labels, prediction.reshape(Y.shape)).r2())

    def _score_blocks(self, X: Any, y: Any, sample_weight: Any, tasks: Any) -> float:
        table = open_on_cluster(self, X, y, sample_weight, tasks, reset=False)
        predict = Predict(self.feature_map_, coefficients(self), self.intercept_, partial(_two_columns, self.loss_))
        # Tasks of rows choose among predictions; labels are read as they stand.
        errors = Errors(predict, LabelReader(len(self.task_names_), as_numbers))
        sums = table.rows.reduce(errors, ErrorSums.merge, width=len(predict.coef) + table.rows.shape[1])
        return mean_known(sums.r2())


def _two_columns(loss: Loss, F: Array) -> Array:
    return loss.inverse_link(F).reshape(len(F), -1)
