"""``skmtl export``: the task graph for other programs."""

from pathlib import Path
from typing import Annotated, Any

from skmtl.cli.console import remarks
from skmtl.cli.predict import load_file
from skmtl.export import FORMATS, write_graph


def add_to(app: Any) -> None:
    """Add the command."""
    import typer

    @app.command()
    def export(
        model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model.skops that skmtl fit wrote.")],
        out: Annotated[Path, typer.Option(metavar="FILE", help=f"The graph; ends with {', '.join(FORMATS)}.")],
    ) -> None:
        """Write the learned task graph for Gephi, Cytoscape, networkx, D3 or a spreadsheet."""
        with remarks():
            write_graph(load_file(model), out)
        print(f"Wrote {out}")
