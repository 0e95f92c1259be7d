"""What became of the equations of a model, for display: states and why, blocks, loops, incidence.

Everything is worked out when it is asked for, so that the object itself costs nothing for a large model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pliant.arguments import as_path
from pliant.calls import by_keyword_class
from pliant.expr.build import variables_of
from pliant.expr.text import text
from pliant.ir import Equation, Kind, Span
from pliant.sorted_system import Block, SortedSystem
from pliant.structure.apply import LITERAL, NONLINEAR, PARAMETER, VARIABLE, Coefficients
from pliant.structure.diagnosis import describe_equation, equation_text
from pliant.structure.event_report import ActionInfo, ClockInfo, DiscreteInfo, Happenings

LONGEST = 300  # characters of an equation
SHOWN = 20  # entries of a list in the summary
FEW = 6
IN_LINE = 120  # characters of an equation in a line with its source
COEFFICIENT = {
    LITERAL: "a number",
    PARAMETER: "a parameter expression",
    VARIABLE: "varies, but not with this variable",
    NONLINEAR: "nonlinear in this variable",
}


@dataclass(frozen=True, slots=True)
class EquationInfo:
    """One equation: ``text`` as pliant has it, with full names; ``source`` as the modeller wrote it."""

    number: int  # from 1, in the order of the source
    text: str
    source: str
    origin: str  # equation, binding, connection, flow balance, derivative (of another equation), selection
    span: Span | None
    words: str  # both texts in one line, as far as they are needed, with the place

    def __str__(self) -> str:
        return self.words

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        file, line = (self.span.file, self.span.line) if self.span else (None, None)
        own = {"number": self.number, "text": self.text, "source": self.source, "origin": self.origin}
        return {**own, "file": file, "line": line}


@dataclass(frozen=True, slots=True)
class StateInfo:
    """A state, or a variable that could have been one, and why."""

    name: str
    reason: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class SetInfo:
    """A dynamic state set: of the candidates (one list per level of derivatives) ``n_states`` are states at a time."""

    number: int
    candidates: list[list[str]]
    n_states: int


@dataclass(frozen=True, slots=True)
class Incidence:
    """Which equation contains which unknown: ``pairs`` of (row, column), from 0, row by row.

    ``equations`` and ``variables`` say what a row and a column is; ``blocks`` are (first row, size), only after
    sorting. There all pairs stand in or below their block.
    """

    pairs: list[tuple[int, int]]
    equations: list[int]
    variables: list[int]
    blocks: list[tuple[int, int]]
    owner: Structure

    @property
    def rows(self) -> list[str]:
        """The equation of each row."""
        return [str(self.owner.equation(e)) for e in self.equations]

    @property
    def columns(self) -> list[str]:
        """The name of each column's variable."""
        return [self.owner.name_of(v) for v in self.variables]


class BlockInfo:
    """One block of the sorted equations: ``size`` equations for as many unknowns, solved together.

    kind       "explicit" (one assignment), "linear", "nonlinear" (solved for the torn unknowns), "sparse" (a large
               loop that is not torn)
    solved_by  "f" (when the derivatives are computed) or "solver" (its unknowns joined the states)
    """

    def __init__(self, owner: Structure, number: int, block: Block) -> None:
        self._owner, self._block = owner, block
        self.number, self.kind, self.size = number, block.kind, len(block.variables)
        by_solver = block.kind == "sparse" or (owner.form == "dae" and self.size > 1)
        self.solved_by = "solver" if by_solver else "f"

    def __repr__(self) -> str:
        return f"<block {self.number}: {self.kind}, {self.size} unknowns>"

    def ordered(self) -> tuple[Sequence[int], Sequence[int]]:
        """Equations and variables, numbers: steps in their order, then residuals and torn variables."""
        b = self._block
        if b.kind == "explicit":
            return b.equations, b.variables
        steps = b.steps
        return [*(s.equation for s in steps), *b.residuals], [*(s.variable for s in steps), *b.tears]

    @property
    def n_torn(self) -> int:
        """How many unknowns are torn."""
        return len(self._block.tears)

    @property
    def variables(self) -> list[str]:
        """Names of the unknowns, in the order of their computation, torn ones last."""
        return [self._owner.name_of(v) for v in self.ordered()[1]]

    @property
    def equations(self) -> list[EquationInfo]:
        """Its equations; each gives the variable at the same place, residuals are last."""
        return [self._owner.equation(e) for e in self.ordered()[0]]

    @property
    def tearing(self) -> list[str]:
        """Names of the torn variables: what is iterated on, or solved for as a linear system."""
        return [self._owner.name_of(v) for v in self._block.tears]

    @property
    def residuals(self) -> list[EquationInfo]:
        """The equations that determine the torn variables."""
        return [self._owner.equation(e) for e in self._block.residuals]

    @property
    def linear(self) -> bool:
        """Are its equations linear in its unknowns?"""
        if self.kind == "sparse":
            return self._owner.is_linear(self._block)
        return self.kind in ("explicit", "linear")

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "number": self.number,
            "kind": self.kind,
            "size": self.size,
            "linear": self.linear,
            "solved_by": self.solved_by,
            "variables": self.variables,
            "equations": [e.as_dict() for e in self.equations],
            "tearing": self.tearing,
            "residuals": [e.as_dict() for e in self.residuals],
        }


@by_keyword_class
class Structure:
    """What became of the equations of a Modelica model: states, blocks, algebraic loops and their tearing.

    ``print(model.structure)`` gives a summary. Made by :attr:`pliant.Model.structure` and :func:`pliant.inspect`.

    >>> import pliant
    >>> found = pliant.inspect('''
    ... model Loop
    ...   Real x(start = 1), a, b;
    ... equation
    ...   der(x) = -a;
    ...   a = x + 2*b;
    ...   b = x - a^3;
    ... end Loop;
    ... ''')
    >>> found.n_states, found.index, [loop.tearing for loop in found.loops]
    (1, 1, [['a']])
    """

    def __init__(self, sorted_system: SortedSystem, *, form: str = "auto") -> None:
        self._sorted = sorted_system
        self._system = sorted_system.system
        self._described: dict[int, EquationInfo] = {}
        self.form = form

    # ------------------------------------------------------------------ numbers

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._system.name

    @property
    def n_equations(self) -> int:
        """Flat scalar equations of the model as given."""
        return len(self._system.equations)

    @property
    def n_aliases(self) -> int:
        """Variables that equal another one up to sign, or a constant, and were eliminated."""
        return len(self._sorted.replaced)

    @property
    def n_differentiated(self) -> int:
        """Equations that were added as derivatives of others, to reduce the index."""
        return self._sorted.n_differentiated

    @property
    def n_after_aliases(self) -> int:
        """Equations, and unknowns, that are sorted in the end: aliases gone, derivatives added."""
        return len(self._sorted.equations)

    @property
    def n_states(self) -> int:
        """Continuous states."""
        return len(self._sorted.states)

    @property
    def index(self) -> int:
        """Structural index of the equations as given; index 1 remains."""
        return self._sorted.index

    # ------------------------------------------------------------------ lists

    @cached_property
    def states(self) -> list[StateInfo]:
        """The states, each with the reason why it is one."""
        return [self._state(v) for v in self._sorted.states]

    @cached_property
    def not_states(self) -> list[StateInfo]:
        """Variables whose derivative appears and that are no states, with the reason."""
        chosen = set(self._sorted.states)
        return [self._state(v) for v in sorted(self._sorted.reasons) if v not in chosen]

    @cached_property
    def sets(self) -> list[SetInfo]:
        """Dynamic state sets: candidates of which some are states, chosen again during the simulation."""
        return [
            SetInfo(k, [[self.name_of(v) for v in level] for level in s.candidates], sum(map(len, s.slots)))
            for k, s in enumerate(self._sorted.sets, 1)
        ]

    @cached_property
    def blocks(self) -> list[BlockInfo]:
        """Blocks in the order of their computation."""
        return [BlockInfo(self, k, block) for k, block in enumerate(self._sorted.blocks, 1)]

    @property
    def loops(self) -> list[BlockInfo]:
        """Algebraic loops: blocks of more than one unknown."""
        return [block for block in self.blocks if block.size > 1]

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Eliminated variable -> what it equals."""
        g = self._system.graph
        return {
            self.name_of(v): text(g, e, self.name_of, LONGEST, self._sorted.relations)
            for v, e in self._sorted.replaced.items()
        }

    @cached_property
    def _happenings(self) -> Happenings:
        return Happenings(self._sorted)

    @property
    def discrete(self) -> list[DiscreteInfo]:
        """Variables with a memory, which only events change, and what changes them."""
        return self._happenings.discrete

    @property
    def clocks(self) -> list[ClockInfo]:
        """Clocks: `sample(first, interval)` and periodic ``Clock``."""
        return self._happenings.clocks

    @property
    def actions(self) -> list[ActionInfo]:
        """What events do besides: states that are reset, the end of the run, assertions."""
        return self._happenings.actions

    @property
    def notes(self) -> list[str]:
        """What is worth knowing about the choices made."""
        return list(self._sorted.notes)

    @property
    def refusals(self) -> list[str]:
        """What keeps the model from being simulated with this version; empty if nothing does."""
        return [f"{one.what}  {one.span}" if one.span else one.what for one in self._system.refusals]

    # ------------------------------------------------------------------ incidence

    @cached_property
    def coefficients(self) -> list[dict[int, int]]:
        """Per equation: unknown -> class of its coefficient, a key of ``COEFFICIENT``."""
        finder = self._finder
        return [
            {v: finder.solvability(v, c) for v, c in finder.of(equation.residual).items()}
            for equation in self._sorted.equations
        ]

    @cached_property
    def incidence_before(self) -> Incidence:
        """Equations in the order of the source, unknowns in the order of their declaration."""
        n = len(self._sorted.equations)
        return self._incidence(list(range(n)), sorted(v for b in self._sorted.blocks for v in b.variables), [])

    @cached_property
    def incidence_after(self) -> Incidence:
        """Sorted: block lower triangular; in a loop the explicit steps first, then residuals and torn variables."""
        rows: list[int] = []
        columns: list[int] = []
        borders: list[tuple[int, int]] = []
        for block in self.blocks:
            equations, variables = block.ordered()
            borders.append((len(rows), block.size))
            rows += equations
            columns += variables
        return self._incidence(rows, columns, borders)

    def _incidence(self, rows: list[int], columns: list[int], borders: list[tuple[int, int]]) -> Incidence:
        place = {v: k for k, v in enumerate(columns)}
        pairs = [(r, c) for r, e in enumerate(rows) for c in sorted(place[v] for v in self.coefficients[e])]
        return Incidence(pairs, rows, columns, borders, self)

    # ------------------------------------------------------------------ to read

    def __repr__(self) -> str:
        return f"<pliant.Structure {self.name!r}: {self.n_after_aliases} equations, {self.n_states} states>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        loops = self.loops
        sizes = _plural(self.n_equations, "equation"), f"index {self.index}", _plural(self.n_states, "state")
        yield f"{self.name}: {', '.join(sizes)}"
        yield f"{_plural(self.n_after_aliases, 'equation')} to solve{self._how()}"
        if self.states:
            yield "States"
        width = min(40, max((len(s.name) for s in self.states[:SHOWN]), default=0))
        yield from _first([f"  {s.name:{width}}  {s.reason}" for s in self.states[:SHOWN]], len(self.states))
        for s in self.sets:
            names = ", ".join(name for level in s.candidates for name in level)
            yield f"  set {s.number}: {s.n_states} of {names}"
        kinds = Counter(_kind(block) for block in self.blocks)
        told = ", ".join(_plural(n, kind) for kind, n in kinds.items())
        yield f"{_plural(len(self.blocks), 'block')}" + (f": {told}" if told else "")
        if loops:
            yield "Loops"
        for loop in loops[:SHOWN]:
            yield from _loop_lines(loop)
        if len(loops) > SHOWN:
            yield f"  and {len(loops) - SHOWN} more"
        yield from self._happenings.lines(SHOWN)
        if self.notes:
            yield "Notes"
            yield from _first([f"  {note}" for note in self.notes[:SHOWN]], len(self.notes))
        if self.refusals:
            yield "Cannot be simulated yet, because of"
            yield from _first([f"  {one}" for one in self.refusals[:FEW]], len(self.refusals))

    def _how(self) -> str:
        """How the number of equations changed."""
        added = sum(1 for e in self._sorted.equations if e.origin == "selection")
        parts = [
            f"{self.n_aliases} {'alias' if self.n_aliases == 1 else 'aliases'} eliminated" if self.n_aliases else "",
            f"{_plural(self.n_differentiated, 'equation')} differentiated" if self.n_differentiated else "",
            f"{added} added for state sets" if added else "",
        ]
        told = ", ".join(part for part in parts if part)
        return f": {told}" if told else ""

    def as_dict(self) -> dict[str, Any]:
        """Everything but the incidence, as JSON can hold it; keys stay the same between versions."""
        return {
            "name": self.name,
            "form": self.form,
            "n_equations": self.n_equations,
            "n_aliases": self.n_aliases,
            "n_differentiated": self.n_differentiated,
            "n_after_aliases": self.n_after_aliases,
            "n_states": self.n_states,
            "index": self.index,
            "states": [{"name": s.name, "unit": s.unit, "reason": s.reason} for s in self.states],
            "not_states": [{"name": s.name, "unit": s.unit, "reason": s.reason} for s in self.not_states],
            "sets": [{"number": s.number, "candidates": s.candidates, "n_states": s.n_states} for s in self.sets],
            "n_blocks": len(self.blocks),
            "blocks": [block.as_dict() for block in self.blocks],
            "loops": [loop.number for loop in self.loops],
            "aliases": self.aliases,
            "discrete": [one.as_dict() for one in self.discrete],
            "clocks": [one.as_dict() for one in self.clocks],
            "actions": [one.as_dict() for one in self.actions],
            "notes": self.notes,
            "refusals": self.refusals,
        }

    def write_page(self, file: str | Path) -> Path:
        """Write one HTML page, without outside resources, with the incidence before and after sorting."""
        from pliant.structure.page import write_page

        return write_page(self, as_path("the file", file))

    # ------------------------------------------------------------------ one by one

    def name_of(self, v: int) -> str:
        """Name of variable number v."""
        return self._system.variables[v].name

    def unit_of(self, v: int) -> str:
        """Unit of variable number v."""
        return self._system.variables[v].unit

    def equation(self, e: int) -> EquationInfo:
        """Equation number e, from 0, in the order of the source."""
        found = self._described.get(e)
        if found is None:
            found = self._described[e] = self._describe(e, self._sorted.equations[e])
        return found

    def _describe(self, e: int, equation: Equation) -> EquationInfo:
        g, span = self._system.graph, equation.span
        kinds = (Kind.UNKNOWN, Kind.DERIVATIVE)
        inside = variables_of(g, equation.residual)
        needed = [self.name_of(v) for v in inside if self._system.variables[v].kind in kinds]
        relations = self._sorted.relations
        words = describe_equation(g, equation, self.name_of, IN_LINE, needed, relations)
        own = equation_text(g, equation.residual, self.name_of, LONGEST, relations)
        return EquationInfo(e + 1, own, span.text if span else "", equation.origin, span, words)

    def _state(self, v: int) -> StateInfo:
        return StateInfo(self.name_of(v), self._sorted.reasons.get(v, ""), self.unit_of(v))

    @cached_property
    def _finder(self) -> Coefficients:
        variables = self._system.variables
        unknowns = {v for b in self._sorted.blocks for v in b.variables}
        return Coefficients(self._system.graph, variables, unknowns.__contains__)

    def is_linear(self, block: Block) -> bool:
        """No coefficient of the block's unknowns contains one of them."""
        finder, members = self._finder, set(block.variables)
        return not any(
            finder.contents(c)[1] & members
            for e in block.equations
            for v, c in finder.of(self._sorted.equations[e].residual).items()
            if v in members
        )


def _plural(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 or what == "explicit" else f"{n} {what}s"


def _kind(block: BlockInfo) -> str:
    if block.kind == "explicit":
        return "explicit"
    return f"{block.kind} loop" if block.size > 1 else f"{block.kind} equation"


def _first(lines: Sequence[str], n: int) -> Iterator[str]:
    yield from lines
    if n > len(lines):
        yield f"  and {n - len(lines)} more"


def _loop_lines(loop: BlockInfo) -> Iterator[str]:
    linear = "linear" if loop.linear else "nonlinear"
    where = "; its unknowns join the states" if loop.solved_by == "solver" else ""
    if loop.kind == "sparse":
        yield f"  block {loop.number}: {loop.size} unknowns, {linear}, not torn{where}"
        return
    yield f"  block {loop.number}: {loop.size} unknowns, {linear}, {loop.n_torn} torn{where}"
    yield f"    torn      {', '.join(loop.tearing[:SHOWN])}" + (", ..." if loop.n_torn > SHOWN else "")
    residuals = loop.residuals
    for equation in residuals[:SHOWN]:
        yield f"    residual  {equation}"
    if len(residuals) > SHOWN:
        yield f"    and {len(residuals) - SHOWN} more"
