"""Modelica's built-in functions on values.

``mod(x, y) = x - floor(x/y) y``, ``rem(x, y) = x - div(x, y) y``, ``div`` truncates towards zero (Modelica language
specification 3.6, section 3.7.1). Those that jump make events in Modelica: where they depend on something that moves,
``floor`` is a discrete variable that events set (events.py).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import (
    FUNCTIONS,
    add,
    apply,
    binary,
    choose,
    const,
    div,
    homotopy,
    logical_and,
    logical_not,
    mul,
    neg,
    sub,
    value_of,
    variables_of,
)
from pliant.frontend.flat.types import BaseType, Type
from pliant.frontend.scalar.dependence import TIME, UNKNOWN
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.tape import FUNCTION_BIT
from pliant.frontend.scalar.values import (
    Arr,
    Rec,
    Value,
    concatenate,
    cross,
    describe,
    identity,
    map1,
    map2,
    promote,
    scalars,
    transpose,
)
from pliant.ir import FLOOR_ROOM, Graph, Kind, Op, Span

Args = list[Value]

STILL = 1e-30  # of semiLinear, where nothing flows


class Builtins:
    """The table of built-in functions; ``floor`` gives the one that makes events."""

    def __init__(self, run: Interpreter, floor: Callable[[int, Span | None], int]) -> None:
        self.run, self.g, self.floor = run, run.g, floor
        self.table: dict[str, Callable[[Args], Value]] = {
            "min": lambda a: self._extreme(Op.MIN, a),
            "max": lambda a: self._extreme(Op.MAX, a),
            "atan2": lambda a: map2(self.g, lambda g, x, y: binary(g, Op.ATAN2, x, y), a[0], a[1]),
            "sum": self._sum,
            "product": self._product,
            "size": self._size,
            "zeros": lambda a: self._fill(const(self.g, 0.0), a),
            "ones": lambda a: self._fill(const(self.g, 1.0), a),
            "fill": lambda a: self._fill(a[0], a[1:]),
            "identity": lambda a: identity(self.g, self.run.integer(a[0], "the size of identity")),
            "diagonal": self._diagonal,
            "transpose": lambda a: transpose(_array(a[0])),
            "cross": lambda a: cross(self.g, _array(a[0]), _array(a[1])),
            "skew": self._skew,
            "outerProduct": self._outer_product,
            "vector": lambda a: Arr((len(scalars(a[0])),), scalars(a[0])),
            "scalar": lambda a: scalars(a[0])[0],
            "matrix": self._matrix,
            "linspace": self._linspace,
            "symmetric": self._symmetric,
            "ndims": lambda a: const(self.g, float(len(a[0].shape) if isinstance(a[0], Arr) else 0)),
            "[;]": lambda a: concatenate([promote(v, _rank(a)) for v in a], 0),
            "[,]": lambda a: concatenate([promote(v, _rank(a)) for v in a], 1),
            "promote": lambda a: promote(a[0], self.run.integer(a[1], "the rank of promote")),
            "cat": lambda a: concatenate(
                [promote(v, 1) for v in a[1:]], self.run.integer(a[0], "the dimension of cat") - 1
            ),
            "Integer": lambda a: a[0],
            "noEvent": lambda a: a[0],
            "smooth": lambda a: a[1],
            "homotopy": lambda a: map2(self.g, homotopy, a[0], a[1]),
            "semiLinear": self._semi_linear,
        }

    def __call__(self, name: str, number: int, args: Args) -> Value:
        """Value of a call; ``number`` is that of the expression."""
        g = self.g
        if name in JUMPS:
            whole, held = self._whole(number, args)
            if name in ("integer", "floor"):
                return map1(whole, args[0])
            if name == "ceil":
                return map1(lambda e: neg(g, whole(neg(g, e))), args[0])
            return map2(g, lambda g, x, y: self._quotient(name, (x, y), whole, held), args[0], args[1])
        op = FUNCTIONS.get(name)
        if op is not None:
            value = args[0]
            return apply(g, op, value) if value.__class__ is int else map1(lambda e: apply(g, op, e), value)
        if name in ("min", "max") and len(args) == 1 and isinstance(args[0], Arr) and not args[0].flat:
            return self._of_nothing(name, self.run.tape.types[number])
        if name == "enumeration":
            return self._enumeration(number, args)
        known = self.table.get(name)
        if known is None:
            raise NotSupportedError(
                f"the built-in function `{name}` is not supported", hint="write it out with other functions"
            )
        return known(args)

    def _enumeration(self, number: int, args: Args) -> Value:
        """E(i), where i has to be the number of a value of E."""
        g, of = self.g, self.run.tape.types[number]
        e, kind = scalars(args[1])[0], self.run.tape.flat.enumerations[of.number]
        most = const(g, float(len(kind.literals)))
        holds = logical_and(g, binary(g, Op.LE, const(g, 1.0), e), binary(g, Op.LE, e, most))
        known = value_of(g, holds)
        text = f"the number of a value of `{kind.name}` is outside of 1 to {len(kind.literals)}"
        if known == 0.0 and not self.run.guarded:
            raise ModelError(text, hint="change the number", rule="4.9.5.3")
        if known is None:
            assert self.run.bounds is not None
            self.run.bounds.enumerated(e, len(kind.literals), kind.name, self.run.tape.spans[number])
        return e

    def _whole(self, number: int, args: Args) -> tuple[Callable[[int], int], bool]:
        """floor: with events where its argument moves, but not inside functions and noEvent; whether events set it."""
        run = self.run
        quiet = not run.events or number in run.tape.quiet or run.tape.depends[number] & FUNCTION_BIT
        moves = any(run.masks.of(e) & (TIME | UNKNOWN) for value in args for e in scalars(value))
        if quiet or not moves:
            return lambda e: apply(self.g, Op.FLOOR, e), False
        span = run.tape.spans[number]
        return lambda e: self.floor(e, span), True

    def _quotient(self, name: str, of: tuple[int, int], whole: Callable[[int], int], held: bool) -> int:
        """mod, div or rem of (x, y), made from ``whole`` (floor); ``held``: it changes at events."""
        if value_of(self.g, of[1]) == 0.0:  # no number, as the quotient; a product with 0 would hide that
            return div(self.g, *of)
        little = 2.0 * FLOOR_ROOM if held and any(self._moves(e) for e in of) else 0.0
        return _quotient(self.g, name, of, whole, little if held else None)

    def _moves(self, e: int) -> bool:
        """Between events, not only at them."""
        variables = (self.run.masks.variables[v] for v in variables_of(self.g, e))
        return bool(self.run.masks.of(e) & TIME) or any(
            one.kind not in _AT_EVENTS and (one.kind != Kind.INPUT or one.type == "real") for one in variables
        )

    def _extreme(self, op: int, args: Args) -> Value:
        g = self.g
        if len(args) == 2:
            return map2(g, lambda g, x, y: binary(g, op, x, y), args[0], args[1])
        found = scalars(args[0])
        result = found[0]
        for e in found[1:]:
            result = binary(g, op, result, e)
        return result

    def _of_nothing(self, name: str, of: Type) -> int:
        """The least or the greatest value of a type (10.3.4): Modelica.Constants.inf, Integer_inf, ..."""
        last = len(self.run.tape.flat.enumerations[of.number].literals) if of.base is BaseType.ENUMERATION else 0
        ends = {BaseType.INTEGER: (-2147483647, 2147483647), BaseType.BOOLEAN: (0, 1), BaseType.ENUMERATION: (1, last)}
        least, greatest = ends.get(of.base, (-1e60, 1e60))
        return const(self.g, float(least if name == "max" else greatest))

    def _sum(self, args: Args) -> Value:
        value = args[0]
        if isinstance(value, Arr) and value.flat and isinstance(value.flat[0], Rec):
            total: Value = value.flat[0]
            for element in value.flat[1:]:
                total = map2(self.g, add, total, element)
            return total
        result = const(self.g, 0.0)
        for e in scalars(value):
            result = add(self.g, result, e)
        return result

    def _product(self, args: Args) -> Value:
        result = const(self.g, 1.0)
        for e in scalars(args[0]):
            result = mul(self.g, result, e)
        return result

    def _size(self, args: Args) -> Value:
        array = args[0]
        shape = array.shape if isinstance(array, Arr) else ()
        if len(args) == 1:
            return Arr((len(shape),), [const(self.g, float(n)) for n in shape])
        k = self.run.integer(args[1], "the dimension in size(...)")
        if not 1 <= k <= len(shape):
            raise ModelError(
                f"size(..., {k}) of {describe(array)}",
                hint=f"the dimension must lie between 1 and {len(shape)}" if shape else "size needs an array",
            )
        return const(self.g, float(shape[k - 1]))

    def _fill(self, value: Value, sizes: Args) -> Value:
        shape = tuple(self.run.integer(n, "the size of an array") for n in sizes)
        if isinstance(value, Arr):
            return Arr((*shape, *value.shape), value.flat * prod(shape))
        return Arr(shape, [value] * prod(shape)) if shape else value

    def _diagonal(self, args: Args) -> Value:
        zero, entries = const(self.g, 0.0), scalars(args[0])
        n = len(entries)
        return Arr((n, n), [entries[i] if i == j else zero for i in range(n) for j in range(n)])

    def _skew(self, args: Args) -> Value:
        g, (x, y, z) = self.g, scalars(args[0])
        zero = const(g, 0.0)
        return Arr((3, 3), [zero, neg(g, z), y, z, zero, neg(g, x), neg(g, y), x, zero])

    def _outer_product(self, args: Args) -> Value:
        a, b = scalars(args[0]), scalars(args[1])
        return Arr((len(a), len(b)), [mul(self.g, x, y) for x in a for y in b])

    def _matrix(self, args: Args) -> Value:
        array = promote(args[0], 2)
        return Arr(array.shape[:2], array.flat)

    def _symmetric(self, args: Args) -> Value:
        array = _array(args[0])
        n = array.shape[0]
        return Arr((n, n), [array.flat[min(i, j) * n + max(i, j)] for i in range(n) for j in range(n)])

    def _linspace(self, args: Args) -> Value:
        g = self.g
        n = self.run.integer(args[2], "the number of points of linspace")
        first, last = scalars(args[0])[0], scalars(args[1])[0]
        if n < 2:
            raise ModelError(f"linspace of {n} points: at least two are needed", hint="raise its third argument")
        width = sub(g, last, first)
        return Arr((n,), [add(g, first, mul(g, const(g, k / (n - 1)), width)) for k in range(n)])

    def _semi_linear(self, args: Args) -> Value:
        """x up or x down. Where x = 0 that says nothing about slopes that are unknowns, such as enthalpies where
        nothing flows: a conductance that is lost in rounding wherever x is not zero makes them means of their
        neighbours (section 3.7.4.5 recommends that one of the solutions is chosen).
        """
        g, (x, up, down) = self.g, [scalars(a)[0] for a in args]
        upwind = choose(g, binary(g, Op.LE, const(g, 0.0), x), mul(g, up, x), mul(g, down, x))
        if up == down or not all(self.run.masks.of(e) & UNKNOWN for e in (x, sub(g, up, down))):
            return upwind
        return add(g, upwind, mul(g, const(g, STILL), sub(g, up, down)))


def _array(value: Value) -> Arr:
    if isinstance(value, Arr):
        return value
    raise ModelError(f"an array is needed, {describe(value)} is given", hint="write a single value as {value}")


def _rank(values: Args) -> int:
    return max(2, *(len(v.shape) if isinstance(v, Arr) else 0 for v in values))


def _quotient(g: Graph, name: str, of: tuple[int, int], whole: Callable[[int], int], room: float | None) -> int:
    """mod, div or rem of (x, y), made from ``whole`` (floor); ``room``: see `_left_over`; None: no floor is held."""
    x, y = of
    q, zero = div(g, x, y), const(g, 0.0)
    if name == "mod":
        multiple = mul(g, whole(q), y)
        sides = tuple(logical_not(g, binary(g, Op.LT, *pair)) for pair in ((y, zero), (zero, y)))
        return _left_over(g, of, multiple, sides, room) if room is not None else sub(g, x, multiple)
    # each part changes where its own floor does: a comparison of q with 0 would turn before or after it
    above, below = (binary(g, Op.MAX, whole(e), zero) for e in (q, neg(g, q)))
    towards_zero = sub(g, above, below)
    if name == "div":
        return towards_zero
    multiple = mul(g, towards_zero, y)
    sides = tuple(logical_not(g, binary(g, Op.LT, *pair)) for pair in ((multiple, zero), (zero, multiple)))
    return _left_over(g, of, multiple, sides, room) if room is not None else sub(g, x, multiple)


def _left_over(g: Graph, of: tuple[int, int], multiple: int, sides: tuple[int, ...], room: float) -> int:
    """x - multiple of y within its range; ``sides``: whether there are numbers above 0, and below 0, in it.

    A floor that events set is that of the other side of a whole number up to the event, by rounding or by a little
    more (events.py). What is left over must not leave its range for that, nor reach the end that it never has: another
    mod, or a relation, would turn there. Negative numbers do not reach 0 for the same reason: floor(0) is not that of
    the numbers below. They keep clear of it by ``room``, a share of y; 0 for an x that changes at events only and may
    rest on a multiple.
    """
    x, y = of
    size, zero = apply(g, Op.ABS, y), const(g, 0.0)
    little = mul(g, const(g, room), size)
    most = sub(g, size, mul(g, const(g, 2.0 * FLOOR_ROOM), size))
    highest = add(g, multiple, choose(g, sides[0], most, neg(g, little)))
    lowest = sub(g, multiple, choose(g, sides[1], most, zero))
    return sub(g, binary(g, Op.MIN, binary(g, Op.MAX, x, lowest), highest), multiple)


_AT_EVENTS = (Kind.DISCRETE, Kind.PARAMETER, Kind.CONSTANT, Kind.SELECTION, Kind.BEFORE)
JUMPS = frozenset({"integer", "floor", "ceil", "mod", "rem", "div"})
