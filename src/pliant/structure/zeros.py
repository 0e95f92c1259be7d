"""Parameters that are zero now and stand before unknowns: what they multiply is not in the equation.

A resistance of zero turns ``R i = v`` into ``v = 0``, and with it the structure: what may be a state, and which
equations are differentiated. Where a system cannot be solved for that reason, it is sorted again with such parameters
as numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pliant.expr.build import const, substitute, value_of, var, variables_of
from pliant.expr.evaluate import evaluate
from pliant.ir import Kind, System

WHY = "it is zero, and the structure of the equations depends on that"


class ZeroCoefficients(Exception):
    """Equations cannot be solved as long as these parameters, by name, are symbols; their values are zero."""

    def __init__(self, parameters: tuple[str, ...]) -> None:
        super().__init__(", ".join(parameters))
        self.parameters = parameters


def zero_parameters(system: System, coefficients: Iterable[int], numbers: Mapping[int, float]) -> tuple[str, ...]:
    """Names of the parameters that make some of these expressions zero."""
    g = system.graph
    found: set[int] = set()
    for e in coefficients:
        reads = variables_of(g, e)
        if not reads or value_of(g, e) is not None or not all(_is_number(system, v, numbers) for v in reads):
            continue
        if evaluate(g, [e], numbers)[0] != 0.0:
            continue
        zero = {v for v in reads if numbers[v] == 0.0}
        leaf = {var(g, v): const(g, 0.0) for v in zero}
        found |= zero if value_of(g, substitute(g, [e], leaf)[0]) == 0.0 else reads
    return tuple(sorted(system.variables[v].name for v in found))


def _is_number(system: System, v: int, numbers: Mapping[int, float]) -> bool:
    variable = system.variables[v]
    return variable.kind == Kind.PARAMETER and not variable.initial and v in numbers


def fold(system: System, names: Iterable[str], numbers: Mapping[int, float]) -> None:
    """Make numbers of parameters of a system that has not been sorted, and of those that they alone determine."""
    g, wanted = system.graph, set(names)
    folded = {v for v, one in enumerate(system.variables) if one.name in wanted}
    why = dict.fromkeys(folded, WHY)
    grows = True
    while grows:
        grows = False
        for v, one in enumerate(system.variables):
            if one.kind != Kind.PARAMETER or v in folded or one.binding is None or one.initial:
                continue
            reads = variables_of(g, one.binding)
            if reads and reads <= folded:
                folded.add(v)
                why[v] = f"`{system.variables[min(reads)].name}` is fixed: {WHY}"
                grows = True
    for v in folded:
        own = system.variables[v]
        system.variables[v] = replace(own, kind=Kind.CONSTANT, binding=const(g, numbers[v]), tunable=False)
        system.fixed_parameters[own.name] = why[v]
