"""From a table to a model: files, what columns are for, their preparation, the fit, and predictions by name.

This is what the command line does, for those who would rather do it in Python.
"""

from skmtl.tables.blocks import SampledTable, predict_blocks, read_blocks, refit_blocks, sample_blocks
from skmtl.tables.columns import FeatureColumns, sort_columns
from skmtl.tables.csv_files import TableFormat
from skmtl.tables.files import read_table, write_table
from skmtl.tables.fitting import TableFit, compare_table, fit_table
from skmtl.tables.pipeline import feature_columns, make_model, make_preparation, prepared_names
from skmtl.tables.predicting import predict_frame, predict_table
from skmtl.tables.problem import TableProblem, make_problem, read_problem
from skmtl.tables.roles import ColumnRoles

__all__ = [
    "ColumnRoles",
    "FeatureColumns",
    "SampledTable",
    "TableFit",
    "TableFormat",
    "TableProblem",
    "compare_table",
    "feature_columns",
    "fit_table",
    "make_model",
    "make_preparation",
    "make_problem",
    "predict_blocks",
    "predict_frame",
    "predict_table",
    "prepared_names",
    "read_blocks",
    "read_problem",
    "read_table",
    "refit_blocks",
    "sample_blocks",
    "sort_columns",
    "write_table",
]
