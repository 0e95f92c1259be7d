"""Plan: what ``model.realtime`` gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arguments import by_name
from pliant.calls import by_keyword, by_keyword_class
from pliant.errors import ArgumentError, NotSupportedError, UnknownNameError
from pliant.pickled import Stamped
from pliant.realtime.code.events import check_events
from pliant.realtime.code.make import StepCode
from pliant.realtime.evidence.evidence import Evidence
from pliant.realtime.options import check_number
from pliant.realtime.progress import interruptible
from pliant.realtime.scenario import Scenario, check_whole, make_scenarios
from pliant.realtime.simulate import run_result
from pliant.realtime.sparsing.baselines import Baseline, compare
from pliant.realtime.sparsing.entry_states import Mask
from pliant.realtime.sparsing.linearise import Matrix
from pliant.realtime.stages.called import CalledStep, run_called
from pliant.realtime.stages.outcome import Outcome
from pliant.realtime.stages.request import MOST_NUMBERS
from pliant.realtime.stages.step import drive, fixed_counts, write_code
from pliant.solve.names import suggestion
from pliant.solve.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.batch.progress import StudyProgress
    from pliant.realtime.challenge.found import Challenge
    from pliant.realtime.delivery.measure import Timing
    from pliant.realtime.frontier import Frontier
    from pliant.realtime.target.report import TargetReport

UNMEASURED = "no figures were kept; fewer steps take less time"


@by_keyword_class
class Plan(Stamped):
    """A pattern for the linearly implicit Euler method at one step size, with its evidence and its code.

    mask         (n, n) True where an entry of the Jacobian is kept
    frozen       (n, n) value of an entry that is held at a constant, NaN elsewhere
    entries      non-zeros of L - tau J including the diagonal
    computed     entries of J that every step evaluates; the others are frozen, or made of parameters alone
    lu_entries   the same of its factors in pliant's order
    flops        operations of one factorisation
    colours      directions that a difference Jacobian of this pattern would need
    margin_kept  least share of the stability margin that is kept
    bias         largest error that the pattern is predicted to add, in units of a state's range
    evidence     what was checked, and what was not
    forms        options={"form": "best"}: what each form would cost
    frontier     error against cost, see :class:`pliant.Frontier`; searched for when it is first read
    """

    def __init__(
        self,
        outcome: Outcome,
        *,
        evidence: Evidence,
        code: StepCode | None = None,
        called: CalledStep | None = None,
        forms: tuple[str, ...] = (),
        seconds: Mapping[str, float] | None = None,
        climb: Callable[[Plan], Frontier] | None = None,
    ) -> None:
        self.outcome, self.evidence = outcome, evidence
        self._code = code
        self.called = called  # how the functions of a model without equations are called
        self.step = outcome.request.step
        self.timing: Timing | None = None  # of the last measurement
        self.forms = forms
        self.seconds = dict(seconds or {})  # that each stage took
        self._climb = climb  # how the frontier is searched for
        self._frontier: Frontier | None = None

    # --------------------------------------------------------------------------------------------- figures

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.outcome.model.name

    @property
    def names(self) -> tuple[str, ...]:
        """Names of rows and columns."""
        return self.outcome.frame.names

    @cached_property
    def mask(self) -> Mask:
        """(n, n) True where an entry of the Jacobian is kept."""
        frame, mask = self.outcome.frame, self.outcome.mask
        out: Mask = np.zeros((frame.n, frame.n), dtype=bool)
        out[frame.rows[mask], frame.columns[mask]] = True
        return out

    @cached_property
    def frozen(self) -> Matrix:
        """(n, n) value of an entry that is held at a constant, NaN elsewhere."""
        frame, states = self.outcome.frame, self.outcome.states
        out: Matrix = np.full((frame.n, frame.n), np.nan)
        out[frame.rows[states.frozen], frame.columns[states.frozen]] = states.constants[states.frozen]
        return out

    @property
    def computed(self) -> int:
        """Entries of J that every step evaluates."""
        return int(self.outcome.price.moving(self.outcome.states).sum())

    @property
    def full_computed(self) -> int:
        """The same with all entries."""
        return int((~self.outcome.price.constant).sum())

    @property
    def entries(self) -> int:
        """Non-zeros of L - tau J including the diagonal."""
        return len(self.outcome.elimination.entries)

    @property
    def full_entries(self) -> int:
        """Non-zeros of L - tau Df including the diagonal."""
        return len(self.outcome.full.entries)

    @property
    def lu_entries(self) -> int:
        """Non-zeros of the factors."""
        return self.outcome.elimination.lu_entries

    @property
    def flops(self) -> int:
        """Operations of one factorisation."""
        return self.outcome.elimination.factor_flops

    @property
    def colours(self) -> int:
        """Colours of the pattern."""
        return self.outcome.colours

    @property
    def margin_kept(self) -> float:
        """Least (1 - rho sparsed)/(1 - rho exact)."""
        return self.evidence.margin_kept

    @property
    def bias(self) -> float:
        """Largest predicted error in units of a state's range."""
        return self.evidence.bias

    def __repr__(self) -> str:
        full, verdict = self.outcome.full, "holds" if self.evidence.holds else "DOES NOT HOLD"
        if not self.names:
            return f"<pliant.Plan {self.name!r}, step {self.step:g}: no states, a plain evaluation; {verdict}>"
        return (
            f"<pliant.Plan {self.name!r}, step {self.step:g}: {self.entries} of {len(full.entries)} entries, LU "
            f"{self.lu_entries} of {full.lu_entries}, {self.flops} of {full.factor_flops} operations, {self.colours} "
            f"of {self.outcome.full_colours} colours; margin kept {self.margin_kept:.3f}, bias {100 * self.bias:.2g} "
            f"%, {verdict}>"
        )

    @property
    def summary(self) -> str:
        """The plan in a few lines."""
        o, e = self.outcome, self.evidence
        full, n = o.full, o.frame.n
        measured = max((float(one.max()) for one in e.measured), default=0.0)
        first = f"{self.name}: {n} unknowns, step {self.step:g} s, {len(o.exact)} scenarios"
        lines = [
            f"{first}, {e.n_points} linearisations",
            f"  entries of L - tau J     {self.full_entries:6d} -> {self.entries}",
            f"  of J, evaluated a step   {self.full_computed:6d} -> {self.computed}{self._frozen_text}",
            f"  entries of L and U       {full.lu_entries:6d} -> {self.lu_entries}",
            f"  factorisation, flops     {full.factor_flops:6d} -> {self.flops}",
            f"  colours                  {o.full_colours:6d} -> {self.colours}",
            f"  stability margin kept    {self.margin_kept:6.3f}",
            *self._loop_lines,
            f"  error added              {100 * self.bias:6.2f} % predicted, {100 * measured:.2f} % measured",
        ]
        lines = lines if n else [f"{first}; a step is a plain evaluation"]
        lines += [f"  {'error of the run':<24} {self.accuracy_text}"]
        lines += [f"    {'or' if k else 'try'} {one.text}" for k, one in enumerate(e.proposals)]
        lines += [] if e.holds else ["  THE EVIDENCE DOES NOT HOLD: " + "; ".join(e.failing)]
        if n and o.request.options.search == "full":
            lines.append("  no search was asked for: the plan keeps all entries")
        elif n and o.mask.all():
            lines.append("  no entry may go under this tolerance and margin: the plan keeps them all")
        lines += [f"  form {one}" for one in self.forms]
        return "\n".join(lines)

    @property
    def _loop_lines(self) -> list[str]:
        """Loops through samplers, where there are any."""
        e = self.evidence
        if e.loop_radius is None:
            return []
        return [
            f"  loops through samplers   {e.loop_radius_exact:6.3f} -> {e.loop_radius:.3f} largest |eigenvalue| over a "
            f"period, margin kept {e.loop_margin:.3f}"
        ]

    @property
    def _frozen_text(self) -> str:
        count = int(self.outcome.states.frozen.sum())
        return f", {count} frozen" if count else ""

    @property
    def accuracy_text(self) -> str:
        """The largest error against accurate runs, in words."""
        e = self.evidence
        worst = e.worst
        if worst is None:
            return "not known: no accurate run to compare with"
        limit = e.limits[worst]
        told = "not judged" if limit is None else f"{100 * limit:.3g} % allowed"
        return f"{100 * e.errors[worst]:6.2f} % of the range of {worst}, against accurate simulations; {told}"

    def as_dict(self, baselines: bool = False) -> dict[str, Any]:
        """For machines: figures, evidence, pattern, timing."""
        o = self.outcome
        out: dict[str, Any] = {
            "model": self.name,
            "step": self.step,
            "entries": self.entries,
            "full_entries": self.full_entries,
            "computed": self.computed,
            "full_computed": self.full_computed,
            "lu_entries": self.lu_entries,
            "full_lu_entries": o.full.lu_entries,
            "flops": self.flops,
            "full_flops": o.full.factor_flops,
            "colours": self.colours,
            "full_colours": o.full_colours,
            "margin_kept": self.margin_kept,
            "bias": self.bias,
            "holds": self.evidence.holds,
            "error": None if self.evidence.worst is None else self.evidence.errors[self.evidence.worst],
            "names": list(self.names),
            "kept": [[int(i), int(j)] for i, j in np.argwhere(self.mask)],
            "frozen": [[i, j, value] for (i, j), value in sorted(self.outcome.held_entries.items())],
            "evidence": self.evidence.as_dict(),
            "seconds": self.seconds,
            "forms": list(self.forms),
        }
        if baselines:
            out["baselines"] = [
                {key: value for key, value in vars(one).items() if key != "mask"} for one in self.baselines()
            ]
        if self._frontier is not None:
            out["frontier"] = self._frontier.as_dict()
        if self.timing is not None:
            out["timing"] = {
                key: value for key, value in self.timing.as_dict().items() if not key.startswith("histogram")
            }
        return out

    @by_keyword
    def why(self, row: str, column: str) -> str:
        """Why an entry was kept or dropped, in words.

        row, column: names of the state whose equation it is, and of the state it depends on.
        """
        frame = self.outcome.frame
        for name in (row, column):
            if not isinstance(name, str) or name not in frame.names:
                raise UnknownNameError(f"the plan has no state {name!r}", hint=suggestion(str(name), frame.names))
        here = np.flatnonzero((frame.rows == frame.names.index(row)) & (frame.columns == frame.names.index(column)))
        if len(here) == 0:
            return f"the equation of {row} does not depend on {column}"
        return self.reason(int(here[0]))

    def reason(self, k: int) -> str:
        """Why entry number k of the Jacobian was kept or dropped."""
        decision = self.outcome.found.decisions.get(k)
        if decision is None:
            return "stayed: it was not asked for (no search, or a protected row)"
        words = {
            "bias": "the error that would be added",
            "singular": "the step could not be solved",
            "radius": "the stability margin",
            "ringing": "numerical ringing",
            "shift": "the change of an eigenvalue",
            "loops": "the decay of the algebraic equations' errors",
        }[decision.test]
        many = f"with {decision.size - 1} others" if decision.size > 1 else "alone"
        value = "no finite value" if not np.isfinite(decision.value) else f"{decision.value:.3g} of what is allowed"
        states = self.outcome.states
        verb = "stayed: refused" if decision.kept else "went"
        if states.frozen[k]:
            verb = f"is frozen at {states.constants[k]:.6g}, chosen"
        return f"{verb} {many} ({decision.move}); {words}: {value} at t = {decision.time:g}"

    # -------------------------------------------------------------------------------------------- frontier

    @property
    def frontier(self) -> Frontier:
        """Error against cost: plans between this one and all entries. They are searched for when it is first read,
        which takes some times as long as the plan itself."""
        if self._frontier is None:
            assert self._climb is not None, "plans are made by model.realtime"
            self._frontier = self._climb(self)
        return self._frontier

    def keep_frontier(self, found: Frontier) -> None:
        """The frontier that this plan was chosen from."""
        self._frontier = found

    def choose(self, k: int) -> Plan:
        """The plan of row k of the frontier."""
        found = self.frontier
        chosen = found.plan(k)
        chosen.keep_frontier(found)
        return chosen

    # ------------------------------------------------------------------------------------------------ code

    @cached_property
    def code(self) -> StepCode:
        """The step as C text, with exact operation counts and memory."""
        return self._code or write_code(self.outcome)

    @by_keyword
    def simulate(
        self,
        stop: float | None = None,
        *,
        start: float = 0.0,
        inputs: Any = None,
        parameters: Mapping[str, float] | None = None,
        start_values: Mapping[str, float] | None = None,
        precision: str | None = None,
        kind: str = "",
    ) -> Result:
        """Run the generated step over any scenario and return a :class:`pliant.Result` with every step.

        stop        end of the run, after a whole number of steps; None: that of the plan's scenarios
        precision   "float" or "double", by default the plan's
        kind        "full": with all entries, "guarded": with fallback (both need monitor="fallback")

        Of a model without equations (an FMU, a C file, a function) the step calls its functions: that of an FMU inside
        its host. ``result.stats`` counts the evaluations; kind "full" is there to compare with.
        """
        if not isinstance(kind, str) or kind not in ("", "full", "guarded"):
            raise ArgumentError(f"kind {kind!r} is not known", hint='"" (the step), "full" or "guarded"')
        if self.outcome.model.equations is None:
            check_called(self.name, precision, kind)
        elif kind and not self.code.options.fallback:
            raise ArgumentError(
                f"the plan has no step of kind {kind!r}", hint="plan with options={'monitor': 'fallback'}"
            )
        if not (precision is None or (isinstance(precision, str) and precision in ("double", "float"))):
            raise ArgumentError(f"precision {precision!r} is not known", hint='"double" or "float"')
        given = stop is not None
        if stop is None:
            stop = max(one.stop for one in self.outcome.request.scenarios if one.stop is not None)
        scenario = make_scenarios(
            Scenario(
                inputs=inputs,
                parameters=by_name("parameters", parameters),
                start_values=by_name("start_values", start_values),
                start=start,
            ),
            check_number("stop", stop, -np.inf, np.inf, "the end of the run"),
        )[0]
        assert scenario.stop is not None
        rows = (scenario.stop - scenario.start) / self.step
        if rows * (len(self.names) + 2) > MOST_NUMBERS:
            raise ArgumentError(
                f"{rows:.3g} steps of {len(self.names)} unknowns do not fit into memory: every step is kept",
                hint="an earlier stop, then continue with start_values= from its end; or run the written code",
            )
        if self.outcome.model.equations is not None:
            check_events(self.outcome.model.equations.sorted, self.step, start)
        if given:
            check_whole(rows, scenario, self.step)
        if self.outcome.model.equations is None:
            shared = self.called is not None and self.called.shared
            return run_called(self.outcome, scenario, kind or ("shared" if shared else "masked"))
        code = self.code
        if precision not in (None, code.precision):
            code = write_code(self.outcome, precision, *fixed_counts(code))
        return run_result(
            self.outcome.model, drive(code, self.outcome.model, scenario, kind, self.outcome.request.options.inputs)
        )

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page: pattern, eigenvalues, errors, criteria, timing, evidence."""
        from pliant.realtime.report.page import write_report  # pages are for those who ask for them

        code = self.code if self.can_write else None
        return write_report(self, path, timing=self.timing, code=code, frontier=self._frontier)

    def plot(self, file: str | Path | None = None) -> Figure:
        """Pattern, eigenvalues and error in one picture; ``file``: save it there."""
        from pliant.realtime.plot import plot_plan

        return plot_plan(self, file)

    @by_keyword
    def write(self, directory: str | Path, *, overwrite: bool = False) -> Path:
        """Write C sources, header, build files, a self-test with a stored trajectory, a README and the evidence."""
        from pliant.realtime.delivery.write import write_plan

        return write_plan(self, directory, overwrite=overwrite)

    @by_keyword
    def export_fmu(
        self,
        path: str | Path,
        *,
        version: str = "3.0",
        platforms: Sequence[str] | None = None,
        sources: bool = True,
        overwrite: bool = False,
    ) -> Path:
        """Write the step as an FMU for co-simulation, and return its path.

        version    of FMI: "3.0" or "2.0"
        platforms  e.g. ["x86_64-linux", "x86_64-windows"]; None: this machine. Others need the package ziglang.
        sources    with all C files; overwrite: an FMU of that name is replaced

        Communication steps are whole numbers of the plan's step. Inputs hold through a communication step, and clocks
        at its end see those that the importer sets there.
        """
        from pliant.realtime.delivery.fmu import export_plan

        return export_plan(self, path, version, platforms, sources, overwrite)

    @by_keyword
    def measure(
        self,
        steps: int | None = None,
        *,
        target: str | None = None,
        precision: str | None = None,
        timeout: float = 120.0,
        progress: Callable[[float], object] | None = None,
        period: float | None = None,
        core: int | None = None,
    ) -> Timing | TargetReport:
        """How much a step costs: time on this computer, or instructions and memory on a target.

        steps      steps to make; None: a million here, a thousand on a target
        target     None: run the step here in a real-time loop and report how long steps take: the worst one defines the
                   deadline (a :class:`Timing`). "cortex-m7", "aarch64" or "riscv64": build it for this processor and
                   run it on an emulator (a :class:`TargetReport`)
        precision  of the step on the target, "float" or "double"; None: that of the plan
        timeout    seconds that a program may run on the emulator
        period     seconds between two steps; None: as short as is useful, because a million steps of 1 ms take long
        core       processor to stay on; None: chosen
        """
        if target is not None:
            if period is not None or core is not None:
                raise ArgumentError(
                    "period and core are for measuring on this computer", hint="leave them out with target="
                )
            from pliant.realtime.target.measure import measure_on_target

            with interruptible(f"{self.name}: measuring", UNMEASURED):
                return measure_on_target(self, target, precision=precision, steps=steps, timeout=timeout)
        if precision is not None:
            raise ArgumentError("precision is for measuring on a target", hint="plan with options={'precision': ...}")
        from pliant.realtime.delivery.measure import WANTED, measure_plan

        with interruptible(f"{self.name}: measuring", UNMEASURED):
            self.timing = measure_plan(self, WANTED if steps is None else steps, progress, period=period, core=core)
        return self.timing

    @by_keyword
    def challenge(
        self,
        n: int = 1000,
        *,
        scenarios: Any = None,
        seed: int = 1,
        workers: int | None = None,
        progress: bool | Callable[[StudyProgress], object] | None = None,
    ) -> Challenge:
        """Run scenarios that the plan has not seen, and compare each with an accurate run (a :class:`Challenge`).

        n          how many are drawn where scenarios= are not given
        scenarios  :class:`pliant.Scenarios`, or a list as for ``model.realtime``; None: drawn around what the plan
                   covers: two of three within its ranges of inputs and of the parameters and start values that its
                   scenarios vary, the third up to half their width beyond
        seed       another seed, other scenarios
        workers    processes; None: one for each core
        progress   True, False, or a function; None: a bar on a terminal when it takes longer than a second

        ``found.missed``: beyond the accuracy and no flag; ``found.false_alarms``: covered, an error below half of what
        is allowed, and a flag; ``found.unsolvable``: the model itself cannot be simulated there.
        """
        from pliant.realtime.challenge.run import challenge

        return challenge(self, n, scenarios, seed, workers, progress)

    @property
    def can_write(self) -> bool:
        """Is the model made of equations, so that C can be written?"""
        return self.outcome.model.equations is not None

    def baselines(self) -> list[Baseline]:
        """Other methods of choosing a pattern, measured on the same linearisations."""
        return compare(self.outcome.points, self.outcome.request.rule, list(self.outcome.found.training))


def check_called(name: str, precision: str | None, kind: str) -> None:
    """What a step by calls of the model's functions cannot do."""
    if kind == "guarded":
        raise NotSupportedError(
            f"{name}: a model without equations has no code, and so no fallback", hint='kind="full", or none'
        )
    if precision == "float":
        raise NotSupportedError(
            f"{name}: a model without equations computes in double precision", hint="leave precision out"
        )
