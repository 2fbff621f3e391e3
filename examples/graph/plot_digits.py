"""
Digits and their graph
======================

Ten classes of handwritten digits, one task each: does an image show a 0 or not, a 1 or not, and so on. Nobody tells
the model which digits look alike; the structure that it learns does.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skmtl import MultiTaskClassifier
from skmtl.penalties import Sparse
from skmtl.plotting import GraphDisplay, MatrixDisplay

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16.0, y, train_size=500, stratify=y, random_state=0)
model = MultiTaskClassifier(Sparse(mu=0.8), alpha=1e-4, kernel="rbf", gamma=0.02).fit(X, y)
print(f"accuracy on {len(X_test)} other images: {model.score(X_test, y_test):.3f}")

# %%
# Two classes are joined where the correlation of their predictors exceeds 1 - mu = 0.2 in size and no other class
# explains it. In a choice between ten classes what speaks for one speaks against others, so that the lines mean
# "opposite"; the strongest are between 8 and 9 and between 1 and 8.
figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
GraphDisplay.from_estimator(model, ax=axes[0])
MatrixDisplay.from_estimator(model, ax=axes[1])

# %%
# The strongest relations, and the proof that no other predictors and no other graph fit better:
print(model.solution_.status)
model.relations().head()
