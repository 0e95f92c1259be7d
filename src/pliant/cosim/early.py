"""Parts that end steps early (FMI 3): the earliest of all decides where a macro step ends.

Jacobi          those that can be taken back make the step first, the one that cannot after them; who has come further
                than the earliest goes back and makes the shorter step, which ends at no event
Gauss-Seidel    a part that ends early behind others sends all back, and the step is made again up to there

Of parts that cannot be taken back, one can be followed by the others: the last one of Jacobi, the first one of
Gauss-Seidel. Any further one continues its steps over its events, and a warning names it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pliant.cosim.part import Part
from pliant.cosim.stepping import Job, Stepping


def stays(_: Callable[[], bool]) -> bool:
    """The part has made its step."""
    return True


class EarlyReturns:
    """The parts whose early returns shorten macro steps."""

    def __init__(self, every: Sequence[Part], order: Sequence[int], scheme: str) -> None:
        self.every: list[Any] = list(every)
        may = [p for p in order if getattr(every[p], "may_return_early", False)]
        back = [p for p in range(len(every)) if getattr(every[p], "can_restore", True)]
        if any(getattr(part, "equal_steps", False) for part in every):
            self.parts: list[int] = []
        elif scheme == "jacobi":
            fixed = [p for p in may if p not in back]
            self.parts = [p for p in may if p in back] + fixed[:1]
        else:
            self.parts = may if len(back) == len(every) else [p for p in may if p == order[0]]
        self.in_sequence = scheme != "jacobi" and any(p != order[0] for p in self.parts)
        self.movable = [p for p in self.parts if p in back]
        for p in self.parts:
            self.every[p].yields = True

    def all(
        self, stepping: Stepping, t_next: float, near: float, job: Callable[[int, float], Job]
    ) -> tuple[bool, float]:
        """Steps of these parts; False if one has ended, and where all others shall go."""
        going, reached = True, t_next
        saved = {p: self.every[p].save() for p in self.movable} if len(self.parts) > 1 else {}
        if saved:
            count = range(len(self.every))
            going = stepping.all([job(p, t_next) if p in saved else stays for p in count])
            reached = min(t_next, *(self.every[p].stands_at for p in saved))
        for p in self.parts:
            if p not in saved:
                going = stepping.one(p, job(p, reached)) and going
                reached = min(reached, self.every[p].stands_at)
        while True:
            ahead = [p for p in saved if self.every[p].stands_at > reached + near]
            if not ahead:
                return going, reached
            for p in ahead:
                self.every[p].restore(saved[p])
                going = stepping.one(p, job(p, reached)) and going
                reached = min(reached, self.every[p].stands_at)

    def save_for_sequence(self) -> list[object]:
        """States of all parts, where a step may have to be made again."""
        return [part.save() for part in self.every] if self.in_sequence else []

    def put_back(self, saved: Sequence[object]) -> None:
        """All parts as they were."""
        for part, token in zip(self.every, saved, strict=True):
            part.restore(token)

    @contextlib.contextmanager
    def asked(self, p: int, yields: bool) -> Iterator[None]:
        """A part that may not end early now steps on over its events."""
        held = p in self.parts and not yields
        if held:
            self.every[p].yields = False
        try:
            yield
        finally:
            if held:
                self.every[p].yields = True

    def unheard(self) -> tuple[str, ...]:
        """In words: parts that ended steps early, although macro steps could not be shortened for them."""
        found = []
        for p, part in enumerate(self.every):
            count = getattr(part, "continued", 0)
            if count and p not in self.parts:
                found.append(
                    f"part {part.name!r} returned early {count} times, and its steps were continued: others cannot be "
                    "taken back to where it ended, so its events reach them at the end of the macro step; a smaller "
                    "step=, or FMUs that save their state and take steps of any length"
                )
        return tuple(found)
