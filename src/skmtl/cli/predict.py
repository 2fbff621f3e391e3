"""``skmtl predict``: a saved model on new rows."""

from pathlib import Path
from typing import Annotated

import typer

from skmtl.cli import options as o
from skmtl.cli.console import warnings_as_notes
from skmtl.tables import predict_blocks, predict_table, write_table


def predict(
    model: o.Model,
    table: o.Table,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The predictions, as .csv or .parquet.")],
    interval: o.Interval = None,
    task_column: o.TaskColumn = None,
    delimiter: o.Delimiter = None,
    engine: o.Engine = "pandas",
    scheduler: o.Scheduler = None,
) -> None:
    """Predict the targets of new rows: a column per target, the rows in the order of the table.

    With --interval 0.9 the ends of intervals that hold nine labels in ten stand beside each prediction.
    With --engine dask the predictions are a folder of parts.
    """
    if o.check_engine(engine, scheduler):
        if interval is not None:
            raise ValueError("--interval is not possible with --engine dask; predict a part of the table at a time.")
        if task_column is not None:
            raise ValueError("--task-column is not possible with --engine dask; every task is predicted.")
        with warnings_as_notes(), o.connected(scheduler):
            n_parts = predict_blocks(o.load_file(model), table, out, delimiter=delimiter)
        print(f"Wrote {out}: {n_parts} parts.")
        return
    with warnings_as_notes():
        predictions = predict_table(
            o.load_file(model), table, task_column=task_column, delimiter=delimiter, interval=interval
        )
    write_table(predictions, out)
    print(f"Wrote {out}: {len(predictions)} rows, {len(predictions.columns)} columns.")
