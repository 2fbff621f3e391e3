"""What is decided before anything is computed: rows in blocks or in memory, what a search tries, what is not proved.

Each decision as a table of all cases, with the boundary of every comparison on both sides.
"""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from problems import random_psd, related_tasks, with_gaps
from scipy import sparse
from sklearn.exceptions import NotFittedError

from skmtl import MultiTaskClassifier, MultiTaskClassifierCV, MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.estimators import blocks
from skmtl.estimators.blocks import is_large
from skmtl.estimators.clean import clean, has_landmarks, reads_blocks
from skmtl.estimators.metric import LEAST_ROWS, few_rows, some_rows
from skmtl.losses import LOSSES, Square
from skmtl.model_selection import folds, kernel_choice, landmark_choice, quick_search, recommended
from skmtl.model_selection.candidates import EPS_FACTORS, Candidate, CandidateScores
from skmtl.model_selection.kernel_choice import at_kernel, quick_alphas
from skmtl.model_selection.landmark_choice import affordable_rows, choose_landmarks, draw_affordable
from skmtl.model_selection.recommended import (
    KERNELS,
    ROUNDS,
    RULES,
    Plan,
    make_plan,
    metric_rules,
    recommend,
    score_in_steps,
    wants_own_strengths,
)
from skmtl.model_selection.scores import constant_predictions, constant_score
from skmtl.objective import Problem
from skmtl.penalties import Independent, Sparse
from skmtl.solvers.ridge import Ridge
from skmtl.solvers.training import Settings
from skmtl.targets import TableLabels

# Rows in blocks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "n_functions", "large"),
    [
        ((10, 10), 1, False),
        ((101, 1), 1, True),
        ((100, 1), 1, False),
        ((21, 5), 1, True),
        ((21, 1), 5, True),
        ((20, 5), 4, False),
        # With more functions than rows nothing is gained.
        ((11, 2), 11, True),
        ((11, 2), 12, False),
        ((11, 50), 12, False),
        ((1000,), 1, False),
        ((10, 10, 10), 1, False),
    ],
)
def test_what_is_large(shape, n_functions, large, monkeypatch):
    monkeypatch.setattr(blocks, "LARGE", 100)
    assert is_large(np.zeros(shape), n_functions) == large
    assert not is_large([[1.0] * 50] * 50, 1)


@pytest.mark.parametrize("large", [True, False])
@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("landmarks", [None, "number", "rows"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_rows_are_read_in_blocks_where_they_are_large_and_sums_are_enough(
    stored, kernel, landmarks, loss, large, monkeypatch
):
    monkeypatch.setattr(blocks, "LARGE", 10 if large else 10_000)
    given = {"number": {"n_components": 3}, "rows": {"landmarks": np.ones((3, 4))}}.get(landmarks, {})
    est = MultiTaskRegressor(kernel=kernel, **given)
    assert has_landmarks(est) == (landmarks is not None)
    # Square loss needs sums; the linear kernel and landmarks have few functions. Sparse rows are small as they are.
    possible = loss == "square" and (kernel == "linear" or landmarks is not None)
    expected = large and possible and (landmarks is not None or stored is np.asarray)
    assert reads_blocks(est, stored(np.ones((30, 4))), LOSSES[loss]()) == expected


@pytest.mark.parametrize(("n_rows", "n_tasks", "kept"), [(50, 3, 50), (250, 2, 125), (301, 1, 301), (1000, 4, 250)])
def test_slopes_are_averaged_over_a_share_of_the_rows(n_rows, n_tasks, kept):
    """One in T, evenly spaced, but a hundred at least where there are so many."""
    rows = some_rows(np.arange(n_rows), n_tasks)
    assert len(np.unique(np.diff(rows))) <= 1
    assert rows[0] == 0
    assert kept / 2 <= len(rows) <= max(kept, LEAST_ROWS)
    data = clean(MultiTaskRegressor(), np.ones((6, 1)), np.arange(6.0))
    assert few_rows(data) is data


# What a search tries --------------------------------------------------------------------------------------------------


def make_search(**given):
    parameters = {
        "kernel": "auto",
        "cv": None,
        "scoring": None,
        "alphas": None,
        "n_components": None,
        "landmarks": "uniform",
        "metric_rounds": None,
        "metric_rule": None,
    }
    return SimpleNamespace(**{**parameters, **given})


def make_data(rng, *, n=30, n_tasks=2, classes=False, stored=np.asarray):
    X, Y = related_tasks(rng, n, n_tasks)
    X = stored(X)
    if classes:
        return clean(MultiTaskClassifier(), X, (Y > 0.0).astype(int))
    return clean(MultiTaskRegressor(), X, Y)


@pytest.mark.parametrize("n_tasks", [1, 2])
@pytest.mark.parametrize("alphas", [None, [1.0]])
@pytest.mark.parametrize("cv", [None, 3, "loo"])
def test_what_is_recommended_for_numbers(cv, alphas, n_tasks, rng):
    plan = recommend(make_search(cv=cv, alphas=alphas), make_data(rng, n_tasks=n_tasks), Square())
    own = cv != "loo" and alphas is None and n_tasks > 1
    rounds = (0,) if cv == "loo" else ROUNDS
    # A single task has no widths but its own.
    rules = RULES if n_tasks > 1 else RULES[:2]
    assert plan == Plan(KERNELS, rounds, rules, EPS_FACTORS[:1], own, in_steps=True, every_kernel=True)


def test_widths_of_each_task_are_tried_where_there_is_time_for_their_kernels(rng, monkeypatch):
    data = make_data(rng)
    n_rows, n_features = data.X.shape
    monkeypatch.setattr(recommended, "MOST_DIFFERENCES", data.labels.n_tasks * n_rows**2 * n_features)
    assert metric_rules(data) == RULES
    monkeypatch.setattr(recommended, "MOST_DIFFERENCES", data.labels.n_tasks * n_rows**2 * n_features - 1)
    assert metric_rules(data) == RULES[:2]
    monkeypatch.undo()
    assert metric_rules(make_data(rng, n_tasks=6)) == RULES
    assert metric_rules(make_data(rng, n_tasks=7)) == RULES[:2]


def test_what_is_recommended_where_less_is_known_or_more_to_do(rng, monkeypatch):
    some = make_data(rng)

    def tried(data=some, loss="square", **given):
        return recommend(make_search(**given), data, LOSSES[loss]())

    linear = Plan(("linear",), own_strengths=True)
    assert tried(make_data(rng, stored=sparse.csr_array)) == linear
    # A loss that needs many steps has no strengths of the tasks' own either.
    assert tried(loss="huber") == Plan(("linear",))
    monkeypatch.setattr(recommended, "MOST_ROWS", 30)
    assert tried().kernels == KERNELS
    monkeypatch.setattr(recommended, "MOST_ROWS", 29)
    assert tried() == linear
    assert tried(n_components=5).kernels == KERNELS
    monkeypatch.setattr(recommended, "MOST_ROWS", 100)
    # On landmarks, for classes, and for scores that we do not know, slopes are the only rule.
    assert tried().rules == RULES
    assert tried(n_components=5).rules == tried(landmarks=np.ones((3, 5))).rules == RULES[:1]
    assert tried(make_data(rng, classes=True)).rules == RULES[:1]
    assert tried(scoring="neg_max_error").rules == RULES[:1]
    assert not tried(make_data(rng, classes=True)).own_strengths
    assert not tried(scoring="neg_max_error").own_strengths
    # Relations at the best width of every kernel where labels are few.
    monkeypatch.setattr(recommended, "has_few_labels", lambda data: False)
    assert not tried().every_kernel


def test_a_plan_is_what_the_user_says(rng):
    data = make_data(rng)

    def plan(**given):
        return make_plan(make_search(**given), data, Square())

    assert plan(kernel="rbf") == Plan(("rbf",))
    assert plan(kernel="rbf") == Plan(("rbf",), (0,), ("slopes",), EPS_FACTORS, False, False, False)
    assert plan(kernel=["rbf", "linear", "rbf"]).kernels == ("rbf", "linear")
    for none in (None, 0):
        assert plan(kernel="rbf", metric_rounds=none).rounds == (0,)
    assert plan(kernel="rbf", metric_rounds=2).rounds == (2,)
    assert plan(kernel="rbf", metric_rounds=[0, 2], metric_rule="evidence").rounds == (0, 2)
    assert plan(kernel="rbf", metric_rounds=[0, 2], metric_rule="evidence").rules == ("evidence",)
    # Without rounds nobody asks for a rule.
    assert plan(kernel="rbf", metric_rule="evidence").rules == ("slopes",)
    assert plan(kernel="rbf", alphas="own").own_strengths
    assert not plan(kernel="rbf", alphas=[1.0]).own_strengths
    assert plan(metric_rounds=[0, 1]).rounds == (0, 1)
    assert plan(metric_rule="slopes").rules == ("slopes",)
    assert plan(alphas="own").own_strengths
    assert wants_own_strengths(make_search(alphas="own"))
    assert not wants_own_strengths(make_search(alphas="others"))
    assert not wants_own_strengths(make_search(alphas=np.array([1.0, 2.0])))


@pytest.mark.parametrize("ends", [None, "interrupted", "undefined"])
@pytest.mark.parametrize("n_variants", [1, 2, 4, 5])
def test_strengths_are_tried_with_the_middle_variant_and_the_others_at_the_best(n_variants, ends):
    alphas, mus, calls = [1.0, 0.1, 0.01], np.linspace(0.1, 0.9, n_variants), []
    variants = [(Independent(), {}), *((Sparse(mu), {"mu": mu}) for mu in mus)]

    def score(some, strengths):
        calls.append(([own.get("mu") for _, own in some], list(strengths)))
        found = [Candidate(Settings(penalty, alpha), own=own) for alpha, (penalty, own) in product(strengths, some)]
        scores = np.array(
            [[np.nan if ends == "undefined" else -abs(np.log10(one.settings.alpha) + 1)] for one in found]
        )
        return found, CandidateScores(scores, scores, scores[:, 0], finished=ends != "interrupted")

    scored = score_in_steps(variants, alphas, score)
    middle = n_variants // 2
    others = [mu for k, mu in enumerate(mus) if k != middle]
    expected = [([None], alphas), ([mus[middle]], alphas)]
    assert calls == (expected if ends or not others else [*expected, (others, [0.1])])
    assert len(scored) == len(calls)


# Scores of constants --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["table", "gaps", "long"])
def test_a_constant_is_the_mean_of_the_training_labels(layout, rng):
    X, Y = related_tasks(rng, 24, 2)
    Y = Y * [1.0, 5.0] + [100.0, -30.0]
    if layout == "long":
        tasks = np.arange(24) % 2
        data = clean(MultiTaskRegressor(), X, Y[np.arange(24), tasks], tasks=tasks)
        Y = np.where(tasks[:, None] == np.arange(2), Y, np.nan)
    else:
        Y = with_gaps(rng, Y, 0.3) if layout == "gaps" else Y
        data = clean(MultiTaskRegressor(), X, Y)
    splits = folds.make_splits(3, data)
    errors = []
    for train, test in splits:
        labels = folds.test_labels(data.labels, train, test)
        F = labels.in_rows(constant_predictions(data, train, labels))
        means = np.nanmean(Y[train], axis=0)
        expected = means[tasks[test]] if layout == "long" else np.broadcast_to(means, (len(test), 2))
        np.testing.assert_allclose(F, expected)
        errors.append(np.nanmean((Y[test] - means) ** 2, axis=0) / np.nanvar(Y, axis=0))
    assert constant_score("nmse", data, splits) == pytest.approx(-np.mean(errors))
    assert constant_score("neg_max_error", data, splits) is None


# Proofs ---------------------------------------------------------------------------------------------------------------


class Outside:
    """Dual coefficients outside of the domain of the conjugate, and inside of it when they are scaled down."""

    def __init__(self, rng):
        self.factor = rng.standard_normal((4, 3))
        self.Q = self.factor.T @ self.factor

    def dual(self, scale):
        return -np.inf if scale > 0.5 else scale


def test_outside_of_the_domain_nothing_is_proved_and_nothing_more_is_asked(rng, monkeypatch):
    problem = Problem(Ridge(np.ones(1), np.zeros((1, 3)), 0.0, 4.0, 0.1), Sparse(0.5), 0.3)
    asked, lower_bound = [], Sparse.lower_bound
    monkeypatch.setattr(Sparse, "lower_bound", lambda *given: asked.append(given) or lower_bound(*given))
    fit, A = Outside(rng), random_psd(rng, 3)
    assert problem.bound(A, fit) == -np.inf
    assert asked == []
    assert np.isfinite(problem.bound(A, fit, 0.01))
    assert len(asked) == 1


# Before a fit and after it --------------------------------------------------------------------------------------------

X_NEW, Y_NEW = np.zeros((3, 2)), np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
QUESTIONS = {
    "predict": (X_NEW,),
    "score": (X_NEW, Y_NEW),
    "predict_frame": (X_NEW,),
    "relations": (),
    "to_networkx": (),
    "predict_interval": (X_NEW,),
    "latent_tasks": (X_NEW,),
    "decision_function": (X_NEW,),
    "predict_proba": (X_NEW,),
}
NEVER_FITTED = [
    MultiTaskRegressor(),
    MultiTaskRegressor("features"),
    MultiTaskClassifier(),
    MultiTaskClassifier(loss="logistic"),
    MultiTaskRegressorCV(),
    MultiTaskClassifierCV(),
]


@pytest.mark.parametrize("estimator", NEVER_FITTED, ids=repr)
def test_who_is_not_fitted_says_so(estimator):
    asked = [name for name in QUESTIONS if hasattr(type(estimator), name)]
    assert {"predict", "score", "predict_frame", "relations", "to_networkx"} <= set(asked)
    for name in asked:
        with pytest.raises(NotFittedError):
            getattr(estimator, name)(*QUESTIONS[name])
    if "predict_interval" in asked:
        for given in ({"return_std": True}, {"known": Y_NEW}):
            with pytest.raises(NotFittedError):
                estimator.predict(X_NEW, **given)
    for name in ("correlation_", "feature_importances_", "feature_structure_"):
        if hasattr(type(estimator), name):
            with pytest.raises(NotFittedError):
                getattr(estimator, name)


@pytest.mark.parametrize("estimator", [MultiTaskRegressor(), MultiTaskClassifier()], ids=repr)
def test_who_is_not_fitted_says_so_of_a_cluster_too(estimator):
    da = pytest.importorskip("dask.array")
    for name in ("predict", "score", "decision_function"):
        if hasattr(type(estimator), name):
            given = [da.from_array(np.asarray(each)) for each in QUESTIONS[name]]
            with pytest.raises(NotFittedError):
                getattr(estimator, name)(*given)


@pytest.mark.parametrize(("given", "kept"), [({"n_components": 3}, 6), ({"landmarks": np.zeros((2, 5))}, 6), ({}, 4)])
def test_rows_without_labels_may_become_landmarks(given, kept, rng):
    X, Y = related_tasks(rng, 6, 2)
    Y[[1, 4]] = np.nan
    with pytest.warns(UserWarning, match="2 rows have no label"):
        data = clean(MultiTaskRegressor(kernel="rbf", **given), X, Y)
    assert len(data.X) == data.labels.n_rows == kept
    assert data.n_given == 6


def test_counts_are_refused_where_one_task_has_a_negative_one(rng):
    X, Y = related_tasks(rng, 10, 3)
    Y = np.abs(Y)
    MultiTaskRegressor(loss="poisson", kernel="rbf").fit(X, Y)
    Y[4, 1] = -0.25
    with pytest.raises(ValueError, match=r"y has a negative value, -0\.25; loss='poisson' needs targets >= 0"):
        MultiTaskRegressor(loss="poisson", kernel="rbf").fit(X, Y)


def test_what_was_chosen_names_the_metric_where_there_is_one(rng):
    X, Y = related_tasks(rng, 24, 2)
    grid = {"kernel": "rbf", "alphas": [0.1], "mus": [0.9], "gammas": [0.1], "cv": 2}
    metric = {"metric_rounds", "metric_rule", "metric_alpha"}
    plain = MultiTaskRegressorCV(**grid).fit(X, Y).best_params_
    scaled = MultiTaskRegressorCV(**grid, metric_rounds=1).fit(X, Y).best_params_
    assert set(scaled) - set(plain) == metric
    assert scaled["metric_rounds"] == 1


@pytest.mark.parametrize(("n_known", "as_if_complete"), [(8, False), (9, False), (10, True), (18, True)])
def test_rows_are_decomposed_as_if_complete_where_more_than_half_of_the_labels_are_there(n_known, as_if_complete):
    weight = np.repeat(np.arange(1.0, 7.0)[:, None], 3, axis=1)
    weight.ravel()[np.argsort(np.arange(18) * 7 % 18)[n_known:]] = 0.0
    labels = TableLabels(np.zeros((6, 3)), weight)
    expected = weight.max(axis=1) if as_if_complete else weight.mean(axis=1)
    np.testing.assert_array_equal(labels.design_weight(), expected)
    assert labels.complete() == (n_known == 18)
    # Weights of labels that differ within a row are no weights of rows.
    weight[0] = [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(TableLabels(np.zeros((6, 3)), weight).design_weight(), weight.mean(axis=1))


def test_labels_without_a_minimizer_get_advice_that_helps(rng):
    X = rng.standard_normal((6, 2))
    with pytest.raises(ValueError, match="labels of one class only; loss='logistic' needs both, or use 'square'"):
        MultiTaskClassifier(loss="logistic").fit(X, np.ones((6, 2)))
    with pytest.raises(ValueError, match="zero only; loss='poisson' needs others, or fit_intercept=False, or use"):
        MultiTaskRegressor(loss="poisson").fit(X, np.zeros((6, 2)))


# Landmarks ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def few_landmarks(monkeypatch):
    """Exact up to 100 rows, then 20 landmarks; of losses that hold their kernel 1000 entries, and 5 at least."""
    for name, value in {
        "MOST_EXACT_ROWS": 100,
        "MOST_LANDMARK_ROWS": 300,
        "LANDMARKS": 20,
        "LANDMARK_ENTRIES": 1000,
        "FEWEST_LANDMARKS": 5,
        "LINEAR_WORK": 1000.0,
        "LINEAR_CANDIDATES": 2,
        "FEWEST_LINEAR_ROWS": 10,
        "MOST_LINEAR_ROWS": 50,
        "memory_available": lambda: None,
    }.items():
        monkeypatch.setattr(landmark_choice, name, value)


@pytest.mark.parametrize(
    ("kernel", "n_rows", "quadratic", "chosen"),
    [
        ("linear", 10**6, True, None),
        ("precomputed", 10**6, True, None),
        ("rbf", 100, True, None),
        ("rbf", 101, True, 20),
        ("rbf", 101, False, 9),
        ("rbf", 150, False, 6),
        ("rbf", 500, False, 5),
    ],
)
def test_landmarks_where_an_exact_kernel_would_take_too_long(kernel, n_rows, quadratic, chosen, few_landmarks):
    assert choose_landmarks(kernel, n_rows, quadratic=quadratic) == chosen


def test_landmarks_where_an_exact_kernel_would_not_fit(few_landmarks, monkeypatch):
    needed = landmark_choice.kernel_bytes(60)
    monkeypatch.setattr(landmark_choice, "memory_available", lambda: needed)
    assert choose_landmarks("rbf", 60) is None
    assert choose_landmarks("rbf", 61) == 20
    # No more landmarks than rows.
    monkeypatch.setattr(landmark_choice, "memory_available", lambda: 0)
    assert choose_landmarks("rbf", 7) == 7
    # Of other losses as many as a kernel of theirs may have entries, but no more than of square loss.
    assert choose_landmarks("rbf", 40, quadratic=False) == 20
    assert choose_landmarks("rbf", 60, quadratic=False) == 16


@pytest.mark.parametrize(
    ("n_features", "n_tasks", "n_rows"),
    [
        # 1000 over d^2 + 2 d T, between 10 and 50.
        (3, 2, int(1000 / 21)),
        (3, 1, 50),
        (5, 3, int(1000 / 55)),
        (30, 3, 10),
        (0, 1, 50),
    ],
)
def test_rows_that_there_is_time_for(n_features, n_tasks, n_rows, few_landmarks):
    X, Y = np.ones((400, n_features)), np.ones((400, n_tasks))
    assert affordable_rows(X, Y, "linear") == n_rows
    if n_tasks == 1:
        assert affordable_rows(X, Y[:, 0], "linear") == n_rows
    assert affordable_rows(X, Y, "rbf") == 100
    assert affordable_rows(X, Y, "rbf", n_components=20) == 300
    fewer = np.arange(5)
    drawn = draw_affordable(X, Y, "linear", fewer)
    assert len(np.unique(drawn)) == n_rows
    np.testing.assert_array_equal(drawn, draw_affordable(X, Y, "linear", fewer))
    assert len(draw_affordable(X, Y, "linear", np.arange(60))) == 60
    # Where folds cost much more, fewer rows have to do.
    gaps = np.where(np.arange(400)[:, None] == 7, np.nan, Y)
    assert draw_affordable(X, gaps, "linear", fewer) is fewer
    assert draw_affordable(X, Y, "linear", fewer, tasks=np.zeros(400)) is fewer
    assert draw_affordable(X, Y, "linear", fewer, quadratic=False) is fewer


def test_strengths_are_relative_to_the_diagonal_of_the_kernel(rng):
    """About the mean of the rows, for constants are not penalized; where that costs nothing to know."""
    X = rng.standard_normal((30, 3)) + 5.0
    size = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    np.testing.assert_allclose(quick_alphas("linear", X), size * kernel_choice.ALPHAS)
    np.testing.assert_array_equal(quick_alphas("linear", np.ones((4, 2))), kernel_choice.ALPHAS)
    assert quick_alphas("linear", sparse.csr_array(X)) is None
    assert quick_alphas("poly", X) is None
    for kernel in ("rbf", "laplacian"):
        np.testing.assert_array_equal(quick_alphas(kernel, X), kernel_choice.ALPHAS)
    search = quick_search(alphas=[0.3], gammas=[2.0])
    assert at_kernel(search, "rbf", X).alphas == [0.3]
    assert at_kernel(search, "rbf", X).gammas == [2.0]
    assert at_kernel(search, "rbf", X, gamma=0.7).gammas == [0.7]
    assert at_kernel(search, "linear", X).gammas is None


@pytest.mark.parametrize(("n_missing", "factor"), [(0, 0), (3, 3), (6, 6), (8, 4), (12, 0)])
def test_the_factor_of_a_table_is_of_its_labels_or_of_its_gaps(n_missing, factor):
    Y = np.ones((4, 3))
    Y.ravel()[:n_missing] = np.nan
    assert kernel_choice.count_factor(Y) == factor
