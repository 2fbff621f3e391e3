"""The search that stands between the labels, cleaned by ``fit``, and the fit on all rows."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import get_scorer
from sklearn.utils.validation import check_is_fitted

from skmtl._cluster import is_dask
from skmtl._linalg import Array
from skmtl.losses import Loss
from skmtl.model_selection.choice import check_rule, choose, describe_choice, make_results
from skmtl.model_selection.entries import Entries
from skmtl.model_selection.folds import make_splits
from skmtl.model_selection.grid import (
    ALPHAS,
    COMMONS,
    EPSILONS,
    LONG_COMMONS,
    Candidate,
    check_grid,
    default_widths,
    is_known,
    make_candidates,
    make_shapes,
)
from skmtl.model_selection.scores import SCORES, Score, mean_score
from skmtl.model_selection.search import Answer, Evaluate, Fold, Outcome, Rows, search_folds, search_loo
from skmtl.model_selection.training import Learned, Training
from skmtl.targets import Labels

KERNELS_WITH_GAMMA = ("rbf", "laplacian", "poly", "polynomial", "sigmoid", "chi2")


class SearchEstimator(BaseEstimator):
    """What both searching estimators share: the candidates, their scores, and the fit of the best."""

    _model_class: type[BaseEstimator]
    _for_classes = False

    def _in_blocks(self, X: Any, loss: Loss) -> bool:
        """Never: folds are cut out of memory."""
        if is_dask(X):
            raise ValueError(
                "a search needs its rows in memory; choose parameters on a sample of the Dask collection, and fit a "
                "MultiTaskRegressor or MultiTaskClassifier with them to all of it. The search itself can run on a "
                "cluster, with joblib.parallel_config('dask')."
            )
        return False

    def _fit(self, X: Array, labels: Labels, loss: Loss, *, scale: bool) -> Self:
        rule = check_rule(self.rule)
        entries = Entries.from_labels(labels)
        run = self._make_search(X, entries, loss, scale)
        candidates, outcome, rows = self._run(X, entries, run)
        self.best_index_ = choose(outcome, rule)
        self._best = best = candidates[self.best_index_]
        self.cv_results_ = make_results(candidates, outcome)
        self.best_params_, self.best_score_ = best.params(), float(outcome.means[self.best_index_])
        self.verdict_ = describe_choice(candidates, outcome, self.best_index_, self._score_name())
        rows = rows if best.gamma == rows.gamma else self._rows_at(best.gamma, X)
        return self._fit_best(X, rows.whole(self._model(), entries, loss, scale=scale), loss, best)

    def _run(
        self, X: Array, entries: Entries, run: Callable[[Sequence[Candidate], Rows], Outcome]
    ) -> tuple[list[Candidate], Outcome, Rows]:
        """The candidates, what became of them, and the rows that were seen last.

        First the kernel's width is chosen, with independent tasks, then the rest.
        """
        shapes = make_shapes(self.penalty, self.mus, entries.n_tasks)
        gammas = self._widths(X)
        epsilons = check_grid("epsilons", self.epsilons, EPSILONS, zero=False)
        commons = check_grid("commons", self.commons, LONG_COMMONS if entries.long else COMMONS)
        commons = commons if entries.n_tasks > 1 else [0.0]
        rows = Rows.from_model(self._model(gamma=gammas[0]), X)
        size = rows.size(center=self.fit_intercept)
        alphas = check_grid("alphas", self.alphas, size * ALPHAS, zero=False)

        def grid(shapes: Any, gamma: float | None) -> list[Candidate]:
            return make_candidates(shapes, alphas=alphas, epsilons=epsilons, commons=commons, gamma=gamma)

        if len(gammas) == 1:
            candidates = grid(shapes, gammas[0])
            return candidates, run(candidates, rows), rows
        tried: list[Candidate] = []
        outcomes = []
        for gamma in gammas:
            candidates = grid(shapes[:1], gamma)
            tried += candidates
            rows = rows if gamma == rows.gamma else self._rows_at(gamma, X)
            outcomes.append(run(candidates, rows))
        gamma = tried[choose(_join(outcomes), "best")].gamma
        rows = rows if gamma == rows.gamma else self._rows_at(gamma, X)
        candidates = grid(shapes[1:], gamma)
        if candidates:
            tried += candidates
            outcomes.append(run(candidates, rows))
        return tried, _join(outcomes), rows

    def _rows_at(self, gamma: float | None, X: Array) -> Rows:
        return Rows.from_model(self._model(gamma=gamma), X)

    def _make_search(
        self, X: Array, entries: Entries, loss: Loss, scale: bool
    ) -> Callable[[Sequence[Candidate], Rows], Outcome]:
        """A function that scores candidates, by folds or by leaving one out."""
        model = self._model()
        if isinstance(self.cv, str) and self.cv == "loo":
            evaluate = self._own_score(self._check_loo(entries, loss), entries)

            def run(candidates: Sequence[Candidate], rows: Rows) -> Outcome:
                return search_loo(model, rows, entries, loss, candidates, evaluate, scale=scale)

            return run
        splits = make_splits(self.cv, X, entries, self._rows, self._n_given, classes=self._for_classes)
        evaluate = self._evaluate(X, entries)

        def run_folds(candidates: Sequence[Candidate], rows: Rows) -> Outcome:
            return search_folds(
                model, rows, entries, loss, candidates, splits, evaluate, scale=scale, n_jobs=self.n_jobs
            )

        return run_folds

    def _check_loo(self, entries: Entries, loss: Loss) -> Score:
        if not loss.quadratic:
            raise ValueError(f'cv="loo" needs loss="square", not {self.loss!r}; use cv=5.')
        if not entries.to_labels().complete():
            gaps = int(np.count_nonzero(entries.weight == 0.0)) if not entries.long else "most"
            raise ValueError(f'cv="loo" needs every label of every row, with one weight; {gaps} are missing. Use cv=5.')
        name = self._score_name()
        if name not in SCORES:
            raise ValueError(f'scoring={name!r} is not possible with cv="loo"; choose one of {", ".join(SCORES)}.')
        return SCORES[name]

    def _score_name(self) -> str:
        if self.scoring is None:
            return "accuracy" if self._for_classes else "r2"
        return self.scoring if isinstance(self.scoring, str) else "score"

    def _evaluate(self, X: Array, entries: Entries) -> Evaluate:
        """Our score where it has the name, else scikit-learn's scorer."""
        name = self._score_name()
        if name in SCORES:
            return self._own_score(SCORES[name], entries)
        scorer = get_scorer(self.scoring)
        if entries.long:
            raise ValueError(
                f"scoring={self.scoring!r} cannot tell predict which task a row is of; in long format choose one of "
                f"{', '.join(SCORES)}."
            )
        if np.any(entries.weight == 0.0):
            raise ValueError(
                f"scoring={self.scoring!r} knows nothing of missing labels and of weights of zero; with them choose "
                f"one of {', '.join(SCORES)}."
            )
        y = self._labels_as_given(entries)

        def evaluate(test: Entries, F: Array, found: tuple[Fold, Answer] | None) -> float:
            assert found is not None
            fold, answer = found
            new = X[np.ix_(fold.test, fold.train)] if self.kernel == "precomputed" else X[fold.test]
            return float(scorer(self._fitted(X, fold, *answer), new, y[fold.test]))

        return evaluate

    def _own_score(self, score: Score, entries: Entries) -> Evaluate:
        if score.for_classes and not self._for_classes:
            raise ValueError(f"scoring={self.scoring!r} is for classes; choose r2, nmse or arrmse.")
        if score is SCORES["accuracy"] and self._one_class_per_row():
            return _row_accuracy
        variance = entries.variances()

        def evaluate(test: Entries, F: Array, found: tuple[Fold, Answer] | None) -> float:
            return score.sign * mean_score(score(test, F, variance))

        return evaluate

    def _one_class_per_row(self) -> bool:
        return self._for_classes and self._coding.one_vs_all

    def _labels_as_given(self, entries: Entries) -> Any:
        """Labels as scikit-learn's scorers know them."""
        y = self._coding.decode(entries.y) if self._for_classes else entries.y
        return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 and getattr(self, "_flat", True) else y

    def _model(self, **params: Any) -> Any:
        """An estimator without search that has our parameters, and what ``fit`` learned at the door."""
        shared = {name: getattr(self, name) for name in self._model_class._get_param_names() if hasattr(self, name)}
        model = self._model_class(**{**shared, "penalty": "independent", **params})
        for name in ("_flat", "_coding", "classes_", "task_names_", "n_features_in_", "feature_names_in_", "_rows"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model

    def _fitted(self, X: Array, fold: Fold, candidate: Candidate, learned: Learned) -> Any:
        """A model as if fitted on the training rows of a fold, for a scorer to ask."""
        training, model = fold.training, self._model(**_parameters(candidate))
        rows = np.ix_(fold.train, fold.train) if self.kernel == "precomputed" else fold.train
        model.feature_map_ = _fitted_map(model, training, X[rows])
        model.n_features_in_ = len(fold.train) if self.kernel == "precomputed" else self.n_features_in_
        model._rows = np.arange(len(fold.train))
        coef = training.design.lift(learned.coef) * training.targets.scale
        constant = training.targets.mean + training.targets.scale * learned.intercept
        model.intercept_ = constant - training.design.center @ coef
        model._set_coefficients(coef)
        model.structure_ = learned.structure
        return model

    def _fit_best(self, X: Array, whole: Training, loss: Loss, best: Candidate) -> Self:
        """Fit the best candidate to all rows, and become it."""
        model = self._model(**_parameters(best))
        if best.epsilon != 1.0:
            model.set_params(eps=best.epsilon * whole.supervised(best.alpha)[1])
        model.feature_map_ = _fitted_map(model, whole, X)
        model._fit_design(whole.design, whole.targets, loss, model._settings(whole.targets.labels.n_tasks))
        self.__dict__.update({k: v for k, v in vars(model).items() if k.endswith("_") or k.startswith("_")})
        return self

    def to_estimator(self) -> Any:
        """An estimator without search, not fitted, that has the parameters chosen by ``fit``."""
        check_is_fitted(self)
        eps = "auto" if self._best.epsilon == 1.0 else self.eps_
        return clone(self._model(**_parameters(self._best), eps=eps))

    def _widths(self, X: Array) -> list[float | None]:
        if self.gammas is None:
            return default_widths(self.kernel, X)
        if self.kernel not in KERNELS_WITH_GAMMA:
            known = ", ".join(KERNELS_WITH_GAMMA)
            raise ValueError(f"gammas was given, but kernel={self.kernel!r} has no gamma; kernels that do are {known}.")
        return list(check_grid("gammas", self.gammas, zero=False))


def _fitted_map(model: Any, training: Training, X: Any) -> Any:
    """The map of a training set; of a slice of a kernel the map that it stands for, on the training rows X."""
    return model._make_feature_map().fit(X) if training.feature_map.on_rows else training.feature_map


def _parameters(candidate: Candidate) -> dict[str, Any]:
    """What the estimator of a candidate is constructed with, eps apart."""
    params = {name: getattr(candidate, name) for name in ("penalty", "alpha", "common", "gamma")}
    # A known structure needs no solver, and not every one can be asked for.
    return {**params, "solver": "auto"} if is_known(candidate.penalty) else params


def _row_accuracy(test: Entries, F: Array, found: tuple[Fold, Answer] | None) -> float:
    """The share of rows whose highest score is that of their class."""
    weight = test.weight[:, 0]
    right = F.argmax(axis=1) == test.y.argmax(axis=1)
    return float(np.average(right, weights=weight)) if weight.sum() > 0.0 else float("nan")


def _join(outcomes: Sequence[Outcome]) -> Outcome:
    """Outcomes of several searches on the same folds, one after the other."""
    names = ("scores", "edges", "means")
    return Outcome(*(np.concatenate([getattr(outcome, name) for outcome in outcomes]) for name in names))
