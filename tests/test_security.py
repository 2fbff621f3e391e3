"""What a file from somebody else must not be able to do, and what the source must not do at all."""

import ast
import socket
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skmtl import MultiTaskRegressor, load_model, save_model
from skmtl._files import without_formulas
from skmtl.export import write_graph
from skmtl.tables import read_table, write_table

ROOT = Path(__file__).parents[1]
SOURCES = {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(ROOT.glob("src/skmtl/**/*.py"))}

# Modules that run what they read, start programs, or speak to the network.
MODULES = """
pickle _pickle marshal shelve dill cloudpickle subprocess multiprocessing.managers socket socketserver ssl http urllib
ftplib smtplib poplib imaplib telnetlib xmlrpc asyncio requests httpx aiohttp webbrowser ctypes code codeop pty
""".split()  # noqa: SIM905
CALLS = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
# By the last two names: functions of modules that do the same.
METHODS = {
    *("os.system", "os.popen", "os.execv", "os.execvp", "os.spawnv", "os.spawnl", "os.startfile", "os.fork"),
    *("joblib.load", "pd.read_pickle", "np.fromregex", "tempfile.mktemp", "yaml.load"),
    *("pd.eval", "frame.eval", "frame.query", "pd.read_html", "pd.read_sql"),
}


def dangers(source):
    """Places that import, or call, what is forbidden."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        found += [f"{node.lineno}: import {n}" for n in names if any(n == m or n.startswith(f"{m}.") for m in MODULES)]
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            arguments = {one.arg: ast.unparse(one.value) for one in node.keywords}
            loads = called in ("np.load", "numpy.load") and arguments.get("allow_pickle") != "False"
            if called in CALLS or ".".join(called.split(".")[-2:]) in METHODS or loads or "shell" in arguments:
                found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


@pytest.mark.parametrize("path", SOURCES)
def test_nothing_is_unpickled_evaluated_started_or_fetched(path):
    assert dangers(SOURCES[path]) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "import pickle",
        "from urllib.request import urlopen",
        "import http.client",
        "eval(text)",
        "exec(text)",
        "os.system(text)",
        "np.load(file)",
        "np.load(file, allow_pickle=True)",
        "joblib.load(file)",
        "run(text, shell=True)",
        "pd.read_pickle(file)",
    ],
)
def test_the_law_sees_what_it_forbids(wrong):
    assert len(dangers(wrong)) == 1


def test_the_law_sees_no_ghosts():
    assert dangers("import re\nre.compile('a')\nnp.load(file, allow_pickle=False)\nload_model(path)") == []


def test_fitting_saving_and_reporting_ask_nobody(tmp_path, monkeypatch, rng):
    pytest.importorskip("skops.io")
    pytest.importorskip("jinja2")
    from skmtl.report import render, summarize

    def refuse(*args, **kwargs):
        raise AssertionError("the network was asked")

    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    X = rng.standard_normal((20, 3))
    est = MultiTaskRegressor(alpha=0.1).fit(X, X[:, :2])
    save_model(est, tmp_path / "model.skops")
    page = render(summarize(load_model(tmp_path / "model.skops")))
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page


# Spreadsheets ---------------------------------------------------------------------------------------------------------

FORMULAS = ["=1+1", '=HYPERLINK("http://x")', "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\tx", "=", "==1"]
HARMLESS = ["-", "+", "a=b", "-1", "+1e5", "-inf", "1-2", "", "'=1", "=", "@", "café"]


@pytest.mark.parametrize("name", [one for one in FORMULAS if one not in HARMLESS])
def test_formulas_in_names_and_cells_do_not_run(name, tmp_path):
    write_table(pd.DataFrame({"task": [name, "b"], name: [1.5, -2.5]}), tmp_path / "table.csv")
    again = read_table(tmp_path / "table.csv")
    assert again.columns.tolist() == ["task", f"'{name}"] or name == "\tx"
    for line in (tmp_path / "table.csv").read_bytes().decode().split("\n"):
        for cell in line.split(","):
            text = cell.strip('"')
            assert not text.startswith(("=", "+", "@", "\t", "\r"))
    assert again.iloc[0, 0] == f"'{name}"
    assert again.iloc[:, 1].tolist() == [1.5, -2.5]


def test_what_is_no_formula_stays_as_it_is():
    frame = pd.DataFrame({"text": HARMLESS, "number": -np.arange(float(len(HARMLESS))), "-": HARMLESS[::-1]})
    pd.testing.assert_frame_equal(without_formulas(frame), frame)


def test_classes_and_gaps_and_categories_keep_their_kind():
    frame = pd.DataFrame({"c": pd.Categorical(["-", "=1", None]), "t": [True, None, False], "o": ["=1", None, 3]})
    plain = without_formulas(frame)
    assert plain["c"].tolist()[:2] == ["-", "'=1"]
    assert plain["o"].tolist() == ["'=1", None, 3]
    assert frame["o"].tolist() == ["=1", None, 3]


def test_formulas_in_an_exported_graph(tmp_path, rng):
    X = rng.standard_normal((30, 3))
    Y = pd.DataFrame(X[:, :1] + 0.1 * rng.standard_normal((30, 2)), columns=["=1+1", "@x"])
    write_graph(MultiTaskRegressor(alpha=0.1).fit(X, Y), tmp_path / "graph.csv")
    row = (tmp_path / "graph.csv").read_text().splitlines()[1]
    assert row.startswith("'=1+1,'@x,")


# Terminals ------------------------------------------------------------------------------------------------------------

HOSTILE = "\x1b]0;title\x07\x1b[2Jred\x1b[31m\u202eevil\x9b5n\r"


def test_names_do_nothing_to_a_terminal(tmp_path, run, rng):
    for package in ("typer", "rich", "skops"):
        pytest.importorskip(package)
    from skmtl.cli.console import printable

    assert printable(HOSTILE) == r"\x1b]0;title\x07\x1b[2Jred\x1b[31m\u202eevil\x9b5n\r"
    assert printable("Größe µg/l, naïve 中文") == "Größe µg/l, naïve 中文"
    path = tmp_path / "table.csv"
    pd.DataFrame({"a": rng.standard_normal(20), HOSTILE: 1.0}).to_csv(path, index=False)
    code, output, errors = run("fit", path, "--targets", f"none{HOSTILE}", "--out", tmp_path / "run")
    assert code == 2
    assert r"\x1b" in errors
    assert not set("\x1b\x07\x9b\u202e\r") & set(output + errors)
    assert errors.count("\n") == 1


def test_tables_and_lines_on_a_terminal(capsys):
    pytest.importorskip("rich")
    from skmtl.cli.console import say, show_table, warnings_as_notes

    say(HOSTILE)
    show_table([HOSTILE, "b"], [[1, HOSTILE]])
    with warnings_as_notes():
        import warnings

        warnings.warn(HOSTILE, UserWarning, stacklevel=1)
    assert not set("\x1b\x07\x9b\u202e\r") & set(capsys.readouterr().out)
