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
# Penalties that are told something about the tasks: the parameter that does, and how it is given.
TOLD = {
    "fixed": ("matrix", "matrix=FILE, a table with a row and a column for each task"),
    "groups": ("groups", "groups=a,a,b, the group of each task"),
}
# What can be compared with independent tasks, and what is by default.
COMPARABLE = tuple(name for name in PENALTY_NAMES if name not in TOLD and name != "independent")
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
