"""A bounded part of the random fits of ``benchmarks/reliability.py``: what is returned is what was said of it."""

import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from problems import related_tasks, with_gaps
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from skmtl import MultiTaskRegressor
from skmtl._linalg import symmetric_part
from skmtl.penalties import Fixed, Sparse

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
FITS = 25


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import reliability

    return reliability


def test_random_fits_are_what_they_say(tools):
    lines = [tools.attempt(seed) for seed in range(FITS)]
    wrong = {line["seed"]: line["failures"] for line in lines if set(line["failures"]) - {"slow"}}
    assert not wrong
    # Most of them are ordinary, and certified.
    assert sum(line["outcome"] == "certified" for line in lines) > 0.7 * FITS


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(5000412, id="a bound that rounding lifts above the value, in rounds of alternation"),
        pytest.param(5001096, id="landmarks that others explain but for rounding"),
        pytest.param(5002515, id="the model that is returned is farther from the bound than tol"),
        pytest.param(2002037, id="a bound that rounding lifts above the value, of landmarks"),
        pytest.param(6001088, id="a bound that rounding lifts above the value, of landmarks far from zero"),
        pytest.param(7000053, id="a kernel that has more digits in the solver than in the returned model"),
        pytest.param(2002832, id="a structure beyond the range of floating point numbers"),
        pytest.param(60002012, id="blocks whose squares are beyond the range of numbers"),
        pytest.param(40001537, id="slacks whose ratio is beyond the range of numbers"),
        pytest.param(50003690, id="an eps whose powers are beyond the range of numbers"),
        pytest.param(8002506, id="a hinge on a kernel of huge entries, once twenty seconds"),
        pytest.param(1150013505, id="a structure that is lost in its sum with the common part"),
        pytest.param(1100021569, id="a known structure that is singular but for rounding, recomputed"),
        pytest.param(1100027824, id="an objective whose squares are beyond the range of numbers"),
        pytest.param(1500027272, id="a structure step that rounding makes singular"),
        pytest.param(1500040303, id="tasks that are nearly the same beside a large common part, recomputed"),
        pytest.param(1550005316, id="tasks that are nearly the same on a kernel of huge entries, recomputed"),
        pytest.param(1600001677, id="a structure that rounding made different on both sides of the diagonal"),
        pytest.param(1700001511, id="a structure of very different sizes with a common part, recomputed"),
        pytest.param(1950000687, id="scores of landmarks far from zero that cancel"),
        pytest.param(1950002452, id="a bound above what coefficients of landmarks say with all digits"),
        pytest.param(1900000495, id="margins that are met but for rounding, far from zero"),
        pytest.param(1900012727, id="a Gaussian whose distances come from products of large rows"),
        pytest.param(1550023233, id="a system of one missing label that rounding leaves nothing of"),
        pytest.param(2300006903, id="a curvature that rounding leaves nothing of"),
        pytest.param(2650015322, id="a task most of whose means are too small for a number, recomputed"),
        pytest.param(3500008029, id="landmarks of sparse rows far from zero, whose distances came from products"),
        pytest.param(4000036661, id="a polynomial kernel of one value of 1e19, whose squares are beyond the range"),
        pytest.param(3100003150, id="a structure of 1e-72 beside a common part of 100, recomputed"),
    ],
)
def test_fits_that_were_not_what_they_said(seed, tools):
    assert tools.attempt(seed)["failures"] == []


@pytest.mark.parametrize("loss", ["square", "quantile"])
@pytest.mark.parametrize("solver", ["auto", "anderson", "alternating"])
def test_kernels_of_huge_entries_are_answered_and_the_loss_is_told(loss, solver, rng):
    """Nothing but rounding is left of the system that the labels make; a factor of it may not exist."""
    X = 1e5 * rng.standard_normal((12, 1))
    tasks = np.arange(12) % 3
    est = MultiTaskRegressor(kernel="poly", degree=4, loss=loss, solver=solver, alpha=1e-4, fit_intercept=False)
    with pytest.warns(ConvergenceWarning):
        est.fit(X, np.sin(X[:, 0]), tasks=tasks)
    assert np.all(np.isfinite(est.predict(X, tasks=tasks)))
    # Rounds that gain nothing are not repeated to the limit.
    assert est.solution_.n_iter < est.max_iter


def test_newton_that_rounding_leads_astray_is_not_believed(rng):
    """What is returned costs no more than the structure that knows nothing of the labels."""
    X, Y = related_tasks(rng, 51, 7, n_features=4)
    X, Y = 1e3 * np.repeat(X[:20], 3, axis=0)[:51], with_gaps(rng, Y)
    params = {"kernel": "poly", "alpha": 2e-10, "common": 1.0, "max_iter": 20}
    with pytest.warns(ConvergenceWarning):
        est = MultiTaskRegressor(Sparse(mu=1.0), **params).fit(X, Y)
    with pytest.warns(ConvergenceWarning):
        apart = MultiTaskRegressor(Fixed(np.eye(7)), **params).fit(X, Y)
    nothing = apart.solution_.objective + 2e-10 * (est.penalty_.value(np.eye(7)) + 7 * est.eps_)
    assert est.solution_.objective <= 2.0 * nothing
    assert np.linalg.eigvalsh(est.structure_)[0] > 0.0


@pytest.mark.parametrize("kernel", ["poly", "precomputed"])
def test_a_kernel_that_is_nothing_gives_constants(kernel):
    X = np.zeros((8, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        est = MultiTaskRegressor(kernel=kernel, coef0=0.0).fit(X, np.arange(16.0).reshape(8, 2))
    np.testing.assert_allclose(est.predict(X), np.tile([7.0, 8.0], (8, 1)))


def test_the_tool_sees_a_certificate_that_lies(tools):
    reliability, case = tools, tools.draw(0)
    est = case.estimator.fit(case.X, case.y, **case.extra)
    assert reliability.examine(case, est, [])["failures"] == []
    object.__setattr__(est.solution_, "objective", 0.5 * est.solution_.objective)
    assert reliability.examine(case, est, [])["failures"] == ["certified, and wrong"]
    object.__setattr__(est.solution_, "lower_bound", 10.0 * abs(est.solution_.objective))
    assert "bound above the objective" in reliability.examine(case, est, [])["failures"]
    lopsided = est.structure_.copy()
    lopsided[0, -1] += 1e-9
    est.structure_, symmetric = lopsided, est.structure_
    assert "structure not symmetric" in reliability.examine(case, est, [])["failures"]
    est.structure_ = -symmetric
    assert "structure not positive semidefinite" in reliability.examine(case, est, [])["failures"]


def test_a_refusal_is_a_statement_of_ours(tools, monkeypatch):
    """What NumPy says of a line of ours is foreign, though the line is ours."""
    case = tools.draw(0)
    refused = replace(case, estimator=case.estimator.set_params(alpha=-1.0))
    monkeypatch.setattr(tools, "draw", lambda seed: refused)
    line = tools.attempt(0)
    assert line["outcome"] == "refused"
    assert line["failures"] == []

    class Careless:
        def fit(self, X, y, **extra):
            symmetric_part(np.zeros((2, 3)))

    monkeypatch.setattr(tools, "draw", lambda seed: replace(case, estimator=Careless()))
    line = tools.attempt(0)
    assert "could not be broadcast" in line["message"]
    assert line["failures"] == ["foreign exception"]


def test_one_seed_in_a_hundred_has_rows_that_are_all_the_same(tools):
    import random_fits

    X = np.arange(6.0).reshape(3, 2) + 1.0
    found = {}
    for seed in range(3000):
        traits = []
        rows = random_fits.same_rows(seed, X, traits)
        if traits:
            found[seed] = float(np.ptp(rows, axis=0).max()), bool(rows.any())
        else:
            assert rows is X
    assert 15 <= len(found) <= 45
    assert {spread for spread, _ in found.values()} == {0.0}
    # Both zeros and others.
    assert {there for _, there in found.values()} == {False, True}
    for seed in list(found)[:3]:
        assert "the same rows" in tools.attempt(seed)["traits"]


@pytest.mark.parametrize(
    ("trait", "share"), [("far values", "SHARE_OF_FAR_VALUES"), ("sparse rows", "SHARE_OF_SPARSE_ROWS")]
)
def test_some_seeds_have_values_far_away_and_some_sparse_rows(trait, share, tools):
    """They are drawn apart: what else a seed draws is what it was."""
    import random_fits

    found = [seed for seed in range(1500) if any(trait in one for one in tools.draw(seed).traits)]
    expected = getattr(random_fits, share) * 1500
    assert 0.6 * expected < len(found) < 1.4 * expected
    for seed in found[:4]:
        case, line = tools.draw(seed), tools.attempt(seed)
        assert line["failures"] == []
        assert any(trait in one for one in line["traits"])
        if case.estimator.kernel != "precomputed":
            assert sparse.issparse(case.X) == ("sparse rows" in case.traits)


def test_inverses_are_recomputed_where_a_structure_is_lost_beside_the_common_part(tools, rng):
    """With A = a I the inverse of A + c 11' is (I - 11' c / (a + c T)) / a, however small a is."""
    from decimal import localcontext

    import recompute

    A = np.diag([0.5, 1.0, 2.0]) + 0.1
    found = recompute.inverse(recompute.exactly(A + 10.0))
    np.testing.assert_allclose(found.astype(float), np.linalg.inv(A + 10.0), rtol=1e-12)
    with localcontext(prec=recompute.DIGITS):
        small, identity = recompute.exactly(1e-24), recompute.exactly(np.eye(3))
        found = recompute.inverse(small * identity + 100)
        exact = (identity - 100 / (small + 300)) / small
    np.testing.assert_allclose((found / exact).astype(float), 1.0, rtol=1e-15)


def test_norms_on_a_known_structure_are_those_of_the_directions_that_it_has(tools, rng):
    import recompute

    for factor in (rng.standard_normal((5, 2)), rng.standard_normal((5, 5))):
        A = factor @ factor.T
        found = recompute.inverse_on_range(recompute.exactly(A)).astype(float)
        np.testing.assert_allclose(found, np.linalg.pinv(A, rcond=1e-12), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "poly"])
@pytest.mark.parametrize("moved", [False, True])
def test_scores_by_the_formula_are_the_predictions_but_for_rounding(kernel, moved, tools, rng):
    """About the mean too, where polynomials with intercepts are taken."""
    import recompute

    X, Y = related_tasks(rng, 25, 3)
    est = MultiTaskRegressor(kernel=kernel, fit_intercept=moved).fit(X + 3.0 * moved, Y)
    predicted, exact = recompute.objectives(est, X + 3.0 * moved, Y)
    assert exact == pytest.approx(predicted, rel=1e-11)
    assert predicted == pytest.approx(est.solution_.objective, rel=1e-9)


def test_predictions_that_are_not_what_the_coefficients_say_are_counted(tools, monkeypatch, rng):
    """Of certified models, and whichever of the two is worse."""
    from random_fits import Case

    X, Y = related_tasks(rng, 30, 3)
    est = MultiTaskRegressor(kernel="rbf").fit(X, Y)
    case = Case(est, X, Y, {}, ())
    assert tools.examine(case, est, [])["failures"] == []
    predicted, coefficients = est.predict(X), est.dual_coef_
    monkeypatch.setattr(est, "predict", lambda _: predicted + 0.1)
    assert tools.examine(case, est, [])["failures"] == ["certified, and wrong"]
    assert tools.examine(case, est, ["not certified"])["failures"] == []
    monkeypatch.setattr(est, "predict", lambda _: predicted)
    est.dual_coef_ = 1.1 * coefficients
    assert tools.examine(case, est, [])["failures"] == ["certified, and wrong"]
    # Predictions that meet the labels beyond what any function of the space could do say nothing of a bound.
    est.dual_coef_ = coefficients
    monkeypatch.setattr(est, "predict", lambda _: Y)
    found = tools.examine(case, est, [])
    assert found["recomputed"] < found["lower_bound"] <= found["exact"]
    assert found["failures"] == []


def test_scores_of_large_coefficients_are_summed_up_with_all_their_digits(tools, rng):
    """Of coefficients of 1e8 and more, which nearly cancel, with twice the digits."""
    import recompute

    X, Y = related_tasks(rng, 20, 2)
    est = MultiTaskRegressor("independent", kernel="rbf", gamma=1e-4, alpha=1e-11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        est.fit(X, Y)
    assert np.abs(est.dual_coef_).max() > 1e6
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        exact = [
            float(
                sum(
                    mpmath.exp(
                        -est.gamma * sum((mpmath.mpf(a) - mpmath.mpf(b)) ** 2 for a, b in zip(x, z, strict=True))
                    )
                    * mpmath.mpf(c)
                    for z, c in zip(X, est.dual_coef_[:, 0], strict=True)
                )
                + mpmath.mpf(est.intercept_[0])
            )
            for x in X
        ]
    scores = recompute.kernels(est, X)[0] @ recompute.coefficients(est)
    found = recompute.exact_scores(est, scores, est.predict(X))[:, 0].astype(float)
    np.testing.assert_allclose(found, exact, rtol=1e-14)


def test_bounds_far_from_convergence_hold(tools, monkeypatch, capsys):
    import loose_bounds

    monkeypatch.setattr("sys.argv", ["loose_bounds.py", "--fits", "6"])
    loose_bounds.main()
    assert capsys.readouterr().out == "24 bounds, 0 above the optimum\n"
    # A bound that is not one is seen.
    rough, exact = (SimpleNamespace(lower_bound=bound) for bound in (2.0, 1.0))
    monkeypatch.setattr(loose_bounds, "objectives", lambda *_, **__: (1.0, 1.0))
    monkeypatch.setattr(loose_bounds, "resolution", lambda *_: 0.0)
    monkeypatch.setattr(
        loose_bounds,
        "fit",
        lambda case, params: SimpleNamespace(solution_=rough if params == {"max_iter": 3} else exact),
    )
    monkeypatch.setattr("sys.argv", ["loose_bounds.py", "--fits", "1", "--first", "7"])
    loose_bounds.main()
    said = "seed 7, {'max_iter': 3}: above the optimum by 1.0e+00 of it\n4 bounds, 1 above the optimum\n"
    assert capsys.readouterr().out == said


def test_an_interrupted_run_goes_on_where_it_was(tools, tmp_path, monkeypatch, capsys):
    reliability = tools
    path = tmp_path / "runs.jsonl"
    for fits in (2, 4):
        monkeypatch.setattr("sys.argv", ["reliability.py", "--fits", str(fits), "--out", str(path)])
        reliability.main()
    with path.open("a") as file:
        file.write('{"seed": 4, "outc')
    assert sorted(reliability.read(path)) == [0, 1, 2, 3]
    assert len(path.read_text().splitlines()) == 5
    assert "| fits | 4 |" in capsys.readouterr().out
    assert np.isfinite(reliability.read(path)[0]["objective"])
