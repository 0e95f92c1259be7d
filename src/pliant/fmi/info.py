"""What an FMU is, and what of it can be run here: ``model.fmu``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import Any

from pliant.calls import by_keyword_class
from pliant.errors import ArgumentError, FmuError
from pliant.fmi.archive import FmuArchive
from pliant.fmi.description import FmuDescription, FmuExperiment, FmuFinding, FmuInterface
from pliant.fmi.options import FmuOptions
from pliant.fmi.platforms import folders_of, platforms_in, suffix_of, this_platform
from pliant.fmi.reading.xml import shortened
from pliant.pickled import Stamped
from pliant.plain import plain

KINDS = ("model-exchange", "co-simulation")


@by_keyword_class
@dataclass(frozen=True)
class FmuInfo(Stamped):
    """What an FMU is: ``model.fmu``."""

    path: str  # of the .fmu file or folder
    _: KW_ONLY
    version: str  # of FMI, as written in the description
    name: str
    kinds: tuple[str, ...]  # that it offers
    kind: str  # that is used
    platforms: tuple[str, ...]  # for which it has binaries, e.g. "x86_64-linux"
    has_sources: bool
    capabilities: Mapping[str, Any]  # of the kind that is used: the fields of FmuInterface
    default_experiment: FmuExperiment
    warnings: tuple[str, ...]
    description: FmuDescription

    @property
    def interface(self) -> FmuInterface:
        """The kind that is used, as data."""
        return self.description.interfaces[self.kind]

    def as_dict(self) -> dict[str, Any]:
        """For machines: everything but the description."""
        return {one.name: plain(getattr(self, one.name)) for one in fields(self) if one.name != "description"}

    def __str__(self) -> str:
        lines = [
            f"{self.name}: FMI {self.version}, {self.kind}"
            + (f" of {', '.join(self.kinds)}" if len(self.kinds) > 1 else ""),
            f"  platforms  {', '.join(self.platforms) or 'none'}" + ("; sources" if self.has_sources else ""),
            *(f"  warning    {one}" for one in self.warnings),
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Contents:
    """An FMU as it was found: archive, description, and what is in it for which platform."""

    archive: FmuArchive
    description: FmuDescription
    binaries: Mapping[str, list[str]]  # platform -> names of files

    @property
    def findings(self) -> tuple[FmuFinding, ...]:
        """Of the archive and the description."""
        return (*self.archive.findings, *self.description.findings)

    @property
    def has_sources(self) -> bool:
        """Are there C sources inside?"""
        return any(name.startswith("sources/") and name.endswith((".c", ".cpp", ".cc")) for name in self.archive.names)

    def obstacle(self, kind: str, platform: str) -> str:
        """Why a kind cannot be run on a platform; "": it can."""
        interface = self.description.interfaces[kind]
        return interface.refusal or self._no_binary(interface, platform)

    def binary(self, kind: str, platform: str) -> str | None:
        """Name in the archive of the binary for a kind; None: there is none."""
        file = self.description.interfaces[kind].model_identifier + suffix_of(platform)
        names = [f"binaries/{folder}/{file}" for folder in folders_of(platform)]
        return next((name for name in names if name in self.archive.names), None)

    def _no_binary(self, interface: FmuInterface, platform: str) -> str:
        if self.binary(interface.kind, platform) is not None:
            return ""
        inside = self.binaries.get(platform)
        if inside:
            return (
                f"its binaries for {platform} ({', '.join(shortened(one) for one in inside[:3])}) do not include "
                f"{shortened(interface.model_identifier)}{suffix_of(platform)}"
            )
        there = f"there are some for {', '.join(self.binaries)}" if self.binaries else "there are none at all"
        sources = "; C sources are included" if self.has_sources else "; sources are not included"
        return f"it has no binaries for {platform}: {there}{sources}"


def open_fmu(path: Path, options: FmuOptions) -> Contents:
    """Open an FMU and read its description; nothing is unpacked."""
    if not path.exists():
        raise FmuError(f"there is no file {path}", hint="check the path")
    archive = FmuArchive(path, options)
    try:
        description = archive.description()
    except FmuError as error:
        if not error.message.startswith(str(path)):  # which file is meant
            again = FmuError(f"{path}: {error.message}", hint=error.hint)
            again.element, again.line = error.element, error.line
            raise again from None
        raise
    return Contents(archive, description, platforms_in(sorted(archive.names)))


def choose_kind(found: Contents, kind: str | None, platform: str | None = None) -> FmuInfo:
    """What will be run: the kind asked for, or the first that can be; an FmuError says why none can."""
    platform = platform or this_platform()
    if kind is not None and (not isinstance(kind, str) or kind not in KINDS):
        raise ArgumentError(f"kind={kind!r} is not known", hint=f"use {' or '.join(map(repr, KINDS))}, or leave it out")
    description, path = found.description, found.archive.path
    if kind is not None and kind not in description.interfaces:
        raise FmuError(
            f"{path}: it does not offer {kind}, only {' and '.join(description.kinds)}",
            hint=f"leave kind out, or ask the maker of the FMU for one with {kind}",
        )
    wanted = [kind] if kind is not None else [one for one in KINDS if one in description.interfaces]
    told: tuple[str, ...] = ()
    obstacles = {one: found.obstacle(one, platform) for one in wanted or description.kinds}
    chosen = next((one for one, why in obstacles.items() if not why), None)
    if chosen is None:  # many that say so run without their tool
        tooled = [one for one in wanted if description.interfaces[one].needs_execution_tool]
        chosen = next((one for one in tooled if found.binary(one, platform) is not None), None)
        if chosen is not None:
            obstacles[chosen] = ""
            told = (f"{chosen}: {description.interfaces[chosen].refusal}; it is tried without",)
    first = next(iter(obstacles))
    if chosen not in (None, first) and _is_wrong(description.interfaces[first]):
        raise FmuError(
            f"{path}: {first} cannot be run: {obstacles[first]}",
            hint=f'kind="{chosen}" can be run, if that is enough; else ask the maker of the FMU',
        )
    if chosen is None:
        raise FmuError(
            f"{path}: it cannot be run: " + "; ".join(f"{one}: {why}" for one, why in _merged(obstacles).items()),
            hint=_hint(found, obstacles, platform),
        )
    skipped = [f"{one} is not used: {why}" for one, why in obstacles.items() if why]
    return FmuInfo(
        str(path),
        version=description.version,
        name=description.name,
        kinds=description.kinds,
        kind=chosen,
        platforms=tuple(found.binaries),
        has_sources=found.has_sources,
        capabilities=description.interfaces[chosen].flags(),
        default_experiment=description.experiment,
        warnings=(*told, *skipped, *(str(one) for one in found.findings)),
        description=description,
    )


def _is_wrong(interface: FmuInterface) -> bool:
    """Is the description of it wrong? Then another kind is not taken instead, unless the user wants it."""
    return bool(interface.refusal) and not interface.needs_execution_tool


def _merged(obstacles: Mapping[str, str]) -> dict[str, str]:
    """Kinds with the same obstacle together."""
    found: dict[str, list[str]] = {}
    for kind, why in obstacles.items():
        found.setdefault(why, []).append(kind)
    return {" and ".join(kinds): why for why, kinds in found.items()}


def _hint(found: Contents, obstacles: Mapping[str, str], platform: str) -> str:
    interfaces = [found.description.interfaces[one] for one in obstacles]
    if all(one.needs_execution_tool for one in interfaces):
        return "ask its maker for an FMU that runs without the tool"
    if all(one.refusal for one in interfaces):
        return "ask its maker for an FMU without this"
    if found.has_sources:
        return f"compile its sources for {platform}, or ask its maker for an FMU with binaries for it"
    if platform not in found.binaries and found.binaries:
        return f"run it on {' or '.join(found.binaries)}, or ask its maker for an FMU with binaries for {platform}"
    return f"ask its maker for an FMU with binaries for {platform}"
