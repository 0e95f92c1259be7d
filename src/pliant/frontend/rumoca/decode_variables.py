"""Variables of rumoca's dictionary as variables of a flat model, and why parameters cannot be changed any more.

rumoca uses the values of parameters while it instantiates a model, and does not always say so. What it says (evaluable)
and what its output shows (data of tables, times of clocks) is a value that was used. Conditions of components leave no
trace: parameters whose names stand in one are locked, as are Integers that nothing reads.
"""

from __future__ import annotations

from typing import Any

from pliant.errors import ModelError
from pliant.frontend.flat.expressions import NONE
from pliant.frontend.flat.model import FlatObject, FlatTable, FlatVariable
from pliant.frontend.flat.types import BaseType, Causality, EnumerationType, Type, Variability
from pliant.frontend.rumoca.decode_events import PARAMETER_ROLES, clock_parameters
from pliant.frontend.rumoca.decode_expressions import ExpressionDecoder
from pliant.frontend.rumoca.nodes import Nodes
from pliant.ir import StateSelect

USED = "its value was used to build the equations"
_SELECT = {
    "Never": StateSelect.NEVER,
    "Avoid": StateSelect.AVOID,
    "Default": StateSelect.DEFAULT,
    "Prefer": StateSelect.PREFER,
    "Always": StateSelect.ALWAYS,
}
_CAUSALITY = {"input": Causality.INPUT, "output": Causality.OUTPUT}


class VariableDecoder:
    """Declares variables so that expressions can name them, and gives them their attributes afterwards."""

    def __init__(self, expressions: ExpressionDecoder, dae: dict[str, Any]) -> None:
        self.expressions, self.build, self.spans = expressions, expressions.build, expressions.spans
        self.storage: dict[str, Any] = dae["storage"]
        self.raw: list[dict[str, Any]] = self.storage["variables"]
        self.tables = {entry["id"]: entry for entry in dae.get("external_tables") or []}

    def declare(self) -> None:
        """Names and types."""
        for raw in self.raw:
            if raw["name"] == "time":  # rumoca reads the independent variable wherever the model says `time`
                raise ModelError(
                    f"{self.spans.of(raw['declaration'])}: `time` is the time itself and cannot be declared",
                    hint="choose another name",
                )
            variability = Variability[raw["variability"].upper()]
            self.build.variable(FlatVariable(raw["name"], self._type(raw), variability))

    def _type(self, raw: dict[str, Any]) -> Type:
        found: Type = self.expressions.types[raw["value_type"]]
        literals = tuple(raw.get("literals", ()))
        if found.base is BaseType.ENUMERATION and literals:
            return Type(found.base, found.shape, self.build.enumeration(EnumerationType("", literals)))
        return found

    def define(self) -> None:
        """Attributes, tables and reasons."""
        nodes = self.expressions.nodes
        owners = table_owners(self.raw, nodes.raw, self.tables)
        evaluated = self._table_parameters(owners) | clock_parameters(self.storage, nodes, self.spans)
        read = _parameters_read(nodes)
        sources = {raw["declaration"]["span"]["source"] for raw in self.raw if raw["declaration"].get("span")}
        deciding = self.spans.condition_names(sources)
        clocks = {one["variable"]: one["clock"] for one in self.storage["clock_ownerships"]}
        for position, raw in enumerate(self.raw):
            locked, is_evaluated = "", False
            if raw["role"] == "parameter":
                is_evaluated = position in evaluated or bool(raw["attributes"]["evaluable"])
                locked = evaluated.get(position, USED if is_evaluated else "")
                is_integer = self.build.variables[position].type.base is BaseType.INTEGER
                if not locked and is_integer and position not in read:
                    locked = "no equation reads it; it may have decided about components"
                elif not locked and raw["name"].rpartition(".")[2] in deciding:
                    # the class cannot be known here; one of the same name elsewhere is locked needlessly
                    locked = "a component is declared under a condition with its name"
            self._define(position, locked, is_evaluated, clocks.get(position, NONE))
        self._objects(owners)

    def _define(self, position: int, locked: str, is_evaluated: bool, clock: int) -> None:
        raw, plain = self.raw[position], self.build.variables[position]
        given, new = raw["attributes"], self.expressions.new
        e: dict[str, Any] = {
            name: None if given[name] is None else new[given[name]]
            for name in ("binding", "start", "min", "max", "nominal")
        }
        start = given["start"]
        if start is not None and (given["binding"] is not None or self._is_default(position, start)):
            e["start"] = None  # the start of a bound parameter is its value, or nothing
        if plain.variability > Variability.PARAMETER:
            e["binding"] = None
        self.build.variables[position] = FlatVariable(
            plain.name,
            plain.type,
            plain.variability,
            _CAUSALITY.get(given["causality"], Causality.LOCAL),
            fixed=tuple(map(bool, given["fixed"] or ())),
            state_select=_SELECT.get(given["state_select"], StateSelect.DEFAULT),
            unit=given["unit"] or "",
            description=given["description"] or "",
            is_hidden=plain.name.startswith("$"),
            is_final=raw["role"] == "parameter" and not given["is_tunable"] and not given["evaluable"],
            is_evaluated=is_evaluated,
            locked=locked,
            clock=clock,
            span=self.spans.of(raw["declaration"]),
            **e,
        )

    def _is_default(self, position: int, expression: int) -> bool:
        """A start value that the modeller did not give."""
        nodes = self.expressions.nodes
        origin = nodes.origin(expression)
        if isinstance(origin, dict) and origin.get("generated") == "default_start":
            return True
        return bool(nodes.span(expression) == self.raw[position]["declaration"].get("span"))

    # -------------------------------------------------------------------------------------------- tables

    def _table_parameters(self, owners: dict[int, str]) -> dict[int, str]:
        """Parameters beside a table that have its form: rumoca took the table's data from their values."""
        forms: dict[str, set[tuple[Any, ...]]] = {}
        for number, prefix in owners.items():
            data = self.tables[number]["data"]
            known = {(len(data), len(data[0]) if data else 0), (len(self.tables[number]["columns"]), "columns")}
            forms.setdefault(prefix, set()).update(known)
        found = {}
        for position, raw in enumerate(self.raw) if forms else ():
            prefix, _, last = raw["name"].rpartition(".")
            shape = self.build.variables[position].type.shape
            form = (*shape, last) if last == "columns" else shape
            if raw["role"] in PARAMETER_ROLES and form in forms.get(prefix, ()):
                found[position] = "data of a table"
        return found

    def _objects(self, owners: dict[int, str]) -> None:
        """Tables; the constructor's other arguments are lost, so they are found by the names beside them."""
        positions = {raw["name"]: k for k, raw in enumerate(self.raw)} if self.tables else {}
        for number, entry in self.tables.items():
            prefix = owners.get(number, "")

            def beside(name: str, prefix: str = prefix) -> int:
                position = positions.get(f"{prefix}.{name}" if prefix else name)
                return NONE if position is None else self.build.ref(position)

            table = FlatTable(
                tuple(tuple(map(float, row)) for row in entry["data"]),
                tuple(map(int, entry["columns"])),
                int(entry["smoothness"]),
                int(entry["extrapolation"]),
                beside("timeScale"),
                beside("startTime"),
                beside("shiftTime"),
                beside("timeEvents"),
            )
            name = owners.get(number, f"table {number}")
            holder = next((k for n, k in positions.items() if n.startswith(f"{prefix}.tableID".lstrip("."))), NONE)
            self.build.objects.append(FlatObject(holder, number, table=table, name=name))


def table_owners(
    variables: list[dict[str, Any]], nodes: list[Any], tables: dict[int, dict[str, Any]]
) -> dict[int, str]:
    """Number of a table -> name of the component that declares it."""
    found: dict[int, str] = {}
    for raw in variables if tables else ():
        binding = raw["attributes"]["binding"]
        if raw["role"] not in PARAMETER_ROLES or binding is None:
            continue
        literal = nodes[binding]
        prefix, _, last = raw["name"].rpartition(".")
        if last.startswith("tableID") and isinstance(literal, dict) and literal.get("integer") in tables:
            found[literal["integer"]] = prefix
    return found


def _parameters_read(nodes: Nodes) -> set[int]:
    found = set()
    for kind, raw in zip(nodes.kind, nodes.raw, strict=True):
        if kind == "coordinate" and isinstance(raw, dict) and "parameter" in raw:
            found.add(raw["parameter"])
    return found
