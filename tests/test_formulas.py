"""Every formula that is printed is evaluated: those of losses and penalties, and those of docs/math.md.

A formula stands here beside a function that was written from it, not from the code. Changing one without the other, or
printing a formula that nobody evaluates, makes a test fail.
"""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from problems import random_psd, related_tasks, with_gaps
from scipy.linalg import sqrtm
from scipy.optimize import minimize_scalar
from sklearn.metrics.pairwise import rbf_kernel

from skmtl import MultiTaskRegressor, minimize_structure
from skmtl._linalg import positive_cubic_root
from skmtl.features.metric import scale_from_slopes
from skmtl.losses import LOSSES
from skmtl.losses.corners import shares
from skmtl.penalties import PENALTIES, Cluster, Fixed, Groups, Laplacian, Sparse, Trace
from skmtl.penalties._newton import soft_threshold
from skmtl.solvers.missing_labels import MissingLabelRidge
from skmtl.solvers.observed import ObservedRows
from skmtl.solvers.ridge import Ridge
from skmtl.targets import make_labels

PAGE = (Path(__file__).parents[1] / "docs" / "math.md").read_text()


def page_tex(tex):
    """As a table of the page writes it, where a bar would end the cell."""
    return re.sub(r"\|([^|]+)\|", r"\\vert \1\\vert", tex)


# Losses ---------------------------------------------------------------------------------------------------------------

# name -> tex of V, V(y, f), tex of V*, parameters
LOSS_FORMULAS = {
    "square": (r"(y - f)^2", lambda y, f: (y - f) ** 2, r"uy + u^2/4"),
    "huber": (
        r"r^2/2 \text{ for } |r| \le \delta,\; \delta|r| - \delta^2/2 \text{ beyond}",
        lambda y, f: (y - f) ** 2 / 2 if abs(y - f) <= 1 else abs(y - f) - 1 / 2,
        r"uy + u^2/2, \; |u| \le \delta",
    ),
    "quantile": (
        r"\max(q\,(y - f), (q - 1)(y - f))",
        lambda y, f: max(0.5 * (y - f), (0.5 - 1) * (y - f)),
        r"uy, \; -q \le u \le 1 - q",
    ),
    "epsilon_insensitive": (
        r"\max(0, |y - f| - \epsilon)",
        lambda y, f: max(0, abs(y - f) - 0.1),
        r"uy + \epsilon |u|, \; |u| \le 1",
    ),
    "poisson": (
        r"e^f - y f + y \log y - y",
        lambda y, f: np.exp(f) - y * f + (y * np.log(y) if y else 0) - y,
        r"m \log m - m - y \log y + y, \; m = y + u \ge 0",
    ),
    "logistic": (
        r"\log(1 + e^{-yf})",
        lambda y, f: np.log(1 + np.exp(-y * f)),
        r"p \log p + (1 - p) \log(1 - p), \; p = -yu \in [0, 1]",
    ),
    "softmax": (
        r"\log \sum_t e^{f_t} - f_c, \; c \text{ the class}",
        lambda y, f: np.log(np.sum(np.exp(f))) - f[np.argmax(y)],
        r"\sum_t p_t \log p_t, \; p = u + e_c \ge 0, \; \sum_t p_t = 1",
    ),
    "hinge": (r"\max(0, 1 - yf)", lambda y, f: max(0, 1 - y * f), r"-p, \; p = -yu \in [0, 1]"),
    "squared_hinge": (r"\max(0, 1 - yf)^2", lambda y, f: max(0, 1 - y * f) ** 2, r"p^2/4 - p, \; p = -yu \ge 0"),
}


def log_sum(*values):
    return sum(v * np.log(v) if v > 0 else 0.0 for v in values)


# name -> V*(y, u), inside its domain; scalar u except for softmax
CONJUGATES = {
    "square": lambda y, u: u * y + u**2 / 4,
    "huber": lambda y, u: u * y + u**2 / 2,
    "quantile": lambda y, u: u * y,
    "epsilon_insensitive": lambda y, u: u * y + 0.1 * abs(u),
    "poisson": lambda y, u: log_sum(y + u) - (y + u) - log_sum(y) + y,
    "logistic": lambda y, u: log_sum(-y * u, 1 + y * u),
    "softmax": lambda y, u: log_sum(*(u + (y > 0))),
    "hinge": lambda y, u: y * u,
    "squared_hinge": lambda y, u: (y * u) ** 2 / 4 + y * u,
}
# name -> points inside the domain of V*, and outside, for the label y
DUAL_POINTS = {
    "square": lambda y: ([-3.0, 5.0], []),
    "huber": lambda y: ([-1.0, 0.4, 1.0], [-1.01, 1.01]),
    "quantile": lambda y: ([-0.5, 0.5], [-0.51, 0.51]),
    "epsilon_insensitive": lambda y: ([-1.0, 0.3, 1.0], [-1.01, 1.01]),
    "poisson": lambda y: ([-y, 0.0, 7.0], [-y - 0.01]),
    "logistic": lambda y: ([0.0, -y, -0.3 * y], [0.01 * y, -1.01 * y]),
    "hinge": lambda y: ([0.0, -y, -0.3 * y], [0.01 * y, -1.01 * y]),
    "squared_hinge": lambda y: ([0.0, -9 * y], [0.01 * y]),
}


def labels_of(loss, rng):
    if loss.couples_tasks:
        return [np.where(np.arange(4) == c, 1.0, -1.0) for c in range(4)]
    if loss.for_regression:
        return [0.0, 1.0, 3.5] if loss.nonnegative_targets else [-2.0, 0.3, 4.0]
    return [-1.0, 1.0]


def one(loss, *arrays):
    """Numbers as arrays of one entry; a row of a loss that couples tasks as a table."""
    return [np.atleast_1d(np.asarray(a, float))[None] if loss.couples_tasks else np.array([float(a)]) for a in arrays]


def test_every_loss_and_penalty_has_its_formula_here():
    assert list(LOSS_FORMULAS) == list(CONJUGATES)
    assert set(LOSS_FORMULAS) == set(LOSSES)
    assert {penalty.name for penalty in PENALTY_OBJECTS} == set(PENALTY_FORMULAS) == set(PENALTIES)


@pytest.mark.parametrize("name", LOSS_FORMULAS)
def test_losses_are_what_is_printed(name, rng):
    loss, (tex, formula, conjugate_tex) = LOSSES[name](), LOSS_FORMULAS[name]
    assert loss.tex == tex
    assert f"| `{name}` | ${page_tex(tex)}$" in PAGE
    assert f"${page_tex(conjugate_tex)}$ |" in PAGE
    for y in labels_of(loss, rng):
        for _ in range(20):
            f = 2.0 * rng.standard_normal(np.shape(y))
            weight = np.ones(np.shape(y))
            assert loss.value(*one(loss, y, f, weight)) == pytest.approx(formula(y, f), abs=1e-12)


@pytest.mark.parametrize("name", CONJUGATES)
def test_conjugates_are_what_is_printed(name, rng):
    loss = LOSSES[name]()
    for y in labels_of(loss, rng):
        if loss.couples_tasks:
            probabilities = rng.dirichlet(np.ones(4), 10)
            inside, outside = [p - (y > 0) for p in probabilities], [probabilities[0], probabilities[0] * 1.1 - (y > 0)]
        else:
            inside, outside = DUAL_POINTS[name](y)
        for u in inside:
            found = loss.conjugate(*one(loss, y, u, np.ones(np.shape(y))))
            assert found == pytest.approx(CONJUGATES[name](y, u), abs=1e-10)
        for u in outside:
            assert loss.conjugate(*one(loss, y, u, np.ones(np.shape(y)))) == np.inf


@pytest.mark.parametrize("name", LOSS_FORMULAS)
def test_docstrings_of_losses_print_the_same_formula(name):
    """``.. math:: V(y, f) = tex``, but for spaces and words."""
    found = re.search(r"\.\. math:: V\(y, f\) = (.*)", inspect.getdoc(LOSSES[name]))[1]
    assert essence(found.split(r"\; r = y - f")[0]) == essence(LOSSES[name].tex.split(r", \; c")[0])


def essence(tex):
    """What a formula says, without its layout and the words of its cases."""
    tex = re.sub(r"\\text\{ (if|for|else|beyond) \}|\\text\{ (else|beyond)\}|\\[,;]|\\quad|\s|,", "", tex)
    return tex.replace(r"\lVert", r"\|").replace(r"\rVert", r"\|").rstrip(".")


# Penalties ------------------------------------------------------------------------------------------------------------

PENALTY_OBJECTS = [
    Sparse(0.7),
    Groups(np.array([0, 0, 1, 1, 2]), mu=0.7),
    Trace(ridge=0.3),
    PENALTIES["features"](),
    PENALTIES["frobenius"](weight=0.4),
    Cluster(2, within=9.0, between=2.0, mean=0.5),
    Laplacian(ridge=2.0, tau=3.0),
    Fixed(np.diag([1.0, 2.0, 3.0, 4.0, 5.0])),
    PENALTIES["independent"](),
]


def sparse(p, A):
    return p.mu * np.trace(A) + (1 - p.mu) * np.abs(A).sum()


def groups(p, A):
    names = np.unique(p.groups)
    blocks = [(p.groups == g, p.groups == h) for g in names for h in names if g != h]
    norms = [np.sqrt(min(g.sum(), h.sum())) * np.linalg.norm(A[np.ix_(g, h)]) for g, h in blocks]
    return np.trace(A) + (1 - p.mu) * sum(norms)


def cluster(p, A):
    n_tasks = len(A)
    U, identity = np.full(A.shape, 1 / n_tasks), np.eye(n_tasks)
    # Solved for M, of which A is a linear function.
    M = (A - U / p.mean + U / p.between - identity / p.within) / (1 / p.between - 1 / p.within)
    m = np.linalg.eigvalsh(M)
    inside = m.min() > -1e-8 and m.max() < 1 + 1e-8 and np.isclose(np.trace(M), p.n_clusters)
    return 0.0 if inside and np.allclose(M.sum(axis=1), 1) else np.inf


def laplacian(p, A):
    off = A[~np.eye(len(A), dtype=bool)]
    inside = np.allclose(A.sum(axis=1), 1 / p.ridge) and off.min() >= -1e-12 and np.trace(A) <= p.tau / p.ridge + 1e-8
    return 0.0 if inside else np.inf


def known(A, B):
    return 0.0 if np.allclose(A, B) else np.inf


OTHERWISE = r", \; \infty \text{ otherwise}"
TRACE = r" \text{ if } \operatorname{tr}(A) \le 1" + OTHERWISE
# name -> (tex, R(A))
PENALTY_FORMULAS = {
    "sparse": (r"\mu \operatorname{tr}(A) + (1-\mu) \sum_{ts} |A_{ts}|", sparse),
    "groups": (r"\operatorname{tr}(A) + (1-\mu) \sum_{g \ne h} \sqrt{\min(|g|, |h|)}\,\|A_{gh}\|_F", groups),
    "trace": (r"\rho\,\|A\|_F^2" + TRACE, lambda p, A: p.ridge * np.sum(A**2) if np.trace(A) <= 1 + 1e-9 else np.inf),
    # Seen from the features; from the tasks it is the bound on the trace, see the test below.
    "features": (
        r"\operatorname{tr}(W^\top D^{-1} W), \; \operatorname{tr}(D) \le 1",
        lambda p, A: 0.0 if np.trace(A) <= 1 + 1e-9 else np.inf,
    ),
    "frobenius": (r"w\,\|A\|_F^2", lambda p, A: p.weight * np.sum(A**2)),
    "cluster": (
        r"0 \text{ if } A = U/\epsilon_M + (M - U)/\epsilon_B + (I - M)/\epsilon_W, \; 0 \preceq M \preceq I, "
        r"\; M 1 = 1, \; \operatorname{tr}(M) = r" + OTHERWISE,
        cluster,
    ),
    "laplacian": (
        r"0 \text{ if } A 1 = 1/g, \; A_{ts} \ge 0, \; \operatorname{tr}(A) \le \tau/g" + OTHERWISE,
        laplacian,
    ),
    "fixed": (r"0 \text{ if } A = A_0" + OTHERWISE, lambda p, A: known(A, p.matrix)),
    "independent": (r"A = I", lambda p, A: known(A, np.eye(len(A)))),
}


@pytest.mark.parametrize("penalty", PENALTY_OBJECTS, ids=lambda penalty: penalty.name)
def test_penalties_are_what_is_printed(penalty, rng):
    tex, formula = PENALTY_FORMULAS[penalty.name]
    assert penalty.tex == tex
    inside = [penalty.minimize(random_psd(rng, 5)).structure for _ in range(5)]
    for A in [*inside, *(random_psd(rng, 5) for _ in range(5)), *(1.1 * A for A in inside)]:
        assert penalty.value(A) == pytest.approx(formula(penalty, A), rel=1e-10)
    assert all(np.isfinite(penalty.value(A)) for A in inside)


# Docstrings that say the same in other signs: what they print, to be compared by eye with the formula above it.
DOCSTRINGS = {
    "cluster": r"A = U / \epsilon_M + (M - U) / \epsilon_B + (I - M) / \epsilon_W.",
    "laplacian": (
        r"R(A) = 0 \text{ if } A 1 = \tfrac1g 1, \; A_{ts} \ge 0 \; (t \ne s), \; "
        r"\operatorname{tr}(A) \le \tfrac{\tau}{g}, \quad \infty \text{ otherwise}"
    ),
    "features": (
        r"\min_{W, D} \; \text{loss}(W) + \alpha \operatorname{tr}(W' D^{-1} W), \quad \operatorname{tr}(D) \le 1"
    ),
    "independent": r"R(A) = 0 \text{ if } A = I, \quad \infty \text{ otherwise}",
}


@pytest.mark.parametrize("name", PENALTY_FORMULAS)
def test_docstrings_of_penalties_print_the_same_formula(name):
    """``.. math:: R(A) = tex``, but for spaces and words."""
    found = re.search(r"\.\. math:: (.*?)\n\n", inspect.getdoc(PENALTIES[name]), re.DOTALL)[1]
    assert essence(found) == essence(DOCSTRINGS.get(name, "R(A) = " + PENALTY_FORMULAS[name][0]))


def test_features_and_tasks_see_one_problem(rng):
    """min over D of tr(W' D^-1 W) with tr(D) <= 1 is min over A of tr(A^-1 W'W) with tr(A) <= 1."""
    W = rng.standard_normal((6, 3))
    D = PENALTIES["features"]().feature_structure(W, 1e-12)
    A = minimize_structure(W.T @ W, "features").structure
    assert np.trace(W.T @ np.linalg.pinv(D, rcond=1e-5) @ W) == pytest.approx(
        np.trace(np.linalg.inv(A) @ W.T @ W), rel=1e-4
    )


# docs/math.md ---------------------------------------------------------------------------------------------------------

FORMULAS = {}


def evaluates(*tex):
    """The formulas of the page that a test evaluates."""

    def register(test):
        FORMULAS.update(dict.fromkeys(tex, test.__name__))
        return test

    return register


# Symbols, and words for things that other formulas are made of.
NOTATION = {
    "g_s", r"n\alpha", r"\lambda", "V", "V^*", "P", "V(y, f)", "V^*(y, u)", r"e \propto w^{1/2}", r"\min_f P(f, A)",
    "m_k", r"A = U\,\mathrm{diag}(a)\,U'", r"W = G\,\mathrm{diag}(a)^{1/2}U'",
}  # fmt: skip


@pytest.fixture
def fitted(rng):
    X, Y = related_tasks(rng, 20, 3)
    est = MultiTaskRegressor(
        Sparse(0.8), kernel="rbf", alpha=0.03, eps=0.1, common=0.0, fit_intercept=False, scale_targets=False, tol=1e-9
    ).fit(X, Y)
    K, B = est.feature_map_.transform(X), est.dual_coef_
    return est, X, Y, K, B, B @ np.linalg.inv(est.structure_)


def objective(K, Y, B, A, *, alpha, eps, mu):
    """(SKMTL eq. 4)"""
    norm = np.trace(B.T @ K @ B @ np.linalg.inv(A))
    penalty = mu * np.trace(A) + (1 - mu) * np.abs(A).sum()
    return np.sum((Y - K @ B) ** 2) / len(Y) + alpha * (norm + eps * np.trace(np.linalg.inv(A)) + penalty)


@evaluates(
    r"\min_f \frac1n \sum_i V(y_i, f(x_i)) + \lambda \lVert f \rVert^2",
    r"\min_{f, A} \frac1n \sum_i V + \lambda (\lVert f \rVert^2 + \epsilon\,\mathrm{tr}(A^{-1}) + \mu\,\mathrm{tr}(A) "
    r"+ (1-\mu) \lVert A \rVert_1)",
    r"P(f, A) = \frac1n \sum_{it} w_{it} V(y_{it}, f_t(x_i)) + \alpha \bigl( \lVert f \rVert_A^2 + \epsilon\, "
    r"\mathrm{tr}(A^{-1}) + R(A) \bigr), \qquad n = \tfrac1T \sum w",
    r"\epsilon\, \mathrm{tr}(A^{-1}) + R(A)",
)
def test_the_objective_is_what_is_printed_and_least(fitted, rng):
    est, _, Y, K, B, _ = fitted
    settings = {"alpha": 0.03, "eps": 0.1, "mu": 0.8}
    least = objective(K, Y, B, est.structure_, **settings)
    assert est.solution_.objective == pytest.approx(least, rel=1e-9)
    for _ in range(20):
        near = random_psd(rng, 3, ridge=1.0)
        other = est.structure_ + 0.01 * (near - est.structure_)
        assert objective(K, Y, B + 0.01 * rng.standard_normal(B.shape), other, **settings) >= least


@evaluates(
    r"f_t = \sum_i k(\cdot, x_i) \langle A_t, c_i \rangle",
    r"c = (A \otimes K + \lambda I)^{-1} y",
    r"\lVert f \rVert^2 = \mathrm{tr}(B'KBA^{-1})",
    r"\lVert f \rVert_A^2 = \mathrm{tr}(A C'KC)",
    "Q = C'KC",
)
def test_the_supervised_step_is_what_is_printed(fitted):
    est, X, Y, K, B, C = fitted
    A, n = est.structure_, len(Y)
    system = np.kron(A, K) + n * 0.03 * np.eye(3 * n)
    np.testing.assert_allclose(np.linalg.solve(system, Y.T.ravel()).reshape(3, n).T, C, atol=1e-7)
    np.testing.assert_allclose(K @ C @ A, est.predict(X), atol=1e-9)
    np.testing.assert_allclose(B.T @ K @ B, est.solution_.energy, atol=1e-9)
    assert np.trace(B.T @ K @ B @ np.linalg.inv(A)) == pytest.approx(np.trace(A @ C.T @ K @ C))


@evaluates(
    r"\min_A \mathrm{tr}(A^{-1}(B'KB + \epsilon I)) + \mu\,\mathrm{tr}(A) + (1-\mu) \lVert A \rVert_1",
    r"\min_A\; \mathrm{tr}(A^{-1}S) + \mathrm{tr}(A) + \rho \sum_{t \ne s} |A_{ts}|, \qquad \rho = 1 - \mu",
    r"\max_W 2\,\mathrm{tr}((S^{1/2}WS^{1/2})^{1/2})",
    r"W \succeq 0",
    r"W_{tt} = 1",
    r"\lvert W_{ts}\rvert \le \rho",
    r"W = A^{-1}SA^{-1}",
    r"I - A^{-1}SA^{-1}",
)
@pytest.mark.parametrize("mu", [0.5, 0.8, 1.0])
def test_the_structure_step_meets_its_dual(mu, rng):
    S, rho = random_psd(rng, 5), 1 - mu
    A = minimize_structure(S, Sparse(mu), tol=1e-12).structure
    P = np.linalg.inv(A)
    off = ~np.eye(5, dtype=bool)
    cost = np.trace(P @ S) + np.trace(A) + rho * np.abs(A[off]).sum()
    assert cost == pytest.approx(np.trace(P @ S) + mu * np.trace(A) + rho * np.abs(A).sum())
    W, root = P @ S @ P, np.real(sqrtm(S))
    np.testing.assert_allclose(np.diag(W), 1.0, atol=1e-5)
    assert np.abs(W[off]).max() <= rho + 1e-5
    assert np.linalg.eigvalsh(W).min() >= 0.0
    assert 2 * np.trace(np.real(sqrtm(root @ W @ root))) == pytest.approx(cost, rel=1e-8)
    # The gradient of the smooth part balances the sign of the entries that are there.
    gradient, there = np.eye(5) - W, off & (A != 0.0)
    np.testing.assert_allclose(gradient[there], -rho * np.sign(A[there]), atol=1e-5)


@evaluates(r"D \mapsto PDQ + QDP")
def test_the_hessian_of_the_structure_step(rng):
    S, A, D, h = random_psd(rng, 4), random_psd(rng, 4), random_psd(rng, 4), 1e-5
    P = np.linalg.inv(A)
    Q = P @ S @ P

    def gradient(A):
        return -np.linalg.inv(A) @ S @ np.linalg.inv(A)

    np.testing.assert_allclose((gradient(A + h * D) - gradient(A - h * D)) / (2 * h), P @ D @ Q + Q @ D @ P, rtol=1e-4)


@evaluates(r"W = NSN", r"\lvert (NSN)_{ts}\rvert \le \rho", r"2\,\mathrm{tr}(NS)")
def test_blocks_prove_what_they_prove_together(rng):
    """For any N, 2 tr(NS) <= tr(A^-1 S) + tr(A NSN); blocks that are apart reach it together."""
    S = random_psd(rng, 6)
    for _ in range(20):
        N, A = random_psd(rng, 6), random_psd(rng, 6)
        assert 2 * np.trace(N @ S) <= np.trace(np.linalg.inv(A) @ S) + np.trace(A @ N @ S @ N) + 1e-9
    weak = S.copy()
    weak[:3, 3:] *= 0.01
    weak[3:, :3] *= 0.01
    A = minimize_structure(weak, Sparse(0.8), tol=1e-12).structure
    assert not A[:3, 3:].any()
    N = np.linalg.inv(A)
    assert np.abs((N @ weak @ N)[:3, 3:]).max() <= 0.2 + 1e-9
    cost = np.trace(N @ weak) + np.trace(A) + 0.2 * (np.abs(A).sum() - np.trace(A))
    assert 2 * np.trace(N @ weak) == pytest.approx(cost)


@evaluates(r"\mathrm{prox}_H(y) = \arg\min_x H(x) + \frac12 \lVert x - y \rVert^2")
def test_soft_thresholding_is_the_proximal_map_of_the_l1_norm(rng):
    for y in 2.0 * rng.standard_normal(10):
        found = minimize_scalar(lambda x, y=y: 0.7 * abs(x) + (x - y) ** 2 / 2, bounds=(-6, 6), method="bounded").x
        assert float(soft_threshold(np.array([y]), 0.7)[0]) == pytest.approx(found, abs=1e-4)


@evaluates(
    r"\mathrm{prox}_{H_2}(Z) = \arg\min_A \mathrm{tr}(A^{-1}) + \frac12 \lVert A - Z \rVert^2", r"A^3 - A^2 Z - I = 0"
)
def test_the_proximal_map_of_the_trace_of_the_inverse(rng):
    Z = random_psd(rng, 4) - np.eye(4)
    z, U = np.linalg.eigh(Z)
    A = (U * positive_cubic_root(z, 1.0)) @ U.T
    np.testing.assert_allclose(A @ A @ A - A @ A @ Z, np.eye(4), atol=1e-9)

    def cost(A):
        return np.trace(np.linalg.inv(A)) + np.sum((A - Z) ** 2) / 2

    for _ in range(20):
        assert cost(A + 0.1 * (random_psd(rng, 4) - A)) >= cost(A)


@evaluates(
    r"A^{-1} = \epsilon_M U + \epsilon_B (M - U) + \epsilon_W (I - M)",
    r"A = U/\epsilon_M + (M - U)/\epsilon_B + (I - M)/\epsilon_W",
)
def test_both_formulas_of_clusters_agree_for_clusters():
    groups = np.repeat(np.eye(2), 3, axis=0)
    M, U, identity = groups @ groups.T / 3, np.full((6, 6), 1 / 6), np.eye(6)
    inverse = 0.5 * U + 2.0 * (M - U) + 9.0 * (identity - M)
    A = U / 0.5 + (M - U) / 2.0 + (identity - M) / 9.0
    np.testing.assert_allclose(A @ inverse, identity, atol=1e-12)
    assert Cluster(2, within=9.0, between=2.0, mean=0.5).value(A) == 0.0


@evaluates(r"A + c\,11'")
def test_the_common_part_is_in_the_predictor(rng):
    X, Y = related_tasks(rng, 20, 3)
    common = MultiTaskRegressor("independent", common=2.0).fit(X, Y)
    np.testing.assert_allclose(common.predict(X), MultiTaskRegressor(Fixed(np.eye(3) + 2.0)).fit(X, Y).predict(X))


def eigen_problem(rng):
    """A Ridge in the eigenbasis of a kernel, with what the formulas call their symbols."""
    X, Y = related_tasks(rng, 12, 3)
    k, V = np.linalg.eigh(X @ X.T)
    k, V = k[k > 1e-9], V[:, k > 1e-9]
    return X @ X.T, Y, k, V, Ridge.from_targets(k, V.T @ Y, Y, 12.0, 0.05)


@evaluates(
    r"C = V\,[(V'YU)_{ij} / (k_i a_j + n\alpha)]\,U' + (Y - VV'Y)/(n\alpha)",
    r"2U\,\mathrm{sym}(C_u'\,\mathrm{diag}(k)\,E)\,U'",
    "C_u = V'CU",
    r"E_{ij} = (\mathrm{diag}(k)\,C_u U'DU)_{ij} / (k_i a_j + n\alpha)",
)
def test_the_closed_form_and_its_second_derivative(rng):
    K, Y, k, V, ridge = eigen_problem(rng)
    A, D, h = random_psd(rng, 3), random_psd(rng, 3), 1e-5
    a, U = np.linalg.eigh(A)
    below = k[:, None] * a + 12 * 0.05
    C = V @ ((V.T @ Y @ U) / below) @ U.T + (Y - V @ V.T @ Y) / (12 * 0.05)
    np.testing.assert_allclose(K @ C @ A + 12 * 0.05 * C, Y, atol=1e-9)
    np.testing.assert_allclose(ridge.solve(A).Q, C.T @ K @ C, atol=1e-9)
    C_u = V.T @ C @ U
    E = (k[:, None] * C_u @ (U.T @ D @ U)) / below
    half = U @ (C_u.T @ (k[:, None] * E)) @ U.T
    printed = half + half.T
    np.testing.assert_allclose(ridge.solve(A).hessian(D), printed, atol=1e-10)
    # The first derivative of the value over alpha is -Q.
    change = -(ridge.solve(A + h * D).Q - ridge.solve(A - h * D).Q) / (2 * h)
    np.testing.assert_allclose(change, printed, rtol=1e-4, atol=1e-8)


@evaluates(r"(G + n\alpha\,\mathrm{diag}(1/w))\,c = y", r"G_{ab} = A_{t(a)t(b)}\,k(x_a, x_b)")
def test_few_labels_are_a_system_of_their_own(rng):
    X, Y = related_tasks(rng, 12, 3)
    Y = with_gaps(rng, Y)
    weight = np.where(np.isnan(Y), 0.0, rng.uniform(0.5, 2.0, Y.shape))
    A, n = random_psd(rng, 3), weight.sum() / 3
    tasks, rows = np.nonzero(weight.T)
    G = A[np.ix_(tasks, tasks)] * (X @ X.T)[np.ix_(rows, rows)]
    c = np.linalg.solve(G + n * 0.05 * np.diag(1 / weight[rows, tasks]), Y[rows, tasks])
    C = np.zeros(Y.shape)
    C[rows, tasks] = c
    labels = make_labels(np.nan_to_num(Y), weight)
    values, V = np.linalg.eigh(X.T @ (labels.row_weight()[:, None] * X))
    observed = ObservedRows(X @ V, values, labels, intercept=False)
    for road in ("labels", "features", "iterative"):
        found = MissingLabelRidge(observed, 0.05, road).solve(A, tol=1e-12)
        np.testing.assert_allclose(V @ found.coefficients(), X.T @ C @ A, atol=1e-8)


@evaluates(r"(I - ee') D^{1/2} K D^{1/2} (I - ee') = V\,\mathrm{diag}(k)\,V'", "Z'DZ", "ZZ'")
def test_rows_are_centered_by_their_weights(rng):
    """Its eigenvalues are those of the rows minus their weighted mean, and of either product of features."""
    Z, w = rng.standard_normal((9, 4)), rng.uniform(0.5, 2.0, 9)
    e = np.sqrt(w) / np.linalg.norm(np.sqrt(w))
    center, root = np.eye(9) - np.outer(e, e), np.diag(np.sqrt(w))
    values = np.linalg.eigvalsh(center @ root @ Z @ Z.T @ root @ center)[-4:]
    centered = Z - w @ Z / w.sum()
    np.testing.assert_allclose(np.linalg.eigvalsh(centered.T @ np.diag(w) @ centered), values)


@evaluates(
    r"P \;\ge\; -\frac1n \sum_{it} w_{it} V^*\!\Bigl(y_{it}, -\frac{2n\alpha s c_{it}}{w_{it}}\Bigr) + \alpha \Bigl( "
    r"\min_A \{\epsilon\,\mathrm{tr}(A^{-1}) + R(A) - s^2\,\mathrm{tr}(AQ)\} - s^2 c\,1'Q1 \Bigr)."
)
@pytest.mark.parametrize("name", ["frobenius", "trace"])
def test_the_certificate_is_what_is_printed(name, rng):
    """The bound at the solution meets the objective, and holds for any other coefficients and scales."""
    X, Y = related_tasks(rng, 15, 3)
    alpha, eps, c, n = 0.05, 0.1, 0.7, 15
    penalty = PENALTIES[name]()
    est = MultiTaskRegressor(
        penalty, kernel="rbf", alpha=alpha, eps=eps, common=c, fit_intercept=False, scale_targets=False, tol=1e-10
    ).fit(X, Y)
    K = est.feature_map_.transform(X)

    def bound(C, s):
        Q, U = C.T @ K @ C, -2 * n * alpha * s * C
        return -np.sum(U * Y + U**2 / 4) / n + alpha * (
            penalty.lower_bound(s**2 * Q, eps, est.structure_) - s**2 * c * Q.sum()
        )

    C = (Y - est.predict(X)) / (n * alpha)
    assert bound(C, 1.0) == pytest.approx(est.solution_.objective, rel=1e-6)
    for s in (0.3, 0.9, 1.0, 1.1):
        assert bound(C + 0.1 * rng.standard_normal(C.shape), s) <= est.solution_.objective


@evaluates(
    r"R = ((CU) / H)\,U'",
    r"H_{ij} = \sum_l V_{il}^2 / (k_l a_j + n\alpha) + (1 - \sum_l V_{il}^2) / (n\alpha)",
    r"(N_{BB})^{-1} c_B",
)
def test_leaving_a_row_out_is_a_fit_without_it(rng):
    K, Y, k, V, _ = eigen_problem(rng)
    A, strength = random_psd(rng, 3), 12 * 0.05
    a, U = np.linalg.eigh(A)
    N = np.linalg.inv(np.kron(A, K) + strength * np.eye(Y.size))
    C = (N @ Y.T.ravel()).reshape(3, 12).T
    squares = V**2
    H = np.stack([squares @ (1 / (k * value + strength)) + (1 - squares.sum(1)) / strength for value in a], axis=1)
    printed = ((C @ U) / H) @ U.T
    for i in range(12):
        rest = np.delete(np.arange(12), i)
        inner = np.kron(A, K[np.ix_(rest, rest)]) + strength * np.eye(33)
        C_rest = np.linalg.solve(inner, Y[rest].T.ravel()).reshape(3, 11).T
        error = Y[i] - K[i, rest] @ C_rest @ A
        np.testing.assert_allclose(printed[i], error, atol=1e-8)
        B = i + 12 * np.arange(3)
        np.testing.assert_allclose(np.linalg.solve(N[np.ix_(B, B)], C[i]), error, atol=1e-8)


@evaluates(
    r"m_k = \frac{1}{nT} \sum_{it} (\partial f_t(x_i) / \partial x_k)^2",
    r"m_k / \sum_l m_l",
    r"\sqrt{m_k}",
    r"\partial k(x, z) / \partial x_k = -2\gamma\,(x_k - z_k)\,k(x, z)",
)
def test_the_metric_is_made_of_slopes(rng):
    X, Y = related_tasks(rng, 15, 3)
    est = MultiTaskRegressor(kernel="rbf", gamma=0.3).fit(X, Y)
    differences = X[:, None, :] - X[None, :, :]
    kernel = np.exp(-0.3 * np.sum(differences**2, axis=2))
    slopes = np.einsum("ijk,ij,jt->itk", -2 * 0.3 * differences, kernel, est.dual_coef_ / est.target_scale_)
    steps = 1e-6 * np.eye(X.shape[1])
    moved = np.stack([(est.predict(X + step) - est.predict(X - step)) / 2e-6 for step in steps], axis=2)
    np.testing.assert_allclose(slopes, moved / est.target_scale_[:, None], rtol=1e-4, atol=1e-6)
    m = np.mean(slopes**2, axis=(0, 1))
    np.testing.assert_allclose(est.feature_importances_, m / m.sum(), rtol=1e-9)
    scale = scale_from_slopes(m, X, np.ones(15), "rbf")
    np.testing.assert_allclose(scale / scale[0], np.sqrt(m / m[0]), rtol=1e-9)


def posterior_problem(rng, *, gaps):
    """A fit without constants, and its symbols: the structure with its common part, n alpha, and the labels."""
    X, Y = related_tasks(rng, 20, 3)
    weight = rng.uniform(0.5, 2.0, Y.shape) if gaps else np.ones(Y.shape)
    Y = with_gaps(rng, Y) if gaps else Y
    A, c = np.array([[1.0, 0.8, -0.3], [0.8, 2.0, 0.1], [-0.3, 0.1, 0.5]]), 0.2
    est = MultiTaskRegressor(
        Fixed(A), kernel="rbf", gamma=0.3, alpha=0.02, common=c, fit_intercept=False, scale_targets=False, tol=1e-10
    ).fit(X, Y, sample_weight=weight)
    row, task = np.nonzero(~np.isnan(Y))
    return est, X, Y, A + c, weight[row, task].sum() / 3 * 0.02, (row, task, weight[row, task])


@evaluates(
    "w_k", r"k(x, z) = \exp(-\sum_k w_k |x_k - z_k|^p)", "D_k", "|x_{ik} - x_{jk}|^p",
    r"a_k = -c' (K \circ D_k)\,c / s", r"b_k = -\mathrm{tr}\,N (K \circ D_k)",
    r"\partial L / \partial \log w_k = w_k (a_k - b_k) / 2", r"w_k\,a_k / b_k",
)  # fmt: skip
@pytest.mark.parametrize(("kernel", "p"), [("laplacian", 1), ("rbf", 2)])
def test_the_metric_by_evidence_climbs_it(kernel, p, rng):
    X, gamma, alpha = rng.standard_normal((20, 3)), 0.3, 0.05
    y = np.tanh(X[:, 0] + X[:, 1] ** 2) + 0.1 * rng.standard_normal(20)
    D = np.abs(X[:, None] - X) ** p
    H = np.eye(20) - 1 / 20

    def evidence(w):
        # H M H has one more eigenvalue, which is zero: that of the constant.
        M = H @ (np.exp(-D @ w) + 20 * alpha * np.eye(20)) @ H
        values = np.linalg.eigvalsh(M)[1:]
        return -0.5 * (np.log(values).sum() + 19 * np.log(y @ np.linalg.pinv(M) @ y))

    w = np.full(3, gamma)
    K = np.exp(-D @ w)
    N = np.linalg.pinv(H @ (K + 20 * alpha * np.eye(20)) @ H)
    c = N @ y
    a = -np.einsum("i,ij,ijk,j->k", c, K, D, c) / (y @ c / 19)
    b = -np.einsum("ij,ij,ijk->k", N, K, D)
    step = 1e-6 * np.eye(3)
    slope = [(evidence(w * np.exp(e)) - evidence(w * np.exp(-e))) / 2e-6 for e in step]
    np.testing.assert_allclose(w * (a - b) / 2, slope, rtol=1e-4, atol=1e-8)
    est = MultiTaskRegressor(kernel=kernel, gamma=gamma, alpha=alpha, metric_rounds=1, metric_rule="evidence")
    scale = est.fit(X, y).feature_map_.feature_scale
    np.testing.assert_allclose(gamma * scale**p, w * np.clip(a / b, 0.25, 4.0), rtol=1e-6)


@evaluates(
    r"\sigma^2 / w_l",
    r"\mathrm{cov}(f_t(x), f_s(z)) = \tau\,(A_{ts} + c)\,k(x, z)",
    r"\tau = \sigma^2 / (n\alpha)",
    r"f_t(x) = \kappa_t' M^{-1} y",
    r"\kappa_{tl} = (A_{tt(l)} + c)\,k(x, x_{i(l)})",
    r"M_{lm} = (A_{t(l)t(m)} + c)\,k(x_{i(l)}, x_{i(m)}) + \delta_{lm}\,n\alpha / w_l",
    r"\Sigma_{ts}(x) = \tau\,((A_{ts} + c)\,k(x, x) - \kappa_t' M^{-1} \kappa_s)",
    r"\mathrm{var}(y_t) = \Sigma_{tt}(x) + \sigma_t^2 / \bar w_t",
    r"\sigma_t / \bar w_t^{1/2}",
    r"f_R + P_{RB} P_{BB}^{-1} (y_B - f_B)",
    r"P_{RR} - P_{RB} P_{BB}^{-1} P_{BR}",
)
@pytest.mark.parametrize("gaps", [False, True])
def test_the_posterior_is_what_is_printed(gaps, rng):
    est, X, Y, A, ridge, (row, task, w) = posterior_problem(rng, gaps=gaps)
    new = rng.standard_normal((4, X.shape[1]))
    M = A[np.ix_(task, task)] * rbf_kernel(X[row], gamma=0.3) + np.diag(ridge / w)
    mean, std = est.predict(new, return_std=True)
    known = np.where([True, False, True], mean + 1.0, np.nan)
    sharper, left = est.predict(new, return_std=True, known=known)
    label_noise = 1.0 / np.array([w[task == t].mean() for t in range(3)])
    sigma = est.noise_ / np.sqrt(label_noise)
    for x, f, deviation, told, moved, rest in zip(new, mean, std, known, sharper, left, strict=True):
        kappa = A[:, task] * rbf_kernel(x[None], X[row], gamma=0.3)
        np.testing.assert_allclose(kappa @ np.linalg.solve(M, Y[row, task]), f, atol=1e-8)
        # For a variance of the noise of one; a task's own variance is a factor.
        Sigma = (A - kappa @ np.linalg.solve(M, kappa.T)) / ridge
        np.testing.assert_allclose(sigma**2 * (np.diag(Sigma) + label_noise), deviation**2, rtol=1e-8)
        P = np.outer(sigma, sigma) * (Sigma + est.evidence_.noise_covariance)
        np.testing.assert_allclose(np.diag(P), deviation**2, rtol=1e-8)
        B, R = [0, 2], [1]
        gain = P[np.ix_(R, B)] @ np.linalg.inv(P[np.ix_(B, B)])
        np.testing.assert_allclose(f[R] + gain @ (told[B] - f[B]), moved[R], rtol=1e-8)
        np.testing.assert_allclose(P[np.ix_(R, R)][0] - gain @ P[B, R], rest[R] ** 2, rtol=1e-8)


@evaluates(
    r"\kappa_t' M^{-1} \kappa_s = \sum_b U_{tb} U_{sb}\,a_b^2 \sum_l (V_l' k_x)^2 / (k_l a_b + n\alpha)",
    r"A + c\,11' = U\,\mathrm{diag}(a)\,U'",
    r"K = V\,\mathrm{diag}(k)\,V'",
)
def test_complete_labels_have_a_posterior_in_two_eigenbases(rng):
    _, X, _, A, ridge, (row, task, _) = posterior_problem(rng, gaps=False)
    K = rbf_kernel(X, gamma=0.3)
    (a, U), (k, V) = np.linalg.eigh(A), np.linalg.eigh(K)
    k_x = rbf_kernel(rng.standard_normal((1, X.shape[1])), X, gamma=0.3)[0]
    kappa = A[:, task] * k_x[row]
    M = A[np.ix_(task, task)] * K[np.ix_(row, row)] + ridge * np.eye(len(row))
    shares = a**2 * np.sum((V.T @ k_x)[:, None] ** 2 / (k[:, None] * a + ridge), axis=0)
    np.testing.assert_allclose((U * shares) @ U.T, kappa @ np.linalg.solve(M, kappa.T), atol=1e-10)


@evaluates(
    r"f_t(x) \pm q_t\,(\Sigma_{tt}(x) + \sigma_t^2 / \bar w_t)^{1/2} / \sigma_t", r"\lceil (m + 1)\,p \rceil", "q_t",
    r"\sigma_t", r"\bar w_t",
)  # fmt: skip
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_intervals_reach_as_far_as_errors_at_rows_left_out(coverage, rng):
    """Every row is left out by fitting without it, at the same n alpha."""
    est, X, Y, A, ridge, _ = posterior_problem(rng, gaps=False)
    low, high = est.predict_interval(X[:3] + 0.1, coverage=coverage)
    mean, std = est.predict(X[:3] + 0.1, return_std=True)
    scores = []
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        K, k = rbf_kernel(X[rest], gamma=0.3), rbf_kernel(X[i : i + 1], X[rest], gamma=0.3)[0]
        M, kappa = np.kron(A, K) + ridge * np.eye(3 * len(rest)), np.kron(A, k)
        f = kappa @ np.linalg.solve(M, Y[rest].T.ravel())
        variance = np.diag(A - kappa @ np.linalg.solve(M, kappa.T)) / ridge + 1.0
        scores.append(np.abs(Y[i] - f) / np.sqrt(variance))
    place = int(np.ceil((len(X) + 1) * coverage - 1e-9))
    q = np.sort(scores, axis=0)[place - 1]
    np.testing.assert_allclose(high - mean, q * std / est.noise_, rtol=1e-7)
    np.testing.assert_allclose(mean - low, q * std / est.noise_, rtol=1e-7)


@evaluates(r"\sigma_t^2 / \sum_i w_i")
def test_constants_add_what_is_not_known_about_them(rng):
    """The variance of a mean of n labels, where no row says anything: far from all of them, and without a kernel."""
    Y, w = rng.standard_normal((12, 2)), rng.uniform(0.5, 2.0, 12)
    est = MultiTaskRegressor(Fixed(1e-9 * np.eye(2)), kernel="rbf", alpha=1.0, scale_targets=False)
    est.fit(rng.standard_normal((12, 3)), Y, sample_weight=w)
    _, std = est.predict(np.full((1, 3), 50.0), return_std=True)
    sigma = est.noise_ * np.sqrt(w.mean())
    np.testing.assert_allclose(std[0] ** 2, sigma**2 / w.sum() + est.noise_**2, rtol=1e-6)


@evaluates(r"\max(0, z) = \max_{0 \le p \le 1} p z", "m/(1 - p) - m/p = z")
def test_ramps_and_their_shares():
    z = np.array([-2.0, -0.3, 0.0, 0.7, 5.0])
    np.testing.assert_allclose(np.maximum(0.0, z), np.max(np.linspace(0, 1, 11)[:, None] * z, axis=0))
    for m in (1.0, 0.01):
        p, rest = shares(z, m)
        np.testing.assert_allclose(m / (1 - p) - m / p, z, atol=1e-9)
        np.testing.assert_allclose(rest, 1 - p, atol=1e-15)


def test_every_formula_of_the_page_is_evaluated():
    found = [" ".join((one or two).split()) for one, two in re.findall(r"\$\$(.+?)\$\$|\$([^$]+?)\$", PAGE, re.DOTALL)]
    losses = {page_tex(tex) for formula in LOSS_FORMULAS.values() for tex in (formula[0], formula[2])}
    checked = {*FORMULAS, *NOTATION, *losses}
    assert len(found) > 50
    assert [tex for tex in found if tex not in checked] == []
    assert [tex for tex in checked if tex not in found] == []
