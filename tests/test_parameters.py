"""Every parameter with wrong values: a sentence that names it, or a fit that makes sense."""

import datetime
import decimal
import fractions
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from problems import related_tasks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from skmtl import (
    MultiTaskClassifier,
    MultiTaskClassifierCV,
    MultiTaskRegressor,
    MultiTaskRegressorCV,
    minimize_structure,
)
from skmtl.losses import LOSSES
from skmtl.penalties import PENALTIES
from skmtl.plotting import ComparisonDisplay
from skmtl.tables import make_problem

X, Y = related_tasks(np.random.default_rng(0), 10, 2, n_features=3)
LABELS = (Y > np.median(Y, axis=0)).astype(int)
# No number, no name and no switch.
NONSENSE = [
    "abc", "", b"x", float("nan"), 1j, np.array([]), np.array([1.0, 2.0]), [], ["a"], {"a": 1}, (), set(), object(),
    Ellipsis, NotImplemented, slice(1), range(0), datetime.date(2020, 1, 1), datetime.timedelta(1),
    np.datetime64("2020-01-01"), np.timedelta64(1, "D"), decimal.Decimal("nan"), decimal.Decimal("1.5"),
    fractions.Fraction(1, 3), "nan", "inf", "1", "no", np.array("x"), np.array([[1.0]]), np.ma.masked, pd.NA, pd.NaT,
    frozenset(), memoryview(b"x"), bytearray(b"x"), np.float64("nan"), np.complex128(1), pd.Series([1.0]),
    pd.DataFrame(), np.array([1, 2]), np.array([True, False]), [[1]], [1, "x"], [float("nan")], {}, int, KFold,
]  # fmt: skip
# Sense for some.
NUMBERS = [
    None,
    True,
    -1,
    0,
    -1.0,
    0.0,
    1.5,
    -0.5,
    1e300,
    -1e300,
    1e-300,
    float("inf"),
    -float("inf"),
    10**400,
    -(10**400),
]
# What else a parameter needs before it counts.
COMPANY = {
    "gamma": {"kernel": "rbf"},
    "gammas": {"kernel": "rbf"},
    "degree": {"kernel": "poly"},
    "coef0": {"kernel": "poly"},
    "kernel_params": {"kernel": lambda one, two, **params: float(one @ two)},
    "n_components": {"kernel": "rbf"},
    "landmarks": {"kernel": "rbf", "n_components": 4},
    "random_state": {"kernel": "rbf", "n_components": 4},
    "metric_alpha": {"kernel": "rbf", "metric_rounds": 1},
    "metric_rule": {"kernel": "rbf", "metric_rounds": 1},
    "feature_groups": {"kernel": "rbf", "metric_rounds": 1},
}
# What a kernel does with a parameter that it can read is said of the kernel.
OF_KERNELS = {"gamma", "degree", "coef0", "kernel_params"}
# Numbers to search over, one after the other in whatever holds some.
GRIDS = {"alphas", "mus", "commons", "eps_factors", "gammas"}
# Nobody waits for so many rounds.
ENDLESS = {("metric_rounds", 10**400)}


def is_sequence_of_numbers(value):
    return isinstance(value, np.ndarray | pd.Series | memoryview | bytearray) and np.ndim(value) == 1


def refuses(make, name, value, targets):
    """Whether the fit is refused in words that name the parameter; else it must have come to something."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        message = None
        try:
            est = make().fit(X, targets)
        except (ValueError, TypeError) as error:
            message = str(error)
    if message is None:
        assert np.all(np.isfinite(est.predict(X))), f"{name}={value!r}"
        return False
    named = name in message or (name in OF_KERNELS and "kernel" in message)
    # A search copies its estimator, and Python says what cannot be copied.
    assert named or re.search("cannot pickle '?memoryview", message), f"{name}={value!r}: {message}"
    return True


@pytest.mark.parametrize("name", MultiTaskRegressor().get_params())
def test_parameters_of_estimators(name):
    company = COMPANY.get(name, {})
    for value in NONSENSE + NUMBERS:
        if (name, value if isinstance(value, int) else None) in ENDLESS:
            continue
        refused = refuses(lambda v=value: MultiTaskRegressor(**{**company, name: v}), name, value, Y)
        nothing = name in ("kernel_params", "feature_groups") or (name == "kernel" and value == "")
        assert refused or nothing or any(value is number for number in NUMBERS), f"{name}={value!r} was accepted"


@pytest.mark.parametrize(("search", "targets"), [(MultiTaskRegressorCV, Y), (MultiTaskClassifierCV, LABELS)])
@pytest.mark.parametrize("name", MultiTaskRegressorCV().get_params())
def test_parameters_of_searches(search, targets, name):
    if name not in search().get_params():
        return
    company = {"kernel": "linear", "cv": 2, "alphas": [0.1], **COMPANY.get(name, {})}
    # Several processes, and rounds without end, are no mistakes.
    numbers = [] if name in ("n_jobs", "metric_rounds", "verbose") else NUMBERS
    for value in NONSENSE + numbers:
        refused = refuses(lambda v=value: search(**{**company, name: v}), name, value, targets)
        accepted = name in ("kernel_params", "feature_groups") or (name in GRIDS and is_sequence_of_numbers(value))
        assert refused or accepted or any(value is number for number in NUMBERS), f"{name}={value!r} was accepted"


@pytest.mark.parametrize("n_jobs", [0, 10**20, -(10**20), 1.5, True, float("inf")])
def test_what_is_no_number_of_processes(n_jobs):
    with pytest.raises(ValueError, match=r"n_jobs=.* is no number of processes; pass a whole number from 1 to 32768"):
        MultiTaskRegressorCV(kernel="linear", cv=2, n_jobs=n_jobs).fit(X, Y)


@pytest.mark.parametrize("name", ["alpha", "fit_intercept", "balance_tasks", "loss", "tol"])
def test_parameters_of_classifiers(name):
    for value in NONSENSE:
        assert refuses(lambda v=value: MultiTaskClassifier(**{name: v}), name, value, LABELS)


@pytest.mark.parametrize(
    ("penalty", "name"), [(penalty, name) for penalty in PENALTIES for name in PENALTIES[penalty]().get_params()]
)
def test_parameters_of_penalties(penalty, name):
    for value in NONSENSE + NUMBERS:
        refused = refuses(
            lambda v=value: MultiTaskRegressor(PENALTIES[penalty]().set_params(**{name: v})), name, value, Y
        )
        # Anything names two groups, and two numbers are two strengths.
        assert refused or name in ("groups", "strengths") or any(value is number for number in NUMBERS), (
            f"{name}={value!r}"
        )


@pytest.mark.parametrize(("loss", "name"), [(loss, name) for loss in LOSSES for name in LOSSES[loss]().get_params()])
def test_parameters_of_losses(loss, name):
    for value in NONSENSE:
        assert refuses(lambda v=value: MultiTaskRegressor(loss=LOSSES[loss]().set_params(**{name: v})), name, value, Y)


BAD_ROWS = {
    "whole numbers beyond float": ([[10**400, 1], [2, 3], [1, 1]], "X has numbers beyond"),
    "dates": (np.array([["2020-01-01"], ["2020-01-02"], ["2020-01-03"]], dtype="datetime64[D]"), "dates or durations"),
    "dates in a frame": (pd.DataFrame({"a": pd.date_range("2020", periods=3)}), "dates or durations"),
    "huge": (np.array([[1e154], [2e154], [3e153]]), "X reaches 2e\\+154"),
    "tiny": (np.array([[1e-160], [2e-160], [0.0]]), "X reaches 2e-160"),
    "dates in an index": (pd.date_range("2020", periods=3), "X has dates or durations"),
    "whole numbers beyond double": (
        np.array([["1e400"], ["2"], ["1"]], dtype=np.longdouble),
        "X has 1 NaN or infinite",
    ),
    "masked": (np.ma.masked_greater(np.array([[1.0], [2.0], [1e6]]), 1e5), "masked array with 1 masked values"),
    "complex": (np.array([[1j], [2.0], [3.0]]), "X has complex numbers"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_rows_that_are_no_numbers(case, kernel):
    rows, message = BAD_ROWS[case]
    with pytest.raises(ValueError, match=message):
        MultiTaskRegressor(kernel=kernel).fit(rows, [1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(10, 1j), "complex"),
        (np.ma.masked_less(np.arange(10.0), 1.0), "sample_weight is a masked array"),
        (np.full(10, np.timedelta64(1, "D")), "dates or durations"),
        (pd.date_range("2020", periods=10), "dates or durations"),
    ],
)
def test_weights_that_are_no_numbers(weight, message):
    with pytest.raises(ValueError, match=message):
        MultiTaskRegressor().fit(X, Y, sample_weight=weight)


DAYS = pd.date_range("2020", periods=10)


@pytest.mark.parametrize(
    "dates",
    [DAYS, DAYS - DAYS[0], DAYS.array, pd.Categorical(DAYS), pd.DataFrame({"day": DAYS}), np.ma.array(DAYS.to_numpy())],
)
def test_dates_are_no_targets(dates):
    with pytest.raises(ValueError, match=r"y has dates or durations \((datetime|timedelta)64"):
        MultiTaskRegressor().fit(X, dates)


NO_NUMBERS = {
    "Period": pd.period_range("2020", periods=10),
    "Interval": pd.interval_range(0, 10),
    "Timestamp": list(DAYS),
    "dict": {"a": 1},
    "generator": (row for row in X),
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_what_is_no_number_is_named(kind):
    given = NO_NUMBERS[kind]
    for name, fit in (
        ("X", lambda: MultiTaskRegressor().fit(given, Y)),
        ("y", lambda: MultiTaskRegressor().fit(X, given)),
        ("sample_weight", lambda: MultiTaskRegressor().fit(X, Y, sample_weight=given)),
        ("known", lambda: MultiTaskRegressor().fit(X, Y[:, 0]).predict(X, known=given)),
        ("S", lambda: minimize_structure(given)),
    ):
        with pytest.raises(TypeError, match=f"^{name} cannot be read as numbers: .*{kind}.*; pass an array of numbers"):
            fit()


def test_masked_targets_are_missing():
    hidden = np.ma.masked_array(np.where(np.arange(20).reshape(10, 2) % 7 == 3, 1e6, Y), False)
    hidden[np.arange(20).reshape(10, 2) % 7 == 3] = np.ma.masked
    masked, gaps = (MultiTaskRegressor().fit(X, targets) for targets in (hidden, hidden.filled(np.nan)))
    np.testing.assert_array_equal(masked.predict(X), gaps.predict(X))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("unit", [1e-70, 1e-30, 1e-8, 1e8, 1e30, 1e70])
@pytest.mark.parametrize("alpha", [1e-70, 1e-12, 1e6, 1e70])
def test_extremes_end_in_a_model_or_a_sentence(kernel, unit, alpha):
    """Whatever the units, no warning of NumPy's and no exception of LAPACK's comes out."""
    est = MultiTaskRegressor(kernel=kernel, alpha=alpha)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            finite = np.all(np.isfinite(est.fit(unit * X, Y).predict(unit * X)))
        except ValueError as error:
            finite = "kernel" in str(error) or "double precision" in str(error)
    assert finite


@pytest.mark.parametrize(
    ("rows", "labels", "weight", "part"),
    [
        (
            pd.DataFrame(X, columns=list("abc")).assign(town="Rome"),
            Y,
            None,
            "X holds text such as 'Rome' .* OneHotEncoder",
        ),
        (X, ["low"] * 10, None, "y holds text such as 'low' .* MultiTaskClassifier"),
        (X, Y, ["heavy"] * 10, "sample_weight holds text such as 'heavy'"),
        (X, Y, np.ones(3), "X has 10 rows but sample_weight has 3"),
    ],
)
def test_text_and_weights_that_do_not_fit_get_a_sentence(rows, labels, weight, part):
    with pytest.raises(ValueError, match=part):
        MultiTaskRegressor().fit(rows, labels, weight)


def test_what_is_no_score_no_role_and_no_comparison_is_said():
    with pytest.raises(ValueError, match="scoring='R2' is not known; choose one of pooled_r2"):
        MultiTaskRegressorCV(scoring="R2", kernel="linear", cv=2).fit(X, Y)
    with pytest.raises(TypeError, match="pass ColumnRoles"):
        make_problem(pd.DataFrame(X), ["a"])
    with pytest.raises(ValueError, match="pass what compare_methods"):
        ComparisonDisplay.from_comparison(pd.DataFrame(X))
