"""What both searches share: the fit, and handing on to the best estimator they found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from skmtl._notebook import DrawsRelations
from skmtl._parameters import check_flag
from skmtl._validation import is_dask
from skmtl.estimators.base import check_labels
from skmtl.estimators.clean import clean
from skmtl.estimators.publish import set_at_once
from skmtl.losses.base import check_loss
from skmtl.model_selection.candidates import is_auto, make_results
from skmtl.model_selection.folds import test_share
from skmtl.model_selection.recommended import check_kernels
from skmtl.model_selection.scores import constant_score, score_name
from skmtl.model_selection.search import select
from skmtl.model_selection.verdict import describe_choice
from skmtl.penalties import StructurePenalty

Grid = ArrayLike | None
Penalties = str | StructurePenalty | Sequence[str | StructurePenalty]

# What was learned about rows and tasks, and can be asked of a search too.
DELEGATED = (
    "classes_",
    "coding_",
    "coef_",
    "correlation_",
    "dual_coef_",
    "eps_",
    "evidence_",
    "feature_coef_",
    "feature_importances_",
    "feature_map_",
    "feature_names_in_",
    "feature_structure_",
    "intercept_",
    "landmarks_",
    "loss_",
    "n_features_in_",
    "n_iter_",
    "noise_",
    "solution_",
    "structure_",
    "target_scale_",
    "task_names_",
)
# Parameters of the best estimator that a search chooses; those of a metric too, where one is learned.
CHOSEN = ("penalty", "alpha", "eps", "common", "kernel", "gamma")


class MultiTaskSearch(DrawsRelations, BaseEstimator):
    """What both searches share: the fit, and handing on to the best estimator."""

    model_class: ClassVar[Any]

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self.model())

    def __getattr__(self, name: str) -> Any:
        # Only asked where the search itself has no such attribute; before ``fit`` there is no best estimator either.
        if name in DELEGATED:
            return getattr(self.best_estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, tasks: Any = None, groups: Any = None
    ) -> Self:
        """Search, and fit the best candidate to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            In memory; for ``kernel="precomputed"`` the kernel matrix, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples, n_tasks) or (n_samples,)
            Targets or classes, NaN where they are not known.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_tasks), optional
            A label of weight 2 counts like two equal ones.
        tasks : array-like of shape (n_samples,), optional
            Long format: the task of each row, and y has one column.
        groups : array-like of shape (n_samples,), optional
            Rows of a group, such as visits of a patient, are never in the training and the test rows of the same fold.

        Returns
        -------
        self : estimator
            Fitted.
        """
        if is_dask(X):
            raise ValueError(
                "a search needs its rows in memory; choose parameters on a sample of the Dask collection, and fit a "
                "MultiTaskRegressor or MultiTaskClassifier with them to all of it. The search itself can run on a "
                "cluster, with joblib.parallel_config('dask')."
            )
        model = self.model()
        loss = check_loss(self.loss, purpose=model.purpose)
        if not is_auto(self.kernel):
            check_kernels(self.kernel)
        intercept = check_flag("fit_intercept", self.fit_intercept)
        data = clean(model, X, y, sample_weight, tasks, groups)
        check_labels(data, loss, intercept=intercept)
        found = select(self, model, data, loss)
        best = found.best_estimator
        chosen = CHOSEN if best.metric_rounds == 0 else (*CHOSEN, "metric_rounds", "metric_rule", "metric_alpha")
        scoring = score_name(self.scoring, data)
        # After an interruption there are fewer folds than splits.
        splits = found.splits[: found.outcome.scores.shape[1]]
        fitted = {
            "cv_results_": make_results(found.candidates, found.outcome),
            "best_index_": found.chosen,
            "best_score_": float(found.outcome.means[found.chosen]),
            "scoring_": scoring,
            "constant_score_": constant_score(scoring, data, splits),
            "test_share_": test_share(splits),
            "best_params_": {name: getattr(best, name) for name in chosen},
            "alpha_": best.alpha,
            "penalty_": best.penalty_,
            "common_": best.common,
            "gamma_": best.gamma,
            "best_estimator_": best,
        }
        return set_at_once(self, fitted)

    @property
    def verdict_(self) -> str:
        """Whether sharing won over independent tasks, as a sentence."""
        return describe_choice(self)

    def model(self) -> Any:
        """An estimator without search, not fitted, with all that is not searched over."""
        given = self.get_params(deep=False)
        known = self.model_class().get_params(deep=False)
        shared = {name: value for name, value in given.items() if name in known}
        if is_auto(self.kernel):
            shared["kernel"] = "linear"
        elif isinstance(self.kernel, list | tuple) and self.kernel:
            shared["kernel"] = self.kernel[0]
        return self.model_class(**{**shared, "penalty": "independent", "metric_rounds": 0, "metric_rule": "slopes"})

    def predict(self, X: Any, tasks: Any = None) -> Any:
        """Predictions of the best estimator; see its ``predict``."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X, tasks)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, tasks: Any = None) -> float:
        """The score of the best estimator, R squared or accuracy; see its ``score``."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y, sample_weight=sample_weight, tasks=tasks))

    def predict_frame(self, X: ArrayLike) -> pd.DataFrame:
        """Predictions of the best estimator with the names of the tasks; see its ``predict_frame``."""
        check_is_fitted(self)
        return self.best_estimator_.predict_frame(X)

    def relations(
        self,
        X: Any = None,
        y: Any = None,
        *,
        n_resamples: int = 100,
        sample_weight: Any = None,
        tasks: Any = None,
        groups: Any = None,
    ) -> pd.DataFrame:
        """The relations that the best estimator predicts with and, given the rows, those that are stable beside them.

        Cross-validation asks which graph predicts best, and that is often a dense one. With the rows that were passed
        to ``fit`` the graph is learned again on halves of them, at a mu that leaves few false edges: one to look at.

        Parameters
        ----------
        X, y : array-like, optional
            As for ``fit``.
        n_resamples : int, default=100
            How many halves.
        sample_weight, tasks, groups : array-like, optional
            As for ``fit``.

        Returns
        -------
        DataFrame
            Without rows what ``relations`` of the best estimator returns, the graph that predicts. With rows what
            :func:`skmtl.model_selection.both_graphs` returns: ``weight`` and ``correlation`` are of the graph that
            predicts, ``stable``, ``frequency`` and ``stable_weight`` of the one to look at.
        """
        check_is_fitted(self)
        if X is None:
            return self.best_estimator_.relations()
        # Asks for the class that is defined here.
        from skmtl.model_selection.judging import best_rival, graph_model
        from skmtl.model_selection.readable import both_graphs, readable_graph

        rows = {"sample_weight": sample_weight, "tasks": tasks, "groups": groups}
        model = graph_model(self.best_estimator_, best_rival(self, self.best_index_))
        return both_graphs(self.best_estimator_.relations(), readable_graph(model, X, y, n_resamples, **rows))

    def to_networkx(self) -> Any:
        """The relations as a graph; see ``to_networkx`` of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.to_networkx()
