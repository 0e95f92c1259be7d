"""Blocks in evaluation order: by hand, against SciPy's strongly connected components, and fast on long chains."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from pliant.structure.blt import sort_blocks
from pliant.structure.matching import match

Incidence = list[list[int]]


@st.composite
def square_systems(draw: st.DrawFn) -> Incidence:
    """Equation e contains variable perm[e], so there is a perfect matching."""
    n = draw(st.integers(1, 14))
    perm = draw(st.permutations(range(n)))
    rows = draw(st.lists(st.lists(st.integers(0, n - 1), max_size=2), min_size=n, max_size=n))
    return [list(dict.fromkeys([*row, v])) for row, v in zip(rows, perm, strict=True)]


def check_order(inc: Incidence, eq_to_var: list[int], blocks: list[list[int]]) -> None:
    assert sorted(e for block in blocks for e in block) == list(range(len(inc)))
    known: set[int] = set()
    for block in blocks:
        assert block == sorted(block)
        known.update(eq_to_var[e] for e in block)
        assert all(v in known for e in block for v in inc[e])


@given(square_systems())
@settings(max_examples=300, deadline=None)
def test_blocks_are_scipys_components_in_evaluation_order(inc: Incidence) -> None:
    n = len(inc)
    eq_to_var, var_to_eq = match(inc, n)
    blocks = sort_blocks(inc, eq_to_var, var_to_eq)
    check_order(inc, eq_to_var, blocks)
    edges = [(e, var_to_eq[v]) for e in range(n) for v in inc[e]]
    rows, columns = zip(*edges, strict=True)
    graph = csr_matrix(([1] * len(edges), (rows, columns)), shape=(n, n))
    _, label = connected_components(graph, directed=True, connection="strong")
    assert {frozenset(block) for block in blocks} == {
        frozenset(e for e in range(n) if label[e] == k) for k in set(label)
    }


@given(square_systems(), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_blocks_do_not_depend_on_the_matching(inc: Incidence, rnd: random.Random) -> None:
    other = [rnd.sample(row, len(row)) for row in inc]
    one = sort_blocks(inc, *match(inc, len(inc)))
    two = sort_blocks(inc, *match(other, len(inc)))
    assert sorted(one) == sorted(two)


@pytest.mark.parametrize(
    ("inc", "blocks"),
    [
        ([], []),
        ([[0]], [[0]]),
        ([[0, 1], [1]], [[1], [0]]),
        ([[0, 1], [0, 1]], [[0, 1]]),
        ([[0, 1], [1, 2], [2, 1], [3, 0]], [[1, 2], [0], [3]]),
        ([[0], [1], [2]], [[0], [1], [2]]),
    ],
)
def test_by_hand(inc: Incidence, blocks: list[list[int]]) -> None:
    assert sort_blocks(inc, *match(inc, len(inc))) == blocks


def test_unmatched_variables_are_known_and_unmatched_equations_stand_alone() -> None:
    inc = [[0, 5], [0, 1], [1]]
    assert sort_blocks(inc, [0, 1, -1], [0, 1, -1, -1, -1, -1]) == [[0], [1], [2]]


@pytest.mark.parametrize("closed", [False, True])
def test_chain_of_100_000(closed: bool) -> None:
    n = 100_000
    inc = [[e, e + 1] for e in range(n - 1)] + [[n - 1, 0] if closed else [n - 1]]
    start = time.perf_counter()
    blocks = sort_blocks(inc, list(range(n)), list(range(n)))
    assert time.perf_counter() - start < 5
    assert blocks == ([list(range(n))] if closed else [[e] for e in reversed(range(n))])
