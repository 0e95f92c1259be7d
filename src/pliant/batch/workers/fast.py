"""Blocks of cases that differ in numbers only, in one call of C (solve/run/sweep.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import by_name, is_whole
from pliant.batch.cases import Case, CaseTable
from pliant.errors import PliantError
from pliant.solve.binding import runtime
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import Request, SolverOptions, check_request
from pliant.solve.run.inputs import make_inputs
from pliant.solve.run.sweep import CaseArrays, Sweep
from pliant.solve.signals.given import typed_inputs
from pliant.solve.signals.kinds import FunctionSignal

if TYPE_CHECKING:
    from pliant.batch.order import Order

Matrix = NDArray[np.float64]
ROOM = 1 << 26  # numbers of rows that one call may fill


@dataclass
class Columnar:
    """What the cases of a block gave, as arrays."""

    names: tuple[str, ...]  # columns behind the time
    last: Matrix  # (n, 1 + len(names))
    good: NDArray[np.bool_]  # (n,) where not: simulate it alone
    counts: NDArray[np.int64]  # (n, counters)
    rows: list[Matrix] | None = None  # of each case, (n_rows, 1 + len(names))
    methods: tuple[str, ...] = ()
    jacobian: str = ""
    late: frozenset[int] = frozenset()

    def places(self, model: NumericModel, names: Sequence[str]) -> tuple[list[int], NDArray[np.float64]]:
        """Where variables and aliases stand in a row, and their signs."""
        there = {name: j + 1 for j, name in enumerate(self.names)}
        found = [model.names.behind(name) for name in names]
        return [there[name] for name, _ in found], np.array([sign for _, sign in found], dtype=np.float64)


def recorded(model: NumericModel, name: str) -> tuple[str, int] | None:
    """The column of rows that a name stands for, and its sign; None: it is no column."""
    behind, sign = model.names.behind(name)
    return (behind, sign) if behind in model.names.x or behind in model.names.y else None


class _NotThisWay(Exception):
    """The block has something that only simulate can do."""


def fast_block(model: Any, order: Order, cases: CaseTable, between: Callable[[], object] | None) -> Columnar | None:
    """The whole block, but for cases that fail; None: it cannot be done this way."""
    try:
        return _Block(model._numeric, order, cases).run(between)
    except (_NotThisWay, PliantError):
        return None  # simulate says what is wrong, case by case


class _Block:
    def __init__(self, model: NumericModel, order: Order, cases: CaseTable) -> None:
        self.order, self.cases = order, cases
        arguments = order.arguments
        self.curves = order.keep != "final"
        self._check(model)
        first = cases.case(0)
        self.request = request = self._request(model, first)
        given = {**(arguments.get("inputs") or {}), **first.inputs}
        signals = typed_inputs(model.declared_inputs(request.parameters), given, request.stop)
        if any(isinstance(one, FunctionSignal) for one in signals.values()):
            raise _NotThisWay
        self.signals = signals
        self.model = model.for_jumps(request, signals)
        self.good = np.ones(len(cases), dtype=bool)
        self.arrays = self._arrays(given)

    def _check(self, model: NumericModel) -> None:
        order, arguments = self.order, self.order.arguments
        if model.library_path is None or arguments.get("timeout") is not None:
            raise _NotThisWay
        if SolverOptions.of(arguments.get("options")).process == "child":
            raise _NotThisWay
        if (self.curves or order.all_points) and arguments.get("points", 500) is None:
            raise _NotThisWay
        if isinstance(order.keep, tuple) and any(recorded(model, name) is None for name in order.keep):
            raise _NotThisWay  # inputs and parameters are no columns of rows
        whole = self.curves and not isinstance(order.keep, tuple)
        if whole and (model.may_have_events or model.known.may_speak):
            raise _NotThisWay  # a Result has events, and a log
        if model.has_checked_parameters({one.name for one in self.cases.places if one.kind == "parameter"}):
            raise _NotThisWay
        if model.scales_follow_parameters and any(one.kind == "parameter" for one in self.cases.places):
            raise _NotThisWay

    def _request(self, model: NumericModel, first: Case) -> Request:
        arguments = dict(self.order.arguments)
        stop = arguments["stop"] if first.stop is None else first.stop
        points = arguments.get("points", 500)
        if not self.curves and not self.order.all_points:
            points = [stop]
        elif "stop" in self._kinds() and not is_whole(points):
            raise _NotThisWay
        outputs = arguments.get("outputs")
        if isinstance(self.order.keep, tuple):
            outputs = list(self.order.keep)
        return check_request(
            model,
            start=arguments.get("start"),
            stop=stop,
            method=arguments.get("method", "auto"),
            rtol=arguments.get("rtol", 1e-6),
            atol=arguments.get("atol"),
            points=points,
            step=arguments.get("step"),
            parameters={**by_name("parameters", arguments.get("parameters")), **first.parameters},
            start_values={**by_name("start_values", arguments.get("start_values")), **first.start_values},
            outputs=outputs,
            options=arguments.get("options"),
            timeout=None,
        )

    def _kinds(self) -> set[str]:
        return {one.kind for one in self.cases.places}

    # ------------------------------------------------------------------------------------------------- numbers

    def _arrays(self, given: Mapping[str, Any]) -> CaseArrays:
        request, model, n = self.request, self.model, len(self.cases)
        kinds = self._kinds()
        parameters = np.tile(request.parameters, (n, 1)) if "parameter" in kinds else None
        x = np.tile(request.x, (n, 1)) if "start" in kinds else None
        others = np.tile(np.array(list(request.others_given.values())), (n, 1)) if request.others_given else None
        u = self._inputs(n) if "input" in kinds else None
        stop = None
        for j, place in enumerate(self.cases.places):
            column = self.cases.values[:, j]
            if place.kind == "parameter":
                assert parameters is not None
                parameters[:, model.parameter_place(place.name)] = column
                self._check_bounds(place.name, column)
            elif place.kind == "start":
                self._start(place.name, column, x, others)
            elif place.kind == "input":
                assert u is not None
                u[:, model.names.u.index(place.name)] = column
                declared = model.declared_inputs(request.parameters)[place.name]
                self.good &= (column >= declared.low) & (column <= declared.high)
            else:
                stop = np.ascontiguousarray(column)
                self.good &= column > request.start
        if x is not None:
            self._check_start(x)
        return CaseArrays(n, parameters, u, x, others, stop, self._points(stop))

    def _start(self, name: str, column: Matrix, x: Matrix | None, others: Matrix | None) -> None:
        place, sign = self.model.start_place(name)
        if place < self.model.n_x:
            assert x is not None
            x[:, place] = sign * column
        else:
            assert others is not None
            others[:, list(self.request.others_given).index(place - self.model.n_x)] = sign * column

    def _inputs(self, n: int) -> Matrix:
        """Constant inputs; where some change with time, the cases go one by one."""
        instance = self.model.instance(self.request.parameters)
        made = make_inputs(self.model, self.signals, instance, self.request)
        if made.struct is not None:
            raise _NotThisWay
        return np.tile(made.u, (n, 1))

    def _check_bounds(self, name: str, column: Matrix) -> None:
        info = self.model.known.variables.get(name)
        if info is not None and info.min is not None:
            self.good &= column >= info.min
        if info is not None and info.max is not None:
            self.good &= column <= info.max

    def _check_start(self, x: Matrix) -> None:
        for bound, is_wrong in ((self.model.x_min, np.less), (self.model.x_max, np.greater)):
            if bound is not None:
                self.good &= ~is_wrong(x, bound).any(axis=1)

    def _points(self, stop: Matrix | None) -> Matrix | None:
        if stop is None:
            return None
        if not self.curves and not self.order.all_points:
            return np.ascontiguousarray(stop[:, None])
        assert self.request.points is not None
        count = len(self.request.points)
        step = (stop - self.request.start) / (count - 1)
        out = np.multiply.outer(step, np.arange(count, dtype=np.float64)) + self.request.start
        out[:, -1] = stop
        return np.ascontiguousarray(out)

    # ------------------------------------------------------------------------------------------------- running

    def run(self, between: Callable[[], object] | None) -> Columnar:
        """All cases that look right."""
        arrays, chosen = self.arrays, np.flatnonzero(self.good)
        if not len(chosen):
            raise _NotThisWay
        if len(chosen) < arrays.n:
            arrays = _rows_of(arrays, chosen)
        sweep = Sweep(self.model, self.request, self.signals, arrays, self.curves)
        late = sweep.run(self.order.case_timeout, between)
        return self._outcome(sweep, chosen, late)

    def _outcome(self, sweep: Sweep, chosen: NDArray[np.intp], late: set[int]) -> Columnar:
        n, width = len(self.cases), sweep.last.shape[1]
        well = np.array([sweep.ended_well(k) for k in range(len(chosen))])
        if sweep.rows is not None:
            well &= (sweep.used <= sweep.rows.shape[1]) & (sweep.method >= 0)  # a Result says which methods took part
        good = np.zeros(n, dtype=bool)
        good[chosen] = well
        last = np.full((n, width), np.nan)
        last[chosen] = sweep.last
        counts = np.zeros((n, sweep.count.shape[1]), dtype=np.int64)
        counts[chosen] = sweep.count
        rows: list[Matrix] | None = None
        if sweep.rows is not None:
            rows = [np.empty((0, width))] * n
            for place, k in enumerate(chosen.tolist()):
                rows[k] = sweep.rows[place, : sweep.used[place]].copy()
        places = frozenset(int(chosen[k]) for k in late)
        methods = [""] * n
        for place, k in enumerate(chosen.tolist()):
            methods[k] = runtime.METHOD_NAMES.get(int(sweep.method[place]), "")
        source = sweep.simulation.source
        return Columnar(sweep.names, last, good, counts, rows, tuple(methods), source, places)


def _rows_of(arrays: CaseArrays, chosen: NDArray[np.intp]) -> CaseArrays:
    def some(array: Matrix | None) -> Matrix | None:
        return None if array is None else np.ascontiguousarray(array[chosen])

    return CaseArrays(
        len(chosen),
        some(arrays.parameters),
        some(arrays.u),
        some(arrays.x),
        some(arrays.others),
        some(arrays.stop),
        some(arrays.points),
    )
