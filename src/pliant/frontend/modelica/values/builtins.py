"""Built-in functions on values (chapters 3.7 and 10.3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.values.data import EnumValue, Value, array_of, joined, plain
from pliant.frontend.modelica.values.operators import is_integer
from pliant.texts import as_text

Function = Callable[..., Value]


def _mapped(function: Callable[[float], Any]) -> Function:
    def apply(x: Value) -> Value:
        if isinstance(x, np.ndarray):
            return np.array([function(float(one)) for one in x.flat]).reshape(x.shape)
        return function(float(x))

    return apply


def _paired(function: Callable[[Any, Any], Any]) -> Function:
    def apply(x: Value, y: Value) -> Value:
        if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
            a, b = np.broadcast_arrays(x, y)
            return np.array([function(plain(p), plain(q)) for p, q in zip(a.flat, b.flat, strict=True)]).reshape(
                a.shape
            )
        return function(x, y)

    return apply


def _abs(x: Value) -> Value:
    return np.abs(x) if isinstance(x, np.ndarray) else abs(x)


def _sign(x: float) -> int:
    return (x > 0) - (x < 0)


def _div(a: Value, b: Value) -> Value:
    if is_integer(a) and is_integer(b):
        return int(abs(a) // abs(b)) * (1 if (a >= 0) == (b >= 0) else -1)
    return float(math.trunc(a / b))


def _mod(a: Value, b: Value) -> Value:
    return a - math.floor(a / b) * b if not (is_integer(a) and is_integer(b)) else a - (a // b) * b


def _rem(a: Value, b: Value) -> Value:
    return a - _div(a, b) * b


def _extreme(best: Callable[..., Any], array: Callable[..., Any], empty: float) -> Function:
    def apply(*args: Value) -> Value:
        if len(args) == 1:
            found = args[0]
            if not isinstance(found, np.ndarray):
                return found
            if not found.size:
                return best is min if found.dtype == bool else empty
            return best(found.flat) if found.dtype == object else plain(array(found))
        if isinstance(args[0], np.ndarray) or isinstance(args[1], np.ndarray):
            return (np.minimum if best is min else np.maximum)(args[0], args[1])
        return best(args)

    return apply


def _sum(x: Value) -> Value:
    return plain(np.sum(x)) if isinstance(x, np.ndarray) else x


def _product(x: Value) -> Value:
    return plain(np.prod(x)) if isinstance(x, np.ndarray) else x


def _fill(value: Value, *sizes: Value) -> Value:
    shape = tuple(max(int(n), 0) for n in sizes)
    if isinstance(value, np.ndarray):
        return np.broadcast_to(value, (*shape, *value.shape)).copy()
    if isinstance(value, (bool, int, float)):
        return np.full(shape, value)
    found = np.empty(shape, object)
    found[...] = value
    return found


def _vector(x: Value) -> Value:
    if sum(n > 1 for n in np.shape(x)) > 1:
        raise ValueError(x)
    return np.ravel(x)


def _matrix(x: Value) -> Value:
    x = np.asarray(x)
    return x.reshape((*x.shape, 1, 1)[:2]) if x.ndim < 2 else x.reshape(x.shape[:2])


def _scalar(x: Value) -> Value:
    return plain(np.asarray(x).reshape(()))


def _skew(x: Value) -> Value:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def _symmetric(x: Value) -> Value:
    return np.triu(x) + np.triu(x, 1).T


def _promote(x: Value, n: int) -> Value:
    x = np.asarray(x)
    return x.reshape(x.shape + (1,) * (n - x.ndim))


def _string(value: Value, *options: Value, **named: Value) -> str:
    length = int(named["minimumLength"] if "minimumLength" in named else options[0] if options else 0)
    left = bool(named.get("leftJustified", options[1] if len(options) > 1 else True))
    digits = int(named.get("significantDigits", 6))
    value = value.name.strip("'") if isinstance(value, EnumValue) else value
    return as_text(value, digits=digits, length=length, left=left, form=named.get("format", ""))


def formatted(value: Value, digits: int = 6) -> str:
    """A value as String() writes it."""
    return as_text(value.name.strip("'") if isinstance(value, EnumValue) else value, digits=int(digits))


def _integer(x: Value) -> Value:
    return x.ordinal if isinstance(x, EnumValue) else math.floor(x)


def _linspace(a: Value, b: Value, n: int) -> Value:
    return np.linspace(float(a), float(b), int(n))


def concatenate(axis: int, parts: list[Value]) -> Value:
    """`cat`."""
    return joined([np.asarray(one) for one in parts], axis - 1)


def matrix_of(rows: list[list[Value]]) -> Value:
    """`[a, b; c, d]`."""
    rank = max(2, *(np.ndim(one) for row in rows for one in row)) if rows else 2
    lines = [joined([_promote(one, rank) for one in row], 1) for row in rows]
    return joined(lines, 0)


def _homotopy(actual: Value, simplified: Value = None) -> Value:
    return actual


def _semi_linear(x: Value, positive: Value, negative: Value) -> Value:
    return x * positive if x >= 0 else x * negative


FUNCTIONS: dict[str, Function] = {
    **{
        name: _mapped(getattr(math, name))
        for name in ["sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "log10"]
    },
    "abs": _abs,
    "sign": _mapped(_sign),
    "floor": _mapped(lambda x: float(math.floor(x))),
    "ceil": _mapped(lambda x: float(math.ceil(x))),
    "integer": _integer,
    "Integer": _integer,
    "atan2": _paired(math.atan2),
    "div": _paired(_div),
    "mod": _paired(_mod),
    "rem": _paired(_rem),
    "min": _extreme(min, np.min, math.inf),
    "max": _extreme(max, np.max, -math.inf),
    "sum": _sum,
    "product": _product,
    "zeros": lambda *n: np.zeros(tuple(max(int(k), 0) for k in n), np.int64),
    "ones": lambda *n: np.ones(tuple(max(int(k), 0) for k in n), np.int64),
    "fill": _fill,
    "identity": lambda n: np.eye(int(n), dtype=np.int64),
    "diagonal": np.diag,
    "transpose": lambda x: np.swapaxes(x, 0, 1),
    "cross": np.cross,
    "skew": _skew,
    "outerProduct": np.outer,
    "symmetric": _symmetric,
    "linspace": _linspace,
    "vector": _vector,
    "matrix": _matrix,
    "scalar": _scalar,
    "promote": _promote,
    "String": _string,
    "homotopy": _homotopy,
    "noEvent": lambda x: x,
    "pure": lambda x: x,
    "smooth": lambda _, x: x,
    "semiLinear": _semi_linear,
    "array": lambda *parts: array_of(list(parts)),
    "cat": lambda axis, *parts: concatenate(int(axis), list(parts)),
    "pre": lambda x: x,
    "inStream": lambda x: x,
    "actualStream": lambda x: x,
}


def call(name: str, args: list[Value], named: dict[str, Value], node: Any) -> Value:
    """A built-in function; what it cannot do is an error with the place."""
    try:
        return plain(FUNCTIONS[name](*args, **named))
    except ZeroDivisionError as error:
        raise problem(f"division by zero in `{node.text}`", node, rule="3.7.2") from error
    except (ValueError, TypeError, IndexError, OverflowError, AttributeError) as error:
        shown = getattr(node, "text", name)
        text = f"`{shown}` has no value: `{name}` cannot be applied to these arguments"
        raise problem(text, node, rule="3.7", hint="check their number, types, sizes and values") from error
