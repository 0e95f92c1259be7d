"""What happens at events: when-clauses, clocks, discrete equations, reinit, terminate.

Every discrete variable with a memory gets one expression for its value after an event, over values, values before the
event (``pre``), relations and ticks of clocks:

    when c then v = a; elsewhen d then v = b; end when;   v := if rise(c) then a else if rise(d) then b else pre(v)
    v = a                                                 v := a
    v = a, clocked                                        v := if tick then a else pre(v)

A branch acts where its condition rises and none of the branches before it in its clause; that holds for everything in
it, assignments, reinit, terminate and assertions. In an algorithm section a variable may be set several times, and the
last active assignment counts.

``rise(c)`` is ``c and not pre(c)``; the condition itself is a memory of its own for that. A clock's tick and initial()
hold for one round of the event iteration only, so that each of them rises. At the start of a simulation a when-clause
acts only where its condition says initial(). (Modelica language specification 3.6, sections 8.3.5, 8.6 and 16.)

``floor(x)`` outside noEvent is a memory F with the relations x < pre(F) and pre(F) + 1 <= x, so it changes at events:

    F := if pre(F) + 1 <= x then max(pre(F) + 1, floor(x)) else if x < pre(F) then min(pre(F) - 1, floor(x)) else pre(F)

What the relations say counts, not x, which may fall short of F + 1 by rounding where the event is. At the instant at
which one of them turned, the other one does not turn by rounding (modes.py). Where x depends on states, x < pre(F) has
a little room besides, so that an x that rests on a whole number does not fall out of it by what the solver does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import (
    add,
    apply,
    binary,
    choose,
    const,
    logical_and,
    logical_not,
    logical_or,
    mul,
    sub,
    var,
    variables_of,
)
from pliant.expr.circles import in_loops
from pliant.expr.evaluate import expand_relations
from pliant.expr.signed import signed_variable, with_sign
from pliant.frontend.flat.expressions import (
    NONE,
    ClockTick,
    FlatArray,
    FlatBuiltin,
    FlatLiteral,
    FlatTuple,
    VariableRef,
)
from pliant.frontend.flat.model import (
    FlatAlgorithm,
    FlatAssert,
    FlatAssign,
    FlatEquation,
    FlatInvoke,
    FlatItem,
    FlatReinit,
    FlatTerminate,
    FlatVariable,
)
from pliant.frontend.flat.types import BaseType, Variability
from pliant.frontend.scalar.clocked import between, eliminated
from pliant.frontend.scalar.discrete import Discretes
from pliant.frontend.scalar.event_actions import EventActions
from pliant.frontend.scalar.frames import EventFrame, How, framed, is_the_end, left_out
from pliant.frontend.scalar.values import Rec, Value, leaves, scalars
from pliant.ir import FLOOR_ROUNDING, Events, Graph, Kind, Memory, Op, Refusal, Span

_ACTIONS = (FlatAssert, FlatTerminate, FlatReinit)


@dataclass(frozen=True)
class _Branch:
    """One way in which one scalar is set."""

    how: How
    value: int | str


@dataclass(eq=False)
class _Row:
    """One scalar equation between discrete variables that always holds."""

    left: int | str
    right: int | str
    how: How
    choices: list[int | str] = field(default_factory=list)  # sides that are a variable alone
    done: bool = False
    value: int | str = NONE  # the other side of the one that is chosen

    def residual(self, g: Graph) -> int:
        """Of numbers, 0 where it holds."""
        assert isinstance(self.left, int)
        assert isinstance(self.right, int)
        return sub(g, self.left, self.right)

    def number(self) -> int:
        """What is chosen, of numbers."""
        assert isinstance(self.value, int)
        return self.value

    def drop(self, v: int, number: Callable[[int | str], int]) -> bool:
        """Something else sets v; True if the row is still to be solved, and has one choice now or none."""
        self.choices = [e for e in self.choices if number(e) != v]
        return not self.done and len(self.choices) < 2


class EventBuilder:
    """Collects the events of one model."""

    def __init__(self, discretes: Discretes) -> None:
        self.d = discretes
        self.run, self.g, self.symbols, self.flat = discretes.run, discretes.g, discretes.symbols, discretes.flat
        self.nodes = discretes.nodes
        self.memories: list[Memory] = []
        self.actions = EventActions(self)
        #: condition and point of a loop -> node that is true when it rises
        self.triggers: dict[tuple[int, tuple[Value, ...]], int] = {}
        self.floors: dict[int, int] = {}
        self.left: dict[int, list[list[_Branch]]] = {}  # what algorithm sections leave
        self.fields: list[_Row] = []  # equations between discrete fields of records
        discretes.remember = self._memory

    def finish(self) -> Events:
        """All memories, after the equations have been read."""
        self._initial_texts()
        found = self._branches()
        for position in sorted(self.d.memory):
            if not self.symbols.is_text(position):
                self._memories(position, found.get(position, []))
            elif position in self.d.texts.elements:
                self._text_memories(position, found.get(position, []))
        self.actions.finish()
        return self.completed(Events())

    def completed(self, events: Events) -> Events:
        """The same with what was added since: variables that no equation reads may need memories, too."""
        memories = (*events.memories, *self.memories[len(events.memories) :])
        clocks = tuple(self.d.clocks.values())
        return Events(memories, tuple(self.d.kept), clocks, tuple(self.actions.found), self.d.initial, self.d.terminal)

    # ------------------------------------------------------------------------------------- assignments

    def takes(self, left: int | str, right: int | str, span: Span | None) -> bool:
        """An equation that sets a discrete variable; False if neither side is one that nothing else sets."""
        is_one = self._discrete(left) is not None or self._discrete(right) is not None
        if is_one:
            self.fields.append(_Row(left, right, How((), span)))
        return is_one

    def _branches(self) -> dict[int, list[list[_Branch]]]:
        """Variable with a memory -> per scalar its branches, the first active one counts."""
        found: dict[int, list[list[_Branch]]] = dict(self.left)
        standing: list[_Row] = [*self.fields]
        for item, under in framed(self.flat.equations, self.run.over):
            if isinstance(item, FlatEquation) and item.variability is Variability.DISCRETE:
                self._equation(item, How(under, item.span, active=self._at_point(under)), found, standing)
            elif any(frame.is_when for frame in under) and not isinstance(item, _ACTIONS):
                if isinstance(item, FlatInvoke):
                    self.actions.invoked(item, under)
                    continue
                raise NotSupportedError(
                    f"{item.span}: a loop, or an equation for a continuous variable, in a when-clause is not supported",
                    hint="write the equation for the whole array",
                )
        for k, section in enumerate(self.flat.algorithms):
            if k not in self.run.tape.sections:
                self._section(section, found, standing)
        self._solve_standing(found, standing)
        for lists in found.values():
            for own in lists:  # the last assignment in an algorithm section goes first
                own.sort(key=lambda one: -(one.how.order or 0))
        return found

    def _section(self, section: FlatAlgorithm, found: dict[int, list[list[_Branch]]], standing: list[_Row]) -> None:
        """Assignments to discrete variables that do not read each other's new values."""
        self.run.impure.last = None
        for order, (item, under) in enumerate(framed(section.body, self.run.over), 1):
            if isinstance(item, FlatAssign):
                self._equation(item, How(under, item.span, order), found, standing)

    def set_by_section(self, position: int, values: list[int | str], span: Span | None) -> None:
        """What an algorithm section leaves of a discrete variable (sections.py)."""
        self._add(self.left, position, range(len(values)), values, How((), span))

    def _equation(
        self, item: FlatEquation | FlatAssign, how: How, found: dict[int, list[list[_Branch]]], standing: list[_Row]
    ) -> None:
        """What one equation or assignment for discrete variables sets; indices and impure calls count where it acts."""
        assert self.run.bounds is not None
        left = item.left if isinstance(item, FlatEquation) else item.target
        clocks = (self.flat.variables[v].clock for v in self.run.tape.reads(left))
        clock = next((one for one in clocks if one != NONE), NONE)
        where = how if how.under else None if clock == NONE or how.order is not None else clock
        follows = how.order is not None
        clause = self._clause(item, how)
        reached = self.run.impure.reached_where(clause, follows=follows)
        try:
            with self.run.bounds.within(where), reached:
                self._sets(item, how, found, standing)
        except NotSupportedError as error:
            if not any(frame.is_when and is_the_end(self.nodes, frame.condition) for frame in how.under):
                raise
            self.symbols.notes.append(left_out(how.span, error))
            for position in self.run.tape.reads(left):
                if position in self.d.memory:  # it stays as it is
                    values = leaves(self.d.before(position))
                    self._add(found, position, range(len(values)), values, how)

    def _clause(self, item: FlatEquation | FlatAssign, how: How) -> Callable[[], int] | None:
        """When an item is reached: where the clauses around it say so, or where its clock ticks."""
        if how.under:
            return lambda: self.active(how.under)
        sides = (item.left, item.right) if isinstance(item, FlatEquation) else ()
        read = [self.nodes[k] for k in self.run.tape.reachable(list(sides))] if sides else []
        clocks = [self.flat.variables[one.variable].clock for one in read if isinstance(one, VariableRef)]
        clock = next((one for one in clocks if one != NONE), NONE)
        return None if clock == NONE else lambda: self.d.tick(clock, how.span)

    def _sets(
        self, item: FlatEquation | FlatAssign, how: How, found: dict[int, list[list[_Branch]]], standing: list[_Row]
    ) -> None:
        left, right = (item.left, item.right) if isinstance(item, FlatEquation) else (item.target, item.value)
        position, of = self._whole(item, left), self.d.of_equations
        if position != NONE and (how.under or id(item) not in of.either or id(item) in of.items):
            self._check_integer(position, left, right, how.span)
            if position in self.d.memory:
                value = self.d.assigned[position] if id(item) in of.items else right
                values = leaves(self.d.shaped(position, value))
                self._add(found, position, range(len(values)), values, how)
            return
        pairs = self._sides(left, right)
        if not how.under and how.order is None:
            standing += [_Row(one, other, how) for one, other in pairs]
            return
        for one, other in pairs:
            self._set(found, one, other, how)

    def _check_integer(self, position: int, left: int, right: int, span: Span | None) -> None:
        """An Integer variable takes no Real (4.9.2)."""
        own, node = self.flat.variables[position], self.nodes[right]
        given = left if isinstance(node, VariableRef) and node.variable == position else right
        if own.type.base is BaseType.INTEGER and self.run.tape.types[given].base is BaseType.REAL:
            raise self._gives_real(own, span)

    @staticmethod
    def _gives_real(own: FlatVariable, span: Span | None) -> ModelError:
        word = own.type.base.value
        return ModelError(
            f"{span}: `{own.name}` is {'an' if word[0] in 'IEe' else 'a'} {word}, and "
            f"`{span.text if span else ''}` gives it a Real",
            hint="declare a Real, or use integer(...)",
            span=span,
            rule="8.3.1",
        )

    def _whole(self, item: FlatItem, left: int) -> int:
        """The Integer, Boolean or enumeration variable that an item sets as a whole; NONE: it sets something else."""
        known = self.d.of_equations.items.get(id(item), NONE)
        node = self.nodes[left]
        if known == NONE and isinstance(node, VariableRef):
            is_real = self.flat.variables[node.variable].type.base is BaseType.REAL
            return NONE if is_real else node.variable
        return known

    def _sides(self, left: int, right: int) -> list[tuple[int | str, int | str]]:
        """Scalar by scalar both sides of an equation for discrete variables."""
        given: Any
        target = self.nodes[left]  # of a call with several outputs those are taken that have a name
        read, given = self.run.sides(left, right)
        if isinstance(target, FlatTuple) and isinstance(given, list):
            given = Rec([one for e, one in zip(target.elements, given, strict=False) if e != NONE])
        targets, values = leaves(Rec(read) if isinstance(read, list) else read), leaves(given)
        return list(zip(targets, values * len(targets) if len(values) == 1 else values, strict=True))

    def _set(self, found: dict[int, list[list[_Branch]]], target: int | str, value: int | str, how: How) -> None:
        """One scalar assignment; -v = e is v = -e."""
        root = self._discrete(target)
        if root is None:
            raise self._not_solved(how.span)
        v, sign = root
        position = self.symbols.owner[v]
        new = value if isinstance(value, str) else with_sign(self.g, sign, value)
        self._add(found, position, [v - self.symbols.base[position]], [new], how)

    def _discrete(self, e: int | str) -> tuple[int, int] | None:
        """A discrete variable and its sign, where the expression is nothing else."""
        if isinstance(e, str):
            which = self.d.texts.of_text.get(e)
            return None if which is None else (which, 1)
        root = signed_variable(self.g, e)
        return root if root is not None and self.symbols.variables[root[0]].kind == Kind.DISCRETE else None

    def _not_solved(self, span: Span | None) -> ModelError:
        return ModelError(
            f"{span or 'here'}: an equation for discrete variables must have one of them alone on its left side",
            hint="solve it for the variable: v = ...",
            span=span,
        )

    def _solve_standing(self, found: dict[int, list[list[_Branch]]], rows: list[_Row]) -> None:
        """Equations that always hold. A connection a = b sets the side that nothing else sets: those with one choice
        only go first, and what they set is no choice for the others any more.
        """
        taken = {
            self.symbols.base[position] + k for position, lists in found.items() for k, own in enumerate(lists) if own
        }
        readers: dict[int, list[_Row]] = {}
        for row in rows:
            for e in (row.left, row.right):
                if self._discrete(e) is not None:
                    row.choices.append(e)
                    readers.setdefault(self._number(e), []).append(row)
        ready = [row for row in rows if len(row.choices) < 2]
        waiting = [row for row in reversed(rows) if len(row.choices) == 2]
        for v in taken:
            ready += [row for row in readers.get(v, []) if row.drop(v, self._number)]
        solved: dict[int, _Row] = {}  # of Real variables of clocks, which may be in loops
        open_rows = []
        while ready or waiting:
            row = ready.pop() if ready else waiting.pop()
            if row.done:
                continue
            row.done = True
            if not row.choices:
                if isinstance(row.left, str) and row.left != row.right:
                    raise self._not_solved(row.how.span)
                open_rows += [] if isinstance(row.left, str) else [row]
                continue
            target = row.choices[0]
            row.value = row.right if target == row.left else row.left
            v = self._number(target)
            if self._is_clocked(v):
                solved[v] = row
            else:
                self._set(found, target, row.value, row.how)
            ready += [other for other in readers.get(v, []) if other is not row and other.drop(v, self._number)]
        self._solve_clocked(found, solved, open_rows, taken)

    def _is_clocked(self, v: int) -> bool:
        own = self.flat.variables[self.symbols.owner[v]]
        return own.clock != NONE and own.type.base is BaseType.REAL

    def _solve_clocked(
        self, found: dict[int, list[list[_Branch]]], solved: dict[int, _Row], rows: list[_Row], taken: set[int]
    ) -> None:
        """Equations of clocks: in the place of those that are in loops, or stand for no variable, what solves them."""
        g, relations = self.g, self.run.relations
        reads = {v: variables_of(g, *expand_relations(g, [row.number()], relations)) for v, row in solved.items()}
        loops = in_loops(reads)

        def is_open(v: int) -> bool:
            if v < 0 or self.symbols.variables[v].kind != Kind.DISCRETE or v in taken or not self._is_clocked(v):
                return False
            return v not in solved

        def is_unknown(v: int) -> bool:
            return v in loops or is_open(v)

        if rows:
            residuals = [row.residual(g) for row in rows]
            roots = {v for e in expand_relations(g, residuals, relations) for v in variables_of(g, e)}
            loops |= between(reads, roots, is_open)
        looped = [solved[v] for v in solved if v in loops]

        if rows or looped:
            all_rows = [*rows, *looped]
            given = eliminated(g, [row.residual(g) for row in all_rows], is_unknown, relations)
            if given is None and rows:
                raise self._not_solved(rows[0].how.span)
            if given is not None:
                for v in loops:
                    del solved[v]
                for row, (v, value) in zip(all_rows, given, strict=True):
                    self._set(found, var(g, v), value, row.how)
        for row in solved.values():
            self._set(found, row.choices[0], row.value, row.how)

    def _number(self, e: int | str) -> int:
        if isinstance(e, str):
            return self.d.texts.of_text[e]
        root = signed_variable(self.g, e)
        assert root is not None
        return root[0]

    def _add(
        self,
        found: dict[int, list[list[_Branch]]],
        position: int,
        places: Any,
        values: list[int | str],
        how: How,
    ) -> None:
        lists = found.setdefault(position, [[] for _ in range(prod(self.symbols.shape(position)))])
        for k, value in zip(places, values, strict=True):
            lists[k].append(_Branch(how, value))

    def _memories(self, position: int, branches: list[list[_Branch]]) -> None:
        before = scalars(self.d.before(position))
        starts = self._starts(position)
        clock = self.flat.variables[position].clock
        for k, own in enumerate(branches or [[] for _ in before]):
            number = self.symbols.base[position] + k
            value = before[k]
            for one in reversed(own):
                assert isinstance(one.value, int)
                active = self._acts_where(one.how, clock)
                value = one.value if active is None else choose(self.g, active, one.value, value)
            if not own:
                self._check_types(position)
                self._is_lost(self.symbols.variables[number].name, position)
            span = own[0].how.span if own else self.symbols.variables[number].span
            self.memories.append(Memory(number, self.g.nodes[before[k]][1], value, starts[k], span))

    def _acts_where(self, how: How, clock: int) -> int | None:
        """When a branch counts; None: always."""
        if how.under:
            return self.active(how.under) if how.active == NONE else how.active
        return self.d.tick(clock, how.span) if clock != NONE and how.order is None else None

    def _is_lost(self, name: str, position: int) -> None:
        text = f"nothing sets the discrete variable {name} (when-clauses inside if-equations are lost)"
        self.symbols.refusals.append(Refusal(text, self.flat.variables[position].span))

    def _text_memories(self, position: int, branches: list[list[_Branch]]) -> None:
        texts, own = self.d.texts, self.flat.variables[position]
        for k, element in enumerate(texts.elements[position]):
            given = branches[k] if branches else []
            state = texts.state(position, k, element.before)
            for one in reversed(given):
                assert isinstance(one.value, str)
                new, active = texts.state(position, k, one.value), self._acts_where(one.how, own.clock)
                state = new if active is None else texts.chosen(active, new, state)
            if not given:
                self._is_lost(own.name, position)
            self.memories += texts.memories(position, k, state, given[0].how.span if given else own.span)

    def _initial_texts(self) -> None:
        """`s = "..."` or `pre(s) = "..."` among initial equations."""
        for item in self.flat.initial_equations:
            if isinstance(item, FlatEquation):
                left = self.nodes[item.left]
                target = self.nodes[left.operands[0]] if isinstance(left, FlatBuiltin) and left.name == "pre" else left
                if isinstance(target, VariableRef) and target.variable in self.d.texts.elements:
                    self.d.texts.begin(target.variable, self.d.shaped(target.variable, item.right))

    def _check_types(self, position: int) -> None:
        """An equation between a discrete variable that nothing else sets and a Real: it was meant to set it."""
        own = self.flat.variables[position]
        for item in self.flat.equations:
            if not isinstance(item, FlatEquation) or item.variability is not Variability.CONTINUOUS:
                continue
            for e in (item.left, item.right):
                node = self.nodes[e]
                if isinstance(node, VariableRef) and node.variable == position:
                    raise self._gives_real(own, item.span)

    def _starts(self, position: int) -> list[int]:
        """Declared values before the first event."""
        first = self.symbols.base[position]
        n = len(scalars(self.symbols.value(position)))
        starts = (self.symbols.variables[number].start for number in range(first, first + n))
        return [const(self.g, 0.0) if e is None else e for e in starts]

    # ----------------------------------------------------------------------------------------- activation

    def active(self, under: tuple[EventFrame, ...]) -> int:
        """True where everything around an item says so."""
        active = const(self.g, 1.0)
        assert self.run.bounds is not None
        for k, frame in enumerate(under):
            with self.run.bounds.within(How(under[:k], frame.span) if k else None):
                if frame.condition != NONE:
                    active = logical_and(self.g, active, self._says(frame.condition, frame.span, frame.is_when))
                for other, span in frame.before:
                    never = logical_not(self.g, self._says(other, span, frame.is_when))
                    active = logical_and(self.g, active, never)
        return active

    def _at_point(self, under: tuple[EventFrame, ...]) -> int:
        """Activation of conditions that depend on the variable of a loop: asked for while it has its value."""
        conditions = [e for frame in under for e in (frame.condition, *(b for b, _ in frame.before)) if e != NONE]
        depends = self.run.tape.depends
        return self.active(under) if any(depends[e] >> 2 for e in conditions) else NONE

    def _says(self, condition: int, span: Span | None, is_when: bool) -> int:
        return self.rise(condition, span) if is_when else self.run.scalar(condition)

    def rise(self, which: int, span: Span | None) -> int:
        """True in the round of an event in which a condition becomes true."""
        point: tuple[Value, ...] = (
            tuple(self.run.points) if self.run.tape.depends[which] >> 2 else ()
        )  # in a loop, one each
        known = self.triggers.get((which, point))
        if known is not None:
            return known
        node, g = self.nodes[which], self.g
        is_always = isinstance(node, FlatLiteral) and node.value is True
        if is_always or isinstance(node, ClockTick) or (isinstance(node, FlatBuiltin) and node.name == "initial"):
            known = self.run.scalar(which)
        elif isinstance(node, FlatArray):
            spans = self.run.tape.spans
            known = self.rise(node.elements[0], spans[node.elements[0]])
            for one in node.elements[1:]:
                known = logical_or(g, known, self.rise(one, spans[one]))
        else:
            known = const(g, 0.0)
            for condition in scalars(self.run.value(which)):  # of a vector each element for itself
                known = logical_or(g, known, self._rises(condition, span))
        self.triggers[which, point] = known
        return known

    def _rises(self, condition: int, span: Span | None) -> int:
        g = self.g
        now, before = self._memory(f"when {len(self.memories) + 1}", condition, const(g, 0.0), span)
        rises = logical_and(g, now, logical_not(g, before))
        if self.d.initial in variables_of(g, condition):
            return rises
        return logical_and(g, rises, logical_not(g, self.d.is_initial()))

    def _memory(self, name: str, expression: int, start: int, span: Span | None) -> tuple[int, int]:
        """A memory that the model does not name: nodes of its value and of the value before."""
        now = self.d.new_symbol(f"${name}", Kind.DISCRETE, span)
        before = self.d.new_symbol(f"pre(${name})", Kind.BEFORE, span)
        memory = Memory(self.g.nodes[now][1], self.g.nodes[before][1], expression, start, span)
        self.memories.append(memory)
        return now, before

    def floor(self, e: int, span: Span | None) -> int:
        """floor(e) that changes at events only."""
        known = self.floors.get(e)
        if known is None:
            g = self.g
            value, one = apply(g, Op.FLOOR, e), const(g, 1.0)
            known, before = self._memory(f"floor {len(self.floors) + 1}", value, value, span)
            place = len(self.memories) - 1
            short = mul(g, const(g, FLOOR_ROUNDING), add(g, one, apply(g, Op.ABS, e)))
            # Relations with pre(F): they rest while F follows them
            above = self.run.event(add(g, before, one), e, False, span)
            below = self.run.event(e, before, True, span)
            pair = zip(self.run.relations[-2:], (1, -1), strict=True)
            self.run.relations[-2:] = [replace(relation, floor=side) for relation, side in pair]
            here = apply(g, Op.FLOOR, add(g, e, short))
            up = binary(g, Op.MAX, here, add(g, before, one))
            down = binary(g, Op.MIN, here, sub(g, before, one))
            expression = choose(g, above, up, choose(g, below, down, before))
            self.memories[place] = replace(self.memories[place], expression=expression)
            self.floors[e] = known
        return known
