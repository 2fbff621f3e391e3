"""Tables larger than memory, through Dask: parameters from a sample, the fit from all rows, predictions in parts."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skmtl._files import folder_written_whole, without_formulas
from skmtl._validation import import_extra
from skmtl.model_selection.landmark_choice import LANDMARKS
from skmtl.tables.column_names import PathLike, plain_name
from skmtl.tables.columns import FeatureColumns
from skmtl.tables.csv_files import TableFormat, kinds_of_text
from skmtl.tables.files import (
    check_cells,
    check_columns,
    check_csv,
    check_path,
    is_parquet,
    is_workbook,
)
from skmtl.tables.pipeline import PREPARE, TASKS, TablePipeline, feature_columns
from skmtl.tables.predicting import predict_frame
from skmtl.tables.problem import TableProblem, make_problem
from skmtl.tables.roles import ColumnRoles, check_labels, check_names, with_labels
from skmtl.tables.targets import check_several
from skmtl.tables.unreadable import COMPRESSED, csv_said, parquet_said

# Rows on which parameters are chosen and features are prepared.
SAMPLE = 2000
# Bytes of CSV that decide what a column holds; Dask's default is 256 kB.
BYTES_FOR_TYPES = 2**22


def read_blocks(path: PathLike, written: TableFormat | None = None, *, text: Collection[str] = ()) -> Any:
    r"""A table as a Dask data frame, read block by block when it is used.

    Parameters
    ----------
    path : str or path
        A CSV or Parquet file, or a folder of Parquet files, which are one table.
    written : TableFormat, optional
        How CSV is written; by default with commas, in UTF-8. Nothing is recognized.
    text : collection of str, default=()
        Columns of CSV that are read as text whatever they look like.

    Returns
    -------
    dask.dataframe.DataFrame
        All columns; nothing but the types of the columns is read yet.

    See Also
    --------
    read_table : A table that fits in memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skmtl.tables import read_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "table.csv").write_text("age,income\n31,2.5\n45,\n")
    ...     int(read_blocks(f"{folder}/table.csv")["age"].sum().compute())
    76
    """
    frames, path = import_extra("dask.dataframe", "dask"), Path(path)
    check_path(path)
    if is_workbook(path):
        raise ValueError(f"{path} is a workbook, which is read whole; save it as CSV or Parquet to read it in blocks.")
    if _holds_parquet(path):
        with parquet_said(path):
            if path.is_file():
                # What pandas wrote about the columns would else be read together with their values, far from here.
                with import_extra("pyarrow.parquet", "dask").ParquetFile(path) as whole:
                    whole.read_row_groups([], use_pandas_metadata=True).to_pandas()
            return frames.read_parquet(path).rename(columns=plain_name)
    if ".tar" in (ending.lower() for ending in path.suffixes[-2:]):
        raise ValueError(f"{path} is an archive, which is read whole; unpack it to read it in blocks.")
    given = written or TableFormat()
    # Nothing is recognized: the whole file would have to be read.
    given = replace(given, delimiter=given.delimiter or ",", encoding=given.encoding or "utf-8-sig")
    options: dict[str, Any] = {"sep": given.delimiter, "encoding": given.encoding, "skipinitialspace": True}
    options |= {"decimal": given.decimal or ".", "thousands": given.thousands, "sample": BYTES_FOR_TYPES}
    if path.suffix.lower() in COMPRESSED:
        # What is packed has no places to begin at, and is one block.
        options["blocksize"] = None
    with csv_said(path):
        check_csv(path, given)
        kinds = kinds_of_text(
            path, text, {"sep": given.delimiter, "encoding": given.encoding, "skipinitialspace": True}
        )
        return frames.read_csv(path, dtype=kinds, **options).rename(columns=plain_name)


def _holds_parquet(path: Path) -> bool:
    return is_parquet(path) or path.is_dir()


def _said(path: Path) -> AbstractContextManager[None]:
    """Say in one sentence why blocks cannot be read, when they are: not all that is wrong shows at the beginning."""
    if _holds_parquet(path):
        return parquet_said(path, (import_extra("pyarrow", "dask").ArrowException,))
    return csv_said(path)


@dataclass(frozen=True)
class SampledTable:
    """A table in blocks, and a sample of its rows in memory.

    Attributes
    ----------
    blocks : dask.dataframe.DataFrame
        All rows with labels.
    n_rows : int
        Their number.
    problem : TableProblem
        The problem that the sample poses.
    roles : ColumnRoles
        What the columns are for.

    See Also
    --------
    sample_blocks : Makes one.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl.tables import ColumnRoles, sample_blocks, write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(load_linnerud(as_frame=True).frame, f"{folder}/table.csv")
    ...     table = sample_blocks(f"{folder}/table.csv", ColumnRoles(["Weight", "Waist", "Pulse"]))
    >>> table.n_rows, table.problem.n_tasks
    (20, 3)
    """

    blocks: Any
    n_rows: int
    problem: TableProblem
    roles: ColumnRoles


def sample_blocks(
    path: PathLike, roles: ColumnRoles, written: TableFormat | None = None, *, n_sampled: int | None = None
) -> SampledTable:
    """Open a table that does not fit in memory, and draw rows on which parameters can be chosen.

    Parameters
    ----------
    path : str or path
        See :func:`read_blocks`.
    roles : ColumnRoles
        What the columns are for.
    written : TableFormat, optional
        How CSV is written, see :func:`read_blocks`.
    n_sampled : int, optional
        How many rows are drawn, about; by default 2000.

    Returns
    -------
    SampledTable
        The blocks, and the problem that the sample poses.

    See Also
    --------
    fit_table : Choose and judge on the sample.
    refit_blocks : Fit what was chosen to all rows.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl.tables import ColumnRoles, sample_blocks, write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(load_linnerud(as_frame=True).frame, f"{folder}/table.csv")
    ...     table = sample_blocks(f"{folder}/table.csv", ColumnRoles(["Weight", "Waist", "Pulse"]), n_sampled=10)
    >>> table.n_rows, len(table.problem.X)
    (20, 10)
    """
    whole = read_blocks(path, written)
    roles = roles.in_columns(list(whole.columns))
    check_names(path, whole, roles)
    known = with_labels(whole, roles)
    with _said(Path(path)):
        sizes = known.map_partitions(len).compute().to_numpy()
    n_rows = int(sizes.sum())
    notes = check_labels(path, len(whole), n_rows, roles)
    # Parts without any label would be nothing to prepare.
    blocks = known.partitions[np.flatnonzero(sizes).tolist()]
    share = min(1.0, (n_sampled or SAMPLE) / n_rows)
    with _said(Path(path)):
        sample = blocks.sample(frac=share, random_state=0).compute().reset_index(drop=True)
    check_cells(Path(path), sample)
    # Blocks are numbers; words such as yes and no would have to be read in each of them.
    check_several(sample, roles.targets)
    problem = make_problem(sample, roles, source=path)
    marks = (",", written.thousands) if written is not None and written.decimal == "," else None
    return SampledTable(blocks, n_rows, replace(problem, notes=(*notes, *problem.notes), marks=marks), roles)


def refit_blocks(model: Pipeline, table: SampledTable, *, n_components: int | None = None) -> Pipeline:
    """The estimator fitted to all rows, behind the preparation that the sample decided.

    Parameters
    ----------
    model : Pipeline
        Fitted to the sample, as :func:`fit_table` does it.
    table : SampledTable
        All rows, and the sample.
    n_components : int, optional
        Landmarks of a kernel that is not linear, whose matrix of all rows would not fit in memory; by default 1000.

    Returns
    -------
    Pipeline
        Fitted; the model that was passed stays as it is.

    See Also
    --------
    predict_blocks : Predictions in parts.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.tables import ColumnRoles, make_model, predict_frame, refit_blocks, sample_blocks, write_table
    >>> frame = load_linnerud(as_frame=True).frame
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(frame, f"{folder}/table.csv")
    ...     table = sample_blocks(f"{folder}/table.csv", ColumnRoles(["Weight", "Waist", "Pulse"]), n_sampled=10)
    ...     model = make_model(table.problem.features, MultiTaskRegressor(alpha=0.1))
    ...     model = refit_blocks(model.fit(table.problem.X, table.problem.Y), table)
    >>> predict_frame(model, frame).shape
    (20, 3)
    """
    prepare, estimator = model[0], clone(model[-1]).set_params(random_state=0)
    if estimator.kernel != "linear":
        estimator.set_params(n_components=n_components or LANDMARKS)
    problem, targets = table.problem, list(table.roles.targets)
    width = prepare.transform(problem.X.iloc[:1]).shape[1]
    meta = pd.DataFrame(np.empty((0, width)))
    rows = table.blocks.map_partitions(_prepare_block, prepare=prepare, features=problem.features, meta=meta)
    y = table.blocks[targets[0]] if len(targets) == 1 else table.blocks[targets]
    y = y.astype(problem.Y.dtype if len(targets) == 1 else np.float64)
    tasks = None if table.roles.task_column is None else table.blocks[table.roles.task_column]
    # `values` is how Dask calls the array of a data frame.
    estimator.fit(rows.values, y, tasks=tasks)
    return TablePipeline([(PREPARE, prepare), (TASKS, estimator)], target=problem.target, marks=problem.marks)


def predict_blocks(model: Any, path: PathLike, out: PathLike, written: TableFormat | None = None) -> int:
    """Write predictions for a table in parts, block by block.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.
    path : str or path
        See :func:`read_blocks`.
    out : str or path
        A folder that does not exist yet; it appears with all its parts or not at all. They are CSV or Parquet, as
        the table is.
    written : TableFormat, optional
        How CSV is written, see :func:`read_blocks`.

    Returns
    -------
    int
        The number of parts.

    See Also
    --------
    predict_table : Predictions in memory.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor
    >>> from skmtl.tables import predict_blocks, write_table
    >>> X, Y = load_linnerud(return_X_y=True, as_frame=True)
    >>> model = MultiTaskRegressor(alpha=0.1).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(X, f"{folder}/rows.csv")
    ...     predict_blocks(model, f"{folder}/rows.csv", f"{folder}/predictions")
    1
    """
    path, out = Path(path), Path(out)
    if out.exists():
        raise ValueError(f"{out} exists; predictions in blocks are a new folder of parts.")
    if isinstance(model, TablePipeline) and model.marks and not _holds_parquet(path):
        _check_decimal(path, model.marks[0], written or TableFormat())
    features = feature_columns(model)
    blocks = read_blocks(path, written, text=() if features is None else features.texts)
    check_columns(path, blocks, [] if features is None else features.names)
    none = _predict_rows(model, _example_row(features, blocks.columns)).iloc[:0]
    parts = blocks.map_partitions(_predict_block, model=model, path=path, none=none, meta=none)
    with _said(path), folder_written_whole(out) as folder:
        if _holds_parquet(path):
            parts.to_parquet(folder, write_index=False)
        else:
            plain = parts.map_partitions(without_formulas, meta=without_formulas(none))
            plain.to_csv(str(folder / "part-*.csv"), index=False)
    return len([part for part in out.iterdir() if part.suffix in (".csv", ".parquet")])


def _check_decimal(path: Path, decimal: str, written: TableFormat) -> None:
    """The decimal mark must be said where that of the fit is not the one that blocks have by default."""
    if decimal != "." and written.decimal is None:
        raise ValueError(
            f"{path}: the model was fitted to numbers with decimal mark {decimal!r}, and nothing is recognized in "
            "blocks; name the decimal mark (--decimal), and the one between thousands where there is one (--thousands)."
        )


def _example_row(features: FeatureColumns | None, columns: Any) -> pd.DataFrame:
    """A row of the right types, from which Dask learns what predictions look like before it reads any."""
    if features is None:
        return pd.DataFrame(0.0, index=[0], columns=columns)
    columns = {**dict.fromkeys(features.numbers, 0.0), **dict.fromkeys([*features.categories, *features.many], "")}
    return pd.DataFrame({**columns, **dict.fromkeys(features.dates, pd.Timestamp("2000-01-01"))}, index=[0])


def _prepare_block(frame: pd.DataFrame, prepare: Any, features: FeatureColumns) -> pd.DataFrame:
    return pd.DataFrame(prepare.transform(features.clean(frame)), index=frame.index)


def _predict_block(frame: pd.DataFrame, model: Any, path: Path, none: pd.DataFrame) -> pd.DataFrame:
    check_cells(path, frame)
    # Files without rows are parts of a folder too, and no estimator of scikit-learn takes them.
    return _predict_rows(model, frame) if len(frame) else none


def _predict_rows(model: Any, frame: pd.DataFrame) -> pd.DataFrame:
    return predict_frame(model, frame).rename(columns=str)
