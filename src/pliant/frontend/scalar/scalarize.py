"""rumoca's ``dae`` dictionary to a flat system of scalar equations.

    nodes      decoded expressions            interpret  their values, arrays and loops taken apart
    symbols    variables and parameters       discrete   what changes at events only
    functions  inlined, or kept with entries  externals  tables
    tidy       drops what nothing reads

Nothing is solved or sorted here. Constructs that pliant reads but cannot simulate become refusals of the system;
those that leave no equation at all raise an error with the place in the source.
"""

from __future__ import annotations

import gc
import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pliant.errors import ModelError, NotSupportedError, PliantError
from pliant.expr.build import logical_not, sub, value_of, var, variables_of
from pliant.frontend.rumoca.nodes import SCHEMA_VERSION, Nodes
from pliant.frontend.rumoca.spans import Spans
from pliant.frontend.scalar.builtins import Builtins
from pliant.frontend.scalar.dependence import PARAM, Masks
from pliant.frontend.scalar.discrete import Discretes
from pliant.frontend.scalar.events import EventBuilder, clock_parameters
from pliant.frontend.scalar.externals import Externals, table_owners
from pliant.frontend.scalar.functions import Calls
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.renumber import drop_unused, unread
from pliant.frontend.scalar.starts import StartTaker
from pliant.frontend.scalar.symbols import PARAMETER_ROLES, USED, Symbols
from pliant.frontend.scalar.values import Arr, Value, scalars
from pliant.ir import Check, Equation, Op, Refusal, Span, System

_ORIGINS = {
    "binding_equation": "binding",
    "connection_equation": "connection",
    "flow_balance_equation": "flow balance",
}
_MAX_PASSES = 20
_INDEX = re.compile(r"\[[\d,]+\](?=$| )")  # at the end of a name


def scalarize(dae: dict[str, Any], *, fold_parameters: bool = False) -> System:
    """Flat scalar system of a model as rumoca gives it (``to_dict("dae")``).

    ``fold_parameters`` makes numbers of all parameters.
    """
    version = dae.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ModelError(
            f"rumoca wrote its format {version}; pliant reads format {SCHEMA_VERSION}",
            hint="install rumoca 0.10.2: pip install rumoca==0.10.2",
        )
    was_enabled = gc.isenabled()
    gc.disable()  # millions of nodes are made and none is garbage: collecting takes a third of the time
    try:
        return _scalarize(dae, fold_parameters)
    finally:
        if was_enabled:
            gc.enable()


def _scalarize(dae: dict[str, Any], fold_parameters: bool) -> System:
    nodes = Nodes(dae["storage"]["expressions"])
    spans = Spans(dae["source_map"]["files"])
    used = _table_parameters(dae, nodes) | clock_parameters(dae["storage"], nodes, spans)
    forced = _with_sources(dae, nodes, used)
    for _ in range(_MAX_PASSES):
        builder = _Builder(dae, nodes, spans, forced, fold_parameters)
        system = builder.build()
        new = {k: why for k, why in builder.symbols.new_forced.items() if k not in forced}
        if not new:
            system.digest = _digest(dae, fold_parameters)
            return system
        forced = _with_sources(dae, nodes, forced | new)  # sizes or indices use these: read again with their values
    names = ", ".join(sorted(dae["storage"]["variables"][k]["name"] for k in new)[:5])
    raise NotSupportedError(
        f"sizes depend on parameters in more than {_MAX_PASSES} stages, the last ones on {names}",
        hint="give these parameters numbers instead of expressions",
    )


def _table_parameters(dae: dict[str, Any], nodes: Nodes) -> dict[int, str]:
    """Parameters beside a table that have its form: rumoca took the table's data from their values."""
    tables = {entry["id"]: entry for entry in dae.get("external_tables") or []}
    variables, types = dae["storage"]["variables"], dae["storage"]["value_types"]
    if not tables:
        return {}
    owners = table_owners(variables, nodes.raw, tables)
    forms: dict[str, set[tuple[Any, ...]]] = {}
    for number, prefix in owners.items():
        data = tables[number]["data"]
        known = {(len(data), len(data[0]) if data else 0), (len(tables[number]["columns"]), "columns")}
        forms.setdefault(prefix, set()).update(known)
    found = {}
    for position, raw in enumerate(variables):
        prefix, _, last = raw["name"].rpartition(".")
        shape = tuple(types[raw["value_type"]]["dimensions"])
        form = (*shape, last) if last == "columns" else shape
        if raw["role"] in PARAMETER_ROLES and form in forms.get(prefix, ()):
            found[position] = "data of a table"
    return found


def _with_sources(dae: dict[str, Any], nodes: Nodes, forced: dict[int, str]) -> dict[int, str]:
    """What folded parameters are computed from is folded, too; known beforehand it saves a second pass."""
    variables = dae["storage"]["variables"]
    todo = [(k, variables[k]["name"], why) for k, why in forced.items()]
    for k, raw in enumerate(variables):
        if raw["role"] == "parameter" and raw["attributes"]["evaluable"]:
            todo.append((k, raw["name"], USED))
    found = dict(forced)
    while todo:
        position, root, why = todo.pop()
        for source in nodes.parameters_in(variables[position]["attributes"]["binding"], sizes=False):
            raw = variables[source]
            if source not in found and raw["role"] == "parameter" and not raw["attributes"]["evaluable"]:
                found[source] = f"`{root}` is computed from it ({why})"
                todo.append((source, root, why))
    return found


class _Builder:
    """One pass over the model."""

    def __init__(
        self, dae: dict[str, Any], nodes: Nodes, spans: Spans, forced: dict[int, str], fold_parameters: bool
    ) -> None:
        self.storage: dict[str, Any] = dae["storage"]
        self.spans, self.nodes = spans, nodes
        self.system = System(_name(dae))
        g = self.system.graph
        masks = Masks(g, self.system.variables)
        self.run = run = Interpreter(g, nodes, masks, spans, self.storage)
        self.symbols = Symbols(run, self.storage, forced, fold_parameters)
        self.discretes = Discretes(run, self.symbols, self.storage)
        self.events = EventBuilder(self.discretes)
        self.externals = Externals(run, self.symbols, dae.get("external_tables") or [])
        self.calls = Calls(run, self.storage["functions"], self.externals)
        run.coordinate, run.call, run.numeric = self.discretes.coordinate, self.calls, self.symbols.numeric
        run.builtin = Builtins(run, self.events.floor)

    def build(self) -> System:
        """The whole system."""
        system, symbols = self.system, self.symbols
        with self._at(None):
            symbols.declare()
            symbols.evaluate_parameters()
            self.discretes.declare()
            symbols.attributes()
        for operation in self.storage["continuous_equation_operations"]:
            self._equation(operation, system.equations)
        for operation in self.storage["initialization_equation_operations"]:
            self._equation(operation, system.initial_equations)
        self._parameter_values()
        self._when_actions()
        with self._at(None):
            taker = StartTaker(self.discretes, self.events.finish())
            system.initial_equations, system.events = taker.run(system.initial_equations)
        self.discretes.finish()
        self._assertions()
        system.events = self.events.completed(system.events)
        system.derivative = symbols.derivative
        system.relations = self.run.relations
        system.functions = self.calls.entries
        system.tables = self.externals.tables
        system.fixed_parameters = symbols.fixed
        self._finish()
        return system

    # ----------------------------------------------------------------------------------------- equations

    def _equation(self, operation: dict[str, Any], into: list[Equation]) -> None:
        ((kind, content),) = operation.items()
        origin = _origin(content["provenance"])
        span = self._span(content, origin)
        with self._at(span):
            if kind == "residual":
                self._append(self.run.value(content["residual"]), span, origin, (), into)
                return
            view = content["scalar_view"]
            for body in content["bodies"]:
                if view == "RowMajorProjection":
                    self._append(self.run.value(body), span, origin, (), into)
                    continue
                count = None if view == "BinderSubstitution" else view["BinderPrefixProjection"]["binder_count"]
                value = self.run.value
                for point in self.run.over(content["domain"], count):
                    residual = value(body)
                    if residual.__class__ is int:
                        into.append(Equation(residual, span, origin, point))
                    else:
                        self._append(residual, span, origin, point, into)

    def _parameter_values(self) -> None:
        """Initial equations of Integer, Boolean and enumeration parameters with fixed=false: `n = ...`."""
        for entry in self.storage["initial_parameter_values"]:
            span = self.spans.equation(entry["provenance"], None)
            position = entry["target"]
            with self._at(span):
                first = self.symbols.base[position]
                for v, e in enumerate(scalars(self.discretes.shaped(position, entry["value"])), first):
                    if self.run.masks.of(e) & ~PARAM:
                        residual = sub(self.system.graph, var(self.system.graph, v), e)
                        self.system.initial_equations.append(Equation(residual, span, target=v))
                    else:
                        self.symbols.change(v, binding=e)

    def _span(self, content: dict[str, Any], origin: str) -> Span | None:
        provenance, nodes = content["provenance"], self.nodes
        root = content["residual"] if "residual" in content else content["bodies"][0]
        if origin == "binding" and nodes.kind[root] == "binary":
            left = nodes.raw[nodes.raw[root]["lhs"]]
            if isinstance(left, dict) and "algebraic" in left:
                return self.spans.binding(provenance, self.symbols.raw[left["algebraic"]]["name"])
            if isinstance(left, dict) and "state" in left:
                return self.spans.binding(provenance, self.symbols.raw[left["state"]]["name"])
        if origin == "equation":
            return self.spans.equation(provenance, nodes.span(root))
        return self.spans.of(provenance)

    def _append(
        self, value: Value, span: Span | None, origin: str, point: tuple[int, ...], into: list[Equation]
    ) -> None:
        if origin in {"connection", "flow balance"} and span is not None:
            # rumoca points to the declaration of the connector; the names of the connected variables say more
            span = replace(span, text=sum_text(self.system, value) or span.text)
        if isinstance(value, int):
            into.append(Equation(value, span, origin, point))
            return
        found = scalars(value)
        if isinstance(value, Arr) and len(value.flat) == len(found):
            for k, residual in enumerate(found):
                into.append(Equation(residual, span, origin, (*point, *_place(k, value.shape))))
        else:
            into.extend(Equation(residual, span, origin, point) for residual in found)

    @contextmanager
    def _at(self, span: Span | None) -> Iterator[None]:
        """Errors say which equation they come from."""
        try:
            yield
        except PliantError as error:
            if span is None or getattr(error, "is_placed", False):
                raise
            text = f" in `{span.text}`" if span.text else ""
            placed = type(error)(f"{span.file}:{span.line}:{span.column}: {error.message}{text}", hint=error.hint)
            placed.is_placed = True  # type: ignore[attr-defined]
            raise placed from None
        except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError) as error:
            place = f"{span.file}:{span.line}:{span.column}: " if span else ""
            what = f"`{span.text}`" if span and span.text else "a construct of the model"
            raise NotSupportedError(
                f"{place or f'{self.system.name}: '}{what} has a form that pliant does not support",
                hint="write it in a simpler form, and report the model",
            ) from error

    # ------------------------------------------------------------------------------- assertions, actions

    def _when_actions(self) -> None:
        """reinit, terminate and assertions in when-clauses."""
        for action in self.storage["event_actions"]:
            if not self._is_standing(action):
                span = self.spans.of(action.get("provenance"))
                with self._at(span):
                    self.events.action(action, span)

    def _is_standing(self, action: dict[str, Any]) -> bool:
        """An assertion that holds always, outside of when-clauses."""
        always = self.storage["conditions"][action["trigger"]]["node"] == "always"
        return always and next(iter(action["kind"])) in ("assert", "warning")

    def _assertions(self) -> None:
        self.run.events = False
        for action in self.storage["event_actions"]:
            if self._is_standing(action):
                ((kind, content),) = action["kind"].items()
                span = self.spans.of(action.get("provenance"))
                with self._at(span):
                    self._check(action, content, kind == "assert", span)

    def _check(self, action: dict[str, Any], content: dict[str, Any], is_error: bool, span: Span | None) -> None:
        run, g = self.run, self.system.graph
        n_refusals, n_reasons = len(self.symbols.refusals), len(self.discretes.reasons)
        condition = content.get("condition")
        if condition is not None:
            holds = run.scalar(condition)
        else:
            holds = logical_not(g, self.discretes.holds(action["guard"]))
        del self.symbols.refusals[n_refusals:]  # an assertion is only looked at, it makes no events
        known = value_of(g, holds)
        if known or len(self.discretes.reasons) > n_reasons:
            return  # true, or about something that is not supported
        message = run.value(content["message"])
        if known is None:
            self.system.checks.append(Check(holds, str(message), is_error, span))
        elif is_error:
            raise ModelError(f"assertion fails: {message}", hint="change the parameters that it names")

    # -------------------------------------------------------------------------------------------- the end

    def _finish(self) -> None:
        system, discretes = self.system, self.discretes
        system.checks += self.calls.checks
        unwanted, read = unread(system)
        seen: list[Refusal] = []
        for number in sorted(read):
            refusal = discretes.reasons.get(number)
            if refusal is not None and refusal not in seen:
                seen.append(refusal)
        system.refusals = [*self.symbols.refusals, *seen]
        system.notes = self.symbols.notes
        for position, error in self.symbols.failures.items():
            first = self.symbols.base.get(position)
            if first is None:
                continue
            span = system.variables[first].span
            own = range(first, first + sum(1 for o in self.symbols.owner if o == position))
            if read.isdisjoint(own):
                unwanted.update(own)
            else:
                with self._at(span):
                    raise error
        system.checks = [
            check for check in system.checks if not self._reads(check.condition, unwanted, discretes.reasons)
        ]
        drop_unused(system, unwanted)

    def _reads(self, e: int, unwanted: set[int], leaves: dict[int, Refusal]) -> bool:
        return any(number in unwanted or number in leaves for number in variables_of(self.system.graph, e))


def sum_text(system: System, residual: Value) -> str:
    """``a = b`` or ``0 = a + b - c`` for a sum of variables (of arrays without indices), empty for anything else."""
    if isinstance(residual, Arr) and residual.flat:
        return _INDEX.sub("", sum_text(system, residual.flat[0]))
    if not isinstance(residual, int):
        return ""
    nodes, stack = system.graph.nodes, [(residual, "+")]
    parts: list[tuple[str, str]] = []
    while stack and len(parts) < 6:
        e, sign = stack.pop()
        node = nodes[e]
        other = "-" if sign == "+" else "+"
        if node[0] == Op.VAR:
            parts.append((sign, system.variables[node[1]].name))
        elif node[0] == Op.NEG:
            stack.append((node[1], other))
        elif node[0] in (Op.ADD, Op.SUB):
            stack.append((node[2], sign if node[0] == Op.ADD else other))
            stack.append((node[1], sign))
        else:
            return ""
    if len(parts) == 2 and parts[0][0] != parts[1][0] and not stack:
        return f"{parts[0][1]} = {parts[1][1]}"
    text = " ".join(f"{sign} {name}" for sign, name in parts).removeprefix("+ ")
    return f"0 = {text}{' + …' if stack else ''}"[:100]


def _place(k: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """1-based subscripts of element k."""
    found = []
    for size in reversed(shape):
        found.append(k % size + 1)
        k //= size
    return tuple(reversed(found))


def _origin(provenance: dict[str, Any]) -> str:
    origin = provenance.get("origin")
    if isinstance(origin, dict):
        kind = str(origin.get("generated", "equation"))
        return _ORIGINS.get(kind, kind.replace("_", " "))
    return "equation"


def _name(dae: dict[str, Any]) -> str:
    return str(dae.get("model_name") or "model")


def _digest(dae: dict[str, Any], fold_parameters: bool) -> str:
    """The same for the same model, wherever its files lie: places in the source do not count."""
    storage, expressions = dae["storage"], dae["storage"]["expressions"]
    parts: list[Any] = [fold_parameters, dae.get("external_tables"), storage["value_types"]]
    parts += [expressions["nodes"], expressions["operands"], [s["kind"] for s in expressions["subscripts"]]]
    for raw in storage["variables"]:
        attributes = raw["attributes"]
        parts.append([raw["name"], raw["role"], raw["value_type"]])
        parts += [attributes[key] for key in attributes if key not in ("component_ref", "origin")]
    rest = {
        key: _without_places(value)
        for key, value in storage.items()
        if key not in {"expressions", "variables", "value_types", "value_type_provenance", "flat_type_ids"}
    }
    text = json.dumps([parts, rest], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_places(v) for k, v in value.items() if k not in _NOT_MODEL}
    return [_without_places(v) for v in value] if isinstance(value, list) else value


_NOT_MODEL = frozenset({"declaration", "provenance", "begin_provenance", "finish_provenance", "span", "linkage"})
