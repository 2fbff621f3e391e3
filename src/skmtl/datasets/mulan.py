"""Multi-target and multi-label sets of the Mulan library."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from scipy import sparse

from skmtl.datasets._files import PathLike
from skmtl.datasets.arff import ArffTable, read_arff

SOURCE = (
    "The sets come with Mulan, the multi-label library of Grigorios Tsoumakas, Eleftherios Spyromitros-Xioufis and "
    "Ioannis Vlahavas (Aristotle University of Thessaloniki), and can be asked for there."
)
# Number of targets of the multi-target sets: their last columns.
N_TARGETS = {
    "andro": 6,
    "atp1d": 6,
    "edm": 2,
    "enb": 2,
    "jura": 3,
    "oes97": 16,
    "osales": 12,
    "rf1": 8,
    "scpf": 3,
    "sf1": 3,
    "sf2": 3,
    "slump": 3,
}


@dataclass(frozen=True)
class MultiTarget:
    """What :func:`load_mulan` returns.

    Attributes
    ----------
    X : DataFrame or sparse array of shape (n_samples, n_features)
        The features.
    Y : DataFrame of shape (n_samples, n_targets)
        The targets as floats; NaN is a missing one.
    feature_names : tuple of str
        The columns of X.

    See Also
    --------
    load_mulan : Reads such a set.

    Examples
    --------
    >>> import pandas as pd
    >>> from skmtl.datasets import MultiTarget
    >>> data = MultiTarget(pd.DataFrame({"depth": [1.0, 2.0]}), pd.DataFrame({"zinc": [0.1, 0.3]}), ("depth",))
    >>> data.X.shape, data.Y.shape
    ((2, 1), (2, 1))
    """

    X: pd.DataFrame | sparse.csr_array
    Y: pd.DataFrame
    feature_names: tuple[str, ...]


def load_mulan(
    path: PathLike, n_targets: int | None = None, *, labels: PathLike | None = None, sparse: bool = False
) -> MultiTarget:
    r"""Read the features and targets of a Mulan set.

    Which columns are targets is decided by the first of these that is there: ``n_targets``; ``labels``; an XML
    list of labels beside the file (``scene.xml`` for ``scene-train.arff``); the table of known multi-target sets.

    Parameters
    ----------
    path : path-like
        An ARFF file, dense or sparse.
    n_targets : int, default=None
        The targets are this many last columns.
    labels : path-like, default=None
        XML file that names the targets.
    sparse : bool, default=False
        Give X as a sparse matrix (CSR) in place of a data frame.

    Returns
    -------
    MultiTarget
        X with nominal columns as pandas categories (floats if their values are 0 and 1), and Y.

    See Also
    --------
    read_arff : Reads the file as one table.

    References
    ----------
    Tsoumakas et al. Mulan: a Java library for multi-label learning. JMLR 2011.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from skmtl.datasets import load_mulan
    >>> text = "@relation r\n@attribute a real\n@attribute y1 real\n@attribute y2 real\n@data\n1,2,3\n4,5,?"
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "small.arff").write_text(text)
    ...     data = load_mulan(Path(folder, "small.arff"), n_targets=2)
    >>> data.Y
        y1   y2
    0  2.0  3.0
    1  5.0  NaN
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise FileNotFoundError(f"{file} does not exist. {SOURCE}")
    table = read_arff(file)
    targets = _target_places(file, table, n_targets, labels)
    words = [table.columns[place].name for place in targets if not table.columns[place].is_number]
    if words:
        raise ValueError(f"{file}: the targets {', '.join(words[:5])} are words; targets must be numbers or 0/1.")
    chosen = set(targets)
    features = [place for place in range(len(table.columns)) if place not in chosen]
    return MultiTarget(
        X=table.matrix(features) if sparse else table.frame(features),
        Y=table.frame(targets),
        feature_names=tuple(table.columns[place].name for place in features),
    )


def _target_places(file: Path, table: ArffTable, n_targets: int | None, labels: PathLike | None) -> list[int]:
    """Places of the target columns, in the order of the file."""
    n_columns = len(table.columns)
    listed = _labels_beside(file) if labels is None else Path(labels).expanduser()
    if n_targets is None and listed is not None:
        return _named_places(file, table, listed)
    count = N_TARGETS.get(file.stem.lower()) if n_targets is None else n_targets
    if count is None:
        raise ValueError(
            f"{file} is not one of the known sets ({', '.join(N_TARGETS)}), and no XML list of labels is beside it; "
            "pass n_targets, the number of last columns that are targets, or labels, the path of such a list."
        )
    if not 1 <= count < n_columns:
        raise ValueError(
            f"n_targets={count} must be at least 1 and leave a feature among {n_columns} columns of {file}."
        )
    return list(range(n_columns - count, n_columns))


def _labels_beside(file: Path) -> Path | None:
    """XML list for a set that may come in parts: set.xml for set.arff, set-train.arff, set-test-sparse.arff."""
    parts = file.stem.split("-")
    names = ["-".join(parts[:length]) + ".xml" for length in range(len(parts), 0, -1)]
    return next((file.with_name(name) for name in names if file.with_name(name).is_file()), None)


def _named_places(file: Path, table: ArffTable, listed: Path) -> list[int]:
    """Places of the columns that an XML list names, at any depth."""
    if not listed.is_file():
        raise FileNotFoundError(f"{listed}, the list of labels for {file.name}, does not exist. {SOURCE}")
    try:
        elements = ElementTree.parse(listed).getroot().iter()
    except (ElementTree.ParseError, LookupError) as error:
        # An encoding that is not known is the second.
        raise ValueError(f"{listed} is not an XML list of labels: {error}.") from None
    names = {element.get("name") for element in elements if element.tag.rpartition("}")[2] == "label"}
    places = [place for place, column in enumerate(table.columns) if column.name in names]
    absent = sorted(str(name) for name in names - {column.name for column in table.columns})
    if absent or not places:
        raise ValueError(f"{listed} names {', '.join(absent[:5]) or 'no label'}, not among the columns of {file.name}.")
    return places
