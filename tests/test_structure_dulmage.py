"""The over-, under- and well-determined parts: by hand, and by definition on random graphs."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.structure.dulmage import Decomposition, decompose
from pliant.structure.matching import match

Incidence = list[list[int]]


def parts(inc: Incidence, n_vars: int) -> Decomposition:
    return decompose(inc, n_vars, *match(inc, n_vars))


def size(inc: Incidence, n_vars: int) -> int:
    return sum(v >= 0 for v in match(inc, n_vars)[0])


@pytest.mark.parametrize(
    ("inc", "n_vars", "expected"),
    [
        ([], 0, Decomposition([], [], [], [], [], [])),
        ([[0]], 1, Decomposition([], [], [], [], [0], [0])),
        ([[0], [0]], 1, Decomposition([0, 1], [0], [], [], [], [])),
        ([[0, 1]], 2, Decomposition([], [], [0], [0, 1], [], [])),
        ([[]], 1, Decomposition([0], [], [], [0], [], [])),
        # x0 twice; x1 well; x2, x3 share one equation
        ([[0], [0], [0, 1], [1, 2, 3]], 4, Decomposition([0, 1], [0], [3], [2, 3], [2], [1])),
        # a chain: too many equations at one end make all of it over-determined
        ([[0], [0, 1], [1, 2], [2]], 3, Decomposition([0, 1, 2, 3], [0, 1, 2], [], [], [], [])),
    ],
)
def test_by_hand(inc: Incidence, n_vars: int, expected: Decomposition) -> None:
    assert parts(inc, n_vars) == expected


@st.composite
def systems(draw: st.DrawFn) -> tuple[Incidence, int]:
    n_vars = draw(st.integers(1, 9))
    row = st.lists(st.integers(0, n_vars - 1), max_size=3, unique=True)
    return draw(st.lists(row, max_size=9)), n_vars


@given(systems())
@settings(max_examples=300, deadline=None)
def test_by_definition(system: tuple[Incidence, int]) -> None:
    """An equation is over-determined if it can be left out without loss of matches, a variable under-determined too."""
    inc, n_vars = system
    found = parts(inc, n_vars)
    best = size(inc, n_vars)
    assert found.over_equations == [e for e in range(len(inc)) if size(inc[:e] + inc[e + 1 :], n_vars) == best]
    assert found.under_variables == [
        v for v in range(n_vars) if size([[w for w in row if w != v] for row in inc], n_vars) == best
    ]
    assert found.over_variables == sorted({v for e in found.over_equations for v in inc[e]})
    assert found.under_equations == [e for e, row in enumerate(inc) if set(row) & set(found.under_variables)]
    assert len(found.well_equations) == len(found.well_variables)
    equations = found.over_equations + found.under_equations + found.well_equations
    variables = found.over_variables + found.under_variables + found.well_variables
    assert sorted(equations) == list(range(len(inc)))
    assert sorted(variables) == list(range(n_vars))


def test_chain_of_100_000() -> None:
    n = 100_000
    inc = [[0], *([e, e + 1] for e in range(n - 1)), [n - 1]]
    eq_to_var, var_to_eq = match(inc, n)
    start = time.perf_counter()
    found = decompose(inc, n, eq_to_var, var_to_eq)
    assert time.perf_counter() - start < 5
    assert len(found.over_equations) == n + 1
