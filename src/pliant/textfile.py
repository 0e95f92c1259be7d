"""Text files: UTF-8, or an error that says where they are not."""

from __future__ import annotations

from pathlib import Path

from pliant.errors import ArgumentError, PliantError


def read_text(path: str | Path, error: type[PliantError] = ArgumentError, what: str = "") -> str:
    """The text of a file in UTF-8; a mark at its beginning is dropped, line ends become plain.

    ``error`` is raised where it is something else, beginning with ``what``. Files that are not there or may not be read
    raise OSError as always.
    """
    data = Path(path).read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as found:
        raise error(f"{what}{_place(Path(path), data, found)}", hint=_hint(data, found.start)) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _place(path: Path, data: bytes, found: UnicodeDecodeError) -> str:
    line = data.count(b"\n", 0, found.start) + 1
    column = found.start - data.rfind(b"\n", 0, found.start)
    byte = data[found.start]
    return f"{path}:{line}:{column}: the file is not UTF-8 text: byte {found.start} is 0x{byte:02x}"


def _hint(data: bytes, at: int) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it seems to be UTF-16: save it as UTF-8, e.g. with `iconv -f utf-16 -t utf-8`"
    if data.count(0) > len(data) // 100:
        return "it seems to be no text file at all: check the path"
    meant = data[at : at + 1].decode("cp1252", "replace")
    return f"if this is Latin-1, with the letter `{meant}` here, save it as UTF-8, e.g. with `iconv -f latin1 -t utf-8`"
