"""``skmtl reproduce``: the paper's tables and figures."""

from pathlib import Path
from typing import Annotated, Any

from skmtl.cli.console import progress, remarks

NAMES = "synthetic, scenes or attributes"


def add_to(app: Any) -> None:
    """Add the command."""
    import typer

    @app.command()
    def reproduce(
        name: Annotated[str, typer.Argument(metavar="NAME", help=f"{NAMES}.", show_default=False)],
        out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the run; a killed run goes on there.")],
        data: Annotated[
            Path | None, typer.Option(metavar="DIR", envvar="SKMTL_DATA", help="Folder with 15-scenes and AwA.")
        ] = None,
        quick: Annotated[bool, typer.Option("--quick", help="A small version, of a minute or two.")] = False,
        jobs: Annotated[int, typer.Option(min=1, help="Processes, of one BLAS thread each.")] = 1,
        settings: Annotated[
            list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another value for a setting.")
        ] = None,
    ) -> None:
        """Run an experiment of the paper, or what is left of it, and print its table."""
        run(name, out, data, quick=quick, jobs=jobs, settings=settings or [])


def run(name: str, out: Path, data: Path | None, *, quick: bool, jobs: int, settings: list[str]) -> None:
    """Run with a bar, and say where everything is."""
    from skmtl import experiments

    options = dict(experiments.parse_setting(text) for text in settings)
    with remarks(), progress() as bars:
        bar = bars.add_task(name, total=None)

        def move(done: int, total: int, what: str) -> None:
            bars.update(bar, completed=done, total=total, description=f"{done}/{total} {what}")

        folder = experiments.run(name, out=out, data=data, quick=quick, n_jobs=jobs, progress=move, **options)
    print((folder / "table.md").read_text(encoding="utf-8"))
    print(f"Wrote {', '.join(sorted(path.name for path in folder.iterdir() if path.is_file()))} in {folder}")
