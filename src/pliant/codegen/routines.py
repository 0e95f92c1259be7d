"""Functions that stay functions in the text of a model: `void f(const pl_real *a, pl_real *y)`.

What only one branch of a choice needs is computed in that branch. Regions are the function as a whole and, inside of
a region, both sides of each condition; a value belongs to the innermost region that holds all of its uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pliant.codegen.cprint import Printer
from pliant.codegen.places import Layout, ValueKind
from pliant.codegen.plan import LARGEST_LINE
from pliant.expr.build import operands, reachable, variables_of
from pliant.ir import LOOP_TURNS, Op, Routine

Region = tuple[tuple[int, bool], ...]  # conditions and sides, outermost first
TOP: Region = ()
DEEPEST = 8  # levels of indentation: choices may stand in each other by the hundred


class RoutineTable:
    """The routines of one model, by name, and which of their outputs are read."""

    def __init__(self) -> None:
        self.numbers: dict[Routine, int] = {}
        self.used: dict[Routine, set[int]] = {}

    def name(self, routine: Routine, output: int) -> str:
        """Its name in the text; from now on it is a part of it."""
        self.used.setdefault(routine, set()).add(output)
        return f"routine_{self.numbers.setdefault(routine, len(self.numbers))}"

    def text(self, layout: Layout) -> str:
        """All of them, and those that they call."""
        waiting = [(one, k) for one, outputs in self.used.items() for k in outputs]
        while waiting:
            routine, output = waiting.pop()
            g = routine.graph
            wanted = [routine.outputs[output]]
            if routine.condition >= 0:
                wanted = [routine.condition, *(routine.outputs[k] for k in live(routine, self.used[routine]))]
            for i in reachable(g, wanted):
                node = g.nodes[i]
                if node[0] == Op.ROUTINE and node[2] not in self.used.get(node[1], ()):
                    self.name(node[1], node[2])
                    waiting.append((node[1], node[2]))
        bodies = []
        for one, outputs in self.used.items():
            chosen = sorted(outputs) if one.condition < 0 else live(one, outputs)
            bodies.append(_RoutineText(one, chosen, self, layout).text())
        real = layout.type(ValueKind.REAL)
        heads = [f"static void routine_{k}(const {real} *a, {real} *y);" for k in self.numbers.values()]
        single = [self._single(one, real) for one in self.numbers]
        return "\n".join([*heads, *single, *bodies])

    def _single(self, routine: Routine, real: str) -> str:
        name = f"routine_{self.numbers[routine]}"
        return (
            f"static PL_UNUSED {real} {name}_at(int k, const {real} *a) {{\n"
            f"    {real} y[{len(routine.outputs)}];\n    {name}(a, y);\n    return y[k];\n}}"
        )


def live(loop: Routine, outputs: Iterable[int]) -> list[int]:
    """Outputs of a loop that must be known in each turn."""
    g, place = loop.graph, {v: k for k, v in enumerate(loop.state)}
    found: set[int] = set()
    waiting = [*outputs, *(place[v] for v in variables_of(g, loop.condition) if v in place)]
    while waiting:
        k = waiting.pop()
        if k not in found:
            found.add(k)
            waiting += [place[v] for v in variables_of(g, loop.outputs[k]) if v in place]
    return sorted(found)


class _RoutineText:
    """The text of one routine."""

    def __init__(self, routine: Routine, outputs: Sequence[int], table: RoutineTable, layout: Layout) -> None:
        self.routine, self.outputs, self.table = routine, outputs, table
        self.g, self.nodes = routine.graph, routine.graph.nodes
        self.real = layout.type(ValueKind.REAL)
        self.state = {routine.state[k] for k in outputs} if routine.condition >= 0 else set()
        self.roots = [routine.outputs[k] for k in outputs]
        self.under = reachable(self.g, [*self.roots, *([routine.condition] if self.is_loop else [])])
        self.region: dict[int, Region] = {}
        self.users: dict[int, int] = {}
        self._find_regions()
        self.calls: dict[int, tuple[int, int]] = {}  # node of a call -> number of the call, output
        self.named = self._named()
        self.numbers = {i: k for k, i in enumerate(sorted(self.named))}
        self.printer = Printer(self.g, layout, self._atom, routine=table.name)
        self.inside: dict[Region, list[int]] = {}
        for i in sorted(self.named):
            self.inside.setdefault(self.region[i], []).append(i)

    @property
    def is_loop(self) -> bool:
        """It goes round."""
        return self.routine.condition >= 0

    def _find_regions(self) -> None:
        """Users have larger numbers than what they use. A turn of a loop is what its condition decides about."""
        region, users = self.region, self.users
        inside = TOP
        if self.is_loop:
            inside = ((self.routine.condition, True),)
            region[self.routine.condition], users[self.routine.condition] = TOP, 1
        for e in self.roots:
            region[e] = inside if e not in region else _common(region[e], inside)
            users[e] = users.get(e, 0) + 1
        for i in reversed(self.under):
            own, node = region[i], self.nodes[i]
            places = [own] * len(node)
            if node[0] == Op.IF:
                places = [own, (*own, (node[1], True)), (*own, (node[1], False))]
            for a, where in zip(operands(self.g, i), places, strict=False):
                region[a] = where if a not in region else _common(region[a], where)
                users[a] = users.get(a, 0) + 1

    def _named(self) -> set[int]:
        """What has a name: what is used twice, choices, calls, and ends of long lines."""
        found: set[int] = set()
        size: dict[int, int] = {}
        groups: dict[tuple[object, ...], int] = {}
        for i in self.under:
            node = self.nodes[i]
            if node[0] <= Op.ARG:
                continue
            if node[0] == Op.ROUTINE:
                self.calls[i] = groups.setdefault((node[1], *node[3:], self.region[i]), len(groups)), node[2]
            size[i] = 1 + sum(size.get(a, 0) for a in operands(self.g, i) if a not in found)
            if self.users[i] > 1 or node[0] in (Op.IF, Op.ROUTINE) or size[i] > LARGEST_LINE:
                found.add(i)
        if self.is_loop:  # all are known before the state changes
            found.update(e for e in self.roots if self.nodes[e][0] > Op.ARG)
        # what a named value reads in another region must have a name there
        for i in self.under:
            for a in operands(self.g, i):
                if self.nodes[a][0] > Op.ARG and self.region[a] != self.region[i]:
                    found.add(a)
        return found

    def _atom(self, i: int) -> str | None:
        if self.nodes[i][0] == Op.VAR:
            k = self.nodes[i][1]
            return f"_x{k}" if k in self.state else f"a[{k}]"
        return f"_t{self.numbers[i]}" if i in self.named and i != self.skip else None

    skip = -1

    def text(self) -> str:
        """The function."""
        lines = [f"/* {self.routine.name.replace('*/', '')} */"]
        number = self.table.numbers[self.routine]
        lines.append(f"static PL_PART void routine_{number}(const {self.real} *a, {self.real} *y) {{")
        lines.append("    (void)a;")
        names = [f"_t{self.numbers[i]}" for i in sorted(self.named)]
        lines += [f"    {self.real} {', '.join(names[k : k + 12])};" for k in range(0, len(names), 12)]
        self.done: set[int] = set()
        self.called: set[int] = set()
        if self.is_loop:
            return "\n".join([*lines, *self._turns(), "}", ""])
        lines += self._statements(TOP, len(self.nodes), 1)
        for k in self.outputs:
            lines.append(f"    y[{k}] = {self._printed(self.routine.outputs[k], -1)};")
        return "\n".join([*lines, "}", ""])

    def _turns(self) -> list[str]:
        """The loop."""
        routine = self.routine
        state = [routine.state[k] for k in self.outputs]
        inside = ((routine.condition, True),)
        lines = [f"    {self.real} _x{v} = a[{v}];" for v in state]
        first = self._statements(TOP, len(self.nodes), 2)
        test = self._printed(routine.condition, -1)
        turn = self._statements(inside, len(self.nodes), 2)
        new = [f"{self.real} _n{v} = {self._printed(e, -1)};" for v, e in zip(state, self.roots, strict=True)]
        lines += ["    for (long turn = 0;; ++turn) {", *first, f"        if (!({test})) break;"]
        lines += [f"        if (turn >= {LOOP_TURNS}) {{"]
        lines += [f"            y[{k}] = NAN;" for k in self.outputs]
        lines += ["            return;", "        }", *turn, *(f"        {one}" for one in new)]
        lines += [f"        _x{v} = _n{v};" for v in state]
        lines += ["    }", *(f"    y[{k}] = _x{v};" for k, v in zip(self.outputs, state, strict=True))]
        return lines

    def _printed(self, e: int, skip: int) -> str:
        self.skip = skip
        return self.printer.text(e)

    def _statements(self, region: Region, end: int, depth: int) -> list[str]:
        """Values of a region with numbers below ``end`` that are not there yet."""
        lines: list[str] = []
        pad = "    " * min(depth, DEEPEST)
        for i in self.inside.get(region, ()):
            if i >= end:
                break
            if i in self.done:
                continue
            self.done.add(i)
            node, name = self.nodes[i], f"_t{self.numbers[i]}"
            if node[0] == Op.IF:
                lines += self._choice(i, region, depth)
            elif node[0] == Op.ROUTINE:
                lines += self._call(i, pad)
            else:
                lines.append(f"{pad}{name} = {self._printed(i, i)};")
        return lines

    def _choice(self, i: int, region: Region, depth: int) -> list[str]:
        pad, name = "    " * min(depth, DEEPEST), f"_t{self.numbers[i]}"
        _, condition, *sides = self.nodes[i]
        parts = []
        for side, holds in zip(sides, (True, False), strict=True):
            inner = self._statements((*region, (condition, holds)), i, depth + 1)
            parts.append([*inner, f"{pad}    {name} = {self._printed(side, -1)};"])
        test = self._printed(condition, -1)
        if len(parts[0]) == len(parts[1]) == 1:
            return [f"{pad}{name} = ({test}) ? {self._printed(sides[0], -1)} : {self._printed(sides[1], -1)};"]
        return [f"{pad}if ({test}) {{", *parts[0], f"{pad}}} else {{", *parts[1], f"{pad}}}"]

    def _call(self, i: int, pad: str) -> list[str]:
        """The first output that is read calls, and sets all others."""
        number, _ = self.calls[i]
        if number in self.called:
            return []
        self.called.add(number)
        node = self.nodes[i]
        others = [j for j, (group, _) in self.calls.items() if group == number]
        lines = [f"{pad}{{", f"{pad}    {self.real} _y[{len(node[1].outputs)}];"]
        self.skip = -1
        name = ""
        for j in others:
            name = self.table.name(node[1], self.calls[j][1])
        lines.append(f"{pad}    {name}({self.printer.given(node)}, _y);")
        lines += [f"{pad}    _t{self.numbers[j]} = _y[{self.calls[j][1]}];" for j in others]
        self.done.update(others)
        return [*lines, f"{pad}}}"]


def _common(a: Region, b: Region) -> Region:
    """The innermost region that both lie in."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]
