"""Operators on values (chapter 10.6 and 3.4)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.values.data import EnumValue, RecordValue, Value, plain


def is_integer(value: Value) -> bool:
    """Integer, scalar or array."""
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind == "i")
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def unary(operator: str, value: Value, node: Any) -> Value:
    """`-x`, `+x`, `not x`."""
    if operator == "not":
        return plain(np.logical_not(value)) if isinstance(value, np.ndarray) else not value
    if isinstance(value, (str, bool, EnumValue)):
        raise problem("a sign needs a number", node, rule="10.6")
    return -value if operator.endswith("-") else value


def binary(operator: str, a: Value, b: Value, node: Any) -> Value:
    """Arithmetic, relations, and and or."""
    try:
        return plain(_binary(operator, a, b, node))
    except (TypeError, ValueError) as error:
        if isinstance(error, ValueError) and not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray):
            raise problem(f"`{node.text}`: {error}", node, rule="3.4") from error
        text = f"`{operator}` cannot be applied to these operands"
        raise problem(text, node, rule="10.6", hint="check their types and sizes") from error
    except ZeroDivisionError as error:
        raise problem(f"division by zero in `{node.text}`", node, rule="10.6.5") from error
    except OverflowError as error:
        raise problem(f"the value of `{node.text}` is too large", node, rule="10.6") from error


def _binary(operator: str, a: Value, b: Value, node: Any) -> Value:
    arrays = isinstance(a, np.ndarray) or isinstance(b, np.ndarray)
    if operator in _RELATIONS:
        return _relation(operator, a, b, arrays)
    if operator in ("and", "or"):
        if arrays:
            return np.logical_and(a, b) if operator == "and" else np.logical_or(a, b)
        return (a and b) if operator == "and" else (a or b)
    if isinstance(a, RecordValue) or isinstance(b, RecordValue):
        raise TypeError("records")
    if operator[0] == ".":
        operator = operator[1:]
        if operator == "*":
            return a * b
        if operator == "^":
            return np.power(np.asarray(a, float), b)
    if operator in "+-":
        if arrays and np.shape(a) != np.shape(b) and node.operator[0] != ".":
            raise ValueError("sizes differ")
        return a + b if operator == "+" else a - b
    if operator == "*":
        return _product(a, b)
    if operator == "/":
        if arrays:
            if not isinstance(b, np.ndarray) and b == 0:
                raise ZeroDivisionError
            return np.asarray(a, float) / b
        return float(a) / b
    if operator == "^":
        if isinstance(a, np.ndarray):
            return np.linalg.matrix_power(a, int(b))
        return math.pow(a, b)
    raise TypeError(operator)


_RELATIONS = frozenset(("<", "<=", ">", ">=", "==", "<>"))


def _relation(operator: str, a: Value, b: Value, arrays: bool) -> Value:
    if not arrays and isinstance(a, str) != isinstance(b, str):
        raise TypeError("strings")
    match operator:
        case "==":
            return a == b
        case "<>":
            return a != b
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
    return a >= b


def _product(a: Value, b: Value) -> Value:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a @ b if a.size and b.size else np.zeros((*a.shape[:-1], *b.shape[1:]))
    return a * b
