"""Whether a model has as many equations as unknowns: counted by instances, narrowed down by matching (4.8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from pliant.frontend.flat.model import FlatAlgorithm, FlatItem, walk
from pliant.frontend.flat.types import BaseType, Causality, Variability
from pliant.frontend.modelica.flatten.counts import Counts
from pliant.frontend.modelica.flatten.determined import Determined
from pliant.frontend.modelica.instances.components import Many, Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.problems import problem

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder

MOST_NAMED = 3  # components in a message
MOST_SHOWN = 5  # variables and equations


class Balance(Counts):
    """Counts of one model."""

    def __init__(self, builder: FlatBuilder) -> None:
        super().__init__(builder)
        self.set_by_when: dict[int, int] = {}
        self.equations: Counter[str] = Counter()
        self.unknowns: Counter[str] = Counter()
        for variable in builder.variables:
            is_unknown = variable.variability > Variability.PARAMETER and variable.type.base is not BaseType.OBJECT
            if is_unknown and variable.causality is not Causality.INPUT:
                self.unknowns[variable.path] += prod(n or 0 for n in variable.type.shape)
        for item in builder.equations:
            self.equations[item.path] += self.count(item)
        for section in builder.algorithms:
            assigned = {v for item in walk(section.body) for v in self.targets(item)}
            self.equations[section.path] += sum(self.size(v) for v in assigned)
        self.difference = self.equations.total() - self.unknowns.total()


def check_balance(builder: FlatBuilder, insts: Sequence[Inst]) -> None:
    """As many equations as unknowns; the components that are not balanced by themselves are named (4.8)."""
    balance = Balance(builder)
    if not balance.difference:
        return
    surplus = _by_component(balance, insts)
    root = insts[0]
    found = [(one, surplus[one]) for one in insts if surplus.get(one) and not _inner(one, surplus)]
    named = [(one, n) for one, n in found if (n > 0) == (balance.difference > 0)] or [(root, balance.difference)]
    lines = []
    for inst, n in named[:MOST_NAMED]:
        where = f"`{inst.path}` of the class `{inst.cls.name}`" if inst.path else f"`{inst.cls.name}`"
        lines.append(f"{where} has {_many(abs(n))} too {'many' if n > 0 else 'few'}")
    lines += _narrowed(balance)
    equations, unknowns = balance.equations.total(), balance.unknowns.total()
    text = f"the model has {_many(equations)} for {unknowns} unknown{'s' * (unknowns != 1)}\n  " + "\n  ".join(lines)
    hint = "remove equations or bindings" if balance.difference > 0 else "add equations or bindings"
    raise problem(text, _place_of(builder, named[0][0], balance.difference), rule="4.8", hint=hint)


def _narrowed(balance: Balance) -> list[str]:
    """The variables that too few equations are about, or the equations that are too many, with their lines."""
    found, builder = Determined(balance), balance.builder
    if balance.difference < 0:
        variables, items = found.missing()
        words = "no equation is left for" if not items else f"{_many(len(items))} must determine all of these:"
    else:
        items, variables = found.surplus()
        words = "about" if variables else "nothing in these is an unknown:"
    names = [
        f"`{one.name}`" + (f" ({one.span})" if one.span is not None else "")
        for one in (builder.variables[v] for v in variables[:MOST_SHOWN])
    ]
    names += ["…"] if len(variables) > MOST_SHOWN else []
    texts = [f"  {one.span}: {_text(one)}" for one in items[:MOST_SHOWN] if one.span is not None]
    texts += ["  …"] if len(items) > MOST_SHOWN else []
    if balance.difference < 0:
        return [f"{words} {', '.join(names)}", *texts] if names else []
    if not items:
        return []
    return [f"{_many(len(items))} {words} {', '.join(names)}".rstrip(": "), *texts]


def _text(item: FlatItem | FlatAlgorithm) -> str:
    text = " ".join(item.span.text.split()) if item.span is not None else ""
    return text if len(text) <= 70 else text[:69] + "…"


def _many(n: int) -> str:
    return f"{n} equation{'s' * (n != 1)}"


def _place_of(builder: FlatBuilder, inst: Inst, difference: int) -> Any:
    """Where an instance is declared; for the model itself its class."""
    return inst.node if inst.node is not None else inst.cls.core.entry.definition


def _by_component(balance: Balance, insts: Sequence[Inst]) -> dict[Inst, int]:
    """Equations less unknowns of each component with all in it; what its surroundings give counts as equations."""
    by_path = {one.path: one for one in insts}
    surplus: dict[Inst, int] = {}
    for item in balance.builder.equations:
        inst = by_path.get(item.path)
        if inst is None:
            continue
        if inst.cls.is_connector and getattr(item, "origin", "") == "flow balance":
            inst = _owner(_owner(inst))  # the surroundings say that nothing is connected
        _up(surplus, inst, balance.count(item), None)
    for section in balance.builder.algorithms:
        assigned = {v for item in walk(section.body) for v in balance.targets(item)}
        if section.path in by_path:
            _up(surplus, by_path[section.path], sum(balance.size(v) for v in assigned), None)
    for path, count in balance.unknowns.items():
        if path in by_path:
            _up(surplus, by_path[path], -count, None)
    for inst in insts:
        if inst.parent is None or (inst.cls.is_connector and inst.parent.cls.is_connector):
            continue
        for var in _variables_of(inst):
            if var.variability > 1 and (var.connection == "flow" or (var.causality == "input" and var.binding is None)):
                owner = _owner(inst) if inst.cls.is_connector else inst
                if owner.parent is not None:
                    _up(surplus, owner, prod(var.shape), owner)
    return surplus


def _up(surplus: dict[Inst, int], inst: Inst, count: int, only: Inst | None) -> None:
    """Add to an instance and those around it."""
    at: Inst | None = inst
    while at is not None:
        surplus[at] = surplus.get(at, 0) + count
        at = at.parent if only is None else None


def _owner(inst: Inst) -> Inst:
    """The component that a connector belongs to; of a component the one around it."""
    at = inst
    while at.cls.is_connector and at.parent is not None:
        at = at.parent
    return at.parent if at is inst and at.parent is not None else at


def _variables_of(inst: Inst) -> Iterable[Var]:
    """Variables of an instance itself; of a connector with those inside."""
    for name, element in inst.table.elements.items():
        if element.is_class:
            continue
        thing = inst.child(name)
        stack = [thing]
        while stack:
            one = stack.pop()
            if isinstance(one, Var):
                yield one
            elif isinstance(one, Many) and inst.cls.is_connector:
                stack.extend(one.elements)
            elif isinstance(one, Inst) and inst.cls.is_connector:
                stack.extend(one.child(key) for key, each in one.table.elements.items() if not each.is_class)


def _inner(inst: Inst, surplus: dict[Inst, int]) -> bool:
    """A component in it is not balanced either."""
    for one in inst.children.values():
        for child in one.elements if isinstance(one, Many) else (one,):
            if isinstance(child, Inst) and not child.cls.is_connector and surplus.get(child):
                return True
    return inst.cls.is_connector
