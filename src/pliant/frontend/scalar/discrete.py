"""Discrete variables: what an expression gets that reads one.

A discrete variable that is an ordinary function of other values (``b = x > 1``) is replaced by its expression. One
that has a memory is a symbol that events set (events.py): set in a when-clause or by a clock, read as ``pre(...)``, or
part of a loop of discrete variables. What pliant cannot run (delay, terminal, clocks of other kinds) becomes a symbol,
too, with a refusal; it counts where an equation or an event reads it.
"""

from __future__ import annotations

from math import prod
from typing import Any

from pliant.errors import NotSupportedError, PliantError
from pliant.expr.build import const, logical_and, logical_not, logical_or, value_of, var
from pliant.frontend.rumoca.clauses import Clauses
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.symbols import DISCRETE_ROLES, Symbols, element_names
from pliant.frontend.scalar.values import Arr, Value, scalars
from pliant.ir import Clock, Kept, Kind, Refusal, Span, Variable

BEFORE = frozenset({"pre_discrete_real", "pre_discrete_value"})


class Discretes:
    """Values of discrete variables and everything else that only events change."""

    def __init__(self, run: Interpreter, symbols: Symbols, storage: dict[str, Any]) -> None:
        self.run, self.g, self.symbols, self.storage = run, run.g, symbols, storage
        self.reasons: dict[int, Refusal] = {}  # number of a symbol -> why it cannot be run
        self.specials: dict[str, int] = {}  # name -> node of a symbol that no variable of rumoca stands for
        self.kept: list[Kept] = []
        self.clocks: dict[int, Clock] = {}
        self.initial = -1
        self.values: dict[int, Value] = {}
        self.before_nodes: dict[int, Value] = {}
        self.dropped: set[int] = set()
        self.clauses = Clauses(storage, run.nodes, symbols.spans)
        self.entered: frozenset[int] = frozenset()  # variables that are read as pre(v) now
        self.clocked = {one["variable"] for one in storage["clock_ownerships"]}
        self.assigned = self._assignments()
        self.order: dict[int, list[int] | None] = {}
        self.memory: set[int] = set()  # positions in rumoca's list
        self.early: set[int] | None = set()  # nodes that parameters read; None: variables are declared

    # ------------------------------------------------------------------------------------ who sets what

    def _assignments(self) -> dict[int, int]:
        """Variable -> expression that it always equals."""
        assigned: dict[int, int] = {}
        for owner in self.storage["discrete_value_owners"]:
            branches = owner["branches"]
            if len(branches) != 1 or branches[0]["activation"] != "always":
                continue
            for target, entry in zip(owner["targets"], branches[0]["values"], strict=True):
                if isinstance(entry.get("value"), int) and target not in self.clocked:
                    assigned[target] = entry["value"]
        return assigned

    def _reads(self, position: int) -> list[int]:
        """Discrete variables that an assignment reads."""
        nodes = self.run.nodes
        found: list[int] = []
        for number in nodes.reachable([self.assigned[position]]):
            raw = nodes.raw[number]
            if nodes.kind[number] == "coordinate" and isinstance(raw, dict):
                ((name, which),) = raw.items()
                if name in DISCRETE_ROLES:
                    found.append(which)
        return found

    def declare(self) -> None:
        """Find the variables with a memory and give them numbers."""
        self._forget_early()
        for position, raw in enumerate(self.symbols.raw):
            if raw["role"] in DISCRETE_ROLES and position not in self.assigned:
                self.memory.add(position)
        nodes = self.run.nodes
        for kind, raw in zip(nodes.kind, nodes.raw, strict=True):
            if kind == "coordinate" and isinstance(raw, dict):
                self.memory.update(which for name, which in raw.items() if name in BEFORE)
        for position in self.assigned:
            if self.evaluation_order(position) is None:
                self.memory.add(position)
        for position in sorted(self.memory):
            if self.symbols.scalar_type(position) != "string":
                self.symbols.add(position, Kind.DISCRETE)

    def _stand_in(self, position: int, number: int) -> Value:
        """A discrete variable among parameters, which may ask for its size, not for its value."""
        assert self.early is not None
        self.early.add(number)
        raw = self.symbols.raw[position]
        name, span = raw["name"], self.symbols.spans.of(raw["declaration"])
        node = self.special(f"$early.{name}", f"a parameter depends on `{name}`", span)
        shape = self.symbols.shape(position)
        return Arr(shape, [node] * prod(shape)) if shape else node

    def _forget_early(self) -> None:
        """Everything that was made with stand-ins is evaluated again when it is needed."""
        early, self.early = self.early or set(), None
        for number in range(min(early), len(self.run.values)) if early else ():
            if number in early or not early.isdisjoint(self.run.nodes.strict[number]):
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
            is_text = self.symbols.scalar_type(position) == "string"
            self.values[position] = "…" if is_text else self.symbols.value(position)
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
            if symbols.scalar_type(position) == "string":
                return "…"
            first = symbols.add(position, Kind.BEFORE, "pre({})")
            nodes = [var(self.g, number) for number in range(first, first + prod(shape))]
            known = Arr(shape, nodes) if shape else nodes[0]
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
        """Node of a new variable that rumoca does not know."""
        self.symbols.variables.append(Variable(name, kind, type_, span=span))
        self.symbols.owner.append(-1)
        return var(self.g, len(self.symbols.variables) - 1)

    def special(self, name: str, text: str, span: Span | None) -> int:
        """A symbol for something that pliant cannot run."""
        known = self.specials.get(name)
        if known is None:
            known = self.specials[name] = self.new_symbol(name, Kind.BEFORE, span)
            self.reasons[self.g.nodes[known][1]] = Refusal(text, span)
        return known

    def coordinate(self, kind: str, which: Any, number: int) -> Value:
        """What a coordinate node reads."""
        if kind in {"algebraic", "state", "input", "parameter"}:
            return self.symbols.value(which)
        if kind == "derivative":
            return self.symbols.derivative_of(which)
        if kind == "time":
            return self.symbols.time()
        if kind in DISCRETE_ROLES and self.early is not None:
            return self._stand_in(which, number)
        if kind in DISCRETE_ROLES:
            return self.before(which) if which in self.entered else self.value(which)
        if kind in BEFORE:
            return self.before(which)
        if kind == "pre_state":
            return self._before_state(which)
        if kind == "previous":
            return self.before(self.storage["previous_values"][which]["variable"])
        span = self.symbols.spans.span(self.run.nodes.span(number))
        if kind == "condition":
            return self.holds(which, span)
        if kind == "clock_interval" and "periodic" in self.storage["clocks"][which]["kind"]:
            period = self.storage["clocks"][which]["kind"]["periodic"]["lattice"]["period"]
            return const(self.g, period["num"] / period["den"])
        texts = {
            "delay": (f"delay({which})", "delay(...) is not supported"),
            "clock_interval": (f"interval({which})", "interval(...) of this clock is not supported"),
            "terminal": ("terminal()", "terminal() is not supported"),
        }
        name, text = texts.get(kind, (f"{kind}({which})", f"`{kind}` is not supported"))
        return self.special(name, text, span)

    # ----------------------------------------------------------------------------------------- conditions

    def holds(self, which: int, span: Span | None = None) -> int:
        """A condition of rumoca's list as an expression."""
        entry = self.storage["conditions"][which]
        node, g = entry["node"], self.g
        span = span or self.symbols.spans.of(entry.get("provenance"))
        if node == "always":
            return const(g, 1.0)
        if node == "initial":
            return self.is_initial()
        ((kind, inner),) = node.items()
        if kind == "relation":
            relation = self.storage["relations"][inner]
            if "relation" in relation:
                return self._where_it_stands(relation["relation"]["expression"], entry, span)
        elif kind == "discrete":
            return self._where_it_stands(inner, entry, span)
        elif kind == "clock":
            return self.tick(inner, span)
        elif kind == "not":
            return logical_not(g, self.holds(inner, span))
        elif kind in ("and", "or", "any_rise"):
            combine = logical_and if kind == "and" else logical_or
            return combine(g, self.holds(inner["lhs"], span), self.holds(inner["rhs"], span))
        return self.special(f"{kind}({which})", f"an event of kind `{kind}` is not supported", span)

    def _where_it_stands(self, expression: int, entry: dict[str, Any], span: Span | None) -> int:
        """A condition in an algorithm section reads pre(v) of variables that are set behind it only."""
        result = self.run.scalar(expression)  # also what it reads has its value now, whatever is entered below
        late = self.clauses.unset(entry.get("provenance"))
        nodes, read = self.run.nodes, set()
        for number in nodes.reachable([expression]) if late else ():
            raw = nodes.raw[number]
            if nodes.kind[number] == "coordinate" and isinstance(raw, dict):
                read |= {which for name, which in raw.items() if name in DISCRETE_ROLES and which in late}
        if not read:
            return result
        if read - self.memory:
            name = self.symbols.raw[min(read - self.memory)]["name"]
            raise NotSupportedError(
                f"{span or 'here'}: `{name}` is read before the algorithm section sets it",
                hint=f"write pre({name})",
            )
        self.entered = frozenset(read)
        try:
            return self.run.anew(expression)
        finally:
            self.entered = frozenset()

    def is_initial(self) -> int:
        """The node of initial()."""
        if self.initial < 0:
            node = self.new_symbol("initial()", Kind.BEFORE, None, "boolean")
            self.initial = self.g.nodes[node][1]
        return var(self.g, self.initial)

    def tick(self, which: int, span: Span | None) -> int:
        """True at the instants of a clock."""
        known = self.clocks.get(which)
        if known is None:
            entry = self.storage["clocks"][which]
            ((kind, content),) = entry["kind"].items()
            if kind != "periodic":
                return self.special(f"clock({which})", f"a clock of kind `{kind}` is not supported", span)
            period, phase = content["lattice"]["period"], content["lattice"]["phase"]
            node = self.new_symbol(f"tick({which + 1})", Kind.BEFORE, span, "boolean")
            number = self.g.nodes[node][1]
            known = Clock(number, phase["num"] / phase["den"], int(period["num"]), int(period["den"]), span)
            self.clocks[which] = known
        return var(self.g, known.tick)

    # ----------------------------------------------------------------------------------------- the end

    def finish(self) -> None:
        """Give discrete variables without memory a place among the variables, their expression as binding."""
        for position, raw in enumerate(self.symbols.raw):
            if raw["role"] not in DISCRETE_ROLES or self.symbols.scalar_type(position) == "string":
                continue
            if position in self.memory or not self._try(position):
                continue
            first = self.symbols.add(position, Kind.DISCRETE)
            names = element_names(raw["name"], self.symbols.shape(position))
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
