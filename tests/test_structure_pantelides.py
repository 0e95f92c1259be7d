"""Index reduction: the pendulum by hand, random systems against the signature method, singular ones, large ones."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from pliant.errors import ArgumentError
from pliant.structure.pantelides import DerivativeGraph, SingularStructure, reduce_index


def graph_of(inc: list[list[int]], var_to_diff: list[int]) -> DerivativeGraph:
    """Differentiation without cancellation: d/dt e contains the variables of e and their derivatives."""

    def differentiate(e: int) -> list[int]:
        return sorted({w for v in graph.inc[e] for w in (v, graph.var_to_diff[v])})

    graph = DerivativeGraph(inc, var_to_diff, lambda v: len(graph.var_to_diff), differentiate)
    return graph


def check(graph: DerivativeGraph) -> None:
    """The highest derivatives match the equations that are not differentiated further."""
    top = [e for e in range(len(graph.inc)) if graph.eq_to_diff[e] < 0]
    assert len(top) == graph.n_original
    for e in range(len(graph.inc)):
        v = graph.eq_to_var[e]
        assert (v >= 0) == (e in top)
        assert v < 0 or (v in graph.inc[e] and graph.var_to_eq[v] == e and graph.var_to_diff[v] < 0)
    for v, e in enumerate(graph.var_to_eq):
        assert e < 0 or graph.eq_to_var[e] == v


def orders(graph: DerivativeGraph) -> list[int]:
    """How often each original equation was differentiated."""
    found = []
    for e in range(graph.n_original):
        times = 0
        while graph.eq_to_diff[e] >= 0:
            e = graph.eq_to_diff[e]
            times += 1
        found.append(times)
    return found


def test_pendulum_after_aliases() -> None:
    x, w, dw, y, z, dz, tension = range(7)
    incs = [[x, dw, tension], [y, dz, tension], [x, y]]
    graph = graph_of(incs, [w, dw, -1, z, dz, -1, -1])
    reduce_index(graph)
    check(graph)
    assert orders(graph) == [0, 0, 2]
    assert len(graph.var_to_diff) == 7  # no new variable
    assert graph.inc[3] == [x, w, y, z]
    assert graph.inc[4] == [x, w, dw, y, z, dz]
    assert (graph.eq_to_var[4], graph.eq_to_var[0], graph.eq_to_var[1]) == (dw, tension, dz)
    assert graph.original(4) == (2, 2)


def test_pendulum_without_aliases() -> None:
    x, dx, y, dy, w, dw, z, dz, tension = range(9)
    incs = [[dx, w], [dy, z], [dw, tension, x], [dz, tension, y], [x, y]]
    graph = graph_of(incs, [dx, -1, dy, -1, dw, -1, dz, -1, -1])
    reduce_index(graph)
    check(graph)
    assert orders(graph) == [1, 1, 0, 0, 2]
    assert len(graph.var_to_diff) == 11  # x'' and y''


def signature(rnd: random.Random, n: int) -> list[dict[int, int]]:
    """For each equation {chain: highest order}, such that a transversal exists."""
    perm = rnd.sample(range(n), n)
    rows = []
    for e in range(n):
        chains = {perm[e], *rnd.choices(range(n), k=rnd.randint(0, 2))}
        rows.append({j: rnd.choice([0, 0, 0, 1, 2]) for j in sorted(chains)})
    return rows


def canonical_offsets(rows: list[dict[int, int]]) -> list[int]:
    """Pryce (2001): the smallest c with d_j - c_i >= σ_ij and equality on a transversal of highest value."""
    n = len(rows)
    sigma = np.full((n, n), -1e6)
    for i, row in enumerate(rows):
        for j, order in row.items():
            sigma[i, j] = order
    transversal = linear_sum_assignment(sigma, maximize=True)[1]
    c = np.zeros(n)
    while True:
        d = (sigma + c[:, None]).max(axis=0)
        new = d[transversal] - sigma[range(n), transversal]
        if (new == c).all():
            return [int(k) for k in c]
        c = new


@pytest.mark.parametrize("seed", range(200))
def test_as_often_as_the_signature_method(seed: int) -> None:
    rnd = random.Random(seed)
    n = rnd.randint(1, 9)
    rows = signature(rnd, n)
    var_to_diff: list[int] = []
    name: dict[tuple[int, int], int] = {}
    for j in range(n):
        top = max((row[j] for row in rows if j in row), default=0)
        for order in range(top + 1):
            name[j, order] = len(var_to_diff)
            var_to_diff.append(len(var_to_diff) + 1 if order < top else -1)
    graph = graph_of([[name[j, order] for j, order in row.items()] for row in rows], var_to_diff)
    reduce_index(graph, max_derivatives=100)
    check(graph)
    assert orders(graph) == canonical_offsets(rows)


def test_nothing_to_do() -> None:
    graph = graph_of([], [])
    reduce_index(graph)
    graph = graph_of([[0, 1], [2, 0]], [1, -1, -1])
    reduce_index(graph)
    check(graph)
    assert orders(graph) == [0, 0]


# ------------------------------------------------------------------------------------------------- singular


def test_two_equations_for_one_chain() -> None:
    graph = graph_of([[2, 0], [0], [1]], [1, -1, -1])
    with pytest.raises(SingularStructure, match="singular") as caught:
        reduce_index(graph)
    assert caught.value.equations == [1, 2]
    assert len(graph.inc) == 3  # found before anything was differentiated


def test_equation_without_unknown() -> None:
    with pytest.raises(SingularStructure) as caught:
        reduce_index(graph_of([[0], []], [-1, -1]))
    assert caught.value.equations == [1]


def test_unknowns_that_vanish_by_differentiation() -> None:
    """x·0 keeps its place in the incidence until it is differentiated."""
    graph = DerivativeGraph([[1, 2], [0]], [1, -1, -1], lambda v: 0, lambda e: [])
    with pytest.raises(SingularStructure) as caught:
        reduce_index(graph)
    assert caught.value.equations == [2]
    assert graph.original(2) == (1, 1)


def double_integrator(d_e0: list[int], new: int) -> DerivativeGraph:
    """x' = w, x given, w' = f: both e1 and e0 are differentiated. d_e0: what is left of d/dt e0."""
    x, dx, w, dw, f = range(5)
    derivatives = {0: d_e0, 1: [x, dx], 3: [x, dx, 5]}
    return DerivativeGraph([[dx, w], [x], [dw, f]], [dx, -1, dw, -1, -1], lambda v: new, derivatives.__getitem__)


@pytest.mark.parametrize("d_e0", [[5, 3], [3]])
def test_match_lost_by_differentiation(d_e0: list[int]) -> None:
    """If x'' drops out of d/dt e0, this equation takes w' and sends e2 to f."""
    graph = double_integrator(d_e0, 5)
    reduce_index(graph)
    check(graph)
    assert orders(graph) == [1, 2, 0]


def test_wrong_id_from_the_caller() -> None:
    with pytest.raises(ArgumentError, match=r"new_derivative\(1\) returned 7, expected 5"):
        reduce_index(double_integrator([5, 3], 7))


def test_circle_of_derivatives() -> None:
    """x' = y and y' = x, taken for chains, leave no highest derivative: singular, not endless."""
    with pytest.raises(SingularStructure):
        reduce_index(graph_of([[1], [0]], [1, 0]))


def test_bound_on_differentiations() -> None:
    """x_k = x_(k-1)' and x_0 given: the k-th needs one more each."""
    n = 6
    incs = [[0], *([2 * k, 2 * k - 1] for k in range(1, n))]
    var_to_diff = [v + 1 if v % 2 == 0 else -1 for v in range(2 * n)]
    graph = graph_of(incs, var_to_diff)
    reduce_index(graph)
    check(graph)
    assert orders(graph) == [6, 5, 4, 3, 2, 1]
    with pytest.raises(SingularStructure) as caught:
        reduce_index(graph_of(incs, var_to_diff), max_derivatives=3)
    assert caught.value.equations
    assert 0 in {graph.original(e)[0] for e in caught.value.equations}


# ------------------------------------------------------------------------------------------------ large ones


def test_100_000_equations_without_constraint_are_fast() -> None:
    n = 50_000
    ode = [[i, (i + 1) % n, n + i] for i in range(n)]
    algebraic = [[2 * n + i, i, 2 * n + max(i - 1, 0)] for i in range(n)]
    graph = graph_of(ode + algebraic, [n + i for i in range(n)] + [-1] * (2 * n))
    start = time.perf_counter()
    reduce_index(graph)
    assert time.perf_counter() - start < 5
    assert len(graph.inc) == 2 * n
    assert -1 not in graph.eq_to_var


def test_10_000_pendulums_one_on_the_other() -> None:
    n = 10_000
    incs: list[list[int]] = []
    var_to_diff: list[int] = []
    for k in range(n):
        x, w, dw, y, z, dz, tension = range(7 * k, 7 * k + 7)
        incs += [[x, dw, tension], [y, dz, tension], [x, y, x - 7] if k else [x, y]]
        var_to_diff += [w, dw, -1, z, dz, -1, -1]
    graph = graph_of(incs, var_to_diff)
    start = time.perf_counter()
    reduce_index(graph)
    assert time.perf_counter() - start < 10
    assert orders(graph) == [0, 0, 2] * n
