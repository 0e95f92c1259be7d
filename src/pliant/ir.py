"""Pure data: what the packages that work with symbols exchange.

An expression is an integer, the number of its node in a :class:`Graph`. Nodes are hash-consed tuples
``(op, operand, ...)`` whose operands have smaller numbers, so one ascending walk visits operands first and equal
expressions are the same integer. :mod:`pliant.expr` builds and differentiates them.

    System        flat scalar equations ``residual = 0`` as the front end gives them; still being built
    SortedSystem  states, and blocks in order, each explicit or torn; final, with everything in it

Code that needs more expressions or variables than a SortedSystem has makes an overlay: ``graph.overlay()`` reads the
nodes of the final graph and numbers its own after them, and a list that begins with ``variables`` does the same.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from types import MappingProxyType
from typing import Any, NoReturn

from pliant.texts import OPEN, TOLD, joined, operands_of, rewritten

Node = tuple[Any, ...]  # (op, operand, ...): integers, one float in a CONST
Matrix = tuple[tuple[int, ...], ...]  # of expressions or variables


def _freeze(plain: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(plain)


def _thaw(frozen: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return _freeze, (dict(frozen),)


copyreg.pickle(MappingProxyType, _thaw)  # Python does not pickle them by itself


class Op:
    """Kinds of nodes, plain integers for speed. Operands are node numbers unless said otherwise."""

    CONST = 0  # value (a float)
    VAR = 1  # number of a variable
    TIME = 2
    REL = 3  # number of a relation: a Boolean that changes at events only
    ARG = 4  # number of an argument, inside the body of a function
    ADD = 5
    SUB = 6
    MUL = 7
    DIV = 8
    NEG = 9
    POW = 10
    IF = 11  # condition, then, else
    LT = 12
    LE = 13
    EQ = 14
    NE = 15
    AND = 16
    OR = 17
    NOT = 18
    MIN = 19
    MAX = 20
    ATAN2 = 21
    ABS = 22
    SIGN = 23
    SQRT = 24
    SIN = 25
    COS = 26
    TAN = 27
    ASIN = 28
    ACOS = 29
    ATAN = 30
    SINH = 31
    COSH = 32
    TANH = 33
    EXP = 34
    LOG = 35
    LOG10 = 36
    FLOOR = 37
    CEIL = 38
    CALL = 39  # number of a function, number of its output, then the arguments
    TABLE = 40  # number of a table, order of the derivative, then the argument
    HOMOTOPY = 41  # actual, simplified
    FOREIGN = 42  # a ForeignCall, number of its output, then the arguments
    ROUTINE = 44  # a Routine, number of its output, then the arguments
    DELAY = 43  # number, order (0 value, 1 slope, 2 derivative by the value now); t - T, value now, longest delay
    #: twice the number of a pipe, + 1: at its end 1; order (0 value; 1 to 4 its derivatives by the first operands; 5
    #: distance of the next jump, 6 its derivative by x); place, in0, in1, x, positiveVelocity, a relation, the initial
    #: profile: points, then values
    PIPE = 45


OP_NAME = {number: name.lower() for name, number in vars(Op).items() if isinstance(number, int)}
# how many leading entries of a node are plain numbers and not operands
PLAIN = {Op.CALL: 2, Op.TABLE: 2, Op.FOREIGN: 2, Op.DELAY: 2, Op.ROUTINE: 2, Op.PIPE: 2}


class Graph:
    """Hash-consed nodes; ``nodes[i]`` is the tuple of expression ``i``.

    An overlay has the nodes of a final graph and continues after them. Of those it keeps references only, in a list of
    its own, so that reading is as fast as ever; the index, which is the large part, is read where it is.
    """

    __slots__ = ("_append", "_below", "_index", "nodes")
    nodes: Sequence[Node]
    _index: dict[Node, int]  # without those of the graph below

    def __init__(self, below: FinalGraph | None = None) -> None:
        nodes: list[Node] = [] if below is None else [*below.nodes]
        self.nodes, self._append = nodes, nodes.append
        self._index = {}
        self._below = below

    def intern(self, node: Node) -> int:
        """Number of this node, a new one if it was not there."""
        number = self._index.get(node)
        if number is None:
            if self._below is not None:
                number = self._below.find(node)
            if number is None:
                number = len(self.nodes)
                self._append(node)
            self._index[node] = number
        return number

    def find(self, node: Node) -> int | None:
        """Number of this node, None if it is not there."""
        number = self._index.get(node)
        return number if number is not None or self._below is None else self._below.find(node)


class FinalGraph(Graph):
    """Nodes that cannot be changed or added to. The graph that they are taken from must not be used any more."""

    __slots__ = ()

    def __init__(self, graph: Graph) -> None:
        given = {"nodes": tuple(graph.nodes), "_index": MappingProxyType(graph._index), "_below": graph._below}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _final_graph, (self.nodes, self._below)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a final graph cannot be changed: {name}")

    def intern(self, node: Node) -> int:
        """Number of this node, which must be there."""
        number = self.find(node)
        if number is None:
            raise TypeError(f"a final graph takes no new node ({OP_NAME[node[0]]}): make an overlay of it")
        return number

    def overlay(self) -> Graph:
        """A graph with these nodes that can grow."""
        return Graph(self)


def _final_graph(nodes: Sequence[Node], below: FinalGraph | None) -> FinalGraph:
    """One that was pickled: below are the nodes with the smallest numbers."""
    graph = Graph(below)
    for node in nodes[len(graph.nodes) :]:
        graph.intern(node)
    return FinalGraph(graph)


@dataclass(frozen=True, slots=True)
class Span:
    """A place in the source: where an equation or a declaration stands."""

    file: str
    line: int
    column: int = 1
    text: str = ""  # what stands there, shortened

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class StateSelect(IntEnum):
    """How much the modeller wants a variable as a state."""

    NEVER = 0
    AVOID = 1
    DEFAULT = 2
    PREFER = 3
    ALWAYS = 4


class Kind(IntEnum):
    """What a variable is to the equations."""

    UNKNOWN = 0  # continuous: algebraic or a possible state
    INPUT = 1
    PARAMETER = 2  # tunable: kept as a symbol
    CONSTANT = 3  # parameter or constant whose value is folded in
    DISCRETE = 4  # changes at events only
    DERIVATIVE = 5  # der(v) of an unknown v
    SELECTION = 6  # coefficient of a dynamic state set: changes when the states are chosen anew
    BEFORE = 7  # read at events only: pre(v), the tick of a clock, initial()


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """One scalar variable. Attributes that may depend on parameters are expressions, None if not given."""

    name: str
    kind: Kind
    type: str = "real"  # real, integer, boolean, enumeration
    start: int | None = None
    fixed: bool = False
    nominal: int | None = None
    min: int | None = None
    max: int | None = None
    binding: int | None = None  # value of a parameter, or None: `start` is its value
    unit: str = ""
    description: str = ""
    state_select: StateSelect = StateSelect.DEFAULT
    is_output: bool = False  # output of the whole model
    is_discrete: bool = False  # declared so, or by its type: changes at events only
    literals: tuple[str, ...] = ()  # enumerations that are no parameters: their values, where known
    tunable: bool = True  # parameters: may be set before a simulation
    initial: bool = False  # parameters with fixed=false: unknowns of the initial equations
    span: Span | None = None

    @property
    def is_condition(self) -> bool:
        """Is it the condition of a when-clause?"""
        return self.name.startswith("$when")


def renewed(variable: Variable, new: Callable[[int], int], *, binding: bool = True) -> Variable:
    """The variable with other expressions as its attributes, with its binding or without; itself if none changes."""
    changes: dict[str, Any] = {}
    for name in ("start", "nominal", "min", "max", *(("binding",) if binding else ())):
        e = getattr(variable, name)
        if e is not None and (after := new(e)) != e:
            changes[name] = after
    return replace(variable, **changes) if changes else variable


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """``assert(condition, message)`` of the model, or what must hold of an index. Numbers in the message are those of
    the time at which it is violated.
    """

    condition: int
    message: str
    is_error: bool = True
    span: Span | None = None
    is_index: bool = False

    @property
    def words(self) -> str:
        """What a run says that ends here, or the warning."""
        return self.message if self.is_index or not self.is_error else joined("assertion failed: ", self.message)

    def expressions(self) -> tuple[int, ...]:
        """The condition, and the numbers in the message."""
        return (self.condition, *operands_of(self.message))

    def rewritten(self, new: Callable[[int], int]) -> Check:
        """The same over other expressions."""
        return replace(self, condition=new(self.condition), message=rewritten(self.message, new))


def without_values(check: Check, condition: int) -> Check:
    """The check where numbers in its message are not known any more: behind a loop, for one of its turns."""
    return replace(check, condition=condition, message=str.__str__(check.message).removesuffix(TOLD + OPEN))


@dataclass(frozen=True, slots=True, eq=False)
class SolvedForm:
    """What an equation gives for a variable by inverses of functions: an expression, its divisors, checks."""

    variable: int
    expression: int
    divisors: tuple[int, ...] = ()
    checks: tuple[Check, ...] = ()

    def rewritten(self, new: Callable[[int], int]) -> SolvedForm:
        """A copy with other expressions."""
        return SolvedForm(
            self.variable,
            new(self.expression),
            tuple(new(e) for e in self.divisors),
            tuple(one.rewritten(new) for one in self.checks),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Equation:
    """``residual = 0``."""

    residual: int
    span: Span | None = None
    origin: str = "equation"  # equation, binding, connection, flow balance, derivative, selection, ...
    index: tuple[int, ...] = ()  # point of the loop it was unrolled from
    target: int = -1  # initial equations: the Integer, Boolean or enumeration parameter that is set by it
    behind: tuple[Span, ...] = ()  # initial equations: others, which gave parameters in it their values
    explicit: tuple[SolvedForm, ...] = ()  # solved by inverses of functions


def with_residual(equation: Equation, residual: int) -> Equation:
    """The equation with another residual; itself if it is the same."""
    return equation if residual == equation.residual else replace(equation, residual=residual)


FLOOR_ROOM = 1e-10  # by which x may miss a whole number where an event was found, and leaves it where states move it
FLOOR_ROUNDING = 64 * 2.220446049250313e-16  # ... in addition, as a share of that number


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """``lhs < rhs`` (or ``<=`` if not strict) that generates events."""

    lhs: int
    rhs: int
    strict: bool
    span: Span | None = None
    floor: int = 0  # 1: pre(F) + 1 <= x, -1: the next one, x < pre(F), of a floor F that events set


@dataclass(frozen=True, slots=True, eq=False)
class Inverse:
    """An argument of a function over its other arguments and one of its outputs, which stands behind them as an ARG."""

    argument: int
    output: int
    value: int
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function whose calls stay whole: its body as expressions over ``ARG`` leaves, one per scalar output.

    ``derivative`` is the number of the function that gives d/dt; its arguments are those of this function, then
    the derivatives of the arguments listed in ``differentiated``.
    """

    name: str
    n_args: int
    outputs: tuple[int, ...]
    derivative: int | None = None
    differentiated: tuple[int, ...] = ()
    inverses: tuple[Inverse, ...] = ()


LOOP_TURNS = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Routine:
    """A function that stays one in the generated code: its body in a graph of its own, where VAR k is argument k.

    A loop has a ``condition``: as long as it holds, and for LOOP_TURNS turns at most, the outputs take the place of the
    arguments ``state``; it gives what these are in the end, or NaN.

    ``slopes`` are the routines of its partial derivatives, by output (of a loop -1: derivatives of all outputs along a
    direction, which is given behind the arguments), and ``rates`` what they share: made when they are first asked for
    (:func:`pliant.expr.differentiate.slopes_of`).
    """

    name: str
    graph: Graph
    n_args: int
    outputs: tuple[int, ...]
    condition: int = -1
    state: tuple[int, ...] = ()
    slopes: dict[int, Routine] = field(default_factory=dict)
    rates: dict[int, dict[int, int]] = field(default_factory=dict)

    @property
    def n_outputs(self) -> int:
        """How many it has."""
        return len(self.outputs)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Piecewise cubic of one column: value = sum_k coefficient[i][k] (u - knot[i])^k on knot i .. i+1.

    Outside, ``extrapolation`` says: "hold" the end value, "extend" the last piece, "repeat", or "error".
    """

    name: str
    knots: tuple[float, ...]
    coefficients: tuple[tuple[float, float, float, float], ...]  # one per interval
    extrapolation: str = "extend"
    smooth: int = 0  # number of continuous derivatives


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """Something in the model that pliant reads but cannot simulate yet."""

    what: str
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """A discrete variable that only events change: at an event ``variable := expression``."""

    variable: int
    before: int  # variable that holds its value before the event, pre(v)
    expression: int
    start: int  # its value before the first event
    span: Span | None = None
    free: bool = False  # `start` is a guess: the initial equations determine the value


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """``variable`` holds the value that a continuous expression has when an event begins, pre(x)."""

    variable: int
    expression: int


@dataclass(frozen=True, slots=True, eq=False)
class Clock:
    """``tick`` is true at ``first + k * numerator / denominator``, k = 0, 1, ... and nowhere else."""

    tick: int
    first: float
    numerator: int
    denominator: int
    span: Span | None = None

    @property
    def interval(self) -> float:
        """Time between two ticks."""
        return self.numerator / self.denominator


@dataclass(frozen=True, slots=True, eq=False)
class Action:
    """What an event does besides setting memories, where ``active`` holds: reset, stop, fail, warn, or the call
    ``value`` of a function for what it does.
    """

    kind: str
    active: int
    variable: int = -1  # reset: the state
    value: int = -1  # ... and its new value; of a call its node
    message: str = ""
    span: Span | None = None
    is_index: bool = False
    in_function: bool = False  # an assertion of a function that is called

    @property
    def words(self) -> str:
        """What a run says that ends here, or the warning."""
        word = {"stop": "terminated: ", "call": "a call of ", "warn": ""}.get(self.kind, "assertion failed: ")
        return self.message if self.is_index else joined(word, self.message)


@dataclass(frozen=True, eq=False)
class Events:
    """What happens at events. ``initial`` and ``terminal``: the variables of these names, -1 if nothing reads them."""

    memories: tuple[Memory, ...] = ()
    kept: tuple[Kept, ...] = ()
    clocks: tuple[Clock, ...] = ()
    actions: tuple[Action, ...] = ()
    initial: int = -1
    terminal: int = -1

    def __bool__(self) -> bool:
        return bool(self.memories or self.clocks or self.actions or self.initial >= 0 or self.terminal >= 0)

    def expressions(self) -> list[int]:
        """All expressions in it, but those in messages."""
        found = [e for one in self.memories for e in (one.expression, one.start)]
        found += [one.expression for one in self.kept]
        return found + [e for one in self.actions for e in (one.active, one.value) if e >= 0]

    def in_messages(self) -> list[int]:
        """Numbers in messages."""
        return [e for one in self.actions for e in operands_of(one.message)]

    def rewritten(self, new: Callable[[int], int], number: Callable[[int], int] = lambda v: v) -> Events:
        """A copy with other expressions, and other numbers of variables."""
        return Events(
            tuple(
                replace(
                    one,
                    variable=number(one.variable),
                    before=number(one.before),
                    expression=new(one.expression),
                    start=new(one.start),
                )
                for one in self.memories
            ),
            tuple(Kept(number(one.variable), new(one.expression)) for one in self.kept),
            tuple(replace(one, tick=number(one.tick)) for one in self.clocks),
            tuple(
                replace(
                    one,
                    active=new(one.active),
                    variable=number(one.variable) if one.variable >= 0 else -1,
                    value=new(one.value) if one.value >= 0 else -1,
                    message=rewritten(one.message, new),
                )
                for one in self.actions
            ),
            number(self.initial) if self.initial >= 0 else -1,
            number(self.terminal) if self.terminal >= 0 else -1,
        )


#: start, stop and interval of the run that a model suggests; None: it does not
Experiment = tuple[float | None, float | None, float | None]


@dataclass(eq=False)
class System:
    """Flat scalar model, as long as it is being built. ``derivative[v]`` is the variable der(v)."""

    name: str
    graph: Graph = field(default_factory=Graph)
    variables: list[Variable] = field(default_factory=list)
    equations: list[Equation] = field(default_factory=list)
    initial_equations: list[Equation] = field(default_factory=list)
    derivative: dict[int, int] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    events: Events = field(default_factory=Events)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what was ignored
    fixed_parameters: dict[str, str] = field(default_factory=dict)  # name -> why it cannot be changed
    digest: str = ""
    experiment: Experiment = (None, None, None)
