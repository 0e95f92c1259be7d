"""FlatModel: a Modelica model without classes, as typed data. Where every front end ends and scalarisation begins.

    FlatModel
      variables              primitive: Real, Integer, Boolean, String, enumeration, Clock, FlatObject, or arrays of
                             these. Records are their fields, component arrays their elements: `r[2].p.v`
      expressions            one store, see expressions.py
      equations, algorithms  and the initial ones: items, see below. Connections are equations
      functions              specialised: by the sizes of their arguments, functional arguments, the package they are in
      records, enumerations  types that expressions and functions name by number
      clocks, objects        instants of sample(...) and of clocks; external objects
      experiment, files      the annotation; the files that places name

Items stand in equations, algorithms and functions alike:

    both                    FlatFor  FlatIf  FlatWhen  FlatAssert  FlatTerminate  FlatReinit  FlatInvoke
    equation sections only  FlatEquation
    statements only         FlatAssign  FlatWhile  FlatBreak  FlatReturn

FlatWhen-clauses are as written, all branches in order: a branch acts where its condition becomes true and none of those
before does. The same number as condition of several clauses is the same condition. In an algorithm, a variable that
changes at events only begins as ``pre(v)`` and others at their start value (specification 3.6, section 11.1.2).

What is not given is None (attributes), empty or -1 (NONE): there are no defaults in the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pliant.frontend.flat.expressions import NONE, Expressions, FlatLoop
from pliant.frontend.flat.types import (
    Causality,
    EnumerationType,
    Prefix,
    RecordType,
    Type,
    Variability,
)
from pliant.ir import Span, StateSelect


@dataclass(frozen=True, slots=True, eq=False)
class FlatVariable:
    """One variable. Attributes that may depend on parameters are expressions; a scalar one is for every element."""

    name: str
    type: Type
    variability: Variability  # declared, or found: a Real that a when-clause sets is DISCRETE
    causality: Causality = Causality.LOCAL  # seen from outside of the model
    prefix: Prefix = Prefix.NONE
    binding: int | None = None  # parameters and constants; those of other variables are equations
    start: int | None = None
    min: int | None = None
    max: int | None = None
    nominal: int | None = None
    fixed: tuple[bool, ...] = ()  # empty: not given; one for all elements, or one each in row-major order
    state_select: StateSelect = StateSelect.DEFAULT
    unit: str = ""
    display_unit: str = ""
    quantity: str = ""
    description: str = ""
    is_protected: bool = False
    is_hidden: bool = False  # made by the front end: no result shows it
    is_final: bool = False
    is_evaluated: bool = False  # a parameter whose value the front end used: it is folded, and what it is made from
    locked: str = ""  # why a parameter cannot be changed any more; empty: it can, as far as the front end knows
    clock: int = NONE  # of the partition that sets it
    class_name: str = ""  # declared type, e.g. Modelica.Units.SI.Voltage
    origin: str = "declaration"  # or what made it: "connection", "stream", ...
    span: Span | None = None

    @property
    def path(self) -> str:
        """Instance that declares it; empty for the model itself."""
        return instance_path(self.name)


def instance_path(name: str) -> str:
    """``a.b`` of ``a.b.x``; dots in quoted names do not count."""
    is_quoted, last = False, -1
    for place, letter in enumerate(name):
        if letter == "'" and name[place - 1 : place] != "\\":
            is_quoted = not is_quoted
        elif letter == "." and not is_quoted:
            last = place
    return name[:last] if last > 0 else ""


# ------------------------------------------------------------------------------------------------------------ items


@dataclass(frozen=True, slots=True, eq=False)
class FlatEquation:
    """``left = right``, scalars, arrays, records, or a tuple and a call.

    ``variability`` DISCRETE: it determines something that changes at events only. That follows from the sides, unless
    the equation is clocked: ``clock``. Of Integer, Boolean and enumeration variables, the one on the left side is
    determined: connections are turned that way round. Initial equations are DISCRETE if they have the form ``d = ...``
    or ``pre(d) = ...``, and PARAMETER if they give such a parameter its value. Zero on the right side, as an Integer,
    stands for zeros of any shape.
    """

    left: int
    right: int
    variability: Variability = Variability.CONTINUOUS
    origin: str = "equation"  # equation, binding, connection, flow balance, stream, equality constraint, ...
    clock: int = NONE
    span: Span | None = None
    path: str = ""  # instance whose class says so


@dataclass(frozen=True, slots=True, eq=False)
class FlatAssign:
    """``target := value``; the target is a variable, a part of one, or a tuple.

    The value of a tuple is a call, or a tuple as well: all values are taken before the first one is assigned.
    """

    target: int
    value: int
    span: Span | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FlatFor:
    """``for i in a, j in b loop``: the first loop is the outermost."""

    loops: tuple[FlatLoop, ...]
    body: tuple[FlatItem, ...]
    span: Span | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FlatBranch:
    """What holds, or happens, under a condition; the place is that of the condition."""

    condition: int
    body: tuple[FlatItem, ...]
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class FlatIf:
    """``if c then ... elseif d then ... else ...``."""

    branches: tuple[FlatBranch, ...]
    otherwise: tuple[FlatItem, ...] = ()
    span: Span | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FlatWhen:
    """``when c then ... elsewhen d then ...``; a condition may be a vector: any of its elements becomes true."""

    branches: tuple[FlatBranch, ...]
    span: Span | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FlatWhile:
    """``while c loop``."""

    condition: int
    body: tuple[FlatItem, ...]
    span: Span | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FlatBreak:
    """Leave the innermost loop."""

    span: Span | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FlatReturn:
    """Leave the function."""

    span: Span | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FlatReinit:
    """``reinit(state, value)``, in a when-clause."""

    state: int
    value: int
    span: Span | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FlatAssert:
    """``assert(condition, message)``: an error, or a warning."""

    condition: int
    message: int
    is_error: bool = True
    span: Span | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FlatTerminate:
    """``terminate(message)``."""

    message: int
    span: Span | None = None
    path: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class FlatInvoke:
    """A call for what it does, not for a value."""

    call: int
    span: Span | None = None
    path: str = ""


FlatItem = (
    FlatEquation
    | FlatAssign
    | FlatFor
    | FlatIf
    | FlatWhen
    | FlatWhile
    | FlatBreak
    | FlatReturn
    | FlatReinit
    | FlatAssert
    | FlatTerminate
    | FlatInvoke
)


@dataclass(frozen=True, slots=True, eq=False)
class FlatAlgorithm:
    """One section: its statements in order."""

    body: tuple[FlatItem, ...]
    span: Span | None = None
    path: str = ""


# -------------------------------------------------------------------------------------------------------- functions


@dataclass(frozen=True, slots=True, eq=False)
class FlatLocal:
    """A variable of a function. ``binding``: what it holds at the start; inputs have been given already."""

    name: str
    type: Type
    binding: int | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class FlatExternal:
    """``external "C" result = symbol(arguments)`` and the annotations beside it."""

    symbol: str
    language: str = "C"
    arguments: tuple[int, ...] = ()
    result: int = NONE  # an expression in locals that the call sets
    sizes: frozenset[int] = frozenset()  # places of arguments that are size(...)
    include: str = ""
    include_folder: str = ""  # folders are paths
    libraries: tuple[str, ...] = ()
    library_folder: str = ""
    source_folder: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class DerivativeRule:
    """``annotation(derivative(...) = g)``: the function that gives d/dt, and what it asks of inputs."""

    function: int
    inputs: tuple[str, ...] = ()  # for each input "differentiate", "zero" (zeroDerivative) or "none" (noDerivative)
    order: int = 1
    priority: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class InverseRule:
    """``annotation(inverse(u = g(...)))``: the input ``input`` as an expression of an output and the other inputs."""

    input: int
    value: int


@dataclass(frozen=True, slots=True, eq=False)
class PartialRule:
    """The function is the derivative of another by some of its inputs, one after the other (12.7.2)."""

    function: int
    inputs: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FlatFunction:
    """A function: the first ``n_inputs`` locals are inputs, the next ``n_outputs`` outputs, the others protected.

    One that is a ``partial`` derivative has neither body nor protected variables.
    """

    name: str
    locals: tuple[FlatLocal, ...]
    n_inputs: int
    n_outputs: int
    body: tuple[FlatItem, ...] = ()
    external: FlatExternal | None = None
    partial: PartialRule | None = None
    derivatives: tuple[DerivativeRule, ...] = ()
    inverses: tuple[InverseRule, ...] = ()
    smooth_order: int | None = None
    inline: str = ""  # "", "always", "late", "never"
    is_pure: bool = True
    span: Span | None = None

    @property
    def inputs(self) -> tuple[FlatLocal, ...]:
        """What a call gives."""
        return self.locals[: self.n_inputs]

    @property
    def outputs(self) -> tuple[FlatLocal, ...]:
        """What a call gets."""
        return self.locals[self.n_inputs : self.n_inputs + self.n_outputs]


# ------------------------------------------------------------------------------------------------ clocks and objects


@dataclass(frozen=True, slots=True, eq=False)
class FlatClock:
    """Instants at which something happens.

    periodic  first + k numerator/denominator, k = 0, 1, ...; ``sample(start, interval)`` and Clock(interval)
    event     where ``condition`` becomes true
    when      where ``condition``, which reads other clocks, holds
    """

    kind: str
    first: tuple[int, int] = (0, 1)  # numerator, denominator
    interval: tuple[int, int] = (0, 1)
    condition: int = NONE
    base: int = NONE
    name: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class FlatTable:
    """What is in a table of the Standard Library whose data are known, enumerations as their ordinals."""

    rows: tuple[tuple[float, ...], ...]
    columns: tuple[int, ...]
    smoothness: int
    extrapolation: int
    time_scale: int = NONE  # expressions, tables over time only
    start_time: int = NONE
    shift_time: int = NONE
    time_events: int = NONE


@dataclass(frozen=True, slots=True, eq=False)
class FlatObject:
    """An object: the variable that holds it, and how it is made."""

    variable: int  # NONE: no variable was found
    handle: int = NONE  # the Integer that stands for it in expressions, where the front end has made it
    constructor: int = NONE  # function
    destructor: int = NONE
    arguments: tuple[int, ...] = ()
    table: FlatTable | None = None
    name: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class FlatIterator:
    """The variable of loops: one entry may serve several loops, but none inside another."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Experiment:
    """The annotation; None: not given."""

    start: float | None = None
    stop: float | None = None
    tolerance: float | None = None
    interval: float | None = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that places name."""

    name: str
    library: str = ""  # with version, empty: the user's own


@dataclass(frozen=True, slots=True, eq=False)
class FlatModel:
    """A model without classes."""

    name: str
    variables: tuple[FlatVariable, ...] = ()
    expressions: Expressions = field(default_factory=Expressions)
    equations: tuple[FlatItem, ...] = ()
    initial_equations: tuple[FlatItem, ...] = ()
    algorithms: tuple[FlatAlgorithm, ...] = ()
    initial_algorithms: tuple[FlatAlgorithm, ...] = ()
    functions: tuple[FlatFunction, ...] = ()
    records: tuple[RecordType, ...] = ()
    enumerations: tuple[EnumerationType, ...] = ()
    iterators: tuple[FlatIterator, ...] = ()
    clocks: tuple[FlatClock, ...] = ()
    objects: tuple[FlatObject, ...] = ()
    experiment: Experiment = Experiment()
    files: tuple[SourceFile, ...] = ()
    description: str = ""
    class_name: str = ""  # full name of the class, where it differs from ``name``
    digest: str = ""  # the same for the same model, wherever its files lie


def walk(items: tuple[FlatItem, ...]) -> Iterator[FlatItem]:
    """All items, those inside others behind them."""
    stack = [*reversed(items)]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(reversed(bodies(item)))


def bodies(item: FlatItem) -> tuple[FlatItem, ...]:
    """Items directly inside one."""
    if isinstance(item, (FlatFor, FlatWhile)):
        return item.body
    if isinstance(item, (FlatIf, FlatWhen)):
        inner = tuple(one for branch in item.branches for one in branch.body)
        return inner + item.otherwise if isinstance(item, FlatIf) else inner
    return ()


def expressions_of(item: FlatItem) -> tuple[int, ...]:
    """Expressions that an item itself has, without those of items inside."""
    match item:
        case FlatEquation():
            return item.left, item.right
        case FlatAssign():
            return item.target, item.value
        case FlatFor():
            return tuple(loop.range for loop in item.loops)
        case FlatIf() | FlatWhen():
            return tuple(branch.condition for branch in item.branches)
        case FlatWhile():
            return (item.condition,)
        case FlatReinit():
            return item.state, item.value
        case FlatAssert():
            return item.condition, item.message
        case FlatTerminate():
            return (item.message,)
        case FlatInvoke():
            return (item.call,)
        case _:
            return ()
