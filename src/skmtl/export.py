"""The task graph as a file for other programs."""

import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from skmtl._files import without_formulas, write_whole
from skmtl._validation import import_extra

__all__ = ["write_graph"]

# XML 1.0 has no way to write these, not even as character references.
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_graph(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write the learned relations as a graph; the ending of the name says how.

    ``.graphml`` for Gephi, Cytoscape, igraph and networkx: nodes have a ``name``, edges ``weight`` and ``correlation``.
    ``.json`` is networkx's node-link format, which D3 reads as well. ``.csv`` is a list of edges, the table that
    ``relations`` returns, in which tasks without a relation do not appear. The file appears whole or not at all.

    Parameters
    ----------
    estimator : estimator
        Fitted, or a pipeline that ends with a fitted one.
    path : str or path
        Ends with ``.graphml``, ``.json`` or ``.csv``.

    Raises
    ------
    ValueError
        If the name ends otherwise, or a task's name has a character that GraphML cannot hold.

    See Also
    --------
    MultiTaskRegressor.relations : The list of edges.
    MultiTaskRegressor.to_networkx : The graph.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.export import write_graph
    >>> est = MultiTaskRegressor(alpha=0.1).fit(*load_linnerud(return_X_y=True, as_frame=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_graph(est, f"{folder}/graph.csv")
    ...     print(Path(folder, "graph.csv").read_text().split()[0])
    task_a,task_b,weight,correlation
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise ValueError(f"{path} must end with one of {', '.join(FORMATS)}, which says how the graph is written.")
    write_whole(path, FORMATS[ending](last_step(estimator)))


def last_step(model: Any) -> Any:
    """The estimator at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _graphml(estimator: Any) -> bytes:
    networkx = import_extra("networkx")
    named = estimator.to_networkx()
    for name in named:
        if isinstance(name, str) and NOT_IN_XML.search(name):
            raise ValueError(f"the task name {name!r} has a character that GraphML cannot hold; write .json instead.")
    # Numbers as identifiers: a task called 1 and a task called "1" are two.
    graph = networkx.convert_node_labels_to_integers(named, label_attribute="name")
    stream = io.BytesIO()
    networkx.write_graphml(graph, stream)
    return stream.getvalue()


def _json(estimator: Any) -> str:
    networkx = import_extra("networkx")
    return json.dumps(networkx.node_link_data(estimator.to_networkx(), edges="links"), indent=1)


def _csv(estimator: Any) -> str:
    return str(without_formulas(estimator.relations()).to_csv(index=False))


FORMATS: dict[str, Callable[[Any], str | bytes]] = {".graphml": _graphml, ".json": _json, ".csv": _csv}
