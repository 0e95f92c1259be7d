"""A model made from equations: generated C plus everything that is known about its variables by name."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arguments import Vector
from pliant.codegen.emit import Generated, generate
from pliant.compiling.compiler import load_kept, load_text
from pliant.compiling.folders import runtime_folder
from pliant.errors import ArgumentError, NotSupportedError, UnknownNameError
from pliant.expr.build import value_of, variables_of
from pliant.expr.evaluate import evaluate, number_in, parameter_values
from pliant.expr.signed import signed_variable
from pliant.foreign.library import folder as foreign_folder
from pliant.foreign.library import foreign_library
from pliant.ir import Graph, Kind, Op, Variable
from pliant.solve.binding import runtime
from pliant.solve.binding import start as binding_start
from pliant.solve.models.contract import check_struct
from pliant.solve.models.declared_ranges import DeclaredRanges
from pliant.solve.models.equations import Equations, known_from, names_from
from pliant.solve.models.known import Known
from pliant.solve.models.native import NativeModel
from pliant.solve.models.numeric import Instance, NumericModel
from pliant.solve.models.portable import Portable
from pliant.solve.names import is_hidden, suggestion
from pliant.solve.signals.kinds import Declared, count_jumps
from pliant.solve.start.explained import GeneratedStart
from pliant.sorted_system import ScalarModel

TIGHT = 1e-7  # relative tolerance from which on Radau5 is cheaper than BDF at equal error (docs/benchmarks.md)
OFTEN = 5  # input jumps that are worth compiling Taylor coefficients for
LARGEST_SERIES = 200  # states up to which they are
STEPS_OF_DELAY = 10  # least number of steps within the shortest delay
STEPS_OF_RUN = 5000  # ... where that does not take more than these
LINEAR = runtime.MODEL_LINEAR | runtime.MODEL_AUTONOMOUS
SMALL = 60  # states up to which that was measured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pliant.solve.options import Request
    from pliant.solve.run.simulation import Simulation
    from pliant.solve.signals.kinds import Typed


class GeneratedModel(NativeModel):
    """A compiled model that remembers its equations."""

    generated: Generated
    stem: str  # of its library in the cache
    open_hint = "change the parameters that it names, where they are declared"

    @property
    def derived(self) -> bool:
        """They come from the equations."""
        return True

    @property
    def jump_hint(self) -> str:
        """Relations make events unless the text forbids it."""
        return "check the equations for jumps that make no event, as in noEvent(...), smooth(...) and functions"

    @property
    def chatter_hint(self) -> str:
        """Relations have no direction."""
        return "add hysteresis to the relation that switches, or combine the two sides into one smooth expression"

    @property
    def doubtful_pattern(self) -> bool:
        """It comes from the equations."""
        return False

    @classmethod
    def compile(cls, generated: Generated, digest: str, stem: str = "") -> GeneratedModel:
        """Compile the C text of a model and load it; ``stem``: what the cache called it once."""
        system = generated.program.sorted.system
        external = foreign_library(generated.foreign) if generated.foreign else None
        library = load_kept(stem) if stem else None
        if library is None:
            include = [runtime_folder() / "include", *([foreign_folder()] if external is not None else [])]
            link = external.link if external is not None else []
            found = load_text(generated.text, system.name, include=include, link=link)
            library, stem = found.library, found.stem
        struct = runtime.ModelStruct.in_dll(library, "pliant_model")
        check_struct(struct, system.name)
        model = cls(
            struct,
            name=system.name,
            digest=digest,
            names=names_from(generated, _root_names(struct)),
            keep=(library, external),
        )
        model.generated, model.stem = generated, stem
        model.initial = binding_start.InitialStruct.from_address(struct.initial)
        variables = system.variables
        model.has_open_parameters = any(variables[v].initial for v in generated.program.p)
        visible = [i for i, name in enumerate(model.names.x) if not is_hidden(name)]
        model.all_x = np.array(visible, dtype=np.int32)
        model.numbers = parameter_values(system)
        model.moving = _moving_scales(generated)
        return model

    initial: binding_start.InitialStruct
    has_open_parameters: bool  # the start determines some
    numbers: dict[int, float]
    moving: dict[str, dict[int, int]]  # nominal, min, max: place in x -> expression, where parameters are in it
    _constants: dict[str, float] | None = None
    _declared: tuple[dict[str, Declared], bool] | None = None  # of the inputs; do parameters change it?
    _with_taylor: GeneratedModel | None = None
    _with_tangents: GeneratedModel | None = None
    scaled_from: tuple[GeneratedModel, Vector] | None = None  # see `scaled_for`

    def __reduce__(self) -> tuple[Any, ...]:
        """The text and what is known of it travel; the library comes from the cache, or is compiled again."""
        state = {"measured_source": self.measured_source}
        if self.scaled_from is not None:
            return GeneratedModel.scaled_for, self.scaled_from, state
        return GeneratedModel.compile, (self.generated, self.digest, self.stem), state

    @property
    def experiment(self) -> tuple[float | None, float | None, float | None]:
        """As the annotation says."""
        return self.generated.program.sorted.system.experiment

    @property
    def lazy_derivatives(self) -> bool:
        """Derivatives are variables of the model itself."""
        return False

    @property
    def has_taylor(self) -> bool:
        """Taylor coefficients of the solution are compiled in."""
        return bool(self.struct.taylor)

    def with_taylor(self) -> GeneratedModel:
        """The same model with Taylor coefficients of its solution, compiled when first asked for.

        Where they are not possible, ``has_taylor`` of the result is False and its ``generated.notes`` say why.
        """
        if self.has_taylor:
            return self
        with self.lock:
            if self._with_taylor is None:
                generated = generate(self.generated.program.sorted, self.generated.form, taylor=True)
                found = GeneratedModel.compile(generated, self.digest)
                found._with_taylor = found  # also where there are none: asked once only
                self._with_taylor = found
        return self._with_taylor

    def with_tangents(self) -> GeneratedModel:
        """The same model with derivatives of all variables and relations, also by parameters; compiled when asked."""
        if self.struct.tangents & runtime.BY_PARAMETERS:
            return self
        with self.lock:
            if self._with_tangents is None:
                generated = generate(self.generated.program.sorted, self.generated.form, tangents=True)
                self._with_tangents = GeneratedModel.compile(generated, self.digest)
        return self._with_tangents

    @cached_property
    def known(self) -> Known:
        """Everything that follows from the equations."""
        return known_from(self.generated, self.names, self.numbers, self._has_past)

    @cached_property
    def equations(self) -> Equations:
        """Those that the text was made from."""
        return Equations.of(self.generated, self.names)

    def in_form(self, form: str) -> GeneratedModel:
        """The same model in another form, compiled again if it was loaded in another one."""
        if self.generated.form == form:
            return self
        return GeneratedModel.compile(generate(self.generated.program.sorted, form), self.digest)

    def memories(self, instance: Instance) -> tuple[float, ...]:
        """Values of discrete variables in the order of the model's events."""
        if not self.struct.n_d:
            return ()
        place = runtime.MEMORY_CALL(self.struct.memory)(instance.address, 0)
        return tuple(runtime.doubles_at(place, self.struct.n_d).tolist())

    def set_memories(self, instance: Instance, values: Vector) -> None:
        """Give discrete variables other values."""
        if self.struct.n_d:
            call, address = runtime.SET_MEMORY_CALL(self.struct.set_memory), instance.address
            for k, value in enumerate(values.tolist()):
                call(address, k, value)

    def chosen_memories(self, instance: Instance) -> dict[int, float]:
        """Discrete variables that do not begin with their declared values."""
        values = ctypes.c_void_p()
        flags = binding_start.CHOSEN_CALL(self.initial.chosen)(instance.address, ctypes.byref(values))
        n = self.struct.n_d
        if not n or not values.value:
            return {}
        found = runtime.doubles_at(values.value, n)
        return {k: float(found[k]) for k in np.flatnonzero(runtime.int8_at(flags, n)).tolist()}

    def settle(self, instance: Instance, t: float, x: Vector, u: Vector) -> None:
        """Relations evaluated again at (t, x, u); discrete variables hold."""
        runtime.SETTLE_CALL(self.struct.settle)(instance.address, t, x.ctypes.data, u.ctypes.data)

    @property
    def n_delays(self) -> int:
        """Values that are read with a delay and that callers may keep."""
        return self.generated.n_delays

    def delayed(self, instance: Instance, t: float, x: Vector, u: Vector) -> Vector | None:
        """Values of what is delayed; None where they cannot be evaluated."""
        value, delay = np.empty(self.n_delays), np.empty(self.n_delays)
        places = [one.ctypes.data for one in (x, u, value, delay)]
        status = runtime.DELAYED_CALL(self.struct.delayed)(instance.address, t, *places)
        return value if status == runtime.OK else None

    def hold_delays(self, instance: Instance, known: Vector, share: Vector) -> None:
        """From now on delayed value k is known[k] + share[k] times its value now: the caller keeps the past."""
        history = runtime.HistoryStruct(known=known.ctypes.data, share=share.ctypes.data)
        runtime.HISTORY_CALL(self.struct.set_history)(instance.address, ctypes.addressof(history))

    def tangent(self, instance: Instance, of: int, t: float, at: tuple[Vector, Vector], column: int) -> Vector | None:
        """Derivatives of what ``of`` says at ``at`` = (x, u) along one state, input or parameter, numbered through.

        None: the model cannot be evaluated there. For all of it a model ``with_tangents`` is needed.
        """
        struct, ends = self.struct, np.cumsum([self.n_x, self.struct.n_u, self.struct.n_p])
        sizes = {
            runtime.OF_RHS: self.n_x,
            runtime.OF_OUTPUTS: struct.n_y,
            runtime.OF_ROOTS: struct.n_roots,
            runtime.OF_INTERFACE: struct.n_interface,
        }
        unit, out = np.zeros(int(ends[-1]) + 1), np.empty(sizes[of] + 1)
        unit[column] = 1.0
        places = [unit.ctypes.data + unit.itemsize * first for first in (0, int(ends[0]), int(ends[1]))]
        along = runtime.DirectionStruct(dx=places[0], du=places[1], dp=places[2] if column >= ends[1] else None)
        status = runtime.TANGENT_CALL(struct.tangent)(
            instance.address, of, t, at[0].ctypes.data, at[1].ctypes.data, ctypes.addressof(along), out.ctypes.data
        )
        return out[:-1] if status == runtime.OK else None

    @property
    def has_tangents(self) -> bool:
        """They come from the equations."""
        return True

    def take_anew(self, instance: Instance, t: float, x: Vector, u: Vector) -> bool:
        """Relations and state sets, as after a step."""
        changed = False
        if self.struct.initialise:
            info = runtime.EventInfoStruct()
            call = runtime.INITIALISE_CALL(self.struct.initialise)
            status = call(instance.address, t, x.ctypes.data, u.ctypes.data, ctypes.byref(info))
            changed = status == runtime.OK and bool(info.f_changed)
        if self.struct.step_done:
            request = ctypes.c_int()
            call = runtime.STEP_CALL(self.struct.step_done)
            call(instance.address, t, x.ctypes.data, u.ctypes.data, ctypes.byref(request))
            changed = changed or bool(request.value)
        return changed

    def declared_inputs(self, parameters: Vector | None) -> Mapping[str, Declared]:
        """Types of Modelica; bounds and start values may follow the parameters."""
        program = self.generated.program
        system = program.sorted.system
        if not program.u:
            return {}
        inputs = [system.variables[v] for v in program.u]
        if self._declared is None:
            attributes = [e for one in inputs for e in (one.min, one.max, one.start) if e is not None]
            moves = any(value_of(system.graph, e) is None for e in attributes)
            self._declared = {one.name: _declared(system, one, self.numbers) for one in inputs}, moves
        usual, moves = self._declared
        if not moves or (parameters is not None and np.array_equal(parameters, self.p_start)):
            return usual
        if parameters is None:
            return {one.name: _declared(system, one, {}) for one in inputs}
        values = parameter_values(system, dict(zip(program.p, parameters.tolist(), strict=True)))
        return {one.name: _declared(system, one, values) for one in inputs}

    def for_jumps(self, request: Request, inputs: Mapping[str, Typed]) -> NumericModel:
        """With Taylor coefficients where the history of BDF will be corrected often; compiled once for a model."""
        if count_jumps(inputs, request.start, request.stop) < OFTEN:
            return self
        return self.for_correction(request.options.at_jump, request.method)

    def for_correction(self, at_jump: str, method: str) -> GeneratedModel:
        """With Taylor coefficients where the correction of a history at jumps of inputs can use them.

        Columns of the history of a linear model follow without; its algebraic unknowns in x do not.
        """
        if at_jump != "correct" or method not in ("auto", "bdf") or self.n_x > LARGEST_SERIES:
            return self
        if self.struct.flags & LINEAR == LINEAR and not self.names.algebraic:
            return self
        return self.with_taylor()

    def portable(self, at_jump: str, method: str) -> Portable:
        """With Taylor coefficients where a solver with this method would be given them."""
        self.check_runnable()
        self.check_portable("an FMU", history=True)
        wanted = bool(self.names.u) and self.in_form("ode").for_correction(at_jump, method).has_taylor
        generated = generate(self.generated.program.sorted, "ode", taylor=wanted, tangents=True, dependents=True)
        model = GeneratedModel.compile(generated, self.digest)
        variables, flags = generated.program.sorted.system.variables, model.initial.x_fixed
        fixed = runtime.int8_at(flags, model.n_x).tolist() if flags and model.n_x else [0] * model.n_x
        dependents = tuple(variables[v].name for v in generated.dependents)
        held = frozenset(variables[v].name for v in generated.delay_parameters)
        return Portable(model, model.equations, dependents, tuple(map(bool, fixed)), held, generated.n_delays > 0)

    def longest_step(self, parameters: Vector, span: float) -> float:
        """A share of the shortest delay: what is delayed is known at the ends of steps only.

        Delays that are nothing to the run are left to the interpolation within a step.
        """
        times = self.generated.delay_times
        if not times:
            return 0.0
        values = {**self.numbers, **dict(zip(self.generated.program.p, parameters.tolist(), strict=True))}
        found = evaluate(self.generated.program.graph, times, values)
        return max(min((abs(one) for one in found if one), default=0.0) / STEPS_OF_DELAY, span / STEPS_OF_RUN)

    def check_portable(self, what: str, history: bool = False) -> None:
        """External functions run in this process only; delays need what keeps a history."""
        if self.generated.n_delays and not history:
            raise NotSupportedError(
                f"{self.name} has delays (delay(...)), which cannot be a part of {what} yet",
                hint="replace them by chains of first-order lags (Pade approximation)",
            )
        if self.generated.n_pipes and not history:
            raise NotSupportedError(
                f"{self.name} has pipes (spatialDistribution(...)), which cannot be a part of {what} yet",
                hint="replace them by chains of well-mixed volumes",
            )
        if self.generated.foreign:
            names = ", ".join(f"`{one.name}`" for one in self.generated.foreign[:5])
            raise NotSupportedError(
                f"{self.name} calls external functions ({names}), which cannot be a part of {what}",
                hint="replace them by functions written in Modelica, or by tables whose data are in the model",
            )

    def check_linearisable(self) -> None:
        """What flows out of a pipe answers later than any matrix says."""
        if self.generated.n_pipes:
            raise NotSupportedError(
                f"{self.name} has pipes (spatialDistribution(...)), which cannot be linearised",
                hint="cut the model at the outlets: make them inputs",
            )

    def scaled_for(self, parameters: Vector) -> GeneratedModel:
        """With nominal values, bounds and start values that follow the parameters of a run."""
        if not self.moving or np.array_equal(parameters, self.p_start):
            return self
        program = self.generated.program
        values = {**self.numbers, **dict(zip(program.p, parameters.tolist(), strict=True))}
        struct = runtime.ModelStruct.from_buffer_copy(self.struct)
        arrays = []
        for attribute, expressions in self.moving.items():
            array = self._vector(getattr(self.struct, f"x_{attribute}"), self.n_x)
            numbers = evaluate(program.sorted.system.graph, list(expressions.values()), values)
            array[list(expressions)] = np.abs(numbers) if attribute == "nominal" else numbers
            setattr(struct, f"x_{attribute}", array.ctypes.data)
            arrays.append(array)
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        found.scaled_from = self, parameters
        found.struct, found.address, found.keep = struct, ctypes.addressof(struct), (*self.keep, struct, *arrays)
        found.read_scales()
        found.x_start = np.array(evaluate(program.graph, self.generated.initial.start, values))
        return found

    @property
    def scales_follow_parameters(self) -> bool:
        """See `scaled_for`."""
        return bool(self.moving)

    def wants_one_step(self, rtol: float) -> bool:
        """State sets are chosen again during a run; or the tolerance is tight, f cheap and the Jacobian exact.

        Not with algebraic unknowns in x: between the steps Radau5 gives them with its polynomial of degree three only.
        """
        tight = rtol <= TIGHT and self.n_x <= SMALL and not self.names.algebraic
        return bool(self.generated.program.sorted.sets) or tight

    def start_search(self, sim: Simulation) -> GeneratedStart:
        """Initial equations, fixed start values and algebraic equations."""
        return GeneratedStart(self, sim)

    def check_runnable(self) -> None:
        """Refuse what pliant reads but cannot simulate yet."""
        refusals = self.generated.program.sorted.system.refusals
        if refusals:
            first = [f"\n    {one.what}" + (f"  {one.span}" if one.span else "") for one in refusals[:6]]
            more = f"\n    ... and {len(refusals) - 6} more" if len(refusals) > 6 else ""
            raise NotSupportedError(
                f"{self.name} cannot be simulated yet, because of" + "".join(first) + more,
                hint="use other constructs: when, sample, pre, reinit, terminate, if-expressions and floor work",
            )

    # ------------------------------------------------------------------ names

    @cached_property
    def declared_ranges(self) -> DeclaredRanges:
        """Of parameters and constants."""
        return DeclaredRanges(self.generated.program, self.numbers)

    def check_declared(self, given: Collection[str], parameters: Vector) -> None:
        """Values of the model itself, also those that follow from what is given."""
        self.declared_ranges.check(given, parameters)

    def has_checked_parameters(self, names: Collection[str]) -> bool:
        """Where others with ranges follow from them, or the model's own values are not in their ranges."""
        ranges = self.declared_ranges
        return bool(ranges.usual) or not ranges.sources.isdisjoint(names)

    def constants(self, parameters: Vector) -> dict[str, float]:
        """Values of everything constant: parameters, and variables that equal a constant."""
        if self._constants is not None and np.array_equal(parameters, self.p_start):
            return self._constants
        program = self.generated.program
        system = program.sorted.system
        changed = {v: float(parameters[k]) for k, v in enumerate(program.p)}
        values = parameter_values(system, changed) if changed else self.numbers
        out = {
            system.variables[v].name: value
            for v, value in values.items()
            if system.variables[v].kind in (Kind.PARAMETER, Kind.CONSTANT)
        }
        g = system.graph
        for v, e in program.sorted.replaced.items():
            root = signed_variable(g, e)
            constant = (
                _is_signed_number(g, e)
                if root is None
                else system.variables[root[0]].kind in (Kind.PARAMETER, Kind.CONSTANT)
            )
            if constant and not is_hidden(system.variables[v].name):
                out[system.variables[v].name] = number_in(system, g, e, values)
        if np.array_equal(parameters, self.p_start):
            self._constants = out
        return out

    def parameter_place(self, name: str) -> int:
        """Place of a parameter; explains why one cannot be set."""
        names = self.names.p
        system = self.generated.program.sorted.system
        if name in names and not system.variables[self.generated.program.p[names.index(name)]].initial:
            return names.index(name)
        for variable in system.variables:
            if variable.name != name:
                continue
            if variable.initial:
                raise ArgumentError(
                    f"the parameter {name} has fixed = false: the initial equations determine it",
                    hint="change what they depend on, or remove fixed = false",
                )
            if variable.kind == Kind.PARAMETER:
                raise ArgumentError(
                    f"the parameter {name} is computed from others and cannot be set directly",
                    hint="set the parameters that it depends on",
                )
            if variable.kind == Kind.CONSTANT:
                why = system.fixed_parameters.get(name, "it is a constant")
                raise ArgumentError(
                    f"the parameter {name} cannot be changed: {why}",
                    hint=f"change it in the Modelica text, e.g. model M2 extends {self.name}({name}=...); end M2;",
                )
        raise UnknownNameError(f"parameters: the model has no parameter {name!r}", hint=suggestion(name, names))

    def chosen_states(self, self_: int | None) -> dict[int, str]:
        """Place in x -> name of the candidate that stands there now, for the slots of state sets."""
        program = self.generated.program
        place = {v: i for i, v in enumerate(program.x)}
        variables = program.sorted.system.variables
        out: dict[int, str] = {}
        for k, one in enumerate(program.sorted.sets):
            n = len(one.candidates[0])
            flags = runtime.int8_at(binding_start.STATES_CALL(self.initial.states)(self_, k), n)
            chosen = [j for j in range(n) if flags[j]]
            for level, slots in enumerate(one.slots):
                for slot, j in zip(slots, chosen, strict=True):
                    out[place[slot]] = variables[one.candidates[level][j]].name
        return out

    def start_place(self, name: str) -> tuple[int, int]:
        """(place in x, sign) of a variable whose start value may be set; from n_x on, n_x + number of the variable."""
        target, sign = self.names.aliases.get(name, (name, 1))
        if target in self.names.x:
            return self.names.x.index(target), sign
        known = [n for n in self.names.x if not is_hidden(n)]
        s = self.generated.program.sorted
        others = {s.system.variables[v].name: v for one in s.sets for level in one.candidates for v in level}
        for one in self.generated.initial.conditions:
            if one.variable >= 0:
                others[s.system.variables[one.variable].name] = one.variable
        for memory in s.events.memories:
            variable = s.system.variables[memory.variable]
            if not is_hidden(variable.name) and memory.before in variables_of(s.system.graph, memory.expression):
                others[variable.name] = memory.variable
        for asked, factor in ((name, 1), (target, sign)):
            if asked in others:
                return self.n_x + others[asked], factor
        known += list(others)
        if target in self.names.y or target in self.constants(self.p_start):
            raise ArgumentError(
                f"{name} is no state, so it has no start value of its own",
                hint=f"the states are {', '.join(known[:10])}" if known else "the model has no states",
            )
        raise UnknownNameError(f"start_values: the model has no variable {name!r}", hint=suggestion(name, known))


def _declared(system: ScalarModel, variable: Variable, values: Mapping[int, float]) -> Declared:
    def number(e: int | None, otherwise: float) -> float:
        if e is None or not variables_of(system.graph, e) <= values.keys():
            return otherwise
        return evaluate(system.graph, [e], values)[0]

    return Declared(
        variable.type,
        variable.is_discrete,
        number(variable.min, -math.inf),
        number(variable.max, math.inf),
        variable.literals,
        number(variable.start, 1.0 if variable.type == "enumeration" else 0.0),  # the first of its values
        "" if variable.span is None else str(variable.span),
    )


def _moving_scales(generated: Generated) -> dict[str, dict[int, int]]:
    program = generated.program
    system = program.sorted.system
    found: dict[str, dict[int, int]] = {}
    for attribute in ("nominal", "min", "max"):
        for place, v in enumerate(program.x):
            e = getattr(system.variables[v], attribute)
            if e is not None and value_of(system.graph, e) is None:
                found.setdefault(attribute, {})[place] = e
    return found


def _root_names(struct: runtime.ModelStruct) -> tuple[str, ...]:
    """Relations by their text, `0 < x`. Texts end with their number, `x < 1 [2]`, which only equal ones need."""
    texts = [struct.root_name[k].decode() for k in range(struct.n_roots)]
    short = [text.removesuffix(f" [{k}]") for k, text in enumerate(texts)]
    told = [brief if short.count(brief) == 1 else text for brief, text in zip(short, texts, strict=True)]
    return tuple(told) if len(set(told)) == len(told) else tuple(texts)


def _is_signed_number(g: Graph, e: int) -> bool:
    node = g.nodes[e]
    return bool((g.nodes[node[1]] if node[0] == Op.NEG else node)[0] == Op.CONST)
