"""What a finding is, and how findings are ranked.

Every rule is a function `RunRecord -> list[Finding]`; they live by subject in scales.py (nominals, tolerances),
switching.py (events) and course.py (failures, steps, Jacobians). A finding's `score` = rank + weight, 0 <= weight < 1:

    3  FAULT    a cause that can be corrected: a wrong nominal, a tolerance, a root function that chatters
    2  TROUBLE  the run suffers, the cause is not certain: failures, steps held small, the run ended early
    1  FACT     true in every run: which state limits the step, what the Jacobians cost

so that a healthy run's facts never stand above a fault, however large their share is. The weight says how much of
the work, or of the trust in the result, is touched.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.explain.record import FloatArray, RunRecord

FAULT, TROUBLE, FACT = 3.0, 2.0, 1.0


@dataclass(frozen=True)
class Finding:
    """One thing that was found: whom it concerns, how much of the run it touches, and what to try.

    kind        nominal, tolerance, chatter, stopped, newton, error, singular, refused, order, slow, stiff, handover,
                events, limits, jacobian, repaired
    names       variables or root functions, the most concerned first
    share       0 .. 1: how much of the work it touches
    score       what findings are ranked by
    text        what was seen
    suggestion  one thing to try; "" if nothing needs to be done
    """

    kind: str
    names: tuple[str, ...]
    share: float
    score: float
    text: str
    suggestion: str = ""

    @property
    def serious(self) -> bool:
        """More than a fact that is true in every run."""
        return self.score >= TROUBLE

    def as_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return {**asdict(self), "names": list(self.names), "serious": self.serious}

    def __str__(self) -> str:
        return f"{self.text} Try: {self.suggestion}" if self.suggestion else self.text


def make(
    kind: str, names: tuple[str, ...], rank: float, weight: float, text: str, suggestion: str = "", share: float = 0.0
) -> Finding:
    """A finding with its score; weight and share are kept within their bounds."""
    share = min(max(float(share), 0.0), 1.0)
    return Finding(kind, names, share, rank + min(max(float(weight), 0.0), 0.999), text, suggestion)


# -- numbers of a run ----------------------------------------------------------------------------------------


def count(record: RunRecord, name: str) -> int:
    """A counter, 0 where it is missing."""
    number = float(record.counters.get(name, 0))
    return int(number) if np.isfinite(number) else 0


def n_steps(record: RunRecord) -> int:
    """Accepted steps."""
    return max(count(record, "n_steps"), len(record.step_ends))


def newton_failures(record: RunRecord) -> int:
    """Failures of Newton's iteration. The solver's counter holds refused points and singular matrices as well."""
    others = count(record, "n_refused") + count(record, "n_singular")
    return max(count(record, "n_newton_fails") - others, int(np.sum(record.newton_fails)))


def span(record: RunRecord) -> float:
    """Length of the time interval that was simulated."""
    return max(float(record.reached - record.start), 0.0)


def shares(counts: NDArray[np.int64]) -> FloatArray:
    """Counts as shares of their sum; zeros if there are none."""
    numbers = np.asarray(counts, dtype=np.float64)
    total = float(numbers.sum())
    return numbers / total if total > 0 else np.zeros(len(numbers))


def top(counts: NDArray[np.int64], most: int = 3) -> NDArray[np.intp]:
    """Places of the largest counts that are not 0, the largest first; ties by place."""
    order = np.argsort(-np.asarray(counts), kind="stable")[:most]
    return order[np.asarray(counts)[order] > 0]


def burden(record: RunRecord) -> FloatArray:
    """Per state: the largest of its shares of steps limited, error-test failures and Newton failures.

    Failures count in full only where they are many: one failure of ten steps by one state is no burden.
    """
    steps = max(n_steps(record), 1)
    heavy = shares(record.limits)
    for fails in (record.error_fails, record.newton_fails):
        heavy = np.maximum(heavy, shares(fails) * min(1.0, 5.0 * float(np.sum(fails)) / steps))
    return heavy


# -- words ---------------------------------------------------------------------------------------------------


def number(value: float) -> str:
    """Three significant digits: 0.00123, 1.5e-7, 12,300."""
    if not np.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return _plain_exponent(f"{value:.3g}")


def rough(value: float) -> str:
    """Two significant digits: 1,000,000 times, 3.4 steps."""
    return number(float(f"{value:.2g}"))


def _plain_exponent(text: str) -> str:
    """1e-06 -> 1e-6"""
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else text


def moment(value: float) -> str:
    """A time, with digits enough to find it again."""
    return _plain_exponent(f"{value:.6g}")


def percent(share: float) -> str:
    """A share in words: 83 %."""
    text = f"{100 * share:.0f}"
    if text == "0" and share > 0:
        return "less than 1 %"
    return "more than 99 %" if text == "100" and share < 1 else f"{text} %"


def plural(n: float, what: str) -> str:
    """1 step, 2 steps."""
    return f"{number(n)} {what}{'' if n == 1 else 's'}"


def listing(names: tuple[str, ...], most: int = 4) -> str:
    """Names for a sentence: a, b and 3 more."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def when(times: FloatArray) -> str:
    """Where in time most of the moments lie: "at t = 1", "between t = 1 and 2, 80 % of them between ...\"."""
    times = np.sort(np.asarray(times, dtype=np.float64))
    if not len(times):
        return ""
    first, last = times[0], times[-1]
    if len(times) == 1 or moment(first) == moment(last):
        return f"at t = {moment(first)}"
    words = f"between t = {moment(first)} and {moment(last)}"
    if len(times) >= 8:
        low, high = densest(times, 0.8)
        if high - low < 0.25 * (last - first):
            words += f", most of them between {moment(low)} and {moment(high)}"
    return words


def densest(times: FloatArray, part: float) -> tuple[float, float]:
    """The shortest interval that holds a part of the (sorted) moments."""
    k = min(max(int(np.ceil(part * len(times))), 1), len(times))
    widths = times[k - 1 :] - times[: len(times) - k + 1]
    i = int(np.argmin(widths))
    return float(times[i]), float(times[i + k - 1])
