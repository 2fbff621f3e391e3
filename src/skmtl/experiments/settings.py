"""Settings of an experiment: what is said stands in place of a default, and is of its kind."""

import math
from collections.abc import Mapping, Sequence
from textwrap import shorten
from types import ModuleType
from typing import Any

# Counts that may be 0; all others are at least 1.
MAY_BE_ZERO = ("reading_seeds",)
# Letters of a value that a sentence repeats.
MOST_QUOTED = 80


def settle(experiment: ModuleType, quick: bool, options: Mapping[str, Any]) -> dict[str, Any]:
    """The experiment's settings with the options in their place."""
    _check_options(experiment, options)
    return {**experiment.SETTINGS, **(experiment.QUICK if quick else {}), **options}


def _check_options(experiment: ModuleType, options: Mapping[str, Any]) -> None:
    unknown = [name for name in options if name not in experiment.SETTINGS]
    if unknown:
        known = ", ".join(experiment.SETTINGS)
        raise ValueError(f"{', '.join(unknown)} is no setting of this experiment; it has {known}.")
    for name, value in options.items():
        default = experiment.SETTINGS[name]
        # Where nothing is the default, the small version has an example, or it is text.
        example = experiment.QUICK.get(name, "text") if default is None else default
        if not (value is None and default is None) and not _is_like(value, example, int(name not in MAY_BE_ZERO)):
            said = f"{name}={_quoted(value)} is not possible; it has to be {_describe(name, example)}"
            raise ValueError(f"{said}{', or null' if default is None else f', such as {_quoted(default)}'}.")
        for one in value.values() if _holds_settings(example) else ():
            _check_options(experiment, one)


def _is_like(value: Any, example: Any, least: int = 1) -> bool:
    """Whether a value is of the kind of an example; counts are not below the least."""
    # Arrays and numbers of NumPy.
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(example, dict):
        return isinstance(value, dict) and _holds_alike(value, example)
    if isinstance(example, list | tuple):
        return isinstance(value, list | tuple) and _lists_alike(value, example)
    if isinstance(example, str) or isinstance(value, bool):
        return isinstance(example, str) and isinstance(value, str)
    if isinstance(example, int):
        return isinstance(value, int) and value >= least
    return isinstance(value, int | float) and -math.inf < value < math.inf


def _holds_alike(value: dict[str, Any], example: dict[str, Any]) -> bool:
    if _holds_settings(example):
        return all(isinstance(one, dict) for one in value.values())
    return value.keys() == example.keys() and all(_is_like(value[name], example[name]) for name in example)


def _lists_alike(value: Sequence[Any], example: Sequence[Any]) -> bool:
    """Of a list any number is possible, but none; of a tuple as many as it has."""
    n_fits = len(value) == len(example) if isinstance(example, tuple) else len(value) > 0
    return n_fits and all(_is_like(one, example[0]) for one in value)


def _holds_settings(example: Any) -> bool:
    """Whether it is several sets of settings, each with a name."""
    return isinstance(example, dict) and all(isinstance(one, dict) for one in example.values())


def _describe(name: str, example: Any) -> str:
    """The kind of an example in words."""
    if _holds_settings(example):
        return "sets of settings by their names"
    if isinstance(example, dict):
        return " and ".join(f"{_describe(key, one)} for {key}" for key, one in example.items())
    if isinstance(example, tuple):
        return f"a list of {len(example)} whole numbers, 1 or more"
    if isinstance(example, list):
        return "a list of whole numbers, 1 or more" if isinstance(example[0], int) else "a list of numbers"
    if isinstance(example, int):
        return f"a whole number, {int(name not in MAY_BE_ZERO)} or more"
    return "a number" if isinstance(example, float) else "text"


def _quoted(value: Any) -> str:
    return shorten(repr(value), MOST_QUOTED, placeholder=" ...")
