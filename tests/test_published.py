"""What ``fit`` returns is what was proved: the certificate against the model that predicts."""

import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from problems import related_tasks, structure_cost, with_gaps
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.preprocessing import StandardScaler

from skmtl import MultiTaskClassifier, MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.estimators import publish
from skmtl.estimators.base import train
from skmtl.estimators.clean import clean
from skmtl.losses import Logistic
from skmtl.model_selection import base as search_base
from skmtl.objective import Proof
from skmtl.solvers import returned


def far_away(rng, mean, spread=1.0):
    """Rows and targets; the features are large beside their spread."""
    X, Y = related_tasks(rng, 80, 3, n_features=3)
    return mean + spread * X, Y


@pytest.mark.parametrize(("mean", "spread"), [(2000.0, 1.0), (2005.0, 9.0)])
def test_a_model_that_was_lost_to_rounding_is_not_passed_off_as_certified(mean, spread, rng):
    X, Y = far_away(rng, mean, spread)
    est = MultiTaskRegressor(kernel="poly", alpha=1e-3)
    with pytest.warns(ConvergenceWarning, match="lost to rounding.*Standardize the features"):
        est.fit(X, Y)
    # It is the model that fails, not the warning: the same rows on one scale fit well, and nobody warns.
    Z = StandardScaler().fit_transform(X)
    assert MultiTaskRegressor(kernel="poly", alpha=1e-3).fit(Z, Y).score(Z, Y) > est.score(X, Y) + 0.1


@pytest.mark.parametrize("loss", ["square", "huber"])
def test_a_value_far_away_is_not_mended_by_more_iterations(loss, rng):
    """A code of missing values leaves the other features below rounding: what helps is another scale."""
    X, Y = related_tasks(rng, 40, 3)
    Y, X[3, 1] = with_gaps(rng, Y), 1e13
    with pytest.warns(ConvergenceWarning, match="Standardize the features, raise alpha") as caught:
        MultiTaskRegressor(loss=loss).fit(X, Y)
    assert "max_iter" not in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiTaskRegressor(loss=loss).fit(StandardScaler().fit_transform(X), Y)


def test_a_task_of_one_class_does_not_change_what_is_hidden_from_the_others(rng):
    """Nor from where on ``alpha`` is so small that it counts."""
    X, Y = related_tasks(rng, 40, 3)
    X[3, 1] = 1e9
    plain, beside = (
        train(est := MultiTaskClassifier(), clean(est, X, labels > 0.0), Logistic())
        for labels in (Y, np.c_[Y, np.ones(40)])
    )
    hidden, found = (
        [training.hides_directions(alpha) for alpha in np.geomspace(1e-12, 1e12, 1001)] for training in (plain, beside)
    )
    assert found == hidden
    assert 0 < sum(hidden) < 1001


@pytest.mark.parametrize(
    ("penalty", "max_iter", "says"),
    [
        ("sparse", 1, "Raise max_iter (now 1), eps (now {eps:.3g}) or tol."),
        ("sparse", 200, "Raise eps (now {eps:.3g}) or tol."),
        ("independent", 1, "Raise max_iter (now 1), alpha (now 0.01) or tol."),
        ("independent", 200, "Raise alpha (now 0.01) or tol."),
    ],
)
def test_advice_names_what_can_help(penalty, max_iter, says, rng, monkeypatch):
    """More rounds only where these ran out, and eps only where the structure is learned."""

    def unproved(*given):
        model, solution = returned.prove_returned(*given)
        return model, replace(solution, converged=False)

    monkeypatch.setattr(publish, "prove_returned", unproved)
    with pytest.warns(ConvergenceWarning) as caught:
        est = MultiTaskRegressor(penalty, max_iter=max_iter, solver="alternating").fit(*related_tasks(rng, 40, 3))
    assert str(caught[-1].message).endswith(says.format(eps=est.eps_))


@pytest.mark.parametrize("mean", [0.0, 1e4, 1e7])
@pytest.mark.parametrize("n_features", [4, 60])
def test_sparse_features_far_from_zero_lose_no_digits(n_features, mean, rng):
    """Of features fewer than rows, and more; one of them has mostly zeros. Dense rows are centred first."""
    X, Y = related_tasks(rng, 40, 3, n_features=n_features)
    X[:, 1:] += mean
    X[rng.random(40) < 0.8, 0] = 0.0
    new = X + 0.1
    dense, est = (MultiTaskRegressor(alpha=1e-2).fit(rows, Y) for rows in (X, sparse.csr_array(X)))
    assert est.solution_.objective == pytest.approx(dense.solution_.objective, rel=1e-8)
    assert est.solution_.lower_bound <= dense.solution_.objective <= est.solution_.objective * (1.0 + 1e-6)
    found, expected = est.predict(sparse.csr_array(new), return_std=True), dense.predict(new, return_std=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("above", [1e-3, 1e-8])
def test_a_bound_above_the_objective_is_as_wrong_as_it_shows(above, rng):
    """It is reported as far below as it was above, and never as the objective itself."""
    solution = MultiTaskRegressor(tol=1e-6).fit(*related_tasks(rng, 40, 3)).solution_
    objective = solution.lower_bound * (1.0 - above)
    returned = solution.returned(objective, 1e-6)
    assert returned.lower_bound <= objective * (1.0 - above)
    assert returned.gap == pytest.approx((objective - returned.lower_bound) / objective)
    assert returned.converged == (above < 1e-6)


def test_a_bound_of_a_model_that_is_not_certified_is_as_careful_as_its_objectives_are_apart(rng):
    solution = MultiTaskRegressor(tol=1e-6).fit(*related_tasks(rng, 40, 3)).solution_
    returned = solution.returned(1.01 * solution.objective, 1e-6)
    assert returned.lower_bound == pytest.approx(solution.lower_bound - 0.02 * solution.objective, rel=1e-9)


def test_the_certificate_says_how_far_the_returned_model_is(rng):
    """At the tolerance and beyond it, whatever was proved of the solution before it was returned."""
    solution = MultiTaskRegressor(tol=1e-7).fit(*related_tasks(rng, 40, 3)).solution_
    nearer = solution.returned(solution.lower_bound * (1.0 + 5e-8), 1e-7)
    assert nearer.converged
    # A twentieth of the tolerance is left for rounding.
    assert "within 5.5e-08" in nearer.status
    farther = solution.returned(solution.lower_bound * (1.0 + 5e-7), 1e-7)
    assert not farther.converged
    assert "not of this model" in farther.status


@pytest.mark.parametrize(("mean", "spread"), [((2005.0,), 9.0), ((5e5, 5e6), 2e3), ((2000.0, 2000.0, 2000.0), 1.0)])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_kernels_of_differences_do_not_feel_where_features_are(mean, spread, kernel, rng):
    """Years, coordinates in metres, a large mean: no warning, and as good on new rows as about zero."""
    Z = rng.standard_normal((160, len(mean)))
    Y = np.column_stack([Z.sum(axis=1) + 0.3 * Z[:, 0] ** 2, np.sin(Z[:, 0]) - 0.5 * Z[:, -1]])
    X, power = np.array(mean) + spread * Z, {"rbf": 2, "laplacian": 1}[kernel]
    near = MultiTaskRegressor(kernel=kernel, gamma=0.5, alpha=1e-4).fit(Z[:100], Y[:100])
    far = MultiTaskRegressor(kernel=kernel, gamma=0.5 / spread**power, alpha=1e-4).fit(X[:100], Y[:100])
    assert far.score(X[100:], Y[100:]) == pytest.approx(near.score(Z[100:], Y[100:]), abs=0.01)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("labels", ["complete", "gaps", "long", "weights"])
@pytest.mark.parametrize("n_components", [None, 15])
def test_the_data_term_of_the_model_is_that_of_the_solution(kernel, labels, n_components, rng):
    """The objective less its penalty, from the solver, against the loss of ``predict`` at the training rows."""
    X, Y = related_tasks(rng, 50, 3)
    Y, weight, fit = 10.0 * Y + 3.0, np.ones_like(Y), {}
    if labels == "gaps":
        Y = with_gaps(rng, Y)
        weight = (~np.isnan(Y)).astype(float)
    if labels == "weights":
        weight = rng.uniform(0.5, 2.0, Y.shape)
        fit = {"sample_weight": weight}
    if labels == "long":
        tasks = rng.integers(0, 3, len(X))
        Y, weight, fit = Y[np.arange(50), tasks], np.ones(50), {"tasks": tasks}
    est = MultiTaskRegressor(
        kernel=kernel, alpha=1e-2, scale_targets=False, n_components=n_components, random_state=0, tol=1e-8
    ).fit(X, Y, **fit)
    errors = np.where(weight > 0, Y - est.predict(X, tasks=fit.get("tasks")), 0.0)
    n = weight.sum() / 3
    data = np.sum(weight * errors**2) / n
    A, S = est.structure_, est.solution_.energy + est.eps_ * np.eye(3)
    structure = np.trace(np.linalg.solve(A, S)) + est.penalty_.value(A)
    assert data + est.alpha * structure == pytest.approx(est.solution_.objective, rel=1e-7)


@pytest.mark.parametrize("scale", [True, False])
def test_errors_at_a_task_that_is_constant_count(scale, rng):
    """What all tasks have in common moves its predictions away from the constant."""
    X, Y = related_tasks(rng, 40, 2)
    tasks = np.arange(40) % 2
    y = np.where(tasks == 0, 7.0, Y[:, 1])
    est = MultiTaskRegressor(common=10.0, alpha=1e-2, scale_targets=scale, tol=1e-8).fit(X, y, tasks=tasks)
    errors = (y - est.predict(X, tasks=tasks)) / est.target_scale_[tasks]
    assert np.abs(errors[tasks == 0]).max() > 1e-3
    A, W = est.structure_, est.coef_.T / est.target_scale_
    norm = np.trace(W @ np.linalg.solve(A + est.common, W.T))
    cost = norm + est.eps_ * np.trace(np.linalg.inv(A)) + est.penalty_.value(A)
    assert np.sum(errors**2) / 20 + est.alpha * cost == pytest.approx(est.solution_.objective, rel=1e-7)


def test_a_failed_fit_leaves_the_estimator_as_it_was(rng):
    X, Y = related_tasks(rng, 30, 2)
    labels = np.where(Y[:, 0] > 0, "b", "a")
    est = MultiTaskClassifier(kernel="rbf").fit(X, labels)
    before = est.predict(X)
    with pytest.raises(ValueError, match="alpha"):
        est.set_params(alpha=-1.0).fit(X[:, :2], np.where(Y[:, 1] > 0, "y", "x"))
    assert est.classes_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(est.predict(X), before)


def test_interrupted_before_anything_is_proved_a_fit_leaves_the_estimator_as_it_was(rng, monkeypatch):
    X, Y = related_tasks(rng, 30, 2)
    est = MultiTaskRegressor(kernel="rbf").fit(X, Y)
    before = est.predict(X)

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("skmtl.objective.Problem.certify", stop)
    with pytest.raises(KeyboardInterrupt):
        est.fit(-X, 5.0 * Y[:, :1])
    np.testing.assert_array_equal(est.predict(X), before)


class InterruptAt:
    """Ctrl-C before the k-th line that is run of these files."""

    def __init__(self, k, *modules):
        self.left, self.files = k, {module.__file__ for module in modules}

    def __call__(self, frame, event, _):
        if frame.f_code.co_filename not in self.files:
            return None
        self.left -= event == "line"
        if event == "line" and self.left == 0:
            raise KeyboardInterrupt
        return self

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self)

    def __exit__(self, *_):
        sys.settrace(self.before)


@pytest.mark.parametrize(
    ("make", "modules"),
    [
        (lambda: MultiTaskRegressor(kernel="cosine"), [publish]),
        (lambda: MultiTaskRegressorCV("independent", kernel="cosine", alphas=[0.1], cv=2), [publish, search_base]),
    ],
    ids=["fit", "search"],
)
def test_interrupted_at_any_line_a_refit_leaves_one_of_the_two_models(make, modules, rng):
    """Whole: a model of other columns, with another kernel, has other attributes too."""
    X, Y = related_tasks(rng, 20, 2)
    others = pd.DataFrame(X[:, :2], columns=["a", "b"]), 5.0 * Y[:, 0] ** 3
    params, names, ends = {"kernel": "linear", "fit_intercept": False}, {}, set()
    names["old"], names["new"] = set(learned(make().fit(X, Y))), set(learned(make().set_params(**params).fit(*others)))
    for k in range(1, 400):
        est = make().fit(X, Y)
        before = learned(est)
        est.set_params(**params)
        interrupt = InterruptAt(k, *modules)
        try:
            with interrupt:
                est.fit(*others)
        except KeyboardInterrupt:
            after = learned(est)
            kept = {after[name] is before[name] for name in set(after) & set(before)}
            assert len(kept) == 1
            ends.add(end := "old" if True in kept else "new")
            assert set(after) == names[end]
        else:
            break
    assert interrupt.left > 0
    assert ends == {"old", "new"}


def learned(est):
    """What a fit sets, but for words and plain numbers, which may be the same in two models."""
    plain = str | int | float | None
    return {name: one for name, one in vars(est).items() if name.endswith("_") and not isinstance(one, plain)}


@pytest.mark.parametrize("solver", ["newton", "anderson", "alternating"])
def test_interrupted_later_it_gives_the_best_model_so_far(solver, rng):
    """Whole, with a certificate that holds, and a warning."""
    X, Y = related_tasks(rng, 40, 4)
    states, params = [], {"kernel": "rbf", "alpha": 1e-2, "tol": 1e-9, "solver": solver, "max_iter": 1000}
    whole = MultiTaskRegressor(callback=states.append, **params).fit(X, Y)

    unproved = [k for k, state in enumerate(states, start=1) if state["gap"] > 1e-9]
    assert unproved
    for k in unproved[:4]:
        seen = []

        def stop(state, k=k, seen=seen):
            seen.append(state)
            if len(seen) == k:
                raise KeyboardInterrupt

        est = MultiTaskRegressor(kernel="linear").fit(X[:, :2], Y[:, 0])
        with pytest.warns(ConvergenceWarning, match="^Interrupted.* Left to end, the fit may come closer[.]$"):
            est.set_params(callback=stop, **params).fit(X, Y)
        best = min(seen, key=lambda state: state["gap"])
        assert est.solution_.objective == pytest.approx(best["objective"], rel=1e-12)
        assert est.solution_.lower_bound <= whole.solution_.objective <= est.solution_.objective * (1 + 1e-9)
        assert not est.solution_.converged
        # What predicts is what was proved: the data term and the penalty make the objective.
        assert est.predict(X).shape == Y.shape
        C = (Y - est.predict(X)) / est.target_scale_ / (len(X) * est.alpha)
        A, K = est.structure_, est.feature_map_.transform(X)
        norm = np.sum(A * (C.T @ K @ C)) + structure_cost(est.penalty_, A, est.eps_)
        errors = np.sum(((Y - est.predict(X)) / est.target_scale_) ** 2) / len(X)
        assert errors + est.alpha * norm == pytest.approx(est.solution_.objective, rel=1e-3)


def interrupted(estimator, X, Y):
    """The solution of a fit that is interrupted at its last certificate, and of the same fit left alone."""
    states = []
    whole = estimator.set_params(callback=states.append).fit(X, Y).solution_
    left = len(states)

    def stop(state):
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt

    return estimator.set_params(callback=stop).fit(X, Y).solution_, whole


def test_an_interrupted_fit_has_tasks_of_one_class_in_its_certificate(rng):
    X, Y = related_tasks(rng, 60, 4)
    Y = np.where(np.arange(4) == 3, 1.0, Y > 0.0)
    with pytest.warns(UserWarning, match="all labels of 'y3' are of one class"):
        solution, whole = interrupted(MultiTaskClassifier(loss="logistic", alpha=1e-3, tol=1e-9), X, Y)
    assert solution.converged
    assert solution.objective == pytest.approx(whole.objective, rel=1e-9)
    assert solution.lower_bound == pytest.approx(whole.objective, rel=1e-9)


def test_an_interrupted_fit_says_what_rounding_hides(rng):
    """Its bound is that of the same fit, left alone."""
    X, Y = rng.standard_normal((40, 2)), rng.standard_normal((40, 3))
    with pytest.warns(ConvergenceWarning):
        solution, whole = interrupted(MultiTaskRegressor(kernel="rbf", gamma=1e-3, alpha=1e-9), X, Y)
    assert whole.lost
    assert not solution.converged
    assert solution.lower_bound == pytest.approx(whole.lower_bound, rel=1e-6)


@pytest.mark.parametrize("search", [False, True])
def test_nothing_of_an_earlier_fit_is_left(search, rng):
    X, Y = related_tasks(rng, 30, 2)
    est = MultiTaskRegressorCV(alphas=[0.1], kernel="rbf") if search else MultiTaskRegressor(kernel="rbf")
    est.fit(X, Y)
    assert hasattr(est, "dual_coef_")
    est.set_params(kernel="linear").fit(X, Y)
    assert hasattr(est, "coef_")
    assert not hasattr(est, "dual_coef_")


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 1e-2, 0.1])
@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize(
    ("mean", "spread"), [(2005.0, 9.0), ([5e5, 5e6, 0.0], 2e3), (2000.0, 1.0), (1e8, 1.0)], ids=str
)
def test_features_far_from_zero_are_fitted_rightly_or_with_a_warning(degree, mean, spread, alpha, rng):
    """Years, metres: R2 on new rows is that of standardized features to 0.01, or the fit says what to do.

    Either digits were lost, or none were and the kernel is all but linear there: one sentence, not both.
    """
    U = rng.standard_normal((160, 3))
    Y = np.c_[U[:, 0] + 0.5 * U[:, 1] ** 2, U[:, 0] * U[:, 1], U[:, 2]] + 0.1 * rng.standard_normal((160, 3))
    X = np.asarray(mean) + spread * U
    scores, warned = [], []
    for rows in (X, StandardScaler().fit(X[:80]).transform(X)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            est = MultiTaskRegressor(kernel="poly", degree=degree, alpha=alpha).fit(rows[:80], Y[:80])
        scores.append(est.score(rows[80:], Y[80:]))
        warned.append([str(one.message) for one in caught])
    assert not warned[1]
    assert len(warned[0]) <= 1
    said = "".join(warned[0])
    assert scores[0] > scores[1] - 0.01 or ("Standardize" in said and ("rounding" in said or "all but linear" in said))


@pytest.mark.parametrize("n_components", [None, 20])
@pytest.mark.parametrize(("kernel", "degree"), [("poly", 2), ("polynomial", 3), ("poly", 1), ("rbf", 3), ("linear", 3)])
@pytest.mark.parametrize("mean", [0.0, 3.0, 100.0])
def test_polynomials_far_from_zero_are_said_to_be_all_but_linear(mean, kernel, degree, n_components, rng):
    """On landmarks too; not lines, nor kernels that do not bend less for where features are."""
    X, Y = far_away(rng, mean)
    est = MultiTaskRegressor(
        kernel=kernel, degree=degree, gamma=1.0, alpha=1.0, n_components=n_components, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        est.fit(X, Y)
    bends = "poly" in kernel and degree > 1
    assert [str(one.message).startswith(f"kernel='{kernel}' is all but linear") for one in caught] == (
        [True] if bends and mean == 100.0 else []
    )


def test_distances_of_years_are_exact_enough(rng):
    X = rng.integers(1990, 2020, (60, 1)).astype(float)
    Y = np.c_[np.sin(X / 5.0), np.cos(X / 5.0)]
    est = MultiTaskRegressor(kernel="rbf", alpha=1e-4).fit(X, Y)
    moved = MultiTaskRegressor(kernel="rbf", alpha=1e-4).fit(X - 2005.0, Y)
    np.testing.assert_allclose(est.predict(X), moved.predict(X - 2005.0), atol=1e-9)


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("degree", [2, 3, 5])
def test_polynomials_seen_from_the_mean_are_the_same_model(degree, weight, rng):
    """The kernel that is used differs from the plain one by what coefficients that sum to zero do not see."""
    X, Y = related_tasks(rng, 30, 3)
    X = 4.0 + X
    extra = {"sample_weight": rng.uniform(0.5, 2.0, 30)} if weight else {}
    params = {"alpha": 1e-2, "degree": degree, "eps": 0.1, "tol": 1e-7}
    est = MultiTaskRegressor(kernel="poly", **params).fit(X, Y, **extra)
    K = polynomial_kernel(X, degree=degree)
    plain = MultiTaskRegressor(kernel="precomputed", **params).fit(K, Y, **extra)
    np.testing.assert_allclose(est.predict(X), plain.predict(K), atol=1e-3)
    np.testing.assert_allclose(est.dual_coef_.sum(axis=0), 0.0, atol=1e-9)


def test_a_bound_above_the_objective_is_no_proof():
    assert Proof(np.eye(1), None, 1.0, 1.1).gap == pytest.approx(0.1)
    assert Proof(np.eye(1), None, np.inf, 0.0).gap == np.inf


def test_the_objective_with_a_task_of_one_class_is_that_of_all_tasks(rng):
    X, Y = related_tasks(rng, 30, 3)
    labels = (Y > np.median(Y, axis=0)).astype(int)
    labels[:, 1] = 1
    with pytest.warns(UserWarning, match="one class"):
        est = MultiTaskClassifier(loss="logistic", alpha=1e-2).fit(X, labels)
    data = np.sum(np.logaddexp(0.0, -(2 * labels - 1) * est.decision_function(X))) / 30
    A = est.structure_
    S = est.coef_ @ est.coef_.T + est.eps_ * np.eye(3)
    total = data + est.alpha * (np.trace(np.linalg.solve(A, S)) + est.penalty_.value(A))
    assert est.solution_.objective == pytest.approx(total, rel=1e-8)


def test_names_of_features_are_kept_where_there_are_such_and_go_with_them(rng):
    X, Y = related_tasks(rng, 20, 2, n_features=3)
    est = MultiTaskRegressor().fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    assert est.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(est.fit(X, Y), "feature_names_in_")


@pytest.mark.parametrize(
    ("objectives", "kept"),
    [
        ([1.0], 0),  # what was certified
        ([2.0, 1.0], 1),
        ([2.0, 1.2, 1.15], 1),  # the last step gains too little to go on
        ([2.0, 3.0, 1.0], 0),  # a model that is worse is not taken
        ([2.0, -3.0, 1.0], 0),  # on the other side neither
        ([0.5, 0.9, 1.01, 1.0], 3),  # from either side
        ([2.0, np.nan, 1.0], 0),
    ],
)
def test_a_model_is_refined_as_long_as_that_helps(objectives, kept, monkeypatch):
    """The solver certified an objective of 1; models are numbered in the order in which they come."""
    training = SimpleNamespace(model=lambda solution: 0, labels=SimpleNamespace(in_blocks=False))

    def make(training, settings, solution, model):
        return SimpleNamespace(
            model=model,
            objective=objectives[model],
            refined=lambda: make(training, settings, solution, model + 1),
            rounding=lambda: 0.1 * model,
        )

    monkeypatch.setattr(returned, "ReturnedModel", make)
    solution = SimpleNamespace(
        objective=1.0,
        agrees=lambda value, tol: value == 1.0,
        returned=lambda value, tol, rounding: (value, tol, rounding),
    )
    model, proved = returned.prove_returned(training, None, solution, 1e-6)
    assert model == kept
    assert proved == (objectives[kept], 1e-6, 0.1 * kept)
