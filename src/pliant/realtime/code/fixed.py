"""C text of a step that is the same for all models: files of the folder ``c``, copied into what is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def _read(name: str) -> str:
    """The file without its first paragraph, which is for readers of the file."""
    text = (Path(__file__).with_name("c") / name).read_text(encoding="ascii")
    return text.partition("\n\n")[2]


def fixed(name: str, words: Mapping[str, str] | None = None) -> str:
    """The text of a file; ``words``: identifiers in it and what stands for them."""
    given = words or {}
    return re.sub(r"\b[A-Za-z]\w*\b", lambda found: given.get(found[0], found[0]), _read(name))
