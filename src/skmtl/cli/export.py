"""``skmtl export``: the task graph for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from skmtl.cli import options as o
from skmtl.cli.console import check_place, warnings_as_notes
from skmtl.cli.words import GRAPH_FORMATS


def export(
    model: o.Model,
    out: Annotated[Path, typer.Option(metavar="FILE", help=f"The graph; ends with {', '.join(GRAPH_FORMATS)}.")],
    overwrite: o.Overwrite = False,
) -> None:
    """Write the learned task graph for Gephi, Cytoscape, networkx, D3 or a spreadsheet."""
    from skmtl.export import write_graph

    check_place(out, overwrite=overwrite)
    with warnings_as_notes(), o.model_of(model) as fitted:
        write_graph(fitted, out)
    print(f"Wrote {out}")
