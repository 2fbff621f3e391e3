"""``skmtl reproduce``: the paper's tables and figures."""

from pathlib import Path
from typing import Annotated

import typer

from skmtl.cli.console import warnings_as_notes
from skmtl.cli.options import whole_number
from skmtl.cli.progress import working

NAMES = "synthetic, scenes or attributes"


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"{NAMES}.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the run; a killed run goes on there.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", envvar="SKMTL_DATA", help="Folder with 15-scenes and AwA.")
    ] = None,
    features: Annotated[
        str | None, typer.Option(metavar="DIR", help="Other features of attributes: a folder in AwA, any sign.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version, of a minute or two.")] = False,
    jobs: Annotated[
        int, typer.Option(metavar="COUNT", parser=whole_number, help="Processes, of one BLAS thread each.")
    ] = 1,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another value for a setting.")
    ] = None,
) -> None:
    """Run an experiment of the paper, or what is left of it, and print its table."""
    from skmtl import experiments
    from skmtl._parameters import MOST_JOBS
    from skmtl.experiments.runs import CONFIG

    if not 1 <= jobs <= MOST_JOBS:
        raise ValueError(f"--jobs {jobs} is no number of processes; say 1 to {MOST_JOBS}.")
    options = dict(experiments.parse_setting(text) for text in settings or [])
    if features is not None:
        options["features"] = features
    with warnings_as_notes(), working() as work:

        def move(done: int, total: int, what: str) -> None:
            work.show({"step": name, "part": f"{done}/{total} {what}", "done": done, "total": total})

        try:
            folder = experiments.run(name, out=out, data=data, quick=quick, n_jobs=jobs, progress=move, **options)
        except KeyboardInterrupt:
            if not (out.expanduser() / CONFIG).is_file():
                raise
            raise KeyboardInterrupt(
                f"Interrupted; what is finished is in {out}, and the same command goes on with it."
            ) from None
    print((folder / "table.md").read_text(encoding="utf-8"))
    print(f"Wrote {', '.join(sorted(path.name for path in folder.iterdir() if path.is_file()))} in {folder}")
