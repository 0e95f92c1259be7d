"""Discrete variables, conditions and event actions.

A discrete variable that is an ordinary function of other values (``b = x > 1``) is replaced by its expression. One
that has a memory (set in a when-clause, reading ``pre``, clocked) is a leaf. pliant cannot run memories yet, so each
leaf that reaches a continuous equation becomes a refusal; those that nothing continuous reads are dropped.
"""

from __future__ import annotations

from math import prod
from typing import Any

from pliant.errors import PliantError
from pliant.expr.build import const, logical_and, logical_not, logical_or, value_of, var
from pliant.frontend.interpret import Interpreter
from pliant.frontend.symbols import DISCRETE_ROLES, Symbols, element_names
from pliant.frontend.values import Arr, Value, scalars
from pliant.ir import Kind, Refusal, Span, Variable

_MEMORY = frozenset({"pre_discrete_real", "pre_discrete_value", "pre_state", "previous", "delay", "clock_interval"})


class Discretes:
    """Values of discrete variables and everything else that only events change."""

    def __init__(self, run: Interpreter, symbols: Symbols, storage: dict[str, Any]) -> None:
        self.run, self.g, self.symbols, self.storage = run, run.g, symbols, storage
        self.reasons: dict[int, Refusal] = {}  # number of a leaf -> why it cannot be run
        self.leaves: dict[tuple[str, int], Value] = {}
        self.values: dict[int, Value] = {}
        self.dropped: set[int] = set()
        self.assigned, self.why = self._assignments()
        self.order: dict[int, list[int] | None] = {}

    # ------------------------------------------------------------------------------------ who sets what

    def _assignments(self) -> tuple[dict[int, int], dict[int, tuple[str, Any]]]:
        """Variable -> expression that it always equals; variable -> why it has none."""
        assigned: dict[int, int] = {}
        why: dict[int, tuple[str, Any]] = {}
        for owner in self.storage["discrete_value_owners"]:
            branches = owner["branches"]
            for k, target in enumerate(owner["targets"]):
                first = branches[0]
                value = first["values"][k].get("value") if len(branches) == 1 else None
                if len(branches) == 1 and first["activation"] == "always" and isinstance(value, int):
                    assigned[target] = value
                else:
                    why[target] = ("is set in a when-clause", first.get("provenance") or owner.get("provenance"))
        for row in self.storage["discrete_real_equations"]:
            for number in self.run.nodes.reachable([row["residual"]]):
                raw = self.run.nodes.raw[number]
                if self.run.nodes.kind[number] == "coordinate" and isinstance(raw, dict) and "discrete_real" in raw:
                    text = "is set in a when-clause" if row["activation"] != "always" else "is a clocked variable"
                    why.setdefault(raw["discrete_real"], (text, row.get("provenance")))
        for entry in self.storage["clock_ownerships"]:
            why[entry["variable"]] = ("belongs to a clock", entry.get("provenance"))
            assigned.pop(entry["variable"], None)
        return assigned, why

    def _reads(self, position: int) -> tuple[list[int], bool]:
        """Discrete variables that an assignment reads, and whether it needs a memory."""
        nodes = self.run.nodes
        found: list[int] = []
        for number in nodes.reachable([self.assigned[position]]):
            kind, raw = nodes.kind[number], nodes.raw[number]
            if kind == "clock_transfer":
                return found, True
            if kind != "coordinate" or isinstance(raw, str):
                continue
            ((name, which),) = raw.items()
            if name in _MEMORY or name == "condition":
                return found, True
            if name in DISCRETE_ROLES:
                found.append(which)
        return found, False

    def evaluation_order(self, root: int) -> list[int] | None:
        """Assignments to evaluate for this variable, operands first; None if there is a memory or a loop."""
        stack = [(root, False)]
        reads: dict[int, list[int]] = {}
        open_now: set[int] = set()
        while stack:
            position, ready = stack.pop()
            if ready:
                open_now.discard(position)
                parts = [self.order[p] for p in reads[position]]
                pure = [p for p in parts if p is not None]
                if len(pure) < len(parts):
                    self.order[position] = None
                else:
                    self.order[position] = [*reads[position], position]
            elif position in open_now:
                for each in open_now:  # a loop: none of them has a value of its own
                    self.order[each] = None
            elif position not in self.order:
                needs, has_memory = self._reads(position) if position in self.assigned else ([], True)
                if has_memory:
                    self.order[position] = None
                    continue
                reads[position] = needs
                open_now.add(position)
                stack.append((position, True))
                stack.extend((p, False) for p in needs)
        return self.order[root]

    # --------------------------------------------------------------------------------------------- values

    def value(self, position: int) -> Value:
        """Value of a discrete variable: its expression, or a leaf."""
        if position in self.values:
            return self.values[position]
        if self.evaluation_order(position) is None:
            return self.leaf(position, "{}")
        todo = [position]
        while todo:
            current = todo[-1]
            missing = [p for p in self.order[current] or [] if p != current and p not in self.values]
            if missing:
                todo.extend(missing)
                continue
            todo.pop()
            if current not in self.values:
                self.values[current] = self._evaluate(current)
        return self.values[position]

    def _evaluate(self, position: int) -> Value:
        value = self.run.value(self.assigned[position])
        shape = self.symbols.shape(position)
        if shape and not isinstance(value, Arr):
            return Arr(shape, [value] * prod(shape))
        return value

    def leaf(self, position: int, form: str) -> Value:
        """A symbol for a discrete variable with a memory, or for its value before the event."""
        known = self.leaves.get((form, position))
        if known is not None:
            return known
        symbols = self.symbols
        raw = symbols.raw[position]
        shape = symbols.shape(position)
        if symbols.scalar_type(position) == "string":
            value: Value = "…"
        else:
            text, provenance = self.why.get(position, ("has a memory: it depends on its value before the event", None))
            if form != "{}":
                text = "is read as pre(...)"
            span = symbols.spans.of(provenance) or symbols.spans.of(raw["declaration"])
            refusal = Refusal(f"`{raw['name']}` {text}", span)
            first = symbols.add(position, Kind.DISCRETE, form)
            numbers = range(first, first + prod(shape))
            self.reasons.update(dict.fromkeys(numbers, refusal))
            symbols._bounds(position, first)
            nodes = [var(self.g, number) for number in numbers]
            value = Arr(shape, nodes) if shape else nodes[0]
        self.leaves[form, position] = value
        return value

    def special(self, name: str, text: str, span: Span | None) -> Value:
        """A symbol for something that has no variable: initial(), delay(...), a clock's interval."""
        known = self.leaves.get((name, -1))
        if known is None:
            number = len(self.symbols.variables)
            self.symbols.variables.append(Variable(name, Kind.DISCRETE, span=span))
            self.symbols.owner.append(-1)
            self.reasons[number] = Refusal(text, span)
            known = var(self.g, number)
            self.leaves[name, -1] = known
        return known

    def coordinate(self, kind: str, which: Any, number: int) -> Value:
        """What a coordinate node reads."""
        if kind in {"algebraic", "state", "input"}:
            return self.symbols.value(which)
        if kind == "parameter":
            return self.symbols.value(which)
        if kind == "derivative":
            return self.symbols.derivative_of(which)
        if kind == "time":
            return self.symbols.time()
        if kind in DISCRETE_ROLES:
            return self.value(which)
        span = self.symbols.spans.span(self.run.nodes.span(number))
        if kind in {"pre_discrete_real", "pre_discrete_value", "pre_state"}:
            return self.leaf(which, "pre({})")
        if kind == "condition":
            return self.condition(which, span)
        if kind == "terminal":
            return const(self.g, 0.0)
        texts = {
            "delay": (f"delay({which})", "delay(...) is not supported"),
            "previous": (f"previous({which})", "previous(...) of a clocked variable is not supported"),
            "clock_interval": (f"interval({which})", "interval(...) of a clock is not supported"),
        }
        name, text = texts.get(kind, (f"{kind}({which})", f"`{kind}` is not supported"))
        return self.special(name, text, span)

    def condition(self, which: int, span: Span | None = None) -> int:
        """A condition of rumoca's list as an expression."""
        node = self.storage["conditions"][which]["node"]
        g = self.g
        if node == "always":
            return const(g, 1.0)
        if node == "initial":
            return scalars(self.special("initial()", "initial() in an equation is not supported", span))[0]
        ((kind, inner),) = node.items()
        if kind == "relation":
            entry = self.storage["relations"][inner]
            if "relation" in entry:
                return self.run.scalar(entry["relation"]["expression"])
        elif kind == "discrete":
            return self.run.scalar(inner)
        elif kind == "not":
            return logical_not(g, self.condition(inner, span))
        elif kind in ("and", "or"):
            combine = logical_and if kind == "and" else logical_or
            return combine(g, self.condition(inner["lhs"], span), self.condition(inner["rhs"], span))
        text = "sample(...) is not supported" if kind == "clock" else f"an event of kind `{kind}` is not supported"
        return scalars(self.special(f"{kind}({which})", text, span))[0]

    # ----------------------------------------------------------------------------------------- the end

    def finish(self) -> None:
        """Give discrete variables without memory a place among the variables, their expression as binding."""
        for position, raw in enumerate(self.symbols.raw):
            if raw["role"] not in DISCRETE_ROLES or self.symbols.scalar_type(position) == "string":
                continue
            if self.evaluation_order(position) is None:
                continue
            if not self._try(position):
                continue
            first = self.symbols.add(position, Kind.DISCRETE)
            names = element_names(raw["name"], self.symbols.shape(position))
            for number, e in zip(range(first, first + len(names)), scalars(self.values[position]), strict=True):
                variable = self.symbols.variables[number]
                variable.binding = e
                if value_of(self.g, e) is not None:
                    variable.kind = Kind.CONSTANT

    def _try(self, position: int) -> bool:
        """Evaluate one that nothing reads; False if it would need an event that is not supported."""
        if position in self.values:
            return True
        if position in self.dropped or not all(self._try(p) for p in (self.order[position] or [])[:-1]):
            return False
        refusals, variables = self.symbols.refusals, self.symbols.variables
        n_refusals, n_variables = len(refusals), len(variables)
        try:
            self.value(position)
            if len(refusals) == n_refusals and len(variables) == n_variables:
                return True
        except PliantError:
            pass
        del refusals[n_refusals:]
        self.values.pop(position, None)
        self.dropped.add(position)
        return False
