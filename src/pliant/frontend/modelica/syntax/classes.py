"""Classes and their elements (A.2.1 to A.2.4). Bodies of long classes are read on demand."""

from __future__ import annotations

from functools import partial
from typing import Final

from pliant.frontend.modelica.syntax.base_modelica import Guesses
from pliant.frontend.modelica.syntax.base_partitions import Partitions
from pliant.frontend.modelica.syntax.equations import PARTITION_WORDS, SECTION_WORDS, EquationParser
from pliant.frontend.modelica.syntax.faults import FaultFound, SyntaxFault, error_of
from pliant.frontend.modelica.syntax.modifications import CLASS_WORDS
from pliant.frontend.modelica.syntax.outline import ClassPlace
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.tokens import IDENT, STRING
from pliant.frontend.modelica.syntax.tree import (
    ENCAPSULATED,
    FINAL,
    INNER,
    OUTER,
    PROTECTED,
    REDECLARE,
    REPLACEABLE,
    Algorithm,
    Annotation,
    Body,
    ClassDefinition,
    Component,
    Element,
    Expression,
    Extends,
    External,
    Import,
    LongClass,
    Modification,
    Sections,
)

_RULE: Final = "A.2.2"
_ELEMENT_PREFIXES: Final = (("redeclare", REDECLARE), ("final", FINAL), ("inner", INNER), ("outer", OUTER))
_ANY_PREFIX: Final = frozenset(
    [
        "redeclare",
        "final",
        "inner",
        "outer",
        "replaceable",
        "encapsulated",
        "partial",
        "flow",
        "stream",
        "discrete",
        "parameter",
        "constant",
        "input",
        "output",
        "each",
    ]
)


class ClassParser(EquationParser):
    """Reads classes."""

    __slots__ = ()

    def class_definition(self, start: int, prefixes: int) -> ClassDefinition:
        """`encapsulated partial model M ...`; the next token is the first of the class itself."""
        if self.accept("encapsulated"):
            prefixes |= ENCAPSULATED
        more, kind = self.class_prefixes()
        prefixes |= more
        i = self.i
        is_extension = self.kinds[i] == "extends"
        if is_extension:
            i += 1
        elif self.kinds[i + 1] == "=":
            return self.short_class(start, kind, prefixes)
        place = self.places.get(self.starts[i])
        if place is None:
            raise self._no_class_name(i)
        name = self.declared(i)
        self.i = i + 1
        constraint = self.constraint(prefixes)
        end = self.ends[self.i - 1] if constraint is not None else place.end
        body = self._body_now(place) if self.is_complete else partial(read_body, self.source, place)
        head = (name, kind, prefixes, place.name_start, constraint, is_extension)
        return LongClass((self.source, start, end), *head, body)

    def _no_class_name(self, i: int) -> FaultFound:
        self.i = i
        if self.kinds[i] != IDENT:
            return self.expected("the name of the class", rule=_RULE)
        self.i = i + 1
        if self.kinds[i + 1] == "=":
            return self.fault("a class that extends has no `=`", hint="end it with `end`", rule="7.3.1")
        hint = "inputs of a function are declared inside: `input Real x;`"
        return self.expected("what stands in the class", hint=hint, rule=_RULE)

    def _body_now(self, place: ClassPlace) -> Body:
        """The body, read by a parser of its own; faults are noted and what could be read is kept."""
        self.enter()
        parser = ClassParser(place.tokens(self.source), place.inside, self.faults, is_complete=True)
        parser.depth = self.depth
        parser.warnings = self.warnings
        body = parser.body(is_extension=place.is_extension)
        self.depth -= 1
        return body

    # ---------------------------------------------------------------------------------------------------------- body

    def body(self, *, is_extension: bool) -> Body:
        """What stands between the name of a class and its `end`."""
        stop = self.stop
        start = self.starts[self.i]
        modification: Modification | None = None
        description = ""
        self.begin = self.i
        try:
            modification = self.bracketed() if is_extension else None
            description = self.description_string()
        except FaultFound as found:
            self.recover(found, self.depth)
        elements: list[Element] = []
        sections = Sections()
        guesses = Guesses(self.source, self.faults)
        partitions = Partitions(self)
        annotation: Annotation | None = None
        visibility = 0
        while self.i < stop:
            self.begin = self.i
            depth = self.depth
            kind = self.kinds[self.i]
            try:
                if kind in ("public", "protected"):
                    self.i += 1
                    visibility = PROTECTED if kind == "protected" else 0
                elif self.source.is_base and self.texts[self.i] in PARTITION_WORDS:
                    partitions.read(elements, sections)
                elif self._section(kind, sections):
                    pass
                elif kind == "annotation":
                    annotation = self._class_annotation()
                else:
                    if kind == "parameter" and self.source.is_base and self.kinds[self.i + 1] == "equation":
                        self._parameter_equation(guesses)
                    else:
                        self.element(elements, visibility)
                    if self.kinds[self.i] != ";":
                        raise self._no_semicolon_behind_element()
                    self.i += 1
            except FaultFound as found:
                self.recover(found, depth)
        end = max(self.ends[stop - 1], start) if stop else start
        elements = guesses.taken(elements, sections)
        return Body((self.source, start, end), description, modification, elements, sections, annotation)

    def _parameter_equation(self, guesses: Guesses) -> None:
        """`parameter equation guess(x) = 1.5` of Base Modelica."""
        i = self.i
        self.i += 2
        if self.texts[self.i] != "guess":
            raise self.expected("`guess(x) = value` behind `parameter equation`", rule="MCP 31")
        self.i += 1
        self.expect("(", "`(` behind `guess`", rule="MCP 31")
        of = self.reference("the name of a variable")
        self.expect(")", "`)` behind the name of a variable", rule="MCP 31")
        self.expect("=", "`=` behind `guess(x)`", rule="MCP 31")
        value = self.expression()
        self.comment()
        guesses.add(of, value, Modification(self.source, self.starts[i], self.ends[self.i - 1], (), value))

    def _section(self, kind: str, sections: Sections) -> bool:
        """A section of equations or statements, or an external clause; False where none begins here."""
        i = self.i
        is_initial = kind == "initial" and self.kinds[i + 1] in ("equation", "algorithm")
        if is_initial:
            kind = self.kinds[i + 1]
            self.i += 1
        if kind == "equation":
            self.i += 1
            (sections.initial_equations if is_initial else sections.equations).extend(self.equations())
        elif kind == "algorithm":
            self.i += 1
            found = tuple(self.statements())
            made = Algorithm(self.source, self.starts[i], self.ends[self.i - 1], found)
            (sections.initial_algorithms if is_initial else sections.algorithms).append(made)
        elif kind == "external":
            if sections.external is not None:
                raise self.fault("a second `external`", hint="keep one of them", rule="12.9")
            sections.external = self._external()
            if self.kinds[self.i] not in ("annotation", "end") and self.i < self.stop:
                raise self.fault("only an annotation may follow `external`", hint="write it at the end", rule=_RULE)
        elif kind in ("end", "else", "elseif", "elsewhen"):
            self._stray(kind)
        else:
            return False
        return True

    def _stray(self, kind: str) -> None:
        """What is left of a block whose beginning could not be read; a fault only where nothing was reported yet."""
        i = self.i
        self.i = i + 2 if kind == "end" else i + 1
        if not self.faults:
            word = f"end {self.kinds[i + 1]}" if kind == "end" else kind
            raise self.fault(f"`{word}` without a beginning", hint="remove it", rule="A.2.6", at=i)
        while self.i < self.stop and self.kinds[self.i] not in (";", "then"):
            self.i += 1
        self.i = min(self.i + 1, self.stop)
        if kind != "end":
            self._rest_of_block()

    def _rest_of_block(self) -> None:
        while self.i < self.stop and self.kinds[self.i] not in SECTION_WORDS and self.kinds[self.i] != "end":
            self.i += 1

    def _class_annotation(self) -> Annotation:
        i = self.i
        found = self.annotation()
        if self.kinds[self.i] != ";":
            raise self.expected("`;` behind the annotation", rule=_RULE)
        self.i += 1
        if self.i < self.stop:
            hint = "move it to the end of the class, behind all equations"
            raise self.fault("the annotation of a class must be the last thing in it", hint=hint, rule=_RULE, at=i)
        return found

    def _external(self) -> External:
        i = self.i
        self.i += 1
        language = self.string(self.expect(STRING)) if self.kinds[self.i] == STRING else "C"
        output = None
        function = ""
        arguments: list[Expression] = []
        if self.kinds[self.i] in (IDENT, "."):
            at = self.i
            reference = self.reference()
            if self.accept("="):
                output = reference
                at = self.i
                reference = self.reference("the name of the external function")
            if len(reference.names) > 1 or reference.subscripts or reference.rooted:
                raise self.fault("the name of an external function is a single word", hint="", rule="12.9", at=at)
            function = reference.names[0]
            self.expect("(", "`(` behind the name of the external function", rule="12.9")
            if self.kinds[self.i] != ")":
                arguments.append(self.expression())
                while self.accept(","):
                    arguments.append(self.expression())
            self.expect(")", "`,` or `)` behind an argument", rule="12.9")
        annotation = self.annotation() if self.kinds[self.i] == "annotation" else None
        if self.kinds[self.i] != ";":
            raise self.expected("`;` behind the external function", rule="12.9")
        self.i += 1
        end = self.ends[self.i - 2]
        return External(self.source, self.starts[i], end, language, output, function, tuple(arguments), annotation)

    # ------------------------------------------------------------------------------------------------------- elements

    def element(self, elements: list[Element], visibility: int) -> None:
        """One element, without its semicolon."""
        kinds = self.kinds
        kind = kinds[self.i]
        if kind == "import":
            elements.append(self._import())
            return
        if kind == "extends":
            elements.append(self._extends(visibility))
            return
        start = self.starts[self.i]
        prefixes = visibility
        for word, mask in _ELEMENT_PREFIXES:
            if kinds[self.i] == word:
                self.i += 1
                prefixes |= mask
        if kinds[self.i] == "replaceable":
            self.i += 1
            prefixes |= REPLACEABLE
        if kinds[self.i] in CLASS_WORDS:
            elements.append(self.class_definition(start, prefixes))
        else:
            self._components(elements, start, prefixes)

    def _import(self) -> Import:
        start = self.starts[self.i]
        self.i += 1
        alias = ""
        everything = False
        members: list[str] = []
        if self.kinds[self.i] == IDENT and self.kinds[self.i + 1] == "=":
            alias = self.texts[self.i]
            self.i += 2
        names = [self.identifier("the name of a package or class to import")]
        while (self.kinds[self.i] in (".", ".*") and not alias) or self.kinds[self.i] == ".":
            if self.accept(".*"):
                everything = True
                break
            self.i += 1
            if not alias and self.accept("*"):
                everything = True
                break
            if not alias and self.accept("{"):
                members.append(self.identifier("a name to import"))
                while self.accept(","):
                    members.append(self.identifier("a name to import"))
                self.expect("}", "`,` or `}` behind a name to import", rule="13.2.1")
                break
            names.append(self.identifier("a name behind the dot"))
        text, annotation = self.comment()
        made = (self.source, start, self.ends[self.i - 1], tuple(names), alias, everything)
        return Import(*made, tuple(members), text, annotation)

    def _extends(self, visibility: int) -> Extends:
        start = self.starts[self.i]
        self.i += 1
        base = self.type_name("the name of the base class")
        modification = None
        if self.kinds[self.i] == "(":
            at = self.i
            arguments = self.class_modification(in_extends=True)
            modification = Modification(self.source, self.starts[at], self.ends[self.i - 1], arguments, None)
        annotation = self.annotation() if self.kinds[self.i] == "annotation" else None
        if self.kinds[self.i] == STRING:
            raise self.fault("`extends` has no description", hint="write it as a comment: `// ...`", rule="A.2.3")
        return Extends(self.source, start, self.ends[self.i - 1], base, modification, annotation, visibility)

    def _components(self, elements: list[Element], start: int, prefixes: int) -> None:
        """`parameter Real[3] a = 1 "text", b[2];` up to the semicolon."""
        connection, variability, causality = self.type_prefix()
        if self.kinds[self.i] not in (IDENT, "."):
            raise self._no_element()
        kind = self.type_name("the type of a component")
        shared = self.subscripts() if self.kinds[self.i] == "[" else ()
        declared: list[Component] = []
        while True:
            if self.kinds[self.i] != IDENT:
                raise self._no_component_name()
            i = self.i
            name = self.declared(i)
            self.i = i + 1
            dimensions = self.subscripts() + shared if self.kinds[i + 1] == "[" else shared
            modification = self.modification() if self.kinds[self.i] in ("(", "=", ":=") else None
            condition = self.expression() if self.accept("if") else None
            text, annotation = self.comment()
            place = (self.source, self.starts[i] if declared else start, self.ends[self.i - 1])
            made = (*place, name, kind, prefixes, variability, causality, connection, dimensions)
            declared.append(Component(*made, modification, condition, text, annotation, None))
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        constraint = self.constraint(prefixes)
        if constraint is not None:
            for one in declared:
                values = {field: getattr(one, field) for field in Component.fields}
                values["constraint"] = constraint
                elements.append(Component(**values))
        else:
            elements.extend(declared)

    # --------------------------------------------------------------------------------------------------------- faults

    def _no_element(self) -> FaultFound:
        kind = self.kinds[self.i]
        if kind in _ANY_PREFIX and self.i > self.begin:
            order = "`redeclare final inner outer replaceable`, then `flow`, `parameter`, `input`"
            return self.fault(f"`{kind}` is in the wrong place", hint=f"the order is {order}", rule="A.2.4")
        if kind in ("if", "for", "when", "connect", "while"):
            return self.fault(f"`{kind}` stands among declarations", hint="write `equation` above it", rule=_RULE)
        if kind == ";":
            return self.fault("a `;` too many", hint="remove it", rule=_RULE)
        if self.kinds[self.begin] in ("der", "(", "initial"):
            return self.fault("an equation stands among declarations", hint="write `equation` above it", rule=_RULE)
        return self.expected("a declaration", rule=_RULE)

    def _no_component_name(self) -> FaultFound:
        if self.kinds[self.i] in ("=", ":=", "(") and self.i > self.begin:
            hint = self._guess("") or "write `equation` above it, or give the declaration a type: `Real x = ...`"
            return self.fault(
                f"expected the name of a component, found `{self.kinds[self.i]}`: is this an equation?",
                hint=hint,
                rule="A.2.4",
            )
        return self.expected("the name of a component", rule="A.2.4")

    def _no_semicolon_behind_element(self) -> FaultFound:
        hint = ""
        if self.kinds[self.i] == "=":
            hint = "write `equation` above it"
        return self.expected("`;` behind the declaration", hint=hint, rule=_RULE)


def read_body(source: Source, place: ClassPlace) -> Body:
    """The body of a class."""
    faults: list[SyntaxFault] = []
    parser = ClassParser(place.tokens(source), place.inside, faults, is_complete=False)
    body = parser.guarded(lambda: parser.body(is_extension=place.is_extension))
    if body is None or faults:
        raise error_of(faults)
    return body
