"""What regression and classification share: the road from rows to a fitted model."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skmtl._linalg import Array
from skmtl._notebook import DrawsRelations
from skmtl._parameters import check_callback, check_count, check_flag, check_positive, is_number
from skmtl.estimators.clean import clean, reads_blocks
from skmtl.estimators.learned import LearnedTasks
from skmtl.estimators.metric import check_rounds, check_rule, few_rows, next_scale
from skmtl.estimators.predict import predict_scores
from skmtl.estimators.publish import publish
from skmtl.features import KERNELS, KernelFacts, make_feature_map
from skmtl.losses.base import Loss, check_loss
from skmtl.penalties import check_penalty
from skmtl.solvers.solution import Interrupted
from skmtl.solvers.training import Effort, Settings, Training, single_tasks
from skmtl.targets import Coding, TaskData

# A kernel that is not in the table is refused by ``fit``, not by those who ask for tags.
UNKNOWN = KernelFacts()


class MultiTaskEstimator(LearnedTasks, DrawsRelations, BaseEstimator):
    """What regression and classification share: the fit, what it leaves behind, and what was learned of the tasks."""

    # What the loss must be for.
    purpose: ClassVar[str]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = not isinstance(self.kernel, str) or KERNELS.get(self.kernel, UNKNOWN).sparse_rows
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of the penalty: ``penalty__mu=0.5`` works where the penalty is a name too.

        Parameters
        ----------
        **params
            Parameters by name; those of the penalty begin with ``penalty__``.

        Returns
        -------
        self : estimator
        """
        penalty = params.get("penalty", self.penalty)
        if isinstance(penalty, str) and any(name.startswith("penalty__") for name in params):
            # A name has no parameters; the penalty that it stands for, whatever the number of tasks, does.
            params["penalty"] = check_penalty(penalty, 2)
        return super().set_params(**params)

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, tasks: Any = None, groups: Any = None
    ) -> Self:
        """Learn predictors and structure.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            For ``kernel="precomputed"`` the kernel matrix, of shape (n_samples, n_samples). May be a memory map, or a
            Dask array or data frame.
        y : array-like of shape (n_samples, n_tasks) or (n_samples,)
            Targets of a regressor, NaN where they are not known. Of a classifier a column of classes of any type, or a
            0/1 indicator matrix with NaN where a label is not known. The names of a data frame's columns become task
            names.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_tasks), optional
            A label of weight 2 counts like two equal ones.
        tasks : array-like of shape (n_samples,), optional
            Long format: the task of each row. Then y is one column; of a classifier, with the same two classes for all
            tasks.
        groups : array-like of shape (n_samples,), optional
            Rows of one group, such as visits of a patient, are left out together where errors are asked for, on which
            standard deviations, intervals and calibrated probabilities rest: they are for rows of new groups.

        Returns
        -------
        self : estimator
            Fitted. An error leaves the estimator as it was. So does an interruption (Ctrl-C) before the first
            certificate; later, it gives the best model so far, with a warning that says what is proved of it.
        """
        # The road: what the user passed is cleaned, decomposed once, solved with proof, and published at the very end.
        loss = check_loss(self.loss, purpose=self.purpose)
        data = clean(self, X, y, sample_weight, tasks, groups, blocks=reads_blocks(self, X, loss))
        settings, effort = make_settings(self, data.labels.n_tasks), make_effort(self)
        callback = check_callback(self.callback)
        check_labels(data, loss, intercept=check_flag("fit_intercept", self.fit_intercept))
        training = train(self, data, loss)
        try:
            solution = training.solve(settings, effort, callback=callback)
        except Interrupted as stop:
            solution = stop.solution
        return publish(self, training, settings, solution)

    def predict(self, X: Any, tasks: Any = None) -> Any:
        """Predict the targets, or the classes, of new rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or a Dask array or data frame.
        tasks : array-like of shape (n_samples,), optional
            The task of each row, of which alone a prediction is returned; a task that was not fitted is an error.

        Returns
        -------
        ndarray of shape (n_samples, n_tasks) or (n_samples,)
            One column with ``tasks``, and where y was one column; of long tables without ``tasks`` a column per task.
            Of Dask collections a Dask array, not computed yet.
        """
        check_is_fitted(self)
        return predict_scores(self, X, tasks, partial(_predictions, self.coding_, self.loss_))


def make_settings(estimator: Any, n_tasks: int) -> Settings:
    """The hyper-parameters of an estimator, checked."""
    automatic = isinstance(estimator.eps, str) and estimator.eps == "auto"
    return Settings(
        check_penalty(estimator.penalty, n_tasks),
        alpha=check_positive("alpha", estimator.alpha),
        common=check_positive("common", estimator.common, zero=True),
        eps=None if automatic else check_positive('eps (a number, or "auto")', estimator.eps),
    )


def make_effort(estimator: Any) -> Effort:
    """What an estimator says about the solver, checked."""
    return Effort(estimator.solver, check_positive("tol", estimator.tol), check_count("max_iter", estimator.max_iter))


def make_map(estimator: Any, feature_scale: Array | None = None) -> Any:
    """The feature map of an estimator, not fitted."""
    return make_feature_map(
        estimator.kernel,
        gamma=estimator.gamma,
        degree=estimator.degree,
        coef0=estimator.coef0,
        kernel_params=estimator.kernel_params,
        n_components=estimator.n_components,
        landmarks=estimator.landmarks,
        random_state=estimator.random_state,
        feature_scale=feature_scale,
        up_to_constants=check_flag("fit_intercept", estimator.fit_intercept),
    )


def train(
    estimator: Any, data: TaskData, loss: Loss, *, kernel: Array | None = None, feature_scale: Array | None = None
) -> Training:
    """The training set that an estimator makes of data; ``kernel`` is that of its rows where it is known.

    Where the estimator asks for it, the scale of the features is learned on these rows first; ``feature_scale`` is the
    scale where it is known.
    """
    none = is_number(estimator.metric_rounds) and estimator.metric_rounds == 0
    rounds = 0 if none else check_rounds(estimator.metric_rounds, estimator.kernel)
    if rounds:
        exact = make_map(estimator).on_rows
        check_rule(estimator.metric_rule, estimator.kernel, quadratic=loss.quadratic, exact=exact)
    for _ in range(rounds if feature_scale is None else 0):
        feature_scale = next_scale(estimator, _make_training(estimator, few_rows(data), loss, None, feature_scale))
    return _make_training(estimator, data, loss, kernel, feature_scale)


def _make_training(
    estimator: Any, data: TaskData, loss: Loss, kernel: Array | None, feature_scale: Array | None
) -> Training:
    return Training(
        data,
        make_map(estimator, feature_scale),
        loss,
        intercept=check_flag("fit_intercept", estimator.fit_intercept),
        scale=check_flag("scale_targets", estimator.scale_targets),
        balanced=check_flag("balance_tasks", estimator.balance_tasks),
        kernel=kernel,
    )


def check_labels(data: TaskData, loss: Loss, *, intercept: bool) -> None:
    """Refuse labels that the loss has no meaning or no minimizer for, and warn of single tasks that it has none for."""
    labels, one_class = data.labels, data.coding.classes is not None
    if loss.nonnegative_targets and (least := float(labels.stats().lowest.min())) < 0.0:
        raise ValueError(f"y has a negative value, {least:.3g}; loss={loss.name!r} needs targets >= 0.")
    if loss.couples_tasks and not (data.coding.one_vs_all or (labels.n_tasks == 1 and not labels.long)):
        raise ValueError(f"loss={loss.name!r} needs one column of classes; for several labels use loss='logistic'.")
    single = single_tasks(labels, loss, intercept=intercept)
    kind = "of one class" if one_class else "zero"
    if single.all():
        advice = "needs both" if one_class else "needs others, or fit_intercept=False"
        raise ValueError(f"every task has labels {kind} only; loss={loss.name!r} {advice}, or use 'square'.")
    if single.any():
        names = ", ".join(repr(name) for name in data.task_names[single].tolist())
        warnings.warn(f"all labels of {names} are {kind}; a constant is predicted.", UserWarning, stacklevel=3)


def _predictions(coding: Coding, loss: Loss, F: Array) -> NDArray[Any]:
    """What is predicted of scores."""
    return coding.predictions(loss.inverse_link(F))
