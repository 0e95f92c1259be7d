"""What is known of a model because its equations are: their order, where they stand, what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pliant.codegen.c_text import c_place
from pliant.codegen.emit import Generated
from pliant.codegen.program import Program
from pliant.expr.build import variables_of
from pliant.expr.evaluate import number_in
from pliant.expr.signed import signed_variable
from pliant.ir import Equation, Kind, Op, Span, Variable
from pliant.solve.models.feedthrough import direct_inputs, held_by
from pliant.solve.models.known import Known, Late, Names
from pliant.solve.models.time_relations import driven_by_time
from pliant.solve.names import is_hidden
from pliant.solve.results.result import VariableInfo, VariableKind, VariableType
from pliant.sorted_system import SortedSystem
from pliant.structure.diagnosis import describe_equation
from pliant.texts import joined


@dataclass(frozen=True, eq=False)
class Equations:
    """The equations of a model in one form, for code that is generated from them."""

    sorted: SortedSystem
    program: Program  # its statements in this form
    form: str
    text: str  # the C text that was made from them
    names: Names

    @classmethod
    def of(cls, generated: Generated, names: Names) -> Equations:
        """Those that a C text was made from."""
        return cls(generated.program.sorted, generated.program, generated.form, generated.text, names)

    def place_of(self, name: str) -> str:
        """The equation that a variable, or the derivative of a state, is computed from."""
        s, equation = self.sorted, self._equation_of(name)
        if equation is None:
            return ""
        told = describe_equation(s.system.graph, equation, lambda w: s.system.variables[w].name, relations=s.relations)
        return f"\n  from the equation  {told}"

    def line_of(self, name: str) -> str:
        """File and line of that equation."""
        equation = self._equation_of(name)
        if equation is None or equation.span is None:
            return ""
        return f" ({Path(equation.span.file).name}, line {equation.span.line})"

    def _equation_of(self, name: str) -> Equation | None:
        s = self.sorted
        variables = s.system.variables
        wanted = {name, f"der({name})"}
        for one in (name, f"der({name})"):
            wanted.add(self.names.aliases.get(one, ("", 1))[0])
        for block in s.blocks:
            for v, e in zip(block.variables, block.equations, strict=True):
                if variables[v].name not in wanted:
                    continue
                step = [one.equation for one in block.steps if one.variable == v]
                return s.equations[step[0] if step else e]
        return self._alias_equation(f"der({name})") or self._alias_equation(name)

    def _alias_equation(self, name: str) -> Equation | None:
        """The equation that made an alias of a variable: of those as written that contain it, the shortest."""
        system = self.sorted.system
        number = next((v for v, variable in enumerate(system.variables) if variable.name == name), None)
        sizes = [variables_of(system.graph, equation.residual) for equation in system.equations]
        found = [(len(known), k) for k, known in enumerate(sizes) if number in known]
        return system.equations[min(found)[1]] if found else None


def known_from(generated: Generated, names: Names, numbers: Mapping[int, float], has_past: bool) -> Known:
    """All that follows from equations; ``numbers``: values of the parameters as they are declared."""
    program = generated.program
    s = program.sorted
    errors = [one for one in s.checks if one.is_error]
    calls = any(node[0] == Op.FOREIGN for node in s.system.graph.nodes)
    return Known(
        names,
        Late(lambda: _variables(program, numbers)),
        types=Late(lambda: {one.name: _type(one) for one in s.system.variables if one.type != "real"}),
        outputs=tuple(one.name for one in s.system.variables if one.is_output),
        feedthrough=Late(lambda: direct_inputs(program)),
        held_by=Late(lambda: held_by(program)),
        choices=Late(lambda: _choices(s)),
        timed_roots=Late(lambda: {names.roots[k]: alone for k, alone in driven_by_time(program).items()}),
        form=generated.form,
        loops=tuple(block.kind for block in program.loops),
        has_memory=bool(s.events),
        has_past=has_past,
        has_checks=bool(errors) or any(one.is_index for one in s.events.actions),
        may_speak=calls or len(errors) < len(s.checks),
        assertions=Late(lambda: _assertions(s)),
    )


def _assertions(s: SortedSystem) -> dict[str, Span]:
    """Messages as the generated code has them (cfile.py, hybrid.py), and the places that they name in short."""
    found = [(one.words, one.span) for one in s.checks if one.is_error]
    found += [(one.words, one.span) for one in s.events.actions if one.kind == "fail"]
    placed = {str(joined(words, f" ({c_place(span)})")): span for words, span in found if span is not None}
    calls = (node[1] for node in s.system.graph.nodes if node[0] == Op.FOREIGN)
    return placed | {f"the external function {one.name}": one.span for one in calls if one.span is not None}


def names_from(generated: Generated, roots: tuple[str, ...]) -> Names:
    """Names in the order of the vectors of a generated model."""
    program = generated.program
    system = program.sorted.system
    variables, g = system.variables, system.graph
    aliases: dict[str, tuple[str, int]] = {}
    for v, e in program.sorted.replaced.items():
        root = signed_variable(g, e)
        if root is None or is_hidden(variables[v].name):
            continue
        if variables[root[0]].kind not in (Kind.PARAMETER, Kind.CONSTANT):
            aliases[variables[v].name] = (variables[root[0]].name, root[1])
    for v, e in program.sorted.derivatives.items():
        root, name = signed_variable(g, e), f"der({variables[v].name})"
        if root is not None and variables[root[0]].name != name and not is_hidden(name):
            aliases.setdefault(name, (variables[root[0]].name, root[1]))
    x = tuple(variables[v].name for v in program.x)
    return Names(
        x=x,
        u=tuple(variables[v].name for v in program.u),
        p=tuple(variables[v].name for v in program.p),
        y=tuple(variables[v].name for v in generated.y),
        roots=roots,
        algebraic=frozenset(x[program.n_states :]),
        aliases=aliases,
    )


def _choices(s: SortedSystem) -> dict[str, tuple[str, ...]]:
    variables = s.system.variables
    return {
        variables[slot].name: tuple(variables[v].name for v in candidates)
        for one in s.sets
        for candidates, slots in zip(one.candidates, one.slots, strict=True)
        for slot in slots
    }


def _type(variable: Variable) -> VariableType:
    return cast(VariableType, variable.type)


def _variables(program: Program, numbers: Mapping[int, float]) -> dict[str, VariableInfo]:
    """Everything known about each variable, by name."""
    states = set(program.x[: program.n_states])
    graph = program.sorted.system.graph

    def number(e: int | None) -> float | None:
        return None if e is None else number_in(program.sorted.system, graph, e, numbers)

    out: dict[str, VariableInfo] = {}
    for v, one in enumerate(program.sorted.system.variables):
        if one.kind in (Kind.SELECTION, Kind.BEFORE) or is_hidden(one.name):
            continue
        kind = _kind(one, v in states)
        out[one.name] = VariableInfo(
            one.name,
            kind=kind,
            unit=one.unit,
            description=one.description,
            start=numbers.get(v) if kind == "parameter" else number(one.start),
            nominal=number(one.nominal),
            min=number(one.min),
            max=number(one.max),
            span=one.span,
            type=_type(one),
            literals=one.literals,
        )
    return out


def _kind(variable: Variable, is_state: bool) -> VariableKind:
    kinds: dict[Kind, VariableKind] = {
        Kind.INPUT: "input",
        Kind.PARAMETER: "parameter",
        Kind.CONSTANT: "parameter",
        Kind.DISCRETE: "discrete",
        Kind.DERIVATIVE: "derivative",
    }
    if variable.kind in kinds:
        return kinds[variable.kind]
    if is_state:
        return "state"
    return "output" if variable.is_output else "algebraic"
