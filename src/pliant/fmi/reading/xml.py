"""Elements of an XML text with their lines.

Most of a description is small and becomes a tree of `XmlElement`. The children of the root that may have hundreds of
thousands of elements are handed on while they are read (`Stream`): memory holds what is made of them, not the text.

Foreign text may be hostile: a document type, and with it every entity, is refused; nothing is ever loaded from
elsewhere; annotations of vendors are skipped; depth is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from xml.parsers import expat

from pliant.errors import FmuError

FILE = "modelDescription.xml"
DEEPEST = 50
SKIPPED = frozenset({"VendorAnnotations", "Annotations", "GraphicalRepresentation", "TerminalConnectionKind"})


class XmlElement:
    """One element: name, attributes, line, children."""

    __slots__ = ("attributes", "children", "line", "name")

    def __init__(self, name: str, attributes: dict[str, str], line: int) -> None:
        self.name = name
        self.attributes = attributes
        self.line = line
        self.children: list[XmlElement] = []

    def all(self, *names: str) -> list[XmlElement]:
        """Children of these names."""
        return [one for one in self.children if one.name in names]

    def first(self, name: str) -> XmlElement | None:
        """The first child of this name."""
        return next((one for one in self.children if one.name == name), None)

    def __str__(self) -> str:
        own = self.attributes.get("name")
        return self.name if own is None else f"{self.name} {shortened(own)!r}"


class Stream:
    """Takes the elements inside one child of the root, as they come."""

    own = ""  # name of the child
    parser: expat.XMLParserType
    other: Callable[[str], None]  # to be called with the name of an element that the stream does not know: skips it
    left: Callable[[], None]  # to be called when the child ends

    def line(self) -> int:
        """The present one."""
        return self.parser.CurrentLineNumber

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        raise NotImplementedError

    def end(self, name: str) -> None:
        """An element ends, perhaps the child itself."""
        if name == self.own:
            self.left()

    def close(self) -> None:
        """No more elements."""


def shortened(text: str, most: int = 80) -> str:
    """A name for a message."""
    return text if len(text) <= most else f"{text[:most]}..."


def refused(text: str, *, element: str = "", line: int = 0, hint: str) -> FmuError:
    """An error that names the element and its line."""
    place = f"{FILE}:{line}: " if line else f"{FILE}: "
    error = FmuError(f"{place}{element}: {text}" if element else f"{place}{text}", hint=hint)
    error.element, error.line = element, line
    return error


class _Tree:
    """The handlers of one parser."""

    def __init__(self, begun: Callable[[XmlElement], Mapping[str, Stream]], encoding: str | None) -> None:
        self.parser = parser = expat.ParserCreate(encoding)
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.StartDoctypeDeclHandler = self.no_doctype
        parser.EntityDeclHandler = self.no_doctype
        parser.XmlDeclHandler = self.declared
        self.begun = begun
        self.root: XmlElement | None = None
        self.open: list[XmlElement] = []
        self.streams: Mapping[str, Stream] = {}
        self.encoding = ""

    def declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self.encoding = encoding or ""

    def no_doctype(self, *_: object) -> None:
        raise refused(
            "it has a document type (DOCTYPE), which FMI does not use and which can hide entity bombs",
            line=self.parser.CurrentLineNumber,
            hint="remove the DOCTYPE, or ask the maker of the FMU for one without",
        )

    def start(self, name: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        if name in self.streams and len(self.open) == 1:
            return self.handed_on(self.streams[name])
        if name in SKIPPED and self.open:
            return self.skipped()
        if len(self.open) >= DEEPEST:
            raise self.too_deep(name)
        element = XmlElement(name, attributes, line)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
            self.streams = self.begun(element)
        self.open.append(element)
        return None

    def end(self, _name: str) -> None:
        self.open.pop()

    def too_deep(self, name: str) -> FmuError:
        return refused(
            f"elements are nested more than {DEEPEST} deep",
            element=shortened(name),
            line=self.parser.CurrentLineNumber,
            hint="the file is damaged, or no description of an FMU",
        )

    def handed_on(self, stream: Stream) -> None:
        """Everything up to the end of this element goes to a stream."""
        parser = self.parser

        def other(name: str) -> None:
            if name == stream.own:
                raise refused(
                    f"{name} inside {name}",
                    element=name,
                    line=parser.CurrentLineNumber,
                    hint="the file is damaged, or no description of an FMU",
                )
            self.skipped()

        def left() -> None:
            parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
            stream.close()

        stream.parser = parser
        stream.other, stream.left = other, left
        parser.StartElementHandler, parser.EndElementHandler = stream.start, stream.end

    def skipped(self) -> None:
        """Ignore this element and everything inside."""
        parser = self.parser
        before = parser.StartElementHandler, parser.EndElementHandler
        depth = 1

        def start(name: str, _attributes: dict[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > DEEPEST:
                raise self.too_deep(name)

        def end(_name: str) -> None:
            nonlocal depth
            depth -= 1
            if depth == 0:
                parser.StartElementHandler, parser.EndElementHandler = before

        parser.StartElementHandler, parser.EndElementHandler = start, end


def read_xml(
    chunks: Iterable[bytes], begun: Callable[[XmlElement], Mapping[str, Stream]], encoding: str | None = None
) -> tuple[XmlElement, str]:
    """The root with its children and the encoding that the text declares.

    ``begun`` is given the root before its children, and returns who takes which of them. ``encoding``: instead of the
    declared one. What is not XML is an FmuError; one that is caused by bytes of another encoding is a UnicodeError.
    """
    tree = _Tree(begun, encoding)
    parse, chunk = tree.parser.Parse, b""
    try:
        for chunk in chunks:
            parse(chunk, False)
        parse(b"", True)
    except expat.ExpatError as error:
        wrong = refused(
            f"not well-formed XML: {expat.ErrorString(error.code)}, column {error.offset + 1}",
            line=error.lineno,
            hint="the file is damaged: unpack the FMU again or ask its maker for another one",
        )
        is_foreign = error.code == INVALID_TOKEN and encoding is None and any(byte >= 128 for byte in chunk)
        raise (NotUtf8(wrong) if is_foreign else wrong) from None
    except (LookupError, ValueError) as error:  # encodings that Python does not know, or that have several bytes
        wrong = refused(
            f"it cannot be read in the encoding {shortened(tree.encoding)!r} that it declares: {error}",
            line=1,
            hint="write it in UTF-8",
        )
        raise (NotUtf8(wrong, tree.encoding) if encoding is None and _is_known(tree.encoding) else wrong) from None
    finally:  # handlers and parser refer to each other
        tree.parser.StartElementHandler = tree.parser.EndElementHandler = None
    assert tree.root is not None  # expat refuses a text without elements
    return tree.root, tree.encoding


INVALID_TOKEN = 4  # XML_ERROR_INVALID_TOKEN


def _is_known(encoding: str) -> bool:
    """Can Python decode it?"""
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        return False
    return True


class NotUtf8(Exception):
    """The text is not valid in the encoding that it declares, or the parser does not know that (``encoding``).

    ``error`` is what to raise if it cannot be read otherwise.
    """

    def __init__(self, error: FmuError, encoding: str = "") -> None:
        super().__init__(str(error))
        self.error = error
        self.encoding = encoding
