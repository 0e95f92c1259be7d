"""ModelStructure: which variables are computed, and from what.

Both versions are read into `RawUnknown`, with numbers as written (FMI 2: indices from 1; FMI 3: value references), and
then related to the variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pliant.fmi.description import FmuStructure, FmuUnknown, FmuVariable
from pliant.fmi.reading.values import REPAIR, Findings, as_int
from pliant.fmi.reading.xml import Stream, refused, shortened

LISTS = ("outputs", "derivatives", "discrete_states", "initial_unknowns", "event_indicators")
KINDS = frozenset({"dependent", "constant", "fixed", "tunable", "discrete"})
MOST_INDICATORS = 10**7


class RawUnknown(NamedTuple):
    """An unknown as written."""

    element: str
    number: int
    dependencies: tuple[int, ...] | None
    kinds: str | None
    line: int


class StructureReader(Stream):
    """Fills the lists."""

    own = "ModelStructure"
    said = ""

    def __init__(self) -> None:
        self.unknowns: dict[str, list[RawUnknown]] = {name: [] for name in LISTS}

    def unknown(self, element: str, attribute: str, given: dict[str, str]) -> RawUnknown:
        """From the attributes of an element."""
        text, listed, line = given.get(attribute), given.get("dependencies"), self.line()
        if text is None:
            raise refused(f"attribute {attribute} is missing", element=element, line=line, hint=REPAIR)
        dependencies = (
            None
            if listed is None
            else tuple(
                int(one) if one.isdecimal() and len(one) < 11 else as_int(one, "dependencies", element, line)
                for one in listed.split()
            )
        )
        number = as_int(text, attribute, element, line)
        return RawUnknown(element, number, dependencies, given.get("dependenciesKind"), line)


def relate(
    reader: StructureReader,
    variables: list[FmuVariable],
    place_of: Callable[[int], int | None],
    findings: Findings,
) -> tuple[FmuStructure, str]:
    """The structure, and why the model cannot be integrated ("": it can)."""
    words: dict[str, tuple[str, ...] | None] = {}
    found: dict[str, tuple[FmuUnknown, ...]] = {}
    for name in LISTS:
        seen: dict[int, FmuUnknown] = {}
        for raw in reader.unknowns[name]:
            place = place_of(raw.number)
            if place is None:
                raise refused(
                    f"there is no variable with {reader.said} {raw.number}",
                    element=raw.element,
                    line=raw.line,
                    hint="remove the entry from ModelStructure, or ask the maker of the FMU",
                )
            if place in seen and name == "derivatives":
                raise refused(
                    f"derivative {shortened(variables[place].name)!r} is listed twice",
                    element=raw.element,
                    line=raw.line,
                    hint=REPAIR,
                )
            if place in seen:
                findings.warn(
                    "an unknown is listed twice",
                    f"{shortened(variables[place].name)!r} is listed twice; the first entry holds",
                    raw.element,
                    line=raw.line,
                )
                continue
            seen[place] = _unknown(raw, place, place_of, words, findings)
        found[name] = tuple(seen.values())
    states, refusal = _states(found["derivatives"], variables)
    _check_outputs(found["outputs"], variables, findings)
    n_indicators = sum(variables[one.variable].size for one in found["event_indicators"])
    return FmuStructure(**found, states=states, n_event_indicators=n_indicators), refusal


def _unknown(
    raw: RawUnknown,
    place: int,
    place_of: Callable[[int], int | None],
    words: dict[str, tuple[str, ...] | None],
    findings: Findings,
) -> FmuUnknown:
    """What cannot be used of its dependencies is left out: then it may depend on everything."""
    if raw.dependencies is None:
        if raw.kinds:
            findings.warn(
                "kinds without dependencies",
                "dependenciesKind without dependencies; ignored",
                raw.element,
                line=raw.line,
            )
        return FmuUnknown(place, None, None, raw.line)
    places = [place_of(one) for one in raw.dependencies]
    dependencies = tuple(one for one in places if one is not None)
    if len(dependencies) < len(places):
        odd = next(number for number, one in zip(raw.dependencies, places, strict=True) if one is None)
        raise refused(
            f"dependencies: there is no variable {odd}",
            element=raw.element,
            line=raw.line,
            hint="remove the dependencies from ModelStructure, or ask the maker of the FMU",
        )
    if len(set(dependencies)) < len(dependencies):
        findings.warn("a dependency is listed twice", "a dependency is listed twice", raw.element, line=raw.line)
        if raw.kinds is None:
            dependencies = tuple(dict.fromkeys(dependencies))
    kinds = None
    if raw.kinds is not None:
        if raw.kinds not in words:
            split = tuple(raw.kinds.split())
            words[raw.kinds] = split if KINDS.issuperset(split) else None
        kinds = words[raw.kinds]
        if kinds is None or len(kinds) != len(dependencies):
            kinds = None
            findings.warn(
                "dependenciesKind does not fit",
                f"dependenciesKind does not fit {len(dependencies)} dependencies, or has unknown words; ignored",
                raw.element,
                line=raw.line,
            )
    return FmuUnknown(place, dependencies, kinds, raw.line)


def _states(derivatives: tuple[FmuUnknown, ...], variables: list[FmuVariable]) -> tuple[tuple[int, ...], str]:
    """The states that belong to the derivatives, or why there are none."""
    states: list[int] = []
    for unknown in derivatives:
        one = variables[unknown.variable]
        what = f"modelDescription.xml:{unknown.line}: {shortened(one.name)!r}"
        if one.derivative_of is None:
            return (), f"{what} is listed as a derivative and does not say of which state (attribute derivative)"
        state = variables[one.derivative_of]
        if one.base != "real" or state.base != "real":
            return (), f"{what} is a derivative, but it or its state {shortened(state.name)!r} is not Real"
        if one.shape != state.shape:
            return (), f"{what} has not the dimensions of its state {shortened(state.name)!r}"
        if one.derivative_of in states[-1:] or one.derivative_of == unknown.variable:
            return (), f"{what}: its state {shortened(state.name)!r} has two derivatives, or is its own"
        states.append(one.derivative_of)
    if len(set(states)) < len(states):
        return (), "ModelStructure lists two derivatives of one state"
    if not derivatives and any(one.derivative_of is not None for one in variables):
        return (), "ModelStructure lists no derivatives, but there are variables that are some"
    return tuple(states), ""


def _check_outputs(outputs: tuple[FmuUnknown, ...], variables: list[FmuVariable], findings: Findings) -> None:
    listed = {one.variable for one in outputs}
    for place in listed:
        if variables[place].causality != "output":
            findings.warn(
                "ModelStructure lists an output that is none",
                f"{shortened(variables[place].name)!r} is listed as an output and is none",
                "ModelStructure",
                line=variables[place].line,
            )
    for place, one in enumerate(variables):
        if one.causality == "output" and place not in listed and one.type != "Clock":
            findings.warn(
                "an output is not in ModelStructure",
                f"output {shortened(one.name)!r} is not listed in ModelStructure",
                "ModelStructure",
                line=one.line,
            )
