"""What was checked about a pattern, over which states, inputs and parameters, and what was not.

Evidence, not proof: eigenvalues were looked at where the scenarios led, windows along their trajectories. The text is
to be filed by people who sign for safety; every number in it is also a field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.errors import NotSupportedError, PliantError
from pliant.realtime.accept import Checker
from pliant.realtime.bias import largest, predicted_error
from pliant.realtime.build import Outcome
from pliant.realtime.certificates import Lyapunov, Windows, best_lyapunov, infinity_bound, windows
from pliant.realtime.code import EVENT_ROUNDS, NEWTON_STEPS, RELATION_PASSES, Drive, drive, outputs_apart, write_code
from pliant.realtime.covered import input_range
from pliant.realtime.differenced import DIFFERENCED, differenced_radius
from pliant.realtime.linearise import Mask, Matrix, Trace, Walker
from pliant.realtime.proposals import Proposal
from pliant.realtime.static_lu import Quality, quality
from pliant.realtime.stepmap import masked as masked_part
from pliant.realtime.stepmap import step_map
from pliant.realtime.stepper.make import StepCode
from pliant.realtime.verdict import EVALUATION, accuracy_line, compiled_line, conclude, missing_line
from pliant.solve.generated import GeneratedModel

BASE = 12  # linearisations that a common norm is made from
SHOWN = 10  # ranges that are printed; the file has them all
LOOP_SHARE = 0.05  # of the tolerance: what unfinished iterations of loops may add
HIDDEN = 1e-3  # growth per step that is told of where the step damps it
SAME = {"double": 1e-6, "float": 1e-3}  # differences between compiled step and analysis, of the ranges


@dataclass(frozen=True)
class Item:
    """One thing that was looked at."""

    name: str
    holds: bool | None  # None: told, not judged
    text: str


@dataclass(eq=False)
class Evidence:
    """Numbers and words about a plan."""

    n_points: int = 0
    n_masked_points: int = 0
    violators: int = 0
    radius: float = 0.0
    radius_exact: float = 0.0
    margin_kept: float = 1.0
    shift: float = 0.0  # largest change of an eigenvalue in units of what is allowed
    smallest_real: float = 0.0
    predicted: list[Matrix] = field(default_factory=list)  # largest error per state, of each scenario, units of range
    measured: list[Matrix] = field(default_factory=list)
    reference: list[Matrix | None] = field(default_factory=list)  # sparsed run against an accurate one
    reference_exact: list[Matrix | None] = field(default_factory=list)  # run with all entries against an accurate one
    infinity: float = np.inf
    lyapunov: Lyapunov | None = None
    window: Windows | None = None
    true_radius: float = 0.0  # of the differenced step
    double: Quality | None = None
    single: Quality | None = None
    constraint: float | None = None  # largest residual of algebraic equations, of the largest term
    unstable_exact: int = 0
    accuracy: float | Mapping[str, float | None] | None = None  # as it was asked for; None: not judged
    judged: tuple[str, ...] = ()
    errors: dict[str, float] = field(default_factory=dict)  # against accurate runs, shares of the ranges
    limits: dict[str, float | None] = field(default_factory=dict)  # what is allowed; None: not judged
    proposals: tuple[Proposal, ...] = ()  # settings that were tried and reach the accuracy
    code_difference: float | None = None  # of the compiled step from the runs of the analysis, in units of the ranges
    items: list[Item] = field(default_factory=list)
    covered: list[str] = field(default_factory=list)  # scenarios with their inputs, then ranges of all states
    runs: list[str] = field(default_factory=list)  # scenarios alone
    ranges: list[tuple[str, float, float]] = field(default_factory=list)  # inputs, then states of large errors first
    not_checked: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Did everything that was judged hold?"""
        return all(one.holds is not False for one in self.items)

    @property
    def failing(self) -> list[str]:
        """What does not hold."""
        return [one.name for one in self.items if one.holds is False]

    @property
    def worst(self) -> str | None:
        """The name whose error against accurate runs is largest in units of what is allowed; None: none is known."""
        if not self.errors:
            return None
        judged = {name: error / (self.limits.get(name) or np.inf) for name, error in self.errors.items()}
        return max(self.errors, key=lambda name: (judged[name], self.errors[name]))

    @property
    def bias(self) -> float:
        """Largest predicted error over all scenarios and states, in units of the range."""
        return max((float(one.max()) for one in self.predicted), default=0.0)

    @property
    def text(self) -> str:
        """For the file: everything."""
        return self._told(self.covered)

    def _told(self, covered: list[str]) -> str:
        mark = {True: "holds", False: "DOES NOT HOLD", None: "noted"}
        lines = ["What was checked"]
        lines += [f"  [{mark[one.holds]}] {one.name}: {one.text}" for one in self.items]
        lines += ["", "Over which states, inputs and parameters", *(f"  {one}" for one in covered)]
        lines += ["", "What was not checked", *(f"  - {one}" for one in self.not_checked)]
        return "\n".join(lines) + "\n"

    @property
    def short(self) -> str:
        """What was checked, without the ranges of the states."""
        lines = self.text.splitlines()
        return "\n".join(lines[: lines.index("")])

    def __str__(self) -> str:
        """For the screen: of long lists what matters most."""
        runs = [*self.runs[:SHOWN], *([f"and {len(self.runs) - SHOWN} more scenarios"] if self.runs[SHOWN:] else [])]
        ranges = [f"{name}: {low:.6g} .. {high:.6g}" for name, low, high in self.ranges[:SHOWN]]
        if self.ranges[SHOWN:]:
            ranges.append(f"and {len(self.ranges) - SHOWN} more ranges, in evidence.text and in the written folder")
        return self._told([*runs, *ranges])

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        out: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("n_points", "n_masked_points", "violators", "radius", "radius_exact", "margin_kept", "shift")
        }
        out |= {"smallest_real": self.smallest_real, "bias": self.bias, "holds": self.holds}
        out["gamma"] = None if self.lyapunov is None else self.lyapunov.gamma
        out["window"] = None if self.window is None else {"steps": self.window.length, "bound": self.window.bound}
        out["accuracy"] = self.accuracy
        out |= {"judged": list(self.judged), "errors": self.errors, "limits": self.limits}
        out["proposals"] = [one.as_dict() for one in self.proposals]
        out["items"] = [{"name": one.name, "holds": one.holds, "text": one.text} for one in self.items]
        out["covered"], out["not_checked"] = self.covered, self.not_checked
        return json.loads(json.dumps(out, default=float))  # type: ignore[no-any-return]


@dataclass
class _Compared:
    """The compiled step against the runs of the analysis."""

    worst: float = 0.0  # difference of a state, in units of its range
    flagged: int = 0  # steps with a flag of the monitor
    other: int = 0  # steps after which a discrete variable differs
    runs: list[Drive] = field(default_factory=list)  # of the compiled step


class Collector:
    """Gathers the evidence of an outcome."""

    def __init__(self, outcome: Outcome, report: Callable[[float, str], object]) -> None:
        self.o, self.report = outcome, report
        self.frame, self.mask = outcome.frame, outcome.mask
        self.e = Evidence()
        self.code: StepCode | None = None

    def run(self) -> Evidence:
        """Everything, in the order of the text."""
        if not self.frame.n:
            return self._evaluation()
        self._eigenvalues()
        self.report(0.2, "errors")
        self._errors()
        self._accuracy()
        self.report(0.5, "pivots")
        self._pivots()
        if self.o.request.options.certificate:
            self.report(0.6, "common norms")
            self._norms()
        self.report(0.9, "the step itself")
        self._derivative()
        self._constraints()
        self.report(0.95, "generated code")
        self._generated()
        self._coverage()
        return self.e

    def _evaluation(self) -> Evidence:
        """A model without states: nothing is integrated, a step is a plain evaluation at its time."""
        self.e.n_points, self.e.n_masked_points = len(self.o.points), len(self.o.masked_points)
        self._judged(*EVALUATION)
        for k, (exact, masked) in enumerate(zip(self.o.exact, self.o.masked, strict=True)):
            self._reference(k, exact, masked)
        self._accuracy()
        self.report(0.9, "generated code")
        self._generated()
        self._coverage()
        return self.e

    def _judged(self, name: str, holds: bool | None, text: str) -> None:
        self.e.items.append(Item(name, holds, text))

    # ------------------------------------------------------------------------------------------ eigenvalues

    def _eigenvalues(self) -> None:
        e, rule = self.e, self.o.request.rule
        e.smallest_real = np.inf
        total = 0
        for points in (self.o.points, self.o.masked_points):
            checker = Checker(points, rule)
            outside = points.outside
            e.unstable_exact += int(outside.sum())
            if self.mask.all():  # nothing is changed: what differs is rounding
                e.radius = max(e.radius, float(points.radius.max()))
                e.smallest_real = min(e.smallest_real, float(points.eigenvalues.real.min()))
                e.radius_exact = max(e.radius_exact, float(points.radius.max()))
                continue
            for p in range(len(points)):
                found = checker.spectrum(p, self.mask)
                verdict = checker.judge(p, self.mask)
                total += not verdict.accepted and verdict.test != "bias"  # of that the runs themselves tell
                radius = np.inf if found is None else float(np.abs(found).max())
                e.radius = max(e.radius, radius)
                if not outside[p]:
                    margin, rounding = 1.0 - float(points.radius[p]), float(points.rounding[p])
                    e.margin_kept = min(e.margin_kept, (1.0 - radius + rounding) / margin)
                if verdict.test == "shift":
                    e.shift = max(e.shift, verdict.value)
                if found is not None:
                    e.smallest_real = min(e.smallest_real, float(found.real.min()))
            e.radius_exact = max(e.radius_exact, float(points.radius.max()))
        e.n_points, e.n_masked_points = len(self.o.points), len(self.o.masked_points)
        e.violators = total
        n = e.n_points + e.n_masked_points
        self._judged(
            "stability of every linearisation",
            total == 0,
            f"{n - total} of {n} linearisations ({e.n_points} with the exact Jacobian, {e.n_masked_points} of runs "
            f"with the pattern) pass; largest |eigenvalue| {e.radius:.6f} (exact Jacobian {e.radius_exact:.6f})",
        )
        self._judged(
            "stability margin",
            e.margin_kept >= rule.theta,
            f"{e.margin_kept:.3f} of 1 - max |eigenvalue| is kept at the worst point, {rule.theta:g} was asked for",
        )
        self._judged(
            "changes of single eigenvalues",
            e.shift <= 1.0 + 1e-9,
            f"the largest is {e.shift:.3f} of what is allowed ((1 - theta) of its own distance to the unit circle)",
        )
        self._judged(
            "ringing",
            e.smallest_real >= min(rule.smallest_real, -1e-9) - 1e-9 or total == 0,
            f"smallest real part of an eigenvalue {e.smallest_real:.3f}",
        )
        if e.unstable_exact:
            self._judged(
                "growth of the model itself",
                None,
                f"{e.unstable_exact} linearisations have an eigenvalue on or outside the unit circle with the exact "
                "Jacobian too: there the model itself does not decay",
            )
        hidden, fastest = self._hidden_growth()
        if hidden:
            self._judged(
                "growth that the step hides",
                None,
                f"{hidden} linearisations have a mode that grows in the model (by up to e^{fastest:.3g} per step) "
                "and decays in the step; only a smaller step would show it",
            )

    def _hidden_growth(self) -> tuple[int, float]:
        """Linearisations with Re(tau lambda) > 0 but |1 - tau lambda| > 1, and the largest such real part."""
        found = self.o.points.eigenvalues
        if self.frame.order != 1 or not found.size:
            return 0, 0.0
        known = np.abs(found) > 1e-9  # the others belong to algebraic unknowns or decay at once
        rate = (1.0 - 1.0 / np.where(known, found, 1.0)).real
        grows = known & (np.abs(found) < 1.0 - 1e-9) & (rate > HIDDEN)
        return int(np.count_nonzero(grows.any(axis=1))), float(rate[grows].max(initial=0.0))

    # ----------------------------------------------------------------------------------------------- errors

    def _errors(self) -> None:
        o, e, frame = self.o, self.e, self.frame
        names = frame.names
        for k, (exact, masked) in enumerate(zip(o.exact, o.masked, strict=True)):
            predicted = largest(predicted_error(frame, exact, self.mask), frame)
            measured = largest(masked.x - exact.x, frame)
            e.predicted.append(predicted)
            e.measured.append(measured)
            worst, i = int(np.argmax(predicted)), int(np.argmax(measured))
            self._judged(
                f"error added by the pattern, {exact.scenario.name}",
                bool(measured.max() <= 1.5 * max(o.request.rule.tolerance, 1e-12)) or bool(self.mask.all()),
                f"predicted {100 * predicted[worst]:.3g} % of the range of {names[worst]}, measured "
                f"{100 * measured[i]:.3g} % of {names[i]}; tolerance {100 * o.request.rule.tolerance:g} %",
            )
            self._reference(k, exact, masked)

    def _reference(self, k: int, exact: Trace, masked: Trace) -> None:
        """One scenario against its accurate run."""
        e, judge = self.e, self.o.judge
        e.reference.append(None)
        e.reference_exact.append(None)
        if judge is None:
            return
        run = judge.runs[k]
        if isinstance(run, PliantError):
            grows = bool(e.unstable_exact or self._hidden_growth()[0])
            self._judged(*missing_line(exact.scenario.name, run, grows))
            return
        e.reference[k] = largest(masked.x - run.x, self.frame)
        e.reference_exact[k] = largest(exact.x - run.x, self.frame)
        line = accuracy_line(self.o, k, e.errors)
        if line is not None:
            self._judged(*line)

    def _accuracy(self) -> None:
        self.report(0.4, "accuracy")
        line = conclude(self.o, self.e)
        if line is not None:
            self._judged(*line)

    # ----------------------------------------------------------------------------------------------- pivots

    def _pivots(self) -> None:
        o, e, frame = self.o, self.e, self.frame
        values = np.concatenate([o.points.values, o.masked_points.values])
        matrices = frame.mass - frame.tau * frame.dense(np.where(self.mask, values, 0.0))
        right = np.random.default_rng(0).standard_normal((len(values), frame.n))
        e.double = quality(o.elimination, matrices, right, np.float64)
        e.single = quality(o.elimination, matrices, right, np.float32)
        for name, one, limit in (("double", e.double, 1e-9), ("single", e.single, 1e-2)):
            used = o.request.options.precision == ("float" if name == "single" else "double")
            self._judged(
                f"pivots without search, {name} precision",
                bool(one.error <= limit) if used else None,
                f"smallest pivot {one.smallest_pivot:.2g} of its row ({frame.names[one.pivot_name]}), growth "
                f"{one.growth:.3g}, error of a solution {one.error:.1g}, condition {one.condition:.2g}",
            )

    # ------------------------------------------------------------------------------------------------ norms

    def _norms(self) -> None:
        o, e, frame = self.o, self.e, self.frame
        checker = Checker(o.points, o.request.rule)
        maps = [checker.step_map(p, self.mask) for p in range(len(o.points))]
        if any(one is None for one in maps):
            return
        stack = np.array(maps)
        scale = np.where(np.isfinite(frame.scale), frame.scale, 1.0)
        sizes = np.maximum(np.max([np.abs(one.x).max(axis=0) for one in o.exact], axis=0), 1e-12 * scale)
        e.infinity = infinity_bound(stack, sizes)
        if e.infinity < 1.0:
            self._judged(
                "largest norm", True, f"no step enlarges a disturbance relative to the states: {e.infinity:.5f}"
            )
        e.lyapunov = best_lyapunov(stack, (scale, sizes), o.points.farthest(BASE))
        if e.lyapunov is None:
            self._judged(
                "common Lyapunov function",
                None,
                "none: a linearisation does not decay by itself, or the model is large",
            )
            return
        found = e.lyapunov.found
        self._judged(
            "common Lyapunov function",
            True if found else None,
            f"every step decays by {e.lyapunov.gamma:.5f} in one quadratic norm, in any order of the {len(stack)} "
            "linearisations"
            if found
            else f"none was found (best bound {e.lyapunov.gamma:.3f} per step); that none exists is not shown",
        )
        for exact, masked in zip(o.exact, o.masked, strict=True):
            if len(masked.kept) < len(masked.t):
                continue
            self._windows(exact.scenario.name, masked, e.lyapunov.T)

    def _windows(self, name: str, masked: Trace, T: Matrix) -> None:
        frame = self.frame

        def map_of(k: int) -> Matrix:
            values = masked.values[k]
            return step_map(frame, masked_part(frame, values, self.mask), frame.dense(values))

        found = windows(map_of, len(masked.t), T)
        if found is None:
            self._judged(f"transition windows, {name}", None, "the run is too short for windows")
            return
        if self.e.window is None or (found.length or 10**9) > (self.e.window.length or 10**9):
            self.e.window = found
        self._judged(
            f"transition windows, {name}",
            True if found.length else None,
            f"disturbances along this run have decayed to {found.bound:.2f} after {found.length} steps from every "
            f"start, and never grew beyond {found.peak:.3g} before (in the common norm, looked at every 25 steps)"
            if found.length
            else f"over a quarter of the run disturbances shrink only to {found.bound:.3g}",
        )

    # ------------------------------------------------------------------------------------- the step itself

    def _derivative(self) -> None:
        """Ss leaves out that J changes with x; differences of the step itself do not."""
        o, e = self.o, self.e
        e.true_radius = self._differenced_radius(o.masked, self.mask)
        holds, words = e.true_radius < 1.0 + 1e-6, ""
        if not holds:  # of the method, or of the pattern?
            exact = e.true_radius if self.mask.all() else self._differenced_radius(o.exact, None)
            words = f" (with all entries {exact:.6f})"
            method = exact >= 1.0 + 1e-6 and e.true_radius <= 1.5 * exact
            if method and not e.unstable_exact:
                words += ": the method itself is not stable there, a smaller step may help"
        self._judged(
            "derivative of the step itself",
            True if holds else None if e.unstable_exact or method else False,
            f"largest |eigenvalue| {e.true_radius:.6f}, with the change of J by x, differenced at "
            f"{DIFFERENCED} points of each run{words}",
        )

    def _differenced_radius(self, runs: list[Trace], mask: Mask | None) -> float:
        walker = Walker(self.o.model, self.frame.tau, self.frame.order)
        return differenced_radius(walker, self.frame, [one.scenario for one in self.o.exact], runs, mask)

    def _constraints(self) -> None:
        """Algebraic equations are not met any more where their rows lost entries."""
        o, frame = self.o, self.frame
        rows = np.flatnonzero(frame.algebraic)
        if len(rows) == 0:
            return
        worst = {}
        walker = Walker(o.model, frame.tau)
        for name, runs in (("with all entries", o.exact), ("with the pattern", o.masked)):
            residual, terms = np.zeros(frame.n), np.full(frame.n, 1e-300)
            for s, run in enumerate(runs):
                walker.begin(o.exact[s].scenario)
                for k in np.linspace(len(run.t) // 10, len(run.t) - 1, 60).astype(int):
                    f, values = walker.evaluate(float(run.t[k]), run.x[k + 1])
                    terms = np.maximum(terms, np.abs(frame.dense(values) * run.x[k + 1]).max(axis=1))
                    residual = np.maximum(residual, np.abs(f))
            worst[name] = float((residual / terms)[rows].max())
        self.e.constraint = worst["with the pattern"]
        self._judged(
            "algebraic equations",
            None,
            f"largest residual {worst['with the pattern']:.1g} of the largest term (with all entries "
            f"{worst['with all entries']:.1g}); protected rows keep theirs",
        )

    # ------------------------------------------------------------------------------------------------- code

    def _generated(self) -> None:
        """The compiled step against the runs of this analysis: same states, no flag of its monitor."""
        o, e = self.o, self.e
        if not isinstance(o.model, GeneratedModel):
            return
        options = o.request.options
        loops = any(block.kind == "nonlinear" for block in o.model.generated.program.loops)
        limit = SAME[options.precision]
        if loops:
            limit = max(limit, LOOP_SHARE * o.request.rule.tolerance)
        try:
            code, found = self._written(loops, o.model.has_memory, limit)
        except NotSupportedError as error:
            self._judged("generated code", None, f"cannot be written: {error.message}")
            return
        self.code, e.code_difference = code, found.worst
        same = found.worst <= limit
        if options.precision == "float" and (line := compiled_line(o, found.runs, e.errors)) is not None:
            self._judged(*line)
            same |= line[1] is True
        how = f", {code.options.newton_steps} Newton iterations per loop" * loops
        how += f", switches inside loops settled in {code.options.relation_passes}" * bool(code.options.relation_passes)
        how += f", {code.options.event_rounds} rounds of events" * (code.options.event_rounds > 1)
        what = "runs of this analysis" if code.n_x else "outputs of the model"
        self._judged(
            "generated code",
            same,
            f"the compiled step ({code.style}, {code.precision}{how}) gives the {what} "
            f"within {found.worst:.1g} of the ranges; its monitor raised a flag in {found.flagged} steps"
            + (f"; discrete variables differ in {found.other} steps" if found.other else "")
            + ("" if same else self._advice(loops)),
        )

    def _written(self, loops: bool, events: bool, limit: float) -> tuple[StepCode, _Compared]:
        """The step with as few iterations and rounds as give the runs of the analysis; the best there is if none do."""
        options = self.o.request.options
        best: tuple[StepCode, _Compared] | None = None
        for rounds in EVENT_ROUNDS if events and options.event_rounds is None else (options.event_rounds,):
            code, found = self._with_rounds(rounds, loops, limit)
            if best is not None and (found.other >= best[1].other or found.worst > max(limit, best[1].worst)):
                break
            best = code, found
            if not found.other:
                break
        assert best is not None
        return best

    def _with_rounds(self, rounds: int | None, loops: bool, limit: float) -> tuple[StepCode, _Compared]:
        """The same for one number of rounds."""
        options = self.o.request.options
        tried: list[tuple[StepCode, _Compared]] = []
        for passes in RELATION_PASSES if options.relation_passes is None else (options.relation_passes,):
            for count in NEWTON_STEPS if loops and options.newton_steps is None else (options.newton_steps,):
                code = write_code(self.o, None, count, rounds, passes)
                tried.append((code, self._compared(code, limit)))
                if tried[-1][1].worst <= limit:
                    return tried[-1]
            if not code.relations:
                break
        return min(tried, key=lambda one: one[1].worst)

    def _advice(self, loops: bool) -> str:
        if loops:
            return "; form='dae' or more newton_steps may help where loops are nonlinear"
        if self.o.request.options.precision == "float":
            return "; states that change by less than their last digit in a step need precision='double'"
        return ""

    def _compared(self, code: StepCode, limit: float) -> _Compared:
        """The compiled step along all scenarios, beside the runs with the pattern."""
        o, out = self.o, _Compared()
        seen = [k for k, name in enumerate(code.memories) if not name.startswith("$")]
        for k, masked in enumerate(o.masked):
            run = drive(code, o.model, o.request.scenarios[k], inputs=o.request.options.inputs)
            out.runs.append(run)
            with np.errstate(all="ignore"):
                difference = np.abs(run.x - masked.x).max(axis=0) / self.frame.scale
            out.worst = max(out.worst, float(np.nan_to_num(difference, nan=np.inf).max(initial=0.0)))
            if not self.frame.n:  # what a step gives are its outputs alone
                out.worst = max(out.worst, outputs_apart(run, code))
            out.flagged += 0 if run.flags is None else int(np.count_nonzero(run.flags))
            if seen:
                wanted = masked.memories[:, seen]
                same = np.abs(run.memories[1:, seen] - wanted) <= limit * np.abs(wanted).max(axis=0)
                out.other += int(np.count_nonzero(~same.all(axis=1)))
        return out

    # --------------------------------------------------------------------------------------------- coverage

    def _coverage(self) -> None:
        o, e, names = self.o, self.e, self.o.model.names.u
        bounds = []
        for exact in o.exact:
            scenario = exact.scenario
            given = ", ".join(f"{name} = {value:g}" for name, value in scenario.parameters.items()) or "the defaults"
            low, high = input_range(Walker(o.model, self.frame.tau), scenario)
            bounds.append((low, high))
            inputs = ", ".join(
                f"{name} = {low[j]:.6g}" + (f" .. {high[j]:.6g}" if high[j] > low[j] else "")
                for j, name in enumerate(names)
            )
            e.runs.append(
                f"{scenario.name}: t = {scenario.start:g} .. {exact.t[-1]:g}, {len(exact.t)} steps of "
                f"{o.request.step:g}; parameters: {given}"
            )
            e.covered.append(f"{e.runs[-1]}; inputs: {inputs or 'the model has none'}")
        low = np.min([one.x.min(axis=0) for one in o.exact], axis=0)
        high = np.max([one.x.max(axis=0) for one in o.exact], axis=0)
        states = list(zip(self.frame.names, low.tolist(), high.tolist(), strict=True))
        e.covered += [f"{name}: {low:.6g} .. {high:.6g}" for name, low, high in states]
        seen = np.array(bounds)  # (runs, 2, inputs)
        e.ranges += zip(names, seen[:, 0].min(axis=0).tolist(), seen[:, 1].max(axis=0).tolist(), strict=True)
        # states of the largest errors first, those that are not judged last
        e.ranges += sorted(states, key=lambda one: -e.errors.get(one[0], -1.0))
        e.not_checked += [
            "states, inputs and parameters outside the ranges above, and combinations that no scenario met",
            "linearisations between the checked ones (a sample of the steps was looked at, windows look at all)",
            "that eigenvalues inside the unit circle at every step make the whole run decay: only a common Lyapunov "
            "function or the windows say so, where they hold",
            "the model itself: whether its equations describe the plant",
            "the target: timing there, its compiler, its arithmetic beyond the precision named above",
        ]
        if isinstance(o.model, GeneratedModel) and o.model.generated.program.sorted.checks:
            e.not_checked.append("assertions of the model: accurate simulations heed them, the generated code does not")
        if isinstance(o.model, GeneratedModel) and o.model.has_memory:
            e.not_checked.append(
                "the loop closed through sampled equations and when-clauses: every linearisation holds discrete "
                "variables, only the runs show what they do; events between steps take place at the end of the step"
            )
        if self.e.lyapunov is None or not self.e.lyapunov.found:
            e.not_checked.append("arbitrary sequences of the linearisations: no common Lyapunov function is known")
