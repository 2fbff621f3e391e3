"""The command line, as a person meets it."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skmtl
from skmtl import cli, demo
from skmtl.cli.console import show_relations
from skmtl.penalties import PENALTIES


@pytest.fixture
def installed():
    pytest.importorskip("typer")
    pytest.importorskip("rich")


@pytest.fixture
def small(monkeypatch, installed):
    """A demo of a second: fewer rows, fewer candidates."""
    monkeypatch.setattr(demo, "ALPHAS", (1e-3, 1e-2))
    monkeypatch.setitem(demo.OWN_GRIDS, "sparse", {"penalty__mu": (0.9,)})
    monkeypatch.setitem(demo.STUDIES, "digits", lambda: demo.make_digits(n_train=60))
    monkeypatch.setitem(demo.STUDIES, "diabetes", lambda: demo.make_diabetes(n_train=60))
    patients = demo.load_patients().head(100)
    monkeypatch.setattr(demo, "load_patients", lambda: patients)
    monkeypatch.setattr("skmtl.model_selection.kernel_choice.ALPHAS", np.array([1e-2]))


@pytest.mark.parametrize("missing", ["typer", "rich"])
@pytest.mark.parametrize("arguments", [[], ["demo"], ["--version"]])
def test_without_the_extra_one_sentence_says_what_to_install(run, monkeypatch, missing, arguments):
    monkeypatch.setitem(sys.modules, missing, None)  # what makes `import` fail
    code, out, err = run(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert 'pip install ".[app]"' in err


def test_another_missing_module_is_not_hidden(monkeypatch):
    def broken():
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.setattr(cli, "make_app", broken)
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        cli.main()


def test_the_library_needs_neither_typer_nor_rich():
    code = "import sys; sys.modules.update(typer=None, rich=None); import skmtl, skmtl.cli, skmtl.demo"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_version(run, installed):
    assert run("--version") == (0, f"skmtl {skmtl.__version__}\n", "")


def test_module_runs_too(installed):
    done = subprocess.run([sys.executable, "-m", "skmtl.cli", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"skmtl {skmtl.__version__}\n"


@pytest.mark.parametrize("arguments", [["spase"], ["demo", "--into", "x"], ["methods", "extra"]])
def test_what_is_not_known_ends_with_code_2(run, installed, arguments):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert re.fullmatch(r"skmtl.*: (no such|got unexpected).*; skmtl.* --help says what is possible\.\n", err)


@pytest.mark.parametrize("name", PENALTIES)
def test_methods_lists_every_penalty(run, installed, name):
    code, out, _ = run("methods")
    assert code == 0
    assert re.search(rf"^\s*{name}\s", out, re.MULTILINE)


@pytest.mark.parametrize("name", PENALTIES)
def test_markdown_rows_have_three_cells(run, installed, name):
    _, out, _ = run("methods", "--markdown")
    (row,) = [line for line in out.splitlines() if line.startswith(f"| `{name}` |")]
    assert row.count("|") == 4
    assert PENALTIES[name].reference in row
    assert "operatorname" not in row


LEFT = ["diabetes.csv", "model.skops", "relations.csv", "report.html", "scores.csv", "summary.json"]


def test_demo_ends_with_the_path_of_its_report(run, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    for word in ("digits", "diabetes", "held-out accuracy", "held-out R2", "independent", "progression", "Certificate"):
        assert word in out
    assert "\x1b" not in out  # no progress display where nobody looks
    # The command can be typed again: its folder is there.
    assert "--out skmtl-demo --overwrite\n" in out
    report = Path(out.split()[-1])
    assert report == Path("skmtl-demo/report.html")
    assert "progression" in report.read_text(encoding="utf-8")


def test_demo_leaves_a_whole_run_where_it_is_told(run, small, tmp_path):
    folder = tmp_path / "new" / "folder"
    code, _, _ = run("demo", "--out", folder)
    assert code == 0
    assert sorted(path.name for path in folder.iterdir()) == LEFT
    table = pd.read_csv(folder / "relations.csv")
    assert list(table)[:4] == ["task_a", "task_b", "weight", "correlation"]
    assert {"stable", "frequency", "stable_weight", "mu"} == set(table.columns[4:])


def test_demo_refuses_a_file_as_folder_before_it_works(run, installed, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "STUDIES", {"never": None})
    (tmp_path / "taken").write_text("mine")
    code, out, err = run("demo", "--out", tmp_path / "taken")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert (tmp_path / "taken").read_text() == "mine"


def test_candidates_that_lose_digits_to_rounding_do_not_clutter_the_demo(monkeypatch):
    """A warning would be an error here; the certificate of the model that is kept says what is to be said."""
    monkeypatch.setattr(demo, "ALPHAS", (1e-6, 1e-2))
    monkeypatch.setitem(demo.OWN_GRIDS, "sparse", {"penalty__mu": (0.7, 1.0)})
    result = demo.run(demo.make_diabetes())
    assert "lower the training objective by more than" in result.models["sparse"].solution_.certificate


def test_progress_moves_once_per_fit(small):
    states = []
    result = demo.run(demo.STUDIES["diabetes"](), callback=states.append)
    assert [state["done"] for state in states] == list(range(1, demo.count_fits() + 1))
    assert {state["total"] for state in states} == {demo.count_fits()}
    assert list(result.scores) == ["sparse", "independent"]
    assert list(result.scores.index) == [*demo.BLOOD.values(), "mean"]


def test_the_sentence_never_promises_more_than_the_certificate(small):
    model = demo.run(demo.STUDIES["diabetes"]()).models["sparse"]
    promised = re.search(r"more than (\S+) of", model.solution_.certificate)
    assert promised is not None
    assert float(promised[1]) >= model.solution_.gap


def test_small_weights_are_printed_with_their_digits(capsys):
    """A strong penalty makes all weights small, and a table of zeros would say that nothing is related."""
    pairs = {"task_a": ["p", "p"], "task_b": ["q", "r"], "weight": [-1.234e-5, 12.3456], "correlation": [-0.5, 0.987]}
    show_relations(pd.DataFrame(pairs))
    printed = capsys.readouterr().out
    assert "-1.23e-05" in printed
    assert "12.3" in printed
    assert "0.99" in printed
