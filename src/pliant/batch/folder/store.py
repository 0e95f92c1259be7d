"""A study in a folder: Parquet files that grow as results arrive, readable with pandas, polars or DuckDB alone.

    manifest.json              what was asked: model, arguments, versions, number and digest of the cases
    cases.parquet              a row for each case: its number and what differs
    model.json                 what is known about the variables (runs.py)
    final/part-*.parquet       case, error, error_class, hint, seconds, then final values
    curves/part-*.parquet      case, time, then the variables (where curves are kept)
    runs/part-*.parquet        case, method, counters, parameters, events (where curves are kept)

Every file is written under another name first and then renamed, so that a file is complete or not there. The files of a
part have one name; the one in final is written last and makes the part count. A case that is there twice counts once.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant import errors
from pliant.batch.cases import Cases
from pliant.batch.folder.lock import FolderLock
from pliant.batch.folder.runs import describe, facts_of, runs_table
from pliant.batch.order import Order
from pliant.batch.results import manifest_of, with_model
from pliant.batch.study import final_names, final_values
from pliant.batch.workers.work import BlockOutcome, numbers_of
from pliant.errors import ArgumentError, CaseError, OutputError, PliantError
from pliant.solve.results.result import Result
from pliant.version import pliant_version

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
FLUSH_SECONDS = 2.0
FLUSH_ROWS = 500_000
LOADED = 6  # files of parts in memory
FIXED = ("case", "error", "error_class", "hint", "seconds")


class FolderKeeping:
    """Outcomes in a folder; in memory only those of the last seconds."""

    def __init__(self, folder: Path, manifest: dict[str, Any], cases: Cases | None) -> None:
        self.folder: Path | None = folder
        self.path, self.manifest = folder, manifest
        self.n = int(manifest["n"])
        self.cases = cases
        self.order: Order | None = None
        self.model: Any = None
        self.waiting: list[BlockOutcome] = []
        self.waiting_rows = 0
        self.flushed = time.monotonic()
        self.is_done = np.zeros(self.n, dtype=bool)
        self.is_failed = np.zeros(self.n, dtype=bool)
        self.lock: FolderLock | None = None
        self.parts: list[str] = []
        self.part_of = np.full(self.n, -1, dtype=np.int32)  # of each case, place in parts
        self.loaded: OrderedDict[tuple[str, str], pa.Table] = OrderedDict()
        self._read_done()

    # --------------------------------------------------------------------------------------------- opening

    @staticmethod
    def begin(folder: Path, model: Any, cases: Cases, order: Order) -> FolderKeeping:
        """A new folder, or one that was begun with the same study; ``close`` ends the writing."""
        wanted = _manifest(model, cases, order)
        if not _has_study(folder, wanted):
            _check_empty(folder)
        _make_folders(folder, wanted)
        lock = FolderLock(folder)
        try:
            if _has_study(folder, wanted):  # perhaps only just now
                _remove_halves(folder, _kinds(wanted))
            _write_begin(folder, wanted, cases, model)
            keeping = FolderKeeping(folder, read_manifest(folder), cases)
        except BaseException:
            lock.release()
            raise
        keeping.model, keeping.order, keeping.lock = model, order, lock
        return keeping

    def close(self) -> None:
        """Nothing more is written."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"lock": None, "loaded": OrderedDict()}

    def missing(self) -> NDArray[np.intp]:
        """Cases that have not run."""
        return np.flatnonzero(~self.is_done)

    @property
    def n_done(self) -> int:
        """See Keeping."""
        return int(np.count_nonzero(self.is_done))

    @property
    def n_failed(self) -> int:
        """See Keeping."""
        return int(np.count_nonzero(self.is_failed))

    def _read_done(self) -> None:
        for part in sorted(_whole_parts(self.path, _kinds(self.manifest))):
            table = _read_part(self.path / "final" / part, ["case", "error_class"])
            numbers = table.column("case").to_numpy()
            self._note(part, numbers)
            self.is_done[numbers] = True
            failed = ~np.asarray(table.column("error_class").is_null())
            self.is_failed[numbers[failed]] = True

    def _note(self, part: str, numbers: NDArray[np.intp]) -> None:
        """Which cases a part holds."""
        self.part_of[numbers] = len(self.parts)
        self.parts.append(part)

    # --------------------------------------------------------------------------------------------- writing

    def add(self, outcome: BlockOutcome) -> None:
        """See Keeping."""
        self.waiting.append(outcome)
        self.is_done[outcome.indices] = True
        for place in outcome.errors:
            self.is_failed[outcome.indices[place]] = True
        self.waiting_rows += len(outcome.indices) * (500 if self.has_curves else 1)
        self.look()

    def look(self) -> None:
        """Write what is waiting, if it has waited for long or is much: also while nothing new arrives."""
        is_late = bool(self.waiting) and time.monotonic() - self.flushed > FLUSH_SECONDS
        if is_late or self.waiting_rows > FLUSH_ROWS:
            self.finish()

    @property
    def has_curves(self) -> bool:
        """Are rows kept, and not only final values?"""
        return bool(self.manifest["keep"] == "curves")

    def finish(self) -> None:
        """Write what is waiting."""
        blocks, self.waiting, self.waiting_rows = self.waiting, [], 0
        self.flushed = time.monotonic()
        if not blocks or self.order is None:
            return
        part = f"part-{time.time_ns():020d}-{secrets.token_hex(4)}.parquet"
        try:
            if self.has_curves:  # first: a case whose final values are there has its curves, too
                assert self.cases is not None
                _write_table(self.path / "curves" / part, self._curves(blocks))
                _write_table(self.path / "runs" / part, runs_table(self.model, self.order, self.cases, blocks))
            _write_table(self.path / "final" / part, self._finals(blocks))
        except BaseException:
            for block in blocks:  # the study is what its folder holds
                self.is_done[block.indices] = self.is_failed[block.indices] = False
            raise
        self._note(part, np.concatenate([block.indices for block in blocks]))

    def _finals(self, blocks: list[BlockOutcome]) -> pa.Table:
        import pyarrow as pa

        assert self.order is not None
        names = final_names(self.model, self.order, blocks)
        values = np.concatenate([final_values(self.model, block, names) for block in blocks])
        found: list[list[str | None]] = [[], [], []]
        for block in blocks:
            for place in range(len(block.indices)):
                error = block.errors.get(place)
                words = (None, None, None) if error is None else _words(error)
                for column, word in zip(found, words, strict=True):
                    column.append(word)
        columns: dict[str, Any] = {"case": pa.array(np.concatenate([block.indices for block in blocks]), pa.int64())}
        for name, column in zip(FIXED[1:4], found, strict=True):
            columns[name] = pa.array(column, pa.string())
        columns["seconds"] = pa.array(np.concatenate([block.seconds for block in blocks]))
        is_function = callable(self.order.keep)  # whose mappings may have different names
        missing = np.concatenate([_missing(block, names) for block in blocks]) if is_function else None
        for j, name in enumerate(names):
            columns[_free(name)] = pa.array(values[:, j], mask=None if missing is None else missing[:, j])
        return pa.table(columns)

    def _curves(self, blocks: list[BlockOutcome]) -> pa.Table:
        import pyarrow as pa

        assert self.order is not None
        names = final_names(self.model, self.order, blocks)
        numbers, tables = [], []
        for block in blocks:
            for place, rows in _rows_of(self.model, block, names):
                numbers.append(np.full(len(rows), block.indices[place], dtype=np.int64))
                tables.append(rows)
        values = np.concatenate(tables) if tables else np.zeros((0, 1 + len(names)))
        case = np.concatenate(numbers) if numbers else np.zeros(0, dtype=np.int64)
        columns = {"case": pa.array(case), "time": pa.array(values[:, 0])}
        return pa.table(columns | {_free(name): pa.array(values[:, j + 1]) for j, name in enumerate(names)})

    # --------------------------------------------------------------------------------------------- reading

    def get(self, k: int) -> Any:
        """See Keeping."""
        self.finish()
        if not self.is_done[k]:
            raise KeyError(k)
        row = self._row("final", k)
        if row["error_class"] is not None:
            return _error_of(row)
        values = {variable_name(name): value for name, value in row.items() if name not in FIXED}
        if self.has_curves:
            return self._result(k, float(row["seconds"]))
        if self.manifest["keep"] != "final":
            return _function_value(values)
        aliases = self.shared["aliases"].items()
        return values | {name: sign * values[to] for name, (to, sign) in aliases if to in values}

    def _row(self, kind: str, k: int) -> dict[str, Any]:
        """Of one case in a table with one row for each."""
        table = self._case_table(kind, k)
        return {name: table.column(name)[0].as_py() for name in table.column_names}

    def _case_table(self, kind: str, k: int) -> pa.Table:
        """The rows of one case. Parts stay in memory for a while: most read one case after the other."""
        key = (kind, self.parts[int(self.part_of[k])])
        table = self.loaded.pop(key, None)
        if table is None:
            file = self.path / kind / key[1]
            if not file.exists():
                raise self._lost(kind, k)
            table = _read_part(file, None)
        self.loaded[key] = table
        while len(self.loaded) > LOADED:
            self.loaded.popitem(last=False)
        rows = np.flatnonzero(table.column("case").to_numpy() == k)
        if not len(rows):  # a case may end before its first row
            return table.slice(0, 0)
        return table.slice(int(rows[0]), len(rows))  # rows of a case stand together

    def _lost(self, kind: str, k: int) -> ArgumentError:
        return ArgumentError(
            f"{self.path / kind} no longer holds case {k}: files of the study were removed",
            hint="the same call of simulate_many runs its case again",
        )

    @cached_property
    def shared(self) -> dict[str, Any]:
        """What is known of the model."""
        try:
            found: dict[str, Any] = json.loads((self.path / "model.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ArgumentError(
                f"{self.path / 'model.json'} cannot be read: {error}", hint="copy the folder again"
            ) from None
        return found

    def _result(self, k: int, seconds: float) -> Result:
        table = self._case_table("curves", k)
        columns = [name for name in table.column_names if name not in ("case", "time")]
        rows = np.column_stack([table.column(name).to_numpy() for name in ("time", *columns)])
        names = [variable_name(name) for name in columns]
        facts = facts_of(self._row("runs", k), self.shared, seconds)
        if self.model is not None and self.order is not None and self.cases is not None:
            return with_model(self.model, self.order, self.cases.case(k), rows, names, facts)
        return Result(rows[:, 0], values=rows[:, 1:], names=names, manifest=self.manifest | {"case": k}, **facts)

    def failures(self) -> dict[int, Exception]:
        """See Keeping."""
        self.finish()
        table = self._final_table(list(FIXED))
        found: dict[int, Exception] = {}
        for row in table.to_pylist() if table is not None else ():
            if row["error_class"] is not None:
                found.setdefault(int(row["case"]), _error_of(row))
        return dict(sorted(found.items()))

    def final(self) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """See Keeping."""
        self.finish()
        table = self._final_table(None)
        if table is None:
            return (), np.zeros((self.n, 0))
        names = [name for name in table.column_names if name not in FIXED]
        values = np.full((self.n, len(names)), np.nan)
        numbers = table.column("case").to_numpy()
        for j, name in enumerate(names):
            values[numbers, j] = table.column(name).to_numpy()
        return tuple(variable_name(name) for name in names), values

    def seconds(self) -> NDArray[np.float64]:
        """See Keeping."""
        self.finish()
        out = np.full(self.n, np.nan)
        table = self._final_table(["case", "seconds"])
        if table is not None:
            out[table.column("case").to_numpy()] = table.column("seconds").to_numpy()
        return out

    def _final_table(self, columns: list[str] | None) -> pa.Table | None:
        """All parts together."""
        import pyarrow as pa

        files = [self.path / "final" / part for part in self.parts]
        tables = [_read_part(file, columns) for file in files if file.exists()]
        return pa.concat_tables(tables, promote_options="default") if tables else None


def _read_part(file: Path, columns: list[str] | None) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        return pyarrow.parquet.ParquetFile(file).read(columns)
    except (OSError, pa.ArrowException) as error:
        raise ArgumentError(
            f"{file} cannot be read: {error}",
            hint="remove that file: the same call of simulate_many runs its cases again",
        ) from None


def _rows_of(model: Any, block: BlockOutcome, names: tuple[str, ...]) -> Iterable[tuple[int, NDArray[np.float64]]]:
    columnar = block.columnar
    if columnar is not None and columnar.rows is not None:
        places, signs = columnar.places(model._numeric, names)
        for place in np.flatnonzero(columnar.good).tolist():
            rows = columnar.rows[place]
            yield place, np.column_stack([rows[:, 0], rows[:, places] * signs])
    for place, value in block.kept.items():
        if isinstance(value, Result):
            yield place, np.column_stack([value.time, *(value[name] for name in names)])


# ------------------------------------------------------------------------------------------------------- the folder


def _manifest(model: Any, cases: Cases, order: Order) -> dict[str, Any]:
    keep = "final" if order.keep == "final" else "function" if callable(order.keep) else "curves"
    made = manifest_of(model, order.arguments)
    study = {"format": FORMAT, "n": len(cases), "cases": cases.digest(), "keep": keep}
    study["names"] = list(order.keep) if isinstance(order.keep, tuple) else None
    return made | study


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the folder of a study says about it."""
    try:
        found = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{folder / 'manifest.json'} cannot be read: {error}", hint="is this a study?") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        version = found.get("pliant") if isinstance(found, dict) else None
        raise ArgumentError(
            f"{folder} was written by another version of pliant ({version or 'unknown'}), this is {pliant_version()}",
            hint="read it with that version, or save into another folder",
        )
    return found


def _check_same(folder: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for what, words in (("model", "another model"), ("n", "another number of cases"), ("cases", "other cases")):
        if found.get(what) != wanted[what]:
            raise ArgumentError(f"{folder} holds a study of {words}", hint="save into another folder")
    for what in ("keep", "names", "options"):
        if found.get(what) != json.loads(json.dumps(wanted[what])):
            raise ArgumentError(
                f"{folder} holds a study with other arguments ({_differing(what, found.get(what), wanted[what])})",
                hint="give the same arguments to go on, or save into another folder",
            )
    if found.get("pliant") != wanted["pliant"]:
        raise ArgumentError(
            f"{folder} was begun with pliant {found.get('pliant')}, this is {wanted['pliant']}",
            hint="go on with that version, or save into another folder",
        )


def _differing(what: str, found: Any, wanted: Any) -> str:
    """Which arguments differ, and what they were."""
    if not isinstance(found, dict) or not isinstance(wanted, dict):
        return f"{what} was {found!r}"
    names = [name for name in {**found, **wanted} if found.get(name) != json.loads(json.dumps(wanted.get(name)))]
    return ", ".join(f"{name} was {found.get(name)!r}" for name in names)


def _has_study(folder: Path, wanted: dict[str, Any]) -> bool:
    """Was it begun? Raises if it is another one."""
    try:
        os.stat(folder / "manifest.json")
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:  # too long, not allowed, or no name at all
        raise ArgumentError(f"save: {str(folder)!r} cannot be used: {error}", hint="give another folder") from None
    _check_same(folder, read_manifest(folder), wanted)
    return True


def _kinds(manifest: dict[str, Any]) -> tuple[str, ...]:
    """The folders of files that come in parts."""
    return ("final", "curves", "runs") if manifest["keep"] == "curves" else ("final",)


def _parts(folder: Path, kind: str) -> set[str]:
    return {file.name for file in (folder / kind).glob("part-*.parquet")}


def _whole_parts(folder: Path, kinds: tuple[str, ...]) -> set[str]:
    """Parts of which all files are there."""
    return set.intersection(*(_parts(folder, kind) for kind in kinds))


def _remove_halves(folder: Path, kinds: tuple[str, ...]) -> None:
    """What is left of parts whose writing was interrupted, or of which files were removed: their cases run again."""
    whole = _whole_parts(folder, kinds)
    for kind in kinds:
        for name in _parts(folder, kind) - whole:
            with contextlib.suppress(FileNotFoundError):
                (folder / kind / name).unlink()
        for partial in (folder / kind).glob(".part-*"):
            with contextlib.suppress(FileNotFoundError):
                partial.unlink()


def _check_empty(folder: Path) -> None:
    """Nothing but what the beginning of a study leaves that was interrupted."""
    if folder.exists() and not folder.is_dir():
        raise ArgumentError(f"save: {folder} is a file", hint="give a folder")
    for one in folder.iterdir() if folder.is_dir() else ():
        is_ours = one.name in ("final", "curves", "runs") and one.is_dir() and not any(one.iterdir())
        if not (is_ours or one.name.startswith(".") or one.name in ("cases.parquet", "model.json")):
            raise ArgumentError(f"save: {folder} is not empty and holds no study", hint="give another folder")


def _make_folders(folder: Path, manifest: dict[str, Any]) -> None:
    try:
        for part in _kinds(manifest):
            (folder / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror}", hint="check path and permissions") from error


def _write_begin(folder: Path, manifest: dict[str, Any], cases: Cases, model: Any) -> None:
    """The manifest last: without it, nothing has begun. The others again, in case they were damaged."""
    import pyarrow as pa

    _write_bytes(folder / "model.json", json.dumps(describe(model), indent=1).encode())
    columns = {"case": np.arange(len(cases), dtype=np.int64)} | {_free(k): v for k, v in cases.columns().items()}
    _write_table(folder / "cases.parquet", pa.table({name: pa.array(column) for name, column in columns.items()}))
    if not (folder / "manifest.json").exists():
        _write_bytes(folder / "manifest.json", json.dumps(manifest, indent=1).encode())


def _write_table(file: Path, table: pa.Table) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink)
    _write_bytes(file, sink.getvalue())


def _write_bytes(file: Path, data: Any) -> None:
    """All or nothing."""
    partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        with partial.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise OutputError(
            f"{file} could not be written: {error.strerror or error}",
            hint="make room or choose another folder; what was written before is complete, and the same call goes on",
        ) from error


def _free(name: str) -> str:
    """A variable may be called like one of our columns."""
    return f"variable {name}" if name in FIXED or name == "time" or name.startswith("variable ") else name


def variable_name(column: str) -> str:
    """The variable of a column."""
    return column.removeprefix("variable ")


def _words(error: Exception) -> tuple[str, str, str]:
    message = getattr(error, "message", None) or str(error)
    return str(message), type(error).__name__, str(getattr(error, "hint", ""))


def _error_of(row: dict[str, Any]) -> Exception:
    kind = getattr(errors, row["error_class"], None)
    if isinstance(kind, type) and issubclass(kind, PliantError):
        return kind(row["error"], hint=row["hint"] or "")
    return CaseError(f"{row['error_class']}: {row['error']}", hint=row["hint"] or "simulate the case alone")


def _missing(block: BlockOutcome, names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Where a user's function gave no number of that name."""
    out = np.ones((len(block.indices), len(names)), dtype=bool)
    for place, value in block.kept.items():
        given = numbers_of(value)
        out[place] = [name not in given for name in names]
    return out


def _function_value(values: dict[str, Any]) -> Any:
    known = {name: value for name, value in values.items() if value is not None}
    return known["value"] if list(known) == ["value"] else known


def write_columns(file: Path, columns: dict[str, Any]) -> None:
    """A table of cases as .csv or .parquet, without pandas."""
    import pyarrow as pa
    import pyarrow.csv

    count = len(next(iter(columns.values())))
    table = pa.table({"case": np.arange(count)} | {name: pa.array(column) for name, column in columns.items()})
    if file.suffix.lower() == ".parquet":
        _write_table(file, table)
        return
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(quoting_style="needed"))
    _write_bytes(file, sink.getvalue())
