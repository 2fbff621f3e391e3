"""Fits beside one another: the same answers, and BLAS as it was."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from joblib import Parallel, delayed
from problems import related_tasks, with_gaps
from threadpoolctl import ThreadpoolController, threadpool_limits

from skmtl import MultiTaskClassifier, MultiTaskRegressor
from skmtl._linalg import single_threaded

BLAS = ThreadpoolController().select(user_api="blas")


def threads():
    return [library.num_threads for library in BLAS.lib_controllers]


@pytest.fixture
def three_threads():
    """BLAS on another number of threads than one, whatever the environment says."""
    with threadpool_limits(3, user_api="blas"):
        if set(threads()) != {3}:
            pytest.skip("this BLAS has no threads")
        yield


def test_who_overlap_leave_the_threads_as_they_were(three_threads):
    """The first to come leaves before the second does."""
    first, second = single_threaded(10), single_threaded(10)
    with first:
        assert set(threads()) == {1}
        second.__enter__()
    assert set(threads()) == {1}
    second.__exit__(None, None, None)
    assert set(threads()) == {3}


def test_an_error_inside_leaves_the_threads_as_they_were(three_threads):
    def fail():
        with single_threaded(10):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert set(threads()) == {3}


def test_large_matrices_have_all_threads(three_threads):
    with single_threaded(10_000):
        assert set(threads()) == {3}


def problem(k):
    """A small problem of its own kind and size for every k."""
    rng = np.random.default_rng(k)
    X, Y = related_tasks(rng, 20 + k, 2 + k % 4)
    Y = with_gaps(rng, Y) if k % 3 == 0 else Y
    if k % 5 == 0:
        return MultiTaskClassifier(kernel="rbf", alpha=0.1), X, np.where(Y[:, 0] > 0, "b", "a")
    return MultiTaskRegressor(kernel=("linear", "rbf")[k % 2], penalty=("sparse", "trace")[k % 2], alpha=0.1), X, Y


def answer(k):
    est, X, Y = problem(k)
    est.fit(X, Y)
    return est.decision_function(X) if isinstance(est, MultiTaskClassifier) else est.predict(X)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Threads of BLAS beside threads of Python wait for one another, and these tests for them."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="module")
def serial():
    return [answer(k) for k in range(50)]


def test_fifty_fits_in_threads_are_those_made_one_by_one(serial):
    together = Barrier(4)

    def work(k):
        if k < 4:
            together.wait(30)
        return answer(k)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(50)))
    for one, other in zip(serial, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_fifty_fits_in_processes_are_those_made_one_by_one(serial):
    found = Parallel(2)(delayed(answer)(k) for k in range(50))
    for one, other in zip(serial, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_fits_together_leave_the_threads_as_they_were(three_threads):
    together = Barrier(2)

    def work(k):
        together.wait(30)
        return answer(k)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (1, 2)))
    assert set(threads()) == {3}


@pytest.mark.slow
def test_memory_does_not_grow_over_a_thousand_fits():
    resource = pytest.importorskip("resource")

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    # The peak of the first rounds is that of every size and road; it may not rise afterwards by more than noise.
    for k in range(200):
        answer(k % 50)
    before = peak()
    for k in range(1000):
        answer(k % 50)
    assert peak() - before < 0.02 * before
