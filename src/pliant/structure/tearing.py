"""Tearing an algebraic loop: which unknowns to guess, so that all others follow one by one.

Tear unknowns are assumed known. Propagation: an equation in which one unknown remains, and that may be solved for it,
becomes causal and makes this unknown known. Equations left at the end are the residuals, as many as tears. The least
number of tears is NP-complete to find, so the next tear is chosen by a heuristic whenever propagation stalls:

cellier     F. E. Cellier, lecture "Differential Algebraic Equations II" (ETH Zürich, 2013), "The Tearing Algorithm XX":
            the equations with most remaining unknowns, of their unknowns those in most remaining equations, of these
            the one that makes most equations causal; ties: the lowest id.
max-causal  the last criterion over all unknowns (notes, "Tearing"); ties: Σ 1/(remaining unknowns) over the equations
            of the unknown, number of these equations, the lowest id. The result is then improved: see `_improve`.

Notation: cl(T) is what propagation makes known from the tears T, the tears included. It is monotone, and which of
several ready equations comes first changes the causal list but not cl. A set T is feasible if cl(T) is everything. If w
is in cl(K+v), then cl(K+w) is part of cl(K+v), so v is at least as good as w on top of K ("v covers w"): `_best` and
`_branches` need not try w.

The residuals are not chosen but left: the lecture's example stalls when u1=R1·i1 is set aside as the residual of i1. Of
several ready equations the shortest goes first, so that the long ones, which couple most, are left.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from pliant.errors import ArgumentError

SHARE = 232792560  # divisible by 1..20: Σ 1/k in integers, free of rounding that would decide ties
SMALL = 16  # up to this number of unknowns the search goes on until the minimum is proven
MANY = 400  # above this number of unknowns only the most promising ones are tried
TRIED = 24  # how many are tried then
SHORT = 8  # and when an equation has more unknowns left than this, the rank of its unknowns is not brought up to date
EFFORT = 100_000  # unknowns made known and unknown again in attempts to improve one loop, at most: about 0.3 s


@dataclass(frozen=True)
class Tearing:
    """Guess `tears`, evaluate `causal` as (equation, unknown) in this order, iterate until `residuals` vanish."""

    tears: list[int]
    causal: list[tuple[int, int]]
    residuals: list[int]


def tear(
    inc: Sequence[Sequence[int]],
    solvable: Sequence[Collection[int]],
    *,
    method: str = "max-causal",
    forced: Sequence[int] = (),
) -> Tearing:
    """Tear one loop of n equations in the unknowns 0..n-1.

    inc[e] are the unknowns of equation e, solvable[e] those that it may be solved for. The unknowns in `forced` are
    torn in any case, before all others.
    """
    if method not in ("cellier", "max-causal"):
        raise ArgumentError(f"unknown tearing method {method!r}", hint='use "max-causal" or "cellier"')
    loop = _Loop(inc, solvable)
    if len(set(forced)) != len(forced) or not all(0 <= v < loop.n for v in forced):
        raise ArgumentError(
            f"forced tears {list(forced)} are not different unknowns of 0..{loop.n - 1}",
            hint="name each unknown of the loop once",
        )
    if method == "max-causal":
        never = set(range(loop.n)).difference(forced, *loop.can)  # no equation may be solved for them: tears anyway
        first = [*forced, *sorted(never)]
        return loop.causalise(_improve(loop, _greedy(loop, first), len(first)))
    tears = list(forced)
    loop.learn(tears)
    while len(loop.trail) < loop.n:
        tears.append(_cellier(loop))
        loop.learn(tears[-1:])
    return loop.causalise(tears)


class _Loop:
    """The loop and what is known so far, with undo.

    rows[e] unknowns of e, can[e] those it may be solved for, uses[v] equations of v; count[e] unknowns of e not known,
    rest[e] the sum of their ids, which is the last one itself when one is left. trail: the known ones in order; the
    first `head` of them are already subtracted from count and rest. effort: length of all trails that were undone.
    """

    def __init__(self, inc: Sequence[Sequence[int]], solvable: Sequence[Collection[int]]) -> None:
        n = self.n = len(inc)
        if len(solvable) != n:
            raise ArgumentError(
                f"{n} equations, but `solvable` has {len(solvable)} entries", hint="give one collection per equation"
            )
        self.rows = [list(dict.fromkeys(row)) for row in inc]
        if any(row and not 0 <= min(row) <= max(row) < n for row in self.rows):
            raise ArgumentError(
                f"an equation has an unknown outside 0..{n - 1}",
                hint="a loop has as many unknowns as equations, counted from 0",
            )
        self.can = [frozenset(row).intersection(allowed) for row, allowed in zip(self.rows, solvable, strict=True)]
        self.uses: list[list[int]] = [[] for _ in range(n)]
        for e, row in enumerate(self.rows):
            for v in row:
                self.uses[v].append(e)
        self.count = [len(row) for row in self.rows]
        self.rest = [sum(row) for row in self.rows]
        self.known = bytearray(n)
        self.trail: list[int] = []
        self.head = 0
        self.effort = 0
        self.ready_at_once = [(e, row[0]) for e, row in enumerate(self.rows) if len(row) == 1 and row[0] in self.can[e]]

    def learn(self, unknowns: Iterable[int], stop: int = -1) -> int:
        """Make unknowns known and propagate, only until `stop` is known if given; returns how many became known."""
        count, rest, known, trail, uses, can = self.count, self.rest, self.known, self.trail, self.uses, self.can
        before = len(trail)
        for v in unknowns:
            if not known[v]:
                known[v] = 1
                trail.append(v)
        if not before:
            for _, v in self.ready_at_once:
                if not known[v]:
                    known[v] = 1
                    trail.append(v)
        head = self.head
        while head < len(trail):
            v = trail[head]
            if v == stop:
                break
            head += 1
            for e in uses[v]:
                count[e] -= 1
                rest[e] -= v
                if count[e] == 1:
                    last = rest[e]
                    if not known[last] and last in can[e]:
                        known[last] = 1
                        trail.append(last)
        self.head = head
        return len(trail) - before

    def undo(self, length: int) -> None:
        """Forget all but the first `length` known unknowns."""
        count, rest, known, trail, uses = self.count, self.rest, self.known, self.trail, self.uses
        self.effort += len(trail) - length + 1
        for at in range(len(trail) - 1, length - 1, -1):
            v = trail.pop()
            known[v] = 0
            if at < self.head:
                for e in uses[v]:
                    count[e] += 1
                    rest[e] += v
        self.head = min(self.head, length)

    def try_out(self, v: int, stop: int = -1) -> list[int]:
        """What else would be known if v was, v first."""
        before = len(self.trail)
        self.learn((v,), stop)
        gained = self.trail[before:]
        self.undo(before)
        return gained

    def is_feasible(self, tears: Iterable[int]) -> bool:
        """Whether everything follows from the tears."""
        self.undo(0)
        self.learn(tears)
        return len(self.trail) == self.n

    def unknowns(self) -> list[int]:
        """Those not known yet."""
        return [v for v, known in enumerate(self.known) if not known]

    def share(self, v: int) -> int:
        """Σ 1/(remaining unknowns) over the equations of an unknown, times SHARE."""
        return sum(SHARE // self.count[e] for e in self.uses[v])

    def causalise(self, tears: list[int]) -> Tearing:
        """The propagation once more, now noting which equation gives which unknown; short equations go first."""
        self.undo(0)
        count, rest, known = self.count.copy(), self.rest.copy(), bytearray(self.n)
        ready = [(1, e, e) for e, _ in self.ready_at_once]
        causal: list[tuple[int, int]] = []
        entered = self.n
        for v in tears:
            known[v] = 1
        front = tears
        while front or ready:
            for v in front:
                for e in self.uses[v]:
                    count[e] -= 1
                    rest[e] -= v
                    if count[e] == 1 and rest[e] in self.can[e]:
                        entered += 1
                        heapq.heappush(ready, (len(self.rows[e]), entered, e))
            front = []
            while ready and not front:
                e = heapq.heappop(ready)[2]
                if count[e] and not known[rest[e]]:
                    known[rest[e]] = 1
                    causal.append((e, rest[e]))
                    front = [rest[e]]
        used = {e for e, _ in causal}
        return Tearing(tears, causal, [e for e in range(self.n) if e not in used])


def _cellier(loop: _Loop) -> int:
    """The lecture's choice of the next tear."""
    most = max(loop.count)
    ends = {v for e, row in enumerate(loop.rows) if loop.count[e] == most for v in row if not loop.known[v]}
    lines = {v: len(loop.uses[v]) for v in sorted(ends or loop.unknowns())}
    frequent = max(lines.values())
    return _best(loop, [v for v, n in lines.items() if n == frequent])


# ------------------------------------------------------------------------------------------------ max-causal


def _rank(loop: _Loop, v: int, rule: int) -> tuple[int, int, int]:
    """The order among unknowns of equal gain, best first; rule 0 is the documented one, the others are variations."""
    share, lines = loop.share(v), len(loop.uses[v])
    return ((-share, -lines, v), (-lines, -share, v), (-share, lines, -v), (lines, -share, v))[rule]


def _greedy(loop: _Loop, tears: list[int], rule: int = 0, most: int = sys.maxsize) -> list[int]:
    """Add tears one by one until everything follows; stops, with what it has, when there are `most`."""
    loop.undo(0)
    loop.learn(tears)
    if loop.n > MANY:
        return _greedy_many(loop, tears)
    tears = list(tears)
    while len(loop.trail) < loop.n and len(tears) < most:
        ranks = {v: _rank(loop, v, rule) for v in loop.unknowns()}
        tears.append(_best(loop, sorted(ranks, key=ranks.__getitem__)))
        loop.learn(tears[-1:])
    return tears


def _best(loop: _Loop, wanted: list[int]) -> int:
    """Of the unknowns `wanted`, which stand in order of preference, the first one with the largest gain.

    An unknown w in cl(K+v) gains at most as much as v, so it is not tried until it turns out that v is best; then it
    ties with v exactly if v is in cl(K+w).
    """
    bound = dict.fromkeys(wanted, loop.n + 1)
    by: dict[int, int] = {}
    best, left = 0, loop.n - len(loop.trail)
    for v in wanted:
        if bound[v] > loop.n:
            gained = loop.try_out(v)
            best = max(best, len(gained))
            for w in gained:
                if bound.get(w, 0) > len(gained):
                    bound[w] = len(gained)
                    by[w] = v
            if best == left:
                break
    for v in wanted:
        if bound[v] == best and (by[v] == v or by[v] in loop.try_out(v, stop=by[v])):
            return v
    raise AssertionError("no unknown is left to tear")


def _greedy_many(loop: _Loop, tears: list[int]) -> list[int]:
    """As `_greedy`, but tries only the TRIED unknowns of highest rank, kept in a heap, for each tear."""
    tears = list(tears)
    ranks = {v: _rank(loop, v, 0) for v in loop.unknowns()}
    heap = sorted(ranks.values())
    while len(loop.trail) < loop.n:
        wanted: list[int] = []
        while heap and len(wanted) < TRIED:
            rank = heapq.heappop(heap)
            v = rank[2]
            if not loop.known[v] and ranks[v] == rank and v not in wanted:
                wanted.append(v)
        before = len(loop.trail)
        tears.append(_best(loop, wanted))
        loop.learn(tears[-1:])
        touched = {e for v in loop.trail[before:] for e in loop.uses[v] if 0 < loop.count[e] <= SHORT}
        fresh = {w for e in touched for w in loop.rows[e]}.union(wanted)
        for w in sorted(fresh):
            if not loop.known[w]:
                ranks[w] = _rank(loop, w, 0)
                heapq.heappush(heap, ranks[w])
    return tears


# ----------------------------------------------------------------------------------------------- improvement


def _improve(loop: _Loop, tears: list[int], n_forced: int) -> list[int]:
    """A smaller feasible set of tears, if one is found with bounded effort; the forced ones stay.

    Superfluous tears are dropped; the heuristic is repeated with other rules for ties and other first tears; then
    groups of j tears are replaced by j-1 others (`_exchange`), which for small loops ends with the proven minimum.
    """
    best = _drop(loop, tears, n_forced)
    enough = n_forced + _least(loop, tears[:n_forced])
    effort = min(EFFORT, EFFORT // 4 + EFFORT // 200 * loop.n)  # a model may have many loops of middle size
    limit = loop.effort + effort // 3
    if SMALL < loop.n <= MANY:
        for start in _starts(loop, tears[:n_forced]):
            if len(best) <= enough or loop.effort > limit:
                break
            other = _greedy(loop, tears[:n_forced] + start[1:], start[0], len(best) + 1)
            if loop.is_feasible(other):
                other = _drop(loop, other, n_forced)
                best = min(best, other, key=len)
    return _exchange(loop, best, n_forced, enough, effort)


def _least(loop: _Loop, forced: list[int]) -> int:
    """A lower bound: to make a first equation causal, all but one of its unknowns must be tears."""
    loop.undo(0)
    loop.learn(forced)
    left = loop.n - len(loop.trail)
    shortest = (n - 1 for n, can in zip(loop.count, loop.can, strict=True) if n > 1 and can)
    return min(left, min(shortest, default=left))


def _starts(loop: _Loop, forced: list[int]) -> list[list[int]]:
    """Other ways to begin: [rule for ties], then [0, first tear] in order of its gain."""
    loop.undo(0)
    loop.learn(forced)
    gain = {v: len(loop.try_out(v)) for v in loop.unknowns()}
    return [[1], [2], [3], *([0, v] for v in sorted(gain, key=lambda v: (-gain[v], v)))]


def _drop(loop: _Loop, tears: list[int], n_forced: int) -> list[int]:
    """Leave out, the earliest first, every tear that follows from the others.

    By halves: what the tears outside a range make known is computed once for all tears inside it.
    """
    kept = dict.fromkeys(tears)
    loop.undo(0)
    loop.learn(tears[:n_forced])
    todo = [(n_forced, len(tears), len(tears), len(loop.trail))]
    while todo:  # range lo:hi, the tears hi:end to be assumed on top of the first `length` known ones
        lo, hi, end, length = todo.pop()
        loop.undo(length)
        loop.learn(v for v in tears[hi:end] if v in kept)
        if hi - lo > 1:
            middle = (lo + hi) // 2
            todo += [(middle, hi, lo, len(loop.trail)), (lo, middle, hi, len(loop.trail))]
        elif hi > lo and len(loop.trail) == loop.n:
            del kept[tears[lo]]
    return list(kept)


def _exchange(loop: _Loop, tears: list[int], n_forced: int, enough: int, effort: int) -> list[int]:
    """Replace any j tears by j-1 others, for growing j, until nothing is found or the effort is spent."""
    limit = loop.effort + effort
    j = 2
    while len(tears) > enough:
        free = tears[n_forced:]
        if loop.n <= SMALL:
            j = max(j, len(free))
        if j > len(free):  # all groups were looked at; a single tear is the business of `_drop`
            break
        for group in combinations(free, j):
            others = [v for v in tears if v not in group]
            loop.undo(0)
            loop.learn(others)
            found = _complete(loop, j - 1, limit)
            if loop.effort > limit:
                return tears
            if found is not None:
                tears, j = others + found, 1
                break
        j += 1
    return tears


def _complete(loop: _Loop, most: int, limit: int) -> list[int] | None:
    """At most `most` tears from which, on top of what is known, everything follows; None: there are none, or no effort.

    Depth first. After all sets with v have been searched, v is excluded from the remaining ones.
    """
    if most <= 0:
        return [] if len(loop.trail) == loop.n else None
    chosen: list[int] = []
    excluded: list[int] = []
    levels = [(len(loop.trail), 0, _branches(loop, most, excluded))]
    while levels and loop.effort <= limit:
        length, n_excluded, branches = levels[-1]
        loop.undo(length)
        if not branches:
            levels.pop()
            del excluded[n_excluded:]
            if chosen:
                excluded.append(chosen.pop())
            continue
        chosen.append(branches.pop())
        loop.learn(chosen[-1:])
        if len(loop.trail) == loop.n:
            return chosen
        if len(chosen) < most:
            levels.append((len(loop.trail), len(excluded), _branches(loop, most - len(chosen), excluded)))
        else:
            chosen.pop()
    return None


def _branches(loop: _Loop, most: int, excluded: list[int]) -> list[int]:
    """Unknowns of which one is in a smallest set of at most `most` tears, the most promising last.

    Before any equation becomes causal, all but one unknown of it must be tears: so one of the tears is in an equation
    with at most `most`+1 unknowns. An unknown covered by another one need not be tried, and as all sets with an
    excluded one have been searched, one covered by an excluded one cannot help either.
    """
    left = loop.n - len(loop.trail)
    if left <= most:
        return loop.unknowns()[:1]
    wanted: set[int] = set()
    for e, n in enumerate(loop.count):
        if 1 < n <= most + 1:
            ends = [v for v in loop.rows[e] if not loop.known[v]]
            if not loop.can[e].isdisjoint(ends):
                wanted.update(ends)
    covered: set[int] = set()
    for v in excluded:
        if not loop.known[v]:
            covered.update(loop.try_out(v))
    gain: dict[int, int] = {}
    for v in sorted(wanted):
        if v not in covered:
            gained = loop.try_out(v)
            if len(gained) == left:
                return [v]
            covered.update(gained)
            for w in gained:
                gain.pop(w, None)
            gain[v] = len(gained)
    if most == 1:
        return []
    return sorted(gain, key=lambda v: (gain[v], -v))
