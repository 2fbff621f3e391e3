"""Laws of the losses, for every loss in the table."""

import numpy as np
import pytest

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl.losses import LOSSES
from skmtl.losses.base import check_loss


def entries(rng, loss, shape=(40, 3)):
    """Labels as the loss reads them, scores, and weights."""
    Y, F, weight = rng.standard_normal(shape), 2.0 * rng.standard_normal(shape), rng.uniform(0.1, 3.0, shape)
    if loss.couples_tasks:
        classes = rng.integers(0, shape[1], shape[0])
        return np.where(classes[:, None] == np.arange(shape[1]), 1.0, -1.0), F, np.repeat(weight[:, :1], shape[1], 1)
    if loss.nonnegative_targets:
        return rng.poisson(2.0, shape).astype(float), F, weight
    return (np.sign(Y) if not loss.for_regression else Y), F, weight


CORNERS = [name for name, loss in LOSSES.items() if loss.has_corner]
ENTRYWISE = [name for name, loss in LOSSES.items() if not loss.has_corner and not loss.couples_tasks]


@pytest.mark.parametrize("name", ENTRYWISE)
def test_gradient_and_curvature_are_derivatives(name, rng):
    loss = LOSSES[name]()
    Y, F, weight = entries(rng, loss)
    D, h = rng.standard_normal(F.shape), 1e-5
    slope = (loss.value(Y, F + h * D, weight) - loss.value(Y, F - h * D, weight)) / (2 * h)
    assert slope == pytest.approx(np.sum(loss.gradient(Y, F, weight) * D), rel=1e-4)
    change = loss.gradient(Y, F + h * D, weight) - loss.gradient(Y, F - h * D, weight)
    # Entries near a corner of the gradient, where the curvature jumps, are left out.
    expected, difference = loss.curvature(Y, F, weight) * D, change / (2 * h)
    steady = np.isclose(loss.curvature(Y, F + 2 * h * D, weight), loss.curvature(Y, F - 2 * h * D, weight), rtol=1e-2)
    assert steady.mean() > 0.9
    np.testing.assert_allclose(difference[steady], expected[steady], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_conjugate_meets_the_loss_at_its_gradient_and_nowhere_else(name, rng):
    """Fenchel: V(f) + V*(u) >= u f for every u in the domain, with equality at the gradient."""
    loss = LOSSES[name]()
    Y, F, weight = entries(rng, loss)
    value, gradient = loss.value(Y, F, weight), loss.gradient(Y, F, weight)
    assert value + loss.conjugate(Y, gradient, weight) == pytest.approx(np.sum(gradient * F), rel=1e-10)
    for _ in range(50):
        other = loss.gradient(Y, 3.0 * rng.standard_normal(F.shape), weight)
        assert value + loss.conjugate(Y, other, weight) >= np.sum(other * F) - 1e-10


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_convex_and_weights_multiply(name, rng):
    loss = LOSSES[name]()
    Y, F, weight = entries(rng, loss)
    other = rng.standard_normal(F.shape)
    middle = loss.value(Y, (F + other) / 2, weight)
    assert middle <= (loss.value(Y, F, weight) + loss.value(Y, other, weight)) / 2 + 1e-12
    twice = loss.value(Y, F, 2.0 * weight)
    assert twice == pytest.approx(2.0 * loss.value(Y, F, weight))
    assert loss.conjugate(Y, np.zeros_like(F), np.zeros_like(F)) == 0.0


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if not loss.free_dual])
def test_conjugate_is_infinite_outside_its_domain(name, rng):
    loss = LOSSES[name]()
    Y, _, weight = entries(rng, loss)
    # Beyond every slope that the loss has: against the label, and below it.
    far = 100.0 * weight * (Y if not loss.nonnegative_targets else -1.0 - Y)
    assert loss.conjugate(Y, far, weight) == np.inf


@pytest.mark.parametrize("alpha", [1e-1, 1e-4, 1e-6])
@pytest.mark.parametrize("name", CORNERS)
def test_losses_with_corners_are_proved_where_rows_are_few_and_strengths_small(name, alpha, rng):
    """Labels that a predictor can fit leave an objective near zero, of which the gap is a share all the same."""
    X = rng.standard_normal((52, 22))
    Y = X @ rng.standard_normal((22, 4)) + rng.standard_normal((52, 4))
    Y[rng.random(Y.shape) < 0.2] = np.nan
    if LOSSES[name].for_classification:
        est = MultiTaskClassifier(loss=name, alpha=alpha, tol=1e-4).fit(X, np.where(np.isnan(Y), np.nan, Y > 0))
    else:
        est = MultiTaskRegressor(loss=name, alpha=alpha, tol=1e-4).fit(X, Y)
    assert est.solution_.gap <= 1e-4


def test_the_curvature_of_the_softmax_bounds_its_hessian_and_agrees_on_gradients(rng):
    loss = LOSSES["softmax"]()
    Y, F, weight = entries(rng, loss, (1, 4))
    h, identity = 1e-5, np.eye(4)
    hessian = np.array([loss.gradient(Y, F + h * e, weight) - loss.gradient(Y, F - h * e, weight) for e in identity])
    hessian = hessian[:, 0, :] / (2 * h)
    curvature, gradient = loss.curvature(Y, F, weight)[0], loss.gradient(Y, F, weight)[0]
    assert np.linalg.eigvalsh(np.diag(curvature) - hessian).min() >= -1e-8
    np.testing.assert_allclose(hessian @ (gradient / curvature), gradient, atol=1e-8)


def test_the_softmax_of_two_classes_is_the_logistic_loss(rng):
    one, two = LOSSES["softmax"](), LOSSES["logistic"]()
    Y, F, weight = entries(rng, two, (20, 1))
    assert one.value(Y, F, weight) == two.value(Y, F, weight)
    both = np.hstack([-Y, Y]), np.hstack([np.zeros_like(F), F]), np.hstack([weight, weight])
    assert one.value(*both) == pytest.approx(two.value(Y, F, weight))


@pytest.mark.parametrize("shift", [0.0, 1e-3, 0.3])
def test_balanced_dual_points_of_the_softmax_sum_to_zero_and_stay_in_the_domain(shift, rng):
    loss = LOSSES["softmax"]()
    Y, F, weight = entries(rng, loss)
    found = loss.balanced(Y, loss.gradient(Y, 5.0 * F + shift * np.arange(3), weight), weight)
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)
    assert np.isfinite(loss.conjugate(Y, found, weight))


def test_unknown_and_unsuitable_losses_are_named():
    choice = "choose one of " + ", ".join(sorted(name for name, loss in LOSSES.items() if loss.for_regression))
    assert "huber" in choice
    with pytest.raises(ValueError, match=f"loss='squared' is not known; {choice}"):
        check_loss("squared", purpose="regression")
    with pytest.raises(ValueError, match=f"loss='logistic' is not for regression; {choice}"):
        check_loss("logistic", purpose="regression")
    with pytest.raises(ValueError, match="loss='huber' is not for classification"):
        check_loss("huber", purpose="classification")
    with pytest.raises(ValueError, match="delta=0"):
        check_loss(LOSSES["huber"](delta=0), purpose="regression")
    for name, params, match in (
        ("quantile", {"level": 1.0}, "level=1.0"),
        ("epsilon_insensitive", {"epsilon": -0.1}, "epsilon=-0.1"),
    ):
        with pytest.raises(ValueError, match=match):
            check_loss(LOSSES[name](**params), purpose="regression")
    with pytest.raises(TypeError, match="neither a name nor a Loss"):
        check_loss(3, purpose="regression")
