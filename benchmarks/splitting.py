"""The structure step by Algorithm 2 of the paper, primal-dual splitting with its dual step put right."""

from skmtl.penalties import Sparse

name = "primal-dual"
skip = None
# Bounds the run, not the answer: the output says where it stopped when that was not enough.
max_iter = 60_000


def minimize(S, mu, tol):
    """The structure, and what else there is to say."""
    step = Sparse(mu, solver="primal-dual", max_iter=max_iter).minimize(S, tol=tol)
    reached = step.gap <= tol
    return (
        step.structure,
        "" if reached else f"stopped at {max_iter} iterations, gap not reached: ratio is a lower bound",
    )
