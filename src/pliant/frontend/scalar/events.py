"""What happens at events: when-clauses, clocks, discrete equations, reinit, terminate.

Every discrete variable with a memory gets one expression for its value after an event, over values, values before the
event (``pre``), relations and ticks of clocks:

    when c then v = a; elsewhen d then v = b; end when;   v := if rise(c) then a else if rise(d) then b else pre(v)
    v = a                                                 v := a
    v = a, clocked                                        v := if tick then a else pre(v)

A branch acts where its condition rises and none of the branches before it in its clause (clauses.py); that holds for
everything in it, assignments, reinit, terminate and assertions. In an algorithm section a variable may be set several
times; rumoca puts in what statements before have set, and the last active assignment counts.

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

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
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
    variables_of,
)
from pliant.expr.signed import signed_variable, with_sign
from pliant.frontend.rumoca.clauses import is_retained, operands
from pliant.frontend.rumoca.nodes import Nodes
from pliant.frontend.rumoca.spans import Spans
from pliant.frontend.scalar.discrete import Discretes
from pliant.frontend.scalar.symbols import DISCRETE_ROLES, PARAMETER_ROLES
from pliant.frontend.scalar.values import scalars
from pliant.ir import FLOOR_ROUNDING, Action, Events, Kind, Memory, Op, Refusal, Span, StateSelect

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class _How:
    """When and where a variable is set."""

    activation: Any
    span: Span | None
    order: int | None = None  # of a statement in its algorithm section


@dataclass(frozen=True)
class _Branch:
    """One way in which one scalar is set."""

    how: _How
    value: int


@dataclass(eq=False)
class _Row:
    """One scalar equation between discrete variables that always holds."""

    left: int
    right: int
    how: _How
    choices: list[int] = field(default_factory=list)  # sides that are a variable alone
    done: bool = False

    def drop(self, v: int, number: Callable[[int], int]) -> bool:
        """Something else sets v; True if the row is still to be solved, and has one choice now or none."""
        self.choices = [e for e in self.choices if number(e) != v]
        return not self.done and len(self.choices) < 2


class EventBuilder:
    """Collects the events of one model."""

    def __init__(self, discretes: Discretes) -> None:
        self.d = discretes
        self.run, self.g, self.symbols, self.storage = discretes.run, discretes.g, discretes.symbols, discretes.storage
        self.memories: list[Memory] = []
        self.actions: list[Action] = []
        self.clauses = discretes.clauses
        self.triggers: dict[int, int] = {}  # condition -> node that is true when it rises
        self.floors: dict[int, int] = {}

    def finish(self) -> Events:
        """All memories, after the equations have been read."""
        found = self._branches()
        for position in sorted(self.d.memory):
            if self.symbols.scalar_type(position) != "string":
                self._memories(position, found.get(position, []))
        return self.completed(Events())

    def completed(self, events: Events) -> Events:
        """The same with what was added since: variables that no equation reads may need memories, too."""
        memories = (*events.memories, *self.memories[len(events.memories) :])
        clocks = tuple(self.d.clocks.values())
        return Events(memories, tuple(self.d.kept), clocks, tuple(self.actions), self.d.initial)

    # ------------------------------------------------------------------------------------- assignments

    def _branches(self) -> dict[int, list[list[_Branch]]]:
        """Variable with a memory -> per scalar its branches, the first active one counts."""
        found: dict[int, list[list[_Branch]]] = {}
        for owner in self.storage["discrete_value_owners"]:
            for branch in owner["branches"]:
                for target, entry in zip(owner["targets"], branch["values"], strict=True):
                    if target not in self.d.memory or self.symbols.scalar_type(target) == "string":
                        continue
                    if not isinstance(entry.get("value"), int):
                        name = self.symbols.raw[target]["name"]
                        raise NotSupportedError(
                            f"the discrete variable `{name}` is assigned in a form that pliant does not support",
                            hint=f"assign `{name}` in one when-clause, as in `{name} = expression;`",
                        )
                    if branch["activation"] != "always" and is_retained(self.run.nodes, target, entry):
                        continue
                    span = self.symbols.spans.of(branch.get("provenance") or owner.get("provenance"))
                    how = _How(branch["activation"], span, self._order(entry.get("provenance")))
                    values = scalars(self.d.shaped(target, entry["value"]))
                    self._add(found, target, range(len(values)), values, how)
        standing: list[_Row] = []
        for row in self.storage["discrete_real_equations"]:
            how = _How(
                row["activation"], self.symbols.spans.of(row.get("provenance")), self._order(row.get("provenance"))
            )
            pairs = self._sides(row["residual"], how.span)
            if how.activation == "always" and how.order is None:
                standing += [_Row(left, right, how) for left, right in pairs]
                continue
            for left, right in pairs:
                self._set(found, left, right, how)
        self._solve_standing(found, standing)
        for lists in found.values():
            for own in lists:  # the last assignment in an algorithm section goes first
                own.sort(key=lambda one: -(one.how.order or 0))
        return found

    def _order(self, provenance: Any) -> int | None:
        """Place of a statement among those of its algorithm section; None for an equation."""
        return None if self.clauses.section(provenance) is None else provenance["span"]["start"]

    def _sides(self, root: int, span: Span | None) -> list[tuple[int, int]]:
        """Scalar by scalar both sides of an equation for discrete variables."""
        nodes = self.run.nodes
        raw = nodes.raw[root]
        if nodes.kind[root] != "binary" or raw["operator"] not in ("subtract", "elementwise_subtract"):
            raise self._not_solved(span)
        left, right = scalars(self.run.value(raw["lhs"])), scalars(self.run.value(raw["rhs"]))
        return list(zip(left, right * len(left) if len(right) == 1 else right, strict=True))

    def _set(self, found: dict[int, list[list[_Branch]]], target: int, value: int, how: _How) -> None:
        """One scalar assignment; -v = e is v = -e."""
        root = self._discrete(target)
        if root is None:
            raise self._not_solved(how.span)
        v, sign = root
        position = self.symbols.owner[v]
        self._add(found, position, [v - self.symbols.base[position]], [with_sign(self.g, sign, value)], how)

    def _discrete(self, e: int) -> tuple[int, int] | None:
        """A discrete variable and its sign, where the expression is nothing else."""
        root = signed_variable(self.g, e)
        return root if root is not None and self.symbols.variables[root[0]].kind == Kind.DISCRETE else None

    def _not_solved(self, span: Span | None) -> ModelError:
        return ModelError(
            f"{span or 'here'}: an equation for discrete variables must have one of them alone on its left side",
            hint="solve it for the variable: v = ...",
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
        while ready or waiting:
            row = ready.pop() if ready else waiting.pop()
            if row.done:
                continue
            row.done = True
            if not row.choices:
                raise self._not_solved(row.how.span)
            target = row.choices[0]
            self._set(found, target, row.right if target == row.left else row.left, row.how)
            v = self._number(target)
            ready += [other for other in readers.get(v, []) if other is not row and other.drop(v, self._number)]

    def _number(self, e: int) -> int:
        root = signed_variable(self.g, e)
        assert root is not None
        return root[0]

    def _add(
        self,
        found: dict[int, list[list[_Branch]]],
        position: int,
        places: Any,
        values: list[int],
        how: _How,
    ) -> None:
        lists = found.setdefault(position, [[] for _ in scalars(self.symbols.value(position))])
        for k, value in zip(places, values, strict=True):
            lists[k].append(_Branch(how, value))

    def _memories(self, position: int, branches: list[list[_Branch]]) -> None:
        before = scalars(self.d.before(position))
        starts = self._starts(position)
        clock = next((o["clock"] for o in self.storage["clock_ownerships"] if o["variable"] == position), None)
        for k, own in enumerate(branches or [[] for _ in before]):
            number = self.symbols.base[position] + k
            value = before[k]
            for one in reversed(own):
                if one.how.activation != "always":
                    value = choose(self.g, self._active(one.how.activation["when"]), one.value, value)
                elif clock is not None and one.how.order is None:
                    value = choose(self.g, self.d.tick(clock, one.how.span), one.value, value)
                else:
                    value = one.value
            if all(
                one.how.activation == "always" and one.value == before[k] and not _says_pre(one.how.span) for one in own
            ):  # rumoca gives v = pre(v) for what it dropped, such as when inside if
                variable = self.symbols.variables[number]
                text = f"nothing sets the discrete variable {variable.name} (when-clauses inside if-equations are lost)"
                self.symbols.refusals.append(Refusal(text, variable.span))
            span = own[0].how.span if own else self.symbols.variables[number].span
            self.memories.append(Memory(number, self.g.nodes[before[k]][1], value, starts[k], span))

    def _starts(self, position: int) -> list[int]:
        """Declared values before the first event."""
        first = self.symbols.base[position]
        n = len(scalars(self.symbols.value(position)))
        starts = (self.symbols.variables[number].start for number in range(first, first + n))
        return [const(self.g, 0.0) if e is None else e for e in starts]

    # ----------------------------------------------------------------------------------------- activation

    def _active(self, when: dict[str, int]) -> int:
        active = self._rise(when["trigger"])
        for other in self.clauses.earlier(when["trigger"]):
            active = logical_and(self.g, active, logical_not(self.g, self._rise(other)))
        return logical_and(self.g, active, self._guard(when["guard"], when["trigger"]))

    def _guard(self, which: int, trigger: int) -> int:
        """What must hold besides the trigger; rumoca repeats the trigger in it."""
        if which == trigger:
            return const(self.g, 1.0)
        entry = self.storage["conditions"][which]
        if "and" in entry["node"] and (entry.get("provenance") or {}).get("origin") != "source":
            left, right = (self._guard(one, trigger) for one in operands(entry["node"]))
            return logical_and(self.g, left, right)
        return self.d.holds(which)

    def _rise(self, which: int) -> int:
        """True in the round of an event in which a condition becomes true."""
        known = self.triggers.get(which)
        if known is not None:
            return known
        node, g = self.storage["conditions"][which]["node"], self.g
        if node in ("initial", "always") or "clock" in node or self.clauses.is_level(which):
            known = self.d.holds(which)
        elif "any_rise" in node:
            inner = node["any_rise"]
            known = logical_or(g, self._rise(inner["lhs"]), self._rise(inner["rhs"]))
        else:
            condition = self.d.holds(which)
            span = self.symbols.spans.of(self.storage["conditions"][which].get("provenance"))
            now, before = self._memory(f"when {len(self.memories) + 1}", condition, const(g, 0.0), span)
            known = logical_and(g, now, logical_not(g, before))
            if self.d.initial not in variables_of(g, condition):
                known = logical_and(g, known, logical_not(g, self.d.is_initial()))
        self.triggers[which] = known
        return known

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

    # -------------------------------------------------------------------------------------------- actions

    def action(self, entry: dict[str, Any], span: Span | None) -> None:
        """reinit, terminate or an assertion in a when-clause."""
        ((kind, content),) = entry["kind"].items()
        at_end = self._reads_terminal(entry["trigger"])
        if kind == "warning" or (at_end and kind != "reinitialize"):
            return  # nothing that the run depends on
        active = self._active(entry)
        if kind == "reinitialize":
            states = scalars(self.symbols.value(content["state"]))
            values = scalars(self.run.value(content["value"]))
            for state, value in zip(states, values if len(values) > 1 else values * len(states), strict=True):
                number = self.g.nodes[state][1]
                self.symbols.change(number, state_select=StateSelect.ALWAYS)
                self.actions.append(Action("reset", active, number, value, span=span))
            return
        if "condition" in content:
            active = logical_and(self.g, active, logical_not(self.g, self.run.scalar(content["condition"])))
        message = str(self.run.value(content["message"]))
        word = "stop" if kind == "terminate" else "fail"
        self.actions.append(Action(word, active, message=message, span=span))

    def _reads_terminal(self, which: int) -> bool:
        node = self.storage["conditions"][which]["node"]
        if not isinstance(node, dict) or "discrete" not in node:
            return False
        nodes = self.run.nodes
        numbers = nodes.reachable([node["discrete"]])
        return any(nodes.kind[n] == "coordinate" and "terminal" in nodes.raw[n] for n in numbers)


# ------------------------------------------------------------------------------------- parameters of clocks


def clock_parameters(storage: dict[str, Any], nodes: Nodes, spans: Spans) -> dict[int, str]:
    """Parameters that name the instants of a clock: rumoca took their values, so they cannot be changed any more."""
    clocks = storage["clocks"]
    if not clocks:
        return {}
    positions = {raw["name"]: k for k, raw in enumerate(storage["variables"]) if raw["role"] in PARAMETER_ROLES}
    found: dict[int, str] = {}
    for which, prefix in _clock_scopes(storage, nodes):
        span = spans.of(clocks[which].get("provenance"))
        if span is None:
            continue
        for name in _DOTTED.findall(span.text):
            scope = prefix
            while True:  # the component itself, then those around it
                position = positions.get(f"{scope}.{name}" if scope else name)
                if position is not None:
                    found[position] = "its value was used for the times of a clock"
                if position is not None or not scope:
                    break
                scope = scope.rpartition(".")[0]
    return found


def _clock_scopes(storage: dict[str, Any], nodes: Nodes) -> Iterator[tuple[int, str]]:
    """(clock, component whose text mentions it)."""
    variables = storage["variables"]
    for entry in storage["clock_ownerships"]:
        yield entry["clock"], variables[entry["variable"]]["name"].rpartition(".")[0]
    clock_of: dict[int, set[int]] = {}
    for which, condition in enumerate(storage["conditions"]):
        clock_of[which] = _clocks_in(storage, which, condition["node"])
    targets: list[tuple[Any, int]] = []
    for owner in storage["discrete_value_owners"]:
        targets += [(branch["activation"], target) for branch in owner["branches"] for target in owner["targets"]]
    for row in storage["discrete_real_equations"]:
        for number in nodes.reachable([row["residual"]]):
            raw = nodes.raw[number]
            if nodes.kind[number] == "coordinate" and isinstance(raw, dict):
                targets += [(row["activation"], which) for name, which in raw.items() if name in DISCRETE_ROLES]
    for action in storage["event_actions"]:
        state = action["kind"].get("reinitialize", {}).get("state")
        if state is not None:
            targets.append(({"when": action}, state))
    for activation, target in targets:
        if activation != "always":
            for clock in clock_of[activation["when"]["trigger"]] | clock_of[activation["when"]["guard"]]:
                yield clock, variables[target]["name"].rpartition(".")[0]


def _clocks_in(storage: dict[str, Any], which: int, node: Any) -> set[int]:
    if not isinstance(node, dict):
        return set()
    ((kind, inner),) = node.items()
    if kind == "clock":
        return {inner}
    children = [inner] if kind == "not" else list(inner.values()) if kind in ("and", "or", "any_rise") else []
    found: set[int] = set()
    for child in children:
        found |= _clocks_in(storage, child, storage["conditions"][child]["node"])
    return found


def _says_pre(span: Span | None) -> bool:
    """The model itself says v = pre(v): the span of what was dropped is the declaration."""
    return span is not None and re.search(r"\bpre\s*\(", span.text) is not None
