"""The grid of a search: which candidates there are, in which order, and how they are shown, beside plain loops."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from skmtl import MultiTaskRegressor
from skmtl.model_selection.candidates import (
    GAMMA_FACTORS,
    ROWS_FOR_MEDIAN,
    Candidate,
    CandidateScores,
    Geometry,
    candidate_estimator,
    check_grid,
    count_edges,
    default_gammas,
    make_candidates,
    make_penalties,
    make_results,
)
from skmtl.penalties import Cluster, Fixed, Independent, Sparse, Trace
from skmtl.solvers.training import Settings

RBF = Geometry("rbf", 0.5)


def grid(variants, **options):
    return make_candidates(
        variants, **{"alphas": [0.1, 1.0], "eps_factors": [1.0, 100.0], "commons": [0.0], "geometry": RBF, **options}
    )


def test_the_grid_is_every_combination_strong_regularization_first():
    variants = [(Independent(), {}), (Sparse(0.5), {"mu": 0.5}), (Sparse(1.0), {"mu": 1.0})]
    found = [(c.settings.alpha, c.penalty.name, c.own, c.settings.eps_factor) for c in grid(variants)]
    assert found == [
        (alpha, penalty.name, own, factor)
        for alpha in (1.0, 0.1)
        for penalty, own in variants
        for factor in ((1.0,) if penalty.known else (1.0, 100.0))
    ]
    assert {c.geometry for c in grid(variants)} == {RBF}


def test_independent_tasks_are_tried_without_a_common_part_and_known_structures_with_one_eps():
    fixed = Fixed(np.eye(2))
    found = grid([(Independent(), {}), (fixed, {}), (Trace(), {})], alphas=[1.0], commons=[10.0])
    shown = {(c.penalty.name, c.settings.eps_factor, c.settings.common) for c in found}
    assert shown == {
        ("independent", 1.0, 0.0),
        ("independent", 1.0, 10.0),
        ("fixed", 1.0, 10.0),
        ("trace", 1.0, 10.0),
        ("trace", 100.0, 10.0),
    }
    assert [c.independent for c in found] == [
        c.penalty.name == "independent" and c.settings.common == 0.0 for c in found
    ]


def test_penalties_are_tried_with_every_value_of_their_own_parameters():
    variants = make_penalties(["sparse", "cluster", "independent"], None, 4)
    own = [(penalty.name, values) for penalty, values in variants]
    expected = [("independent", {})]
    expected += [("sparse", {"mu": mu}) for mu in Sparse().grid()["mu"]]
    expected += [("cluster", {"within": within}) for within in Cluster().grid()["within"]]
    assert own == expected
    assert all(penalty.get_params()[name] == value for penalty, values in variants for name, value in values.items())
    assert [values for _, values in make_penalties(Sparse(), [0.2, 0.7], 3)] == [{}, {"mu": 0.2}, {"mu": 0.7}]
    # A single task shares nothing.
    assert [penalty.name for penalty, _ in make_penalties("sparse", None, 1)] == ["independent"]
    with pytest.raises(ValueError, match="empty list"):
        make_penalties([], None, 3)
    with pytest.raises(ValueError, match="trace has no mu"):
        make_penalties("trace", [0.5], 3)
    with pytest.raises(ValueError, match="mu"):
        make_penalties("sparse", [1.5], 3)


def test_numbers_of_a_grid():
    assert check_grid("alphas", None, (1, 2)) == [1.0, 2.0]
    assert check_grid("alphas", [0.1, 0.3, 0.1]) == [0.1, 0.3]
    assert check_grid("alphas", 0.5) == [0.5]
    assert check_grid("commons", [0.0]) == [0.0]
    with pytest.raises(ValueError, match="alphas is empty"):
        check_grid("alphas", [])
    for wrong in ([0.1, -1.0], ["one"], [np.nan]):
        with pytest.raises(ValueError, match="an entry of alphas"):
            check_grid("alphas", wrong)
    with pytest.raises(ValueError, match="an entry of alphas"):
        check_grid("alphas", [0.0], zero=False)


@pytest.mark.parametrize(("kernel", "metric"), [("rbf", "sqeuclidean"), ("laplacian", "cityblock")])
def test_widths_are_about_the_median_of_distances(kernel, metric, rng):
    X = rng.standard_normal((21, 3))
    expected = np.array(GAMMA_FACTORS) / np.median(pdist(X, metric))
    np.testing.assert_allclose(default_gammas(kernel, X), expected)
    # Rows that stand twice count once; of many rows, one in so many.
    np.testing.assert_allclose(default_gammas(kernel, np.repeat(X, [5] + 20 * [1], axis=0)), expected)
    many = np.unique(rng.standard_normal((2 * ROWS_FOR_MEDIAN + 1, 2)), axis=0)
    np.testing.assert_allclose(
        default_gammas(kernel, many), np.array(GAMMA_FACTORS) / np.median(pdist(many[::3], metric))
    )
    # Wherever the rows are.
    np.testing.assert_allclose(default_gammas(kernel, 2.0**30 + np.round(X, 6)), expected, rtol=1e-5)
    assert default_gammas(kernel, np.ones((4, 2))) == [None]
    for other in ("linear", "poly", lambda x, z: x @ z.T):
        assert default_gammas(other, X) == [None]
    if kernel == "rbf":
        np.testing.assert_allclose(default_gammas(kernel, sparse.csr_array(X)), expected)


def test_candidates_of_one_path_differ_in_alpha_and_those_of_another_in_their_own_parameters():
    one = Candidate(Settings(Sparse(0.5), 0.1), RBF, {"mu": 0.5})
    weaker = Candidate(Settings(Sparse(0.5), 0.01), RBF, {"mu": 0.5})
    sparser = Candidate(Settings(Sparse(0.7), 0.1), RBF, {"mu": 0.7})
    shared = Candidate(Settings(Sparse(0.5), 0.1, 1.0), RBF, {"mu": 0.5})
    wider = Candidate(Settings(Sparse(0.5), 0.1), Geometry("rbf", 0.1), {"mu": 0.5})
    assert one.all_but_alpha() == weaker.all_but_alpha()
    assert len({c.all_but_alpha() for c in (one, sparser, shared, wider)}) == 4
    assert one.all_but_own() == sparser.all_but_own()
    assert len({c.all_but_own() for c in (one, weaker, shared, wider)}) == 4
    # Structures of one number of clusters are not in the domain of another.
    two, three = (Candidate(Settings(Cluster(k), 0.1), RBF, {"n_clusters": k}) for k in (2, 3))
    assert two.all_but_own() != three.all_but_own()


def test_an_estimator_has_the_parameters_of_its_candidate():
    model = MultiTaskRegressor(tol=1e-3, solver="newton")
    one = Candidate(Settings(Sparse(0.5), 0.1, 2.0), Geometry("rbf", 0.5, 1, 0.3, "evidence"), {"mu": 0.5})
    params = candidate_estimator(model, one).get_params()
    expected = {"alpha": 0.1, "common": 2.0, "kernel": "rbf", "gamma": 0.5, "metric_rounds": 1, "metric_alpha": 0.3}
    expected |= {"metric_rule": "evidence"}
    assert {name: params[name] for name in expected} == expected
    assert params["penalty"].mu == 0.5
    assert params["penalty"] is not one.penalty
    assert (params["tol"], params["solver"]) == (1e-3, "newton")
    known = candidate_estimator(model, Candidate(Settings(Fixed(), 0.1), RBF))
    assert known.solver == "auto"
    assert Geometry.from_estimator(candidate_estimator(model, one)) == one.geometry


def test_results_show_what_differs():
    candidates = grid([(Independent(), {}), (Sparse(0.5), {"mu": 0.5})], alphas=[1.0], eps_factors=[1.0])
    scores = np.array([[1.0, 2.0], [3.0, 5.0]])
    results = make_results(candidates, CandidateScores(scores, np.zeros((2, 2)), scores.mean(axis=1)))
    assert results["param_penalty"].tolist() == ["independent", "sparse"]
    # What a candidate does not have is masked; a kernel that all have is not shown, and gamma always is.
    assert results["param_mu"].tolist() == [None, 0.5]
    assert "param_kernel" not in results
    assert "param_gamma" in results
    other = Candidate(candidates[0].settings, Geometry("linear"))
    both = make_results([*candidates, other], CandidateScores(np.zeros((3, 1)), np.zeros((3, 1)), np.zeros(3)))
    assert both["param_kernel"].tolist() == ["rbf", "rbf", "linear"]
    assert [row["kernel"] for row in both["params"]] == ["rbf", "rbf", "linear"]


def test_edges_are_related_pairs():
    A = np.array([[1.0, 0.2, 0.0], [0.2, 1.0, -0.1], [0.0, -0.1, 0.0]])
    assert count_edges(A) == 2
    assert count_edges(np.eye(3)) == 0
