"""The expression store of rumoca's ``dae`` dictionary, decoded.

rumoca keeps one list of nodes, with operands and subscripts in two further flat lists that are consumed in node order
(rumoca-dae.md, section 1). Here every expression id gets its kind, its payload and its operands, so that decoding need
not know the storage.
"""

from __future__ import annotations

from typing import Any

from pliant.errors import ModelError

SCHEMA_VERSION = 43
QUOTIENT_IDS = 7  # ids that a `mod`, `rem` or `div` of the model takes


class Nodes:
    """Kind, payload and operands of every expression id (parallel lists)."""

    __slots__ = ("count", "kind", "lazy", "position", "provenance", "raw", "strict", "subscripts")

    def __init__(self, expressions: dict[str, Any]) -> None:
        self.kind: list[str] = []
        self.raw: list[Any] = []
        self.strict: list[tuple[int, ...]] = []
        self.lazy: list[tuple[int, ...]] = []
        self.subscripts: list[tuple[tuple[str, int], ...]] = []
        self.position: list[int] = []  # of the node in the stored list
        self.provenance: list[Any] = expressions["provenance"]
        self._decode(expressions["nodes"], expressions["operands"], expressions["subscripts"])
        self.count = len(self.kind)

    def _decode(self, nodes: list[dict[str, Any]], operands: list[int], subscripts: list[dict[str, Any]]) -> None:
        next_operand = next_subscript = 0
        kinds, raws, places = self.kind, self.raw, self.position
        all_strict, all_lazy, all_subscripts = self.strict, self.lazy, self.subscripts
        for position, node in enumerate(nodes):
            ((kind, raw),) = node.items()
            places.append(position)
            kinds.append(kind)
            raws.append(raw)
            if kind in LEAVES:
                all_strict.append(())
                all_lazy.append(())
                all_subscripts.append(())
                continue
            subs: tuple[tuple[str, int], ...] = ()
            rest: tuple[int, ...] = ()
            if kind in COUNTED:
                n = raw["operand_count"]
                rest = tuple(operands[next_operand : next_operand + n])
                next_operand += n
            elif kind in SUBSCRIPTED:
                n = raw["subscript_count"]
                subs = tuple(_subscript(entry) for entry in subscripts[next_subscript : next_subscript + n])
                next_subscript += n
            strict, lazy = _split(kind, raw, rest, subs, len(kinds) - 1)
            all_strict.append(strict)
            all_lazy.append(lazy)
            all_subscripts.append(subs)
            if kind == "runtime_quotient_owner" and "model" in raw["kind"]:
                for _ in range(QUOTIENT_IDS - 1):
                    self._internal(position)
        if next_operand != len(operands) or next_subscript != len(subscripts):
            raise ModelError(
                "rumoca's expressions are inconsistent: operands are left over", hint="install rumoca 0.10.2 exactly"
            )

    def _internal(self, position: int) -> None:
        self.kind.append("internal")
        self.raw.append(None)
        self.strict.append(())
        self.lazy.append(())
        self.subscripts.append(())
        self.position.append(position)

    def span(self, number: int) -> dict[str, Any] | None:
        """Where the node stands in the source."""
        provenance = self.provenance[self.position[number]]
        span: dict[str, Any] | None = provenance.get("span") if isinstance(provenance, dict) else None
        return span

    def origin(self, number: int) -> Any:
        """``source`` or how rumoca made the node."""
        provenance = self.provenance[self.position[number]]
        return provenance.get("origin") if isinstance(provenance, dict) else None

    def reachable(self, roots: list[int]) -> list[int]:
        """All ids under the given ones, ascending."""
        seen: set[int] = set()
        stack = list(roots)
        while stack:
            number = stack.pop()
            if number not in seen:
                seen.add(number)
                stack.extend(self.strict[number])
                stack.extend(self.lazy[number])
        return sorted(seen)


LEAVES = frozenset({"literal", "coordinate"})
COUNTED = frozenset({"conditional", "array", "record", "builtin", "call"})
SUBSCRIPTED = frozenset({"index", "array_update"})


def _subscript(entry: dict[str, Any]) -> tuple[str, int]:
    kind = entry["kind"]
    if isinstance(kind, str):
        return kind, -1
    ((name, number),) = kind.items()
    return name, int(number)


def _split(
    kind: str, raw: Any, rest: tuple[int, ...], subs: tuple[tuple[str, int], ...], number: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Strict and lazy operands."""
    if kind == "binary":
        if raw["operator"] in {"and", "or"}:
            return (raw["lhs"],), (raw["rhs"],)
        return (raw["lhs"], raw["rhs"]), ()
    if kind == "index":
        return (raw["base"], *(s for _, s in subs if s >= 0)), ()
    if kind == "conditional":
        return rest[:1], rest[1:]
    if kind == "unary":
        return (raw["operand"],), ()
    if kind == "call" and raw["owner"] != number:
        return (raw["owner"],), ()
    if kind == "comprehension":
        return (), (raw["body"],)
    reader = _FIELDS.get(kind)
    if reader is not None:
        named = tuple(raw[name] for name in reader if raw.get(name) is not None)
        return (*named, *(s for _, s in subs if s >= 0)), ()
    return rest, ()


_FIELDS: dict[str, tuple[str, ...]] = {
    "field": ("base",),
    "range": ("start_expression", "explicit_step_expression", "stop_expression"),
    "array_update": ("base", "value"),
    "runtime_quotient_owner": ("lhs", "rhs"),
    "string_conversion": ("value",),
    "clock_transfer": ("source",),
}
