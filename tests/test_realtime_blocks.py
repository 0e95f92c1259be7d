"""Eigenvalues by blocks are those of the whole step map."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pliant.realtime.sparsing.accept import AcceptRule, Checker
from pliant.realtime.sparsing.entry_states import EntryStates
from pliant.realtime.sparsing.linearisations import CommonData, PointOrigin, Points
from pliant.realtime.sparsing.spectrum import true_changes


def coupled_parts(seed: int, sizes: tuple[int, ...], order: int = 1, algebraic: int = 0) -> Points:
    """Parts of these sizes, each within itself in both directions, from each to later ones in one; rows mixed."""
    rng = np.random.default_rng(seed)
    n, home = sum(sizes), np.repeat(np.arange(len(sizes)), sizes)
    pattern = (home[:, None] == home) | ((home[:, None] > home) & (rng.random((n, n)) < 0.2))
    mass = np.eye(n)
    mass[range(algebraic), range(algebraic)] = 0.0
    mixed = rng.permutation(n)
    pattern, mass = pattern[np.ix_(mixed, mixed)], mass[np.ix_(mixed, mixed)]
    rows, columns = np.nonzero(pattern)
    own = np.linspace(4.0, 80.0, n)[rng.permutation(n)]  # far apart, so that rounding moves eigenvalues little
    values = rng.standard_normal((3, len(rows))) - own[rows] * (rows == columns)
    frame = CommonData(tuple(f"x{i}" for i in range(n)), rows, columns, mass, 0.1, np.ones(n), 50, order)
    return Points(frame, values, rng.standard_normal((3, n)), [PointOrigin(0, k, float(k)) for k in range(3)])


@pytest.mark.parametrize("sizes", [(4,), (30, 2, 2, 1, 1), (3,) * 20, (26, 25, 1)])
@pytest.mark.parametrize(("order", "algebraic"), [(1, 0), (2, 0), (1, 3)])
def test_blocks_have_the_eigenvalues_of_the_whole(sizes: tuple[int, ...], order: int, algebraic: int) -> None:
    points = coupled_parts(len(sizes), sizes, order, algebraic)
    frame, checker, rng = points.frame, Checker(points, AcceptRule(0.02)), np.random.default_rng(7)
    assert sorted(np.concatenate([one.states for one in frame.blocks])) == list(range(frame.n))
    states = EntryStates.of(np.ones(frame.n_entries, dtype=bool))
    for turn in range(12):  # what earlier turns left behind must not matter
        some = rng.choice(frame.n_entries, size=2, replace=False)
        some = some[frame.rows[some] != frame.columns[some]]
        p = turn % 3
        states = states.held(some, points.values[p][some]) if turn % 2 else states.dropped(some)
        whole = checker.step_map(p, states)
        found = checker.spectrum(p, states)
        assert whole is not None
        assert found is not None
        assert true_changes(np.linalg.eigvals(whole), found).max() < 1e-9
        assert checker._judge(p, states) == Checker(points, AcceptRule(0.02))._judge(p, states)


def test_small_parts_share_blocks() -> None:
    assert [len(one.states) for one in coupled_parts(1, (30, 2, 2, 1, 1)).frame.blocks] == [30, 6]
    assert [len(one.states) for one in coupled_parts(1, (3,) * 20).frame.blocks] == [24, 24, 12]
    assert len(coupled_parts(1, (4,)).frame.blocks) == 1


def test_a_block_that_cannot_be_solved_makes_the_step_singular() -> None:
    points = coupled_parts(2, (30, 3), algebraic=1)
    frame = points.frame
    row = int(np.flatnonzero(frame.algebraic)[0])
    gone = EntryStates.of(frame.rows != row)
    checker = Checker(points, AcceptRule(0.02))
    assert checker.spectrum(0, gone) is None
    assert not checker.judge(0, gone).accepted


@pytest.mark.parametrize("order", [1, 2])
def test_all_points_at_once_are_as_one_by_one(order: int) -> None:
    points = coupled_parts(4, (30, 3, 3), order)
    diagonal = points.frame.rows == points.frame.columns
    states = EntryStates.of(diagonal | (np.arange(points.frame.n_entries) % 3 > 0))
    points.values[1] *= 1.0 - diagonal  # at one point something else
    singles, together = Checker(points, AcceptRule(0.02)), Checker(points, AcceptRule(0.02))
    together.prepare(states)
    known = dict(together._parts)
    for p in range(len(points)):
        assert np.allclose(together.spectrum(p, states), singles.spectrum(p, states), rtol=1e-10, atol=1e-12)
    assert together._parts == known


def test_one_singular_point_among_all() -> None:
    points = coupled_parts(5, (4,))
    frame = points.frame
    row = frame.rows == 2
    points.values[1] = np.where(row, np.where(frame.columns == 2, 1.0 / frame.tau, 0.0), points.values[1])
    checker = Checker(points, AcceptRule(0.02))
    states = EntryStates.of(np.ones(frame.n_entries, dtype=bool))
    checker.prepare(states)
    assert [checker.spectrum(p, states) is None for p in range(3)] == [False, True, False]


def test_verdicts_serve_further_searches_of_another_tolerance_but_not_of_another_margin() -> None:
    points = coupled_parts(3, (5, 5))
    mask = points.frame.rows == points.frame.columns
    first = Checker(points, AcceptRule(0.02)).judge(1, mask)
    assert Checker(points, AcceptRule(0.01)).judge(1, mask) is first
    assert Checker(points, AcceptRule(0.02, theta=0.9)).judge(1, mask) is not first
    assert not pickle.loads(pickle.dumps(points)).judged
    second = coupled_parts(3, (5, 5), order=2)
    assert Checker(second, AcceptRule(0.02)).judge(1, mask) is not Checker(second, AcceptRule(0.01)).judge(1, mask)
