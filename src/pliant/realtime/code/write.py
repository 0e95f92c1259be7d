"""Straight-line C functions of a step: no branch that depends on data, no status, no memory of their own.

All statements are scalar assignments; :class:`pliant.codegen.plan.Plan` drops what is not needed and names what is
shared. Long functions are cut into parts, because compilers need more than linear time for them; values that cross from
part to part go through the array ``w`` on the caller's stack.

    if c then a else b   both sides are evaluated, then ``pl_select`` takes one by a bit mask
    and, or              bit by bit, without short circuit
    tables               binary search with a fixed number of comparisons, on knots padded to a power of two
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pliant.codegen.c_text import wrapped
from pliant.codegen.cprint import ATOM, Printer
from pliant.codegen.names import Identifiers
from pliant.codegen.order import order_on_demand
from pliant.codegen.places import Argument, Owner, Place, Source, ValueKind
from pliant.codegen.plan import FunctionPlan, Key, PlanItem
from pliant.expr.build import reachable
from pliant.ir import OP_NAME, Graph, Op, Table, Variable
from pliant.realtime.code.fixed import fixed
from pliant.realtime.code.places import CONSTANTS, JUMP_TIME, WIDE_CONSTANTS, WIDE_WORK, WORK, StepLayout
from pliant.realtime.code.wide import Wide

PART = 3000  # items of a function that stays whole
PIECE = 600  # items of the parts of a longer one: quicker to compile, as quick to run
_BOOLEAN = frozenset((Op.LT, Op.LE, Op.EQ, Op.NE, Op.AND, Op.OR, Op.NOT))
_LOGIC = {Op.AND: " & ", Op.OR: " | "}
_HELPERS = {Op.SIGN: "pl_sign", Op.MIN: "pl_min", Op.MAX: "pl_max"}


@dataclass(eq=False)
class StepContext:
    """What all functions of one stepper share."""

    g: Graph
    variables: Sequence[Variable]
    layout: StepLayout
    places: dict[int, Source] = field(default_factory=dict)  # variable -> where its value lives
    integers: set[int] = field(default_factory=set)  # variables that are 0 or 1, kept as int
    constants: dict[int, int] = field(default_factory=dict)  # node -> its number
    wide: Wide | None = None  # in float: what is kept in double
    wide_constants: dict[int, int] = field(default_factory=dict)  # node -> its number among those in double
    wide_tables: set[tuple[int, int]] = field(default_factory=set)  # (table, order) whose argument is wide
    identifiers: Identifiers = field(default_factory=Identifiers)

    def constant(self, node: int) -> str:
        """An expression of parameters."""
        return self.layout.place(CONSTANTS.at(self.constants.setdefault(node, len(self.constants))))

    def wide_constant(self, node: int) -> str:
        """The same in double."""
        return self.layout.place(WIDE_CONSTANTS.at(self.wide_constants.setdefault(node, len(self.wide_constants))))

    @property
    def precision(self) -> str:
        """double or float"""
        return self.layout.precision

    def is_wide(self, e: int) -> bool:
        """Kept in double although the step is in float."""
        return self.wide is not None and self.wide.is_wide(e)

    def takes(self, e: int) -> bool:
        """Evaluated in double although the step is in float."""
        return self.wide is not None and self.wide.takes(e)

    def is_wide_variable(self, v: int) -> bool:
        """Kept in double although the step is in float."""
        return self.wide is not None and v in self.wide.variables

    def is_boolean(self, e: int) -> bool:
        """The C text of e is an int."""
        node = self.g.nodes[e]
        return node[0] in _BOOLEAN or (node[0] == Op.VAR and node[1] in self.integers)


class StepPrinter(Printer):
    """Expressions without branches, in the precision of the step."""

    def __init__(
        self, context: StepContext, atom: Callable[[int], str | None], is_real: Callable[[int], bool] = lambda _: False
    ) -> None:
        """``is_real``: what stands for a node is a real number, also where the node is a comparison."""
        super().__init__(context.g, context.layout, atom)
        self.c, self.is_real = context, is_real
        self.is_float = context.precision != "double"
        self.in_double = False  # in float: the operands that are written now are wanted in double
        self.always = False  # ... and so is everything

    @property
    def suffix(self) -> str:
        """Of functions."""
        return "f" if self.is_float and not self.in_double else ""

    @property
    def kind(self) -> str:
        """Of helpers."""
        return "_wide" if self.is_float and self.in_double else ""

    def literal(self, value: float) -> str:
        """A number."""
        return self.layout.literal(value, ValueKind.WIDE if self.in_double else ValueKind.REAL)

    def wide_text(self, e: int) -> str:
        """e where a number in double is wanted."""
        before, self.in_double = self.in_double, self.is_float
        out = self.text(e)
        self.in_double = before
        return out

    def condition(self, e: int) -> str:
        """e as an int that is 0 or 1."""
        node = self.g.nodes[e]
        if node[0] == Op.CONST:
            return "1" if node[1] else "0"
        named = self.atom(e)
        if self.c.is_boolean(e) and not self.is_real(e):
            return named if named is not None else self._logic(e)
        return f"({self._inner(e, 8)} != 0)"

    def _logic(self, e: int) -> str:
        """A logical operation or a comparison as an int."""
        node = self.g.nodes[e]
        op = node[0]
        if op in _LOGIC:
            return f"({self.condition(node[1])}{_LOGIC[op]}{self.condition(node[2])})"
        if op == Op.NOT:
            return f"(!{self.condition(node[1])})"
        before, self.in_double = self.in_double, self.c.takes(e)
        text = f"({super()._write(e)[0]})"
        self.in_double = before
        return text

    def truth(self, e: int) -> str:
        """e, an int, as a real number: a conversion that compilers see through becomes a branch."""
        return f"pl_select({self.condition(e)}, {self.layout.literal(1.0)}, {self.layout.literal(0.0)})"

    def _write(self, e: int) -> tuple[str, int]:
        if not self.is_float or self.always:
            return self._plain(e)
        node = self.g.nodes[e]
        if node[0] == Op.CONST or (node[0] > Op.ARG and self.c.wide is not None and self.c.wide.shared.fixed[e]):
            return self._plain(e)
        wide = self.c.is_wide(e)
        if wide == self.in_double and (wide or not self.c.takes(e) or self.c.is_boolean(e)):
            return self._plain(e)
        before = self.in_double
        self.in_double = wide or (self.c.takes(e) and not self.c.is_boolean(e) and self.atom(e) is None)
        rounds = self.in_double and not (wide and before)
        text, binds = self._plain(e)
        self.in_double = before
        return (f"(pl_real)({text})", ATOM) if rounds else (text, binds)

    def _plain(self, e: int) -> tuple[str, int]:
        named = self.atom(e)
        if self.c.is_boolean(e) and not self.is_real(e):
            return self.truth(e), ATOM
        if named is not None:
            return named, ATOM
        node = self.g.nodes[e]
        op = node[0]
        if op == Op.CONST:
            return (self.literal(node[1]), ATOM) if node[1] >= 0 else (f"({self.literal(node[1])})", ATOM)
        if op == Op.IF:
            return f"pl_select{self.kind}({self.condition(node[1])}, {self.text(node[2])}, {self.text(node[3])})", ATOM
        if op == Op.TABLE:
            if self.kind:
                self.c.wide_tables.add((node[1], node[2]))
            return f"table_{node[1]}_{node[2]}{self.kind}({self.text(node[3])})", ATOM
        if op in _HELPERS:
            return f"{_HELPERS[op]}{self.kind}({', '.join(self.text(a) for a in node[1:])})", ATOM
        if op == Op.ABS:
            return f"fabs{self.suffix}({self.text(node[1])})", ATOM
        if op == Op.POW or op >= Op.ATAN2:
            name = OP_NAME[op]
            return f"{name}{self.suffix}({', '.join(self.text(a) for a in node[1:])})", ATOM
        return super()._write(e)


class StepWriter:
    """One function as C text: its parts, then the function that calls them."""

    def __init__(
        self,
        context: StepContext,
        name: str,
        plan: FunctionPlan,
        arguments: Sequence[Argument],
        *,
        part: int = PART,
        exported: bool = False,
        attribute: str = "",
        in_double: bool = False,
    ) -> None:
        """``exported``: visible outside of the file; ``attribute`` of its parts;
        ``in_double``: everything, whatever the step's precision."""
        self.in_double = in_double
        self.attribute = attribute + " " if attribute else ""
        self.c, self.name, self.plan, self.exported = context, name, plan, exported
        self.layout = context.layout
        self.real, self.wide, self.integer = (
            self.layout.type(one) for one in (ValueKind.REAL, ValueKind.WIDE, ValueKind.INTEGER)
        )
        self.arguments = list(arguments)
        items = plan.items = order_on_demand(plan)
        n_parts = -(-len(items) // (part if len(items) <= part else min(part, PIECE)))
        size = -(-len(items) // max(n_parts, 1))
        self.parts = [items[k : k + size] for k in range(0, len(items), size)] if n_parts > 1 else [items]
        self.number: dict[int, int] = {}
        self.slots: dict[Key, Place] = {}
        self.n_wide = 0  # values in double that cross
        self._find_crossings()

    @property
    def n_work(self) -> int:
        """Values that cross, in units of the step's precision."""
        return len(self.slots) + self.n_wide

    @property
    def n_local(self) -> int:
        """Local values of the largest part: no compiler needs more room on the stack."""
        reads = self.plan.reads
        return max(len({key for item in part for key in (*item.defines, *reads(item))}) for part in self.parts)

    def _find_crossings(self) -> None:
        part_of: dict[Key, int] = {}
        crossing: list[Key] = []
        for k, part in enumerate(self.parts):
            for item in part:
                for key in item.defines:
                    part_of[key] = k
                    if key[0] == "n":
                        self.number[key[1]] = len(self.number) + 1
        for k, part in enumerate(self.parts if len(self.parts) > 1 else []):
            for item in part:
                crossing += [key for key in self.plan.reads(item) if part_of.get(key, k) != k]
        order = {key: k for k, key in enumerate(part_of)}
        for key in sorted(set(crossing), key=order.__getitem__):
            if self._is_wide(key):
                self.slots[key] = WIDE_WORK.at(self.n_wide)
                self.n_wide += 1
            else:
                self.slots[key] = WORK.at(len(self.slots) - self.n_wide)

    def _is_wide(self, key: Key) -> bool:
        if self.in_double:
            return key[0] == "n" or key[1] not in self.c.integers
        return self.c.is_wide(key[1]) if key[0] == "n" else self.c.is_wide_variable(key[1])

    def _reference(self, key: Key) -> str:
        if key in self.slots:
            return self.layout.place(self.slots[key])
        kind, place = key
        return f"_t{self.number[place]}" if kind == "n" else self._identifier(place)

    def _identifier(self, v: int) -> str:
        return self.c.identifiers.of(v, self.c.variables[v].name)

    def _printer(self, skip: int = -1) -> StepPrinter:
        nodes, plan = self.c.g.nodes, self.plan

        def atom(i: int) -> str | None:
            node = nodes[i]
            if node[0] == Op.VAR:
                return self._reference(("v", node[1]))
            if i != skip:
                key = plan.named.get(i)
                if key is not None:
                    return self._reference(key)
            if node[0] > Op.ARG and plan.is_fixed(i):
                return self.c.wide_constant(i) if printer.in_double else self.c.constant(i)
            return None

        def is_real(i: int) -> bool:
            key: Key | None = ("v", nodes[i][1]) if nodes[i][0] == Op.VAR else plan.named.get(i) if i != skip else None
            if key is None:
                return nodes[i][0] > Op.ARG and plan.is_fixed(i)  # kept among the constants
            return key in self.slots or (key[0] == "v" and key[1] not in self.c.integers)

        printer = StepPrinter(self.c, atom, is_real)
        printer.always = printer.in_double = self.in_double
        return printer

    def _leaves(self, item: PlanItem, defined: set[Key]) -> list[str]:
        """Declarations of the values from outside that an item is the first to read."""
        found = sorted(
            key[1]
            for key in self.plan.reads(item)
            if key[0] == "v" and key not in defined and key not in self.slots and key[1] in self.c.places
        )
        defined.update(("v", v) for v in found)
        source, places = self.layout.source, self.c.places
        return [f"    const {self._type(v)} {self._identifier(v)} = {source(places[v])};" for v in found]

    def _type(self, v: int) -> str:
        return self.integer if v in self.c.integers else self.wide if self.c.is_wide_variable(v) else self.real

    def _item(self, item: PlanItem) -> str:
        root = item.roots[0]
        if item.place is not None:
            printer = self._printer()
            text = printer.condition(root) if item.place.array.kind == ValueKind.INTEGER else printer.text(root)
            return f"    {self.layout.place(item.place)} = {text};"
        key = item.defines[0]
        skip = root if self.plan.named.get(root) == key else -1
        is_integer = self.c.is_boolean(root) if key[0] == "n" else key[1] in self.c.integers
        printer = self._printer(skip)
        wide = not is_integer and self._is_wide(key)
        text = printer.wide_text(root) if wide else printer.text(root)
        if is_integer:
            text = printer.truth(root) if key in self.slots else printer.condition(root)
        left = self._reference(key)
        kind = self.integer if is_integer else self.wide if wide else self.real
        declared = "" if key in self.slots else f"const {kind} "
        return f"    {declared}{left} = {text};"

    def _reads_of(self, name: str) -> bool:
        """Does an expression of the function read the local array, or the scalar, of this name?"""
        nodes, places = self.c.g.nodes, self.c.places
        inside = reachable(self.c.g, [e for item in self.plan.items for e in item.roots])
        found = (places.get(nodes[i][1]) for i in inside if nodes[i][0] == Op.VAR)
        return any(
            isinstance(one, Place) and one.array.owner is Owner.LOCAL and one.array.name == name for one in found
        )

    def write(
        self,
        scalars: Mapping[str, str],
        arrays: Mapping[str, int],
        after: str = "",
        first: str = "",
        filled: Mapping[str, str] | None = None,
    ) -> str:
        """All C functions, the one that is called last.

        ``scalars`` (name -> value) and ``arrays`` (name -> size) are its local variables; ``first`` begins and
        ``after`` ends its body. ``filled``: arrays that statements fill before; without them where nothing reads them.
        """
        real, wide = self.real, self.wide
        fills = {name: text for name, text in (filled or {}).items() if self._reads_of(name)}
        arrays = {name: size for name, size in arrays.items() if name in fills or name not in (filled or {})}
        if JUMP_TIME.name in scalars and not self._reads_of(JUMP_TIME.name):
            scalars = {name: value for name, value in scalars.items() if name != JUMP_TIME.name}
        before = first + "".join(f"    const {wide} {name} = {value};\n" for name, value in scalars.items())
        before += "".join(f"    {real} {name}[{size}];\n" for name, size in arrays.items())
        before += "".join(f"    (void){name};\n" for name in (*scalars, *arrays)) + "".join(fills.values())
        if len(self.parts) == 1:
            return self._function(self.name, self.parts[0], before, after)
        size = max(1, len(self.slots) - self.n_wide)
        arrays = {**arrays, WORK.name: size}
        before += f"    {real} {WORK.name}[{size}];\n"
        own = [*self.arguments, *(wide_scalar(name) for name in scalars), *(Argument(name) for name in arrays)]
        if self.n_wide:
            before += f"    {wide} {WIDE_WORK.name}[{self.n_wide}];\n"
            own.append(Argument(WIDE_WORK.name, ValueKind.WIDE))
        out = []
        for k, part in enumerate(self.parts):
            out.append(self._function(f"{self.name}_{k + 1}", part, "", "", own))
        inner = self.layout.passed(*(one.name for one in own))
        calls = "".join(f"    {self.name}_{k + 1}({inner});\n" for k in range(len(self.parts)))
        out.append(f"{self._head(self.name, self.arguments)}{before}{calls}{after}}}\n")
        return "\n".join(out)

    def _head(self, name: str, arguments: Sequence[Argument]) -> str:
        """Of the function itself, or of a part of it."""
        of_part = "" if name == self.name else "PL_PART "
        kind = f"{'' if self.exported and not of_part else 'static '}{of_part}{self.attribute}void"
        return f"{kind} {name}({self.layout.declared(arguments)}) {{\n    {self.layout.unused(arguments)}\n"

    def _function(
        self,
        name: str,
        items: Sequence[PlanItem],
        before: str,
        after: str,
        arguments: Sequence[Argument] | None = None,
    ) -> str:
        defined = {key for item in items for key in item.defines}
        lines: list[str] = []
        for item in items:
            lines += self._leaves(item, defined)
            lines.append(self._item(item))
        body = "\n".join(lines) + "\n" if lines else ""
        return f"{self._head(name, self.arguments if arguments is None else arguments)}{before}{body}{after}}}\n"


def wide_scalar(name: str) -> Argument:
    """A number in double."""
    return Argument(name, ValueKind.WIDE, is_const=True, is_array=False)


def table_functions(context: StepContext, k: int, table: Table, orders: Sequence[int]) -> str:
    """Data of a table and one function per order of derivative; of time in float, its knots are in double."""
    wide = [order for order in orders if (k, order) in context.wide_tables]
    return _table_text(context, k, table, orders, "") + (_table_text(context, k, table, wide, "_wide") if wide else "")


def _table_text(context: StepContext, k: int, table: Table, orders: Sequence[int], kind: str) -> str:
    literal, precision = context.layout.literal, ValueKind.WIDE if kind else ValueKind.REAL
    real = context.layout.type(precision)

    def number_of(value: float) -> str:
        return literal(value, precision)

    steps = max(len(table.knots) - 2, 0).bit_length()
    inside = [*table.knots[1:-1], *[math.inf] * (2**steps - 1 - (len(table.knots) - 2))]
    inf = "HUGE_VAL" if context.precision == "double" or kind else "HUGE_VALF"
    padded = [number_of(table.knots[0]), *(inf if math.isinf(x) else number_of(x) for x in inside)]
    pieces = [literal(value) for piece in table.coefficients for value in piece]
    out = [f"PL_CONSTANTS static const {real} table_{k}_knot{kind}[] = {{{wrapped(padded)}}};"]
    if not kind:
        out.append(f"PL_CONSTANTS static const pl_real table_{k}_piece[] = {{{wrapped(pieces)}}};\n")
    first, last = number_of(table.knots[0]), number_of(table.knots[-1])
    for order in orders:
        out.append(f"static inline pl_real table_{k}_{order}{kind}({real} v) {{\n    int low = 0;")
        if table.extrapolation == "repeat":
            period = number_of(table.knots[-1] - table.knots[0])
            floor = "floor" if context.precision == "double" or kind else "floorf"
            out.append(f"    v -= {period} * {floor}((v - {first}) / {period});")
        elif table.extrapolation != "extend":
            out.append(f"    const int outside = (v < {first}) | (v > {last});")
            if table.extrapolation == "hold":
                out.append(f"    v = pl_min{kind}(pl_max{kind}(v, {first}), {last});")
        for step in range(steps - 1, -1, -1):
            out.append(f"    low += (table_{k}_knot{kind}[low + {2**step}] <= v) * {2**step};")
        out.append(f"    const pl_real *c = table_{k}_piece + 4 * low;")
        out.append(f"    const pl_real s = (pl_real)(v - table_{k}_knot{kind}[low]);")
        two, three, six = (literal(x) for x in (2.0, 3.0, 6.0))
        value = {
            0: "c[0] + s * (c[1] + s * (c[2] + s * c[3]))",
            1: f"c[1] + s * ({two} * c[2] + s * {three} * c[3])",
            2: f"{two} * c[2] + {six} * s * c[3]",
            3: f"{six} * c[3]",
        }.get(order, literal(0.0))
        if order >= 3:
            out.append("    (void)s;")
        if order > 3:
            out.append("    (void)c;")
        zero = literal(0.0)
        if table.extrapolation == "error":
            value = f"pl_select(outside, NAN, {value})"
        elif table.extrapolation == "hold":
            value = f"pl_select(outside, {zero}, {value})" if order else value
            if not order:
                out.append("    (void)outside;")
        out.append(f"    return {value};\n}}\n")
    return "\n".join(out)


def helpers(precision: str) -> str:
    """Small functions without branches that every stepper has; in float, some of them in double, too."""
    names = ("pl_masks", "pl_select", "pl_min", "pl_max", "pl_sign")
    bits = "uint64_t" if precision == "double" else "uint32_t"
    text = f"{fixed('compiler.h')}\n{fixed('choices.h', {'pl_bits': bits})}"
    if precision == "float":
        wide = {"pl_real": "double", "pl_bits": "uint64_t"} | {name: f"{name}_wide" for name in names}
        text += fixed("choices.h", wide)
    return text
