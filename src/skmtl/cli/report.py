"""``skmtl report``: the page of a run, again."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that skmtl fit --out left.")],
) -> None:
    """Render the report of a run again, from its summary.json."""
    from skmtl.report import render_again

    print(f"Wrote {render_again(folder)}")
