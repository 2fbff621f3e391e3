"""The site: its reference has every public name, its Python runs, its commands and names of other libraries exist."""

import importlib
import inspect
import re
import shlex
import tomllib
from pathlib import Path

import matplotlib as mpl
import pytest
import typer
from test_docstrings import ROOMS

from skmtl import cli
from skmtl.cli.app import make_app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
REFERENCE = (DOCS / "api" / "index.rst").read_text()
PAGES = [DOCS / "start.md", *sorted((DOCS / "guide").glob("*.md"))]
COMMANDS = re.compile(r"^(?:\$|   ) ((?:skmtl|make|pip) [^#\n]+)", re.MULTILINE)


def public_names():
    """Every name in an ``__all__``, once, under the shortest road to it; modules with one room are found there."""
    found = {}
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            if not inspect.ismodule(value):
                found.setdefault(id(value), f"{room}.{name}")
    return set(found.values())


def names_in_the_reference(text):
    """What the page lists: entries of autosummary, each in the module named above them, and data."""
    module, found = "", set()
    for line in text.splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif line.startswith(".. data:: "):
            found.add(line.split()[-1])
        elif re.fullmatch(r"   [A-Za-z_][\w.]*", line):
            found.add(f"{module}.{line.strip()}")
    return found


def test_the_reference_has_every_public_name_and_no_other():
    assert names_in_the_reference(REFERENCE) == public_names()


def test_the_reference_is_read_as_sphinx_reads_it():
    text = ".. currentmodule:: skmtl.losses\n\n.. autosummary::\n   :toctree: names\n\n   Huber\n\n"
    text += ".. data:: skmtl.losses.LOSSES\n"
    assert names_in_the_reference(text) == {"skmtl.losses.Huber", "skmtl.losses.LOSSES"}


@pytest.mark.parametrize("path", sorted((DOCS / "inventories").glob("*.txt")), ids=lambda path: path.stem)
def test_names_of_other_libraries_exist(path):
    """A link into another library's pages leads from a name that the library has."""
    lines = [line.split() for line in path.read_text().splitlines()]
    assert lines[0][0].startswith("https://")
    names = [entry[1] for entry in lines[1:] if entry[0].startswith("py:")]
    assert names
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module or "builtins"), attribute) or name == "None", name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_on_the_pages_runs(page, monkeypatch, tmp_path, run):
    """In order, in one session, from an empty folder; then the commands of the page."""
    monkeypatch.chdir(tmp_path)
    text, namespace = page.read_text(), {}
    with mpl.rc_context({"figure.max_open_warning": 0}):
        for snippet in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(compile(snippet, str(page), "exec"), namespace)
    if (tmp_path / "patients.csv").exists():
        for command in re.findall(r"^\$ skmtl (.+)$", text, re.MULTILINE):
            assert run(*shlex.split(command))[0] == 0, command
    assert namespace or page.stem in ("index",)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.stem)
def test_commands_on_the_pages_exist(page):
    """``make`` has such a target, ``skmtl`` such a command with such options, the project such extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    known = known_options()
    for command in COMMANDS.findall(page.read_text()):
        program, *words = shlex.split(command)
        if program == "make":
            assert words[0] in targets, command
        elif program == "pip":
            extras = re.findall(r"\[(.+)\]", command)
            assert all(extra in project["optional-dependencies"] for extra in extras), command
        elif words[0] != "COMMAND":
            options = {word for word in words if word.startswith("--")}
            assert options <= known[words[0]], command


def known_options():
    typer = pytest.importorskip("typer")
    commands = typer.main.get_command(cli.make_app()).commands
    return {name: {option for p in command.params for option in p.opts} for name, command in commands.items()}


def test_the_manual_page_of_the_wheel_has_every_command_and_option():
    """``make man`` writes it from the command line itself; it is kept, for wheels are built without Sphinx."""
    shared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    (source,) = [path for path, place in shared["shared-data"].items() if place == "share/man/man1/skmtl.1"]
    page = (ROOT / source).read_text().replace("\\-", "-").replace("\\", "")
    app = typer.main.get_command(make_app())
    assert len(app.commands) > 5
    for name, command in app.commands.items():
        assert f"skmtl {name}" in page
        options = [option for one in command.params for option in (*one.opts, *one.secondary_opts)]
        assert [option for option in options if option.startswith("--") and option not in page] == []
