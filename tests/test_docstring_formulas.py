"""Every formula that a docstring displays is evaluated; those of losses and penalties are in test_formulas.py.

A formula stands here beside numbers that were computed from it, not by the code that it describes.
"""

import re
from pathlib import Path

import numpy as np
import pytest
import test_formulas
import test_known_structure
import test_metric
import test_metric_evidence
import test_vision
from problems import related_tasks, with_gaps
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

import skmtl
from skmtl import MultiTaskRegressor
from skmtl._rows import as_rows
from skmtl.datasets import make_sparse_tasks
from skmtl.features.landmarks import leverage_landmarks, uniform_landmarks
from skmtl.losses import Huber
from skmtl.penalties import Fixed, Frobenius

A = np.array([[1.0, 0.8, -0.3], [0.8, 2.0, 0.1], [-0.3, 0.1, 0.5]])
ALPHA, GAMMA, N = 0.02, 0.3, 20
# Formulas by the tests that evaluate them.
EVALUATED = {
    r"\min_c \lVert x - B'c \rVert^2 + \beta \, \mathrm{tr}(C) \lVert c \rVert^2, \quad 1'c = 1,": (
        test_vision.test_codes_solve_their_problem_over_the_nearest_words
    ),
    r"f_t = b_t + \sigma_t \sum_s (A + c\,11')_{ts} \, g_s, \qquad g_s = \sum_i k(\cdot, x_i) \, c_{is},": (
        test_known_structure.test_predictors_are_mixtures_of_latent_tasks,
        test_known_structure.test_latent_tasks_are_made_of_the_labels_of_their_task,
    ),
    r"\frac{\partial f_t}{\partial x_k}(x) = r_k \sum_j C_{jt} \frac{\partial k(z, z_j)}{\partial z_k}, \qquad "
    r"m_k = \operatorname{mean}_{i,t} \Bigl( \frac{\partial f_t}{\partial x_k}(x_i) \Bigr)^2,": (
        test_metric.test_slopes_are_finite_differences,
        test_formulas.test_the_metric_is_made_of_slopes,
    ),
    r"\frac{\partial L}{\partial \log w_k} = \frac{w_k}{2} (a_k - b_k), \qquad "
    r"a_k = -\frac{c' (K \circ D_k) c}{s}, \qquad b_k = -\operatorname{tr} N (K \circ D_k),": (
        test_metric_evidence.test_difference_of_roughness_is_the_slope_of_the_evidence
    ),
    r"\Sigma_{ts}(x) = \frac{1}{n \alpha} \bigl( A_{ts} k(x, x) - \kappa_t' M^{-1} \kappa_s \bigr), \qquad "
    r"\kappa_{tl} = A_{t t(l)} k(x, x_{i(l)}),": test_formulas.test_the_posterior_is_what_is_printed,
}


def evaluates(*tex):
    """The formulas that a test evaluates."""

    def register(test):
        EVALUATED.update(dict.fromkeys(tex, test))
        return test

    return register


def displayed():
    """The text of every ``.. math::`` of the package, losses and penalties apart."""
    root = Path(skmtl.__file__).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        if path.parent.name not in ("losses", "penalties"):
            found += re.findall(r"\.\. math::\s*(.+?)\n\s*(?:\n|\"\"\")", path.read_text(), re.DOTALL)
    return [" ".join(tex.split()) for tex in found]


def fit(X, Y, penalty=None, **params):
    """In the units of the formulas: targets are not scaled."""
    given = {"kernel": "rbf", "gamma": GAMMA, "alpha": ALPHA, "scale_targets": False, "tol": 1e-10} | params
    weight = given.pop("weight", None)
    return MultiTaskRegressor(penalty or Fixed(A), **given).fit(X, Y, sample_weight=weight)


OBJECTIVE = (
    r"\frac{1}{n} \sum_{it} w_{it} V(y_{it}, f_t(x_i)) + \alpha \bigl( \lVert f \rVert_A^2 + \epsilon "
    r"\operatorname{tr}(A^{-1}) + R(A) \bigr)"
)


@evaluates(
    OBJECTIVE + ",",
    r"P(f, A) = " + OBJECTIVE,
    r"P \ge -\frac{1}{n} \sum_{it} w_{it} V^*(y_{it}, -2 n \alpha s c_{it} / w_{it}) + \alpha \Bigl( \min_A \{ "
    r"\epsilon \operatorname{tr}(A^{-1}) + R(A) - s^2 \operatorname{tr}(A Q) \} - s^2 c\,1'Q1 \Bigr).",
)
def test_the_objective_and_its_bound_with_weights_and_a_common_part(rng):
    X, Y = related_tasks(rng, N, 3)
    w, c, eps = rng.uniform(0.5, 2.0, Y.shape), 0.7, 0.1
    n, penalty = w.sum() / 3, Frobenius()
    est = fit(X, Y, penalty, weight=w, common=c, eps=eps, loss=Huber(0.3), fit_intercept=False, tol=1e-9)
    K, B, S, f = rbf_kernel(X, gamma=GAMMA), est.dual_coef_, est.structure_, est.predict(X)
    r = np.abs(Y - f)
    V = np.where(r <= 0.3, r**2 / 2, 0.3 * r - 0.3**2 / 2)
    assert np.any(r > 0.3)
    norm = np.trace(np.linalg.inv(S + c) @ B.T @ K @ B)
    P = np.sum(w * V) / n + ALPHA * (norm + eps * np.trace(np.linalg.inv(S)) + np.sum(S**2))
    assert est.solution_.objective == pytest.approx(P, rel=1e-9)

    def bound(C, s):
        U, Q = -2 * n * ALPHA * s * C / w, C.T @ K @ C
        # By eigenvalues, on a fine grid: eps / a + a^2 - q a.
        a = np.geomspace(1e-3, 1e2, 200_001)
        inner = sum(float(np.min(eps / a + a**2 - value * a)) for value in np.linalg.eigvalsh(s**2 * Q))
        return -np.sum(w * (U * Y + U**2 / 2)) / n + ALPHA * (inner - s**2 * c * Q.sum())

    C = w * np.clip(Y - f, -0.3, 0.3) / (2 * n * ALPHA)
    assert bound(C, 1.0) == pytest.approx(P, rel=1e-6)
    for s in (0.2, 0.7, 0.99):
        assert bound(C * rng.uniform(0.0, 1.0, C.shape), s) < P


@evaluates(
    r"R = \bigl( (C U) / H \bigr) U', \qquad H_{ij} = \sum_l \frac{V_{il}^2}{k_l a_j + n \alpha} + \frac{1 - e_i^2 - "
    r"\sum_l V_{il}^2}{n \alpha},"
)
def test_rows_left_out_with_constants(rng):
    X, Y = related_tasks(rng, N, 3)
    ridge, K = N * ALPHA, rbf_kernel(X, gamma=0.01)
    C = (Y - fit(X, Y, gamma=0.01).predict(X)) / ridge
    center = np.eye(N) - 1 / N
    (k, V), (a, U) = np.linalg.eigh(center @ K @ center), np.linalg.eigh(A)
    # A wide kernel has next to no rank: what lies outside of its range counts.
    k, V = k[k > 1e-7], V[:, k > 1e-7]
    inside = V**2
    H = inside @ (1 / (k[:, None] * a + ridge)) + ((1 - 1 / N - inside.sum(axis=1)) / ridge)[:, None]
    R = ((C @ U) / H) @ U.T
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        # n alpha stays what it is for all rows.
        without = fit(X[rest], Y[rest], gamma=0.01, alpha=ridge / (N - 1))
        np.testing.assert_allclose(Y[i] - without.predict(X[i : i + 1])[0], R[i], atol=1e-5)


@evaluates(
    r"\Sigma(x) = U \operatorname{diag}_b \Bigl( \sum_l \frac{\phi_l(x)^2 a_b}{k_l a_b + n \alpha} + "
    r"\frac{a_b}{n \alpha} \bigl( k(x, x) - \lVert \phi(x) \rVert^2 \bigr) \Bigr) U' + \frac{I}{\sum_i w_i}."
)
def test_the_posterior_of_complete_labels_with_constants(rng):
    X, Y = related_tasks(rng, N, 3)
    est, x, ridge = fit(X, Y), rng.standard_normal(X.shape[1]), N * ALPHA
    K, k_x = rbf_kernel(X, gamma=GAMMA), rbf_kernel(X, x[None], gamma=GAMMA)[:, 0]
    center = np.eye(N) - 1 / N
    (k, V), (a, U) = np.linalg.eigh(center @ K @ center), np.linalg.eigh(A)
    k, V = k[1:], V[:, 1:]
    phi = V.T @ (k_x - K.mean(axis=1)) / np.sqrt(k)
    k_xx = 1.0 - 2 * k_x.mean() + K.mean()
    inner = [np.sum(phi**2 * b / (k * b + ridge)) + b / ridge * (k_xx - phi @ phi) for b in a]
    Sigma = U @ np.diag(inner) @ U.T + np.eye(3) / N
    _, std = est.predict(x[None], return_std=True)
    np.testing.assert_allclose(est.noise_**2 * (np.diag(Sigma) + 1.0), std[0] ** 2, rtol=1e-6)


@evaluates(r"M c + E b = y, \qquad E'c = 0, \qquad M = K_{ii'} A_{tt'} + n \alpha \operatorname{diag}(1 / w),")
def test_labels_one_by_one_with_a_border(rng):
    X, Y = related_tasks(rng, N, 3)
    Y = with_gaps(rng, Y)
    weight = rng.uniform(0.5, 2.0, Y.shape)
    row, task = np.nonzero(~np.isnan(Y))
    w = weight[row, task]
    M = rbf_kernel(X[row], gamma=GAMMA) * A[np.ix_(task, task)] + w.sum() / 3 * ALPHA * np.diag(1 / w)
    E = np.eye(3)[task]
    c, b = np.split(
        np.linalg.solve(np.block([[M, E], [E.T, np.zeros((3, 3))]]), np.append(Y[row, task], [0, 0, 0])), [len(row)]
    )
    expected = b + (rbf_kernel(X, X[row], gamma=GAMMA) * c) @ A[task]
    np.testing.assert_allclose(fit(X, Y, weight=weight).predict(X), expected, atol=1e-6)


@evaluates(
    r"(n \alpha I + B) g = \sum_t v_t \otimes b_t, \qquad B = \sum_t v_t v_t' \otimes G_t.",
)
def test_features_of_missing_labels(rng):
    X, Y = related_tasks(rng, N, 3)
    Y = with_gaps(rng, Y)
    known = ~np.isnan(Y)
    values, U = np.linalg.eigh(A)
    v = U * np.sqrt(values)
    grams = [X[own].T @ X[own] for own in known.T]
    B = sum(np.kron(np.outer(v[t], v[t]), grams[t]) for t in range(3))
    rhs = sum(np.kron(v[t], X[known[:, t]].T @ Y[known[:, t], t]) for t in range(3))
    g = np.linalg.solve(known.sum() / 3 * ALPHA * np.eye(len(B)) + B, rhs)
    W = g.reshape(3, -1).T @ v.T
    np.testing.assert_allclose(fit(X, Y, kernel="linear", fit_intercept=False).coef_, W.T, atol=1e-7)


@evaluates(r"(M_f^{-1})_{NN}\, z = -(M_f^{-1} y_0)_N,")
def test_missing_entries_make_the_coefficients_vanish(rng):
    X, Y = related_tasks(rng, N, 3)
    Y = with_gaps(rng, Y, 0.1)
    missing = np.isnan(Y.T.ravel())
    K, ridge = rbf_kernel(X, gamma=GAMMA), (~missing).sum() / 3 * ALPHA
    inverse, y = np.linalg.inv(np.kron(A, K) + ridge * np.eye(Y.size)), np.nan_to_num(Y.T.ravel())
    y[missing] = np.linalg.solve(inverse[np.ix_(missing, missing)], -(inverse @ y)[missing])
    C = (inverse @ y).reshape(3, N).T
    assert np.abs(C[np.isnan(Y)]).max() < 1e-9
    np.testing.assert_allclose(K @ C @ A, fit(X, Y, fit_intercept=False).predict(X), atol=1e-6)


@evaluates(r"\tilde k(x, z) = k(x, z) - k(x, m) - k(m, z) + k(m, m)")
def test_a_polynomial_seen_from_an_origin_makes_the_same_functions(rng):
    X, Y = related_tasks(rng, N, 3)
    m = X.mean(axis=0, keepdims=True)
    params = {"gamma": 0.5, "degree": 3, "coef0": 1.0}

    def k(x, z):
        return polynomial_kernel(x, z, **params)

    moved = k(X, X) - k(X, m) - k(m, X) + k(m, m)
    ours = fit(X, Y, kernel="poly", **params).predict(X)
    for K in (k(X, X), moved):
        E = np.kron(np.eye(3), np.ones((N, 1)))
        M = np.kron(A, K) + N * ALPHA * np.eye(3 * N)
        solved = np.linalg.solve(np.block([[M, E], [E.T, np.zeros((3, 3))]]), np.append(Y.T.ravel(), np.zeros(3)))
        expected = K @ solved[:-3].reshape(3, N).T @ A + solved[-3:]
        np.testing.assert_allclose(ours, expected, atol=1e-6)


@evaluates(r"\ell_i \propto k(x_i, x_i) - k_i' (K_{ss} + \lambda I)^{-1} k_i,")
def test_landmarks_are_drawn_by_what_the_others_miss(rng):
    """One landmark of five rows; lambda is the median of the eigenvalues between the pilot rows."""
    X = np.array([[0.0], [0.1], [0.2], [1.0], [3.0]])
    expected, drawn, n_seeds = np.zeros(5), np.zeros(5), 400
    for seed in range(n_seeds):
        rows = as_rows(X)
        pilot = uniform_landmarks(rows, 1, seed)
        k = rbf_kernel(X, pilot)[:, 0]
        scores = 1.0 - k**2 / (1.0 + 1.0)
        expected += scores / scores.sum()
        drawn += X[:, 0] == leverage_landmarks(rows, 1, seed, rbf_kernel)[0, 0]
    assert expected.max() > 1.3 * expected.min()
    assert np.all(np.abs(drawn - expected) < 4.0 * np.sqrt(expected))


@evaluates(r"y' = x' U \tilde A + \varepsilon")
def test_tasks_are_drawn_as_is_printed():
    tasks = make_sparse_tasks(4, 10, 30, noise=0.0, random_state=0)
    W, *_ = np.linalg.lstsq(tasks.X, tasks.Y)
    U = W @ np.linalg.pinv(tasks.corrupted_structure)
    np.testing.assert_allclose(U @ tasks.corrupted_structure, W, atol=1e-9)
    np.testing.assert_allclose(W.T @ W, tasks.corrupted_structure @ tasks.corrupted_structure, atol=1e-9)
    noisy = make_sparse_tasks(4, 10, 20_000, noise=0.3, random_state=0)
    W, *_ = np.linalg.lstsq(noisy.X, noisy.Y)
    assert np.var(noisy.Y - noisy.X @ W) == pytest.approx(0.3, rel=0.02)


def test_every_displayed_formula_is_evaluated():
    found = displayed()
    assert len(found) > 10
    assert [tex for tex in found if tex not in EVALUATED] == []
    assert [tex for tex in EVALUATED if tex not in found] == []
