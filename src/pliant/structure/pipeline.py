"""From flat equations to sorted, torn ones: the passes in their order.

    unknowns     parameters that initial equations give one after the other are bound
    parameters   bindings and constants put in, so that only independent parameters remain
    aliases      signed alias elimination, with derivatives
    Pantelides   equations differentiated until the highest derivatives can be computed
    states       dummy derivatives, chosen globally; dynamic sets where no constant pivot decides
    functions    equations solved by inverses that functions declare; calls that stayed whole are expanded
    aliases      once more, states frozen
    matching     constant coefficients first, then parameters, then all
    blocks       Tarjan: block lower triangular form
    tearing      loops: which unknowns to iterate on

Theory: docs/theory/structure.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

from pliant.errors import ModelError, SingularModelError, UnknownNameError
from pliant.expr.build import collector_paused, substitute, var, variables_of
from pliant.expr.evaluate import expand_calls, parameter_values
from pliant.ir import Check, Equation, FinalGraph, Kind, Matrix, Relation, System, renewed, with_residual
from pliant.sorted_system import ScalarModel, SortedSystem, Step
from pliant.structure.options import StructureOptions
from pliant.structure.rank import Loops, check_rank, generic_points
from pliant.structure.reduce import Reduced, Reduction
from pliant.structure.sort import Sorter
from pliant.structure.unknowns import bind_unknowns
from pliant.structure.zeros import ZeroCoefficients, fold, zero_parameters

MOST_FOLDS = 5


def sort_system(
    system: System, options: StructureOptions | None = None, tear: Sequence[str] = (), *, zeros: bool = False
) -> SortedSystem:
    """Sort, reduce and tear a flat system; ``tear`` names unknowns to be torn in their loops.

    ``zeros``: raise ZeroCoefficients where parameters that are zero leave equations without solution.
    """
    with collector_paused():
        return _sort(system, options or StructureOptions(), tear, zeros)


def sort_anew(
    make: Callable[[], System], options: StructureOptions | None = None, tear: Sequence[str] = ()
) -> SortedSystem:
    """The system that ``make`` gives, sorted; where it has to be, with parameters that are zero as numbers."""
    folded: tuple[str, ...] = ()
    for _ in range(MOST_FOLDS):
        system = make()
        if folded:
            fold(system, folded, parameter_values(system))
        try:
            return sort_system(system, options, tear, zeros=True)
        except ZeroCoefficients as found:
            new = set(found.parameters) - set(folded)
            if not new:
                break
            folded = (*folded, *sorted(new))
        except ModelError:
            if not folded:
                raise
            break
    return sort_system(make(), options, tear)


def _sort(system: System, options: StructureOptions, tear: Sequence[str], zeros: bool) -> SortedSystem:
    bind_unknowns(system)
    bind_parameters(system)
    reduced = Reduction(system, options).run()
    replaced = {v: reduced.classes.expression(system.graph, v) for v in reduced.classes.eliminated()}
    forced = [_find(system, reduced, name) for name in tear]
    sorter = Sorter(system, reduced.equations, reduced.states, options, forced)
    blocks = sorter.run()
    if zeros and sorter.zeros:
        found = zero_parameters(system, sorter.zeros, sorter.numbers)
        if found:
            raise ZeroCoefficients(found)
    substitution = {var(system.graph, v): e for v, e in replaced.items()}

    def matrix(rows: Matrix) -> Matrix:
        return tuple(tuple(substitute(system.graph, row, substitution)) for row in rows)

    sets = tuple(replace(one, jacobian=matrix(one.jacobian)) for one in reduced.sets)
    watches = tuple(replace(one, jacobian=matrix(one.jacobian)) for one in reduced.watches)
    initial = tuple(replace(e, residual=_final(system, e.residual, substitution)) for e in system.initial_equations)
    relations = tuple(_relation(system, r, substitution) for r in system.relations)
    checks = tuple(_check(system, c, substitution) for c in system.checks)
    extras = tuple(_extras(system, substitution))
    events = system.events.rewritten(lambda e: _final(system, e, substitution))
    loops = Loops(system, blocks, reduced.equations, relations)
    try:
        check_rank(loops, sorter.rows, generic_points(system, sorter.numbers))
    except SingularModelError as error:
        rows = [sorter.rows[e] for e in error.equations] if zeros else []
        found = zero_parameters(system, [c for row in rows for c in row.values()], sorter.numbers)
        if found:
            raise ZeroCoefficients(found) from error
        raise
    return SortedSystem(
        _flat(system),
        tuple(reduced.equations),
        tuple(reduced.states),
        MappingProxyType(reduced.derivatives),
        tuple(blocks),
        MappingProxyType(replaced),
        sets,
        tuple(sorter.pivots),
        reduced.index,
        reduced.n_differentiated,
        MappingProxyType(reduced.reasons),
        tuple(reduced.redundant),
        initial,
        relations,
        checks,
        (*system.notes, *reduced.notes),
        extras,
        MappingProxyType(reduced.integrals),
        watches,
        events,
    )


def _flat(system: System) -> ScalarModel:
    """The flat model, final: from here on everybody else makes an overlay."""
    return ScalarModel(
        system.name,
        FinalGraph(system.graph),
        tuple(system.variables),
        tuple(system.equations),
        MappingProxyType(dict(system.derivative)),
        tuple(system.relations),
        tuple(system.functions),
        tuple(system.tables),
        tuple(system.refusals),
        MappingProxyType(dict(system.fixed_parameters)),
        system.digest,
        system.experiment,
    )


def _extras(system: System, substitution: dict[int, int]) -> list[Step]:
    """Discrete variables without memory of their own, in an order in which they can be computed."""
    waiting = {
        v: _final(system, variable.binding, substitution)
        for v, variable in enumerate(system.variables)
        if variable.kind == Kind.DISCRETE and variable.binding is not None
    }
    steps: list[Step] = []
    while waiting:
        ready = [v for v, e in waiting.items() if not (variables_of(system.graph, e) & waiting.keys() - {v})]
        if not ready:  # they depend on each other: left out
            return steps
        steps += [Step(v, -1, waiting.pop(v)) for v in ready]
    return steps


def _final(system: System, e: int, substitution: dict[int, int]) -> int:
    (expanded,) = expand_calls(system.graph, [e], system.functions)
    return substitute(system.graph, [expanded], substitution)[0]


def _relation(system: System, r: Relation, substitution: dict[int, int]) -> Relation:
    return replace(r, lhs=_final(system, r.lhs, substitution), rhs=_final(system, r.rhs, substitution))


def _check(system: System, c: Check, substitution: dict[int, int]) -> Check:
    return c.rewritten(lambda e: _final(system, e, substitution))


def _find(system: System, reduced: Reduced, name: str) -> int:
    for v, variable in enumerate(system.variables):
        if variable.name == name:
            root, _ = reduced.classes.find(v)
            return root
    raise UnknownNameError(f"tear={name!r}: the model has no variable of that name", hint="see model.variables")


def bind_parameters(system: System) -> None:
    """Replace constants by their numbers and dependent parameters by their bindings, everywhere."""
    g = system.graph
    leaf: dict[int, int] = {}
    state: dict[int, int] = {}  # 1: being resolved, 2: done
    bound = {
        v: variable.binding
        for v, variable in enumerate(system.variables)
        if variable.kind in (Kind.PARAMETER, Kind.CONSTANT) and variable.binding is not None
    }
    for variable in system.variables:
        missing = variable.binding is None and variable.start is None and not variable.initial
        if variable.kind == Kind.PARAMETER and missing:
            where = f" ({variable.span})" if variable.span else ""
            raise ModelError(
                f"the parameter {variable.name}{where} has no value",
                hint=f"give it one: parameter Real {variable.name.rpartition('.')[2]} = ...",
                span=variable.span,
                rule="4.4.4",
            )
    for first in bound:
        stack = [first]
        while stack:
            v = stack[-1]
            if state.get(v) == 2:
                stack.pop()
                continue
            needed = [w for w in sorted(variables_of(g, bound[v])) if w in bound and state.get(w) != 2]
            if not needed or state.get(v) == 1:
                if needed:
                    names = ", ".join(system.variables[w].name for w in needed)
                    raise ModelError(
                        f"the parameter {system.variables[v].name} depends on itself through {names}",
                        hint="give one of these parameters a number",
                    )
                (value,) = substitute(g, [bound[v]], leaf)
                variable = system.variables[v]
                system.variables[v] = variable = replace(variable, binding=value)
                if variables_of(g, value) or variable.kind == Kind.CONSTANT:
                    leaf[var(g, v)] = value
                state[v] = 2
                stack.pop()
            else:
                state[v] = 1
                stack.extend(needed)
    if leaf:
        _rewrite(system, leaf)


def _rewrite(system: System, leaf: dict[int, int]) -> None:
    g = system.graph
    memo: dict[int, int] = {}
    lists: tuple[list[Equation], ...] = (system.equations, system.initial_equations)

    def new(e: int) -> int:
        return substitute(g, [e], leaf, memo)[0]

    for equations in lists:
        residuals = substitute(g, [e.residual for e in equations], leaf, memo)
        equations[:] = [with_residual(one, residual) for one, residual in zip(equations, residuals, strict=True)]
    for k, one in enumerate(system.relations):
        lhs, rhs = substitute(g, [one.lhs, one.rhs], leaf, memo)
        system.relations[k] = replace(one, lhs=lhs, rhs=rhs)
    system.checks = [one.rewritten(new) for one in system.checks]
    system.events = system.events.rewritten(new)
    system.functions = [
        replace(
            one,
            outputs=tuple(map(new, one.outputs)),
            inverses=tuple(
                replace(
                    inverse,
                    value=new(inverse.value),
                    checks=tuple(check.rewritten(new) for check in inverse.checks),
                )
                for inverse in one.inverses
            ),
        )
        for one in system.functions
    ]
    system.variables[:] = [renewed(one, new, binding=one.kind == Kind.DISCRETE) for one in system.variables]
