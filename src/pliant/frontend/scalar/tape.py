"""What evaluation needs to know of the expressions of a flat model: which operands, and what they depend on.

An operand is *strict* if its value is always needed, else *lazy*: branches of an if-expression, the right side of
and/or, bodies of comprehensions, and variables of which not the value is wanted (`der`, `pre`). Lazy operands are
evaluated on demand only, because a branch that is not taken may index out of bounds.
"""

from __future__ import annotations

from pliant.frontend.flat.expressions import (
    LOGICAL,
    WHOLE,
    FlatArray,
    FlatBinary,
    FlatBuiltin,
    FlatCall,
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
from pliant.frontend.flat.model import (
    FlatAlgorithm,
    FlatAssert,
    FlatAssign,
    FlatIf,
    FlatModel,
    FlatReinit,
    FlatTerminate,
    FlatWhen,
    expressions_of,
    walk,
)
from pliant.frontend.flat.types import BaseType, Causality, Variability

FUNCTION_BIT = 1  # in `depends`: inside a function
SECTION_BIT = 2  # on a variable that an algorithm sets, which has other values while it runs; on impure calls
_ITERATOR_BIT = 4  # shifted by k: on iterator k
PAST = frozenset({"pre", "previous", "der", "edge", "change"})  # of a variable
_LEAVES = frozenset({FlatLiteral, VariableRef, TimeRef})


class Tape:
    """Operands and dependence of every expression (parallel lists)."""

    __slots__ = (
        "count",
        "depends",
        "flat",
        "lazy",
        "nodes",
        "quiet",
        "sections",
        "spans",
        "strict",
        "types",
        "variables",
    )

    def __init__(self, flat: FlatModel) -> None:
        store = flat.expressions
        self.flat, self.nodes, self.types, self.spans = flat, store.nodes, store.types, store.spans
        self.variables = flat.variables
        self.count = len(store.nodes)
        self.strict: list[tuple[int, ...]] = []
        self.lazy: list[tuple[int, ...]] = []
        self.depends: list[int] = []  # 0: the same everywhere
        roots = self._read()
        self.sections = frozenset(k for k, one in enumerate(flat.algorithms) if not is_simple(self, one))
        self._mark_sections()
        self.quiet = set(self.reachable(roots))  # under noEvent and smooth

    def _mark_sections(self) -> None:
        """Expressions over what algorithms set are evaluated again wherever they stand."""
        flat = self.flat
        run = [flat.algorithms[k] for k in sorted(self.sections)] + list(flat.initial_algorithms)
        targets = {v for section in run for v in targets_of(self, section)}
        if not targets:
            return
        for number, node in enumerate(self.nodes):
            if node.__class__ is VariableRef:
                is_set = node.variable in targets
            else:
                is_set = any(self.depends[e] & SECTION_BIT for e in operands(node))
            if is_set:
                self.depends[number] |= SECTION_BIT

    def _read(self) -> list[int]:
        strict, lazy, depends = self.strict.append, self.lazy.append, self.depends
        roots: list[int] = []
        for node in self.nodes:
            kind = node.__class__
            if kind in _LEAVES:
                strict(())
                lazy(())
                depends.append(0)
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
                    mask &= ~(_ITERATOR_BIT << loop.iterator)
            elif kind is IteratorRef:
                mask = _ITERATOR_BIT << node.number  # type: ignore[union-attr]
            elif kind is LocalRef:
                mask = FUNCTION_BIT
            elif kind is FlatCall and not (node.is_pure or self.flat.functions[node.function].is_pure):  # type: ignore[union-attr]
                mask |= SECTION_BIT  # each call is one of its own
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

    def is_held(self, root: int) -> bool:
        """What it reads, as it is written, changes at events only."""
        stack, seen = [root], set()
        while stack:
            number = stack.pop()
            if number in seen:
                continue
            seen.add(number)
            node = self.nodes[number]
            if node.__class__ is TimeRef:
                return False
            if node.__class__ is VariableRef and self.variables[node.variable].variability is Variability.CONTINUOUS:
                return False
            stack.extend(operands(node))
        return True

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


def targets_of(tape: Tape, section: FlatAlgorithm) -> list[int]:
    """Variables that a section sets, in order."""
    found: dict[int, None] = {}
    for item in walk(section.body):
        if isinstance(item, FlatAssign):
            found.update(dict.fromkeys(_set_by(tape, item.target)))
    return list(found)


def _set_by(tape: Tape, e: int) -> list[int]:
    """Variables of a target; those in its subscripts are read only."""
    node = tape.nodes[e]
    if isinstance(node, VariableRef):
        return [node.variable]
    if isinstance(node, (FlatIndex, FlatField)):
        return _set_by(tape, node.base)
    if isinstance(node, (FlatTuple, FlatArray, FlatRecord)):
        return [v for one in operands(node) for v in _set_by(tape, one)]
    return []


def _is_fixed(tape: Tape, target: VariableRef | FlatIndex) -> bool:
    """The same elements are always meant: no variable chooses them, nor a parameter that the start determines."""
    given = target.subscripts if isinstance(target, FlatIndex) else ()
    chosen = [tape.variables[v] for e in given if e != WHOLE for v in tape.reads(e)]
    return all(own.variability <= Variability.PARAMETER and all(own.fixed) for own in chosen)


def is_simple(tape: Tape, section: FlatAlgorithm) -> bool:
    """Assignments to discrete variables under conditions, which do not read what the section sets."""
    targets = set(targets_of(tape, section))
    variables = tape.variables
    for v in targets:
        own = variables[v]
        is_discrete = own.variability is Variability.DISCRETE and own.causality is not Causality.INPUT
        if not is_discrete or own.type.base is BaseType.STRING:
            return False
    for item in walk(section.body):
        if isinstance(item, (FlatReinit, FlatTerminate, FlatAssert)):
            read = expressions_of(item)
        elif isinstance(item, FlatAssign):
            target = tape.nodes[item.target]
            if not isinstance(target, (VariableRef, FlatIndex)) or not _is_fixed(tape, target):
                return False
            read = (item.value,)
        elif isinstance(item, (FlatIf, FlatWhen)):
            read = expressions_of(item)
        else:
            return False
        if any(not targets.isdisjoint(tape.reads(e)) for e in read):
            return False
    return True
