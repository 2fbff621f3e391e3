"""The Typer application: every command, and ``--version``."""

from typing import Annotated, Any

from skmtl import __version__
from skmtl.cli import compare, demo, export, fit, methods, predict, report, reproduce

COMMANDS = (demo, fit, predict, compare, report, export, methods, reproduce)


def make_app() -> Any:
    """The application with all commands."""
    import typer

    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

    def version(asked: bool) -> None:
        if asked:
            print(f"skmtl {__version__}")
            raise typer.Exit

    @app.callback()
    def skmtl(
        version: Annotated[bool, typer.Option("--version", callback=version, is_eager=True, help="Say which.")] = False,
    ) -> None:
        """Predict many related targets, and learn how they are related."""

    for command in COMMANDS:
        command.add_to(app)
    return app
