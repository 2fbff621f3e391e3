"""The Typer application: every command, and ``--version``."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated

import typer

from skmtl import __version__
from skmtl.cli import INTERRUPTED
from skmtl.cli.compare import compare
from skmtl.cli.console import printable
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


def stoppable(command: Callable[..., None]) -> Callable[..., None]:
    """The command; Ctrl-C ends it with one sentence, and a reader that has gone, such as ``head``, ends nothing."""

    @wraps(command)
    def run(*args: object, **options: object) -> None:
        try:
            command(*args, **options)
        except KeyboardInterrupt as stop:
            print(printable(" ".join(str(stop).split())) or "Interrupted; nothing was written.", file=sys.stderr)
            raise SystemExit(INTERRUPTED) from None
        except BrokenPipeError:
            # All files are written before anything is printed.
            raise typer.Exit from None

    return run


def make_app() -> typer.Typer:
    """The application with all commands."""
    app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(skmtl)
    for command in COMMANDS:
        app.command()(stoppable(command))
    return app
