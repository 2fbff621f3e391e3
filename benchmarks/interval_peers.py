"""Intervals of others, to be compared with: quantile forests, and Gaussian processes of GPyTorch.

Both are told the training labels and the rows to test on, and answer with the ends of intervals of each coverage.
"""

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import norm

try:
    from quantile_forest import RandomForestQuantileRegressor
except ImportError:
    RandomForestQuantileRegressor = None
try:
    import gpytorch
    import torch
except ImportError:
    gpytorch = None

N_STEPS, RATE = 80, 0.1
# New rows of which GPyTorch makes the covariance of all tasks at a time.
BLOCK = 100


def find_peers():
    """Names of those that are installed, with their functions."""
    peers = {}
    if RandomForestQuantileRegressor is not None:
        peers["forest"] = forest
    if gpytorch is not None:
        peers["icm"] = icm
    return peers


def forest(X, Y, X_test, coverages):
    """A quantile forest for each task, on its own rows; quantiles as they come."""
    quantiles = [0.5 + sign * c / 2.0 for c in coverages for sign in (-1.0, 1.0)]
    found = np.empty((len(X_test), len(quantiles), Y.shape[1]))
    for t, y in enumerate(Y.T):
        own = ~np.isnan(y)
        trees = RandomForestQuantileRegressor(n_estimators=60, min_samples_leaf=3, random_state=0)
        found[:, :, t] = trees.fit(X[own], y[own]).predict(X_test, quantiles=quantiles)
    return {c: (found[:, 2 * k], found[:, 2 * k + 1]) for k, c in enumerate(coverages)}


def icm(X, Y, X_test, coverages):
    """A multi-task Gaussian process (ICM), its parameters by maximal likelihood; Gaussian intervals."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    width = float(np.sqrt(np.median(pdist(X, "sqeuclidean"))))
    mean, std = (known_labels if np.isnan(Y).any() else all_labels)(X, Y, X_test, width)
    reaches = {c: norm.ppf(0.5 + c / 2.0) * std for c in coverages}
    return {c: (mean - reach, mean + reach) for c, reach in reaches.items()}


def all_labels(X, Y, X_test, width):
    """Means and standard deviations of new labels, (n, n_tasks) each, of a complete table."""
    X, Y, n_tasks = torch.tensor(X), torch.tensor(Y), Y.shape[1]

    class Process(gpytorch.models.ExactGP):
        def __init__(self, *parts):
            super().__init__(*parts)
            self.mean = gpytorch.means.MultitaskMean(gpytorch.means.ConstantMean(), num_tasks=n_tasks)
            self.rbf = gpytorch.kernels.RBFKernel()
            self.kernel = gpytorch.kernels.MultitaskKernel(self.rbf, num_tasks=n_tasks, rank=min(n_tasks, 3))

        def forward(self, x):
            return gpytorch.distributions.MultitaskMultivariateNormal(self.mean(x), self.kernel(x))

    likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(num_tasks=n_tasks)
    process = Process(X, Y, likelihood)
    process.rbf.lengthscale = width
    climb(process, likelihood, X, Y)
    with torch.no_grad():
        answers = [likelihood(process(block)) for block in torch.split(torch.tensor(X_test), BLOCK)]
        return tuple(np.concatenate(parts) for parts in zip(*[(a.mean, a.stddev) for a in answers], strict=True))


def known_labels(X, Y, X_test, width):
    """The same of a table with gaps: one label after the other, its task in the last column."""
    row, task = np.nonzero(~np.isnan(Y))
    inputs, y, n_tasks = torch.tensor(np.column_stack([X[row], task])), torch.tensor(Y[row, task]), Y.shape[1]

    class Process(gpytorch.models.ExactGP):
        def __init__(self, *parts):
            super().__init__(*parts)
            self.rbf = gpytorch.kernels.RBFKernel()
            self.index = gpytorch.kernels.IndexKernel(num_tasks=n_tasks, rank=min(n_tasks, 3))
            self.constants = torch.nn.Parameter(torch.zeros(n_tasks))

        def forward(self, x):
            x, task = x[:, :-1], x[:, -1:].long()
            covariance = self.rbf(x).mul(self.index(task))
            return gpytorch.distributions.MultivariateNormal(self.constants[task[:, 0]], covariance)

    likelihood = gpytorch.likelihoods.HadamardGaussianLikelihood(num_tasks=n_tasks, task_feature_index=-1)
    process = Process(inputs, y, likelihood)
    process.rbf.lengthscale = width
    climb(process, likelihood, inputs, y)
    parts = np.empty((2, len(X_test), n_tasks))
    with torch.no_grad():
        for t in range(n_tasks):
            new = torch.tensor(np.column_stack([X_test, np.full(len(X_test), t)]))
            answer = likelihood(process(new), new)
            parts[:, :, t] = np.stack([answer.mean, answer.stddev])
    return parts[0], parts[1]


def climb(process, likelihood, inputs, targets):
    """Steps of Adam on the marginal likelihood."""
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, process)
    descent = torch.optim.Adam(process.parameters(), lr=RATE)
    for _ in range(N_STEPS):
        descent.zero_grad()
        loss = -marginal(process(inputs), targets, inputs)
        loss.backward()
        descent.step()
    process.eval(), likelihood.eval()
