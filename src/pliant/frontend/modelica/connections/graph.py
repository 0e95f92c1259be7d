"""Overconstrained connectors (9.4): a graph of records whose values depend on each other, made a forest.

Connections.branch gives edges that cannot be broken, connect gives edges that can. From every root a tree is grown
over all edges; an edge of a connect clause that would close a loop is broken, and becomes `equalityConstraint`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.frontend.flat.types import BaseType
from pliant.frontend.modelica.connections.sets import Sets, constraint_of
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.instances.components import Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax import tree

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.translate import Translator

Thing = Inst | Var  # an overconstrained record, or a variable of such a type


class RootGraph:
    """Roots, branches and connections of overconstrained records."""

    def __init__(self, translator: Translator, sets: Sets) -> None:
        self.out, self.sets = translator, sets
        self.nodes: dict[Thing, int] = {}
        self.roots: list[Thing] = []
        self.candidates: list[tuple[int, int, Thing]] = []
        self.branches: list[tuple[Thing, Thing]] = []
        self.parent: dict[Thing, Thing] = {}
        self.is_root: set[Thing] = set()
        self.depth: dict[Thing, int] = {}

    def call(self, name: str, call: tree.Call, context: Context) -> None:
        """Connections.root, potentialRoot, branch."""
        things = [self._record(one, context) for one in call.arguments[: 2 if name == "branch" else 1]]
        if any(one is None for one in things):
            return
        for one in things:
            self._node(one)  # type: ignore[arg-type]
        if name == "branch":
            self.branches.append((things[0], things[1]))  # type: ignore[arg-type]
        elif name == "root":
            self.roots.append(things[0])  # type: ignore[arg-type]
        elif name == "potentialRoot":
            priority = 0
            given = [*call.arguments[1:], *(one.value for one in call.named)]
            if given:
                priority = int(self.out.values.needed(given[0], context.scope, "the priority of a root", context.known))
            self.candidates.append((priority, len(self.candidates), things[0]))  # type: ignore[arg-type]

    def _record(self, ref: tree.Expression, context: Context) -> Thing | None:
        if not isinstance(ref, tree.Reference):
            raise problem("a connector's record is needed here", ref, path=context.path, rule="9.4.1")
        thing, _ = self.out.values.resolver.resolve(ref, context.scope, context.known)
        return thing if isinstance(thing, (Inst, Var)) else None

    def _node(self, inst: Thing) -> None:
        self.nodes.setdefault(inst, len(self.nodes))

    # -------------------------------------------------------------------------------------------------------- trees

    def solve(self) -> list[tuple[Thing, Thing, Any]]:
        """Grow trees; the connections that are broken."""
        group: dict[Thing, Thing] = {}

        def find(one: Thing) -> Thing:
            while group.setdefault(one, one) is not one:
                group[one] = group[group[one]]
                one = group[one]
            return one

        neighbours: dict[Thing, list[Thing]] = {}

        def link(a: Thing, b: Thing) -> bool:
            p, q = find(a), find(b)
            if p is q:
                return False
            group[q] = p
            neighbours.setdefault(a, []).append(b)
            neighbours.setdefault(b, []).append(a)
            return True

        for a, b, *_ in self.sets.edges:
            self._node(a)
            self._node(b)
        for a, b in self.branches:
            if not link(a, b):
                text = f"the branch between `{a.path}` and `{b.path}` closes a loop of branches"
                raise problem(text, a.node, rule="9.4.1")
        anchor: Thing | None = None
        for root in self.roots:  # all roots are one: connections between their trees are broken
            if anchor is not None and find(root) is find(anchor) and root is not anchor:
                pass
            if anchor is None:
                anchor = root
            else:
                group[find(root)] = find(anchor)
        broken = []
        for a, b, one, a_out, b_out in self.sets.edges:
            if link(a, b):
                self._keep(a, b, one, a_out, b_out)
            else:
                broken.append((a, b, one))
        self._grow(neighbours, find)
        return broken

    def _keep(self, a: Thing, b: Thing, one: Any, a_out: bool, b_out: bool) -> None:
        """Members of both records are connected."""
        if isinstance(a, Var) or isinstance(b, Var):
            self.sets._vars(a, None, a_out, b, None, b_out, one)  # type: ignore[arg-type]
            return
        for name in [key for key, element in a.table.elements.items() if not element.is_class]:
            self.sets._things(a.child(name), a_out, b.child(name), b_out, one)

    def _grow(self, neighbours: dict[Thing, list[Thing]], find: Any) -> None:
        seen: set[Thing] = set()

        def grow(root: Thing) -> None:
            self.is_root.add(root)
            queue = [root]
            seen.add(root)
            self.depth[root] = 0
            while queue:
                one = queue.pop(0)
                for other in neighbours.get(one, ()):
                    if other not in seen:
                        seen.add(other)
                        self.parent[other] = one
                        self.depth[other] = self.depth[one] + 1
                        queue.append(other)

        for root in self.roots:
            if root not in seen:
                grow(root)
        for _, _, root in sorted(self.candidates, key=lambda one: one[:2]):
            if root not in seen:
                grow(root)
        for one in self.nodes:
            if one not in seen:
                grow(one)

    # ------------------------------------------------------------------------------------------------------- answers

    def answer(self, name: str, ref: tree.Expression, scope: Any, env: Any) -> Any:
        """cardinality, isRoot, rooted."""
        if not isinstance(ref, tree.Reference):
            raise problem("a connector is needed here", ref, rule="9.4.1")
        thing, _ = self.out.values.resolver.resolve(ref, scope, env)
        if name == "cardinality":
            if not isinstance(thing, (Inst, Var)) or not thing.cls.is_connector:
                raise problem("cardinality needs a connector", ref, rule="3.7.2.3")
            return self.sets.counts.get(thing, 0)
        if name.endswith("isRoot"):
            return thing in self.is_root
        if not isinstance(thing, (Inst, Var)):
            raise problem("a record is needed here", ref, rule="9.4.1")
        for a, b in self.branches:
            if a is thing:
                return self.depth.get(a, 0) < self.depth.get(b, 0)
            if b is thing:
                return self.depth.get(b, 0) < self.depth.get(a, 0)
        return True

    def equations(self, broken: list[tuple[Thing, Thing, Any]]) -> None:
        """equalityConstraint for broken connections."""
        for a, b, one in broken:
            cls = constraint_of(a)
            assert cls is not None
            context = Context(one.inst.scope(0))
            x, y = self.out.thing(a, one.node, context), self.out.thing(b, one.node, context)
            e = self.out.calls.invoke(cls, [x, y], {}, one.node, context)
            of = self.out.type(e)
            if of.base is BaseType.TUPLE or 0 in of.shape:
                continue
            zeros = self.sets._zeros(e, one.node)
            self.sets._append(e, zeros, "equality constraint", one.node, one.inst.path)
