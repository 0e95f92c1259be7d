"""What a challenge found: rows, those that matter, a text, files of the worst cases, a picture."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arguments import as_path
from pliant.calls import by_keyword, by_keyword_class
from pliant.errors import ArgumentError, OutputError
from pliant.pickled import Stamped
from pliant.plain import plain
from pliant.realtime.challenge.trial import ChallengeRow
from pliant.realtime.flags import Flag
from pliant.realtime.scenario import Scenario, step_times
from pliant.solve.results.save import text_writer, write_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 5  # rows of each kind in the text
SHARE = 0.5  # of what is allowed: below it a flag in a covered scenario is a false alarm


@by_keyword_class
class Challenge(Stamped):
    """Unseen scenarios of a plan.

    rows          one for each scenario, see :class:`pliant.ChallengeRow`
    missed        those that failed without a flag, the largest error first
    false_alarms  covered ones with an error below half of what is allowed, and a flag
    unsolvable    those that the model itself cannot be simulated in, or in which the step does not start
    holds         does the plan's own evidence hold? If not, errors are to be expected
    """

    def __init__(
        self, rows: Sequence[ChallengeRow], *, model: str, step: float, seconds: float, asked: int, holds: bool
    ) -> None:
        self.rows = tuple(rows)
        self.model, self.step, self.seconds, self.asked, self.holds = model, step, seconds, asked, holds

    @property
    def missed(self) -> tuple[ChallengeRow, ...]:
        """Failed without a flag, the worst first."""
        return _worst(one for one in self.rows if one.failed and not one.flagged)

    @property
    def false_alarms(self) -> tuple[ChallengeRow, ...]:
        """Covered, accurate by a factor of two, and flagged."""
        return tuple(one for one in self._quiet if one.flagged)

    @property
    def unsolvable(self) -> tuple[ChallengeRow, ...]:
        """Kept apart: there is nothing to compare with."""
        return tuple(one for one in self.rows if one.reason is not None)

    @property
    def failed(self) -> tuple[ChallengeRow, ...]:
        """All beyond the accuracy, flagged or not, the worst first."""
        return _worst(one for one in self.rows if one.failed)

    @property
    def _quiet(self) -> list[ChallengeRow]:
        return [one for one in self.rows if one.reason is None and one.covered and one.ratio < SHARE]

    @property
    def false_alarm_share(self) -> float:
        """Of the covered scenarios with an error below half of what is allowed: how many were flagged."""
        return len(self.false_alarms) / max(len(self._quiet), 1)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return (
            f"<pliant.Challenge {self.model!r}: {len(self.rows)} scenarios, {len(self.missed)} missed, "
            f"{len(self.false_alarms)} false alarms, {len(self.unsolvable)} not solvable>"
        )

    def __str__(self) -> str:
        good = [one for one in self.rows if one.reason is None]
        worst = max((one.ratio for one in good), default=0.0)
        covered, beyond = [one for one in good if one.covered], self.failed
        lines = [
            f"{self.model}: {len(self.rows)} unseen scenarios in {self.seconds:.0f} s"
            + (f" of {self.asked} asked for" if len(self.rows) < self.asked else ""),
            *(["  the plan's own evidence does not hold: errors are to be expected"] * (not self.holds)),
            f"  within what the plan covers     {len(covered):6d} of {len(good)}",
            f"  beyond the accuracy             {len(beyond):6d}, with a flag {len(beyond) - len(self.missed)}",
            f"  MISSED: beyond it, no flag      {len(self.missed):6d}",
            f"  false alarms                    {len(self.false_alarms):6d} of {len(self._quiet)} "
            f"({100 * self.false_alarm_share:.1f} %)",
            f"  largest error                   {worst:6.3g} of what is allowed",
        ]
        kinds: list[tuple[str, Sequence[ChallengeRow]]] = [("missed", self.missed), ("false alarms", self.false_alarms)]
        kinds.append(("not solvable", self.unsolvable))
        for title, rows in kinds:
            if rows:
                lines.append(f"  {title}:")
                lines += [f"    {one}" for one in rows[:SHOWN]]
                lines += [f"    ... and {len(rows) - SHOWN} more"] * (len(rows) > SHOWN)
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """For machines: counts and rows."""
        return {
            "model": self.model,
            "step": self.step,
            "holds": self.holds,
            "n": len(self.rows),
            "asked": self.asked,
            "seconds": self.seconds,
            "missed": [one.scenario.name for one in self.missed],
            "false_alarms": [one.scenario.name for one in self.false_alarms],
            "unsolvable": [one.scenario.name for one in self.unsolvable],
            "rows": [{**_numbers(one), "flags": str(Flag(one.flags)) if one.flags else ""} for one in self.rows],
        }

    @by_keyword
    def save(self, folder: str | Path, *, worst: int = 10, overwrite: bool = False) -> Path:
        """Write all rows as a table and the worst cases as scenarios that run again.

        rows.csv        every scenario
        worst.json      the worst of those missed, then of all that failed, then false alarms, then the largest errors:
                        a list that ``pliant realtime --scenarios`` and ``model.realtime(scenarios=)`` take
        """
        target = as_path("folder", folder)
        if target.exists() and not overwrite and any(target.iterdir()) if target.is_dir() else target.exists():
            raise ArgumentError(f"{target} exists", hint="another folder, or overwrite=True")
        solved = (one for one in self.rows if one.reason is None)
        order = dict.fromkeys([*self.missed, *self.failed, *_worst(self.false_alarms), *_worst(solved)])
        cases = [_as_data(one.scenario, self.step) for one in list(order)[:worst]]
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{target} cannot be written: {error.strerror}", hint="check the path") from error
        sheet = io.StringIO(newline="")
        table, rows = csv.writer(sheet), [_numbers(one) for one in self.rows]
        table.writerow(rows[0] if rows else [])
        table.writerows(row.values() for row in rows)
        texts = {"rows.csv": sheet.getvalue(), "worst.json": json.dumps(cases, indent=1) + "\n"}
        write_files([(target / name, text_writer(text)) for name, text in texts.items()])
        return target

    def plot(self, file: str | Path | None = None) -> Figure:
        """Errors of all scenarios, sorted: covered and not, with flags and without."""
        from pliant.realtime.challenge.plot import plot_challenge

        return plot_challenge(self, file)


def _as_data(scenario: Scenario, step: float) -> dict[str, Any]:
    """A scenario as plain data, its inputs as tables."""
    times = step_times(scenario, step).tolist()
    inputs = {}
    for name, one in scenario.inputs.items():
        data = one.as_data(lambda: times)
        is_table = isinstance(data, dict) and "times" in data
        inputs[name] = [data["times"], data["values"]] if is_table else plain(data)
    return {
        "name": scenario.name,
        "inputs": inputs,
        "parameters": plain(dict(scenario.parameters)),
        "start_values": plain(dict(scenario.start_values)),
        "start": scenario.start,
        "stop": scenario.stop,
    }


def _worst(rows: Any) -> tuple[ChallengeRow, ...]:
    return tuple(sorted(rows, key=lambda one: -one.ratio))


def _numbers(row: ChallengeRow) -> dict[str, Any]:
    """A row without its scenario."""
    return {
        "scenario": row.scenario.name,
        "name": row.name,
        "error": _finite(row.error),
        "limit": _finite(row.limit),
        "t": row.t,
        "flagged": row.flagged,
        "flags": row.flags,
        "covered": row.covered,
        "failed": row.failed,
        "reason": row.reason or "",
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
