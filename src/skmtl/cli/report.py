"""``skmtl report``: the page of a run, again."""

from pathlib import Path
from typing import Annotated, Any

from skmtl._files import write_whole


def add_to(app: Any) -> None:
    """Add the command."""
    import typer

    @app.command()
    def report(
        folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that skmtl fit --out left.")],
    ) -> None:
        """Render the report of a run again, from its summary.json."""
        from skmtl.cli.run import REPORT, read_summary
        from skmtl.report import render

        write_whole(folder / REPORT, render(read_summary(folder)))
        print(f"Wrote {folder / REPORT}")
