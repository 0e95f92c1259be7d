"""Expressions of a flat model.

An expression is an integer: its number in the store :class:`Expressions`, three tuples side by side.

    nodes   what it is: one of the classes below, operands by number
    types   what it gives: :class:`~pliant.frontend.flat.types.Type`
    spans   where it stands in the source; None for what no one wrote, and where the front end keeps no place

Operands have smaller numbers than their users, so one ascending walk visits operands first, and no nesting is too
deep for it. Nodes are not shared between places of the source: an occurrence has a place of its own, and ``noEvent``
holds for what stands under it only. A whole expression may have several users (a condition that two clauses name).

Everything about names is over: variables, locals of functions and iterators are numbers, ``end`` is a number or
``size(...)``, enumeration literals are :class:`FlatLiteral` of an enumeration type. Records are read as their fields.

Built-in functions and operators (:class:`FlatBuiltin`) have the names of the specification 3.6:

    mathematics   abs sign sqrt sin ... atan2 exp log log10 min max floor ceil integer mod rem div sum product
    arrays        size ndims scalar vector matrix zeros ones fill identity diagonal transpose cross skew outerProduct
                  symmetric linspace cat promote, and "[,]", "[;]": operands promoted to rank 2 and joined beside or
                  below each other, as in matrix constructors
    events        pre edge change initial terminal noEvent smooth (order, expression) homotopy (actual, simplified)
                  reinit is an item, not an expression
    continuous    der delay (expression, time[, longest]) semiLinear spatialDistribution
    clocks        sample (continuous to clocked) hold previous subSample superSample shiftSample backSample noClock
    others        String (value, options...) Integer getInstanceName is a literal
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from pliant.frontend.flat.types import Type
from pliant.ir import Span

WHOLE = -1  # the subscript `:`
NONE = -1  # no expression: a step or an output that is left out


@dataclass(frozen=True, slots=True)
class FlatLiteral:
    """A number, true, false or a string; of an enumeration, the place of the value from 1."""

    value: float | int | bool | str


@dataclass(frozen=True, slots=True)
class VariableRef:
    """A variable of the model, as a whole."""

    variable: int


@dataclass(frozen=True, slots=True)
class TimeRef:
    """The independent variable."""


@dataclass(frozen=True, slots=True)
class IteratorRef:
    """The variable of a loop around."""

    number: int


@dataclass(frozen=True, slots=True)
class LocalRef:
    """A variable of a function: inputs come first, then outputs, then protected ones."""

    function: int
    number: int


@dataclass(frozen=True, slots=True)
class FlatUnary:
    """``-`` ``+`` ``not``."""

    operator: str
    operand: int


@dataclass(frozen=True, slots=True)
class FlatBinary:
    """``+ - * / ^``, ``.+ .- .* ./ .^``, ``< <= > >= == <>``, ``and or``.

    ``*`` of arrays is the matrix product, ``+`` of strings joins them. A relation makes an event where it depends on
    something continuous, unless it stands under ``noEvent`` or ``smooth``, in a function or in an assertion.
    """

    operator: str
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class FlatChoice:
    """``if c1 then v1 elseif c2 then v2 else v3``: operands c1, v1, c2, v2, v3."""

    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FlatArray:
    """``{a, b, c}``; nested for matrices. Without elements its type says the shape."""

    elements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FlatRecord:
    """A record from its fields, in the order of its type."""

    fields: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FlatField:
    """A field of a record, or of every element of an array of records."""

    base: int
    number: int


@dataclass(frozen=True, slots=True)
class FlatRange:
    """``start : step : stop``; step is NONE where it is not given."""

    start: int
    step: int
    stop: int


@dataclass(frozen=True, slots=True)
class FlatIndex:
    """``base[subscripts]``: each a scalar, a vector or WHOLE; may be fewer than there are dimensions."""

    base: int
    subscripts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FlatUpdate:
    """The array ``base`` with ``base[subscripts]`` replaced: what an assignment to a part of an array makes of it."""

    base: int
    subscripts: tuple[int, ...]
    value: int


@dataclass(frozen=True, slots=True)
class FlatLoop:
    """``iterator in range``; the range is a vector, an enumeration has been written out."""

    iterator: int
    range: int


@dataclass(frozen=True, slots=True)
class FlatComprehension:
    """``{body for i in a, j in b}``: the dimensions of the array are those of the loops, then those of the body."""

    body: int
    loops: tuple[FlatLoop, ...]


@dataclass(frozen=True, slots=True)
class FlatReduction:
    """``sum(body for i in a)``, or product, min, max."""

    name: str
    body: int
    loops: tuple[FlatLoop, ...]


@dataclass(frozen=True, slots=True)
class FlatBuiltin:
    """A built-in function or operator (see above)."""

    name: str
    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FlatCall:
    """A function of the model, all inputs given. With several outputs its value is a tuple.

    ``is_pure``: it stands in `pure(...)`, and may be called as often as the solver likes.
    """

    function: int
    operands: tuple[int, ...]
    is_pure: bool = False


@dataclass(frozen=True, slots=True)
class FlatOutput:
    """One output of a call that has several."""

    call: int
    number: int


@dataclass(frozen=True, slots=True)
class FlatTuple:
    """``(a, , b)`` on the left side of a call with several outputs; NONE for one that is left out."""

    elements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ClockTick:
    """True at the instants of a clock: ``sample(start, interval)``, or a clock in a when-clause."""

    clock: int


@dataclass(frozen=True, slots=True)
class ClockInterval:
    """Time since the tick of a clock before this one."""

    clock: int


FlatExpression = (
    FlatLiteral
    | VariableRef
    | TimeRef
    | IteratorRef
    | LocalRef
    | FlatUnary
    | FlatBinary
    | FlatChoice
    | FlatArray
    | FlatRecord
    | FlatField
    | FlatRange
    | FlatIndex
    | FlatUpdate
    | FlatComprehension
    | FlatReduction
    | FlatBuiltin
    | FlatCall
    | FlatOutput
    | FlatTuple
    | ClockTick
    | ClockInterval
)


@dataclass(frozen=True, slots=True, eq=False)
class Expressions:
    """The store: nodes, their types and their places, by number."""

    nodes: tuple[FlatExpression, ...] = ()
    types: tuple[Type, ...] = ()
    spans: tuple[Span | None, ...] = ()


RELATIONS = frozenset({"<", "<=", ">", ">=", "==", "<>"})
LOGICAL = frozenset({"and", "or"})
ARITHMETIC = frozenset({"+", "-", "*", "/", "^"})
ELEMENTWISE = frozenset({".+", ".-", ".*", "./", ".^"})


def operands(node: FlatExpression) -> tuple[int, ...]:
    """Numbers of all expressions directly under a node, in the order in which they stand."""
    reader = _OPERANDS.get(node.__class__)
    return () if reader is None else reader(node)


def with_operands(node: FlatExpression, new: Callable[[int], int]) -> FlatExpression:
    """The node over other operands."""
    changes: dict[str, Any] = {}
    for one in fields(node):
        value = getattr(node, one.name)
        if one.name in _PLAIN_FIELDS.get(node.__class__, _ALL):
            continue
        if isinstance(value, int):
            changes[one.name] = value if value == NONE else new(value)
        elif isinstance(value, tuple):
            changes[one.name] = tuple(_renewed(entry, new) for entry in value)
    return replace(node, **changes) if changes else node


def _renewed(entry: Any, new: Callable[[int], int]) -> Any:
    if isinstance(entry, FlatLoop):
        return FlatLoop(entry.iterator, new(entry.range))
    return entry if entry == NONE else new(entry)


def _subscripts(given: tuple[int, ...]) -> tuple[int, ...]:
    return given if WHOLE not in given else tuple(s for s in given if s != WHOLE)


def _loops(node: FlatComprehension | FlatReduction) -> tuple[int, ...]:
    return (*(loop.range for loop in node.loops), node.body)


_OPERANDS: dict[type, Callable[[Any], tuple[int, ...]]] = {
    FlatUnary: lambda n: (n.operand,),
    FlatBinary: lambda n: (n.left, n.right),
    FlatChoice: lambda n: n.operands,
    FlatArray: lambda n: n.elements,
    FlatRecord: lambda n: n.fields,
    FlatField: lambda n: (n.base,),
    FlatRange: lambda n: (n.start, n.stop) if n.step == NONE else (n.start, n.step, n.stop),
    FlatIndex: lambda n: (n.base, *_subscripts(n.subscripts)),
    FlatUpdate: lambda n: (n.base, *_subscripts(n.subscripts), n.value),
    FlatComprehension: _loops,
    FlatReduction: _loops,
    FlatBuiltin: lambda n: n.operands,
    FlatCall: lambda n: n.operands,
    FlatOutput: lambda n: (n.call,),
    FlatTuple: lambda n: _subscripts(n.elements),
}

_ALL = frozenset({"value", "variable", "number", "function", "clock"})  # leaves have no operands
_PLAIN_FIELDS: dict[type, frozenset[str]] = {
    FlatUnary: frozenset({"operator"}),
    FlatBinary: frozenset({"operator"}),
    FlatField: frozenset({"number"}),
    FlatUpdate: frozenset(),
    FlatReduction: frozenset({"name"}),
    FlatBuiltin: frozenset({"name"}),
    FlatCall: frozenset({"function"}),
    FlatOutput: frozenset({"number"}),
}
