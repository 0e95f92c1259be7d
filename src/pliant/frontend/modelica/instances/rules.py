"""Rules that classes and declarations have to keep, by the kind of class (4.7, 7.1.3) and by prefixes (4.4).

Each class is checked once, when its first instance is made; prefixes are checked for each component.
"""

from __future__ import annotations

import logging
from math import prod
from typing import Any

from pliant.frontend.modelica.instances.classes import ClassMember, ClassUse, Core
from pliant.frontend.modelica.instances.mods import Mod
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax.faults import error_of
from pliant.frontend.modelica.syntax.restrictions import class_faults
from pliant.frontend.modelica.syntax.tree import (
    FINAL,
    INNER,
    OUTER,
    PROTECTED,
    REPLACEABLE,
    Component,
    Enumeration,
    Import,
    LongClass,
    ShortClass,
)

LOGGER = logging.getLogger("pliant")
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


def _check_imports(core: Core, imports: tuple[Import, ...]) -> None:
    """What a class of the user's text imports is there (13.2.1); of a library that is not there nothing is known."""
    world = core.world
    top = core.entry
    while top.parent is not None:
        top = top.parent
    if not any(top is one or one.parent is top for one in world.root.own):
        return
    for one in imports:
        if world.top(one.names[0]) is None:
            LOGGER.warning("%s: `%s` is imported, and the library is not there", one.span, ".".join(one.names))
            continue
        for names in [(*one.names, name) for name in one.members] or [one.names]:
            if world.root.find(".".join(names)) is None:  # not declared as a class: a constant, or inherited
                world.imported(names, one, is_whole=one.everything)


def check_core(core: Core) -> None:
    """What a class may contain and extend."""
    definition = core.entry.definition
    body = core.entry.body
    if body is None or core.builtin:
        return
    kind = core.kind
    faults = class_faults(definition)
    if faults:
        raise error_of(faults)
    if body.imports:
        _check_imports(core, body.imports)
    for layer in core.table.layers[1:]:
        base = layer.entry.definition
        allowed = _BASES.get(kind)
        if allowed is not None and base.kind not in allowed and base.kind != "class":
            clause = next((one for one in body.extends if one.base.names[-1] == base.name), definition)
            text = f"the {kind} `{core.entry.full_name}` extends the {base.kind} `{layer.entry.full_name}`"
            raise problem(text, clause, rule="7.1.3", hint=f"a {kind} may extend: {', '.join(sorted(allowed))}")
        if base.kind == "operator record":
            clause = next((one for one in body.extends if one.base.names[-1] == base.name), definition)
            text = f"`{core.entry.full_name}` extends the operator record `{layer.entry.full_name}`"
            hint = "declare it as a short class: operator record X = ..."
            raise problem(text, clause, rule="4.7", hint=hint)
    if core.table.primitive is not None and kind not in ("type", "connector", "class"):
        base_name = core.table.primitive.entry.full_name
        text = f"the {kind} `{core.entry.full_name}` extends `{base_name}`, which is a simple type"
        if base_name != "ExternalObject":
            raise problem(text, (*body.extends, definition)[0], rule="7.1.3", hint="declare it as a type")
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
            if isinstance(one, LongClass) and definition.name == "'constructor'":
                outputs = [each for each in one.body.components if each.causality == "output"]
                if len(outputs) > 1:
                    text = f"the constructor `{one.name}` has {len(outputs)} outputs"
                    raise problem(text, outputs[1], rule="14.3", hint="declare one output, of the operator record")
    if core.table.primitive is not None:
        for name, element in core.table.elements.items():
            if not element.is_class:
                text = f"`{core.entry.full_name}` extends a simple type and cannot have the component `{name}`"
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
        if kind == "expandable connector" and one.connection == "flow":
            text = f"`{one.name}` is a flow: an expandable connector cannot have flow components"
            raise problem(text, one, rule="9.1.3", hint="put it into a connector inside of the expandable one")
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
            if not one.causality and not is_private and not core.causality_of(one.name):
                text = f"`{one.name}` of the function is public, and neither input nor output"
                raise problem(text, one, rule="12.2", hint="write `protected` before it")
    if sections > 1:
        text = f"the function `{core.entry.full_name}` has {sections} algorithm sections or external clauses"
        raise problem(text, core.entry.definition, rule="12.2", hint="one is allowed")


def check_prefixes(node: Component, cls: ClassUse, parent: Any, path: str) -> None:
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
    """Only what is replaceable, and not final or constant, can be redeclared (7.3)."""
    declared = element.node
    if declared is None:
        return
    if declared.prefixes & FINAL:
        text = f"`{element.name}` is final and cannot be redeclared"
        raise problem(text, node, path=path, rule="7.3", hint="remove `final` or the redeclaration")
    if not declared.prefixes & REPLACEABLE:
        text = f"`{element.name}` is not replaceable and cannot be redeclared"
        raise problem(text, node, path=path, rule="7.3", hint="write `replaceable` before its declaration")
    if isinstance(declared, Component) and declared.variability == "constant":
        text = f"`{element.name}` is a constant and cannot be redeclared"
        raise problem(text, node, path=path, rule="7.3", hint="modify its value")


def check_connector(inst: Any, out: Any) -> None:
    """As many flows as potentials (9.3.1), and one flow where there are streams (15.1)."""
    flows, potentials, streams, n_flows = 0, 0, 0, 0
    stack = [inst.child(name) for name, one in inst.table.elements.items() if not one.is_class]
    while stack:
        thing = stack.pop()
        if hasattr(thing, "elements"):
            stack.extend(thing.elements)
        elif hasattr(thing, "table"):
            if thing.connection == "flow" and thing.cls.kind == "operator record":
                _check_flow_record(thing)
            constraint = thing.class_member("equalityConstraint") if thing.cls.is_record else None
            if constraint is not None:
                potentials += _residue(constraint, out)
                continue
            stack.extend(thing.child(name) for name, one in thing.table.elements.items() if not one.is_class)
        elif hasattr(thing, "base"):
            if thing.variability <= 1 or thing.causality:
                continue
            core = thing.cls.core
            if not core.builtin and "equalityConstraint" in core.table.elements:
                constraint = thing.cls.instance.class_member("equalityConstraint")
                potentials += _residue(constraint, out) if constraint is not None else 0
                continue
            size = prod(thing.shape)
            n_flows += size if thing.connection == "flow" else 0
            flows += size if thing.connection == "flow" else 0
            streams += size if thing.connection == "stream" else 0
            potentials += size if not thing.connection else 0
    if streams and n_flows != 1:
        text = f"the stream connector `{inst.cls.name}` has {n_flows} flow variables"
        raise problem(text, inst.node, path=inst.path, rule="15.1", hint="declare exactly one flow variable")
    if flows != potentials:
        text = f"the connector `{inst.cls.name}` has {flows} flows and {potentials} potentials"
        raise problem(text, inst.node, path=inst.path, rule="9.3.1", hint="declare as many of both")


def _check_flow_record(inst: Any) -> None:
    """An operator record that flows needs what a sum to zero is made of (14.4, 9.2)."""
    for name, n_inputs, word in (("'+'", 2, "an addition"), ("'-'", 1, "a negation"), ("'0'", 0, "a zero")):
        found = inst.class_member(name)
        functions = [found] if found is not None and found.kind != "operator" else []
        if found is not None and found.kind == "operator":
            inner = found.instance
            functions = [inner.class_member(key) for key, one in inner.table.elements.items() if one.is_class]
        counts = [
            sum(not one.is_class and one.node.causality == "input" for one in each.core.table.elements.values())
            for each in functions
            if each is not None
        ]
        if n_inputs not in counts:
            text = f"`{inst.cls.name}` is used as a flow, but has no operator {name}"
            raise problem(text, inst.node, path=inst.path, rule="9.2", hint=f"declare {word}")


def _residue(cls: ClassUse, out: Any) -> int:
    """The number of equations that `equalityConstraint` stands for."""
    inst = cls.instance
    for element in inst.table.elements.values():
        if not element.is_class and element.node.causality == "output":  # type: ignore[union-attr]
            scope = inst.scope(element.layer.number)
            dims = [(one, scope) for one in element.node.dimensions]  # type: ignore[union-attr]
            return prod(out.values.sizes(dims, None, element.name, element.node))
    return 0


def check_subtype(new: ClassUse, constraint: ClassUse, node: Any, path: str) -> None:
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


def check_visibility(element: ClassMember) -> None:
    """A public element stays public when it is redeclared (7.3)."""
    original = element.original
    if original is not None and element.is_protected and not original.is_protected:
        text = f"`{element.name}` is public and redeclared as protected"
        raise problem(text, element.node, rule="7.3", hint="redeclare it in a public section")


def check_final(element: ClassMember, mod: Mod, inst: Any) -> None:
    """A final modifier or declaration cannot be modified from further outside (7.2.6)."""
    for place in range(1, len(mod)):
        template = mod[place].template
        if template.final and template.value is not None and not mod[place].fields:
            for outer in mod[:place]:
                if outer.template.value is not None and not outer.fields and outer.template is not template:
                    text = f"`{element.name}` is final and cannot be modified"
                    raise problem(text, outer.template.node, path=inst.path, rule="7.2.6", hint="remove the modifier")
