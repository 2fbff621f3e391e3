"""Words in the types of docstrings, and where they lead."""

TYPES = {
    "ndarray": ":class:`~numpy.ndarray`",
    "array-like": ":term:`numpy:array_like`",
    "DataFrame": ":class:`~pandas.DataFrame`",
    "Series": ":class:`~pandas.Series`",
    "Path": ":class:`~pathlib.Path`",
    "RandomState": ":class:`~numpy.random.RandomState`",
    "Pipeline": ":class:`~sklearn.pipeline.Pipeline`",
    "ColumnTransformer": ":class:`~sklearn.compose.ColumnTransformer`",
    "MultiTaskRegressor": ":class:`~skmtl.MultiTaskRegressor`",
    "MultiTaskClassifier": ":class:`~skmtl.MultiTaskClassifier`",
    "StructurePenalty": ":class:`~skmtl.penalties.StructurePenalty`",
    "Loss": ":class:`~skmtl.losses.Loss`",
    "TableProblem": ":class:`~skmtl.tables.TableProblem`",
}
