"""Consistent start values of a generated model.

Unknowns: states without a given value, the algebraic unknowns of the dae form, and parameters with fixed=false.
Equations: initial equations, fixed start values of variables that are no states, algebraic rows.

    Newton   J d = -r, d of least norm from a singular value decomposition (rank-revealing), halved until the
             residual shrinks
    rank     too few conditions: the undetermined unknowns keep their guesses and are named; too many: accepted if
             they do not contradict each other
    events   relations are taken anew between solutions until they are at rest
    homotopy if all this fails and the model says homotopy(actual, simplified), lambda goes from 0 to 1
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.codegen.initial import Condition, alias_starts
from pliant.errors import ArgumentError, InitialValueError
from pliant.expr.build import reachable
from pliant.expr.evaluate import evaluate
from pliant.expr.text import text
from pliant.ir import Op
from pliant.solve import binding
from pliant.solve.follow import Follower, solve_or_search
from pliant.solve.pivots import columns_without_pivot
from pliant.solve.smallest import smallest_step
from pliant.solve.unknowns import NoSolution, Unknowns

if TYPE_CHECKING:
    from pliant.solve.generated import GeneratedModel
    from pliant.solve.simulation import Simulation

Vector = NDArray[np.float64]
DONE = 1e-10  # scaled residual that counts as zero
ACCEPTED = 1e-7  # ... where redundant conditions keep Newton from going on
SMALLEST_TERM = 1e-8  # ... of conditions between known values: ACCEPTED of it is rounding error
TAKES_PART = 1e-6  # entry of a null vector from which on it counts
HUGE = 1e100  # a residual beyond it is no progress, whatever it was before
MAX_NEWTON = 60
MAX_ROUNDS = 20
MAX_ELSEWHERE = 60  # other guesses of the free states
DENSE = 800  # unknowns up to which the rank is looked at


@dataclass
class Start:
    """How the start values of a simulation were found."""

    undetermined: list[str] = field(default_factory=list)  # unknowns that no condition determines: they kept guesses
    redundant: list[str] = field(default_factory=list)  # conditions that repeat others without contradicting them
    iterations: int = 0
    homotopy_steps: int = 0


class InitialSolver:
    """Finds consistent values for one simulation; works on ``sim.x`` in place."""

    def __init__(self, model: GeneratedModel, sim: Simulation) -> None:
        self.model, self.sim = model, sim
        self.generated = model.generated
        self.program = self.generated.program
        self.initial = self.generated.initial
        self.self_ = sim.instance.address
        self.t = sim.request.start
        self.found = Start()
        self.next_time = math.inf
        given = list(self.initial.given)
        for place in sim.request.x_given:
            given[place] = True
        n_states = self.program.n_states
        self.algebraic = list(range(n_states, len(self.program.x)))
        self.free = [i for i in range(n_states) if not given[i]]
        self.unknowns = Unknowns(model, sim)
        self.more = [*self.unknowns.parameters, *self.unknowns.memories]  # unknowns besides x
        self.kept = [k for k, one in enumerate(self.initial.conditions) if self._counts(one)]
        self.set = [k for k, one in enumerate(self.initial.conditions) if one.target >= 0]
        self.shift = self._shifts()
        self.follower = Follower(self.sim, self._try)

    def _counts(self, one: Condition) -> bool:
        """A condition of the iteration: not one that sets a parameter, nor a fixed value that a user replaced."""
        replaced = {self.program.x[place] for place in self.sim.request.x_given}
        return one.target < 0 and one.variable not in replaced

    def _shifts(self) -> Vector:
        """What start_values add to the conditions `variable - start = 0`."""
        given = self.sim.request.others_given
        shift = np.zeros(len(self.initial.conditions))
        if given:
            system = self.program.sorted.system
            values = self.unknowns.values
            for k, one in enumerate(self.initial.conditions):
                if one.variable in given:
                    start = system.variables[one.variable].start
                    old = 0.0 if start is None else evaluate(system.graph, [start], values)[0]
                    shift[k] = old - given[one.variable]
        return shift

    # ------------------------------------------------------------------ the whole

    def run(self) -> float:
        """Solve; returns the time of the next time event."""
        x = self.sim.x
        self._set_start()
        start = x.copy()
        try:
            self._settle()
        except NoSolution as first:
            x[:] = start
            try:
                if self._uses_homotopy():
                    self._continue_homotopy()
                else:
                    self._try_elsewhere(start, first)
            except NoSolution as second:
                raise self._error(second) from None
        for k in range(len(self.program.sorted.sets)):
            self.model.library.pliant_choose(*self._set_arguments(k, None))
        self._evaluate()
        self._accept()
        self._check_whole()
        if self.unknowns.parameters or self.set:
            self.sim.request = replace(self.sim.request, parameters=self.unknowns.p)
        return self._first_events()

    def _first_events(self) -> float:
        """Events at the very start: what initial() sets off, the first ticks of clocks; the time of the next one."""
        self.sim.x_first = self.sim.x.copy()
        self.follower = Follower(self.sim, self._solve_algebraic)
        if hasattr(self.model.library, "pliant_begin"):
            self._first_event(binding.INITIALISE_CALL(("pliant_begin", self.model.library)))
        if self.model.struct.event:
            event = binding.EVENT_CALL(self.model.struct.event)
            for _ in range(MAX_ROUNDS):
                if self.next_time > self.t:
                    break
                if self._first_event(lambda *to: event(*to[:-1], None, to[-1])):
                    return self.t  # the run ends where it begins
        return self.next_time

    def _first_event(self, call: Callable[..., int]) -> bool:
        """One event at the start, and what follows from it; True if it ends the run."""
        sim = self.sim
        info = self.follower.event_info(True, bool(self.algebraic))
        status = call(self.self_, self.t, sim.x.ctypes.data, sim.u.ctypes.data, ctypes.byref(info))
        if status != binding.OK:
            raise self._error(NoSolution(self.model.error_text(sim.instance) or "the first event fails"))
        self.next_time = float(info.next_time)
        if self.algebraic and (info.f_changed or info.x_changed):
            try:
                self._solve_algebraic()
            except NoSolution as why:
                raise self._error(why) from None
        self._evaluate()
        self._accept()
        return bool(info.terminate)

    def _set_start(self) -> None:
        """Start values of the model and those that are given."""
        x = self.sim.x
        chosen = {place: x[place] for place in self.sim.request.x_given}
        self.model.library.pliant_start(ctypes.c_void_p(self.self_), ctypes.c_void_p(x.ctypes.data))
        for place, value in chosen.items():
            x[place] = value
        for k, memory in enumerate(self.program.sorted.events.memories):
            given = self.sim.request.others_given.get(memory.variable)
            if given is not None:
                self._check_memory(memory.variable, given)
                self.unknowns.choose_memory(k, given)
        self._choose_first()

    def _check_memory(self, v: int, value: float) -> None:
        variable = self.program.sorted.system.variables[v]
        if variable.type != "real" and value != round(value):
            told = f"the start value of {variable.name} cannot be {value:g}: it is no Real variable"
            raise ArgumentError(told, hint="a whole number")

    def _settle(self) -> None:
        """Solve with relations held, take them anew, until both are at rest."""
        for k in range(MAX_ROUNDS):
            self._update_relations(again=k > 0)
            has_others = len(self.program.x) > self.program.n_states  # unknowns with a solution in some modes only
            search = (lambda: self._update_relations(again=True, unsolved=True)) if has_others else None
            solve_or_search(self.sim.x, self._solve, search)
            has_set = self._set_parameters()
            if not self._update_relations(again=True) and not has_set:
                return
        raise NoSolution("the relations of the model do not come to rest at the start")

    def _set_parameters(self) -> bool:
        """Integer, Boolean and enumeration parameters anew; True if one has changed."""
        if not self.set:
            return False
        r = self._all_conditions()
        n = len(self.program.x)
        place = {v: n + k for k, v in enumerate(self.program.p)}
        changed = [(place[self.initial.conditions[k].target], r[k]) for k in self.set if r[k] != 0.0]
        unknowns = [i for i, _ in changed]
        self._write(unknowns, self.unknowns.read(unknowns) - np.array([by for _, by in changed]))
        return bool(changed)

    def _check_whole(self) -> None:
        """Integer parameters must be whole numbers; those found by iteration are so up to rounding."""
        n = len(self.program.x)
        for k, v in enumerate(self.program.p):
            variable = self.program.sorted.system.variables[v]
            value = float(self.unknowns.p[k])
            if not variable.initial or variable.type == "real" or value == round(value):
                continue
            if abs(value - round(value)) > ACCEPTED * max(1.0, abs(value)):
                raise InitialValueError(
                    f"{self.model.name}: the initial equations give {variable.name} = {value:g}, but it is no Real "
                    f"parameter ({variable.span})",
                    hint="declare it as Real, or change the initial equations",
                )
            self._write([n + k], np.array([float(round(value))]))

    def _try_elsewhere(self, start: Vector, first: NoSolution) -> None:
        """Other guesses of the free states, further and further away: the loops may have no solution at the first."""
        if not self.free or not self.kept:
            raise first
        chance = np.random.default_rng(1)
        size = np.maximum(self.unknowns.size[self.free], np.abs(start[self.free]))
        for attempt in range(MAX_ELSEWHERE):
            self.sim.x[:] = start
            away = chance.uniform(-1.0, 1.0, len(self.free)) * size
            self.sim.x[self.free] += away * 10.0 ** (4.0 * attempt / MAX_ELSEWHERE - 3.0)
            try:
                self._settle()
            except NoSolution:
                continue
            return
        self.sim.x[:] = start
        raise first

    def _update_relations(self, again: bool, unsolved: bool = False) -> bool:
        if not self.model.struct.initialise:
            return False
        follows = bool(self.kept or self.algebraic) and not self.unknowns.memories  # which the event itself sets
        info = self.follower.event_info(again, follows)
        info.unsolved = unsolved
        call = binding.INITIALISE_CALL(self.model.struct.initialise)
        sim = self.sim
        status = call(self.self_, self.t, sim.x.ctypes.data, sim.u.ctypes.data, ctypes.byref(info))
        if status != binding.OK:
            words = self.model.error_text(sim.instance)
            raise (None if words else self.follower.failed) or NoSolution(words or "the relations do not come to rest")
        self.next_time = float(info.next_time)
        if hasattr(self.model.library, "pliant_initially"):
            self.model.library.pliant_initially(ctypes.c_void_p(self.self_), 1)
        return bool(info.f_changed)

    def _accept(self) -> None:
        if hasattr(self.model.library, "pliant_accept"):
            self.model.library.pliant_accept(ctypes.c_void_p(self.self_))

    # ------------------------------------------------------------------ state sets

    def _set_arguments(self, k: int, flags: NDArray[np.int8] | None) -> tuple[object, ...]:
        return (
            ctypes.c_void_p(self.self_),
            k,
            ctypes.c_void_p(None if flags is None else flags.ctypes.data),
            ctypes.c_double(self.t),
            ctypes.c_void_p(self.sim.x.ctypes.data),
            ctypes.c_void_p(self.sim.u.ctypes.data),
        )

    def _choose_first(self) -> None:
        """States of each set from the constraints' Jacobian at the start values, by pivoting."""
        s = self.program.sorted
        system = s.system
        place = {v: i for i, v in enumerate(self.program.x)}
        if not s.sets and not self.sim.request.others_given:
            return
        guess = self._guesses()
        self._guess_tears(guess)
        for k, one in enumerate(s.sets):
            n = len(one.candidates[0])
            flat = [e for row in one.jacobian for e in row]
            numbers = evaluate(system.graph, flat, guess, self.t, (), system.tables, s.relations)
            states = columns_without_pivot(np.array(numbers).reshape(-1, n))
            flags = np.array([1 if j in states else 0 for j in range(n)], dtype=np.int8)
            self.model.library.pliant_choose(*self._set_arguments(k, flags))
            for level, slots in enumerate(one.slots):
                for slot, j in zip(slots, sorted(states), strict=True):
                    v = one.candidates[level][j]
                    self.sim.x[place[slot]] = guess.get(v, 0.0)

    def _guess_tears(self, guess: dict[int, float]) -> None:
        """The loops begin where the guesses of all variables are."""
        tears = [v for block in self.program.loops for v in block.tears]
        if tears:
            self.model.library.pliant_guess.restype = ctypes.c_void_p
            place = self.model.library.pliant_guess(ctypes.c_void_p(self.self_))
            (ctypes.c_double * len(tears)).from_address(place)[:] = [guess.get(v, 0.0) for v in tears]

    def _guesses(self) -> dict[int, float]:
        """Start values of all variables, aliases included, and what follows explicitly from them."""
        s = self.program.sorted
        system, g = s.system, s.system.graph
        values = {**self.unknowns.values, **dict(zip(self.program.p, self.unknowns.p.tolist(), strict=True))}
        for v, variable in enumerate(system.variables):
            if v not in values:
                values[v] = 0.0 if variable.start is None else evaluate(g, [variable.start], values)[0]
        for v, (start, sign) in alias_starts(s).items():  # a given start of an alias is better than none
            if system.variables[v].start is None:
                values[v] = sign * evaluate(g, [start], values)[0]
        values.update(self.sim.request.others_given)
        for block in s.blocks:
            if block.kind == "explicit":
                v, e = block.steps[0].variable, block.steps[0].expression
                (value,) = evaluate(g, [e], values, self.t, (), system.tables, s.relations)
                if math.isfinite(value):
                    values[v] = value
        return values

    # ------------------------------------------------------------------ Newton

    def _evaluate(self) -> Vector:
        """f at the present x."""
        f = np.empty(len(self.program.x))
        sim = self.sim
        status = binding.POINT_CALL(self.model.struct.rhs)(
            self.self_, self.t, sim.x.ctypes.data, sim.u.ctypes.data, f.ctypes.data
        )
        if status == binding.OK and len(self.model.names.y):  # loops that only outputs need are solved, too
            y = np.empty(len(self.model.names.y))
            status = binding.OUTPUT_CALL(self.model.struct.outputs)(
                self.self_, self.t, sim.x.ctypes.data, sim.u.ctypes.data, len(y), None, y.ctypes.data
            )
        if status != binding.OK:
            raise NoSolution(self.model.error_text(sim.instance) or binding.status_text(status))
        return f

    def _all_conditions(self) -> Vector:
        r = np.empty(len(self.initial.conditions))
        sim = self.sim
        status = self.model.library.pliant_initial(
            ctypes.c_void_p(self.self_),
            ctypes.c_double(self.t),
            *(ctypes.c_void_p(array.ctypes.data) for array in (sim.x, sim.u, r)),
        )
        if status != binding.OK:
            raise NoSolution(self.model.error_text(sim.instance) or binding.status_text(status))
        return np.asarray(r + self.shift)

    def _residual(self) -> Vector:
        """Conditions, then algebraic rows."""
        r = self._all_conditions()[self.kept] if self.kept else np.empty(0)
        return np.concatenate([r, self._evaluate()[self.algebraic]])

    def _jacobian(self, unknowns: list[int]) -> NDArray[np.float64]:
        """Dense d residual / d unknowns, column by column along unit directions."""
        m = len(self.kept)
        j = np.zeros((m + len(self.algebraic), len(unknowns)))
        for k, i in enumerate(unknowns):
            if i >= len(self.program.x):
                j[:, k] = self._by_difference(i)
                continue
            df, more = directional(self.model, self.self_, self.t, self.sim.x, self.sim.u, i)
            j[:m, k] = more[self.kept]
            j[m:, k] = df[self.algebraic]
        return j

    def _write(self, unknowns: list[int], values: Vector) -> None:
        if self.unknowns.write(unknowns, values) != binding.OK:
            raise NoSolution(self.model.error_text(self.sim.instance))

    def _by_difference(self, i: int) -> Vector:
        """d residual / d parameter by a central difference: few parameters and discrete variables are unknowns."""
        at = self.unknowns.read([i])[0]
        h = 6e-6 * max(self.unknowns.size[i], abs(at))
        self._write([i], np.array([at + h]))
        high = self._residual()
        self._write([i], np.array([at - h]))
        low = self._residual()
        self._write([i], np.array([at]))
        return np.asarray((high - low) / (2.0 * h))

    def _solve(self) -> None:
        open_ = [*self.free, *self.more]
        unknowns = [*open_, *self.algebraic] if self.kept else self.algebraic
        if not self.kept:
            self.found.undetermined = [self.unknowns.name(i) for i in open_]
        if not self.kept and not self.algebraic:
            self._evaluate()
            self._accept()
            return
        if not self.kept or len(unknowns) > DENSE:
            self._solve_algebraic()
            if not self.kept:
                return
        self._newton(unknowns)

    def _try(self) -> None:
        """Solve; parameters are as before where that fails."""
        given = self.unknowns.read(self.more)
        try:
            self._solve()
        except NoSolution:
            self._write(self.more, given)
            raise

    def _solve_algebraic(self) -> None:
        """States are given: the runtime's own iteration, sparse."""
        sim = self.sim
        if sim.linear is None:
            sim.make_linear()
        status = sim.solve_algebraic()
        if status != binding.OK:
            raise NoSolution("the algebraic equations could not be solved")

    def _newton(self, unknowns: list[int]) -> None:
        r = self._residual()
        for _ in range(MAX_NEWTON):
            self.found.iterations += 1
            scale = self.unknowns.scale(unknowns)  # of where it is now: a guess far away must not loosen the tolerance
            j = self._jacobian(unknowns) * scale
            weight = self._weights(np.abs(j).max(axis=1, initial=0.0))
            step, reduced, rank = smallest_step(j * weight[:, None], -r * weight, len(self.algebraic))
            self._note_rank(reduced, rank, unknowns)
            size = float(np.abs(r * weight).max(initial=0.0))
            before = self.unknowns.read(unknowns)
            if size <= DONE * max(1.0, float(np.abs(before / scale).max(initial=0.0))):
                self._polish(unknowns, before, step * scale, r * weight, weight)
                return
            damping = 1.0
            while True:
                self._write(unknowns, before + damping * step * scale)
                try:
                    new = self._residual()
                except NoSolution:
                    new = np.full_like(r, np.nan)
                if np.all(np.abs(new) < HUGE) and np.linalg.norm(new * weight) < np.linalg.norm(r * weight):
                    break
                damping *= 0.5
                if damping < 1e-6:
                    self._write(unknowns, before)
                    r = self._residual()
                    if size <= ACCEPTED:
                        return
                    raise self._violated(r, weight, j)
            r = new
            self._accept()
        raise self._violated(r, weight, j)

    def _weights(self, largest: Vector) -> Vector:
        """Scales of the conditions: their largest derivative; of those between known values their largest term."""
        scale = largest.copy()
        known = [int(k) for k in np.flatnonzero(largest == 0.0) if k < len(self.kept)]
        if known:
            scale[known] = self.unknowns.largest_terms(
                [self.initial.conditions[self.kept[k]].residual for k in known], self.t
            )
        scale[len(self.kept) :][largest[len(self.kept) :] == 0.0] = 1.0
        return np.asarray(1.0 / np.maximum(scale, np.where(largest > 0.0, 0.0, SMALLEST_TERM)))

    def _polish(self, unknowns: list[int], before: Vector, step: Vector, r: Vector, weight: Vector) -> None:
        """The last step is known already: taken if it helps, so that less depends on how derivatives were rounded."""
        self._write(unknowns, before + step)
        with contextlib.suppress(NoSolution):
            if np.linalg.norm(self._residual() * weight) < np.linalg.norm(r):
                return
        self._write(unknowns, before)
        self._residual()

    def _note_rank(self, j: Vector, rank: int, unknowns: list[int]) -> None:
        """Names for what the null spaces of the Jacobian hold."""
        self.found.undetermined = []
        self.found.redundant = []
        if rank == j.shape[0] == j.shape[1]:
            return
        u, _, v = np.linalg.svd(j)
        self.found.undetermined = [self.unknowns.name(unknowns[k]) for k in _members(v[rank:])]
        self.found.redundant = [self._condition_text(k) for k in _members(u[:, rank:].T)]

    def _violated(self, r: Vector, weight: Vector, j: Vector) -> NoSolution:
        """Which conditions are violated, the worst first."""
        lines = []
        for k in np.argsort(-np.abs(r * weight))[:6]:
            if abs(r[k] * weight[k]) <= DONE:
                break
            lines.append(f"\n    {r[k]:+.3e}  {self._condition_text(int(k))}")
            if k < len(self.kept):
                behind = self.initial.conditions[self.kept[k]].behind[:4]
                lines += [f"\n                with  {span.text}  {span}" for span in behind]
        if self.found.undetermined:
            lines.append(f"\n  not determined by them: {', '.join(self.found.undetermined[:8])}")
        worst = int(np.argmax(np.abs(r * weight)))
        hint = (
            "" if np.any(j[worst]) else "the first of them holds for known values only: change it, or what fixes them"
        )
        return NoSolution("these conditions are left with a residual:" + "".join(lines), hint)

    def _condition_text(self, k: int) -> str:
        if k < len(self.kept):
            one = self.initial.conditions[self.kept[k]]
            return f"{one.text}  {one.span}" if one.span else one.text
        s = self.program.sorted
        equation = s.equations[self.program.f_equation[self.program.n_states + k - len(self.kept)]]
        variables = s.system.variables
        body = text(s.system.graph, equation.residual, lambda v: variables[v].name, 80, s.relations)
        return f"0 = {body}  {equation.span}"

    # ------------------------------------------------------------------ homotopy and errors

    def _uses_homotopy(self) -> bool:
        s = self.program.sorted
        nodes = s.system.graph.nodes
        return any(nodes[i][0] == Op.HOMOTOPY for i in reachable(s.system.graph, [e.residual for e in s.equations]))

    def _continue_homotopy(self) -> None:
        """lambda from the simplified model (0) to the actual one (1), steps halved where the solution is lost."""
        set_lambda = self.model.library.pliant_homotopy
        reached, step = -1.0, 1.0
        good = self.sim.x.copy()
        while reached < 1.0:
            target = 0.0 if reached < 0.0 else min(1.0, reached + step)
            set_lambda(ctypes.c_void_p(self.self_), ctypes.c_double(target))
            try:
                self._settle()
            except NoSolution:
                if target == 0.0 or step < 1e-3:
                    raise
                self.sim.x[:] = good
                step *= 0.5
                continue
            self.found.homotopy_steps += 1
            reached, good = target, self.sim.x.copy()
            step = max(0.1, step) if reached > 0.0 else 0.25
            self._accept()

    def _error(self, failed: NoSolution) -> InitialValueError:
        lines = failed.why + self._loop_residuals()
        return InitialValueError(
            f"{self.model.name}: no consistent start values at t = {self.t:g}: {lines}",
            hint=failed.hint or "give start values near the solution (start = ... in the model, or start_values=)",
        )

    def _loop_residuals(self) -> str:
        """Residuals of the loop that did not converge, ranked."""
        library = self.model.library
        code = int(library.pliant_error(ctypes.c_void_p(self.self_)))
        loops = self.program.loops
        if not 1 <= code <= 2 * len(loops) or code % 2 or not hasattr(library, "pliant_residual"):
            return ""
        block = loops[(code - 1) // 2]
        library.pliant_residual.restype = ctypes.c_void_p
        r = binding.doubles_at(library.pliant_residual(ctypes.c_void_p(self.self_)), len(block.residuals))
        s = self.program.sorted
        variables = s.system.variables
        lines = []
        for k in np.argsort(-np.abs(r))[:6]:
            equation = s.equations[block.residuals[int(k)]]
            body = equation.span.text if equation.span else ""
            body = body or text(s.system.graph, equation.residual, lambda v: variables[v].name, 80, s.relations)
            lines.append(f"\n    {r[k]:+.3e}  {body}  {equation.span}")
        return "\n  residuals of its equations:" + "".join(lines)


def directional(
    model: GeneratedModel, self_: int | None, t: float, x: Vector, u: Vector, column: int
) -> tuple[Vector, Vector]:
    """df and the derivatives of conditions and outputs along one state (or, from n_x on, one input)."""
    n, program = len(model.generated.program.x), model.generated.program
    unit = np.zeros(n + len(program.u))
    unit[column] = 1.0
    dx, du = unit[:n].copy(), np.append(unit[n:], 0.0)
    df = np.empty(n)
    more = np.empty(len(model.generated.initial.conditions) + len(model.generated.outputs) + 1)
    arrays = (ctypes.c_void_p(array.ctypes.data) for array in (dx, du, df, more))
    status = model.library.pliant_directional(
        ctypes.c_void_p(self_),
        ctypes.c_double(t),
        ctypes.c_void_p(x.ctypes.data),
        ctypes.c_void_p(u.ctypes.data),
        ctypes.c_double(0.0),
        *arrays,
    )
    if status != binding.OK:
        raise NoSolution("the derivatives cannot be evaluated")
    return df, more[:-1]


def _members(null: Vector) -> list[int]:
    """Places where one of the null vectors is not zero, the largest first."""
    if not len(null):
        return []
    size = np.abs(null).max(axis=0)
    return [int(k) for k in np.argsort(-size, kind="stable") if size[k] > TAKES_PART]
