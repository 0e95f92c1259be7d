"""What evaluation needs to know of the expressions of a flat model: which operands, and what they depend on.

An operand is *strict* if its value is always needed, else *lazy*: branches of an if-expression, the right side of
and/or, bodies of comprehensions, and variables of which not the value is wanted (`der`, `pre`). Lazy operands are
evaluated on demand only, because a branch that is not taken may index out of bounds.
"""

from __future__ import annotations

from pliant.frontend.flat.expressions import (
    LOGICAL,
    NONE,
    FlatArray,
    FlatBinary,
    FlatBuiltin,
    FlatChoice,
    FlatComprehension,
    FlatField,
    FlatIndex,
    FlatLiteral,
    FlatRecord,
    FlatReduction,
    FlatTuple,
    IteratorRef,
    LocalRef,
    TimeRef,
    VariableRef,
    operands,
)
from pliant.frontend.flat.model import FlatAlgorithm, FlatAssign, FlatModel, expressions_of, walk
from pliant.frontend.flat.types import Variability

FUNCTION_BIT = 1  # in `depends`: inside a function
SECTION_BIT = 2  # on what an algorithm section has set so far; bit 2 + k: on iterator k
PAST = frozenset({"pre", "previous", "der", "edge", "change"})  # of a variable
_LEAVES = frozenset({FlatLiteral, VariableRef, TimeRef})


class Tape:
    """Operands and dependence of every expression (parallel lists)."""

    __slots__ = ("count", "depends", "flat", "lazy", "nodes", "quiet", "spans", "strict", "types", "variables")

    def __init__(self, flat: FlatModel) -> None:
        store = flat.expressions
        self.flat, self.nodes, self.types, self.spans = flat, store.nodes, store.types, store.spans
        self.variables = flat.variables
        self.count = len(store.nodes)
        self.strict: list[tuple[int, ...]] = []
        self.lazy: list[tuple[int, ...]] = []
        self.depends: list[int] = []  # 0: the same everywhere
        roots = self._read(self._set_by_sections())
        self.quiet = set(self.reachable(roots))  # under noEvent and smooth

    def targets(self, section: FlatAlgorithm) -> set[int]:
        """Variables that an algorithm section sets."""
        found: set[int] = set()
        for item in walk(section.body):
            stack = [item.target] if isinstance(item, FlatAssign) else []
            while stack:
                e = stack.pop()
                if e == NONE:
                    continue
                node = self.nodes[e]
                if isinstance(node, VariableRef):
                    found.add(node.variable)
                elif isinstance(node, (FlatIndex, FlatField)):
                    stack.append(node.base)
                elif isinstance(node, (FlatTuple, FlatArray)):
                    stack.extend(node.elements)
                elif isinstance(node, FlatRecord):
                    stack.extend(node.fields)
        return found

    def _set_by_sections(self) -> set[int]:
        """References in algorithm sections to what these set."""
        found: set[int] = set()
        for section in (*self.flat.algorithms, *self.flat.initial_algorithms):
            targets = self.targets(section)
            stack = [e for item in walk(section.body) for e in expressions_of(item) if e != NONE]
            while stack:
                e = stack.pop()
                node = self.nodes[e]
                if isinstance(node, VariableRef) and node.variable in targets:
                    found.add(e)
                stack.extend(operands(node))
        return found

    def _read(self, changing: set[int]) -> list[int]:
        strict, lazy, depends = self.strict.append, self.lazy.append, self.depends
        roots: list[int] = []
        for number, node in enumerate(self.nodes):
            kind = node.__class__
            if kind in _LEAVES:
                strict(())
                lazy(())
                depends.append(SECTION_BIT if number in changing else 0)
                continue
            now: tuple[int, ...] = operands(node)
            later: tuple[int, ...] = ()
            mask = 0
            for e in now:
                mask |= depends[e]
            if kind is FlatBinary:
                if node.operator in LOGICAL:  # type: ignore[union-attr]
                    now, later = now[:1], now[1:]
            elif kind is FlatChoice:
                now, later = now[:1], now[1:]
            elif kind is FlatBuiltin:
                name = node.name  # type: ignore[union-attr]
                if name in PAST:
                    now, later = (), now
                elif name in ("noEvent", "smooth"):
                    roots.extend(now)
            elif kind is FlatComprehension or kind is FlatReduction:
                now, later = (), now
                for loop in node.loops:  # type: ignore[union-attr]
                    mask &= ~(4 << loop.iterator)
            elif kind is IteratorRef:
                mask = 4 << node.number  # type: ignore[union-attr]
            elif kind is LocalRef:
                mask = FUNCTION_BIT
            strict(now)
            lazy(later)
            depends.append(mask)
        return roots

    def reachable(self, roots: list[int], *, sizes: bool = True) -> list[int]:
        """All numbers under the given ones, ascending; without ``sizes`` not the arrays whose size alone is read."""
        nodes = self.nodes
        seen: set[int] = set()
        stack = list(roots)
        while stack:
            number = stack.pop()
            if number not in seen:
                seen.add(number)
                if not sizes:
                    node = nodes[number]
                    if node.__class__ is FlatBuiltin and node.name == "size":
                        stack.extend(self.strict[number][1:])
                        continue
                stack.extend(self.strict[number])
                stack.extend(self.lazy[number])
        return sorted(seen)

    def reads(self, root: int) -> list[int]:
        """Variables whose values an expression reads, not those of which it reads pre(v) only."""
        found: list[int] = []
        seen: set[int] = set()
        stack = [root]
        while stack:
            number = stack.pop()
            if number in seen:
                continue
            seen.add(number)
            node = self.nodes[number]
            if node.__class__ is VariableRef:
                found.append(number)
            elif node.__class__ is FlatBuiltin and node.name in ("pre", "previous", "der"):
                continue
            stack.extend(self.strict[number])
            stack.extend(self.lazy[number])
        return [self.nodes[number].variable for number in sorted(found)]  # type: ignore[union-attr]

    def parameters_in(self, root: int | None, *, sizes: bool = True) -> list[int]:
        """Parameters and constants that an expression reads; ``sizes``: also those in size(p)."""
        if root is None or self.nodes[root].__class__ is FlatLiteral:
            return []
        found = []
        for number in self.reachable([root], sizes=sizes):
            node = self.nodes[number]
            if isinstance(node, VariableRef) and self.variables[node.variable].variability <= Variability.PARAMETER:
                found.append(node.variable)
        return found
