"""Does sharing help? Two studies on data that ships with scikit-learn, each with sparse and with independent tasks."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import Any

import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler

from skmtl.estimators import MultiTaskClassifier, MultiTaskRegressor
from skmtl.penalties import PENALTIES

N_FOLDS = 3
# What both methods choose from, and what each chooses besides; both are judged by the same folds.
ALPHAS = tuple(10.0**k for k in range(-6, 1))
OWN_GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "sparse": {"penalty__mu": (0.7, 0.8, 0.9, 1.0)},
    "independent": {},
}
BLOOD = {
    "s1": "total cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol/HDL",
    "s5": "log triglycerides",
    "s6": "glucose",
    "target": "progression",
}

Callback = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Study:
    """One data set, split into rows to learn from and rows to judge by."""

    name: str
    about: str
    measure: str
    estimator: Any
    train: tuple[Any, Any]
    test: tuple[Any, Any]
    scores: Callable[[Any, Any], pd.Series]


@dataclass(frozen=True)
class StudyResult:
    """A study with its fitted models by method, and their held-out scores: one row per score, one column per method."""

    study: Study
    models: dict[str, Any]
    scores: pd.DataFrame

    @property
    def relations(self) -> pd.DataFrame:
        """The relations that the sparse model learned, strongest first."""
        return self.models["sparse"].relations()

    @property
    def gain(self) -> float:
        """What sharing adds to the last score, which sums up the others."""
        summary = self.scores.iloc[-1]
        return float(summary["sparse"] - summary["independent"])


def make_digits(n_train: int = 500) -> Study:
    """Handwritten digits: each of the ten classes is one task."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16.0, y, train_size=n_train, stratify=y, random_state=0)
    about = f"10 classes of handwritten digits, {len(X)} images to learn from, {len(X_test)} held out"
    estimator = MultiTaskClassifier(kernel="rbf", gamma=0.02)
    return Study("digits", about, "accuracy", estimator, (X, y), (X_test, y_test), _accuracy)


def load_patients() -> pd.DataFrame:
    """The diabetes data as a table with readable names."""
    return load_diabetes(as_frame=True, scaled=False).frame.rename(columns=BLOOD)


def make_diabetes(n_train: int = 221) -> Study:
    """Six blood values and the progression of diabetes, from age, sex, body mass index and blood pressure."""
    table = load_patients()
    inputs, targets = table.drop(columns=list(BLOOD.values())), table[list(BLOOD.values())]
    X, X_test, Y, Y_test = train_test_split(inputs, targets, train_size=n_train, random_state=0)
    scaler = StandardScaler().set_output(transform="pandas").fit(X)
    about = (
        f"6 blood values and the progression of diabetes from {', '.join(map(str, inputs))}; "
        f"{len(X)} patients to learn from, {len(X_test)} held out"
    )
    train, test = (scaler.transform(X), Y), (scaler.transform(X_test), Y_test)
    return Study("diabetes", about, "R2", MultiTaskRegressor(kernel="rbf", gamma=0.05), train, test, _r2_per_task)


# By name, in the order of the demo.
STUDIES = {"digits": make_digits, "diabetes": make_diabetes}


def count_fits(methods: Iterable[str] = OWN_GRIDS) -> int:
    """How many fits one study takes: every candidate on every fold."""
    return sum(N_FOLDS * prod(map(len, _grid(method).values())) for method in methods)


def run(study: Study, callback: Callback | None = None) -> StudyResult:
    """Choose parameters by cross-validation for each method, fit, and score the held-out rows.

    Parameters
    ----------
    study : Study
    callback : callable, optional
        Called with ``{"step": name, "done": k, "total": n}`` after each of the :func:`count_fits` fits.

    Returns
    -------
    StudyResult

    Examples
    --------
    >>> from skmtl import demo
    >>> result = demo.run(demo.make_diabetes(n_train=60))
    >>> result.scores.columns.tolist()
    ['sparse', 'independent']
    """
    done = count(1)

    def count_fit() -> None:
        if callback is not None:
            callback({"step": study.name, "done": next(done), "total": count_fits()})

    models = {method: _search(study, method, count_fit) for method in OWN_GRIDS}
    X, Y = study.test
    scores = pd.DataFrame({method: study.scores(Y, model.predict(X)) for method, model in models.items()})
    return StudyResult(study, models, scores)


def _search(study: Study, method: str, count_fit: Callable[[], None]) -> Any:
    """The study's estimator with the penalty called ``method``, its parameters chosen by cross-validation."""

    def score(estimator: Any, X: Any, Y: Any) -> float:
        count_fit()
        return estimator.score(X, Y)

    estimator = clone(study.estimator).set_params(penalty=PENALTIES[method]())
    search = GridSearchCV(estimator, _grid(method), scoring=score, cv=N_FOLDS)
    with warnings.catch_warnings():
        # Candidates with hardly any penalty lose digits to rounding, and are compared all the same; the certificate of
        # the one that is chosen is shown.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return search.fit(*study.train).best_estimator_


def _grid(method: str) -> dict[str, tuple[float, ...]]:
    return {"alpha": ALPHAS, **OWN_GRIDS[method]}


def _accuracy(y: Any, predicted: Any) -> pd.Series:
    return pd.Series({"overall": accuracy_score(y, predicted)})


def _r2_per_task(Y: pd.DataFrame, predicted: Any) -> pd.Series:
    values = pd.Series(r2_score(Y, predicted, multioutput="raw_values"), index=Y.columns)
    return pd.concat([values, pd.Series({"mean": values.mean()})])
