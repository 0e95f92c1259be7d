"""Relations that the solver looks ahead for: those of time, parameters and what only events change.

For each of them the file gets a function that encloses both sides on an interval of time (``pliant_ranges.h``); the
runtime finds from it where the relation turns (``ahead.c``). What a relation depends on is followed through the
variables that explicit equations give: ``tri = 2*abs(...); on = tri < 0.3`` is a relation of time.

Relations that also depend on states or inputs and may cross more than once in a step, such as ``x > sin(1000*time)``,
get such a function, too; there the path of the states comes from the solver's dense output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pliant.codegen.arrays import EXTENT, RELATION, SLACK, of_instance
from pliant.codegen.c_text import filled
from pliant.codegen.places import Field, ValueKind
from pliant.codegen.plan import nodes_of
from pliant.codegen.program import Assign, Solve
from pliant.expr.build import add, apply, const, div, mul, operands, reachable, sub, variables_of
from pliant.expr.walk import memoised
from pliant.ir import FLOOR_ROOM, FLOOR_ROUNDING, OP_NAME, Kind, Op

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

STILL, TIMED, MEMORY = "PL_ROOT_STILL", "PL_ROOT_TIMED", "PL_ROOT_MEMORY"
CLOSED, PATH = "PL_ROOT_CLOSED", "PL_ROOT_PATH"
TIME, EVENTS, STATES, INPUTS = 1, 2, 4, 32  # what an expression depends on, besides parameters
PATHS = STATES | INPUTS  # what only the solver knows
UNKNOWN = 8  # on something that no function can be written for: a loop, a foreign function
WAVES = 16  # it may go up and down, or bend, while its operands do not
LONG = 200  # operations of a function that compilers should not ponder
_LEAVES = (Op.CONST, Op.VAR, Op.TIME, Op.REL)
_WAVES = frozenset({Op.SIN, Op.COS, Op.TAN, Op.ABS, Op.MIN, Op.MAX, Op.FLOOR, Op.CEIL, Op.SIGN, Op.TABLE})
_KINKS = frozenset({Op.ABS, Op.MIN, Op.MAX, Op.SIGN, Op.LT, Op.LE, Op.EQ, Op.NE})
_FUNCTIONS = frozenset(
    {
        *range(Op.ADD, Op.NEG + 1),
        *range(Op.IF, Op.CEIL + 1),
        Op.POW,
        Op.TABLE,
        Op.HOMOTOPY,
    }
)


class Ahead:
    """Which relations of a model these are, and their functions."""

    def __init__(self, emitter: Emitter) -> None:
        self.e, self.g = emitter, emitter.g
        self.relations = emitter.s.relations
        self.value: dict[int, int] = {}  # variable -> expression that an explicit equation gives it
        self.of_variable: dict[int, int] = {}
        self.of_node: dict[int, int] = {}
        self.depends: list[int] = []
        self._read_program()
        self.depends = [self._depends(r.lhs) | self._depends(r.rhs) for r in self.relations]
        self.sides = [self._sides(k) for k in range(len(self.relations))]
        self.kinks = self._find_kinks()

    def _read_program(self) -> None:
        """What each variable depends on."""
        variables, program = self.e.variables, self.e.program
        for v, variable in enumerate(variables):
            if variable.kind in (Kind.PARAMETER, Kind.CONSTANT):
                self.of_variable[v] = 0
            elif variable.kind in (Kind.DISCRETE, Kind.BEFORE) and v in self.e.c.places:
                self.of_variable[v] = EVENTS
        self.state = {v: i for i, v in enumerate(program.x)}
        self.input = {v: j for j, v in enumerate(program.u)}
        self.of_variable |= dict.fromkeys(self.state, STATES) | dict.fromkeys(self.input, INPUTS)
        for statement in program.statements:
            if isinstance(statement, Assign):
                self.value[statement.target] = statement.expression
            elif isinstance(statement, Solve) and len(statement.targets) == 1:
                self.value[statement.targets[0]] = div(self.g, statement.right[0], statement.matrix[0][0])
            else:
                continue
            target = next(v for v in reversed(self.value))
            self.of_variable[target] = self._depends(self.value[target])

    def _depends(self, root: int) -> int:
        return memoised(root, self.of_node, self._inner, self._mask)

    def _inner(self, e: int) -> Sequence[int]:
        """What the dependence of a node is made of."""
        node = self.g.nodes[e]
        if node[0] in _LEAVES or node[0] not in _FUNCTIONS:
            return ()
        return node[1:2] if node[0] == Op.HOMOTOPY else operands(self.g, e)

    def _mask(self, e: int) -> int:
        node, known = self.g.nodes[e], self.of_node
        op = node[0]
        if op in _LEAVES:
            at_leaf = {Op.CONST: 0, Op.TIME: TIME, Op.REL: EVENTS}
            return self.of_variable.get(node[1], UNKNOWN) if op == Op.VAR else at_leaf[op]
        if op not in _FUNCTIONS:
            return UNKNOWN
        parts, found = [known[a] for a in self._inner(e)], 0
        for one in parts:
            found |= one
        waves = op in _WAVES and found & (TIME | PATHS) and not self._keeps_multiple(e)
        if waves or (found & INPUTS and self._bends(op, parts)):
            found |= WAVES
        return found

    def _sides(self, k: int) -> tuple[int, int]:
        """Both sides of a relation as the solver sees them: where states move x, there is room below a floor."""
        relation, g = self.relations[k], self.g
        if relation.floor >= 0 or self.is_timed(k):
            return relation.lhs, relation.rhs
        share = mul(g, const(g, 2.0 * FLOOR_ROUNDING), apply(g, Op.ABS, relation.rhs))
        return relation.lhs, sub(g, relation.rhs, add(g, const(g, 2.0 * FLOOR_ROOM), share))

    def _find_kinks(self) -> list[tuple[int, int]]:
        """Both sides of what f decides by time without an event: max, min, abs, sign and relations in noEvent."""
        nodes, zero, found = self.g.nodes, const(self.g, 0.0), []
        expressions = [e for statement in self.e.program.statements for e in nodes_of(statement)]
        for e in reachable(self.g, [*expressions, *self.e.program.f]):
            op = nodes[e][0]
            if op not in _KINKS or self._depends(e) & (TIME | PATHS | UNKNOWN) != TIME or self._keeps_multiple(e):
                continue
            inner = operands(self.g, e)
            found.append((inner[0], inner[1] if len(inner) > 1 else zero))
        return list(dict.fromkeys(found))

    def _keeps_multiple(self, e: int) -> bool:
        """max or min of x and a multiple that floor gives, as in mod: a choice for the moment before an event only."""
        node = self.g.nodes[e]
        if node[0] not in (Op.MAX, Op.MIN) or self._depends(node[2]) != EVENTS:
            return False
        names = (self.e.variables[v].name for v in variables_of(self.g, node[2]) if self.of_variable[v])
        return all(name.startswith("$floor") for name in names)

    def _bends(self, op: int, parts: list[int]) -> bool:
        """On a straight piece of the inputs it may turn back."""
        if op in (Op.ADD, Op.SUB, Op.NEG, Op.HOMOTOPY):
            return False
        moving = [part & (TIME | INPUTS) for part in parts]
        if op == Op.MUL:
            return all(moving)
        if op == Op.DIV:
            return bool(moving[1])
        return op not in (Op.LT, Op.LE, Op.EQ, Op.NE, Op.AND, Op.OR, Op.NOT)

    # ------------------------------------------------------------------------------------------- what is asked

    def is_timed(self, k: int) -> bool:
        """The solver knows when relation k changes."""
        return bool(self.depends[k] & TIME) and not self.depends[k] & (PATHS | UNKNOWN)

    def on_path(self, k: int) -> bool:
        """The solver looks closely at relation k within its steps."""
        depends = self.depends[k]
        return bool(depends & PATHS and depends & WAVES) and not depends & UNKNOWN

    @property
    def timed(self) -> list[int]:
        """Relations that the solver looks ahead for."""
        return [k for k in range(len(self.relations)) if self.is_timed(k)]

    @property
    def enclosed(self) -> list[int]:
        """Relations with a function of their own."""
        return [k for k in range(len(self.relations)) if self.is_timed(k) or self.on_path(k)]

    @property
    def unwatched(self) -> list[bool]:
        """Per relation: it is of no concern to the solver within a step."""
        return [not depends & (PATHS | UNKNOWN) for depends in self.depends]

    def kinds(self) -> list[str]:
        """Per relation PL_ROOT_..."""
        out = []
        for k, (relation, depends) in enumerate(zip(self.relations, self.depends, strict=True)):
            flags = [] if relation.strict else [CLOSED]
            flags += [PATH] if self.on_path(k) else []
            if not depends & (PATHS | UNKNOWN):
                flags.append(TIMED if depends & TIME else STILL)
                flags += [MEMORY] if depends & EVENTS else []
            out.append(" | ".join(flags) or "0")
        return out

    # ---------------------------------------------------------------------------------------------------- text

    def functions(self) -> list[str]:
        """One function per relation, and the one that pl_model names."""
        out = [self._kink(k, *sides) for k, sides in enumerate(self.kinks)]
        if self.kinks:
            cases = "".join(f"    case {k}: return kink_range_{k}(self, from, to, range);\n" for k in range(len(out)))
            out.append(filled(KINK_RANGE, {"@cases": cases}))
        if not self.enclosed:
            return out
        out += [self._function(k) for k in self.enclosed]
        cases = "".join(
            f"    case {k}: return relation_range_{k}(self, from, to, path, range);\n" for k in self.enclosed
        )
        return [*out, filled(ROOT_RANGE, {"@cases": cases})]

    def _function(self, k: int) -> str:
        lines: list[str] = []
        names: dict[int, str] = {}
        left, right = (self._range(e, names, lines) for e in self.sides[k])
        at = self.e.c.layout.place
        extent = at(EXTENT.at(k)) if self.on_path(k) else "0.0"
        if self.is_timed(k) and self.relations[k].floor:
            extent = f"{at(SLACK.at(k))} * PL_RANGE_SLACK"  # what it was granted at the event counts as rounding
        attribute = "PL_COLD " if len(lines) > LONG else ""
        head = f"static {attribute}pl_status relation_range_{k}(const model *m, pl_real from, pl_real to, "
        body = "\n".join(f"    {line}" for line in lines)
        return (
            f"{head}const pl_path *path, pl_root_range *range) {{\n    (void)from, (void)to, (void)path;\n{body}\n"
            f"    return pl_relation_range({left}, {right}, {at(RELATION.at(k))}, {extent}, range);\n}}\n"
        )

    def _kink(self, k: int, one: int, other: int) -> str:
        lines: list[str] = []
        names: dict[int, str] = {}
        left, right = (self._range(e, names, lines) for e in (one, other))
        body = "\n".join(f"    {line}" for line in lines)
        return (
            f"static pl_status kink_range_{k}(const model *m, pl_real from, pl_real to, pl_root_range *range) {{\n"
            f"    (void)m, (void)from, (void)to;\n{body}\n    return pl_kink_range({left}, {right}, range);\n}}\n"
        )

    def _range(self, root: int, names: dict[int, str], lines: list[str]) -> str:
        """Write what the range of an expression needs; returns its name."""

        def name(e: int) -> str:
            inner = self._ranged(e)
            if self.g.nodes[e][0] in (Op.VAR, Op.HOMOTOPY) and inner:
                return names[inner[0]]
            lines.append(f"const pl_range _r{len(lines)} = {self._text(e, names)};")
            return f"_r{len(lines) - 1}"

        return memoised(root, names, self._ranged, name)

    def _ranged(self, e: int) -> Sequence[int]:
        """What the range of a node is made of."""
        node = self.g.nodes[e]
        if node[0] == Op.VAR and node[1] in self.value:
            return (self.value[node[1]],)
        if self._is_number(e):
            return ()
        return node[1:2] if node[0] == Op.HOMOTOPY else operands(self.g, e)

    def _is_number(self, e: int) -> bool:
        """Its value is at hand when the function is called."""
        node = self.g.nodes[e]
        self.e.shared.extend()
        if node[0] == Op.VAR:
            return node[1] not in self.value
        return node[0] in _LEAVES or self.e.shared.fixed[e]

    def _number(self, e: int) -> str:
        node, context = self.g.nodes[e], self.e.c
        if node[0] == Op.CONST:
            return context.layout.literal(node[1])
        if node[0] == Op.REL:
            return context.layout.place(RELATION.at(node[1]))
        if node[0] == Op.VAR and node[1] in context.places:
            return context.layout.source(context.places[node[1]])
        return context.constant(e)

    def _text(self, e: int, names: dict[int, str]) -> str:
        node = self.g.nodes[e]
        op = node[0]
        if op == Op.TIME:
            return "pl_range_time(from, to)"
        if op == Op.VAR and node[1] in self.state:
            return f"pl_range_state(path, {self.state[node[1]]}, to - from)"
        if op == Op.VAR and node[1] in self.input:
            return f"path->u[{self.input[node[1]]}]"
        if self._is_number(e):
            return f"pl_range_still({self._number(e)})"
        inner = [names[a] for a in operands(self.g, e)]
        if op == Op.TABLE:
            return f"pl_range_table(&table_{node[1]}, {node[2]}, {inner[0]})"
        if op == Op.DIV and self._is_number(node[2]) and self.e.shared.fixed[node[2]]:
            inverse = self.e.c.inverse(node[2])  # the same arithmetic as in the model itself
            if inverse is not None:
                return f"pl_range_scale({inner[0]}, {inverse})"
        if op == Op.MUL:
            if node[1] == node[2]:
                return f"pl_range_square({inner[0]})"
            for a, b in ((1, 2), (2, 1)):
                if self._is_number(node[a]) and not self._depends(node[a]) & (TIME | PATHS):
                    return f"pl_range_scale({inner[b - 1]}, {self._number(node[a])})"
        return f"pl_range_{OP_NAME[op]}({', '.join(inner)})"

    def fields(self) -> list[Field]:
        """Fields of the instance."""
        n = len(self.relations) if self.timed else 0
        return [
            Field(of_instance("turned_g"), n, "sides of relations of time when they turned"),
            Field(of_instance("turned", ValueKind.FLAG), n, "1: the relation turned at turned_at"),
            *([Field(of_instance("turned_at"), None, "time of the last such event")] if n else []),
        ]


KINK_RANGE = """static pl_status model_kink_range(void *self, int i, pl_real from, pl_real to, pl_root_range *range) {
    switch (i) {
@cases    default: return PL_ARGUMENT;
    }
}
"""

ROOT_RANGE = """static pl_status model_root_range(void *self, int i, pl_real from, pl_real to, const pl_path *path,
                                  pl_root_range *range) {
    switch (i) {
@cases    default: return PL_ARGUMENT;
    }
}
"""
