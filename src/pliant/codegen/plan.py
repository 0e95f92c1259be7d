"""What one C function computes, in order: which subexpressions get a name, what crosses from part to part.

An item is one or a few C statements. Items of a large function are spread over several parts, each a C function of its
own, because compilers need more than linear time for long functions; values that cross live in the instance's memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from pliant.codegen.arrays import loop_matrix
from pliant.codegen.places import Array, Place
from pliant.codegen.program import Assign, Columns, Newton, Solve, Statement
from pliant.codegen.same_values import Copies
from pliant.expr.build import operands, reachable
from pliant.expr.walk import memoised
from pliant.ir import PLAIN, Graph, Kind, Op, Variable

LARGEST_LINE = 22  # operations in one line
PART = 200  # items per C function
INLINE_SYSTEM = 2  # unknowns of a linear system whose matrix stays in local variables
Target = tuple[Place, int]  # where it goes, expression
Key = tuple[str, int]  # ("v", variable), ("n", node), or ("e", number of an entry that is stored for a solve)
RESIDUAL, SLOPES = Array("r"), Array("a")  # what one pass of an iteration gives
_CALLED = frozenset({Op.POW, Op.ATAN2, Op.ROUTINE, *range(Op.SIN, Op.LOG10 + 1)})
_FIXED_KINDS = (Kind.PARAMETER, Kind.CONSTANT)
_EVENT_KINDS = (Kind.DISCRETE, Kind.BEFORE)
_MOVING = frozenset({Op.TIME, Op.ARG, Op.HOMOTOPY, Op.DELAY, Op.PIPE})  # between events


@dataclass(eq=False, slots=True)
class PlanItem:
    """``kind``: temp, call (of a routine), assign, entry, solve, newton, columns, target, copy, stop (return early on
    its condition)."""

    kind: str
    defines: list[Key] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    statement: Statement | None = None
    place: Place | None = None  # of a target or an entry
    copy: tuple[Place, Place, int] | None = None  # to, from, how many values
    condition: str = ""  # of a stop
    inner: FunctionPlan | None = None
    read: set[Key] | None = None  # made by Plan.reads
    calls: bool = False  # elementary functions; known after Plan.reads
    after: list[Key] = field(default_factory=list)  # what else must have been done before


def nodes_of(statement: Statement) -> list[int]:
    """Expressions that a statement evaluates in the function itself."""
    if isinstance(statement, Assign):
        return [statement.expression]
    if isinstance(statement, Solve):
        return [e for row in statement.matrix for e in row] + [*statement.right]
    if isinstance(statement, Columns):
        matrix = [e for row in statement.matrix for e in row] if statement.is_newton else []
        return matrix + [e for row in statement.right for e in row]
    return []


def targets_of(statement: Statement) -> list[int]:
    """Variables that a statement gives values to."""
    if isinstance(statement, Assign):
        return [statement.target]
    if isinstance(statement, Columns):
        return [v for row in statement.targets for v in row]
    return list(statement.targets)


def inner_nodes(statement: Newton) -> list[int]:
    """Expressions inside the iteration."""
    return [
        *(step.expression for step in statement.steps),
        *statement.residuals,
        *(e for row in statement.matrix for e in row),
    ]


class Shared:
    """What the plans of one model know in common about its expressions: filled in once, read often."""

    def __init__(self, g: Graph, variables: Sequence[Variable]) -> None:
        self.g, self.variables = g, variables
        self.fixed: list[bool] = []  # node -> constant during a simulation
        self.held: list[bool] = []  # node -> changes at events only, if at all
        self.exact: Set[int] = frozenset()  # quotients that stay quotients wherever they are written
        self.still: set[int] = set()  # algebraic variables that change at events only
        self._uses: dict[int, tuple[int, ...]] = {}
        self.copies = Copies(self)
        self.inverts = False  # quotients by constants of the simulation are written as products

    def find_copies(self, statements: Iterable[Statement]) -> None:
        """From now on plans read one of several variables that hold the same value."""
        statements = list(statements)
        self._find_still(statements)
        self.copies = Copies(self, statements)

    def _find_still(self, statements: list[Statement]) -> None:
        """Statements come in the order of their evaluation: what one reads is known."""
        known: dict[int, bool] = {}

        def below(e: int) -> Sequence[int]:
            return () if self.g.nodes[e][0] <= Op.ARG else operands(self.g, e)

        def holds(e: int) -> bool:
            op = self.g.nodes[e][0]
            if op == Op.VAR:
                return self._rests(self.g.nodes[e][1])
            return op not in _MOVING and all(known[a] for a in below(e))

        for one in statements:
            if isinstance(one, Assign) and memoised(one.expression, known, below, holds):
                self.still.add(one.target)

    def _rests(self, v: int) -> bool:
        """A variable that changes at events only."""
        if v >= len(self.variables):
            return False  # one that was dropped may still have a node
        own = self.variables[v]
        is_whole_input = own.kind == Kind.INPUT and own.type != "real"
        return own.kind in _FIXED_KINDS or own.kind in _EVENT_KINDS or is_whole_input or v in self.still

    def extend(self) -> None:
        """Bring ``fixed`` and ``held`` up to date with the nodes made since."""
        fixed, held, variables = self.fixed, self.held, self.variables
        for node in self.g.nodes[len(fixed) :]:
            op = node[0]
            if op == Op.VAR:
                # a variable that was dropped may still have a node
                fixed.append(node[1] < len(variables) and variables[node[1]].kind in _FIXED_KINDS)
            elif op <= Op.ARG:
                fixed.append(op == Op.CONST)
            elif op in (Op.HOMOTOPY, Op.DELAY, Op.PIPE):
                fixed.append(False)
            else:
                fixed.append(False not in [fixed[a] for a in node[1 + PLAIN.get(op, 0) :]])
        for node in self.g.nodes[len(held) :]:
            op = node[0]
            if op == Op.VAR:
                held.append(self._rests(node[1]))
            elif op in _MOVING:
                held.append(False)
            else:
                below = node[1 + PLAIN.get(op, 0) :] if op > Op.ARG else ()
                held.append(all(held[a] for a in below))

    def is_product(self, e: int) -> bool:
        """A quotient by a constant of the simulation, which may be rounded once more: 49/49 as 49*(1/49) is not 1, so
        what changes at events only stays a quotient, or relations and whole numbers would come out differently."""
        node = self.g.nodes[e]
        if not self.inverts or node[0] != Op.DIV or e in self.exact:
            return False
        return self.fixed[node[2]] and not self.held[node[1]]

    def uses(self, e: int) -> tuple[int, ...]:
        """Variables in an expression."""
        found = self._uses.get(e)
        if found is None:
            nodes = self.g.nodes
            found = tuple([nodes[i][1] for i in reachable(self.g, (e,)) if nodes[i][0] == Op.VAR])
            self._uses[e] = found
        return found


class FunctionPlan:
    """Items of one C function."""

    def __init__(
        self,
        shared: Shared,
        statements: Iterable[Statement],
        targets: Sequence[Sequence[Target]],
        outer: Mapping[int, Key] | None = None,
        hoist: bool = True,
    ) -> None:
        """``targets`` come in groups, with an early return between them; ``outer``: nodes that are named outside
        already; ``hoist``: expressions of parameters alone are computed elsewhere."""
        self.g, self.shared = shared.g, shared
        statements = [shared.copies.statement(one) for one in statements]
        targets = [[(place, shared.copies.expression(e)) for place, e in group] for group in targets]
        shared.extend()
        self.outer = outer or {}
        self.hoist = hoist
        self.items: list[PlanItem] = []
        self.called: dict[tuple[object, ...], PlanItem] = {}  # routine and arguments -> its call
        self.named: dict[int, Key] = {}  # node -> key of the value that holds it
        self.needed = self._needed(statements, targets)
        self.forced: set[int] = set()
        roots = self._roots(targets)
        self.temps = self._choose_temps(roots)
        for statement in self.needed:
            self._add(statement)
        for k, group in enumerate(targets):
            if k and group:
                self.items.append(PlanItem("stop"))
            for place, e in group:
                self._emit_temps([e])
                self.items.append(PlanItem("target", [], [e], None, place))

    # ------------------------------------------------------------------ what is needed

    def _needed(self, statements: list[Statement], targets: Sequence[Sequence[Target]]) -> list[Statement]:
        if not statements:
            return []
        wanted = self._variables([e for group in targets for _, e in group])
        kept: list[Statement] = []
        loops: set[int] = set()
        for statement in reversed(statements):
            uses_loop = isinstance(statement, Solve | Newton) and statement.loop in loops
            if not uses_loop and not any(v in wanted for v in targets_of(statement)):
                continue
            kept.append(statement)
            exprs = nodes_of(statement)
            if isinstance(statement, Newton):
                exprs = inner_nodes(statement)
            if isinstance(statement, Columns):
                loops.add(statement.loop)
                if not statement.is_newton:
                    exprs = exprs + [e for row in statement.matrix for e in row]
            wanted |= self._variables(exprs)
        kept.reverse()
        return kept

    def _variables(self, roots: Iterable[int]) -> set[int]:
        uses = self.shared.uses
        found: set[int] = set()
        for e in roots:
            found.update(uses(e))
        return found

    def _roots(self, targets: Sequence[Sequence[Target]]) -> list[int]:
        roots: list[int] = []
        for statement in self.needed:
            if isinstance(statement, Newton):
                outside = self._invariant(statement)
                self.forced.update(outside)
                roots += outside
            else:
                roots += nodes_of(statement)
        return roots + [e for group in targets for _, e in group]

    def _invariant(self, statement: Newton) -> list[int]:
        """Largest expressions inside an iteration that do not change with its unknowns."""
        moving = {*statement.targets, *(step.target for step in statement.steps)}
        nodes = self.g.nodes
        inside = reachable(self.g, inner_nodes(statement))
        changes = set()
        for i in inside:
            node = nodes[i]
            if (node[0] == Op.VAR and node[1] in moving) or any(a in changes for a in operands(self.g, i)):
                changes.add(i)
        border = {a for i in changes for a in operands(self.g, i) if a not in changes}
        border |= {e for e in inner_nodes(statement) if e not in changes}
        return sorted(i for i in border if nodes[i][0] > Op.ARG and not self.is_fixed(i))

    # ------------------------------------------------------------------ names for shared values

    def is_fixed(self, e: int) -> bool:
        """Depends on parameters only: computed when they are set, not here."""
        return self.hoist and self.shared.fixed[e]

    def is_inverted(self, i: int, a: int) -> bool:
        """Operand a of node i is a divisor whose inverse is known beforehand."""
        node = self.g.nodes[i]
        return self.is_product(i) and node[2] == a != node[1]

    def is_product(self, i: int) -> bool:
        """A quotient that is written as a product."""
        return self.hoist and self.shared.is_product(i)

    def _stops(self, i: int) -> bool:
        """Not looked into: a leaf, a constant of the simulation, or named outside."""
        return self.g.nodes[i][0] <= Op.ARG or (self.hoist and self.shared.fixed[i]) or i in self.outer

    def _choose_temps(self, roots: list[int]) -> set[int]:
        count: dict[int, int] = {}
        stack: list[int] = []
        for e in roots:
            count[e] = count.get(e, 0) + 1
            if count[e] == 1:
                stack.append(e)
        order: list[int] = []
        while stack:
            i = stack.pop()
            if self._stops(i):
                continue
            order.append(i)
            for a in operands(self.g, i):
                seen = count.get(a, 0)
                count[a] = seen + 1
                if not seen:
                    stack.append(a)
        temps = {i for i in order if i in self.forced or self.g.nodes[i][0] == Op.ROUTINE}
        size: dict[int, int] = {}
        for i in sorted(order):
            node = self.g.nodes[i]
            here = 1 + sum(size.get(a, 0) for a in operands(self.g, i) if a not in temps)
            shared = count[i] > 1 and not (node[0] == Op.NEG and self._stops(node[1]))
            if shared or here > LARGEST_LINE:
                temps.add(i)
            size[i] = here
        return temps

    def _emit_temps(self, roots: Iterable[int]) -> None:
        new: set[int] = set()
        stack = list(roots)
        seen: set[int] = set()
        while stack:
            i = stack.pop()
            if i in seen or i in self.named or self._stops(i):
                continue
            seen.add(i)
            if i in self.temps:
                new.add(i)
            stack.extend(operands(self.g, i))
        for i in sorted(new):
            self.named[i] = ("n", i)
            if self.g.nodes[i][0] == Op.ROUTINE:
                self._emit_call(i)
            else:
                self.items.append(PlanItem("temp", [("n", i)], [i]))

    def _emit_call(self, i: int) -> None:
        """One call gives all outputs that are read."""
        node = self.g.nodes[i]
        key = (node[1], *node[3:])
        known = self.called.get(key)
        if known is None:
            known = self.called[key] = PlanItem("call", [], [i])
            self.items.append(known)
        known.defines.append(("n", i))

    def _add(self, statement: Statement) -> None:
        if isinstance(statement, Assign):
            e = statement.expression
            fresh = e in self.temps and e not in self.named and not self._stops(e)
            fresh = fresh and self.g.nodes[e][0] != Op.ROUTINE
            self._emit_temps(operands(self.g, e) if fresh else [e])
            if fresh:  # the variable itself names the shared value
                self.named[e] = ("v", statement.target)
            self.items.append(PlanItem("assign", [("v", statement.target)], [e], statement))
            return
        defines: list[Key] = [("v", v) for v in targets_of(statement)]
        if isinstance(statement, Newton):
            self._emit_temps(self._invariant(statement))
            inside = reachable(self.g, inner_nodes(statement))
            inner = FunctionPlan(
                self.shared,
                list(statement.steps),
                [
                    [(RESIDUAL.at(k), e) for k, e in enumerate(statement.residuals)],
                    [(SLOPES.at(k), e) for k, e in enumerate(e for row in statement.matrix for e in row)],
                ],
                outer={i: self.named[i] for i in inside if i in self.named},
            )
            self.items.append(PlanItem("newton", defines, [], statement, inner=inner))
            return
        if isinstance(statement, Solve) and len(statement.targets) > INLINE_SYSTEM:
            self.items.append(PlanItem("solve", defines, [], statement, after=self._entries(statement)))
            return
        self._emit_temps(nodes_of(statement))
        kind = "solve" if isinstance(statement, Solve) else "columns"
        self.items.append(PlanItem(kind, defines, nodes_of(statement), statement))

    def _entries(self, statement: Solve) -> list[Key]:
        """Matrix and right side, each entry stored as soon as it is known: what it is made of can be forgotten.

        Column by column: the entries of one column, effects of one tear, share most."""
        keys: list[Key] = []
        n = len(statement.targets)
        nodes = nodes_of(statement)
        for place in [*(i * n + j for j in range(n) for i in range(n)), *range(n * n, len(nodes))]:
            e = nodes[place]
            self._emit_temps([e])
            keys.append(("e", len(self.items)))
            self.items.append(PlanItem("entry", [keys[-1]], [e], None, loop_matrix(statement.loop).at(place)))
        return keys

    # ------------------------------------------------------------------ what an item reads

    def reads(self, item: PlanItem) -> set[Key]:
        """Keys that an item needs: values computed elsewhere, and leaves of the model."""
        if item.read is not None:
            return item.read
        found: set[Key] = set(item.after)
        own = set(item.defines)
        for root in item.roots:
            stack = [root]
            first = True
            while stack:
                i = stack.pop()
                key = self.named.get(i)
                if key is not None and not (first and key in own):
                    found.add(key)
                elif self.g.nodes[i][0] == Op.VAR:
                    found.add(("v", self.g.nodes[i][1]))
                elif not self.is_fixed(i):
                    if i in self.outer:
                        found.add(self.outer[i])
                    else:
                        item.calls = item.calls or self.g.nodes[i][0] in _CALLED
                        stack.extend(a for a in operands(self.g, i) if not self.is_inverted(i, a))
                first = False
        item.read = found
        return found
