"""Consistent start values of a generated model: found in C (runtime/src/start.c), explained here by name."""

from __future__ import annotations

import ctypes
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pliant.calls import by_keyword_class
from pliant.errors import ArgumentError, InitialValueError, PliantError
from pliant.expr.text import text
from pliant.plain import AsDict
from pliant.solve.binding import runtime
from pliant.solve.binding import start as binding_start
from pliant.solve.failure import NO_NUMBER, event_hint, unmet
from pliant.solve.start.search import StartSearch

if TYPE_CHECKING:
    from pliant.codegen.emit import Generated
    from pliant.solve.models.generated import GeneratedModel
    from pliant.solve.run.simulation import Simulation


WORDS = {
    binding_start.ALGEBRAIC: "the algebraic equations could not be solved",
    binding_start.RESTLESS: "the iteration of the relations does not converge",
    binding_start.ROUNDS: "the iteration of the relations at the start does not converge",
    binding_start.NONFINITE: "the derivative of the initial conditions is not finite",
    binding_start.DERIVATIVE: "the derivatives cannot be evaluated",
    binding_start.EVENT: "the first event fails",
}


ASSERTED = "assertion failed: "  # as messages of generated code begin (cfile.py)


@by_keyword_class
@dataclass
class Start(AsDict):
    """How the start values of a simulation were found."""

    undetermined: list[str] = field(default_factory=list)  # unknowns that no condition determines: they kept guesses
    _: KW_ONLY
    redundant: list[str] = field(default_factory=list)  # conditions that repeat others without contradicting them
    iterations: int = 0
    homotopy_steps: int = 0

    def __str__(self) -> str:
        parts = [f"{self.iterations} iterations"]
        parts += [f"{self.homotopy_steps} steps of homotopy"] if self.homotopy_steps else []
        parts += [f"undetermined: {', '.join(self.undetermined)}"] if self.undetermined else []
        parts += [f"redundant: {'; '.join(self.redundant)}"] if self.redundant else []
        return f"start values found with {', '.join(parts)}"


class GeneratedStart(StartSearch):
    """One search for the start values of a generated model."""

    def __init__(self, model: GeneratedModel, sim: Simulation) -> None:
        super().__init__(sim)
        self.model, self.generated = model, model.generated
        self.keep: tuple[object, ...] = ()

    def prepare(self) -> None:
        """Values of the user, and linear algebra where there are algebraic equations."""
        super().prepare()
        self.keep = self._given(self.sim.head.setup.request)
        if self.model.names.algebraic and self.sim.linear is None:
            self.sim.make_linear()

    def finish(self) -> None:
        """What was found besides x."""
        sim, model = self.sim, self.model
        if model.known.has_memory:
            sim.memories_first = model.chosen_memories(sim.instance)
        if model.has_open_parameters:
            found = runtime.doubles_at(sim.head.p, len(model.names.p))
            sim.request = replace(sim.request, parameters=found)
        sim.start_found = self._found()

    def error(self, status: int) -> PliantError | None:
        """Conditions that do not hold, by name."""
        return None if status == runtime.MEMORY else self._error()

    def _given(self, request: binding_start.StartRequestStruct) -> tuple[object, ...]:
        """Values of the user; what keeps them alive."""
        asked = self.sim.request
        keep: list[object] = []
        if asked.x_given:
            flags = np.zeros(self.model.n_x, dtype=np.int8)
            flags[list(asked.x_given)] = 1
            request.x_given = flags.ctypes.data
            keep.append(flags)
        if asked.others_given:
            for v, value in asked.others_given.items():
                self._check_type(v, value)
            others = [self.generated.others.index(v) for v in asked.others_given]
            numbers = np.array(others, dtype=np.int32)
            values = np.array(list(asked.others_given.values()))
            request.n_given, request.given, request.value = len(numbers), numbers.ctypes.data, values.ctypes.data
            keep += [numbers, values]
        return tuple(keep)

    def _check_type(self, v: int, value: float) -> None:
        variable = self.generated.program.sorted.system.variables[v]
        if variable.type != "real" and value != round(value):
            told = f"the start value of {variable.name} cannot be {value:g}: it is no Real variable"
            raise ArgumentError(told, hint="a whole number")
        highest = {"boolean": 1, "enumeration": len(variable.literals)}.get(variable.type)
        if highest is not None and not int(variable.type == "enumeration") <= value <= highest:
            told = f"the start value of {variable.name} cannot be {value:g}: it is of type {variable.type}"
            raise ArgumentError(told, hint="True or False" if highest == 1 else f"1 to {highest}")

    # ------------------------------------------------------------------ names

    def _found(self) -> Start:
        report = self.report
        undetermined, redundant = (
            _integers(report.undetermined, report.n_undetermined),
            _integers(report.redundant, report.n_redundant),
        )
        return Start(
            [self._unknown(i) for i in undetermined],
            redundant=[condition_text(self.generated, k) for k in redundant],
            iterations=report.iterations,
            homotopy_steps=report.homotopy_steps,
        )

    def _unknown(self, i: int) -> str:
        names, n_x = self.model.names, self.model.n_x
        if i < n_x + len(names.p):
            return names.x[i] if i < n_x else names.p[i - n_x]
        s = self.generated.program.sorted
        return s.system.variables[s.events.memories[i - n_x - len(names.p)].variable].name

    def _error(self) -> InitialValueError:
        failure, name = self.report.failure, self.model.name
        variables = self.generated.program.sorted.system.variables
        if failure.what == binding_start.WHOLE:
            variable = variables[self.generated.program.p[failure.index]]
            return InitialValueError(
                f"{name}: the initial equations give {variable.name} = {failure.value:g}, but it is no Real "
                f"parameter ({variable.span})",
                hint="declare it as Real, or change the initial equations",
            )
        if failure.what == binding_start.MISSED:
            v, wanted = list(self.sim.request.others_given.items())[failure.index]
            return InitialValueError(
                f"{name}: {variables[v].name} = {wanted:g} was asked for, but with the other values the "
                f"constraints give {failure.value:g}",
                hint="leave out one of the values or correct it; a variable that is left out stays near its start",
            )
        why = self._residuals() if failure.what == binding_start.RESIDUAL else WORDS.get(failure.what, "")
        words = failure.words.decode(errors="replace")
        if words.endswith(NO_NUMBER):
            words = unmet(self.sim, float(self.sim.request.start)) or words
        why = words or why or runtime.status_text(failure.status)
        place = self.model.known.asserted_at(words)
        if place is not None or words.startswith(ASSERTED):
            error = InitialValueError(
                f"{name}: at the start, t = {self.sim.request.start:g}: {words}",
                hint="change start values, parameters or inputs to what the model allows",
            )
            error.span = place
            return error
        return InitialValueError(
            f"{name}: no consistent start values at t = {self.sim.request.start:g}: {why}{self._loop_residuals()}",
            hint=self._hint(why),
        )

    def _hint(self, why: str) -> str:
        """What to try: it depends on whether conditions contradict each other, and on what they leave free."""
        failure = self.report.failure
        near = "give start values near the solution (start = ... in the model, or start_values=)"
        if failure.what != binding_start.RESIDUAL:
            return event_hint(why) or near
        conditions = self.generated.initial.conditions
        redundant = set(_integers(self.report.redundant, self.report.n_redundant))
        at_odds = [row for row in failure.row[: failure.n_rows] if row in redundant and row < len(conditions)]
        if len(at_odds) > 1:
            named = " and ".join(f"`{conditions[row].text}`" for row in at_odds[:3])
            return f"{named} contradict each other: remove or change one of them"
        first = conditions[failure.row[0]] if failure.n_rows and failure.row[0] < len(conditions) else None
        if failure.known and first is not None and first.behind:
            named = " and ".join(f"`{span.text}`" for span in first.behind[:3])
            return f"`{first.text}` contradicts {named}, which it depends on: change one of them"
        if failure.known:
            return (
                "the first condition does not depend on what is still free: change it, the values that are fixed, "
                "or the start values"
            )
        return f"{near}; if there is no solution, change one of these conditions"

    def _residuals(self) -> str:
        """Which conditions are violated, the worst first."""
        failure, conditions = self.report.failure, self.generated.initial.conditions
        lines = []
        for k in range(failure.n_rows):
            row = failure.row[k]
            lines.append(f"\n    {failure.residual[k]:+.3e}  {condition_text(self.generated, row)}")
            if row < len(conditions):
                behind = conditions[row].behind[:4]
                lines += [f"\n                with  {span.text}  {span}" for span in behind]
        if failure.n_open:
            names = [self._unknown(i) for i in failure.open[: failure.n_open]]
            lines.append(f"\n  not determined by them: {', '.join(names)}")
        return "these conditions are left with a residual:" + "".join(lines)

    def _loop_residuals(self) -> str:
        """Residuals of the loop that did not converge, ranked."""
        if self.report.loop < 0:
            return ""
        program = self.generated.program
        s, block = program.sorted, program.loops[self.report.loop]
        r = runtime.doubles_at(self.report.loop_residual, len(block.residuals))
        variables = s.system.variables
        lines = []
        for k in np.argsort(-np.abs(r))[:6]:
            equation = s.equations[block.residuals[int(k)]]
            body = equation.span.text if equation.span else ""
            body = body or text(s.system.graph, equation.residual, lambda v: variables[v].name, 80, s.relations)
            lines.append(f"\n    {r[k]:+.3e}  {body}  {equation.span}")
        return "\n  residuals of its equations:" + "".join(lines)


def condition_text(generated: Generated, k: int) -> str:
    """A row of the start: a condition, or behind these an algebraic equation."""
    conditions, program = generated.initial.conditions, generated.program
    if k < len(conditions):
        one = conditions[k]
        return f"{one.text}  {one.span}" if one.span else one.text
    s = program.sorted
    equation = s.equations[program.f_equation[program.n_states + k - len(conditions)]]
    variables = s.system.variables
    body = text(s.system.graph, equation.residual, lambda v: variables[v].name, 80, s.relations)
    return f"0 = {body}  {equation.span}"


def _integers(address: int | None, count: int) -> list[int]:
    return list((ctypes.c_int * count).from_address(address)) if address and count else []
