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
from pliant.codegen.range_text import RangeText
from pliant.expr.build import add, apply, const, div, mul, operands, reachable, sub, variables_of
from pliant.expr.walk import memoised
from pliant.ir import FLOOR_ROOM, FLOOR_ROUNDING, Kind, Op

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

STILL, TIMED, MEMORY = "PL_ROOT_STILL", "PL_ROOT_TIMED", "PL_ROOT_MEMORY"
CLOSED, PATH = "PL_ROOT_CLOSED", "PL_ROOT_PATH"
TIME, EVENTS, STATES, INPUTS = 1, 2, 4, 32  # what an expression depends on, besides parameters
PATHS = STATES | INPUTS  # what only the solver knows
UNKNOWN = 8  # on something that no function can be written for: a loop, a foreign function
WAVES = 16  # it may go up and down, or bend, while its operands do not
LARGEST_KINK = 100  # nodes of its sides: intervals of iterations that are written out say nothing, and cost much
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
        if not self.e.program.f:
            return []  # nothing is integrated
        expressions = [e for statement in self.e.program.statements for e in nodes_of(statement)]
        for e in reachable(self.g, [*expressions, *self.e.program.f]):
            op = nodes[e][0]
            if op not in _KINKS or self._depends(e) & (TIME | PATHS | UNKNOWN) != TIME or self._keeps_multiple(e):
                continue
            inner = operands(self.g, e)
            sides = inner[0], inner[1] if len(inner) > 1 else zero
            if len(reachable(self.g, sides)) <= LARGEST_KINK:
                found.append(sides)
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
        body = RangeText(self)
        left, right = (body.range(e) for e in self.sides[k])
        at = self.e.c.layout.place
        extent = at(EXTENT.at(k)) if self.on_path(k) else "0.0"
        if self.is_timed(k) and self.relations[k].floor:
            extent = f"{at(SLACK.at(k))} * PL_RANGE_SLACK"  # what it was granted at the event counts as rounding
        attribute = "PL_COLD " if len(body.lines) > LONG else ""
        head = f"static {attribute}pl_status relation_range_{k}(const model *m, pl_real from, pl_real to, "
        return (
            f"{head}const pl_path *path, pl_root_range *range) {{\n    (void)from, (void)to, (void)path;\n{body.text}"
            f"    return pl_relation_range({left}, {right}, {at(RELATION.at(k))}, {extent}, range);\n}}\n"
        )

    def _kink(self, k: int, one: int, other: int) -> str:
        body = RangeText(self)
        left, right = (body.range(e) for e in (one, other))
        return (
            f"static pl_status kink_range_{k}(const model *m, pl_real from, pl_real to, pl_root_range *range) {{\n"
            f"    (void)m, (void)from, (void)to;\n{body.text}    return pl_kink_range({left}, {right}, range);\n}}\n"
        )

    def stands(self, e: int) -> bool:
        """Only events change it: between them it is a number."""
        return not self._depends(e) & (TIME | PATHS | UNKNOWN)

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
