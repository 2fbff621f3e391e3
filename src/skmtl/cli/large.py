"""Tables larger than memory, through Dask: parameters from a sample, the fit from all rows, predictions in parts."""

import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skmtl._validation import import_extra
from skmtl.cli.console import Steps
from skmtl.cli.pipeline import features_of, named_predictions
from skmtl.cli.problem import Columns, Problem, check_labels, check_names, make_problem, with_labels
from skmtl.cli.run import Run, run
from skmtl.cli.selection import Wishes
from skmtl.cli.tables import check_columns, is_parquet
from skmtl.export import last_step

ENGINES = ("pandas", "dask")
# Rows on which parameters are chosen and features are prepared.
SAMPLE = 2000


def check_engine(engine: str, scheduler: str | None) -> bool:
    """Whether the engine is Dask."""
    if engine not in ENGINES:
        raise ValueError(f"--engine {engine!r} is not known; choose one of {', '.join(ENGINES)}.")
    if scheduler is not None and engine != "dask":
        raise ValueError("--scheduler needs --engine dask.")
    return engine == "dask"


@contextmanager
def connected(scheduler: str | None) -> Iterator[None]:
    """The cluster at an address, or the threads of this machine."""
    if scheduler is None:
        yield
        return
    distributed = import_extra("distributed", "dask")
    try:
        client = distributed.Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {scheduler!r} ({error}); check the address.") from error
    with client:
        yield


def read_collection(path: Path, delimiter: str | None, text: Collection[str] = ()) -> Any:
    """A table as a Dask data frame, columns named in ``text`` as text; a folder of Parquet files is one table."""
    frames = import_extra("dask.dataframe", "dask")
    if not path.exists():
        raise ValueError(f"{path} does not exist.")
    if is_parquet(path) or path.is_dir():
        return frames.read_parquet(path)
    # More rows decide what a column holds than Dask's default.
    options = {"sep": delimiter or ",", "encoding": "utf-8-sig", "skipinitialspace": True, "sample": 2**22}
    return frames.read_csv(path, dtype=dict.fromkeys(text, str), **options)


def fit_collection(
    table: Path, columns: Columns, wishes: Wishes, components: int, steps: Steps
) -> tuple[Problem, Run, int]:
    """Choose and judge on a sample, then fit to all rows with labels; also the number of these."""
    whole = read_collection(table, columns.delimiter)
    check_names(table, whole, columns)
    with steps("drawing a sample"):
        known = with_labels(whole, columns)
        sizes = known.map_partitions(len).compute().to_numpy()
        n = int(sizes.sum())
        notes = check_labels(table, len(whole), n)
        # Parts without any label would be nothing to prepare.
        whole = known.partitions[np.flatnonzero(sizes).tolist()]
        sample = whole.sample(frac=min(1.0, SAMPLE / n), random_state=0).compute().reset_index(drop=True)
    problem = make_problem(table, sample, columns)
    problem = replace(problem, notes=(*notes, *problem.notes))
    result = run(problem, wishes, steps)
    with steps("fitting all rows"):
        model = _fit_everywhere(result.model, whole, problem, columns, components)
    return problem, replace(result, model=model), n


def _fit_everywhere(model: Any, whole: Any, problem: Problem, columns: Columns, components: int) -> Pipeline:
    """The estimator fitted to all rows, behind the preparation that the sample decided."""
    prepare, sampled = model[0], model[-1]
    estimator = clone(sampled).set_params(random_state=0)
    if estimator.kernel != "linear":
        estimator.set_params(n_components=components)
    rows = _prepared(whole, prepare, problem)
    targets = list(columns.targets)
    y = whole[targets[0]] if len(targets) == 1 else whole[targets]
    y = y.astype(problem.Y.dtype if len(targets) == 1 else np.float64)
    tasks = None if columns.task_column is None else whole[columns.task_column]
    estimator.fit(rows, y, tasks=tasks)
    return Pipeline([("prepare", prepare), ("tasks", estimator)])


def _prepared(whole: Any, prepare: Any, problem: Problem) -> Any:
    width = prepare.transform(problem.X.iloc[:1]).shape[1]
    meta = pd.DataFrame(np.empty((0, width)))
    frame = whole.map_partitions(_prepare_part, prepare=prepare, features=problem.features, meta=meta)
    return frame.values


def _prepare_part(frame: pd.DataFrame, prepare: Any, features: Any) -> pd.DataFrame:
    return pd.DataFrame(prepare.transform(features.clean(frame)), index=frame.index)


def predict_collection(model: Any, table: Path, out: Path, delimiter: str | None) -> int:
    """Write predictions for a table in parts into a folder; the number of parts."""
    if out.exists():
        raise ValueError(f"{out} exists; with --engine dask predictions are a new folder of parts.")
    features = features_of(model)
    whole = read_collection(table, delimiter, () if features is None else features.categories)
    if features is not None:
        check_columns(table, whole, features.names)
    example = _predict_part(whole._meta_nonempty.head(1), model, features)
    parts = whole.map_partitions(_predict_part, model=model, features=features, meta=example.iloc[:0])
    out.parent.mkdir(parents=True, exist_ok=True)
    # Parts are written beside, and appear together.
    folder = Path(tempfile.mkdtemp(prefix=f"{out.name}.", suffix=".part", dir=out.parent))
    try:
        if is_parquet(table) or table.is_dir():
            parts.to_parquet(folder, write_index=False)
        else:
            parts.to_csv(str(folder / "part-*.csv"), index=False)
        folder.rename(out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return len([path for path in out.iterdir() if path.suffix in (".csv", ".parquet")])


def _predict_part(frame: pd.DataFrame, model: Any, features: Any) -> pd.DataFrame:
    rows = frame if features is None else features.clean(frame)
    named = named_predictions(last_step(model), np.asarray(model.predict(rows)))
    return named.rename(columns=str).set_index(frame.index)
