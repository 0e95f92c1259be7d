"""Algorithm sections that are equations in other words.

A section in which every variable is assigned once, as a whole, before it is read, means the same as equations; so does
one of assertions only. These come out as equations, which are sorted and differentiated like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pliant.frontend.flat.expressions import NONE, FlatOutput, FlatTuple, VariableRef, operands
from pliant.frontend.flat.model import FlatAssert, FlatAssign, FlatBranch, FlatEquation, FlatIf, FlatItem, FlatWhen
from pliant.frontend.flat.types import BaseType, Variability

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder


def as_equations(builder: FlatBuilder, items: list[FlatItem], *, is_initial: bool) -> list[FlatItem] | None:
    """The equations of a section, or None where it has to stay an algorithm."""
    assigned: list[set[int]] = []
    for item in items:
        if isinstance(item, FlatAssert):
            assigned.append(set())
            continue
        if not isinstance(item, FlatAssign):
            return None
        found = _targets(builder, item.target)
        if found is None or any(found & other for other in assigned):
            return None
        assigned.append(found)
    pending: set[int] = set()
    for item, targets in zip(reversed(items), reversed(assigned), strict=True):
        pending |= targets
        parts = (item.condition, item.message) if isinstance(item, FlatAssert) else (item.value,)  # type: ignore[union-attr]
        if any(_reads(builder, e, pending) for e in parts):
            return None  # it reads what is assigned there or later: the value from before
    found_items: list[FlatItem] = []
    for item in items:
        assignments = _by_outputs(builder, item) if isinstance(item, FlatAssign) else []
        found_items += [_equation(builder, one, is_initial) for one in assignments] or [item]
    return found_items


def _targets(builder: FlatBuilder, e: int) -> set[int] | None:
    node = builder.nodes[e]
    if isinstance(node, VariableRef):
        of = builder.variables[node.variable].type
        return {node.variable} if of.base is not BaseType.RECORD else None
    if isinstance(node, FlatTuple):
        found: set[int] = set()
        for one in node.elements:
            part = _targets(builder, one) if one != NONE else set()
            if part is None or part & found:
                return None
            found |= part
        return found
    return None


def _reads(builder: FlatBuilder, e: int, variables: set[int]) -> bool:
    stack = [e]
    while stack:
        node = builder.nodes[stack.pop()]
        if isinstance(node, VariableRef) and node.variable in variables:
            return True
        stack.extend(operands(node))
    return False


def _by_outputs(builder: FlatBuilder, item: FlatAssign) -> list[FlatAssign]:
    """(x, n) := f(u), of which n changes at events only: one for each output, which are read at different times."""
    node = builder.nodes[item.target]
    if not isinstance(node, FlatTuple):
        return [item]
    parts = [(k, e) for k, e in enumerate(node.elements) if e != NONE]
    if all(_variability(builder, e) is Variability.CONTINUOUS for _, e in parts):
        return [item]
    return [replace(item, target=e, value=builder.add(FlatOutput(item.value, k), item.span)) for k, e in parts]


def _variability(builder: FlatBuilder, e: int) -> Variability:
    node = builder.nodes[e]
    return builder.variables[node.variable].variability if isinstance(node, VariableRef) else Variability.CONTINUOUS


def _equation(builder: FlatBuilder, item: FlatAssign, is_initial: bool) -> FlatEquation:
    node = builder.nodes[item.target]
    variability = Variability.CONTINUOUS
    if isinstance(node, VariableRef):
        variable = builder.variables[node.variable]
        is_parameter = variable.variability is Variability.PARAMETER and variable.type.base is not BaseType.REAL
        if variable.variability is Variability.DISCRETE or (is_initial and is_parameter):
            variability = variable.variability
    return FlatEquation(item.target, item.value, variability, "algorithm", span=item.span, path=item.path)


def initial_checks(builder: FlatBuilder, items: Sequence[FlatItem]) -> list[FlatItem]:
    """Assertions of initial equations and algorithms, where no variable of a section is in between: they hold once the
    start values are found, as in `when initial() then assert(...)`.
    """
    checks = [found for one in items if (found := _check_of(one)) is not None]
    if not checks:
        return []
    initial = builder.builtin("initial", span=checks[0].span)
    return [FlatWhen((FlatBranch(initial, tuple(checks), checks[0].span),), checks[0].span, checks[0].path)]


def _check_of(item: FlatItem) -> FlatAssert | FlatIf | None:
    """The item without all that is no assertion."""
    if isinstance(item, FlatAssert):
        return item
    if not isinstance(item, FlatIf):
        return None
    branches = tuple(replace(one, body=_checks_of(one.body)) for one in item.branches)
    otherwise = _checks_of(item.otherwise)
    is_empty = not otherwise and not any(one.body for one in branches)
    return None if is_empty else replace(item, branches=branches, otherwise=otherwise)


def _checks_of(items: Sequence[FlatItem]) -> tuple[FlatItem, ...]:
    return tuple(found for one in items if (found := _check_of(one)) is not None)
