"""Multi-task classification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmtl._linalg import Array
from skmtl._validation import NO_WEIGHT, check_classes, check_rows, check_weight, is_dask, match_tasks
from skmtl.estimators.base import MultiTaskEstimator
from skmtl.estimators.blocks import open_on_cluster
from skmtl.estimators.calibration import calibrate
from skmtl.estimators.predict import Predict, coefficients, predict_scores
from skmtl.estimators.score import Hits, labels_like
from skmtl.features import Kernel, Landmarks
from skmtl.losses import Loss
from skmtl.losses.base import named_loss
from skmtl.penalties import StructurePenalty
from skmtl.solvers.training import Callback
from skmtl.targets.coding import first_column


def gives_probabilities(estimator: Any) -> bool:
    """Whether a classifier, or a search for one, has probabilities: of its loss, or of its scores on rows held out."""
    loss = named_loss(estimator.loss)
    if estimator.kernel == "precomputed" and (loss is None or not loss.gives_probabilities):
        raise AttributeError(
            f"loss={estimator.loss!r} gives no probabilities, and with kernel='precomputed' no rows are kept to "
            "calibrate its scores on; use loss='logistic', or scikit-learn's CalibratedClassifierCV."
        )
    return True


class MultiTaskClassifier(ClassifierMixin, MultiTaskEstimator):
    """Learn classes, or several labels, together with the graph that relates them.

    Classes are coded -1 and +1: a binary problem is one task, several classes are one task each (one against all),
    and a 0/1 indicator matrix is one task per column, NaN where a label is not known. In long format all tasks share
    the same two classes. The problem is that of :class:`MultiTaskRegressor`.

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
    loss : {"square", "logistic", "softmax", "hinge", "squared_hinge"} or Loss, default="square"
        The loss V. "softmax" is one loss over all classes of a column, "logistic" one for each class or label; both
        give probabilities.
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
    classes_ : ndarray
        The classes of a column; of an indicator matrix 0 and 1.
    structure_, correlation_ : ndarray of shape (n_tasks, n_tasks)
        As in :class:`MultiTaskRegressor`, like all that follows.
    coef_ : ndarray of shape (n_tasks, n_features)
        Coefficients, for the linear kernel only.
    dual_coef_ : ndarray of shape (n_samples, n_tasks) or (n_landmarks, n_tasks)
        Coefficients on the training rows, or on the landmarks, with kernels other than the linear one only.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The landmarks, with ``n_components``.
    intercept_, task_names_ : ndarray of shape (n_tasks,)
        Constants and names of the tasks; of one column of classes, the classes themselves.
    penalty_ : StructurePenalty
        The penalty that was used.
    loss_ : Loss
        The loss that was used.
    eps_ : float
        The eps that was used.
    feature_map_ : FeatureMap
        The basis functions of the predictors.
    feature_importances_ : ndarray of shape (n_features,)
        How much the predictors change along each feature; sum one. For kernels whose derivative is known only.
    target_scale_ : ndarray of shape (n_tasks,)
        Ones: classes are not scaled.
    feature_structure_, feature_coef_ : ndarray
        With the penalty ``features`` only.
    evidence_ : Evidence or None
        Training rows and labels, kept for probabilities; None where rows were read in blocks, or were a kernel matrix.
    coding_ : ClassCoding
        How classes became tasks.
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
    MultiTaskClassifierCV : Chooses the hyper-parameters.
    MultiTaskRegressor : The same for numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmtl import MultiTaskClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> est = MultiTaskClassifier(kernel="rbf", alpha=1e-3).fit(X, y)
    >>> bool(est.score(X, y) > 0.95)
    True
    """

    purpose = "classification"
    # Classes are -1 and +1 as they are.
    scale_targets = False

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
        loss = named_loss(self.loss)
        tags.classifier_tags.multi_label = loss is None or not loss.couples_tasks
        return tags

    def decision_function(self, X: Any, tasks: Any = None) -> Any:
        """Scores, of which the sign or the largest decides.

        Parameters
        ----------
        X, tasks
            As for ``predict``.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_tasks)
            One column for two classes or with ``tasks``, one per class for more classes, else one per task. Of Dask
            collections a Dask array, not computed yet.
        """
        check_is_fitted(self)
        return predict_scores(self, X, tasks, first_column)

    @available_if(gives_probabilities)
    def predict_proba(self, X: Any, tasks: Any = None) -> Array:
        """Probabilities of the classes.

        Those of the loss where it gives some ("logistic", "softmax"). Else scores are calibrated when this is first
        called: sigmoids are fitted to scores of training rows held out, one by one for square loss, in ten folds for
        others, with the structure held; for each task, or for all classes of one column alike. They say one half where
        ``predict`` changes its mind.

        Parameters
        ----------
        X, tasks
            As for ``predict``.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples, n_tasks)
            Of the second class where there are several tasks.
        """
        check_is_fitted(self)
        if self.loss_.gives_probabilities:
            read = self.coding_.joint_probabilities if self.loss_.couples_tasks else self.coding_.score_probabilities
            return predict_scores(self, X, tasks, read)
        if self.evidence_ is None:
            raise ValueError(
                f"loss={self.loss_.name!r} gives no probabilities, and the fit read its rows in blocks, of which none "
                "was kept to calibrate its scores on; use scikit-learn's CalibratedClassifierCV on a sample of rows."
            )
        if is_dask(X):
            raise ValueError(
                f"probabilities of loss={self.loss_.name!r} need rows in memory, and these are a Dask collection; pass "
                "X.compute(), or a partition at a time."
            )
        codes = None if tasks is None else match_tasks(tasks, self.task_names_)
        kept = self.evidence_
        calibration = calibrate(kept.held_out_scores, kept.given_labels, together=self.coding_.one_vs_all)
        odds = calibration.log_odds(predict_scores(self, X, tasks), codes)
        return self.coding_.score_probabilities(odds)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, tasks: Any = None) -> float:
        """Accuracy.

        Parameters
        ----------
        X, y, sample_weight, tasks
            As for ``fit``.

        Returns
        -------
        float
            The share of rows whose class is right; of an indicator matrix, whose known labels are all right.
        """
        check_is_fitted(self)
        if is_dask(X):
            return self._score_blocks(X, y, sample_weight, tasks)
        prediction = self.predict(X, tasks)
        if prediction.ndim == 1:
            check_rows(np.asarray(y), len(prediction))
            weight = check_weight(sample_weight, prediction)
            return float(accuracy_score(check_classes(y), prediction, sample_weight=weight))
        Y = labels_like(prediction, y)
        right = np.all((prediction == Y) | np.isnan(Y), axis=1)
        return float(np.average(right, weights=check_weight(sample_weight, prediction)))

    def _score_blocks(self, X: Any, y: Any, sample_weight: Any, tasks: Any) -> float:
        table = open_on_cluster(self, X, y, sample_weight, tasks, reset=False)
        predict = Predict(self.feature_map_, coefficients(self), self.intercept_, self.coding_.predictions)
        right, total = table.rows.reduce(Hits(predict), np.add, width=len(predict.coef) + table.rows.shape[1])
        if total == 0.0:
            raise ValueError(NO_WEIGHT)
        return float(right / total)
