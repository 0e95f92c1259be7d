"""One function of the model as C text: parts, local names, crossing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pliant.codegen.cprint import Printer, number
from pliant.codegen.names import Identifiers
from pliant.codegen.order import order_on_demand
from pliant.codegen.plan import INLINE_SYSTEM, PART, Item, Key, Plan
from pliant.codegen.program import Assign, Columns, Newton, Solve
from pliant.expr.build import const, div, value_of
from pliant.ir import Graph, Op, Variable

ARGUMENTS = "model *restrict m, pl_real t, const pl_real *restrict x, const pl_real *restrict u"
CALL = "m, t, x, u"
SMALL = 20  # items of a small function
WHOLE = 800  # items up to which the right side, called most often, stays in one piece
SMALLEST_DIVISOR = 1e-290  # of a number: the inverse of a smaller one may overflow
LARGEST_SYSTEM = 8  # unknowns up to which a linear system is solved without loops


@dataclass(eq=False)
class Context:
    """What all functions of one model share."""

    g: Graph
    variables: Sequence[Variable]
    places: dict[int, str]  # variable -> where its value lives, e.g. x[3]
    identifiers: Identifiers = field(default_factory=Identifiers)
    constants: dict[int, int] = field(default_factory=dict)  # node -> place in m->c
    n_work: int = 0  # largest number of crossing values
    loop_offset: dict[int, int] = field(default_factory=dict)  # loop -> place of its tears in m->z
    loop_size: dict[int, int] = field(default_factory=dict)
    comments: Mapping[int, str] = field(default_factory=dict)  # variable -> its equation, for readers
    of_sets: set[int] = field(default_factory=set)  # loops with unknowns that constraints determine
    systems: set[int] = field(default_factory=set)  # sizes of linear systems that are solved by functions of their own

    def constant(self, node: int) -> str:
        """The place of an expression of parameters."""
        return f"m->c[{self.constants.setdefault(node, len(self.constants))}]"

    def inverse(self, node: int) -> str | None:
        """The inverse of a constant of the simulation; None for numbers that have none."""
        value = value_of(self.g, node)
        if value is None:
            return self.constant(div(self.g, const(self.g, 1.0), node))
        if abs(value) < SMALLEST_DIVISOR:
            return None
        return number(1.0 / value) if value > 0.0 else f"({number(1.0 / value)})"

    def _small(self, what: str, k: int) -> str:
        if k > LARGEST_SYSTEM:
            return f"pl_small_{what}({k}, "
        self.systems.add(k)
        return f"pl_{what}_{k}("

    def factor(self, k: int, a: str, pivot: str) -> str:
        """Call that factorises a k x k matrix; it gives 0 where all went well."""
        return f"{self._small('factor', k)}{a}, {pivot})"

    def solve(self, k: int, a: str, pivot: str, n: int, b: str) -> str:
        """Call that solves for n right sides with the factors."""
        return f"{self._small('solve', k)}{a}, {pivot}, {n}, {b})"

    def system(self, k: int, a: str, pivot: str, b: str) -> str:
        """Call that does both for one right side; it gives 0 where all went well."""
        return f"{self._small('system', k)}{a}, {pivot}, {b})"


class FunctionWriter:
    """Writes the parts of one function, then the function that calls them."""

    stops_all = True  # a part that returns early says so with PL_OK: the function that calls it has to look again

    def __init__(
        self,
        context: Context,
        name: str,
        plan: Plan,
        extra: str = "",
        extra_call: str = "",
        memory: Mapping[int, str] | None = None,
        attribute: str = "",
    ) -> None:
        """``memory``: variables whose values are kept somewhere in any case; ``attribute``: of the C functions."""
        # small functions are better inlined, in large regular ones packing pays
        scalar = name == "rhs" and SMALL < len(plan.items) <= WHOLE
        self.attribute = attribute + " " if attribute else "PL_SCALAR " if scalar else ""
        self.slots: dict[Key, str] = {("v", v): place for v, place in (memory or {}).items()}
        self.c = context
        self.name = name
        self.plan = plan
        self.arguments = ARGUMENTS + (f", {extra.replace('*', '*restrict ')}" if extra else "")
        self.call = CALL + (f", {extra_call}" if extra_call else "")
        self.extra_names = [n.strip() for n in extra_call.split(",") if n.strip()]
        self.parts = self._split()
        self.part_of: dict[Key, int] = {}
        self.temp_number: dict[int, int] = {}
        self.read = {key for item in self.plan.items for key in self.plan.reads(item)}
        self._find_crossings()

    def _split(self) -> list[list[Item]]:
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
                self.slots[key] = f"m->w[{n_work}]"
                n_work += 1
        self.c.n_work = max(self.c.n_work, n_work)

    # ------------------------------------------------------------------ names

    def reference(self, key: Key, inner: Mapping[Key, str] | None = None) -> str:
        """C text of a value."""
        if inner is not None and key in inner:
            return inner[key]
        if key in self.slots:
            return self.slots[key]
        kind, number = key
        if kind == "n":
            return f"_t{self.temp_number[number]}"
        return self.c.identifiers.of(number, self.c.variables[number].name)

    def printer(self, plan: Plan, inner: Mapping[Key, str] | None = None, skip: int = -1) -> Printer:
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
            return self.c.inverse(i) if plan.shared.inverts and plan.is_fixed(i) else None

        return Printer(self.c.g, atom, inverse)

    def _declaration(self, key: Key) -> str:
        """Left side of a definition."""
        return self.reference(key) if key in self.slots else f"const pl_real {self.reference(key)}"

    def _leaves(self, plan: Plan, item: Item, defined: set[Key]) -> list[str]:
        """Declarations of the states, inputs and parameters that an item is the first to read."""
        used: set[int] = set()
        for key in plan.reads(item):
            if key[0] == "v" and key not in defined and key not in self.slots and key[1] in self.c.places:
                used.add(key[1])
                defined.add(key)
        order = sorted(used, key=lambda v: (self.c.places[v].partition("[")[0], v))
        return [
            f"    const pl_real {self.c.identifiers.of(v, self.c.variables[v].name)} = {self.c.places[v]};"
            for v in order
        ]

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
            calls = []
            for k, part in enumerate(self.parts):
                calls.append(f"    status = {self.name}_{k + 1}({self.call});\n    if (status != PL_OK) return status;")
                if self.stops_all:  # nor are the parts after it wanted
                    calls += [f"    if ({item.text}) return PL_OK;" for item in part if item.kind == "stop"]
            out.append(
                f"static pl_status {self.name}({self.arguments}) {{\n    pl_status status;\n"
                + "\n".join(calls)
                + "\n    return PL_OK;\n}\n"
            )
        return "\n".join(out)

    def _unused(self) -> str:
        names = ["m", "t", "x", "u", *self.extra_names]
        return "    " + ", ".join(f"(void){name}" for name in names) + ";"

    def _part(self, name: str, items: Sequence[Item], attribute: str) -> str:
        defined = {key for item in items for key in item.defines}
        lines = [f"static {attribute}{self.attribute}pl_status {name}({self.arguments}) {{", self._unused()]
        for item in items:
            lines += self._leaves(self.plan, item, defined)
            lines += self._item(item)
        lines += ["    return PL_OK;", "}", ""]
        return "\n".join(lines)

    def _item(self, item: Item) -> list[str]:
        statement = item.statement
        if item.kind == "stop":
            return [f"    if ({item.text}) return PL_OK;"]
        if item.kind == "copy":
            return [f"    {item.text}"]
        if item.kind == "temp":
            key = item.defines[0]
            return [f"    {self._declaration(key)} = {self.printer(self.plan, skip=key[1]).text(item.roots[0])};"]
        if item.kind in ("target", "entry"):
            return [f"    {item.text} = {self.printer(self.plan).text(item.roots[0])};"]
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

    def _fill(self, target: str, entries: Sequence[int]) -> list[str]:
        printer = self.printer(self.plan)
        return [f"    {target}[{k}] = {printer.text(e)};" for k, e in enumerate(entries)]

    def _solve(self, s: Solve) -> list[str]:
        loop, k = s.loop, len(s.targets)
        printer = self.printer(self.plan)
        if k == 1:
            key: Key = ("v", s.targets[0])
            return [
                f"    const pl_real _pivot{loop} = {printer.text(s.matrix[0][0])};",
                f"    if (!(fabs(_pivot{loop}) > 0.0)) return loop_singular(m, {loop});",
                *self._keeps(loop, f"_pivot{loop}"),
                f"    {self._declaration(key)} = ({printer.text(s.right[0])}) / _pivot{loop};",
            ]
        if k > INLINE_SYSTEM:  # the entries are there already, the right side behind the matrix
            b = f"m->A{loop} + {k * k}"
            lines = [f"    if ({self.c.system(k, f'm->A{loop}', f'm->v{loop}', b)}) return loop_singular(m, {loop});"]
            lines += self._keeps(loop, f"pl_determinant({k}, m->A{loop}, m->v{loop})")
            return lines + self._results(s.targets, f"m->A{loop}", k * k)
        a, v = self._factors(loop, k)
        lines = [] if a.startswith("m->") else [f"    pl_real {a}[{k * k}];\n    int {v}[{k}];"]
        lines += self._fill(a, [e for row in s.matrix for e in row])
        lines += [f"    pl_real _b{loop}[{k}];", *self._fill(f"_b{loop}", s.right)]
        lines.append(f"    if ({self.c.system(k, a, v, f'_b{loop}')}) return loop_singular(m, {loop});")
        lines += self._keeps(loop, f"pl_determinant({k}, {a}, {v})")
        return lines + self._results(s.targets, f"_b{loop}")

    def _keeps(self, loop: int, determinant: str) -> list[str]:
        """A linear loop of a state set must not come near a singular point within one step."""
        if loop not in self.c.of_sets or self.name != "rhs":
            return []
        return [
            f"    m->det_z[{loop}] = {determinant};",
            f"    if (t == m->t_guess) m->det_guess[{loop}] = m->det_z[{loop}];",
            f"    if (pl_passes_zero(m->det_z[{loop}], m->det_guess[{loop}], PL_SET_SHARE)) "
            f"return loop_singular(m, {loop});",
        ]

    def _columns(self, s: Columns) -> list[str]:
        loop, k, n = s.loop, len(s.targets), len(s.right[0])
        lines: list[str] = []
        a, v = (f"m->A{loop}", f"m->v{loop}") if s.is_newton else self._factors(loop, k)
        if s.is_newton:
            lines += self._fill(a, [e for row in s.matrix for e in row])
            lines.append(f"    if ({self.c.factor(k, a, v)}) return loop_singular(m, {loop});")
        lines += [f"    pl_real _d{loop}[{k * n}];", *self._fill(f"_d{loop}", [e for row in s.right for e in row])]
        lines.append(f"    {self.c.solve(k, a, v, n, f'_d{loop}')};")
        flat = [v for row in s.targets for v in row]
        return lines + self._results(flat, f"_d{loop}")

    def _factors(self, loop: int, k: int) -> tuple[str, str]:
        """Where the factors of a linear loop are kept: in the function if it is whole and they are few."""
        own = {item.statement.loop for item in self.plan.items if isinstance(item.statement, Solve)}
        if k <= INLINE_SYSTEM and len(self.parts) == 1 and loop in own and self.name != "all_values":
            return f"_A{loop}", f"_v{loop}"
        return f"m->A{loop}", f"m->v{loop}"

    def _results(self, targets: Sequence[int], array: str, first: int = 0) -> list[str]:
        """Declarations of the values that somebody reads."""
        keys: list[Key] = [("v", v) for v in targets]
        return [
            f"    {self._declaration(key)} = {array}[{first + i}];"
            for i, key in enumerate(keys)
            if key in self.read or key in self.slots
        ]

    def _newton(self, s: Newton) -> list[str]:
        loop, k = s.loop, len(s.targets)
        offset = self.c.loop_offset[loop]
        array = "m->z" if self.name == "rhs" else "m->zz"  # outputs and roots leave no trace in the next step
        z = f"{array} + {offset}"
        det = f"m->{'det_z' if array == 'm->z' else 'det_zz'}[{loop}]"
        share = "PL_SET_SHARE" if loop in self.c.of_sets and self.name == "rhs" else "0.0"
        guess = f"    memcpy({z}, m->guess + {offset}, {k} * sizeof(pl_real));"
        if loop in self.c.of_sets:
            guess = f"    loop_predicted(m, t, {offset}, {k}, {z});"
        lines = [
            guess,
            f"    {det} = t == m->t_guess ? 0.0 : m->det_guess[{loop}];",
            f"    const int _failed{loop} = pl_newton({self.name}_loop{loop}, m, t, x, u, {k}, {z}, "
            f"nominal + {offset}, m->r, m->A{loop}, m->v{loop}, &{det}, {share});",
            f"    if (_failed{loop}) return loop_failed(m, {loop}, _failed{loop});",
            f"    if (t == m->t_guess) m->det_guess[{loop}] = {det};",
        ]
        return lines + self._results(s.targets, array, offset)

    def _loop_function(self, item: Item) -> str:
        """Residual and Jacobian of a nonlinear loop."""
        statement, plan = item.statement, item.inner
        assert isinstance(statement, Newton)
        assert plan is not None
        inner: dict[Key, str] = {("v", v): f"z[{i}]" for i, v in enumerate(statement.targets)}
        for place, one in enumerate(plan.items):
            for kind, key_number in one.defines:
                name = f"_s{place + 1}"
                if kind == "v":
                    name = self.c.identifiers.of(key_number, self.c.variables[key_number].name)
                inner[kind, key_number] = name
        lines = [
            f"static void {self.name}_loop{statement.loop}(void *self, pl_real t, const pl_real *x, const pl_real *u, "
            "const pl_real *z, pl_real *r, pl_real *a) {",
            "    model *m = self;",
            "    (void)m, (void)t, (void)x, (void)u;",
        ]
        defined = set(inner)
        for one in plan.items:
            lines += self._leaves(plan, one, defined)
            if one.kind == "stop":
                lines.append("    if (!a) return;")
                continue
            root = one.roots[0]
            if one.kind == "target":
                lines.append(f"    {one.text} = {self.printer(plan, inner).text(root)};")
                continue
            key = one.defines[0]
            skip = root if plan.named.get(root) == key else -1
            lines.append(f"    const pl_real {inner[key]} = {self.printer(plan, inner, skip).text(root)};")
        return "\n".join([*lines, "}", ""])
