"""Models in files that run no code when they are opened."""

import dataclasses
import importlib
import io
import json
import os
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit
from sklearn.utils.validation import check_is_fitted

from skmtl._archives import check_parts, check_references, check_sizes
from skmtl._files import check_is_file, write_whole
from skmtl._validation import import_extra
from skmtl._version import __version__

__all__ = ["load_model", "save_model"]

PathLike = str | os.PathLike[str]
# Beside what skops trusts by itself: numbers, strings, containers, arrays and scikit-learn's estimators. Whole packages
# are never trusted, for a type may do harm when it is constructed: numpy.memmap overwrites files.
TRUSTED_BASES = (BaseEstimator, BaseCrossValidator, BaseShuffleSplit)
TRUSTED_NAMES = ("numpy.dtype",)
VERSION_FILE, SCHEMA_FILE = "skmtl.json", "schema.json"
# Where the types of models live. They are imported before a file is read, for types are looked up among what is loaded.
MODEL_MODULES = ("skmtl.estimators", "skmtl.model_selection", "skmtl.tables")


def save_model(model: Any, path: PathLike) -> None:
    """Save a fitted estimator, or a pipeline that ends with one, in the format of skops.

    The file appears whole or not at all. It holds types of skmtl, NumPy and scikit-learn only; a kernel, scoring or
    callback that is a function cannot be saved.

    Parameters
    ----------
    model : estimator
        Fitted; its own class, and those of its parts, come from skmtl or scikit-learn.
    path : str or path
        By custom the name ends with ``.skops``.

    See Also
    --------
    load_model : Load it again.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor, load_model, save_model
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> est = MultiTaskRegressor(alpha=0.1).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(est, f"{folder}/model.skops")
    ...     again = load_model(f"{folder}/model.skops")
    >>> bool((again.predict(X) == est.predict(X)).all())
    True
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"model={model!r} is not an estimator; pass a fitted estimator or a pipeline.")
    check_is_fitted(model)
    write_whole(path, _pack(model))


def load_model(path: PathLike) -> Any:
    """Load a model that :func:`save_model` wrote, without running any code that the file brings.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        With the predictions of the one that was saved. A file of another version of skmtl is loaded with a warning.

    Raises
    ------
    ValueError
        If the file is damaged, needs more memory than its own size, was not written by ``save_model``, or holds a
        type that is not one of skmtl, NumPy or scikit-learn.

    See Also
    --------
    save_model : Writes the file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_linnerud
    >>> from skmtl import MultiTaskRegressor, load_model, save_model
    >>> est = MultiTaskRegressor(alpha=0.1).fit(*load_linnerud(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(est, f"{folder}/model.skops")
    ...     load_model(f"{folder}/model.skops").alpha
    0.1
    """
    path = Path(path)
    check_is_file(path, "name a file that save_model or skmtl fit wrote")
    content = path.read_bytes()
    written_by = _read_version(path, content)
    if written_by != __version__:
        warnings.warn(
            f"{path} was written by skmtl {written_by}, and this is {__version__}: check its predictions, or fit the "
            "model again.",
            UserWarning,
            stacklevel=2,
        )
    return _unpack(path, content, written_by)


def _pack(model: Any) -> bytes:
    """The file of a model, once it is certain that it can be loaded."""
    skops = import_extra("skops.io")
    try:
        content = skops.dumps(model)
        refused = [name for name in skops.get_untrusted_types(data=content) if not _is_trusted(name)]
    except Exception as error:
        # What cannot be represented fails in as many ways as there are types.
        raise ValueError(f"the model cannot be saved: {error}.{_advice(model)}") from error
    if any("scipy.sparse" in name for name in refused):
        raise ValueError(
            "the model cannot be saved, for a kernel keeps its training rows, and these are sparse; fit it on a dense "
            "X, or use the linear kernel."
        )
    if refused:
        raise ValueError(f"the model cannot be saved, for it holds {', '.join(refused)}.{_advice(model)}")
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(VERSION_FILE, json.dumps({"skmtl": __version__}))
    return buffer.getvalue()


def _advice(model: Any) -> str:
    """Which parameters are functions, and what to do about it."""
    functions = [f"{name}={value!r}" for name, value in model.get_params().items() if callable(value)]
    if not functions:
        return " Only strings, numbers, arrays and types of skmtl, NumPy and scikit-learn can."
    return f" A function cannot be saved: {', '.join(functions)}. Use a kernel with a name, and no callback."


def _read_version(path: PathLike, content: bytes) -> str:
    """The version of skmtl that wrote a file, read before anything else is, of a file that is what it says."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            check_sizes(archive, len(content))
            schema = json.loads(archive.read(SCHEMA_FILE))
            check_references(schema)
            check_parts(archive, schema, len(content))
            return str(json.loads(archive.read(VERSION_FILE))["skmtl"])
    except Exception as error:
        # A damaged archive fails in many ways, and all mean the same.
        raise ValueError(
            f"{path} is not a model file of skmtl, or it is damaged ({_first_line(error)}); save it again with "
            "save_model or skmtl fit."
        ) from error


def _unpack(path: PathLike, content: bytes, written_by: str) -> Any:
    skops = import_extra("skops.io")
    for module in MODEL_MODULES:
        importlib.import_module(module)
    origin = "" if written_by == __version__ else f" It was written by skmtl {written_by}, and this is {__version__}."
    try:
        named = skops.get_untrusted_types(data=content)
        refused = [name for name in named if not _is_trusted(name)]
        model = None if refused else skops.loads(content, trusted=named)
    except Exception as error:
        raise ValueError(f"{path} is damaged ({_first_line(error)}); save the model again.{origin}") from error
    if refused:
        raise ValueError(
            f"{path} holds {', '.join(refused)}, which no model of skmtl does, so nothing of it was loaded; get the "
            f"file from a source you trust.{origin}"
        )
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} holds no model, but {type(model).__name__}; save one with save_model.{origin}")
    return model


def _is_trusted(name: str) -> bool:
    """Whether a type is one of ours or scikit-learn's that only stores what it is given.

    Looked up among modules that are loaded already: a name in a file must not decide what is imported.
    """
    if name in TRUSTED_NAMES:
        return True
    module, _, attribute = name.rpartition(".")
    package = module.partition(".")[0]
    if package not in ("skmtl", "sklearn"):
        return False
    found = vars(sys.modules[module]).get(attribute) if module in sys.modules else None
    # A type that has moved within its package is still known where an older version had it.
    if not isinstance(found, type) or found.__module__.partition(".")[0] != package:
        return False
    return issubclass(found, TRUSTED_BASES) or (package == "skmtl" and dataclasses.is_dataclass(found))


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
