"""Derivatives of expressions against central differences: every operator, nested graphs, time, calls, tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pliant.expr.build import add, apply, binary, choose, const, div, homotopy, mul, neg, power, sub, var
from pliant.expr.differentiate import CLOCK, TimeDerivative, gradient
from pliant.expr.evaluate import evaluate
from pliant.ir import Function, Graph, Op, Relation, Table

Build = Callable[[Graph, int, int], int]
POINT = {0: 0.7, 1: 0.4}

UNARY = {
    "abs": (Op.ABS, 0.7),
    "abs of a negative": (Op.ABS, -0.7),
    "sqrt": (Op.SQRT, 0.7),
    "sin": (Op.SIN, 0.7),
    "cos": (Op.COS, 0.7),
    "tan": (Op.TAN, 0.7),
    "asin": (Op.ASIN, 0.7),
    "acos": (Op.ACOS, -0.3),
    "atan": (Op.ATAN, -2.0),
    "sinh": (Op.SINH, -0.7),
    "cosh": (Op.COSH, -0.7),
    "tanh": (Op.TANH, 0.7),
    "exp": (Op.EXP, -1.3),
    "log": (Op.LOG, 2.5),
    "log10": (Op.LOG10, 2.5),
    "sign": (Op.SIGN, 0.7),
    "floor": (Op.FLOOR, 0.7),
    "ceil": (Op.CEIL, 0.7),
}

BINARY: dict[str, Build] = {
    "a + b": add,
    "a - b": sub,
    "a * b": mul,
    "a / b": div,
    "a ^ b": power,
    "b ^ a": lambda g, a, b: power(g, b, a),
    "a ^ 3": lambda g, a, b: power(g, a, const(g, 3.0)),
    "a ^ -2": lambda g, a, b: power(g, a, const(g, -2.0)),
    "a ^ 0.5": lambda g, a, b: power(g, a, const(g, 0.5)),
    "a ^ 1.7": lambda g, a, b: power(g, a, const(g, 1.7)),
    "2 ^ a": lambda g, a, b: power(g, const(g, 2.0), a),
    "-(a b)": lambda g, a, b: neg(g, mul(g, a, b)),
    "atan2(a, b)": lambda g, a, b: binary(g, Op.ATAN2, a, b),
    "atan2(-a, -b)": lambda g, a, b: binary(g, Op.ATAN2, neg(g, a), neg(g, b)),
    "min": lambda g, a, b: binary(g, Op.MIN, mul(g, a, a), sub(g, b, a)),
    "max": lambda g, a, b: binary(g, Op.MAX, mul(g, a, a), sub(g, b, a)),
    "if": lambda g, a, b: choose(g, binary(g, Op.LT, a, b), mul(g, a, a), mul(g, b, div(g, b, a))),
    "homotopy": lambda g, a, b: homotopy(g, mul(g, a, b), sub(g, a, b)),
    "shared": lambda g, a, b: mul(g, mul(g, a, b), add(g, mul(g, a, b), apply(g, Op.SIN, mul(g, a, b)))),
}


def differences(g: Graph, e: int, point: dict[int, float], tables: Sequence[Table] = ()) -> dict[int, float]:
    found = {}
    for v, at in point.items():
        h = 1e-6 * max(1.0, abs(at))
        high, low = (evaluate(g, [e], point | {v: at + s * h}, 0.3, tables=tables)[0] for s in (1, -1))
        found[v] = (high - low) / (2 * h)
    return found


def check(g: Graph, e: int, point: dict[int, float], tables: Sequence[Table] = ()) -> None:
    """gradient, and the derivative by time along v' = 1, 2, 3, ..."""
    partials = gradient(g, e, lambda v: v >= 0)
    exact = dict(zip(partials, evaluate(g, list(partials.values()), point, 0.3, tables=tables), strict=True))
    wanted = differences(g, e, point, tables)
    for v, slope in wanted.items():
        assert exact.get(v, 0.0) == pytest.approx(slope, rel=2e-7, abs=1e-8)
    rate = TimeDerivative(g, (), lambda v: const(g, v + 1.0))(e)
    total = sum((v + 1.0) * slope for v, slope in wanted.items())
    assert evaluate(g, [rate], point, 0.3, tables=tables)[0] == pytest.approx(total, rel=2e-6, abs=1e-7)


@pytest.mark.parametrize("name", UNARY)
def test_functions(name: str) -> None:
    op, at = UNARY[name]
    g = Graph()
    check(g, apply(g, op, var(g, 0)), {0: at})
    check(g, apply(g, op, mul(g, const(g, 0.9), var(g, 0))), {0: at})
    check(g, mul(g, apply(g, op, var(g, 0)), apply(g, op, var(g, 0))), {0: at})


@pytest.mark.parametrize("name", BINARY)
def test_operators(name: str) -> None:
    g = Graph()
    check(g, BINARY[name](g, var(g, 0), var(g, 1)), POINT)
    check(g, BINARY[name](g, var(g, 0), const(g, 0.4)), {0: 0.7})
    check(g, BINARY[name](g, const(g, 0.7), var(g, 1)), {1: 0.4})


@pytest.mark.parametrize("op", [Op.LT, Op.LE, Op.EQ, Op.NE])
def test_comparisons_have_no_derivative(op: int) -> None:
    g = Graph()
    assert gradient(g, binary(g, op, var(g, 0), var(g, 1)), lambda v: True) in ({}, {0: const(g, 0.0)})


def test_the_other_branch_does_not_matter() -> None:
    """A branch that is not defined here (log of a negative) leaves the derivative of the other one alone."""
    g = Graph()
    x = var(g, 0)
    e = choose(g, binary(g, Op.LT, x, const(g, 0.0)), mul(g, x, x), apply(g, Op.LOG, x))
    check(g, e, {0: -1.5})
    check(g, e, {0: 1.5})


def test_power_at_zero() -> None:
    """x^2 and x^3 have slope 0 at 0; x^y with a variable y as well if y > 1."""
    g = Graph()
    x, y = var(g, 0), var(g, 1)
    for e in (power(g, x, const(g, 2.0)), power(g, x, const(g, 3.0)), power(g, x, const(g, 2.5))):
        assert evaluate(g, [gradient(g, e, lambda v: v == 0)[0]], {0: 0.0}) == [0.0]
    by_base = gradient(g, power(g, x, y), lambda v: v == 0)[0]
    assert evaluate(g, [by_base], {0: 0.0, 1: 2.0}) == [0.0]


def test_tables() -> None:
    g = Graph()
    table = Table("t", [0.0, 1.0, 2.0], [(1.0, 2.0, -1.0, 0.5), (2.5, 1.5, 0.5, -0.25)])
    e = g.intern((Op.TABLE, 0, 0, mul(g, const(g, 2.0), var(g, 0))))
    for at in (0.2, 0.3, 0.8):
        check(g, e, {0: at}, [table])
        first = gradient(g, e, lambda v: v == 0)[0]
        check(g, first, {0: at}, [table])  # second derivative


def test_time() -> None:
    g = Graph()
    clock = g.intern((Op.TIME,))
    e = mul(g, apply(g, Op.SIN, clock), var(g, 0))
    partials = gradient(g, e, lambda v: True)
    assert evaluate(g, [partials[CLOCK]], {0: 2.0}, 0.3) == [pytest.approx(2 * math.cos(0.3))]
    assert CLOCK not in gradient(g, e, lambda v: v >= 0)
    rate = TimeDerivative(g, (), lambda v: const(g, 5.0))(e)
    assert evaluate(g, [rate], {0: 2.0}, 0.3) == [pytest.approx(2 * math.cos(0.3) + 5 * math.sin(0.3))]


def test_calls_use_their_derivative() -> None:
    """y = f(a, b) with f' given for a alone; without one the body is differentiated."""
    g = Graph()
    a, b, da = (g.intern((Op.ARG, k)) for k in range(3))
    plain = Function("f", 2, [mul(g, mul(g, a, a), b)])
    known = Function("f", 2, [mul(g, mul(g, a, a), b)], derivative=1, differentiated=(0,))
    slope = Function("df", 3, [mul(g, mul(g, const(g, 2.0), mul(g, a, b)), da)])
    call = g.intern((Op.CALL, 0, 0, var(g, 0), var(g, 1)))
    rates = {0: 3.0, 1: 0.0}
    for functions in ([plain, slope], [known, slope]):
        rate = TimeDerivative(g, functions, lambda v: const(g, rates[v]))(call)
        assert evaluate(g, [rate], {0: 2.0, 1: 5.0}, functions=functions) == [pytest.approx(60.0)]
    is_call = g.nodes[TimeDerivative(g, [known, slope], lambda v: const(g, rates[v]))(call)]
    assert is_call[0] == Op.CALL
    assert is_call[1] == 1


def test_relations_are_constant_between_events() -> None:
    g = Graph()
    relation = g.intern((Op.REL, 0))
    e = choose(g, relation, mul(g, var(g, 0), var(g, 0)), var(g, 0))
    rate = TimeDerivative(g, (), lambda v: const(g, 1.0))(e)
    relations = [Relation(var(g, 0), const(g, 1.0), True)]
    assert evaluate(g, [rate], {0: 0.5}, relations=relations) == [1.0]
    assert evaluate(g, [rate], {0: 1.5}, relations=relations) == [1.0]
    assert evaluate(g, [rate], {0: 0.25}, relations=relations) == [0.5]


# ---------------------------------------------------------------------------------------- random graphs

# functions that are smooth everywhere, so that differences make sense at every point
SMOOTH: list[Callable[[Graph, int, int], int]] = [
    add,
    sub,
    mul,
    lambda g, a, b: div(g, a, add(g, const(g, 2.0), mul(g, b, b))),
    lambda g, a, b: apply(g, Op.SIN, a),
    lambda g, a, b: apply(g, Op.COS, mul(g, a, b)),
    lambda g, a, b: apply(g, Op.TANH, sub(g, a, b)),
    lambda g, a, b: apply(g, Op.EXP, apply(g, Op.SIN, a)),
    lambda g, a, b: apply(g, Op.SQRT, add(g, const(g, 1.0), mul(g, a, a))),
    lambda g, a, b: apply(g, Op.ATAN, add(g, a, b)),
    lambda g, a, b: binary(g, Op.ATAN2, a, add(g, const(g, 1.5), mul(g, b, b))),
    lambda g, a, b: power(g, add(g, const(g, 1.2), mul(g, a, a)), apply(g, Op.TANH, b)),
    lambda g, a, b: neg(g, a),
]
STEP = st.tuples(st.integers(0, len(SMOOTH) - 1), st.integers(0, 30), st.integers(0, 30))


def random_graph(steps: Sequence[tuple[int, int, int]]) -> tuple[Graph, int]:
    g = Graph()
    made = [var(g, 0), var(g, 1), var(g, 2), const(g, 0.5), const(g, -1.0)]
    for kind, a, b in steps:
        made.append(SMOOTH[kind](g, made[a % len(made)], made[b % len(made)]))
    return g, made[-1]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, min_size=1, max_size=12), st.tuples(*[st.floats(-1.0, 1.0)] * 3))
def test_random_graphs(steps: list[tuple[int, int, int]], at: tuple[float, float, float]) -> None:
    """The slope along (1, 2, 3) of a random expression: gradient, d/dt, and a central difference."""
    g, e = random_graph(steps)
    point = dict(enumerate(at))
    along = {0: 1.0, 1: 2.0, 2: 3.0}
    partials = gradient(g, e, lambda v: v >= 0)
    exact = dict(zip(partials, evaluate(g, list(partials.values()), point), strict=True))
    total = sum(along[v] * slope for v, slope in exact.items())
    rate = TimeDerivative(g, (), lambda v: const(g, along[v]))(e)
    (forward,) = evaluate(g, [rate], point)
    size = 1.0 + sum(abs(along[v] * slope) for v, slope in exact.items())
    assert abs(total - forward) <= 1e-9 * size
    h = 1e-5
    samples = [evaluate(g, [e], {v: x + s * h * along[v] for v, x in point.items()})[0] for s in (-2, -1, 1, 2)]
    slope = (samples[0] - 8 * samples[1] + 8 * samples[2] - samples[3]) / (12 * h)
    assert abs(total - slope) <= 1e-4 * (size + max(map(abs, samples)))
