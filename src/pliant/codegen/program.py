"""A sorted system as a program: statements in order, each giving values to variables.

    Assign   v = expression
    Solve    matrix z = right                    tears of a linear loop, after relaxation
    Newton   residual(z) = 0                     tears of a nonlinear loop; its steps are explicit given z
    Columns  matrix Z = right, many right sides  derivatives of tears (implicit function theorem)

``form`` decides where loops go: inside f, or as algebraic unknowns into x (design: ode and dae form).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pliant.errors import ModelError
from pliant.expr.build import var
from pliant.expr.signed import signed_variable, with_sign
from pliant.ir import Action, Graph, Kind, Variable
from pliant.sorted_system import Block, SortedSystem


@dataclass(slots=True, eq=False)
class Assign:
    """target = expression"""

    target: int
    expression: int


@dataclass(slots=True, eq=False)
class Solve:
    """matrix * targets = right"""

    loop: int
    targets: Sequence[int]
    matrix: Sequence[Sequence[int]]
    right: Sequence[int]


@dataclass(slots=True, eq=False)
class Newton:
    """residuals(targets) = 0, with d residuals / d targets = matrix; steps are evaluated before both."""

    loop: int
    targets: Sequence[int]
    steps: list[Assign]
    residuals: list[int]
    matrix: Sequence[Sequence[int]]


@dataclass(slots=True, eq=False)
class Columns:
    """matrix of ``loop`` * targets[:, j] = right[:, j]; the factors of the loop are used again."""

    loop: int
    targets: list[list[int]]  # k x m
    right: list[list[int]]
    matrix: Sequence[Sequence[int]]
    is_newton: bool


Statement = Assign | Solve | Newton | Columns


@dataclass(eq=False)
class Program:
    """Everything needed to write the functions of a ``pl_model``.

    ``graph`` and ``variables`` are overlays: they begin with those of the sorted system, and take what is made on the
    way.
    """

    sorted: SortedSystem
    graph: Graph
    variables: list[Variable]
    x: list[int]  # states, then algebraic unknowns
    n_states: int
    f: list[int]  # right sides: derivatives, then residuals
    f_equation: list[int]  # for algebraic rows the equation, else -1
    u: list[int]
    p: list[int]
    statements: list[Statement]
    loops: list[Block]
    computed: list[int] = field(default_factory=list)  # variables that statements give values to, in order


def build_program(s: SortedSystem, form: str = "auto") -> Program:
    """Statements of a sorted system in the given form."""
    graph, variables = s.system.graph.overlay(), list(s.system.variables)
    statements: list[Statement] = []
    loops: list[Block] = []
    algebraic: list[int] = []
    rows: list[int] = []
    computed: list[int] = []
    for block in s.blocks:
        if block.kind == "explicit":
            statements.append(Assign(block.steps[0].variable, block.steps[0].expression))
            computed.append(block.steps[0].variable)
        elif block.kind == "sparse" or (form == "dae" and len(block.variables) > 1):
            algebraic += block.variables
            rows += block.equations
        else:
            loops.append(block)
            statements.append(_loop(s, block, len(loops) - 1))
            statements += [Assign(step.variable, step.expression) for step in block.steps]
            computed += block.tears
            computed += [step.variable for step in block.steps]
    statements += [Assign(step.variable, step.expression) for step in s.extras]
    computed += [step.variable for step in s.extras]
    states = list(s.states)
    f = [s.derivatives[v] for v in states]
    f += [s.equations[e].residual for e in rows]
    return Program(
        s,
        graph,
        variables,
        states + algebraic,
        len(states),
        f,
        [-1] * len(states) + rows,
        [v for v, variable in enumerate(variables) if variable.kind == Kind.INPUT],
        [v for v, variable in enumerate(variables) if _is_free_parameter(s, v, variable)],
        statements,
        loops,
        computed,
    )


def reset_place(program: Program, action: Action) -> tuple[int, int]:
    """(place in x, its new value) of a reinit."""
    s = program.sorted
    g = program.graph
    v, sign = signed_variable(g, s.replaced.get(action.variable, var(g, action.variable))) or (-1, 1)
    if v not in program.x[: program.n_states]:
        name, place = s.system.variables[action.variable].name, f"{action.span}: " if action.span else ""
        raise ModelError(
            f"{place}reinit({name}, ...): {name} is not a state of the model",
            hint="reinit a variable that the model is free to choose; here other equations determine it",
            span=action.span,
            rule="8.3.6",
        )
    return program.x.index(v), with_sign(g, sign, action.value)


def _is_free_parameter(s: SortedSystem, v: int, variable: Variable) -> bool:
    """Tunable, and not computed from other parameters."""
    if variable.kind != Kind.PARAMETER:
        return False
    binding = variable.binding
    return binding is None or s.system.graph.nodes[binding][0] == 0


def _loop(s: SortedSystem, block: Block, number: int) -> Statement:
    if block.kind == "linear":
        return Solve(number, block.tears, block.matrix, block.right)
    return Newton(
        number,
        block.tears,
        [Assign(step.variable, step.expression) for step in block.steps],
        [s.equations[e].residual for e in block.residuals],
        block.matrix,
    )
