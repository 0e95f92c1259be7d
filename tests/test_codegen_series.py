"""Taylor coefficients of expressions, against Cauchy's integral and against series known by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from support_taylor import Array, Circle, on_circle, polynomial

from pliant.codegen.series import Series, UnsupportedError
from pliant.expr.build import add, apply, binary, choose, const, div, homotopy, mul, neg, power, sub, var
from pliant.expr.evaluate import evaluate, table_value
from pliant.ir import Graph, Op, Table


def below(a: Any, b: Any) -> bool:
    """a <= b in the middle of the circle."""
    return bool(np.mean(a).real <= np.mean(b).real)


def angle(y: Circle, x: Circle) -> Circle:
    """atan2, continued to complex numbers around the middle."""
    middle = math.atan2(np.mean(y).real, np.mean(x).real)
    turned = (x + 1j * y) * np.exp(-1j * middle)
    other = (x - 1j * y) * np.exp(1j * middle)
    return np.asarray(middle + (np.log(turned) - np.log(other)) / 2j)


BUILD: dict[str, tuple[Callable[[Graph, int, int], int], Callable[[Any, Any], Any]]] = {
    "add": (add, lambda u, v: u + v),
    "sub": (sub, lambda u, v: u - v),
    "neg": (lambda g, u, _: neg(g, u), lambda u, _: -u),
    "mul": (mul, lambda u, v: u * v),
    "square": (lambda g, u, _: mul(g, u, u), lambda u, _: u * u),
    "div": (div, lambda u, v: u / v),
    "reciprocal": (lambda g, u, _: div(g, const(g, 2.0), u), lambda u, _: 2.0 / u),
    "cube": (lambda g, u, _: power(g, u, const(g, 3.0)), lambda u, _: u**3),
    "power 7": (lambda g, u, _: power(g, u, const(g, 7.0)), lambda u, _: u**7),
    "power -3": (lambda g, u, _: power(g, u, const(g, -3.0)), lambda u, _: u**-3.0),
    "power 1.7": (lambda g, u, _: power(g, u, const(g, 1.7)), lambda u, _: u**1.7),
    "power -0.3": (lambda g, u, _: power(g, u, const(g, -0.3)), lambda u, _: u**-0.3),
    "power both": (power, lambda u, v: np.exp(v * np.log(u))),
    "power of 3": (lambda g, u, _: power(g, const(g, 3.0), u), lambda u, _: 3.0**u),
    "atan2": (lambda g, u, v: binary(g, Op.ATAN2, u, v), angle),
    "atan2 behind": (lambda g, u, v: binary(g, Op.ATAN2, u, neg(g, v)), lambda u, v: angle(u, -v)),
    "abs": (lambda g, u, _: apply(g, Op.ABS, u), lambda u, _: u),
    "abs of negative": (lambda g, u, v: apply(g, Op.ABS, sub(g, u, mul(g, v, v))), lambda u, v: v * v - u),
    "min": (lambda g, u, v: binary(g, Op.MIN, u, v), lambda u, v: u if below(u, v) else v),
    "max": (lambda g, u, v: binary(g, Op.MAX, u, v), lambda u, v: v if below(u, v) else u),
    "sign": (lambda g, u, v: mul(g, apply(g, Op.SIGN, neg(g, u)), v), lambda _, v: -v),
    "floor": (lambda g, u, v: mul(g, apply(g, Op.FLOOR, mul(g, const(g, 10.0), u)), v), lambda u, v: 5.0 * v),
    "ceil": (lambda g, u, v: mul(g, apply(g, Op.CEIL, mul(g, const(g, 10.0), u)), v), lambda u, v: 6.0 * v),
    "if": (
        lambda g, u, v: choose(g, binary(g, Op.LT, u, v), mul(g, u, v), apply(g, Op.LOG, sub(g, u, v))),
        lambda u, v: u * v,
    ),
    "else": (
        lambda g, u, v: choose(g, binary(g, Op.LT, v, u), mul(g, u, v), apply(g, Op.SIN, u)),
        lambda u, _: np.sin(u),
    ),
    "relation": (lambda g, u, v: mul(g, binary(g, Op.LE, u, v), v), lambda _, v: v),
    "homotopy": (lambda g, u, v: homotopy(g, mul(g, u, v), u), lambda u, v: u * v),
    "time": (lambda g, u, _: mul(g, g.intern((Op.TIME,)), u), lambda u, _: None),  # replaced below
    "log10": (lambda g, u, _: apply(g, Op.LOG10, u), lambda u, _: np.log(u) / np.log(10.0)),
}
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
for _name in ("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log"):
    _op, _function = getattr(Op, _name.upper()), getattr(np, NUMPY.get(_name, _name))
    BUILD[_name] = (
        lambda g, u, _, op=_op: apply(g, op, u),  # type: ignore[misc]
        lambda u, _, function=_function: function(u),  # type: ignore[misc]
    )
U = (0.53, -0.31, 0.42, 0.27, -0.33, 0.21)
V = (0.94, 0.23, -0.35, 0.18, 0.41, -0.29)


def coefficients(
    build: Callable[[Graph, int, int], int],
    u: Sequence[float] = U,
    v: Sequence[float] = V,
    tables: Sequence[Table] = (),
    t: float = 0.3,
) -> Array:
    """Coefficients of an expression of two variables, evaluated by the interpreter."""
    g = Graph()
    e = build(g, var(g, 0), var(g, 1))
    series = Series(g, tables)
    found = [e]
    values = {0: u[0], 1: v[0]}
    for k in range(1, len(u)):
        series.next_order()
        for n, given in enumerate((u, v)):
            values[10 * k + n] = given[k]
            series.give(n, var(g, 10 * k + n) if given[k] else const(g, 0.0))
        found.append(series.of(e))
    return np.array(evaluate(g, found, values, t, tables=tables))


@pytest.mark.parametrize("name", BUILD)
@pytest.mark.parametrize("which", range(3))
def test_one_function(name: str, which: int) -> None:
    """Every kind of node alone: all coefficients of its operands, only the first, none but the value."""
    build, function = BUILD[name]
    u, v = [[c if k <= (5, 1, 0)[which] else 0.0 for k, c in enumerate(one)] for one in (U, V)]
    if name == "time":
        expected = on_circle(lambda s: (0.3 + s) * polynomial(u)(s), 5)
    else:
        expected = on_circle(lambda s: function(polynomial(u)(s), polynomial(v)(s)), 5)
    assert coefficients(build, u, v) == pytest.approx(expected, rel=1e-10, abs=1e-10)


UNARY_NAMES = ("sin", "cos", "tanh", "atan", "exp", "sqrt", "square", "log", "sinh", "reciprocal", "power 1.7", "cube")
BINARY_NAMES = ("add", "sub", "mul", "div", "mul", "atan2", "max", "power both")


def random_tree(rng: np.random.Generator, depth: int) -> tuple[Any, Any]:
    """A builder of nodes and the same for numbers; arguments are squashed to where everything is defined."""
    if depth == 0:
        first = bool(rng.integers(2))
        return (lambda g, u, v: u if first else v), (lambda u, v: u if first else v)
    if rng.random() < 0.4:
        build, function = BUILD[str(rng.choice(UNARY_NAMES))]
        inner, number = random_tree(rng, depth - 1)
        return (
            lambda g, u, v: build(g, add(g, const(g, 1.2), div(g, apply(g, Op.SIN, inner(g, u, v)), const(g, 3.0))), v),
            lambda u, v: function(1.2 + np.sin(number(u, v)) / 3.0, v),
        )
    build, function = BUILD[str(rng.choice(BINARY_NAMES))]
    (one, one_number), (two, two_number) = random_tree(rng, depth - 1), random_tree(rng, depth - 1)
    return (
        lambda g, u, v: build(
            g,
            add(g, const(g, 1.2), div(g, apply(g, Op.COS, one(g, u, v)), const(g, 3.0))),
            add(g, const(g, 1.1), div(g, apply(g, Op.SIN, two(g, u, v)), const(g, 4.0))),
        ),
        lambda u, v: function(1.2 + np.cos(one_number(u, v)) / 3.0, 1.1 + np.sin(two_number(u, v)) / 4.0),
    )


@pytest.mark.parametrize("seed", range(40))
def test_compositions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    build, function = random_tree(rng, 4)
    u, v = rng.uniform(-0.5, 0.5, (2, 6))
    expected = on_circle(lambda s: function(polynomial(u)(s), polynomial(v)(s)), 5, radius=0.12)
    assert coefficients(build, u, v) == pytest.approx(expected, rel=1e-8, abs=1e-8)


TABLE = Table("t", [0.0, 0.4, 1.0], [(1.0, 0.5, -2.0, 3.0), (0.7, 1.0, 0.25, -1.5)])


@pytest.mark.parametrize("derivative", range(4))
def test_table(derivative: int) -> None:
    piece = np.polynomial.Polynomial(TABLE.coefficients[1])
    expected = on_circle(lambda s: (piece.deriv(derivative) if derivative else piece)(polynomial(U)(s) - 0.4), 5)
    found = coefficients(lambda g, u, _: g.intern((Op.TABLE, 0, derivative, u)), tables=[TABLE])
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert found[0] == table_value(TABLE, derivative, U[0])


def test_linear_table_has_no_higher_derivatives() -> None:
    g = Graph()
    series = Series(g, [Table("t", [0.0, 1.0], [(1.0, 2.0, 0.0, 0.0)])])
    e = g.intern((Op.TABLE, 0, 0, var(g, 0)))
    for k in range(1, 4):
        series.next_order()
        series.give(0, var(g, k))
        slope = g.intern((Op.TABLE, 0, 1, var(g, 0)))
        assert series.of(e) == mul(g, slope, var(g, k))


def test_whole_powers_at_zero() -> None:
    """The recursion of general powers divides by the base."""
    found = coefficients(lambda g, u, _: power(g, u, const(g, 3.0)), [0.0, 2.0, 1.0, 0.0, 0.0, 0.0])
    assert found == pytest.approx([0.0, 0.0, 0.0, 8.0, 12.0, 6.0])


def test_zeros_are_skipped() -> None:
    """Products with a constant have one term, functions of constants none."""
    g = Graph()
    u, p = var(g, 0), var(g, 1)
    series = Series(g, [])
    for k in range(1, 4):
        series.next_order()
        series.give(0, var(g, 10 + k))
        assert series.of(mul(g, p, u)) == mul(g, p, var(g, 10 + k))
        assert series.of(apply(g, Op.SIN, p)) == const(g, 0.0)


def test_trials_leave_no_trace() -> None:
    g = Graph()
    u, z = var(g, 0), var(g, 1)
    series = Series(g, [])
    series.next_order()
    series.give(0, var(g, 10))
    series.push()
    series.give(1, const(g, 0.0))
    e = mul(g, u, z)
    assert series.of(e) == mul(g, var(g, 10), z)
    series.pop()
    series.give(1, var(g, 11))
    assert series.of(e) == add(g, mul(g, u, var(g, 11)), mul(g, var(g, 10), z))


def test_calls_are_refused() -> None:
    g = Graph()
    series = Series(g, [])
    series.next_order()
    with pytest.raises(UnsupportedError, match="call"):
        series.of(g.intern((Op.CALL, 0, 0, var(g, 0))))
