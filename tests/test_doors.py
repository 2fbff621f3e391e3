"""What is refused or means a gap in memory is refused or means a gap wherever rows are read from."""

from contextlib import nullcontext as no_warning

import numpy as np
import pandas as pd
import pytest
from problems import related_tasks
from scipy import sparse

import skmtl.estimators.blocks
from skmtl import MultiTaskClassifier, MultiTaskRegressor

MODEL = {"kernel": "rbf", "n_components": 20, "random_state": 0}
N = 40


def as_dask(values):
    """A collection; arrays keep their masks."""
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    if isinstance(values, pd.DataFrame | pd.Series):
        return dd.from_pandas(values, npartitions=3)
    return da.from_array(values, chunks=(11, *np.shape(values)[1:]))


@pytest.fixture(params=["memory", "blocks", "dask"])
def door(request, monkeypatch):
    """How a table reaches a model."""
    if request.param == "blocks":
        monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 0)
    return as_dask if request.param == "dask" else lambda values: values


@pytest.fixture(params=["memory", "blocks", "dask", "beside dask"])
def doors(request, monkeypatch):
    """How rows reach a model, and how what goes with them does: in memory too, beside rows on a cluster."""
    if request.param == "blocks":
        monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 0)
    rows = as_dask if "dask" in request.param else lambda values: values
    return rows, as_dask if request.param == "dask" else lambda values: values


def values_of(predictions):
    return predictions.compute() if hasattr(predictions, "compute") else predictions


def table(rng):
    X, Y = related_tasks(rng, N, 3)
    return X, Y, rng.random(Y.shape) < 0.2


@pytest.mark.parametrize("columns", ["several", "one"])
def test_masked_labels_are_gaps(columns, door, rng):
    """Also labels of a score: what is hidden does not count, however large."""
    X, Y, hidden = table(rng)
    if columns == "one":
        Y, hidden = Y[:, 0], hidden[:, 0]
    masked = np.ma.array(np.where(hidden, 1e6, Y), mask=hidden)
    with_gaps = np.where(hidden, np.nan, Y)
    few = hidden.all(axis=1).any() if columns == "several" else hidden.any()
    with pytest.warns(UserWarning, match="left out") if few else no_warning():
        expected = MultiTaskRegressor(**MODEL).fit(door(X), door(with_gaps))
    with pytest.warns(UserWarning, match="left out") if few else no_warning():
        est = MultiTaskRegressor(**MODEL).fit(door(X), door(masked))
    np.testing.assert_allclose(values_of(est.predict(door(X))), values_of(expected.predict(door(X))), rtol=1e-12)
    assert est.score(door(X), door(masked)) == pytest.approx(expected.score(door(X), door(with_gaps)))


@pytest.mark.parametrize("behind", ["the other label", "a code"])
def test_masked_indicators_are_gaps(behind, door, rng):
    X, Y, hidden = table(rng)
    hidden[:, 0] = False
    labels = (Y > 0.0).astype(float)
    masked = np.ma.array(np.where(hidden, -999.0 if behind == "a code" else 1.0 - labels, labels), mask=hidden)
    expected = MultiTaskClassifier(**MODEL).fit(door(X), door(np.where(hidden, np.nan, labels)))
    est = MultiTaskClassifier(**MODEL).fit(door(X), door(masked))
    found, wanted = (values_of(one.decision_function(door(X))) for one in (est, expected))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("size", [1e160, -1e200])
def test_features_whose_products_overflow_are_refused(size, door, rng):
    X, Y, _ = table(rng)
    est = MultiTaskRegressor(**MODEL).fit(door(X), door(Y))
    far = X.copy()
    far[7, 1] = size
    with pytest.raises(ValueError, match=r"X reaches 1e\+.*, beyond what products"):
        MultiTaskRegressor(**MODEL).fit(door(far), door(Y))
    with pytest.raises(ValueError, match=r"X reaches 1e\+.*, beyond what products"):
        values_of(est.predict(door(far)))


@pytest.mark.parametrize("params", [{}, MODEL], ids=["linear", "landmarks"])
def test_features_whose_products_vanish_are_refused(params, door, rng):
    """Of all rows; those of one block may be tiny."""
    X, Y, _ = table(rng)
    with pytest.raises(ValueError, match=r"X reaches \d.*e-90, beyond what products"):
        MultiTaskRegressor(**params).fit(door(1e-90 * X), door(Y))
    X[11:22] *= 1e-90
    assert MultiTaskRegressor(**params).fit(door(X), door(Y)).score(door(X), door(Y)) > 0.0


def test_labels_that_are_masked_nowhere_are_labels(door, rng):
    X, Y, _ = table(rng)
    expected = values_of(MultiTaskRegressor(**MODEL).fit(door(X), door(Y)).predict(door(X)))
    found = MultiTaskRegressor(**MODEL).fit(door(X), door(np.ma.array(Y))).predict(door(X))
    np.testing.assert_allclose(values_of(found), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(N,), (N, 1)])
def test_masked_classes_are_refused(shape, door, rng):
    X, Y, hidden = table(rng)
    labels = np.ma.array(np.where(hidden[:, 0], "hidden", np.where(Y[:, 0] > 0.0, "a", "b")), mask=hidden[:, 0])
    with pytest.raises(ValueError, match=r"y is a masked .*; fill"):
        MultiTaskClassifier(**MODEL).fit(door(X), door(labels.reshape(shape)))


REFUSED = {
    "masked": (lambda X: np.ma.array(X, mask=X > 1.0), "is a masked .*; fill"),
    "complex": (lambda X: X + 1j, "has complex numbers"),
    "dates": (lambda X: pd.DataFrame((1e9 * X).astype(np.int64)).astype("M8[s]"), r"has dates or durations"),
    "durations": (lambda X: pd.DataFrame(X).assign(**{"0": pd.Timedelta(1, "D")}), r"has dates or durations"),
    "text": (lambda X: pd.DataFrame(X).astype(object).replace(X[3, -1], "much"), "holds text such as 'much'"),
}


@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("what", REFUSED)
def test_features_that_are_no_numbers_are_refused(what, door, rng):
    """In a fit and in predictions, with a sentence that names X."""
    X, Y, _ = table(rng)
    make, sentence = REFUSED[what]
    with pytest.raises(ValueError, match=f"X {sentence}"):
        MultiTaskRegressor(**MODEL).fit(door(make(X)), door(Y))
    est = MultiTaskRegressor(**MODEL).fit(X, Y)
    with pytest.raises(ValueError, match=f"X {sentence}|feature names should match"):
        values_of(est.predict(door(make(X))))


@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("what", [what for what in REFUSED if what != "masked"])
@pytest.mark.parametrize("columns", ["several", "one"])
def test_targets_that_are_no_numbers_are_refused(columns, what, door, rng):
    X, Y, _ = table(rng)
    make, sentence = REFUSED[what]
    labels = make(Y)
    if columns == "one":
        labels = labels.iloc[:, -1] if hasattr(labels, "iloc") else labels[:, -1]
    with pytest.raises(ValueError, match=f"y {sentence}"):
        MultiTaskRegressor(**MODEL).fit(door(X), door(labels))


@pytest.mark.filterwarnings("error::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("what", ["masked", "complex"])
def test_weights_that_are_no_numbers_are_refused(what, door, rng):
    X, Y, _ = table(rng)
    make, sentence = REFUSED[what]
    weight = make(rng.uniform(0.5, 2.0, N))
    # Scikit-learn says it of weights in memory in its own words.
    with pytest.raises(ValueError, match=f"sample_weight {sentence}|Complex data not supported"):
        MultiTaskRegressor(**MODEL).fit(door(X), door(Y), sample_weight=door(weight))


def test_masked_tasks_are_refused(door, rng):
    X, Y, hidden = table(rng)
    tasks = np.ma.array(np.arange(N) % 3, mask=hidden[:, 0])
    with pytest.raises(ValueError, match=r"tasks (has|is a masked)"):
        MultiTaskRegressor(**MODEL).fit(door(X), door(Y[:, 0]), tasks=door(tasks))


def test_blocks_that_turn_out_to_be_masked_are_refused(rng):
    """Of a collection that says of its blocks that they are plain."""
    da = pytest.importorskip("dask.array")
    X, Y, _ = table(rng)

    def hide(values):
        return values.map_blocks(lambda block: np.ma.array(block, mask=block > 1.0), meta=np.empty((0, 0)))

    Xd, Yd = da.from_array(X, chunks=(11, -1)), da.from_array(Y, chunks=(11, -1))
    est = MultiTaskRegressor(**MODEL).fit(X, Y)
    for ask, name in (
        (lambda: MultiTaskRegressor(**MODEL).fit(hide(Xd), Yd), "X"),
        (lambda: MultiTaskRegressor(**MODEL).fit(Xd, hide(Yd)), "y"),
        (lambda: est.predict(hide(Xd)).compute(), "X"),
    ):
        with pytest.raises(ValueError, match=f"{name} is a masked array with"):
            ask()


@pytest.mark.parametrize("model", [MultiTaskRegressor, MultiTaskClassifier])
def test_no_target_at_all_is_told(model, door, rng):
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        model(**MODEL).fit(door(table(rng)[0]), None)


@pytest.mark.parametrize("classes", [[0, 1], [3, 1, 2], [True, False], [1.0, 2.0], ["0", "1"]], ids=str)
@pytest.mark.parametrize("kind", [object, None])
def test_classes_are_those_of_their_own_type(classes, kind, door, rng):
    """Also among Python's objects."""
    X, _, _ = table(rng)
    plain = np.resize(classes, N)
    y = plain if kind is None else plain.astype(kind)
    est = MultiTaskClassifier(**MODEL).fit(door(X), door(y))
    assert [(type(one), one) for one in est.classes_.tolist()] == [(type(one), one) for one in sorted(classes)]
    assert est.score(door(X), door(y)) == MultiTaskClassifier(**MODEL).fit(X, plain).score(X, plain)


@pytest.mark.parametrize("others", [[True, False], [1.0, 2.0], ["x", "y"]], ids=str)
def test_classes_of_several_types_are_refused(others, door, rng):
    """Wherever a block ends."""
    X, _, _ = table(rng)
    y = np.resize(np.array([0, 1], dtype=object), N)
    y[22:] = np.resize(np.array(others, dtype=object), N - 22)
    with pytest.raises(ValueError, match="y has classes of several types"):
        MultiTaskClassifier(**MODEL).fit(door(X), door(y))


@pytest.mark.parametrize("told", [True, False])
def test_sparse_blocks_of_dask_are_refused(told, rng):
    """Whether Dask knows of them or not; what they say at one place twice would be read as it stands."""
    da = pytest.importorskip("dask.array")
    X, Y, _ = table(rng)
    meta = sparse.csr_array((0, X.shape[1])) if told else np.empty((0, 0))
    rows = da.from_array(X, chunks=(11, -1)).map_blocks(sparse.csr_array, meta=meta)
    est = MultiTaskRegressor(**MODEL).fit(X, Y)
    for ask in (
        lambda: MultiTaskRegressor(**MODEL).fit(rows, da.from_array(Y, chunks=(11, -1))),
        lambda: est.predict(rows).compute(),
    ):
        with pytest.raises(ValueError, match="X has sparse blocks; make them dense with"):
            ask()


def two_classes(X):
    return (X[:, 0] > 0.0).astype(int)


WEIGHTS = {
    "negative": (lambda n: -np.ones(n), "negative"),
    "missing": (lambda n: np.full(n, np.nan), "missing|NaN"),
    "infinite": (lambda n: np.full(n, np.inf), "an entry of inf|infinity"),
    "text": (lambda n: np.full(n, "much", dtype=object), "sample_weight holds text such as 'much'"),
    "a column": (lambda n: np.ones((n, 1)), r"sample_weight has shape \(.*, 1\); it must be"),
    "two columns": (lambda n: np.ones((n, 2)), r"sample_weight has shape \(.*, 2\); it must be"),
}


@pytest.mark.parametrize("what", WEIGHTS)
@pytest.mark.parametrize("labels", ["classes", "indicators", "numbers"])
def test_weights_that_are_none_are_refused(labels, what, doors, rng):
    """In a fit, and in scores wherever rows are read from, with the fault that they have."""
    rows, beside = doors
    X, Y, _ = table(rng)
    y = {"classes": two_classes(X), "indicators": (Y > 0.0).astype(int), "numbers": Y}[labels]
    make, sentence = WEIGHTS[what]
    model = (MultiTaskRegressor if labels == "numbers" else MultiTaskClassifier)(**MODEL)
    with pytest.raises(ValueError, match=sentence):
        model.fit(rows(X), beside(y), sample_weight=beside(make(N)))
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y).score(as_dask(X), beside(y), sample_weight=beside(make(N)))


@pytest.mark.parametrize("labels", ["classes", "indicators", "numbers"])
def test_weights_that_are_zero_everywhere_are_refused(labels, doors, rng):
    rows, beside = doors
    X, Y, _ = table(rng)
    y = {"classes": two_classes(X), "indicators": (Y > 0.0).astype(int), "numbers": Y}[labels]
    model = (MultiTaskRegressor if labels == "numbers" else MultiTaskClassifier)(**MODEL)
    # Of a collection, labels without a weight are as good as none.
    with pytest.raises(ValueError, match=r"sample_weight is zero everywhere|no label at all .*weight zero"):
        model.fit(rows(X), beside(y), sample_weight=beside(np.zeros(N)))
    with pytest.raises(ValueError, match="sample_weight is zero everywhere"):
        model.fit(X, y).score(as_dask(X), beside(y), sample_weight=np.zeros(N))


@pytest.mark.parametrize("shape", ["classes", "indicators"])
def test_accuracies_of_no_weight_on_dask_are_refused(shape, rng):
    X, Y, _ = table(rng)
    y = {"classes": two_classes(X), "indicators": (Y > 0.0).astype(int)}[shape]
    with pytest.raises(ValueError, match="sample_weight is zero everywhere"):
        MultiTaskClassifier(**MODEL).fit(X, y).score(*map(as_dask, (X, y)), sample_weight=as_dask(np.zeros(N)))


def test_one_number_weighs_all_rows(rng):
    X, Y, _ = table(rng)
    given = as_dask(X), as_dask(Y)
    one, other = (MultiTaskRegressor(**MODEL).fit(*given, sample_weight=weight) for weight in (2.0, np.full(N, 2.0)))
    np.testing.assert_allclose(values_of(one.predict(X)), values_of(other.predict(X)), rtol=1e-12)


@pytest.mark.parametrize("shape", [N, (N, 1)])
def test_scores_need_classes_like_those_of_the_fit(shape, door, rng):
    X, Y, _ = table(rng)
    numbers = two_classes(X)
    text = np.array(["no", "yes"])[numbers]
    gaps = np.where(np.arange(N) % 2, np.nan, numbers)
    for fitted, judged, sentence in (
        (numbers, text, "text|string"),
        (text, numbers, "numbers|string"),
        (numbers, gaps, "NaN or infinite values; drop those rows"),
        (numbers, Y[:, 0], "[cC]ontinuous"),
    ):
        est = MultiTaskClassifier(**MODEL).fit(X, fitted)
        with pytest.raises((ValueError, TypeError), match=sentence):
            est.score(door(X), door(judged.reshape(shape)))


def test_scores_need_a_column_for_each_task(door, rng):
    X, Y, _ = table(rng)
    est = MultiTaskClassifier(**MODEL).fit(X, (Y > 0.0).astype(int))
    for y in (two_classes(X), np.ones((N, 2))):
        with pytest.raises(ValueError, match="columns, and there are predictions of 3 tasks"):
            est.score(door(X), door(y))


@pytest.mark.parametrize("kinds", [("i8", "f8"), ("?", "i8"), ("i8", "?"), ("i4", "u2")], ids=str)
def test_classes_that_are_numbers_of_several_types_are_those_numbers(kinds, rng):
    """As NumPy joins them."""
    da = pytest.importorskip("dask.array")
    X, _, _ = table(rng)
    codes = two_classes(X)
    parts = [codes[:22].astype(kinds[0]), codes[22:].astype(kinds[1])]
    together = da.concatenate([da.from_array(part) for part in parts])
    # As of a collection whose blocks are not what it says.
    blocks = together.map_blocks(lambda block, block_info=None: parts[block_info[0]["chunk-location"][0]], dtype="f8")
    memory = MultiTaskClassifier(**MODEL).fit(X, np.concatenate(parts))
    est = MultiTaskClassifier(**MODEL).fit(as_dask(X).rechunk((together.chunks[0], -1)), blocks)
    assert est.classes_.tolist() == memory.classes_.tolist()
    np.testing.assert_array_equal(est.predict(X), memory.predict(X))


NULLABLE = ["Float64", "Int64", "boolean", "category", "int64[pyarrow]"]


@pytest.mark.parametrize("kind", NULLABLE)
@pytest.mark.parametrize("model", [MultiTaskRegressor, MultiTaskClassifier])
@pytest.mark.filterwarnings("ignore:.*left out")
def test_gaps_of_nullable_labels(model, kind, door, rng):
    """As they are among plain numbers, and in scores, too."""
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    X, Y, hidden = table(rng)
    hidden[:, 0] = False
    plain = pd.DataFrame((Y > 0.0).astype("?" if kind == "boolean" else int), columns=list("pqr"))
    labels, with_gaps = plain.astype(kind).mask(hidden), plain.astype(float).mask(hidden)
    assert labels.isna().to_numpy().any()
    expected = model(**MODEL).fit(door(X), door(with_gaps))
    est = model(**MODEL).fit(door(X), door(labels))
    np.testing.assert_allclose(values_of(est.predict(door(X))), values_of(expected.predict(door(X))), rtol=1e-10)
    assert est.score(door(X), door(labels)) == pytest.approx(expected.score(door(X), door(with_gaps)))


def test_gaps_of_nullable_features_are_named(door, rng):
    X, Y, _ = table(rng)
    frame = pd.DataFrame(X, columns=list("abcde")[: X.shape[1]]).astype("Float64")
    frame.loc[7, "b"] = pd.NA
    with pytest.raises(ValueError, match="X has 1 NaN or infinite values, the first of them in column 'b'"):
        MultiTaskRegressor(**MODEL).fit(door(frame), door(Y))


def test_several_columns_of_text_are_no_indicators(door, rng):
    X, Y, _ = table(rng)
    text = pd.DataFrame(np.where(Y > 0.0, "a", "b")[:, :2])
    with pytest.raises(ValueError, match="y has several columns that are not 0/1"):
        MultiTaskClassifier(**MODEL).fit(door(X), door(text))


CLASSES_OF_TEXT = {
    "list": list,
    "array": np.array,
    "objects": lambda names: np.array(names, dtype=object),
    "series": pd.Series,
    "frame": lambda names: pd.DataFrame({"label": names}),
    "categories": pd.Categorical,
    "series of categories": lambda names: pd.Series(names, dtype="category"),
}


@pytest.mark.parametrize("what", CLASSES_OF_TEXT)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_text_in_memory_beside_rows_in_blocks(what, doors, rng):
    """As classes and as tasks."""
    rows, beside = doors
    X, Y, _ = table(rng)
    names = np.where(two_classes(X), "yes", "no").tolist()
    given = CLASSES_OF_TEXT[what](names)
    # A column of a table says nothing of itself.
    given = given if isinstance(given, list | pd.Categorical) else beside(given)
    est = MultiTaskClassifier(**MODEL).fit(rows(X), given)
    assert est.classes_.tolist() == ["no", "yes"]
    assert est.score(rows(X), given) == MultiTaskClassifier(**MODEL).fit(X, names).score(X, names)
    expected = MultiTaskRegressor(**MODEL).fit(X, Y[:, 0], tasks=names)
    long = MultiTaskRegressor(**MODEL).fit(rows(X), beside(Y[:, 0]), tasks=given)
    assert long.task_names_.tolist() == ["no", "yes"]
    found = values_of(long.predict(rows(X), tasks=given))
    np.testing.assert_allclose(found, expected.predict(X, tasks=names), rtol=1e-4)
    assert long.score(rows(X), beside(Y[:, 0]), tasks=given) == pytest.approx(
        expected.score(X, Y[:, 0], tasks=names), rel=1e-4
    )


@pytest.mark.parametrize("kind", ["str", "string", "Int64", "category", "int64"])
def test_tasks_in_a_column_of_any_type(kind, door, rng):
    """Without a word of Dask's own; also in a table of one column."""
    X, Y, _ = table(rng)
    names = pd.Series(np.resize([3, 1, 2], N))
    tasks = pd.DataFrame({"task": names.astype(str) if "str" in kind else names}).astype(kind)
    expected = MultiTaskRegressor(**MODEL).fit(door(X), door(Y[:, 0]), tasks=door(tasks["task"].to_numpy()))
    for column in (door(tasks["task"]), door(tasks)):
        est = MultiTaskRegressor(**MODEL).fit(door(X), door(Y[:, 0]), tasks=column)
        assert est.task_names_.tolist() == expected.task_names_.tolist()
        predictions = [values_of(one.predict(door(X), tasks=column)) for one in (est, expected)]
        np.testing.assert_allclose(*predictions, rtol=1e-10)


@pytest.mark.parametrize("gap", [None, "two columns"])
def test_tasks_that_are_no_column_of_names_are_refused(gap, door, rng):
    X, Y, _ = table(rng)
    names = np.resize(np.array(["a", "b"], dtype=object), N)
    if gap is None:
        names[30] = None
        tasks, sentence = pd.Series(names), "tasks has 1 missing values; every row needs a task"
    else:
        tasks, sentence = pd.DataFrame({"a": names, "b": names}), "does not say which task each row is of"
    with pytest.raises(ValueError, match=sentence):
        MultiTaskRegressor(**MODEL).fit(door(X), door(Y[:, 0]), tasks=door(tasks))


# Scikit-learn, or the number that is made of it, says it of targets in memory in its own words.
NO_TABLES = {
    "sparse": (
        sparse.csr_array,
        r"type csr_array, and must be an array with .* toarray\(\)|Sparse data was passed for y",
    ),
    "a mapping": (lambda Y: {"a": 1}, "y is of type dict, and must be an array with|not 'dict'; pass an array"),
    "a generator": (iter, "y is of type .*iterator, and must be an array with|iterator'; pass an array"),
    "different lengths": (lambda Y: [[1.0], [1.0, 2.0]] * (N // 2), "y has rows of different lengths; pass a table"),
}


@pytest.mark.parametrize("what", NO_TABLES)
@pytest.mark.parametrize("model", [MultiTaskRegressor, MultiTaskClassifier])
def test_targets_in_memory_that_are_no_table_are_refused(model, what, doors, rng):
    rows, _ = doors
    X, Y, _ = table(rng)
    make, sentence = NO_TABLES[what]
    with pytest.raises((ValueError, TypeError), match=sentence):
        model(**MODEL).fit(rows(X), make(Y.tolist() if what == "a generator" else Y))


def test_a_column_without_a_name_is_y0(doors, rng):
    rows, beside = doors
    X, Y, _ = table(rng)
    for name, expected in ((None, "y0"), ("iron", "iron")):
        est = MultiTaskRegressor(**MODEL).fit(rows(X), beside(pd.Series(Y[:, 0], name=name)))
        assert est.task_names_.tolist() == [expected]


@pytest.mark.parametrize("frame", [True, False])
@pytest.mark.parametrize("params", [{}, MODEL], ids=["linear", "landmarks"])
def test_rows_without_features_are_refused(params, frame, door, rng):
    X, Y, _ = table(rng)
    none = pd.DataFrame(X).iloc[:, :0] if frame else X[:, :0]
    with pytest.raises(ValueError, match="0 feature"):
        MultiTaskRegressor(**params).fit(door(none), door(Y))


def test_types_of_a_collection_are_asked_for_once(rng, monkeypatch):
    import dask.dataframe.dispatch

    X, Y, _ = table(rng)
    asked, make = [], dask.dataframe.dispatch.make_meta
    monkeypatch.setattr(dask.dataframe.dispatch, "make_meta", lambda values: asked.append(values) or make(values))
    est = MultiTaskRegressor().fit(X, Y)
    rows = as_dask(X)
    est.predict(rows)
    assert sum(values is rows for values in asked) == 1
