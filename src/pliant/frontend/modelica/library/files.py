"""Files of Modelica text: read, decoded, and remembered with their outlines while they do not change.

A library is read by many models of one process. What was read stays, with all bodies that were parsed, as long as the
file has the same size and time; trees are final, so everybody may share them. The oldest go first.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Final

from pliant.errors import ModelError
from pliant.frontend.modelica.syntax.parser import parse_on_demand, plain
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.tree import StoredDefinition
from pliant.ir import Span
from pliant.textfile import read_text

LIMIT: Final = 40_000_000  # characters of text that stay in memory

_Key = tuple[int, int]
_kept: OrderedDict[str, tuple[_Key, StoredDefinition]] = OrderedDict()
_lock = threading.Lock()


def read_source(path: Path) -> Source:
    """The text of a file; a ModelError with the place where it is not UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelError(
            f"{path} does not exist" if isinstance(error, FileNotFoundError) else f"cannot read {path}: {reason}",
            hint="check that the file exists and may be read",
            span=Span(str(path), 1, 1),
        ) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        try:
            read_text(path, ModelError)
        except ModelError as found:
            found.span, found.rule = Span(str(path), line, column), "13.4"
            raise
        raise
    return Source(str(path), plain(text))


def read_file(path: Path) -> StoredDefinition:
    """The classes of a file, parsed on demand; the same objects as long as the file does not change."""
    name = str(path)
    try:
        status = os.stat(path)
    except OSError:
        return parse_on_demand(read_source(path))  # which says why
    key = (status.st_mtime_ns, status.st_size)
    with _lock:
        known = _kept.get(name)
        if known is not None and known[0] == key:
            _kept.move_to_end(name)
            return known[1]
    found = parse_on_demand(read_source(path))
    with _lock:
        _kept[name] = (key, found)
        _kept.move_to_end(name)
        total = sum(one.end for _, one in _kept.values()) if len(_kept) % 64 == 0 else 0
        while total > LIMIT and len(_kept) > 1:
            _, (_, oldest) = _kept.popitem(last=False)
            total -= oldest.end
    return found


def forget_files() -> None:
    """Read every file again at its next use."""
    with _lock:
        _kept.clear()
