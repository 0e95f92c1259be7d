"""From the text of a modelDescription.xml to a checked `FmuDescription`."""

from __future__ import annotations

import codecs
import gc
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import BinaryIO

from pliant.errors import FmuError
from pliant.fmi.description import FmuDescription, FmuInterface, FmuType, FmuUnit
from pliant.fmi.reading import read2, read3
from pliant.fmi.reading.parts import known_units, read_categories, read_experiment, read_units
from pliant.fmi.reading.structure import MOST_INDICATORS, StructureReader, relate
from pliant.fmi.reading.validate import check_variables, judged_interfaces, with_derivatives
from pliant.fmi.reading.values import Attributes, Findings
from pliant.fmi.reading.xml import NotUtf8, Stream, XmlElement, read_xml, refused, shortened

CHUNK = 2**18
LARGEST = 2**29  # bytes of the text
INTERFACES = {
    "ModelExchange": "model-exchange",
    "CoSimulation": "co-simulation",
    "ScheduledExecution": "scheduled-execution",
}
ELEMENTS = frozenset(
    {*INTERFACES, "UnitDefinitions", "TypeDefinitions", "LogCategories", "DefaultExperiment", "ModelVariables"}
    | {"ModelStructure", "VendorAnnotations", "Annotations"}
)
_BOTH = {"fmiVersion", "modelName", "description", "author", "version", "copyright", "license", "generationTool"}
_BOTH |= {"generationDateAndTime", "variableNamingConvention"}
OWN_ATTRIBUTES = {2: _BOTH | {"guid", "numberOfEventIndicators"}, 3: _BOTH | {"instantiationToken"}}
OTHER_VERSION = "ask the maker of the FMU for one of FMI 2.0 or 3.0"
NO_DESCRIPTION = "the file is no description of an FMU: unpack it again, or ask its maker"


def read_description(source: bytes | Callable[[], BinaryIO], limit: int = LARGEST) -> FmuDescription:
    """A description from its bytes, or from what opens a file with them (it may be opened twice).

    What is against the standard and does not keep the FMU from running is in ``findings``; the rest is an FmuError that
    names the element and the line.
    """
    opened = source if callable(source) else lambda: io.BytesIO(source)
    enabled = gc.isenabled()
    gc.disable()  # nothing made here is garbage, and looking for some takes as long as reading
    try:
        try:
            with opened() as file:
                return DescriptionReading().read(_chunks(file, limit))
        except NotUtf8 as error:
            return _read_again(opened, limit, error)
    finally:
        if enabled:
            gc.enable()


def _read_again(opened: Callable[[], BinaryIO], limit: int, found: NotUtf8) -> FmuDescription:
    """Texts that are not what they declare are mostly Latin-1 in comments and units."""
    first, again = found.error, DescriptionReading()
    try:
        with opened() as file:
            if found.encoding:
                again.findings.warn(
                    "encoding", f"its encoding is {found.encoding}; the standard requires UTF-8", line=1
                )
                return again.read(_decoded(_chunks(file, limit), found.encoding), "utf-8")
            again.findings.warn(
                "encoding", "it is not UTF-8, as the standard requires; read as Latin-1", line=first.line
            )
            return again.read(_chunks(file, limit), "iso-8859-1")
    except UnicodeError:
        raise first from None
    except FmuError as error:
        raise (first if error.line == first.line else error) from None


def _decoded(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    for chunk in chunks:
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", True).encode()


def _chunks(file: BinaryIO, limit: int) -> Iterator[bytes]:
    size = 0
    while chunk := file.read(CHUNK):
        size += len(chunk)
        if size > limit:
            raise refused(
                f"it has more than {limit} bytes",
                hint="a larger unpacked_limit in FmuOptions, if the FMU is to be trusted",
            )
        yield chunk


class DescriptionReading:
    """One description while it is read."""

    def __init__(self) -> None:
        self.findings = Findings()
        self.units: dict[str, FmuUnit] = {}
        self.types: dict[str, FmuType] = {}
        self.major = 0
        self.root: XmlElement | None = None
        self.variables: read2.Variables2 | read3.Variables3 | None = None
        self.structure: StructureReader = StructureReader()
        self.seen: set[str] = set()

    def read(self, chunks: Iterable[bytes], encoding: str | None = None) -> FmuDescription:
        """The whole text."""
        root, declared = read_xml(chunks, self.begun, encoding)
        if declared and declared.lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
            self.findings.warn("encoding", f"its encoding is {declared}; the standard requires UTF-8", line=1)
        return self.finished(root)

    def begun(self, root: XmlElement) -> Mapping[str, Stream]:
        """Which version it is, and so who reads the variables."""
        if root.name != "fmiModelDescription":
            raise refused(
                f"the root element is {shortened(root.name)!r}, not fmiModelDescription",
                line=root.line,
                hint=NO_DESCRIPTION,
            )
        version = root.attributes.get("fmiVersion", "").strip()
        if not version:
            raise refused("attribute fmiVersion is missing", element=root.name, line=root.line, hint=NO_DESCRIPTION)
        if version.split(".")[0] not in ("2", "3"):
            raise refused(
                f"this is an FMU of FMI {shortened(version, 20)}, and pliant reads FMI 2.0 and 3.0",
                element=root.name,
                line=root.line,
                hint=OTHER_VERSION,
            )
        self.major, self.root = int(version[0]), root
        if not version.startswith(f"{self.major}.0") or not version.replace(".", "").isdigit():
            self.findings.warn(
                "version", f"version {shortened(version, 20)!r} is read as {self.major}.0", root.name, line=root.line
            )
        return Reached(self)

    def stream(self, name: str) -> Stream:
        """Who takes ModelVariables or ModelStructure. Units and types have been read by now: they come before."""
        assert self.root is not None
        if name in self.seen:
            raise refused("it is there twice", element=name, hint=NO_DESCRIPTION)
        self.seen.add(name)
        if name == "ModelStructure":
            self.structure = read2.Structure2() if self.major == 2 else read3.Structure3()
            return self.structure
        self.types = (read2 if self.major == 2 else read3).read_types(self.root, self.findings)
        self.variables = (read2.Variables2 if self.major == 2 else read3.Variables3)(self.types, self.findings)
        return self.variables

    def finished(self, root: XmlElement) -> FmuDescription:
        """Everything but the variables, and what relates it to them."""
        findings, given = self.findings, Attributes(root, self.findings)
        if self.variables is None:
            given.warn("no variables", "it has no ModelVariables")
            self.stream("ModelVariables")
        if "ModelStructure" not in self.seen:
            given.warn("no structure", "it has no ModelStructure")
        assert self.variables is not None
        units = read_units(root, findings)
        used = {one.unit: one.line for one in self.types.values()} | self.variables.units_used
        known_units(units, used, findings)
        variables = with_derivatives(self.variables, findings)
        check_variables(variables, self.types, findings)
        structure, refusal = relate(self.structure, variables, self.variables.place_of, findings)
        if self.major == 2:
            n = given.whole("numberOfEventIndicators", 0)
            if n > MOST_INDICATORS:
                raise refused(
                    f"numberOfEventIndicators={n} is out of range",
                    element=root.name,
                    line=root.line,
                    hint=NO_DESCRIPTION,
                )
            structure = replace(structure, n_event_indicators=n)
        intervals = self.variables.intervals if isinstance(self.variables, read3.Variables3) else {}
        interfaces = judged_interfaces(self.interfaces(root), variables, intervals, refusal, findings)
        self.warn_of_unknown(root)
        name = given.text("modelName")
        if not name:
            name = next(iter(interfaces.values())).model_identifier
            given.warn("no name", f"modelName is missing; taken as {name!r}")
        naming = given.text("variableNamingConvention") or "flat"
        if naming not in ("flat", "structured"):
            given.warn("naming", f"variableNamingConvention={shortened(naming)!r} is not known; taken as 'flat'")
            naming = "flat"
        found = FmuDescription(
            version=given.text("fmiVersion").strip(),
            name=name,
            token=given.required("guid" if self.major == 2 else "instantiationToken"),
            variables=tuple(variables),
            interfaces=interfaces,
            structure=structure,
            units=units,
            types=self.types,
            experiment=read_experiment(root, findings),
            categories=read_categories(root),
            description=given.text("description"),
            author=given.text("author"),
            model_version=given.text("version"),
            copyright=given.text("copyright"),
            license=given.text("license"),
            tool=given.text("generationTool"),
            date=given.text("generationDateAndTime"),
            naming=naming,
            findings=findings.found(),
        )
        vars(found)["places"] = self.variables.places  # they are known already
        return found

    def warn_of_unknown(self, root: XmlElement) -> None:
        """Attributes and children of the root that the standard does not know: perhaps misspelt."""
        own = OWN_ATTRIBUTES[self.major]
        odd = [f"attribute {shortened(one)}" for one in root.attributes if one not in own and ":" not in one]
        odd += [f"element {shortened(one.name)}" for one in root.children if one.name not in ELEMENTS]
        for what in odd:
            self.findings.warn(
                "something that FMI does not know", f"{what} is not known; ignored", root.name, line=root.line
            )

    def interfaces(self, root: XmlElement) -> dict[str, FmuInterface]:
        """What it offers."""
        found: dict[str, FmuInterface] = {}
        read = read2.read_interface if self.major == 2 else read3.read_interface
        for name, kind in INTERFACES.items():
            if self.major == 2 and name == "ScheduledExecution":
                continue
            for element in root.all(name)[:1]:
                found[kind] = read(element, kind, self.findings)
        if not found:
            raise refused(
                "it offers neither model exchange nor co-simulation",
                element=root.name,
                line=root.line,
                hint=NO_DESCRIPTION,
            )
        return found


class Reached(Mapping[str, Stream]):
    """The streams of a description, made when their element is reached."""

    def __init__(self, reading: DescriptionReading) -> None:
        self._reading = reading

    def __getitem__(self, name: str) -> Stream:
        if name not in ("ModelVariables", "ModelStructure"):
            raise KeyError(name)
        return self._reading.stream(name)

    def __contains__(self, name: object) -> bool:
        return name in ("ModelVariables", "ModelStructure")

    def __iter__(self) -> Iterator[str]:
        return iter(("ModelVariables", "ModelStructure"))

    def __len__(self) -> int:
        return 2
