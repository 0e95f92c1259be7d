"""One function of the model as C text: parts, local names, crossing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pliant.codegen.arrays import (
    COMMON,
    CONSTANTS,
    DET_GUESS,
    DET_Z,
    DET_ZZ,
    RESCUES,
    RUNNING,
    T_GUESS,
    TEAR_GUESS,
    TIME,
    WORK,
    ZZ,
    R,
    Z,
    loop_matrix,
    loop_pivots,
)
from pliant.codegen.cprint import Printer
from pliant.codegen.foreign import ForeignTable
from pliant.codegen.names import Identifiers
from pliant.codegen.order import order_on_demand
from pliant.codegen.places import Argument, Array, Layout, Owner, Place, Source, ValueKind
from pliant.codegen.plan import INLINE_SYSTEM, PART, FunctionPlan, Key, PlanItem
from pliant.codegen.program import Assign, Columns, Newton, Solve
from pliant.codegen.routines import RoutineTable
from pliant.expr.build import const, div, value_of
from pliant.ir import Graph, Op, Variable

SMALL = 20  # items of a small function
WHOLE = 800  # items up to which the right side, called most often, stays in one piece
SMALLEST_DIVISOR = 1e-290  # of a number: the inverse of a smaller one may overflow
LOOP_ARGUMENTS = (
    *COMMON[1:],
    Argument("z", is_const=True),
    Argument("r"),
    Argument("a"),
)
LARGEST_SYSTEM = 8  # unknowns up to which a linear system is solved without loops


@dataclass(eq=False)
class ModelContext:
    """What all functions of one model share."""

    g: Graph
    variables: Sequence[Variable]
    places: dict[int, Source]  # variable -> where its value lives
    layout: Layout
    foreign: ForeignTable = field(default_factory=ForeignTable)
    routines: RoutineTable = field(default_factory=RoutineTable)
    identifiers: Identifiers = field(default_factory=Identifiers)
    constants: dict[int, int] = field(default_factory=dict)  # node -> place in m->c
    n_names: int = 0
    n_work: int = 0  # largest number of crossing values
    loop_offset: dict[int, int] = field(default_factory=dict)  # loop -> place of its tears in m->z
    loop_size: dict[int, int] = field(default_factory=dict)
    comments: Mapping[int, str] = field(default_factory=dict)  # variable -> its equation, for readers
    of_sets: set[int] = field(default_factory=set)  # loops with unknowns that constraints determine
    of_places: set[int] = field(
        default_factory=set
    )  # those, and others with unknowns whose derivatives are unknowns, too
    of_modes: set[int] = field(default_factory=set)  # linear loops whose matrix depends on what only events change
    systems: set[int] = field(default_factory=set)  # sizes of linear systems that are solved by functions of their own

    def numbered(self) -> int:
        """A new number for names that are local to a function."""
        self.n_names += 1
        return self.n_names

    def constant(self, node: int) -> str:
        """An expression of parameters."""
        return self.layout.place(CONSTANTS.at(self.constants.setdefault(node, len(self.constants))))

    def inverse(self, node: int) -> str | None:
        """The inverse of a constant of the simulation; None for numbers that have none."""
        value = value_of(self.g, node)
        if value is None:
            return self.constant(div(self.g, const(self.g, 1.0), node))
        if abs(value) < SMALLEST_DIVISOR:
            return None
        text = self.layout.literal(1.0 / value)
        return text if value > 0.0 else f"({text})"

    def _small(self, what: str, k: int) -> str:
        if k > LARGEST_SYSTEM:
            return f"pl_small_{what}({k}, "
        self.systems.add(k)
        return f"pl_{what}_{k}("

    def factor(self, k: int, a: str, pivot: str) -> str:
        """Call that factorises a k x k matrix; it gives 0 where all went well."""
        return f"{self._small('factor', k)}{a}, {pivot})"

    def solve(self, k: int, a: str, pivot: str, n: int, b: str, loop: int = -1) -> str:
        """Call that solves for n right sides with the factors."""
        if loop in self.of_modes:
            return f"pl_least_solve({k}, {a}, {pivot}, {n}, {b})"
        return f"{self._small('solve', k)}{a}, {pivot}, {n}, {b})"

    def system(self, k: int, a: str, pivot: str, b: str, loop: int) -> str:
        """Call that does both for one right side; it gives 0 where all went well."""
        if loop in self.of_modes:
            return f"pl_least_system({k}, {a}, {pivot}, {b})"
        return f"{self._small('system', k)}{a}, {pivot}, {b})"


class FunctionWriter:
    """Writes the parts of one function, then the function that calls them."""

    stops_all = True  # a part that returns early says so with PL_OK: the function that calls it has to look again

    def __init__(
        self,
        context: ModelContext,
        name: str,
        plan: FunctionPlan,
        extra: Sequence[Argument] = (),
        memory: Mapping[int, Place] | None = None,
        attribute: str = "",
    ) -> None:
        """``extra``: arguments besides those that all functions have; ``memory``: variables whose values are kept
        somewhere in any case; ``attribute``: of the C functions."""
        # small functions are better inlined, in large regular ones packing pays
        scalar = name == "rhs" and SMALL < len(plan.items) <= WHOLE
        self.attribute = attribute + " " if attribute else "PL_SCALAR " if scalar else ""
        self.slots: dict[Key, Place] = {("v", v): place for v, place in (memory or {}).items()}
        self.c, self.layout = context, context.layout
        self.real = context.layout.type(ValueKind.REAL)
        self.name = name
        self.plan = plan
        self.arguments = (*COMMON, *extra)
        self.parts = self._split()
        self.part_of: dict[Key, int] = {}
        self.temp_number: dict[int, int] = {}
        self.read = {key for item in self.plan.items for key in self.plan.reads(item)}
        self._find_crossings()

    def _split(self) -> list[list[PlanItem]]:
        items = self.plan.items = order_on_demand(self.plan)
        if len(items) <= (WHOLE if self.name == "rhs" else 2 * PART):
            return [items]
        return [items[k : k + PART] for k in range(0, len(items), PART)]

    def _find_crossings(self) -> None:
        for k, part in enumerate(self.parts):
            for item in part:
                for key in item.defines:
                    self.part_of[key] = k
                    if key[0] == "n":
                        self.temp_number[key[1]] = len(self.temp_number) + 1
        crossing: set[Key] = set()
        if len(self.parts) > 1:
            for k, part in enumerate(self.parts):
                for item in part:
                    others = {key for key in self.plan.reads(item) if self.part_of.get(key, k) != k}
                    crossing |= {key for key in others if key[0] != "e"}
        for part in self.parts:
            for item in part:
                if item.inner is not None:
                    own = {key for i in item.inner.items for key in i.defines} | set(item.defines)
                    for i in item.inner.items:
                        crossing |= {key for key in item.inner.reads(i) if key in self.part_of and key not in own}
        order = {key: k for k, key in enumerate(self.part_of)}
        n_work = 0
        for key in sorted(crossing, key=order.__getitem__):
            if key not in self.slots:
                self.slots[key] = WORK.at(n_work)
                n_work += 1
        self.c.n_work = max(self.c.n_work, n_work)

    # ------------------------------------------------------------------ names

    def reference(self, key: Key, inner: Mapping[Key, Place] | None = None) -> str:
        """C text of a value."""
        if inner is not None and key in inner:
            return self.layout.place(inner[key])
        if key in self.slots:
            return self.layout.place(self.slots[key])
        kind, number = key
        if kind == "n":
            return f"_t{self.temp_number[number]}"
        return self.c.identifiers.of(number, self.c.variables[number].name)

    def printer(self, plan: FunctionPlan, inner: Mapping[Key, Place] | None = None, skip: int = -1) -> Printer:
        """A printer that knows the names; node ``skip`` is written out although it has a name."""
        nodes = self.c.g.nodes

        def atom(i: int) -> str | None:
            node = nodes[i]
            if node[0] == Op.VAR:
                return self.reference(("v", node[1]), inner)
            if i != skip:
                key = plan.named.get(i) or plan.outer.get(i)
                if key is not None:
                    return self.reference(key, inner)
            if node[0] > Op.ARG and plan.is_fixed(i):
                return self.c.constant(i)
            return None

        def inverse(i: int) -> str | None:
            return self.c.inverse(nodes[i][2]) if plan.is_product(i) else None

        return Printer(self.c.g, self.layout, atom, inverse, self.c.foreign.number, self.c.routines.name)

    def _declaration(self, key: Key) -> str:
        """Left side of a definition."""
        return self.reference(key) if key in self.slots else f"const {self.real} {self.reference(key)}"

    def _leaves(self, plan: FunctionPlan, item: PlanItem, defined: set[Key]) -> list[str]:
        """Declarations of the states, inputs and parameters that an item is the first to read."""
        used: set[int] = set()
        for key in plan.reads(item):
            if key[0] == "v" and key not in defined and key not in self.slots and key[1] in self.c.places:
                used.add(key[1])
                defined.add(key)
        if not used:
            return []
        return [
            f"    const {self.real} {self.c.identifiers.of(v, self.c.variables[v].name)} = "
            f"{self.layout.source(self.c.places[v])};"
            for v in sorted(used, key=self._home)
        ]

    def _home(self, v: int) -> tuple[str, int]:
        """Array by array."""
        source = self.c.places[v]
        return (source.array.label if isinstance(source, Place) else "", v)

    # ------------------------------------------------------------------ text

    def write(self) -> str:
        """All C functions, the one that is called last."""
        out: list[str] = []
        single = len(self.parts) == 1
        for k, part in enumerate(self.parts):
            for item in part:
                if item.inner is not None:
                    out.append(self._loop_function(item))
            out.append(self._part(self.name if single else f"{self.name}_{k + 1}", part, "" if single else "PL_PART "))
        if not single:
            calls, call = [], self.layout.passed(*(one.name for one in self.arguments))
            for k, part in enumerate(self.parts):
                calls.append(f"    status = {self.name}_{k + 1}({call});\n    if (status != PL_OK) return status;")
                if self.stops_all:  # nor are the parts after it wanted
                    calls += [f"    if ({item.condition}) return PL_OK;" for item in part if item.kind == "stop"]
            out.append(
                f"static pl_status {self.name}({self.layout.declared(self.arguments)}) {{\n    pl_status status;\n"
                + "\n".join(calls)
                + "\n    return PL_OK;\n}\n"
            )
        return "\n".join(out)

    def _part(self, name: str, items: Sequence[PlanItem], attribute: str) -> str:
        defined = {key for item in items for key in item.defines}
        head = f"static {attribute}{self.attribute}pl_status {name}({self.layout.declared(self.arguments)}) {{"
        lines = [head, f"    {self.layout.unused(self.arguments)}"]
        for item in items:
            lines += self._leaves(self.plan, item, defined)
            lines += self._item(item)
        lines += ["    return PL_OK;", "}", ""]
        return "\n".join(lines)

    def _item(self, item: PlanItem) -> list[str]:
        statement = item.statement
        if item.kind == "stop":
            return [f"    if ({item.condition}) return PL_OK;"]
        if item.copy is not None:
            return [f"    {self.layout.copied(*item.copy)}"]
        if item.kind == "call":
            return self._call(item, self.plan)
        if item.kind == "temp":
            key = item.defines[0]
            return [f"    {self._declaration(key)} = {self.printer(self.plan, skip=key[1]).text(item.roots[0])};"]
        if item.place is not None:
            return [f"    {self.layout.place(item.place)} = {self.printer(self.plan).text(item.roots[0])};"]
        if isinstance(statement, Assign):
            key = item.defines[0]
            root = item.roots[0]
            skip = root if self.plan.named.get(root) == key else -1
            comment = self.c.comments.get(statement.target, "")
            text = f"    {self._declaration(key)} = {self.printer(self.plan, skip=skip).text(root)};"
            return [f"{text} /* {comment} */" if comment else text]
        if isinstance(statement, Solve):
            return self._solve(statement)
        if isinstance(statement, Columns):
            return self._columns(statement)
        if isinstance(statement, Newton):
            return self._newton(statement)
        raise AssertionError(item.kind)

    def _call(self, item: PlanItem, plan: FunctionPlan, inner: Mapping[Key, Place] | None = None) -> list[str]:
        """A call of a routine, and the outputs that are read."""
        nodes = [self.c.g.nodes[i] for _, i in item.defines]
        names = [self.c.routines.name(node[1], node[2]) for node in nodes]
        values = f"_y{self.c.numbered()}"
        lines = [
            f"    {self.real} {values}[{len(nodes[0][1].outputs)}];",
            f"    {names[0]}({self.printer(plan, inner).given(nodes[0])}, {values});",
        ]
        for key, node in zip(item.defines, nodes, strict=True):
            name = self._declaration(key) if inner is None else f"const {self.real} {self.layout.place(inner[key])}"
            lines.append(f"    {name} = {values}[{node[2]}];")
        return lines

    def _fill(self, target: Array, entries: Sequence[int]) -> list[str]:
        printer, at = self.printer(self.plan), self.layout.place
        return [f"    {at(target.at(k))} = {printer.text(e)};" for k, e in enumerate(entries)]

    def _local(self, array: Array, size: int) -> str:
        """Declaration of an array of the function."""
        return f"    {self.layout.type(array.kind)} {array.name}[{size}];"

    def _singular(self, loop: int) -> str:
        return f"return loop_singular({self.layout.passed('m', str(loop))});"

    def _solve(self, s: Solve) -> list[str]:
        loop, k = s.loop, len(s.targets)
        printer, given = self.printer(self.plan), self.layout.array
        if k == 1:
            key: Key = ("v", s.targets[0])
            return [
                f"    const {self.real} _pivot{loop} = {printer.text(s.matrix[0][0])};",
                f"    if (!(fabs(_pivot{loop}) > 0.0)) {self._singular(loop)}",
                *self._keeps(loop, f"_pivot{loop}"),
                f"    {self._declaration(key)} = ({printer.text(s.right[0])}) / _pivot{loop};",
            ]
        if k > INLINE_SYSTEM:  # the entries are there already, the right side behind the matrix
            a, v = loop_matrix(loop), loop_pivots(loop)
            b = self.layout.pointer(a.at(k * k))
            lines = [f"    if ({self.c.system(k, given(a), given(v), b, loop)}) {self._singular(loop)}"]
            lines += self._keeps(loop, f"pl_determinant({k}, {given(a)}, {given(v)})")
            return lines + self._results(s.targets, a, k * k)
        a, v = self._factors(loop, k)
        right = Array(f"_b{loop}")
        lines = [] if a.owner == Owner.INSTANCE else [self._local(a, k * k + 2 * k), self._local(v, k)]
        lines += self._fill(a, [e for row in s.matrix for e in row])
        lines += [self._local(right, k), *self._fill(right, s.right)]
        lines.append(f"    if ({self.c.system(k, given(a), given(v), right.name, loop)}) {self._singular(loop)}")
        lines += self._keeps(loop, f"pl_determinant({k}, {given(a)}, {given(v)})")
        return lines + self._results(s.targets, right)

    def _keeps(self, loop: int, determinant: str) -> list[str]:
        """A linear loop of a state set must not come near a singular point within one step."""
        if loop not in self.c.of_sets or self.name != "rhs":
            return []
        at = self.layout.place
        now, guess, time = at(DET_Z.at(loop)), at(DET_GUESS.at(loop)), at(TIME.at())
        return [
            f"    {now} = {determinant};",
            f"    if ({time} == {at(T_GUESS.at())}) {guess} = {now};",
            f"    if (pl_passes_zero({now}, {guess}, PL_SET_SHARE)) {self._singular(loop)}",
        ]

    def _columns(self, s: Columns) -> list[str]:
        loop, k, n = s.loop, len(s.targets), len(s.right[0])
        lines: list[str] = []
        a, v = (loop_matrix(loop), loop_pivots(loop)) if s.is_newton else self._factors(loop, k)
        right, given = Array(f"_d{loop}"), self.layout.array
        if s.is_newton:
            lines += self._fill(a, [e for row in s.matrix for e in row])
            lines.append(f"    if ({self.c.factor(k, given(a), given(v))}) {self._singular(loop)}")
        lines += [self._local(right, k * n), *self._fill(right, [e for row in s.right for e in row])]
        lines.append(f"    {self.c.solve(k, given(a), given(v), n, right.name, -1 if s.is_newton else loop)};")
        return lines + self._results([target for row in s.targets for target in row], right)

    def _factors(self, loop: int, k: int) -> tuple[Array, Array]:
        """Where the factors of a linear loop are kept: in the function if it is whole and they are few."""
        own = {item.statement.loop for item in self.plan.items if isinstance(item.statement, Solve)}
        if k <= INLINE_SYSTEM and len(self.parts) == 1 and loop in own and self.name != "all_values":
            return Array(f"_A{loop}"), Array(f"_v{loop}", kind=ValueKind.INTEGER)
        return loop_matrix(loop), loop_pivots(loop)

    def _results(self, targets: Sequence[int], array: Array, first: int = 0) -> list[str]:
        """Declarations of the values that are read."""
        keys: list[Key] = [("v", v) for v in targets]
        return [
            f"    {self._declaration(key)} = {self.layout.place(array.at(first + i))};"
            for i, key in enumerate(keys)
            if key in self.read or key in self.slots
        ]

    def _newton(self, s: Newton) -> list[str]:
        loop, k = s.loop, len(s.targets)
        offset = self.c.loop_offset[loop]
        is_f = self.name == "rhs"  # outputs and roots leave no trace in the next step
        at, given, array = self.layout.place, self.layout.array, Z if is_f else ZZ
        z, time = self.layout.pointer(array.at(offset)), at(TIME.at())
        det, det_guess = at((DET_Z if is_f else DET_ZZ).at(loop)), at(DET_GUESS.at(loop))
        share = "PL_SET_SHARE" if loop in self.c.of_sets and is_f else "0.0"
        guess = self.layout.copied(array.at(offset), TEAR_GUESS.at(offset), k)
        if loop in self.c.of_sets:
            guess = f"loop_predicted({self.layout.passed('m', time, str(offset), str(k), z)});"
        here = f"{time} == {at(T_GUESS.at())}"
        room = ", ".join(given(one) for one in (R, loop_matrix(loop), loop_pivots(loop)))
        failed, rescues = self.layout.passed("m", str(loop), f"_failed{loop}"), at(RESCUES.at())
        allowed = f"{rescues} && !{at(RUNNING.at())}" if loop in self.c.of_places else rescues
        lines = [
            f"    {guess}",
            f"    {det} = {here} ? 0.0 : {det_guess};",
            f"    int _failed{loop} = pl_newton({self.name}_loop{loop}, {self.layout.opaque()}, {time}, x, u, "
            f"{k}, {z}, nominal + {offset}, {room}, &{det}, {share});",
            f"    if (_failed{loop} && {allowed})",
            f"        _failed{loop} = pl_rescue(&{rescues}, {self.name}_loop{loop}, {self.layout.opaque()}, {time}, x, "
            f"u, {k}, {z}, {self.layout.pointer(TEAR_GUESS.at(offset))}, nominal + {offset}, {room}, &{det});",
            f"    if (_failed{loop}) return loop_failed({failed});",
            f"    if ({here}) {det_guess} = {det};",
        ]
        return lines + self._results(s.targets, array, offset)

    def _loop_function(self, item: PlanItem) -> str:
        """Residual and Jacobian of a nonlinear loop."""
        statement, plan = item.statement, item.inner
        assert isinstance(statement, Newton)
        assert plan is not None
        tears = Array("z")
        inner: dict[Key, Place] = {("v", v): tears.at(i) for i, v in enumerate(statement.targets)}
        for place, one in enumerate(plan.items):
            for k, (kind, key_number) in enumerate(one.defines):
                name = f"_s{place + 1}" + (f"_{k}" if k else "")
                if kind == "v":
                    name = self.c.identifiers.of(key_number, self.c.variables[key_number].name)
                inner[kind, key_number] = Array(name).at()
        arguments = ", ".join(self.layout.argument(one, False) for one in LOOP_ARGUMENTS)
        lines = [
            f"static void {self.name}_loop{statement.loop}(void *self, {arguments}) {{",
            f"    {self.layout.opened()}",
            f"    {self.layout.unused(COMMON)}",
        ]
        defined, at, real = set(inner), self.layout.place, self.real
        for one in plan.items:
            lines += self._leaves(plan, one, defined)
            if one.kind == "stop":
                lines.append("    if (!a) return;")
                continue
            if one.kind == "call":
                lines += self._call(one, plan, inner)
                continue
            root = one.roots[0]
            if one.place is not None:
                lines.append(f"    {at(one.place)} = {self.printer(plan, inner).text(root)};")
                continue
            key = one.defines[0]
            skip = root if plan.named.get(root) == key else -1
            lines.append(f"    const {real} {at(inner[key])} = {self.printer(plan, inner, skip).text(root)};")
        return "\n".join([*lines, "}", ""])
