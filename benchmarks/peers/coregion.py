"""GPyTorch, the intrinsic model of coregionalization: RBF kernel, parameters by marginal likelihood."""

import math

import gpytorch
import numpy as np
import torch
from gpytorch.kernels import IndexKernel, MultitaskKernel, RBFKernel, ScaleKernel

PACKAGES = ("gpytorch", "torch")
N_STEPS, RATE = 100, 0.1
# A width for each feature, where there are not too many of them for the labels.
MOST_WIDTHS = 30
# A step of the marginal likelihood grows with the cube of the number of labels.
MOST_LABELS = 1500


def predict(problem):
    if problem.classes:
        raise NotImplementedError("regression only")
    n_known = int(np.sum(~np.isnan(problem.Y)))
    if n_known > MOST_LABELS:
        raise NotImplementedError(f"too slow beyond {MOST_LABELS} labels")
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    return (_all_labels if problem.complete else _known_labels)(problem)


def make_kernel(X):
    d = X.shape[1]
    kernel = RBFKernel(ard_num_dims=d if d <= MOST_WIDTHS else None)
    kernel.lengthscale = math.sqrt(d / 2)
    return kernel


class AllLabels(gpytorch.models.ExactGP):
    def __init__(self, X, Y, likelihood):
        super().__init__(X, Y, likelihood)
        n_tasks = Y.shape[1]
        self.mean_module = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=n_tasks)
        self.covar_module = MultitaskKernel(make_kernel(X), num_tasks=n_tasks, rank=min(n_tasks, 5))

    def forward(self, x):
        return gpytorch.distributions.MultitaskMultivariateNormal(self.mean_module(x), self.covar_module(x))


class KnownLabels(gpytorch.models.ExactGP):
    def __init__(self, inputs, y, likelihood, n_tasks):
        super().__init__(inputs, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = ScaleKernel(make_kernel(inputs[0]))
        self.task_covar_module = IndexKernel(num_tasks=n_tasks, rank=min(n_tasks, 5))

    def forward(self, x, tasks):
        covariance = self.covar_module(x).mul(self.task_covar_module(tasks))
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), covariance)


def _all_labels(problem):
    X, Y, X_test = (torch.tensor(part) for part in (problem.X, problem.Y, problem.X_test))
    likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=Y.shape[1])
    model = AllLabels(X, Y, likelihood)
    climb(model, likelihood, (X,), Y)
    with torch.no_grad(), gpytorch.settings.skip_posterior_variances():
        return model(X_test).mean.numpy()


def _known_labels(problem):
    rows, tasks = (torch.tensor(part) for part in np.nonzero(~np.isnan(problem.Y)))
    X, X_test = torch.tensor(problem.X), torch.tensor(problem.X_test)
    y = torch.tensor(problem.Y)[rows, tasks]
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = KnownLabels((X[rows], tasks[:, None]), y, likelihood, problem.Y.shape[1])
    climb(model, likelihood, (X[rows], tasks[:, None]), y)
    columns = []
    with torch.no_grad(), gpytorch.settings.skip_posterior_variances():
        for t in range(problem.Y.shape[1]):
            columns.append(model(X_test, torch.full((len(X_test), 1), t)).mean.numpy())
    return np.stack(columns, axis=1)


def climb(model, likelihood, inputs, targets):
    """Steps of Adam on the marginal likelihood."""
    model.train()
    likelihood.train()
    climber = torch.optim.Adam(model.parameters(), lr=RATE)
    likelihood_of = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(N_STEPS):
        climber.zero_grad()
        loss = -likelihood_of(model(*inputs), targets)
        loss.backward()
        climber.step()
    model.eval()
    likelihood.eval()
