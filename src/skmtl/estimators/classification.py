"""Multi-task classification."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmtl._cluster import is_dask
from skmtl._linalg import Array
from skmtl._validation import (
    check_features,
    check_rows,
    check_targets,
    check_task_names,
    check_tasks,
    check_weight,
    plain_names,
)
from skmtl.classes import (
    ClassCoding,
    code_column,
    first_column,
    is_indicator,
    make_coding,
    merge_classes,
    see_classes,
    signs,
)
from skmtl.estimators.base import MultiTaskEstimator
from skmtl.estimators.score import Hits
from skmtl.estimators.table import Predict, open_table
from skmtl.losses import LOSSES, Loss, check_loss
from skmtl.targets import LabelReader, Labels

MANY_CLASSES = "y has {} classes; in long format all tasks share the same two."


class MultiTaskClassifier(ClassifierMixin, MultiTaskEstimator):
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

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, tasks: Any = None) -> Self:
        """Learn predictors and structure.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            For ``kernel="precomputed"`` the kernel matrix, of shape (n_samples, n_samples). May be a memory map, or a
            Dask array or data frame.
        y : array-like of shape (n_samples,) or (n_samples, n_tasks)
            Classes of any type, or a 0/1 indicator matrix with NaN where a label is not known.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_tasks), optional
            A label of weight 2 counts like two equal ones.
        tasks : array-like of shape (n_samples,), optional
            Long format: the task of each row; y holds the same two classes for all of them.
        """
        loss = check_loss(self.loss, purpose="classification")
        if self._in_blocks(X, loss):
            return self._fit_blocks(X, y, sample_weight, tasks, loss)
        X = check_features(self, X, reset=True)
        if tasks is None and is_indicator(y):
            rows, labels = self._indicator(X, y, sample_weight)
        else:
            rows, labels = self._classes(X, y, sample_weight, tasks)
        self.classes_ = self._coding.classes
        return self._fit_both_classes(rows, labels, loss)

    def _fit_blocks(self, X: Any, y: Any, sample_weight: Any, tasks: Any, loss: Loss) -> Self:
        """Fit a table that is read a block at a time."""
        table = open_table(self, X, y, sample_weight, tasks, reset=True)
        self._coding, self.task_names_, encode = ClassCoding(np.array([0, 1]), one_vs_all=False), table.names, signs
        if table.flat or tasks is not None:
            seen = table.rows.columns_only().reduce(see_classes, merge_classes, width=8)
            self._coding = make_coding(seen)
            if tasks is None:
                self.task_names_ = self._class_names()
            elif self._coding.one_vs_all:
                raise ValueError(MANY_CLASSES.format(len(self._coding.classes)))
            encode = self._coding.encode_column
        self.classes_ = self._coding.classes
        labels = self._blocks(table.rows, LabelReader(len(self.task_names_), encode))
        return self._fit(table.rows, labels, loss, scale=False)

    def _class_names(self) -> NDArray[Any]:
        classes = self._coding.classes
        return plain_names(classes.tolist() if self._coding.one_vs_all else classes[1:].tolist())

    def _indicator(self, X: Array, y: Any, sample_weight: Any) -> tuple[Array, Labels]:
        Y, _ = check_targets(y, X.shape[0])
        self._coding = ClassCoding(np.array([0, 1]), one_vs_all=False)
        self.task_names_ = check_task_names(y, Y.shape[1])
        return self._table(X, 2.0 * Y - 1.0, sample_weight)

    def _classes(self, X: Array, y: Any, sample_weight: Any, tasks: Any) -> tuple[Array, Labels]:
        weight = check_weight(sample_weight, X)
        if y is not None:
            check_rows(np.asarray(y), X.shape[0])
        self._coding, column = code_column(y, weight)
        if tasks is None:
            self.task_names_ = self._class_names()
            return self._table(X, self._coding.encode_column(column), weight)
        if self._coding.one_vs_all:
            raise ValueError(MANY_CLASSES.format(len(self._coding.classes)))
        codes, self.task_names_ = check_tasks(tasks, X.shape[0])
        return self._column(X, self._coding.encode(column), weight, codes)

    def _fit_both_classes(self, X: Array, labels: Labels, loss: Loss) -> Self:
        """Fit; where a loss has no minimiser for a task of one class, that task becomes a constant."""
        single = labels.maxima(labels.y) == -labels.maxima(-labels.y)
        if not (loss.needs_both_classes and self.fit_intercept and single.any()):
            return self._fit(X, labels, loss, scale=False)
        if single.all():
            raise ValueError(
                f"every task has labels of one class only; loss={loss.name!r} needs both, or use 'square'."
            )
        names = ", ".join(repr(name) for name in self.task_names_[single].tolist())
        warnings.warn(f"all labels of {names} are of one class; a constant is predicted.", UserWarning, stacklevel=3)
        constant = labels.maxima(labels.y) * np.log1p(labels.sums(labels.weight))
        self._fit(X, labels.with_labels(labels.y, labels.weight * labels.spread(~single)), loss, scale=False)
        self.intercept_[single] = constant[single]
        return self

    def decision_function(self, X: Any, tasks: Any = None) -> Any:
        """Scores: (n,) for two classes or with ``tasks``, (n, n_classes) for more classes, else (n, n_tasks).

        Of Dask collections they are a Dask array, not computed yet.
        """
        return self._scores(X, tasks, first_column)

    def predict(self, X: Any, tasks: Any = None) -> Any:
        """Classes of shape (n,); (n, n_tasks) for an indicator matrix, or for long format without ``tasks``.

        Of Dask collections they are a Dask array, not computed yet.
        """
        check_is_fitted(self)
        return self._scores(X, tasks, self._coding.decode_scores)

    def _gives_probabilities(self) -> bool:
        loss = LOSSES.get(self.loss) if isinstance(self.loss, str) else self.loss
        if loss is None or not loss.gives_probabilities:
            raise AttributeError(f"loss={self.loss!r} gives no probabilities; use loss='logistic'.")
        return True

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any, tasks: Any = None) -> Array:
        """Probabilities: (n, n_classes), or (n, n_tasks) of the second class where there are several tasks."""
        check_is_fitted(self)
        return self._scores(X, tasks, self._coding.score_probabilities)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, tasks: Any = None) -> float:
        """Accuracy; of an indicator matrix the share of rows whose known labels are all right."""
        if is_dask(X):
            return self._score_blocks(X, y, sample_weight, tasks)
        prediction = self.predict(X, tasks)
        if prediction.ndim == 1:
            return float(accuracy_score(y, prediction, sample_weight=sample_weight))
        Y, _ = check_targets(y, len(prediction))
        right = np.all((prediction == Y) | np.isnan(Y), axis=1)
        return float(np.average(right, weights=check_weight(sample_weight, prediction)))

    def _score_blocks(self, X: Any, y: Any, sample_weight: Any, tasks: Any) -> float:
        check_is_fitted(self)
        table = open_table(self, X, y, sample_weight, tasks, reset=False)
        hits = Hits(Predict(self.feature_map_, self._coef, self.intercept_, self._coding.decode_scores))
        right, total = table.rows.reduce(hits, np.add, width=len(self._coef) + table.rows.shape[1])
        return float(right / total)
