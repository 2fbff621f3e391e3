"""Sparse rows say the same however their entries are written down, and stay as the user wrote them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import skmtl.estimators.blocks
from skmtl import MultiTaskClassifier, MultiTaskRegressor, MultiTaskRegressorCV
from skmtl._numbers import check_sparse
from skmtl.features import KERNELS, KernelMap

SPARSE_KERNELS = [name for name, facts in KERNELS.items() if facts.sparse_rows]
# A sigmoid is not positive semidefinite on such rows, and "poly" is "polynomial".
FITTED = [name for name in SPARSE_KERNELS if name not in ("sigmoid", "poly")]


def split(X):
    """Every entry in two parts that add up to it."""
    data = np.stack([3.0 * X.data, -2.0 * X.data], axis=1).ravel()
    return sparse.csr_array((data, np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)


def unsorted(X):
    """The entries of each row in reverse; SciPy is told that nothing changed."""
    rows = [slice(*X.indptr[i : i + 2]) for i in range(X.shape[0])]
    data, indices = (np.concatenate([part[row][::-1] for row in rows]) for part in (X.data, X.indices))
    made = sparse.csr_array((X.data.copy(), X.indices.copy(), X.indptr.copy()), shape=X.shape)
    # SciPy notes what it is asked.
    made.has_canonical_format  # noqa: B018
    made.data[:], made.indices[:] = data, indices
    return made


def long_indices(X):
    return sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)


def columns_in_parts(X):
    """The same by columns, with entries in parts."""
    return split(sparse.csr_array(X.T)).T


def several_at_once(X):
    return long_indices(unsorted(split(unsorted(X))))


FORMS = [split, unsorted, long_indices, columns_in_parts, several_at_once]
MODELS = {
    "exact": {},
    "drawn": {"n_components": 12, "random_state": 0},
    "leverage": {"n_components": 12, "landmarks": "leverage", "random_state": 0},
}


@pytest.fixture(params=["in memory", "in blocks"])
def large(request, monkeypatch):
    if request.param == "in blocks":
        monkeypatch.setattr(skmtl.estimators.blocks, "LARGE", 0)


def table(rng):
    X = np.where(rng.random((30, 5)) < 0.6, rng.standard_normal((30, 5)), 0.0)
    return X, X @ rng.standard_normal((5, 2)) + 0.1 * rng.standard_normal((30, 2))


def bytes_of(X):
    return [part.tobytes() for part in (X.data, X.indices, X.indptr)]


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_what_they_say(form, rng):
    X, _ = table(rng)
    made = form(sparse.csr_array(X))
    np.testing.assert_allclose(made.toarray(), X, rtol=1e-14)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", SPARSE_KERNELS)
def test_kernels_of_checked_rows_are_those_of_dense_ones(kernel, form, rng):
    X, _ = table(rng)
    expected = KernelMap(kernel, {"gamma": 0.1}).fit(X).transform(X)
    rows = form(sparse.csr_array(X))
    before = bytes_of(rows)
    checked = check_sparse("X", rows)
    K = KernelMap(kernel, {"gamma": 0.1}).fit(checked).transform(checked)
    np.testing.assert_allclose(K, expected, rtol=1e-9, atol=1e-12)
    assert bytes_of(rows) == before


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kernel", FITTED)
def test_kernels_see_what_sparse_rows_say(kernel, model, form, rng):
    X, Y = table(rng)
    params = {"kernel": kernel, "gamma": 0.1, "alpha": 0.1, **MODELS[model]}
    expected = MultiTaskRegressor(**params).fit(X, Y).predict(X)
    rows = form(sparse.csr_array(X))
    before = bytes_of(rows)
    est = MultiTaskRegressor(**params).fit(rows, Y)
    np.testing.assert_allclose(est.predict(X), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(est.predict(rows), expected, rtol=1e-6, atol=1e-7)
    assert bytes_of(rows) == before


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kernel", FITTED)
def test_tasks_with_rows_of_their_own_are_those_of_dense_rows(kernel, model, rng):
    X, Y = table(rng)
    tasks, classes = rng.integers(0, 3, 30), np.where(Y[:, 0] > 0.0, "yes", "no")
    params = {"kernel": kernel, "gamma": 0.1, "alpha": 0.1, **MODELS[model]}
    for est, y in ((MultiTaskRegressor(**params), Y[:, 0]), (MultiTaskClassifier(loss="square", **params), classes)):
        found, expected = (
            clone(est).fit(rows, y, tasks=tasks).score(rows, y, tasks=tasks) for rows in (sparse.csr_array(X), X)
        )
        assert np.isclose(found, expected, rtol=1e-6)


def test_searches_of_tasks_with_sparse_rows_of_their_own_have_a_score(rng):
    X, Y = table(rng)
    search = MultiTaskRegressorCV(alphas=[0.1], mus=[0.9], kernel="linear", cv=3)
    tasks = rng.integers(0, 3, 30)
    found, expected = (
        clone(search).fit(rows, Y[:, 0], tasks=tasks).score(rows, Y[:, 0], tasks=tasks)
        for rows in (sparse.csr_array(X), X)
    )
    assert np.isclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", FITTED)
def test_landmarks_that_are_given_are_what_they_say(kernel, make, form, rng):
    X, Y = table(rng)
    params = {"kernel": kernel, "gamma": 0.1, "alpha": 0.1}
    expected = MultiTaskRegressor(**params, landmarks=X[:12]).fit(X, Y).predict(X)
    landmarks = form(sparse.csr_array(X[:12]))
    before = bytes_of(landmarks)
    est = MultiTaskRegressor(**params, landmarks=landmarks).fit(make(X), Y)
    np.testing.assert_allclose(est.predict(make(X)), expected, rtol=1e-6, atol=1e-7)
    assert bytes_of(landmarks) == before


def test_rows_in_order_are_not_copied(rng):
    X = sparse.csr_array(table(rng)[0])
    kept = MultiTaskRegressor(kernel="laplacian").fit(X, table(rng)[1]).feature_map_.X_fit_
    assert np.shares_memory(kept.data, X.data)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("where", [-1, 5, 2**40])
def test_entries_at_places_that_there_are_not_are_refused(where, rng):
    X, Y = table(rng)
    rows, some = (long_indices(sparse.csr_array(X[:n])) for n in (30, 9))
    rows.indices[3] = some.indices[3] = where
    for name, data, landmarks in (("X", rows, "uniform"), ("landmarks", X, some)):
        est = MultiTaskRegressor(kernel="rbf", n_components=9, landmarks=landmarks)
        with pytest.raises(ValueError, match=f"{name} is a sparse matrix of shape .* with entries at places"):
            est.fit(data, Y)
    with pytest.raises(ValueError, match="X is a sparse matrix of shape"):
        MultiTaskRegressor(kernel="rbf", n_components=9).fit(X, Y).predict(rows)


def misplaced_block(X):
    rows = sparse.bsr_array(X, blocksize=(5, 5))
    rows.indices[0] = 1
    return rows


def misplaced_list(X):
    rows = sparse.lil_array(X)
    rows.rows[0] = [*rows.rows[0][:-1], X.shape[1]]
    return rows


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("make", [misplaced_block, misplaced_list])
def test_entries_of_other_forms_at_places_that_there_are_not_are_refused(make, rng):
    X, Y = table(rng)
    with pytest.raises(ValueError, match=r"X is a sparse matrix of shape .* with entries at places"):
        MultiTaskRegressor(kernel="rbf", n_components=9).fit(make(X), Y)


@pytest.mark.usefixtures("large")
def test_text_in_sparse_rows_is_refused(rng):
    X, Y = table(rng)
    rows = sparse.csr_array(X)
    rows.data = rows.data.astype(object)
    rows.data[3] = "a"
    with pytest.raises(ValueError, match="X holds text such as 'a' where numbers are needed"):
        MultiTaskRegressor(kernel="rbf", n_components=9).fit(rows, Y)


def test_complex_sparse_landmarks_and_rows_are_refused(rng):
    X, Y = table(rng)
    other = sparse.csr_array(X * 1j)
    with pytest.raises(ValueError, match="X has complex numbers"):
        MultiTaskRegressor(kernel="rbf").fit(other, Y)
    with pytest.raises(ValueError, match="landmarks has complex numbers"):
        MultiTaskRegressor(kernel="rbf", landmarks=other).fit(X, Y)
