"""What the files of a system say, as data with places; names of types are those of FMI 3, as for FMUs.

Nothing is resolved here: names refer to what they may, files have been read, but what fits what is found out later
(tree.py, bindings.py, flow.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from pliant.cosim.ssp.xml import refused
from pliant.errors import SspError
from pliant.fmi.description import BASE_TYPES, FmuUnit

Value = float | int | bool | str | bytes
FMU = "application/x-fmu-sharedlibrary"
SSD = "application/x-ssp-definition"
SSP = "application/x-ssp-package"
MODELICA = "text/x-modelica"


@dataclass(frozen=True)
class SspPlace:
    """Where something stands."""

    file: str
    line: int
    element: str

    def refused(self, text: str, *, hint: str) -> SspError:
        """An error about it."""
        return refused(text, file=self.file, element=self.element, line=self.line, hint=hint)


@dataclass(frozen=True)
class SspScope:
    """Units and enumerations that are defined in one file."""

    units: Mapping[str, FmuUnit] = field(default_factory=dict)
    enumerations: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # item -> value


@dataclass(frozen=True)
class SignalType:
    """Type of a connector, an entry of a dictionary or a value."""

    type: str  # a key of BASE_TYPES
    _: KW_ONLY
    unit: str = ""
    enumeration: str = ""

    @property
    def base(self) -> str:
        """real, integer, boolean, enumeration, string, binary or clock."""
        return BASE_TYPES[self.type]


@dataclass(frozen=True)
class Dimension:
    """One dimension of an array; neither: not given."""

    size: int | None = None
    connector: str = ""


@dataclass(frozen=True)
class Connector:
    """A variable of an element that can be connected, or an entry of a signal dictionary."""

    name: str
    _: KW_ONLY
    kind: str
    type: SignalType | None
    place: SspPlace
    dimensions: tuple[Dimension, ...] = ()


@dataclass(frozen=True)
class Transformation:
    """One of the four kinds. ``entries``: source -> target, as written."""

    kind: str  # "linear", "boolean", "integer", "enumeration"
    _: KW_ONLY
    place: SspPlace
    factor: float = 1.0
    offset: float = 0.0
    entries: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SspConnection:
    """A connection inside a system, as written: start and end do not tell which one is the source."""

    start: tuple[str, str]  # element ("": the system itself) and connector
    end: tuple[str, str]
    _: KW_ONLY
    place: SspPlace
    start_indices: tuple[int, ...] = ()
    end_indices: tuple[int, ...] = ()
    suppress: bool = False
    transformation: Transformation | None = None


@dataclass(frozen=True)
class SspParameter:
    """A value of a parameter set. ``value``: a tuple in row-major order for an array of that shape."""

    name: str
    _: KW_ONLY
    type: SignalType
    value: Value | tuple[Value, ...]
    place: SspPlace
    shape: tuple[int, ...] = ()
    other_line: int = 0  # the set has this name twice, with another value


@dataclass(frozen=True)
class ParameterSet:
    """An .ssv file, or what stands in its place."""

    name: str
    values: tuple[SspParameter, ...]
    scope: SspScope


@dataclass(frozen=True)
class MappingEntry:
    """One line of an .ssm file."""

    source: str
    target: str
    _: KW_ONLY
    place: SspPlace
    suppress: bool = False
    transformation: Transformation | None = None


@dataclass(frozen=True)
class Binding:
    """A parameter set that is applied to an element."""

    values: ParameterSet
    _: KW_ONLY
    place: SspPlace
    prefix: str = ""
    mapping: tuple[MappingEntry, ...] | None = None


@dataclass(frozen=True)
class Dictionary:
    """A signal dictionary."""

    name: str
    entries: Mapping[str, Connector]
    scope: SspScope
    place: SspPlace


@dataclass(frozen=True)
class SspElement:
    """What systems, components and references to signal dictionaries have in common."""

    name: str
    _: KW_ONLY
    place: SspPlace
    connectors: Mapping[str, Connector] = field(default_factory=dict)
    bindings: tuple[Binding, ...] = ()


@dataclass(frozen=True)
class SspComponent(SspElement):
    """A model: FMU, Modelica, or another system in a file of its own."""

    _: KW_ONLY
    type: str = FMU
    class_name: str = ""  # Modelica
    source: str | None = None  # as written
    implementation: str = "any"


@dataclass(frozen=True)
class SspReference(SspElement):
    """A reference to a signal dictionary."""

    _: KW_ONLY
    dictionary: str = ""


@dataclass(frozen=True)
class SspSystem(SspElement):
    """A system: elements and connections."""

    _: KW_ONLY
    id: str = ""
    elements: tuple[SspElement, ...] = ()
    connections: tuple[SspConnection, ...] = ()
    dictionaries: Mapping[str, Dictionary] = field(default_factory=dict)


@dataclass(frozen=True)
class SspDescription:
    """An .ssd file."""

    file: str
    version: str
    name: str
    system: SspSystem
    scope: SspScope
    start: float | None = None
    stop: float | None = None
    step: float | None = None
