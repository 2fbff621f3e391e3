"""Mistakes that are not made, and why: what only chooses among roads to the same answer, or when to stop.

Tests do not measure time, and a tolerance twice as large is as good a tolerance. What such a number *decides* is
changed all the same: the comparison in which it stands is turned round, and the branch is taken always and never.
"""

import ast

# Whole files.
FILES = {
    "skmtl/solvers/cost.py": "estimates how long each road takes; all roads give the same answer, which tests compare",
}
# Arguments of functions: checks of lengths that differ in no right program, and how memory is used (``width`` says how
# many numbers a row of a block takes on the way).
KEYWORDS = {"strict", "check_finite", "overwrite_a", "overwrite_c", "flush", "width"}
# Numbers below this, wherever they stand, say what counts as rounding.
TINY = 1e-5
# What tolerances are called where they are no constants.
TOLERANCE_NAMES = {"tol", "tolerance", "enough"}
# Constants of modules, by file.
ROADS = "sizes and shares from which another road to the same answer is quicker"
LIMITS = "how many steps an iteration may take; its certificate says whether they were enough"
TOLERANCES = "when an iteration stops, or what counts as rounding"
GRIDS = "candidates that are tried, and sizes of samples; any others would be as right"
CONSTANTS = {
    ROADS: {
        "penalties/_screening.py": "WORTH_SCREENING",
        "penalties/_newton.py": "DENSE_SHARE GENTLE_RIDGE",
        "penalties/_simplex.py": "DIRECT_EDGES FEW_EDGES",
        "penalties/_graph_newton.py": "DENSE_SHARE",
        "solvers/design.py": "BLOCK FAR",
        "solvers/held_out.py": "BLOCK_ENTRIES",
        "solvers/returned.py": "BLOCK_ENTRIES",
        "solvers/training.py": "CONSTANT_ROWS",
        "solvers/moments.py": "LARGEST_GRAMS",
        "solvers/joint.py": "DIRECT_RIDGE LOOSE_STAGE_TOL",
        "solvers/newton_cg.py": "MAX_FACTOR",
        "solvers/curvature_inverse.py": "MAX_FACTOR FEW LONGEST",
        "solvers/systems.py": "SINGLE",
        "solvers/task_blocks.py": "N_SHARED LARGEST_SHARED",
    },
    LIMITS: {
        "objective.py": "SHORTFALLS REFINEMENT",
        "penalties/_newton.py": "MAX_CG_STEPS MAX_BACKTRACKS MAX_MIXTURES MAX_MODEL_STEPS",
        "penalties/_simplex.py": "MAX_PIVOTS MAX_CG_STEPS",
        "penalties/_graph_newton.py": "MAX_BACKTRACKS PATIENCE",
        "solvers/alternation.py": "MEMORY CHECK_EVERY MOST_LOSSES CHANCES WORTH_TIGHTENING",
        "solvers/screened.py": "HALVINGS",
        "solvers/joint.py": "WARM_ITERATIONS FEW_ITERATIONS DIAGONAL_ROUNDS DIAGONAL_TOL SURROGATE_ROUNDS NEAR_ENOUGH",
        "solvers/missing_labels.py": "START_TOL SIZE_ROUNDS",
        "solvers/newton_cg.py": ("MAX_BACKTRACKS MAX_NEWTON_STEPS FEWEST_NEWTON_STEPS MAX_CG_STEPS FEW_CG_STEPS"),
        "solvers/interior_point.py": "MAX_STEPS PATIENCE",
        "solvers/curvature_inverse.py": "FEW_STEPS MANY_STEPS",
        "solvers/systems.py": "MAX_ROUNDS MAX_STEPS",
        "solvers/returned.py": "REFINEMENTS",
    },
    TOLERANCES: {
        "penalties/_newton.py": "NOTHING_LEFT STAGE_TOL SMALLEST_THETA RESOLUTION ENOUGH_GAIN MODEL_SHARE",
        "penalties/_screening.py": "DRAFT_POWER DRAFT_TOL",
        "penalties/_graph_newton.py": "ROUNDING CREEPING ENOUGH_GAIN",
        "penalties/base.py": "ASK_EARLY",
        "penalties/laplacian.py": "BOUND_TOL STAGE_TOL NEAR_STEPS CLOSED HIGH HIGHEST FALL",
        "solvers/leave_one_out.py": "NOTHING",
        "solvers/design.py": "LARGEST KERNEL_ERROR SUM_ERROR NEAR",
        "solvers/posterior.py": "NOTHING",
        "solvers/task_blocks.py": "SINGULAR",
        "solvers/solution.py": "ROUNDING OUTWARD",
        "solvers/solve.py": "NEXT_TO_NOTHING ROOM WITHIN_REACH",
        "solvers/missing_labels.py": "SMALLEST_GAP ROUGH_GAP",
        "solvers/missing_fit.py": "ROUNDING",
        "solvers/alternation.py": (
            "NEAR_THE_END FIRST_STEP_TOL WINDOW SQUARED_ERROR LARGE_LOSS CREEPING QUICKER NEARLY_CLOSED LOST"
        ),
        "solvers/screened.py": "LONE_TOL",
        "solvers/joint.py": "FIRST_ERROR NEAR_ERROR GAIN_ERROR CERTIFY_TOL ENOUGH START_TOL ROUGH_TOL",
        "solvers/newton_cg.py": ("FORCING ENOUGH_GAIN SMALLEST_GAP ROUNDING LEAST_CURVATURE FARTHEST"),
        "solvers/interior_point.py": "NEARLY FORCING EXACT NOTHING_LEFT FALLING SMALLEST LEAST",
        "solvers/systems.py": "ROUNDING",
        "targets/scaling.py": "ROUNDING",
        "estimators/metric.py": "ACCURACY",
        "model_selection/kernel_choice.py": "SEARCH_TOL",
        "model_selection/candidates.py": "SEARCH_ACCURACY",
        "model_selection/parameter_choice.py": "FINAL_TOL MOST_AT_ONCE",
    },
    GRIDS: {
        "solvers/held_out.py": "N_FOLDS ACCURACY FOLD_ACCURACY",
        "estimators/metric.py": "LEAST_ROWS MOST_ROWS",
        "model_selection/stability.py": "MUS",
        "model_selection/recommended.py": "MOST_ROWS",
        "model_selection/kernel_choice.py": (
            "ALPHAS MUS LABELS_PER_TASK CONTEST_FOLDS N_FOLDS MOST_ROWS MOST_ROWS_LINEAR MOST_LABELS"
        ),
        "model_selection/path.py": "DEFAULT_MUS",
        "model_selection/landmark_choice.py": (
            "MOST_EXACT_ROWS LANDMARKS MOST_LANDMARK_ROWS LANDMARK_ENTRIES LINEAR_WORK LINEAR_CANDIDATES "
            "FEWEST_LANDMARKS FEWEST_LINEAR_ROWS MOST_LINEAR_ROWS"
        ),
        "model_selection/candidates.py": "ALPHAS EPS_FACTORS GAMMA_FACTORS ROWS_FOR_MEDIAN",
        "model_selection/loo.py": "LOO_GROUPS",
        "model_selection/judging.py": "MOST_ROWS",
        "model_selection/search.py": "FINER",
    },
}


def left_out_constants(path: str, tree: ast.Module) -> set[str]:
    """Names of the constants of a file that keep their values; every name of the list must exist."""
    listed = " ".join(names for files in CONSTANTS.values() for file, names in files.items() if path == f"skmtl/{file}")
    missing = set(listed.split()) - {name for statement in tree.body for name in assigned(statement)}
    if missing:
        raise ValueError(f"{path} has no constants {', '.join(sorted(missing))}; mend the list in left_out.py.")
    return set(listed.split())


def open_sizes(tree: ast.Module) -> set[int]:
    """The ones of -1 in ``reshape``, by their ids: NumPy takes any negative size for the one that is left open."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    sizes = (size for call in calls if call.func.attr == "reshape" for size in call.args)
    return {id(size.operand) for size in sizes if isinstance(size, ast.UnaryOp) and isinstance(size.op, ast.USub)}


def assigned(statement: ast.stmt) -> set[str]:
    """Names that an assignment gives a value."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name)}


def is_limit(node: ast.expr) -> bool:
    """Whether a number is a tolerance, a named constant or a fraction: a computed number equals it by chance only."""
    return any(
        (isinstance(part, ast.Name) and (part.id in TOLERANCE_NAMES or (part.id.isupper() and len(part.id) > 1)))
        or (isinstance(part, ast.Attribute) and part.attr in ("tol", "_tol"))
        or (isinstance(part, ast.Constant) and isinstance(part.value, float) and part.value != 0.0)
        for part in ast.walk(node)
    )
