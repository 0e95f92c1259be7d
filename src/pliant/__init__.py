"""pliant: stiff physical models, solved fast and reliably.

>>> import pliant
>>> model = pliant.ode(lambda t, x: [x[1], (1 - x[0] ** 2) * x[1] - x[0]], [2.0, 0.0], names=["x", "v"])
>>> result = model.simulate(stop=20)
>>> result.stats.method
'bdf'
"""

import sys
from typing import TYPE_CHECKING, Any

from pliant.errors import (
    AccuracyError,
    ArgumentError,
    CallError,
    CaseError,
    ChatterError,
    CompileError,
    ConvergenceError,
    ExportError,
    FmuCrashError,
    FmuError,
    FmuTimeoutError,
    InitialValueError,
    ModelError,
    ModelEvaluationError,
    ModelicaSyntaxError,
    NonFiniteError,
    NotSupportedError,
    OutputError,
    PatternError,
    PliantError,
    ProcessError,
    SimulationInterrupted,
    SimulationTimeout,
    SingularError,
    SingularModelError,
    SolverError,
    SspError,
    StepLimitError,
    StepSizeError,
    UnknownNameError,
    VersionError,
)

if TYPE_CHECKING:
    from pliant.batch import design
    from pliant.batch.folder.open import open_study
    from pliant.batch.progress import StudyProgress
    from pliant.batch.study import Study
    from pliant.checking.library import check_library
    from pliant.checking.report import LibraryReport, LibraryRow
    from pliant.cosim.coupling import Coupling
    from pliant.cosim.explanation import CouplingExplanation
    from pliant.cosim.graph import Connection
    from pliant.cosim.macro_steps import MacroSteps
    from pliant.cosim.part import Part, PartAbout, PartSettings, Port
    from pliant.cosim.power import CouplingEnergy
    from pliant.cosim.record import CouplingResult, PartRecord
    from pliant.cosim.ssp.report import SystemReport
    from pliant.explain.explanation import Explanation
    from pliant.fmi.info import FmuInfo
    from pliant.fmi.options import FmuOptions
    from pliant.fmi.report import FmuReport
    from pliant.jacobian.quality import Quality
    from pliant.loading import inspect, load, load_system, native, ode
    from pliant.model import Model
    from pliant.realtime.challenge.found import Challenge
    from pliant.realtime.challenge.trial import ChallengeRow
    from pliant.realtime.delivery.measure import Timing
    from pliant.realtime.evidence.evidence import Evidence
    from pliant.realtime.flags import Flag
    from pliant.realtime.frontier import Frontier, FrontierRow
    from pliant.realtime.options import RealtimeOptions
    from pliant.realtime.plan import Plan
    from pliant.realtime.scenario import Scenario
    from pliant.realtime.scenarios import Scenarios
    from pliant.realtime.sparsing import criteria
    from pliant.realtime.target.report import TargetReport
    from pliant.solve.models.function import Root
    from pliant.solve.options import SolverOptions
    from pliant.solve.progress import Progress
    from pliant.solve.results.result import Event, Result, Stats, VariableInfo
    from pliant.solve.results.save import load_result
    from pliant.solve.run.jacobian import Jacobian
    from pliant.solve.run.operating import Linearization, SteadyState
    from pliant.solve.signals.kinds import Segments
    from pliant.solve.start.explained import Start
    from pliant.structure.options import StructureOptions
    from pliant.structure.report import Structure

    __version__: str

# Where names come from that are loaded when they are first used. `import pliant` is then as cheap as its errors, and a
# program pays for what it uses; above is the same for type checkers, and a test compares.
_LATER = {
    "pliant.batch.folder.open": ("open_study",),
    "pliant.batch.progress": ("StudyProgress",),
    "pliant.batch.study": ("Study",),
    "pliant.checking.library": ("check_library",),
    "pliant.checking.report": ("LibraryReport", "LibraryRow"),
    "pliant.cosim.coupling": ("Coupling",),
    "pliant.cosim.graph": ("Connection",),
    "pliant.cosim.part": ("Part", "PartAbout", "PartSettings", "Port"),
    "pliant.cosim.explanation": ("CouplingExplanation",),
    "pliant.cosim.macro_steps": ("MacroSteps",),
    "pliant.cosim.power": ("CouplingEnergy",),
    "pliant.cosim.record": ("CouplingResult", "PartRecord"),
    "pliant.cosim.ssp.report": ("SystemReport",),
    "pliant.explain.explanation": ("Explanation",),
    "pliant.fmi.info": ("FmuInfo",),
    "pliant.fmi.options": ("FmuOptions",),
    "pliant.fmi.report": ("FmuReport",),
    "pliant.jacobian.quality": ("Quality",),
    "pliant.loading": ("inspect", "load", "load_system", "native", "ode"),
    "pliant.model": ("Model",),
    "pliant.realtime.challenge.found": ("Challenge",),
    "pliant.realtime.challenge.trial": ("ChallengeRow",),
    "pliant.realtime.delivery.measure": ("Timing",),
    "pliant.realtime.evidence.evidence": ("Evidence",),
    "pliant.realtime.flags": ("Flag",),
    "pliant.realtime.frontier": ("Frontier", "FrontierRow"),
    "pliant.realtime.options": ("RealtimeOptions",),
    "pliant.realtime.plan": ("Plan",),
    "pliant.realtime.scenario": ("Scenario",),
    "pliant.realtime.scenarios": ("Scenarios",),
    "pliant.realtime.target.report": ("TargetReport",),
    "pliant.solve.models.function": ("Root",),
    "pliant.solve.options": ("SolverOptions",),
    "pliant.solve.progress": ("Progress",),
    "pliant.solve.results.result": ("Event", "Result", "Stats", "VariableInfo"),
    "pliant.solve.results.save": ("load_result",),
    "pliant.solve.run.jacobian": ("Jacobian",),
    "pliant.solve.run.operating": ("Linearization", "SteadyState"),
    "pliant.solve.signals.kinds": ("Segments",),
    "pliant.solve.start.explained": ("Start",),
    "pliant.structure.options": ("StructureOptions",),
    "pliant.structure.report": ("Structure",),
}

_MODULES = {"criteria": "pliant.realtime.sparsing.criteria", "design": "pliant.batch.design"}

if not TYPE_CHECKING:  # a checker that sees this takes every name for granted

    def __getattr__(name: str) -> Any:
        import importlib

        homes = {name: module for module, names in _LATER.items() for name in names}
        if name in homes:
            found = getattr(importlib.import_module(homes[name]), name)
        elif name in _MODULES:
            found = importlib.import_module(_MODULES[name])
        elif name == "__version__":
            found = importlib.import_module("pliant.version").pliant_version()
        else:
            raise AttributeError(f"module 'pliant' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


__all__ = [
    "AccuracyError",
    "ArgumentError",
    "CallError",
    "CaseError",
    "Challenge",
    "ChallengeRow",
    "ChatterError",
    "CompileError",
    "Connection",
    "ConvergenceError",
    "Coupling",
    "CouplingEnergy",
    "CouplingExplanation",
    "CouplingResult",
    "Event",
    "Evidence",
    "Explanation",
    "ExportError",
    "Flag",
    "FmuCrashError",
    "FmuError",
    "FmuInfo",
    "FmuOptions",
    "FmuReport",
    "FmuTimeoutError",
    "Frontier",
    "FrontierRow",
    "InitialValueError",
    "Jacobian",
    "LibraryReport",
    "LibraryRow",
    "Linearization",
    "MacroSteps",
    "Model",
    "ModelError",
    "ModelEvaluationError",
    "ModelicaSyntaxError",
    "NonFiniteError",
    "NotSupportedError",
    "OutputError",
    "Part",
    "PartAbout",
    "PartRecord",
    "PartSettings",
    "PatternError",
    "Plan",
    "PliantError",
    "Port",
    "ProcessError",
    "Progress",
    "Quality",
    "RealtimeOptions",
    "Result",
    "Root",
    "Scenario",
    "Scenarios",
    "Segments",
    "SimulationInterrupted",
    "SimulationTimeout",
    "SingularError",
    "SingularModelError",
    "SolverError",
    "SolverOptions",
    "SspError",
    "Start",
    "Stats",
    "SteadyState",
    "StepLimitError",
    "StepSizeError",
    "Structure",
    "StructureOptions",
    "Study",
    "StudyProgress",
    "SystemReport",
    "TargetReport",
    "Timing",
    "UnknownNameError",
    "VariableInfo",
    "VersionError",
    "check_library",
    "criteria",
    "design",
    "inspect",
    "load",
    "load_result",
    "load_system",
    "native",
    "ode",
    "open_study",
]
