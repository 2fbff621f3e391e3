"""What ``fit`` returns is what was proved: the certificate against the model that predicts."""

import numpy as np
import pytest
from problems import related_tasks, structure_cost, with_gaps
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from skmtl import MultiTaskClassifier, MultiTaskRegressor, MultiTaskRegressorCV


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
        with pytest.warns(ConvergenceWarning, match="Interrupted"):
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


@pytest.mark.parametrize("search", [False, True])
def test_nothing_of_an_earlier_fit_is_left(search, rng):
    X, Y = related_tasks(rng, 30, 2)
    est = MultiTaskRegressorCV(alphas=[0.1], kernel="rbf") if search else MultiTaskRegressor(kernel="rbf")
    est.fit(X, Y)
    assert hasattr(est, "dual_coef_")
    est.set_params(kernel="linear").fit(X, Y)
    assert hasattr(est, "coef_")
    assert not hasattr(est, "dual_coef_")
