"""The structure step by active-set Newton, the library's default."""

from skmtl.penalties import Sparse

name = "newton"
skip = None


def minimize(S, mu, tol):
    """The structure, and what else there is to say."""
    return Sparse(mu).minimize(S, tol=tol).structure, ""
