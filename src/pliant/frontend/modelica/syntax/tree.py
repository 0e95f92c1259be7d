"""The syntax tree of Modelica 3.6: data only.

Every node has its place, `source`, `start` and `end` (offsets into `source.text`, end exclusive); `node.span` is the
same as file, line and column. Nodes are compared by identity and may be keys; `same(a, b)` compares what was written,
places aside. All fields are final (the type checker sees to it); two things are made at their first use: the body of a
long class, and the arguments of an annotation.

**Names.** An identifier is a str as written, quotes included (`'a b'` and `a` differ). A reference has its parts in
`names`; `subscripts` is empty where no part has any, else one tuple per part. `rooted`: written with a leading dot.
`time`, `Real`, `String` and all functions are ordinary names; `der`, `initial` and `pure` are so as functions of a Call.

**Classes.** A ClassDefinition is a LongClass (`model M ... end M`, also `redeclare model extends M`), a ShortClass
(`type T = Real[3](unit="m")`), an Enumeration or a DerivativeClass (`function f = der(g, x)`). `kind` is one of KINDS;
`prefixes` a mask of the constants below, for components, too. `long.body` parses on demand and has what look-up and
instantiation ask for:

    body.elements        imports, extends, classes and components in the order of the text, protected ones marked
    body.members         name -> ClassDefinition | Component, the first one where a name occurs twice (see `repeated`)
    body.extends, body.imports, body.components, body.classes      the same elements by sort
    body.equations, body.initial_equations                         all sections in one tuple
    body.algorithms, body.initial_algorithms                       one Algorithm each section
    body.external, body.annotation, body.description

Classes that stand in files of their own are not in the body of the package: `library.ClassEntry` joins both.

**Components.** Each declared name is one Component: `parameter Real[3] a = 1, b[2]` gives two. `dimensions` are those
of the name followed by those of the type (10.1): b has (2, 3), a has (3,). The clause's prefixes stand in each.

**Modifiers.** `modification` of a component, an extends clause or a short class holds `arguments` and `value` (the
binding; `Break` removes one, 7.2). An argument is a Modifier (`each final a.b(min=0) = 1`), a Redeclaration (of
`element`, with its prefixes REDECLARE, REPLACEABLE and FINAL as in an element) or, in extends only, an Exclusion
(`break a`, `break connect(a, b)`, 7.4). Annotations are the same: `annotation.arguments`; `annotation.find("experiment")`.

**Expressions.** Parentheses leave no trace. `Binary.left` may be a chain as long as the text: `left_chain` unrolls it;
all other nesting is at most MAX_DEPTH levels deep. `else if` and `elseif` both are branches of one If. `Tuple` is
`(a, , b)`, of outputs; a call with `for` is a Reduction, `{... for ...}` an ArrayComprehension.

**Equations and statements** are separate families with the same fields (IfEquation, IfStatement, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, dataclass_transform

from pliant.frontend.modelica.syntax.source import NO_SOURCE, Source

if TYPE_CHECKING:
    from pliant.ir import Span

MAX_DEPTH: Final = 200  # levels of nesting, far below what Python's own stack allows

KINDS: Final = (
    "class",
    "model",
    "record",
    "operator record",
    "block",
    "connector",
    "expandable connector",
    "type",
    "package",
    "function",
    "operator function",
    "operator",
)

# prefixes of elements and classes
REDECLARE: Final = 1
FINAL: Final = 2
INNER: Final = 4
OUTER: Final = 8
REPLACEABLE: Final = 16
PROTECTED: Final = 32
ENCAPSULATED: Final = 64
PARTIAL: Final = 128
PURE: Final = 256
IMPURE: Final = 512
PREFIX_WORDS: Final = {
    "redeclare": REDECLARE,
    "final": FINAL,
    "inner": INNER,
    "outer": OUTER,
    "replaceable": REPLACEABLE,
    "protected": PROTECTED,
    "encapsulated": ENCAPSULATED,
    "partial": PARTIAL,
    "pure": PURE,
    "impure": IMPURE,
}


@dataclass_transform(eq_default=False, frozen_default=True)
class _NodeType(type):
    """Gives a class of nodes its slots and a constructor of all fields, those of its base classes first."""

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> _NodeType:
        inherited: tuple[str, ...] = bases[0].fields if bases else ()  # type: ignore[attr-defined]
        own = tuple(one for one, kind in space.get("__annotations__", {}).items() if not kind.startswith("ClassVar"))
        space["__slots__"] = own + space.pop("extra_slots", ())
        fields = inherited + own
        space["fields"] = fields
        if "__init__" not in space and own:
            stores = "".join(f"\n    self.{one} = {one}" for one in fields)
            made: dict[str, Any] = {}
            exec(f"def __init__(self, {', '.join(fields)}):{stores}", made)
            space["__init__"] = made["__init__"]
        return super().__new__(mcs, name, bases, space)


class Node(metaclass=_NodeType):
    """Anything that stands in a text."""

    source: Source
    start: int
    end: int

    fields: ClassVar[tuple[str, ...]]

    @property
    def span(self) -> Span:
        """File, line and column."""
        return self.source.span(self.start, self.end)

    @property
    def text(self) -> str:
        """As it was written."""
        return self.source.text[self.start : self.end]

    def __repr__(self) -> str:
        line, column = self.source.line_and_column(self.start)
        return f"<{type(self).__name__} {self.source.file}:{line}:{column} {self.source.text[self.start : self.end]!r:.60}>"


# ---------------------------------------------------------------------------------------------------------- expressions


class Expression(Node):
    """Something with a value."""


class RealLiteral(Expression):
    """`1.5e3`"""

    value: float


class IntegerLiteral(Expression):
    """`15`"""

    value: int


class StringLiteral(Expression):
    """`"text"`, escapes resolved."""

    value: str


class BooleanLiteral(Expression):
    """`true` or `false`."""

    value: bool


class End(Expression):
    """`end` in a subscript."""


class Colon(Expression):
    """`:` as a subscript or as a dimension."""


class Break(Expression):
    """`break` in place of a binding: it is removed (7.2)."""


class Reference(Expression):
    """`a.b[3].c`; also the name of a function or class."""

    names: tuple[str, ...]
    subscripts: tuple[tuple[Expression, ...], ...]  # empty: none at all; else one tuple for each name
    rooted: bool

    @property
    def dotted(self) -> str:
        """The names with dots, subscripts aside."""
        return ("." if self.rooted else "") + ".".join(self.names)


class Unary(Expression):
    """`-x`, `+x`, `.-x`, `.+x`, `not x`."""

    operator: str
    operand: Expression


class Binary(Expression):
    """`left operator right`; operators as written, `and` and `or` included."""

    operator: str
    left: Expression
    right: Expression


class If(Expression):
    """`if c1 then v1 elseif c2 then v2 else v3`."""

    branches: tuple[tuple[Expression, Expression], ...]  # condition, value
    otherwise: Expression


class Range(Expression):
    """`start : stop` or `start : step : stop`."""

    first: Expression
    step: Expression | None
    last: Expression


class ArrayConstructor(Expression):
    """`{a, b}`"""

    elements: tuple[Expression, ...]


class Concatenation(Expression):
    """`[a, b; c, d]`"""

    rows: tuple[tuple[Expression, ...], ...]


class Tuple(Expression):
    """`(a, , b)`: outputs of a function. A single expression in parentheses is that expression."""

    items: tuple[Expression | None, ...]


class ForIndex(Node):
    """`i in 1:3`, or `i` alone, whose range follows from its use."""

    name: str
    values: Expression | None


class ArrayComprehension(Expression):
    """`{value for i in a, j in b}`"""

    value: Expression
    indices: tuple[ForIndex, ...]


class NamedArgument(Node):
    """`name = value` in a call."""

    name: str
    value: Expression


class Call(Expression):
    """`f(a, b, c = d)`; `function` is a Reference, of `der`, `initial` and `pure`, too."""

    function: Reference
    arguments: tuple[Expression, ...]
    named: tuple[NamedArgument, ...]


class Reduction(Expression):
    """`sum(value for i in 1:n)`"""

    function: Reference
    value: Expression
    indices: tuple[ForIndex, ...]


class PartialApplication(Expression):
    """`function f(a = 1)` as an argument."""

    function: Reference
    named: tuple[NamedArgument, ...]


# -------------------------------------------------------------------------------------------------------- modifications


class Modification(Node):
    """`(arguments) = value`, either part may be missing."""

    arguments: tuple[Argument, ...]
    value: Expression | None


class Argument(Node):
    """One entry of a modification."""


class Modifier(Argument):
    """`each final a.b(...) = value "text"`"""

    names: tuple[str, ...]
    each: bool
    final: bool
    modification: Modification | None
    description: str


class Redeclaration(Argument):
    """`redeclare each final model M = N`, `replaceable Real x`; the prefixes stand in the element."""

    each: bool
    element: ClassDefinition | Component


class Exclusion(Argument):
    """`break name` or `break connect(a, b)` in an extends clause (7.4)."""

    name: str  # empty: a connection
    connection: Connect | None


class Annotation(Node):
    """`annotation(...)`. Its arguments are parsed when first asked for."""

    extra_slots = ("_arguments", "_parse")

    def __init__(
        self,
        source: Source,
        start: int,
        end: int,
        arguments: tuple[Argument, ...] | Callable[[], tuple[Argument, ...]],
    ) -> None:
        _place(self, source, start, end)
        _set(self, "_parse", arguments if callable(arguments) else None)
        _set(self, "_arguments", None if callable(arguments) else arguments)

    if TYPE_CHECKING:
        _arguments: tuple[Argument, ...] | None
        _parse: Callable[[], tuple[Argument, ...]] | None

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Modifiers; a syntax error inside is raised here."""
        found = self._arguments
        if found is None:
            assert self._parse is not None
            found = self._parse()
            _set(self, "_arguments", found)
            _set(self, "_parse", None)
        return found

    def find(self, name: str) -> Modification | None:
        """The modification of a name, e.g. `experiment`; None where it is not there."""
        for one in self.arguments:
            if isinstance(one, Modifier) and one.names == (name,):
                return one.modification
        return None


# -------------------------------------------------------------------------------------------------------------- classes


class Element(Node):
    """What may stand between the head of a class and its equations."""


class Import(Element):
    """`import D = A.B.C` (alias), `import A.B.C`, `import A.B.*` (everything), `import A.B.{C, D}` (members)."""

    names: tuple[str, ...]
    alias: str  # the name in this class; empty: the last of `names`, or several
    everything: bool
    members: tuple[str, ...]
    description: str
    annotation: Annotation | None


class Extends(Element):
    """`extends A.B(x = 1)`"""

    base: Reference
    modification: Modification | None
    annotation: Annotation | None
    prefixes: int  # PROTECTED or 0


class Constraint(Node):
    """`constrainedby A.B(x = 1)` with its description."""

    base: Reference
    modification: Modification | None
    description: str
    annotation: Annotation | None


class Component(Element):
    """One declared name."""

    name: str
    type: Reference
    prefixes: int
    variability: str  # "", "discrete", "parameter", "constant"
    causality: str  # "", "input", "output"
    connection: str  # "", "flow", "stream"
    dimensions: tuple[Expression, ...]
    modification: Modification | None
    condition: Expression | None
    description: str
    annotation: Annotation | None
    constraint: Constraint | None

    @property
    def is_protected(self) -> bool:
        """Declared in a protected section."""
        return bool(self.prefixes & PROTECTED)


class ClassDefinition(Element):
    """A class of any form."""

    name: str
    kind: str  # one of KINDS
    prefixes: int
    name_start: int  # offset of the name, for messages
    constraint: Constraint | None

    @property
    def name_span(self) -> Span:
        """The place of the name."""
        return self.source.span(self.name_start, self.name_start + len(self.name))


class ShortClass(ClassDefinition):
    """`type T = input A.B[3](x = 1)`"""

    causality: str  # "", "input", "output"
    base: Reference
    dimensions: tuple[Expression, ...]
    modification: Modification | None
    description: str
    annotation: Annotation | None


class EnumerationLiteral(Node):
    """One value of an enumeration."""

    name: str
    description: str
    annotation: Annotation | None


class Enumeration(ClassDefinition):
    """`type E = enumeration(a, b)`; `literals` is None for `enumeration(:)`."""

    literals: tuple[EnumerationLiteral, ...] | None
    description: str
    annotation: Annotation | None


class DerivativeClass(ClassDefinition):
    """`function f = der(g, x, y)`"""

    function: Reference
    variables: tuple[str, ...]
    description: str
    annotation: Annotation | None


class LongClass(ClassDefinition):
    """`model M ... end M`; with `is_extension` `model extends M(...) ... end M` (7.3.1). The body is parsed on demand."""

    is_extension: bool
    extra_slots = ("_body", "_parse")

    def __init__(
        self,
        source: Source,
        start: int,
        end: int,
        name: str,
        kind: str,
        prefixes: int,
        name_start: int,
        constraint: Constraint | None,
        is_extension: bool,
        body: Body | Callable[[], Body],
    ) -> None:
        _place(self, source, start, end)
        _set(self, "name", name)
        _set(self, "kind", kind)
        _set(self, "prefixes", prefixes)
        _set(self, "name_start", name_start)
        _set(self, "constraint", constraint)
        _set(self, "is_extension", is_extension)
        _set(self, "_body", None if callable(body) else body)
        _set(self, "_parse", body if callable(body) else None)

    if TYPE_CHECKING:
        _body: Body | None
        _parse: Callable[[], Body] | None

    @property
    def body(self) -> Body:
        """What stands in the class; its syntax errors are raised here."""
        found = self._body
        if found is None:
            assert self._parse is not None
            found = self._parse()
            _set(self, "_body", found)
            _set(self, "_parse", None)
        return found

    @property
    def description(self) -> str:
        """The text behind the name."""
        return self.body.description

    @property
    def annotation(self) -> Annotation | None:
        """The annotation of the class."""
        return self.body.annotation


class Body(Node):
    """All that stands in a long class. See the top of this file."""

    description: str
    modification: Modification | None  # of the base, in a class that extends the one of its own name
    elements: tuple[Element, ...]
    equations: tuple[Equation, ...]
    initial_equations: tuple[Equation, ...]
    algorithms: tuple[Algorithm, ...]
    initial_algorithms: tuple[Algorithm, ...]
    external: External | None
    annotation: Annotation | None

    extra_slots = ("classes", "components", "extends", "imports", "members", "repeated")
    if TYPE_CHECKING:
        members: dict[str, ClassDefinition | Component]
        repeated: tuple[ClassDefinition | Component, ...]  # elements whose name occurred before
        extends: tuple[Extends, ...]
        imports: tuple[Import, ...]
        components: tuple[Component, ...]
        classes: tuple[ClassDefinition, ...]

    def __init__(
        self,
        place: tuple[Source, int, int],
        description: str,
        modification: Modification | None,
        elements: Sequence[Element],
        sections: Sections,
        annotation: Annotation | None,
    ) -> None:
        _place(self, *place)
        members: dict[str, ClassDefinition | Component] = {}
        repeated: list[ClassDefinition | Component] = []
        for one in elements:
            if isinstance(one, (Component, ClassDefinition)) and members.setdefault(one.name, one) is not one:
                repeated.append(one)
        for name, value in (
            ("description", description),
            ("modification", modification),
            ("elements", tuple(elements)),
            ("equations", tuple(sections.equations)),
            ("initial_equations", tuple(sections.initial_equations)),
            ("algorithms", tuple(sections.algorithms)),
            ("initial_algorithms", tuple(sections.initial_algorithms)),
            ("external", sections.external),
            ("annotation", annotation),
            ("members", members),
            ("repeated", tuple(repeated)),
            ("extends", tuple(one for one in elements if isinstance(one, Extends))),
            ("imports", tuple(one for one in elements if isinstance(one, Import))),
            ("components", tuple(one for one in elements if isinstance(one, Component))),
            ("classes", tuple(one for one in elements if isinstance(one, ClassDefinition))),
        ):
            _set(self, name, value)


class Sections:
    """Collects what stands behind the elements of a class while it is parsed."""

    __slots__ = ("algorithms", "equations", "external", "initial_algorithms", "initial_equations")

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.initial_equations: list[Equation] = []
        self.algorithms: list[Algorithm] = []
        self.initial_algorithms: list[Algorithm] = []
        self.external: External | None = None


class External(Node):
    """`external "C" y = f(x, n) annotation(...)`"""

    language: str  # "C" where none is given
    output: Reference | None
    function: str  # empty: the name of the Modelica function
    arguments: tuple[Expression, ...]
    annotation: Annotation | None


class StoredDefinition(Node):
    """A whole file: `within A.B;` and classes."""

    within: tuple[str, ...] | None  # None: no such clause; empty: `within;`
    classes: tuple[ClassDefinition, ...]


# ------------------------------------------------------------------------------------------- equations and statements


class Equation(Node):
    """An equation, with the description behind it."""

    description: str
    annotation: Annotation | None


class SimpleEquation(Equation):
    """`left = right`"""

    left: Expression
    right: Expression


class IfEquation(Equation):
    """`if c then ... elseif d then ... else ... end if`"""

    branches: tuple[tuple[Expression, tuple[Equation, ...]], ...]
    otherwise: tuple[Equation, ...]


class ForEquation(Equation):
    """`for i in a, j in b loop ... end for`"""

    indices: tuple[ForIndex, ...]
    equations: tuple[Equation, ...]


class WhenEquation(Equation):
    """`when c then ... elsewhen d then ... end when`"""

    branches: tuple[tuple[Expression, tuple[Equation, ...]], ...]


class Connect(Equation):
    """`connect(a, b)`"""

    left: Reference
    right: Reference


class CallEquation(Equation):
    """`assert(...)`, `reinit(x, 0)`, `Connections.root(a)`: a call that stands alone."""

    call: Call | Reduction


class Algorithm(Node):
    """One algorithm section."""

    statements: tuple[Statement, ...]


class Statement(Node):
    """A statement, with the description behind it."""

    description: str
    annotation: Annotation | None


class Assignment(Statement):
    """`a.b[i] := value`"""

    target: Reference
    value: Expression


class TupleAssignment(Statement):
    """`(a, , b) := f(x)`"""

    targets: Tuple
    value: Call | Reduction


class CallStatement(Statement):
    """`f(x);`"""

    call: Call | Reduction


class IfStatement(Statement):
    """`if c then ... elseif d then ... else ... end if`"""

    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


class ForStatement(Statement):
    """`for i in a, j in b loop ... end for`"""

    indices: tuple[ForIndex, ...]
    statements: tuple[Statement, ...]


class WhileStatement(Statement):
    """`while c loop ... end while`"""

    condition: Expression
    statements: tuple[Statement, ...]


class WhenStatement(Statement):
    """`when c then ... elsewhen d then ... end when`"""

    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]


class BreakStatement(Statement):
    """`break`"""


class ReturnStatement(Statement):
    """`return`"""


# -------------------------------------------------------------------------------------------------------------- helpers

_set = object.__setattr__


def _place(node: Node, source: Source, start: int, end: int) -> None:
    _set(node, "source", source)
    _set(node, "start", start)
    _set(node, "end", end)


def left_chain(node: Expression) -> tuple[Expression, list[Binary]]:
    """The first operand and the operations on it in order: `a + b - c` gives a, [a + b, (a + b) - c]."""
    operations: list[Binary] = []
    while isinstance(node, Binary):
        operations.append(node)
        node = node.left
    operations.reverse()
    return node, operations


def children(node: Node) -> Iterator[Node]:
    """Nodes directly below, in the order of their fields; bodies and annotations that were not parsed are parsed."""
    for field in contents(node):
        yield from _nodes_in(field)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first, without recursion."""
    open_nodes = [node]
    while open_nodes:
        one = open_nodes.pop()
        yield one
        open_nodes.extend(reversed(list(children(one))))


def contents(node: Node) -> list[object]:
    """The fields of a node without its place."""
    if isinstance(node, LongClass):
        return [getattr(node, name) for name in (*node.fields[3:], "body") if name != "name_start"]
    if isinstance(node, Annotation):
        return [node.arguments]
    return [getattr(node, name) for name in node.fields[3:] if name != "name_start"]


def same(one: object, other: object) -> bool:
    """The same was written, places aside."""
    pairs = [(one, other)]
    while pairs:
        a, b = pairs.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, Node) and isinstance(b, Node):
            pairs.extend(zip(contents(a), contents(b), strict=True))
        elif isinstance(a, tuple) and isinstance(b, tuple):
            if len(a) != len(b):
                return False
            pairs.extend(zip(a, b, strict=True))
        elif a != b:
            return False
    return True


def _nodes_in(field: object) -> Iterator[Node]:
    if isinstance(field, Node):
        yield field
    elif isinstance(field, tuple):
        for one in field:
            yield from _nodes_in(one)


def no_place() -> tuple[Source, int, int]:
    """The place of a node that was made, not read."""
    return NO_SOURCE, 0, 0
