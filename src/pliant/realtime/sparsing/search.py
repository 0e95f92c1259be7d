"""Which entries of the Jacobian can go: group moves, checked on all linearisations.

    train = a few linearisations that differ most
    repeat
        effects of each entry: cluster criterion on train, bias at all points; cancelling entries make atoms
        rows: all entries; all but the diagonal; all but the strongest atoms; single atoms
        columns: all entries; all but the diagonal
        single entries, those of the least effect first; then rows and columns again
        check at all linearisations; train += the worst violators
    until none violates

Every trial is decided by :mod:`accept`, never by first-order effects, which only order the candidates. Ties are broken
by number, so the result is the same in every run, and on every processor (ties.py). Sources: the criterion is that of
Schiela & Bornemann 2003, eq. (25) with its indices corrected; moves, bias and the loop over counterexamples are
pliant's (docs/theory/sparsing.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pliant.realtime.sparsing.accept import AcceptRule, Checker, Verdict
from pliant.realtime.sparsing.cancelling import Atom, Effects, find_atoms
from pliant.realtime.sparsing.entry_states import EntryStates, Kept, Mask
from pliant.realtime.sparsing.linearisations import LARGE, Places, Points
from pliant.realtime.sparsing.linearise import Matrix
from pliant.realtime.sparsing.patches import LocalChecker, checker_for_search, search_effects
from pliant.realtime.sparsing.ties import ascending

REFUSED = 1.0 + 1e-9  # a value beyond it
SHARPER = 4  # times that tests in patches become sharper
MORE = 4  # violators that join the training in each round
PASSES = 3  # of rows, columns and singles
LEAST = 0.5  # operations: what saves less counts as saving so much
NOISE = 0.5  # of the logarithm of the scores in a restart


@dataclass(frozen=True)
class Decision:
    """Why an entry stayed or went."""

    kept: bool
    move: str  # what was tried: "row 3", "atom", "column", "single", ...
    size: int  # entries in that move
    test: str  # the test that decided, or the closest one
    value: float  # in units of what is allowed
    time: float  # of the linearisation


@dataclass(frozen=True)
class Stage:
    """Progress of a search."""

    round: int
    move: str
    entries: int
    training: int
    violators: int | None = None
    share: float = 0.0  # of the round


@dataclass(eq=False)
class SearchResult:
    """What a search gives."""

    states: EntryStates  # of the entries of Df
    decisions: dict[int, Decision]
    rounds: int
    training: list[int]
    history: list[tuple[int, int, int]] = field(default_factory=list)  # entries, training points, violators

    @property
    def mask(self) -> Mask:
        """Entries that stay."""
        return self.states.mask


Report = Callable[[Stage], object]


class EntrySearch:
    """One round: from the full pattern down."""

    def __init__(self, checker: Checker, training: Sequence[int], free: Mask) -> None:
        """``free``: entries that may go."""
        self.c, self.points, self.frame = checker, checker.points, checker.frame
        self.training = list(training)
        self.free = free & checker.decides
        self.states = EntryStates.of(np.ones(self.frame.n_entries, dtype=bool))
        self.lasting = np.zeros((len(self.points), self.frame.n))
        self.step = np.zeros_like(self.lasting)
        self.decisions: dict[int, Decision] = {}
        self.large = self.frame.n > LARGE
        self.last: Verdict | None = None  # on the last change that was tried

    @property
    def mask(self) -> Mask:
        """Entries that stay."""
        return self.states.mask

    def go_on(self, first: EntryStates, refused: Mask) -> None:
        """Continue from a pattern, with these entries computed; only they may change, or all if there are none."""
        self.states = EntryStates(
            first.mask | refused, first.frozen & ~refused, np.where(refused, 0.0, first.constants)
        )
        self.free = self.free & refused if refused.any() else self.free
        self.lasting, self.step = self.c.bias(self.states)

    def trial(self, group: Places, move: str) -> bool:
        """Drop a group if every test allows it."""
        group = group[self.mask[group] & self.free[group]]
        return len(group) > 0 and self.change(group, self.states.dropped(group), move)

    def change(self, group: Places, states: EntryStates, move: str) -> bool:
        """Go over to other states of the entries in a group if every test allows it."""
        lasting, step = self._bias_with(group, states)
        tolerance = self.c.rule.tolerance
        worst = np.maximum(np.abs(lasting), np.abs(step)).max(axis=1)
        p = int(np.argmax(worst))
        verdict = Verdict("bias", float(worst[p] / tolerance), p)
        if verdict.accepted:
            verdict = self._judge(states, verdict, np.unique(self.frame.rows[group]))
        self._note(group, move, verdict)
        self.last = verdict
        if not verdict.accepted:
            return False
        self.states, self.lasting, self.step = states, lasting, step
        return True

    def _bias_with(self, group: Places, states: EntryStates) -> tuple[Matrix, Matrix]:
        lasting, step = self.lasting.copy(), self.step.copy()
        if self.frame.order == 2:  # not linear in what is dropped: tested at the training points
            return lasting, step
        points, rows = self.points, self.frame.rows[group]
        values = points.values[:, group]
        change = self.states.used_of(group, values) - states.used_of(group, values)
        missing = change * points.moves[:, group]
        once = missing if points.moves_once is points.moves else change * points.moves_once[:, group]
        for i in np.unique(rows):
            here = rows == i
            total = missing[:, here].sum(axis=1)[:, None]
            lasting += points.T[:, :, i] * total
            step += points.T_step[:, :, i] * (total if once is missing else once[:, here].sum(axis=1)[:, None])
        return lasting, step

    def _judge(self, states: EntryStates, so_far: Verdict, rows: Places) -> Verdict:
        """Training points, the one that refused last first."""
        for k, p in enumerate(self.training):
            verdict = self.c.judge_change(p, states, rows)
            if not verdict.accepted:
                self.training.insert(0, self.training.pop(k))
                return verdict
            if verdict.value > so_far.value:
                so_far = verdict
        return so_far

    def _note(self, group: Places, move: str, verdict: Verdict) -> None:
        time = self.points.origins[verdict.point].time
        decision = Decision(not verdict.accepted, move, len(group), verdict.test, verdict.value, time)
        for k in group:
            old = self.decisions.get(int(k))
            # of several refusals the one of the smallest group tells most
            if old is None or not decision.kept or (old.kept and old.size >= decision.size):
                self.decisions[int(k)] = decision


Saved = Callable[[EntryStates, Sequence[Places]], list[float]]  # operations that each group would save
FurtherMoves = Callable[[EntrySearch, Callable[[float], object]], None]


class Moves:
    """The moves of a round, in order."""

    def __init__(
        self, search: EntrySearch, effects: Effects, noise: Matrix | None = None, saved: Saved | None = None
    ) -> None:
        self.s, self.effects, self.saved = search, effects, saved
        frame = search.frame
        self.rows = [np.flatnonzero(frame.rows == i) for i in range(frame.n)]
        self.columns = [np.flatnonzero(frame.columns == j) for j in range(frame.n)]
        self.noise = np.ones(frame.n_entries) if noise is None else noise
        self.atoms: list[list[Atom]] = [find_atoms(effects, entries) for entries in self.rows]
        self.scores = np.abs(effects).max(axis=1, initial=0.0) * self.noise

    def _ascending(self, groups: Sequence[Places]) -> list[int]:
        size = [
            float(np.abs(self.effects[g].sum(axis=0)).max(initial=0.0)) * float(self.noise[g].mean()) if len(g) else 0.0
            for g in groups
        ]
        return self._for_savings(groups, size)

    def _for_savings(self, groups: Sequence[Places], size: Sequence[float]) -> list[int]:
        """Numbers of groups, first those of the least effect, or of the least for what they save."""
        if self.saved is None:
            return [int(k) for k in ascending(size)]
        states = self.s.states
        gains = self.saved(states, [group[states.mask[group]] for group in groups])
        return [int(k) for k in ascending([one / max(gain, LEAST) for one, gain in zip(size, gains, strict=True)])]

    def by_rows(self, report: Callable[[float], object]) -> None:
        """Rows as a whole, without their diagonal, without their strongest atoms, then atom by atom."""
        frame, s = self.s.frame, self.s
        order = self._ascending(self.rows)
        for count, i in enumerate(order):
            report(count / len(order))
            entries, name = self.rows[i], frame.names[i]
            if s.trial(entries, f"row of {name}"):
                continue
            if s.trial(entries[frame.columns[entries] != i], f"row of {name} but its diagonal"):
                continue
            atoms = self.atoms[i]
            for keep in range(1, len(atoms)):
                weak = np.concatenate([atom.entries for atom in atoms[:-keep]])
                if s.trial(weak, f"row of {name} but its {keep} strongest parts"):
                    break
            for atom in atoms:
                s.trial(atom.entries, f"part of the row of {name}")

    def by_columns(self, report: Callable[[float], object]) -> None:
        """Columns as a whole, or without their diagonal."""
        frame, s = self.s.frame, self.s
        order = self._ascending(self.columns)
        for count, j in enumerate(order):
            report(count / len(order))
            entries, name = self.columns[j], frame.names[j]
            if not s.trial(entries, f"column of {name}"):
                s.trial(entries[frame.rows[entries] != j], f"column of {name} but its diagonal")

    def by_singles(self, report: Callable[[float], object]) -> None:
        """Single entries, those of the least effect first."""
        order = self._for_savings([np.array([k]) for k in range(len(self.scores))], self.scores.tolist())
        for count, k in enumerate(order):
            if count % 16 == 0:
                report(count / len(order))
            self.s.trial(np.array([k]), "single entry")


@dataclass(frozen=True, eq=False)
class Settings:
    """How a search goes about it."""

    free: Mask  # entries that may go
    training: Sequence[int]
    rounds: int = 10
    cut: float = 0.0  # of the clusters of eigenvalues
    noise: Matrix | None = None  # on the scores, for restarts
    before: FurtherMoves | None = None  # what precedes the moves that drop, and what follows them
    after: FurtherMoves | None = None
    first: EntryStates | None = None  # large models: where to go on from
    columns_first: bool = False  # columns that go save evaluations where Jacobians are differences
    saved: Saved | None = None  # candidates in the order of their effect for what they save; None: of their effect


def one_round(
    checker: Checker, training: Sequence[int], settings: Settings, report: Callable[[str, float, int], object]
) -> EntrySearch:
    """All moves until nothing more goes."""
    search = EntrySearch(checker, training, settings.free)
    if settings.first is not None and isinstance(checker, LocalChecker):
        search.go_on(settings.first, checker.refused(training, settings.first))
    if settings.before is not None:
        settings.before(search, lambda share: report("freezing", share, int(search.mask.sum())))
    moves = Moves(search, search_effects(checker, training, settings.cut), settings.noise, settings.saved)
    for turn in range(PASSES):
        before = int(search.mask.sum())
        for by_rows in (False, True) if settings.columns_first else (True, False):
            if by_rows:
                moves.by_rows(lambda share: report("rows", share, int(search.mask.sum())))
            else:
                moves.by_columns(lambda share: report("columns", share, int(search.mask.sum())))
        if turn == 0 or int(search.mask.sum()) < before:
            moves.by_singles(lambda share: report("single entries", share, int(search.mask.sum())))
        if int(search.mask.sum()) == before:
            break
    if settings.after is not None:
        settings.after(search, lambda share: report("freezing", share, int(search.mask.sum())))
    return search


def unstable(checker: Checker, mask: Kept) -> list[tuple[float, int]]:
    """(value, point) of every linearisation whose eigenvalues refuse the pattern, the worst first."""
    checker.prepare(mask)
    verdicts = [checker.judge(p, mask) for p in range(len(checker.points))]
    return sorted(
        ((one.value, one.point) for one in verdicts if one.test != "bias" and one.value > REFUSED), reverse=True
    )


def violators(checker: Checker, mask: Kept) -> list[tuple[float, int]]:
    """(value, point) of every linearisation that refuses the pattern or its bias, the worst first."""
    lasting, step = checker.bias(mask)
    bias = np.maximum(np.abs(lasting), np.abs(step)).max(axis=1) / checker.rule.tolerance
    checker.prepare(mask)
    found = []
    for p in range(len(checker.points)):
        value = max(checker.judge(p, mask).value, float(bias[p]))
        if value > REFUSED:
            found.append((value, p))
    return sorted(found, reverse=True)


def restart_noise(n_entries: int, seed: int) -> Matrix:
    """Factors on the scores of a restart."""
    return np.asarray(np.exp(NOISE * np.random.default_rng(seed).standard_normal(n_entries)))


def search_pattern(points: Points, rule: AcceptRule, settings: Settings, report: Report) -> SearchResult:
    """Rounds until no linearisation violates; the full pattern if none is found."""
    checker, tests, sharper = Checker(points, rule), checker_for_search(points, rule), 0
    local = type(tests) is not Checker
    train = list(settings.training)
    history: list[tuple[int, int, int]] = []
    for number in range(1, settings.rounds + 1):

        def tell(move: str, share: float, entries: int, number: int = number, size: int = len(train)) -> None:
            report(Stage(number, move, entries, size, None, share))

        search = one_round(tests, train, settings, tell)
        bad = violators(checker, search.states)
        history.append((int(search.mask.sum()), len(train), len(bad)))
        report(Stage(number, "check", int(search.mask.sum()), len(train), len(bad), 1.0))
        if not bad:
            return SearchResult(search.states, search.decisions, number, train, history)
        new = [p for _, p in bad if p not in train][:MORE]
        if sharper == SHARPER or not (new or local):  # refused at points known already: nothing left to learn
            break
        if local:
            settings = replace(settings, first=search.states)
        if local and not new:  # what patches do not show
            sharper += 1
            tests = checker_for_search(points, replace(rule, theta=0.5 * (1.0 + tests.rule.theta)))
        train += new
    full: Mask = np.ones(points.frame.n_entries, dtype=bool)
    return SearchResult(EntryStates.of(full), {}, settings.rounds, train, history)
