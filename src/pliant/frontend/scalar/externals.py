"""External C functions that pliant knows: the tables of the Modelica Standard Library.

The data of a table are in the flat model; calls name it by its handle. A table over time is 0 before ``startTime``,
then the table at time - ``shiftTime``, both in units of ``timeScale``, as the documentation of
``Modelica.Blocks.Sources.CombiTimeTable`` says.
"""

from __future__ import annotations

import sys
from itertools import pairwise

from pliant.errors import NotSupportedError
from pliant.expr.build import add, apply, binary, choose, const, div, mul, sub, value_of
from pliant.expr.evaluate import table_value
from pliant.frontend.flat.expressions import NONE
from pliant.frontend.flat.model import FlatExternal, FlatObject, FlatTable
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.symbols import Symbols
from pliant.frontend.scalar.tables import CONSTANT, LINEAR, PERIODIC, make_table
from pliant.frontend.scalar.values import Value, scalars
from pliant.ir import Op, Table

PREFIX = "ModelicaStandardTables_"
NEVER = sys.float_info.max  # what the library calls infinity
ALWAYS, AT_JUMPS = 1, 2


class Externals:
    """Calls of external functions by C name."""

    def __init__(self, run: Interpreter, symbols: Symbols) -> None:
        self.run, self.g, self.symbols = run, run.g, symbols
        self.objects = {one.handle: one for one in run.tape.flat.objects if one.table is not None}
        self.tables: list[Table] = []
        self.numbers: dict[tuple[int, int], int] = {}

    def knows(self, external: FlatExternal) -> bool:
        """A function of a table whose data are known."""
        if not external.symbol.startswith(PREFIX) or not external.arguments:
            return False
        if not external.include_folder:
            return True
        handle = self.run.value(external.arguments[0])
        known = value_of(self.g, handle) if isinstance(handle, int) else None
        return known is not None and round(known) in self.objects

    def __call__(self, symbol: str, name: str, args: list[Value]) -> Value:
        """Value of a call."""
        kind = symbol.removeprefix(PREFIX) if symbol.startswith(PREFIX) else ""
        if kind in {"CombiTable1D_getValue", "CombiTable1D_getDerValue", "CombiTable1D_getDer2Value"}:
            return self._value(args, scalars(args[2])[0], [scalars(a)[0] for a in args[3:]])
        if kind in {"CombiTimeTable_getValue", "CombiTimeTable_getDerValue", "CombiTimeTable_getDer2Value"}:
            return self._time_value(kind, args)
        if kind == "CombiTimeTable_nextTimeEvent":
            return self._next_time(args)
        if kind in {"CombiTable1D_minimumAbscissa", "CombiTable1D_maximumAbscissa"}:
            return self._abscissa(args, -1 if kind.endswith("maximumAbscissa") else 0)
        if kind in {"CombiTimeTable_minimumTime", "CombiTimeTable_maximumTime"}:
            return self._abscissa(args, -1 if kind.endswith("maximumTime") else 0)
        raise NotSupportedError(
            f"the external function `{symbol}` (called by `{name}`) is not supported",
            hint="write it as a Modelica function, or use a table or a parameter instead",
        )

    def _object(self, args: list[Value]) -> FlatObject:
        number = self.run.integer(args[0], "the number of a table")
        if number not in self.objects:
            raise NotSupportedError(
                "a table has no data: they could not be read", hint="give the data in the model: table = [...]"
            )
        return self.objects[number]

    def _data(self, args: list[Value]) -> FlatTable:
        found = self._object(args).table
        assert found is not None
        return found

    def _table(self, args: list[Value]) -> int:
        own, column = self._object(args), self.run.integer(args[1], "the column of a table")
        key = (own.handle, column)
        if key not in self.numbers:
            self.numbers[key] = len(self.tables)
            self.tables.append(make_table(f"{own.name}[{column}]", self._data(args), column))
        return self.numbers[key]

    def _value(self, args: list[Value], u: int, rates: list[int]) -> int:
        """The table, or its first or second derivative by time if rates of the argument are given."""
        g, table = self.g, self._table(args)
        known = value_of(g, u)
        if not rates and known is not None:
            return const(g, table_value(self.tables[table], 0, known))
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
        start, shift = self._start_and_shift(args)
        rates = [scalars(a)[0] for a in args[5:]] if kind != "CombiTimeTable_getValue" else []
        u = sub(g, t, shift)
        if self.tables[self._table(args)].smooth < 0:  # it jumps: until its event has been, the left side holds
            following = scalars(args[3])[0]
            left = sub(g, sub(g, following, shift), self._margin(self._data(args), following))
            u = binary(g, Op.MIN, u, left)
        inside = self._value(args, u, rates)
        before = binary(g, Op.LT, t, start)
        if self.run.events and before != const(g, 0.0):
            before = self.run.event(t, start, True, None)
        elif before != const(g, 0.0):  # in a body that is called: the event at its start is the table's next one
            waits = binary(g, Op.EQ, scalars(args[3])[0], start)
            inside = choose(g, waits, const(g, 0.0), inside)
        return choose(g, before, const(g, 0.0), inside)

    def _start_and_shift(self, args: list[Value]) -> tuple[int, int]:
        """In units of timeScale."""
        table = self._data(args)
        scale = self._given(table.time_scale, 1.0)
        start, shift = self._given(table.start_time, 0.0), self._given(table.shift_time, 0.0)
        return div(self.g, start, scale), div(self.g, shift, scale)

    def _next_time(self, args: list[Value]) -> int:
        """The next event of a time table, as a table of its own over its time; NEVER after the last."""
        g, table = self.g, self._data(args)
        t = scalars(args[1])[0]
        start, shift = self._start_and_shift(args)
        times = event_times(table, self._time_events(table))
        period = table.rows[-1][0] - table.rows[0][0]
        repeats = table.extrapolation == PERIODIC and period > 0.0
        # time divided by timeScale may fall short of an event by rounding: it has come all the same
        u = add(g, sub(g, t, shift), self._margin(table, t))
        turns = const(g, 0.0)
        if repeats and times:
            first = table.rows[0][0]
            turns = mul(g, const(g, period), apply(g, Op.FLOOR, div(g, sub(g, u, const(g, first)), const(g, period))))
            u = sub(g, u, turns)
            times = [*times, *(one + period for one in times[:2])]
        self.tables.append(_steps(f"{self._object(args).name}.nextTimeEvent", times))
        following = g.intern((Op.TABLE, len(self.tables) - 1, 0, u))
        following = choose(
            g, binary(g, Op.LT, following, const(g, NEVER)), add(g, add(g, following, turns), shift), const(g, NEVER)
        )
        return choose(g, binary(g, Op.LT, t, start), start, following)

    def _margin(self, table: FlatTable, t: int) -> int:
        """A time that is nothing to the table, but more than rounding."""
        xs = [row[0] for row in table.rows]
        gap = min((b - a for a, b in pairwise(xs) if b > a), default=1.0)
        return add(self.g, const(self.g, 1e-9 * gap), mul(self.g, const(self.g, 1e-14), apply(self.g, Op.ABS, t)))

    def _time_events(self, table: FlatTable) -> int:
        if table.time_events == NONE:
            return ALWAYS
        e = scalars(self.run.value(table.time_events))[0]
        known = value_of(self.g, e)
        return int(self.symbols.numeric(e, "the events of a table") if known is None else known)

    def _given(self, e: int, default: float) -> int:
        return const(self.g, default) if e == NONE else scalars(self.run.value(e))[0]

    def _abscissa(self, args: list[Value], row: int) -> int:
        return const(self.g, self._data(args).rows[row][0])


def event_times(table: FlatTable, wanted: int) -> list[float]:
    """Times of a table at which it makes events: its rows, or its jumps only, or none."""
    xs = [row[0] for row in table.rows]
    if table.smoothness == CONSTANT or (table.smoothness == LINEAR and wanted == ALWAYS):
        return sorted(set(xs))
    if table.smoothness == LINEAR and wanted == AT_JUMPS:
        ends = [] if table.extrapolation != PERIODIC else [xs[0], xs[-1]]
        return sorted({*ends, *(a for a, b in pairwise(xs) if a == b)})
    return []


def _steps(name: str, times: list[float]) -> Table:
    """The first of the times after u, as a table."""
    if not times:
        return Table(name, (0.0, 1.0), ((NEVER, 0.0, 0.0, 0.0),), "hold", -1)
    knots = (times[0] - 1.0, *times, times[-1] + 1.0)
    return Table(name, knots, tuple((one, 0.0, 0.0, 0.0) for one in (*times, NEVER)), "hold", -1)
