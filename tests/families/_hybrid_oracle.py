"""The answer of hybrid models: an interpreter that follows the Modelica specification.

Between events every state has a closed form, so events are found exactly: times from the model, ticks as fractions,
crossings of thresholds by formula. At an event the rounds of the specification (version 3.6, sections 8.3.5, 8.6,
11.1.2 and appendix B) are made literally: equations until nothing changes, then reinit, then pre(v) = v and once more.
Nothing of pliant is used. A case whose answer hangs on rounding (two crossings at nearly one time, a threshold that is
touched) raises `Fragile` and is drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from families._hybrid_model import Branch, Expr, If, Model, Reinit, Relation, Set, Stop, When, assigned

NEAR = 1e-5


class Fragile(Exception):
    """The answer depends on rounding, or grows without bound."""


class View:
    """Values that an expression reads."""

    def __init__(self, run: Run, local: dict[str, Any] | None = None) -> None:
        self.run, self.local, self.t = run, local or {}, run.t

    def sides(self, r: Relation) -> tuple[float, float]:
        """What a relation compares."""
        return (self.t if r.left == "time" else self.run.x[r.left]), float(self.of(r.right))

    def of(self, e: Expr) -> Any:
        """Value of an expression."""
        kind, run = e[0], self.run
        if kind == "num":
            return e[1]
        if kind == "var":
            return self.local[e[1]] if e[1] in self.local else run.now[e[1]]
        if kind == "pre":
            return run.before[e[1]]
        if kind in ("state", "pre_state"):  # states are set anew between rounds only
            return run.x[e[1]]
        if kind == "time":
            return self.t
        if kind == "edge":
            return self.of(("var", e[1])) and not run.before[e[1]]
        if kind == "change":
            return self.of(("var", e[1])) != run.before[e[1]]
        if kind == "initial":
            return run.initial
        if kind == "tick":
            return run.ticks[e[1]]
        if kind == "rel":
            return run.relation(e[1], self)
        if kind == "not":
            return not self.of(e[1])
        if kind == "if":
            return self.of(e[2]) if self.of(e[1]) else self.of(e[3])
        return self._binary(kind, self.of(e[1]), self.of(e[2]))

    def _binary(self, kind: str, a: Any, b: Any) -> Any:
        if kind in ("<", ">", "<=", ">="):
            if (isinstance(a, float) or isinstance(b, float)) and 0 < abs(a - b) < NEAR:
                raise Fragile
            return {"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}[kind]
        if kind == "and":
            return a and b
        if kind == "or":
            return a or b
        return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b}[kind]()


class Ended(Exception):
    """The model ended the run."""

    def __init__(self, message: str, is_error: bool) -> None:
        super().__init__(message)
        self.message, self.is_error = message, is_error


class Run:
    """One simulation."""

    def __init__(self, model: Model) -> None:
        self.model, self.t = model, 0.0
        self.x = {state.name: state.start for state in model.states} | dict(model.velocities)
        self.now = dict(model.starts)
        self.before = dict(model.starts)
        self.flags: dict[tuple[int, int, int], bool] = {}  # conditions of when-clauses
        self.flags_before: dict[tuple[int, int, int], bool] = {}
        self.relations = list(_relations(model))
        self.held: dict[Relation, bool] = {}
        self.forced: dict[Relation, tuple[bool, tuple[float, float]]] = {}
        self.ticks = [False] * len(model.clocks)
        self.initial = False
        self.times: list[float] = []
        self.effective: list[float] = []
        self.pieces: list[tuple[float, dict[str, float], dict[str, Any]]] = []
        self.end: Ended | None = None
        self.settling = "start"  # then: "rounds", or "moved" where a state was set anew; "": it runs
        self.rounds = 0  # the most that an event took

    # ------------------------------------------------------------------------------------------ relations

    def relation(self, r: Relation, view: View) -> bool:
        """Value of a relation: the new side where it has just crossed, else what its sides say."""
        sides = view.sides(r)
        new = self.forced.get(r)
        if new is not None and new[1] == sides:
            return new[0]
        gap = sides[0] - sides[1]
        if abs(gap) < NEAR:
            raise Fragile
        return {"<": gap < 0, "<=": gap <= 0, ">": gap > 0, ">=": gap >= 0}[r.op]

    def _crossing(self, r: Relation, held: bool) -> float:
        """Time until this relation changes, inf if never."""
        level = View(self).sides(r)[1]
        if r.left == "time":
            ahead = level - self.t
            return ahead if ahead > 0 else math.inf
        above = held == (r.op in (">", ">="))  # the side on which it stands
        found = [s for s, falls in self._roots(r.left, level) if falls == above and s > -1e-9]
        if found and min(found) < 1e-6:
            raise Fragile
        return min(found, default=math.inf)

    def _roots(self, name: str, level: float) -> Iterator[tuple[float, bool]]:
        """(time until the state passes the level, whether it falls there)."""
        for state in self.model.states:
            slope = float(View(self).of(state.slope))
            if state.kind == "ball" and name == state.partner:
                yield from _line(self.x[name], slope, level)
            if state.name != name:
                continue
            if state.kind == "ramp":
                yield from _line(self.x[name], slope, level)
            elif state.kind == "decay":
                a, b = self.x[name] - slope, level - slope
                if abs(b) < 1e-3 and abs(a) > 0:
                    raise Fragile
                if a * b > 0 and abs(a) > abs(b):
                    yield math.log(a / b) / state.rate, a > 0
            else:
                yield from _parabola(self.x[name], self.x[state.partner], slope, level)

    def _advance(self, dt: float) -> dict[str, float]:
        """States after dt."""
        out = dict(self.x)
        for state in self.model.states:
            slope, x = float(View(self).of(state.slope)), self.x[state.name]
            if state.kind == "ramp":
                out[state.name] = x + slope * dt
            elif state.kind == "decay":
                out[state.name] = slope + (x - slope) * math.exp(-state.rate * dt)
            else:
                v = self.x[state.partner]
                out[state.name], out[state.partner] = x + v * dt + 0.5 * slope * dt * dt, v + slope * dt
        return out

    # --------------------------------------------------------------------------------------------- rounds

    def _rises(self, when: When, view: View) -> int:
        """Number of the branch that acts, -1 if none; the conditions are kept."""
        active = -1
        for k, branch in enumerate(when.branches):
            rises = False
            for j, condition in enumerate(branch.conditions):
                key = (when.number, k, j)
                now = bool(view.of(condition))
                self.flags[key] = now
                if condition[0] == "tick":
                    rises |= now
                elif self.settling in ("", "rounds") or (self.initial and _has_initial(condition)):
                    rises |= now and not self.flags_before.get(key, False)
            if rises and active < 0:
                active = k
        return active

    def _pass(self, actions: list[Any]) -> None:
        """All equations and algorithm sections once."""
        actions.clear()
        for kind, content in self.model.parts:
            if kind == "standing":
                self.now[content.target] = View(self).of(content.value)
            elif kind == "equation":
                active = self._rises(content, View(self))
                new: dict[str, Any] = {}
                if active >= 0:
                    self._body(content.branches[active].body, None, new, actions)
                for name in assigned([content]):
                    self.now[name] = new.get(name, self.before[name])
            else:
                local = {name: self.before[name] for name in assigned(content)}
                self._body(content, local, local, actions)
                self.now.update(local)

    def _body(self, body: list[Any], local: dict[str, Any] | None, new: dict[str, Any], actions: list[Any]) -> None:
        """Statements in turn (`local`: what the algorithm section has set), or equations of a branch."""
        for one in body:
            view = View(self, local)
            if isinstance(one, Set):
                value = view.of(one.value)
                new[one.target] = float(value) if self.model.types[one.target] == "real" else value
                if abs(value) > 1e4:
                    raise Fragile
            elif isinstance(one, If):
                chosen = next((inner for condition, inner in one.branches if view.of(condition)), one.otherwise)
                self._body(chosen, local, new, actions)
            elif isinstance(one, When):
                active = self._rises(one, view)
                if active >= 0:
                    self._body(one.branches[active].body, local, new, actions)
            else:
                actions.append((one, dict(local or {})))

    def _event(self) -> bool:
        """Rounds until nothing changes; True if something did."""
        changed = False
        for round_ in range(30):
            actions: list[Any] = []
            for _ in range(60):
                before = (dict(self.now), dict(self.flags))
                self._pass(actions)
                if (self.now, self.flags) == before:
                    break
            else:
                raise Fragile
            moved = self._act(actions)
            self.rounds = max(self.rounds, round_ + 1)
            self.ticks = [False] * len(self.ticks)
            was_initial, self.initial = self.initial, False
            if self.settling:  # what rises by states that are set anew at the start has not risen
                self.settling = "moved" if moved or self.settling == "moved" else "rounds"
            same = self.before == self.now and self.flags_before == self.flags
            changed |= moved or self.before != self.now
            self.before, self.flags_before = dict(self.now), dict(self.flags)
            if self.end is not None and self.end.is_error:
                raise self.end
            if same and not moved and not was_initial:
                if self.end is not None:
                    raise self.end
                return changed
        raise Fragile

    def _act(self, actions: list[Any]) -> bool:
        new: dict[str, float] = {}
        for one, local in actions:
            view = View(self, local)
            if isinstance(one, Reinit):
                new[one.state] = float(view.of(one.value))
                if abs(new[one.state]) > 1e4:
                    raise Fragile
            elif one.condition is None:
                self.end = self.end or Ended(one.message, False)
            elif not view.of(one.condition):
                self.end = Ended(one.message, True)
                return True
        self.x.update(new)
        return bool(new)

    # ----------------------------------------------------------------------------------------------- the run

    def simulate(self) -> None:
        """From 0 to the model's stop time, or to its end."""
        exact = Fraction(0)
        try:
            self.initial = True
            self._event()
            self.settling = ""
            if self._due(exact):
                self.times.append(0.0)
                if self._event():
                    self.effective.append(0.0)
            while True:
                self._keep()
                exact_next, crossings = self._next(exact)
                if exact_next is None:
                    return
                if self.t > self.model.stop:
                    raise AssertionError
                exact = exact_next
                self._go(float(exact), crossings)
                self._due(exact)
                self.times.append(self.t)
                if len(self.times) > 300:
                    raise Fragile
                if self._event():
                    self.effective.append(self.t)
        except Ended as end:
            self.end = end
            self.effective.append(self.t)
            self._keep()

    def _keep(self) -> None:
        self.held = {r: self.relation(r, View(self)) for r in self.relations}
        self.forced = {}
        self.pieces.append((self.t, dict(self.x), dict(self.now)))

    def _next(self, exact: Fraction) -> tuple[Fraction | None, list[Relation]]:
        """Next instant and the relations that change there."""
        at: dict[Fraction, list[Relation]] = {}
        for r in self.relations:
            s = self._crossing(r, self.held[r])
            if s == math.inf:
                continue
            time = Fraction(View(self).sides(r)[1]) if r.left == "time" else Fraction(self.t + s)
            at.setdefault(time, []).append(r)
        for first, interval in self.model.clocks:
            n = max(math.floor((exact - first) / interval) + 1, 0)
            at.setdefault(first + n * interval, [])
        times = sorted(at)
        if not times or times[0] > self.model.stop:
            if times and times[0] - Fraction(self.model.stop) < NEAR:
                raise Fragile
            return None, []
        if len(times) > 1 and times[1] - times[0] < 1e-4:
            raise Fragile
        if abs(float(times[0]) - self.model.stop) < 1e-4 and at[times[0]] and at[times[0]][0].left != "time":
            raise Fragile
        return times[0], at[times[0]]

    def _go(self, time: float, crossings: list[Relation]) -> None:
        self.x = self._advance(time - self.t)
        self.t = time
        self.forced = {}
        for r in self.relations:
            if r in crossings:
                if (
                    r.left != "time"
                    and len(crossings) > 1
                    and any(o.left != r.left or View(self).of(o.right) != View(self).of(r.right) for o in crossings)
                ):
                    raise Fragile
                new = r.op in (">", ">=") if r.left == "time" else not self.held[r]
                self.forced[r] = (new, View(self).sides(r))

    def _due(self, exact: Fraction) -> bool:
        self.ticks = [
            exact >= first and (exact - first) / interval == (exact - first) // interval
            for first, interval in self.model.clocks
        ]
        return any(self.ticks)

    def values_at(self, t: float) -> dict[str, float]:
        """All variables at a time between events."""
        piece = max((one for one in self.pieces if one[0] <= t), key=lambda one: one[0])
        last = [one for one in self.pieces if one[0] == piece[0]][-1]
        saved = (self.t, self.x, self.now)
        self.t, self.x, self.now = last
        out = {name: float(value) for name, value in self.now.items()} | self._advance(t - self.t)
        self.t, self.x, self.now = saved
        return out


def _line(x: float, slope: float, level: float) -> Iterator[tuple[float, bool]]:
    if slope != 0:
        if abs(slope) < 1e-3:
            raise Fragile
        yield (level - x) / slope, slope < 0


def _parabola(x: float, v: float, a: float, level: float) -> Iterator[tuple[float, bool]]:
    if a == 0:
        yield from _line(x, v, level)
        return
    square = v * v - 2 * a * (x - level)
    if abs(square) < 0.05:
        raise Fragile
    if square > 0:
        for sign in (-1, 1):
            yield (-v + sign * math.sqrt(square)) / a, sign < 0


def _has_initial(e: Expr) -> bool:
    return e[0] == "initial" or any(isinstance(one, tuple) and _has_initial(one) for one in e[1:])


def _relations(model: Model) -> list[Relation]:
    """All relations of a model, each once."""
    found: dict[Relation, None] = {}

    def look(one: Any) -> None:
        if isinstance(one, Relation):
            found[one] = None
            look(one.right)
        elif isinstance(one, (tuple, list)):
            for each in one:
                look(each)
        elif isinstance(one, (Set, Reinit)):
            look(one.value)
        elif isinstance(one, If):
            look(one.branches)
            look(one.otherwise)
        elif isinstance(one, When):
            look(one.branches)
        elif isinstance(one, Branch):
            look(one.conditions)
            look(one.body)
        elif isinstance(one, Stop):
            look(one.condition)

    look([state.slope for state in model.states])
    look([content for _, content in model.parts])
    return list(found)
