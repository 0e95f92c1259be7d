"""Every error of pliant itself.

    PliantError
    ├── ArgumentError (ValueError)      an argument of a public function is invalid
    │   └── CallError (TypeError)       the arguments do not fit the function; shows the call
    ├── ModelError                      the model itself is wrong or cannot be read
    │   ├── ModelicaSyntaxError         the text is not Modelica; lists every fault with its place
    │   ├── CompileError                the C compiler is missing or refuses the model's C text
    │   ├── SingularModelError          the equations do not determine the unknowns; names both
    │   ├── FmuError                    an FMU cannot be used: archive, description, platform; names element and line
    │   ├── SspError                    a system (.ssp, .ssd) cannot be read; names file, element and line
    │   ├── UnknownNameError (KeyError) no variable of that name; suggests the nearest
    │   └── NotSupportedError           a construct that pliant does not handle (yet); says which
    ├── InitialValueError               no consistent start values; names the equations that do not hold
    ├── SolverError                     the simulation could not continue; carries the result so far
    │   ├── NonFiniteError              f, the Jacobian or a root function returned NaN or Inf
    │   ├── SingularError               the iteration matrix is singular; names the states
    │   ├── ConvergenceError            Newton's iteration fails at every step size
    │   ├── AccuracyError               the error test fails at every step size, or tolerances are out of reach
    │   ├── StepSizeError               the step size collapsed
    │   ├── StepLimitError              more steps than `max_steps`
    │   ├── PatternError                the pattern of the Jacobian lacks an entry; names it
    │   ├── ChatterError                events pile up without progress in time
    │   ├── ModelEvaluationError        the model could not be evaluated; contains its own message
    │   ├── ProcessError                the child process of a simulation died, or cannot simulate the model
    │   ├── FmuCrashError               an FMU crashed, ended its process or ran out of memory; contains its last call
    │   ├── SimulationTimeout (TimeoutError)   the `timeout` ran out
    │   │   └── FmuTimeoutError         a call of an FMU, or a run with it, took too long; contains its last call
    │   └── SimulationInterrupted (KeyboardInterrupt)   Ctrl-C
    ├── ExportError                     an FMU cannot be made of a model, or not here; says why
    ├── VersionError                    a pickled object was made by another version of pliant
    ├── CaseError                       of many runs one: its worker died, or it ran out of time
    └── OutputError (OSError)           a result could not be written (disk full, no permission); nothing is lost

An exception raised by the user's own function is never wrapped: it passes through with its traceback, and the
result so far is attached to it as the attribute ``pliant_result``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pliant.ir import Span
    from pliant.solve.results.result import Result


class PliantError(Exception):
    """Base of all errors raised by pliant. ``hint`` is one thing to try."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  try: {self.hint}" if self.hint else self.message


class ArgumentError(PliantError, ValueError):
    """An argument of a public function is invalid."""


class CallError(ArgumentError, TypeError):
    """The arguments do not fit the function: one stands where a name is due, is unknown, or is missing."""


class ModelError(PliantError):
    """The model itself is wrong or cannot be read.

    ``span`` is the place in the Modelica text (file, line, column), ``rule`` the section of the specification, where
    they are known.
    """

    def __init__(self, message: str, *, hint: str = "", span: Span | None = None, rule: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.span = span
        self.rule = rule


class ModelicaSyntaxError(ModelError):
    """The text is not Modelica. ``faults`` are all that were found, each with message, hint, span and rule."""

    faults: tuple[ModelError, ...] = ()


class CompileError(ModelError):
    """The C compiler is missing or refuses the model's C text."""


class SingularModelError(ModelError):
    """The equations of a model do not determine its unknowns. ``equations``: numbers of dependent ones, where known."""

    equations: tuple[int, ...] = ()


class FmuError(ModelError):
    """An FMU cannot be used. ``element`` and ``line`` of its modelDescription.xml, where one is the cause."""

    element: str = ""
    line: int = 0


class SspError(ModelError):
    """A system of models (.ssp, .ssd) cannot be read. ``file``, ``element`` and ``line`` of its XML, where known."""

    file: str = ""
    element: str = ""
    line: int = 0


class UnknownNameError(ModelError, KeyError):
    """No variable of that name."""


class NotSupportedError(ModelError):
    """A construct that pliant does not handle (yet)."""


class InitialValueError(PliantError):
    """No consistent start values were found. ``span`` is the place of an assertion that they do not keep."""

    span: Span | None = None


class SolverError(PliantError):
    """The simulation could not continue. ``result`` holds everything computed before, ``time`` where it stopped."""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        result: Result | None = None,
        time: float | None = None,
        names: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.result = result
        self.time = time
        self.names = names


class NonFiniteError(SolverError):
    """f, the Jacobian or a root function returned NaN or Inf.

    ``span`` is the place of an assertion that says why, where there is one.
    """

    span: Span | None = None


class SingularError(SolverError):
    """The iteration matrix is singular."""


class ConvergenceError(SolverError):
    """Newton's iteration fails at every step size."""


class AccuracyError(SolverError):
    """The error test fails at every step size, or the tolerances are out of reach."""


class StepSizeError(SolverError):
    """The step size collapsed."""


class StepLimitError(SolverError):
    """More steps than allowed."""


class ChatterError(SolverError):
    """Events pile up without progress in time."""


class PatternError(SolverError):
    """The pattern of the Jacobian lacks entries; ``missing`` lists them as pairs (row, column)."""

    missing: tuple[tuple[int, int], ...] = ()


class ModelEvaluationError(SolverError):
    """The model could not be evaluated.

    ``span`` is the place of an assertion that failed, where it is known.
    """

    span: Span | None = None


class ProcessError(SolverError):
    """The child process of a simulation died, or cannot simulate the model; ``result`` holds what had arrived."""


class FmuCrashError(SolverError):
    """An FMU crashed or ended its process. ``call``: the last FMI function called; ``log``: messages of the FMU."""

    call: str = ""
    log: tuple[tuple[float, str, str, str], ...] = ()  # time, status, category, text


class SimulationTimeout(SolverError, TimeoutError):
    """The time-out given to simulate ran out."""


class FmuTimeoutError(SimulationTimeout):
    """A call of an FMU took too long. ``call``: the FMI function that did not return; ``log``: messages of the FMU."""

    call: str = ""
    log: tuple[tuple[float, str, str, str], ...] = ()  # time, status, category, text


class SimulationInterrupted(SolverError, KeyboardInterrupt):
    """The user pressed Ctrl-C. Also a KeyboardInterrupt, so that scripts stop as usual."""


class ExportError(PliantError):
    """An FMU cannot be made of a model, or not with what is installed here."""


class VersionError(PliantError):
    """A pickled object was made by another version of pliant."""


class CaseError(PliantError):
    """One of many runs: its worker died, or it ran out of time. ``result``: the study so far, if all workers died."""

    result: object | None = None


class OutputError(PliantError, OSError):
    """A result could not be written. The result itself is untouched. ``result``: of many runs, the study so far."""

    result: object | None = None
