"""What the roads to a supervised step with missing labels cost, from counts; the cheapest is taken.

The unit is one operation of a product of matrices. A product of a matrix and a vector waits for memory, and a step of
an iteration has calls to make whatever its size. With L labels, N entries of the table missing, r functions and T
tasks, a fit needs about

- ``labels``: the kernel between rows, two factors of L x L, and steps that reuse them at near structures;
- ``tasks``: a factor of the labels of each task, or one decomposition for tasks with labels at the same rows, for
  steps with what joins them;
- ``completed``: two factors of N x N, and steps of the complete table;
- ``features``: the products of the features of each task, and a factor of r T x r T for every structure;
- ``iterative``: products with the labels that are there, their number from how well the complete labels stand for them.

What is rounded here (how many factors, how many steps) was counted on fits between 20 and 50,000 labels.
"""

from typing import TYPE_CHECKING, Protocol

import numpy as np

from skmtl._linalg import TINY, Array, largest_eigenvalue

if TYPE_CHECKING:
    from skmtl.solvers.entries import Entries
    from skmtl.solvers.observed import Observed

# An operation of a product of matrix and vector, and a step that calls some functions, in operations of a product of
# matrices.
WAIT, CALL = 10.0, 1e6
# A decomposition into eigenvalues, in cubes of the size.
EIGH = 10.0
# Of a fit: factors where they are reused, and where they are not; steps with a factor; structures that are visited.
FEW_FACTORS, FACTORS, FACTOR_STEPS, STRUCTURES = 2, 5, 60, 20
# Where each task has a matrix: structures, and steps of conjugate gradients for each.
BLOCK_STRUCTURES, BLOCK_STEPS = 8, 15
# Where each task has a factor.
TASK_STRUCTURES, TASK_STEPS = 15, 15
# Factors of each task that a start takes beside one of all labels, which serves near sizes of the tasks.
SIZES = 3
# Iterations that are so many times dearer than another road are left for it.
SURPRISE = 2.0
# What one step of conjugate gradients must gain, in all of a supervised step, as a logarithm.
GAIN = float(np.log(1e5))
# Numbers in double precision that a matrix may have: 512 MB.
LARGEST = 2**26
# Newton near the solution: iterations that it takes, what they gain in all, as a logarithm, and their steps.
NEWTON_ITERATIONS, NEWTON_GAIN, ITERATION_STEPS = 3, 7.0, 8
DIRECTIONS = 12
# Products with the labels of a fit, when it is to be decided whether the products of the features are formed first.
PRODUCTS = 50


class Factor(Protocol):
    """A factor that may serve other structures than its own."""

    A: Array
    ridge: float
    # Whether it is all of the system for its structure.
    exact: bool
    # What it took to make, and what it takes to apply.
    cost: float
    step_cost: float


def row_product(n_rows: int, r: int, size: int) -> float:
    """Products with the rows: of a table at once, else task by task."""
    return 4.0 * size * r * (WAIT if size == n_rows else 1.0) + CALL


def gram_product(r: int, n_tasks: int) -> float:
    """Products with the matrices of the tasks."""
    return 2.0 * n_tasks * r**2 * WAIT + CALL


def worth_forming_grams(n_rows: int, r: int, size: int, n_labels: int, n_tasks: int) -> bool:
    """Whether the matrices of the tasks pay for products with the labels."""
    formed = 2.0 * n_labels * r**2 + n_tasks * CALL + PRODUCTS * gram_product(r, n_tasks)
    return n_tasks * r**2 <= LARGEST and formed < PRODUCTS * row_product(n_rows, r, size)


def worth_forming_curvature(at_once: float, by_direction: float, n_tasks: int) -> bool:
    """Whether all pairs of tasks at once pay, where a Newton step takes a dozen products with directions."""
    n_pairs = n_tasks * (n_tasks + 1) / 2.0
    return at_once + DIRECTIONS * WAIT * n_pairs**2 < DIRECTIONS * (by_direction + CALL)


def tasks_apart(observed: "Observed", alpha: float, road: str) -> str:
    """How tasks apart, where a search for a start begins, are solved: decomposed, factorized, or like all others.

    A decomposition serves all sizes of the tasks, a factor one of them. A start needs twenty sizes for roads with
    factors, and two for iterations, which have another start.
    """
    n_labels, (r, n_tasks) = observed.n_labels, observed.cross.shape
    if road in ("tasks", "completed") or not (observed.has_grams or observed.has_entries):
        return ""
    if road == "iterative" and observed.has_entries:
        counts = _label_counts(observed)
        iterations = steps_without_factor(observed, alpha)[0] * observed.product_cost
        if np.sum(counts**2) > LARGEST or iterations <= n_tasks * CALL:
            return ""
        return "factorized" if sum(_factors_of_blocks(observed.entries())) + n_tasks * CALL < iterations else ""
    size = min(n_labels / n_tasks, r)
    products = 2.0 * n_labels * size * r if observed.has_entries else 0.0
    share = 0.02 if road == "iterative" else 0.25
    if products + n_tasks * EIGH * size**3 <= share * roads(observed, alpha).get(road, 0.0) + n_tasks * CALL:
        return "decomposed"
    if road != "labels":
        return ""
    # A factor of all labels would be one of each task, and of zeros.
    apart = SIZES * (sum(_factors_of_blocks(observed.entries())) + n_tasks * CALL)
    return "factorized" if apart < factor_cost(observed, road) else ""


def _label_counts(observed: "Observed") -> Array:
    return np.asarray(observed.entries().counts, dtype=float)


def worth_refactorizing(factor: Factor, A: Array, ridge: float, gap: float, product: float, *, curved: bool) -> bool:
    """Whether a new factor is cheaper than steps with one of another structure.

    ``curved`` says whether the second derivative is wanted, too, which comes from the factor. M of both structures lie
    between one another times the extreme eigenvalues of one structure relative to the other.
    """
    spread = max(largest_eigenvalue(A, factor.A), ridge / factor.ridge)
    spread *= max(largest_eigenvalue(factor.A, A), factor.ridge / ridge)
    if not spread < 1.0 / np.finfo(float).eps:
        return True
    # The first error is about that of the structures; the gap is a square.
    steps = 1.0 + 0.25 * np.sqrt(spread) * np.log(max((spread - 1.0) ** 2 / gap, 1.0))
    if curved and factor.exact:
        # Newton with a second derivative that is off by the spread needs more iterations, unless it was off before.
        further = NEWTON_GAIN / np.log(spread / max(spread - 1.0, 1e-6)) - NEWTON_ITERATIONS
        steps += ITERATION_STEPS * max(further, 0.0)
    return bool(factor.cost < steps * (factor.step_cost + product + CALL))


def roads(observed: "Observed", alpha: float, steps: float | None = None) -> dict[str, float]:
    """The cost of each road that is open; ``steps`` are those that iterations take, where they have shown it."""
    n_labels, (r, n_tasks) = observed.n_labels, observed.cross.shape
    n_rows, product = observed.n_rows, observed.product_cost
    steps, x = steps_without_factor(observed, alpha) if steps is None else (steps, _share_that_matters(steps))
    iterations = STRUCTURES * steps * product
    if observed.by_grams:
        # With a matrix per task and one of what they share for a preconditioner.
        iterations = BLOCK_STRUCTURES * (BLOCK_STEPS * 2.0 * product + EIGH * n_tasks**3)
        # The second derivative is as near as the mean of all tasks; the worse it is, the more structures are visited.
        iterations /= max(1.0 - np.sqrt(x), 1e-3) ** 2
    costs = {"iterative": iterations}
    size = r * n_tasks
    if observed.has_grams and size**2 <= LARGEST:
        factor = size**3 / 3.0 + n_tasks**3 * r**2 + WAIT * size**2
        costs["features"] = 2.0 * n_labels * r**2 + FACTORS * (factor + DIRECTIONS * 2.0 * WAIT * size**2)
    if observed.has_entries:
        if n_labels**2 <= LARGEST:
            step = 2.0 * WAIT * n_labels**2 + product
            kernel = min(n_rows, n_labels) ** 2 * r + WAIT * n_labels**2
            costs["labels"] = kernel + FEW_FACTORS * n_labels**3 / 3.0 + FACTOR_STEPS * step
        if np.sum(_label_counts(observed) ** 2) <= LARGEST:
            costs["tasks"] = _cost_of_blocks(observed.entries(), product, x)
        missing = observed.n_missing
        if missing is not None and missing**2 <= LARGEST:
            small = min(n_rows, r)
            step = 2.0 * WAIT * missing**2 + 3.0 * product
            factor = missing**2 * small + missing**3 / 3.0
            costs["completed"] = FEW_FACTORS * factor + FACTOR_STEPS * step
    return costs


def _cost_of_blocks(entries: "Entries", product: float, x: float) -> float:
    """The cost of the road ``tasks``: of panels, and of single tasks."""
    single = entries.counts[entries.single_tasks].astype(float)
    step = product + 2.0 * WAIT * float(np.sum(single**2)) + len(single) * CALL
    step += sum(4.0 * panel.common.size * len(panel.common) + CALL for panel in entries.panels)
    # Where few labels are there for each relation, a second derivative that is not exact takes many more structures.
    apart, n_tasks = 1.0 - entries.joined_share, len(entries.counts)
    structures = TASK_STRUCTURES * (1.0 + (2.0 * apart * n_tasks * (n_tasks + 1) / len(entries)) ** 4)
    once, again = _factors_of_blocks(entries)
    # The more functions matter to each label, the less a task hears of the others; of those in its panel it hears all.
    return (once + FACTORS * again + structures * TASK_STEPS * step) / max(x, 1e-3) ** (8.0 * apart)


def _factors_of_blocks(entries: "Entries") -> tuple[float, float]:
    """What decompositions of panels cost, once, and for every structure its factors."""
    single = entries.counts[entries.single_tasks].astype(float)
    once = EIGH * float(sum(len(panel.common) ** 3 for panel in entries.panels))
    again = float(np.sum(single**3)) / 3.0 + CALL * sum(len(panel.tasks) for panel in entries.panels)
    return once, again


def factor_cost(observed: "Observed", road: str) -> float:
    """What one factor of the road ``labels`` or ``completed`` costs."""
    n = float((observed.n_missing or 0) if road == "completed" else observed.n_labels)
    small = min(observed.n_rows, len(observed.values)) if road == "completed" else 0.0
    return n**3 / 3.0 + n**2 * small


def roughly_cheaper(observed: "Observed", alpha: float, gap: float, road: str) -> bool:
    """Whether iterations to this gap are cheaper than one factor of the road."""
    steps = steps_without_factor(observed, alpha)[0] * -np.log(gap) / GAIN
    return bool(steps * observed.product_cost < factor_cost(observed, road))


def choose_road(observed: "Observed", alpha: float) -> str:
    """The cheapest road."""
    costs = roads(observed, alpha)
    return min(costs, key=costs.__getitem__)


def road_after(observed: "Observed", alpha: float, gap: float, steps: int) -> str:
    """The road to go on with after iterations that took so many steps to this gap.

    How many they will take is known of labels that are missing at random; others tell it only when it is tried.
    """
    if observed.by_grams:
        return "iterative"
    costs = roads(observed, alpha, steps * GAIN / -np.log(gap))
    costs["iterative"] /= SURPRISE
    return min(costs, key=costs.__getitem__)


def steps_without_factor(observed: "Observed", alpha: float) -> tuple[float, float]:
    """Steps of conjugate gradients with the mean of all tasks for a preconditioner, and x below.

    Sampling L / T of the rows moves the eigenvalues of their products, relative to their mean, to (1 +- sqrt(x))^2 with
    x the share of functions that matter to labels of a task (Marchenko and Pastur); n alpha keeps them from zero.
    """
    n_labels, n_tasks = observed.n_labels, observed.cross.shape[1]
    ridge, k = observed.n * alpha, observed.values * float(np.mean(observed.shares))
    # The size that a structure will have: the root of the squared norms of the predictors.
    norms = observed.cross / (k[:, None] + ridge)
    a = float(np.sqrt(max(np.mean(np.sum(norms**2, axis=0)), TINY)))
    x = min(float(np.sum(k * a / (k * a + ridge))) * n_tasks / max(n_labels, 1), 1.0)
    root = np.sqrt(x)
    condition = min(1.0 + float(k.max(initial=0.0)) * a / ridge, ((1.0 + root) / max(1.0 - root, 1e-6)) ** 2)
    return 1.0 + 0.5 * float(np.sqrt(condition)) * GAIN, x


def _share_that_matters(steps: float) -> float:
    """x of that many steps."""
    root = max(2.0 * (steps - 1.0) / GAIN, 1.0)
    return float(((root - 1.0) / (root + 1.0)) ** 2)
