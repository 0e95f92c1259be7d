"""A study in a folder: Parquet files that grow as results arrive, readable with pandas, polars or DuckDB alone.

    manifest.json              what was asked: model, arguments, versions, number and digest of the cases
    cases.parquet              a row for each case: its number and what differs
    final/part-*.parquet       case, error, error_class, hint, seconds, then final values
    curves/part-*.parquet      case, time, then the variables (where curves are kept)

Every file is written under another name first and then renamed, so that a file is complete or not there. Names are
random: several processes may write into one folder. A case that is there twice counts once.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant import errors
from pliant.batch.cases import Cases
from pliant.batch.order import Order
from pliant.batch.results import manifest_of
from pliant.batch.study import final_names, final_values
from pliant.batch.work import BlockOutcome
from pliant.errors import ArgumentError, CaseError, OutputError, PliantError
from pliant.solve.results.result import Result, Stats
from pliant.version import pliant_version

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
FLUSH_SECONDS = 2.0
FLUSH_ROWS = 500_000
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
        self._read_done()

    # --------------------------------------------------------------------------------------------- opening

    @staticmethod
    def begin(folder: Path, model: Any, cases: Cases, order: Order) -> FolderKeeping:
        """A new folder, or one that was begun with the same study."""
        wanted = _manifest(model, cases, order)
        found = read_manifest(folder) if (folder / "manifest.json").exists() else None
        if found is None:
            _check_empty(folder)
            _write_begin(folder, wanted, cases)
            found = wanted
        else:
            _check_same(folder, found, wanted)
        keeping = FolderKeeping(folder, found, cases)
        keeping.model, keeping.order = model, order
        return keeping

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
        table = self._final_table(["case", "error_class"])
        if table is None:
            return
        numbers = table.column("case").to_numpy()
        self.is_done[numbers] = True
        failed = ~np.asarray(table.column("error_class").is_null())
        self.is_failed[numbers[failed]] = True

    # --------------------------------------------------------------------------------------------- writing

    def add(self, outcome: BlockOutcome) -> None:
        """See Keeping."""
        self.waiting.append(outcome)
        self.is_done[outcome.indices] = True
        for place in outcome.errors:
            self.is_failed[outcome.indices[place]] = True
        self.waiting_rows += len(outcome.indices) * (500 if self.has_curves else 1)
        if time.monotonic() - self.flushed > FLUSH_SECONDS or self.waiting_rows > FLUSH_ROWS:
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
        if self.has_curves:  # first: a case whose final values are there has its curves, too
            _write_table(self.path / "curves" / part, self._curves(blocks))
        _write_table(self.path / "final" / part, self._finals(blocks))

    def _finals(self, blocks: list[BlockOutcome]) -> pa.Table:
        import pyarrow as pa

        assert self.order is not None
        names = final_names(self.model, self.order, blocks)
        values = np.concatenate([final_values(block, names) for block in blocks])
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
        for j, name in enumerate(names):
            columns[_free(name)] = pa.array(values[:, j])
        return pa.table(columns)

    def _curves(self, blocks: list[BlockOutcome]) -> pa.Table:
        import pyarrow as pa

        assert self.order is not None
        names = final_names(self.model, self.order, blocks)
        numbers, tables = [], []
        for block in blocks:
            for place, rows in _rows_of(block, names):
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
        table = self._final_table(None, k)
        assert table is not None
        row = {name: table.column(name)[0].as_py() for name in table.column_names}
        if row["error_class"] is not None:
            return _error_of(row)
        values = {variable_name(name): value for name, value in row.items() if name not in FIXED}
        if self.has_curves:
            return self._result(k, float(row["seconds"]))
        return values if self.manifest["keep"] == "final" else _function_value(values)

    def _result(self, k: int, seconds: float) -> Result:
        table = self._table("curves", None, k)
        assert table is not None
        names = [name for name in table.column_names if name not in ("case", "time")]
        columns = [table.column(name).to_numpy() for name in names]
        values = np.column_stack(columns) if columns else np.zeros((table.num_rows, 0))
        stats = Stats(seconds=seconds)
        manifest = self.manifest | {"case": k}
        return Result(
            table.column("time").to_numpy(),
            values=values,
            names=[variable_name(name) for name in names],
            stats=stats,
            manifest=manifest,
        )

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

    def _final_table(self, columns: list[str] | None, case: int | None = None) -> pa.Table | None:
        return self._table("final", columns, case)

    def _table(self, kind: str, columns: list[str] | None, case: int | None) -> pa.Table | None:
        import pyarrow as pa
        import pyarrow.dataset as ds
        import pyarrow.parquet

        files = sorted(str(file) for file in (self.path / kind).glob("part-*.parquet"))
        if not files:
            return None
        try:
            schema = pa.unify_schemas([pyarrow.parquet.read_schema(file) for file in files])
            dataset = ds.dataset(files, schema=schema, format="parquet")
            return dataset.to_table(columns=columns, filter=None if case is None else ds.field("case") == case)
        except (OSError, pa.ArrowException) as error:
            raise ArgumentError(
                f"{self.path / kind} holds a file that cannot be read: {error}",
                hint="remove that file: its cases are simulated again",
            ) from None


def _rows_of(block: BlockOutcome, names: tuple[str, ...]) -> Iterable[tuple[int, NDArray[np.float64]]]:
    columnar = block.columnar
    if columnar is not None and columnar.rows is not None:
        order = [0, *(columnar.names.index(name) + 1 for name in names if name in columnar.names)]
        if len(order) == len(names) + 1:
            for place in np.flatnonzero(columnar.good).tolist():
                yield place, columnar.rows[place][:, order]
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


def _check_empty(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ArgumentError(f"save: {folder} is a file", hint="give a folder")
    if folder.is_dir() and any(one for one in folder.iterdir() if not one.name.startswith(".")):
        raise ArgumentError(f"save: {folder} is not empty and holds no study", hint="give another folder")


def _write_begin(folder: Path, manifest: dict[str, Any], cases: Cases) -> None:
    import pyarrow as pa

    try:
        for part in ("final", "curves") if manifest["keep"] == "curves" else ("final",):
            (folder / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror}", hint="check path and permissions") from error
    columns = {"case": np.arange(len(cases), dtype=np.int64)} | {_free(k): v for k, v in cases.columns().items()}
    _write_table(folder / "cases.parquet", pa.table({name: pa.array(column) for name, column in columns.items()}))
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
