"""A coupling at a communication point, kept so that it can go on from there once more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pliant.arguments import Vector

if TYPE_CHECKING:
    from pliant.cosim.master import Master


@dataclass(frozen=True, eq=False)
class Snapshot:
    """States of all parts, and what the master knows of their inputs."""

    done: int
    t: float
    tokens: tuple[object, ...]
    times: tuple[float, ...]
    samples: tuple[list[Vector], ...]
    ends: list[Vector]
    ended: bool


def take(m: Master) -> Snapshot:
    """The coupling where it stands."""
    tokens = tuple(part.save() for part in m.parts)
    return Snapshot(m.done, m.t, tokens, tuple(m.times), tuple(m.samples), list(m.ends), m.ended)


def put_back(m: Master, at: Snapshot) -> None:
    """Everything as it was; may be repeated."""
    for part, token in zip(m.parts, at.tokens, strict=True):
        part.restore(token)
    m.done, m.t, m.ends, m.ended = at.done, at.t, list(at.ends), at.ended
    m.times.clear()
    m.times.extend(at.times)
    m.samples.clear()
    m.samples.extend(at.samples)
