"""Names that the help mentions, which must not wait for NumPy; tests compare them with the tables."""

PENALTY_NAMES = (
    "sparse",
    "groups",
    "trace",
    "features",
    "frobenius",
    "cluster",
    "laplacian",
    "fixed",
    "independent",
)
COMPARED = ("sparse", "trace", "frobenius", "cluster")
GRAPH_FORMATS = (".graphml", ".json", ".csv")
SCORE_NAMES = (
    "pooled_r2",
    "r2",
    "nmse",
    "arrmse",
    "task_accuracy",
    "accuracy",
    "average_precision",
    "roc_auc",
)
