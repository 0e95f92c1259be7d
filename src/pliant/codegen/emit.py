"""The functions of a model as C text: right side, Jacobians, outputs, relations, state sets, initial conditions.

The text depends on the model alone: no dates, no paths, sorted where order is free, so the same input gives the same
bytes and the compiler's cache works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pliant.codegen.ahead import Ahead
from pliant.codegen.arrays import SELECT, F, G, P, U, X, Y, given
from pliant.codegen.c_text import c_comment, c_place
from pliant.codegen.cfile import File
from pliant.codegen.delays import Delays
from pliant.codegen.described import moving_nominals, tangent_targets
from pliant.codegen.entries import split_entries
from pliant.codegen.function import FunctionWriter, ModelContext
from pliant.codegen.hybrid import hybrid_places, write_functions
from pliant.codegen.initial import InitialProblem, alias_starts, initial_problem
from pliant.codegen.messages import Messages
from pliant.codegen.pipes import PipeCode
from pliant.codegen.places import Argument, Array, Layout, Place, Source, ValueKind
from pliant.codegen.plan import FunctionPlan, PlanItem, Shared, Target, targets_of
from pliant.codegen.program import Newton, Program, Solve, Statement, build_program
from pliant.codegen.series import UnsupportedError
from pliant.codegen.starts import StartText
from pliant.codegen.tangent import Row, Tangent
from pliant.codegen.taylor import ORDER, TaylorProgram, TaylorWriter
from pliant.expr.build import collector_paused, neg, reachable, value_of, var, variables_of
from pliant.expr.evaluate import parameter_values
from pliant.foreign.calls import CSignature
from pliant.ir import FinalGraph, Kind, Op
from pliant.sorted_system import SortedSystem

MOST_LEAST = 24  # unknowns of a loop that is solved with least norm where it is singular (PL_LEAST_MAX)
LARGE = 150  # statements from which on derivatives do not compute the values themselves
LONG = 600  # items of a function that compilers should not ponder
HIDDEN = (
    "$set",
    "der($set",
    "$when",
    "$floor",
    "$text",
    "$past",
    "$clock",
    "der($clock",
    "$followed",
    "der($followed",
)  # variables that pliant made for itself


@dataclass(eq=False)
class Generated:
    """The C text of a model and what stands where in its vectors."""

    text: str
    program: Program
    initial: InitialProblem
    y: list[int]  # variables that `outputs` gives
    outputs: list[int]  # outputs of the whole model: expressions
    n_relations: int
    jacobian: list[tuple[int, int]]  # (row, column) of df/dx
    notes: list[str] = field(default_factory=list)
    form: str = "auto"
    has_taylor: bool = False  # Taylor coefficients of the solution are part of the text
    others: list[int] = field(default_factory=list)  # variables outside x that a start value may be given for
    dependents: list[int] = field(default_factory=list)  # parameters whose values a function of the text computes
    foreign: tuple[CSignature, ...] = ()  # external functions, in the order of their wrappers
    delay_times: list[int] = field(default_factory=list)  # T of delay(expr, T), where it is constant: expressions
    n_delays: int = 0
    n_pipes: int = 0
    delay_parameters: list[int] = field(default_factory=list)  # variables that the times of delays follow from


def generate(
    s: SortedSystem, form: str = "auto", taylor: bool = False, tangents: bool = False, dependents: bool = False
) -> Generated:
    """Write the C text of a sorted system.

    ``taylor``: with Taylor coefficients of its solution, where possible; ``tangents``: with derivatives of all
    variables and of the relations along any direction, that of parameters included; ``dependents``: with a function
    for the values of parameters that are computed from others.
    """
    with collector_paused():
        emitter = Emitter(s, form, taylor, tangents)
        emitter.has_dependents = dependents
        return emitter.run()


def _directions(*names: str) -> list[Argument]:
    """Arguments that say along what is differentiated."""
    return [Argument("dt", is_array=False), *(Argument(one, is_const=True) for one in names)]


class Emitter:
    """Writes the functions of one model."""

    def __init__(
        self,
        s: SortedSystem,
        form: str,
        taylor: bool = False,
        tangents: bool = False,
        layout: Layout | None = None,
    ) -> None:
        self.s, self.form = s, form
        self.layout = layout or Layout()
        self.has_taylor, self.has_tangents, self.has_dependents = taylor, tangents, False
        self.dependents: list[int] = []
        self.notes = list(s.notes)
        self.program = build_program(s, form)
        self.g, self.variables = self.program.graph, self.program.variables
        self.initial = initial_problem(self.program)
        self.tangent = Tangent(self.program)
        self.values = parameter_values(s.system)
        self.c = ModelContext(self.g, self.variables, self._places(), self.layout, comments=self._comments())
        offset = 0
        for k, block in enumerate(self.program.loops):
            self.c.loop_offset[k] = offset
            self.c.loop_size[k] = len(block.tears)
            offset += len(block.tears)
        self.n_tears = offset
        # what constraints determine has other branches, on which the solution must not end up: see shells.LOOPS
        watched = {v for one in s.sets for level in one.candidates for v in level}
        watched |= {v for one in s.watches for v in one.unknowns}
        for k, block in enumerate(self.program.loops):
            if not watched.isdisjoint(block.variables):
                self.c.of_sets.add(k)
            if not watched.union(s.integrals.values()).isdisjoint(block.variables):
                self.c.of_places.add(k)
        self.c.of_modes |= {
            one.loop
            for one in self.program.statements
            if isinstance(one, Solve) and one.loop not in self.c.of_sets and self._of_modes(one)
        }
        self.loops_of_sets: set[int] = set()
        self.alias_starts = {v: e if sign > 0 else neg(self.g, e) for v, (e, sign) in alias_starts(s).items()}
        self.after_values: set[str] = set()  # functions that expect all_values to have been called
        self.functions: list[str] = []
        self.kept_entries: list[Target] = []  # entries of Jacobians that set_parameters computes
        self.shared = Shared(self.g, self.variables)
        self.shared.find_copies(self.program.statements)
        self.shared.inverts = True
        self.shared.exact = frozenset(reachable(self.g, [one.expression for one in s.events.memories]))

        computed = [*self.program.computed, *(one.variable for one in s.events.memories)]
        self.y = [v for v in computed if not self.variables[v].name.startswith(HIDDEN)]
        self.outputs = [
            s.replaced.get(v, var(self.g, v)) for v, variable in enumerate(self.variables) if variable.is_output
        ]

    def _of_modes(self, loop: Solve) -> bool:
        """Events may make its matrix singular."""
        if not 1 < len(loop.targets) <= MOST_LEAST:
            return False
        nodes, variables = self.g.nodes, self.variables
        under = reachable(self.g, [e for row in loop.matrix for e in row])
        held = (Kind.DISCRETE, Kind.BEFORE)
        return any(
            nodes[i][0] == Op.REL or (nodes[i][0] == Op.VAR and variables[nodes[i][1]].kind in held) for i in under
        )

    def _places(self) -> dict[int, Source]:
        p = self.program
        places: dict[int, Source] = {v: X.at(i) for i, v in enumerate(p.x)}
        places |= {v: U.at(j) for j, v in enumerate(p.u)}
        places |= {v: P.at(k) for k, v in enumerate(p.p)}
        places |= hybrid_places(self)
        k = 0
        for state_set in self.s.sets:
            for row in state_set.coefficients:
                for v in row:
                    places[v] = SELECT.at(k)
                    k += 1
        return places

    def _comments(self) -> dict[int, str]:
        out: dict[int, str] = {}
        for block in self.s.blocks:
            for step in block.steps:
                span = self.s.equations[step.equation].span
                if span is not None:
                    out[step.variable] = c_comment(c_place(span))
        return out

    # ------------------------------------------------------------------ functions

    def plan(self, targets: Sequence[Sequence[Target]], more: Sequence[Statement] = ()) -> FunctionPlan:
        """What a function that gives these targets has to compute."""
        return FunctionPlan(self.shared, [*self.program.statements, *more], targets)

    def function(self, name: str, plan: FunctionPlan, extra: Sequence[Argument] = ()) -> None:
        """Write a function of the model."""
        self.functions.append(FunctionWriter(self.c, name, plan, extra).write())

    def _entries(self, rows: Sequence[Row], columns: Sequence[int]) -> list[tuple[int, int, int]]:
        """(row, column, expression), by columns, rows ascending."""
        place = {v: j for j, v in enumerate(columns)}
        found = [(i, place[v], e) for i, row in enumerate(rows) for v, e in row.items() if v in place]
        return sorted(found, key=lambda one: (one[1], one[0]))

    def run(self) -> Generated:
        """Everything, in the order of the file."""
        p = self.program
        plan = self.plan([[(F.at(i), e) for i, e in enumerate(p.f)]])
        self.loops_of_f = {one.loop for one in plan.needed if isinstance(one, Solve | Newton)}
        self.function("rhs", plan, [Argument("f")])
        jac = self.tangent.jacobian(p.f, p.x)
        entries = self._entries(jac.rows, p.x)
        self._jacobian("jac_value", [e for _, _, e in entries], jac.statements)
        is_linear = self._is_constant([e for _, _, e in entries])
        entries_u: list[tuple[int, int, int]] = []
        if p.u:
            jac_u = self.tangent.jacobian(p.f, p.u)
            entries_u = self._entries(jac_u.rows, p.u)
            self._jacobian("jac_u_value", [e for _, _, e in entries_u], jac_u.statements)
            is_linear = is_linear and self._is_constant([e for _, _, e in entries_u])
        self._directional()
        self._values()
        self.ahead = Ahead(self)
        if self.s.relations:
            n = len(self.s.relations)
            targets = [(G.at(k), left) for k, (left, _) in enumerate(self.ahead.sides)]
            targets += [(G.at(n + k), right) for k, (_, right) in enumerate(self.ahead.sides)]
            self.function("relation_sides", self.plan([targets]), [Argument("g")])
        self.functions += self.ahead.functions()
        write_functions(self)
        self.delays = Delays(self)
        self.delays.write()
        self.pipes = PipeCode(self)
        self.pipes.write()
        self._sets()
        self._checks()
        if self.has_taylor:
            self._taylor()
        self._nominals()
        if self.has_tangents:
            self._tangents()
        if self.has_dependents:
            self._dependents()
        self.start = StartText(self)
        self.start.functions()
        self.file = File(self)
        text = self.file.text(entries, entries_u, is_linear)
        times, behind = self.delays.times(), self.delays.parameters()
        p.graph = FinalGraph(self.g)  # nothing is added after the text
        return Generated(
            text,
            p,
            self.initial,
            self.y,
            self.outputs,
            len(self.s.relations),
            [(i, j) for i, j, _ in entries],
            self.notes,
            self.form,
            self.has_taylor,
            self.start.others,
            self.dependents,
            tuple(self.c.foreign.functions),
            times,
            self.delays.n,
            self.pipes.n,
            behind,
        )

    def _is_constant(self, expressions: Sequence[int]) -> bool:
        self.shared.extend()
        return all(self.shared.fixed[e] for e in expressions)

    def _jacobian(self, name: str, expressions: Sequence[int], statements: Sequence[Statement]) -> None:
        entries = split_entries(self.shared, self.layout, name, expressions, self.kept_entries)
        if entries.numbers:
            self.functions.append(entries.numbers)
        self._after_values(name, [entries.targets], statements, [Argument("value")], entries.copies)

    def _directional(self) -> None:
        """df along a direction; ``dr``, ``dy``: the same for the conditions at the start and the model's outputs."""
        p = self.program
        conditions = [one.residual for one in self.initial.conditions]
        rates, statements = self._along(self.tangent, [*p.f, *conditions, *self.outputs], {"dx": p.x, "du": p.u})
        n, m = len(p.f), len(p.f) + len(conditions)
        df, dr, dy = given("df"), given("dr"), given("dy")
        groups = [
            [(df.at(i), e) for i, e in enumerate(rates[:n])],
            [(dr.at(i), e) for i, e in enumerate(rates[n:m])],
            [(dy.at(i), e) for i, e in enumerate(rates[m:])],
        ]
        extra = [*_directions("dx", "du"), *(Argument(one) for one in ("df", "dr", "dy"))]
        stops = [word for word, group in (("!dr", groups[1]), ("!dy", groups[2])) if group]
        self._after_values("directional", groups, statements, extra, stops=stops)

    def _along(
        self, tangent: Tangent, targets: Sequence[int], seeds: Mapping[str, Sequence[int]]
    ) -> tuple[list[int], list[Statement]]:
        """Derivatives along a direction that the function gets as arrays."""
        along: dict[int, int] = {}
        for name, members in seeds.items():
            array = given(name)
            for i, v in enumerate(members):
                along[v] = tangent.temporary(f"d.{self.variables[v].name}")
                self.c.places[along[v]] = array.at(i)
        clock = tangent.temporary("d.time")
        self.c.places[clock] = Array("dt").at()
        return tangent.directional(targets, lambda v: var(self.g, along[v]) if v in along else None, var(self.g, clock))

    def _tangents(self) -> None:
        """Derivatives of f, of the sides of relations and of all variables, by parameters, too."""
        p = self.program
        targets, places = tangent_targets(self)
        seeds = {"dx": p.x, "du": p.u, "dp": p.p}
        rates, statements = self._along(Tangent(p, with_parameters=True), targets, seeds)
        extra = [*_directions("dx", "du", "dp"), *(Argument(one) for one in ("df", "dg", "dy"))]
        context, plan = self._split_values("tangents", [list(zip(places, rates, strict=True))], statements)
        writer = FunctionWriter(context, "tangents", plan, extra, attribute="PL_ONCE")
        self.functions.append(writer.write())
        self.c.n_work = max(self.c.n_work, context.n_work)

    def _nominals(self) -> None:
        """Typical sizes of states that follow the parameters."""
        self.moving_nominals = moving_nominals(self)
        if self.moving_nominals:
            plan = FunctionPlan(self.shared, [], [self.moving_nominals], hoist=False)
            writer = FunctionWriter(self.c, "nominal_values", plan, [Argument("size")], attribute="PL_ONCE")
            self.functions.append(writer.write())

    def _dependents(self) -> None:
        """Parameters that are computed from others."""
        settable, variables = set(self.program.p), self.s.system.variables
        bindings = {v: one.binding for v, one in enumerate(variables) if one.kind == Kind.PARAMETER}
        targets: list[Target] = []
        for v, e in bindings.items():
            if e is None or v in settable or value_of(self.g, e) is not None:
                continue
            targets.append((given("value").at(len(self.dependents)), e))
            self.dependents.append(v)
        if targets:
            plan = FunctionPlan(self.shared, [], [targets], hoist=False)
            writer = FunctionWriter(self.c, "dependent_values", plan, [Argument("value")], attribute="PL_ONCE")
            self.functions.append(writer.write())

    def first_values(self, name: str) -> str:
        """C text that a function of derivatives begins with: the values that it expects to be there."""
        text = "    pl_status status = all_values(m, t, x, u);\n    if (status != PL_OK) return status;\n"
        return text if name in self.after_values else ""

    def _after_values(
        self,
        name: str,
        groups: Sequence[Sequence[Target]],
        statements: Sequence[Statement],
        extra: Sequence[Argument],
        copies: Sequence[tuple[Place, Place, int]] = (),
        stops: Sequence[str] = (),
    ) -> None:
        """A function of derivatives. Where it needs the values of many variables, all_values is called before."""
        context, plan = self._split_values(name, groups, statements)
        for item, condition in zip((item for item in plan.items if item.kind == "stop"), stops, strict=True):
            item.condition = condition
        plan.items += [PlanItem("copy", copy=one) for one in copies]
        attribute = "PL_COLD" if len(plan.items) > LONG else ""
        writer = FunctionWriter(context, name, plan, extra, attribute=attribute)
        self.functions.append(writer.write())
        self.c.n_work = max(self.c.n_work, context.n_work)

    def _split_values(
        self, name: str, groups: Sequence[Sequence[Target]], statements: Sequence[Statement]
    ) -> tuple[ModelContext, FunctionPlan]:
        """Plan of a function of derivatives, with or without the values themselves."""
        plan = FunctionPlan(self.shared, [*self.program.statements, *statements], groups)
        derived = {targets_of(one)[0] for one in statements}
        n_own = sum(targets_of(one)[0] not in derived for one in plan.needed)
        if n_own <= LARGE or self.s.sets:
            return self.c, plan
        self.after_values.add(name)
        kept = self.memory_places()
        return replace(self.c, places=self.c.places | kept), FunctionPlan(self.shared, statements, groups)

    def _taylor(self) -> None:
        """Taylor coefficients of the solution, or a note that says why there are none."""
        program = TaylorProgram(self.tangent, self.c.places)
        try:
            program.run(ORDER)
        except UnsupportedError as why:
            self.has_taylor = False
            self.notes.append(f"Taylor coefficients are left out: {why}")
            return
        self.c.loop_size |= {k: n for k, n in program.loop_size.items() if n > 1}
        context, plan = self._split_values("taylor", program.groups, program.statements)
        attribute = "PL_COLD" if len(plan.items) > LONG else ""
        self.functions.append(TaylorWriter(context, plan, attribute, program.n_loops).write())
        self.c.n_work = max(self.c.n_work, context.n_work)

    def _sets(self) -> None:
        """Constraint Jacobians and candidates of the state sets; Jacobians of constraints that are watched."""
        for k, one in enumerate(self.s.sets):
            jacobian: list[Target] = [(G.at(i), e) for i, e in enumerate(e for row in one.jacobian for e in row)]
            n = len(one.candidates[0])
            values: list[Target] = [
                (given("q").at(level * n + j), self.s.replaced.get(v, var(self.g, v)))
                for level, row in enumerate(one.candidates)
                for j, v in enumerate(row)
            ]
            plan = self.plan([jacobian + values])
            self.loops_of_sets |= {one.loop for one in plan.needed if isinstance(one, Solve | Newton)}
            self.function(f"set_{k}", plan, [Argument("g"), Argument("q")])
        for k, watch in enumerate(self.s.watches):
            pivots = [(G.at(i), e) for i, e in enumerate(e for row in watch.jacobian for e in row)]
            self.function(f"watch_{k}", self.plan([pivots]), [Argument("g")])

    def _checks(self) -> None:
        """Assertions of the model that depend on more than parameters."""
        self.shared.extend()
        wanted = [one for one in self.s.checks if one.is_error]
        self.warnings = [one for one in self.s.checks if not one.is_error]
        self.parameter_checks = [one for one in wanted if self.is_known_early(one.condition)]
        self.checks = [one for one in wanted if not self.is_known_early(one.condition)]
        if self.checks:
            holds = given("holds", ValueKind.INTEGER)
            targets = [(holds.at(k), one.condition) for k, one in enumerate(self.checks)]
            self.function("assertions", self.plan([targets]), [Argument("holds", ValueKind.INTEGER)])
        if self.warnings:
            holds = given("holds", ValueKind.INTEGER)
            targets = [(holds.at(k), one.condition) for k, one in enumerate(self.warnings)]
            self.function("warnings_hold", self.plan([targets]), [Argument("holds", ValueKind.INTEGER)])
        self.messages = Messages(self)
        self.messages.prepare()

    def is_known_early(self, e: int) -> bool:
        """It follows from parameters, none of which the start determines."""
        if not self.shared.fixed[e]:
            return False
        stack, seen = list(variables_of(self.g, e)), set[int]()
        while stack:
            v = stack.pop()
            if v in seen:
                continue
            seen.add(v)
            own = self.s.system.variables[v]
            if own.initial:
                return False
            if own.binding is not None:
                stack += variables_of(self.g, own.binding)
        return True

    def _values(self) -> None:
        """All variables, then the residuals of the conditions at the start."""
        if not self.y and not self.initial.conditions:
            return
        first = len(self.y)
        memory = self.memory_places()
        kept = [(Y.at(k), var(self.g, v)) for k, v in enumerate(self.y)]
        more = [(Y.at(first + k), one.residual) for k, one in enumerate(self.initial.conditions)]
        plan = self.plan([kept + more])
        plan.items = [item for item in plan.items if item.kind != "target" or not self._is_kept(item, memory)]
        self.functions.append(FunctionWriter(self.c, "all_values", plan, memory=memory, attribute="PL_COLD").write())

    def memory_places(self) -> dict[int, Place]:
        """Places of the variables that all_values computes; discrete ones have a place of their own."""
        discrete = {one.variable for one in self.s.events.memories}
        return {v: Y.at(k) for k, v in enumerate(self.y) if v not in discrete}

    def _is_kept(self, item: PlanItem, memory: dict[int, Place]) -> bool:
        """The value is in its place already."""
        node = self.g.nodes[item.roots[0]]
        return node[0] == Op.VAR and memory.get(node[1]) == item.place
