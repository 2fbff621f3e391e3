"""The end of the road: a solution becomes what a fitted estimator has."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skmtl._linalg import Array
from skmtl.estimators.evidence import Evidence
from skmtl.objective import predictor_structure
from skmtl.solvers.returned import prove_returned
from skmtl.solvers.solution import Solution
from skmtl.solvers.training import Model, Settings, Training
from skmtl.targets import TaskData

# Fitted attributes that not every fit sets.
SOMETIMES = ("classes_", "coef_", "dual_coef_", "feature_coef_", "feature_names_in_", "landmarks_")


def publish(estimator: Any, training: Training, settings: Settings, solution: Solution) -> Any:
    """Give an estimator what was learned, and warn where it is not what was asked for, proved, or useful."""
    model, solution = prove_returned(training, settings, solution, estimator.tol)
    assign(estimator, training, settings, solution, model)
    if not solution.converged:
        advice = _what_may_help(estimator, training, settings, solution)
        warnings.warn(f"{solution.status} {advice}", ConvergenceWarning, stacklevel=3)
    elif advice := training.feature_map.advice():
        warnings.warn(advice, UserWarning, stacklevel=3)
    return estimator


def _what_may_help(estimator: Any, training: Training, settings: Settings, solution: Solution) -> str:
    """The parameters to change where nothing was proved to the tolerance, as a sentence."""
    if solution.lost or training.hides_directions(settings.alpha):
        return f"Standardize the features, raise alpha (now {settings.alpha:.3g}), or use another kernel."
    if solution.stopped:
        return "Left to end, the fit may come closer."
    # A structure that is known takes no eps.
    knob = f"alpha (now {settings.alpha:.3g})" if settings.penalty.known else f"eps (now {estimator.eps_:.3g})"
    more = f"max_iter (now {estimator.max_iter}), " if solution.n_iter >= estimator.max_iter else ""
    return f"Raise {more}{knob} or tol."


def assign(
    estimator: Any, training: Training, settings: Settings, solution: Solution, model: Model | None = None
) -> Any:
    """What was learned becomes the fitted attributes of an estimator: nobody else sets them."""
    # Everything that can fail comes first, so that an error leaves the estimator as it was.
    data = training.data
    coef, intercept = training.model(solution) if model is None else model
    fitted = {
        "n_features_in_": data.n_features,
        "task_names_": data.task_names,
        "coding_": data.coding,
        "feature_map_": training.feature_map,
        "intercept_": intercept,
        "target_scale_": training.scaling.scale,
        "structure_": solution.structure,
        "penalty_": settings.penalty,
        "loss_": training.loss,
        "eps_": training.problem(settings).eps,
        "n_iter_": solution.n_iter,
        "evidence_": _keep(training, settings, solution),
    }
    if data.feature_names is not None:
        fitted["feature_names_in_"] = data.feature_names
    if data.coding.classes is not None:
        fitted["classes_"] = data.coding.classes
    if training.feature_map.on_landmarks:
        fitted["landmarks_"] = training.feature_map.landmarks_
    if settings.penalty.on_features:
        # Its matrix D is read off coefficients in an orthonormal basis, for labels in the solver's units: kept apart
        # from those that predict.
        dual = training.feature_map.dual
        fitted["feature_coef_"] = solution.coef if dual else training.design.lift(solution.coef)
    # In the order of memory that predictions multiply with; coef_ is a view of it, transposed as scikit-learn has it.
    coef = np.ascontiguousarray(_spread_over_columns(coef, data))
    fitted["dual_coef_" if training.feature_map.dual else "coef_"] = coef if training.feature_map.dual else coef.T
    fitted["solution_"] = replace(solution, coef=coef, intercept=intercept)
    # What an earlier fit with another kernel or other labels left goes away.
    return set_at_once(estimator, fitted, gone=[name for name in SOMETIMES if name not in fitted])


def set_at_once(estimator: Any, fitted: Mapping[str, Any], gone: Sequence[str] = ()) -> Any:
    """Set fitted attributes, and delete those that are gone: all of them, also where Ctrl-C comes in between."""
    try:
        _set(estimator, fitted, gone)
    except KeyboardInterrupt:
        # It is heard when the rest is done.
        _set(estimator, fitted, gone)
        raise
    return estimator


def _set(estimator: Any, fitted: Mapping[str, Any], gone: Sequence[str]) -> None:
    for name in gone:
        with suppress(AttributeError):
            delattr(estimator, name)
    for name, value in fitted.items():
        setattr(estimator, name, value)


def _keep(training: Training, settings: Settings, solution: Solution) -> Evidence | None:
    """What a fit leaves behind for those who ask how sure it is: rows and labels, not copied, where they are known."""
    labels = training.labels
    if labels.in_blocks or training.data.pairwise:
        return None
    return Evidence(
        training.data.X,
        labels.in_rows(labels.y),
        labels.in_rows(labels.weight),
        labels.tasks if labels.long else None,
        predictor_structure(solution.structure, settings.common),
        settings.alpha,
        training.intercept,
        training.feature_map,
        training.loss,
        training.scaling.mean,
        training.data.groups,
    )


def _spread_over_columns(coef: Array, data: TaskData) -> Array:
    """Coefficients for all columns of a kernel matrix: zero for rows without labels."""
    if data.rows is None or not data.pairwise or len(data.rows) == data.n_features:
        return coef
    full = np.zeros((data.n_features, coef.shape[1]))
    full[data.rows] = coef
    return full
