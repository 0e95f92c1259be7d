"""From text to a StoredDefinition: everything at once, or bodies of classes and annotations on demand."""

from __future__ import annotations

from pliant.frontend.modelica.recursion import deep_recursion
from pliant.frontend.modelica.syntax.base_modelica import undecorated
from pliant.frontend.modelica.syntax.classes import ClassParser
from pliant.frontend.modelica.syntax.faults import FaultFound, SyntaxFault, error_of
from pliant.frontend.modelica.syntax.modifications import CLASS_WORDS
from pliant.frontend.modelica.syntax.outline import Outline
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.tokens import END_OF_FILE, IDENT
from pliant.frontend.modelica.syntax.tree import FINAL, ClassDefinition, StoredDefinition


def parse(text: str, file: str = "text", *, warnings: list[SyntaxFault] | None = None) -> StoredDefinition:
    """The whole text; one ModelicaSyntaxError for all of its faults."""
    return _parse(Source(file, plain(text)), is_complete=True, warnings=warnings)


def parse_on_demand(source: Source) -> StoredDefinition:
    """Names and places of classes; faults in their bodies are raised when the bodies are asked for."""
    return _parse(source, is_complete=False, warnings=None)


def plain(text: str) -> str:
    """A text with the line ends of Modelica; a byte-order mark counts as a blank (13.4), as decorations do."""
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    return undecorated(text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text)


def _parse(source: Source, *, is_complete: bool, warnings: list[SyntaxFault] | None) -> StoredDefinition:
    with deep_recursion():
        outline = Outline(source)
        faults = list(outline.faults)
        parser = _FileParser(outline.tokens(), outline.classes, faults, is_complete=is_complete)
        found = parser.guarded(parser.stored_definition)
    if warnings is not None:
        warnings += parser.warnings
    if found is None or faults:
        raise error_of(_causes(faults))
    return found


def _causes(faults: list[SyntaxFault]) -> list[SyntaxFault]:
    """A text or comment without an end swallows all that follows: faults that are due to that are no news."""
    open_ended = [
        one for one in faults if one.message.endswith("has no end") and not one.message.startswith("the class")
    ]
    if not open_ended:
        return faults
    first = open_ended[0]
    due = ("the class", "expected `;` behind the class")
    before = [one for one in faults if one.start < first.start and not one.message.startswith(due)]
    return [*before, first]


_STARTS = CLASS_WORDS | {"final", "within", END_OF_FILE}


class _FileParser(ClassParser):
    """Reads the outermost level of a file (A.2.1)."""

    __slots__ = ()

    def stored_definition(self) -> StoredDefinition:
        within: tuple[str, ...] | None = None
        kinds = self.kinds
        if kinds[0] == "within":
            self.i = 1
            within = self.type_name().names if kinds[1] == IDENT else ()
            self.expect(";", "`;` behind `within`", rule="13.4.3")
        classes: list[ClassDefinition] = []
        while kinds[self.i] != END_OF_FILE:
            self.begin = i = self.i
            try:
                start = self.starts[i]
                prefixes = FINAL if self.accept("final") else 0
                if kinds[i] in ("within", "import", "replaceable", "redeclare"):
                    raise self.fault(f"`{kinds[i]}` cannot stand here", hint="a file holds classes only", rule="A.2.1")
                classes.append(self.class_definition(start, prefixes))
                if kinds[self.i] != ";":
                    raise self.expected("`;` behind the class", rule="A.2.1")
                self.i += 1
            except FaultFound as found:
                self.recover(found, 0)
                while kinds[self.i] not in _STARTS:  # what follows a head that could not be read is no news
                    self.i += 1
        return StoredDefinition(self.source, 0, len(self.source.text), within, tuple(classes))
