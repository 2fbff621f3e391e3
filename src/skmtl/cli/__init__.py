"""The command line: short commands over the public interface."""

import importlib
import os
import sys
from typing import Any

from skmtl.cli.console import methods_markdown

INSTALL = 'The command line needs a few more packages; in the folder of skmtl say: pip install ".[app]"'
# What shells expect of a program that Ctrl-C has ended: 128 and the number of the signal.
INTERRUPTED = 130


def main() -> None:
    """Run the command line, or say how to install what it needs."""
    try:
        app = make_app()
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        print(INSTALL, file=sys.stderr)
        raise SystemExit(2) from None
    try:
        app(prog_name="skmtl")
    except (ValueError, OSError, ImportError, MemoryError) as error:
        print(in_one_line(error), file=sys.stderr)
        raise SystemExit(2) from None
    finally:
        flush_output()


def make_app() -> Any:
    """The Typer application; Typer and Rich are imported here, for the library works without them."""
    # Commands need both later on; that one is missing should be said before they start.
    for package in ("rich", "typer"):
        importlib.import_module(package)
    from skmtl.cli import app

    return app.make_app()


def in_one_line(error: Exception) -> str:
    """What went wrong, as one line to read."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split())


def flush_output() -> None:
    """Write what is still to be printed; a reader that has gone, such as ``head``, is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


__all__ = ["main", "make_app", "methods_markdown"]
