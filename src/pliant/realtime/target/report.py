"""What was measured on a target."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from pliant.calls import by_keyword_class

LIMIT = "instructions are not cycles: the emulator has no pipeline, caches or wait states"


@by_keyword_class
@dataclass(frozen=True)
class TargetReport:
    """A step on a target: its cost there, and how far it is from the desktop.

    instructions_min, instructions_max   of a step, elementary functions apart; None where they are not counted
    instructions_functions               largest number of instructions in elementary functions in one step
    instructions_total                   largest number of all of them
    instructions_monitor, instructions_full    of the monitor, and of the step with all entries; None without these
    code_bytes, constant_bytes           of the step's file
    data_bytes                           an instance, its parameters, inputs and outputs, and what else is written to
    stack_bytes, stack_static            depth seen in the run, libraries included; deepest chain of stated frames
    difference, worst                    largest distance to the desktop's run in double precision, share of the range
                                         of the unknown or output ``worst``
    selftest                             did the self-test of the written folder pass on the target?
    """

    target: str
    _: KW_ONLY
    processor: str
    precision: str
    steps: int
    instructions_min: int | None
    instructions_max: int | None
    instructions_functions: int | None
    instructions_total: int | None
    instructions_monitor: int | None
    instructions_full: int | None
    code_bytes: int
    constant_bytes: int
    data_bytes: int
    stack_bytes: int
    stack_static: int | None
    difference: float
    worst: str
    selftest: bool
    compiler: str
    emulator: str
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        out = {one.name: getattr(self, one.name) for one in fields(self)}
        return out | {"notes": list(self.notes)}

    def rows(self) -> list[tuple[str, str]]:
        """Figures in words, for tables."""
        out = []
        if self.instructions_max is not None:
            same = self.instructions_min == self.instructions_max
            least = "" if same else f"{self.instructions_min} to "
            out.append(("instructions per step", f"{least}{self.instructions_max}"))
            out.append(("and in elementary functions, at most", str(self.instructions_functions)))
            out.append(("all of a step, at most", str(self.instructions_total)))
            if self.instructions_monitor is not None:
                out.append(("instructions of the monitor, at most", str(self.instructions_monitor)))
            if self.instructions_full is not None:
                out.append(("instructions of the step with all entries, at most", str(self.instructions_full)))
        out.append(("code", f"{self.code_bytes} bytes"))
        out.append(("constants", f"{self.constant_bytes} bytes"))
        out.append(("data", f"{self.data_bytes} bytes"))
        out.append(("stack, measured", f"{self.stack_bytes} bytes"))
        static = "not known" if self.stack_static is None else f"{self.stack_static} bytes"
        out.append(("stack, stated by the compiler, without libraries", static))
        of = f" of the range of {self.worst}" if self.worst else ""
        out.append(("largest difference to the desktop", f"{100 * self.difference:.2g} %{of}"))
        out.append(("self-test", "passed" if self.selftest else "FAILED"))
        return out

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        lines = [f"{self.steps} steps on {self.processor}, {self.precision} precision"]
        lines += [f"  {name:<{width}}  {value}" for name, value in rows]
        lines += [f"  - {one}" for one in self.notes]
        return "\n".join(lines)
