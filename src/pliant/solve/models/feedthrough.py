"""Which variables of a model depend on which inputs at the same time, states kept.

Read off the statements of the sorted equations: a variable depends on the inputs that stand in its expression, and on
those of the variables in it; unknowns of a loop on everything in the loop. The answer is structural: an entry may
happen to be zero, but what is not in it never depends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pliant.codegen.program import Assign, Newton, Program, Solve, Statement
from pliant.expr.build import reachable, variables_of
from pliant.ir import Kind, Op


def direct_inputs(program: Program) -> dict[str, frozenset[int]]:
    """Name of a variable -> places of the inputs that it depends on directly; states are left out."""
    variables = program.sorted.system.variables
    known = {v: frozenset((j,)) for j, v in enumerate(program.u)}
    everything = frozenset(range(len(program.u)))
    for v in program.x[program.n_states :]:  # algebraic unknowns of the dae form: solved all together
        known[v] = everything
    found = _follow(program, known, lambda e: variables_of(program.sorted.system.graph, e))
    return {variables[v].name: places for v, places in found.items() if places}


TIME = -1  # stands for the time among what something depends on


@dataclass(frozen=True)
class Dependencies:
    """What depends on which states, inputs and the time: numbers of variables, and ``TIME``."""

    variables: dict[int, frozenset[int]]
    slopes: tuple[frozenset[int], ...]  # of f, in order


def dependencies(program: Program) -> Dependencies:
    """Of all variables, and of the derivatives of the states."""
    g = program.graph
    known = {v: frozenset((v,)) for v in (*program.x, *program.u)}

    def read(e: int) -> set[int]:
        nodes = [g.nodes[i] for i in reachable(g, [e])]
        return {node[1] for node in nodes if node[0] == Op.VAR} | {TIME for node in nodes if node[0] == Op.TIME}

    known[TIME] = frozenset((TIME,))
    found = _follow(program, known, read)
    slopes = [frozenset[int]().union(*(found.get(v, frozenset()) for v in read(e))) for e in program.f]
    for v, e in program.sorted.replaced.items():
        if v not in found:
            found[v] = frozenset[int]().union(*(found.get(w, frozenset()) for w in read(e)))
    return Dependencies(found, tuple(slopes))


def _follow(
    program: Program, known: dict[int, frozenset[int]], read: Callable[[int], Iterable[int]]
) -> dict[int, frozenset[int]]:
    """Through the statements in order; ``read``: what stands in an expression."""

    def of(expressions: Iterable[int]) -> frozenset[int]:
        used = {v for e in expressions for v in read(e)}
        return frozenset().union(*(known.get(v, frozenset()) for v in used))

    for statement in program.statements:
        targets, expressions = _read(statement)
        inner = list(statement.steps) if isinstance(statement, Newton) else []
        places = of([*expressions, *(step.expression for step in inner)])
        for v in (*targets, *(step.target for step in inner)):
            known[v] = places
    return known


def _read(statement: Statement) -> tuple[list[int], list[int]]:
    """Variables that a statement gives values to, and the expressions that it uses."""
    if isinstance(statement, Assign):
        return [statement.target], [statement.expression]
    if isinstance(statement, (Solve, Newton)):
        right = statement.right if isinstance(statement, Solve) else statement.residuals
        return list(statement.targets), [*right, *(e for row in statement.matrix for e in row)]
    return [], []


def held_by(program: Program) -> dict[str, frozenset[int]]:
    """Variables that change at events only, as long as the inputs in these places do.

    Discrete variables, and what is computed from them, parameters and inputs alone; the others are left out.
    """
    s = program.sorted
    g, variables = s.system.graph, s.system.variables
    discrete = {v for one in s.events.memories for v in (one.variable, one.before)}
    discrete |= {v for v, one in enumerate(variables) if one.is_discrete or one.kind == Kind.DISCRETE}
    fixed = {v for v, one in enumerate(variables) if one.kind in (Kind.PARAMETER, Kind.CONSTANT)}
    found = {v: frozenset((j,)) for j, v in enumerate(program.u) if v not in discrete}
    found |= dict.fromkeys((v for v in (*discrete, *fixed) if v not in program.x), frozenset[int]())

    def of(expressions: Iterable[int]) -> frozenset[int] | None:
        nodes = reachable(g, expressions)
        if any(g.nodes[i][0] == Op.TIME for i in nodes):
            return None
        used = {g.nodes[i][1] for i in nodes if g.nodes[i][0] == Op.VAR}
        return frozenset().union(*(found[v] for v in used)) if used <= found.keys() else None

    for statement in program.statements:
        targets, expressions = _read(statement)
        inner = list(statement.steps) if isinstance(statement, Newton) else []
        places = None if isinstance(statement, Newton) else of(expressions)
        for v in {*targets, *(step.target for step in inner)} - discrete:
            if places is not None:
                found[v] = places
    for v, e in s.replaced.items():
        if v not in found and (places := of([e])) is not None:
            found[v] = places
    moving = {*program.x, *fixed}
    return {variables[v].name: places for v, places in found.items() if v not in moving}
