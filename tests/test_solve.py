"""Which solver goes on where another ends, what rounding takes from a proof, and what a solution says of itself."""

import re
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from problems import random_psd
from test_objective import dense_problem

from skmtl.objective import Proof, Rounding
from skmtl.penalties import Independent, Sparse
from skmtl.solvers.solution import ROUNDING, Solution
from skmtl.solvers.solve import Progress, solve

# The package has a function of this name.
solving = import_module("skmtl.solvers.solve")
TOL = 1e-4


@pytest.fixture
def problem(rng):
    return dense_problem(rng, Sparse(0.6), common=0.0)[0]


@pytest.fixture
def scripted(problem, monkeypatch):
    """Solvers that return proofs of given gaps after given rounds, and write down what they were asked."""
    asked = []

    def make(name, results):
        results = iter(results)

        def run(problem, *, start, tol, max_iter, report, **_):
            gap, rounds, worse = next(results)
            asked.append({"name": name, "start": start, "tol": tol, "max_iter": max_iter})
            A = problem.penalty.minimize(np.eye(3)).structure
            fit = problem.fit(A)
            objective = problem.objective(A, fit) * (10.0 if worse else 0.99)
            return Proof(A * (1.0 + gap), fit, objective, objective * (1.0 - gap)), rounds

        return run

    def install(newton, anderson=()):
        monkeypatch.setattr(solving, "solve_jointly", make("newton", newton))
        monkeypatch.setitem(solving.SOLVERS, "anderson", make("anderson", anderson))
        return asked

    return install


def names(asked):
    return [one["name"] for one in asked]


def test_a_proof_within_the_tolerance_is_the_end(problem, scripted):
    asked = scripted([(0.5 * TOL, 7, False)])
    solution = solve(problem, tol=TOL, max_iter=50)
    assert names(asked) == ["newton"]
    assert asked[0]["max_iter"] == 50
    # A little less than the tolerance is left to the solver, and the rest to rounding.
    assert 0.5 * TOL < asked[0]["tol"] < TOL
    assert (solution.n_iter, solution.converged) == (7, True)
    assert solution.gap == pytest.approx(0.5 * TOL)


@pytest.mark.parametrize(("further", "kept"), [(0.1 * TOL, 0.1 * TOL), (20 * TOL, 5 * TOL)])
def test_alternation_goes_on_where_newton_ends_and_the_better_proof_is_kept(problem, scripted, further, kept):
    asked = scripted([(5 * TOL, 7, False)], [(further, 11, False)])
    solution = solve(problem, tol=TOL, max_iter=50)
    assert names(asked) == ["newton", "anderson"]
    # From where Newton is, with the iterations that are left.
    assert asked[1]["start"][0, 0] == pytest.approx(
        (1.0 + 5 * TOL) * problem.penalty.minimize(np.eye(3)).structure[0, 0]
    )
    assert asked[1]["max_iter"] == 50 - 7
    assert solution.gap == pytest.approx(kept)
    assert solution.n_iter == 7 + 11
    assert solution.converged == (kept <= TOL)


def test_where_newton_was_led_astray_alternation_starts_anew(problem, scripted):
    asked = scripted([(5 * TOL, 7, True)], [(8 * TOL, 11, False)])
    solution = solve(problem, tol=TOL, max_iter=50)
    assert asked[1]["start"] is None
    assert asked[1]["max_iter"] == 50
    assert solution.gap == pytest.approx(8 * TOL)
    assert solution.n_iter == 11


@pytest.mark.parametrize("options", [{"solver": "newton"}, {"max_iter": 7}])
def test_nobody_goes_on_after_the_limit_or_where_newton_was_asked_for(problem, scripted, options):
    asked = scripted([(5 * TOL, 7, False)])
    solution = solve(problem, **{"tol": TOL, "max_iter": 50, **options})
    assert names(asked) == ["newton"]
    assert not solution.converged
    why = "no further progress" if "solver" in options else "the limit"
    assert f"Stopped after 7 iterations ({why})" in solution.status


@pytest.mark.parametrize("name", ["newton", "anderson", "alternating"])
def test_the_solver_that_was_asked_for_is_the_one_that_runs(problem, scripted, monkeypatch, name):
    asked = scripted([(0.5 * TOL, 7, False)], [(0.5 * TOL, 7, False)])
    plain = solving.SOLVERS["anderson"]
    monkeypatch.setitem(
        solving.SOLVERS, "alternating", lambda *given, **named: asked.append({"name": name}) or plain(*given, **named)
    )
    solve(problem, solver=name, tol=TOL)
    assert names(asked)[0] == name


def hide(problem, share, rng):
    """The problem where rounding hides so much that the bound falls by about this share of the objective."""
    A = problem.penalty.minimize(np.eye(3)).structure
    fit = problem.fit(A)
    values = np.ones(len(fit.factor))
    one = replace(problem, rounding=Rounding(values, 1.0, 0.0))
    cost = problem.alpha * float(np.vdot(A, one.hidden(fit)))
    inside = share * 0.99 * problem.objective(A, fit) / cost
    return replace(problem, rounding=Rounding(values, inside, 0.0))


def test_rounding_that_is_next_to_nothing_is_taken_from_the_bound(problem, scripted, rng):
    scripted([(0.5 * TOL, 7, False)])
    solution = solve(hide(problem, 1e-3 * TOL, rng), tol=TOL)
    assert solution.gap == pytest.approx(0.5 * TOL + 1e-3 * TOL, rel=1e-3)
    assert solution.converged


def test_a_solution_that_rounding_hides_is_not_called_certified(problem):
    plain = solve(problem, tol=TOL)
    hidden = solve(hide(problem, 50 * TOL, None), tol=TOL)
    assert plain.converged
    assert not hidden.converged
    assert hidden.lost
    assert "lost to rounding" in hidden.status
    assert hidden.objective == pytest.approx(plain.objective, rel=TOL)
    # About what is hidden, and the bound holds for what is not.
    assert 10 * TOL < hidden.gap < 60 * TOL
    assert hidden.lower_bound < plain.objective * (1.0 - 10 * TOL)


def test_where_rounding_takes_a_part_of_the_tolerance_the_rest_is_solved_for(problem, scripted, monkeypatch):
    """0.8 of it is proved, rounding takes 0.4, and 0.9 - 0.4 of it are asked for."""
    asked = scripted([(0.8 * TOL, 7, False), (0.1 * TOL, 5, False)])

    def account(problem, proof, tol):
        return replace(proof, lower_bound=proof.lower_bound - 0.4 * tol * proof.objective)

    monkeypatch.setattr(solving, "_account_for_rounding", account)
    solution = solve(problem, tol=TOL, max_iter=50)
    assert names(asked) == ["newton", "newton"]
    assert asked[1]["tol"] == pytest.approx((solving.ROOM - 0.4) * TOL)
    assert asked[1]["max_iter"] == 43
    assert solution.n_iter == 12
    assert solution.gap == pytest.approx(0.5 * TOL)
    assert solution.converged


@pytest.mark.parametrize(("taken", "again"), [(0.1, False), (0.99, True), (1.01, False)])
def test_what_rounding_takes_beyond_reach_is_not_solved_for(taken, again, problem, scripted, monkeypatch):
    """Nor what it takes of a proof that has enough left; in shares of what is within reach."""
    asked = scripted([(0.5 * TOL, 7, False), (0.1 * TOL, 5, False)])
    taken *= solving.WITHIN_REACH

    def account(problem, proof, tol):
        return replace(proof, lower_bound=proof.lower_bound - taken * tol * proof.objective)

    assert 0.5 + 0.1 * solving.WITHIN_REACH < 1.0 < 0.5 + 0.99 * solving.WITHIN_REACH
    monkeypatch.setattr(solving, "_account_for_rounding", account)
    solve(problem, tol=TOL, max_iter=50)
    assert len(asked) == 1 + again


def test_a_known_structure_without_a_proof_is_one_step(rng):
    problem, _, _ = dense_problem(rng, Independent(), common=0.0)
    quick, proved = (solve(problem, tol=1e-8, certify=certify) for certify in (False, True))
    assert quick.n_iter == 1
    assert quick.lower_bound == -np.inf
    assert quick.objective == pytest.approx(proved.objective)
    assert proved.converged


class Hidden:
    """A problem of which rounding hides h I; careful proofs have a given gap, and tight ones half of it."""

    alpha, n_tasks = 2.0, 2

    def __init__(self, h, gap, *, common=0.0, known=False):
        self._h, self._gap, self.common, self.known = h, gap, common, known
        self.penalty, self.asked = self, []

    def hidden(self, fit):
        return self._h * np.ones((2, 2))

    def certify(self, A, fit):
        self.asked.append("certify")
        return Proof(A, fit, 50.0, 50.0 - 50.0 * self._gap)

    def tighten(self, proof):
        self.asked.append("tighten")
        return replace(proof, lower_bound=50.0 - 25.0 * self._gap)


class Exact:
    dual_error = 1e-5


@pytest.mark.parametrize("objective", [50.0, -50.0, 0.02])
@pytest.mark.parametrize("common", [0.0, 3.0])
def test_what_rounding_costs_is_known_to_first_order_where_it_is_next_to_nothing(objective, common):
    """A share of the tolerance, relative to the objective; it is alpha times what the structure sees of it."""
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    little = solving.NEXT_TO_NOTHING * TOL * abs(objective)
    for share, first_order in [(0.9, True), (1.1, False)]:
        problem = Hidden(share * little / (2.0 * (4.0 + 4.0 * common)), 0.5 * TOL, common=common)
        proof = solving._account_for_rounding(problem, Proof(A, Exact(), objective, objective - 1.0), TOL)
        assert problem.asked == ([] if first_order else ["certify"])
        careful = objective - 1.0 - share * little if first_order else 50.0 - 25.0 * TOL
        # What sums of dual coefficients are wrong by is taken off in any case.
        assert proof.lower_bound == pytest.approx(careful - 1e-5, rel=1e-9)


@pytest.mark.parametrize(("gap", "asked"), [(0.9, ["certify"]), (1.1, ["certify", "tighten"])])
@pytest.mark.parametrize("known", [True, False])
def test_else_it_is_proved_anew_and_with_the_best_scale_where_that_is_needed(gap, asked, known):
    """A known structure costs what it costs: its bound is cheap, and always proved anew."""
    problem = Hidden(0.0 if known else 1.0, gap * TOL, known=known)
    proof = solving._account_for_rounding(problem, Proof(np.eye(2), Exact(), 50.0, 49.0), TOL)
    assert problem.asked == asked
    share = 0.5 if "tighten" in asked else 1.0
    assert proof.lower_bound == pytest.approx(50.0 - 50.0 * share * gap * TOL - 1e-5, rel=1e-12)


# What a solution says -------------------------------------------------------------------------------------------------


def make_solution(objective, bound, *, tol=TOL, n_iter=4, max_iter=9):
    class Fit:
        intercept = np.zeros(1)
        coefficients = staticmethod(lambda: np.zeros((1, 1)))
        energy = staticmethod(lambda A: np.zeros((1, 1)))

    progress = Progress(None)
    for one in (3.0 * objective, objective):
        progress(Proof(np.eye(1), Fit, one, bound))
    proof = Proof(np.eye(1), Fit, objective, bound)
    return Solution.from_proof(proof, tol=tol, n_iter=n_iter, max_iter=max_iter, history=progress.history())


def relative(solution):
    return abs(solution.objective - solution.lower_bound) / abs(solution.objective)


@pytest.mark.parametrize("objective", [2.0, -2.0])
def test_a_task_set_apart_adds_what_it_costs_to_both_ends(objective):
    solution = make_solution(objective, objective - 0.5)
    whole = solution.with_task_apart(0.25, 10.0)
    assert whole.objective == 0.25 * objective + 10.0
    assert whole.objective - whole.lower_bound == pytest.approx(0.25 * 0.5)
    assert whole.gap == pytest.approx(relative(whole))
    np.testing.assert_allclose(whole.history["objective"], 0.25 * solution.history["objective"] + 10.0)
    lengths = solution.history["gap"] * np.abs(solution.history["objective"])
    np.testing.assert_allclose(whole.history["gap"] * np.abs(whole.history["objective"]), 0.25 * lengths)


@pytest.mark.parametrize("objective", [1.0, -1.0])
@pytest.mark.parametrize("away", [-0.5, 0.0, 0.5, 3.0, 1e3])
def test_the_objective_of_the_model_makes_the_gap(objective, away):
    solution = make_solution(objective, objective - 0.3 * TOL)
    model = solution.returned(objective + away * TOL, TOL)
    assert model.objective == objective + away * TOL
    assert model.lower_bound <= model.objective
    assert model.lower_bound <= solution.lower_bound
    plain = abs(model.objective - solution.lower_bound) / abs(model.objective)
    # A twentieth of the tolerance is for rounding, where it is there; else twice what the objectives are apart.
    apart = 2.0 * abs(away * TOL) / abs(model.objective)
    assert model.gap == pytest.approx(plain + (0.05 * TOL if plain < TOL else apart))
    assert model.gap == pytest.approx((model.objective - model.lower_bound) / abs(model.objective))
    assert model.converged == (model.gap <= TOL) == ("Certified" in model.status)
    assert model.lost == (away > 1.0) == ("not of this model" in model.status)
    if model.lost:
        said = float(re.search(r"is up to (\S+) \(relative\) away", model.status)[1])
        assert said == pytest.approx(abs(away * TOL) / abs(model.objective), rel=0.1)


@pytest.mark.parametrize(("rounding", "certified"), [(0.3, True), (0.6, True), (0.75, False), (50.0, False)])
def test_what_rounding_hides_of_the_objective_is_in_the_gap(rounding, certified):
    solution = make_solution(2.0, 2.0 - 2.0 * 0.3 * TOL)
    model = solution.returned(2.0, TOL, rounding=2.0 * rounding * TOL)
    assert model.lower_bound <= 2.0 - 2.0 * (0.3 + rounding) * TOL * (1.0 - 1e-6)
    assert model.gap == pytest.approx((0.3 + rounding + (0.05 if certified else 0.0)) * TOL)
    assert model.converged == certified == ("Certified" in model.status)
    if not certified:
        assert model.lost
        said = float(re.search(r"is up to (\S+) \(relative\) away", model.status)[1])
        assert said == pytest.approx(rounding * TOL, rel=0.1)


def test_what_was_not_certified_stays_so():
    solution = make_solution(1.0, 0.5)
    same = solution.returned(1.0 + 0.5 * TOL, TOL)
    assert (same.converged, same.lost, same.status) == (False, False, solution.status)
    assert solution.returned(1.1, TOL).lost
    # It may be better than was known.
    better = make_solution(1.0, 1.0 - 3.0 * TOL).returned(1.0 - 2.5 * TOL, TOL)
    assert (better.converged, better.lost) == (False, False)


@pytest.mark.parametrize(("away", "same"), [(0.9, True), (1.1, False), (-0.9, True), (-1.1, False)])
@pytest.mark.parametrize("tol", [1e-3, 0.0])
@pytest.mark.parametrize("objective", [5.0, -5.0])
def test_objectives_agree_to_the_tolerance_but_not_beyond_rounding(away, same, tol, objective):
    step = away * max(tol, ROUNDING) * objective
    assert make_solution(objective, objective - 1.0).agrees(objective + step, tol) == same


@pytest.mark.parametrize("gap", [0.3, 0.1, 0.099, 2.3e-7, 1e-20, 0.0])
def test_the_certificate_is_a_power_of_ten_above_the_gap(gap):
    said = float(re.search(r"more than (\S+) of", make_solution(1.0, 1.0 - gap).certificate)[1])
    true = make_solution(1.0, 1.0 - gap).gap
    assert true <= said * (1 + 1e-9)
    assert said <= max(10.0 * true, 1e-15) * (1 + 1e-9)
    assert "Nothing is proved" in make_solution(1.0, -np.inf).certificate


@pytest.mark.parametrize(
    ("bound", "n_iter", "said"),
    [
        (1.0 - 0.5 * TOL, 1, "Certified after 1 iteration:"),
        (1.0 - 0.5 * TOL, 2, "Certified after 2 iterations:"),
        (0.5, 9, "Stopped after 9 iterations (the limit)"),
        (0.5, 8, "Stopped after 8 iterations (no further progress)"),
        (-np.inf, 9, "Ended after 9 iterations without a certificate"),
    ],
)
def test_the_status_says_how_it_ended(bound, n_iter, said):
    assert make_solution(1.0, bound, n_iter=n_iter).status.startswith(said)


def test_a_bound_above_the_objective_counts_as_a_gap():
    solution = make_solution(1.0, 1.0 + 10.0 * TOL)
    assert solution.lower_bound == pytest.approx(1.0 - 10.0 * TOL)
    assert solution.gap == pytest.approx(10.0 * TOL)
    assert not solution.converged


def test_a_later_proof_that_is_worse_does_not_take_the_place(rng):
    """Rounds may lead away for a while, and so does rounding at the end."""
    progress = Progress(None)
    for bound in (0.5, 0.9, 0.7, -np.inf):
        progress(Proof(random_psd(rng, 2), None, 1.0, bound))
    assert progress.best.lower_bound == 0.9


@pytest.mark.parametrize(("bound", "word"), [(1.0 - 0.5 * TOL, "Certified"), (0.5, "Interrupted")])
def test_an_interruption_keeps_the_best_proof(bound, word, rng):
    told, fit = [], make_solution(1.0, 0.5)
    progress = Progress(told.append)
    proofs = [Proof(random_psd(rng, 2), None, *ends) for ends in [(4.0, 1.0), (2.0, -np.inf), (3.0, 1.0), (2.0, 1.9)]]
    for proof in proofs[:3]:
        progress(proof)
    assert progress.best is proofs[2]
    progress(proofs[3])
    assert progress.best is proofs[3]
    assert [one["certificate"] for one in told] == [1, 2, 3, 4]
    assert told[0] == {"certificate": 1, "objective": 4.0, "lower_bound": 1.0, "gap": 0.75}
    np.testing.assert_array_equal(progress.history()["objective"], [4.0, 2.0, 3.0, 2.0])
    np.testing.assert_array_equal(progress.history()["gap"], [one.gap for one in proofs])

    class Fit:
        intercept, coefficients, energy = fit.intercept, lambda self: fit.coef, lambda self, A: fit.energy

    solution = Solution.interrupted(Proof(np.eye(1), Fit(), 1.0, bound), tol=TOL, history=progress.history())
    assert solution.n_iter == 4
    assert solution.status.startswith(word)
    assert solution.converged == (word == "Certified")
