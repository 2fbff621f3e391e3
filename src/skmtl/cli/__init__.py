"""The command line: short commands over the public interface."""

import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from skmtl.cli.console import methods_markdown, printable

INSTALL = 'The command line needs a few more packages; in the folder of skmtl say: pip install ".[app]"'
# What shells expect of a program that Ctrl-C has ended: 128 and the number of the signal.
INTERRUPTED = 130
NO_MEMORY = "there is not enough memory; take fewer rows or columns, or read the table in blocks (--engine dask)."


def main() -> None:
    """Run the command line; Ctrl-C ends it with one sentence, while it starts too."""
    open_streams()
    try:
        app = installed_app()
        with ended_by_signals():
            raise SystemExit(run_in_words(app))
    except KeyboardInterrupt:
        print("Interrupted; nothing was written.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    finally:
        flush_output()


def installed_app() -> Any:
    """The application, or a sentence that says how to install what it needs."""
    try:
        return make_app()
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        print(INSTALL, file=sys.stderr)
        raise SystemExit(2) from None


def run_in_words(app: Any) -> int:
    """Run what the command line says; what goes wrong is one sentence, and the code 2."""
    try:
        return run(app)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        print(in_one_line(error), file=sys.stderr)
        return 2


def open_streams() -> None:
    """Let no stream refuse what is printed.

    Where a shell has closed it (>&-), which Python takes for none at all, it goes nowhere; letters that the encoding of
    a terminal or a pipe does not have are written as their codes.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        stream = getattr(sys, name)
        # Those of notebooks are others, and take every letter.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def make_app() -> Any:
    """The Typer application; Typer and Rich are imported here, for the library works without them."""
    # Commands need both later on; that one is missing should be said before they start.
    for package in ("rich", "typer"):
        importlib.import_module(package)
    from skmtl.cli import app

    return app.make_app()


def run(app: Any) -> int:
    """Run what the command line says; a mistake in how it is written is one sentence, and the code 2."""
    import typer

    # Typer shows one of its errors of usage; all of them have its base.
    usage_error: Any = typer.BadParameter.__base__
    try:
        # What Typer returns is the code of an exit, or None at the end of a command.
        code = app(prog_name="skmtl", standalone_mode=False) or 0
    except usage_error as error:
        message = error.format_message().strip()
        # Without a message it was the help that was asked for, and shown.
        if message:
            print(printable(describe_usage(message, error.ctx.command_path if error.ctx else "skmtl")), file=sys.stderr)
        return int(error.exit_code)
    if code == INTERRUPTED:
        # Of Ctrl-C outside of a command Typer says nothing.
        raise KeyboardInterrupt
    return code


def describe_usage(message: str, command: str) -> str:
    """What is wrong with how a command was written, and what to do."""
    said = f"{command}: {message[0].lower()}{' '.join(message[1:].split()).rstrip('.')}"
    commas = "; several names are one argument, with commas between them: a,b" if "extra argument" in message else ""
    return f"{said}{commas}{'' if said.endswith('?') else ';'} {command} --help says what is possible."


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let signals that ask a program to end do so with the shell's exit code, 143 for SIGTERM.

    As an exception, so that files that are half written are removed; not as KeyboardInterrupt, which a search takes
    for the wish to go on with the folds that it has. What Ctrl-C does is said where work is done.
    """

    def stop(number: int, frame: Any) -> None:
        # A second signal, as of a terminal that closes, would end the removal of these files.
        # Not SIG_IGN, for Python would tell of one that has come already.
        for one in before:
            signal.signal(one, lambda number, frame: None)
        raise SystemExit(128 + number)

    # Only the main thread may say what signals do, and a user who runs the program under nohup has said it already.
    names = ("SIGTERM", "SIGHUP", "SIGINT") if threading.current_thread() is threading.main_thread() else ()
    numbers = [signal.Signals[name] for name in names if name in signal.Signals.__members__]
    before = {number: signal.getsignal(number) for number in numbers}
    for number, action in before.items():
        if number != signal.SIGINT and action is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def in_one_line(error: Exception) -> str:
    """What went wrong, as one line to read."""
    if isinstance(error, OSError) and error.filename is not None:
        return printable(f"{error.filename}: {error.strerror}.")
    if isinstance(error, MemoryError) and not str(error):
        return NO_MEMORY
    return printable(" ".join(str(error).split()))


def flush_output() -> None:
    """Write what is still to be printed; a reader that has gone, such as ``head``, is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


__all__ = ["main", "make_app", "methods_markdown"]
