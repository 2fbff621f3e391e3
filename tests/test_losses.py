"""Laws of the losses, for every loss in the table."""

import numpy as np
import pytest

from skmtl.losses import LOSSES, SmoothedHinge
from skmtl.losses.base import check_loss


def entries(rng, loss, shape=(40, 3)):
    Y, F = rng.standard_normal(shape), 2.0 * rng.standard_normal(shape)
    return (np.sign(Y) if not loss.for_regression else Y), F, rng.uniform(0.1, 3.0, shape)


SMOOTH = [name for name in LOSSES if name != "hinge"]


def make(name):
    return SmoothedHinge(0.3) if name == "smoothed hinge" else LOSSES[name]()


@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_and_curvature_are_derivatives(name, rng):
    loss = make(name)
    Y, F, weight = entries(rng, loss)
    D, h = rng.standard_normal(F.shape), 1e-5
    slope = (loss.value(Y, F + h * D, weight) - loss.value(Y, F - h * D, weight)) / (2 * h)
    assert slope == pytest.approx(np.sum(loss.gradient(Y, F, weight) * D), rel=1e-4)
    change = loss.gradient(Y, F + h * D, weight) - loss.gradient(Y, F - h * D, weight)
    # Entries near a corner of the gradient are left out.
    expected, difference = loss.curvature(Y, F, weight) * D, change / (2 * h)
    steady = loss.curvature(Y, F + 2 * h * D, weight) == loss.curvature(Y, F - 2 * h * D, weight)
    steady |= np.full(F.shape, name == "logistic")
    assert steady.mean() > 0.9
    np.testing.assert_allclose(difference[steady], expected[steady], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", [*LOSSES, "smoothed hinge"])
def test_conjugate_meets_the_loss_at_its_gradient_and_nowhere_else(name, rng):
    """Fenchel: V(f) + V*(u) >= u f for every u in the domain, with equality at the gradient."""
    loss = make(name)
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


@pytest.mark.parametrize("name", ["logistic", "hinge", "squared_hinge", "huber"])
def test_conjugate_is_infinite_outside_its_domain(name, rng):
    loss = LOSSES[name]()
    Y, _, weight = entries(rng, loss)
    far = 100.0 * weight * Y
    assert loss.conjugate(Y, far, weight) == np.inf


def test_the_smoothed_hinge_is_at_most_half_its_width_below_the_hinge(rng):
    hinge, smooth = LOSSES["hinge"](), SmoothedHinge(0.4)
    for f in np.linspace(-3, 3, 101):
        one = np.ones((1, 1))
        difference = hinge.value(one, f * one, one) - smooth.value(one, f * one, one)
        assert -1e-15 <= difference <= 0.2 + 1e-15


def test_the_smoothed_hinge_has_its_slope_and_lies_below_its_parabola(rng):
    loss = SmoothedHinge(0.3)
    Y, F, weight = entries(rng, loss)
    gradient, curvature = loss.gradient(Y, F, weight), loss.curvature(Y, F, weight)
    for t in np.linspace(-0.3, 0.3, 13):
        inside = Y * F < 1.0
        at = [loss.value(Y[i], F[i] + t, weight[i]) for i in zip(*np.nonzero(inside), strict=True)]
        before = [loss.value(Y[i], F[i], weight[i]) for i in zip(*np.nonzero(inside), strict=True)]
        parabola = before + gradient[inside] * t + 0.5 * curvature[inside] * t**2
        assert np.all(at <= parabola + 1e-12)
    h = 1e-6
    slope = (loss.value(Y, F + h, weight) - loss.value(Y, F - h, weight)) / (2 * h)
    assert slope == pytest.approx(gradient.sum(), rel=1e-6)


def test_unknown_and_unsuitable_losses_are_named():
    with pytest.raises(ValueError, match="loss='squared' is not known; choose one of huber, square"):
        check_loss("squared", purpose="regression")
    with pytest.raises(ValueError, match="loss='logistic' is not for regression; choose one of huber, square"):
        check_loss("logistic", purpose="regression")
    with pytest.raises(ValueError, match="loss='huber' is not for classification"):
        check_loss("huber", purpose="classification")
    with pytest.raises(ValueError, match="delta=0"):
        check_loss(LOSSES["huber"](delta=0), purpose="regression")
    with pytest.raises(TypeError, match="neither a name nor a Loss"):
        check_loss(3, purpose="regression")
