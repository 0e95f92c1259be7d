"""The explanation of a run: findings by rank, tables of states, and the report in words.

e = result.explain()
print(e)                 the report
e.findings[0].names      the main cause
e.plot(file="t.png")     the timeline
"""

from __future__ import annotations

import html
import math
import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from pliant.calls import by_keyword, by_keyword_class
from pliant.explain import course, scales, switching
from pliant.explain.findings import (
    Finding,
    count,
    moment,
    n_steps,
    newton_failures,
    number,
    percent,
    plural,
    shares,
    top,
)
from pliant.explain.record import RunRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 100
_ROWS = 8  # of the tables in the report

RULES: tuple[Callable[[RunRecord], list[Finding]], ...] = (
    scales.nominals,
    scales.tolerances,
    switching.chatter,
    course.stopped,
    course.failures,
    course.refusals,
    course.low_order,
    course.slow_part,
    course.stiff,
    course.handovers,
    course.repaired,
    course.limits,
    course.jacobians,
    switching.events,
)


def explain(record: RunRecord) -> Explanation:
    """Apply all rules to a run and rank what they find."""
    found = [finding for rule in RULES for finding in rule(record)]
    # Chatter brings failures, low orders and dense steps along: they are its marks, not causes of their own.
    if any(finding.kind == "chatter" and finding.share > 0.5 for finding in found):
        found = [finding for finding in found if finding.kind not in ("order", "slow")]
    return Explanation(record, findings=tuple(sorted(found, key=lambda finding: -finding.score)))


@by_keyword_class
@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a run took the time it took: `findings`, the most important first, and a `plot` of the course.

    Printing it gives the report; `as_dict()` gives everything as plain data.
    """

    record: RunRecord
    _: KW_ONLY
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Nothing stands out."""
        return not any(finding.serious for finding in self.findings)

    @property
    def summary(self) -> str:
        """The run in one line."""
        record = self.record
        parts = [
            f"{plural(n_steps(record), 'step')} of {record.used or record.method} in {number(record.seconds)} s",
            plural(count(record, "n_error_fails"), "failed error test"),
            plural(newton_failures(record), "Newton failure"),
            plural(count(record, "n_jac"), "Jacobian"),
            plural(len(record.events), "event"),
        ]
        if count(record, "n_refused"):
            parts.append(plural(count(record, "n_refused"), "refused point"))
        if not record.complete:
            parts.append(f"ended early at t = {moment(record.reached)}")
        return f"{record.model or 'run'}: {', '.join(parts)}"

    @property
    def repaired(self) -> tuple[str, ...]:
        """What pliant corrected automatically."""
        return tuple(finding.text for finding in self.findings if finding.kind == "repaired")

    def find(self, kind: str) -> tuple[Finding, ...]:
        """The findings of one kind."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    @property
    def limiting(self) -> list[dict[str, Any]]:
        """States that limited steps, the most frequent first, with share, size, tolerance and nominal."""
        record = self.record
        share = shares(record.limits)
        return [
            {
                "state": record.states[i],
                "steps": int(record.limits[i]),
                "share": float(share[i]),
                "largest": _finite(record.largest[i]),
                "atol": _finite(record.atol[i]),
                "nominal": _finite(record.nominal[i]),
            }
            for i in top(record.limits, len(record.states))
        ]

    @property
    def failing(self) -> list[dict[str, Any]]:
        """States that made error tests or Newton's iteration fail, with the first and last time of each."""
        record = self.record
        rows = []
        bounds = {kind: course.first_and_last(record, kind) for kind in ("error", "newton")}
        for i in top(record.error_fails + record.newton_fails, len(record.states)):
            row: dict[str, Any] = {"state": record.states[i]}
            for kind, fails in (("error", record.error_fails), ("newton", record.newton_fails)):
                row[kind] = int(fails[i])
                row[f"{kind}_first"], row[f"{kind}_last"] = (_finite(bound[i]) for bound in bounds[kind])
            rows.append(row)
        return rows

    @property
    def events(self) -> list[dict[str, Any]]:
        """Root functions that fired, the most frequent first, with the first and last time."""
        return [
            {"root": use.name, "events": len(use.times), "first": float(use.times[0]), "last": float(use.times[-1])}
            for use in switching.root_uses(self.record)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON."""
        return {
            "model": self.record.model,
            "summary": self.summary,
            "healthy": self.healthy,
            "complete": bool(self.record.complete),
            "reached": _finite(self.record.reached),
            "findings": [finding.as_dict() for finding in self.findings],
            "repaired": list(self.repaired),
            "limiting": self.limiting,
            "failing": self.failing,
            "events": self.events,
            "counters": {name: _finite(value) for name, value in self.record.counters.items()},
            "incidents_lost": int(self.record.incidents_lost),
        }

    @by_keyword
    def plot(self, *, file: str | os.PathLike[str] | None = None, show: bool | None = None, log: str = "") -> Figure:
        """Draw the timeline: step size, order, failures, Jacobians and events over time.

        Arguments:
            file: write the picture; the suffix (.png, .svg, .pdf) names the format.
            show: open a window. By default only where matplotlib has one to offer and no `file` is given.
            log: "x" for a logarithmic time axis.
        """
        from pliant.explain.plot import timeline

        return timeline(self.record, file=file, show=show, log=log)

    # -- words -----------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        lines = _wrap(self.summary, "", "  ")
        if self.healthy:
            lines += ["", "Nothing stands out." if n_steps(self.record) else "No steps were taken: nothing to explain."]
        for place, finding in enumerate(self.findings, 1):
            lines += ["", *_wrap(finding.text, f"{place:>2}. ", "    ")]
            if finding.suggestion:
                lines += _wrap(finding.suggestion, "    try: ", "         ")
        lines += self._limiting_lines() + self._failing_lines() + self._event_lines()
        if self.record.incidents_lost:
            lost = plural(self.record.incidents_lost, "incident")
            lines += ["", f"{lost} more happened than the record holds: the last times may be missing."]
        return "\n".join(lines)

    def _limiting_lines(self) -> list[str]:
        rows = self.limiting
        table = [
            (
                row["state"],
                number(row["steps"]),
                percent(row["share"]).replace("less than ", "<").replace("more than ", ">"),
                _number_or_dash(row["largest"]),
                _number_or_dash(row["atol"]),
                _number_or_dash(row["nominal"]),
            )
            for row in rows[:_ROWS]
        ]
        head = ("states that limit the step", "steps", "share", "largest", "atol", "nominal")
        return _table(head, table, len(rows) - len(table))

    def _failing_lines(self) -> list[str]:
        rows = self.failing
        table = [
            (
                row["state"],
                *(
                    text
                    for kind in ("error", "newton")
                    for text in (
                        number(row[kind]),
                        _from_to(row[f"{kind}_first"], row[f"{kind}_last"]),
                    )
                ),
            )
            for row in rows[:_ROWS]
        ]
        head = ("failures by state", "error tests", "first .. last", "Newton", "first .. last")
        return _table(head, table, len(rows) - len(table))

    def _event_lines(self) -> list[str]:
        rows = self.events
        table = [(row["root"], number(row["events"]), _from_to(row["first"], row["last"])) for row in rows[:_ROWS]]
        return _table(("events by root function", "events", "first .. last"), table, len(rows) - len(table))

    def __repr__(self) -> str:
        first = self.findings[0] if self.findings else None
        head = f"{first.kind}: {', '.join(first.names[:3])}" if first is not None and first.serious else "healthy"
        return f"<Explanation of {self.record.model or 'a run'}: {head}, {plural(len(self.findings), 'finding')}>"

    def _repr_html_(self) -> str:
        items = []
        for finding in self.findings:
            text = html.escape(finding.text)
            if finding.suggestion:
                text += f"<br><em>try: {html.escape(finding.suggestion)}</em>"
            items.append(f"<li>{text}</li>")
        note = "<p>Nothing stands out.</p>" if self.healthy else ""
        return f"<p>{html.escape(self.summary)}</p>{note}<ol>{''.join(items)}</ol>"


def _finite(value: float) -> float | None:
    """For JSON, which knows neither NaN nor infinity."""
    return float(value) if math.isfinite(value) else None


def _number_or_dash(value: float | None) -> str:
    return "-" if value is None else number(value)


def _from_to(first: float | None, last: float | None) -> str:
    if first is None or last is None:
        return "-"
    return moment(first) if moment(first) == moment(last) else f"{moment(first)} .. {moment(last)}"


def _wrap(text: str, first: str, later: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], more: int) -> list[str]:
    """A small table under a blank line, nothing for no rows."""
    if not rows:
        return []
    room = WIDTH - sum(max(len(row[j]) for row in [head, *rows]) + 2 for j in range(1, len(head))) - 2
    cells = [[_shorten(row[0], max(room, 24)), *row[1:]] for row in [head, *rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(head))]
    lines = [
        "  "
        + "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in cells
    ]
    if more > 0:
        lines.append(f"  and {more} more")
    return ["", *(line.rstrip() for line in lines)]


def _shorten(name: str, room: int) -> str:
    if len(name) <= room:
        return name
    half = (room - 2) // 2
    return f"{name[:half]}..{name[-(room - 2 - half) :]}"
