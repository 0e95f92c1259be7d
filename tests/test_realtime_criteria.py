"""The pencil, clusters of eigenvalues and the criterion of single entries, against finite differences and numpy."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable

import numpy as np
import pytest
from numpy.linalg import eigvals, inv, norm, solve
from scipy.linalg import block_diag
from scipy.optimize import linear_sum_assignment
from support_criteria import (
    SEEDS,
    SYSTEMS,
    TAU,
    Array,
    dae,
    difference_of_sums,
    maps,
    mixed_dae,
    ode,
    rotation,
    with_spectrum,
    without,
)

from pliant.errors import ArgumentError, NonFiniteError, SingularError
from pliant.realtime.sparsing import clusters as clusters_module
from pliant.realtime.sparsing import criteria as c

# --- the step map ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_exact_identity_of_the_step_maps(system: Callable, seed: int) -> None:
    L, Df, mask = system(np.random.default_rng(seed))
    B, E, Bs, S, Ss = maps(L, Df, TAU, mask)
    n = len(L)
    assert norm(Ss - S - inv(Bs) @ E @ (np.eye(n) - S)) < 1e-8 * norm(Ss)
    assert norm(np.eye(n) - S + TAU * inv(B) @ Df) < 1e-9 * norm(S)
    assert norm(c.perturbation(L, Df, TAU, mask) - (Ss - S)) < 1e-8 * norm(Ss)
    assert norm(c.sparsed(L, Df, TAU, mask) - Ss) < 1e-8 * norm(Ss)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_pencil_has_the_eigenvalues_of_the_step_map(system: Callable, seed: int) -> None:
    L, Df, _ = system(np.random.default_rng(seed))
    pencil = c.Pencil(L, Df, TAU)
    assert norm(pencil.S - solve(pencil.B, L)) < 1e-9 * norm(pencil.S)
    assert norm(pencil.B_inverse @ pencil.B - np.eye(len(L))) < 1e-9
    assert c.true_changes(eigvals(pencil.S), pencil.eigenvalues).max() < 1e-7
    assert np.allclose(pencil.r, 1 - abs(pencil.eigenvalues))
    assert pencil.radius == abs(pencil.eigenvalues).max()
    upper = np.flatnonzero(pencil.eigenvalues.imag > 0)
    assert (pencil.eigenvalues[upper + 1] == pencil.eigenvalues[upper].conj()).all()
    AA, BB, Q, Z = pencil.schur
    R, C = pencil.scales
    assert norm(Q @ AA @ Z.T - R[:, None] * L * C) < 1e-12 * norm(AA)
    assert norm(Q @ BB @ Z.T - R[:, None] * pencil.B * C) < 1e-12 * norm(BB)


@pytest.mark.parametrize("seed", SEEDS)
def test_zeros_are_counted_and_index_one_is_recognised(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for system, zeros in ((ode, 0), (dae, 3), (mixed_dae, 3)):
        L, Df, _ = system(rng)
        pencil = c.Pencil(L, Df, TAU)
        assert pencil.zero_count == zeros == len(L) - pencil.rank
        assert pencil.index_is_one
        assert (abs(pencil.eigenvalues) < 1e-9).sum() == zeros


def test_higher_index_is_recognised() -> None:
    two = c.Pencil(np.diag([1.0, 0.0]), [[0.0, 1.0], [1.0, 0.0]], 0.1)  # x' = y, 0 = x
    assert (two.zero_count, two.index_is_one) == (2, False)
    three = c.Pencil(np.diag([1.0, 1.0, 0.0]), [[0, 1.0, 0], [0, 0, 1.0], [1.0, 0, 0]], 0.1)
    assert (three.zero_count, three.index_is_one) == (3, False)
    both = c.Pencil(np.diag([1.0, 0.0, 1.0]), block_diag([[0.0, 1.0], [1.0, 0.0]], [[-1.0]]), 0.1)
    assert (both.zero_count, both.rank, both.index_is_one) == (2, 2, False)


@pytest.mark.parametrize("seed", SEEDS)
def test_higher_index_in_combined_equations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    L = block_diag(np.eye(2), 0.0, np.eye(3), 0.0)  # index 3, three modes, one algebraic variable of index 1
    Df = block_diag(chain, np.diag([-1.0, -5.0, -80.0]), -2.0)
    P, Q = (np.linalg.qr(rng.normal(size=(7, 7)))[0] for _ in range(2))
    pencil = c.Pencil(P @ L @ Q, P @ Df @ Q, 0.1)
    assert (pencil.zero_count, pencil.rank, pencil.index_is_one) == (4, 5, False)
    # a kernel of one dimension: Y^T B X is a single number, zero up to rounding
    P, Q = P[:6, :6], Q[:6, :6]
    alone = c.Pencil(P @ L[:6, :6] @ Q, P @ Df[:6, :6] @ Q, 0.1)
    assert (alone.zero_count, alone.rank, alone.index_is_one) == (3, 5, False)


def test_a_very_stiff_ode_has_no_zeros() -> None:
    pencil = c.Pencil(np.eye(2), np.diag([-1e13, -1.0]), 1.0)
    assert abs(pencil.eigenvalues).min() < 1e-12
    assert (pencil.zero_count, pencil.index_is_one) == (0, True)


def test_eigenvalues_on_the_boundary_need_only_be_semisimple() -> None:
    two_integrators, chain = c.Pencil(np.eye(2), np.zeros((2, 2)), 0.1), c.Pencil(np.eye(2), [[0, 1.0], [0, 0]], 0.1)
    for pencil in (two_integrators, chain):  # a double eigenvalue 1
        assert abs(pencil.eigenvalues - 1).max() < 1e-12
    assert norm(np.linalg.matrix_power(two_integrators.S, 1000), 2) == pytest.approx(1.0)
    assert norm(np.linalg.matrix_power(chain.S, 1000), 2) > 99  # defective: grows with every step


def test_units_do_not_decide_what_is_singular() -> None:
    rng = np.random.default_rng(4)
    L, Df, _ = dae(rng)
    rows, columns = 10.0 ** rng.integers(-9, 9, len(L)), 10.0 ** rng.integers(-9, 9, len(L))
    scaled = c.Pencil(rows[:, None] * L * columns, rows[:, None] * Df * columns, TAU)
    plain = c.Pencil(L, Df, TAU)
    assert scaled.index_is_one
    assert c.true_changes(plain.eigenvalues, scaled.eigenvalues).max() < 1e-9


def test_singular_b_names_the_state() -> None:
    Df = np.diag([-1.0, 2.0, -3.0])
    with pytest.raises(SingularError, match="pressure") as caught:
        c.Pencil(np.eye(3), Df, 0.5, names=["a", "pressure", "b"])
    assert caught.value.names == ("pressure",)
    with pytest.raises(SingularError, match=r"x\[1\]"):
        c.Pencil(np.eye(3), Df, 0.5)
    with pytest.raises(SingularError, match="Bs"):
        c.sparsed(np.zeros((2, 2)), np.eye(2), 1.0, without(2, (0, 0)))


@pytest.mark.parametrize(
    ("L", "Df", "tau"),
    [
        (np.eye(2), np.eye(3), 0.1),
        (np.eye(2), np.ones((2, 3)), 0.1),
        (np.eye(2), -np.eye(2), 0.0),
        (np.eye(2), -np.eye(2), float("nan")),
        (np.eye(2), 1j * np.eye(2), 0.1),
    ],
)
def test_bad_arguments_of_the_pencil(L: Array, Df: Array, tau: float) -> None:
    with pytest.raises(ArgumentError):
        c.Pencil(L, Df, tau)


def test_not_a_number_and_bad_masks() -> None:
    with pytest.raises(NonFiniteError, match=r"Df\[1, 0\]"):
        c.Pencil(np.eye(2), [[0.0, 1.0], [np.nan, 1.0]], 0.1)
    with pytest.raises(ArgumentError, match="mask"):
        c.d_1(np.eye(2), -np.eye(2), 0.1, np.ones((2, 2)))
    with pytest.raises(ArgumentError, match="mask"):
        c.d_1(np.eye(2), -np.eye(2), 0.1, np.ones((3, 3), dtype=bool))
    with pytest.raises(ArgumentError, match="names"):
        c.Pencil(np.eye(2), -np.eye(2), 0.1, names=["a"])


# --- clusters -------------------------------------------------------------------------------------------------------


def sets(found: c.Clusters) -> list[list[int]]:
    return [cluster.tolist() for cluster in found]


def test_linkage_joins_chains_and_conjugates_and_keeps_zeros_apart() -> None:
    lam = np.array([0.5, 0.508, 0.516, 0.9 + 0.2j, 0.9 - 0.2j, 1e-12, 0.004, -1e-11j, 1e-11j])
    assert sets(c.linkage_clusters(lam)) == [[0, 1, 2], [3, 4], [5, 7, 8], [6]]
    assert sets(c.linkage_clusters(lam, cut=0.001)) == [[0], [1], [2], [3, 4], [5, 7, 8], [6]]


def test_conjugates_of_bad_condition_stay_together() -> None:
    lam = np.array([0.9 + 0.2j, 0.9003 - 0.1996j, 0.5])  # conjugate only up to 5e-4
    assert sets(c.linkage_clusters(lam, cut=1e-5)) == [[0, 1], [2]]
    assert sets(c.single_clusters(lam)) == [[0, 1], [2]]


def test_few_stiff_and_many_oscillatory_clusters() -> None:
    stiff = [0.01, 0.1, 0.2, 0.25 + 0.1j, 0.25 - 0.1j, 0.4]
    oscillatory = [0.95 + 0.1j, 0.95 - 0.1j, 0.952 + 0.101j, 0.952 - 0.101j]
    slow = [0.99, 0.99 + 1e-6]  # numerically a double eigenvalue
    found = sets(c.stiff_clusters(stiff + oscillatory + slow))
    assert found == [[0, 1, 2, 3, 4, 5], [6, 7], [8, 9], [10, 11]]
    assert sets(c.linkage_clusters(stiff + oscillatory + slow)) != found


def test_given_clusters_are_checked() -> None:
    lam = np.array([0.5, 0.9 + 0.2j, 0.9 - 0.2j])
    assert sets(c.given_clusters([[2, 1], [0]], lam)) == [[1, 2], [0]]
    assert sets(c.given_clusters([[0, 1], [2]], lam, split_conjugates=True)) == [[0, 1], [2]]
    with pytest.raises(ArgumentError, match="conjugates"):
        c.given_clusters([[0, 1], [2]], lam)
    for wrong in ([[0, 1]], [[0, 1, 2], [2]], [[0, 1, 2, 3]], [[0, 1, 2], []], [[0.0, 1.0, 2.0]], []):
        with pytest.raises(ArgumentError):
            c.given_clusters(wrong, lam)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_block_diagonal_form(system: Callable, seed: int) -> None:
    L, Df, _ = system(np.random.default_rng(seed))
    pencil = c.Pencil(L, Df, TAU)
    groups = c.linkage_clusters(pencil.eigenvalues, cut=0.05)
    blocks = c.block_diagonalise(pencil, groups)
    for first in blocks:
        left = first.Y.conj().T
        assert c.true_changes(eigvals(solve(first.B, first.A)), pencil.eigenvalues[first.indices]).max() < 1e-6
        assert norm(left @ L @ first.X - first.A) < 1e-12 * max(norm(L), 1)
        for second in blocks:
            if second is not first:  # off-diagonal blocks vanish: (14)
                size = norm(first.Y) * norm(second.X)
                assert norm(left @ L @ second.X) < 1e-10 * size * norm(L)
                assert norm(left @ pencil.B @ second.X) < 1e-10 * size * norm(pencil.B)
    # the projectors sum to the identity, so the gradients sum to (I - S) B^-1
    whole = (np.eye(len(L)) - pencil.S) @ pencil.B_inverse
    assert norm(sum(found.G for found in blocks) - whole) < 1e-7 * norm(whole)


@pytest.mark.parametrize("seed", SEEDS)
def test_complex_form_gives_the_same_gradients(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for system in SYSTEMS:
        L, Df, _ = system(np.random.default_rng(seed))
        pencil = c.Pencil(L, Df, TAU)
        groups = c.linkage_clusters(pencil.eigenvalues, cut=0.05)
        usual = c.cluster_criterion(pencil, groups)
        with monkeypatch.context() as patch:  # as if LAPACK had refused every swap
            patch.setattr(clusters_module, "qz_bases", lambda *_: None)
            other = c.cluster_criterion(pencil, groups)
        assert abs(usual - other).max() < 1e-6 * usual.max()


# --- the criterion --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_criterion_is_the_derivative_of_cluster_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Df = with_spectrum(rng, [np.diag([-0.5, -0.52, -8.0]), rotation(-1.0, 4.0), rotation(-20.0, 3.0)])
    n = len(Df)
    L = np.eye(n)
    pencil = c.Pencil(L, Df, TAU)
    groups = c.linkage_clusters(pencil.eigenvalues, cut=0.02)
    assert sorted(len(group) for group in groups) == [1, 2, 2, 2]
    signed = c.signed_criterion(pencil, groups)
    for entry in [(0, 0), (1, 4), (6, 2), (3, 3)]:
        truth = difference_of_sums(L, Df, entry, list(groups))
        assert abs(signed[:, entry[0], entry[1]] - truth).max() < 1e-6 * max(abs(truth).max(), 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_split_conjugates_have_complex_derivatives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Df = with_spectrum(rng, [np.diag([-0.5, -8.0]), rotation(-1.0, 4.0)])
    pencil = c.Pencil(np.eye(4), Df, TAU)
    alone = [np.array([k]) for k in range(4)]
    signed = c.signed_criterion(pencil, alone)
    truth = difference_of_sums(np.eye(4), Df, (1, 2), alone)
    assert abs(signed[:, 1, 2] - truth).max() < 1e-6 * max(abs(truth).max(), 1.0)
    assert abs(truth.imag).max() > 1e-4  # a pair in one cluster would show the real part only


@pytest.mark.parametrize("system", [dae, mixed_dae])
@pytest.mark.parametrize("seed", SEEDS)
def test_criterion_of_daes(system: Callable, seed: int) -> None:
    L, Df, _ = system(np.random.default_rng(seed))
    pencil = c.Pencil(L, Df, TAU)
    zero = np.flatnonzero(abs(pencil.eigenvalues) < 1e-9)
    rest = np.setdiff1d(np.arange(len(L)), zero)
    signed = c.signed_criterion(pencil, [zero, rest])
    for entry in [(0, 7), (7, 7), (5, 6), (2, 2)]:
        truth = difference_of_sums(L, Df, entry, [zero, rest])
        assert abs(signed[:, entry[0], entry[1]] - truth).max() < 1e-5 * max(abs(signed).max(), 1.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_defective_eigenvalues_in_one_cluster(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jordan = -2.0 * np.eye(3) + np.diag([1.0, 1.0], 1)
    pair = block_diag(rotation(-1.0, 5.0), rotation(-1.0, 5.0))
    pair[:2, 2:] = np.eye(2)  # a defective pair of conjugates
    Df = with_spectrum(rng, [jordan, pair, np.diag([-30.0])])
    pencil = c.Pencil(np.eye(8), Df, TAU)
    groups = c.linkage_clusters(pencil.eigenvalues, cut=0.01)
    assert sorted(len(group) for group in groups) == [1, 3, 4]
    signed = c.signed_criterion(pencil, groups)
    for entry in [(0, 1), (5, 2), (7, 7)]:
        truth = difference_of_sums(np.eye(8), Df, entry, list(groups))
        assert abs(signed[:, entry[0], entry[1]] - truth).max() < 1e-4 * max(abs(truth).max(), 1.0)
    # one eigenvalue at a time the first-order numbers are huge and mean nothing
    alone = c.cluster_criterion(pencil, c.single_clusters(pencil.eigenvalues))
    assert alone.max() > 1e3 * abs(signed).max()


def test_printed_indices_are_swapped() -> None:
    rng = np.random.default_rng(2)
    L, Df, _ = ode(rng)
    pencil = c.Pencil(L, Df, TAU)
    groups = c.one_cluster(pencil.eigenvalues)
    G = c.block_diagonalise(pencil, groups)[0].G
    i, j = 1, 4
    truth = abs(difference_of_sums(L, Df, (i, j), list(groups))[0])
    ours, as_printed = abs(TAU * Df[i, j] * G[j, i]), abs(TAU * Df[i, j] * G[i, j])
    assert ours == pytest.approx(truth, rel=1e-6)
    assert abs(as_printed - truth) > 0.1 * truth
    assert c.cluster_criterion(pencil, groups)[0, i, j] == pytest.approx(ours, rel=1e-12)


def test_perturbation_without_the_factor_tau_is_another_one() -> None:
    L, Df, _ = ode(np.random.default_rng(5))
    drop = without(7, (2, 3))
    E = Df - drop * Df
    right = eigvals(solve(L - TAU * Df + TAU * E, L + TAU * E))
    printed = eigvals(solve(L - TAU * Df + E, L + E))
    stepped = eigvals(np.eye(7) + TAU * solve(L - TAU * drop * Df, Df))  # x + tau (L - tau J)^-1 Df x
    assert c.true_changes(stepped, right).max() < 1e-9
    assert c.true_changes(stepped, printed).max() > 1e-3


@pytest.mark.parametrize("system", SYSTEMS)
def test_pattern_path_equals_the_full_one(system: Callable) -> None:
    L, Df, _ = system(np.random.default_rng(1))
    pencil = c.Pencil(L, Df, TAU)
    rows, cols = np.nonzero(np.random.default_rng(2).random(L.shape) < 0.4)
    for groups in (c.linkage_clusters(pencil.eigenvalues), [[k] for k in range(len(L))]):
        full, some = c.cluster_criterion(pencil, groups), c.cluster_criterion(pencil, groups, rows, cols)
        assert some.shape == (len(groups), len(rows))
        assert abs(full[:, rows, cols] - some).max() < 1e-12 * full.max()


def test_groups_sum_with_signs() -> None:
    L, Df, _ = ode(np.random.default_rng(8))
    pencil = c.Pencil(L, Df, TAU)
    groups = c.linkage_clusters(pencil.eigenvalues, cut=0.05)
    rows, cols = np.nonzero(np.ones_like(L))
    signed = c.signed_criterion(pencil, groups, rows, cols)
    row = np.flatnonzero(rows == 2)
    h = 1e-5  # the whole row scaled by 1 - h
    E = np.zeros_like(Df)
    E[2] = TAU * h * Df[2]
    lam = [eigvals(solve(pencil.B + s * E, L + s * E)) for s in (1, -1)]
    ends = [values[linear_sum_assignment(abs(pencil.eigenvalues[:, None] - values))[1]] for values in lam]
    truth = [abs((ends[0] - ends[1])[group].sum() / (2 * h)) for group in groups]
    found = c.group_change(signed, row)
    assert np.allclose(found, truth, rtol=1e-5, atol=1e-8)
    assert (found < abs(signed[:, row]).sum(axis=1) - 1e-6).any()  # some terms cancel
    as_mask = ~without(7, *[(2, k) for k in range(7)])
    assert np.allclose(c.group_change(c.signed_criterion(pencil, groups), as_mask), found)
    with pytest.raises(ArgumentError):
        c.group_change(signed, as_mask)
    with pytest.raises(ArgumentError):
        c.group_change(c.signed_criterion(pencil, groups), row)


def test_scores_by_distance_and_by_threshold() -> None:
    pencil = c.Pencil(np.eye(2), np.diag([-1.0, -100.0]), 0.1)
    groups = [[k] for k in np.argsort(-abs(pencil.eigenvalues))]
    crit = c.cluster_criterion(pencil, groups)
    fast, slow = 1 / 11, 1 / 1.1
    # dropping Df_00 alone: c = tau |Df| (1 - lambda) / B
    assert crit[0, 0, 0] == pytest.approx(0.1 * (1 - slow) / 1.1)
    assert crit[1, 1, 1] == pytest.approx(10 * (1 - fast) / 11)
    scores = c.entry_scores(crit, pencil, groups, theta=0.75)
    assert scores[0, 0] == pytest.approx(crit[0, 0, 0] / (0.25 * (1 - slow)), rel=1e-6)
    assert scores[1, 1] == pytest.approx(crit[1, 1, 1] / (0.25 * (1 - fast)), rel=1e-6)
    assert c.entry_scores(crit, pencil, groups, thresholds=[0.5, 2.0])[1, 1] == pytest.approx(crit[1, 1, 1] / 2)
    for wrong in ({"theta": 1.0}, {"theta": -0.1}, {"thresholds": [1.0]}, {"thresholds": [1.0, 0.0]}):
        with pytest.raises(ArgumentError):
            c.entry_scores(crit, pencil, groups, **wrong)
    with pytest.raises(ArgumentError):
        c.entry_scores(crit[:1], pencil, groups)


def test_a_free_integrator_has_no_infinite_scores() -> None:
    pencil = c.Pencil(np.eye(2), [[0.0, 1.0], [0.0, -5.0]], 0.1)  # lambda = 1: r = 0
    groups = c.linkage_clusters(pencil.eigenvalues)
    scores = c.entry_scores(c.cluster_criterion(pencil, groups), pencil, groups)
    assert np.isfinite(scores).all()
    assert scores[0, 1] < 1e-5  # feed-forward, on no cycle


def test_criterion_is_invariant_under_units() -> None:
    rng = np.random.default_rng(9)
    L, Df, _ = ode(rng)
    units = 10.0 ** rng.integers(-6, 6, len(L))
    plain, scaled = c.Pencil(L, Df, TAU), c.Pencil(L, Df * units / units[:, None], TAU)
    first = c.cluster_criterion(plain, c.one_cluster(plain.eigenvalues))
    second = c.cluster_criterion(scaled, c.one_cluster(scaled.eigenvalues))
    assert abs(first - second).max() < 1e-10


def test_seventy_eight_states_take_milliseconds() -> None:
    rng = np.random.default_rng(0)
    n = 78
    Df = np.where(rng.random((n, n)) < 0.053, rng.normal(size=(n, n)) * 300.0, 0.0) - np.diag(
        10.0 ** rng.uniform(1, 4, n)
    )
    rows, cols = np.nonzero(Df)
    times = []
    for _ in range(5):
        start = time.process_time()
        pencil = c.Pencil(np.eye(n), Df, 1e-3)
        groups = c.linkage_clusters(pencil.eigenvalues)
        scores = c.entry_scores(c.cluster_criterion(pencil, groups, rows, cols), pencil, groups)
        times.append(time.process_time() - start)
    assert np.isfinite(scores).all()
    assert min(times) < 1.0  # about 20 ms on an idle machine


# --- the face -------------------------------------------------------------------------------------------------------


def test_everything_public_is_documented_and_listed() -> None:
    for name in c.__all__:
        thing = getattr(c, name)
        assert name == "Clusters" or inspect.getdoc(thing), name
    assert c.__all__ == sorted(c.__all__)


def test_nothing_to_analyse() -> None:
    empty = np.zeros((0, 0))
    pencil = c.Pencil(empty, empty, 0.1)
    assert len(pencil.eigenvalues) == 0
    assert (pencil.zero_count, pencil.index_is_one) == (0, True)
    assert c.linkage_clusters([]) == ()
    assert c.cluster_criterion(pencil, ()).shape == (0, 0, 0)
