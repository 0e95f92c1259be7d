"""Criteria of whole masks, algebraic equations and the bias: every correction of the papers, on random systems."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.linalg import eigvals, inv, norm, solve
from support_criteria import (
    SEEDS,
    SYSTEMS,
    TAU,
    Array,
    dae,
    maps,
    mixed_dae,
    ode,
    rotation,
    with_spectrum,
    without,
)

from pliant.errors import ArgumentError, NonFiniteError, SingularError
from pliant.realtime.sparsing import criteria as c

# --- single entries -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_one_entry_exactly(system: Callable, seed: int) -> None:
    L, Df, _ = system(np.random.default_rng(seed))
    pencil = c.Pencil(L, Df, TAU)
    rows, cols = np.array([0, 3, 5]), np.array([0, 6, 1])
    found = c.exact_trace_change(pencil, rows, cols)
    for k, entry in enumerate(zip(rows, cols, strict=True)):
        _, _, Bs, S, Ss = maps(L, Df, TAU, without(len(L), entry))
        assert found.exact[k] == pytest.approx(np.trace(Ss - S), rel=1e-6, abs=1e-8)
        assert found.denominator[k] == pytest.approx(np.linalg.det(Bs) / np.linalg.det(pencil.B), rel=1e-6)
    full = c.exact_trace_change(pencil)
    assert np.allclose(full.exact[rows, cols], found.exact)


def test_an_entry_that_must_stay_has_denominator_zero() -> None:
    # an off-diagonal entry that carries the determinant: L - tau J is singular without it
    L, Df = np.zeros((2, 2)), np.array([[0.0, 1.0], [1.0, 0.0]])
    found = c.exact_trace_change(c.Pencil(L, Df, 0.1))
    assert found.denominator[0, 1] == pytest.approx(0.0, abs=1e-14)
    with pytest.raises(SingularError):
        c.sparsed(L, Df, 0.1, without(2, (0, 1)))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_new_linearisation_needs_its_own_formula(system: Callable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    L, old, _ = system(rng)
    direction = rng.normal(size=old.shape)
    h = 1e-5
    ends = [np.trace(solve(L - TAU * (old + s * h * direction), L)) for s in (1, -1)]
    truth = abs(ends[0] - ends[1]) / 2
    found = c.linearisation_change(L, old, old + h * direction, TAU)
    assert found == pytest.approx(truth, rel=1e-4, abs=1e-10)
    S, B = solve(L - TAU * old, L), L - TAU * old
    theorem_4 = abs(np.trace(solve(B, -TAU * h * direction @ (np.eye(len(L)) - S))))
    assert abs(theorem_4 - truth) > 1e-3 * truth


# --- d_S, d_1, d_2, d_r ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_printed_d_s_is_twice_the_right_one(system: Callable, seed: int) -> None:
    L, Df, mask = system(np.random.default_rng(seed))
    right, printed = c.d_S(L, Df, TAU, mask), c.d_S(L, Df, TAU, mask, printed=True)
    assert printed == pytest.approx(2 * right, rel=1e-8)
    B, E, _, S, _ = maps(L, Df, TAU, mask)
    assert right == pytest.approx(abs(np.trace(inv(B) @ E @ (np.eye(len(L)) - S))), rel=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_d_s_of_an_ode_to_ten_digits_and_as_a_derivative(seed: int) -> None:
    L, Df, mask = ode(np.random.default_rng(seed))
    assert abs(c.d_S(L, Df, TAU, mask, printed=True) - 2 * c.d_S(L, Df, TAU, mask)) < 1e-10
    h = 1e-6
    E = TAU * np.where(mask, 0.0, Df)
    ends = [np.trace(solve(L - TAU * Df + s * h * E, L + s * h * E)) for s in (1, -1)]
    assert c.d_S(L, Df, TAU, mask) == pytest.approx(abs(ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_d_1_is_the_sum_of_all_changes_exactly(seed: int) -> None:
    L, Df, mask = ode(np.random.default_rng(seed))
    *_, S, Ss = maps(L, Df, TAU, mask)
    assert c.d_1(L, Df, TAU, mask) == pytest.approx(abs((eigvals(Ss) - eigvals(S)).sum()), abs=1e-12)
    printed = TAU * np.trace((inv(L - TAU * mask * Df) - inv(L - TAU * Df)) @ Df)
    assert c.d_1(L, Df, TAU, mask) == pytest.approx(abs(printed), abs=1e-12)
    assert abs(c.d_S(L, Df, TAU, mask) - c.d_1(L, Df, TAU, mask)) > 1e-4  # first order is not exact
    assert c.d_1(L, Df, TAU, mask) <= c.d_r(L, Df, TAU, mask) + 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_printed_d_2_of_one_entry_is_d_1_and_the_right_one_is_not(seed: int) -> None:
    L, Df, _ = ode(np.random.default_rng(seed))
    mask = without(len(L), (1, 3))
    assert c.d_2(L, Df, TAU, mask, printed=True) == pytest.approx(c.d_1(L, Df, TAU, mask), rel=1e-7)
    assert abs(c.d_2(L, Df, TAU, mask) - c.d_1(L, Df, TAU, mask)) > 1e-3 * c.d_1(L, Df, TAU, mask)


def test_corrected_d_2_is_right_to_first_order_and_the_printed_one_is_not() -> None:
    wrong = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        Df = with_spectrum(rng, [np.diag([-0.5, -3.0, -12.0]), rotation(-1.0, 6.0)])  # simple, well apart
        L, mask = np.eye(5), rng.random((5, 5)) > 0.4
        # entries are not dropped but changed by a small part, so that first order holds
        E = TAU * 1e-5 * np.where(mask, 0.0, Df)
        S, Ss = solve(L - TAU * Df, L), solve(L - TAU * Df + E, L + E)
        truth = norm(c.true_changes(eigvals(S), eigvals(Ss)))
        X = np.linalg.eig(S)[1]
        assert norm(np.diag(inv(X) @ (Ss - S) @ X)) == pytest.approx(truth, rel=1e-3)
        wrong += abs(np.sqrt(abs(np.trace((Ss - S) @ (Ss - S)))) - truth) > 0.02 * truth
        # the library's own, on the finite mask, against the definitions
        change = maps(L, Df, TAU, mask)[4] - S
        assert c.d_2(L, Df, TAU, mask) == pytest.approx(norm(np.diag(inv(X) @ change @ X)), rel=1e-8)
        assert c.d_2_square(L, Df, TAU, mask) == pytest.approx(np.trace(change @ change), rel=1e-8, abs=1e-12)
    assert wrong >= 4


def test_printed_d_2_may_be_imaginary() -> None:
    seen = 0
    for seed in range(40):
        L, Df, mask = ode(np.random.default_rng(seed))
        negative = c.d_2_square(L, Df, TAU, mask) < 0
        assert np.isnan(c.d_2(L, Df, TAU, mask, printed=True)) == negative
        assert c.d_2(L, Df, TAU, mask) >= 0
        seen += negative
    assert 0 < seen < 40


def test_d_2_means_nothing_where_the_map_is_defective() -> None:
    Df = np.array([[-2.0, 1.0], [-1.0, 0.0]])  # similar to [[-1, 1], [0, -1]]
    small = np.array([[-1.0, 1.0], [0.0, -1.0]])
    mask = without(2, (1, 0))
    assert c.d_2(np.eye(2), Df, 1.0, mask) > 1e3 * c.d_r(np.eye(2), Df, 1.0, mask)
    assert c.d_2(np.eye(2), small, 1.0, without(2, (1, 1))) < 1e3  # triangular: no cycle, no harm


def test_pair_printed_the_other_way_round_has_reciprocal_eigenvalues() -> None:
    L, Df, mask = ode(np.random.default_rng(3))
    A = mask * Df
    B, C = L - TAU * A, L + TAU * (Df - A)
    stepped = eigvals(c.sparsed(L, Df, TAU, mask))
    assert c.true_changes(stepped, eigvals(solve(B, C))).max() < 1e-9
    assert c.true_changes(stepped, 1 / eigvals(solve(C, B))).max() < 1e-7
    assert c.true_changes(stepped, eigvals(solve(C, B))).max() > 0.1


def test_left_and_right_vectors_need_their_scaling() -> None:
    L, Df, _ = ode(np.random.default_rng(6))
    pencil = c.Pencil(L, Df, TAU)
    groups = c.linkage_clusters(pencil.eigenvalues, cut=0.05)
    found = max(c.block_diagonalise(pencil, groups), key=lambda one: norm(one.B - np.eye(len(one.B))))
    W = (found.Y.conj().T @ pencil.B).conj().T  # left invariant basis of S
    unscaled = W.conj().T @ pencil.S @ found.X
    scaled = solve(W.conj().T @ found.X, unscaled)
    assert c.true_changes(pencil.eigenvalues[found.indices], eigvals(scaled)).max() < 1e-9
    assert c.true_changes(pencil.eigenvalues[found.indices], eigvals(unscaled)).max() > 1e-3


def test_true_changes_find_partners() -> None:
    lam = np.array([0.1, 0.5 + 0.1j, 0.5 - 0.1j])
    moved = np.array([0.5 - 0.2j, 0.11, 0.5 + 0.2j])
    assert c.true_changes(lam, moved) == pytest.approx([0.01, 0.1, 0.1])
    with pytest.raises(ArgumentError):
        c.true_changes(lam, moved[:2])
    with pytest.raises(NonFiniteError):
        c.true_changes(lam, [0.1, np.nan, 0.2])


def test_ratio_and_ringing() -> None:
    assert c.eigenvalue_ratio([0.5, 0.9], [0.6, 0.95]) == pytest.approx(max(0.1 / 0.25, 0.05 / 0.05), rel=1e-6)
    assert c.eigenvalue_ratio([0.5, 0.9], [0.6, 0.9], theta=0.8) == pytest.approx(1.0, rel=1e-6)
    assert c.eigenvalue_ratio([1.0], [1.0 + 1e-6]) == pytest.approx(1e3, rel=1e-3)  # nothing is allowed there
    assert c.eigenvalue_ratio([0.5], [0.5]) == 0
    assert c.ringing([0.5, -0.7 + 0.1j]) == -0.7
    with pytest.raises(ArgumentError):
        c.eigenvalue_ratio([0.5], [0.5], theta=2.0)


def test_bounds_with_and_without_slow_modes() -> None:
    tau, mu = 0.1, np.array([-1014.0, -748.5, -0.03519, -0.05727])  # the pipe of Loderer and Heuveline, eq. 20
    lam = 1 / (1 - tau * mu)
    found = c.bounds(lam)
    assert found.slow.tolist() == [2, 3]
    least = 1 - 1 / (1 + 0.003519)
    assert found[:2] == pytest.approx((least, least**2))
    assert found.C1_fast == pytest.approx(1 - 1 / (1 + 74.85))
    assert found.C2_fast == pytest.approx(found.C1_fast**2)
    assert c.bounds([0.0, 0.999]).slow.tolist() == [1]  # a zero of a DAE is fast
    assert c.bounds([0.99, 0.999]).C1_fast == c.bounds([0.99, 0.999]).C1  # nothing but slow modes
    assert c.bounds([1.1]).C1 < 0
    with pytest.raises(ArgumentError):
        c.bounds([])


@pytest.mark.parametrize("seed", SEEDS)
def test_lower_bounds_of_the_largest_change(seed: int) -> None:
    L, Df, mask = ode(np.random.default_rng(seed))
    *_, S, Ss = maps(L, Df, TAU, mask)
    changes = c.true_changes(eigvals(S), eigvals(Ss))
    n = len(L)
    assert c.lower_bound(norm(changes), n) <= changes.max()
    assert c.lower_bound(c.d_1(L, Df, TAU, mask), n, order=1) <= changes.max() + 1e-12
    assert c.lower_bound(c.d_r(L, Df, TAU, mask), n, order=1) <= c.lower_bound(norm(changes), n) + 1e-12
    assert c.lower_bound(6.0, 4) == 3.0
    with pytest.raises(ArgumentError):
        c.lower_bound(1.0, 0)


# --- algebraic equations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_relative_gain_array_of_the_algebraic_block(seed: int) -> None:
    L, Df, _ = dae(np.random.default_rng(seed))
    q = c.relative_gain(L, Df)
    g = Df[5:, 5:]
    assert abs(q[5:, 5:] - g * inv(g).T).max() < 1e-14 * max(1.0, abs(q).max())
    assert abs(q[:5]).max() == abs(q[:, :5]).max() == 0
    assert q[5:, 5:].sum(axis=0) == pytest.approx(np.ones(3), abs=1e-12)
    assert q[5:, 5:].sum(axis=1) == pytest.approx(np.ones(3), abs=1e-12)
    rows, cols = c.algebraic_block(L)
    assert rows.tolist() == cols.tolist() == [5, 6, 7]


@pytest.mark.parametrize("system", [dae, mixed_dae])
@pytest.mark.parametrize("seed", SEEDS)
def test_relative_gain_is_the_criterion_of_the_zeros(system: Callable, seed: int) -> None:
    L, Df, _ = system(np.random.default_rng(seed))
    q = c.relative_gain(L, Df)
    for tau in (0.01, 0.3):  # independent of the step
        pencil = c.Pencil(L, Df, tau)
        groups = c.linkage_clusters(pencil.eigenvalues)
        k = next(k for k, group in enumerate(groups) if abs(pencil.eigenvalues[group[0]]) < 1e-9)
        assert abs(c.signed_criterion(pencil, groups)[k] + q).max() < 1e-7 * abs(q).max()


def test_rows_and_columns_of_algebraic_parts_need_not_agree() -> None:
    # equation 0 is algebraic, variable 1 is algebraic
    L, Df = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 2.0], [-3.0, 4.0]])
    assert c.relative_gain(L, Df).tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert c.algebraic_block(L)[0].tolist() == [0]
    assert c.algebraic_block(L)[1].tolist() == [1]
    assert c.relative_gain(np.eye(2), Df).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(SingularError, match="index"):
        c.relative_gain(np.diag([1.0, 0.0]), [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("system", [dae, mixed_dae])
@pytest.mark.parametrize("seed", SEEDS)
def test_zero_shift_is_exact_for_the_block(system: Callable, seed: int) -> None:
    L, Df, _ = system(np.random.default_rng(seed))
    q = c.relative_gain(L, Df)
    entry = (6, 5)
    lam = c.algebraic_eigenvalues(L, Df, without(len(L), entry))
    assert len(lam) == 3
    shift = lam[abs(lam).argmax()]
    assert shift == pytest.approx(c.zero_shift(q[entry]), rel=1e-7, abs=1e-9)
    assert sorted(abs(lam))[1] < 1e-9
    if system is dae:
        g = Df[5:, 5:]
        direct = eigvals(np.eye(3) - solve(g * without(3, (1, 0)), g))
        assert c.true_changes(lam, direct).max() < 1e-9


def test_zero_shift_at_the_limits() -> None:
    assert c.zero_shift([0.0, 0.5, 1 / 3, -1.0]) == pytest.approx([0.0, -1.0, -0.5, 0.5])
    assert np.isinf(c.zero_shift(1.0))
    with pytest.raises(SingularError):
        c.algebraic_eigenvalues(np.zeros((1, 1)), [[2.0]], without(1, (0, 0)))


# --- bias -----------------------------------------------------------------------------------------------------------


def run(L: Array, Df: Array, b: Array, mask: Array, steps: int) -> tuple[Array, Array]:
    """x_next = x + tau (L - tau J)^-1 (Df x + b) from x = 0: all points with the mask, and all steps."""
    x, points, moves = np.zeros(len(L)), [], []
    for _ in range(steps):
        move = TAU * solve(L - TAU * mask * Df, Df @ x + b)
        x = x + move
        points.append(x)
        moves.append(move)
    return np.array(points), np.array(moves)


@pytest.mark.parametrize("system", [ode, dae])
@pytest.mark.parametrize("seed", SEEDS)
def test_bias_recursion_is_exact_for_linear_models(system: Callable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    L, Df, _ = system(rng)
    mask = without(len(L), (0, 1), (2, 4), (3, 0))
    b = rng.normal(size=len(L))
    exact, moves = run(L, Df, b, np.ones_like(mask), 12)
    masked, _ = run(L, Df, b, mask, 12)
    found = c.bias_recursion((L, Df, mask, TAU, move) for move in moves)
    assert abs(found - (masked - exact)).max() < 1e-9 * max(1.0, abs(masked).max())
    assert abs(found).max() > 1e-3
    later = c.bias_recursion([(L, Df, mask, TAU, move) for move in moves[6:]], start=found[5])
    assert np.allclose(later, found[6:])


@pytest.mark.parametrize("system", [ode, dae])
@pytest.mark.parametrize("seed", SEEDS)
def test_fixed_point_and_horizon_of_the_bias(system: Callable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    L, Df, mask = system(rng)
    Dx = rng.normal(size=len(L))
    e = c.bias_fixed_point(Df, mask, Dx)
    _, E, Bs, S, Ss = maps(L, Df, TAU, mask)
    assert norm(Ss @ e - solve(Bs, E @ Dx) - e) < 1e-9 * max(norm(e), 1.0)  # the recursion rests there
    for N in (1, 2, 5, 8, 13):
        direct = sum(np.linalg.matrix_power(S, k) for k in range(N)) @ (-TAU * inv(L - TAU * Df))
        T = c.finite_horizon(L, Df, TAU, N)
        assert norm(T - direct) < 1e-9 * norm(direct)
        assert norm(T - (np.eye(len(L)) - np.linalg.matrix_power(S, N)) @ inv(Df)) < 1e-8 * norm(direct)
        assert np.allclose(c.bias_horizon(L, Df, TAU, mask, Dx, N), T @ (E / TAU) @ Dx)


def test_bias_where_df_is_singular() -> None:
    # position, velocity with friction; the position is a free integrator
    L, Df = np.eye(2), np.array([[0.0, 1.0], [0.0, -2.0]])
    mask, Dx = without(2, (0, 1)), np.array([0.1, 0.2])
    with pytest.raises(SingularError, match="bias_horizon"):
        c.bias_fixed_point(Df, mask, Dx)
    direct = c.bias_recursion([(L, Df, np.ones_like(mask), TAU, Dx)] * 3)
    assert abs(direct).max() == 0
    drift = c.bias_horizon(L, Df, TAU, mask, Dx, 10)
    assert drift[0] == pytest.approx(-10 * TAU * 0.2)  # it grows with every step
    smallest = c.bias_fixed_point(Df, mask, Dx, least_squares=True)
    assert norm(Df.T @ (Df @ smallest - [0.2, 0.0])) < 1e-12
    with pytest.raises(ArgumentError):
        c.finite_horizon(L, Df, TAU, 0)
    with pytest.raises(ArgumentError):
        c.bias_fixed_point(-np.eye(2), mask, np.ones(3))
