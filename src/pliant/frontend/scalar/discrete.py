"""Discrete variables: what an expression gets that reads one.

A discrete variable that is an ordinary function of other values (``b = x > 1``) is replaced by its expression. One
that has a memory is a symbol that events set (events.py): set in a when-clause or by a clock, read as ``pre(...)``,
part of a loop of discrete variables, or an Integer that may grow without end (large_integers.py). What pliant cannot
run (clocks of other kinds) becomes a symbol, too, with a refusal; it counts where an equation or an event reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from pliant.errors import ModelError, NotSupportedError, PliantError
from pliant.expr.build import binary, choose, const, logical_and, logical_not, sub, value_of, var
from pliant.expr.differentiate import TimeDerivative
from pliant.frontend.flat.expressions import (
    NONE,
    ClockInterval,
    ClockTick,
    FlatBuiltin,
    FlatExpression,
    VariableRef,
)
from pliant.frontend.flat.model import FlatEquation
from pliant.frontend.flat.types import BaseType, Variability
from pliant.frontend.scalar.assigned import SetByEquations
from pliant.frontend.scalar.dependence import TIME, UNKNOWN
from pliant.frontend.scalar.discrete_texts import Forms, TextMemories
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.large_integers import LargeIntegers
from pliant.frontend.scalar.open_texts import compared
from pliant.frontend.scalar.pipes import Pipes
from pliant.frontend.scalar.symbols import Symbols, element_names, is_discrete, is_parameter
from pliant.frontend.scalar.values import Arr, Value, map1, map2, scalars
from pliant.ir import Clock, Equation, Function, Kept, Kind, Op, Refusal, Span, Variable


class Discretes:
    """Values of discrete variables and everything else that only events change."""

    def __init__(self, run: Interpreter, symbols: Symbols, forms: Forms | None = None) -> None:
        self.run, self.g, self.symbols = run, run.g, symbols
        self.flat, self.nodes = run.tape.flat, run.nodes
        self.reasons: dict[int, Refusal] = {}  # number of a symbol -> why it cannot be run
        self.specials: dict[str, int] = {}  # name -> node of a symbol that no variable of the model stands for
        self.kept: list[Kept] = []
        self.functions: list[Function] = []  # those that are kept as calls
        self.clocks: dict[int, Clock] = {}
        self.ticks: dict[int, int] = {}  # clocks of conditions -> nodes that are true where they tick
        self.initial = self.terminal = -1
        self.values: dict[int, Value] = {}
        self.before_nodes: dict[int, Value] = {}
        self.dropped: set[int] = set()
        self.of_equations = SetByEquations(self.flat, self.nodes)
        self.assigned = self.of_equations.values
        self.order: dict[int, list[int] | None] = {}
        self.memory: set[int] = set()  # positions in the flat model
        self.early: set[int] | None = set()  # expressions that parameters read; None: variables are declared
        self.delays: dict[tuple[int, int, int], int] = {}  # t - T, expression, longest delay -> number
        self.pipes = Pipes(run, self.follow)
        self.followed: dict[int, Span | None] = {}
        self.texts = TextMemories(self, forms)
        #: makes a memory: name, expression, start -> nodes of its value and of the value before (events.py)
        self.remember: Callable[[str, int, int, Span | None], tuple[int, int]]

    # ------------------------------------------------------------------------------------ who sets what

    def _reads(self, position: int) -> list[int]:
        """Discrete variables that an assignment reads."""
        return [v for v in self.run.tape.reads(self.assigned[position]) if is_discrete(self.flat.variables[v])]

    def declare(self) -> None:
        """Find the variables with a memory and give them numbers."""
        self._forget_early()
        for position, own in enumerate(self.flat.variables):
            if is_discrete(own) and position not in self.assigned:
                self.memory.add(position)
        given = {
            one.left for one in self.flat.initial_equations if isinstance(one, FlatEquation)
        }  # what is set, not read
        for k, node in enumerate(self.nodes):
            if node.__class__ is FlatBuiltin and node.name in ("pre", "edge", "change") and k not in given:
                for number in self.run.tape.reachable(list(node.operands)):
                    of = self.nodes[number]
                    if isinstance(of, VariableRef) and is_discrete(self.flat.variables[of.variable]):
                        self.memory.add(of.variable)
        grows = LargeIntegers(self.run.tape)
        for position in self.assigned:
            if grows(position, self.assigned[position]) or self.evaluation_order(position) is None:
                self.memory.add(position)
        for position in sorted(self.memory):
            if not self.symbols.is_text(position):
                self.symbols.add(position, Kind.DISCRETE)
            elif self.flat.variables[position].type.base is BaseType.STRING:
                self.texts.declare(position)

    def _stand_in(self, position: int, number: int) -> Value:
        """A discrete variable among parameters, which may ask for its size, not for its value."""
        assert self.early is not None
        self.early.add(number)
        own = self.flat.variables[position]
        name, span = own.name, own.span
        node = self.refused(f"$early.{name}", f"a parameter depends on `{name}`", span)
        shape = self.symbols.shape(position)
        return Arr(shape, [node] * prod(shape)) if shape else node

    def _forget_early(self) -> None:
        """Everything that was made with stand-ins is evaluated again when it is needed."""
        early, self.early = self.early or set(), None
        for number in range(min(early), len(self.run.values)) if early else ():
            if number in early or not early.isdisjoint(self.run.tape.strict[number]):
                early.add(number)
                self.run.values[number] = None

    def evaluation_order(self, root: int) -> list[int] | None:
        """Assignments to evaluate for this variable, operands first; None if it is part of a loop."""
        stack = [(root, False)]
        reads: dict[int, list[int]] = {}
        open_now: set[int] = set()
        while stack:
            position, ready = stack.pop()
            if ready:
                open_now.discard(position)
                if position not in self.order:
                    self.order[position] = [*reads[position], position]
            elif position in open_now:
                for each in open_now:  # a loop: none of them has a value of its own
                    self.order[each] = None
            elif position not in self.order:
                if position in self.memory or position not in self.assigned:
                    self.order[position] = [position]
                    continue
                reads[position] = [p for p in self._reads(position) if p not in self.memory]
                open_now.add(position)
                stack.append((position, True))
                stack.extend((p, False) for p in reads[position])
        return self.order[root]

    # --------------------------------------------------------------------------------------------- values

    def value(self, position: int) -> Value:
        """Value of a discrete variable: its expression, or a symbol."""
        if position in self.values:
            return self.values[position]
        if position in self.memory:
            is_text = self.symbols.is_text(position)
            self.values[position] = self.texts.value(position) if is_text else self.symbols.value(position)
            return self.values[position]
        self.evaluation_order(position)
        todo = [position]
        while todo:
            current = todo[-1]
            missing = [p for p in self.order[current] or [] if p != current and p not in self.values]
            if missing:
                todo.extend(missing)
                continue
            todo.pop()
            if current not in self.values:
                with self.run.bounds.aside():  # type: ignore[union-attr]
                    self.values[current] = (
                        self.value(current) if current in self.memory else self.shaped(current, self.assigned[current])
                    )
        return self.values[position]

    def shaped(self, position: int, expression: int) -> Value:
        """Value of an expression in the form of a variable: a scalar stands for every element."""
        value = self.run.value(expression)
        shape = self.symbols.shape(position)
        if shape and not isinstance(value, Arr):
            return Arr(shape, [value] * prod(shape))
        return value

    def before(self, position: int) -> Value:
        """pre(v) of a discrete variable."""
        known = self.before_nodes.get(position)
        if known is None:
            symbols, shape = self.symbols, self.symbols.shape(position)
            if symbols.is_text(position):
                return self.texts.before(position)
            first = symbols.add(position, Kind.BEFORE, "pre({})")
            nodes = [var(self.g, number) for number in range(first, first + prod(shape))]
            known = Arr(shape, nodes) if shape else nodes[0]
            self.before_nodes[position] = known
        return known

    def _before_input(self, position: int) -> Value:
        """pre(u) of a discrete input: what a memory that takes the value of u at every event held before."""
        known = self.before_nodes.get(position)
        if known is None:
            symbols, shape, nodes = self.symbols, self.symbols.shape(position), []
            first = symbols.base[position]
            for number in range(first, first + prod(shape)):
                own = symbols.variables[number]
                start = const(self.g, 0.0) if own.start is None else own.start
                nodes.append(self.remember(f"past of {own.name}", var(self.g, number), start, own.span)[1])
            known = Arr(shape, list(nodes)) if shape else nodes[0]
            self.before_nodes[position] = known
        return known

    def _before_state(self, position: int) -> Value:
        """pre(x) of a continuous variable: its value when the event begins."""
        known = self.before_nodes.get(position)
        if known is None:
            nodes = []
            for e in scalars(self.symbols.value(position)):
                name = self.symbols.variables[self.g.nodes[e][1]].name
                nodes.append(self.new_symbol(f"pre({name})", Kind.BEFORE, None))
                self.kept.append(Kept(self.g.nodes[nodes[-1]][1], e))
            shape = self.symbols.shape(position)
            known = Arr(shape, list(nodes)) if shape else nodes[0]
            self.before_nodes[position] = known
        return known

    def new_symbol(self, name: str, kind: Kind, span: Span | None, type_: str = "real") -> int:
        """Node of a new variable that the flat model does not have."""
        self.symbols.variables.append(Variable(name, kind, type_, span=span))
        self.symbols.owner.append(-1)
        return var(self.g, len(self.symbols.variables) - 1)

    def refused(self, name: str, text: str, span: Span | None) -> int:
        """A symbol for something that pliant cannot run."""
        known = self.specials.get(name)
        if known is None:
            known = self.specials[name] = self.new_symbol(name, Kind.BEFORE, span)
            self.reasons[self.g.nodes[known][1]] = Refusal(text, span)
        return known

    # ------------------------------------------------------------------------------ what expressions read

    def variable(self, position: int, number: int) -> Value:
        """What an expression reads that names a variable."""
        if position in self.run.assigned:
            return self.run.assigned[position]
        if not is_discrete(self.flat.variables[position]):
            return self.symbols.value(position)
        return self.value(position) if self.early is None else self._stand_in(position, number)

    def special(self, number: int, node: FlatExpression) -> Value:
        """What operators give that time and events have a hand in."""
        span = self.run.tape.spans[number]
        if isinstance(node, ClockTick):
            return self.tick(node.clock, span)
        if isinstance(node, ClockInterval):
            clock = self.flat.clocks[node.clock]
            if clock.kind == "periodic":
                return const(self.g, clock.interval[0] / clock.interval[1])
            return self.refused(f"interval({node.clock})", "interval(...) of this clock is not supported", span)
        assert isinstance(node, FlatBuiltin)
        name = node.name
        if name == "der":
            return self._of(node.operands[0], self._derivative_of, self._derivative)
        if name in ("pre", "previous"):
            return self._past(node.operands[0])
        if name in ("edge", "change"):
            return self._changed(name, node.operands[0])
        if name == "initial":
            return self.is_initial()
        if name == "terminal":
            return self.is_terminal()
        if name == "delay":
            return self._delay(node, span)
        if name == "spatialDistribution":
            return Arr((2,), list(self.pipes.outlets([self.run.value(e) for e in node.operands], span)))
        return self.refused(f"{name}()", f"`{name}` is not supported", span)

    def _delay(self, node: FlatBuiltin, span: Span | None) -> Value:
        """delay(expr, T[, longest]): what it was at time - T; the longest delay is T itself where it is constant."""
        g, (value, delay, *longest) = self.g, [self.run.value(e) for e in node.operands]
        what = scalars(delay)[0]
        most = scalars(longest[0])[0] if longest else what
        known = value_of(g, what)
        if known is not None and known < 0.0:
            raise ModelError(f"the time of delay(...) is {known:g}", hint="give it a time from 0 up", rule="3.7.4.1")
        if known == 0.0:
            return value
        tau = sub(g, g.intern((Op.TIME,)), what)

        def one(e: int) -> int:
            self.follow(e, span)
            number = self.delays.setdefault((tau, e, most), len(self.delays))
            return g.intern((Op.DELAY, number, 0, tau, e, most))

        return map1(one, value)

    def follow(self, e: int, span: Span | None) -> None:
        """``e`` is kept as it is at the steps, to be read later: steps must follow it."""
        if self.run.masks.of(e) & (UNKNOWN | TIME):
            self.followed.setdefault(e, span)

    def integrals(self) -> list[Equation]:
        """w' = e, w(start) = 0 of what is followed, so that the error test sees it.

        Nothing else may ask for that: where no state depends on e, steps grow beyond its waves.
        """
        found: list[Equation] = []
        for e, span in self.followed.items():
            node = self.g.nodes[e]
            if node[0] != Op.VAR or node[1] not in self.symbols.derivative:  # that is in the error test
                slope = self.symbols.new_state(f"$followed[{len(found) + 1}]", span)
                found.append(Equation(sub(self.g, slope, e), span))
        return found

    def _derivative_of(self, position: int) -> Value:
        """der(v) of a variable; 0 of a parameter or constant."""
        if is_parameter(self.flat.variables[position]):
            return map1(lambda _: const(self.g, 0.0), self.symbols.value(position))
        return self.symbols.derivative_of(position)

    def _derivative(self, e: int) -> int:
        """d/dt of an expression, by the chain rule."""
        if self.g.nodes[e][0] == Op.VAR and self.symbols.variables[self.g.nodes[e][1]].kind == Kind.UNKNOWN:
            return self.symbols.derivative_at(self.g.nodes[e][1])
        return TimeDerivative(self.g, self.functions, self._slope)(e)

    def _slope(self, number: int) -> int:
        kind = self.symbols.variables[number].kind
        if kind == Kind.UNKNOWN:
            return self.symbols.derivative_at(number)
        if kind in (Kind.DERIVATIVE, Kind.INPUT):
            raise NotSupportedError(
                f"the derivative of an expression over `{self.symbols.variables[number].name}` is not supported",
                hint="give the derivative by an input of its own, or let the input pass a filter, der(s) = (u - s)/T"
                if kind == Kind.INPUT
                else "introduce a variable: `v = expression`",
            )
        return const(self.g, 0.0)  # between events

    def _of(self, operand: int, whole: Callable[[int], Value], one: Callable[[int], int]) -> Value:
        """An operator on a variable, or on a part of one."""
        node = self.nodes[operand]
        if isinstance(node, VariableRef):
            return whole(node.variable)
        now, self.run.assigned = self.run.assigned, {}  # the variable itself is meant, also inside of an algorithm
        try:
            return map1(one, self.run.value(operand))
        finally:
            self.run.assigned = now

    def _number(self, e: int) -> int:
        """The variable that a node is."""
        node = self.g.nodes[e]
        if node[0] != Op.VAR:
            raise NotSupportedError(
                "der(...) or pre(...) of an expression is not supported, only of a variable",
                hint="introduce a variable: `v = expression`",
            )
        return int(node[1])

    def _past(self, operand: int) -> Value:
        def whole(position: int) -> Value:
            own = self.flat.variables[position]
            if is_discrete(own):
                return self.before(position)
            if own.variability is Variability.DISCRETE:
                return self._before_input(position)
            if is_parameter(own):
                return self.symbols.value(position)
            return self._before_state(position)

        def one(e: int) -> int:
            number = self._number(e)
            position = self.symbols.owner[number]
            return scalars(whole(position))[number - self.symbols.base[position]]

        return self._of(operand, whole, one)

    def _changed(self, name: str, operand: int) -> Value:
        """edge(b) = b and not pre(b), change(v) = v <> pre(v)."""
        now, before = self.run.value(operand), self._past(operand)
        if isinstance(now, str) and isinstance(before, str):
            return compared(self.run, "<>", now, before, self.run.tape.spans[operand])
        if name == "edge":
            return map2(self.g, lambda g, x, y: logical_and(g, x, logical_not(g, y)), now, before)
        return map2(self.g, lambda g, x, y: binary(g, Op.NE, x, y), now, before)

    def is_initial(self) -> int:
        """The node of initial()."""
        if self.initial < 0:
            node = self.new_symbol("initial()", Kind.BEFORE, None, "boolean")
            self.initial = self.g.nodes[node][1]
        return var(self.g, self.initial)

    def is_terminal(self) -> int:
        """The node of terminal(), which holds from the last event of a run on."""
        if self.terminal < 0:
            node = self.new_symbol("terminal()", Kind.BEFORE, None, "boolean")
            self.terminal = self.g.nodes[node][1]
        return var(self.g, self.terminal)

    def tick(self, which: int, span: Span | None) -> int:
        """True at the instants of a clock."""
        clock = self.flat.clocks[which]
        if clock.condition != NONE:
            if which not in self.ticks:
                holds = self.run.scalar(clock.condition)
                self.ticks[which] = self._after_rise(which, holds, clock.span) if clock.kind == "event" else holds
            return self.ticks[which]
        known = self.clocks.get(which)
        if known is None:
            if clock.kind != "periodic":
                return self.refused(f"clock({which})", f"a clock of kind `{clock.kind}` is not supported", span)
            node = self.new_symbol(f"tick({which + 1})", Kind.BEFORE, span, "boolean")
            number = self.g.nodes[node][1]
            known = Clock(number, clock.first[0] / clock.first[1], *clock.interval, span)
            self.clocks[which] = known
        return var(self.g, known.tick)

    def _after_rise(self, which: int, condition: int, span: Span | None) -> int:
        """True in the round behind the one in which a condition became true, which may depend on what ticks then."""
        g = self.g
        _, before = self.remember(f"when clock {which + 1}", condition, const(g, 0.0), span)
        at_start = choose(g, self.is_initial(), condition, before)  # what holds at the start has not risen
        _, earlier = self.remember(f"when clock {which + 1}, before", at_start, const(g, 0.0), span)
        return logical_and(g, before, logical_not(g, earlier))

    # ----------------------------------------------------------------------------------------- the end

    def finish(self) -> None:
        """Give discrete variables without memory a place among the variables, their expression as binding."""
        for position, own in enumerate(self.flat.variables):
            if not is_discrete(own) or self.symbols.is_text(position):
                continue
            if position in self.memory or not self._try(position):
                continue
            first = self.symbols.add(position, Kind.DISCRETE)
            names = element_names(own.name, self.symbols.shape(position))
            for number, e in zip(range(first, first + len(names)), scalars(self.values[position]), strict=True):
                is_number = value_of(self.g, e) is not None
                self.symbols.change(number, binding=e, kind=Kind.CONSTANT if is_number else Kind.DISCRETE)

    def _try(self, position: int) -> bool:
        """Evaluate one that nothing reads; False if it would need something that is not supported."""
        if position in self.values:
            return True
        self.evaluation_order(position)
        if position in self.dropped or not all(self._try(p) for p in (self.order[position] or [])[:-1]):
            return False
        refusals, n_reasons = self.symbols.refusals, len(self.reasons)
        n_refusals = len(refusals)
        try:
            self.value(position)
            if len(refusals) == n_refusals and len(self.reasons) == n_reasons:
                return True
        except PliantError:
            pass
        del refusals[n_refusals:]
        self.values.pop(position, None)
        self.dropped.add(position)
        return False
