"""Rules that classes and declarations have to keep, by the kind of class (4.7, 7.1.3) and by prefixes (4.4).

Each class is looked at once, when its first instance is made; prefixes are looked at for each component.
"""

from __future__ import annotations

from typing import Any

from pliant.frontend.modelica.instances.classes import Class, Core
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax.tree import (
    INNER,
    OUTER,
    PROTECTED,
    REPLACEABLE,
    Component,
    Element,
    Enumeration,
    Extends,
    LongClass,
    ShortClass,
)

_BASES = {  # what a class of a kind may extend (7.1.3); "class" fits everywhere
    "package": {"package"},
    "operator": {"operator"},
    "function": {"function"},
    "operator function": {"function", "operator function"},
    "type": {"type"},
    "record": {"record"},
    "operator record": {"operator record", "record"},
    "connector": {"connector", "record", "operator record", "type"},
    "expandable connector": {"expandable connector"},
    "block": {"block", "record"},
    "model": {"model", "block", "record"},
}


def check_core(core: Core) -> None:
    """What a class may contain and extend."""
    definition = core.entry.definition
    body = core.entry.body
    if body is None or core.builtin:
        return
    kind = core.kind
    for layer in core.table.layers[1:]:
        base = layer.entry.definition
        allowed = _BASES.get(kind)
        if allowed is not None and base.kind not in allowed and base.kind != "class":
            clause = next((one for one in body.extends if one.base.names[-1] == base.name), definition)
            text = f"the {kind} `{core.entry.full_name}` extends the {base.kind} `{layer.entry.full_name}`"
            raise problem(text, clause, rule="7.1.3", hint=f"a {kind} may extend: {', '.join(sorted(allowed))}")
    if kind.endswith(("record", "connector")) or kind == "type":
        _check_data(core, kind)
    elif kind == "package":
        _check_package(core)
    elif kind in ("function", "operator function"):
        _check_function(core)
    elif kind == "operator":
        for one in body.elements:
            if isinstance(one, Component) or (isinstance(one, LongClass) and "function" not in one.kind):
                raise problem("an operator may contain functions only", one, rule="14.1")
    if core.table.primitive is not None:
        for name, element in core.table.elements.items():
            text = f"`{core.entry.full_name}` extends a simple type and cannot have the element `{name}`"
            raise problem(text, element.node, rule="7.1.3")


def _check_data(core: Core, kind: str) -> None:
    body = core.entry.body
    assert body is not None
    for section in (body.equations, body.initial_equations, body.algorithms, body.initial_algorithms):
        if section:
            text = f"a {kind} cannot have equations or algorithms"
            raise problem(text, section[0], rule="4.7", hint="move them to a model or block")
    for one in body.components:
        if kind == "type":
            raise problem("a type cannot have components", one, rule="4.7")
        if one.prefixes & (INNER | OUTER):
            raise problem(f"a {kind} cannot have inner or outer components", one, rule="4.7")
        if one.prefixes & PROTECTED:
            raise problem(f"a {kind} cannot have protected components", one, rule="4.7")
        if kind.endswith("record") and one.connection:
            raise problem(f"a {kind} cannot have {one.connection} components", one, rule="4.7")


def _check_package(core: Core) -> None:
    body = core.entry.body
    assert body is not None
    for one in body.components:
        if one.variability != "constant":
            text = f"a package can have constants only, not `{one.name}`"
            raise problem(text, one, rule="4.7", hint="declare it as constant")
    if body.equations or body.algorithms:
        raise problem("a package cannot have equations or algorithms", core.entry.definition, rule="4.7")


def _check_function(core: Core) -> None:
    sections = 0
    for layer in core.table.layers:
        body = layer.body
        if body is None:
            continue
        sections += len(body.algorithms) + (body.external is not None)
        if body.equations or body.initial_equations:
            raise problem("a function cannot have equations", core.entry.definition, rule="12.2")
        for one in body.components:
            if one.prefixes & (INNER | OUTER):
                raise problem("a function cannot have inner or outer components", one, rule="12.2")
            is_private = one.prefixes & PROTECTED or one.variability in ("constant", "parameter")
            if not one.causality and not is_private:
                text = f"`{one.name}` of the function is public, and neither input nor output"
                raise problem(text, one, rule="12.2", hint="write `protected` before it")
    if sections > 1:
        text = f"the function `{core.entry.full_name}` has {sections} algorithm sections or external clauses"
        raise problem(text, core.entry.definition, rule="12.2", hint="one is allowed")


def check_prefixes(node: Component, cls: Class, parent: Any, path: str) -> None:
    """Prefixes that contradict each other or the class of a component (4.4.2)."""
    is_data = cls.primitive is not None or cls.kind.endswith(("record", "connector")) or cls.kind == "type"
    if not is_data:
        for word in (node.variability, node.connection, node.causality):
            if word:
                text = f"`{word}` cannot stand before `{node.name}`, which is a {cls.kind}"
                raise problem(text, node, path=path, rule="4.4.2", hint=f"remove `{word}`")
    if node.connection and parent.connection:
        text = f"`{node.name}` is {node.connection} inside of something that is {parent.connection}"
        raise problem(text, node, path=path, rule="4.4.2.2", hint="remove one of them")
    outer = parent.causality
    if node.causality and outer and not parent.is_class:
        text = f"`{node.name}` is {node.causality} inside of something that is {outer}"
        raise problem(text, node, path=path, rule="4.4.2.2", hint="remove one of them")
    if node.causality and cls.causality and node.causality != cls.causality:
        text = f"`{node.name}` is {node.causality}, its type is {cls.causality}"
        raise problem(text, node, path=path, rule="4.4.2.2", hint="remove one of them")
    if node.prefixes & OUTER and not node.prefixes & INNER and node.modification is not None:
        text = f"`{node.name}` is outer and cannot have modifiers"
        raise problem(text, node, path=path, rule="5.4", hint="give them to the inner component")


def check_replaceable(element: Any, node: Any, path: str) -> None:
    """Only what is replaceable can be redeclared (7.3)."""
    declared = element.node
    while not declared.prefixes & REPLACEABLE:
        if element.original is None:
            text = f"`{element.name}` is not replaceable and cannot be redeclared"
            raise problem(text, node, path=path, rule="7.3", hint="write `replaceable` before its declaration")
        element = element.original
        declared = element.node
        if element.original is None and declared.prefixes & REPLACEABLE:
            return


def check_subtype(new: Class, constraint: Class, node: Any, path: str) -> None:
    """A class that replaces another has at least the public elements of its constraint (6.4)."""
    if new.primitive is not None or constraint.primitive is not None:
        a, b = new.primitive, constraint.primitive
        if a is None or b is None or a.entry is not b.entry:
            text = f"`{new.name}` cannot replace `{constraint.name}`: it is of another type"
            raise problem(text, node, path=path, rule="6.4")
        return
    have = new.core.table.elements
    for name, element in constraint.core.table.elements.items():
        other = have.get(name)
        if element.is_protected or isinstance(element.node, (Enumeration, ShortClass)):
            continue
        if other is None or other.is_class != element.is_class:
            text = f"`{new.name}` cannot replace `{constraint.name}`: it has no `{name}`"
            raise problem(text, node, path=path, rule="6.4", hint="extend the class that it replaces")


_ = (Element, Extends)
