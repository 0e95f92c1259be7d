"""What the fixed text of ``pliant_relations.h``, which iterates over relations, needs to know of a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pliant.codegen.arrays import EXTENT, RELATION, SLACK, of_instance
from pliant.codegen.c_text import c_place, c_string, wrapped
from pliant.codegen.places import Field, ValueKind, number
from pliant.codegen.plan import inner_nodes, nodes_of
from pliant.codegen.program import Newton
from pliant.expr.build import reachable
from pliant.expr.text import text as modelica
from pliant.ir import FLOOR_ROOM, FLOOR_ROUNDING, Op

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

RESTLESS = "the iteration of the relations does not converge: they switch each other back and forth"


def relation_text(emitter: Emitter, k: int) -> str:
    """A relation as the model says it, shortened."""
    r = emitter.s.relations[k]

    def name(v: int) -> str:
        return re.sub(r"\$(floor|when) \d+", r"\1(...)", emitter.variables[v].name)

    left, right = (modelica(emitter.g, side, name, 60, emitter.s.relations) for side in (r.lhs, r.rhs))
    return f"{left} {'<' if r.strict else '<='} {right}"


def mode_fields(emitter: Emitter) -> list[Field]:
    """Fields of the instance."""
    n = len(emitter.s.relations)
    return [
        Field(RELATION, max(n, 1) if emitter.s.events else n, "relations, held between events"),
        Field(of_instance("stood"), n, "left minus right side when they converged"),
        Field(EXTENT, n, "largest size of the sides when they converged"),
        Field(SLACK, n, "what rounding had to be granted then"),
        Field(of_instance("shaken"), max(len(emitter.program.x), 1) if n else 0, "states changed in their last digits"),
        Field(of_instance("said", ValueKind.TEXT), 800 if n else 0, "which relations do not converge"),
    ]


def read_by_f(emitter: Emitter) -> tuple[set[int], set[int]]:
    """Variables and relations that f or the sides of relations read."""
    g = emitter.g
    roots = list(emitter.program.f)
    for statement in emitter.program.statements:
        roots += inner_nodes(statement) if isinstance(statement, Newton) else nodes_of(statement)
    roots += [e for r in emitter.s.relations for e in (r.lhs, r.rhs)]
    nodes = [g.nodes[i] for i in reachable(g, roots)]
    return {n[1] for n in nodes if n[0] == Op.VAR}, {n[1] for n in nodes if n[0] == Op.REL}


def relation_data(emitter: Emitter, restless: int) -> list[str]:
    """Data and numbers of pliant_relations.h; ``restless``: number of the message."""
    relations, n, ahead = emitter.s.relations, len(emitter.s.relations), emitter.ahead
    numbers = {"N_X": len(emitter.program.x), "N_STATES": emitter.program.n_states, "N_RELATIONS": n}
    numbers["HAS_NEWTON"] = int(any(block.kind == "nonlinear" for block in emitter.program.loops))
    if not n:
        return [defined(numbers)]
    _, in_f = read_by_f(emitter)
    texts = [relation_text(emitter, k) + (f" ({c_place(r.span)})" if r.span else "") for k, r in enumerate(relations)]
    flags = {
        "strict": ([r.strict for r in relations], "<, not <="),
        "in_f": ([k in in_f for k in range(n)], "f reads it"),
        "unwatched": (ahead.unwatched, "nothing that the solver looks for within a step"),
        "timed": ([ahead.is_timed(k) for k in range(n)], "of time alone; the solver finds when it changes"),
    }
    if not ahead.timed:
        del flags["timed"]
    lines = [flag_array(f"relation_{name}", values, note) for name, (values, note) in flags.items()]
    floors = wrapped([str(r.floor) for r in relations], 30)
    lines.append(
        f"static const int8_t relation_floor[] = {{{floors}}}; /* 1: pre(F) + 1 <= x; -1: the next one, x < pre(F) */"
    )
    lines.append(f"static const char *const relation_text[] = {{{wrapped([c_string(one) for one in texts], 4)}}};")
    words = numbers | {
        "HAS_TIMED": int(bool(ahead.timed)),
        "HAS_DELAYS": int(emitter.delays.n > 0 or emitter.pipes.n > 0),
        "RESTLESS": restless,
        "RESTLESS_TEXT": c_string(RESTLESS + ": "),
        "FLOOR_ROOM": number(FLOOR_ROOM),
        "FLOOR_ROUNDING": number(FLOOR_ROUNDING),
    }
    return [*lines, defined(words)]


def flag_array(name: str, values: Sequence[object], note: str) -> str:
    """An array of 0 and 1."""
    items = wrapped(["1" if one else "0" for one in values] or ["0"], 30)
    return f"static const int8_t {name}[] = {{{items}}}; /* 1: {note} */"


def defined(words: Mapping[str, object]) -> str:
    """Numbers that a header is given."""
    return "\n".join(f"#define PL_{name} {value}" for name, value in words.items())
