"""Signals in the middle of the work of the command line: the exit code of the shell, and nothing half done."""

import io
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from skmtl import MultiTaskRegressor, cli, load_model, save_model
from skmtl.cli import ended_by_signals
from skmtl.cli.progress import working
from skmtl.tables import read_table, write_table

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs the signals of POSIX")
for package in ("typer", "rich", "skops"):
    pytest.importorskip(package)

# The command line in a process of its own, which says when it starts to work.
START = "import sys; from skmtl.cli import main, make_app; make_app(); print('ready', flush=True); main()"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("table") / "table.csv"
    X = rng.standard_normal((120, 4))
    Y = X @ rng.standard_normal((4, 3)) + rng.standard_normal((120, 3))
    frame = pd.DataFrame(np.hstack([X, Y]), columns=[*"abcd", "y1", "y2", "y3"])
    write_table(frame, path)
    return path


def start(*arguments):
    process = subprocess.Popen(
        [sys.executable, "-c", START, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.stdout.readline() == "ready\n"
    return process


def stop(process, number, after):
    """Send a signal after some seconds; gives exit code and errors."""
    time.sleep(after)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors


def nothing_half_done(folder):
    """Every file is whole: it can be read, and no part is left."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if path.name.endswith(".part")]
    for path in files:
        if path.suffix == ".skops":
            load_model(path)
        elif path.suffix == ".csv":
            read_table(path)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_have_the_exit_codes_of_the_shell(number, code):
    before = signal.getsignal(number)

    def work():
        with ended_by_signals():
            os.kill(os.getpid(), number)
            time.sleep(60)

    with pytest.raises(SystemExit) as caught:
        work()
    assert caught.value.code == code
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_second_signal_does_not_end_what_the_first_one_began(second):
    """As a terminal that closes sends them: what is half written is removed."""
    before, removed = signal.getsignal(second), []

    def work():
        with ended_by_signals():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(60)
            finally:
                os.kill(os.getpid(), second)
                time.sleep(0.01)
                removed.append("part")

    with pytest.raises(SystemExit) as caught:
        work()
    assert removed == ["part"]
    assert caught.value.code == 143
    assert signal.getsignal(second) is before


def test_under_nohup_nobody_hangs_up():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_interrupted_while_it_starts(run, monkeypatch):
    monkeypatch.setattr(cli, "make_app", lambda: signal.raise_signal(signal.SIGINT))
    assert run("methods") == (130, "", "Interrupted; nothing was written.\n")


def test_interrupted_before_the_command_begins(run, monkeypatch):
    """Typer makes an exit code of it, and says nothing."""
    from typer.core import TyperGroup

    monkeypatch.setattr(TyperGroup, "invoke", lambda *_: signal.raise_signal(signal.SIGINT))
    code, out, errors = run("methods")
    assert (code, out, errors.strip()) == (130, "", "Interrupted; nothing was written.")


def test_who_ignores_interruptions_is_not_interrupted():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with working() as work:
            signal.raise_signal(signal.SIGINT)
        assert not work.interrupted
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_fit_that_is_interrupted_ends(table, tmp_path):
    process = start("fit", table, "--targets", "y1,y2,y3", "--out", tmp_path / "run")
    returned, errors = stop(process, signal.SIGINT, 0.3)
    assert returned == 130, errors
    assert "Traceback" not in errors
    nothing_half_done(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_at_any_moment_of_fit_and_predict(table, tmp_path, number):
    """Ten moments each; whatever a killed run left, the next one ends well and leaves nothing of it."""
    rng = np.random.default_rng(int(number))
    frame = read_table(table)
    model = MultiTaskRegressor(alpha=0.1).fit(frame[[*"abcd"]], frame[["y1", "y2", "y3"]])
    save_model(model, tmp_path / "model.skops")
    commands = {
        "fit": ("fit", table, "--targets", "y1,y2,y3", "--out", tmp_path / "run", "--overwrite"),
        "predict": ("predict", tmp_path / "model.skops", table, "--out", tmp_path / "predictions.csv", "--overwrite"),
        "reproduce": ("reproduce", "synthetic", "--quick", "--out", tmp_path / "paper"),
    }
    for name, longest in (("fit", 8.0), ("predict", 1.0), ("reproduce", 10.0)):
        for _ in range(10):
            with start(*commands[name]) as process:
                returned, errors = stop(process, number, rng.uniform(0.0, longest))
            assert returned in (0, -number, 128 + number), errors
            assert "Traceback" not in errors
            if number != signal.SIGKILL:
                nothing_half_done(tmp_path)
    for part in tmp_path.rglob("*.part"):
        os.utime(part, (0, 0))
    for name in ("fit", "predict"):
        with start(*commands[name]) as process:
            assert process.wait(300) == 0
    nothing_half_done(tmp_path / "run")
    pd.testing.assert_frame_equal(
        read_table(tmp_path / "predictions.csv"), model.predict_frame(frame[[*"abcd"]]), check_dtype=False
    )


def test_a_folder_that_cannot_be_written(table, tmp_path, run):
    """A file where a folder should be: one sentence, no traceback."""
    (tmp_path / "file").write_text("")
    code, _, errors = run("fit", table, "--targets", "y1,y2,y3", "--out", tmp_path / "file" / "run")
    assert code == 2
    assert "cannot write there" in errors
    assert errors.count("\n") == 1


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs a name for the output")
def test_predictions_into_a_pipe_are_a_table_and_nothing_else(table, tmp_path):
    frame = read_table(table)
    model = MultiTaskRegressor(alpha=0.1).fit(frame[[*"abcd"]], frame[["y1"]])
    save_model(model, tmp_path / "model.skops")
    command = [sys.executable, "-m", "skmtl", "predict", tmp_path / "model.skops", table, "--out", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = model.predict_frame(frame[[*"abcd"]])
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(done.stdout)), expected, check_dtype=False)
    assert done.stderr == "Wrote /dev/stdout: 120 rows, 1 column.\n"


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs a name for the output")
@pytest.mark.parametrize("more", [(), ("--overwrite",)])
def test_predictions_that_are_appended_leave_what_is_there(table, tmp_path, more):
    """As ``skmtl predict ... --out /dev/stdout >> all.csv`` has it."""
    frame = read_table(table)
    save_model(MultiTaskRegressor(alpha=0.1).fit(frame[[*"abcd"]], frame[["y1"]]), tmp_path / "model.skops")
    kept = tmp_path / "all.csv"
    kept.write_text("a year of work\n")
    command = [sys.executable, "-m", "skmtl", "predict", tmp_path / "model.skops", table, "--out", "/dev/stdout", *more]
    with kept.open("ab") as stream:
        done = subprocess.run(command, stdout=stream, stderr=subprocess.PIPE, text=True, check=True)
    lines = kept.read_text().splitlines()
    assert lines[:2] == ["a year of work", "y1"]
    assert len(lines) == 122
    assert done.stderr == "Wrote /dev/stdout: 120 rows, 1 column.\n"


def test_predictions_into_a_device_leave_it_a_device(table, tmp_path, run):
    frame = read_table(table)
    save_model(MultiTaskRegressor(alpha=0.1).fit(frame[[*"abcd"]], frame[["y1"]]), tmp_path / "model.skops")
    before = os.stat("/dev/null")
    code, _, errors = run("predict", tmp_path / "model.skops", table, "--out", "/dev/null")
    assert code == 0, errors
    assert os.stat("/dev/null").st_ino == before.st_ino
    assert os.stat("/dev/null").st_mode == before.st_mode
    code, _, errors = run("predict", tmp_path / "model.skops", table, "--out", "/dev/full")
    assert code == 2
    assert "No space left" in errors
    assert errors.count("\n") == 1
