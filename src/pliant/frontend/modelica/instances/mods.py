"""Modifiers: what was written, and the scope in which it was written.

A Template is the tree of names of one modification, made once. A Bound is a template in a scope. The modifier of an
element is a tuple of bounds, the outermost first: its value is the first one that has a value, and the modifier of a
member is made of those of its bounds that name the member. Nothing is copied or merged, and members that nobody asks
for cost nothing.

An element of an array gets the modifier ``at(mod, index)``: its values are the elements of the arrays that were
written, unless ``each`` says otherwise. The binding of a record is passed on to its fields: ``fields`` names the path
from the value that was written to the one that is meant, names of fields and indices of elements of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax.tree import (
    Break,
    Expression,
    Modification,
    Modifier,
    Redeclaration,
)

if TYPE_CHECKING:
    from pliant.frontend.modelica.instances.classes import Scope


class Template:
    """A modification as names within names."""

    __slots__ = ("each", "final", "node", "redeclare", "subs", "value")

    def __init__(self, node: Any) -> None:
        self.node = node
        self.value: Expression | None = None
        self.subs: dict[str, Template] = {}
        self.each = self.final = False
        self.redeclare: Redeclaration | None = None


class Bound:
    """A template in a scope."""

    __slots__ = ("fields", "index", "scope", "template")

    def __init__(
        self, template: Template, scope: Scope, index: tuple[int, ...] = (), fields: tuple[Step, ...] = ()
    ) -> None:
        self.template, self.scope, self.index, self.fields = template, scope, index, fields

    @property
    def value(self) -> Expression | None:
        """What was written; the element `index` of it, and of that the field `fields`, is meant."""
        return self.template.value


Mod = tuple[Bound, ...]
Step = str | tuple[int, ...]  # the name of a field, or the index of an element

_templates: dict[Modification, Template] = {}


def template_of(modification: Modification) -> Template:
    """The template of a modification."""
    found = _templates.get(modification)
    if found is None:
        if len(_templates) > 200_000:
            _templates.clear()
        found = _templates[modification] = Template(modification)
        _fill(found, modification)
    return found


def _fill(template: Template, modification: Modification) -> None:
    template.value = modification.value
    for one in modification.arguments:
        if isinstance(one, Modifier):
            inner = template_of(one.modification) if one.modification is not None else Template(one)
            made = Template(one)
            made.value, made.subs, made.each, made.final = inner.value, inner.subs, one.each, one.final
            for name in reversed(one.names[1:]):  # a.b = 1 is a(b = 1)
                around = Template(one)
                around.subs = {name: made}
                made = around
            _enter(template, one.names[0], made)
        elif isinstance(one, Redeclaration):
            made = Template(one)
            made.redeclare, made.each = one, one.each
            _enter(template, one.element.name, made)


def _enter(into: Template, name: str, made: Template) -> None:
    old = into.subs.get(name)
    if old is None:
        into.subs[name] = made
        return
    if (old.value is not None and made.value is not None) or (old.redeclare is not None and made.redeclare is not None):
        text = f"`{name}` is modified twice in the same place"
        raise problem(text, made.node, rule="7.2.4", hint="remove one of the two modifiers")
    for one, other in ((old, made), (made, old)):
        if one.redeclare is not None:
            _check_apart(one.redeclare, other, name)
    both = Template(made.node)
    both.value = made.value if made.value is not None else old.value
    both.redeclare = made.redeclare or old.redeclare
    both.each, both.final = made.each or old.each, made.final or old.final
    both.subs = dict(old.subs)
    for inner, one in made.subs.items():
        _enter(both, inner, one)
    into.subs[name] = both


def _check_apart(redeclaration: Redeclaration, other: Template, name: str) -> None:
    """What a redeclaration modifies is not modified beside it (7.2.4)."""
    modification = getattr(redeclaration.element, "modification", None)
    stack = [(template_of(modification), other, name)] if modification is not None else []
    while stack:
        one, two, what = stack.pop()
        if one.value is not None and two.value is not None:
            text = f"`{what}` is modified twice: in the redeclaration of `{name}` and beside it"
            raise problem(text, two.node, rule="7.2.4", hint="remove one of the two modifiers")
        stack += [(sub, two.subs[key], key) for key, sub in one.subs.items() if key in two.subs]


def bound(modification: Modification | None, scope: Scope) -> Mod:
    """A modification as it stands, in its scope."""
    return () if modification is None else (Bound(template_of(modification), scope),)


def member(mod: Mod, name: str, *, is_record: bool = False) -> Mod:
    """The modifier of a member; of a record the binding of the whole gives values to its fields."""
    found: list[Bound] = []
    for one in mod:
        if one.fields:
            found.append(Bound(one.template, one.scope, one.index, (*one.fields, name)))
            continue
        template = one.template.subs.get(name)
        if template is not None:
            found.append(Bound(template, one.scope, () if template.each else one.index))
            if template.value is not None:
                continue
        if is_record and one.template.value is not None:
            found.append(Bound(one.template, one.scope, one.index, (name,)))
    return tuple(found)


def at(mod: Mod, index: tuple[int, ...]) -> Mod:
    """The modifier of one element of an array."""
    return tuple(
        Bound(one.template, one.scope, one.index, (*one.fields, index))
        if one.fields
        else Bound(one.template, one.scope, (*one.index, *index))
        for one in mod
    )


def value_of(mod: Mod) -> Bound | None:
    """The binding that counts: the outermost; None if there is none, or it was removed by `break`."""
    for one in mod:
        value = one.template.value
        if value is not None:
            return None if isinstance(value, Break) else one
    return None


def redeclaration_of(mod: Mod) -> Bound | None:
    """The outermost redeclaration."""
    for one in mod:
        if one.template.redeclare is not None:
            return one
    return None


def names_in(mod: Mod) -> set[str]:
    """Names of members that are modified."""
    return {name for one in mod if not one.fields for name in one.template.subs}
