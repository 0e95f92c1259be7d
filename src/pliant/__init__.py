"""pliant: stiff physical models, solved fast and reliably.

>>> import pliant
>>> model = pliant.ode(lambda t, x: [x[1], (1 - x[0] ** 2) * x[1] - x[0]], [2.0, 0.0], names=["x", "v"])
>>> result = model.simulate(stop=20)
>>> result.stats.method
'bdf'
"""

import importlib
from typing import TYPE_CHECKING, Any

from pliant.errors import (
    AccuracyError,
    ArgumentError,
    CallError,
    ChatterError,
    CompileError,
    ConvergenceError,
    InitialValueError,
    ModelError,
    ModelEvaluationError,
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
    StepLimitError,
    StepSizeError,
    UnknownNameError,
    VersionError,
)
from pliant.explain import Explanation
from pliant.jacobian.quality import Quality
from pliant.model import Model, inspect, load, native, ode
from pliant.realtime.flags import Flag
from pliant.realtime.options import RealtimeOptions
from pliant.realtime.scenario import Scenario
from pliant.solve.models.function import Root
from pliant.solve.options import SolverOptions
from pliant.solve.progress import Progress
from pliant.solve.results.manifest import pliant_version
from pliant.solve.results.result import Event, Result, Stats, VariableInfo
from pliant.solve.results.save import load_result
from pliant.solve.run.jacobian import Jacobian
from pliant.solve.run.operating import Linearization, SteadyState
from pliant.solve.signals.kinds import Segments
from pliant.solve.start.explained import Start
from pliant.structure.options import StructureOptions
from pliant.structure.report import Structure

if TYPE_CHECKING:
    from pliant.cosim.coupling import Coupling
    from pliant.cosim.graph import Connection
    from pliant.cosim.part import Part, PartAbout, PartSettings, Port
    from pliant.cosim.record import CouplingResult, PartRecord
    from pliant.realtime.delivery.measure import Timing
    from pliant.realtime.evidence.evidence import Evidence
    from pliant.realtime.plan import Plan
    from pliant.realtime.sparsing import criteria

__version__ = pliant_version()

_LATER = {  # slow to load
    "Connection": ("pliant.cosim.graph", "Connection"),
    "Coupling": ("pliant.cosim.coupling", "Coupling"),
    "CouplingResult": ("pliant.cosim.record", "CouplingResult"),
    "criteria": ("pliant.realtime.sparsing.criteria", None),
    "Evidence": ("pliant.realtime.evidence.evidence", "Evidence"),
    "Part": ("pliant.cosim.part", "Part"),
    "PartAbout": ("pliant.cosim.part", "PartAbout"),
    "PartRecord": ("pliant.cosim.record", "PartRecord"),
    "PartSettings": ("pliant.cosim.part", "PartSettings"),
    "Plan": ("pliant.realtime.plan", "Plan"),
    "Port": ("pliant.cosim.part", "Port"),
    "Timing": ("pliant.realtime.delivery.measure", "Timing"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'pliant' has no attribute {name!r}")
    module, inner = _LATER[name]
    found = importlib.import_module(module)
    return found if inner is None else getattr(found, inner)


__all__ = [
    "AccuracyError",
    "ArgumentError",
    "CallError",
    "ChatterError",
    "CompileError",
    "Connection",
    "ConvergenceError",
    "Coupling",
    "CouplingResult",
    "Event",
    "Evidence",
    "Explanation",
    "Flag",
    "InitialValueError",
    "Jacobian",
    "Linearization",
    "Model",
    "ModelError",
    "ModelEvaluationError",
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
    "Segments",
    "SimulationInterrupted",
    "SimulationTimeout",
    "SingularError",
    "SingularModelError",
    "SolverError",
    "SolverOptions",
    "Start",
    "Stats",
    "SteadyState",
    "StepLimitError",
    "StepSizeError",
    "Structure",
    "StructureOptions",
    "Timing",
    "UnknownNameError",
    "VariableInfo",
    "VersionError",
    "criteria",
    "inspect",
    "load",
    "load_result",
    "native",
    "ode",
]
