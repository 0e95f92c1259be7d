"""Classes: what is declared where, inherited elements included.

Core         a class definition in its lexical scope; one for each (definition, scope). Its `table` lists layers
             and elements, and does not depend on modifiers: redeclarations are found where a member is asked for
Layer        the class itself (number 0) or one of its bases: what is written there is looked up in this layer
ClassMember  a component or class with the layer that declares it and the modifiers of extends clauses on the way
ClassUse     a core with modifiers, dimensions and prefixes: what the name of a class stands for
Scope        a layer of an instance: where a name is looked up
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.frontend.modelica.instances.mods import Mod, Template, template_of
from pliant.frontend.modelica.library.entries import ClassEntry
from pliant.frontend.modelica.problems import nearest, problem
from pliant.frontend.modelica.syntax.tree import (
    ENCAPSULATED,
    PARTIAL,
    PROTECTED,
    REDECLARE,
    Body,
    ClassDefinition,
    Component,
    DerivativeClass,
    Enumeration,
    Exclusion,
    Expression,
    Extends,
    Import,
    LongClass,
    Modification,
)

if TYPE_CHECKING:
    from pliant.frontend.modelica.instances.inst import Inst
    from pliant.frontend.modelica.scopes.program import World

PRIMITIVES = ("Real", "Integer", "Boolean", "String", "Clock")
Chain = tuple[tuple[int, Template, "Scope | None"], ...]  # the scope is given where it is none of the layers


class Scope:
    """A layer of an instance."""

    __slots__ = ("inst", "layer")

    def __init__(self, inst: Inst, layer: Layer) -> None:
        self.inst, self.layer = inst, layer

    def __repr__(self) -> str:
        return f"<scope {self.layer.entry.full_name} of {self.inst!r}>"


class Layer:
    """A class or one of its bases."""

    __slots__ = ("body", "entry", "exclusions", "imports", "names", "number", "stars", "up")

    def __init__(self, number: int, entry: ClassEntry, up: Scope | None) -> None:
        self.number, self.entry, self.up = number, entry, up
        self.body: Body | None = entry.body
        self.names: set[str] = set()  # visible from here: own elements and those of its bases
        self.exclusions: tuple[Exclusion, ...] = ()
        self.imports: dict[str, tuple[tuple[str, ...], Import]] = {}
        self.stars: list[Import] = []
        for one in self.body.imports if self.body is not None else ():
            if one.everything:
                self.stars.append(one)
            elif one.members:
                for name in one.members:
                    self.imports[name] = ((*one.names, name), one)
            else:
                self.imports[one.alias or one.names[-1]] = (one.names, one)

    @property
    def is_encapsulated(self) -> bool:
        """Names are not looked up further outside."""
        return bool(self.entry.definition.prefixes & ENCAPSULATED)


class ClassMember:
    """A member of a class."""

    __slots__ = ("chain", "entry", "is_protected", "layer", "name", "node", "original")

    def __init__(
        self,
        name: str,
        node: Component | ClassDefinition,
        layer: Layer,
        entry: ClassEntry | None,
        is_protected: bool,
    ) -> None:
        self.name, self.node, self.layer, self.entry = name, node, layer, entry
        self.is_protected = is_protected
        self.chain: Chain = ()  # layers of extends clauses and what they say, outermost first
        self.original: ClassMember | None = None  # what a redeclaration in the class replaces

    @property
    def is_class(self) -> bool:
        """A class, not a component."""
        return not isinstance(self.node, Component)


class ClassTable:
    """Layers and elements of a class."""

    __slots__ = ("elements", "layers", "primitive", "primitive_dims", "primitive_mods")

    def __init__(self) -> None:
        self.layers: list[Layer] = []
        self.elements: dict[str, ClassMember] = {}
        self.primitive: Core | None = None  # Real, ..., an enumeration, ExternalObject
        self.primitive_mods: list[tuple[int, Template, Scope | None]] = []
        self.primitive_dims: tuple[tuple[Expression, Scope], ...] = ()


class Core:
    """A definition in its lexical scope."""

    __slots__ = ("_causality", "_static", "_table", "base", "builtin", "entry", "original", "up", "world")

    def __init__(
        self, world: World, entry: ClassEntry, up: Scope | None, original: ClassUse | None = None, builtin: str = ""
    ) -> None:
        self.world, self.entry, self.up, self.original, self.builtin = world, entry, up, original, builtin
        self._table: ClassTable | None = None
        self._static: Inst | None = None
        self._causality: dict[str, str] = {}
        self.base: ClassUse | None = None

    def __repr__(self) -> str:
        return f"<core {self.entry.full_name}>"

    @property
    def kind(self) -> str:
        """model, record, ..."""
        return self.entry.definition.kind

    @property
    def static(self) -> Inst:
        """The class itself as an instance: for constants and classes in it."""
        if self._static is None:
            from pliant.frontend.modelica.instances.inst import Inst

            self._static = Inst(ClassUse(self, ()), (), None, "")
            self._static.is_class = True
        return self._static

    @property
    def table(self) -> ClassTable:
        """Layers and elements, made at the first use."""
        if self._table is None:
            self._table = ClassTable()
            self._table.layers.append(Layer(0, self.entry, self.up))
            self.world.opening.add(self)
            try:
                if not self.builtin and not isinstance(self.entry.definition, Enumeration):
                    from pliant.frontend.modelica.instances.rules import check_core

                    _fill(self, self._table)
                    check_core(self)
            except BaseException:
                self._table = None
                raise
            finally:
                self.world.opening.discard(self)
        return self._table

    def causality_of(self, name: str) -> str:
        """`input` or `output` of a component of a function, also where its type says so."""
        known = self._causality.get(name)
        if known is None:
            element = self.table.elements[name]
            node: Any = element.node
            known = node.causality
            if not known and not node.variability and not element.is_protected:
                cls = self.world.lookup_class(node.type, self.static.scope(element.layer.number))
                known = cls.causality
            self._causality[name] = known
        return known

    @property
    def is_enumeration(self) -> bool:
        """Declared as one."""
        return isinstance(self.entry.definition, Enumeration)


class ClassUse:
    """What the name of a class stands for."""

    __slots__ = ("_instance", "causality", "core", "kind", "mod", "name", "own_dims")

    def __init__(
        self,
        core: Core,
        mod: Mod,
        dims: tuple[tuple[Expression, Scope], ...] = (),
        causality: str = "",
        kind: str = "",
        name: str = "",
    ) -> None:
        self.core, self.mod, self.own_dims, self.causality = core, mod, dims, causality
        self.kind = kind or core.kind
        self.name = name or core.entry.full_name
        self._instance: Inst | None = None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def instance(self) -> Inst:
        """The class as an instance, with its modifiers."""
        if not self.mod:
            return self.core.static
        if self._instance is None:
            from pliant.frontend.modelica.instances.inst import Inst

            self._instance = Inst(self, self.mod, None, "")
            self._instance.is_class = True
        return self._instance

    @property
    def dims(self) -> tuple[tuple[Expression, Scope], ...]:
        """Dimensions that come with the type."""
        core = self.core
        if core.builtin or core.is_enumeration:
            return self.own_dims
        return self.own_dims + core.table.primitive_dims

    @property
    def primitive(self) -> Core | None:
        """Real, Integer, Boolean, String, an enumeration, Clock or ExternalObject, where it is one in the end."""
        core = self.core
        if core.builtin or core.is_enumeration:
            return core
        return core.table.primitive

    @property
    def is_partial(self) -> bool:
        """Incomplete."""
        return bool(self.core.entry.definition.prefixes & PARTIAL)

    @property
    def is_record(self) -> bool:
        """A record or operator record."""
        return self.kind.endswith("record")

    @property
    def is_connector(self) -> bool:
        """A connector of any sort."""
        return self.kind.endswith("connector")


def _fill(core: Core, table: ClassTable) -> None:
    layer = table.layers[0]
    body = core.entry.body
    definition = core.entry.definition
    if isinstance(definition, DerivativeClass):  # has the inputs and outputs of what it is the derivative of
        core.base = core.world.derived_function(core, definition)
        _inherit(core, table, core.base, (None, definition), table.elements)
        layer.names = set(table.elements)
        return
    if body is None:
        raise problem(f"`{core.entry.full_name}` cannot be used here", core.entry.definition)
    own: dict[str, ClassMember] = {}
    for node in body.elements:
        if isinstance(node, (Component, ClassDefinition)):
            if node.name in own:
                text = f"`{node.name}` is declared twice in `{core.entry.full_name}`"
                raise problem(text, node, rule="5.6", hint="rename one of them")
            if node.name == "time":
                text = "`time` is the time itself: nothing else can have its name"
                raise problem(text, node, rule="3.6.7", hint="choose another name")
            own[node.name] = ClassMember(node.name, node, layer, None, bool(node.prefixes & PROTECTED))
    others = [name for name, one in core.entry._members.items() if one is not None]  # of other texts, by `within`
    for name in (*(core.entry.files if core.entry.folder is not None else ()), *others):
        own.setdefault(name, ClassMember(name, None, layer, core.entry, False))  # type: ignore[arg-type]
    table.elements = dict(own)  # what base classes are looked up in
    layer.names = set(own)
    inherited: dict[str, ClassMember] = {}
    ordered: dict[str, ClassMember] = {}
    for node in body.elements:  # inherited elements stand where their extends clause stands
        if isinstance(node, Extends):
            base = core.world.base_class(core, node)
            _inherit(core, table, base, (node.modification, node), inherited)
            ordered.update((name, own.get(name, one)) for name, one in inherited.items() if name not in ordered)
        elif isinstance(node, (Component, ClassDefinition)):
            ordered[node.name] = own[node.name]
    if core.original is not None:
        _inherit(core, table, core.original, (body.modification, core.entry.definition), inherited)
        ordered = {**{name: own.get(name, one) for name, one in inherited.items()}, **ordered}
    for name, element in own.items():
        ordered.setdefault(name, element)
        if name in inherited:
            _replace(core, inherited[name], element)
        elif element.node is not None and _replaces(element.node):
            text = f"`{name}` is redeclared in `{core.entry.full_name}`, but no base class has it"
            raise problem(text, element.node, rule="7.3", hint=nearest(name, inherited) or "remove `redeclare`")
    table.elements = ordered
    layer.names = set(ordered)


def _replaces(node: Any) -> bool:
    """`redeclare ...` or `model extends ...` as an element."""
    return bool(node.prefixes & REDECLARE) or (isinstance(node, LongClass) and node.is_extension)


def _replace(core: Core, old: ClassMember, new: ClassMember) -> None:
    """An element of a class with the name of an inherited one: a redeclaration, or the same once more."""
    if new.node.prefixes & REDECLARE:
        new.original = old
        new.chain = ()
        return
    one, two = new.node, old.node
    if isinstance(one, Component) and isinstance(two, Component) and one.type.names[-1] == two.type.names[-1]:
        _check_same(core, one, two, one)
        new.chain = old.chain
        return
    if isinstance(new.node, LongClass) and new.node.is_extension:
        new.original = old
        return
    if new.is_class and old.is_class:
        return
    text = f"`{new.name}` is inherited by `{core.entry.full_name}` and declared there differently"
    raise problem(text, new.node, rule="5.6.1.4", hint="rename it, or write `redeclare`")


def _inherit(
    core: Core, table: ClassTable, base: ClassUse, clause: tuple[Modification | None, Any], into: dict[str, ClassMember]
) -> None:
    modification, node = clause
    if base.core is core:
        text = f"`{core.entry.full_name}` extends itself"
        raise problem(text, node, rule="7.1", hint="remove the extends clause")
    if base.core.builtin or base.core.is_enumeration:
        table.primitive = base.core
        table.primitive_dims += base.dims
        if modification is not None:
            table.primitive_mods.append((0, template_of(modification), None))
        table.primitive_mods += [(0, one.template, one.scope) for one in base.mod]
        return
    inner = core.world.open_table(base.core, node)
    if (base.own_dims and inner.primitive is None) or base.causality:
        body = core.entry.body
        if body is not None and (body.components or len(body.extends) > 1):
            text = f"`{base.name}` has dimensions or prefixes: a class that extends it cannot have more elements"
            raise problem(text, node, rule="7.1.3")
    table.primitive = inner.primitive or table.primitive
    table.primitive_dims += base.dims
    first = len(table.layers)
    template = template_of(modification) if modification is not None else None
    layers: dict[int, Layer] = {}
    for below in inner.layers:
        layer = Layer(first + below.number, below.entry, below.up)
        layer.names = set(below.names)
        layer.exclusions = below.exclusions
        layers[below.number] = layer
        table.layers.append(layer)
    excluded: set[str] = set()
    if modification is not None:
        exclusions = tuple(one for one in modification.arguments if isinstance(one, Exclusion))
        excluded = {one.name for one in exclusions if one.name}
        for layer in layers.values():
            layer.exclusions += exclusions
    _inherit_mods(table, base, template, first)
    for name, old in inner.elements.items():
        if name in excluded:
            continue
        made = ClassMember(name, old.node, layers[old.layer.number], old.entry, old.is_protected)
        made.original = _moved(old.original, layers) if old.original is not None else None
        chain: list[tuple[int, Template, Scope | None]] = []
        if template is not None and name in template.subs:
            chain.append((0, template.subs[name], None))
        chain += [(0, one.template.subs[name], one.scope) for one in base.mod if name in one.template.subs]
        made.chain = (*chain, *((first + n, one, scope) for n, one, scope in old.chain))
        if isinstance(node, Extends) and node.prefixes & PROTECTED:
            made.is_protected = True
        known = into.get(name)
        if known is not None:
            _same_twice(core, known, made, node)
            continue
        into[name] = made


def _inherit_mods(table: ClassTable, base: ClassUse, template: Template | None, first: int) -> None:
    """Modifiers of attributes come along; those of elements must name one that is there."""
    inner = base.core.table
    if inner.primitive:
        if template is not None:
            table.primitive_mods.append((0, template, None))
        table.primitive_mods += [(0, one.template, one.scope) for one in base.mod]
        table.primitive_mods += [(first + n, one, scope) for n, one, scope in inner.primitive_mods]
    elif template is not None:
        for name, one in template.subs.items():
            if name not in inner.elements:
                text = f"`{name}` is modified, but `{base.name}` has no such element"
                raise problem(text, one.node, rule="7.2", hint=nearest(name, inner.elements))


def _moved(old: ClassMember, layers: dict[int, Layer]) -> ClassMember:
    made = ClassMember(old.name, old.node, layers[old.layer.number], old.entry, old.is_protected)
    shift = layers[0].number
    made.chain = tuple((n + shift, one, scope) for n, one, scope in old.chain)
    made.original = _moved(old.original, layers) if old.original is not None else None
    return made


def _same_twice(core: Core, known: ClassMember, again: ClassMember, node: Any) -> None:
    """Two base classes give the same element: they must agree (7.1)."""
    if known.node is again.node or (known.node is not None and known.node.prefixes & REDECLARE):
        if again.original is None and known.original is None and not known.chain and again.chain:
            known.chain = again.chain
        return
    one, two = known.node, again.node
    if isinstance(one, Component) and isinstance(two, Component) and one.type.names[-1] == two.type.names[-1]:
        _check_same(core, one, two, node)
        return
    if one is None or two is None or (not isinstance(one, Component) and not isinstance(two, Component)):
        return
    text = f"`{known.name}` is inherited twice by `{core.entry.full_name}`, with different declarations"
    raise problem(text, node, rule="7.1", hint="rename one of them")


def _check_same(core: Core, one: Component, two: Component, at: Any) -> None:
    """Two declarations of one inherited name say the same, or which of them counts would be left open (7.1).

    Attributes that only one of them has are common in libraries, and decide nothing: a `start`, a `unit`.
    """
    prefixes = [(each.variability, each.causality, each.connection) for each in (one, two)]
    what = ""
    if prefixes[0] != prefixes[1]:
        what = "prefixes"
    elif _words(*one.dimensions) != _words(*two.dimensions):
        what = "dimensions"
    elif _words(one.condition) != _words(two.condition):
        what = "conditions"
    elif _differ(one.modification, two.modification):
        what = "modifiers or values"
    if what:
        text = f"`{one.name}` has two declarations in `{core.entry.full_name}`, inherited ones counted, with "
        text += f"different {what}"
        hint = f"make both the same, or rename one: {two.span} and {one.span}"
        raise problem(text, at, rule="7.1", hint=hint)


def _differ(one: Modification | None, two: Modification | None) -> bool:
    """Another value, or another one of what both modify."""
    templates = [None if each is None else template_of(each) for each in (one, two)]
    stack: list[tuple[Template | None, Template | None]] = [(templates[0], templates[1])]
    is_top = True
    while stack:
        a, b = stack.pop()
        if _words(a and a.value) != _words(b and b.value) and (is_top or (a and b and a.value and b.value)):
            return True
        is_top = False
        stack += [(sub, b.subs[key]) for key, sub in (a.subs if a else {}).items() if b and key in b.subs]
    return False


def _words(*nodes: Any) -> list[str]:
    """What is written, without blanks."""
    return ["".join(one.text.split()) for one in nodes if one is not None]
