"""Maximum matchings: by hand, against SciPy on random graphs, in phases, and fast on long chains and grids."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from pliant.errors import ArgumentError
from pliant.structure.matching import augment, match

Incidence = list[list[int]]


def check(inc: Incidence, n_vars: int, eq_to_var: list[int], var_to_eq: list[int]) -> int:
    """A matching along edges, the same in both directions; returns its size."""
    assert len(eq_to_var) == len(inc)
    assert len(var_to_eq) == n_vars
    for e, v in enumerate(eq_to_var):
        assert v == -1 or (v in inc[e] and var_to_eq[v] == e)
    for v, e in enumerate(var_to_eq):
        assert e == -1 or eq_to_var[e] == v
    return sum(v >= 0 for v in eq_to_var)


def scipy_size(inc: Incidence, n_vars: int) -> int:
    columns = [v for row in inc for v in row]
    starts = np.cumsum([0] + [len(row) for row in inc])
    graph = csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(inc), n_vars))
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


@st.composite
def systems(draw: st.DrawFn) -> tuple[Incidence, int]:
    n_vars = draw(st.integers(1, 12))
    row = st.lists(st.integers(0, n_vars - 1), max_size=4, unique=True)
    return draw(st.lists(row, max_size=12)), n_vars


@given(systems())
@settings(max_examples=300, deadline=None)
def test_as_large_as_scipys(system: tuple[Incidence, int]) -> None:
    inc, n_vars = system
    assert check(inc, n_vars, *match(inc, n_vars)) == scipy_size(inc, n_vars)


@given(systems(), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_phases_do_not_cost_matches_and_keep_what_they_matched(
    system: tuple[Incidence, int], rnd: random.Random
) -> None:
    inc, n_vars = system
    some = [[v for v in row if rnd.random() < 0.5] for row in inc]
    more = [[v for v in row if v in few or rnd.random() < 0.5] for row, few in zip(inc, some, strict=True)]
    first = match(some, n_vars)
    eq_to_var, var_to_eq = match(inc, n_vars, phases=[some, more])
    assert check(inc, n_vars, eq_to_var, var_to_eq) == scipy_size(inc, n_vars)
    assert all(eq_to_var[e] >= 0 for e, v in enumerate(first[0]) if v >= 0)
    assert all(var_to_eq[v] >= 0 for v, e in enumerate(first[1]) if e >= 0)


@pytest.mark.parametrize(
    ("inc", "n_vars", "expected"),
    [
        ([], 0, []),
        ([], 2, []),
        ([[]], 1, [-1]),
        ([[0]], 1, [0]),
        ([[0, 1], [0]], 2, [1, 0]),
        ([[1, 0], [0, 1]], 2, [1, 0]),  # the order in a row is the preference
        ([[0], [0]], 1, [0, -1]),
        ([[0, 1], [0, 2], [0]], 3, [1, 2, 0]),
        ([[0, 0], [0, 1, 1]], 2, [0, 1]),  # doubles do no harm
    ],
)
def test_by_hand(inc: Incidence, n_vars: int, expected: list[int]) -> None:
    assert match(inc, n_vars)[0] == expected


def test_a_phase_decides_where_all_edges_leave_a_choice() -> None:
    inc = [[0, 1], [0, 1]]
    assert match(inc, 2)[0] == [0, 1]
    assert match(inc, 2, phases=[[[1], [0]]])[0] == [1, 0]
    assert match(inc, 2, phases=[[[], [0]], [[0], []]])[0] == [1, 0]


def test_augment_continues_a_matching() -> None:
    eq_to_var, var_to_eq = [0, -1, -1], [0, -1]
    assert augment([[0, 1], [0], [1]], eq_to_var, var_to_eq, [1, 2]) == [1]
    assert eq_to_var == [0, -1, 1]
    assert augment([[0, 1], [0], []], [0, -1, -1], [0, -1], [1]) == []


def test_wrong_input() -> None:
    with pytest.raises(ArgumentError, match=r"outside 0\.\.1"):
        match([[0, 2]], 2)
    with pytest.raises(ArgumentError, match="outside"):
        match([[-1]], 2)
    with pytest.raises(ArgumentError, match="a phase has 0 equations"):
        match([[0]], 1, phases=[[]])


# ------------------------------------------------------------------------------------------------ large ones


def timed(inc: Incidence, n_vars: int) -> tuple[list[int], float]:
    start = time.perf_counter()
    eq_to_var, var_to_eq = match(inc, n_vars)
    elapsed = time.perf_counter() - start
    check(inc, n_vars, eq_to_var, var_to_eq)
    return eq_to_var, elapsed


def grid(side: int, rnd: random.Random | None) -> Incidence:
    """Each point's equation contains the point and its neighbours; shuffled in every way if rnd is given."""
    name = list(range(side * side))
    points = [(i, j) for i in range(side) for j in range(side)]
    if rnd:
        rnd.shuffle(name)
        rnd.shuffle(points)
    inc = []
    for i, j in points:
        near = ((i, j), (i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
        row = [name[a * side + b] for a, b in near if 0 <= a < side and 0 <= b < side]
        if rnd:
            rnd.shuffle(row)
        inc.append(row)
    return inc


def test_one_path_through_100_000_equations() -> None:
    n = 100_000
    eq_to_var, elapsed = timed([[e, e + 1] for e in range(n - 1)] + [[0]], n)
    assert eq_to_var == [*range(1, n), 0]
    assert elapsed < 5


@pytest.mark.parametrize("shuffled", [False, True])
def test_grid_of_20_000(shuffled: bool) -> None:
    eq_to_var, elapsed = timed(grid(141, random.Random(1) if shuffled else None), 141**2)
    assert -1 not in eq_to_var
    assert elapsed < 5


def test_many_equations_that_can_never_be_matched() -> None:
    n = 20_000
    eq_to_var, elapsed = timed([[e % 10, (e * 7) % 10] for e in range(n)], 10)
    assert sum(v >= 0 for v in eq_to_var) == 10
    assert elapsed < 5
