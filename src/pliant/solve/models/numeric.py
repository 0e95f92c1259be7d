"""NumericModel: a ``pl_model`` as Python sees it, whatever it was made from."""

from __future__ import annotations

import ctypes
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.errors import ArgumentError, ModelError, UnknownNameError
from pliant.solve.binding import runtime
from pliant.solve.models.described import described
from pliant.solve.models.known import Known, Late, Names, everything_through
from pliant.solve.names import suggestion
from pliant.solve.signals.kinds import Declared, Typed
from pliant.solve.start.search import StartSearch

if TYPE_CHECKING:
    from pliant.solve.models.equations import Equations
    from pliant.solve.models.portable import Portable
    from pliant.solve.options import Request
    from pliant.solve.run.simulation import Simulation


@dataclass
class Instance:
    """One instance of a model: what goes into ``self`` of its functions."""

    address: int | None
    keep: tuple[Any, ...] = ()
    raised: BaseException | None = None  # exception of a Python callback, to be raised again in the caller


class NumericModel(ABC):
    """A constant description (``struct``) plus a way to make instances.

    What is known of it stands in ``known``. What only some models can do has a method here, too, which says so by its
    answer: no code has to ask what a model was made from.
    """

    def __init__(
        self, struct: runtime.ModelStruct, *, name: str, digest: str, names: Names, keep: tuple[Any, ...]
    ) -> None:
        self.struct = struct
        self.address = ctypes.addressof(struct)
        self.name = name
        self.digest = digest
        self.names = names
        self.keep = keep
        self.n_x: int = struct.n_x
        self.x_start = self._vector(struct.x_start, self.n_x)
        self.u_start = self._vector(struct.u_start, struct.n_u)
        self.p_start = self._vector(struct.p_start, struct.n_p)
        self.read_scales()
        self.has_mass = bool(struct.mass.start)
        self.ones = np.ones(self.n_x)
        self.all_x = np.arange(self.n_x, dtype=np.int32)
        self.columns: dict[str, int] | None = None  # of a result with all variables
        self.all_y = np.arange(struct.n_y, dtype=np.int32)
        # plans of the linear algebra by options, made by the first simulation
        self.plans: dict[Any, Any] = {}
        # what runs without options need, by the method's need of complex factors, and for the step loop by method
        self.ready: dict[bool | None, Any] = {}
        self.run_options: dict[tuple[str, bool], runtime.RunOptionsStruct] = {}
        self.lock = threading.RLock()  # of whoever adds to what is kept here: simulations may run side by side

    def read_scales(self) -> None:
        """Nominal values and bounds of the states as the description has them."""
        struct = self.struct
        entered = self._vector(struct.x_nominal, self.n_x)  # 0: not entered
        wrong = np.flatnonzero(~(np.isfinite(entered) & (entered >= 0.0)))
        if wrong.size:  # tolerances would follow it
            raise ModelError(
                f"{self.name}: the nominal value of {self.names.x[wrong[0]]} is {entered[wrong[0]]:g}",
                hint="enter a typical size, or check the parameters that it is computed from",
            )
        self.nominal_entered = entered > 0.0
        self.x_nominal = np.where(self.nominal_entered, entered, 1.0) if struct.x_nominal else None
        self.x_min = self._vector(struct.x_min, self.n_x) if struct.x_min else None
        self.x_max = self._vector(struct.x_max, self.n_x) if struct.x_max else None

    def with_pattern(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> NumericModel:
        """The same model with another pattern of the Jacobian, which is then taken by its colours alone."""
        order = np.lexsort((rows, columns))
        start = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=self.n_x))]).astype(np.int32)
        row = np.append(rows[order], 0).astype(np.int32)  # never empty: its address is used
        other: NumericModel = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        struct = runtime.ModelStruct.from_buffer_copy(self.struct)
        struct.jac = runtime.PatternStruct(self.n_x, self.n_x, runtime.address_of(start), runtime.address_of(row))
        struct.jac_value = None
        other.struct, other.address = struct, ctypes.addressof(struct)
        other.keep = (*self.keep, self, start, row)
        other.plans, other.ready, other.run_options = {}, {}, {}
        other.lock = threading.RLock()
        return other

    @staticmethod
    def _vector(address: int | None, count: int) -> Vector:
        return runtime.doubles_at(address, count) if address else np.zeros(count)

    @abstractmethod
    def instance(self, parameters: Vector) -> Instance:
        """A new instance with these parameters."""

    def error_text(self, instance: Instance) -> str:
        """The model's own message about its last failure."""
        if not self.struct.error:
            return ""
        text = runtime.TEXT_CALL(self.struct.error)(instance.address)
        return text.decode(errors="replace") if text else ""

    def unmet(self, instance: Instance, t: float, x: Vector, u: Vector) -> str:
        """The assertion that does not hold at a point behind which nothing is computed any more; "": there is none."""
        if not self.struct.step_done or not self.known.has_checks:
            return ""
        request, point = ctypes.c_int(), x.copy()
        status = runtime.STEP_CALL(self.struct.step_done)(
            instance.address, t, runtime.address_of(point), runtime.address_of(u), ctypes.byref(request)
        )
        words = "" if status == runtime.OK else self.error_text(instance)
        return words if words in self.known.assertions else ""

    @cached_property
    def start_bytes(self) -> int:
        """Work memory of the search for start values."""
        return int(runtime.lib.pl_start_size(self.address))

    @cached_property
    def may_have_events(self) -> bool:
        """Has it root functions, or a say after steps?"""
        return bool(self.struct.n_roots or self.struct.event or self.struct.step_done)

    # ------------------------------------------------------------------ what is known

    @cached_property
    def known(self) -> Known:
        """Everything that is known; here what the struct says."""
        names = self.names
        return Known(
            names,
            variables := Late(lambda: described(self.struct, names)),
            types=Late(lambda: {name: one.type for name, one in variables.items() if one.type != "real"}),
            outputs=names.y,
            feedthrough=Late(lambda: everything_through(names)),
            has_past=self._has_past,
        )

    @property
    def _has_past(self) -> bool:
        """May f depend on the events and steps before?"""
        return False

    # ------------------------------------------------------------------ what only some models can do

    @property
    def equations(self) -> Equations | None:
        """Its equations, to write other code from; None: it is a function."""
        return None

    def in_form(self, form: str) -> NumericModel | None:
        """The same model with its loops in another place, see ``Known.form``; None: it has one form only."""
        return None

    def for_correction(self, at_jump: str, method: str) -> NumericModel:
        """The same model, made ready for a solver whose history is corrected where inputs jump."""
        return self

    def portable(self, at_jump: str, method: str) -> Portable | None:
        """The model as C text that needs nothing of this process; None: there is none."""
        return None

    @property
    def has_tangents(self) -> bool:
        """Has it exact derivatives of f and of its declared outputs by states and inputs?"""
        return False

    def tangent(self, instance: Instance, of: int, t: float, at: tuple[Vector, Vector], column: int) -> Vector | None:
        """Those of what ``of`` says at ``at`` = (x, u) along one state or, behind these, one input; None: none."""
        return None

    @property
    def library_path(self) -> str | None:
        """The file that another process can load it from; None: it lives in this process only."""
        return None

    @property
    def described_as(self) -> str:
        """What it is, where it has no equations."""
        return "a function"

    @property
    def is_elsewhere(self) -> bool:
        """Are its functions called in another process?"""
        return False

    @property
    def has_hidden_memory(self) -> bool:
        """Are there discrete variables that cannot be given other values?"""
        return False

    def memories(self, instance: Instance) -> tuple[float, ...]:
        """Values of discrete variables in the order of the model's events."""
        return ()

    def set_memories(self, instance: Instance, values: Vector) -> None:  # noqa: B027 (most models have none)
        """Give discrete variables other values."""

    def settle(self, instance: Instance, t: float, x: Vector, u: Vector) -> None:  # noqa: B027 (see above)
        """Relations evaluated again at (t, x, u); discrete variables hold."""

    def delayed(self, instance: Instance, t: float, x: Vector, u: Vector) -> Vector | None:
        """Values of what is delayed; None where they cannot be evaluated."""
        return np.empty(0)

    def hold_delays(self, instance: Instance, known: Vector, share: Vector) -> None:  # noqa: B027 (see above)
        """From now on delayed value k is known[k] + share[k] times its value now: the caller keeps the past."""

    def take_anew(self, instance: Instance, t: float, x: Vector, u: Vector) -> bool:
        """Relations and choices of states at (t, x, u) again, as after a step; True if f has changed by that."""
        return False

    def chosen_states(self, self_: int | None) -> dict[int, str]:
        """Place in x -> name of the variable that stands there now, where states are chosen during a run."""
        return {}

    @property
    def n_delays(self) -> int:
        """Values that are read with a delay and that callers may keep."""
        return 0

    @property
    def lazy_derivatives(self) -> bool:
        """Are derivatives of states computed on demand (True) or variables of the model like others?"""
        return True

    @property
    def derived(self) -> bool:
        """Are the derivatives pliant's own? Where these overflow and f does not, differences serve instead."""
        return False

    @property
    def steps_itself(self) -> bool:
        """Does it go on by itself from one communication point to the next? Then no method of ours is needed."""
        return False

    @property
    def doubtful_pattern(self) -> bool:
        """Was the pattern of the Jacobian given or detected, so that it may be wrong without notice?"""
        return False

    @property
    def has_pattern(self) -> bool:
        """Is the pattern of the Jacobian known?"""
        return bool(self.struct.jac.start)

    @property
    def pattern_hint(self) -> str:
        """How to make the pattern of the Jacobian known."""
        return "fill .jac of the pl_model with the pattern of the Jacobian"

    @property
    def missing_hint(self) -> str:
        """What to do about an entry that the pattern of the Jacobian lacks."""
        return "add the entry to .jac of the pl_model, or leave the pattern out"

    @property
    def jump_hint(self) -> str:
        """What to look for where the right-hand side may jump without an event."""
        return "give root functions where the right-hand side jumps (n_roots and roots of the pl_model)"

    @property
    def chatter_hint(self) -> str:
        """What to do about events that follow each other without progress in time."""
        return "add hysteresis to the condition of the event, or set a direction for its root function"

    def enlarge_pattern(self, missing: Sequence[tuple[int, int]]) -> bool:
        """Add entries to a pattern that was found by detection; False: the pattern is not pliant's to change."""
        return False

    def jacobian_source(self, asked: str) -> str:
        """ "exact", "directional" or "differences": what the model offers of what was asked for."""
        has = {"exact": bool(self.struct.jac_value), "directional": bool(self.struct.jvp), "differences": True}
        if asked == "auto":
            return next(source for source, there in has.items() if there)
        if not has[asked]:
            word = "a Jacobian of its own" if asked == "exact" else "directional derivatives"
            raise ArgumentError(
                f"option jacobian: {self.name} has no {word.removeprefix('a ')}",
                hint="leave the option jacobian out, or use 'differences'",
            )
        return asked

    def cheapest_source(self, colours: int, instance: Instance, x: Vector, u: Vector) -> str:
        """The source for "auto", where several are at hand."""
        return self.jacobian_source("auto")

    def declared_inputs(self, parameters: Vector | None) -> Mapping[str, Declared]:
        """What the model says about its inputs, by name: types, bounds, start values.

        None: the parameters are not known, and bounds that depend on them are left open.
        """
        out = {}
        for name, start in zip(self.names.u, self.u_start.tolist(), strict=True):
            info = self.known.variables[name]
            held = self.known.is_held(name) or info.type != "real"
            low, high = (-math.inf if info.min is None else info.min), (math.inf if info.max is None else info.max)
            out[name] = Declared(info.type, held, low, high, info.literals, start, str(info.span or ""))
        return out

    def for_jumps(self, request: Request, inputs: Mapping[str, Typed]) -> NumericModel:
        """The same model, made ready for a run whose inputs jump often."""
        return self

    def scaled_for(self, parameters: Vector) -> NumericModel:
        """The same model with the nominal values, bounds and start values that these parameters give."""
        return self

    @property
    def scales_follow_parameters(self) -> bool:
        """Do nominal values, bounds or start values of x depend on parameters?"""
        return False

    def wants_one_step(self, rtol: float) -> bool:
        """Should "auto" begin with Radau5? E.g. because the model makes its solver restart again and again."""
        return False

    #: what an FMU says of itself; None: it is none
    fmu: Any = None

    def close(self) -> None:  # noqa: B027 (most models have nothing to end)
        """End what lives outside this process."""

    @property
    def fits_threads(self) -> bool:
        """Do simulations in threads of this process harm nobody, and leave Python's lock alone?"""
        return self.equations is not None

    @property
    def simulation_class(self) -> type[Simulation] | None:
        """The kind of its simulations; None: as the options say."""
        return None

    @property
    def experiment(self) -> tuple[float | None, float | None, float | None]:
        """Start, stop and step of the run that the model suggests; None: it does not."""
        return None, None, None

    def shaped_for(self, parameters: Mapping[str, Any], inputs: Sequence[str] = ()) -> NumericModel:
        """The same model with arrays of the sizes that these parameters give it, and with these inputs (names)."""
        return self

    @property
    def shaped_by_inputs(self) -> bool:
        """Does `shaped_for` have to know which inputs are given, e.g. parameters that may change during a run?"""
        return False

    def typed_parameters(self, name: str, value: Any) -> Sequence[tuple[int, float]] | None:
        """(place, number) of each parameter that ``name`` stands for, checked; None: parameters are plain numbers."""
        return None

    def typed_starts(self, name: str, value: Any) -> Sequence[tuple[int, float]] | None:
        """The same of start values: places in x, or behind it."""
        return None

    def leave_out(self, names: Sequence[str]) -> bool:
        """Do without these variables, which are no numbers, where nobody asked for them; False: it cannot."""
        return False

    def start_search(self, sim: Simulation) -> StartSearch:
        """The start of a simulation: what is asked for, and what is said about it."""
        return StartSearch(sim)

    def check_runnable(self) -> None:  # noqa: B027 (most models have nothing to say)
        """Raise where the model can be read but not simulated."""

    def longest_step(self, parameters: Vector, span: float) -> float:
        """Bound of the step size that the model needs in a run over this time; 0: none."""
        del parameters, span
        return 0.0

    def check_portable(self, what: str, history: bool = False) -> None:  # noqa: B027 (most have nothing of the kind)
        """Raise where something of the model exists in this process only: it cannot be a part of ``what``.

        ``history``: that keeps past values, as delays need them.
        """

    def check_linearisable(self) -> None:  # noqa: B027 (most are)
        """Raise where what changes at once does not say how the model answers."""

    def constants(self, parameters: Vector) -> dict[str, float]:
        """Everything that stays constant in a simulation with these parameters, by name."""
        return dict(zip(self.names.p, parameters.tolist(), strict=True))

    def parameter_place(self, name: str) -> int:
        """Place of a parameter in the vector of parameters."""
        if name not in self.names.p:
            raise UnknownNameError(
                f"parameters: the model has no parameter {name!r}", hint=suggestion(name, self.names.p)
            )
        return self.names.p.index(name)

    def place_of(self, name: str) -> str:
        """Where a variable (or the derivative of a state) comes from, as the end of a sentence; "" if not known."""
        return "" if self.equations is None else self.equations.place_of(name)

    def line_of(self, name: str) -> str:
        """File and line of the equation of a variable, as " (file.mo, line 12)"; "" if not known."""
        return "" if self.equations is None else self.equations.line_of(name)

    def check_parameter(self, name: str, value: float) -> None:
        """Refuse a value that the parameter cannot have: Integers must be whole, min and max hold."""
        info = self.known.variables.get(name)
        if info is None:
            return
        if info.type == "integer" and not value.is_integer():
            raise ArgumentError(f"the parameter {name} is an Integer and cannot be {value:g}", hint="a whole number")
        bound = broken_bound(info.min, info.max, value)
        if bound:
            raise ArgumentError(
                f"the parameter {name} cannot be {value:g}: it has {bound}" + (f" ({info.span})" if info.span else ""),
                hint="give a value within its range",
            )

    def check_declared(self, given: Collection[str], parameters: Vector) -> None:  # noqa: B027 (most declare no ranges)
        """Refuse values that the model itself gives its parameters, against their own ranges."""

    def has_checked_parameters(self, names: Collection[str]) -> bool:
        """Must `check_declared` look at each run in which these parameters have other values?"""
        return False

    def start_place(self, name: str) -> tuple[int, int]:
        """(place in x, sign) of a variable whose start value may be set."""
        if name not in self.names.x:
            raise UnknownNameError(
                f"start_values: the model has no state {name!r}", hint=suggestion(name, self.names.x)
            )
        return self.names.x.index(name), 1


def broken_bound(low: float | None, high: float | None, value: float) -> str:
    """The bound that a value does not keep, as the declaration says it; "" if it keeps both.

    >>> broken_bound(2.0, None, 0.0)
    'min = 2'
    """
    if low is not None and value < low:
        return f"min = {low:g}"
    return f"max = {high:g}" if high is not None and value > high else ""


def mass_rows(struct: runtime.ModelStruct) -> NDArray[np.bool_]:
    """Which rows of L hold something (False: algebraic equation)."""
    n = struct.n_x
    if not struct.mass.start:
        return np.ones(n, dtype=bool)
    start = np.ctypeslib.as_array((ctypes.c_int * (n + 1)).from_address(struct.mass.start))
    rows = np.ctypeslib.as_array((ctypes.c_int * int(start[n])).from_address(struct.mass.row))
    values = runtime.doubles_at(struct.mass_value, int(start[n]))
    full = np.zeros(n, dtype=bool)
    full[rows[values != 0.0]] = True
    return full


def check_names(names: Names, model: str) -> None:
    """Names must be unique, and none may be called ``time``."""
    seen: set[str] = set()
    for name in (*names.x, *names.u, *names.p, *names.y):
        if name in seen or name == "time":
            raise ModelError(
                f"{model}: the name {name!r} is used twice"
                if name != "time"
                else f"{model}: a variable is called 'time'",
                hint="give every variable a name of its own",
            )
        seen.add(name)
