"""Names of the values of enumerations, which rumoca's ``dae`` leaves out: found in its ``flat``.

``enum_literal_ordinals`` lists the values of all enumerations, one type after the other in the order of
``enumeration_type_roots``, every value under several names: full, without package, each also in quotes. The type of
a variable leads to one of the roots.
"""

from __future__ import annotations

from typing import Any


def add_literals(enumerations: list[dict[str, Any]], flat: dict[str, Any]) -> None:
    """Add the key ``literals`` to variables whose values are known for certain."""
    groups = _groups(flat["enum_literal_ordinals"])
    roots = flat["enumeration_type_roots"]
    if len(groups) != len(roots):
        return
    by_root = dict(zip(roots, groups, strict=True))
    for raw in enumerations:
        variable = flat["variables"].get(raw["name"], {})
        effective = flat["effective_types"].get(str(variable.get("type_id")), {})
        raw["literals"] = by_root.get(effective.get("canonical_type"), [])


def _groups(ordinals: dict[str, int]) -> list[list[str]]:
    """The values of each type; empty where names of two types meet."""
    found: dict[str, list[str]] = {}
    before = ""
    for name, ordinal in ordinals.items():
        path, value = _split(name)
        if path not in found and before.endswith(f".{path}"):
            continue  # the same type without its package
        before = path if not before.endswith(f".{path}") else before
        values = found.setdefault(path, [])
        if value not in values:
            values.append(value)
        if values.index(value) + 1 != ordinal:
            values.append("")  # contradicts itself: marked
    return [values if "" not in values else [] for values in found.values()]


def _split(name: str) -> tuple[str, str]:
    """Path and value of ``P.Mode.fast`` or ``P.Mode.'very fast'``."""
    if name.endswith("'"):
        path, _, value = name[:-1].rpartition(".'")
        return path, value
    path, _, value = name.rpartition(".")
    return path, value
