"""What people see while they wait: a bar on a terminal, a line a minute elsewhere; and what Ctrl-C leaves."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Seconds between lines where nobody sees a bar move: in a pipe, a log or a batch job.
LINE_EVERY = 60.0


class Work:
    """Work that says how far it is, and stops where it can when the user interrupts it.

    Attributes
    ----------
    interrupted : bool
        Whether Ctrl-C was pressed. The library keeps what is finished then; the next report of progress ends the work.
    step : str
        What is being done.
    """

    def __init__(self, bars: Any = None) -> None:
        self.interrupted, self.step = False, ""
        self._finishing = False
        self._bars = bars
        self._bar = None if bars is None else bars.add_task("", visible=False)
        self._began = self._spoke = time.monotonic()

    def show(self, state: dict[str, Any]) -> None:
        """Show ``{"step": text, "done": k, "total": n}``; ``part``, where it is there, says which part of the step."""
        if self.interrupted:
            raise KeyboardInterrupt
        if state["step"] != self.step:
            self.step, self._began = state["step"], time.monotonic()
            if self._bars is not None:
                self._bars.reset(self._bar, visible=True)
        done, total = state.get("done", 0), state.get("total")
        text = f"{self.step}: {state['part']}" if "part" in state else self.step
        if self._bars is not None:
            self._bars.update(self._bar, completed=done, total=total, description=text)
        elif time.monotonic() - self._spoke >= LINE_EVERY:
            self._spoke = time.monotonic()
            print(f"{text}{self._how_far(done, total)}", file=sys.stderr, flush=True)

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Let files be written to the last: Ctrl-C is remembered, and interrupts nothing."""
        self._finishing = True
        try:
            yield
        finally:
            self._finishing = False

    def interrupt(self) -> None:
        """Remember that Ctrl-C was pressed, and end what can be ended."""
        self.interrupted = True
        if not self._finishing:
            raise KeyboardInterrupt

    def _how_far(self, done: float, total: float | None) -> str:
        """How much is done, and how long the rest will take if it goes on like this."""
        if not total or not done:
            return f", {time.monotonic() - self._began:.0f} s so far"
        left = (time.monotonic() - self._began) / done * (total - done)
        return f", {100 * done / total:.0f}% done, about {left:.0f} s left"


@contextmanager
def working() -> Iterator[Work]:
    """Work with a bar on a terminal, which is gone when it is done, and elsewhere with a line a minute on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console()
    if not console.is_terminal:
        with _interruptible(Work()) as work:
            yield work
        return
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), *times)
    with Progress(*columns, console=console, transient=True) as bars, _interruptible(Work(bars)) as work:
        yield work


@contextmanager
def _interruptible(work: Work) -> Iterator[Work]:
    """Remember that Ctrl-C was pressed, which the library may answer with what is finished."""
    # Only the main thread may say what signals do, and who starts the program so that it ignores Ctrl-C has said it.
    other_thread = threading.current_thread() is not threading.main_thread()
    if other_thread or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield work
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: work.interrupt())
    try:
        yield work
    finally:
        signal.signal(signal.SIGINT, before)
