"""What a fitted estimator can be asked about its tasks and features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skmtl._linalg import Array
from skmtl._validation import import_extra
from skmtl.estimators.metric import importances
from skmtl.estimators.predict import coefficients, predict_scores
from skmtl.losses import Loss
from skmtl.objective import predictor_structure
from skmtl.penalties import StructurePenalty
from skmtl.solvers.solution import Solution


class LearnedTasks:
    """Relations, correlations, latent tasks and importances, from parameters and fitted attributes of an estimator."""

    penalty: Any
    common: float
    structure_: Array
    task_names_: NDArray[Any]
    intercept_: Array
    target_scale_: Array
    penalty_: StructurePenalty
    loss_: Loss
    eps_: float
    feature_coef_: Array
    solution_: Solution

    @property
    def feature_structure_(self) -> Array:
        """The matrix D of multi-task feature learning, with the penalty ``features`` only.

        Of shape (n_features, n_features) for the linear kernel; for others in the eigenbasis of the kernel.
        """
        check_is_fitted(self)
        if not self.penalty_.on_features:
            raise AttributeError(f"penalty={self.penalty!r} has no matrix on the side of the features.")
        return np.asarray(self.penalty_.feature_structure(self.feature_coef_, self.eps_))

    @property
    def correlation_(self) -> Array:
        """Cosines of the tasks' predictors in the kernel's space, eps on the diagonal: (n_tasks, n_tasks)."""
        check_is_fitted(self)
        # What the structure sees, S = W'W + eps I, scaled to a unit diagonal.
        S = self.solution_.energy + self.eps_ * np.eye(len(self.structure_))
        norms = np.sqrt(np.diag(S))
        return np.asarray(S / np.outer(norms, norms))

    def latent_tasks(self, X: Any) -> Array:
        r"""The functions that the predictors are mixtures of, the :math:`g_s` of equation (3) of the paper.

        A predictor is a combination of T latent tasks, weighted by its row of the structure,

        .. math:: f_t = b_t + \sigma_t \sum_s (A + c\,11')_{ts} \, g_s, \qquad g_s = \sum_i k(\cdot, x_i) \, c_{is},

        with b the constants ``intercept_``, :math:`\sigma` the scale ``target_scale_`` and c the weight ``common``. The
        latent task s is what the labels of task s alone contribute, so that task t uses it just where
        ``structure_[t, s]`` is not zero (or where there is a common part). It is no predictor of any target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_tasks)
        """
        # (SKMTL eq. 3)
        check_is_fitted(self)
        centered = np.asarray(predict_scores(self, X)) - self.intercept_
        structure = predictor_structure(self.structure_, self.common)
        # A structure that is known may be singular; predictors lie in its range.
        return np.asarray(centered / self.target_scale_ @ np.linalg.pinv(structure, hermitian=True))

    @property
    def feature_importances_(self) -> Array:
        """How much the predictors change along each feature: shares that sum to one, of shape (n_features,).

        Proportional to the mean, over the rows (landmarks) that the model holds and over tasks in standardized units,
        of the squared derivative; for features on one scale. Computed when it is asked for.
        """
        check_is_fitted(self)
        return importances(self, coefficients(self))

    def predict_frame(self, X: Any) -> pd.DataFrame:
        """Predictions of a regressor, scores of a classifier, as a data frame.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        DataFrame of shape (n_samples, n_tasks)
            A column per task, named after it, and the index of X.
        """
        check_is_fitted(self)
        values = predict_scores(self, X, read=self.loss_.inverse_link)
        return pd.DataFrame(values, columns=self.task_names_, index=X.index if hasattr(X, "columns") else None)

    def relations(self) -> pd.DataFrame:
        """The learned relations between tasks, strongest first.

        Returns
        -------
        DataFrame
            One row per pair of related tasks: ``task_a``, ``task_b``, ``weight`` (the entry of ``structure_``) and
            ``correlation``, the cosine of the two predictors in the kernel's space. With the sparse penalty there are
            relations as soon as a correlation exceeds the threshold 1 - mu.
        """
        correlation = self.correlation_
        a, b = np.nonzero(np.triu(self.structure_, 1))
        table = pd.DataFrame(
            {
                "task_a": self.task_names_[a],
                "task_b": self.task_names_[b],
                "weight": self.structure_[a, b],
                "correlation": correlation[a, b],
            }
        )
        return table.sort_values("weight", key=np.abs, ascending=False, ignore_index=True)

    def to_networkx(self) -> Any:
        """The learned relations as a graph.

        Returns
        -------
        networkx.Graph
            Undirected; nodes are the names of the tasks, edges have ``weight`` and ``correlation``.
        """
        networkx, relations = import_extra("networkx"), self.relations()
        graph = networkx.Graph()
        graph.add_nodes_from(self.task_names_.tolist())
        for a, b, weight, correlation in relations.itertuples(index=False):
            graph.add_edge(a, b, weight=weight, correlation=correlation)
        return graph
