"""What can be said of a description as a whole: links between variables, and which of its interfaces can be run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from pliant.fmi.description import FmuInterface, FmuType, FmuVariable
from pliant.fmi.reading.values import REPAIR, Findings
from pliant.fmi.reading.variables import VariableReader
from pliant.fmi.reading.xml import refused, shortened

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
SAFE = re.compile(r"[^/\\\x00-\x1f]{1,200}\Z")
TIMED = ("constant", "fixed", "calculated", "tunable", "changing", "countdown")
LISTED = 3  # names in a message


def with_derivatives(reader: VariableReader, findings: Findings) -> list[FmuVariable]:
    """The variables, with those that are derivatives related to their states."""
    variables = reader.variables
    for place, number in reader.derivatives:
        one, state = variables[place], reader.place_of(number)
        if state is None:
            raise refused(
                f"derivative={number}: there is no variable with this {reader.said}",
                element=f"variable {shortened(one.name)!r}",
                line=one.line,
                hint=REPAIR,
            )
        if state == place:
            findings.warn(
                "a variable is its own derivative",
                "it is the derivative of itself; ignored",
                f"variable {shortened(one.name)!r}",
                line=one.line,
            )
            continue
        variables[place] = one._replace(derivative_of=state)
    return variables


def check_variables(variables: list[FmuVariable], types: Mapping[str, FmuType], findings: Findings) -> None:
    """What concerns several of them."""
    independent = [one for one in variables if one.causality == "independent"]
    for one in independent[1:]:
        findings.warn(
            "there is more than one independent variable",
            f"{shortened(independent[0].name)!r} is the independent variable already",
            f"variable {shortened(one.name)!r}",
            line=one.line,
        )
    for one in variables:
        if one.type == "Enumeration":
            _check_enumeration(one, types, findings)
        elif one.type == "Binary" and one.causality in ("input", "parameter", "output"):
            findings.warn(
                "binary variables are not set or recorded",
                "binary variables are not set or recorded: it keeps its start value",
                f"Binary {shortened(one.name)!r}",
                line=one.line,
            )


def _check_enumeration(one: FmuVariable, types: Mapping[str, FmuType], findings: Findings) -> None:
    declared = types.get(one.declared_type)
    text = ""
    if declared is None or not declared.items:
        text = "an enumeration needs a declared type with items; its values are shown as numbers"
    else:
        known = {item.value for item in declared.items}
        starts = one.start if isinstance(one.start, tuple) else (one.start,)
        odd = [value for value in starts if value is not None and value not in known]
        if odd:
            text = f"start={odd[0]!r} is no value of {shortened(declared.name)!r}"
    if text:
        findings.warn("an enumeration", text, f"Enumeration {shortened(one.name)!r}", line=one.line)


def judged_interfaces(
    interfaces: dict[str, FmuInterface],
    variables: list[FmuVariable],
    intervals: Mapping[int, str],
    no_states: str,
    findings: Findings,
) -> dict[str, FmuInterface]:
    """The interfaces, each with the reason if pliant cannot run it.

    intervals  place of a clock -> its intervalVariability
    no_states  why derivatives and states are not known
    """
    clocks = _clocks(variables, intervals, findings)
    if no_states:
        findings.warn("no states", no_states, "ModelStructure")
    found = {}
    for kind, one in interfaces.items():
        if not SAFE.match(one.model_identifier) or one.model_identifier in (".", ".."):
            raise refused(
                f"modelIdentifier={shortened(one.model_identifier)!r} is no name of a file",
                element=kind,
                line=one.line,
                hint=REPAIR,
            )
        if not IDENTIFIER.match(one.model_identifier):
            findings.warn(
                "modelIdentifier",
                f"modelIdentifier={shortened(one.model_identifier)!r} is no name in C",
                kind,
                line=one.line,
            )
        found[kind] = replace(one, refusal=_refusal(one, no_states, clocks))
    return found


def _refusal(one: FmuInterface, no_states: str, clocks: str) -> str:
    if one.kind == "scheduled-execution":
        return "scheduled execution is not supported: only a scheduler can run it"
    if one.needs_execution_tool:
        return "it needs the tool that made it (needsExecutionTool)"
    if one.kind == "model-exchange" and no_states:
        return no_states
    return clocks


def _clocks(variables: list[FmuVariable], intervals: Mapping[int, str], findings: Findings) -> str:
    """Why clocks keep the FMU from being run; "": they do not."""
    matters = {place for one in variables for place in one.clocks} if intervals else set()
    timed = [
        shortened(variables[place].name)
        for place, interval in intervals.items()
        if place in matters and variables[place].causality == "input" and interval in TIMED
    ]
    if timed:
        more = f" and {len(timed) - LISTED} more" if len(timed) > LISTED else ""
        return f"clocks that the simulator must tick are not supported: {', '.join(timed[:LISTED])}{more}"
    for place in intervals:
        one = variables[place]
        what = "it never ticks" if one.causality == "input" else "its ticks are not recorded"
        findings.warn(
            "clocks are ignored", f"clocks are ignored: {what}", f"Clock {shortened(one.name)!r}", line=one.line
        )
    return ""
