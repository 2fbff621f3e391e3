"""Wrong input gets one clear sentence; unusual input works."""

import re

import numpy as np
import pandas as pd
import pytest
from problems import related_tasks
from scipy import sparse

from skmtl import MultiTaskClassifier, MultiTaskRegressor, MultiTaskRegressorCV, minimize_structure
from skmtl.model_selection import target_scores
from skmtl.penalties import PENALTIES, Fixed, Sparse
from skmtl.penalties.fixed import MeanCoupled
from skmtl.targets import LabelReader, as_numbers

X, Y = related_tasks(np.random.default_rng(0), 20, 3)
K = X @ X.T


def with_value(array, value):
    array = array.copy()
    array[2, 1] = value
    return array


BAD_FITS = {
    "NaN in X": ({}, with_value(X, np.nan), Y, "X has 1 NaN or infinite values, the first of them in column 1"),
    "infinity in X": ({}, with_value(X, np.inf), Y, "X has 1 NaN or infinite values"),
    "named column": ({}, pd.DataFrame(with_value(X, np.nan), columns=list("abcde")), Y, "column 'b'"),
    "infinity in Y": ({}, X, with_value(Y, np.inf), "y has 1 .*infinite"),
    "rows do not match": ({}, X, Y[:-1], "X has 20 rows but y has 19"),
    "one sample": ({}, X[:1], Y[:1], "minimum of 2 is required"),
    "no tasks": ({}, X, Y[:, :0], "at least one task"),
    "y of three dimensions": ({}, X, Y[:, :, None], "Found array with dim 3, while dim <= 2 is required"),
    "no y": ({}, X, None, "y is None"),
    "alpha zero": ({"alpha": 0}, X, Y, "alpha=0 must be a number > 0"),
    "alpha negative": ({"alpha": -1.0}, X, Y, "alpha=-1.0 must be a number > 0"),
    "alpha text": ({"alpha": "big"}, X, Y, "alpha='big' must be a number > 0"),
    "eps zero": ({"eps": 0.0}, X, Y, "eps.*must be a number > 0"),
    "eps text": ({"eps": "small"}, X, Y, "eps.*auto"),
    "common negative": ({"common": -1}, X, Y, "common=-1 must be a number >= 0"),
    "tol zero": ({"tol": 0}, X, Y, "tol=0 must be"),
    "max_iter": ({"max_iter": 0}, X, Y, "max_iter=0 must be a whole number"),
    "mu too large": ({"penalty": Sparse(1.5)}, X, Y, "mu=1.5 must lie between 0"),
    "mu negative": ({"penalty": Sparse(-0.1)}, X, Y, "mu=-0.1 must lie between 0"),
    "mu NaN": ({"penalty": Sparse(np.nan)}, X, Y, "mu=nan must lie between 0"),
    "strength text": ({"penalty": MeanCoupled("abc")}, X, Y, "strength='abc' must be a number >= 0"),
    "unknown penalty": ({"penalty": "spase"}, X, Y, "penalty='spase' is not known; choose one of .*sparse"),
    "unknown kernel": ({"kernel": "rfb"}, X, Y, "kernel='rfb' is not known; choose one of .*rbf"),
    "gamma text": ({"kernel": "rbf", "gamma": "scale"}, X, Y, "gamma='scale' must be a number >= 0"),
    "gamma negative": ({"kernel": "rbf", "gamma": -1.0}, X, Y, "gamma=-1.0 must be a number >= 0"),
    "unknown solver": ({"solver": "fast"}, X, Y, "solver='fast' is not known; choose one of auto, newton"),
    "unknown structure solver": ({"penalty": Sparse(solver="fast")}, X, Y, "choose one of newton, primal-dual"),
    "newton without structure": (
        {"penalty": "independent", "solver": "newton"},
        X,
        Y,
        "'independent' cannot be minimized together",
    ),
    "newton with a curved loss": ({"solver": "newton", "loss": "huber"}, X, Y, "it needs square loss"),
    "fixed of wrong size": ({"penalty": Fixed(np.eye(2))}, X, Y, "shape \\(2, 2\\), but there are 3 tasks"),
    "fixed not symmetric": ({"penalty": Fixed(np.triu(np.ones((3, 3))))}, X, Y, "not symmetric"),
    "fixed not PSD": ({"penalty": Fixed(np.diag([1.0, 1.0, -1.0]))}, X, Y, "negative eigenvalue"),
    "kernel not square": ({"kernel": "precomputed"}, K[:, :-1], Y, "square"),
    "kernel not symmetric": ({"kernel": "precomputed"}, with_value(K, 7.0), Y, "not symmetric"),
    "kernel not PSD": ({"kernel": "precomputed"}, K - 3.0 * np.eye(20), Y, "not positive semidefinite"),
    "kernel not PSD, no intercept": (
        {"kernel": "precomputed", "fit_intercept": False},
        K - 3.0 * np.eye(20),
        Y,
        "not positive semidefinite",
    ),
    "kernel PSD but for the constant": ({"kernel": "precomputed"}, K - 3.0, Y, "not positive semidefinite"),
    "sigmoid": ({"kernel": "sigmoid", "coef0": -2.0}, X, Y, "not positive semidefinite"),
    "additive chi2": ({"kernel": "additive_chi2"}, np.abs(X), Y, "not positive semidefinite"),
    "huge targets unscaled": ({"scale_targets": False}, X, Y * 1e150, "scale_targets=True"),
    "tiny targets unscaled": ({"scale_targets": False}, X, Y * 1e-150, "scale_targets=True"),
    "two tasks of one name": ({}, X, pd.DataFrame(Y, columns=["a", "b", "a"]), "two tasks are called 'a'"),
}


@pytest.mark.parametrize("case", BAD_FITS)
def test_bad_input_gets_one_sentence(case):
    params, rows, targets, message = BAD_FITS[case]
    est = MultiTaskRegressor(**params)
    with pytest.raises(ValueError, match=message) as caught:
        est.fit(rows, targets)
    assert "\n" not in str(caught.value)
    assert not hasattr(est, "structure_")


@pytest.mark.parametrize(("name", "key"), [(name, key) for name in PENALTIES for key in PENALTIES[name]().get_params()])
def test_text_for_a_parameter_of_a_penalty_gets_one_sentence(name, key):
    est = MultiTaskRegressor(PENALTIES[name]().set_params(**{key: "abc"}))
    with pytest.raises(ValueError, match=f"{key}='abc'") as caught:
        est.fit(X, Y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", PENALTIES)
def test_the_class_of_a_penalty_is_not_a_penalty(name):
    cls = PENALTIES[name]
    for fit in (MultiTaskRegressor(cls).fit, MultiTaskRegressorCV(cls).fit):
        with pytest.raises(TypeError, match=f"penalty={cls.__name__} is a class; .*{cls.__name__}\\(\\)"):
            fit(X, Y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-np.ones(20), "negative"),
        (np.zeros(20), "sample_weight is zero everywhere"),
        (np.zeros((20, 3)), "sample_weight is zero everywhere"),
        (np.ones((20, 2)), r"sample_weight has shape \(20, 2\); it must be \(20,\) or \(20, 3\)"),
        (np.ones(19), "X has 20 rows but sample_weight has 19; they must match"),
        ([np.nan] * 20, "NaN"),
    ],
)
def test_bad_weights(weight, message):
    with pytest.raises(ValueError, match=message):
        MultiTaskRegressor().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(20), "one class"),
        (Y, "several columns that are not 0/1; pass one column of classes or an indicator matrix"),
        (np.repeat([[0, 1, 2]], 20, axis=0), "indicator matrix"),
        (np.arange(19) % 2, "20 rows but y has 19"),
        (np.array(["p", "q"] * 9 + ["p", None], dtype=object), "1 missing values; drop those rows"),
        (pd.Series(["p", "q"] * 9 + ["p", None], dtype="string"), "1 missing values; drop those rows"),
        (None, "y is None"),
        (sparse.csr_array(np.eye(20, 2)), r"y is of type csr_array, and must be an array with 20 rows.* toarray\(\)"),
        ({"a": 1}, "y is of type dict, and must be an array with 20 rows"),
        (("p" for _ in range(20)), "y is of type generator, and must be an array with 20 rows"),
        (3, "y is of type int, and must be an array with 20 rows"),
        (
            np.array([1, "a"] * 10, dtype=object),
            r"y has classes of several types.* \(mixed-integer\); write them as text",
        ),
        (list(pd.date_range("2020", periods=20)), r"y has classes of .* known \(datetime\); write them as text"),
    ],
)
def test_bad_classes(y, message):
    with pytest.raises(ValueError, match=message):
        MultiTaskClassifier().fit(X, y)


@pytest.mark.parametrize("classes", [[0, 1], [3, 1, 2], [True, False], [1.0, 2.0], ["p", "q"]], ids=str)
@pytest.mark.parametrize("shape", [20, (20, 1)])
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_classes_among_objects_are_those_of_their_own_type(classes, shape):
    plain = np.resize(classes, 20)
    objects = plain.astype(object).reshape(shape)
    one, other = MultiTaskClassifier().fit(X, objects), MultiTaskClassifier().fit(X, plain)
    assert {type(name) for name in one.classes_.tolist()} == {type(name) for name in classes}
    np.testing.assert_array_equal(one.classes_, np.unique(plain))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.score(X, objects) == other.score(X, plain)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_landmarks_are_finite(kind, value):
    with pytest.raises(ValueError, match="landmarks has 1 NaN or infinite values; drop those rows"):
        MultiTaskRegressor(kernel="rbf", landmarks=kind(with_value(X[:5], value))).fit(X, Y)


@pytest.mark.parametrize(
    ("S", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, 0.5], [0.1, 1.0]]), "not symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
        (np.ma.array(np.eye(2), mask=[[0, 1], [1, 0]]), "S is a masked array with 2 masked values"),
        (np.eye(2) + 0j, "S has complex numbers"),
        (sparse.csr_array(np.eye(2)), r"S is a sparse matrix, .*S.toarray\(\)"),
        (np.full((2, 2), np.timedelta64(1, "D")), "S has dates or durations"),
        ([["a", "b"], ["b", "a"]], "S holds text such as 'a' where numbers are needed"),
        ([[1.0], [1.0, 2.0]], "S has rows of different lengths"),
        (np.eye(2, dtype=np.longdouble) * np.longdouble("1e400"), "S has NaN or infinite entries"),
    ],
)
def test_bad_structure_problems(S, message):
    with pytest.raises(ValueError, match=message):
        minimize_structure(S)


@pytest.mark.parametrize("penalty", ["sparse", "trace"])
@pytest.mark.parametrize("tol", ["a", None, 0, -1.0, np.nan, np.inf, True])
def test_bad_tolerances_of_a_structure_step(tol, penalty):
    with pytest.raises(ValueError, match=f"tol={tol!r} must be a number > 0"):
        minimize_structure(np.eye(2), penalty, tol=tol)


def test_bad_graphs():
    with pytest.raises(ValueError, match="negative entry"):
        Fixed.from_graph([[0, -1], [-1, 0]])
    with pytest.raises(ValueError, match="square symmetric"):
        Fixed.from_graph([[0, 1], [2, 0]])
    with pytest.raises(ValueError, match="ridge=0"):
        Fixed.from_graph(np.ones((2, 2)), ridge=0)
    with pytest.raises(ValueError, match="ridge='abc'"):
        Fixed.from_graph(np.ones((2, 2)), ridge="abc")


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("constants", [[3.7, -2.0e6, 0.0], [3.7, None, 1e-30]])
def test_constant_targets_are_predicted_exactly(kernel, constants):
    targets = Y.copy()
    for t, value in enumerate(constants):
        if value is not None:
            targets[:, t] = value
    est = MultiTaskRegressor(kernel=kernel).fit(X, targets)
    assert est.solution_.converged
    for t, value in enumerate(constants):
        if value is not None:
            np.testing.assert_allclose(est.predict(X)[:, t], value, rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_targets_of_any_unit(factor):
    est = MultiTaskRegressor(kernel="rbf").fit(X, Y)
    scaled = MultiTaskRegressor(kernel="rbf").fit(X, Y * factor)
    np.testing.assert_allclose(scaled.predict(X) / factor, est.predict(X), rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-200, 1e160, 1e300])
def test_scores_do_not_know_the_unit_of_the_targets(factor):
    """Squares of such errors are beyond the range of numbers; nothing is warned of, and nothing scores one for it."""
    wrong = Y[::-1].copy()
    for name in ("r2", "nmse", "arrmse", "pooled_r2"):
        expected = target_scores(Y, wrong, name)
        np.testing.assert_allclose(target_scores(Y * factor, wrong * factor, name), expected, rtol=1e-12)
    est = MultiTaskRegressor(alpha=1.0).fit(X, Y * factor)
    assert est.score(X[:5], Y[5:10] * factor) == pytest.approx(
        MultiTaskRegressor(alpha=1.0).fit(X, Y).score(X[:5], Y[5:10]), rel=1e-6
    )


@pytest.mark.parametrize("factor", [1e-200, 1e160])
@pytest.mark.parametrize("alphas", [[1e-3, 1e-1, 10.0], "own"])
def test_searches_do_not_know_the_unit_of_the_targets(alphas, factor):
    one, other = (
        MultiTaskRegressorCV("independent", kernel="linear", alphas=alphas, cv=3).fit(X, targets)
        for targets in (Y, Y * factor)
    )
    assert other.alpha_ == pytest.approx(one.alpha_)
    assert other.best_score_ == pytest.approx(one.best_score_, rel=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_fewer_rows_than_tasks_and_repeated_rows(kernel):
    rng = np.random.default_rng(1)
    few = MultiTaskRegressor(kernel=kernel).fit(rng.standard_normal((4, 3)), rng.standard_normal((4, 9)))
    assert few.solution_.converged
    repeated = MultiTaskRegressor(kernel=kernel).fit(np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0))
    once = MultiTaskRegressor(kernel=kernel).fit(X, Y)
    np.testing.assert_allclose(repeated.predict(X), once.predict(X), atol=1e-5)


def test_constant_features_have_no_size(rng):
    """What rounding makes of their variance is no scale to search by."""
    rows, Y = np.full((30, 3), 0.1), rng.standard_normal((30, 2))
    search = MultiTaskRegressorCV(cv=3).fit(rows, Y)
    np.testing.assert_allclose(search.predict(2.0 * rows[:1]), Y.mean(axis=0)[None], rtol=1e-6)


def test_every_task_of_one_class():
    with pytest.raises(ValueError, match="every task has labels of one class only"):
        MultiTaskClassifier(loss="logistic").fit(X, np.c_[np.zeros(20), np.ones(20)])


def test_features_that_say_nothing():
    est = MultiTaskRegressor().fit(np.ones((10, 2)), Y[:10])
    np.testing.assert_allclose(est.predict(np.ones((3, 2))), np.tile(Y[:10].mean(axis=0), (3, 1)))
    assert est.solution_.converged


@pytest.mark.parametrize(
    ("kind", "index", "value"),
    [
        ("csr", "indices", 10**8),
        ("csr", "indices", 5),
        ("csr", "indices", -1),
        ("csr", "indptr", 10**7),
        ("csr", "indptr", 0),
        ("csc", "indices", 30),
        ("csc", "indptr", -1),
        ("coo", "row", 30),
        ("coo", "row", -1),
        ("coo", "col", 5),
    ],
)
def test_sparse_matrices_with_entries_at_places_that_they_do_not_have_are_refused(kind, index, value):
    """SciPy reads memory of others there, and the process may end."""
    rng = np.random.default_rng(0)
    rows, targets = sparse.random_array((30, 5), density=0.5, rng=rng).asformat(kind), rng.standard_normal((30, 2))
    est = MultiTaskRegressor().fit(rows, targets)
    getattr(rows, index)[2] = value
    for use in (MultiTaskRegressor().fit, est.score):
        with pytest.raises(ValueError, match=f"shape \\(30, 5\\) \\({kind}\\) with entries at places that it does not"):
            use(rows, targets)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("sizes", [(1e-74, 1e-74), (1e74, 1e74), (1e-74, 1e74), (0.0, 1e74)])
def test_weights_of_any_size_whose_products_are_numbers_are_taken(sizes, kernel, rng):
    X, Y = related_tasks(rng, 30, 2)
    est = MultiTaskRegressor(kernel=kernel).fit(X, Y, sample_weight=np.resize(sizes, 30))
    assert np.all(np.isfinite(est.predict(X)))


@pytest.mark.parametrize(("weight", "named"), [(1e-76, "1e-76"), (1e76, r"1e\+76"), (-1.0, "-1"), (np.nan, "nan")])
def test_weights_of_other_sizes_are_refused(weight, named, rng):
    """In memory and in blocks; NaN in memory is refused by scikit-learn's check, which names them too."""
    X, Y = related_tasks(rng, 30, 2)
    weights = np.where(np.arange(30) == 3, weight, 1.0)
    with pytest.raises(ValueError, match=named if np.isfinite(weight) else "sample_weight contains NaN"):
        MultiTaskRegressor().fit(X, Y, sample_weight=weights)
    with pytest.raises(ValueError, match=f"sample_weight has .*entry.* {named}"):
        LabelReader(2, as_numbers)(Y, weights)


@pytest.mark.parametrize("names", [["a", "b", "a"], [0, 1, 0], [("a", 1), ("b", 1), ("a", 1)]])
@pytest.mark.parametrize("limit", [1, 10**9])
def test_two_columns_of_one_name_are_named(monkeypatch, names, limit):
    # Rows that are read in blocks, and rows that are not.
    monkeypatch.setattr("skmtl.estimators.blocks.LARGE", limit)
    twice, once = pd.DataFrame(X[:, :3], columns=names), pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    for ask in (lambda: MultiTaskRegressor().fit(twice, Y), lambda: MultiTaskRegressor().fit(once, Y).predict(twice)):
        with pytest.raises(ValueError, match=f"X has two columns called {re.escape(repr(names[0]))}; their names must"):
            ask()


def test_infinite_labels_are_of_a_task():
    infinite = with_value(Y, np.inf)
    for labels, name in ((infinite, "y1"), (pd.DataFrame(infinite, columns=["u", "v", "w"]), "v")):
        with pytest.raises(ValueError, match=f"y has 1 infinite values .*, the first of them of task '{name}'; drop"):
            MultiTaskRegressor().fit(X, labels)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.where(X[:, 0] > 0.0, 1.0, -0.5), "sample_weight has a negative or missing entry, -0.5"),
        (np.ma.array(np.ones(len(X)), mask=X[:, 0] > 0.0), "sample_weight is a masked array"),
        (np.zeros(len(X)), "sample_weight is zero everywhere"),
        (np.full(len(X), "much"), "sample_weight holds text such as"),
    ],
)
@pytest.mark.parametrize("y", [Y[:, 0] > 0.0, (Y > 0.0).astype(int)], ids=["classes", "indicators"])
def test_weights_of_the_accuracy_are_checked_as_those_of_a_fit(y, weight, message):
    est = MultiTaskClassifier(loss="square").fit(X, y)
    assert est.score(X, y, sample_weight=2.0) == est.score(X, y)
    for ask in (est.fit, est.score):
        with pytest.raises(ValueError, match=message):
            ask(X, y, sample_weight=weight)


@pytest.mark.parametrize("large", [2**63, 2**64])
def test_classes_that_are_whole_numbers_beyond_64_bits_are_refused(large):
    y = np.array([large, -1] * (len(X) // 2), dtype=object)
    with pytest.raises(ValueError, match="y has classes that are whole numbers of more than 64 bits"):
        MultiTaskClassifier().fit(X[: len(y)], y)


@pytest.mark.parametrize("unit", [1e45, 1e-45])
def test_searches_name_the_unit_of_rows_whose_widths_no_gamma_can_be(unit):
    with pytest.raises(ValueError, match=r"X has distances of about .*, too far from 1 for a gamma; change its unit"):
        MultiTaskRegressorCV(kernel="rbf", cv=3).fit(unit * X, Y)


def test_scores_need_a_label_for_each_prediction():
    """Without tasks, a model of a long table predicts a column for each of them."""
    tasks, y = ["a", "b"] * 10, Y[:, 0]
    classes = (y > 0.0).astype(int), np.where(y > 0.0, "high", "low")
    for est, labels in ((MultiTaskRegressor(), y), *((MultiTaskClassifier(), some) for some in classes)):
        est.fit(X, labels, tasks=tasks)
        with pytest.raises(ValueError, match=r"y has 1 columns, and there are predictions of 2 tasks; .*, pass tasks"):
            est.score(X, labels)
    with pytest.raises(ValueError, match="y has 2 columns, and there are predictions of 3 tasks; pass a column"):
        MultiTaskRegressor().fit(X, Y).score(X, Y[:, :2])


@pytest.mark.parametrize(
    "names", [["a", "a\0", "b"], [2**53, 2**53 + 1, 1.5], [2**53 + 1, 2**53, float(2**60)]], ids=str
)
def test_names_that_arrays_would_merge_stay_different(names):
    wide = MultiTaskRegressor().fit(X, pd.DataFrame(Y, columns=pd.Index(names, dtype=object)))
    assert wide.task_names_.tolist() == names
    tasks = np.array(names * 7, dtype=object)[:20]
    long = MultiTaskRegressor().fit(X, Y[:, 0], tasks=tasks)
    assert long.task_names_.tolist() == sorted(names)
    for est in (wide, long):
        picked = est.predict(X)[np.arange(20), [est.task_names_.tolist().index(name) for name in tasks]]
        np.testing.assert_allclose(est.predict(X, tasks=tasks), picked, rtol=1e-12)


def test_names_with_halves_of_characters_are_refused():
    for fit in (
        lambda: MultiTaskRegressor().fit(X, pd.DataFrame(Y, columns=pd.Index(["a", "b", "c\udc80"], dtype=object))),
        lambda: MultiTaskRegressor().fit(X, Y[:, 0], tasks=["a", "c\udc80"] * 10),
    ):
        with pytest.raises(
            ValueError, match=r"the task name 'c\\udc80' has half of a character, .*; rename it"
        ) as caught:
            fit()
        assert caught.type is ValueError


NAMES = ["a", "b"] * 10
# What does not name a task for each row.
NO_TASKS = {
    "a number": 3,
    "text": "ab" * 10,
    "bytes": b"ab" * 10,
    "a mapping": dict(enumerate(NAMES)),
    "a set": set(range(20)),
    "a class": int,
    "no column": np.array("a"),
    "two columns": np.array([NAMES, NAMES]).T,
    "a frame of two columns": pd.DataFrame({"a": NAMES, "b": NAMES}),
    "tuples": [("a", 1)] * 20,
    "lists": [["a"], ["b", "c"]] * 10,
    "mappings": [{}] * 20,
}


@pytest.mark.parametrize("case", NO_TASKS)
def test_tasks_of_another_kind_are_named(case):
    tasks, y = NO_TASKS[case], Y[:, 0]
    number, label = MultiTaskRegressor().fit(X, y, tasks=NAMES), MultiTaskClassifier().fit(X, y > 0.0, tasks=NAMES)
    for ask in (
        lambda: MultiTaskRegressor().fit(X, y, tasks=tasks),
        lambda: MultiTaskClassifier().fit(X, y > 0.0, tasks=tasks),
        lambda: number.predict(X, tasks=tasks),
        lambda: number.predict_interval(X, tasks=tasks, coverage=0.5),
        lambda: number.score(X, y, tasks=tasks),
        lambda: label.predict_proba(X, tasks=tasks),
    ):
        with pytest.raises(ValueError, match=r"tasks=.* does not say which task .* a string or a number for each row"):
            ask()


@pytest.mark.parametrize(
    "column", [np.array(NAMES)[:, None], pd.DataFrame({"task": NAMES}), [[name] for name in NAMES]]
)
def test_tasks_in_a_table_of_one_column_are_that_column(column):
    flat, table = (MultiTaskRegressor().fit(X, Y[:, 0], tasks=tasks) for tasks in (NAMES, column))
    np.testing.assert_array_equal(table.predict(X, tasks=column), flat.predict(X, tasks=NAMES))
