"""Clusters that are there, that lose a worker, and that are lost."""

import os
import signal
import threading

import numpy as np
import pandas as pd
import pytest
from problems import related_tasks

from skmtl import MultiTaskRegressor, save_model
from skmtl.tables import read_table, write_table

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
for package in ("typer", "skops"):
    pytest.importorskip(package)

pytestmark = pytest.mark.filterwarnings("ignore")
QUIET = {"dashboard_address": None, "silence_logs": 60}


@pytest.fixture
def files(tmp_path, rng):
    """A table of rows and a model of them."""
    X, Y = related_tasks(rng, 50, 2)
    frame = pd.DataFrame(X, columns=[*"abcde"])
    write_table(frame, tmp_path / "rows.csv")
    model = MultiTaskRegressor(alpha=0.1).fit(frame, Y)
    save_model(model, tmp_path / "model.skops")
    return tmp_path, model, frame


def test_a_scheduler_with_an_address(files, run):
    folder, model, frame = files
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **QUIET) as cluster:
        address = cluster.scheduler_address
        given = ("predict", folder / "model.skops", folder / "rows.csv", "--engine", "dask", "--scheduler", address)
        code, _, errors = run(*given, "--out", folder / "parts")
    assert code == 0, errors
    np.testing.assert_allclose(read_table(next((folder / "parts").glob("*.csv"))), model.predict(frame))


def test_a_scheduler_that_is_lost_on_the_way(files, run, monkeypatch):
    """The work fails as it does when the connection is gone: one sentence, and no folder."""
    folder, *_ = files

    def lose(*args, **kwargs):
        raise distributed.client.FutureCancelledError("read-csv", "lost connection to the scheduler")

    monkeypatch.setattr("dask.dataframe.DataFrame.to_csv", lose)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **QUIET) as cluster:
        address = cluster.scheduler_address
        given = ("predict", folder / "model.skops", folder / "rows.csv", "--engine", "dask", "--scheduler", address)
        code, _, errors = run(*given, "--out", folder / "parts")
    assert code == 2
    assert "was lost" in errors
    assert errors.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["model.skops", "rows.csv"]


@pytest.mark.slow
def test_no_scheduler_answers(files, run):
    folder, *_ = files
    given = ("predict", folder / "model.skops", folder / "rows.csv", "--engine", "dask", "--out", folder / "parts")
    code, _, errors = run(*given, "--scheduler", "tcp://127.0.0.1:1")
    assert code == 2
    assert "no Dask scheduler answers" in errors
    assert errors.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs the signals of POSIX")
def test_a_worker_that_is_killed_changes_nothing(rng):
    X, Y = related_tasks(rng, 4000, 3)
    in_memory = MultiTaskRegressor(alpha=0.01).fit(X, Y)

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(0.2, os.kill, (victim, signal.SIGKILL))
        killer.start()
        rows, labels = da.from_array(X, chunks=(200, -1)), da.from_array(Y, chunks=(200, -1))
        est = MultiTaskRegressor(alpha=0.01).fit(rows.map_blocks(slowly), labels)
        killer.join()
    np.testing.assert_allclose(est.predict(X), in_memory.predict(X), atol=1e-6)


def slowly(block):
    import time

    time.sleep(0.02)
    return block
