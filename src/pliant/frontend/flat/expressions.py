"""Expressions of a flat model.

An expression is an integer: its number in the store :class:`Expressions`, three tuples side by side.

    nodes   what it is: one of the classes below, operands by number
    types   what it gives: :class:`~pliant.frontend.flat.types.Type`
    spans   where it stands in the source, None for what no one wrote

Operands have smaller numbers than their users, so one ascending walk visits operands first, and no nesting is too
deep for it. Nodes are not shared between places of the source: an occurrence has a place of its own, and ``noEvent``
holds for what stands under it only. A whole expression may have several users (a condition that two clauses name).

Everything about names is over: variables, locals of functions and iterators are numbers, ``end`` is a number or
``size(...)``, enumeration literals are :class:`Literal` of an enumeration type. Records are read as their fields.

Built-in functions and operators (:class:`Builtin`) have the names of the specification 3.6:

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
from dataclasses import dataclass
from typing import Any

from pliant.frontend.flat.types import Type
from pliant.ir import Span

WHOLE = -1  # the subscript `:`
NONE = -1  # no expression: a step or an output that is left out


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, true, false or a string; of an enumeration, the place of the value from 1."""

    value: float | int | bool | str


@dataclass(frozen=True, slots=True)
class Ref:
    """A variable of the model, as a whole."""

    variable: int


@dataclass(frozen=True, slots=True)
class Time:
    """The independent variable."""


@dataclass(frozen=True, slots=True)
class Iterator:
    """The variable of a loop around."""

    number: int


@dataclass(frozen=True, slots=True)
class Local:
    """A variable of a function: inputs come first, then outputs, then protected ones."""

    function: int
    number: int


@dataclass(frozen=True, slots=True)
class Unary:
    """``-`` ``+`` ``not``."""

    operator: str
    operand: int


@dataclass(frozen=True, slots=True)
class Binary:
    """``+ - * / ^``, ``.+ .- .* ./ .^``, ``< <= > >= == <>``, ``and or``.

    ``*`` of arrays is the matrix product, ``+`` of strings joins them. A relation makes an event where it depends on
    something continuous, unless it stands under ``noEvent`` or ``smooth``, in a function or in an assertion.
    """

    operator: str
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class IfExpression:
    """``if c1 then v1 elseif c2 then v2 else v3``: operands c1, v1, c2, v2, v3."""

    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """``{a, b, c}``; nested for matrices. Without elements its type says the shape."""

    elements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record from its fields, in the order of its type."""

    fields: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record, or of every element of an array of records."""

    base: int
    number: int


@dataclass(frozen=True, slots=True)
class Range:
    """``start : step : stop``; step is NONE where it is not given."""

    start: int
    step: int
    stop: int


@dataclass(frozen=True, slots=True)
class Index:
    """``base[subscripts]``: each a scalar, a vector or WHOLE; may be fewer than there are dimensions."""

    base: int
    subscripts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """The array ``base`` with ``base[subscripts]`` replaced: what an assignment to a part of an array makes of it."""

    base: int
    subscripts: tuple[int, ...]
    value: int


@dataclass(frozen=True, slots=True)
class Loop:
    """``iterator in range``; the range is a vector, an enumeration has been written out."""

    iterator: int
    range: int


@dataclass(frozen=True, slots=True)
class Comprehension:
    """``{body for i in a, j in b}``: the dimensions of the array are those of the loops, then those of the body."""

    body: int
    loops: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class Reduction:
    """``sum(body for i in a)``, or product, min, max."""

    name: str
    body: int
    loops: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in function or operator (see above)."""

    name: str
    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the model, all inputs given. With several outputs its value is a tuple."""

    function: int
    operands: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """One output of a call that has several."""

    call: int
    number: int


@dataclass(frozen=True, slots=True)
class Tuple:
    """``(a, , b)`` on the left side of a call with several outputs; NONE for one that is left out."""

    elements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """True at the instants of a clock: ``sample(start, interval)``, or a clock in a when-clause."""

    clock: int


@dataclass(frozen=True, slots=True)
class Interval:
    """Time since the tick of a clock before this one."""

    clock: int


Expression = (
    Literal
    | Ref
    | Time
    | Iterator
    | Local
    | Unary
    | Binary
    | IfExpression
    | Array
    | Record
    | Field
    | Range
    | Index
    | Update
    | Comprehension
    | Reduction
    | Builtin
    | Call
    | Output
    | Tuple
    | Tick
    | Interval
)


@dataclass(frozen=True, slots=True, eq=False)
class Expressions:
    """The store: nodes, their types and their places, by number."""

    nodes: tuple[Expression, ...] = ()
    types: tuple[Type, ...] = ()
    spans: tuple[Span | None, ...] = ()


RELATIONS = frozenset({"<", "<=", ">", ">=", "==", "<>"})
LOGICAL = frozenset({"and", "or"})
ARITHMETIC = frozenset({"+", "-", "*", "/", "^"})
ELEMENTWISE = frozenset({".+", ".-", ".*", "./", ".^"})


def operands(node: Expression) -> tuple[int, ...]:
    """Numbers of all expressions directly under a node, in the order in which they stand."""
    reader = _OPERANDS.get(node.__class__)
    return () if reader is None else reader(node)


def _subscripts(given: tuple[int, ...]) -> tuple[int, ...]:
    return given if WHOLE not in given else tuple(s for s in given if s != WHOLE)


def _loops(node: Comprehension | Reduction) -> tuple[int, ...]:
    return (*(loop.range for loop in node.loops), node.body)


_OPERANDS: dict[type, Callable[[Any], tuple[int, ...]]] = {
    Unary: lambda n: (n.operand,),
    Binary: lambda n: (n.left, n.right),
    IfExpression: lambda n: n.operands,
    Array: lambda n: n.elements,
    Record: lambda n: n.fields,
    Field: lambda n: (n.base,),
    Range: lambda n: (n.start, n.stop) if n.step == NONE else (n.start, n.step, n.stop),
    Index: lambda n: (n.base, *_subscripts(n.subscripts)),
    Update: lambda n: (n.base, *_subscripts(n.subscripts), n.value),
    Comprehension: _loops,
    Reduction: _loops,
    Builtin: lambda n: n.operands,
    Call: lambda n: n.operands,
    Output: lambda n: (n.call,),
    Tuple: lambda n: _subscripts(n.elements),
}
