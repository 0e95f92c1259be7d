"""External functions whose values are known here: those of the standard library on strings and files."""

from __future__ import annotations

import os
from typing import Any

from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.values.data import NotKnown


def external_value(calls: Any, cls: Any, external: tree.External, scope: Any, env: dict[str, Any], node: Any) -> None:
    """Sets the output of an external function, or raises NotKnown."""
    symbol = external.function or cls.core.entry.name
    known = _KNOWN.get(symbol)
    if known is None:
        raise NotKnown(f"the external function `{cls.name}` is evaluated in the simulation only", node)
    args = [calls.values.value(one, scope, env) for one in external.arguments]
    found = known(*args)
    if external.output is not None:
        env[external.output.names[0]] = found


def _compare(a: str, b: str, is_case_sensitive: bool) -> int:
    if not is_case_sensitive:
        a, b = a.lower(), b.lower()
    return 1 if a < b else 3 if a > b else 2


def _hash(text: str) -> int:
    found = 5381
    for one in text.encode():
        found = (found * 33 ^ one) & 0xFFFFFFFF
    return found - (1 << 32) if found >= 1 << 31 else found


_KNOWN: dict[str, Any] = {
    "ModelicaStrings_length": lambda s: len(s.encode()),
    "ModelicaStrings_substring": lambda s, a, b: s[a - 1 : b],
    "ModelicaStrings_compare": _compare,
    "ModelicaInternal_fullPathName": os.path.abspath,
    "ModelicaStrings_hashString": _hash,
}
