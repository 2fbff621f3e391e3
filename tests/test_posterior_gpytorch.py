"""The posterior beside that of GPyTorch, for the same kernel, structure and noise."""

import numpy as np
import pytest
from problems import related_tasks, with_gaps

from skmtl import MultiTaskRegressor
from skmtl.penalties import Fixed

STRUCTURE = np.array([[1.0, 0.8, -0.3], [0.8, 2.0, 0.1], [-0.3, 0.1, 0.5]])
GAMMA, ALPHA = 0.3, 1e-2


def gpytorch_posterior(X, row, task, y, Xnew, ridge):
    """Means and variances of all tasks at new rows: an exact process, one label after the other (Hadamard)."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    gpytorch = pytest.importorskip("gpytorch", reason="GPyTorch is not installed")
    double = torch.float64

    class Tasks(gpytorch.models.ExactGP):
        def __init__(self, inputs, targets, likelihood):
            super().__init__(inputs, targets, likelihood)
            self.mean, self.rbf = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel()
            self.index = gpytorch.kernels.IndexKernel(num_tasks=3, rank=3)

        def forward(self, x, i):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.rbf(x).mul(self.index(i)))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(double)
    inputs = torch.tensor(X[row], dtype=double), torch.tensor(task)[:, None]
    model = Tasks(inputs, torch.tensor(y, dtype=double), likelihood).to(double)
    likelihood.noise = ridge
    model.rbf.lengthscale = (2.0 * GAMMA) ** -0.5
    model.index.covar_factor.data = torch.tensor(np.linalg.cholesky(STRUCTURE), dtype=double)
    model.index.var = torch.full((3,), 1e-12, dtype=double)
    model.eval(), likelihood.eval()
    new = torch.tensor(np.repeat(Xnew, 3, axis=0), dtype=double)
    tasks = torch.arange(3).repeat(len(Xnew))[:, None]
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        answer = model(new, tasks)
        return (np.array(part).reshape(-1, 3) for part in (answer.mean, answer.variance))


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_mean_and_variance_are_those_of_gpytorch(share, rng):
    X, Y = related_tasks(rng, 30, 3)
    Y = with_gaps(rng, Y, share) if share else Y
    est = MultiTaskRegressor(
        Fixed(STRUCTURE), kernel="rbf", gamma=GAMMA, alpha=ALPHA, fit_intercept=False, scale_targets=False, tol=1e-9
    ).fit(X, Y)
    row, task = np.nonzero(~np.isnan(Y))
    Xnew = np.vstack([X[:3], rng.normal(size=(5, X.shape[1]))])
    ridge = len(row) / 3.0 * ALPHA
    mean, variance = gpytorch_posterior(X, row, task, Y[row, task], Xnew, ridge)
    ours, std = est.predict(Xnew, return_std=True)
    np.testing.assert_allclose(ours, mean, rtol=1e-6, atol=1e-6)
    # The noise that both are told is one in our units, and n alpha in theirs.
    np.testing.assert_allclose((std / est.noise_) ** 2 - 1.0, variance / ridge, rtol=1e-6)
