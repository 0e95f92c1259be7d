"""Hostile archives: what may be wrong with a zip file before anything in it is read."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from support_fmus import kept_folder, members
from support_hostile import VAN_DER_POL, Hostile

GOOD_DATE = (1980, 1, 1, 0, 0, 0)


def kept(stem: str, content: bytes) -> Path:
    """Bytes as a file, under a name that tells them."""
    path = kept_folder() / f"{stem}-{zlib.crc32(content):08x}-{len(content)}.fmu"
    if not path.is_file():
        work = path.with_suffix(".new")
        work.write_bytes(content)
        work.rename(path)
    return path


def zipped(stem: str, add: Callable[[zipfile.ZipFile], None], *, good: bool = True) -> Path:
    """A good FMU, and what ``add`` puts in besides."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in members("vanderpol", "2.0").items() if good else ():
            archive.writestr(zipfile.ZipInfo(path, GOOD_DATE), content, zipfile.ZIP_DEFLATED)
        add(archive)
    return kept(stem, buffer.getvalue())


def entry(name: str, content: bytes = b"written\n", mode: int = 0) -> Callable[[zipfile.ZipFile], None]:
    def add(archive: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo("placeholder", GOOD_DATE)
        info.filename = name  # as it is: ZipInfo itself would make it harmless
        info.external_attr = mode << 16
        archive.writestr(info, content, zipfile.ZIP_DEFLATED)

    return add


def bomb(archive: zipfile.ZipFile) -> None:
    """Zeros, a thousand times as large as packed."""
    archive.writestr(zipfile.ZipInfo("resources/large.bin", GOOD_DATE), bytes(2**27), zipfile.ZIP_DEFLATED, 9)


def many(archive: zipfile.ZipFile) -> None:
    for k in range(70000):
        archive.writestr(zipfile.ZipInfo(f"resources/{k}", GOOD_DATE), b"")


def twice(archive: zipfile.ZipFile) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of the duplicate
        text = members("stiff", "2.0")["modelDescription.xml"]
        archive.writestr(zipfile.ZipInfo("modelDescription.xml", GOOD_DATE), text)


def plain() -> bytes:
    return zipped("plain", lambda _archive: None).read_bytes()


def declared(size: int) -> Path:
    """The directory has another size of the largest entry than it has."""
    content = bytearray(plain())
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        large = max(archive.infolist(), key=lambda info: info.file_size).file_size
    needle = struct.pack("<I", large)
    at = content.rindex(needle)
    content[at : at + 4] = struct.pack("<I", size)
    return kept("declared", bytes(content))


def wrong_sum() -> Path:
    content = bytearray(plain())
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        info = archive.getinfo("modelDescription.xml")
        start = info.header_offset + 30 + len(info.filename)
    content[start + 40] ^= 0xFF
    return kept("sum", bytes(content))


def encrypted() -> Path:
    content = bytearray(plain())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := content.find(mark, at + 1)) >= 0:
            content[at + offset] |= 1
    return kept("encrypted", bytes(content))


def nested() -> Path:
    """An FMU in an FMU; nothing else."""
    return zipped("nested", lambda archive: archive.writestr("inner.fmu", plain()), good=False)


def deeper() -> Path:
    """Everything one folder too deep, as some tools and people zip."""

    def add(archive: zipfile.ZipFile) -> None:
        for path, content in members("vanderpol", "2.0").items():
            archive.writestr(f"vanderpol/{path}", content)

    return zipped("deeper", add, good=False)


def archives() -> Iterator[Hostile]:
    link = stat.S_IFLNK | 0o777
    entries = {
        "zip slip": entry("../../pliant-escaped.txt"),
        "zip slip below a folder": entry("resources/../../pliant-escaped.txt"),
        "absolute path": entry("/tmp/pliant-escaped.txt"),
        "path of Windows": entry("C:\\pliant-escaped.txt"),
        "backslashes upwards": entry("..\\..\\pliant-escaped.txt"),
        "symbolic link out": entry("resources/link", b"/etc/passwd", link),
        "symbolic link in": entry("resources/link", b"../modelDescription.xml", link),
        "device": entry("resources/device", b"", stat.S_IFCHR | 0o666),
        "a file where a folder is": entry("binaries", b"a file"),
        "a description twice": twice,
        "a bomb": bomb,
    }
    for name, add in entries.items():
        stage = "simulate" if name == "a bomb" else "load"  # sizes show when it is unpacked
        yield Hostile(f"archive: {name}", partial(zipped, name.replace(" ", "_"), add), stage=stage)
    crowd = partial(zipped, "many", many)
    yield Hostile("archive: 70 000 entries", crowd, runs=True, stage="simulate", quick=False, right=VAN_DER_POL)
    yield Hostile("archive: a size that is too small", partial(declared, 10), stage="simulate")
    yield Hostile("archive: a size of four gigabytes", partial(declared, 2**32 - 2), stage="simulate")
    yield Hostile("archive: a wrong checksum", wrong_sum)
    yield Hostile("archive: encrypted", encrypted)
    yield Hostile("archive: nested", nested)
    yield Hostile("archive: a folder too deep", deeper)
    yield Hostile("archive: truncated", lambda: kept("truncated", plain()[: len(plain()) * 2 // 3]))
    yield Hostile("archive: empty file", lambda: kept("empty", b""))
    yield Hostile("archive: text", lambda: kept("text", b"not an archive at all\n"))
    yield Hostile("archive: without entries", lambda: zipped("nothing", lambda _archive: None, good=False))
    yield Hostile("archive: zeros", lambda: kept("zeros", bytes(4096)))
