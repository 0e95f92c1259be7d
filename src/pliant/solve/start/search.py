"""The start of a simulation: what the runtime is asked for, and the error where there are no start values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.errors import InitialValueError, PliantError
from pliant.solve.binding import start as binding_start

if TYPE_CHECKING:
    from pliant.solve.run.simulation import Simulation


class StartSearch:
    """One search for start values, which C does: for models that know nothing of initial equations."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.report: binding_start.StartReportStruct = sim.head.report

    def prepare(self) -> None:
        """Pass to the runtime what is given."""
        request: binding_start.StartRequestStruct = self.sim.head.setup.request
        request.check = self.sim.request.options.initial == "check"
        request.held = self.sim.request.held

    def finish(self) -> None:
        """Values were found."""

    def error(self, status: int) -> PliantError | None:
        """Why there are none; None: for a reason that is not the start's."""
        failure, sim = self.report.failure, self.sim
        t, names = sim.request.start, sim.model.names.x
        if failure.what == binding_start.UNMET:
            i = int(failure.index)
            return InitialValueError(
                f"the algebraic start values do not satisfy their equations at t = {t:g}: "
                f"{names[i]} = {sim.request.x[i]:.10g}, but {sim.x[i]:.10g} would be consistent",
                hint="correct the start values, or pass options={'initial': 'solve'} to take them as guesses",
            )
        if failure.what == binding_start.MODEL:
            words = failure.words.decode(errors="replace") or "it gave no reason"
            return InitialValueError(
                f"{sim.model.name}: initialisation failed at t = {t:g}: {words}",
                hint="give start values near the solution (start_values=, or start in the model)",
            )
        return None
