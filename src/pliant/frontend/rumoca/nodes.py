"""The expression store of rumoca's ``dae`` dictionary, decoded.

rumoca keeps one list of nodes, with operands and subscripts in two further flat lists that are consumed in node order
(rumoca-dae.md, section 1). Here every expression id gets its kind, its payload and its operands, so that evaluation
need not know the storage. An operand is *strict* if its value is always needed, else *lazy*: branches of a
conditional, the right side of and/or, bodies of comprehensions. Lazy operands are evaluated on demand only, because a
branch that is not taken may index out of bounds.
"""

from __future__ import annotations

from typing import Any

from pliant.errors import ModelError

SCHEMA_VERSION = 43
QUOTIENT_IDS = 7  # ids that a `mod`, `rem` or `div` of the model takes
FUNCTION_BIT = 1  # in `depends`: inside a function; bit 1 + d: on the binder of domain d


class Nodes:
    """Kind, payload and operands of every expression id (parallel lists)."""

    __slots__ = ("count", "depends", "kind", "lazy", "position", "provenance", "raw", "strict", "subscripts")

    def __init__(self, expressions: dict[str, Any]) -> None:
        self.kind: list[str] = []
        self.raw: list[Any] = []
        self.strict: list[tuple[int, ...]] = []
        self.lazy: list[tuple[int, ...]] = []
        self.subscripts: list[tuple[tuple[str, int], ...]] = []
        self.depends: list[int] = []  # 0: the same everywhere
        self.position: list[int] = []  # of the node in the stored list
        self.provenance: list[Any] = expressions["provenance"]
        self._decode(expressions["nodes"], expressions["operands"], expressions["subscripts"])
        self.count = len(self.kind)

    def _decode(self, nodes: list[dict[str, Any]], operands: list[int], subscripts: list[dict[str, Any]]) -> None:
        next_operand = next_subscript = 0
        for position, node in enumerate(nodes):
            ((kind, raw),) = node.items()
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
            number = len(self.kind)
            strict, lazy = _split(kind, raw, rest, subs, number)
            self.position.append(position)
            self.kind.append(kind)
            self.raw.append(raw)
            self.strict.append(strict)
            self.lazy.append(lazy)
            self.subscripts.append(subs)
            self.depends.append(self._depends(kind, raw, strict, lazy))
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
        self.depends.append(0)
        self.position.append(position)

    def _depends(self, kind: str, raw: Any, strict: tuple[int, ...], lazy: tuple[int, ...]) -> int:
        if kind == "literal":
            return 0
        if kind == "coordinate":
            if isinstance(raw, dict):
                if "binder" in raw:
                    return 2 << int(raw["binder"]["domain"])
                if "function_parameter" in raw:
                    return FUNCTION_BIT
            return 0
        if kind == "function_value":
            return FUNCTION_BIT
        depends = self.depends
        mask = 0
        for operand in strict:
            mask |= depends[operand]
        for operand in lazy:
            mask |= depends[operand]
        if kind == "comprehension":
            mask &= ~(2 << int(raw["domain"]))
        return mask

    def span(self, number: int) -> dict[str, Any] | None:
        """Where the node stands in the source."""
        provenance = self.provenance[self.position[number]]
        span: dict[str, Any] | None = provenance.get("span") if isinstance(provenance, dict) else None
        return span

    def origin(self, number: int) -> Any:
        """``source`` or how rumoca made the node."""
        provenance = self.provenance[self.position[number]]
        return provenance.get("origin") if isinstance(provenance, dict) else None

    def reachable(self, roots: list[int], *, sizes: bool = True) -> list[int]:
        """All ids under the given ones, ascending; without ``sizes`` not the arrays whose size alone is read."""
        seen: set[int] = set()
        stack = list(roots)
        while stack:
            number = stack.pop()
            if number not in seen:
                seen.add(number)
                if not sizes and self.kind[number] == "builtin" and self.raw[number]["builtin"] == "size":
                    stack.extend(self.strict[number][1:])
                    continue
                stack.extend(self.strict[number])
                stack.extend(self.lazy[number])
        return sorted(seen)

    def parameters_in(self, root: int | None, *, sizes: bool = True) -> list[int]:
        """Parameters (places in rumoca's list) that an expression reads; ``sizes``: also those in size(p)."""
        if root is None or self.kind[root] == "literal":
            return []
        found = []
        for number in self.reachable([root], sizes=sizes):
            raw = self.raw[number]
            if self.kind[number] == "coordinate" and isinstance(raw, dict) and "parameter" in raw:
                found.append(raw["parameter"])
        return found


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
    if kind in {"literal", "coordinate"}:
        return (), ()
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
