"""The coupling graph: parts, connections, and which connections form loops of direct feed-through.

A connection k carries an output of one part to an input of another. It depends directly on connection l if l ends at
the part where k begins and the output of k depends on the input of l at the same time. Strongly connected components
of this graph are the loops that have to be solved at communication points (Tarjan, see structure/blt.py); their order
is an order of evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from pliant.arguments import Vector
from pliant.calls import by_keyword_class
from pliant.cosim.conversion import SAME, Conversion
from pliant.cosim.part import Part, Pattern, Port
from pliant.errors import ArgumentError, UnknownNameError
from pliant.plain import AsDict
from pliant.solve.names import suggestion
from pliant.structure.blt import sort_blocks

NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@by_keyword_class
@dataclass(frozen=True)
class Connection(AsDict):
    """From a variable of one part to an input of another (or the same) part."""

    source_part: str
    _: KW_ONLY
    source: str
    target_part: str
    target: str
    through: Conversion = SAME  # what becomes of the value on its way

    def __str__(self) -> str:
        return f"{self.source_part}.{self.source} -> {self.target_part}.{self.target}"


@dataclass(frozen=True)
class Wire:
    """A connection in numbers: places of the parts, of the output among those chosen, and of the input."""

    source_part: int
    output: int
    target_part: int
    input: int
    through: Conversion = SAME

    def value(self, outputs: Sequence[Vector] | Mapping[int, Vector]) -> float:
        """What arrives at the input, from the outputs of all parts."""
        return self.through.carry(float(outputs[self.source_part][self.output]))


class PartGraph:
    """Parts by name and their connections, checked when they are made."""

    def __init__(self) -> None:
        self.parts: dict[str, Part] = {}
        self.connections: list[Connection] = []

    def add(self, part: Part, any_name: bool = False) -> None:
        """One more part. Dots in its name stand between the names of nested systems; files may use any characters."""
        if not isinstance(part.name, str) or not (NAME.fullmatch(part.name) or any_name):
            raise ArgumentError(
                f"{part.name!r} cannot be the name of a part", hint="use letters, digits and _: 'motor1', 'car.motor1'"
            )
        if part.name in self.parts:
            raise ArgumentError(f"there is already a part {part.name!r}", hint="give every part a name of its own")
        self.parts[part.name] = part

    def split(self, path: str, what: str) -> tuple[Part, str]:
        """'part.name' -> the part and the name inside it."""
        if not isinstance(path, str):
            raise ArgumentError(f"{what}: expected 'part.variable', not {path!r}", hint="e.g. 'pump.flow'")
        words = path.split(".")
        if len(words) < 2 or not words[0] or not words[-1]:
            raise ArgumentError(
                f"{what}: {path!r} is not of the form 'part.variable'", hint=f"the parts are {self._listed()}"
            )
        for k in range(len(words) - 1, 0, -1):  # the longest name of a part that it begins with
            name = ".".join(words[:k])
            if name in self.parts:
                return self.parts[name], ".".join(words[k:])
        name = words[0]
        raise UnknownNameError(f"{what}: there is no part {name!r}", hint=suggestion(name, self.parts))

    def _listed(self) -> str:
        return ", ".join(self.parts) or "not added yet"

    def connect(self, source: str, target: str, through: Conversion | None = None) -> Connection:
        """Connect an output to an input; with a conversion, units and types were checked before."""
        start, output = self.split(source, "connect")
        end, input_ = self.split(target, "connect")
        out_port, in_port = start.port(output), end.port(input_)
        self._check_ends(source, target, out_port, in_port, end)
        for one in self.connections:
            if (one.target_part, one.target) == (end.name, input_):
                raise ArgumentError(
                    f"the input {target} is connected twice: {one}, and now {source}",
                    hint="an input has one source; add signals up inside a part",
                )
        if through is None:
            self._check_kinds(source, target, out_port, in_port)
        made = Connection(start.name, source=output, target_part=end.name, target=input_, through=through or SAME)
        self.connections.append(made)
        return made

    @staticmethod
    def _check_kinds(source: str, target: str, out_port: Port, in_port: Port) -> None:
        """Units and types must be the same."""
        if out_port.unit and in_port.unit and _plain(out_port.unit) != _plain(in_port.unit):
            raise ArgumentError(
                f"units differ: {source} is in {out_port.unit}, {target} in {in_port.unit}",
                hint="convert inside one of the parts, or correct its unit",
            )
        if out_port.type != in_port.type and (out_port.type, in_port.type) != ("integer", "real"):
            raise ArgumentError(
                f"types differ: {source} is {out_port.type}, {target} is {in_port.type}",
                hint="convert inside one of the parts",
            )

    def _check_ends(self, source: str, target: str, out_port: Port, in_port: Port, end: Part) -> None:
        if in_port.causality != "input":
            inputs = [f"{end.name}.{port.name}" for port in end.inputs]
            what = "constant" if in_port.causality == "constant" else "computed by its part"
            raise ArgumentError(
                f"{target} is no input: it is {what} and cannot be set from {source}",
                hint=f"the inputs of {end.name} are {', '.join(inputs)}" if inputs else f"{end.name} has no inputs",
            )
        if out_port.causality == "input":
            raise ArgumentError(
                f"{source} is itself an input", hint=f"connect {target} to the variable that {source} comes from"
            )
        if out_port.causality == "constant":
            raise ArgumentError(
                f"{source} is constant", hint=f"give the number: simulate(..., inputs={{'{target}': ...}})"
            )

    def missing(self, given: Iterable[str]) -> list[str]:
        """Inputs that are neither connected nor given."""
        known = {f"{one.target_part}.{one.target}" for one in self.connections} | set(given)
        every = [f"{part.name}.{port.name}" for part in self.parts.values() for port in part.inputs]
        return [name for name in every if name not in known]

    # ------------------------------------------------------------------------------------------------ in numbers

    def wires(self) -> tuple[list[list[str]], list[Wire]]:
        """The outputs needed from each part, and all connections in numbers."""
        place = {name: p for p, name in enumerate(self.parts)}
        chosen: list[list[str]] = [[] for _ in place]
        inputs = [{port.name: j for j, port in enumerate(part.inputs)} for part in self.parts.values()]
        wires = []
        for one in self.connections:
            p, q = place[one.source_part], place[one.target_part]
            if one.source not in chosen[p]:
                chosen[p].append(one.source)
            wires.append(Wire(p, chosen[p].index(one.source), q, inputs[q][one.target], one.through))
        return chosen, wires


def needed(wires: list[Wire], patterns: list[Pattern]) -> list[list[int]]:
    """For each connection the connections that it depends on directly."""
    return [
        [
            k
            for k, before in enumerate(wires)
            if before.target_part == wire.source_part and patterns[wire.source_part][wire.output, before.input]
        ]
        for wire in wires
    ]


def components(needs: list[list[int]]) -> list[list[int]]:
    """Connections in an order of evaluation; those that depend on each other stand together."""
    numbers = list(range(len(needs)))
    return sort_blocks(needs, numbers, numbers)


def loops(needs: list[list[int]]) -> list[list[int]]:
    """The components that are loops."""
    return [one for one in components(needs) if len(one) > 1 or one[0] in needs[one[0]]]


def _plain(unit: str) -> str:
    """A unit without spaces, products written with a dot."""
    return unit.replace(" ", "").replace("*", ".")
