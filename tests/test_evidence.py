"""What held-out rows say: slopes of the log odds, noise and its correlation, beside sums written out."""

import numpy as np
import pytest
from problems import related_tasks, with_gaps
from scipy.optimize import minimize_scalar
from sklearn.metrics.pairwise import rbf_kernel

from skmtl import MultiTaskRegressor, MultiTaskRegressorCV
from skmtl.estimators.calibration import LEAST_SLOPE, RIDGE, Calibration, calibrate
from skmtl.estimators.evidence import LEAST_NOISE, shrunk_correlation
from skmtl.model_selection import landmark_choice as landmarks
from skmtl.model_selection.parameter_choice import given_parameters
from skmtl.penalties.fixed import MeanCoupled
from skmtl.solvers.held_out import held_out_residuals
from skmtl.targets.layout import TableLabels

# Slopes ---------------------------------------------------------------------------------------------------------------


def slope_by_search(score, target, weight):
    """The least log loss of soft targets, with a weak ridge in units of the size of the scores."""
    size = np.sqrt(np.mean(score**2))

    def cost(slope):
        z = slope * score
        return np.sum(weight * (np.logaddexp(0.0, z) - target * z)) + 0.5 * RIDGE * (slope * size) ** 2

    return minimize_scalar(cost, bounds=(LEAST_SLOPE / size, 1e4), method="bounded", options={"xatol": 1e-9}).x


@pytest.mark.parametrize("together", [False, True])
def test_slopes_are_those_of_the_least_log_loss(together, rng):
    n = 40
    score = rng.standard_normal((n, 2)) * (1.0, 5.0)
    y = np.where(rng.random((n, 2)) < 1.0 / (1.0 + np.exp(-score)), 1.0, -1.0)
    weight = rng.uniform(0.5, 3.0, (n, 2)) * (rng.random((n, 2)) < 0.8)
    found = calibrate(score, TableLabels(y, weight), together=together)
    for t in range(2):
        columns = slice(None) if together else slice(t, t + 1)
        known = weight[:, columns] > 0.0
        s, label, w = (part[:, columns][known] for part in (score, y, weight))
        # Labels are softened by as much as one more of each class would (Platt); of their weights the mean is one.
        w = w / w.mean()
        positive, negative = w[label > 0].sum(), w[label < 0].sum()
        target = np.where(label > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
        for side, slope in ((s > 0, found.above[1, t]), (s < 0, found.below[1, t])):
            assert slope == pytest.approx(slope_by_search(s[side], target[side], w[side]), rel=5e-3)


def test_a_side_without_scores_has_the_slope_of_the_other_and_no_slope_falls(rng):
    score = np.abs(rng.standard_normal((20, 1))) + 0.1
    labels = TableLabels(np.where(np.arange(20)[:, None] % 4, 1.0, -1.0), np.ones((20, 1)))
    found = calibrate(score, labels, together=False)
    assert found.above[1, 0] == found.below[1, 0] > 0.0
    other = calibrate(-score, labels, together=False)
    # Scores below zero of labels that are mostly positive: as flat as slopes may be.
    size = np.sqrt(np.mean(score**2))
    assert other.above[1, 0] == other.below[1, 0] == pytest.approx(LEAST_SLOPE / size)
    nothing = calibrate(np.zeros((20, 1)), labels, together=False)
    np.testing.assert_array_equal(nothing, np.zeros((2, 3, 1)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_scores_that_are_all_the_same_have_the_odds_of_their_labels(sign):
    """However many they are: a line with a start of its own has nothing to go by."""
    score, y = np.full((70, 1), 0.7 * sign), np.where(np.arange(70)[:, None] < 45, sign, -sign)
    labels = TableLabels(y, np.ones((70, 1)))
    found = calibrate(score, labels, together=False)
    # Each class is softened by one more label of the other (Platt).
    share = (45 * (46 / 47) + 25 * (1 / 27)) / 70
    odds = found.log_odds(score)[0, 0]
    assert odds == pytest.approx(sign * np.log(share / (1.0 - share)), rel=1e-2)
    assert found.above[0, 0] == found.below[0, 0] == 0.0


def test_log_odds_bend_at_zero():
    # Through zero, one slope above and another below.
    above, below = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    calibration = Calibration(above, below)
    F = np.array([[1.0, -1.0], [-2.0, 2.0]])
    np.testing.assert_array_equal(calibration.log_odds(F), [[1.0, -4.0], [-6.0, 4.0]])
    np.testing.assert_array_equal(calibration.log_odds(np.array([1.0, -1.0]), np.array([1, 0])), [2.0, -3.0])


def test_a_line_with_a_start_never_crosses_to_the_other_side():
    """Above zero odds are at least even however low the line starts, and the order of scores is kept."""
    calibration = Calibration(np.array([[-2.0], [1.0], [0.01]]), np.array([[0.5], [1.0], [0.01]]))
    F = np.array([[-3.0], [-0.1], [0.1], [1.0], [4.0]])
    np.testing.assert_allclose(calibration.log_odds(F).ravel(), [-2.5, -0.001, 0.001, 0.01, 2.0])


# Noise ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [0.3, -0.8])
def test_a_correlation_shrinks_by_its_own_error(r):
    """Two tasks with n pairs: chance alone makes squares of 1 / (n - 1) each."""
    n = 30.0
    R = shrunk_correlation(np.array([[1.0, r], [r, 1.0]]), np.full((2, 2), n))
    assert R[0, 1] == R[1, 0] == pytest.approx(r * (1.0 - 1.0 / ((n - 1.0) * r**2)))
    np.testing.assert_allclose(np.diag(R), 1.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_estimate_beyond_one_counts_as_one(sign):
    R, limit = (shrunk_correlation(np.array([[1.0, r], [r, 1.0]]), np.full((2, 2), 30.0)) for r in (1.7 * sign, sign))
    np.testing.assert_array_equal(R, limit)
    # Of every combination of tasks a fiftieth of the noise of one is left, here of the one that is next to nothing.
    full = shrunk_correlation(np.array([[1.0, sign], [sign, 1.0]]), np.full((2, 2), 1e9))
    assert full[0, 1] == pytest.approx(sign * (2.0 - 0.02) / (2.0 + 0.02))


def test_correlations_of_few_pairs_are_none_and_none_is_complete():
    few = shrunk_correlation(np.array([[1.0, 0.9], [0.9, 1.0]]), np.full((2, 2), 2.0))
    np.testing.assert_allclose(few, np.eye(2))
    # By chance as much as there is.
    small = shrunk_correlation(np.array([[1.0, 0.1], [0.1, 1.0]]), np.full((2, 2), 50.0))
    np.testing.assert_allclose(small, np.eye(2))
    # Estimates that no correlation matrix has: every combination of tasks keeps some noise.
    wild = 1.7 * np.array([[0.0, 1, 1], [1, 0, -1], [1, -1, 0]]) + np.eye(3)
    R = shrunk_correlation(wild, np.full((3, 3), 1e6))
    np.testing.assert_allclose(np.diag(R), 1.0)
    assert np.linalg.eigvalsh(R)[0] >= LEAST_NOISE / 3.0
    assert np.abs(R - np.diag(np.diag(R))).max() < 1.0
    mixed = np.array([[9.0, 9.0, 2.0], [9.0, 9.0, 2.0], [2.0, 2.0, 9.0]])
    R = shrunk_correlation(np.full((3, 3), 0.9), mixed)
    assert R[0, 1] > 0.5
    assert R[0, 2] == R[1, 2] == pytest.approx(0.0)


def test_the_noise_is_that_of_errors_at_labels_left_out(rng):
    """By refitting without each row, the structure held."""
    X, Y = related_tasks(rng, 14, 2)
    Y = with_gaps(rng, Y)
    est = MultiTaskRegressor("independent", kernel="rbf", alpha=0.05, scale_targets=False, fit_intercept=False)
    kept = est.fit(X, Y).evidence_
    K, n = est.feature_map_.transform(X), np.isfinite(Y).sum() / 2
    for t in range(2):
        known = np.flatnonzero(np.isfinite(Y[:, t]))
        M = K[np.ix_(known, known)] + n * 0.05 * np.eye(len(known))
        inverse = np.linalg.inv(M)
        left_out = (inverse @ Y[known, t]) / np.diag(inverse)
        spread = 1.0 / np.sqrt(np.diag(inverse) * n * 0.05)
        np.testing.assert_allclose(kept.scores(t)[0], np.sort(np.abs(left_out) / spread), rtol=1e-6)
        assert kept.noise[t] == pytest.approx(np.sqrt(np.mean((left_out / spread) ** 2)))


def test_a_new_label_has_the_mean_weight_of_its_task(rng):
    X, Y = related_tasks(rng, 12, 2)
    weight = rng.uniform(0.5, 3.0, Y.shape)
    kept = MultiTaskRegressor(alpha=0.1).fit(X, Y, sample_weight=weight).evidence_
    np.testing.assert_allclose(kept.label_noise, 1.0 / weight.mean(axis=0))
    root = np.sqrt(kept.label_noise)
    np.testing.assert_allclose(np.sqrt(np.diag(kept.noise_covariance)), root)
    np.testing.assert_allclose(kept.noise_covariance / np.outer(root, root), kept.noise_correlation)


def test_a_task_without_noise_has_no_correlation(rng):
    X, Y = related_tasks(rng, 20, 3)
    Y[:, 1] = 3.0
    kept = MultiTaskRegressor("independent", alpha=0.1).fit(X, Y).evidence_
    assert kept.noise[1] == 0.0
    assert np.all(np.isfinite(kept.noise_correlation))
    np.testing.assert_allclose(kept.noise_correlation[1, [0, 2]], 0.0, atol=1e-12)


# Choices --------------------------------------------------------------------------------------------------------------


def test_the_price_of_mean_coupling_is_a_number_from_zero_on():
    for strength in (0.0, 0.5, 3):
        MeanCoupled(strength).check(3)
    np.testing.assert_allclose(MeanCoupled(0.0).structure(3), np.eye(3))
    for strength in (-0.1, "one", np.nan):
        with pytest.raises(ValueError, match="strength="):
            MeanCoupled(strength).check(3)


def test_the_automatic_eps_stays_automatic_unless_a_multiple_is_chosen(rng):
    X, Y = related_tasks(rng, 24, 3)
    grid = {"alphas": [0.1], "mus": [0.5], "cv": 3, "kernel": "linear"}
    plain = MultiTaskRegressorCV(**grid, eps_factors=[1.0]).fit(X, Y)
    assert plain.best_estimator_.eps == "auto"
    multiple = MultiTaskRegressorCV(**grid, eps_factors=[50.0]).fit(X, Y)
    if not multiple.best_estimator_.penalty.known:
        assert multiple.best_estimator_.eps == pytest.approx(50.0 * plain.best_estimator_.eps_, rel=1e-3)


def test_rows_that_choose_and_judge_are_as_many_as_there_is_time_for(rng, monkeypatch):
    monkeypatch.setattr(landmarks, "MOST_EXACT_ROWS", 30)
    monkeypatch.setattr(landmarks, "MOST_LANDMARK_ROWS", 40)
    monkeypatch.setattr(landmarks, "FEWEST_LINEAR_ROWS", 10)
    monkeypatch.setattr(landmarks, "MOST_LINEAR_ROWS", 45)
    monkeypatch.setattr(landmarks, "LINEAR_WORK", 20.0 * (9 + landmarks.LINEAR_CANDIDATES * 3 * 2))
    X, Y, fewer = np.zeros((50, 3)), np.zeros((50, 2)), np.arange(5)
    draw = landmarks.draw_affordable
    assert len(draw(X, Y, "rbf", fewer)) == 30
    assert len(draw(X, Y, "rbf", fewer, n_components=7)) == 40
    assert len(draw(X, Y, "linear", fewer)) == 20
    assert len(draw(X, Y[:, 0], "linear", fewer)) == int(20 * (9 + 72 * 2) / (9 + 72))
    assert len(draw(X, Y, "rbf", np.arange(35))) == 35
    assert len(set(draw(X, Y, "rbf", fewer).tolist())) == 30
    gap = np.where(np.arange(100).reshape(50, 2) == 3, np.nan, 0.0)
    for labels, more in ((gap, {}), (Y, {"quadratic": False}), (Y[:, 0], {"tasks": np.zeros(50)})):
        np.testing.assert_array_equal(draw(X, labels, "rbf", fewer, **more), fewer)
    assert "7 of 50 rows" in landmarks.describe_landmarks(7, 50)


def test_parameters_that_are_given_say_how_many_rows_are_used(rng, monkeypatch):
    monkeypatch.setattr(landmarks, "MOST_EXACT_ROWS", 20)
    monkeypatch.setattr(landmarks, "LANDMARKS", 7)
    X, Y = related_tasks(rng, 60, 2)
    choice = given_parameters(MultiTaskRegressor(kernel="rbf"), X, Y)
    assert choice.estimator.n_components == 7
    assert any("7 of 60 rows" in reason for reason in choice.reasons)
    own = given_parameters(MultiTaskRegressor(kernel="rbf", n_components=9), X, Y)
    assert own.estimator.n_components == 9
    assert own.reasons == ("The rbf kernel is used, approximated on 9 rows.", "Parameters are as given.")
    assert given_parameters(MultiTaskRegressor(kernel="linear"), X, Y).estimator.n_components is None


@pytest.mark.parametrize(("shared", "least", "most"), [(0.0, -0.08, 0.08), (0.8, 0.7, 1.0)])
def test_noise_goes_together_only_as_far_as_the_posterior_does_not_say(shared, least, most):
    """Errors at rows left out have the error of what tasks have in common together, beside their noise."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, noise = rng.uniform(-3.0, 3.0, (150, 2)), rng.standard_normal((150, 2))
        noise[:, 1] = shared * noise[:, 0] + np.sqrt(1.0 - shared**2) * noise[:, 1]
        Y = (np.sin(X[:, 0]) * np.cos(X[:, 1]))[:, None] + 0.5 * noise
        est = MultiTaskRegressor(kernel="rbf", gamma=0.5, alpha=3e-3, common=10.0).fit(X, Y)
        found.append(est.evidence_.noise_correlation[0, 1])
    assert least < np.mean(found) < most


@pytest.mark.parametrize(("n_components", "rtol"), [(None, 1e-9), (10, 0.1)])
@pytest.mark.parametrize("weights", [None, (0.5, 2.0)])
def test_an_error_goes_together_with_itself_as_far_as_it_spreads(n_components, rtol, weights, rng):
    """With landmarks nearly: they miss a part of a row that is left out, but nothing of their own rows."""
    X, Y = related_tasks(rng, 60, 3)
    weight = None if weights is None else rng.uniform(*weights, 60)
    est = MultiTaskRegressor(kernel="rbf", gamma=0.3, alpha=1e-2, n_components=n_components, random_state=0)
    residuals = est.fit(X, Y, sample_weight=weight).evidence_.residuals
    others = np.isfinite(residuals.spread).all(axis=1)
    assert np.sum(~others) == (n_components or 0)
    np.testing.assert_allclose(np.diag(residuals.together), np.mean(residuals.spread[others] ** 2, axis=0), rtol=rtol)


@pytest.mark.parametrize("long", [False, True])
def test_a_new_row_is_uncertain_by_what_landmarks_miss_of_rows_that_are_none(long, rng):
    """k(x, x) less what the landmarks span of it, over n alpha; a landmark misses nothing of itself."""
    X, Y = related_tasks(rng, 40, 2)
    tasks = np.arange(40) % 2
    est = MultiTaskRegressor(kernel="rbf", gamma=0.3, alpha=1e-2, n_components=9, random_state=0)
    kept = (est.fit(X, Y[:, 0], tasks=tasks) if long else est.fit(X, Y)).evidence_
    plain = held_out_residuals(kept.design, kept.labels, kept.structure, kept.alpha, intercept=True)
    K, cross = rbf_kernel(est.landmarks_, gamma=0.3), rbf_kernel(X, est.landmarks_, gamma=0.3)
    missed = 1.0 - np.einsum("ij,ij->i", cross, np.linalg.solve(K, cross.T).T)
    others = missed > 1e-9
    assert np.count_nonzero(~others) == 9
    ridge = (20.0 if long else 40.0) * 1e-2
    expected = plain.together + missed[others].mean() * kept.structure / ridge
    np.testing.assert_allclose(kept.residuals.together, expected, rtol=1e-6)
    own = np.diag(kept.structure)[tasks[kept.labels.arrange(np.arange(40))]] if long else np.diag(kept.structure)
    missed = kept.labels.arrange(missed)
    spread = np.sqrt(plain.spread**2 + (missed * own if long else np.outer(missed, own)) / ridge)
    # With few labels those of landmarks count too.
    np.testing.assert_allclose(kept.residuals.spread, spread, rtol=1e-6)


@pytest.mark.parametrize(("few", "apart"), [(30, False), (60, True)])
def test_landmarks_say_nothing_where_every_task_has_enough_other_labels(few, apart, rng):
    """Fifty of each, and not of one of them only."""
    n = 80 + few
    X, Y = related_tasks(rng, n, 1)
    tasks = np.array(["a", "b"])[(np.arange(n) >= 80).astype(int)]
    est = MultiTaskRegressor(kernel="rbf", gamma=0.3, n_components=9, random_state=0).fit(X, Y[:, 0], tasks=tasks)
    assert np.count_nonzero(np.isinf(est.evidence_.residuals.spread)) == (9 if apart else 0)


def test_units_are_groups_where_there_are_two_and_else_rows(rng):
    X, Y = related_tasks(rng, 12, 2)
    rows = np.arange(12)
    for groups, expected in [(rows % 3, rows % 3), (rows // 6, rows // 6), (np.zeros(12), rows), (None, rows)]:
        est = MultiTaskRegressor(alpha=0.1).fit(X, Y, groups=groups)
        np.testing.assert_array_equal(est.evidence_.units, np.repeat(expected[:, None], 2, axis=1))
        est.fit(X, Y[:, 0], tasks=rows % 2, groups=groups)
        kept = est.evidence_
        np.testing.assert_array_equal(kept.units, kept.labels.arrange(expected))


@pytest.mark.parametrize("counts", [3.0, 4.0, 5.0, 100.0])
def test_so_few_pairs_shrink_by_what_there_would_be_by_chance(counts):
    """From three pairs on: the squares of the estimates less 1 / (m - 1) for each."""
    R = np.array([[1.0, 0.9], [0.9, 1.0]])
    kept = max(1.0 - (2.0 / (counts - 1.0)) / (2.0 * 0.81), 0.0)
    found = shrunk_correlation(R, np.full((2, 2), counts))
    assert found[0, 1] == pytest.approx(0.9 * kept)
    assert shrunk_correlation(R, np.full((2, 2), 2.0))[0, 1] == 0.0


def test_a_task_of_one_label_has_the_noise_of_standardized_labels(rng):
    """Left out, nothing is left to say how wrong it is."""
    X, Y = related_tasks(rng, 20, 2)
    Y[1:, 1] = np.nan
    est = MultiTaskRegressor(kernel="rbf").fit(X, Y)
    assert est.evidence_.noise[1] == 1.0 != est.evidence_.noise[0]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("scaled", [True, False])
def test_labels_that_are_one_value_have_no_noise_but_rounding(unit, scaled, rng):
    """A label of such a task that is not that value says something of the others, and not more than they could be."""
    Y = unit * rng.standard_normal((30, 3))
    Y[:, 0] = 0.1 * unit
    est = MultiTaskRegressor(MeanCoupled(1.0), scale_targets=scaled).fit(np.zeros((30, 3)), Y)
    assert est.noise_[0] == 0.0
    assert np.all(est.noise_[1:] > 0.1 * unit)
    known = np.full((1, 3), np.nan)
    known[0, 0] = 0.2 * unit
    moved = est.predict(np.zeros((1, 3)), known=known)[0]
    assert np.all(np.abs(moved - Y.mean(axis=0)) < 10.0 * unit)


def test_small_labels_beside_large_ones_have_noise_of_their_own(rng):
    """Nothing is taken for rounding of labels that are not one value."""
    Y = rng.standard_normal((30, 2)) * [1.0, 1e-15]
    est = MultiTaskRegressor("independent", scale_targets=False).fit(rng.standard_normal((30, 3)), Y)
    np.testing.assert_allclose(est.noise_[1] / Y[:, 1].std(), 1.0, rtol=0.5)
