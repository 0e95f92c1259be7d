"""Entries of a Jacobian that stay as they are while simulating: copied in runs instead of stored one by one.

Numbers stand in a constant array of the file, expressions of parameters in the instance (``m->j``), computed when
parameters are set. A copy moves several entries at once, and in many models most entries are of this kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pliant.codegen.cprint import number
from pliant.codegen.plan import Shared, Target
from pliant.codegen.shells import wrapped
from pliant.ir import Op


@dataclass(eq=False)
class Entries:
    """What one function of a Jacobian does."""

    targets: list[Target] = field(default_factory=list)  # computed at every call
    copies: list[str] = field(default_factory=list)  # C statements
    numbers: str = ""  # declaration of the constant array


def split_entries(shared: Shared, name: str, expressions: Sequence[int], kept: list[Target]) -> Entries:
    """Entries ``value[k]`` of the function ``name``; ``kept`` collects what set_parameters has to compute."""
    expressions = [shared.copies.expression(e) for e in expressions]
    shared.extend()
    found = Entries()
    numbers: list[str] = []
    first, home, length = 0, "", 0  # of the present run

    def close(at: int) -> None:
        if length:
            begin = at - length
            found.copies.append(f"memcpy(value + {begin}, {home} + {first}, {length} * sizeof(pl_real));")

    for k, e in enumerate(expressions):
        node = shared.g.nodes[e]
        here = f"{name}_number" if node[0] == Op.CONST else "m->j" if shared.fixed[e] else ""
        if here != home or not here:
            close(k)
            first, home, length = len(numbers) if node[0] == Op.CONST else len(kept), here, 0
        if not here:
            found.targets.append((f"value[{k}]", e))
            continue
        length += 1
        if node[0] == Op.CONST:
            numbers.append(number(node[1]))
        else:
            kept.append((f"m->j[{len(kept)}]", e))
    close(len(expressions))
    if numbers:
        found.numbers = f"static const pl_real {name}_number[] = {{{wrapped(numbers)}}};\n"
    return found
