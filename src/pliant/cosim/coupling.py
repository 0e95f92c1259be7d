"""pliant.Coupling: parts, connections, simulate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.calls import by_keyword
from pliant.cosim.fmu_part import FmuPart
from pliant.cosim.graph import Connection, PartGraph, loops, needed
from pliant.cosim.master import Master, part_error
from pliant.cosim.model_part import ModelPart
from pliant.cosim.part import Part, PartSettings
from pliant.cosim.power import PowerPair, power_pair
from pliant.cosim.record import CouplingResult, RunAbout
from pliant.cosim.request import (
    CouplingRequest,
    by_part,
    check_order,
    check_run,
    configure,
    degree_of,
    given_inputs,
    macro_step,
    options_by_name,
    part_options,
)
from pliant.errors import ArgumentError, PliantError
from pliant.fmi.description import FmuExperiment
from pliant.fmi.model import FmuModel
from pliant.pickled import Stamped
from pliant.plain import plain
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import SolverOptions, end_of_run
from pliant.solve.progress import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.cosim.ssp.write import Interface


class Coupling(Stamped):
    """Models that are simulated apart, each with a solver of its own, and exchange values at communication points.

    >>> import pliant
    >>> tank = '''
    ... model Tank
    ...   input Real inflow;
    ...   Real level(start = 1, fixed = true);
    ...   output Real outflow = 0.5*level;
    ... equation
    ...   der(level) = inflow - outflow;
    ... end Tank;
    ... '''
    >>> coupling = pliant.Coupling()
    >>> coupling.add("upper", pliant.load(tank))
    >>> coupling.add("lower", pliant.load(tank), parameters={})
    >>> coupling.connect("upper.outflow", "lower.inflow")
    >>> result = coupling.simulate(stop=4, step=0.1, inputs={"upper.inflow": 0.0})
    >>> round(float(result["lower.level"][-1]), 2)
    0.41
    """

    def __init__(self) -> None:
        self._graph = PartGraph()
        self._options: dict[str, dict[str, Any]] = {}
        self._power: list[PowerPair] = []
        self._models: dict[str, Any] = {}

    def __repr__(self) -> str:
        graph = self._graph
        return f"<pliant.Coupling: {len(graph.parts)} parts, {len(graph.connections)} connections>"

    def as_dict(self) -> dict[str, Any]:
        """For machines: parts with what was given for them, and connections, ready for JSON."""
        return {"parts": plain(self._options), "connections": [str(one) for one in self.connections]}

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts, in the order they were added."""
        return tuple(self._graph.parts)

    @property
    def connections(self) -> tuple[Connection, ...]:
        """The connections, in the order they were made; each reads "a.y -> b.u"."""
        return tuple(self._graph.connections)

    @by_keyword
    def add(
        self,
        name: str,
        model: Any,
        *,
        method: str | None = None,
        rtol: float | None = None,
        atol: ArrayLike | None = None,
        at_jump: str | None = None,
        parameters: Mapping[str, float] | None = None,
        start_values: Mapping[str, float] | None = None,
        options: Mapping[str, Any] | SolverOptions | None = None,
    ) -> None:
        """Add a part: a :class:`pliant.Model`, also of an FMU, or anything with the methods of
        ``pliant.cosim.part.Part``.

        The rest holds for this part alone and goes before what ``simulate`` is given; None: as there. ``options`` are
        those of :class:`pliant.SolverOptions`.
        """
        given = {
            "method": method,
            "rtol": rtol,
            "atol": atol,
            "at_jump": at_jump,
            "parameters": parameters,
            "start_values": start_values,
            "options": options,
        }
        own = part_options(name, {key: value for key, value in given.items() if value is not None})
        self._graph.add(self._part(name, model))
        self._options[name] = own
        self._models[name] = model

    @staticmethod
    def _part(name: str, model: Any) -> Part:
        """A part made from whatever was given as a model."""
        numeric = getattr(model, "_numeric", model)
        if isinstance(numeric, FmuModel) and numeric.steps_itself:
            part: Part = FmuPart(name, numeric)
        elif isinstance(numeric, NumericModel):
            part = ModelPart(name, numeric)
        elif isinstance(model, Part):
            part = model
            part.name = name
        else:
            hint = f"pliant.load({str(model)!r}) first" if isinstance(model, (str, Path)) else "give a pliant.Model"
            raise ArgumentError(f"part {name!r}: {type(model).__name__} is no model", hint=hint)
        return part

    @by_keyword
    def connect(self, source: str, target: str) -> None:
        """Connect a variable of one part to an input of another: ``connect("a.y", "b.u")``.

        Any variable that a part computes can be a source. Units must agree where both are known.
        """
        self._graph.connect(source, target)

    @property
    def default_experiment(self) -> FmuExperiment:
        """Start, stop and step that a file proposes; each may be None."""
        return FmuExperiment()

    @by_keyword
    def power(self, *, potential: str, flow: str) -> None:
        """Say that two connected variables carry power: ``power(potential="spring.F", flow="mass.v")``.

        One part gives the potential (force, voltage, pressure), the other gives the flow (speed, current, flow rate)
        back. ``result.energy["spring.F * mass.v"]`` then has the energy that the coupling has created or lost there.
        """
        pair = power_pair(self._graph, potential, flow)
        if pair.name in [one.name for one in self._power]:
            raise ArgumentError(f"{pair.name} is known already", hint="call power() once for each pair")
        self._power.append(pair)

    @property
    def loops(self) -> tuple[tuple[str, ...], ...]:
        """Loops of direct feed-through: the connections of each, solved together at communication points."""
        graph = self._graph
        chosen, wires = graph.wires()
        for part, names in zip(graph.parts.values(), chosen, strict=True):
            part.choose(names)
        found = loops(needed(wires, [part.feedthrough() for part in graph.parts.values()]))
        return tuple(tuple(str(graph.connections[k]) for k in one) for one in found)

    @by_keyword
    def simulate(
        self,
        stop: float | None = None,
        *,
        step: float | str | None = None,
        macro_rtol: float = 1e-3,
        macro_error: str = "extrapolation",
        start: float = 0.0,
        scheme: str = "jacobi",
        extrapolation: int = 1,
        smooth: bool = False,
        at_jump: str = "correct",
        inputs: Any = None,
        parameters: Mapping[str, float] | None = None,
        start_values: Mapping[str, float] | None = None,
        rtol: float = 1e-6,
        atol: ArrayLike | None = None,
        method: str = "bdf",
        options: Mapping[str, Any] | SolverOptions | None = None,
        loops: str = "newton",
        order: Sequence[str] | None = None,
        parallel: bool | None = None,
        points: int | None = None,
        progress: bool | Callable[[Progress], object] | None = None,
        timeout: float | None = None,
        watch: bool = True,
    ) -> CouplingResult:
        """Simulate all parts from ``start`` to ``stop`` with macro steps ``step``; returns a :class:`CouplingResult`.

        step           the macro step, or "auto": chosen by the errors of the inputs
        macro_rtol     error of inputs that "auto" allows, relative to the range of each
        macro_error    of "auto": by "extrapolation", or by "halving": every step is made once more in two halves
        scheme         "jacobi": all parts at once, inputs extrapolated; "gauss-seidel": one after the other (``order``,
                       default as added), later parts interpolate what the earlier ones have computed
        extrapolation  degree 0, 1 or 2 of the input polynomials: errors of order 1, 2, 3 in ``step``
        smooth         inputs without jumps: each polynomial begins where the last one ended
        at_jump        what the solvers do at communication points: "correct" their history (default), "x2", "x1",
                       "proceed" or "restart"
        inputs         values of inputs that are not connected, by "part.name", as those of ``Model.simulate``
        parameters, start_values    by "part.name"
        method, rtol, atol, options     of all parts that have none of their own, as those of ``Model.simulate``
        loops          "newton", "relaxation", or "none": values are passed on without solving loops
        parallel       run parts in threads (Jacobi); None: where it pays. The numbers are the same.
        points         how many communication points to record, evenly spread; None: all of them
        watch          stop with :class:`pliant.AccuracyError` where the coupling grows although its parts do not; it
                       names the signal and what helps
        timeout        seconds after which :class:`pliant.SimulationTimeout` is raised, with the result so far

        The result has the variables of all parts as "part.name", counters of all parts together in ``result.stats`` and
        apart in ``result.parts``. A part that fails stops the others; the error names it and has the result so far.
        """
        graph = self._graph
        if not graph.parts:
            raise ArgumentError("the coupling has no parts", hint="coupling.add('name', model)")
        stop = end_of_run(stop)
        longest, auto = macro_step(step, start, stop)
        run = CouplingRequest(
            start, stop, longest, scheme, extrapolation, smooth, loops, parallel, points, timeout, progress, watch,
            auto, macro_rtol, macro_error,
        )  # fmt: skip
        check_run(run)
        places = check_order(graph, order)
        solver = options_by_name("options", options)
        given = given_inputs(graph, inputs, stop)
        values = by_part(graph, "parameters", parameters)
        starts = by_part(graph, "start_values", start_values)
        for name, part in graph.parts.items():
            common = PartSettings(
                float(start),
                stop=float(stop),
                rtol=rtol,
                atol=atol,
                method=method,
                at_jump=at_jump,
                degree=degree_of(graph, part, run, given),
                parameters=values[name],
                start_values=starts[name],
                options=solver,
            )
            try:
                configure(part, self._options[name], common)
            except PliantError as error:
                raise part_error(name, error, start, None) from error
        asked = {
            "stop": stop, "step": step, "macro_rtol": macro_rtol, "macro_error": macro_error, "start": start,
            "scheme": scheme, "extrapolation": extrapolation,
            "smooth": smooth, "at_jump": at_jump, "rtol": rtol, "atol": atol, "method": method, "loops": loops,
            "parameters": parameters or {}, "start_values": start_values or {}, "options": solver,
            "watch": watch, "parts": self._options,
        }  # fmt: skip
        return Master(graph, run, given, places, rtol, self._power).go(lambda master: self._about(master, asked))

    def _about(self, master: Master, asked: Mapping[str, Any]) -> RunAbout:
        times: NDArray[np.float64] = np.array(master.communication)
        energy = master.meter.energies(times)
        return RunAbout(
            asked, self.connections, times, master.seconds, master.log.record(), energy=energy, warnings=master.told
        )

    @by_keyword
    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the coupling as an .ssp of the standard SSP, with its FMUs, and return its path.

        Models from Modelica are exported as FMUs. What the parts were given (parameters, start values), connections
        and the default experiment are written; methods, tolerances and what ``simulate`` is given are not.
        """
        from pliant.cosim.ssp.write import save_ssp

        return save_ssp(self, path, overwrite, self._interface())

    def _interface(self) -> Interface:
        """What leads in and out."""
        from pliant.cosim.ssp.write import Interface

        return Interface(self._models, self._options)

    def plot(self, file: str | Path | None = None) -> Figure:
        """Draw the parts and their connections; loops of direct feed-through stand out."""
        from pliant.cosim.plot import plot_graph

        return plot_graph(self, file)
