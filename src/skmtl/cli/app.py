"""The Typer application: every command, and ``--version``."""

from typing import Annotated

import typer

from skmtl import __version__
from skmtl.cli.compare import compare
from skmtl.cli.demo import demo
from skmtl.cli.export import export
from skmtl.cli.fit import fit
from skmtl.cli.methods import methods
from skmtl.cli.predict import predict
from skmtl.cli.report import report
from skmtl.cli.reproduce import reproduce

# In the order of the help.
COMMANDS = (demo, fit, predict, compare, report, export, methods, reproduce)


def show_version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        print(f"skmtl {__version__}")
        raise typer.Exit


def skmtl(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Predict many related targets, and learn how they are related."""


def make_app() -> typer.Typer:
    """The application with all commands."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
    app.callback()(skmtl)
    for command in COMMANDS:
        app.command()(command)
    return app
