"""A folder with everything that is known about a model: the model, its scores and relations, the summary, the page."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd

from skmtl._files import write_whole
from skmtl.export import last_step
from skmtl.model_selection import StructurePath, both_graphs
from skmtl.persistence import save_model
from skmtl.report.page import render
from skmtl.report.summary import summarize
from skmtl.tables import prepared_names, write_table

MODEL, SCORES, RELATIONS = "model.skops", "scores.csv", "relations.csv"
SUMMARY, REPORT = "summary.json", "report.html"
FILES = (MODEL, SCORES, RELATIONS, SUMMARY, REPORT)
# Letters of an error that a sentence repeats.
MOST_QUOTED = 200

PathLike = str | os.PathLike[str]


def save_results(
    folder: PathLike,
    model: Any,
    comparison: pd.DataFrame,
    *,
    stability: pd.DataFrame | None = None,
    path: StructurePath | None = None,
    intervals: pd.DataFrame | None = None,
    predictions: pd.DataFrame | None = None,
    about: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write ``model.skops``, ``scores.csv``, ``relations.csv``, ``summary.json`` and ``report.html`` into a folder.

    Parameters
    ----------
    folder : str or path
        Made if need be.
    model : estimator or Pipeline
        Fitted.
    comparison : DataFrame
        What ``compare_methods`` returns, or the ``comparison`` of ``judge_model``.
    stability : DataFrame, optional
        What ``edge_stability`` returns.
    path : StructurePath, optional
        What ``structure_path`` returns.
    intervals : DataFrame, optional
        What ``interval_coverage`` returns.
    predictions : DataFrame, optional
        The ``predictions`` that ``judge_model`` returns.
    about : dict, optional
        Facts for the head of the page, see :func:`summarize`.

    Returns
    -------
    list of Path
        The files, in this order. Each appears whole or not at all.

    See Also
    --------
    render_again : Render the page again.
    skmtl.load_model : Load the model.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressorCV, compare_methods
    >>> from skmtl.report import save_results
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> search = MultiTaskRegressorCV(alphas=[1.0], mus=[0.9], cv=3)
    >>> scores = compare_methods(X, Y, ["sparse"], estimator=search, cv=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save_results(folder, search.fit(X, Y), scores)]
    ['model.skops', 'scores.csv', 'relations.csv', 'summary.json', 'report.html']
    """
    folder, estimator = Path(folder), last_step(model)
    folder.mkdir(parents=True, exist_ok=True)
    summary = summarize(
        estimator,
        comparison=comparison,
        stability=stability,
        path=path,
        intervals=intervals,
        predictions=predictions,
        about=about,
        feature_names=prepared_names(model),
    )
    page = render(summary)
    save_model(model, folder / MODEL)
    write_table(comparison, folder / SCORES)
    write_table(both_graphs(estimator.relations(), stability), folder / RELATIONS)
    write_whole(folder / SUMMARY, json.dumps(summary, indent=1, allow_nan=False))
    write_whole(folder / REPORT, page)
    return [folder / name for name in FILES]


def render_again(folder: PathLike) -> Path:
    """Render the page of a folder again, from its ``summary.json``.

    Parameters
    ----------
    folder : str or path
        Written by :func:`save_results`.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    ValueError
        If the summary is missing or damaged; the old page is untouched.

    See Also
    --------
    save_results : Writes the folder.

    Examples
    --------
    >>> import json
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.report import render_again, summarize
    >>> est = MultiTaskRegressor(alpha=0.1).fit(*load_linnerud(return_X_y=True, as_frame=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "summary.json").write_text(json.dumps(summarize(est)))
    ...     render_again(folder).name
    'report.html'
    """
    path = Path(folder) / SUMMARY
    if not path.is_file():
        raise ValueError(f"{folder} has no {SUMMARY}; name the folder that skmtl fit --out left.")
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged ({error}); run skmtl fit again.") from error
    if not isinstance(summary, dict) or "tasks" not in summary:
        raise ValueError(f"{path} is not the summary of a run; run skmtl fit again.")
    write_whole(Path(folder) / REPORT, _render_file(path, summary))
    return Path(folder) / REPORT


def _render_file(path: Path, summary: dict[str, Any]) -> bytes:
    """The page of a summary that somebody may have changed."""
    try:
        # Numbers that nobody computes with would only be warned of.
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            return render(summary).encode()
    except ImportError:
        raise
    except Exception as error:
        # What is missing, or of another type, fails wherever the page needs it.
        what = shorten(str(error), MOST_QUOTED, placeholder=" ...")
        raise ValueError(f"{path} is damaged ({type(error).__name__}: {what}); run skmtl fit again.") from error
