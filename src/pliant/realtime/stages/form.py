"""Stage "form": loops inside f, their unknowns in x, or both; then the cheaper one that holds is taken."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pliant.errors import NotSupportedError, PliantError
from pliant.realtime.evidence.evidence import Evidence
from pliant.realtime.stages.outcome import Outcome
from pliant.realtime.stages.tune import Compiled, Tuned
from pliant.solve.models.numeric import NumericModel


@dataclass(frozen=True, eq=False)
class Candidate:
    """A form that came through all stages."""

    form: str
    outcome: Outcome
    tuned: Tuned
    evidence: Evidence

    @property
    def operations(self) -> float:
        """Of one step; infinite where it cannot be written."""
        return self.tuned.code.operations["step"].total if isinstance(self.tuned, Compiled) else math.inf

    @property
    def text(self) -> str:
        """What this form costs."""
        o = self.outcome
        cost = "cannot be written" if math.isinf(self.operations) else f"{self.operations} operations a step"
        entries = f"{len(o.elimination.entries)} of {len(o.full.entries)} entries"
        return f"{self.form}: {o.model.n_x} unknowns, {entries}, {cost}"


@dataclass(frozen=True, eq=False)
class Failed:
    """A form in which there is no plan; the other one may still do."""

    form: str
    error: PliantError


def in_forms(model: NumericModel, wanted: str) -> list[tuple[str, NumericModel]]:
    """The forms to try; "best": both, one where they are the same."""
    if wanted != "best":
        return [(wanted, in_form(model, wanted))]
    ode, dae = in_form(model, "ode"), in_form(model, "dae")
    return [("ode", ode)] if ode.n_x == dae.n_x else [("ode", ode), ("dae", dae)]


def choose_form(wanted: str, tried: list[Candidate | Failed]) -> tuple[Candidate, tuple[str, ...]]:
    """Of several forms the one that holds and has fewer operations a step; for "best", what each would cost."""
    found = [one for one in tried if isinstance(one, Candidate)]
    failed = [one.error for one in tried if isinstance(one, Failed)]
    if not found:
        raise failed[0]
    if wanted != "best":
        return found[0], ()
    told = [one.text if isinstance(one, Candidate) else f"{one.form}: {one.error.message}" for one in tried]
    if len(tried) == 1:
        told.append("dae: the same, the model has no loops")
    return min(found, key=lambda one: (not one.evidence.holds, one.operations)), tuple(told)


def in_form(model: NumericModel, wanted: str) -> NumericModel:
    """The same model in another form."""
    if wanted == "auto":
        return model
    found = model.in_form(wanted)
    if found is None:
        raise NotSupportedError(
            f"{model.name}: only models made of equations have another form", hint="leave the option form out"
        )
    return found
