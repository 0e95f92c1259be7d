"""From the description of an FMU to the vectors of a model: states x, inputs u, parameters p, outputs y on demand, and
s, what else may be given a start value. Arrays are written out by their elements, ``x[2,3]``.

FMI 2 lets several names share a value reference: one of them is in the vectors, the others are aliases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain
from math import prod

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, FmuError
from pliant.fmi.description import (
    BASE_TYPES,
    MOST_ELEMENTS,
    FmuDescription,
    FmuInterface,
    FmuVariable,
    element_names,
    reference_space,
)
from pliant.fmi.hosts import binding
from pliant.fmi.options import FmuOptions

Rows = NDArray[np.int32]
VECTORS = ("x", "u", "p", "y", "s")
MOST_CATEGORIES = 1000  # of messages, that are asked for by name
#: types that are not in any vector
UNREAD = frozenset({"String", "Binary", "Clock"})
#: type -> space of value references in FMI 2, above the references themselves
SPACES = {
    type_: ("real", "integer", "boolean", "string", "binary", "clock").index(reference_space(type_)) << 32
    for type_ in BASE_TYPES
}


@dataclass
class Vector:
    """One of the vectors: places of its variables in the description, and how many elements each has."""

    places: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def add(self, place: int, size: int) -> None:
        """One more variable."""
        self.places.append(place)
        self.sizes.append(size)

    @property
    def n(self) -> int:
        """Number of elements."""
        return sum(self.sizes)

    @cached_property
    def first(self) -> dict[int, int]:
        """Place in the description -> number of its first element."""
        return dict(zip(self.places, accumulate(self.sizes, initial=0), strict=False))


class FmuLayout:
    """The vectors of one FMU.

    sizes: place of a structural parameter -> its value, where it is not the start value; tuned: places of tunable
    parameters that change during the run, and are inputs.
    """

    def __init__(
        self,
        description: FmuDescription,
        kind: str,
        sizes: Mapping[int, int] = {},
        tuned: frozenset[int] = frozenset(),
    ) -> None:
        self.description = description
        self.interface: FmuInterface = description.interfaces[kind]
        self.sizes = dict(sizes)
        self.tuned = tuned
        self.vectors = {name: Vector() for name in VECTORS}
        self.constants: list[int] = []  # places of variables that never change
        self.aliases: dict[str, tuple[str, int]] = {}
        self._check_sizes()
        self._fill()

    # -------------------------------------------------------------------------------------------- the vectors

    def _check_sizes(self) -> None:
        """Structural parameters can ask for any number of elements."""
        variables = self.description.variables
        if self.sizes and sum(prod(self.shape(k)) for k, one in enumerate(variables) if one.dimensions) > MOST_ELEMENTS:
            shown = ", ".join(f"{variables[place].name} = {size}" for place, size in self.sizes.items())
            raise ArgumentError(
                f"with {shown} arrays have more than {MOST_ELEMENTS} elements in all",
                hint="smaller structural parameters",
            )

    def size(self, place: int) -> int:
        """Elements of a variable."""
        one = self.description.variables[place]
        return 1 if not one.dimensions else int(np.prod(self.shape(place)))

    def shape(self, place: int) -> tuple[int, ...]:
        """Dimensions of a variable."""
        return self.description.shape_of(self.description.variables[place], self.sizes)

    def _fill(self) -> None:
        variables, vectors = self.description.variables, self.vectors
        shared = self.description.major == 2
        #: names of FMI 2 by their value reference; there may be hundreds of thousands
        taken: dict[int, int] = {}
        for place in self._states():
            vectors["x"].add(place, self.size(place))
            taken.setdefault(SPACES[variables[place].type] | variables[place].reference, place)
        x = set(vectors["x"].places)
        later: list[int] = []
        for place, one in enumerate(variables):
            causality = one.causality
            if place in x or causality == "independent":
                continue
            if (causality == "input" or place in self.tuned) and one.type not in UNREAD:
                vector = "u"
            elif causality in ("parameter", "structuralParameter") and one.type not in ("Binary", "Clock"):
                vector = "p"
            elif one.variability == "constant" and one.start is not None and one.type not in UNREAD:
                self.constants.append(place)
                continue
            elif causality == "input" and one.type == "String":  # a text for the whole run
                vector = "s"
            else:
                if one.type not in UNREAD:
                    later.append(place)
                continue
            if not shared or taken.setdefault(SPACES[one.type] | one.reference, place) == place:
                vectors[vector].add(place, self.size(place) if one.dimensions else 1)
            else:
                self._alias(one, taken)
        outputs, starts = vectors["y"], vectors["s"]
        for place in later:
            one = variables[place]
            if shared and taken.setdefault(SPACES[one.type] | one.reference, place) != place:
                self._alias(one, taken)
                continue
            size = self.size(place) if one.dimensions else 1
            outputs.add(place, size)
            if one.initial in ("exact", "approx") and one.variability != "constant":
                starts.add(place, size)
        for one in variables if not shared else ():
            for alias in one.aliases:
                for name, target in zip(self._named(one, alias.name), self._named(one, one.name), strict=True):
                    self.aliases[name] = (target, 1)

    def _alias(self, one: FmuVariable, taken: Mapping[int, int]) -> None:
        """Another name of a value reference."""
        first = taken[SPACES[one.type] | one.reference]
        self.aliases[one.name] = (self.description.variables[first].name, 1)

    def _named(self, one: FmuVariable, name: str) -> list[str]:
        return element_names(name, self.description.shape_of(one, self.sizes))

    def _states(self) -> tuple[int, ...]:
        return self.description.structure.states if self.interface.kind == "model-exchange" else ()

    def names(self, vector: str) -> tuple[str, ...]:
        """Of the elements."""
        variables = self.description.variables
        found: list[str] = []
        for place in self.vectors[vector].places:
            one = variables[place]
            if one.dimensions:
                found += element_names(one.name, self.shape(place))
            else:
                found.append(one.name)
        return tuple(found)

    # ------------------------------------------------------------------------------------------------- values

    def starts(self, vector: str) -> NDArray[np.float64]:
        """Start values as numbers; those of texts are 0."""
        variables = self.description.variables
        found: list[float] = []
        for place, size in zip(self.vectors[vector].places, self.vectors[vector].sizes, strict=True):
            one = variables[place]
            start = one.start
            if one.type == "String" or start is None:
                found += [0.0] * size
            elif isinstance(start, tuple) or size != 1:
                values = one.start_values(size)
                found += [0.0] * size if values is None else [float(value) for value in values]
            else:
                found.append(float(start))
        return np.array(found, dtype=np.float64)

    def scales(self, vector: str, what: str, missing: float) -> NDArray[np.float64]:
        """nominal, min or max of the elements."""
        variables = self.description.variables
        found: list[float] = []
        for place, size in zip(self.vectors[vector].places, self.vectors[vector].sizes, strict=True):
            value = getattr(variables[place], what)
            found += [missing if value is None else float(value)] * size
        return np.array(found, dtype=np.float64)

    # --------------------------------------------------------------------------------------------- dependencies

    @cached_property
    def dependencies(self) -> dict[int, tuple[int, ...] | None]:
        """Derivative or output (place) -> places that it depends on; None: on everything."""
        structure = self.description.structure
        return {one.variable: one.dependencies for one in (*structure.derivatives, *structure.outputs)}

    @cached_property
    def jacobian(self) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        """Pattern of df/dx by columns (start, row), as the dependencies say; None: nothing is said, or it is full."""
        states = self.vectors["x"]
        derivatives = self.description.structure.derivatives
        if not states.places or all(one.dependencies is None for one in derivatives):
            return None
        n, at = states.n, 0
        found: set[int] = set()  # column * n + row
        for one, size in zip(derivatives, states.sizes, strict=True):
            depends: Iterable[int] = range(n)
            if one.dependencies is not None:
                own = [k for k in one.dependencies if k in states.first]
                depends = chain.from_iterable(range(states.first[k], states.first[k] + self.size(k)) for k in own)
            for column in depends:
                found.update(range(column * n + at, column * n + at + size))
            at += size
        if len(found) == n * n:
            return None
        keys = np.sort(np.fromiter(found, dtype=np.int64, count=len(found)))
        start = np.searchsorted(keys, np.arange(n + 1) * n)
        return start.astype(np.int32), (keys % n).astype(np.int32)

    def feedthrough(self) -> dict[str, frozenset[int]]:
        """Variable of y -> places in u that it may depend on at the same time; on none: left out."""
        inputs = self.vectors["u"]
        if not inputs.places:
            return {}
        everything = frozenset(range(inputs.n))
        found: dict[str, frozenset[int]] = {}
        variables, states = self.description.variables, frozenset(self.description.structure.states)
        for place in self.vectors["y"].places:
            one = variables[place]
            if place in states:
                continue
            depends = self.dependencies.get(place, None)
            through = everything
            if depends is not None:
                through = frozenset(
                    i
                    for k in depends
                    if k in inputs.first
                    for i in range(inputs.first[k], inputs.first[k] + self.size(k))
                )
            if through and one.variability in ("continuous", "discrete"):
                found.update(dict.fromkeys(element_names(one.name, self.shape(place)), through))
        return found


# -------------------------------------------------------------------------------------------------------- the table


def unit_table(layout: FmuLayout) -> tuple[int, ...]:
    """Co-simulation, as the host needs it: event mode, early return, derivatives of inputs, equal steps, inputs
    that are set during a step."""
    one, two = layout.interface, layout.description.major == 2
    if one.kind != "co-simulation":
        return ()
    events = not two and one.has_event_mode
    # FMI 2 does not say up to which order; the first is what every FMU that interpolates must know
    derivatives = int(two and one.interpolates_inputs)
    return events, events, derivatives, not one.variable_step, not two and one.intermediate_update


def host_table(layout: FmuLayout, options: FmuOptions, texts: tuple[str, ...], unit: tuple[int, ...] = ()) -> bytes:
    """The table that a host gets (pl_fmu_head). texts: path of the binary, name of the instance, resources."""
    description, interface = layout.description, layout.interface
    binary, name, resources = texts
    pattern = layout.jacobian if interface.kind == "model-exchange" else None
    flags = (
        (binding.COMPLETED_STEP if interface.needs_completed_step else 0)
        | (binding.LOGGING if options.log else 0)
        | (binding.DIRECTIONAL if interface.directional_derivatives else 0)
        | (binding.ONCE if interface.once_per_process else 0)
    )
    spoken = [
        binary,
        name,
        description.token,
        resources,
        *(one.name for one in description.categories[:MOST_CATEGORIES]),
    ]
    head = binding.FmuHeadStruct(
        version=description.major,
        kind=0 if interface.kind == "model-exchange" else 1,
        flags=flags,
        n_roots=n_roots(layout),
        n_jac=-1 if pattern is None else len(pattern[1]),
        memory_limit=options.memory_limit or 0,
        n_texts=len(spoken),
    )
    for k, vector in enumerate(VECTORS):
        head.n[k], head.m[k] = layout.vectors[vector].n, len(layout.vectors[vector].places)
    for k, value in enumerate(unit):
        head.unit[k] = value
    parts: list[bytes] = [bytes(head)]
    parts += [_padded(_rows(layout, vector).tobytes()) for vector in VECTORS]
    references = np.array([one.reference for one in _derivatives(layout)], dtype=np.uint32)
    numbers = (layout.starts("x"), layout.scales("x", "nominal", 0.0), *(layout.starts(one) for one in "ups"))
    parts += [_padded(references.tobytes()), *(one.tobytes() for one in numbers)]
    if pattern is not None:
        parts += [_padded(one.tobytes()) for one in pattern]
    parts.append(b"".join(text.encode(errors="surrogateescape") + b"\0" for text in spoken))
    return b"".join(parts)


def n_roots(layout: FmuLayout) -> int:
    """Number of event indicators."""
    structure = layout.description.structure
    if layout.interface.kind != "model-exchange":
        return 0
    if structure.event_indicators:
        return sum(layout.size(one.variable) for one in structure.event_indicators)
    return structure.n_event_indicators


def _derivatives(layout: FmuLayout) -> Iterator[FmuVariable]:
    if layout.interface.kind == "model-exchange":
        for one in layout.description.structure.derivatives:
            yield layout.description.variables[one.variable]


def _rows(layout: FmuLayout, vector: str) -> Rows:
    """Reference, type, size and flags of the variables."""
    variables, two = layout.description.variables, layout.description.major == 2
    found = np.zeros((len(layout.vectors[vector].places), 4), dtype=np.uint32)
    enumeration = binding.TYPES["Int32" if two else "Int64"]
    for k, (place, size) in enumerate(zip(layout.vectors[vector].places, layout.vectors[vector].sizes, strict=True)):
        one = variables[place]
        flags = 0
        if vector in "uy" and one.variability == "continuous" and one.base == "real":
            flags |= binding.CONTINUOUS
            if vector == "u" and one.intermediate_update:
                flags |= binding.INTERMEDIATE
        if one.causality == "structuralParameter":
            flags |= binding.STRUCTURAL
        if one.initial == "exact":
            flags |= binding.EXACT
        if size >= 2**31:
            raise FmuError(f"the array {one.name} has {size} elements", hint="smaller structural parameters")
        found[k] = (one.reference, binding.TYPES.get(one.type, enumeration), size, flags)
    return found.view(np.int32)


def _padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 8)
