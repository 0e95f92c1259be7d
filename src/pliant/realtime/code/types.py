"""What passes between the files of the stepper, and to its users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pliant.arguments import Vector
from pliant.codegen.program import Assign
from pliant.realtime.code.algebra import Factors
from pliant.realtime.code.delays import StepDelay
from pliant.realtime.code.events import DiscretePart
from pliant.realtime.code.first import StartPart
from pliant.realtime.code.lower import Lowering
from pliant.realtime.code.operations import Operations
from pliant.realtime.code.rates import Rate
from pliant.realtime.code.tables import Tables
from pliant.realtime.code.wide import Wide
from pliant.realtime.sparsing.elimination import Elimination, Entry


@dataclass(frozen=True)
class MonitorLimits:
    """What the monitor compares with; arrays are per pivot (in the order of elimination) or per unknown."""

    pivot_low: Vector | None = None  # smallest good modulus; default 0
    pivot_high: Vector | None = None  # largest good modulus; default infinite
    scale: Vector | None = None  # size of each unknown; default max(1, |start|)
    ringing: Vector | None = None  # change per step from which on ringing counts; default 1e-3 scale
    ringing_steps: int = 4  # changes of sign in a row that count as ringing
    error: float = 0.05  # of scale: local error of one step
    dropped: float = 0.05  # of scale: share of the dropped entries in one step
    row_scale: Vector | None = None  # of each row; default: scale, algebraic rows are not watched
    x_range: tuple[Vector, Vector] | None = None  # lowest and highest values of the unknowns that are covered
    u_range: tuple[Vector, Vector] | None = None  # of the inputs
    p_range: tuple[Vector, Vector] | None = None  # of the parameters
    u_change: Vector | None = None  # largest change of each input in one step, or at a jump
    resets: int | None = None  # resets of states by relations; None: any number
    hold: int = 100  # steps without a flag after which the guarded step goes back to the pattern


@dataclass(frozen=True)
class StepperOptions:
    """How a step is written."""

    precision: str = "double"  # or "float"
    order: int = 1  # 2: extrapolated
    newton_steps: int = 2  # per nonlinear loop and evaluation
    output_steps: int | None = None  # the same where outputs are computed; None: as many
    event_rounds: int = 1  # of the events at the end of a step: what pre(v) means is brought up to date between them
    relation_passes: int = (
        0  # before the step, for relations that depend on themselves; 0: their values of the last one
    )
    straight_line_limit: int = 200_000  # operations from which on factorisation and solution go through tables
    style: str | None = None  # "straight-line" or "tables", None: by the limit
    fold_constants: bool = True  # entries of parameters alone are factored when parameters are set, not in each step
    monitor: bool = False  # with the monitor and what it needs in memory
    limits: MonitorLimits = MonitorLimits()
    fallback: bool = False  # with a step of full pattern, and one that falls back to it; needs the monitor
    delays: Mapping[int, tuple[float, float]] | None = None  # number -> shortest and longest time; None: of the start
    loop_rows: Mapping[int, Sequence[int]] | None = None  # loop -> row of each column's pivot; None: from samples
    part: int = 3000  # statements up to which a C function stays whole
    name: str | None = None  # prefix of the C names, None: that of the model


@dataclass(frozen=True)
class StartValues:
    """Where a stepper starts, before the first event: x, tears of nonlinear loops by name, relations by number,
    parameters, time; values of discrete variables that are not the declared ones, by number in the model's events;
    steps to the next tick of each clock (0: at the start); rows of the pivots of the algebraic unknowns in x; what is
    delayed."""

    x: Vector
    tears: Mapping[str, float] = field(default_factory=dict)
    relations: Mapping[int, bool] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    t: float = 0.0
    memories: Mapping[int, float] = field(default_factory=dict)
    counts: tuple[int, ...] = ()
    rows: tuple[int, ...] | None = None  # None: not known; empty: no order is good
    delayed: Mapping[int, float] = field(default_factory=dict)  # what is delayed, by the number of the delay


@dataclass(eq=False)
class StepCode:
    """The C text of a stepper and what is known about it."""

    name: str
    header: str
    text: str
    driver: str  # desktop only: lets Python run and time the step
    tau: float
    options: StepperOptions
    style: str  # "straight-line" or "tables"
    x_names: tuple[str, ...]
    u_names: tuple[str, ...]
    p_names: tuple[str, ...]
    y_names: tuple[str, ...]
    tears: tuple[str, ...]  # of nonlinear loops, kept from step to step
    relations: tuple[int, ...]  # kept from step to step
    memories: tuple[str, ...]  # discrete variables, and what stands for conditions
    periods: tuple[int, ...]  # of clocks, in steps
    n_states: int
    operations: dict[str, Operations]  # f, jacobian, factor, solve, step (all four); outputs, monitor, full, guarded
    memory: dict[str, int]  # bytes: instance, constant data, stack (an upper bound)
    start: StartValues
    u_start: tuple[float, ...]  # declared start values of the inputs
    elimination: Elimination
    full: Elimination | None = None
    offsets: Mapping[str, int] = field(default_factory=dict)  # bytes: where members of the instance begin
    delays: tuple[str, ...] = ()  # what is delayed, in words
    n_divisors: int = 0  # of expressions of parameters; numbers of set_parameters behind them are those of delays
    rates: tuple[Rate, ...] = ()  # for which there are functions of their own, the fastest first

    @property
    def n_x(self) -> int:
        """Length of x."""
        return len(self.x_names)

    @property
    def precision(self) -> str:
        """double or float"""
        return self.options.precision


@dataclass(eq=False)
class StepSystem:
    """One way to make the step: with the kept entries, or with all."""

    tag: str  # name of the C function without the prefix
    elimination: Elimination
    matrices: list[dict[Entry, int]]  # L - tau J; of order 2 also with tau/2
    rights: list[list[int]]  # right sides per solution: tau f; of order 2 also tau/2 f, and tau/2 f at the half step
    factors: list[Factors] = field(default_factory=list)  # straight-line only
    dx: list[int] = field(default_factory=list)  # straight-line only
    tables: Tables | None = None
    last: dict[int, int] = field(default_factory=dict)  # tear -> its value after the step
    half: list[int] = field(default_factory=list)  # order 2: variables of x at the half step
    half_tears: list[int] = field(default_factory=list)

    @property
    def style(self) -> str:
        """straight-line or tables"""
        return "tables" if self.tables else "straight-line"


@dataclass(eq=False)
class StepPlan:
    """What the text is made from."""

    lowering: Lowering
    wide: Wide | None  # in float: what is kept in double
    tau: float
    options: StepperOptions
    start: StartValues
    statements: list[Assign]
    f: list[int]
    systems: list[StepSystem]  # the step itself first
    outputs: list[tuple[str, int, int]]  # name, variable, expression
    kept: list[tuple[int, int]]  # (relation, its new value)
    values: dict[int, float]  # parameters
    guesses: list[float]
    watched: list[int]  # rows of f that do not depend on inputs, time or discrete variables
    discrete: DiscretePart
    first: StartPart
    u_start: tuple[float, ...]
    half_clock: int = -1
    input_before: dict[int, int] = field(default_factory=dict)  # order 2: input -> variable of its last value
    levels: list[tuple[int, int]] = field(default_factory=list)  # (place in x, level where it may come to rest)
    delays: tuple[StepDelay, ...] = ()
    rates: tuple[Rate, ...] = ()  # of the clocks, where the step can be cut by them
