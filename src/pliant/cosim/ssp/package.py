"""The files of a system: an .ssp archive, or the folder around an .ssd. Nothing is read from outside of it.

Archives are unpacked as FMUs are (fmi/archive.py): names, sizes and kinds of files are checked, and what is unpacked
lies in a temporary folder that is gone when the system is.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pliant.cosim.ssp.xml import LARGEST, XmlNode
from pliant.errors import FmuError, SspError
from pliant.fmi.archive import Archive
from pliant.fmi.hosts.folders import OwnedFolder
from pliant.fmi.options import FmuOptions
from pliant.fmi.reading.xml import shortened

DEFAULT = "SystemStructure.ssd"
RELATIVE = "write a path relative to the .ssd, e.g. resources/pump.fmu"


@contextmanager
def _as_ssp_error() -> Iterator[None]:
    """What is wrong with an archive is the system's fault, not an FMU's."""
    try:
        yield
    except FmuError as error:
        raise SspError(error.message, hint=error.hint) from None


class Package:
    """Files by name, with ``/``, from the top of the package."""

    def __init__(self, path: Path, label: str) -> None:
        self.path, self.label = path, label

    def read(self, name: str) -> bytes:
        """The content of a small file; KeyError: there is none."""
        raise NotImplementedError

    def file(self, name: str) -> Path:
        """The path of a file that other readers can open; KeyError: there is none."""
        raise NotImplementedError

    def described(self, name: str) -> str:
        """How a file is called in messages."""
        return f"{self.label}/{name}"

    def close(self) -> None:
        """Close files."""


class ArchivePackage(Package):
    """An .ssp archive."""

    def __init__(self, path: Path, label: str, options: FmuOptions, place: UnpackFolder) -> None:
        super().__init__(path, label)
        with _as_ssp_error():
            self.archive = Archive(path, options)
        self.place = place
        self.folder: Path | None = None

    def read(self, name: str) -> bytes:
        """From the archive."""
        if name not in self.archive.names:
            raise KeyError(name)
        with _as_ssp_error():
            return self.archive.read(name, LARGEST)

    def file(self, name: str) -> Path:
        """Unpacked."""
        if name not in self.archive.names:
            raise KeyError(name)
        if self.folder is None:
            self.folder = self.place.new()
        with _as_ssp_error():
            return self.archive.extract(name, self.folder)

    def close(self) -> None:
        """The archive."""
        self.archive.close()


class FolderPackage(Package):
    """The folder around an .ssd, or an unpacked .ssp."""

    def _inside(self, name: str) -> Path:
        found, top = (self.path / name).resolve(), self.path.resolve()
        if not found.exists() or not found.is_relative_to(top):
            raise KeyError(name)
        return found

    def read(self, name: str) -> bytes:
        """From the folder."""
        found = self._inside(name)
        if not found.is_file():
            raise KeyError(name)
        with found.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise SspError(f"{found} has more than {LARGEST} bytes", hint="check the path: this is no file of a system")
        return data

    def file(self, name: str) -> Path:
        """As it is."""
        return self._inside(name)

    def described(self, name: str) -> str:
        """Its path."""
        return str(self.path / name)


class UnpackFolder:
    """Where archives are unpacked: one temporary folder for a system and all systems inside."""

    def __init__(self) -> None:
        self._owned: OwnedFolder | None = None
        self._count = 0
        self.packages: list[Package] = []  # opened archives

    def new(self) -> Path:
        """A new folder."""
        if self._owned is None:
            self._owned = OwnedFolder()
        self._count += 1
        found = self._owned.path / str(self._count)
        found.mkdir(mode=0o700)
        return found

    def close_files(self) -> None:
        """Nothing is unpacked any more."""
        for one in self.packages:
            one.close()
        self.packages.clear()

    def close(self) -> None:
        """Remove everything."""
        self.close_files()
        if self._owned is not None:
            self._owned.close()


def open_package(path: Path, options: FmuOptions, place: UnpackFolder, label: str = "") -> Package:
    """An .ssp file, or the folder of an unpacked one."""
    if path.is_dir():
        return FolderPackage(path, label or str(path))
    package = ArchivePackage(path, label or str(path), options, place)
    place.packages.append(package)
    return package


def resolved(uri: str, folder: str, node: XmlNode) -> tuple[str, str]:
    """Name of a file in its package, and the fragment. ``folder``: of the file that contains the reference."""
    parts = urlsplit(uri)
    if parts.scheme or parts.netloc:
        raise node.refused(f"{shortened(uri)!r} is no relative path; nothing is loaded from elsewhere", hint=RELATIVE)
    path = unquote(parts.path).replace("\\", "/")
    whole = posixpath.normpath(posixpath.join(folder, path)) if path else ""
    if path.startswith("/") or whole.startswith("../") or whole in ("..", ".") or "\0" in path:
        raise node.refused(f"{shortened(uri)!r} leads out of the folder of the system", hint=RELATIVE)
    return whole, unquote(parts.fragment)
