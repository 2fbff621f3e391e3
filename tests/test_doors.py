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
    assert est.score(door(X), door(masked)) == expected.score(door(X), door(with_gaps))


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
