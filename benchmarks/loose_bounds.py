"""Bounds far from convergence: ``python benchmarks/loose_bounds.py --fits 1500``.

A bound holds whatever the structure and the predictors are that prove it. Every seed of ``random_fits.py`` is fitted
roughly, with a large ``tol`` or few rounds, and exactly; no bound of a rough fit may be above the objective of the
exact one, which is recomputed (``recompute.py``).
"""

import argparse
import signal
import warnings

import numpy as np
from random_fits import draw
from recompute import objectives
from reliability import ROUNDING, STOP, give_up, resolution
from sklearn.base import clone
from threadpoolctl import threadpool_limits

ROUGH = ({"tol": 1e-1}, {"tol": 1e-3}, {"max_iter": 1}, {"max_iter": 3})
EXACT = {"tol": 1e-9}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=100, help="how many seeds (default 100)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    arguments = parser.parse_args()
    signal.signal(signal.SIGVTALRM, give_up)
    bounds = above = 0
    with threadpool_limits(limits=1, user_api="blas"):
        for seed in range(arguments.first, arguments.first + arguments.fits):
            for params, excess in compare(seed):
                bounds += 1
                if excess > 0.0:
                    above += 1
                    print(f"seed {seed}, {params}: above the optimum by {excess:.1e} of it")
    print(f"{bounds} bounds, {above} above the optimum")


def compare(seed):
    """How far the bounds of rough fits are above the exact objective, relative to it and beyond rounding.

    Fits that are refused, and those that take too long, have none.
    """
    case, found = draw(seed), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        signal.setitimer(signal.ITIMER_VIRTUAL, STOP)
        try:
            exact = fit(case, EXACT)
            with np.errstate(all="ignore"):
                least = objectives(exact, case.X, case.y, **case.extra)[1]
            room = ROUNDING * abs(least) + resolution(case, exact, least)
            for params in ROUGH:
                excess = fit(case, params).solution_.lower_bound - least - room
                found.append((params, excess / max(abs(least), np.finfo(float).tiny)))
        except (ValueError, TypeError, TimeoutError):
            pass
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
    return found


def fit(case, params):
    return clone(case.estimator).set_params(**params).fit(case.X, case.y, **case.extra)


if __name__ == "__main__":
    main()
