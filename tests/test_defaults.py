"""What is declared: values of arguments that nobody gives, beside the documentation, and tags for scikit-learn."""

import ast
import importlib
import inspect
import re
from dataclasses import fields

import numpy as np
import pytest
from numpydoc.docscrape import FunctionDoc
from sklearn.utils import get_tags

from skmtl import MultiTaskClassifier, MultiTaskClassifierCV, MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.estimators import calibration, evidence
from skmtl.estimators.clean import clean
from skmtl.estimators.metric import check_rounds
from skmtl.model_selection.candidates import COMMONS, LONG_COMMONS, CandidateScores, Geometry, check_grid
from skmtl.model_selection.folds import Progress, keep_finished
from skmtl.model_selection.landmark_choice import choose_landmarks, draw_affordable
from skmtl.model_selection.scores import SCORES, Score, sees_order
from skmtl.model_selection.search import NO_SCORES
from skmtl.objective import Problem
from skmtl.penalties import PENALTIES, StructurePenalty
from skmtl.solvers import solve
from skmtl.solvers.completed import CompletedFactor
from skmtl.solvers.interior_point import InteriorPointStep
from skmtl.solvers.joint import solve_jointly
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.newton_cg import NewtonFit, NewtonStep
from skmtl.solvers.observed_moments import ObservedMoments
from skmtl.solvers.ridge import Ridge, RidgeFit
from skmtl.solvers.screened import _JointBlocks, solve_screened
from skmtl.solvers.solution import Solution
from skmtl.solvers.solve import SOLVERS
from skmtl.solvers.systems import LabelFactor, Unformed
from skmtl.solvers.training import Effort, Settings, Training, auto_eps
from skmtl.targets import BlockLabels, LongLabels, NumberCoding, TableLabels, TaskData

ROOMS = ("skmtl", "skmtl.losses", "skmtl.penalties", "skmtl.features", "skmtl.model_selection")


def public():
    """Functions, classes and public methods by their names."""
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"{room}.{name}", value
            if inspect.isclass(value):
                for key, method in inspect.getmembers(value, inspect.isfunction):
                    if not key.startswith("_") and (method.__module__ or "").startswith("skmtl"):
                        yield f"{room}.{name}.{key}", method


PUBLIC = dict(public())


def documented(value):
    """Parameters and the default that the documentation names for them; None where they are optional."""
    if not inspect.getdoc(value):
        return {}
    found = {}
    for entry in FunctionDoc(value)["Parameters"]:
        said = re.search(r"default=(.+?)$", entry.type)
        if said or "optional" in entry.type:
            found |= {name.strip("* "): said[1] if said else "None" for name in entry.name.split(",")}
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_defaults_are_those_of_the_documentation(name):
    value = PUBLIC[name]
    parameters = inspect.signature(value).parameters
    said = documented(value)
    for key, parameter in parameters.items():
        if key in said and parameter.default is not parameter.empty:
            try:
                expected = ast.literal_eval(said[key])
            except (ValueError, SyntaxError):
                continue
            assert parameter.default == expected, f"{name}: {key}={parameter.default!r}, documented as {said[key]}"


@pytest.mark.parametrize("cls", [MultiTaskRegressor, MultiTaskClassifier])
def test_estimators_begin_with_the_settings_of_the_interface(cls):
    """The names and numbers that everybody's code rests on; kernels have those of scikit-learn."""
    fixed = {"alpha": 1e-2, "eps": "auto", "common": 0.0, "loss": "square", "kernel": "linear", "gamma": None}
    fixed |= {"degree": 3, "coef0": 1.0, "kernel_params": None, "n_components": None, "landmarks": "uniform"}
    fixed |= {"fit_intercept": True, "balance_tasks": False, "solver": "auto", "tol": 1e-6, "max_iter": 200}
    params = cls().get_params(deep=False)
    assert {name: params[name] for name in fixed} == fixed
    assert params["penalty"] == "sparse"
    search = {MultiTaskRegressor: MultiTaskRegressorCV, MultiTaskClassifier: MultiTaskClassifierCV}[cls]()
    kept = ("degree", "coef0", "kernel_params", "fit_intercept", "balance_tasks", "loss", "landmarks", "n_components")
    assert {name: search.get_params(deep=False)[name] for name in kept} == {name: fixed[name] for name in kept}


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (MultiTaskRegressor(), {"multi_output": True, "positive_only": False, "pairwise": False, "sparse": True}),
        (MultiTaskRegressor(loss="poisson"), {"positive_only": True, "multi_output": True}),
        (MultiTaskRegressor(kernel="precomputed"), {"pairwise": True}),
        (MultiTaskRegressor(kernel="chi2"), {"sparse": False, "pairwise": False}),
        (MultiTaskClassifier(), {"multi_label": True}),
        (MultiTaskClassifier(loss="softmax"), {"multi_label": False}),
        (MultiTaskRegressorCV(loss="poisson"), {"positive_only": True, "multi_output": True}),
    ],
    ids=repr,
)
def test_scikit_learn_is_told_what_goes_in(estimator, expected):
    tags = get_tags(estimator)
    groups = (tags.input_tags, tags.classifier_tags, tags.target_tags)
    found = {name: getattr(group, name) for group in groups if group for name in expected if hasattr(group, name)}
    assert found == expected


# Inside -------------------------------------------------------------------------------------------------------------


def default(function, name):
    return inspect.signature(function).parameters[name].default


PENALTY_FACTS = {
    "sparse": {"joint", "by_default"},
    "groups": {"joint"},
    "independent": {"known", "exact_bound", "by_default"},
    "fixed": {"known", "exact_bound", "by_default"},
    "trace": {"exact_bound", "by_default"},
    "features": {"exact_bound", "on_features"},
    "frobenius": {"exact_bound", "by_default"},
    "cluster": {"exact_bound", "by_default"},
    "laplacian": {"exact_bound", "by_default"},
}


def test_what_penalties_declare():
    names = ("known", "joint", "exact_bound", "by_default", "on_features")
    found = {key: {name for name in names if getattr(penalty, name)} for key, penalty in PENALTIES.items()}
    assert found == PENALTY_FACTS
    base = {name: getattr(StructurePenalty, name) for name in names}
    assert base == {"known": False, "joint": False, "exact_bound": False, "by_default": True, "on_features": False}


def test_what_searches_try_of_penalties():
    assert {name: penalty().grid() for name, penalty in PENALTIES.items() if penalty().grid()} == {
        "sparse": {"mu": [0.5, 0.8, 0.9, 0.97, 1.0]},
        "groups": {"mu": [0.5, 0.8, 0.9, 0.97, 1.0]},
        "cluster": {"within": [3.0, 10.0, 30.0]},
        "laplacian": {"share": [0.1, 0.3, 0.5, 0.7, 0.9]},
    }


@pytest.mark.parametrize("name", PENALTIES)
def test_a_bound_is_of_the_dual_point_as_it_is_unless_a_scale_is_given(name):
    assert default(PENALTIES[name].lower_bound, "scale") == default(Problem.bound, "scale") == 1.0


def test_what_scores_declare():
    """Which are for classes, which see nothing but the order, and of which less is better."""
    assert {name for name, one in SCORES.items() if one.for_classes} == {
        "task_accuracy",
        "accuracy",
        "average_precision",
        "roc_auc",
    }
    assert {name for name, one in SCORES.items() if sees_order(name)} == {"average_precision", "roc_auc"}
    assert {name: one.sign for name, one in SCORES.items() if one.sign != 1.0} == {"nmse": -1.0, "arrmse": -1.0}
    plain = Score(SCORES["r2"].per_task)
    assert (plain.sign, plain.for_classes, plain.of_order, plain.overall) == (1.0, False, False, None)


def test_what_supervised_steps_declare():
    """Who can be eliminated, who is quick, whose curvature is exact; and who solves exactly unless told otherwise."""
    assert Ridge.eliminable
    assert Ridge.quick
    assert Ridge.exact_curvature
    assert MissingLabelRidge.eliminable
    assert not MissingLabelRidge.quick
    assert not NewtonStep.eliminable
    assert not InteriorPointStep.eliminable
    assert LabelFactor.exact
    assert CompletedFactor.exact
    for solve_exactly in (Ridge.solve, Ridge.diagonal_energy, MissingLabelRidge.solve, Problem.fit):
        assert default(solve_exactly, "tol") == 0.0
    assert NewtonFit.dual_error == RidgeFit.dual_error == 0.0
    # Systems that are never formed cost nothing to apply, and are never worth forming.
    assert (Unformed.step_cost, Unformed.curvature_cost) == (0.0, np.inf)
    assert not ObservedMoments.has_entries
    assert ObservedMoments.n_missing is None
    # What a step remembers is no part of its problem.
    step = Ridge(np.ones(2), np.ones((2, 1)), 0.0, 2.0, 0.1)
    assert "_last" not in repr(step)
    told = {field.name: (field.init, field.repr, field.compare) for field in fields(Ridge)}
    assert told.pop("_last") == (False, False, False)
    assert set(told.values()) == {(True, True, True)}


def test_what_labels_declare():
    assert (TableLabels.long, LongLabels.long, BlockLabels.long) == (False, True, False)
    assert (TableLabels.in_blocks, LongLabels.in_blocks, BlockLabels.in_blocks) == (False, False, True)
    assert not NumberCoding.one_vs_all
    data = clean(MultiTaskRegressor(), np.ones((3, 1)), np.arange(3.0))
    assert not data.pairwise
    assert not default(TaskData, "pairwise")


def test_efforts_are_those_of_the_estimators():
    """Whoever solves without an estimator solves as one would that is given nothing."""
    for estimator in (MultiTaskRegressor, MultiTaskClassifier):
        for name in ("solver", "tol", "max_iter"):
            assert default(estimator, name) == default(Effort, name) == default(solve, name)
        assert default(estimator, "common") == default(Settings, "common") == default(Problem, "common") == 0.0
    assert default(Settings, "eps_factor") == 1.0
    # A proof is asked for unless somebody says that none is needed.
    for function in (solve, Training.solve, solve_screened, _JointBlocks):
        assert default(function, "certify") is True
    assert default(solve_jointly, "persist") is True
    assert default(Solution, "lost") is False
    assert default(CandidateScores, "finished") is True
    assert SOLVERS["anderson"].keywords == {"accelerate": True}
    assert SOLVERS["alternating"].keywords == {"accelerate": False}


def test_what_is_not_given_to_helpers_of_searches():
    assert default(check_grid, "zero") is True
    assert default(keep_finished, "at_least") == 1
    assert default(Progress, "verbose") == 0
    assert default(clean, "blocks") is False
    assert default(choose_landmarks, "quadratic") is default(draw_affordable, "quadratic") is True
    assert default(Geometry, "metric_rounds") == 0
    assert NO_SCORES.scores.shape == NO_SCORES.edges.shape == (0, 0)
    assert NO_SCORES.means.shape == (0,)
    # Independent tasks without a common part are always tried; long tables with one, too.
    assert COMMONS == (0.0,)
    assert LONG_COMMONS[0] == 0.0 < min(LONG_COMMONS[1:])


@pytest.mark.parametrize(("rounds", "allowed"), [(0, True), (1, True), (1000, True), (1001, False), (-1, False)])
def test_rounds_are_as_many_as_the_documentation_allows(rounds, allowed):
    assert "metric_rounds : int from 0 to 1000" in inspect.getdoc(MultiTaskRegressor)
    if allowed:
        assert check_rounds(rounds, "rbf") == rounds
    else:
        with pytest.raises(ValueError, match=f"metric_rounds={rounds} must be a whole number from 0 to 1000"):
            check_rounds(rounds, "rbf")


def test_numbers_that_answers_depend_on():
    """No others would give the same intervals, probabilities and widths."""
    assert (evidence.LEAST_NOISE, evidence.ENOUGH) == (0.02, 50)
    assert (calibration.RIDGE, calibration.LEAST_SLOPE, calibration.ENOUGH) == (1e-4, 1e-3, 20.0)


def test_the_automatic_eps_is_a_hundredth_of_the_mean_energy():
    """As the documentation says."""
    assert "1e-2 times the mean squared norm" in inspect.getdoc(MultiTaskRegressor)
    step = Ridge(np.array([2.0, 1.0]), np.array([[1.0, 3.0], [2.0, 0.5]]), 0.0, 4.0, 0.1)
    assert auto_eps(step) == pytest.approx(1e-2 * np.mean(np.diag(step.solve(np.eye(2)).energy(np.eye(2)))))
    nothing = Ridge(np.ones(2), np.zeros((2, 1)), 0.0, 4.0, 0.1)
    assert auto_eps(nothing) == 1e-2
