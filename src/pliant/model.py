"""Model and load: where the packages are combined."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.arguments import as_names, by_name
from pliant.calls import by_keyword, by_keyword_class
from pliant.codegen.emit import generate
from pliant.errors import ArgumentError, ModelError, NotSupportedError
from pliant.frontend.classes import is_text
from pliant.frontend.rumoca.read import read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.ir import SortedSystem
from pliant.jacobian.quality import Quality
from pliant.pickled import Stamped
from pliant.plain import plain
from pliant.solve.models.generated import GeneratedModel
from pliant.solve.models.native import load_native
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import SolverOptions, check_request
from pliant.solve.progress import Progress
from pliant.solve.results.result import Result, VariableInfo
from pliant.solve.run.jacobian import Jacobian, check_jacobian, jacobian_at
from pliant.solve.run.operating import Linearization, SteadyState, linearize, steady_state
from pliant.solve.run.simulate import simulate
from pliant.solve.start.explained import Start
from pliant.structure.options import StructureOptions, structure_options
from pliant.structure.pipeline import sort_system
from pliant.structure.report import Structure

if TYPE_CHECKING:
    from pliant.batch.progress import StudyProgress
    from pliant.batch.study import Study
    from pliant.realtime.options import RealtimeOptions
    from pliant.realtime.plan import Plan
    from pliant.realtime.progress import PlanProgress
    from pliant.solve.models.function import Function


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
    def variables(self) -> dict[str, VariableInfo]:
        """Everything known about each variable: kind, type, unit, start, nominal, min, max, description, place."""
        return dict(self._numeric.known.variables)

    @property
    def structure(self) -> Structure:
        """What became of the equations of a Modelica model: states, blocks, loops; see :class:`pliant.Structure`."""
        if self._structure is None:
            raise NotSupportedError(
                f"{self.name}: the equations are not known, because the model is a function, not a text with equations",
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

    @by_keyword
    def simulate(
        self,
        stop: float | None = None,
        *,
        start: float = 0.0,
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

        method      "auto" (BDF, handing over to Radau5 where it fails), "bdf", "radau5", "dopri5", and with a
                    fixed ``step`` "lieuler", "euler" and "rk4".
        rtol, atol  tolerances; atol is one number or one per state, by default 0.01 * rtol * nominal (nominal 1 if
                    the model has none).
        points      number of equidistant outputs, an array of times, or None for every step. Outputs come from the
                    dense output and never change the steps.
        inputs      by name a number, a function of time, a pair (times, values), the path of a CSV or Parquet file, a
                    pandas or Arrow table, or :class:`pliant.Segments`; or one file or table with a column for each
                    input. A time that occurs twice in a table is a jump. See docs/inputs.md.
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
        request = check_request(
            self._numeric,
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
        result = simulate(self._numeric, request, inputs, progress)
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
        start: float = 0.0,
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
        return linearize(self._numeric, t, x, inputs, by_name("parameters", parameters))

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
        return jacobian_at(self._numeric, t, x, (inputs, by_name("parameters", parameters)), (rtol, atol), options)

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
        return check_jacobian(self._numeric, t, x, (inputs, by_name("parameters", parameters)), (rtol, atol), options)

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
            )

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
            self._numeric, inputs, by_name("parameters", parameters), by_name("start_values", start_values)
        )


@by_keyword
def ode(
    f: Function,
    x0: ArrayLike,
    *,
    jac: Callable[[float, NDArray[np.float64]], Any] | None = None,
    mass: Any = None,
    pattern: Any = None,
    roots: Any = None,
    names: Sequence[str] | None = None,
    nominal: ArrayLike | None = None,
) -> Model:
    """A model from a Python function: ``mass @ x' = f(t, x)``, ``x(start) = x0``.

    f        returns the n derivatives; ``x`` is a read-only view that is only valid during the call.
    jac      ``jac(t, x)``, dense or scipy.sparse; None: differences.
    mass     constant matrix, dense, sparse or a vector for the diagonal; may be singular (index 1).
    pattern  structural non-zeros of df/dx (any matrix): makes large systems sparse and differences cheap; it is
             checked now and then. "detect": found by probing f around x0.
    roots    root functions g(t, x): functions, with SciPy's ``direction`` and ``terminal`` attributes if wanted, or
             :class:`pliant.Root` objects, which can also set new states.
    nominal  typical sizes of the states: one number or one per state.

    >>> import pliant
    >>> ball = pliant.ode(lambda t, x: [x[1], -9.81], [1.0, 0.0], names=["h", "v"],
    ...                   roots=pliant.Root(lambda t, x: x[0], direction=-1, terminal=True))
    >>> result = ball.simulate(stop=2.0)
    >>> round(result.events[0].time, 4)
    0.4515
    """
    from pliant.solve.models.function import function_model  # needs scipy, which is slow to load

    return Model(function_model(f, x0, jac=jac, mass=mass, pattern=pattern, roots=roots, names=names, nominal=nominal))


@by_keyword
def native(path: str | Path, *, defines: Mapping[str, object] | None = None) -> Model:
    """A model from a C file that defines ``const pl_model pliant_model`` (see ``pliant.h``).

    The file is compiled with the system's C compiler and cached by content; ``defines`` are passed as -D.
    """
    return Model(load_native(path, defines=defines))


@by_keyword
def load(
    source: str | Path,
    *,
    name: str | None = None,
    path: Sequence[str | Path] | None = None,
    tear: Sequence[str] | None = None,
    options: Mapping[str, Any] | StructureOptions | None = None,
) -> Model:
    """Load a model: a Modelica file, directory or text, or a C file (see :func:`native`).

    A text is a string with a line break, or one of the form ``model M ... end M;``.

    name     the class to load, by default the last one of the file; names inside libraries work too.
    path     folders with libraries, by default those of the environment variable MODELICAPATH.
    tear     names of variables to be torn in their algebraic loops, before pliant's own choice.
    options  see :class:`pliant.StructureOptions`, e.g. ``{"form": "dae"}``.

    >>> import pliant
    >>> model = pliant.load('''
    ... model Cooling
    ...   parameter Real k = 0.5;
    ...   Real T(start = 90, fixed = true);
    ... equation
    ...   der(T) = -k*(T - 20);
    ... end Cooling;
    ... ''')
    >>> round(float(model.simulate(stop=2.0, rtol=1e-8)["T"][-1]), 4)
    45.7516
    """
    check_source(source, name)
    text = str(source)
    if is_modelica(source):
        return load_modelica(source, name, path, tear, options)
    if text.endswith(".fmu"):
        raise NotSupportedError("FMUs cannot be read yet", hint="use Modelica text, pliant.ode or pliant.native")
    if not text or not Path(text).exists():
        raise ModelError(f"there is no file {text}" if text else "the source is empty", hint=source_hint(text, name))
    if text.endswith(".c"):
        if name is not None or path is not None or tear is not None or options is not None:
            raise ArgumentError(
                f"{text}: name, path, tear and options are for Modelica models", hint="leave them out for a C file"
            )
        return native(text)
    raise ArgumentError(f"{text}: this kind of file is not supported", hint="give a .mo or a .c file")


@by_keyword
def inspect(
    source: str | Path,
    *,
    name: str | None = None,
    path: Sequence[str | Path] | None = None,
    tear: Sequence[str] | None = None,
    options: Mapping[str, Any] | StructureOptions | None = None,
) -> Structure:
    """The structure of a Modelica model, without making a simulation of it: no C compiler is needed.

    Arguments as those of :func:`load`. It also works for models that this version cannot simulate yet.

    >>> import pliant
    >>> found = pliant.inspect('model M\\n  Real x(start = 1);\\nequation\\n  der(x) = -x;\\nend M;')
    >>> [state.name for state in found.states]
    ['x']
    """
    check_source(source, name)
    if not is_modelica(source):
        if not str(source) or not Path(source).exists():
            raise ModelError(
                f"there is no file {source}" if str(source) else "the source is empty",
                hint=source_hint(str(source), name),
            )
        raise NotSupportedError(
            f"{source}: the equations are not known, because this is no Modelica text",
            hint="give a .mo file, the folder of a package, or a text",
        )
    chosen = structure_options(options)
    return Structure(sorted_model(source, name, path, tear, chosen), form=chosen.form)


def check_source(source: Any, name: Any) -> None:
    """Refuse what is neither a text nor a path, and names that are none."""
    if not isinstance(source, (str, Path)):
        raise ArgumentError(
            f"the source must be a path or a Modelica text, not {source!r}", hint='e.g. pliant.load("circuit.mo")'
        )
    if not (name is None or (isinstance(name, str) and name)):
        raise ArgumentError(f"name must be the name of a class, not {name!r}", hint="None for the last one of the file")


def source_hint(text: str, name: str | None) -> str:
    """What may have been meant by something that is no file."""
    if re.fullmatch(r"\w+(\.\w+)+", text) and name is None:
        return f'check the path; a class of a library is given by its name: pliant.load("\\n", name="{text}")'
    return "check the path; a Modelica text must contain a line break, or be of the form `model M ... end M;`"


def is_modelica(source: str | Path) -> bool:
    """A text, a .mo file or a folder."""
    text = str(source)
    return is_text(source) or text.endswith(".mo") or (bool(text) and Path(text).is_dir() and not text.endswith(".fmu"))


def sorted_model(
    source: str | Path,
    name: str | None,
    path: Sequence[str | Path] | None,
    tear: Sequence[str] | None,
    options: StructureOptions,
) -> SortedSystem:
    """Modelica text through the symbolic packages: front end, structure."""
    torn = [] if tear is None else as_names("tear", tear)
    system = scalarize(read(source, name, path), fold_parameters=options.fold_parameters)
    return sort_system(system, options, torn)


def load_modelica(
    source: str | Path,
    name: str | None,
    path: Sequence[str | Path] | None,
    tear: Sequence[str] | None,
    options: Mapping[str, Any] | StructureOptions | None,
) -> Model:
    """Modelica text through all packages: front end, structure, code, compiler."""
    chosen = structure_options(options)
    found = sorted_model(source, name, path, tear, chosen)
    numeric = GeneratedModel.compile(generate(found, chosen.form), found.system.digest)
    return Model(numeric, structure=Structure(found, form=chosen.form))
