"""Categories with many values as a few columns, by scikit-learn's hashing."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction import FeatureHasher

from skmtl._parameters import check_count

# More columns would cost more than rare values can teach.
MOST_COLUMNS = 128


def hashed_columns(n_values: int) -> int:
    """Columns for so many values: enough that few of them meet, a power of two."""
    return min(MOST_COLUMNS, 1 << max(n_values - 1, 1).bit_length())


class HashedCategories(TransformerMixin, BaseEstimator):
    """Each value of a column of text becomes a one, or a minus one, in one of several columns; gaps are zeros.

    Which column it is follows from the text alone: nothing is learned from the targets, and a value that was not there
    at ``fit`` is no error. Values that share a column cannot be told apart in it.

    Parameters
    ----------
    n_columns : int, default=128
        Columns for each column of text.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_columns,)

    Examples
    --------
    >>> import pandas as pd
    >>> from skmtl.tables.hashing import HashedCategories
    >>> streets = pd.DataFrame({"street": ["Main", "High", None, "Main"]})
    >>> abs(HashedCategories(8).fit_transform(streets)).sum(axis=1).tolist()
    [1.0, 1.0, 0.0, 1.0]
    """

    def __init__(self, n_columns: int = MOST_COLUMNS) -> None:
        self.n_columns = n_columns

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Remember the names of the columns."""
        self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """The hashed columns of each column of text side by side."""
        if check_count("n_columns", self.n_columns) > MOST_COLUMNS:
            raise ValueError(f"n_columns={self.n_columns} must be at most {MOST_COLUMNS}.")
        hasher = FeatureHasher(self.n_columns, input_type="string")
        parts = []
        for name in X.columns:
            codes, values = pd.factorize(X[name])
            table = np.vstack(
                [hasher.transform([[str(value)] for value in values]).toarray(), np.zeros(self.n_columns)]
            )
            # The code of a gap is -1: the last row, of zeros.
            parts.append(table[codes])
        return np.hstack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """``street_hash0`` and so on."""
        return np.array(
            [f"{name}_hash{k}" for name in self.feature_names_in_ for k in range(self.n_columns)], dtype=object
        )
