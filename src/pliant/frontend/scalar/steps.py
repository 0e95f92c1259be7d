"""What each kind of expression does: one step per node, made once and run per point of a loop or call of a function.

A step reads the values of its operands from the interpreter's list and writes its own. Scalars, by far the most, take
the short way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import add, const, div, logical_and, logical_not, logical_or, mul, neg, power, sub, value_of
from pliant.frontend.scalar import arrays
from pliant.frontend.scalar.values import Arr, Rec, Value, map1, map2, matrix_power, multiply, stack
from pliant.ir import Graph, Op

if TYPE_CHECKING:
    from pliant.frontend.scalar.interpret import Interpreter

Step = Callable[[], None]
Maker = Callable[["Interpreter", int], Step]

COMPARE = {
    "less": (Op.LT, False),
    "greater": (Op.LT, True),
    "less_equal": (Op.LE, False),
    "greater_equal": (Op.LE, True),
    "equal": (Op.EQ, False),
    "not_equal": (Op.NE, False),
}


def _literal(run: Interpreter, number: int) -> Step:
    ((kind, raw),) = run.nodes.raw[number].items()
    value: Value = raw if kind == "string" else const(run.g, float(raw))
    values = run.values

    def step() -> None:
        values[number] = value

    return step


def _coordinate(run: Interpreter, number: int) -> Step:
    values = run.values
    raw = run.nodes.raw[number]
    which: Any
    kind, which = (raw, None) if isinstance(raw, str) else next(iter(raw.items()))
    if kind == "binder":
        points, domain, place = run.points, which["domain"], which["ordinal"]

        def binder() -> None:
            values[number] = points[domain][place]

        return binder
    if kind == "function_parameter":
        parameters, function, ordinal = run.parameters, which["function"], which["ordinal"]

        def parameter() -> None:
            values[number] = parameters[function][ordinal]

        return parameter

    def other() -> None:
        values[number] = run.coordinate(kind, which, number)

    return other


def _binary(run: Interpreter, number: int) -> Step:
    raw = run.nodes.raw[number]
    operator: str = raw["operator"]
    values, g, a, b = run.values, run.g, raw["lhs"], raw["rhs"]
    if operator in ("and", "or"):
        return _logical(run, number, operator == "and")
    if operator in COMPARE:

        def compare() -> None:
            values[number] = run.relation(number, operator, values[a], values[b])

        return compare
    scalar = _ARITHMETIC[operator.removeprefix("elementwise_")]
    general = _GENERAL.get(operator)

    def step() -> None:
        x, y = values[a], values[b]
        if x.__class__ is int and y.__class__ is int:
            values[number] = scalar(g, x, y)
        elif general is not None:
            values[number] = general(run, x, y)
        else:
            values[number] = map2(g, scalar, x, y)

    return step


def _logical(run: Interpreter, number: int, is_and: bool) -> Step:
    values, g = run.values, run.g
    a, b = run.nodes.strict[number][0], run.nodes.lazy[number][0]
    scalar = logical_and if is_and else logical_or

    def step() -> None:
        x = values[a]
        known = run.decided(x)
        if known is not None and bool(known) != is_and:
            values[number] = const(g, known)
            return
        y = run.value(b)
        values[number] = map2(g, scalar, x, y)

    return step


def _divide(g: Graph, a: int, b: int) -> int:
    if value_of(g, b) == 0.0:
        raise ModelError("division by zero", hint="change the parameters in the denominator")
    return div(g, a, b)


def _add_values(run: Interpreter, x: Value, y: Value) -> Value:
    if isinstance(x, str) and isinstance(y, str):
        return x + y
    return map2(run.g, add, x, y)


def _power_values(run: Interpreter, x: Value, y: Value) -> Value:
    if isinstance(x, Arr):
        return matrix_power(run.g, x, run.integer(y, "the exponent of a matrix"))
    return map2(run.g, power, x, y)


_ARITHMETIC = {"add": add, "subtract": sub, "multiply": mul, "divide": _divide, "power": power}
_GENERAL: dict[str, Callable[[Interpreter, Value, Value], Value]] = {
    "add": _add_values,
    "multiply": lambda run, x, y: multiply(run.g, x, y),
    "power": _power_values,
}


_UNARY: dict[str, Callable[[Graph, int], int]] = {"negate": neg, "not": logical_not, "plus": lambda _, e: e}


def _unary(run: Interpreter, number: int) -> Step:
    raw = run.nodes.raw[number]
    values, g, a = run.values, run.g, raw["operand"]
    scalar = _UNARY[raw["operator"]]

    def step() -> None:
        x = values[a]
        values[number] = scalar(g, x) if x.__class__ is int else map1(lambda e: scalar(g, e), x)

    return step


def _conditional(run: Interpreter, number: int) -> Step:
    values = run.values
    operands = run.nodes.strict[number] + run.nodes.lazy[number]
    pairs = [(operands[k], operands[k + 1]) for k in range(0, len(operands) - 1, 2)]

    def step() -> None:
        open_branches: list[tuple[int, Value]] = []
        for c, branch in pairs:
            condition = run.scalar(c)
            known = run.decided(condition)
            if known is None:
                with run.under_condition():
                    open_branches.append((condition, run.value(branch)))
            elif known:
                last = branch
                break
        else:
            last = operands[-1]
        if not open_branches:
            values[number] = run.value(last)
            return
        with run.under_condition():
            result = run.value(last)
        for condition, value in reversed(open_branches):
            result = run.select(condition, value, result)
        values[number] = result

    return step


def _array(run: Interpreter, number: int) -> Step:
    values, operands = run.values, run.nodes.strict[number]
    if not operands:
        shape = tuple(run.types[run.nodes.raw[number]["value_type"]]["dimensions"])

        def empty() -> None:
            values[number] = Arr(shape, [])

        return empty

    def step() -> None:
        values[number] = stack([values[a] for a in operands])

    return step


def _record(run: Interpreter, number: int) -> Step:
    values, operands = run.values, run.nodes.strict[number]

    def step() -> None:
        values[number] = Rec([values[a] for a in operands])

    return step


def _field(run: Interpreter, number: int) -> Step:
    values, raw = run.values, run.nodes.raw[number]
    base, field = raw["base"], raw["field"]

    def step() -> None:
        value = values[base]
        if isinstance(value, Arr):
            parts = [element.fields[field] for element in value.flat]
            inner = stack(parts) if parts else Arr((0,), [])
            values[number] = Arr((*value.shape, *inner.shape[1:]), inner.flat)
        else:
            values[number] = value.fields[field]

    return step


def _comprehension(run: Interpreter, number: int) -> Step:
    values, raw = run.values, run.nodes.raw[number]
    domain, body = raw["domain"], raw["body"]

    def step() -> None:
        shape = tuple(len(r) for r in run.domains[domain])
        parts = [run.value(body) for _ in run.over(domain)]
        inner = stack(parts) if parts else Arr((0,), [])
        values[number] = Arr((*shape, *inner.shape[1:]), inner.flat)

    return step


def _index(run: Interpreter, number: int) -> Step:
    values, raw, subscripts = run.values, run.nodes.raw[number], run.nodes.subscripts[number]
    base = raw["base"]
    if len(subscripts) == 1 and subscripts[0][0] == "index":
        place, graph_nodes = subscripts[0][1], run.g.nodes

        def one() -> None:
            array = values[base]
            node = graph_nodes[values[place]]
            if node[0] == 0 and len(array.shape) == 1 and 1 <= node[1] <= array.shape[0]:
                values[number] = array.flat[int(node[1]) - 1]
            else:
                values[number] = arrays.pick(run, array, [("index", values[place])])

        return one

    def step() -> None:
        chosen = [(kind, values[s] if s >= 0 else 0) for kind, s in subscripts]
        values[number] = arrays.pick(run, values[base], chosen)

    return step


def _array_update(run: Interpreter, number: int) -> Step:
    values, raw, subscripts = run.values, run.nodes.raw[number], run.nodes.subscripts[number]
    base, new = raw["base"], raw["value"]

    def step() -> None:
        chosen = [(kind, values[s] if s >= 0 else 0) for kind, s in subscripts]
        values[number] = arrays.update(run, values[base], values[new], chosen)

    return step


def _range(run: Interpreter, number: int) -> Step:
    values, raw = run.values, run.nodes.raw[number]
    first, step_id, last = raw["start_expression"], raw["explicit_step_expression"], raw["stop_expression"]

    def step() -> None:
        why = "a range"
        start, stop = run.number(values[first], why), run.number(values[last], why)
        width = 1.0 if step_id is None else run.number(values[step_id], why)
        count = int((stop - start) / width + 1e-9) + 1 if (stop - start) / width > -1e-9 else 0
        values[number] = Arr((count,), [const(run.g, start + k * width) for k in range(count)])

    return step


def _builtin(run: Interpreter, number: int) -> Step:
    values, operands = run.values, run.nodes.strict[number]
    raw = run.nodes.raw[number]
    name = raw["builtin"]

    def step() -> None:
        values[number] = run.builtin(name, number, [values[a] for a in operands])

    return step


def _call(run: Interpreter, number: int) -> Step:
    values, raw, operands = run.values, run.nodes.raw[number], run.nodes.strict[number]
    owner, output, function = raw["owner"], raw["output"], raw["function"]
    if owner != number:

        def other() -> None:
            values[number] = run.results[owner][output]

        return other

    def step() -> None:
        results = run.call(function, number, [values[a] for a in operands])
        run.results[number] = results
        values[number] = results[output]

    return step


def _function_value(run: Interpreter, number: int) -> Step:
    values, raw = run.values, run.nodes.raw[number]
    definitions, function, ordinal = run.definitions, raw["function"], raw["definition_ordinal"]

    def step() -> None:
        values[number] = definitions[function][ordinal]

    return step


def _string_conversion(run: Interpreter, number: int) -> Step:
    values, a = run.values, run.nodes.raw[number]["value"]

    def step() -> None:
        x = values[a]
        known = value_of(run.g, x) if isinstance(x, int) else None
        values[number] = x if isinstance(x, str) else "…" if known is None else f"{known:g}"

    return step


def _clock_transfer(run: Interpreter, number: int) -> Step:
    def step() -> None:
        run.values[number] = run.coordinate("clock_transfer", None, number)

    return step


def _internal(run: Interpreter, number: int) -> Step:
    raise NotSupportedError(
        f"rumoca's internal expression {number} is used, which pliant does not support",
        hint="write this equation in a simpler form, and report the model",
    )


MAKERS: dict[str, Maker] = {
    "literal": _literal,
    "coordinate": _coordinate,
    "binary": _binary,
    "unary": _unary,
    "conditional": _conditional,
    "array": _array,
    "record": _record,
    "field": _field,
    "comprehension": _comprehension,
    "index": _index,
    "array_update": _array_update,
    "range": _range,
    "builtin": _builtin,
    "runtime_quotient_owner": _builtin,
    "call": _call,
    "function_value": _function_value,
    "string_conversion": _string_conversion,
    "clock_transfer": _clock_transfer,
    "internal": _internal,
    "function_fold_parameter": _internal,
    "function_fold_output": _internal,
}
