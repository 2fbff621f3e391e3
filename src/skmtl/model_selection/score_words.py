"""What people call scores, and what they are."""

# A score by its name in the code: what it is called, and what it means. More is better for all of them.
SCORE_WORDS = {
    "pooled_r2": ("R2", "the share of the variance that is explained"),
    "r2": ("R2 within folds", "the share of the variance within each fold that is explained"),
    "nmse": ("negative NMSE", "the mean squared error as a share of the variance, with a minus"),
    "arrmse": ("negative RRMSE", "the error in standard deviations of the labels, with a minus"),
    "task_accuracy": ("label accuracy", "the share of labels that are right"),
    "accuracy": ("accuracy", "the share of rows that are right"),
    "average_precision": ("average precision", "how far up the order of rows those of the class are; at most 1"),
    "roc_auc": ("AUC", "the area under the ROC curve: 1 is perfect, 0.5 is chance"),
}


def call_score(name: str) -> str:
    """What people call a score; the scores of others keep their names."""
    return SCORE_WORDS.get(name, (name, ""))[0]


def explain_score(name: str) -> str:
    """What people call a score and, in parentheses, what it is."""
    called, meaning = SCORE_WORDS.get(name, (name, ""))
    return f"{called} ({meaning})" if meaning else called
