"""Index reduction: aliases, Pantelides, dummy derivatives, dynamic state sets, functions expanded.

In: flat equations with derivatives of any variable. Out: equations of index one, the states, and for every state an
expression of its derivative in the remaining unknowns.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from pliant.errors import NotSupportedError
from pliant.expr.build import add, const, mul, neg, sub, substitute, var
from pliant.expr.differentiate import TimeDerivative, gradient
from pliant.expr.evaluate import evaluate, expand_calls, number_in, parameter_values
from pliant.ir import Equation, Kind, StateSelect, System, Variable, with_residual
from pliant.sorted_system import PivotWatch, StateSet
from pliant.structure.aliases import AliasPass, Classes
from pliant.structure.apply import incidence
from pliant.structure.diagnosis import Describer
from pliant.structure.inverses import Inverses
from pliant.structure.matching import match
from pliant.structure.options import StructureOptions
from pliant.structure.pantelides import DerivativeGraph, SingularStructure, reduce_index
from pliant.structure.sets import Group, Matrix, Splitter, chains
from pliant.structure.signs import Signs
from pliant.structure.states import Level, RankDeficient, Rows, choose_dummies

SEED = 20130526  # generic points are random but the same in every run
UNKNOWN = (Kind.UNKNOWN, Kind.DERIVATIVE)
MAX_DEPTH = 20  # derivatives of one variable


@dataclass
class Reduced:
    """An index-1 system."""

    equations: list[Equation]
    states: list[int]
    derivatives: dict[int, int]
    classes: Classes
    sets: list[StateSet]
    index: int
    n_differentiated: int
    reasons: dict[int, str]
    redundant: list[Equation]
    integrals: dict[int, int]
    watches: list[PivotWatch] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Reduction:
    """The passes of index reduction over one system, which it extends in place (variables, graph)."""

    def __init__(self, system: System, options: StructureOptions) -> None:
        self.system = system
        self.options = options
        self.g = system.graph
        self.variables = system.variables
        self.equations = list(system.equations)
        self.classes = Classes()
        self.redundant: list[Equation] = []
        self.diff: dict[int, tuple[int, int]] = {v: (d, 1) for v, d in system.derivative.items()}
        self.notes: list[str] = []
        self.watches: list[PivotWatch] = []
        self.reasons: dict[int, str] = {}
        self._expanded: dict[int, int] = {}  # residuals with functions expanded, while states are chosen
        self._point: dict[int, float] = {}
        self.rate = TimeDerivative(self.g, system.functions, self._rate)

    def is_unknown(self, v: int) -> bool:
        """Continuous unknown of the equations, states and derivatives included."""
        return self.variables[v].kind in UNKNOWN

    # ------------------------------------------------------------------ aliases

    def eliminate_aliases(self, states: set[int] | None = None) -> None:
        """Aliases before (``states`` None) or after the choice of states."""
        run = AliasPass(self.g, self.variables, self.system.derivative, self.classes, states)
        if states is None:
            run.diff = dict(self.diff)
        self.equations = run.run(self.equations)
        self.redundant += run.redundant
        if states is None:
            self.diff = run.derivatives()

    # ------------------------------------------------------------------ Pantelides

    def reduce(self) -> DerivativeGraph:
        """Differentiate what must be differentiated."""
        inc = [self._incidence(e.residual) for e in self.equations]
        self._check_balance(inc)
        var_to_diff = [-1] * len(self.variables)
        for v, (d, _) in self.diff.items():
            var_to_diff[v] = d
        graph = DerivativeGraph(inc, var_to_diff, self._new_derivative, self._differentiate)
        try:
            reduce_index(graph)
        except SingularStructure as singular:
            raise self._singular(inc, singular) from None
        return graph

    def _check_balance(self, inc: list[list[int]]) -> None:
        """Every class of unknowns needs an equation somewhere; a plain mismatch is reported at once."""
        integral = {d: v for v, (d, _) in self.diff.items()}
        lowest: dict[int, int] = {}
        for row in inc:
            for v in row:
                root = v
                seen = {root}
                while root in integral and integral[root] not in seen:
                    root = integral[root]
                    seen.add(root)
                lowest[v] = root
        present = sorted(set(lowest.values()))
        present += self._unmentioned(set(present))
        number = {v: i for i, v in enumerate(present)}
        rows = [sorted({number[lowest[v]] for v in row}) for row in inc]
        eq_to_var, var_to_eq = match(rows, len(present))
        if -1 in eq_to_var or -1 in var_to_eq:
            raise Describer(self.g, self.variables, self.equations, self.system.relations).singular(
                rows, present, eq_to_var, var_to_eq
            )

    def _unmentioned(self, present: set[int]) -> list[int]:
        """Unknowns that stand in no equation at all."""
        gone = set(self.classes.eliminated())
        derived = {d for d, _ in self.diff.values()}
        mentioned = present | derived
        return [
            v
            for v, variable in enumerate(self.variables)
            if variable.kind == Kind.UNKNOWN and v not in mentioned and v not in gone
        ]

    def _singular(self, inc: list[list[int]], singular: SingularStructure) -> Exception:
        names = Describer(self.g, self.variables, self.equations, self.system.relations)
        originals = sorted({e for e in singular.equations if e < len(inc)})
        return names.not_reducible(originals or singular.equations)

    def _rate(self, v: int) -> int:
        variable = self.variables[v]
        if variable.kind == Kind.INPUT:
            raise NotSupportedError(
                f"the model needs the derivative of its input {variable.name}: a constraint on states contains it",
                hint=f"let {variable.name} pass a filter, der(s) = ({variable.name} - s)/T",
            )
        if variable.kind not in UNKNOWN:
            return const(self.g, 0.0)
        d, sign = self.diff[v]
        e = var(self.g, d)
        return e if sign > 0 else neg(self.g, e)

    def _new_derivative(self, v: int) -> int:
        base = self.variables[v]
        unit = f"{base.unit}/s" if base.unit else ""
        self.variables.append(Variable(f"der({base.name})", Kind.DERIVATIVE, unit=unit, span=base.span))
        self.diff[v] = (len(self.variables) - 1, 1)
        return len(self.variables) - 1

    def _differentiate(self, e: int) -> list[int]:
        equation = self.equations[e]
        residual = self.rate(equation.residual)
        self.equations.append(Equation(residual, equation.span, "derivative", equation.index))
        return self._incidence(residual)

    def _incidence(self, residual: int) -> list[int]:
        """Unknowns of an equation; arguments that a function only hands to its derivative do not count."""
        return incidence(self.g, residual, self.is_unknown, self.rate.under(residual))

    # ------------------------------------------------------------------ states

    def choose_states(self, graph: DerivativeGraph) -> tuple[list[Level], dict[int, int]]:
        """Levels of dummies, and derivative -> integral."""
        integral = {d: v for v, (d, _) in self.diff.items()}

        def coefficients(equations: Sequence[int], columns: Sequence[int]) -> Rows:
            return self._numbers(self._gradients(equations, columns))

        priority = self._priority(integral)
        # velocities and positions compete by themselves: wishes for both may not go together where functions with a
        # derivative of their own tie them (der(T) is written with w). Then fixed start values become conditions.
        wishes = (priority, lambda d: (priority(d)[0], *priority(d)[2:]), lambda d: priority(d)[2:])
        first: RankDeficient | None = None
        for wish in wishes:
            try:
                return choose_dummies(graph, integral, wish, coefficients), integral
            except RankDeficient as deficient:
                first = first or deficient
        assert first is not None
        names = Describer(self.g, self.variables, self.equations, self.system.relations)
        raise names.dependent(first.equations, "these constraints depend on others, in numbers though not in structure")

    def _priority(self, integral: dict[int, int]) -> Callable[[int], tuple[int, ...]]:
        """Sorts derivatives, those of the least wanted states first."""
        # a fixed start value of an alias counts as much as one of the representative itself
        fixed = {self.classes.find(v)[0] for v, variable in enumerate(self.variables) if variable.fixed}

        def priority(d: int) -> tuple[int, ...]:
            base = integral.get(d, d)
            variable = self.variables[base]
            depth, v = 0, d
            while v in integral and depth < MAX_DEPTH:
                v = integral[v]
                depth += 1
            # a constraint that was differentiated twice needs dummies that can be integrated twice; an unnamed
            # derivative makes a poorer state than a variable of the model
            return int(variable.state_select), int(base in fixed), -depth, int(variable.kind != Kind.DERIVATIVE)

        return priority

    def _gradients(self, equations: Sequence[int], columns: Collection[int]) -> Matrix:
        """Partial derivatives, functions expanded."""
        wanted = set(columns)
        rows: Matrix = {}
        for e in equations:
            if e not in self._expanded:
                self._expanded[e] = expand_calls(self.g, [self.equations[e].residual], self.system.functions)[0]
            rows[e] = gradient(self.g, self._expanded[e], wanted.__contains__)
        return rows

    def _numbers(self, rows: Matrix) -> Rows:
        """Values at a generic point; what is not defined there counts as 1."""
        self._known_point()
        found: Rows = {}
        for e, row in rows.items():
            numbers = evaluate(
                self.g,
                list(row.values()),
                self._point,
                0.37,
                self.system.functions,
                self.system.tables,
                self.system.relations,
            )
            found[e] = {v: 1.0 if math.isnan(x) else x for v, x in zip(row, numbers, strict=True)}
        return found

    def _generic_point(self) -> dict[int, float]:
        """Numbers near the start values, with nothing special about them."""
        chance = random.Random(SEED)
        values = parameter_values(self.system)
        for v, variable in enumerate(self.variables):
            if variable.kind in (Kind.PARAMETER, Kind.CONSTANT):
                continue
            start = 0.0
            if variable.start is not None:
                start = number_in(self.system, self.g, variable.start, values)
            values[v] = start + 0.1 * (1.0 + abs(start)) * (0.5 + chance.random())
        return values

    def find_sets(self, graph: DerivativeGraph, levels: list[Level], integral: dict[int, int]) -> list[StateSet]:
        """Dynamic state sets where no pivot decides for ever; the levels' dummies are brought up to date."""
        signs = Signs(self.g, parameter_values(self.system))
        splitter = Splitter(
            self.g, self.variables, integral, signs, self._gradients, self._numbers, self._priority(integral)
        )
        splits = splitter.run(graph, levels)
        below: set[tuple[int, ...]] = set()
        for level, split in zip(reversed(levels), reversed(splits), strict=True):
            level.dummies = split.dummies
            static = [group for group in split.groups if not group.has_choice]
            for group in static:
                if tuple(sorted(integral[d] for d in group.dummies)) not in below:  # else it has the same pivots
                    self._note_static(group, integral)
            below = {tuple(group.dummies) for group in static}
        return [self._make_set(chain, splitter.jacobian(chain[0]), integral) for chain in chains(splits, integral)]

    def _note_static(self, group: Group, integral: dict[int, int]) -> None:
        zero = const(self.g, 0.0)
        self.watches.append(
            PivotWatch(
                tuple(integral[d] for d in group.dummies),
                tuple(tuple(group.matrix[e].get(d, zero) for d in group.dummies) for e in group.equations),
                tuple(self.equations[e].span for e in group.equations),
            )
        )
        names = ", ".join(self.variables[d].name for d in group.dummies[:5])
        self.notes.append(
            f"the choice of states is fixed although the {len(group.equations)} constraints for {names} may become "
            "singular"
        )

    def _make_set(self, chain: list[Group], jacobian: list[list[int]], integral: dict[int, int]) -> StateSet:
        """A set from its groups, lowest level first: candidates are the integrals of the derivatives that compete."""
        g, n, m = self.g, len(chain[0].columns), len(chain[0].equations)
        levels = [[integral[d] for d in chain[0].columns]]
        for group in chain[1:]:  # in the order of the level below
            derivative = {integral[d]: d for d in group.columns}
            levels.append([integral[derivative[self.diff[q][0]]] for q in levels[-1]])
        number = 1 + sum(1 for v in self.variables if v.kind == Kind.SELECTION and v.name.endswith("A[1,1]"))
        prefix = f"$set{number}"
        coefficients = [
            [self._new(f"{prefix}.A[{k + 1},{j + 1}]", Kind.SELECTION) for j in range(n)] for k in range(n - m)
        ]
        slots: list[list[int]] = []
        for level, members in enumerate(levels):
            slots.append([self._new(f"{prefix}.x{level}[{k + 1}]", Kind.UNKNOWN) for k in range(n - m)])
            for k, s in enumerate(slots[level]):
                rate = self._new(f"der({self.variables[s].name})", Kind.DERIVATIVE)
                here = self._combine(coefficients[k], [var(g, q) for q in members])
                self.equations.append(Equation(sub(g, here, var(g, s)), None, "selection"))
                above = self._combine(coefficients[k], [self._rate(q) for q in members])
                self.equations.append(Equation(sub(g, var(g, rate), above), None, "selection"))
                self.diff[s] = (rate, 1)
        return StateSet(*(tuple(map(tuple, rows)) for rows in (levels, slots, coefficients, jacobian)))

    def _new(self, name: str, kind: Kind) -> int:
        self.variables.append(Variable(name, kind))
        return len(self.variables) - 1

    def _combine(self, coefficients: list[int], terms: list[int]) -> int:
        total = const(self.g, 0.0)
        for a, q in zip(coefficients, terms, strict=True):
            total = add(self.g, total, mul(self.g, var(self.g, a), q))
        return total

    # ------------------------------------------------------------------ all of it

    def run(self) -> Reduced:
        """Passes in their order."""
        n_before = len(self.equations)
        if self.options.aliases:
            self.eliminate_aliases()
        graph = self.reduce()
        n_original = graph.n_original
        levels, integral = self.choose_states(graph)
        sets = self.find_sets(graph, levels, integral)
        in_set = {q for s in sets for level in s.candidates for q in level}
        dummies = {d for level in levels for d in level.dummies}
        states = [
            v
            for v, (d, _) in sorted(self.diff.items())
            if d not in dummies and v not in in_set and v not in self.classes.parent and v not in self.classes.value
        ]
        self._explain(states, levels, integral, in_set)
        rates = {v: self._rate(v) for v in states}
        self._expand_functions(set(states))
        if self.options.aliases:
            self.eliminate_aliases(set(states))
            self._rename_explicit()
        leaf = {var(self.g, v): self.classes.expression(self.g, v) for v in self.classes.eliminated()}
        derivatives = dict(zip(rates, substitute(self.g, list(rates.values()), leaf), strict=True))
        times = max((graph.original(e)[1] for e in range(len(graph.inc))), default=0)
        has_algebraic = len(self.equations) > len(states) or n_before > len(states)
        return Reduced(
            self.equations,
            states,
            derivatives,
            self.classes,
            sets,
            index=times + 1 if times else int(has_algebraic),
            n_differentiated=len(graph.inc) - n_original,
            reasons=self.reasons,
            redundant=self.redundant,
            integrals=integral,
            watches=self.watches,
            notes=self.notes,
        )

    def _expand_functions(self, states: set[int]) -> None:
        if self.system.functions:
            self._solve_by_inverses(states)
            new = expand_calls(self.g, [e.residual for e in self.equations], self.system.functions)
            self.equations = [with_residual(one, residual) for one, residual in zip(self.equations, new, strict=True)]

    def _solve_by_inverses(self, states: set[int]) -> None:
        """Forms that inverses of functions give, before the calls are gone."""
        inverses = Inverses(self.system, self._known_point, self.notes.append)
        if not inverses.has_any:
            return
        for e, equation in enumerate(self.equations):
            unknowns = incidence(self.g, equation.residual, lambda v: self.is_unknown(v) and v not in states)
            forms = inverses.explicit(equation, unknowns)
            if forms:
                self.equations[e] = replace(equation, explicit=forms)

    def _known_point(self) -> dict[int, float]:
        if not self._point:
            self._point = self._generic_point()
        return self._point

    def _rename_explicit(self) -> None:
        """Aliases in the forms that inverses give."""
        leaf = {var(self.g, v): self.classes.expression(self.g, v) for v in self.classes.eliminated()}
        memo: dict[int, int] = {}

        def new(e: int) -> int:
            return substitute(self.g, [e], leaf, memo)[0]

        for e, equation in enumerate(self.equations):
            forms = []
            for one in equation.explicit:
                root, sign = self.classes.find(one.variable)
                if root not in self.classes.value:
                    form = one.rewritten(new)
                    value = form.expression if sign > 0 else neg(self.g, form.expression)
                    forms.append(replace(form, variable=root, expression=value))
            if equation.explicit:
                self.equations[e] = replace(equation, explicit=tuple(forms))

    def _explain(self, states: list[int], levels: list[Level], integral: dict[int, int], in_set: set[int]) -> None:
        """One sentence for every variable that is a state or could have been one."""
        for v in states:
            select = self.variables[v].state_select
            wish = f"stateSelect = {select.name.lower()}" if select != StateSelect.DEFAULT else ""
            if self.variables[v].name.startswith("$set"):
                wish = "slot of a state set: a combination of its candidates, chosen again when it becomes singular"
            if self.variables[v].name.startswith("$followed"):
                wish = "the integral of what delay or spatialDistribution keeps, which steps must follow"
            self.reasons[v] = wish or "its derivative appears and no constraint determines it"
        for level in levels:
            for d in level.dummies:
                if d not in integral:
                    continue
                v = integral[d]
                self.reasons[v] = "not a state: a constraint determines it from other states"
                if self.variables[v].state_select == StateSelect.ALWAYS:
                    self.notes.append(
                        f"{self.variables[v].name} has stateSelect = always, but a constraint determines it"
                    )
        for v in in_set:
            self.reasons[v] = "candidate of a dynamic state set"
        for v in states:
            if self.variables[v].state_select == StateSelect.NEVER:
                self.notes.append(
                    f"{self.variables[v].name} has stateSelect = never, but no other state can replace it"
                )
