"""FmuModel: a model-exchange FMU as a model like all others.

Simulations run in a host (:mod:`pliant.fmi.simulation`). All else that asks for values of the model (linearisation,
steady states, planning) calls the functions of its ``pl_model``, which ask a host, too.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pliant.arguments import Vector
from pliant.errors import NotSupportedError
from pliant.fmi.archive import UnpackedFmu
from pliant.fmi.cosimulation import CosimSimulation
from pliant.fmi.described import FmuVariables, numbered
from pliant.fmi.description import FmuVariable, element_names
from pliant.fmi.hosts.host import HostSettings
from pliant.fmi.hosts.instance import FmuInstance
from pliant.fmi.hosts.pool import HostPool
from pliant.fmi.info import FmuInfo
from pliant.fmi.layout import FmuLayout, host_table, n_roots, unit_table
from pliant.fmi.options import FmuOptions
from pliant.fmi.reading.values import LIMITS
from pliant.fmi.settable import Settable
from pliant.fmi.simulation import FmuSimulation, FmuStart
from pliant.solve.binding import runtime
from pliant.solve.models.known import Known, Late, Names
from pliant.solve.models.numeric import NumericModel
from pliant.solve.run.simulation import Simulation
from pliant.solve.signals.kinds import Declared
from pliant.solve.start.search import StartSearch

MODEL_SETTLES = 8
MOST_VARIANTS = 8
FLAGS = runtime.MODEL_IMPURE | runtime.MODEL_REFUSES | runtime.MODEL_SINGLE | MODEL_SETTLES


@dataclass(frozen=True)
class LoadedFmu:
    """What a model is made from."""

    info: FmuInfo
    options: FmuOptions
    unpacked: UnpackedFmu
    binary: str  # path

    @cached_property
    def digest(self) -> str:
        """Of the archive; of a folder, of its description."""
        path = Path(self.info.path)
        found = hashlib.sha256()
        with open(path / "modelDescription.xml" if path.is_dir() else path, "rb") as file:
            while chunk := file.read(1 << 20):
                found.update(chunk)
        return found.hexdigest()


class FmuModel(NumericModel):
    """A model-exchange FMU."""

    def __init__(self, loaded: LoadedFmu, sizes: Mapping[int, int] = {}, tuned: frozenset[int] = frozenset()) -> None:
        self.loaded = loaded
        self.fmu = loaded.info
        self.layout = layout = FmuLayout(loaded.info.description, loaded.info.kind, sizes, tuned)
        self.texts: list[str] = []  # values of String parameters: their numbers, from 1, stand in p
        self.left_out: set[str] = set()  # outputs that are no numbers, and not asked for
        self.variants: dict[Any, FmuModel] = {}  # with arrays of other sizes, or other inputs
        keep: list[Any] = []
        super().__init__(
            self._struct(keep),
            name=loaded.info.name,
            digest="",
            names=_names(layout),
            keep=(keep,),
        )
        self.parameters = Settable(layout, ("p",), self.texts)
        self.starts = Settable(layout, ("x", "s"), self.texts)

    @property
    def digest(self) -> str:
        """Of the file, read when it is asked for."""
        return self.loaded.digest

    @digest.setter
    def digest(self, value: str) -> None:
        """It is never another one."""

    def _struct(self, keep: list[Any]) -> runtime.ModelStruct:
        layout = self.layout
        n = {vector: one.n for vector, one in layout.vectors.items()}
        numbers = {f"{vector}_start": layout.starts(vector) for vector in "xup"}
        numbers["x_nominal"] = layout.scales("x", "nominal", 0.0)
        keep.extend(numbers.values())
        roots = n_roots(layout)
        struct = runtime.ModelStruct(
            abi=runtime.PL_ABI,
            n_x=n["x"],
            n_u=n["u"],
            n_p=n["p"],
            n_y=n["y"],
            n_roots=roots,
            flags=FLAGS,
            **{name: runtime.address_of(value) for name, value in numbers.items() if len(value)},
        )
        pattern = layout.jacobian
        self.declared_pattern: int | None = None  # address of the one that the host knows
        if pattern is not None:
            keep.extend(pattern)
            start, row = pattern
            struct.jac = runtime.PatternStruct(
                n["x"], n["x"], runtime.address_of(start), runtime.address_of(row) if len(row) else None
            )
            self.declared_pattern = struct.jac.start
        interface = layout.interface
        runtime.lib.pl_fmu_client_install(
            ctypes.byref(struct), interface.directional_derivatives, roots > 0, interface.needs_completed_step
        )
        return struct

    # ------------------------------------------------------------------------------------------------- hosts

    @cached_property
    def pool(self) -> HostPool:
        """Its hosts."""
        loaded, description = self.loaded, self.fmu.description
        resources = loaded.unpacked.resources
        path = f"{resources}/" if resources.is_dir() else ""  # by FMI 3 none is named where there is none
        place = resources.as_uri() if description.major == 2 else path
        table = host_table(
            self.layout,
            loaded.options,
            (loaded.binary, self.layout.interface.model_identifier, place),
            unit_table(self.layout),
        )
        return HostPool(
            HostSettings(
                name=self.fmu.name,
                binary=loaded.binary,
                workplace=str(loaded.unpacked.workplace),
                table=table,
                call_timeout=loaded.options.call_timeout,
                memory_limit=loaded.options.memory_limit,
                once=self.layout.interface.once_per_process,
            )
        )

    def instance(self, parameters: Vector) -> FmuInstance:
        """Values of the FMU with these parameters."""
        return FmuInstance(self, parameters)

    def shaped_for(self, parameters: Mapping[str, Any], inputs: Sequence[str] = ()) -> FmuModel:
        """Structural parameters of FMI 3 change the sizes of arrays; tunable parameters may be inputs."""
        self._check_driven(inputs)
        sizes: dict[int, int] = {}
        places, variables = self.fmu.description.places, self.fmu.description.variables
        for name, value in parameters.items():
            place = places.get(name)
            if place is not None and variables[place].causality == "structuralParameter":
                number = self.typed_parameters(name, value)[0][1]
                if number != variables[place].start:
                    sizes[place] = int(number)
        tuned = frozenset(places[name] for name in inputs if name in places and _is_tunable(variables[places[name]]))
        if not sizes and not tuned:
            return self
        key = tuple(sorted(sizes.items())), tuned
        with self.lock:
            found = self.variants.pop(key, None) or FmuModel(self.loaded, sizes, tuned)
            self.variants[key] = found  # the last ones are kept
            while len(self.variants) > MOST_VARIANTS:
                self.variants.pop(next(iter(self.variants)))
        return found

    def _check_driven(self, inputs: Sequence[str]) -> None:
        """Inputs that are no numbers cannot change."""
        places, variables = self.fmu.description.places, self.fmu.description.variables
        for name in inputs:
            one = variables[places[name]] if name in places else None
            if one is not None and _is_no_number(one):
                hint = (
                    f"start_values={{{name!r}: ...}} holds for the whole run"
                    if one.base == "string"
                    else "leave it out"
                )
                raise NotSupportedError(f"input {name} is of type {one.type}: only numbers can be inputs", hint=hint)

    @cached_property
    def shaped_by_inputs(self) -> bool:
        """Has it parameters that may change during a run, or inputs that cannot?"""
        return any(_is_tunable(one) or _is_no_number(one) for one in self.fmu.description.variables)

    def close(self) -> None:
        """End the hosts, remove what was unpacked."""
        for one in list(self.variants.values()):
            one.pool.close()
        self.pool.close()
        self.loaded.unpacked.close()

    @property
    def fits_threads(self) -> bool:
        """The work is done elsewhere."""
        return True

    @property
    def simulation_class(self) -> type[Simulation]:
        """The steps are taken in a host."""
        return CosimSimulation if self.steps_itself else FmuSimulation

    @property
    def steps_itself(self) -> bool:
        """It is a co-simulation FMU."""
        return bool(self.fmu.kind == "co-simulation")

    def start_search(self, sim: Simulation) -> StartSearch:
        """The FMU finds its start values."""
        return FmuStart(sim)

    # --------------------------------------------------------------------------------------- what is known

    @cached_property
    def known(self) -> Known:
        """What the description says."""
        variables = FmuVariables(self.layout)
        description = self.fmu.description
        declared = (description.variables[one.variable] for one in description.structure.outputs)
        return Known(
            self.names,
            variables,
            types=Late(variables.types),
            outputs=tuple(name for one in declared for name in self._elements(one) if one.base != "string"),
            feedthrough=Late(self.layout.feedthrough),
            held_by=Late(self._held),
            has_memory=True,
            has_past=True,
        )

    def _elements(self, one: FmuVariable) -> list[str]:
        return element_names(one.name, self.fmu.description.shape_of(one, self.layout.sizes))

    def _held(self) -> dict[str, frozenset[int]]:
        """Discrete variables change at events only; what inputs do to them, they do there."""
        none: frozenset[int] = frozenset()
        variables = self.fmu.description.variables
        held = ("discrete", "tunable")
        return {name: none for one in variables if one.variability in held for name in self._elements(one)}

    def declared_inputs(self, parameters: Vector | None) -> Mapping[str, Declared]:
        """Types and bounds by the description; what does not fit into a type of few bits is out of bounds, too."""
        found = dict(super().declared_inputs(parameters))
        for place in self.layout.vectors["u"].places:
            one = self.fmu.description.variables[place]
            least, most = (float(one) for one in LIMITS.get(one.type, (-math.inf, math.inf)))
            for name in self._elements(one) if one.base in ("integer", "real") else ():
                old = found[name]
                found[name] = replace(old, low=max(old.low, least), high=min(old.high, most))
            items = self.fmu.description.items_of(one) if one.base == "enumeration" else ()
            if one.base == "enumeration" and not numbered(items):
                kind, texts = ("enumeration", tuple(item.name for item in items)) if items else ("integer", ())
                values = tuple(float(item.value) for item in items)
                for name in self._elements(one):
                    old = found[name]
                    found[name] = Declared(kind, True, old.low, old.high, texts, old.start, old.place, values)
        return found

    @property
    def experiment(self) -> tuple[float | None, float | None, float | None]:
        """Start, stop and step that the description suggests."""
        given = self.fmu.default_experiment
        return given.start, given.stop, given.step

    # ---------------------------------------------------------------------------------------- what it can do

    @property
    def lazy_derivatives(self) -> bool:
        """They are variables of the FMU."""
        return False

    @property
    def doubtful_pattern(self) -> bool:
        """Dependencies may be wrong; a pattern of pliant's own leaves out what it leaves out."""
        return bool(self.struct.jac.start) and self.struct.jac.start == self.declared_pattern

    @property
    def described_as(self) -> str:
        """Its equations stay inside."""
        return "an FMU"

    @property
    def is_elsewhere(self) -> bool:
        """In a host."""
        return True

    @property
    def has_hidden_memory(self) -> bool:
        """Only the FMU itself changes its discrete variables."""
        return any(one.variability == "discrete" for one in self.fmu.description.variables) or bool(self.names.roots)

    @property
    def pattern_hint(self) -> str:
        """Only its maker can."""
        return "ask the maker of the FMU for dependencies in its ModelStructure"

    @property
    def missing_hint(self) -> str:
        """Dependencies are the description's."""
        return "the dependencies in the FMU's ModelStructure are wrong: ask its maker to correct them"

    @property
    def jump_hint(self) -> str:
        """Events are the FMU's."""
        return "ask the maker of the FMU for event indicators where its equations jump"

    @property
    def chatter_hint(self) -> str:
        """Events are the FMU's."""
        return "the FMU switches without progress in time: change parameters or inputs, or ask its maker"

    def enlarge_pattern(self, missing: Sequence[tuple[int, int]]) -> bool:
        """A pattern that proves wrong is not used any more: the Jacobian is full then."""
        with self.lock:
            if not self.struct.jac.start:
                return False
            struct = runtime.ModelStruct.from_buffer_copy(self.struct)
            struct.jac = runtime.PatternStruct()
            self.keep = (*self.keep, self.struct)
            self.struct, self.address = struct, ctypes.addressof(struct)
            self.plans.clear()
            self.ready.clear()
        return True

    def leave_out(self, names: Sequence[str]) -> bool:
        """Variables that are no numbers, and that nobody asked for, are not recorded any more."""
        known, declared = set(self.names.y), set(self.known.outputs)
        more = {name for name in names if name in known and name not in declared} - self.left_out
        if more:
            self.left_out |= more
            shown = ", ".join(sorted(more)[:3]) + (f" and {len(more) - 3} more" if len(more) > 3 else "")
            warnings.warn(f"{self.name}: {shown} cannot be read, and are not recorded", stacklevel=2)
        return bool(more)

    # ---------------------------------------------------------------------------------------- values by name

    def typed_parameters(self, name: str, value: Any) -> list[tuple[int, float]]:
        """Numbers, truth values, literals, texts, arrays."""
        return self.parameters.places("parameters", name, value)

    def typed_starts(self, name: str, value: Any) -> list[tuple[int, float]]:
        """The same of start values."""
        return self.starts.places("start_values", name, value)

    def start_place(self, name: str) -> tuple[int, int]:
        """Place of a state, or behind these of another variable with a start value."""
        return self.starts.places("start_values", name, 0.0)[0][0], 1

    def constants(self, parameters: Vector) -> dict[str, float]:
        """Parameters and constants."""
        variables = self.fmu.description.variables
        found = dict(zip(self.names.p, parameters.tolist(), strict=True))
        for place in self.layout.vectors["p"].places:
            if variables[place].type == "String":  # a text is no number
                for name in self._elements(variables[place]):
                    found.pop(name, None)
        for place in self.layout.constants:
            one = variables[place]
            names = self._elements(one)
            values = one.start_values(len(names)) or ()
            found.update((name, float(value)) for name, value in zip(names, values, strict=False))
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """The path travels: the file must be there."""
        from pliant.fmi.load import load_again

        return load_again, (self.fmu.path, self.fmu.kind, self.loaded.options, self.loaded.digest)


def _is_tunable(one: FmuVariable) -> bool:
    return one.causality == "parameter" and one.variability == "tunable" and one.base not in ("string", "binary")


def _is_no_number(one: FmuVariable) -> bool:
    return one.causality == "input" and one.type in ("String", "Binary", "Clock")


def _names(layout: FmuLayout) -> Names:
    return Names(
        x=layout.names("x"),
        u=layout.names("u"),
        p=layout.names("p"),
        y=layout.names("y"),
        roots=tuple(f"event indicator {k + 1}" for k in range(n_roots(layout))),
        aliases=layout.aliases,
    )
