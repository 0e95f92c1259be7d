"""Functions of rumoca's dictionary as functions of a flat model.

rumoca numbers the definitions of every local (rumoca-dae.md, section 7), and an expression names the one it reads.
Statements come in the order of the source, so that is the last one before it, and locals are plain variables again; a
group of assignments that read each other's old values becomes one assignment of a tuple.
"""

from __future__ import annotations

from typing import Any

from pliant.errors import NotSupportedError
from pliant.frontend.flat.expressions import FlatTuple, LocalRef
from pliant.frontend.flat.model import (
    DerivativeRule,
    FlatAssert,
    FlatAssign,
    FlatExternal,
    FlatFor,
    FlatFunction,
    FlatItem,
    FlatLocal,
)
from pliant.frontend.rumoca.decode_expressions import ExpressionDecoder

_INLINE = {"Requested": "always", "AfterIndexReduction": "late", "Never": "never"}
_ASKS = {"Differentiate": "differentiate", "ZeroDerivative": "zero", "NoDerivative": "no"}


class FunctionDecoder:
    """Declares all functions, and gives them their bodies when expressions are decoded."""

    def __init__(self, expressions: ExpressionDecoder) -> None:
        self.expressions, self.build = expressions, expressions.build
        self.raw: list[dict[str, Any]] = expressions.storage["functions"]
        self.number = 0
        self.current: dict[int, int] = {}  # output or local -> number of its last definition

    def declare(self) -> None:
        """Names, inputs, outputs and locals."""
        spans, types = self.expressions.spans, self.expressions.types
        for raw in self.raw:
            own = [*raw["parameters"], *raw["outputs"], *raw["locals"]]
            locals_ = [
                FlatLocal(one["name"], types[one["value_type"]], span=spans.of(one.get("declaration"))) for one in own
            ]
            self.build.function(
                FlatFunction(
                    raw["name"],
                    tuple(locals_),
                    len(raw["parameters"]),
                    len(raw["outputs"]),
                    inline=_INLINE.get(raw["inline"], ""),
                    is_pure=not raw["external"] or raw["external"]["purity"] == "pure",
                    span=spans.of(raw.get("declaration")),
                )
            )

    def define(self) -> None:
        """Bodies and annotations."""
        for number, raw in enumerate(self.raw):
            self.number, self.current = number, {}
            body, _ = self._statements(raw["statements"], 0)
            self.build.define(
                number,
                body=tuple(body),
                external=self._external(raw["external"]),
                derivatives=tuple(
                    DerivativeRule(
                        one["target"],
                        tuple(_ASKS[says] for says in one["inputs"]),
                        1 if one.get("previous") is None else 2,
                        one["priority"],
                    )
                    for one in raw["derivatives"]
                    if one.get("target") is not None
                ),
            )

    def _external(self, raw: dict[str, Any] | None) -> FlatExternal | None:
        if not raw:
            return None
        given = tuple(self.expressions(one["input"]) for one in raw["arguments"] if "input" in one)
        return FlatExternal(raw["symbol"], str(raw.get("language") or "C"), given, self._local(int(raw["result"] or 0)))

    def _local(self, target: int) -> int:
        """The expression of an output or local."""
        function = self.build.functions[self.number]
        return self.build.add(LocalRef(self.number, function.n_inputs + target))

    # ------------------------------------------------------------------------------------------ statements

    def _statements(self, statements: list[dict[str, Any]], ordinal: int) -> tuple[list[FlatItem], int]:
        """Statements, and the number of the next definition."""
        found: list[FlatItem] = []
        for statement in statements:
            ((kind, content),) = statement.items()
            if kind == "assignment":
                found += self._assign([content], ordinal)
                ordinal += 1
            elif kind == "assignment_group":
                found += self._assign(content["assignments"], ordinal)
                ordinal += len(content["assignments"])
            elif kind == "for":
                item, ordinal = self._loop(content, ordinal)
                found.append(item)
            elif kind == "assertion":
                is_error = content.get("level", "error") != "warning"
                for root in (content["condition"], content["message"]):
                    self._reads(root)
                parts = self.expressions(content["condition"]), self.expressions(content["message"])
                found.append(FlatAssert(*parts, is_error, self.expressions.spans.of(content.get("provenance"))))
            else:
                raise NotSupportedError(
                    f"function `{self.raw[self.number]['name']}`: a statement of kind `{kind}` is not supported",
                    hint="write it with assignments, if and for",
                )
        return found, ordinal

    def _assign(self, members: list[dict[str, Any]], ordinal: int) -> list[FlatItem]:
        """Assignments that happen at once."""
        spans = self.expressions.spans
        reads = [self._reads(member["rhs"]) for member in members]
        values = [self.expressions(member["rhs"]) for member in members]
        targets = [self._local(member["target"]) for member in members]
        numbers = [member["target"] for member in members]
        self.current |= {target: ordinal + k for k, target in enumerate(numbers)}
        if any(reads[k] & set(numbers[:k]) for k in range(len(members))):
            pair = [self.build.add(FlatTuple(tuple(one))) for one in (targets, values)]
            return [FlatAssign(pair[0], pair[1], spans.of(members[0].get("provenance")))]
        return [
            FlatAssign(target, value, spans.of(member.get("provenance")))
            for target, value, member in zip(targets, values, members, strict=True)
        ]

    def _loop(self, content: dict[str, Any], ordinal: int) -> tuple[FlatItem, int]:
        targets = content["targets"]
        loops = self.expressions.loops(content["domain"])
        self.current |= {target: ordinal + k for k, target in enumerate(targets)}
        body, after = self._statements(content["statements"], ordinal + len(targets))
        self.current |= {target: after + k for k, target in enumerate(targets)}
        span = self.expressions.spans.of(content.get("begin_provenance"))
        return FlatFor(loops, tuple(body), span), after + len(targets)

    def _reads(self, root: int) -> set[int]:
        """Outputs and locals that an expression reads, each with its last definition."""
        nodes, found = self.expressions.nodes, set()
        for number in nodes.reachable([root]):
            if nodes.kind[number] != "function_value":
                continue
            raw = nodes.raw[number]
            found.add(raw["value"])
            if self.current.get(raw["value"]) != raw["definition_ordinal"]:
                name = self.raw[self.number]["name"]
                raise NotSupportedError(
                    f"function `{name}`: a value that was overwritten is read again, which is not supported",
                    hint="give it a local variable of its own",
                )
        return found
