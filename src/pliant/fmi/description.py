"""What a modelDescription.xml says, as frozen data with one vocabulary for FMI 2.0 and 3.0.

Names of types are those of FMI 3 (Real of FMI 2 is Float64, Integer is Int32). Variables refer to each other by their
place in ``FmuDescription.variables``, never by value references or by the numbers of FMI 2, which begin at 1. What a
variable does not say itself and its declared type does (unit, min, max, nominal, ...) is filled in. There may be
hundreds of thousands of variables, so they are tuples with names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Literal, NamedTuple

from pliant.plain import AsDict, plain

Kind = Literal["model-exchange", "co-simulation", "scheduled-execution"]
Causality = Literal[
    "input", "output", "parameter", "calculatedParameter", "structuralParameter", "local", "independent", "dependent"
]
Variability = Literal["constant", "fixed", "tunable", "discrete", "continuous"]
Initial = Literal["exact", "approx", "calculated", ""]
FmuValue = float | int | bool | str | bytes

#: of all arrays together
MOST_ELEMENTS = 10**7
#: type -> what it is in pliant: "real", "integer", "boolean", "enumeration", "string", "binary", "clock"
BASE_TYPES = {
    "Float64": "real",
    "Float32": "real",
    "Int8": "integer",
    "UInt8": "integer",
    "Int16": "integer",
    "UInt16": "integer",
    "Int32": "integer",
    "UInt32": "integer",
    "Int64": "integer",
    "UInt64": "integer",
    "Enumeration": "enumeration",
    "Boolean": "boolean",
    "String": "string",
    "Binary": "binary",
    "Clock": "clock",
}


class FmuFinding(NamedTuple):
    """Something that the standard does not allow. An "error" keeps the FMU from being run, a "warning" does not."""

    severity: Literal["error", "warning"]
    text: str  # one sentence
    element: str = ""  # e.g. "ScalarVariable 'x'"
    line: int = 0  # of modelDescription.xml, from 1; 0: none

    def __str__(self) -> str:
        place = f"modelDescription.xml:{self.line}: " if self.line else ""
        return f"{place}{self.element}: {self.text}" if self.element else f"{place}{self.text}"

    def as_dict(self) -> dict[str, Any]:
        """For machines: everything by name."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class FmuDisplayUnit(AsDict):
    """display = factor * value + offset; ``inverse``: display = factor / value (offset is 0 then)."""

    name: str
    factor: float = 1.0
    offset: float = 0.0
    inverse: bool = False

    def shown(self, value: float) -> float:
        """A value of the unit, in this display unit."""
        return self.factor / value if self.inverse else self.factor * value + self.offset

    def value(self, shown: float) -> float:
        """The value, in the unit, that is shown as this number."""
        return self.factor / shown if self.inverse else (shown - self.offset) / self.factor


@dataclass(frozen=True, slots=True)
class FmuUnit(AsDict):
    """A unit: value in the base unit = factor * value + offset; the base unit as exponents of kg, m, s, ..."""

    name: str
    exponents: Mapping[str, int] | None = None  # of "kg", "m", "s", "A", "K", "mol", "cd", "rad"; zeros left out
    factor: float = 1.0
    offset: float = 0.0
    displays: Mapping[str, FmuDisplayUnit] = field(default_factory=dict)
    line: int = 0


@dataclass(frozen=True, slots=True)
class FmuItem(AsDict):
    """One value of an enumeration."""

    name: str
    value: int
    description: str = ""


@dataclass(frozen=True, slots=True)
class FmuType(AsDict):
    """A declared type (SimpleType, TypeDefinitions)."""

    name: str
    type: str  # a key of BASE_TYPES
    quantity: str = ""
    unit: str = ""
    display_unit: str = ""
    min: float | int | None = None
    max: float | int | None = None
    nominal: float | None = None
    relative_quantity: bool = False
    unbounded: bool = False
    items: tuple[FmuItem, ...] = ()  # of an enumeration
    description: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class FmuDimension(AsDict):
    """One dimension of an array: a constant, or the value of a structural parameter."""

    size: int  # with structural parameters at their start values
    variable: int | None = None  # place of the structural parameter; None: a constant


@dataclass(frozen=True, slots=True)
class FmuAlias(AsDict):
    """Another name of a variable (FMI 3)."""

    name: str
    description: str = ""
    display_unit: str = ""


class FmuVariable(NamedTuple):
    """One variable, scalar or array."""

    name: str
    reference: int  # value reference
    type: str  # a key of BASE_TYPES; FMI 2: Float64, Int32, Boolean, String, Enumeration
    causality: Causality
    variability: Variability
    initial: Initial  # the standard's default where not given; "" where there is none (inputs, time)
    #: None: no start. Scalars: float, int, bool, str or bytes. Arrays: a tuple in row-major order with an element for
    #: each of the array with its dimensions at their start, or with one element that holds for all
    start: FmuValue | tuple[FmuValue, ...] | None = None
    unit: str = ""
    display_unit: str = ""
    nominal: float | None = None  # None: not given (the standard takes 1); never 0, negative or not finite
    min: float | int | None = None
    max: float | int | None = None
    quantity: str = ""
    description: str = ""
    declared_type: str = ""  # a key of FmuDescription.types, or "" (also where the given one does not exist)
    relative_quantity: bool = False
    unbounded: bool = False
    reinit: bool = False
    multiple_set: bool = True  # canHandleMultipleSetPerTimeInstant
    intermediate_update: bool = False
    derivative_of: int | None = None  # place of the variable that this one is the derivative of
    previous: int | None = None  # place of the variable that holds the value before the event
    clocks: tuple[int, ...] = ()  # places of the clocks that it belongs to
    dimensions: tuple[FmuDimension, ...] = ()  # empty: a scalar
    aliases: tuple[FmuAlias, ...] = ()
    line: int = 0  # of modelDescription.xml

    @property
    def base(self) -> str:
        """real, integer, boolean, enumeration, string, binary or clock."""
        return BASE_TYPES[self.type]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its dimensions with structural parameters at their start values; (): a scalar."""
        return tuple(one.size for one in self.dimensions)

    @property
    def size(self) -> int:
        """Number of elements with structural parameters at their start values."""
        return prod(one.size for one in self.dimensions)

    @property
    def is_settable(self) -> bool:
        """May a user set it before the start (parameters, inputs, start values)?"""
        return self.variability != "constant" and (
            self.causality in ("input", "parameter", "structuralParameter") or self.initial in ("exact", "approx")
        )

    def start_values(self, n: int | None = None) -> tuple[FmuValue, ...] | None:
        """One start value for each element (n: how many, if dimensions were changed); None: it has none, or not n."""
        if self.start is None:
            return None
        n = self.size if n is None else n
        given = self.start if isinstance(self.start, tuple) else (self.start,)
        return given * n if len(given) == 1 else given if len(given) == n else None

    def as_dict(self) -> dict[str, Any]:
        """For machines: everything by name, ready for JSON."""
        found: dict[str, Any] = {key: plain(value) for key, value in self._asdict().items()}
        if self.type == "Binary" and self.start is not None:
            found["start"] = [one.hex() for one in self.start_values() or () if isinstance(one, bytes)]
        return found


def element_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """Names of the elements of an array in row-major order, numbered from 1.

    >>> element_names("x", (2, 2)), element_names("x", ())
    (['x[1,1]', 'x[1,2]', 'x[2,1]', 'x[2,2]'], ['x'])
    """
    if not shape:
        return [name]
    return [f"{name}[{','.join(map(str, place))}]" for place in product(*(range(1, n + 1) for n in shape))]


class FmuUnknown(NamedTuple):
    """An unknown of the model structure and what it depends on."""

    variable: int  # place in FmuDescription.variables
    dependencies: tuple[int, ...] | None = None  # places of variables; None: not given, may depend on everything
    #: one for each dependency: "dependent", "constant", "fixed", "tunable", "discrete"; None: not given
    kinds: tuple[str, ...] | None = None
    line: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For machines: everything by name."""
        return {key: plain(value) for key, value in self._asdict().items()}


@dataclass(frozen=True)
class FmuStructure(AsDict):
    """ModelStructure: what is computed, in the order of the vectors that an FMU exchanges."""

    outputs: tuple[FmuUnknown, ...] = ()
    derivatives: tuple[FmuUnknown, ...] = ()  # in the order of getDerivatives
    states: tuple[int, ...] = ()  # places of the continuous states (also arrays), one for each derivative
    discrete_states: tuple[FmuUnknown, ...] = ()
    initial_unknowns: tuple[FmuUnknown, ...] = ()
    event_indicators: tuple[FmuUnknown, ...] = ()  # FMI 3 only; FMI 2 gives their number
    n_event_indicators: int = 0  # scalars, with structural parameters at their start values


@dataclass(frozen=True)
class FmuInterface(AsDict):
    """ModelExchange, CoSimulation or ScheduledExecution: where it is, and what it can do (capability flags)."""

    kind: Kind
    model_identifier: str  # name of the binary without suffix, and prefix of its functions in sources
    needs_execution_tool: bool = False
    once_per_process: bool = False  # canBeInstantiatedOnlyOncePerProcess
    can_save_state: bool = False  # canGetAndSetFMUstate / canGetAndSetFMUState
    can_serialize_state: bool = False
    directional_derivatives: bool = False
    adjoint_derivatives: bool = False
    per_element_dependencies: bool = False
    no_memory_management: bool = False  # canNotUseMemoryManagementFunctions (FMI 2)
    # model exchange
    needs_completed_step: bool = False  # not completedIntegratorStepNotNeeded / needsCompletedIntegratorStep
    evaluates_discrete_states: bool = False  # providesEvaluateDiscreteStates
    # co-simulation
    variable_step: bool = False  # canHandleVariableCommunicationStepSize
    interpolates_inputs: bool = False  # canInterpolateInputs (FMI 2)
    asynchronous: bool = False  # canRunAsynchronuously (FMI 2)
    output_derivatives: int = 0  # maxOutputDerivativeOrder
    internal_step: float | None = None  # fixedInternalStepSize
    input_smoothness: int = 0  # recommendedIntermediateInputSmoothness
    intermediate_update: bool = False  # providesIntermediateUpdate
    early_return_of_its_own: bool = False  # mightReturnEarlyFromDoStep
    early_return: bool = False  # canReturnEarlyAfterIntermediateUpdate
    has_event_mode: bool = False
    source_files: tuple[str, ...] = ()  # below sources/ (FMI 2); FMI 3 lists them in a file of its own
    refusal: str = ""  # why pliant cannot run it, although the description is readable; "": it can
    line: int = 0

    def flags(self) -> dict[str, Any]:
        """What it can do, by name; defaults included."""
        return {key: value for key, value in self.as_dict().items() if key not in ("kind", "source_files", "line")}


@dataclass(frozen=True)
class FmuExperiment(AsDict):
    """DefaultExperiment; None: not given, or not usable."""

    start: float | None = None
    stop: float | None = None
    step: float | None = None
    tolerance: float | None = None


@dataclass(frozen=True, slots=True)
class FmuCategory(AsDict):
    """A category of log messages."""

    name: str
    description: str = ""


@dataclass(frozen=True)
class FmuDescription(AsDict):
    """Everything in a modelDescription.xml that pliant uses."""

    version: str  # as written: "2.0", "3.0", "3.0.1", ...
    name: str
    token: str  # guid of FMI 2, instantiationToken of FMI 3
    variables: tuple[FmuVariable, ...]
    interfaces: Mapping[str, FmuInterface]  # by kind, in the order model exchange, co-simulation, scheduled execution
    structure: FmuStructure = FmuStructure()
    units: Mapping[str, FmuUnit] = field(default_factory=dict)
    types: Mapping[str, FmuType] = field(default_factory=dict)
    experiment: FmuExperiment = FmuExperiment()
    categories: tuple[FmuCategory, ...] = ()
    description: str = ""
    author: str = ""
    model_version: str = ""
    copyright: str = ""
    license: str = ""
    tool: str = ""  # generationTool
    date: str = ""  # generationDateAndTime
    naming: str = "flat"  # variableNamingConvention: "flat" or "structured"
    findings: tuple[FmuFinding, ...] = ()  # warnings only: with an error there is no description

    @property
    def major(self) -> int:
        """2 or 3."""
        return int(self.version[0])

    @property
    def kinds(self) -> tuple[str, ...]:
        """What it offers: "model-exchange", "co-simulation", "scheduled-execution"."""
        return tuple(self.interfaces)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Name, also an alias of FMI 3 -> place of the variable."""
        found = {one.name: k for k, one in enumerate(self.variables)}
        found.update((alias.name, k) for k, one in enumerate(self.variables) for alias in one.aliases)
        return found

    @cached_property
    def places_by_reference(self) -> Mapping[tuple[str, int], int]:
        """(base type, value reference) -> place of the first variable with it; FMI 2 numbers each base type for itself.

        In FMI 2 an enumeration counts as an integer.
        """
        found: dict[tuple[str, int], int] = {}
        for k, one in enumerate(self.variables):
            found.setdefault((reference_space(one.type), one.reference), k)
        return found

    def variable(self, name: str) -> FmuVariable:
        """A variable by its name or an alias; KeyError if there is none."""
        return self.variables[self.places[name]]

    def unit_of(self, name: str) -> FmuUnit | None:
        """The unit of a variable; None: it has none, or one that is not defined."""
        return self.units.get(self.variable(name).unit)

    def items_of(self, variable: FmuVariable) -> tuple[FmuItem, ...]:
        """The values of an enumeration."""
        declared = self.types.get(variable.declared_type)
        return declared.items if declared is not None else ()

    def shape_of(self, variable: FmuVariable, sizes: Mapping[int, int] = {}) -> tuple[int, ...]:
        """Dimensions of an array where structural parameters (by place) have other values than at the start."""
        return tuple(
            one.size if one.variable is None else int(sizes.get(one.variable, one.size)) for one in variable.dimensions
        )

    def __getstate__(self) -> dict[str, Any]:
        late = ("places", "places_by_reference")
        return {key: value for key, value in self.__dict__.items() if key not in late}


def reference_space(type_: str) -> str:
    """Variables whose types share a space of value references in FMI 2: real, integer, boolean, string.

    >>> reference_space("Enumeration"), reference_space("Float64")
    ('integer', 'real')
    """
    base = BASE_TYPES[type_]
    return "integer" if base == "enumeration" else base
