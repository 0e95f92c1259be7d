"""Stage "evidence": a pattern with its runs and its compiled step -> what holds, what does not, what is only reported.

Nothing is chosen, tuned or compiled here: evidence judges what it is given. Errors against accurate runs and the
compiled step are worded in verdict.py, ranges that the runs went through in covered.py.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.errors import PliantError
from pliant.realtime.evidence.certificates import best_lyapunov, infinity_bound, windows
from pliant.realtime.evidence.differenced import differenced_points, differenced_radius
from pliant.realtime.evidence.evidence import Evidence, EvidenceItem
from pliant.realtime.sparsing.accept import Checker
from pliant.realtime.sparsing.bias import largest, predicted_error
from pliant.realtime.sparsing.entry_states import Kept
from pliant.realtime.sparsing.linearisations import LARGE
from pliant.realtime.sparsing.linearise import Matrix, Trace, Walker
from pliant.realtime.sparsing.static_lu import quality
from pliant.realtime.sparsing.stepmap import step_map
from pliant.realtime.stages.covered import add_coverage
from pliant.realtime.stages.float_range import float_line
from pliant.realtime.stages.outcome import Outcome
from pliant.realtime.stages.period import sampled_lines
from pliant.realtime.stages.tune import Tuned
from pliant.realtime.stages.verdict import (
    EVALUATION,
    accuracy_line,
    code_lines,
    conclude,
    delay_line,
    missing_line,
)

BASE = 12  # linearisations that a common norm is made from
HIDDEN = 1e-3  # growth per step that is told of where the step damps it


def judge_pattern(outcome: Outcome, tuned: Tuned, report: Callable[[float, str], object]) -> Evidence:
    """All evidence for or against a pattern and its compiled step."""
    return Checks(outcome, tuned, report).run()


class Checks:
    """One check after the other, each adds its lines."""

    def __init__(self, outcome: Outcome, tuned: Tuned, report: Callable[[float, str], object]) -> None:
        self.o, self.tuned, self.report = outcome, tuned, report
        self.frame, self.states = outcome.frame, outcome.states
        self.e = Evidence()

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
        if self.o.request.options.certificate and self.frame.n > LARGE:
            self._judged("common Lyapunov function", None, f"not looked for beyond {LARGE} unknowns")
        elif self.o.request.options.certificate:
            self.report(0.6, "common norms")
            self._norms()
        self.report(0.9, "the step itself")
        self._derivative()
        self._sampled()
        if (line := delay_line(self.o)) is not None:
            self._judged(*line)
        self._constraints()
        return self._coded()

    def _evaluation(self) -> Evidence:
        """A model without states: nothing is integrated, a step is a plain evaluation at its time."""
        self.e.n_points, self.e.n_masked_points = len(self.o.points), len(self.o.masked_points)
        self._judged(*EVALUATION)
        for k, (exact, masked) in enumerate(zip(self.o.exact, self.o.masked, strict=True)):
            self._reference(k, exact, masked)
        self._accuracy()
        return self._coded()

    def _coded(self) -> Evidence:
        """The compiled step, and what the runs went through."""
        if self.o.request.options.precision == "float" and (line := float_line(self.o)) is not None:
            self._judged(*line)
        for line in code_lines(self.o, self.tuned, self.e):
            self._judged(*line)
        add_coverage(self.o, self.e)
        return self.e

    def _judged(self, name: str, holds: bool | None, text: str) -> None:
        self.e.items.append(EvidenceItem(name, holds, text))

    # ------------------------------------------------------------------------------------------ eigenvalues

    def _eigenvalues(self) -> None:
        e, rule = self.e, self.o.request.rule
        e.smallest_real = np.inf
        total = 0
        for points in (self.o.points, self.o.masked_points):
            checker = Checker(points, rule)
            outside = points.outside
            e.unstable_exact += int(outside.sum())
            if self.states.all_computed:  # nothing is changed: what differs is rounding
                e.radius = max(e.radius, float(points.radius.max()))
                e.smallest_real = min(e.smallest_real, float(points.eigenvalues.real.min()))
                e.radius_exact = max(e.radius_exact, float(points.radius.max()))
                continue
            checker.prepare(self.states)
            for p in range(len(points)):
                verdict = checker.judge(p, self.states)
                found = checker.spectrum(p, self.states)  # that of the verdict
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
            f"{e.margin_kept:.3f} of 1 - max |eigenvalue| is kept at the worst point, {rule.theta:g} is required",
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
            predicted = largest(predicted_error(frame, exact, self.states), frame)
            measured = largest(masked.x - exact.x, frame)
            e.predicted.append(predicted)
            e.measured.append(measured)
            worst, i = int(np.argmax(predicted)), int(np.argmax(measured))
            self._judged(
                f"error added by the pattern, {exact.scenario.name}",
                bool(measured.max() <= 1.5 * max(o.request.rule.tolerance, 1e-12)) or self.states.all_computed,
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
        matrices = frame.matrix(values, self.states)
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
        maps = [checker.step_map(p, self.states) for p in range(len(o.points))]
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
                "none: a linearisation does not decay, or the model is large",
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
            return step_map(frame.mass, frame.masked(values, self.states), frame.dense(values), frame.tau, frame.order)

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
            f"start, and never grew beyond {found.peak:.3g} before (in the common norm, checked every 25 steps)"
            if found.length
            else f"over a quarter of the run disturbances shrink only to {found.bound:.3g}",
        )

    # ------------------------------------------------------------------------------------- the step itself

    def _derivative(self) -> None:
        """Ss leaves out that J changes with x; differences of the step itself do not."""
        o, e = self.o, self.e
        e.true_radius = self._differenced_radius(o.masked, self.states)
        holds, words = e.true_radius < 1.0 + 1e-6, ""
        if not holds:  # of the method, or of the pattern?
            exact = e.true_radius if self.states.all_computed else self._differenced_radius(o.exact, None)
            words = f" (with all entries {exact:.6f})"
            method = exact >= 1.0 + 1e-6 and e.true_radius <= 1.5 * exact
            if method and not e.unstable_exact:
                words += ": the method itself is not stable there, a smaller step may help"
        self._judged(
            "derivative of the step itself",
            True if holds else None if e.unstable_exact or method else False,
            f"largest |eigenvalue| {e.true_radius:.6f}, with the change of J by x, differenced at "
            f"{differenced_points(self.frame.n)} points of each run{words}",
        )

    def _sampled(self) -> None:
        """Loops that samplers close."""
        for line in sampled_lines(self.o, self.tuned, self.e):
            self._judged(*line)

    def _differenced_radius(self, runs: list[Trace], kept: Kept | None) -> float:
        walker = Walker(self.o.model, self.frame.tau, self.frame.order)
        return differenced_radius(walker, self.frame, [one.scenario for one in self.o.exact], runs, kept)

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
                walker.begin(o.exact[s].scenario, run.past)
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
