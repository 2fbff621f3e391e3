"""The table of kernels says what scikit-learn says, and what mathematics says."""

import inspect
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import (
    PAIRWISE_KERNEL_FUNCTIONS,
    euclidean_distances,
    manhattan_distances,
    pairwise_kernels,
)

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.features import KERNELS, KernelMap, check_kernel, kernels, make_feature_map, middle_row
from skmtl.model_selection.candidates import ALPHAS, default_gammas
from skmtl.solvers.design import KernelDesign, make_design

NAMED = sorted(set(KERNELS) - {"precomputed"})
# Parameters at which kernels that are not always positive semidefinite show it on random rows.
INDEFINITE = {"additive_chi2": {}, "poly": {"coef0": -3.0}, "polynomial": {"coef0": -3.0}, "sigmoid": {"coef0": -2.0}}


def rows(rng, n=40):
    """Random rows without negative numbers, which every kernel takes."""
    return rng.uniform(0.0, 1.0, (n, 3))


def lowest_eigenvalue(K):
    return np.linalg.eigvalsh(K)[0] / np.abs(K).max()


def test_the_table_holds_the_kernels_of_scikit_learn():
    assert set(NAMED) == set(PAIRWISE_KERNEL_FUNCTIONS)


@pytest.mark.parametrize("name", NAMED)
def test_parameters_are_those_of_the_function(name):
    signature = inspect.signature(inspect.unwrap(PAIRWISE_KERNEL_FUNCTIONS[name]))
    assert set(KERNELS[name].parameters) == set(signature.parameters) & {"gamma", "degree", "coef0"}


@pytest.mark.parametrize("name", [name for name in NAMED if KERNELS[name].parameters])
def test_parameters_that_are_not_given_are_those_of_scikit_learn(name, rng):
    X = rows(rng)
    own = KernelMap(name).parameters(X.shape[1])
    given = {parameter: own[parameter] for parameter in KERNELS[name].parameters}
    np.testing.assert_allclose(pairwise_kernels(X, metric=name, **given), pairwise_kernels(X, metric=name), rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in NAMED if KERNELS[name].sparse_rows])
def test_sparse_rows_are_taken(name, rng):
    X = rows(rng)
    K = pairwise_kernels(sparse.csr_array(X), metric=name)
    np.testing.assert_allclose(K, pairwise_kernels(X, metric=name), atol=1e-10)


@pytest.mark.parametrize("name", [name for name in NAMED if not KERNELS[name].sparse_rows])
def test_sparse_rows_are_refused(name, rng):
    with pytest.raises(TypeError, match="Sparse"):
        pairwise_kernels(sparse.csr_array(rows(rng)), metric=name)


@pytest.mark.parametrize("name", [name for name in NAMED if KERNELS[name].positive])
@pytest.mark.parametrize("gamma", [1e-2, 1.0, 30.0])
def test_positive_kernels_are_positive_semidefinite(name, gamma, rng):
    K = pairwise_kernels(rows(rng), metric=name, filter_params=True, gamma=gamma)
    assert lowest_eigenvalue(K) >= -1e-12


@pytest.mark.parametrize("name", [name for name in NAMED if not KERNELS[name].positive])
def test_other_kernels_may_be_indefinite(name, rng):
    K = pairwise_kernels(rows(rng), metric=name, filter_params=True, **INDEFINITE[name])
    assert lowest_eigenvalue(K) < -1e-3


@pytest.mark.parametrize("name", [name for name in NAMED if KERNELS[name].distances])
def test_searched_kernels_are_a_function_of_gamma_times_the_distance(name, rng):
    X = rows(rng)
    distances = KERNELS[name].distances(X)
    K = pairwise_kernels(X, metric=name, gamma=0.7)
    np.testing.assert_allclose(K, np.exp(-0.7 * distances), rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "distances"), [("rbf", lambda X: euclidean_distances(X) ** 2), ("laplacian", manhattan_distances)]
)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_gammas_lie_around_one_over_the_median_distance(name, distances, make, rng):
    X = rng.standard_normal((30, 4))
    median = np.median(distances(X)[np.triu_indices(30, 1)])
    np.testing.assert_allclose(np.array(default_gammas(name, make(X))) * median, [1 / 16, 1 / 4, 1, 4])
    # Units of the features change gammas, and the kernel not at all.
    small, large = (pairwise_kernels(c * X, metric=name, gamma=default_gammas(name, c * X)[2]) for c in (1e-3, 1e3))
    np.testing.assert_allclose(small, large, rtol=1e-6)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("far", [0.0, 1e8, 1e10])
def test_gammas_of_sparse_rows_far_from_zero_are_those_of_dense_ones(far, name, rng):
    X = rng.standard_normal((30, 3)) + far
    np.testing.assert_allclose(default_gammas(name, sparse.csr_array(X)), default_gammas(name, X), rtol=1e-9)


@pytest.mark.parametrize("kernel", [*sorted(set(KERNELS) - {"rbf", "laplacian"}), np.dot])
def test_other_kernels_keep_their_own_gamma(kernel, rng):
    assert default_gammas(kernel, rows(rng)) == [None]


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_rows_that_are_all_alike_have_no_width(name):
    assert default_gammas(name, np.ones((5, 2))) == [None]


@pytest.mark.parametrize("kernel", ["gauss", 3, None, ["rbf"]])
def test_unknown_kernels_are_named_with_the_known_ones(kernel):
    for ask in (check_kernel, make_feature_map):
        with pytest.raises(ValueError, match=r"is not known; choose one of .*rbf"):
            ask(kernel)


@pytest.mark.parametrize("gamma", [None, 1e-4, 30.0])
@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_a_gaussian_knows_rows_that_are_repeated_or_nearly_so(gamma, unit, rng):
    """However narrow: from products of rows of 1e6, squared distances would be wrong by 1e-4."""
    near = unit * rows(rng, 6)
    X = np.concatenate([near, near, near + 0.01])
    width = 1.0 / 3.0 if gamma is None else gamma
    expected = np.exp(-width * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    K = make_feature_map("rbf", gamma=gamma).fit(X).transform(X)
    np.testing.assert_allclose(K, expected, rtol=1e-7, atol=1e-11)


@pytest.mark.parametrize("entries", [10, 2**22])
@pytest.mark.parametrize("other", [sparse.csr_array, np.asarray])
def test_gaussians_of_sparse_rows_far_from_zero_keep_their_digits(entries, other, rng, monkeypatch):
    """From differences of some pairs at a time; products of such rows would leave four digits of the distances."""
    monkeypatch.setattr(kernels, "BLOCK_ENTRIES", entries)
    X, Z = (np.where(rng.random((n, 3)) < 0.6, 1e6 + rng.standard_normal((n, 3)), 0.0) for n in (17, 8))
    X[:5] = Z[:5] + 0.5 * (Z[:5] > 0.0)
    exact = np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=2))
    assert np.count_nonzero(exact > 0.1) >= 5
    found = kernels.gaussian(sparse.csr_array(X), other(Z), {"gamma": 0.5})
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("n_coded", range(1, 7))
@pytest.mark.parametrize("code", [1e19, -1e19, -999.0])
@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize(("kernel", "power"), [("rbf", 2), ("laplacian", 1)])
def test_rows_beside_any_number_of_coded_values_keep_their_digits(kernel, power, offset, code, n_coded, rng):
    """Missing values, say, that a program wrote as one number: seen from there, the others would have no digits."""
    X = offset + rng.standard_normal((7, 2))
    X[rng.permutation(7)[:n_coded], 0] = code
    wide = X.astype(np.longdouble)
    exact = np.exp(-0.5 * (np.abs(wide[:, None] - wide) ** power).sum(axis=2)).astype(float)
    for feature_map in (make_feature_map(kernel, gamma=0.5), make_feature_map(kernel, gamma=0.5, landmarks=X)):
        fitted = feature_map.fit(X)
        # Landmarks that stand twice are left out.
        places = [int(np.flatnonzero((X == row).all(axis=1))[0]) for row in fitted.X_fit_]
        np.testing.assert_allclose(fitted.transform(X), exact[:, places], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("X", [[1e19, 0.3], [0.3, 1e19], [1e19, 0.3, 1e19], [-2.0, 1.0, 4.0], [7.0, 9.0, 1e8], [2.0]])
def test_rows_seen_from_their_origin_lose_no_digits(X):
    """What a difference loses is no more than what the last digit of the value says."""
    for sign in (1.0, -1.0):
        (origin,) = middle_row(sign * np.array(X)[:, None])
        assert origin in sign * np.array(X)
        for x in sign * np.array(X):
            assert abs(Fraction(x - origin) - (Fraction(x) - Fraction(origin))) <= 2 * Fraction(np.spacing(abs(x)))


@pytest.mark.parametrize("size", [0.0, 1e3, 1e9])
def test_squared_distances_of_sparse_rows_have_their_digits(size, rng):
    """Wherever the rows are, and however near one another: four digits are lost at most."""
    X = np.where(rng.random((30, 5)) < 0.8, size + rng.standard_normal((30, 5)), 0.0)
    X[1::2] = X[::2] + np.logspace(-6, 0, 15)[:, None] * (X[::2] != 0.0)
    exact = ((X[:, None] - X) ** 2).sum(axis=2)
    rows = sparse.csr_array(X)
    for found in (kernels.squared_distances(rows), kernels.squared_distances(rows, rows.copy())):
        np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-300)


def test_of_sparse_rows_only_those_near_one_another_are_looked_at_again(rng, monkeypatch):
    """Counts of words, where most squared distances are as large as the squared norms."""
    pairs, again = set(), kernels._squared_differences

    def seen(X, Z, i, j):
        pairs.update(zip(i.tolist(), j.tolist(), strict=True))
        return again(X, Z, i, j)

    monkeypatch.setattr(kernels, "_squared_differences", seen)
    counts = np.where(rng.random((30, 400)) < 0.05, rng.integers(1, 30, size=(30, 400)), 0).astype(float)
    counts[7] = counts[3] + 0.01 * (counts[3] > 0.0)
    X, params = sparse.csr_array(counts), {"gamma": 100.0}
    exact = np.exp(-100.0 * ((counts[:, None] - counts) ** 2).sum(axis=2))
    assert 0.1 < exact[3, 7] < 1.0
    np.testing.assert_allclose(kernels.gaussian(X, X, params), exact, rtol=1e-11)
    assert pairs == {(i, i) for i in range(30)} | {(3, 7), (7, 3)}


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e2])
@pytest.mark.parametrize("spread", [1e-3, 0.3, 1.0])
@pytest.mark.parametrize("make", [sparse.csr_array, np.asarray])
def test_a_gaussian_is_no_more_wrong_than_is_said(make, spread, gamma, rng):
    """On both sides of the limits from which distances are taken from differences."""
    X = 30.0 + spread * rng.standard_normal((20, 4))
    error = np.finfo(float).eps * kernels.gaussian_error(make(X), {"gamma": gamma})
    wide = X.astype(np.longdouble)
    exact = np.exp(-gamma * ((wide[:, None] - wide) ** 2).sum(axis=2)).astype(float)
    np.testing.assert_allclose(kernels.gaussian(make(X), make(X), {"gamma": gamma}), exact, rtol=0.0, atol=4.0 * error)


@pytest.mark.parametrize("products", [1e2, 1e3, 9e3, 1e5, 9e5, 1e7])
@pytest.mark.parametrize("n", [60, 800])
@pytest.mark.parametrize("intercept", [True, False])
def test_gaussians_of_sparse_rows_are_positive_semidefinite(intercept, n, products, rng):
    """Whatever rounding makes of them: rows far from zero that are close beside the width have tiny eigenvalues."""
    X, gamma = 500.0 + 0.03 * rng.standard_normal((n, 4)), products / (4.0 * 500.0**2)
    feature_map = make_feature_map("rbf", gamma=gamma).fit(sparse.csr_array(X))
    K = feature_map.transform(sparse.csr_array(X))
    design = make_design(feature_map, K, np.ones(n), intercept=intercept, overwrite=True)
    # Digits enough are left to tell other kernels.
    assert design.rounding.inside < 1e-9


def test_the_error_of_a_kernel_is_allowed_for_where_its_eigenvalues_are_judged():
    """Errors of entries make eigenvalues of about sqrt(n) times their size; ten times as much is rounding."""
    n = 100
    K = np.eye(n)
    for lowest, refused in ((-0.9e-9, False), (-1.1e-9, True)):
        K[0, 0] = lowest
        if refused:
            with pytest.raises(ValueError, match="not positive semidefinite"):
                KernelDesign(K.copy(), np.ones(n), intercept=False, error=1e-11)
        else:
            assert len(KernelDesign(K.copy(), np.ones(n), intercept=False, error=1e-11).values) == n - 1
        with pytest.raises(ValueError, match="not positive semidefinite"):
            KernelDesign(K.copy(), np.ones(n), intercept=False)


@pytest.mark.parametrize("params", [{}, {"n_components": 9, "random_state": 0}])
def test_fits_of_sparse_rows_far_from_zero_are_those_of_dense_ones(params, rng):
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    X = np.where(rng.random(X.shape) < 0.5, X + 1e5, 0.0)
    dense, other = (
        MultiTaskRegressor(kernel="rbf", gamma=0.5, **params).fit(one, Y) for one in (X, sparse.csr_array(X))
    )
    assert other.solution_.converged
    assert other.solution_.objective == pytest.approx(dense.solution_.objective, rel=1e-6)
    np.testing.assert_allclose(other.predict(sparse.csr_array(X)), dense.predict(X), atol=1e-5)


@pytest.mark.parametrize("params", [{}, {"n_components": 7, "random_state": 0}])
@pytest.mark.parametrize("name", [name for name in NAMED if KERNELS[name].sparse_rows and name != "sigmoid"])
def test_new_rows_may_be_sparse_or_dense_whatever_those_of_the_fit_were(name, params, rng):
    """Also of a kernel that is seen from an origin: features are far from zero."""
    X, Y = 5.0 + rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    params = {"kernel": name, "alpha": 1e-2, **params}
    new = X + 0.1
    expected = MultiTaskRegressor(**params).fit(X, Y).predict(new, return_std=True)
    for rows in (X, sparse.csr_array(X)):
        est = MultiTaskRegressor(**params).fit(rows, Y)
        for form in (new, sparse.csr_array(new)):
            np.testing.assert_allclose(est.predict(form, return_std=True), expected, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(est.predict(form), expected[0], rtol=1e-5, atol=1e-6)


def test_landmarks_that_are_given_may_be_sparse_or_dense_whatever_the_rows_are(rng):
    X, Y = 5.0 + rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    expected = MultiTaskRegressor(kernel="rbf", landmarks=X[:8]).fit(X, Y).predict(X)
    for rows in (X, sparse.csr_array(X)):
        for landmarks in (X[:8], sparse.csr_array(X[:8])):
            est = MultiTaskRegressor(kernel="rbf", landmarks=landmarks).fit(rows, Y)
            np.testing.assert_allclose(est.predict(rows), expected, rtol=1e-6)


@pytest.mark.parametrize("params", [{"n_components": 7, "random_state": 0}, {"metric_rounds": 1}])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_strengths_are_searched_where_the_kernel_is_not_known_on_all_rows(kernel, params, rng):
    """Around the size of the kernel, without a map that is fitted."""
    X, Y = rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    search = MultiTaskRegressorCV("independent", kernel=kernel, cv=2, **params)
    size = 1.0 if kernel == "rbf" else np.mean((np.sum(X**2, axis=1) / 3.0 + 1.0) ** 3)
    assert np.min(np.abs(search.fit(X, Y).alpha_ / size / ALPHAS - 1.0)) < 1e-9
