"""Values of discrete variables before the first event: start values, and initial equations that give them.

An initial equation `d = ...` or `pre(d) = ...` over parameters and other such values is a start value in other words.
What else determines a Real variable is left to the iteration for start values, in which d is an unknown; its declared
start value is the guess. Integers and Booleans cannot be iterated on: they are set again between two iterations.

`pre(d)` is the value before the event at the start, `d` the one after it. They differ only where a when-clause acts on
initial(). (Modelica language specification 3.6, section 8.6.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pliant.errors import NotSupportedError
from pliant.expr.build import const, div, neg, sub, substitute, value_of, var, variables_of
from pliant.expr.differentiate import gradient
from pliant.frontend.flat.expressions import FlatBuiltin, VariableRef
from pliant.frontend.flat.model import FlatEquation
from pliant.frontend.flat.types import Variability
from pliant.frontend.scalar.discrete import Discretes
from pliant.frontend.scalar.values import scalars
from pliant.ir import Equation, Events, Kind, Memory, Op

_MOVING = frozenset({Kind.UNKNOWN, Kind.DERIVATIVE, Kind.INPUT})


@dataclass(eq=False)
class _Assigned:
    """`d = value` or `pre(d) = value`, scalar by scalar."""

    memory: Memory | None  # None: d follows from other values at any time
    value: int
    equation: Equation
    is_before: bool


class StartTaker:
    """Sorts the initial equations of one model."""

    def __init__(self, discretes: Discretes, events: Events) -> None:
        self.d, self.g, self.events = discretes, discretes.g, events
        self.variables = discretes.symbols.variables
        self.memory_of = {v: one for one in events.memories for v in (one.variable, one.before)}
        self.at_start: dict[int, int] = {}  # variable of a memory -> what the event at the start makes of it
        self.waiting = {one.variable for one in events.memories if not self.variables[one.variable].fixed}

    def run(self, equations: list[Equation]) -> tuple[list[Equation], Events]:
        """The equations that are left, and the events with the start values of their memories."""
        if not self.memory_of and not self._given():
            return equations, self.events
        left = self._take(self._assigned())
        reading = [one for one in equations if not self._reads(one).isdisjoint(self.memory_of)]
        left += self._solve(reading, left)
        others = [one for one in equations if self._reads(one).isdisjoint(self.memory_of)]
        self._close()
        for equation in left:
            for v in self._reads(equation) & self.memory_of.keys():
                one = self.memory_of[v]
                if one.variable in self.waiting and self._is_real(one):
                    self._set(one, free=True)
        held = {var(self.g, one.before): one.start for one in self._memories() if not one.free}
        left = [replace(one, residual=substitute(self.g, [one.residual], held)[0]) for one in left]
        return [*left, *others], replace(self.events, memories=tuple(self._memories()))

    def _take(self, assigned: list[_Assigned]) -> list[Equation]:
        """Set what is given; the equations that are left.

        ``pre(a) = pre(b)`` waits until nothing else determines a or b.
        """
        late = [one for one in assigned if self._reads_waiting(one.value)]
        left = [one.equation for one in assigned if one not in late and not self._assign(one)]
        while late:
            single = next((one for one in left if self._determined(one, 1)), None)
            if single is not None:
                left.remove(single)
                continue
            first = next((one for one in late if self._determined(one.equation, 1)), None)
            if first is not None:
                late.remove(first)
            elif not self._assign(one := late.pop(0)):
                left.append(one.equation)
        return left

    def _reads_waiting(self, e: int) -> bool:
        reads = variables_of(self.g, e) & self.memory_of.keys()
        return any(self.memory_of[v].variable in self.waiting for v in reads)

    def _memories(self) -> list[Memory]:
        """All memories, as they are now."""
        return [self.memory_of[one.variable] for one in self.events.memories]

    def _set(self, memory: Memory, **changes: Any) -> None:
        new = replace(self.memory_of[memory.variable], **changes)
        self.memory_of[new.variable] = self.memory_of[new.before] = new

    def _reads(self, equation: Equation) -> set[int]:
        return variables_of(self.g, equation.residual)

    def _is_real(self, memory: Memory) -> bool:
        return self.variables[memory.variable].type == "real"

    def _acts_at_start(self, memory: Memory) -> bool:
        """The event at the start sets it: a when-clause on initial(), or an equation that always holds."""
        return self._first(memory) != var(self.g, memory.before)

    def _first(self, memory: Memory) -> int:
        """What the event at the start makes of it."""
        known = self.at_start.get(memory.variable)
        if known is not None:
            return known
        g = self.g
        at_start = {var(g, clock.tick): const(g, 0.0) for clock in self.events.clocks}
        if self.events.initial >= 0:
            at_start[var(g, self.events.initial)] = const(g, 1.0)
        if self.events.terminal >= 0:
            at_start[var(g, self.events.terminal)] = const(g, 0.0)
        (first,) = substitute(g, [memory.expression], at_start)
        self.at_start[memory.variable] = first
        return first

    def _before_start(self, e: int) -> int:
        """The same over values before the event at the start, as far as equations between discrete variables go."""
        g = self.g
        for _ in self.events.memories:
            reads = [self.memory_of[v] for v in variables_of(g, e) if v in self.memory_of]
            acting = [one for one in reads if not self._is_real(one) and self._acts_at_start(one)]
            known = {var(g, one.variable): self._first(one) for one in acting}
            (new,) = substitute(g, [e], known)
            if new == e:
                break
            e = new
        return e

    # ------------------------------------------------------------------------------- `d = ...`, explicit

    def _given(self) -> list[FlatEquation]:
        """Initial equations of the form `d = ...` or `pre(d) = ...`."""
        items = self.d.flat.initial_equations
        return [one for one in items if isinstance(one, FlatEquation) and one.variability is Variability.DISCRETE]

    def _assigned(self) -> list[_Assigned]:
        found, nodes = [], self.d.nodes
        for item in self._given():
            left = nodes[item.left]
            is_before = isinstance(left, FlatBuiltin) and left.name == "pre"
            target = nodes[left.operands[0]] if isinstance(left, FlatBuiltin) else left
            if not isinstance(target, VariableRef):
                raise NotSupportedError(
                    f"{item.span}: an initial equation for a part of a discrete variable is not supported",
                    hint="write it for the variable as a whole, or give `start` and `fixed = true`",
                )
            position = target.variable
            if self.d.symbols.is_text(position):
                continue  # discrete_texts.py
            values = scalars(self.d.shaped(position, item.right))
            for own, value in zip(scalars(self.d.value(position)), values, strict=True):
                memory = self._behind(own)
                if is_before:
                    if memory is None:  # nothing reads pre(d), and it says nothing about d
                        continue
                    own = var(self.g, memory.before)
                found.append(_Assigned(memory, value, Equation(sub(self.g, own, value), item.span), is_before))
        return found

    def _behind(self, e: int) -> Memory | None:
        """The memory whose value an expression is: that of the variable itself, or of one that it equals."""
        op, v = self.g.nodes[e][:2]
        memory = self.memory_of.get(v) if op == Op.VAR else None
        return memory if memory is not None and memory.variable == v else None

    def _assign(self, one: _Assigned) -> bool:
        """Take it as start value, if it is one alone."""
        memory = one.memory
        if memory is None:
            return False
        if memory.variable not in self.waiting or (self._acts_at_start(memory) and not one.is_before):
            return False
        if self._is_real(memory) and not self._acts_at_start(memory) and self._moves(one.value):
            return False
        self._set(memory, start=one.value)
        self.waiting.discard(memory.variable)
        return True

    def _moves(self, e: int) -> bool:
        """It depends on what the iteration for start values determines, or on inputs."""
        reads = variables_of(self.g, e)
        return any(map(self._is_open, reads - self.memory_of.keys())) or any(
            self.memory_of[v].variable in self.waiting for v in reads if v in self.memory_of
        )

    def _is_open(self, v: int) -> bool:
        """The variable moves, or is a parameter that initial equations determine, directly or through its binding."""
        todo, seen = [v], {v}
        while todo:
            variable = self.variables[todo.pop()]
            if variable.kind in _MOVING or variable.initial:
                return True
            if variable.binding is not None:
                new = variables_of(self.g, variable.binding) - seen
                seen |= new
                todo.extend(new)
        return False

    # ------------------------------------------------------------------------------------- equations

    def _solve(self, equations: list[Equation], before: list[Equation]) -> list[Equation]:
        """Follow chains of equations that each determine one value; the equations that are left."""
        rest = list(equations)
        pending = [*before, *equations]
        while True:
            first = (one for most in (1, len(self.waiting)) for one in pending if self._determined(one, most))
            equation = next(first, None)
            if equation is None:
                return rest
            pending.remove(equation)
            (before if equation in before else rest).remove(equation)

    def _determined(self, equation: Equation, most: int) -> bool:
        """Does the equation give the start value of a memory, as one of at most so many unknowns? It is set."""
        return self._gives(equation.residual, most) or self._gives(self._before_start(equation.residual), most)

    def _gives(self, residual: int, most: int) -> bool:
        g, memory_of = self.g, self.memory_of
        reads = variables_of(g, residual)
        unknown = {memory_of[v].variable for v in reads if v in memory_of} & self.waiting
        if len(unknown) > most:
            return False
        moves = any(map(self._is_open, reads - memory_of.keys()))
        slopes = gradient(g, residual, lambda v: v in memory_of and memory_of[v].variable in unknown)
        for v in sorted(slopes):
            memory, slope = memory_of[v], value_of(g, slopes[v])
            acts = self._acts_at_start(memory)
            if not slope or (acts and v == memory.variable):
                continue
            if acts or not self._is_real(memory) or (len(unknown) == 1 and not moves):
                (others,) = substitute(g, [residual], {var(g, v): const(g, 0.0)})
                self._set(memory, start=div(g, neg(g, others), const(g, slope)))
                self.waiting.discard(memory.variable)
                return True
        return False

    def _close(self) -> None:
        """Values before the first event that refer to other discrete variables: to their values before it."""
        for _ in self.events.memories:
            memories = self._memories()
            leaf = {var(self.g, v): one.start for one in memories for v in (one.variable, one.before)}
            starts = substitute(self.g, [one.start for one in memories], leaf)
            if starts == [one.start for one in memories]:
                return
            for one, start in zip(memories, starts, strict=True):
                self._set(one, start=start)
