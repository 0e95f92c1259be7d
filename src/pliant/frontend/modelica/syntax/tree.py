"""The syntax tree of Modelica 3.6: data only.

Every node has its place, `source`, `start` and `end` (offsets into `source.text`, end exclusive); `node.span` is the
same as file, line and column. Nodes are compared by identity and may be keys; `walk.same` compares what was written,
places aside. All fields are final (the type checker sees to it); two things are made at their first use: the body of a
long class, and the arguments of an annotation.

**Names.** An identifier is a str as written, quotes included (`'a b'` and `a` differ). A reference has its parts in
`names`; `subscripts` is empty where no part has any, else one tuple per part. `rooted`: written with a leading dot.
`time`, `Real` and all functions are ordinary names, also `der`, `initial` and `pure` where they are called.

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
(`break a`, `break connect(a, b)`, 7.4). Annotations are the same: `annotation.arguments`, `annotation.find(name)`.

**Expressions.** Parentheses leave no trace. `Binary.left` may be a chain as long as the text: `walk.left_chain` unrolls
it; all other nesting is at most MAX_DEPTH levels deep. `else if` and `elseif` both are branches of one If. `Tuple` is
`(a, , b)`, of outputs; a call with `for` is a ReductionCall, `{... for ...}` an ArrayComprehension.

**Equations and statements** are separate families with the same fields (IfEquation, IfStatement, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from pliant.frontend.modelica.syntax.node import Node, set_field, set_place
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.tree_equations import (
    Algorithm,
    AnyEquation,
    AnyStatement,
    Assignment,
    BreakStatement,
    CallEquation,
    CallStatement,
    Connect,
    ForEquation,
    ForStatement,
    IfEquation,
    IfStatement,
    ReturnStatement,
    SimpleEquation,
    TupleAssignment,
    WhenEquation,
    WhenStatement,
    WhileStatement,
)
from pliant.frontend.modelica.syntax.tree_expressions import (
    ArrayComprehension,
    ArrayConstructor,
    Binary,
    BooleanLiteral,
    Break,
    Call,
    Colon,
    Concatenation,
    End,
    Expression,
    ForIndex,
    If,
    IntegerLiteral,
    NamedArgument,
    PartialApplication,
    Range,
    RealLiteral,
    ReductionCall,
    Reference,
    StringLiteral,
    Tuple,
    Unary,
)

if TYPE_CHECKING:
    from pliant.ir import Span

__all__ = [
    "ENCAPSULATED",
    "FINAL",
    "IMPURE",
    "INNER",
    "KINDS",
    "MAX_DEPTH",
    "OUTER",
    "PARTIAL",
    "PREFIX_WORDS",
    "PROTECTED",
    "PURE",
    "REDECLARE",
    "REPLACEABLE",
    "Algorithm",
    "Annotation",
    "AnyEquation",
    "AnyStatement",
    "ArrayComprehension",
    "ArrayConstructor",
    "Assignment",
    "Binary",
    "Body",
    "BooleanLiteral",
    "Break",
    "BreakStatement",
    "Call",
    "CallEquation",
    "CallStatement",
    "ClassDefinition",
    "Colon",
    "Component",
    "Concatenation",
    "Connect",
    "Constraint",
    "DerivativeClass",
    "Element",
    "End",
    "Enumeration",
    "EnumerationLiteral",
    "Exclusion",
    "Expression",
    "Extends",
    "External",
    "ForEquation",
    "ForIndex",
    "ForStatement",
    "If",
    "IfEquation",
    "IfStatement",
    "Import",
    "IntegerLiteral",
    "LongClass",
    "Modification",
    "ModificationArgument",
    "Modifier",
    "NamedArgument",
    "Node",
    "PartialApplication",
    "Range",
    "RealLiteral",
    "Redeclaration",
    "ReductionCall",
    "Reference",
    "ReturnStatement",
    "Sections",
    "ShortClass",
    "SimpleEquation",
    "StoredDefinition",
    "StringLiteral",
    "Tuple",
    "TupleAssignment",
    "Unary",
    "WhenEquation",
    "WhenStatement",
    "WhileStatement",
]

MAX_DEPTH: Final = 300  # levels of nesting, far below what the stack allows (`deep_recursion`)

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


# -------------------------------------------------------------------------------------------------------- modifications


class Modification(Node):
    """`(arguments) = value`, either part may be missing."""

    arguments: tuple[ModificationArgument, ...]
    value: Expression | None


class ModificationArgument(Node):
    """One entry of a modification."""


class Modifier(ModificationArgument):
    """`each final a.b(...) = value "text"`"""

    names: tuple[str, ...]
    each: bool
    final: bool
    modification: Modification | None
    description: str


class Redeclaration(ModificationArgument):
    """`redeclare each final model M = N`, `replaceable Real x`; the prefixes stand in the element."""

    each: bool
    element: ClassDefinition | Component


class Exclusion(ModificationArgument):
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
        arguments: tuple[ModificationArgument, ...] | Callable[[], tuple[ModificationArgument, ...]],
    ) -> None:
        set_place(self, source, start, end)
        set_field(self, "_parse", arguments if callable(arguments) else None)
        set_field(self, "_arguments", None if callable(arguments) else arguments)

    if TYPE_CHECKING:
        _arguments: tuple[ModificationArgument, ...] | None
        _parse: Callable[[], tuple[ModificationArgument, ...]] | None

    @property
    def arguments(self) -> tuple[ModificationArgument, ...]:
        """Modifiers; a syntax error inside is raised here."""
        found = self._arguments
        if found is None:
            assert self._parse is not None
            found = self._parse()
            set_field(self, "_arguments", found)
            set_field(self, "_parse", None)
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
    """`model M ... end M`; with `is_extension` `model extends M(...) ... end M` (7.3.1), parsed on demand."""

    is_extension: bool
    extra_slots = ("_body", "_parse")

    def __init__(
        self,
        place: tuple[Source, int, int],
        name: str,
        kind: str,
        prefixes: int,
        name_start: int,
        constraint: Constraint | None,
        is_extension: bool,
        body: Body | Callable[[], Body],
    ) -> None:
        set_place(self, *place)
        set_field(self, "name", name)
        set_field(self, "kind", kind)
        set_field(self, "prefixes", prefixes)
        set_field(self, "name_start", name_start)
        set_field(self, "constraint", constraint)
        set_field(self, "is_extension", is_extension)
        set_field(self, "_body", None if callable(body) else body)
        set_field(self, "_parse", body if callable(body) else None)

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
            set_field(self, "_body", found)
            set_field(self, "_parse", None)
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
    equations: tuple[AnyEquation, ...]
    initial_equations: tuple[AnyEquation, ...]
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
        set_place(self, *place)
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
            set_field(self, name, value)


class Sections:
    """Collects what stands behind the elements of a class while it is parsed."""

    __slots__ = ("algorithms", "equations", "external", "initial_algorithms", "initial_equations")

    def __init__(self) -> None:
        self.equations: list[AnyEquation] = []
        self.initial_equations: list[AnyEquation] = []
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
