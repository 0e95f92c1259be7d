"""Model: what can be done with a model, whatever it was made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from pliant.arguments import by_name
from pliant.calls import by_keyword, by_keyword_class
from pliant.errors import NotSupportedError
from pliant.jacobian.quality import Quality
from pliant.pickled import Stamped
from pliant.plain import plain
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import SolverOptions, check_request
from pliant.solve.progress import Progress
from pliant.solve.results.result import Result, VariableInfo
from pliant.solve.run.jacobian import Jacobian, check_jacobian, jacobian_at
from pliant.solve.run.operating import Linearization, SteadyState, linearize, steady_state
from pliant.solve.run.simulate import simulate
from pliant.solve.signals.given import read_inputs
from pliant.solve.start.explained import Start
from pliant.structure.report import Structure

if TYPE_CHECKING:
    from pliant.batch.progress import StudyProgress
    from pliant.batch.study import Study
    from pliant.fmi.info import FmuInfo
    from pliant.realtime.options import RealtimeOptions
    from pliant.realtime.plan import Plan
    from pliant.realtime.progress import PlanProgress


#: variables up to which all of them are described at once
DESCRIBED_AT_ONCE = 10_000


@by_keyword_class
class Model(Stamped):
    """A model ready to be simulated, whatever it was made from.

    Made by :func:`pliant.load`, :func:`pliant.ode` and :func:`pliant.native`.
    """

    def __init__(self, numeric: NumericModel, *, structure: Structure | None = None) -> None:
        self._numeric = numeric
        self._structure = structure
        self._last_start: Start | None = None

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._numeric.name

    @property
    def variables(self) -> Mapping[str, VariableInfo]:
        """Everything known about each variable: kind, type, unit, start, nominal, min, max, description, place."""
        found = self._numeric.known.variables
        return dict(found) if len(found) <= DESCRIBED_AT_ONCE else found

    @property
    def structure(self) -> Structure:
        """What became of the equations of a Modelica model: states, blocks, loops; see :class:`pliant.Structure`."""
        if self._structure is None:
            raise NotSupportedError(
                f"{self.name}: the equations are not known: the model is {self._numeric.described_as}, not a text",
                hint="model.structure is for models loaded from Modelica",
            )
        return self._structure

    @property
    def code(self) -> str:
        """The C text that was made from a Modelica model."""
        if self._numeric.equations is None:
            raise NotSupportedError(
                f"{self.name}: pliant made no C text for this model",
                hint="model.code is for models loaded from Modelica",
            )
        return self._numeric.equations.text

    @property
    def last_start(self) -> Start | None:
        """How the last simulation of a Modelica model found its start values; None before, and for other models.

        Where several threads use the model, ``result.start`` says it for one run.
        """
        return self._last_start

    @property
    def fmu(self) -> FmuInfo:
        """What an FMU is: version, kinds, capabilities, default experiment, warnings; see :class:`pliant.FmuInfo`."""
        if self._numeric.fmu is None:
            raise NotSupportedError(f"{self.name} is no FMU", hint="model.fmu is for models loaded from an .fmu file")
        found: FmuInfo = self._numeric.fmu
        return found

    def close(self) -> None:
        """End the processes of an FMU and remove what was unpacked; other models have nothing to end."""
        self._numeric.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def as_dict(self) -> dict[str, Any]:
        """For machines: the name, and what is known of every variable, ready for JSON."""
        return {"name": self.name, "variables": plain(self.variables)}

    def __repr__(self) -> str:
        n = self._numeric.names
        parts = [f"{sum(not name.startswith('$') for name in n.x)} states"]
        parts += [
            f"{len(names)} {what}" for names, what in ((n.u, "inputs"), (n.p, "parameters"), (n.y, "outputs")) if names
        ]
        return f"<pliant.Model {self.name!r}: {', '.join(parts)}>"

    def _shaped(self, parameters: Mapping[str, Any] | None) -> NumericModel:
        return self._numeric.shaped_for(by_name("parameters", parameters))

    def _shaped_for(self, parameters: Mapping[str, Any] | None, inputs: Any) -> tuple[NumericModel, Any]:
        if inputs is None or not self._numeric.shaped_by_inputs:
            return self._shaped(parameters), inputs
        given = read_inputs(inputs)
        return self._numeric.shaped_for(by_name("parameters", parameters), tuple(given)), given

    @by_keyword
    def simulate(
        self,
        stop: float | None = None,
        *,
        start: float | None = None,
        method: str = "auto",
        rtol: float = 1e-6,
        atol: ArrayLike | None = None,
        points: int | ArrayLike | None = 500,
        step: float | None = None,
        inputs: Any = None,
        parameters: Mapping[str, float] | None = None,
        start_values: Mapping[str, float] | None = None,
        outputs: Sequence[str] | None = None,
        options: Mapping[str, Any] | SolverOptions | None = None,
        progress: bool | Callable[[Progress], object] | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Simulate from ``start`` to ``stop`` and return a :class:`pliant.Result`.

        stop        None: that of the default experiment of an FMU; without one it must be given.
        start       None: that of the default experiment, else 0. Its step and tolerance are not used.
        method      "auto" (BDF, handing over to Radau5 where it fails), "bdf", "radau5", "dopri5", and with a
                    fixed ``step`` "lieuler", "euler" and "rk4".
        rtol, atol  tolerances; atol is one number or one per state, by default 0.01 * rtol * nominal (nominal 1 if
                    the model has none).
        points      number of equidistant outputs, an array of times, or None for every step. Outputs come from the
                    dense output and never change the steps.
        inputs      by name a number, a function of time, a pair (times, values), the path of a CSV or Parquet file, a
                    pandas or Arrow table, or :class:`pliant.Segments`; or one file or table with a column for each
                    input. A time that occurs twice in a table is a jump. See docs/inputs.md.
        outputs     names of what is recorded, ``*`` for any text and ``?`` for any letter; None: all variables.
        options     see :class:`pliant.SolverOptions`.
        progress    True, False, a function that receives :class:`pliant.Progress`, or None: a bar appears on a
                    terminal when a run takes longer than a second.
        timeout     seconds after which :class:`pliant.SimulationTimeout` is raised, with the result so far.

        >>> import pliant
        >>> decay = pliant.ode(lambda t, x: -x, [1.0])
        >>> result = decay.simulate(stop=1.0, rtol=1e-8)
        >>> round(float(result["x[0]"][-1]), 6)
        0.367879
        """
        numeric, inputs = self._shaped_for(parameters, inputs)
        request = check_request(
            numeric,
            start=start,
            stop=stop,
            method=method,
            rtol=rtol,
            atol=atol,
            points=points,
            step=step,
            parameters=by_name("parameters", parameters),
            start_values=by_name("start_values", start_values),
            outputs=outputs,
            options=options,
            timeout=timeout,
        )
        result = simulate(numeric, request, inputs, progress)
        self._last_start = result.start
        return result

    @by_keyword
    def simulate_many(
        self,
        cases: Any,
        *,
        stop: float | None = None,
        keep: Any = None,
        workers: int | None = None,
        executor: Any = None,
        save: Any = None,
        case_timeout: float | None = None,
        progress: bool | Callable[[StudyProgress], object] | None = None,
        start: float | None = None,
        method: str = "auto",
        rtol: float = 1e-6,
        atol: ArrayLike | None = None,
        points: int | ArrayLike | None = 500,
        step: float | None = None,
        inputs: Any = None,
        parameters: Mapping[str, float] | None = None,
        start_values: Mapping[str, float] | None = None,
        outputs: Sequence[str] | None = None,
        options: Mapping[str, Any] | SolverOptions | None = None,
        timeout: float | None = None,
    ) -> Study:
        """Simulate many cases, on all cores or on a cluster, and return a :class:`pliant.Study`.

        cases         mappings with the keys of :class:`pliant.Scenario`; or a table (pandas, Arrow, a design of
                      :mod:`pliant.design`, the path of a CSV or Parquet file) whose columns are parameters, constant
                      inputs, "start(x)", "stop" and "name".
        keep          of each case: None, the Result; "final", the final values by name; names, a Result with these
                      variables; or a function of the Result.
        workers       how many; None: one for each core.
        executor      "threads", "processes", any ``concurrent.futures.Executor``; None: threads for models from
                      equations, processes for others.
        save          a folder that keeps the study; the same call goes on where an interrupted one stopped.
        case_timeout  seconds after which a case is given up.
        progress      True, False, a function, or None: a bar on a terminal.
        The other arguments are those of :meth:`simulate`, for all cases.

        A case that fails is its error object in its place: ``study[k]``, ``study.failures``.

        >>> import pliant
        >>> model = pliant.load("model M\\n parameter Real k = 1; Real x(start = 1, fixed = true);\\n"
        ...                     "equation\\n der(x) = -k*x;\\nend M;\\n")
        >>> study = model.simulate_many(pliant.design.grid({"k": [1.0, 2.0, 3.0]}), stop=1.0, keep="final")
        >>> [round(one["x"], 3) for one in study]
        [0.368, 0.135, 0.05]
        """
        from pliant.batch.simulate_many import simulate_many

        return simulate_many(
            self,
            cases,
            keep=keep,
            workers=workers,
            executor=executor,
            save=save,
            case_timeout=case_timeout,
            progress=progress,
            shared={
                "stop": stop,
                "start": start,
                "method": method,
                "rtol": rtol,
                "atol": atol,
                "points": points,
                "step": step,
                "inputs": inputs,
                "parameters": parameters,
                "start_values": start_values,
                "outputs": outputs,
                "options": options,
                "timeout": timeout,
            },
        )

    @by_keyword
    def linearize(
        self,
        t: float = 0.0,
        *,
        x: Mapping[str, float] | ArrayLike | None = None,
        inputs: Any = None,
        parameters: Mapping[str, float] | None = None,
    ) -> Linearization:
        """Linearise at time t: matrices A, B, C, D with the names of states, inputs and outputs.

        x: states as a mapping, those not named at their start values, or in order; None: the model's start values,
        initial equations solved.

        >>> import pliant
        >>> model = pliant.ode(lambda t, x: [x[1], -4 * x[0]], [1.0, 0.0], names=["x", "v"])
        >>> model.linearize().eigenvalues.imag.round(6)
        array([ 2., -2.])
        """
        return linearize(self._shaped(parameters), t, x, inputs, by_name("parameters", parameters))

    @by_keyword
    def jacobian(
        self,
        t: float = 0.0,
        *,
        x: Mapping[str, float] | ArrayLike | None = None,
        inputs: Any = None,
        parameters: Mapping[str, float] | None = None,
        rtol: float = 1e-6,
        atol: ArrayLike | None = None,
        options: Mapping[str, Any] | SolverOptions | None = None,
    ) -> Jacobian:
        """df/dx at a point as the solver would take it; see :class:`pliant.Jacobian`.

        x        states as a mapping or in order; None: the model's start values, initial equations solved.
        options  as those of simulate: ``jacobian`` is the source, ``increments`` the rule, and so on.

        >>> import pliant
        >>> model = pliant.ode(lambda t, x: [x[0] * x[1], -x[1]], [1e-9, 2e6], names=["a", "b"])
        >>> found = model.jacobian()
        >>> found.source, found.colours
        ('differences', 2)
        >>> round(found.matrix[0, 0])
        2000000
        """
        given = inputs, by_name("parameters", parameters)
        return jacobian_at(self._shaped(parameters), t, x, given, (rtol, atol), options)

    @by_keyword
    def check_jacobian(
        self,
        t: float = 0.0,
        *,
        x: Mapping[str, float] | ArrayLike | None = None,
        inputs: Any = None,
        parameters: Mapping[str, float] | None = None,
        rtol: float = 1e-6,
        atol: ArrayLike | None = None,
        options: Mapping[str, Any] | SolverOptions | None = None,
    ) -> Quality:
        """Compare the sources of the Jacobian at a point, and name what is wrong; see :class:`pliant.Quality`.

        Flags entries that the differences miss, increments that are too large or too small, states whose differences
        are not exact (Sterbenz' condition), noise, kinks and jumps of f. Arguments as those of :meth:`jacobian`.
        Takes some twenty evaluations of f for each state.

        >>> import pliant
        >>> model = pliant.ode(lambda t, x: [abs(x[0]) - x[1], -x[1]], [0.0, 1.0], names=["a", "b"])
        >>> [finding.kind for finding in model.check_jacobian().findings]
        ['kink']
        """
        given = inputs, by_name("parameters", parameters)
        return check_jacobian(self._shaped(parameters), t, x, given, (rtol, atol), options)

    @by_keyword
    def realtime(
        self,
        step: float = 1e-3,
        *,
        stop: float = 1.0,
        tolerance: float = 0.02,
        theta: float = 0.5,
        order: int = 1,
        scenarios: Any = None,
        options: Mapping[str, Any] | RealtimeOptions | None = None,
        progress: bool | Callable[[PlanProgress], object] | None = None,
        accuracy: float | Mapping[str, float | None] | None = 0.05,
        judged: Sequence[str] | None = None,
        budget: float | None = None,
    ) -> Plan:
        """Plan a real-time step: find which Jacobian entries can be dropped, and check that it stays stable.

        step        step size of the linearly implicit Euler method in seconds
        stop        end of the scenarios
        tolerance   error that dropping entries may add, in units of each state's range over the scenarios
        theta       share of the stability margin that must be kept
        order       1, or 2: two half steps, extrapolated
        scenarios   list of mappings with inputs, parameters, start_values, stop; by default one run as the model stands
        options     see :class:`pliant.RealtimeOptions`
        progress    True, False, or a function; None: a bar on a terminal when it takes longer than a second
        accuracy    error against an accurate run beyond which the evidence does not hold, as a share of a name's range
                    over the scenarios, moved by up to one step in time; a number, a mapping by name, None: not judged
        judged      names that this applies to; None: all states and declared outputs
        budget      instructions of a step, counted on this computer without elementary functions: of the plans within
                    the tolerance that need no more, the one that adds the least error; None: the cheapest

        >>> import pliant
        >>> model = pliant.load('''
        ... model Tanks
        ...   Real a(start = 1, fixed = true), b(start = 0, fixed = true), level(start = 0, fixed = true);
        ... equation
        ...   der(a) = -1000*(a - b);
        ...   der(b) = 1000*(a - b) - 500*(b - sin(time));
        ...   der(level) = 1e-3*a - 0.1*level;
        ... end Tanks;
        ... ''')
        >>> plan = model.realtime(step=0.01, stop=10)
        >>> plan.entries < plan.full_entries, plan.evidence.violators
        (True, 0)
        """
        from pliant.realtime.build import make_plan
        from pliant.realtime.progress import PlanReporter

        with PlanReporter(progress) as reporter:
            return make_plan(
                self._numeric,
                report=reporter.report,
                step=step,
                stop=stop,
                tolerance=tolerance,
                theta=theta,
                order=order,
                scenarios=scenarios,
                options=options,
                accuracy=accuracy,
                judged=judged,
                budget=budget,
            )

    @by_keyword
    def export_fmu(
        self,
        path: str | Path,
        *,
        version: str = "3.0",
        kind: str = "both",
        solver: str = "bdf",
        at_jump: str = "correct",
        rtol: float = 1e-6,
        platforms: Sequence[str] | None = None,
        sources: bool = True,
        overwrite: bool = False,
    ) -> Path:
        """Write a model from Modelica as an FMU, and return its path.

        version    of FMI: "3.0" or "2.0"
        kind       "model-exchange", "co-simulation", or "both" in one FMU; solver: inside, "bdf" or "radau5"
        at_jump    what happens to the history of BDF where inputs jump, as in :class:`pliant.SolverOptions`
        rtol       tolerance of the solver inside, where the importer asks for none
        platforms  e.g. ["x86_64-linux", "x86_64-windows"]; None: this machine. Others need the package ziglang.
        sources    with all C files; overwrite: an FMU of that name is replaced
        """
        from pliant.export.fmu import check_export, export_fmu

        inside: dict[str, Any] = {"kind": kind, "solver": solver, "at_jump": at_jump, "rtol": rtol}
        files: dict[str, Any] = {"platforms": platforms, "sources": sources, "overwrite": overwrite}
        return export_fmu(self._numeric, check_export(path, version=version, **files, **inside))

    @by_keyword
    def steady_state(
        self,
        inputs: Any = None,
        *,
        parameters: Mapping[str, float] | None = None,
        start_values: Mapping[str, float] | None = None,
    ) -> SteadyState:
        """The state where every derivative is zero, searched from the start values: all variables by name.

        >>> import pliant
        >>> model = pliant.ode(lambda t, x: [3.0 - x[0] ** 2], [1.0])
        >>> round(model.steady_state()["x[0]"], 6)
        1.732051
        """
        return steady_state(
            self._shaped(parameters), inputs, by_name("parameters", parameters), by_name("start_values", start_values)
        )
