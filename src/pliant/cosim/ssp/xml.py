"""Elements of an SSP file with their lines, and errors that name both.

Names are looked up by namespace, because prefixes are free. Foreign text may be hostile: a document type, and with it
every entity, is refused, nothing is loaded from elsewhere, depth and number of elements are limited.
"""

from __future__ import annotations

import math
from xml.parsers import expat

from pliant.errors import SspError
from pliant.fmi.reading.xml import shortened

DEEPEST = 100
MOST_ELEMENTS = 2_000_000
LARGEST = 2**28  # bytes of a text
SPACE = "http://ssp-standard.org/SSP1/SystemStructure"
#: end of the namespace -> its usual prefix
PREFIXES = {
    "Description": "ssd",
    "Common": "ssc",
    "ParameterValues": "ssv",
    "ParameterMapping": "ssm",
    "SignalDictionary": "ssb",
}
TRUTH = {"true": True, "1": True, "false": False, "0": False}


class XmlNode:
    """One element. ``name`` with the usual prefix: "ssd:System"; what is in no namespace of SSP has its local name."""

    __slots__ = ("attributes", "children", "file", "line", "name")

    def __init__(self, name: str, attributes: dict[str, str], file: str, line: int) -> None:
        self.name, self.attributes, self.file, self.line = name, attributes, file, line
        self.children: list[XmlNode] = []

    def __str__(self) -> str:
        own = self.attributes.get("name")
        return self.local if own is None else f"{self.local} {shortened(own)!r}"

    @property
    def local(self) -> str:
        """The name without prefix."""
        return self.name.rpartition(":")[2]

    def all(self, *names: str) -> list[XmlNode]:
        """Children of these names."""
        return [one for one in self.children if one.name in names]

    def first(self, name: str) -> XmlNode | None:
        """The first child of this name."""
        return next((one for one in self.children if one.name == name), None)

    def inside(self, *names: str) -> list[XmlNode]:
        """Children of children of these names: ``inside("ssd:Elements")``."""
        return [one for group in self.all(*names) for one in group.children]

    # --------------------------------------------------------------------------------------------- attributes

    def text(self, name: str, default: str = "") -> str:
        """An attribute."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> str:
        """An attribute that must be there, and not be empty."""
        found = self.attributes.get(name)
        if found is None:
            raise self.refused(f"attribute {name} is missing", hint="the file is not complete: ask its maker")
        if not found:
            raise self.refused(f"attribute {name} is empty", hint="give it a value")
        return found

    def number(self, name: str, default: float | None = None) -> float | None:
        """An attribute that is a finite number."""
        found = self.attributes.get(name)
        if found is None:
            return default
        value = as_number(found)
        if value is None or not math.isfinite(value):
            raise self.refused(f"{name}={shortened(found)!r} is no finite number", hint="write a number, e.g. 1.5")
        return value

    def truth(self, name: str) -> bool:
        """An attribute that is true or false; by default it is false."""
        found = self.attributes.get(name, "false").strip()
        if found not in TRUTH:
            raise self.refused(f"{name}={shortened(found)!r} is neither true nor false", hint="write true or false")
        return TRUTH[found]

    def refused(self, text: str, *, hint: str) -> SspError:
        """An error about this element."""
        return refused(text, file=self.file, element=str(self), line=self.line, hint=hint)


def as_number(text: str) -> float | None:
    """A number as XML Schema writes it; None: it is none."""
    text = text.strip()
    if text in ("INF", "-INF", "NaN"):
        return float(text.replace("INF", "inf"))
    try:
        return float(text) if not ("_" in text or "n" in text.lower()) else None
    except ValueError:
        return None


def refused(text: str, *, file: str, element: str = "", line: int = 0, hint: str) -> SspError:
    """An error that names file, line and element."""
    place = f"{file}:{line}: " if line else f"{file}: "
    error = SspError(f"{place}{element}: {text}" if element else f"{place}{text}", hint=hint)
    error.file, error.element, error.line = file, element, line
    return error


def _name(full: str) -> str:
    space, _, local = full.rpartition(" ")
    prefix = PREFIXES.get(space.removeprefix(SPACE)) if space.startswith(SPACE) else None
    return f"{prefix}:{local}" if prefix else local


def read_tree(data: bytes, file: str) -> XmlNode:
    """The root of a text; ``file`` is named in errors."""
    parser = expat.ParserCreate(namespace_separator=" ")
    open_: list[XmlNode] = []
    roots: list[XmlNode] = []
    count = 0

    def start(full: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        line = parser.CurrentLineNumber
        if len(open_) >= DEEPEST or count > MOST_ELEMENTS:
            what = f"elements are nested more than {DEEPEST} deep" if len(open_) >= DEEPEST else "it is too large"
            raise refused(what, file=file, line=line, hint="the file is damaged, or made to do harm")
        node = XmlNode(_name(full), {key: value for key, value in attributes.items() if " " not in key}, file, line)
        (open_[-1].children if open_ else roots).append(node)
        open_.append(node)

    def end(_full: str) -> None:
        open_.pop()

    def no_doctype(*_: object) -> None:
        raise refused(
            "it has a document type (DOCTYPE), which SSP does not use and which can hide entity bombs",
            file=file,
            line=parser.CurrentLineNumber,
            hint="remove the DOCTYPE, or ask the maker of the file for one without",
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = no_doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise refused(
            f"not well-formed XML: {expat.ErrorString(error.code)}, column {error.offset + 1}",
            file=file,
            line=error.lineno,
            hint="the file is damaged: correct the line, or ask its maker",
        ) from None
    except (LookupError, ValueError) as error:
        raise refused(
            f"it cannot be read in the encoding that it declares: {error}", file=file, line=1, hint="write it in UTF-8"
        ) from None
    finally:
        parser.StartElementHandler = parser.EndElementHandler = None
    return roots[0]


def check_root(root: XmlNode, name: str) -> str:
    """The version of a file whose root must have this name."""
    if root.name != name:
        local = name.rpartition(":")[2]
        if root.local == local:
            raise refused(
                f"{local} is not in the namespace {SPACE}..., so it is not SSP 1.0 or 2.0",
                file=root.file,
                line=root.line,
                hint="drafts before SSP 1.0 are not read: export the system again",
            )
        raise refused(
            f"the root element is {shortened(root.local)!r}, not {local}",
            file=root.file,
            line=root.line,
            hint="check the path: this is another kind of file",
        )
    version = root.required("version")
    if version.partition(".")[0] not in ("1", "2") or not version.replace(".", "").isdigit():
        raise root.refused(
            f"version={shortened(version, 30)!r} is not known: pliant reads SSP 1.0 and 2.0",
            hint="export the system as SSP 1.0 or 2.0",
        )
    return version
