"""What each kind of expression does: one step per node, made once and run per point of a loop or call of a function.

A step reads the values of its operands from the interpreter's list and writes its own. Scalars, by far the most, take
the short way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pliant.errors import ModelError
from pliant.expr.build import add, const, div, logical_and, logical_not, logical_or, mul, neg, power, sub, value_of
from pliant.frontend.flat.expressions import (
    LOGICAL,
    NONE,
    WHOLE,
    ClockInterval,
    ClockTick,
    FlatArray,
    FlatBinary,
    FlatBuiltin,
    FlatCall,
    FlatChoice,
    FlatComprehension,
    FlatField,
    FlatIndex,
    FlatLiteral,
    FlatLoop,
    FlatOutput,
    FlatRange,
    FlatRecord,
    FlatReduction,
    FlatTuple,
    FlatUnary,
    FlatUpdate,
    IteratorRef,
    LocalRef,
    TimeRef,
    VariableRef,
)
from pliant.frontend.flat.types import BaseType
from pliant.frontend.scalar import arrays
from pliant.frontend.scalar.open_texts import number_text
from pliant.frontend.scalar.values import Arr, Rec, Value, map1, map2, matrix_power, multiply, stack
from pliant.ir import Graph, Op
from pliant.texts import joined

if TYPE_CHECKING:
    from pliant.frontend.scalar.interpret import Interpreter

Step = Callable[[], None]
Maker = Callable[["Interpreter", int, Any], Step]

COMPARE = {
    "<": (Op.LT, False),
    ">": (Op.LT, True),
    "<=": (Op.LE, False),
    ">=": (Op.LE, True),
    "==": (Op.EQ, False),
    "<>": (Op.NE, False),
}


def _literal(run: Interpreter, number: int, node: FlatLiteral) -> Step:
    value: Value = node.value if isinstance(node.value, str) else const(run.g, float(node.value))
    values = run.values

    def step() -> None:
        values[number] = value

    return step


def _iterator(run: Interpreter, number: int, node: IteratorRef) -> Step:
    values, points, which = run.values, run.points, node.number

    def step() -> None:
        values[number] = points[which]

    return step


def _local(run: Interpreter, number: int, node: LocalRef) -> Step:
    values, all_locals, function, which = run.values, run.locals, node.function, node.number

    def step() -> None:
        found = all_locals[function][which]
        values[number] = run.default(function, which) if found is None else found

    return step


def _variable(run: Interpreter, number: int, node: VariableRef) -> Step:
    values, which = run.values, node.variable

    def step() -> None:
        values[number] = run.variable(which, number)

    return step


def _time(run: Interpreter, number: int, _: TimeRef) -> Step:
    values = run.values

    def step() -> None:
        values[number] = run.g.intern((Op.TIME,))

    return step


def _special(run: Interpreter, number: int, node: Any) -> Step:
    values = run.values

    def step() -> None:
        values[number] = run.special(number, node)

    return step


def _binary(run: Interpreter, number: int, node: FlatBinary) -> Step:
    operator = node.operator
    values, g, a, b = run.values, run.g, node.left, node.right
    if operator in LOGICAL:
        return _logical(run, number, node)
    if operator in COMPARE:

        def compare() -> None:
            values[number] = run.relation(number, operator, values[a], values[b])  # type: ignore[arg-type]

        return compare
    scalar = _ARITHMETIC[operator.removeprefix(".")]
    general = _GENERAL.get(operator)
    if scalar is div:
        return _quotient(run, number, node)

    def step() -> None:
        x: Any = values[a]
        y: Any = values[b]
        if x.__class__ is int and y.__class__ is int:
            values[number] = scalar(g, x, y)
        elif general is not None:
            values[number] = general(run, x, y)
        else:
            values[number] = map2(g, scalar, x, y)

    return step


def _logical(run: Interpreter, number: int, node: FlatBinary) -> Step:
    values, g = run.values, run.g
    a, b, is_and = node.left, node.right, node.operator == "and"
    scalar = logical_and if is_and else logical_or

    def step() -> None:
        x: Any = values[a]
        known = run.decided(x)
        if known is not None and bool(known) != is_and:
            values[number] = const(g, known)
            return
        if isinstance(x, int):  # the right side is reached where the left one does not decide
            with run.under_condition(x if is_and else logical_not(g, x)):
                y = run.value(b)
        else:
            y = run.value(b)
        values[number] = map2(g, scalar, x, y)

    return step


def _quotient(run: Interpreter, number: int, node: FlatBinary) -> Step:
    values, a, b = run.values, node.left, node.right

    def divide(g: Graph, x: int, y: int) -> int:
        if value_of(g, y) == 0.0 and not run.guarded:  # where it may not be reached it is no error
            raise ModelError("division by zero", hint="change the parameters in the denominator")
        return div(g, x, y)

    def step() -> None:
        x: Any = values[a]
        y: Any = values[b]
        values[number] = divide(run.g, x, y) if x.__class__ is y.__class__ is int else map2(run.g, divide, x, y)

    return step


def _add_values(run: Interpreter, x: Value, y: Value) -> Value:
    if isinstance(x, str) and isinstance(y, str):
        return joined(x, y)
    return map2(run.g, add, x, y)


def _power_values(run: Interpreter, x: Value, y: Value) -> Value:
    if isinstance(x, Arr):
        return matrix_power(run.g, x, run.integer(y, "the exponent of a matrix"))
    return map2(run.g, power, x, y)


_ARITHMETIC = {"+": add, "-": sub, "*": mul, "/": div, "^": power}
_GENERAL: dict[str, Callable[[Interpreter, Value, Value], Value]] = {
    "+": _add_values,
    "*": lambda run, x, y: multiply(run.g, x, y),
    "^": _power_values,
}


_UNARY: dict[str, Callable[[Graph, int], int]] = {"-": neg, "not": logical_not, "+": lambda _, e: e}


def _unary(run: Interpreter, number: int, node: FlatUnary) -> Step:
    values, g, a = run.values, run.g, node.operand
    scalar = _UNARY[node.operator]

    def step() -> None:
        x: Any = values[a]
        values[number] = scalar(g, x) if x.__class__ is int else map1(lambda e: scalar(g, e), x)

    return step


def _choice(run: Interpreter, number: int, node: FlatChoice) -> Step:
    values, operands = run.values, node.operands
    pairs = [(operands[k], operands[k + 1]) for k in range(0, len(operands) - 1, 2)]

    def step() -> None:
        open_branches: list[tuple[int, Value]] = []
        none = const(run.g, 1.0)  # no branch so far
        for c, branch in pairs:
            condition = run.condition(c, none, guarded=bool(open_branches))
            known = run.decided(condition)
            if known is None:
                with run.under_condition(logical_and(run.g, none, condition)):
                    open_branches.append((condition, run.value(branch)))
                none = logical_and(run.g, none, logical_not(run.g, condition))
            elif known:
                last = branch
                break
        else:
            last = operands[-1]
        if not open_branches:
            values[number] = run.value(last)
            return
        with run.under_condition(none):
            result = run.value(last)
        for condition, value in reversed(open_branches):
            result = run.select(condition, value, result)
        values[number] = result

    return step


def _array(run: Interpreter, number: int, node: FlatArray) -> Step:
    values: list[Any] = run.values
    elements = node.elements
    if not elements:
        shape = tuple(n or 0 for n in run.tape.types[number].shape)

        def empty() -> None:
            values[number] = Arr(shape, [])

        return empty

    def step() -> None:
        values[number] = stack([values[a] for a in elements])

    return step


def _record(run: Interpreter, number: int, node: FlatRecord) -> Step:
    values, fields = run.values, node.fields

    def step() -> None:
        values[number] = Rec([values[a] for a in fields])

    return step


def _tuple(run: Interpreter, number: int, node: FlatTuple) -> Step:
    values: list[Any] = run.values
    elements = node.elements

    def step() -> None:
        values[number] = [values[a] for a in elements if a != NONE]

    return step


def _field(run: Interpreter, number: int, node: FlatField) -> Step:
    values: list[Any] = run.values
    base, field = node.base, node.number

    def step() -> None:
        value = values[base]
        if isinstance(value, Arr):
            parts = [element.fields[field] for element in value.flat]
            inner = stack(parts) if parts else Arr((0,), [])
            values[number] = Arr((*value.shape, *inner.shape[1:]), inner.flat)
        else:
            values[number] = value.fields[field]

    return step


def _comprehended(run: Interpreter, body: int, loops: tuple[FlatLoop, ...]) -> Arr:
    shape = tuple(len(run.range_of(loop.range)) for loop in loops)
    parts = [run.value(body) for _ in run.over(loops)]
    inner = stack(parts) if parts else Arr((0,), [])
    return Arr((*shape, *inner.shape[1:]), inner.flat)


def _comprehension(run: Interpreter, number: int, node: FlatComprehension) -> Step:
    values = run.values

    def step() -> None:
        values[number] = _comprehended(run, node.body, node.loops)

    return step


def _reduction(run: Interpreter, number: int, node: FlatReduction) -> Step:
    values = run.values

    def step() -> None:
        values[number] = run.builtin(node.name, number, [_comprehended(run, node.body, node.loops)])

    return step


def _index(run: Interpreter, number: int, node: FlatIndex) -> Step:
    values: list[Any] = run.values
    base, subscripts = node.base, node.subscripts
    if len(subscripts) == 1 and subscripts[0] != WHOLE and not run.tape.types[subscripts[0]].shape:
        place, graph_nodes = subscripts[0], run.g.nodes

        def one() -> None:
            array = values[base]
            chosen = graph_nodes[values[place]]
            if chosen[0] == 0 and len(array.shape) == 1 and 1 <= chosen[1] <= array.shape[0]:
                values[number] = array.flat[int(chosen[1]) - 1]
            else:
                values[number] = arrays.pick(run, array, [("index", values[place])], number)

        return one

    def step() -> None:
        values[number] = arrays.pick(run, values[base], _chosen(values, subscripts), number)

    return step


def _chosen(values: list[Any], subscripts: tuple[int, ...]) -> list[arrays.Subscript]:
    return [("whole", 0) if s == WHOLE else ("index", values[s]) for s in subscripts]


def _update(run: Interpreter, number: int, node: FlatUpdate) -> Step:
    values: list[Any] = run.values

    def step() -> None:
        chosen = _chosen(values, node.subscripts)
        values[number] = arrays.update(run, values[node.base], values[node.value], chosen)

    return step


def _range(run: Interpreter, number: int, node: FlatRange) -> Step:
    values: list[Any] = run.values

    def step() -> None:
        why = "a range"
        start, stop = run.number(values[node.start], why), run.number(values[node.stop], why)
        width = 1.0 if node.step == NONE else run.number(values[node.step], why)
        count = int((stop - start) / width + 1e-9) + 1 if (stop - start) / width > -1e-9 else 0
        values[number] = Arr((count,), [const(run.g, start + k * width) for k in range(count)])

    return step


def _builtin(run: Interpreter, number: int, node: FlatBuiltin) -> Step:
    values: list[Any] = run.values
    name, operands = node.name, node.operands
    if name in SPECIAL:
        return _special(run, number, node)
    if name == "String":
        return _string(run, number, operands)

    def step() -> None:
        values[number] = run.builtin(name, number, [values[a] for a in operands])

    return step


def _string(run: Interpreter, number: int, given: tuple[int, ...]) -> Step:
    """String(x, minimumLength, leftJustified, significantDigits, format)."""
    values: list[Any] = run.values
    of = run.tape.types[given[0]]
    literals = run.tape.flat.enumerations[of.number].literals if of.base is BaseType.ENUMERATION else ()
    kind = of.base.value.lower()

    def step() -> None:
        values[number] = number_text(run, kind, literals, [values[a] for a in given])

    return step


def _call(run: Interpreter, number: int, node: FlatCall) -> Step:
    values: list[Any] = run.values
    function, operands = node.function, node.operands
    is_single = run.tape.flat.functions[function].n_outputs == 1

    def step() -> None:
        results = run.call(function, [values[a] for a in operands])
        values[number] = results[0] if is_single else results

    def pure() -> None:
        with run.impure.pure(True):
            step()

    return pure if node.is_pure else step


def _output(run: Interpreter, number: int, node: FlatOutput) -> Step:
    values: list[Any] = run.values

    def step() -> None:
        values[number] = values[node.call][node.number]

    return step


# operators whose meaning events and time give: the owner of variables evaluates them
SPECIAL = frozenset(
    [
        "der",
        "pre",
        "previous",
        "edge",
        "change",
        "initial",
        "terminal",
        "delay",
        "sample",
        "hold",
        "subSample",
        "superSample",
        "shiftSample",
        "backSample",
        "noClock",
        "spatialDistribution",
        "firstTick",
        "Clock",
    ]
)

MAKERS: dict[type, Maker] = {
    FlatLiteral: _literal,
    VariableRef: _variable,
    TimeRef: _time,
    IteratorRef: _iterator,
    LocalRef: _local,
    FlatBinary: _binary,
    FlatUnary: _unary,
    FlatChoice: _choice,
    FlatArray: _array,
    FlatRecord: _record,
    FlatField: _field,
    FlatComprehension: _comprehension,
    FlatReduction: _reduction,
    FlatIndex: _index,
    FlatUpdate: _update,
    FlatRange: _range,
    FlatBuiltin: _builtin,
    FlatCall: _call,
    FlatOutput: _output,
    FlatTuple: _tuple,
    ClockTick: _special,
    ClockInterval: _special,
}
