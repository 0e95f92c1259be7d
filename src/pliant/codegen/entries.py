"""Entries of a Jacobian that stay as they are while simulating: copied in runs instead of stored one by one.

Numbers stand in a constant array of the file, expressions of parameters in the instance, computed when
parameters are set. A copy moves several entries at once, and in many models most entries are of this kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pliant.codegen.arrays import KEPT_ENTRIES, VALUE
from pliant.codegen.c_text import wrapped
from pliant.codegen.places import Array, Layout, Owner, Place
from pliant.codegen.plan import Shared, Target
from pliant.ir import Op


@dataclass(eq=False)
class Entries:
    """What one function of a Jacobian does."""

    targets: list[Target] = field(default_factory=list)  # computed at every call
    copies: list[tuple[Place, Place, int]] = field(default_factory=list)  # to, from, how many
    numbers: str = ""  # declaration of the constant array


def split_entries(shared: Shared, layout: Layout, name: str, expressions: Sequence[int], kept: list[Target]) -> Entries:
    """Entries ``value[k]`` of the function ``name``; ``kept`` collects what set_parameters has to compute."""
    expressions = [shared.copies.expression(e) for e in expressions]
    shared.extend()
    found = Entries()
    numbers: list[str] = []
    constants = Array(f"{name}_number", Owner.FILE)
    first, length = 0, 0  # of the present run
    home: Array | None = None

    def close(at: int) -> None:
        if home is not None:
            found.copies.append((VALUE.at(at - length), home.at(first), length))

    for k, e in enumerate(expressions):
        node = shared.g.nodes[e]
        here = constants if node[0] == Op.CONST else KEPT_ENTRIES if shared.fixed[e] else None
        if here is not home or here is None:
            close(k)
            first, home, length = len(numbers) if node[0] == Op.CONST else len(kept), here, 0
        if here is None:
            found.targets.append((VALUE.at(k), e))
            continue
        length += 1
        if node[0] == Op.CONST:
            numbers.append(layout.literal(node[1]))
        else:
            kept.append((KEPT_ENTRIES.at(len(kept)), e))
    close(len(expressions))
    if numbers:
        found.numbers = f"static const {layout.type(constants.kind)} {constants.name}[] = {{{wrapped(numbers)}}};\n"
    return found
