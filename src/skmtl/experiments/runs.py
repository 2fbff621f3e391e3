"""Long runs in small steps: killed at any moment, they go on where they were and end with the same numbers."""

import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from joblib import Parallel, delayed, parallel_config
from sklearn.exceptions import ConvergenceWarning

from skmtl._files import write_whole

Item = Mapping[str, Any]
Row = dict[str, Any]
Progress = Callable[[int, int, str], object]
"""Called as ``progress(done, total, what)``."""

CONFIG, ROWS = "config.json", "runs.jsonl"
PACKAGES = ("skmtl", "numpy", "scipy", "scikit-learn", "pandas", "joblib")


def open_folder(out: str | os.PathLike[str], config: Mapping[str, Any]) -> Path:
    """The folder of a run, made if need be, with what is being run in ``config.json``.

    Raises
    ------
    ValueError
        When the folder holds a run of something else.
    """
    folder = Path(out).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    file, wanted = folder / CONFIG, json.loads(_dump(config))
    if not file.exists():
        if (folder / ROWS).exists():
            raise ValueError(f"{folder} holds {ROWS} but no {CONFIG}, so nobody knows of what; choose another folder.")
        write_whole(file, json.dumps({**wanted, "versions": find_versions()}, indent=2) + "\n")
        return folder
    kept = _read_config(file)
    made_with = kept.pop("versions", None)
    differing = _differences(kept, wanted)
    if differing:
        raise ValueError(
            f"{folder} holds a run that differs in {', '.join(differing)}; choose another folder, or remove this one."
        )
    if made_with != find_versions():
        warnings.warn(f"{folder} was begun with {made_with}, and goes on with other versions.", stacklevel=3)
    return folder


def _read_config(file: Path) -> dict[str, Any]:
    """What is being run in a folder, as an earlier call left it."""
    try:
        kept = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is damaged ({error}); choose another folder, or remove this one.") from None
    if not isinstance(kept, dict):
        raise ValueError(f"{file} does not say what was run; choose another folder, or remove this one.")
    return kept


def run_rest(
    items: Iterable[Item],
    evaluate: Callable[..., Mapping[str, Any]],
    *,
    file: str | os.PathLike[str] | None = None,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> list[Row]:
    """Evaluate what a file does not hold yet, and return all of it.

    Parameters
    ----------
    items : iterable of dicts
        What to evaluate: strings and numbers that tell the items apart.
    evaluate : callable
        Called as ``evaluate(**item)``, in any order and perhaps in another process; returns what JSON can hold.
    file : path, default=None
        One line per finished item is appended there, and is on disk before the next begins to be written.
    n_jobs : int, default=1
        Processes, of one BLAS thread each.
    progress : callable, default=None

    Returns
    -------
    list of dict
        The rows of the items, in their order: item, result, seconds, and ``not_converged``, the number of warnings
        that a fit was not proved to its tolerance.
    """
    items = list(items)
    rows = _by_item(items, file)
    todo = [item for item in items if _dump(item) not in rows]
    with parallel_config(backend="loky", inner_max_num_threads=1):
        results = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch=n_jobs)(
            delayed(_evaluate)(evaluate, item) for item in todo
        )
        for done, line in enumerate(results, start=len(items) - len(todo) + 1):
            row = json.loads(line)
            rows[_key(row, items)] = row
            _append(file, line)
            if progress is not None:
                progress(done, len(items), ", ".join(f"{name} {row[name]}" for name in items[0]))
    return [rows[_dump(item)] for item in items]


def read_rows(file: str | os.PathLike[str] | None) -> list[Row]:
    """The rows of a file, none if it is not there; what a killed process left of a last line is cut off."""
    if file is None or not Path(file).exists():
        return []
    content = Path(file).read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(file, whole)
    try:
        rows = [json.loads(line) for line in content[:whole].splitlines()]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} has a line that is not JSON ({error}); remove that line, or the file.") from None
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{file} has a line that is JSON, but no row of results; remove that line, or the file.")
    return rows


def is_finished(items: Iterable[Item], file: str | os.PathLike[str]) -> bool:
    """Whether a file holds every item."""
    items = list(items)
    return _by_item(items, file).keys() >= {_dump(item) for item in items}


def find_versions() -> dict[str, str]:
    """What the numbers of a run may depend on."""
    return {"python": python_version(), **{name: version(name) for name in PACKAGES}}


def _evaluate(evaluate: Callable[..., Mapping[str, Any]], item: Item) -> str:
    """The row of one item as a line."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        result = evaluate(**item)
    not_converged = [one for one in caught if issubclass(one.category, ConvergenceWarning)]
    for one in caught:
        if one not in not_converged:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    seconds = round(time.perf_counter() - started, 3)
    return _dump({**item, "seconds": seconds, "not_converged": len(not_converged), **result})


def _append(file: str | os.PathLike[str] | None, line: str) -> None:
    """Add a line to a file, and wait until it is on disk."""
    if file is not None:
        with Path(file).open("ab") as stream:
            stream.write(f"{line}\n".encode())
            stream.flush()
            os.fsync(stream.fileno())


def _by_item(items: Sequence[Item], file: str | os.PathLike[str] | None) -> dict[str, Row]:
    """Rows of a file by the items that they are of."""
    return {_key(row, items): row for row in read_rows(file)} if items else {}


def _key(row: Row, items: Sequence[Item]) -> str:
    """The item that a row is of, as text."""
    return _dump({name: row.get(name) for name in items[0]})


def _dump(content: Mapping[str, Any]) -> str:
    """JSON on one line; arrays as lists."""
    return json.dumps(content, default=lambda array: array.tolist())


def _differences(kept: Any, wanted: Any, name: str = "") -> list[str]:
    """Where two configurations differ, as sentences."""
    if isinstance(kept, dict) and isinstance(wanted, dict):
        keys = [*kept, *(key for key in wanted if key not in kept)]
        return [found for key in keys for found in _differences(kept.get(key), wanted.get(key), f"{name} {key}")]
    return [] if kept == wanted else [f"{name.split()[-1]} ({kept!r} there, {wanted!r} now)"]
