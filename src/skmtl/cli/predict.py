"""``skmtl predict``: a saved model on new rows."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd

from skmtl import load_model
from skmtl.cli.console import remarks
from skmtl.cli.pipeline import features_of, named_predictions
from skmtl.cli.tables import check_columns, read_table, write_table
from skmtl.export import last_step


def add_to(app: Any) -> None:
    """Add the command."""
    import typer

    from skmtl.cli import options as o

    @app.command()
    def predict(
        model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model.skops that skmtl fit wrote.")],
        table: o.Table,
        out: Annotated[Path, typer.Option(metavar="FILE", help="The predictions, as .csv or .parquet.")],
        task_column: o.TaskColumn = None,
        delimiter: o.Delimiter = None,
        engine: o.Engine = "pandas",
        scheduler: o.Scheduler = None,
    ) -> None:
        """Predict the targets of new rows: a column per target, the rows in the order of the table.

        With --engine dask the predictions are a folder of parts.
        """
        from skmtl.cli.large import check_engine, connected, predict_collection

        if check_engine(engine, scheduler):
            if task_column is not None:
                raise ValueError("--task-column is not possible with --engine dask; every task is predicted.")
            with remarks(), connected(scheduler):
                n_parts = predict_collection(load_file(model), table, out, delimiter)
            print(f"Wrote {out}: {n_parts} parts.")
            return
        with remarks():
            predictions = predict_table(load_file(model), table, task_column=task_column, delimiter=delimiter)
        write_table(predictions, out)
        print(f"Wrote {out}: {len(predictions)} rows, {len(predictions.columns)} columns.")


def load_file(path: Path) -> Any:
    """A model from a file that exists."""
    if not path.is_file():
        what = "is a folder; name the model.skops in it" if path.is_dir() else "does not exist; skmtl fit writes one"
        raise ValueError(f"{path} {what}.")
    return load_model(path)


def predict_table(
    model: Any, path: Path, *, task_column: str | None = None, delimiter: str | None = None
) -> pd.DataFrame:
    """Predictions for the rows of a table, named after the tasks."""
    features = features_of(model)
    text = [] if features is None else [*features.categories]
    if task_column is not None and all(isinstance(name, str) for name in last_step(model).task_names_.tolist()):
        text.append(task_column)
    frame = read_table(path, delimiter=delimiter, text=text)
    check_columns(path, frame, [] if task_column is None else [task_column])
    if features is not None:
        check_columns(path, frame, features.names)
    rows = frame.drop(columns=[task_column] if task_column else []) if features is None else features.clean(frame)
    if task_column is None:
        return named_predictions(last_step(model), np.asarray(model.predict(rows)))
    tasks = frame[task_column].astype(object)
    return pd.DataFrame({task_column: tasks, "prediction": model.predict(rows, tasks=tasks)})
