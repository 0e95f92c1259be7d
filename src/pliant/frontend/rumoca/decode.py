"""rumoca's ``dae`` dictionary as a flat model: what rumoca has lowered is put back into the words of Modelica.

    decode_expressions   expressions         decode_functions   functions with plain locals
    decode_events        when-clauses, discrete equations, assertions (clauses.py finds what the source says about them)
    decode_variables     variables, and why a parameter cannot be changed

Residuals become equations again, loops over domains `for`, arrays stay.
"""

from __future__ import annotations

import gc
import hashlib
import json
from typing import Any

from pliant.errors import ModelError, NotSupportedError
from pliant.frontend.flat.build import FlatBuilder
from pliant.frontend.flat.model import FlatClock, FlatEquation, FlatFor, FlatItem, FlatModel, SourceFile
from pliant.frontend.flat.types import Variability
from pliant.frontend.rumoca.decode_events import EventDecoder
from pliant.frontend.rumoca.decode_expressions import ExpressionDecoder
from pliant.frontend.rumoca.decode_functions import FunctionDecoder
from pliant.frontend.rumoca.decode_variables import VariableDecoder
from pliant.frontend.rumoca.nodes import SCHEMA_VERSION, Nodes
from pliant.frontend.rumoca.spans import Spans
from pliant.ir import Span

_ORIGINS = {
    "binding_equation": "binding",
    "connection_equation": "connection",
    "flow_balance_equation": "flow balance",
}
_SUBTRACT = ("subtract", "elementwise_subtract")


def decode(dae: dict[str, Any]) -> FlatModel:
    """The flat model of a dictionary (``to_dict("dae")``)."""
    version = dae.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ModelError(
            f"rumoca wrote its format {version}; pliant reads format {SCHEMA_VERSION}",
            hint="install the version that fits: pip install pliant[rumoca]",
        )
    was_enabled = gc.isenabled()
    gc.disable()  # many nodes are made and none is garbage
    try:
        return _ModelDecoder(dae).run()
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise NotSupportedError(
            f"{dae.get('model_name') or 'model'}: a construct of the model has a form that pliant does not support",
            hint="write it in a simpler form, and report the model",
        ) from error
    finally:
        if was_enabled:
            gc.enable()


class _ModelDecoder:
    def __init__(self, dae: dict[str, Any]) -> None:
        self.dae, self.storage = dae, dae["storage"]
        self.nodes, self.spans = Nodes(self.storage["expressions"]), Spans(dae["source_map"]["files"])
        self.build = FlatBuilder(str(dae.get("model_name") or "model"), lenient=True)

    def run(self) -> FlatModel:
        """Everything, what is named first first."""
        build, spans = self.build, self.spans
        expressions = ExpressionDecoder(build, self.dae, self.nodes, spans)
        functions = FunctionDecoder(expressions)
        variables = VariableDecoder(expressions, self.dae)
        events = EventDecoder(expressions)
        self.expressions = expressions
        for entry in self.storage["clocks"]:
            build.clock(self._clock(entry))
        functions.declare()
        variables.declare()
        expressions.decode_all(self._residuals())
        functions.define()
        for operation in self.storage["continuous_equation_operations"]:
            build.equations.extend(self._equations(operation))
        for operation in self.storage["initialization_equation_operations"]:
            build.initial_equations.extend(self._equations(operation))
        events.decode_initial()
        events.decode()
        variables.define()
        files = tuple(SourceFile(spans.files[source][0]) for source in spans.texts)
        return build.finish(files=files, digest=_digest(self.dae))

    def _clock(self, entry: dict[str, Any]) -> FlatClock:
        ((kind, content),) = entry["kind"].items()
        span = self.spans.of(entry.get("provenance"))
        if kind != "periodic":
            return FlatClock(kind, span=span)
        period, phase = content["lattice"]["period"], content["lattice"]["phase"]
        first, interval = (int(phase["num"]), int(phase["den"])), (int(period["num"]), int(period["den"]))
        return FlatClock("periodic", first, interval, span=span)

    # ----------------------------------------------------------------------------------------- equations

    def _residuals(self) -> set[int]:
        """Differences that are equations: only their sides are needed."""
        found: set[int] = set()
        for name in ("continuous_equation_operations", "initialization_equation_operations"):
            for operation in self.storage[name]:
                ((_, content),) = operation.items()
                found.update(content["bodies"] if "bodies" in content else [content["residual"]])
        found.update(row["residual"] for row in self.storage["discrete_real_equations"])
        nodes = self.nodes
        found = {e for e in found if nodes.kind[e] == "binary" and nodes.raw[e]["operator"] in _SUBTRACT}
        for strict, lazy in zip(nodes.strict, nodes.lazy, strict=True):
            if not found.isdisjoint(strict) or not found.isdisjoint(lazy):
                found -= {*strict, *lazy}
        return found

    def _equations(self, operation: dict[str, Any]) -> list[FlatItem]:
        ((kind, content),) = operation.items()
        origin = _origin(content["provenance"])
        span = self._span(content, origin)
        if kind == "residual":
            return [self._equation(content["residual"], origin, span)]
        view = content["scalar_view"]
        found: list[FlatItem] = [self._equation(body, origin, span) for body in content["bodies"]]
        if view == "RowMajorProjection":
            return found
        count = None if view == "BinderSubstitution" else view["BinderPrefixProjection"]["binder_count"]
        loops = self.expressions.loops(content["domain"], count)
        return [FlatFor(loops, (item,), span) for item in found]

    def _equation(self, root: int, origin: str, span: Span | None) -> FlatEquation:
        raw = self.nodes.raw[root]
        if self.nodes.kind[root] == "binary" and raw["operator"] in _SUBTRACT:
            sides = self.expressions(raw["lhs"]), self.expressions(raw["rhs"])
        else:
            sides = self.expressions(root), self.build.literal(0)
        return FlatEquation(*sides, Variability.CONTINUOUS, origin, span=span)

    def _span(self, content: dict[str, Any], origin: str) -> Span | None:
        provenance, nodes = content["provenance"], self.nodes
        root = content["residual"] if "residual" in content else content["bodies"][0]
        if origin == "binding" and nodes.kind[root] == "binary":
            left = nodes.raw[nodes.raw[root]["lhs"]]
            for role in ("algebraic", "state"):
                if isinstance(left, dict) and role in left:
                    return self.spans.binding(provenance, self.build.variables[left[role]].name)
        if origin == "equation":
            return self.spans.equation(provenance, nodes.span(root))
        return self.spans.of(provenance)


def _origin(provenance: dict[str, Any]) -> str:
    origin = provenance.get("origin")
    if isinstance(origin, dict):
        kind = str(origin.get("generated", "equation"))
        return _ORIGINS.get(kind, kind.replace("_", " "))
    return "equation"


def _digest(dae: dict[str, Any]) -> str:
    """The same for the same model, wherever its files lie: places in the source do not count."""
    storage, expressions = dae["storage"], dae["storage"]["expressions"]
    parts: list[Any] = [dae.get("external_tables"), storage["value_types"]]
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
