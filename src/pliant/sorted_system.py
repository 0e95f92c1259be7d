"""What code is made from: states, and blocks of equations in the order of evaluation; frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pliant.ir import (
    Check,
    Equation,
    Events,
    Experiment,
    FinalGraph,
    Function,
    Matrix,
    Refusal,
    Relation,
    Span,
    Table,
    Variable,
)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One explicit assignment: ``variable := expression``, made from an equation."""

    variable: int
    equation: int
    expression: int


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A strongly connected part of the sorted equations.

    explicit   one step
    linear     tears z, steps explicit given z, residuals linear in z
    nonlinear  the same, residuals nonlinear in z
    sparse     a large loop that is not torn: ``steps`` is empty, every unknown a tear, every equation a residual
    """

    kind: str
    equations: tuple[int, ...]
    variables: tuple[int, ...]
    steps: tuple[Step, ...]
    tears: tuple[int, ...] = ()
    residuals: tuple[int, ...] = ()
    matrix: Matrix = ()  # d residuals / d tears, steps eliminated (relaxation)
    right: tuple[int, ...] = ()  # linear loops: matrix * tears = right


@dataclass(frozen=True, slots=True, eq=False)
class StateSet:
    """Candidates of which some are states, chosen again when the choice becomes singular.

    Level l has the candidates q_l and m constraints; slot k holds s_lk = sum_j A_kj q_lj. ``jacobian`` (m x n) is the
    derivative of the constraints by the candidates, the same on every level.
    """

    candidates: Matrix
    slots: Matrix
    coefficients: Matrix
    jacobian: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class PivotWatch:
    """Constraints that are solved for the same unknowns for ever, although their Jacobian may become singular."""

    unknowns: tuple[int, ...]
    jacobian: Matrix
    spans: tuple[Span | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ScalarModel:
    """What a sorted system keeps of the flat model: the graph of all its expressions, variables, what they refer to."""

    name: str
    graph: FinalGraph
    variables: tuple[Variable, ...]
    equations: tuple[Equation, ...]
    derivative: Mapping[int, int]
    relations: tuple[Relation, ...]
    functions: tuple[Function, ...]
    tables: tuple[Table, ...]
    refusals: tuple[Refusal, ...]
    fixed_parameters: Mapping[str, str]
    digest: str
    experiment: Experiment = (None, None, None)


@dataclass(frozen=True, slots=True, eq=False)
class SortedSystem:
    """What code is made from: states, and blocks in the order of evaluation. Nothing in it can be changed."""

    system: ScalarModel
    equations: tuple[Equation, ...]
    states: tuple[int, ...]
    derivatives: Mapping[int, int]  # state -> expression of its derivative
    blocks: tuple[Block, ...]
    replaced: Mapping[int, int]  # eliminated variable -> expression
    sets: tuple[StateSet, ...]
    pivots: tuple[tuple[int, int, int], ...]  # (expression, equation, variable): parameter expressions, never 0
    index: int
    n_differentiated: int
    reasons: Mapping[int, str]  # why a variable is, or is not, a state
    redundant: tuple[Equation, ...]
    initial_equations: tuple[Equation, ...]
    relations: tuple[Relation, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    extras: tuple[Step, ...]  # discrete variables that follow from the others, for outputs only
    integrals: Mapping[int, int]  # derivative variable -> the variable it derives
    watches: tuple[PivotWatch, ...]
    events: Events
