"""External C functions that pliant knows: the tables of the Modelica Standard Library.

rumoca evaluates the data of a table and numbers it; the constructor's other arguments are lost, so start and shift of
a time table are read from the parameters beside the table's number, as ``Modelica.Blocks.Sources.CombiTimeTable``
declares them (specification in its documentation): 0 before ``startTime``, then the table at time - ``shiftTime``,
both in units of ``timeScale``.
"""

from __future__ import annotations

from typing import Any

from pliant.errors import NotSupportedError
from pliant.expr.build import add, binary, choose, const, div, mul, sub
from pliant.frontend.interpret import Interpreter
from pliant.frontend.symbols import Symbols
from pliant.frontend.tables import make_table
from pliant.frontend.values import Value, scalars
from pliant.ir import Op, Table

PREFIX = "ModelicaStandardTables_"


class Externals:
    """Calls of external functions by C name."""

    def __init__(self, run: Interpreter, symbols: Symbols, raw: list[dict[str, Any]]) -> None:
        self.run, self.g, self.symbols = run, run.g, symbols
        self.raw = {entry["id"]: entry for entry in raw}
        self.owners = table_owners(symbols.raw, run.nodes.raw, self.raw)
        self.tables: list[Table] = []
        self.numbers: dict[tuple[int, int], int] = {}

    def __call__(self, symbol: str, name: str, args: list[Value]) -> Value:
        """Value of a call."""
        kind = symbol.removeprefix(PREFIX) if symbol.startswith(PREFIX) else ""
        if kind in {"CombiTable1D_getValue", "CombiTable1D_getDerValue", "CombiTable1D_getDer2Value"}:
            return self._value(args, scalars(args[2])[0], [scalars(a)[0] for a in args[3:]])
        if kind in {"CombiTimeTable_getValue", "CombiTimeTable_getDerValue", "CombiTimeTable_getDer2Value"}:
            return self._time_value(kind, args)
        if kind in {"CombiTable1D_minimumAbscissa", "CombiTable1D_maximumAbscissa"}:
            return self._abscissa(args, -1 if kind.endswith("maximumAbscissa") else 0)
        if kind in {"CombiTimeTable_minimumTime", "CombiTimeTable_maximumTime"}:
            return self._abscissa(args, -1 if kind.endswith("maximumTime") else 0)
        raise NotSupportedError(
            f"the external function `{symbol}` (called by `{name}`) is not supported",
            hint="write it as a Modelica function, or use a table or a parameter instead",
        )

    def _entry(self, args: list[Value]) -> dict[str, Any]:
        number = self.run.integer(args[0], "the number of a table")
        if number not in self.raw:
            raise NotSupportedError(
                "a table has no data: rumoca could not read them", hint="give the data in the model: table = [...]"
            )
        return self.raw[number]

    def _table(self, args: list[Value]) -> int:
        raw = self._entry(args)
        column = self.run.integer(args[1], "the column of a table")
        key = (raw["id"], column)
        if key not in self.numbers:
            name = self.owners.get(raw["id"], f"table {raw['id']}")
            self.numbers[key] = len(self.tables)
            self.tables.append(make_table(f"{name}[{column}]", raw, column))
        return self.numbers[key]

    def _value(self, args: list[Value], u: int, rates: list[int]) -> int:
        """The table, or its first or second derivative by time if rates of the argument are given."""
        g, table = self.g, self._table(args)
        if not rates:
            return g.intern((Op.TABLE, table, 0, u))
        slope = g.intern((Op.TABLE, table, 1, u))
        if len(rates) == 1:
            return mul(g, slope, rates[0])
        curvature = g.intern((Op.TABLE, table, 2, u))
        return add(g, mul(g, curvature, mul(g, rates[0], rates[0])), mul(g, slope, rates[1]))

    def _time_value(self, kind: str, args: list[Value]) -> int:
        g = self.g
        t = scalars(args[2])[0]
        prefix = self.owners.get(self._entry(args)["id"], "")
        scale = self._parameter(prefix, "timeScale", 1.0)
        start = div(g, self._parameter(prefix, "startTime", 0.0), scale)
        shift = div(g, self._parameter(prefix, "shiftTime", 0.0), scale)
        rates = [scalars(a)[0] for a in args[5:]] if kind != "CombiTimeTable_getValue" else []
        inside = self._value(args, sub(g, t, shift), rates)
        before = binary(g, Op.LT, t, start)
        if self.run.events and before != const(g, 0.0):
            before = self.run.event(t, start, True, None)
        return choose(g, before, const(g, 0.0), inside)

    def _parameter(self, prefix: str, name: str, default: float) -> int:
        position = self.symbols.position(f"{prefix}.{name}" if prefix else name)
        return const(self.g, default) if position is None else scalars(self.symbols.value(position))[0]

    def _abscissa(self, args: list[Value], row: int) -> int:
        return const(self.g, float(self._entry(args)["data"][row][0]))


def table_owners(
    variables: list[dict[str, Any]], nodes: list[Any], tables: dict[int, dict[str, Any]]
) -> dict[int, str]:
    """Number of a table -> name of the component that declares it."""
    found: dict[int, str] = {}
    for raw in variables:
        binding = raw["attributes"]["binding"]
        if raw["role"] not in ("parameter", "constant") or binding is None:
            continue
        literal = nodes[binding]
        prefix, _, last = raw["name"].rpartition(".")
        if last.startswith("tableID") and isinstance(literal, dict) and literal.get("integer") in tables:
            found[literal["integer"]] = prefix
    return found
