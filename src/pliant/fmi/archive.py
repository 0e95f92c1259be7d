"""The archive of an FMU: what is in it, and unpacking what a run needs, without trusting it.

All names are checked before anything is written: nothing may lead out of the folder, be a link or a special file, or
come twice with different content. Sizes are counted while they are unpacked, because headers may lie. A folder that
holds an unpacked FMU is used as it is.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from pliant.errors import FmuError
from pliant.fmi.description import FmuDescription, FmuFinding
from pliant.fmi.hosts.folders import OwnedFolder
from pliant.fmi.options import FmuOptions
from pliant.fmi.platforms import folders_of
from pliant.fmi.reading.read import LARGEST, read_description
from pliant.fmi.reading.xml import FILE, shortened

MOST_ENTRIES = 100_000
LARGEST_DIRECTORY = 2**26  # bytes of the list of entries
DEEPEST = 50
LONGEST = 1000
RATIO = 400  # unpacked bytes for each packed one, beyond FREE of them: no honest file
FREE = 2**25
CHUNK = 2**18
END = struct.Struct("<4s4H2LH")  # end of the list of entries, APPNOTE.TXT 4.3.16
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
DAMAGED = "the file is damaged: copy it again, or ask its maker"
HOSTILE = "do not use this file: it was damaged, or made to do harm"
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    struct.error,
    ValueError,
    LookupError,
)


class UnpackedFmu:
    """An unpacked FMU. ``folder`` has what a run needs; `close` removes it."""

    def __init__(self, folder: Path, owned: OwnedFolder | None) -> None:
        self.folder = folder
        self._owned = owned
        self._workplace: OwnedFolder | None = None

    @property
    def workplace(self) -> Path:
        """A temporary folder for the folders of hosts; what they write may be large."""
        if self._workplace is None:
            self._workplace = OwnedFolder()
        return self._workplace.path

    @property
    def resources(self) -> Path:
        """The folder of resources; it exists if the FMU has some."""
        return self.folder / "resources"

    def close(self) -> None:
        """Remove what was unpacked; a folder that was given stays."""
        for one in (self._workplace, self._owned):
            if one is not None:
                one.close()


class Archive:
    """A zip file, or the folder of an unpacked one: ``names`` of its files, with ``/``; ``findings`` about them."""

    def __init__(self, path: Path, options: FmuOptions, needed: str | None = None) -> None:
        self.path = path
        self.options = options
        self.is_folder = path.is_dir()
        self.findings: tuple[FmuFinding, ...] = ()
        self._entries: Mapping[str, zipfile.ZipInfo] = {}
        self._archive: zipfile.ZipFile | None = None  # open until it is unpacked
        self._extracted = 0  # bytes
        if self.is_folder:
            self.names = frozenset(_files_in(path))
        else:
            with self._opened() as archive:
                self._entries, self.findings = _checked(archive, path)
            self.names = frozenset(self._entries)
        if needed is not None and needed not in self.names:
            raise self._absent(needed)

    def read(self, name: str, limit: int) -> bytes:
        """The content of a small file."""
        chunks, size = [], 0
        with self.opened_file(name) as file:
            while chunk := file.read(CHUNK):
                size += len(chunk)
                if size > limit:
                    raise FmuError(
                        f"{self.path}: {shortened(name)} has more than {limit} bytes", hint="a file of usual size"
                    )
                chunks.append(chunk)
        return b"".join(chunks)

    @contextmanager
    def opened_file(self, name: str) -> Iterator[BinaryIO]:
        """One of its files, to be read."""
        if self.is_folder:
            with open(self.path / name, "rb") as file:
                yield cast(BinaryIO, file)
        else:
            with self._opened() as archive, _Counted(archive, self._entries[name], self.path) as counted:
                yield cast(BinaryIO, counted)

    def extract(self, name: str, folder: Path) -> Path:
        """The path of one of its files: below ``folder`` where it has to be unpacked."""
        if self.is_folder:
            return self.path / name
        target = folder.joinpath(*name.split("/"))
        if not target.exists():
            self._check_size(self._extracted + self._entries[name].file_size)
            with self._opened() as archive:
                self._extracted += self._write(archive, {name: self._entries[name]}, str(folder))
            self._check_size(self._extracted)
        return target

    def close(self) -> None:
        """Close the file; it is opened again if need be."""
        if self._archive is not None:
            self._archive.close()
            self._archive = None

    def _write(self, archive: zipfile.ZipFile, chosen: Mapping[str, zipfile.ZipInfo], folder: str) -> int:
        made = {folder}
        total = 0
        for name, info in chosen.items():
            target = os.path.join(folder, *name.split("/"))
            parent = os.path.dirname(target)
            if parent not in made:
                os.makedirs(parent, 0o700, exist_ok=True)
                made.add(parent)
            mode = 0o700 if (info.external_attr >> 16) & 0o111 else 0o600
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            with _Counted(archive, info, self.path) as source, open(os.open(target, flags, mode), "wb", 0) as file:
                while chunk := source.read(CHUNK):
                    total += len(chunk)
                    self._check_size(total)
                    rest = memoryview(chunk)
                    while rest:  # where there is not enough space a part is written, and no error raised
                        rest = rest[file.write(rest) :]
        return total

    def _check_size(self, size: int) -> None:
        if size > self.options.unpacked_limit:
            raise FmuError(
                f"{self.path}: unpacked it takes more than {self.options.unpacked_limit} bytes",
                hint="a larger unpacked_limit in FmuOptions, if the file is to be trusted",
            )

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        """The archive; whatever is wrong with it is an FmuError."""
        try:
            if self._archive is None:
                with open(self.path, "rb") as file:
                    _check_directory(file, self.path)
                self._archive = zipfile.ZipFile(self.path)
            yield self._archive
        except BROKEN as error:
            raise FmuError(f"{self.path}: the archive cannot be read: {error}", hint=DAMAGED) from None
        except OSError as error:
            raise FmuError(
                f"{self.path}: the archive cannot be unpacked: {error}",
                hint="check permissions and free space; TMPDIR names another temporary folder",
            ) from None

    def _absent(self, needed: str) -> FmuError:
        inside = sorted(name for name in self.names if name.endswith("/" + needed))
        kind = "FMU" if needed == FILE else "such archive"
        if inside:
            return FmuError(
                f"{self.path}: there is no {needed} at the top, but {shortened(inside[0])}",
                hint=f"the {'FMU' if needed == FILE else 'archive'} was packed with its folder: pack what is inside",
            )
        return FmuError(f"{self.path}: there is no {needed}", hint=f"this is no {kind}: check the path")


class FmuArchive(Archive):
    """An .fmu file, or the folder of an unpacked one."""

    def __init__(self, path: Path, options: FmuOptions) -> None:
        super().__init__(path, options, FILE)

    def description(self) -> FmuDescription:
        """What its modelDescription.xml says."""
        limit = min(LARGEST, self.options.unpacked_limit)
        if self.is_folder:
            return read_description(lambda: cast(BinaryIO, open(self.path / FILE, "rb")), limit)
        with self._opened() as archive:
            info = self._entries[FILE]
            return read_description(lambda: cast(BinaryIO, _Counted(archive, info, self.path)), limit)

    def unpack(self, platform: str) -> UnpackedFmu:
        """Binaries of a platform, resources and the description, in a temporary folder."""
        if self.is_folder:
            return UnpackedFmu(self.path.resolve(), None)
        wanted = (*(f"binaries/{one}/" for one in folders_of(platform)), "resources/")
        chosen = {name: info for name, info in self._entries.items() if name == FILE or name.startswith(wanted)}
        size = sum(info.file_size for info in chosen.values())
        self._check_size(size)
        owned = OwnedFolder(size)
        try:
            with self._opened() as archive:
                self._write(archive, chosen, str(owned.path))
        except BaseException:
            owned.close()
            raise
        finally:
            self.close()
        return UnpackedFmu(owned.path, owned)


class _Counted:
    """A file of an archive while it is read: what grows too much is refused."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> None:
        self._file = archive.open(info)
        self._name = info.filename
        self._packed = min(info.compress_size, path.stat().st_size)
        self._path = path
        self._size = 0

    def read(self, n: int) -> bytes:
        chunk = self._file.read(n)
        self._size += len(chunk)
        if self._size > FREE and self._size > RATIO * self._packed:
            raise FmuError(
                f"{self._path}: {shortened(self._name)} takes more than {RATIO} times its packed size: a zip bomb",
                hint=HOSTILE,
            )
        return chunk

    def __enter__(self) -> _Counted:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _check_directory(file: BinaryIO, path: Path) -> None:
    """Refuse lists of entries that are too large, before they are read."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 2**16 - END.size))
    tail = file.read()
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < END.size:
        raise FmuError(f"{path}: this is no zip archive", hint="check the path: it must be a zip archive")
    listed = END.unpack_from(tail, at)[5]
    if listed != 2**32 - 1 and listed > LARGEST_DIRECTORY:
        raise FmuError(f"{path}: its list of files has {listed} bytes", hint=HOSTILE)
    if listed == 2**32 - 1 and size > LARGEST_DIRECTORY and _listed64(file, tail, at) > LARGEST_DIRECTORY:
        raise FmuError(f"{path}: its list of files is too long", hint=HOSTILE)
    file.seek(0)


def _listed64(file: BinaryIO, tail: bytes, at: int) -> int:
    """Bytes of the list of entries of an archive in the form for large files."""
    if at < 20 or tail[at - 20 : at - 16] != b"PK\6\7":
        return 0
    file.seek(struct.unpack_from("<Q", tail, at - 20 + 8)[0])
    record = file.read(56)
    return int(struct.unpack_from("<Q", record, 40)[0]) if len(record) == 56 else 0


def _checked(archive: zipfile.ZipFile, path: Path) -> tuple[dict[str, zipfile.ZipInfo], tuple[FmuFinding, ...]]:
    """Files by their name, and what is odd about them."""
    entries = archive.infolist()
    if len(entries) > MOST_ENTRIES:
        raise FmuError(f"{path}: it has {len(entries)} files, more than {MOST_ENTRIES}", hint=HOSTILE)
    files: dict[str, zipfile.ZipInfo] = {}
    folders: set[str] = set()
    findings: list[FmuFinding] = []
    for info in entries:
        raw = info.orig_filename
        if "\\" in raw and not findings:
            findings.append(
                FmuFinding("warning", f"file names with backslashes are read as folders: {shortened(raw)!r}")
            )
        name, is_folder = _safe_name(raw, path)
        _check_kind(info, name, path)
        if not name:  # some tools list the folder itself
            continue
        parts = name.split("/")
        folders.update("/".join(parts[:k]) for k in range(1, len(parts) + is_folder))
        if is_folder:
            continue
        if name in files:
            findings += _twice(files[name], info, name, path)
        files.setdefault(name, info)
    both = folders & files.keys()
    if both:
        raise FmuError(f"{path}: {shortened(min(both))!r} is a file and a folder", hint=HOSTILE)
    if len({name.lower() for name in files}) < len(files):
        findings.append(FmuFinding("warning", "names of files differ only in capital letters"))
    return files, tuple(findings)


def _twice(one: zipfile.ZipInfo, other: zipfile.ZipInfo, name: str, path: Path) -> list[FmuFinding]:
    """Copies of a file do no harm, nor do files that nobody reads; otherwise it is not clear which one is meant."""
    is_copy = (one.CRC, one.file_size) == (other.CRC, other.file_size)
    is_read = name == FILE or name.startswith(("binaries/", "resources/")) or name.endswith(".ssd")
    if not is_copy and is_read:
        raise FmuError(f"{path}: {shortened(name)!r} is in the archive twice, with different content", hint=HOSTILE)
    return [FmuFinding("warning", f"{shortened(name)!r} is in the archive twice")]


def _safe_name(raw: str, path: Path) -> tuple[str, bool]:
    """The name with ``/``, and whether it is a folder; what leads elsewhere is refused."""
    text = raw.replace("\\", "/")
    is_folder = text.endswith("/")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if (
        text.startswith("/")
        or ".." in parts
        or not (parts or is_folder)
        or ":" in text.partition("/")[0]
        or CONTROL.search(text)
    ):
        raise FmuError(f"{path}: the file name {shortened(raw)!r} leads out of the archive's folder", hint=HOSTILE)
    if len(text) > LONGEST or len(parts) > DEEPEST or any(len(part.encode("utf-8", "replace")) > 255 for part in parts):
        raise FmuError(f"{path}: the file name {shortened(raw)!r} is too long", hint=HOSTILE)
    return "/".join(parts), is_folder


def _check_kind(info: zipfile.ZipInfo, name: str, path: Path) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        what = "a link" if kind == stat.S_IFLNK else "a special file"
        raise FmuError(f"{path}: {shortened(name)!r} is {what}, and only plain files are read", hint=HOSTILE)
    if info.flag_bits & 1:
        raise FmuError(
            f"{path}: {shortened(name)!r} is encrypted", hint="unpack it with its password and pack it again"
        )


def _files_in(folder: Path) -> Iterator[str]:
    """Files below a folder; links are followed neither out of it nor around."""
    top = str(folder)
    for count, (place, _, names) in enumerate(os.walk(top)):
        inside = PurePosixPath(os.path.relpath(place, top).replace(os.sep, "/"))
        if count > MOST_ENTRIES:
            raise FmuError(f"{folder}: it has more than {MOST_ENTRIES} folders", hint="check the path")
        yield from (str(inside / name) for name in names)
