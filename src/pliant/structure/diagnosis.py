"""Words for what is wrong with the structure of a model: names, equations, source lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pliant.errors import SingularModelError
from pliant.expr.build import variables_of
from pliant.expr.text import text
from pliant.ir import Equation, Graph, Kind, Op, Relation, Span, Variable
from pliant.structure.dulmage import decompose

SHOWN = 8
_OWN_WORDS = ("derivative", "selection")  # made by pliant: the source says something else


def equation_text(
    g: Graph, residual: int, name: Callable[[int], str], limit: int = 120, relations: Sequence[Relation] = ()
) -> str:
    """An equation as pliant has it: ``a = b`` where the residual is a difference, else ``0 = residual``."""
    node = g.nodes[residual]
    if node[0] == Op.SUB:
        return f"{text(g, node[1], name, limit, relations)} = {text(g, node[2], name, limit, relations)}"
    return f"0 = {text(g, residual, name, limit, relations)}"


def describe_equation(
    g: Graph,
    equation: Equation,
    name: Callable[[int], str],
    limit: int = 120,
    needed: Sequence[str] = (),
    relations: Sequence[Relation] = (),
) -> str:
    """An equation in one line with its place: its words in the source, and what pliant made of them.

    Inside a component the source says ``v = R*i`` for every resistor. Where a name in ``needed`` does not stand in
    the source, the equation follows with full names.
    """
    span = equation.span
    if span is not None and span.text and equation.origin not in _OWN_WORDS:
        body = span.text
        if any(part not in body for part in needed):
            body += f"  [{equation_text(g, equation.residual, name, limit, relations)}]"
        elif equation.index:
            body += f"  [{', '.join(map(str, equation.index))}]"
    else:
        body = equation_text(g, equation.residual, name, limit, relations)
    if equation.origin not in ("equation", "source"):
        body += f"  ({equation.origin})"
    return f"{body}  {span}" if span is not None else body


def _list(items: Sequence[int], words: Callable[[int], str], indent: str = "    ") -> str:
    shown = "".join(f"\n{indent}{words(item)}" for item in items[:SHOWN])
    return shown + (f"\n{indent}... and {len(items) - SHOWN} more" if len(items) > SHOWN else "")


def _count(n: int, what: str) -> str:
    """
    >>> _count(1, "equation"), _count(0, "unknown"), _count(3, "equation")
    ('one equation', 'no unknown', '3 equations')
    """
    return f"{'no' if n == 0 else 'one' if n == 1 else n} {what}{'s' if n > 1 else ''}"


def _these(n: int, what: str) -> str:
    return f"these {n} {what}s" if n > 1 else f"this {what}"


class Describer:
    """Describes variables and equations of one model."""

    def __init__(
        self,
        g: Graph,
        variables: Sequence[Variable],
        equations: Sequence[Equation],
        relations: Sequence[Relation] = (),
    ) -> None:
        self.g, self.variables, self.equations, self.relations = g, variables, equations, relations

    def name(self, v: int) -> str:
        """Name of a variable."""
        return self.variables[v].name

    def variable(self, v: int) -> str:
        """Name and place of a variable."""
        variable = self.variables[v]
        return f"{variable.name}  {variable.span}" if variable.span else variable.name

    def equation(self, e: int) -> str:
        """An equation and its place."""
        inside = variables_of(self.g, self.equations[e].residual)
        needed = [self.name(v) for v in inside if self.variables[v].kind in (Kind.UNKNOWN, Kind.DERIVATIVE)]
        return describe_equation(self.g, self.equations[e], self.name, needed=needed, relations=self.relations)

    def singular(
        self, inc: Sequence[Sequence[int]], unknowns: Sequence[int], eq_to_var: list[int], var_to_eq: list[int]
    ) -> SingularModelError:
        """The error for a system without a perfect matching, explained by its Dulmage-Mendelsohn parts.

        ``inc`` and the matching count unknowns from 0; ``unknowns[i]`` is the variable number i.
        """
        parts = decompose(inc, len(unknowns), eq_to_var, var_to_eq)
        lines: list[str] = []
        if parts.over_equations:
            n, m = len(parts.over_equations), len(parts.over_variables)
            lines += [
                f"{_count(n - m, 'equation')} too many: {_these(n, 'equation')}"
                + _list(parts.over_equations, self.equation),
                f"{'contains' if n == 1 else 'contain'} {'only ' if m else ''}{_count(m, 'unknown')}"
                + _list([unknowns[i] for i in parts.over_variables], self.variable),
            ]
        if parts.under_variables:
            n, m = len(parts.under_variables), len(parts.under_equations)
            lines += [
                f"{_count(n - m, 'equation')} missing: {_these(n, 'unknown')}"
                + _list([unknowns[i] for i in parts.under_variables], self.variable),
                f"{'stands' if n == 1 else 'stand'} in {'only ' if m else ''}{_count(m, 'equation')}"
                + _list(parts.under_equations, self.equation),
            ]
        return SingularModelError(
            f"the model is structurally singular, {_count(len(inc), 'equation')} for {_count(len(unknowns), 'unknown')}"
            " after aliases\n  " + "\n  ".join(lines),
            hint=_hint(bool(parts.over_equations), bool(parts.under_variables)),
            span=self._first_place(parts.over_equations, [unknowns[i] for i in parts.under_variables]),
            rule="4.8",
        )

    def _first_place(self, equations: Sequence[int], variables: Sequence[int] = ()) -> Span | None:
        """The place of the first equation, or variable, that has one."""
        places = [self.equations[e].span for e in equations] + [self.variables[v].span for v in variables]
        return next((one for one in places if one is not None), None)

    def not_reducible(self, equations: Sequence[int]) -> SingularModelError:
        """Differentiating does not help: the equations depend on each other whatever is done."""
        return SingularModelError(
            f"the model is structurally singular: {_these(len(equations), 'equation')} cannot all be solved, however "
            "often they are differentiated: there are too few unknowns inside" + _list(equations, self.equation),
            hint="remove one of these equations, or let one of them contain another unknown",
            span=self._first_place(equations),
            rule="4.8",
        )

    def dependent(self, equations: Sequence[int], what: str) -> SingularModelError:
        """Equations that are dependent in numbers although their structure is fine."""
        error = SingularModelError(
            f"the model is singular: {what}" + _list(equations, self.equation),
            hint="replace one of these equations: it follows from the others",
        )
        error.equations = tuple(equations)
        return error


def _hint(too_many: bool, missing: bool) -> str:
    if too_many and missing:
        return "replace one of the equations listed first by one for the unknowns listed last"
    if too_many:
        return "remove one of these equations, or let one of them contain an unknown that is not listed"
    return "add an equation for one of these unknowns, or make it an input or a parameter"
