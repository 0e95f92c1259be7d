"""Study: what ``model.simulate_many`` gives. Results in the order of the cases, failures in their places."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pliant.batch.cases import Cases
from pliant.batch.order import Order
from pliant.batch.results import result_of
from pliant.batch.workers.work import BlockOutcome, numbers_of, sendable
from pliant.calls import by_keyword, by_keyword_class
from pliant.drawing import import_optional
from pliant.errors import ArgumentError, CaseError
from pliant.pickled import Stamped

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


OURS = ("error", "seconds")  # columns of a table that are no variables


@dataclass(frozen=True)
class StudyStats:
    """Figures of a study."""

    n: int
    n_failed: int
    seconds: float
    workers: int

    def as_dict(self) -> dict[str, int | float]:
        """By name."""
        return dataclasses.asdict(self)


class Keeping(Protocol):
    """Where outcomes are kept: in memory, or in a folder."""

    folder: Path | None

    @property
    def n_done(self) -> int:
        """Cases that have run."""

    @property
    def n_failed(self) -> int:
        """Cases that failed."""

    def add(self, outcome: BlockOutcome) -> None:
        """What became of a block."""

    def look(self) -> None:
        """Called some times a second while a study runs."""

    def get(self, k: int) -> Any:
        """What was kept of case k, or its error; raises KeyError if it has not run."""

    def failures(self) -> dict[int, Exception]:
        """Errors by the number of the case."""

    def final(self) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """Names and final values of all cases; NaN where there are none."""

    def seconds(self) -> NDArray[np.float64]:
        """Of each case; NaN where it has not run."""

    def missing(self) -> NDArray[np.intp]:
        """Cases that have not run."""

    def finish(self) -> None:
        """Nothing more will come for now."""

    def close(self) -> None:
        """Nothing more will come."""


class InMemory:
    """Blocks as they came."""

    folder: Path | None = None

    def __init__(self, model: Any, cases: Cases, order: Order) -> None:
        self.model, self.cases, self.order = model, cases, order
        self.blocks: list[BlockOutcome] = []
        self.where = np.full((len(cases), 2), -1, dtype=np.int32)  # block, place
        self.n_done = self.n_failed = 0

    def add(self, outcome: BlockOutcome) -> None:
        """See Keeping."""
        fresh = self.where[outcome.indices, 0] < 0
        self.where[outcome.indices, 0] = len(self.blocks)
        self.where[outcome.indices, 1] = np.arange(len(outcome.indices))
        self.blocks.append(outcome)
        self.n_done += int(np.count_nonzero(fresh))
        self.n_failed += len(outcome.errors)

    def look(self) -> None:
        """See Keeping: memory needs no care."""

    def get(self, k: int) -> Any:
        """See Keeping."""
        number, place = self.where[k].tolist()
        if number < 0:
            raise KeyError(k)
        block = self.blocks[number]
        if place in block.errors:
            return block.errors[place]
        if place not in block.kept:
            kept = columnar_value(self.model, self.order, self.cases, block, k, place)
            if self.order.keep == "final":
                return kept
            block.kept[place] = kept
        return block.kept[place]

    def __getstate__(self) -> dict[str, Any]:
        """Errors of users' functions may refuse to be pickled, or to come back."""
        blocks = [
            dataclasses.replace(block, errors={k: sendable(error) for k, error in block.errors.items()})
            for block in self.blocks
        ]
        return vars(self) | {"blocks": blocks}

    def failures(self) -> dict[int, Exception]:
        """See Keeping."""
        found = {int(block.indices[place]): error for block in self.blocks for place, error in block.errors.items()}
        return dict(sorted(found.items()))

    def final(self) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """See Keeping."""
        names = final_names(self.model, self.order, self.blocks)
        values = np.full((len(self.cases), len(names)), np.nan)
        for block in self.blocks:
            values[block.indices] = final_values(self.model, block, names)
        return names, values

    def seconds(self) -> NDArray[np.float64]:
        """See Keeping."""
        out = np.full(len(self.cases), np.nan)
        for block in self.blocks:
            out[block.indices] = block.seconds
        return out

    def missing(self) -> NDArray[np.intp]:
        """See Keeping."""
        return np.flatnonzero(self.where[:, 0] < 0)

    def finish(self) -> None:
        """See Keeping."""

    def close(self) -> None:
        """See Keeping."""


def columnar_value(model: Any, order: Order, cases: Cases, block: BlockOutcome, k: int, place: int) -> Any:
    """What is kept of a case that ran in C."""
    columnar = block.columnar
    assert columnar is not None
    if order.keep == "final":
        last = dict(zip(columnar.names, columnar.last[place, 1:].tolist(), strict=True))
        aliases = model._numeric.names.aliases
        return last | {name: sign * last[to] for name, (to, sign) in aliases.items() if to in last}
    result = result_of(model, order, cases.case(k), columnar, place, float(block.seconds[place]))
    return order.keep(result) if callable(order.keep) else result


def final_names(model: Any, order: Order, blocks: list[BlockOutcome]) -> tuple[str, ...]:
    """Columns of final values."""
    if isinstance(order.keep, tuple):
        return order.keep
    if callable(order.keep):
        names: dict[str, None] = {}
        for block in blocks:
            for value in block.kept.values():
                names |= dict.fromkeys(numbers_of(value))
        return tuple(names)
    numeric = model._numeric
    base = (*(numeric.names.x[i] for i in numeric.all_x), *(numeric.names.y[i] for i in numeric.all_y))
    outputs = order.arguments.get("outputs")
    if outputs is None:
        return base
    chosen = {numeric.names.behind(name)[0] for name in outputs}
    return tuple(name for name in base if name in chosen)


def final_values(model: Any, block: BlockOutcome, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Final values of a block, a row for each case."""
    out = np.full((len(block.indices), len(names)), np.nan)
    columnar = block.columnar
    if columnar is not None and names:
        places, signs = columnar.places(model._numeric, names)
        good = np.flatnonzero(columnar.good)
        out[good] = columnar.last[good][:, places] * signs
    for place, value in block.kept.items():
        last = _last_of(value, names)
        for j, name in enumerate(names):
            if name in last:
                out[place, j] = last[name]
    return out


def _last_of(value: Any, names: tuple[str, ...]) -> dict[str, float]:
    """Final values in whatever was kept."""
    if hasattr(value, "final") and hasattr(value, "time"):
        return {name: float(value[name][-1]) for name in names if name in value and len(value)}
    return numbers_of(value)


@by_keyword_class
class Study(Stamped):
    """Many runs of one model.

    len(study), study[k]     in the order of the cases: the Result or what was kept; of a failed case the error object
    study.failures           errors by the number of the case
    study.stats              n, n_failed, seconds, workers
    study.table()            a pandas table: columns of the cases, final values, "error", "seconds"
    study.plot("fan", "x")   a picture: "fan", "pairs", "parallel", "failures"
    study.report("s.html")   all of it on one page
    """

    def __init__(self, cases: Cases, *, keeping: Keeping, workers: int, model_name: str = "") -> None:
        self.cases, self._keeping, self.workers, self.model_name = cases, keeping, workers, model_name
        self.seconds = 0.0

    def __len__(self) -> int:
        return len(self.cases)

    def __getitem__(self, k: Any) -> Any:
        """What was kept of case k; its error object if it failed; a list for a slice."""
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            raise ArgumentError(
                f"study[{k!r}]: a case is named by its number", hint="study[0] .. study[len(study) - 1]"
            )
        place = int(k) + (len(self) if k < 0 else 0)
        if not 0 <= place < len(self):
            raise IndexError(f"study[{k}]: there are {len(self)} cases")
        try:
            return self._keeping.get(place)
        except KeyError:
            return CaseError(f"case {place} has not run", hint="the study was interrupted before")

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    @property
    def failures(self) -> dict[int, Exception]:
        """Errors by the number of the case."""
        return self._keeping.failures()

    @property
    def stats(self) -> StudyStats:
        """Figures of the study."""
        return StudyStats(len(self), self.n_failed, self.seconds, self.workers)

    @property
    def n_done(self) -> int:
        """Cases that have run, well or not."""
        return self._keeping.n_done

    @property
    def n_failed(self) -> int:
        """Cases that failed."""
        return self._keeping.n_failed

    @property
    def complete(self) -> bool:
        """Has every case run?"""
        return self.n_done == len(self)

    @property
    def folder(self) -> Path | None:
        """Where the study is kept; None: in memory."""
        return self._keeping.folder

    def _add(self, outcome: BlockOutcome) -> None:
        """What became of a block."""
        self._keeping.add(outcome)

    def _look(self) -> None:
        """Some times a second."""
        self._keeping.look()

    def _finish(self) -> None:
        """Nothing more will come for now."""
        self._keeping.finish()

    # ------------------------------------------------------------------------------------------------ looking at it

    def table(self) -> pd.DataFrame:
        """Columns of the cases, final values that were kept, "error" and "seconds"."""
        pandas = import_optional("pandas", "a table of a study", "study.as_dict()")
        frame: pd.DataFrame = pandas.DataFrame(self._columns())
        return frame

    def _columns(self) -> dict[str, Any]:
        """The table without pandas: columns by name, each as long as the study."""
        given = self.cases.columns().items()
        columns: dict[str, Any] = {name if name not in OURS else f"{name} (case)": one for name, one in given}
        names, values = self._keeping.final()
        for j, name in enumerate(names):
            columns[name if name not in (*columns, *OURS) else f"{name} (final)"] = values[:, j]
        texts: list[str | None] = [None] * len(self)
        for k, error in self.failures.items():
            texts[k] = f"{type(error).__name__}: {getattr(error, 'message', error)}"
        return columns | {"error": texts, "seconds": self._keeping.seconds()}

    def as_dict(self) -> dict[str, Any]:
        """Figures, cases, final values and errors as plain data."""
        names, values = self._keeping.final()
        final = {name: _plain(values[:, j]) for j, name in enumerate(names)}
        cases = {name: list(np.asarray(column).tolist()) for name, column in self.cases.columns().items()}
        return {
            **self.stats.as_dict(),
            "cases": cases,
            "final": final,
            "failures": {str(k): f"{type(error).__name__}: {error}" for k, error in self.failures.items()},
        }

    def __str__(self) -> str:
        done = "" if self.complete else f", {len(self) - self.n_done} not run"
        head = f"{len(self)} cases{f' of {self.model_name}' if self.model_name else ''}: "
        head += f"{self.n_done - self.n_failed} fine, {self.n_failed} failed{done}; {self.seconds:.3g} s, "
        lines = [head + f"{self.workers} worker{'s' if self.workers != 1 else ''}"]
        for kind, cases in failure_kinds(self.failures):
            lines.append(f"  {len(cases):6d}  {kind}, e.g. case {cases[0]}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<pliant.Study: {len(self)} cases, {self.n_failed} failed>"

    @by_keyword
    def plot(self, kind: str = "fan", *names: str, file: Any = None, show: bool | None = None) -> Figure:
        """A picture of the study: "fan" (a variable over time), "pairs", "parallel", "failures"."""
        from pliant.batch.plot import plot_study

        return plot_study(self, kind, names, file, show)

    @by_keyword
    def report(self, path: Any) -> Path:
        """One HTML page: figures, pictures, failures, slowest cases."""
        from pliant.batch.page import write_page

        return write_page(self, path)


def _plain(column: NDArray[np.float64]) -> list[float | None]:
    """Numbers, None for others: JSON has no NaN and no infinity."""
    return [value if np.isfinite(value) else None for value in column.tolist()]


def failure_kinds(failures: dict[int, Exception]) -> list[tuple[str, list[int]]]:
    """Errors by class, the most frequent first."""
    found: dict[str, list[int]] = {}
    for k, error in failures.items():
        found.setdefault(type(error).__name__, []).append(k)
    return sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))
