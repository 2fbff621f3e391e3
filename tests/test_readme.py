"""README.md: its Python runs, its tables are what the commands print.

After a change to the table of penalties: python tests/test_readme.py
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from problems import related_tasks

from skmtl.cli import methods_markdown

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
METHODS = re.compile(r"(<!-- methods:[^\n]*-->\n).*?(<!-- end -->)", re.DOTALL)
SCORES = re.compile(r"<!-- scores:.*?<!-- end -->", re.DOTALL)


def with_methods(text):
    return METHODS.sub(lambda found: f"{found[1]}{methods_markdown()}\n{found[2]}", text)


def test_python_in_the_readme_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(snippets) >= 2
    namespace = {}
    for snippet in snippets:
        exec(compile(snippet, str(README), "exec"), namespace)
    assert "task_a" in capsys.readouterr().out
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_commands_in_the_readme_run(monkeypatch, tmp_path, run):
    """Those of ``skmtl``, on a table with the columns that they name; test_site.py knows about make and pip."""
    monkeypatch.chdir(tmp_path)
    X, Y = related_tasks(np.random.default_rng(0), 40, 3)
    rows = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    rows.assign(a=Y[:, 0], b=Y[:, 1], c=Y[:, 2]).to_csv("table.csv", index=False)
    rows.to_csv("new.csv", index=False)
    commands = re.findall(r"^    skmtl (.+)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        assert run(*command.split())[0] == 0, command
    assert pd.read_csv("predictions.csv").columns.tolist() == ["a", "b", "c"]


def test_methods_are_those_of_the_table():
    text = README.read_text(encoding="utf-8")
    assert METHODS.search(text)
    assert with_methods(text) == text, "refresh the table with: python tests/test_readme.py"


@pytest.mark.slow
def test_scores_are_those_of_the_demo():
    from skmtl import demo

    block = SCORES.search(README.read_text(encoding="utf-8"))
    assert block is not None
    for name, make_study in demo.STUDIES.items():
        row = re.search(rf"^\| {name}.*?\| ([\d.]+) \| ([\d.]+) \|$", block[0], re.MULTILINE)
        assert row is not None, name
        summary = demo.run(make_study()).scores.iloc[-1]
        # Another BLAS may move a digit image or the last decimal.
        assert summary[["sparse", "independent"]].tolist() == pytest.approx([float(v) for v in row.groups()], abs=0.003)


if __name__ == "__main__":
    README.write_text(with_methods(README.read_text(encoding="utf-8")), encoding="utf-8")
