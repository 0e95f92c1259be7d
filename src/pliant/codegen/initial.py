"""What must hold at the start: fixed start values and initial equations, sorted into given states and conditions."""

from __future__ import annotations

from dataclasses import dataclass, field

from pliant.codegen.program import Program
from pliant.codegen.start_guesses import follow, guarded
from pliant.errors import InitialValueError
from pliant.expr.build import const, sub, value_of, var, variables_of
from pliant.expr.signed import signed_variable, with_sign
from pliant.ir import Span, StateSelect
from pliant.sorted_system import SortedSystem


@dataclass(eq=False)
class Condition:
    """``residual = 0`` at the start."""

    residual: int
    text: str
    span: Span | None = None
    variable: int = -1  # the variable whose start value is fixed by it, if any
    target: int = -1  # the parameter that is set by it between two iterations, if any
    behind: tuple[Span, ...] = ()  # other initial equations: they gave parameters in it their values


@dataclass(eq=False)
class InitialProblem:
    """Start values of x, which of them are given, and the conditions for the others."""

    start: list[int]  # per x an expression of parameters
    given: list[bool]  # per x: fixed, or something of the kind
    conditions: list[Condition] = field(default_factory=list)

    @property
    def free(self) -> list[int]:
        """Places in x that the conditions determine."""
        return [i for i, given in enumerate(self.given) if not given]


def initial_problem(program: Program) -> InitialProblem:
    """Sort fixed start values and initial equations of a model."""
    s = program.sorted
    g = program.graph
    zero = const(g, 0.0)
    place = {v: i for i, v in enumerate(program.x)}
    start = [zero] * len(program.x)
    rank = [0] * len(program.x)  # 3: fixed, 2: own start, 1: start of an alias
    conditions: list[Condition] = []
    for v, variable in enumerate(program.variables):
        if variable.start is None and not variable.fixed:
            continue
        e = s.replaced.get(v, var(g, v))
        value = zero if variable.start is None else variable.start
        root, sign = signed_variable(g, e) or (-1, 1)
        i = place.get(root)
        is_state = i is not None and i < program.n_states and not (variable.fixed and _is_open(program, value))
        if i is not None and (is_state or not variable.fixed):
            signed = with_sign(g, sign, value)
            here = 3 if variable.fixed else 2 if e == var(g, v) and v not in s.replaced else 1
            if here == 3 and rank[i] == 3 and start[i] != signed:
                _check_conflict(program, i, start[i], signed, variable.name)
                text = f"{variable.name} = {_text(program, value)} (fixed)"
                conditions.append(Condition(sub(g, e, value), text, variable.span, v))
            if here > rank[i]:
                start[i], rank[i] = signed, here
            continue
        if i is not None and (rank[i] < 2 or i >= program.n_states):  # a guess, until the condition below holds
            start[i], rank[i] = with_sign(g, sign, value), 2
        if variable.fixed and _is_continuous(program, v):
            text = f"{variable.name} = {_text(program, value)} (fixed)"
            conditions.append(Condition(sub(g, e, value), text, variable.span, v))
    for equation in s.initial_equations:
        text = equation.span.text if equation.span else "initial equation"
        conditions.append(
            Condition(equation.residual, text, equation.span, target=equation.target, behind=equation.behind)
        )
    given = [rank[i] == 3 or i >= program.n_states for i in range(len(program.x))]
    _follow(program, conditions, given, start, rank)
    return InitialProblem(start, given, conditions)


def _follow(
    program: Program, conditions: list[Condition], given: list[bool], start: list[int], rank: list[int]
) -> None:
    """Free states begin with what the conditions say, where that can be computed step by step.

    Those that have no start value and no condition begin with what follows from start values of variables that
    the modeller prefers as states: a mass from a level.
    """
    states = dict(zip(program.x[: program.n_states], range(program.n_states), strict=True))
    fixed = {v: start[i] for v, i in states.items() if given[i]}
    found: dict[int, int] = {}
    if conditions and len(fixed) < len(states):
        found = follow(program, [one.residual for one in conditions], fixed)
    if any(rank[i] == 0 and v not in found for v, i in states.items()):
        wanted = {
            v: one.start
            for v, one in enumerate(program.variables)
            if one.state_select >= StateSelect.PREFER and one.start is not None and v not in states
        }
        roots = {}
        for v, value in wanted.items():
            e = program.sorted.replaced.get(v, var(program.graph, v))
            root, sign = signed_variable(program.graph, e) or (-1, 1)
            if root >= 0 and root not in states:
                roots[root] = with_sign(program.graph, sign, value)
        if roots:
            more = follow(program, [one.residual for one in conditions], {**roots, **fixed, **found})
            found = {v: e for v, e in more.items() if v in found or (v in states and rank[states[v]] == 0)}
    for v, i in states.items():
        if not given[i] and v in found:
            start[i] = guarded(program, found[v], start[i])


def alias_starts(s: SortedSystem) -> dict[int, tuple[int, int]]:
    """Representative -> (start value that one of its aliases gives, sign)."""
    g = s.system.graph
    found: dict[int, tuple[int, int]] = {}
    for v, e in s.replaced.items():
        start, root = s.system.variables[v].start, signed_variable(g, e)
        if start is not None and root is not None:
            found.setdefault(root[0], (start, root[1]))
    return found


def _is_open(program: Program, e: int) -> bool:
    """It depends on parameters that the initial equations determine."""
    variables = program.variables
    return any(variables[v].initial and variables[v].binding is None for v in variables_of(program.graph, e))


def _is_continuous(program: Program, v: int) -> bool:
    kind = program.variables[v].kind
    return kind.name in ("UNKNOWN", "DERIVATIVE")


def _text(program: Program, e: int) -> str:
    value = value_of(program.graph, e)
    return "its start value" if value is None else f"{value:g}"


def _check_conflict(program: Program, i: int, one: int, other: int, name: str) -> None:
    g = program.graph
    a, b = value_of(g, one), value_of(g, other)
    if a is not None and b is not None and a != b:
        state = program.variables[program.x[i]].name
        raise InitialValueError(
            f"{name} and {state} are equal, but their start values are both fixed and differ ({b:g} and {a:g})",
            hint="remove fixed=true from one of them",
        )
