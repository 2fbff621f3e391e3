"""The paper's tables and figures: ``skmtl.experiments.run("synthetic", out="run/")``.

Each experiment is a module with its ``SETTINGS``, those of its small version (``QUICK``), and the functions that make
the items, evaluate one of them, and report on all.
"""

import json
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from skmtl.experiments import attributes, scenes, synthetic
from skmtl.experiments.runs import ROWS, Progress, is_finished, open_folder, run_rest
from skmtl.experiments.settings import settle

EXPERIMENTS: dict[str, ModuleType] = {"synthetic": synthetic, "scenes": scenes, "attributes": attributes}

__all__ = ["EXPERIMENTS", "parse_setting", "run"]


def run(
    name: str,
    *,
    out: str | Path,
    data: str | Path | None = None,
    quick: bool = False,
    n_jobs: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Path:
    """Run an experiment, or what is left of it.

    Parameters
    ----------
    name : {"synthetic", "scenes", "attributes"}
        The experiment.
    out : path
        Folder of the run: ``config.json``, ``runs.jsonl`` with one line per finished repetition, ``table.md``,
        ``table.csv``, and figures. The same call goes on with a run that was killed, and ends with the same numbers.
    data : path, default=None
        Folder with the data sets ``15-scenes`` and ``AwA``, or the one of the experiment itself.
    quick : bool, default=False
        A small version, of a minute or two.
    n_jobs : int, default=1
        Processes, of one BLAS thread each.
    progress : callable, default=None
        Called as ``progress(done, total, what)``.
    **options
        Other values for the experiment's ``SETTINGS``.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    ValueError
        When the name or an option is not known, a value is of another kind than the default, or the folder holds
        another run.

    See Also
    --------
    parse_setting : Options from text.

    Examples
    --------
    >>> import tempfile
    >>> from skmtl import experiments
    >>> few = {"supports": [0.5], "n_seeds": 2, "n_tasks": [5, 5], "n_features": 10, "alphas": [0.01], "mus": [0.8]}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     folder = experiments.run("synthetic", out=out, quick=True, recovery={"n_tasks": 5, "support": 0.5}, **few)
    ...     (folder / "table.md").exists()
    True
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}; choose one of {', '.join(EXPERIMENTS)}.")
    experiment = EXPERIMENTS[name]
    settings = settle(experiment, quick, options)
    loaded, fingerprint = experiment.load(data, settings)
    folder = open_folder(out, {"experiment": name, "settings": settings, "data": fingerprint})
    items = experiment.make_items(settings)
    done = is_finished(items, folder / ROWS)
    prepared = None if done else experiment.prepare(loaded, settings, folder, n_jobs, progress)
    rows = run_rest(
        items,
        partial(experiment.evaluate, prepared, settings),
        file=folder / ROWS,
        n_jobs=n_jobs,
        progress=progress,
    )
    experiment.report(folder, rows, settings)
    return folder


def parse_setting(text: str) -> tuple[str, Any]:
    """The name and value of a setting written as NAME=VALUE.

    Parameters
    ----------
    text : str
        The value is JSON, or else a word.

    Returns
    -------
    name : str
        What stands before the sign.
    value : object
        The value; a str where what stands behind the sign is not JSON.

    Raises
    ------
    ValueError
        When there is no equals sign.

    See Also
    --------
    run : Takes settings.

    Examples
    --------
    >>> from skmtl.experiments import parse_setting
    >>> parse_setting("alphas=[0.1, 0.01]")
    ('alphas', [0.1, 0.01])
    """
    name, sign, value = text.partition("=")
    if not sign:
        raise ValueError(f"{text!r} is no setting; write NAME=VALUE, such as n_seeds=3.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
