"""``skmtl predict``: a saved model on new rows."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from skmtl.cli import options as o
from skmtl.cli.console import check_new, is_plain_file, warnings_as_notes


def predict(
    model: o.Model,
    table: o.Table,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The predictions, as .csv or .parquet.")],
    interval: o.Interval = None,
    task_column: o.TaskColumn = None,
    keep: Annotated[
        str,
        typer.Option(metavar="A,B,C", help="Columns of the table to pass on, such as ids.", rich_help_panel=o.TABLE),
    ] = "",
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities of the classes instead of classes.")] = False,
    scores: Annotated[
        bool, typer.Option("--scores", help="Scores of the classes, of which the largest or the sign decides.")
    ] = False,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    thousands: o.Thousands = None,
    encoding: o.Encoding = None,
    overwrite: o.Overwrite = False,
    engine: o.Engine = "pandas",
    scheduler: o.Scheduler = None,
) -> None:
    """Predict the targets of new rows: a column per target, the rows in the order of the table.

    With --interval 0.9 the ends of intervals that hold nine labels in ten stand beside each prediction.
    With --engine dask the predictions are a folder of parts.
    """
    from skmtl.tables import predict_blocks, predict_table, write_table

    if proba and scores:
        raise ValueError("--proba and --scores cannot both fill the columns; say one of them.")
    if interval is not None and not 0.0 < interval < 1.0:
        hint = f"; for {interval:g}% say {interval / 100:g}." if 1.0 < interval < 100.0 else ", such as 0.9."
        raise ValueError(f"--interval {interval:g} must lie between 0 and 1{hint}")
    kind = "probabilities" if proba else "scores" if scores else "predictions"
    written = o.make_format(delimiter, decimal, thousands, encoding)
    if o.check_engine(engine, scheduler):
        if interval is not None:
            raise ValueError("--interval is not possible with --engine dask; predict a part of the table at a time.")
        if task_column is not None:
            raise ValueError("--task-column is not possible with --engine dask; every task is predicted.")
        if keep or kind != "predictions":
            raise ValueError("--keep, --proba and --scores are not possible with --engine dask; leave them out.")
        with warnings_as_notes(), o.connected(scheduler), o.model_of(model) as fitted:
            n_parts = predict_blocks(fitted, table, out, written)
        print(f"Wrote {out}: {_count(n_parts, 'part')}.")
        return
    check_new(out, overwrite=overwrite)
    asked: dict[str, Any] = {"task_column": task_column, "keep": o.names_in(keep), "kind": kind, "interval": interval}
    with warnings_as_notes(), o.model_of(model) as fitted:
        predictions = predict_table(fitted, table, written, **asked)
        write_table(predictions, out)
    said = f"Wrote {out}: {_count(len(predictions), 'row')}, {_count(len(predictions.columns), 'column')}."
    # Who reads predictions from a stream, such as /dev/stdout, finds nothing else in it.
    print(said, file=sys.stdout if is_plain_file(out) else sys.stderr)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
