"""Units change nothing but the numbers: in binary units answers and numbers of steps are the same to the last bit.

Whatever adds, or compares, what has different units takes another road in other units, and ends elsewhere, if only in
the last digit. Scaling by powers of two is exact, so that nothing else does.
"""

import numpy as np
import pytest
from problems import gram, random_psd, related_tasks, with_gaps
from scipy.linalg import helmert

from skmtl import MultiTaskClassifier, MultiTaskRegressor, minimize_structure
from skmtl.features import PrecomputedMap
from skmtl.losses import LOSSES
from skmtl.objective import Problem
from skmtl.penalties import Cluster, Fixed, Frobenius, Groups, Independent, Laplacian, Sparse, Trace
from skmtl.solvers import make_design, make_supervised, solve
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.observed import ObservedRows
from skmtl.targets import TableLabels

# Powers of four, whose roots are exact too.
UNITS = [2.0**-16, 2.0**20]
# A penalty, and the powers of a unit c that R(A) and A have where S has c^s: tr(A^-1 S) + R(A) is then of one unit.
HOMOGENEOUS = {
    "sparse": (Sparse(0.6), 2, 1, 1),
    "nearly dense": (Sparse(0.97), 2, 1, 1),
    "dense": (Sparse(1.0), 2, 1, 1),
    "splitting": (Sparse(0.6, solver="primal-dual", max_iter=100), 2, 1, 1),
    "groups": (Groups([0, 0, 1, 1, 2, 2], mu=0.7), 2, 1, 1),
    "trace": (Trace(), 1, 0, 0),
    "frobenius": (Frobenius(0.3), 3, 1, 2),
    "cluster": (Cluster(2), 1, 0, 0),
    "laplacian": (Laplacian(share=0.4), 1, 0, 0),
    "independent": (Independent(), 1, 0, 0),
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("ridge", [0.1, 1e-5])
@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_of_a_structure_step(name, ridge, unit, rng):
    penalty, of_s, of_a, _ = HOMOGENEOUS[name]
    S = random_psd(rng, 6, rank=3 if ridge < 0.1 else None, ridge=ridge)
    one, other = (penalty.minimize(c**of_s * S) for c in (1.0, unit))
    np.testing.assert_array_equal(other.structure, unit**of_a * one.structure)
    assert other.gap == one.gap
    start = random_psd(rng, 6)
    one, other = (penalty.minimize(c**of_s * S, start=c**of_a * start).structure for c in (1.0, unit))
    np.testing.assert_array_equal(other, unit**of_a * one)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("eps", [0.3, 1e-4])
@pytest.mark.parametrize("name", HOMOGENEOUS)
def test_of_a_bound_of_structures(name, eps, unit, rng):
    penalty, _, of_a, of_r = HOMOGENEOUS[name]
    Q, S = 0.03 * random_psd(rng, 6), random_psd(rng, 6)
    A = penalty.minimize(S).structure
    # eps tr(A^-1), R(A) and tr(A Q) are of one unit.
    of_r = of_r or 1
    one, other = (
        penalty.lower_bound(c ** (of_r - of_a) * Q, c ** (of_r + of_a) * eps, c**of_a * A) for c in (1.0, unit)
    )
    assert np.isfinite(one)
    assert other == unit**of_r * one


def make_problem(penalty, loss, *, alpha, eps, rows=1.0, targets=1.0, weights=1.0, gaps=0.0, road=None, common=0.0):
    rng = np.random.default_rng(5)
    X, Y = related_tasks(rng, 24, 4)
    Y = with_gaps(rng, Y, gaps) if gaps else Y
    weight, Y = weights * (~np.isnan(Y)), targets * np.nan_to_num(Y)
    labels = TableLabels(np.where(Y > 0.0, 1.0, -1.0) if loss in ("logistic", "squared_hinge", "hinge") else Y, weight)
    K = rows**2 * gram(X, "rbf")
    design = make_design(PrecomputedMap(), K, labels.design_weight(), intercept=True, overwrite=False)
    if road is None:
        supervised = make_supervised(design, labels, LOSSES[loss](), alpha, intercept=True)
    else:
        observed = ObservedRows(labels.arrange(design.rows()), design.values, labels, intercept=True)
        supervised = MissingLabelRidge(observed, alpha, road)
    return Problem(supervised, penalty, eps, common, design.rounding)


PROBLEMS = {
    "ridge": (Sparse(0.7), "square", {}),
    "common": (Sparse(0.7), "square", {"common": 1.0}),
    **{road: (Sparse(0.7), "square", {"gaps": 0.3, "road": road}) for road in ("labels", "completed", "features")},
    "iterative": (Sparse(0.7), "square", {"gaps": 0.3, "road": "iterative"}),
    "tasks": (Trace(), "square", {"gaps": 0.3, "road": "tasks"}),
    "logistic": (Sparse(0.7), "logistic", {"gaps": 0.3}),
    "squared_hinge": (Sparse(0.7), "squared_hinge", {}),
    "huber": (Sparse(0.7), "huber", {"gaps": 0.3}),
    "hinge": (Sparse(0.7), "hinge", {}),
    "quantile": (Sparse(0.7), "quantile", {"gaps": 0.3}),
    "trace": (Trace(), "square", {}),
    "cluster": (Cluster(2), "logistic", {}),
    "laplacian": (Laplacian(), "square", {"gaps": 0.3}),
    "fixed": (Fixed(np.array([[2.0, 1, 0, 0], [1, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]])), "square", {"gaps": 0.3}),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_of_rows(name):
    """Rows in other units have smaller predictors, and structures that make up for it, at another alpha."""
    (penalty, loss, given), unit = PROBLEMS[name], 2.0**12
    of_a = -1 if penalty.name == "sparse" else 0
    solutions = []
    for c in (1.0, unit):
        rng = np.random.default_rng(0)
        # alpha tr(A^-1 W'W), alpha eps tr(A^-1) and alpha R(A) stay what they are.
        more = {**given, "common": c**of_a * given.get("common", 0.0)}
        problem = make_problem(penalty, loss, rows=c, alpha=0.02 * c ** (2 + of_a), eps=0.05 * c**-2, **more)
        # Solvers that are given no start begin with structures of size one.
        solutions.append(solve(problem, start=c**of_a * random_psd(rng, 4)))
    one, other = solutions
    assert one.converged
    assert (other.n_iter, other.gap) == (one.n_iter, one.gap)
    assert (other.objective, other.lower_bound) == (one.objective, one.lower_bound)
    np.testing.assert_array_equal(other.structure, unit**of_a * one.structure)
    np.testing.assert_array_equal(other.coef, one.coef / unit)
    np.testing.assert_array_equal(other.intercept, one.intercept)


@pytest.mark.parametrize("name", PROBLEMS)
def test_of_weights(name):
    penalty, loss, given = PROBLEMS[name]
    unit = 2.0**-12
    one, other = (
        solve(make_problem(penalty, loss, alpha=0.02, eps=0.05, weights=weights, **given)) for weights in (1.0, unit)
    )
    assert (other.n_iter, other.objective, other.lower_bound) == (one.n_iter, one.objective, one.lower_bound)
    np.testing.assert_array_equal(other.structure, one.structure)
    np.testing.assert_array_equal(other.intercept, one.intercept)


@pytest.mark.parametrize("unit", [2.0**-10, 2.0**10])
@pytest.mark.parametrize(
    "name", ["ridge", "labels", "features", "iterative", "trace", "laplacian", "fixed", "quantile"]
)
def test_of_targets(name, unit):
    """Predictors have the unit of the targets, and the objective its square where the loss is one."""
    penalty, loss, given = PROBLEMS[name]
    of_a, of_loss = int(penalty.name == "sparse"), 2 if loss == "square" else 1
    solutions = []
    for c in (1.0, unit):
        # alpha tr(A^-1 W'W), alpha eps tr(A^-1) and alpha R(A) have the unit of the loss.
        alpha = 0.02 * c ** (of_loss - 2 + of_a)
        problem = make_problem(penalty, loss, alpha=alpha, eps=0.05 * c**2, targets=c, **given)
        solutions.append(solve(problem, start=c**of_a * random_psd(np.random.default_rng(0), 4)))
    one, other = solutions
    assert (other.n_iter, other.gap) == (one.n_iter, one.gap)
    assert (other.objective, other.lower_bound) == (unit**of_loss * one.objective, unit**of_loss * one.lower_bound)
    np.testing.assert_array_equal(other.structure, unit**of_a * one.structure)
    np.testing.assert_array_equal(other.coef, unit * one.coef)
    np.testing.assert_array_equal(other.intercept, unit * one.intercept)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("part", ["sum", "bounds", "rows"])
def test_of_the_domain_of_clusters(unit, part):
    """What counts as rounding is relative to the eigenvalues."""
    penalty = Cluster(2, within=8.0 * unit, between=2.0 * unit, mean=0.5 * unit)
    N = helmert(4).T
    for away, inside in [(0.0, True), (0.2e-9, True), (1e-8, False), (-1e-8, False)]:
        # Between 1/8 and 1/2, with a sum of 2/8 + 1/2; rows sum to 2.
        a = np.array([0.25, 0.25, 0.25 + away * (part == "sum")])
        if part == "bounds":
            a = np.array([0.125 - away, 0.125, 0.5 + away])
            inside = inside or away < 0.0
        A = (N * (a / unit)) @ N.T + (0.5 + away * (part == "rows")) / unit
        assert penalty.value(A) == (0.0 if inside else np.inf)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("n_clusters", [1, 4])
def test_of_the_trace_of_clusters(unit, n_clusters):
    """It may be wrong by what is rounding of the largest eigenvalue that there may be, or of itself."""
    penalty = Cluster(n_clusters, within=80.0 * unit, between=2.0 * unit, mean=0.5 * unit)
    N, a = helmert(4).T, 1.0 / 80.0 if n_clusters == 1 else 0.5
    # One cluster has a trace of 3/80, far below 1/2, and four clusters one of 3/2.
    largest = max(3.0 * a, 0.5)
    for share, inside in [(-1.1, False), (-0.9, True), (0.9, True), (1.1, False)]:
        sign = 1.0 if n_clusters == 1 else -1.0
        if share * sign < 0.0:
            # Out of the bounds, besides.
            continue
        A = (N * ((a + share * 1e-9 * largest / 3.0) / unit)) @ N.T + 0.5 / unit
        assert penalty.value(A) == (0.0 if inside else np.inf)


@pytest.mark.parametrize("unit", [*UNITS, 1.0])
@pytest.mark.parametrize(("share", "allowed"), [(0.9, True), (1.1, False)])
def test_of_structures_that_are_known(unit, share, allowed):
    """What is not symmetric, or negative, by less than rounding of the largest entry, is let in."""
    A = 4.0 * unit * np.array([[0.5, 0.5], [0.5, 0.5]])
    below = A - 4.0 * unit * share * 0.5e-10 * np.array([[0.5, -0.5], [-0.5, 0.5]])
    lopsided = np.diag([4.0, 2.0]) * unit
    lopsided[0, 1] = share * 4e-10 * unit
    for matrix, message in ((below, "negative eigenvalue"), (lopsided, "not symmetric")):
        if allowed:
            Fixed(matrix).check(2)
            assert np.linalg.eigvalsh(Fixed(matrix).structure(2))[0] >= -1e-16 * unit
        else:
            with pytest.raises(ValueError, match=message):
                Fixed(matrix).check(2)


@pytest.mark.parametrize("unit", UNITS)
def test_of_what_is_not_symmetric(unit):
    """Entries next to nothing may differ by what is next to nothing beside the largest."""
    for away, symmetric in [(0.5e-10, True), (2e-10, False)]:
        S = np.diag([4.0, 2.0]) * unit
        S[0, 1] = 4.0 * away * unit
        if symmetric:
            np.testing.assert_allclose(minimize_structure(S, "trace").structure[0, 1], 0.0, atol=1e-9)
        else:
            with pytest.raises(ValueError, match="not symmetric"):
                minimize_structure(S, "trace")


def narrow(x, z, unit=1.0):
    """A kernel in any unit."""
    return unit * np.exp(-0.25 * np.sum((x - z) ** 2))


def test_of_kernels(rng):
    """A kernel of another unit, at an alpha in the same, gives the same; also what landmarks miss of rows."""
    X, Y = related_tasks(rng, 75, 2)
    given = []
    for unit in (1.0, 2.0**-24, 2.0**24):
        model = MultiTaskRegressor(
            "independent",
            kernel=narrow,
            kernel_params={"unit": unit},
            alpha=1e-3 * unit,
            n_components=12,
            random_state=0,
        )
        given.append(answers(model.fit(X, Y), X[:5] + 0.1))
    np.testing.assert_array_equal(given[1], given[0])
    np.testing.assert_array_equal(given[2], given[0])


# Estimators -----------------------------------------------------------------------------------------------------------

MODELS = {
    "kernel": {"kernel": "rbf", "alpha": 1e-3},
    "linear": {"alpha": 1e-2, "common": 1.0},
    "independent": {"penalty": "independent", "kernel": "rbf", "alpha": 1e-3},
    "landmarks": {"kernel": "rbf", "n_components": 15, "random_state": 0},
    "slopes": {"kernel": "rbf", "metric_rounds": 2},
    "evidence": {"kernel": "rbf", "metric_rounds": 1, "metric_rule": "evidence"},
    "balanced": {"kernel": "laplacian", "balance_tasks": True},
}


def answers(est, X_new):
    """All that an estimator says of new rows, in the units of the targets."""
    mean, std = est.predict(X_new, return_std=True)
    low, high = est.predict_interval(X_new, coverage=0.8)
    known = np.full(mean.shape, np.nan)
    known[:, 0] = mean[:, 0] + std[:, 0]
    moved, left = est.predict(X_new, return_std=True, known=known)
    return np.stack([mean, std, low, high, moved, left])


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("name", MODELS)
def test_of_targets_rows_and_weights_of_a_regressor(name, gaps, rng):
    """Alpha is relative to targets of variance one, and to weights of mean one; widths are of the rows."""
    params = {"gamma": 0.25, **MODELS[name]}
    X, Y = related_tasks(rng, 50, 3)
    Y, weight = with_gaps(rng, Y, gaps) if gaps else Y, rng.uniform(0.5, 2.0, 50)
    Z = rng.standard_normal((7, 5))
    one = MultiTaskRegressor(**params).fit(X, Y, sample_weight=weight)
    expected = answers(one, Z)
    unit = 2.0**12
    other = MultiTaskRegressor(**params).fit(X, unit * Y, sample_weight=weight / unit)
    np.testing.assert_array_equal(other.structure_, one.structure_)
    np.testing.assert_array_equal(answers(other, Z), unit * expected)
    assert other.solution_.objective == one.solution_.objective
    assert other.score(Z, unit * one.predict(Z) + unit) == one.score(Z, one.predict(Z) + 1.0)
    if name == "linear":
        return
    narrow = {"gamma": params["gamma"] / (unit if params["kernel"] == "laplacian" else unit**2)}
    other = MultiTaskRegressor(**{**params, **narrow}).fit(unit * X, Y, sample_weight=weight)
    np.testing.assert_allclose(answers(other, unit * Z), expected, rtol=1e-9)


@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge", "hinge", "softmax"])
def test_of_weights_of_a_classifier(loss, rng):
    X = rng.standard_normal((40, 3))
    y = np.argmax(X + 0.7 * rng.standard_normal(X.shape), axis=1)
    weight, unit = rng.uniform(0.5, 2.0, 40), 2.0**-10
    one, other = (
        MultiTaskClassifier(loss=loss, kernel="rbf", alpha=0.02).fit(X, y, sample_weight=c * weight)
        for c in (1.0, unit)
    )
    np.testing.assert_array_equal(other.decision_function(X), one.decision_function(X))
    if one.loss_.gives_probabilities:
        # Where scores are calibrated, weights are numbers of labels.
        np.testing.assert_array_equal(other.predict_proba(X), one.predict_proba(X))
    np.testing.assert_array_equal(other.structure_, one.structure_)
