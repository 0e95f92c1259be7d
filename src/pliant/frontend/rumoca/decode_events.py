"""When-clauses, discrete equations and assertions of rumoca's dictionary as items of a flat model.

rumoca gives assignments, reinit, terminate and assertions one by one, each with the condition that triggers it and one
that guards it. Each becomes a when-clause of its own, with the branches before it empty (clauses.py finds them):

    when c then v = a; elsewhen d then reinit(x, 1); end when;
    ->  when c then v = a; end when;    when c then elsewhen d then reinit(x, 1); end when;

An algorithm section becomes one section for each variable that it sets, the statements in their order: rumoca has put
in what statements before have set. A condition there reads pre(v) of what is set behind it only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pliant.errors import NotSupportedError
from pliant.frontend.flat.expressions import (
    ClockTick,
    FlatArray,
    FlatBuiltin,
    FlatExpression,
    VariableRef,
    operands,
    with_operands,
)
from pliant.frontend.flat.model import (
    FlatAlgorithm,
    FlatAssert,
    FlatAssign,
    FlatBranch,
    FlatEquation,
    FlatIf,
    FlatItem,
    FlatReinit,
    FlatTerminate,
    FlatWhen,
)
from pliant.frontend.flat.types import BaseType, Variability
from pliant.frontend.rumoca.clauses import Clauses, is_retained
from pliant.frontend.rumoca.clauses import operands as parts_of
from pliant.frontend.rumoca.decode_expressions import ExpressionDecoder
from pliant.frontend.rumoca.nodes import Nodes
from pliant.frontend.rumoca.spans import Spans
from pliant.ir import Span

DISCRETE_ROLES = frozenset({"discrete_real", "discrete_value"})
PARAMETER_ROLES = frozenset({"parameter", "constant"})
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SUBTRACT = ("subtract", "elementwise_subtract")


class EventDecoder:
    """Items of one model that events are made of."""

    def __init__(self, expressions: ExpressionDecoder) -> None:
        self.expressions, self.build, self.spans = expressions, expressions.build, expressions.spans
        self.storage, self.nodes = expressions.storage, expressions.nodes
        self.clauses = Clauses(self.storage, self.nodes, self.spans)
        self.held: dict[int, int] = {}  # condition -> its expression
        self.triggers: dict[int, int] = {}  # condition -> its expression where it triggers, one for each
        self.taken: set[int] = set()
        self.sections: dict[int, list[tuple[int, FlatItem]]] = {}  # variable -> statements and where they stand
        self.clock_of = {one["variable"]: one["clock"] for one in self.storage["clock_ownerships"]}
        expressions.condition = self.condition

    # ------------------------------------------------------------------------------------------ conditions

    def condition(self, which: int, span: Span | None = None) -> int:
        """A condition of rumoca's list as an expression."""
        known = self.held.get(which)
        if known is None:
            known = self.held[which] = self._condition(which, span or self._place(which))
        return known

    def _place(self, which: int) -> Span | None:
        return self.spans.of(self.storage["conditions"][which].get("provenance"))

    def _condition(self, which: int, span: Span | None) -> int:
        entry, build = self.storage["conditions"][which], self.build
        node = entry["node"]
        if node == "always":
            return build.literal(True, span)
        if node == "initial":
            return build.builtin("initial", span=span)
        ((kind, inner),) = node.items()
        if kind == "relation" and "relation" in self.storage["relations"][inner]:
            return self._where_it_stands(self.storage["relations"][inner]["relation"]["expression"], entry)
        if kind == "discrete":
            return self._where_it_stands(inner, entry)
        if kind == "clock":
            return build.add(ClockTick(inner), span)
        if kind == "not":
            return build.unary("not", self.condition(inner, span), span)
        if kind in ("and", "or", "any_rise"):
            sides = self.condition(inner["lhs"], span), self.condition(inner["rhs"], span)
            return build.binary("and" if kind == "and" else "or", *sides, span)
        raise NotSupportedError(
            f"{span or 'here'}: an event of kind `{kind}` is not supported", hint="write the condition as a relation"
        )

    def _where_it_stands(self, expression: int, entry: dict[str, Any]) -> int:
        """A condition in an algorithm section reads pre(v) of variables that are set behind it only."""
        found = self.expressions(expression)
        late = self.clauses.unset(entry.get("provenance"))
        return self._with_before(found, late) if late else found

    def _with_before(self, root: int, late: frozenset[int]) -> int:
        """A copy of an expression with pre(v) for some variables; itself if it reads none of them."""
        build, new = self.build, {}
        todo, under = [root], set()
        while todo:
            e = todo.pop()
            if e not in under:
                under.add(e)
                node = build.nodes[e]
                if not (isinstance(node, FlatBuiltin) and node.name == "pre"):
                    todo.extend(operands(node))
        for e in sorted(under):
            node, span = build.nodes[e], build.spans[e]
            if isinstance(node, VariableRef) and node.variable in late:
                new[e] = build.builtin("pre", build.ref(node.variable, span), span=span)
                continue
            before = operands(node)
            if any(new.get(one, one) != one for one in before):
                new[e] = build.add(with_operands(node, lambda one: new.get(one, one)), span, build.types[e])
        return new.get(root, root)

    def trigger(self, which: int) -> int:
        """A condition where it triggers; each has an expression of its own, because each is watched by itself."""
        known = self.triggers.get(which)
        if known is None:
            node = self.storage["conditions"][which]["node"]
            if isinstance(node, dict) and "any_rise" in node:
                parts = tuple(self.trigger(one) for one in self._any(which))
                known = self.build.add(FlatArray(parts), self._place(which))
            else:
                known = self.condition(which)
                span = self.build.spans[known] or self._place(which)
                if known in self.taken or self.build.spans[known] is None:
                    copied: FlatExpression = self.build.nodes[known]
                    known = self.build.add(copied, span, self.build.types[known])
            self.taken.add(known)
            self.triggers[which] = known
        return known

    def _any(self, which: int) -> Iterator[int]:
        node = self.storage["conditions"][which]["node"]
        if isinstance(node, dict) and "any_rise" in node:
            yield from self._any(node["any_rise"]["lhs"])
            yield from self._any(node["any_rise"]["rhs"])
        else:
            yield which

    def _guard(self, which: int, trigger: int) -> int | None:
        """What must hold besides the trigger, which rumoca repeats in it."""
        if which == trigger:
            return None
        entry = self.storage["conditions"][which]
        if "and" in entry["node"] and (entry.get("provenance") or {}).get("origin") != "source":
            left, right = (self._guard(one, trigger) for one in parts_of(entry["node"]))
            if left is None or right is None:
                return right if left is None else left
            return self.build.binary("and", left, right, self._place(which))
        return self.condition(which)

    def _under(self, when: dict[str, Any], item: FlatItem) -> FlatItem:
        """An item under its trigger and guard."""
        span = item.span
        trigger, guard = when["trigger"], self._guard(when["guard"], when["trigger"])
        if guard is not None:
            item = FlatIf((FlatBranch(guard, (item,), self._place(when["guard"])),), span=span)
        if self.clauses.is_level(trigger):
            return FlatIf((FlatBranch(self.condition(trigger), (item,), self._place(trigger)),), span=span)
        before = [FlatBranch(self.trigger(one), (), self._place(one)) for one in self.clauses.earlier(trigger)]
        return FlatWhen((*before, FlatBranch(self.trigger(trigger), (item,), self._place(trigger))), span)

    # ------------------------------------------------------------------------------------------ assignments

    def decode(self) -> None:
        """Everything that events do, assertions included."""
        for action in self.storage["event_actions"]:
            self._action(action)
        for owner in self.storage["discrete_value_owners"]:
            self._owner(owner)
        for row in self.storage["discrete_real_equations"]:
            self._row(row)
        for statements in self.sections.values():
            statements.sort(key=lambda one: -one[0])  # the first of those at one place counts, so it comes last
            body = tuple(item for _, item in reversed(statements))
            self.build.algorithms.append(FlatAlgorithm(body, body[0].span))

    def _order(self, provenance: Any) -> int | None:
        """Place of a statement among those of its algorithm section; None for an equation."""
        return None if self.clauses.section(provenance) is None else int(provenance["span"]["start"])

    def _owner(self, owner: dict[str, Any]) -> None:
        is_alone = len(owner["branches"]) == 1 and owner["branches"][0]["activation"] == "always"
        for branch in owner["branches"]:
            activation = branch["activation"]
            span = self.spans.of(branch.get("provenance") or owner.get("provenance"))
            for target, entry in zip(owner["targets"], branch["values"], strict=True):
                variable = self.build.variables[target]
                if variable.type.base is BaseType.STRING:
                    continue
                if not isinstance(entry.get("value"), int):
                    raise NotSupportedError(
                        f"the discrete variable `{variable.name}` is assigned in a form that pliant does not support",
                        hint=f"assign `{variable.name}` in one when-clause, as in `{variable.name} = expression;`",
                    )
                if activation != "always" and is_retained(self.nodes, target, entry):
                    continue
                is_same = self.nodes.raw[entry["value"]] == {"pre_discrete_value": target}
                if is_alone and is_same and not _says_pre(span):
                    continue
                sides = self.build.ref(target), self.expressions(entry["value"])
                order = None if is_alone else self._order(entry.get("provenance"))
                self._set(sides, activation, (span, order), target)

    def _row(self, row: dict[str, Any]) -> None:
        span, order = self.spans.of(row.get("provenance")), self._order(row.get("provenance"))
        root, nodes = row["residual"], self.nodes
        raw = nodes.raw[root]
        if nodes.kind[root] != "binary" or raw["operator"] not in _SUBTRACT:
            sides = self.expressions(root), self.build.literal(0)
        else:
            sides = self.expressions(raw["lhs"]), self.expressions(raw["rhs"])
            target = (
                (nodes.raw[raw["lhs"]] or {}).get("discrete_real") if nodes.kind[raw["lhs"]] == "coordinate" else None
            )
            is_same = target is not None and nodes.raw[raw["rhs"]] == {"pre_discrete_real": target}
            if is_same and row["activation"] == "always" and not _says_pre(span):
                return
        self._set(sides, row["activation"], (span, order), self._target(sides[0]))

    def _target(self, left: int) -> int:
        """The variable that a left side is, or that stands in it first; -1 if there is none."""
        found = []
        todo = [left]
        while todo:
            node = self.build.nodes[todo.pop()]
            if isinstance(node, VariableRef):
                found.append(node.variable)
            todo.extend(reversed(operands(node)))
        return next((one for one in found if self.build.variables[one].variability is Variability.DISCRETE), -1)

    def _set(self, sides: tuple[int, int], activation: Any, at: tuple[Span | None, int | None], target: int) -> None:
        """One equation or assignment, under its conditions."""
        span, order = at
        item: FlatItem
        if order is None:
            clock = self.clock_of.get(target, -1) if activation == "always" else -1
            item = FlatEquation(*sides, Variability.DISCRETE, clock=clock, span=span)
        else:
            item = FlatAssign(*sides, span)
        if activation != "always":
            item = self._under(activation["when"], item)
        if order is None:
            self.build.equations.append(item)
        else:
            self.sections.setdefault(target, []).append((order, item))

    # -------------------------------------------------------------------------------------------- actions

    def _action(self, action: dict[str, Any]) -> None:
        """reinit, terminate, assert."""
        ((kind, content),) = action["kind"].items()
        span, build = self.spans.of(action.get("provenance")), self.build
        is_standing = self.storage["conditions"][action["trigger"]]["node"] == "always"
        when = action
        item: FlatItem
        if kind == "reinitialize":
            item = FlatReinit(build.ref(content["state"]), self.expressions(content["value"]), span)
        elif kind == "terminate":
            item = FlatTerminate(self.expressions(content["message"]), span)
        else:
            if content.get("condition") is not None:
                holds = self.expressions(content["condition"])
            else:  # what is asserted is the opposite of the guard
                guard = (
                    self.condition(action["guard"]) if is_standing else self._guard(action["guard"], action["trigger"])
                )
                holds = build.literal(False) if guard is None else build.unary("not", guard, span)
                when = {"trigger": action["trigger"], "guard": action["trigger"]}
            item = FlatAssert(holds, self.expressions(content["message"]), kind == "assert", span)
            if is_standing:
                build.equations.append(item)
                return
        build.equations.append(self._under(when, item))

    # -------------------------------------------------------------------------------------------- initial

    def decode_initial(self) -> None:
        """Values before the first event, and of Integer, Boolean and enumeration parameters with fixed=false."""
        build = self.build
        for entry in self.storage["initial_parameter_values"]:
            span = self.spans.equation(entry["provenance"], None)
            sides = build.ref(entry["target"], span), self.expressions(entry["value"])
            build.initial_equations.append(FlatEquation(*sides, Variability.PARAMETER, span=span))
        for entry in self.storage["initial_discrete_values"]:
            variable = build.variables[entry["target"]]
            if variable.type.base is BaseType.STRING:
                continue
            span = self.spans.equation(entry["provenance"], None)
            left = build.ref(entry["target"], span)
            if span is None or _says_before(span.text, variable.name):
                left = build.builtin("pre", left, span=span)
            sides = left, self.expressions(entry["value"])
            build.initial_equations.append(FlatEquation(*sides, Variability.DISCRETE, span=span))


def _says_before(text: str, name: str) -> bool:
    """An equation that gives `pre(name)`, not `name`; rumoca lists both alike.

    The text knows a part of the name only, or, in a chain of equations pre(a) = pre(b), other members of it.
    """
    whole = _plain(name)
    sides = [_plain(side) for side in re.sub(r"^.*?\bloop\b", "", text, flags=re.DOTALL).split("=", 1)]
    for side in sides:
        inner = re.fullmatch(r"pre\((.*)\)", side)
        own = side if inner is None else inner[1]
        if whole == own or whole.endswith(f".{own}"):
            return inner is not None
    return any(side.startswith("pre(") for side in sides)


def _says_pre(span: Span | None) -> bool:
    """The model itself says v = pre(v); rumoca gives that for what it dropped, too, such as when inside if."""
    return span is not None and re.search(r"\bpre\s*\(", span.text) is not None


def _plain(text: str) -> str:
    """Without subscripts and spaces."""
    return re.sub(r"\[[^]]*\]|\s", "", text)


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
