"""What a simulation hands back: trajectories by name, counters, events and the manifest.

    result = model.simulate(stop=10)
    result.time, result["x"], result["x", "y"]      arrays; aliases, parameters and "der(x)" are read alike
    result.final["x"]                               the last value
    result.plot("x", "y"), result.to_pandas(), result.save("r.mat"), Result.load("r.mat")

Writing and reading files is in save.py, drawing in plot.py; both are loaded on first use only.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.arguments import as_names
from pliant.calls import by_keyword, by_keyword_class
from pliant.drawing import import_optional
from pliant.errors import ArgumentError, UnknownNameError
from pliant.pickled import PackedArrays, Stamped
from pliant.plain import AsDict, plain
from pliant.solve.names import nearest
from pliant.solve.results.columns import KeptColumn, check_names, check_shape, inside_der, read_only, unit_per_second

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pliant.explain import Explanation, RunRecord
    from pliant.solve.start.explained import Start

FloatArray = NDArray[np.float64]
VariableKind = Literal["state", "algebraic", "output", "input", "parameter", "derivative", "discrete"]
VariableType = Literal["real", "integer", "boolean", "enumeration", "string"]

_ON_DEMAND = ("_info", "_lazy", "manifest", "steps")


@by_keyword_class
@dataclass(slots=True)
class Stats:
    """Counters of a run. `n_rhs` counts every evaluation of f, `n_rhs_jac` those of them spent on Jacobians.

    >>> print(Stats(n_steps=12, method="bdf").as_dict()["n_steps"])
    12
    """

    n_steps: int = 0
    _: KW_ONLY
    n_rhs: int = 0
    n_jac: int = 0
    n_jvp: int = 0
    n_taylor: int = 0
    n_factor: int = 0
    n_error_fails: int = 0
    n_newton_fails: int = 0
    n_events: int = 0
    method: str = ""
    seconds: float = 0.0
    n_rhs_jac: int = 0
    n_solve: int = 0
    n_roots: int = 0
    n_rediff: int = 0
    jacobian: str = ""

    def as_dict(self) -> dict[str, int | float | str]:
        """All counters by name."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        rows = [
            ("method", self.method or "-", ""),
            ("n_steps", f"{self.n_steps:,}", "steps accepted"),
            ("n_error_fails", f"{self.n_error_fails:,}", "steps rejected by the error test"),
            ("n_newton_fails", f"{self.n_newton_fails:,}", "Newton iterations that did not converge"),
            ("n_rhs", f"{self.n_rhs:,}", "evaluations of f, all of them"),
            ("n_rhs_jac", f"{self.n_rhs_jac:,}", "of these for difference Jacobians"),
            ("jacobian", self.jacobian or "-", "where Jacobians come from"),
            ("n_jac", f"{self.n_jac:,}", "Jacobians"),
            ("n_rediff", f"{self.n_rediff:,}", "Jacobians differenced again after bad convergence"),
            ("n_jvp", f"{self.n_jvp:,}", "directional derivatives"),
            ("n_taylor", f"{self.n_taylor:,}", "higher derivatives"),
            ("n_factor", f"{self.n_factor:,}", "LU factorisations"),
            ("n_solve", f"{self.n_solve:,}", "linear solves"),
            ("n_roots", f"{self.n_roots:,}", "evaluations of the root functions"),
            ("n_events", f"{self.n_events:,}", "events"),
            ("seconds", f"{self.seconds:.3g}", "wall-clock time"),
        ]
        width = max(len(value) for _, value, _ in rows)
        return "\n".join(f"{name:<14}  {value:>{width}}  {what}".rstrip() for name, value, what in rows)


# eq=False: comparing arrays gives arrays, so a generated __eq__ would raise.
@by_keyword_class
@dataclass(frozen=True, slots=True, eq=False)
class Event(AsDict):
    """One event: its time, the roots that crossed zero (none for a time event) and the states around it."""

    time: float
    _: KW_ONLY
    roots: tuple[str, ...]
    directions: tuple[int, ...]
    before: FloatArray
    after: FloatArray
    terminal: bool = False
    message: str = ""  # what the model says when it ends the run

    def __str__(self) -> str:
        arrows = {1: "rising", -1: "falling"}
        pairs = zip(self.roots, self.directions, strict=False)
        causes = ", ".join(f"{root} {arrows.get(direction, '')}".rstrip() for root, direction in pairs)
        return f"t = {self.time:.9g}: {causes or 'time event'}{', ends the run' if self.terminal else ''}" + (
            f" ({self.message})" if self.message else ""
        )


@by_keyword_class
@dataclass(frozen=True, slots=True)
class VariableInfo(AsDict):
    """What is known about a variable apart from its values."""

    name: str
    _: KW_ONLY
    kind: VariableKind
    unit: str = ""
    description: str = ""
    start: float | None = None
    nominal: float | None = None
    min: float | None = None
    max: float | None = None
    span: object | None = None
    type: VariableType = "real"
    literals: tuple[str, ...] = ()  # of an enumeration: the names of its values 1, 2, ..., where known

    def __str__(self) -> str:
        shown = [f"{self.kind} {self.name}" + (f" [{self.unit}]" if self.unit else "")]
        shown += [f"{key} = {getattr(self, key):g}" for key in ("start", "nominal", "min", "max") if self._has(key)]
        return ", ".join(shown) + (f": {self.description}" if self.description else "")

    def _has(self, key: str) -> bool:
        return getattr(self, key) is not None


StepRecord: TypeAlias = Mapping[str, NDArray[Any]]
LazyColumns: TypeAlias = Mapping[str, Callable[[], FloatArray]]


@by_keyword_class
class Result(Stamped):
    """Trajectories by name, with counters, events and manifest.

    Columns come as read-only arrays: take `.copy()` to change one. Aliases carry a sign, lazy columns are
    computed on first use, parameters read as constant columns.

    >>> aliases = {"y": ("x", -1)}
    >>> r = Result([0, 1], values=[[1.0], [0.5]], names=["x"], stats=Stats(), manifest={}, aliases=aliases)
    >>> r["y"]
    array([-1. , -0.5])
    >>> r.final["x"]
    0.5
    """

    def __init__(
        self,
        time: ArrayLike,
        *,
        values: ArrayLike,
        names: Sequence[str] | Mapping[str, int],
        stats: Stats,
        manifest: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
        events: Sequence[Event] = (),
        info: Mapping[str, VariableInfo] | Callable[[], Mapping[str, VariableInfo]] | None = None,
        aliases: Mapping[str, tuple[str, int]] | None = None,
        parameters: Mapping[str, float] | None = None,
        lazy: LazyColumns | Callable[[], LazyColumns] | None = None,
        steps: StepRecord | Callable[[], StepRecord] | None = None,
        complete: bool = True,
        states: Sequence[str] | None = None,
    ) -> None:
        """`time` (n_rows) and `values` (n_rows, n_names) are viewed, not copied: leave them alone afterwards.

        Arguments:
            names: of the columns, or a mapping from name to column that is not changed any more.
            aliases: alias -> (name, +1 or -1). Those whose name was not recorded are dropped.
            lazy: name -> function without arguments that computes the column, called at most once.
            steps: arrays `time` (end of each step taken), `h`, `order` and `method`, all of one length.
            complete: False when the run was cut short.
            states: names of the entries of `Event.before` and `after`; by default columns of kind "state".

        `manifest`, `info`, `lazy` and `steps` may be functions without arguments, called when first needed: a large
        model should not pay for descriptions that are never read.
        """
        self._time = read_only(time)
        self._values = read_only(values)
        if isinstance(names, Mapping):  # made once for a model
            self._columns: Mapping[str, int] = names
        else:
            self._columns = {name: j for j, name in enumerate(names)}
            check_names(names)
        check_shape(self._time, self._values, len(names))
        self._info_source = info
        self._parameters = {name: float(value) for name, value in (parameters or {}).items()}
        self._lazy_source = lazy
        self._computed: dict[str, FloatArray] = {}
        self._aliases = self._recorded_aliases(aliases or {})
        self.stats = stats
        self._manifest_source = manifest
        self.events: Sequence[Event] = tuple(events) if isinstance(events, (list, tuple)) else events
        self._steps_source = steps
        self.complete = complete
        self.flags: NDArray[np.int64] | None = None  # of a real-time step: bits of `pliant.Flag`, one a step
        #: what the model said: (time, status, category, text)
        self.log: tuple[tuple[float, str, str, str], ...] = ()
        self.start: Start | None = None  # how start values were found; not kept in files
        self.record: Callable[[Result], RunRecord] | None = None  # what `explain` reads; not kept in files
        self._explained: Explanation | None = None  # of a result that was pickled
        if states is None:
            states = [name for name in names if name in self._info and self._info[name].kind == "state"]
        self.states = tuple(states)

    def __getstate__(self) -> dict[str, Any]:
        """Everything as data: what would be computed on demand is computed, the model stays behind."""
        state = {key: value for key, value in vars(self).items() if key not in _ON_DEMAND}
        columns = {name: KeptColumn.of(self, name) for name in self._lazy}
        state |= {"_info_source": self._info, "_manifest_source": self.manifest, "_steps_source": self.steps}
        state |= {"_lazy_source": columns, "_computed": {}, "record": None}
        if self.record is not None:
            from pliant.explain import explain

            state["_explained"] = explain(dataclasses.replace(self.record(self), cost=dict))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._time, self._values = read_only(self._time), read_only(self._values)

    @cached_property
    def _info(self) -> dict[str, VariableInfo]:
        source = self._info_source
        return dict((source() if callable(source) else source) or {})

    @cached_property
    def _lazy(self) -> dict[str, Callable[[], FloatArray]]:
        source = self._lazy_source
        columns = (source() if callable(source) else source) or {}
        return {name: make for name, make in columns.items() if name not in self._columns}

    @cached_property
    def steps(self) -> dict[str, NDArray[Any]] | None:
        """The steps taken: arrays `time` (end of each), `h`, `order`, `method`; None if not recorded."""
        source = self._steps_source
        steps = source() if callable(source) else source
        return None if steps is None else PackedArrays({key: np.asarray(array) for key, array in steps.items()})

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the result was made with: versions, options, the model's hash."""
        source = self._manifest_source
        return dict(source() if callable(source) else source)

    def _recorded_aliases(self, aliases: Mapping[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
        """Resolve chains of aliases; drop aliases of variables that were not recorded."""
        flat: dict[str, tuple[str, int]] = {}
        for alias in aliases:
            target, sign, seen = alias, 1, {alias}
            while not self._is_own(target) and target in aliases:
                target, step_sign = aliases[target]
                sign *= 1 if step_sign >= 0 else -1
                if target in seen:
                    break
                seen.add(target)
            if self._is_own(target) and target != alias:
                flat[alias] = (target, sign)
        return flat

    def _is_own(self, name: str) -> bool:
        return name == "time" or name in self._columns or name in self._lazy or name in self._parameters

    # -- reading -------------------------------------------------------------------------------------------

    @property
    def time(self) -> FloatArray:
        """The time of each row. An event may appear as two rows of the same time: before and after it."""
        return self._time

    @property
    def values(self) -> FloatArray:
        """The recorded columns as one array (n_rows, n_names), without aliases and lazy columns."""
        return self._values

    @property
    def names(self) -> tuple[str, ...]:
        """All columns: the recorded ones, aliases, then those computed on demand. Parameters are apart."""
        return (*self._columns, *self._aliases, *self._lazy)

    @property
    def parameters(self) -> Mapping[str, float]:
        """The parameters of the run by name."""
        return MappingProxyType(self._parameters)

    @property
    def aliases(self) -> Mapping[str, tuple[str, int]]:
        """alias -> (name, sign), where name is no alias itself."""
        return MappingProxyType(self._aliases)

    @property
    def lazy_names(self) -> tuple[str, ...]:
        """The columns that are computed on first use."""
        return tuple(self._lazy)

    @property
    def info(self) -> Mapping[str, VariableInfo]:
        """What is known about the variables, by name; see also `unit`."""
        return MappingProxyType(self._info)

    @property
    def final(self) -> dict[str, float]:
        """The last row by name: recorded columns and their aliases, nothing that has to be computed."""
        if not len(self):
            raise ArgumentError("the result has no rows, so no final values", hint="simulate with points=2 or more")
        last = {name: float(self._values[-1, j]) for name, j in self._columns.items()}
        for alias, (target, sign) in self._aliases.items():
            if target in self._columns:
                last[alias] = sign * last[target]
        return last

    def __len__(self) -> int:
        return int(self._time.shape[0])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._resolve(name) is not None

    def __getitem__(self, name: str | tuple[str, ...] | list[str]) -> FloatArray:
        """One column by name, or several as the columns of a 2-D array."""
        if isinstance(name, (tuple, list)):
            columns = [self._column(item) for item in name]
            return np.column_stack(columns) if columns else np.empty((len(self), 0))
        return self._column(name)

    def resolve(self, name: str) -> tuple[str, int]:
        """The name under which a variable is recorded, and the sign: for an alias y = -x, ("x", -1)."""
        if not isinstance(name, str):
            raise ArgumentError(
                f"columns are read by name, not by {type(name).__name__} {name!r}",
                hint="result.values[:, j] is the recorded column number j",
            )
        found = self._resolve(name)
        if found is None:
            raise self._unknown(name)
        return found

    def unit(self, name: str) -> str:
        """The unit of a variable, "" when unknown; of der(x) the unit of x over the second.

        >>> info = {"x": VariableInfo("x", kind="state", unit="m/s")}
        >>> lazy = {"der(x)": lambda: np.ones(1)}
        >>> r = Result([0], values=[[1]], names=["x"], stats=Stats(), manifest={}, info=info, lazy=lazy)
        >>> r.unit("der(x)")
        'm/s2'
        """
        target, _ = self.resolve(name)
        for known in (name, target):
            if known in self._info and self._info[known].unit:
                return self._info[known].unit
        inner = inside_der(target)
        return unit_per_second(self._info[inner].unit) if inner in self._info else ""

    def type(self, name: str) -> VariableType:
        """The type that a variable was declared with; "real" where nothing is known.

        `result[name]` gives floats all the same; tables and files hold truth values and whole numbers.

        >>> info = {"n": VariableInfo("n", kind="discrete", type="integer")}
        >>> r = Result([0], values=[[1]], names=["n"], stats=Stats(), manifest={}, info=info, aliases={"m": ("n", -1)})
        >>> r.type("m")
        'integer'
        """
        target, _ = self.resolve(name)
        known = self._info.get(name) or self._info.get(target)
        return "real" if known is None else known.type

    def _resolve(self, name: str) -> tuple[str, int] | None:
        if self._is_own(name):
            return name, 1
        if name in self._aliases:
            return self._aliases[name]
        inner = inside_der(name)
        if inner in self._aliases:
            target, sign = self._aliases[inner]
            if f"der({target})" in self._columns or f"der({target})" in self._lazy:
                return f"der({target})", sign
        return None

    def _column(self, name: str) -> FloatArray:
        target, sign = self.resolve(name)
        column = self._own_column(target)
        return column if sign > 0 else -column

    def _own_column(self, name: str) -> FloatArray:
        if name == "time":
            return self._time
        if name in self._columns:
            return self._values[:, self._columns[name]]
        if name in self._parameters:
            return np.broadcast_to(np.float64(self._parameters[name]), self._time.shape)
        if name not in self._computed:
            column = read_only(self._lazy[name]())
            if column.shape != self._time.shape:
                raise ArgumentError(
                    f"column {name!r} has shape {column.shape}, expected {self._time.shape}", hint="one value per time"
                )
            self._computed[name] = column
        return self._computed[name]

    def _unknown(self, name: str) -> UnknownNameError:
        if name in self._info:
            return UnknownNameError(
                f"the variable {name!r} exists in the model but was not recorded",
                hint=f"simulate again with {name!r} among outputs=",
            )
        everything = [*self.names, *self._parameters, "time"]
        near = nearest(name, everything)
        guess = f"; did you mean {' or '.join(repr(item) for item in near)}?" if near else ""
        return UnknownNameError(
            f"the result has no variable {name!r}{guess}",
            hint=f"result.names lists all {len(self.names)} columns, result.parameters the parameters",
        )

    # -- showing -------------------------------------------------------------------------------------------

    def _span_text(self) -> str:
        if not len(self):
            return "no rows"
        return f"{len(self):,} rows, time {self._time[0]:.6g} to {self._time[-1]:.6g}"

    def __repr__(self) -> str:
        names = self.names
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        columns = f"{len(names):,} column{'' if len(names) == 1 else 's'}" + (f" ({shown})" if names else "")
        run = f"{self.stats.method or 'unknown method'}, {self.stats.n_steps:,} steps"
        parts = [columns, self._span_text(), run]
        if self.events:
            parts.append(f"{len(self.events):,} event{'' if len(self.events) == 1 else 's'}")
        if not self.complete:
            parts.append("CUT SHORT")
        return f"<Result: {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        from pliant.solve.results.html_table import html_table

        return html_table(self, list(self._columns), self._span_text())

    @property
    def explainable(self) -> bool:
        """Is there a record of the run, for :meth:`explain`?"""
        return self._explained is not None or self.record is not None

    def explain(self) -> Explanation:
        """Why the run was slow: what limited its steps, what failed, what is suspicious, by name and with advice.

        >>> import pliant
        >>> model = pliant.ode(lambda t, x: [-1e3 * x[0] + x[1], -x[1]], [1.0, 1.0], nominal=[1.0, 1e8])
        >>> model.simulate(stop=1).explain().findings[0].names
        ('x[1]',)
        """
        from pliant.explain import explain

        if self._explained is not None:
            return self._explained
        if self.record is None:
            raise ArgumentError(
                "this result holds no record of its run: it was read from a file",
                hint="call explain() on what model.simulate returns",
            )
        return explain(self.record(self))

    def as_dict(self) -> dict[str, Any]:
        """For machines: recorded columns as lists, with all that belongs to them, ready for JSON."""
        return {
            "complete": self.complete,
            "time": plain(self._time),
            "values": {name: plain(self._own_column(name)) for name in self._columns},
            "aliases": plain(self._aliases),
            "parameters": plain(self._parameters),
            "stats": self.stats.as_dict(),
            "events": plain(self.events),
            "log": plain(self.log),
            "start": plain(self.start),
            "flags": plain(self.flags),
            "manifest": plain(self.manifest),
        }

    # -- handing on ----------------------------------------------------------------------------------------

    @by_keyword
    def plot_steps(
        self, *, show: bool | None = None, file: str | os.PathLike[str] | None = None, log: str = ""
    ) -> Figure:
        """Draw the step size and the order over time."""
        from pliant.solve.results.plot import plot_steps

        return plot_steps(self, show=show, file=file, log=log)

    def to_pandas(self, names: Sequence[str] | None = None) -> Any:
        """A pandas DataFrame indexed by time: the columns `names`, by default all, in the types of their variables."""
        from pliant.solve.results.typed import typed  # it imports this module

        pandas = import_optional("pandas", "result.to_pandas()", "result[names] gives numpy arrays")
        chosen = self.names if names is None else tuple(as_names("names", names))
        index = pandas.Index(self._time, name="time")
        if all(self.type(name) == "real" for name in chosen):
            return pandas.DataFrame(self[chosen], index=index, columns=list(chosen))
        columns = {k: typed(self[name], self.type(name)) for k, name in enumerate(chosen)}  # a name may stand twice
        frame = pandas.DataFrame(columns, index=index)
        frame.columns = list(chosen)
        return frame

    @by_keyword
    def save(self, path: str | os.PathLike[str], *, names: Sequence[str] | None = None) -> Path:
        """Write a .csv, .parquet or .mat file (as Dymola and OpenModelica do); `names` selects columns.

        The file appears complete or not at all. `Result.load` gives everything back but `steps`.
        """
        from pliant.solve.results.save import write_result  # save imports this module

        return write_result(self, path, names)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read what `save` wrote, or a .mat or .csv result of Dymola or OpenModelica."""
        from pliant.solve.results.save import load_result  # save imports this module

        return load_result(path)

    @by_keyword
    def plot(
        self,
        *names: str | Sequence[str],
        ax: Axes | None = None,
        show: bool | None = None,
        file: str | os.PathLike[str] | None = None,
        log: str = "",
        title: str = "",
        events: bool = True,
    ) -> Figure:
        """Draw variables over time; those of one unit share an axis. See `pliant.solve.results.plot.plot`."""
        from pliant.solve.results.plot import plot  # matplotlib is slow to load

        return plot(self, *names, ax=ax, show=show, file=file, log=log, title=title, events=events)
