"""Results as files: .csv, .parquet, and the .mat trajectory files of Dymola and OpenModelica.

Each file carries the manifest as JSON with what the format has no place for (stored.py): CSV in a side-car
`<file>.manifest.json`, Parquet in the schema's metadata, MAT in a char matrix `manifest` after the matrices that
other tools read. `load_result` gives back what `write_result` got, bit for bit; it also reads files from elsewhere,
which then have no counters and events.

The .mat layout is MATLAB level 4 as the OpenModelica User's Guide describes it ("Technical Details: the MATv4
result file format"): Aclass, name, description, dataInfo, data_1 (constants), data_2 (trajectories), stored
transposed ("binTrans"), so that one time point after the other lies in the file.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import secrets
import shutil
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import as_names, as_path
from pliant.drawing import import_optional
from pliant.errors import ArgumentError, OutputError
from pliant.solve.results.result import FloatArray, Result, VariableInfo, VariableType
from pliant.solve.results.stored import StoredTable, build, build_from_columns, fits, kind_of, make_meta, make_table
from pliant.solve.results.typed import MODELICA
from pliant.textfile import read_text

_CHUNK = 1 << 20  # numbers gathered at a time while writing rows
_PARQUET_KEY = b"pliant.manifest"

Writer = Callable[[BinaryIO], None]


def write_result(result: Result, path: str | os.PathLike[str], names: Sequence[str] | None = None) -> Path:
    """Write `result` in the format that the suffix of `path` names; return the path. `names` selects columns.

    The file is complete or, on a full disk and the like, untouched: then OutputError says why.
    """
    path = as_path("the file", path)
    table = make_table(result, None if names is None else as_names("names", names))
    meta = make_meta(result, table)
    match path.suffix.lower():
        case ".csv":
            files = [(path, _csv_writer(table)), (side_car(path), text_writer(json.dumps(meta, indent=1) + "\n"))]
        case ".parquet":
            files = [(path, _parquet_writer(table, meta))]
        case ".mat":
            files = [(path, _mat_writer(table, meta))]
        case suffix:
            raise _unknown_suffix("save", path, suffix)
    write_files(files)
    return path


def check_format(path: str | os.PathLike[str]) -> None:
    """Refuse a path that results cannot be saved to, because its suffix names no format."""
    if Path(path).suffix.lower() not in (".csv", ".parquet", ".mat"):
        raise _unknown_suffix("save", Path(path), Path(path).suffix)


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result from a .csv, .parquet or .mat file."""
    path = as_path("the file", path)
    readers = {".csv": _read_csv, ".parquet": _read_parquet, ".mat": _read_mat}
    if path.suffix.lower() not in readers:
        raise _unknown_suffix("load", path, path.suffix)
    try:
        return readers[path.suffix.lower()](path)
    except OutputError:
        raise  # a missing package, already explained
    except UnicodeDecodeError:
        read_text(path)  # says where
        raise
    except OSError as error:
        hint = "check the path" if isinstance(error, FileNotFoundError) else "check that the file is whole"
        raise ArgumentError(f"cannot read {path}: {error.strerror or error}", hint=hint) from error


def side_car(path: Path) -> Path:
    """The file beside a .csv that holds its manifest."""
    return path.with_name(path.name + ".manifest.json")


def _unknown_suffix(verb: str, path: Path, suffix: str) -> ArgumentError:
    what = f"the suffix {suffix!r}" if suffix else "a name without suffix"
    return ArgumentError(
        f"cannot {verb} {path}: {what} names no format",
        hint="use .csv, .parquet or .mat (Dymola, OpenModelica)",
    )


# -- writing without harm ----------------------------------------------------------------------------------


def write_files(files: Sequence[tuple[Path, Writer]]) -> None:
    """Write several files so that all are replaced at the end; on any failure the old ones are still there.

    A writer gets a binary file opened for writing. OSErrors become OutputErrors with path, reason and hint.
    """
    pending: list[tuple[Path, Path]] = []
    path = files[0][0]
    try:
        for path, write in files:
            target = Path(os.path.realpath(path))  # through a symbolic link, as a plain open() would do
            effective = os.access in os.supports_effective_ids
            if target.exists() and not os.access(target, os.W_OK, effective_ids=effective):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
            # Not tempfile: its files are private to the user, a result gets the usual permissions.
            temporary = target.with_name(f".pliant-{secrets.token_hex(8)}.tmp")
            with open(temporary, "xb") as file:
                pending.append((temporary, target))
                write(file)
                file.flush()
                os.fsync(file.fileno())
            if target.is_file():
                shutil.copymode(target, temporary)
        for temporary, path in pending:
            os.replace(temporary, path)
    except OutputError:
        raise
    except OSError as error:
        raise _output_error(path, error) from error
    finally:
        for temporary, _ in pending:
            temporary.unlink(missing_ok=True)


def _output_error(path: Path, error: OSError) -> OutputError:
    folder = path.parent if str(path.parent) else Path(".")
    hints = {
        errno.ENOSPC: f"free some space below {folder}, or save to another disk",
        errno.EDQUOT: "free some of your disk quota, or save to another disk",
        errno.ENOENT: f"create the directory first: mkdir -p {folder}",
        errno.ENOTDIR: f"{folder} is a file; save to a directory",
        errno.EISDIR: f"{path} is a directory; choose another file name",
        errno.EACCES: "choose a file and directory that you may write to",
        errno.EPERM: "choose a file and directory that you may write to",
        errno.EROFS: "save to a disk that is not read-only",
        errno.ENAMETOOLONG: "choose a shorter file name",
    }
    hint = hints.get(error.errno or 0, "save to another path; the result itself is untouched")
    wrapped = OutputError(f"cannot write {path}: {error.strerror or error}", hint=hint)
    wrapped.errno = error.errno
    return wrapped


def text_writer(text: str) -> Writer:
    """Writes a text as it stands, in UTF-8."""

    def write(file: BinaryIO) -> None:
        file.write(text.encode("utf-8"))

    return write


def _row_blocks(time: FloatArray, columns: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """The table time, columns... in blocks of rows: no second copy of a large result in memory."""
    rows = max(1, _CHUNK // (len(columns) + 1))
    for start in range(0, time.shape[0], rows):
        part = slice(start, start + rows)
        yield np.column_stack([time[part], *(column[part] for column in columns)])


# -- CSV ---------------------------------------------------------------------------------------------------


def _csv_writer(table: StoredTable) -> Writer:
    columns = table.shown()
    # Truth values as 1 and 0: every tool reads a table of numbers.
    whole = [j for j, column in enumerate(columns.values(), start=1) if column.dtype.kind in "bi"]

    def write(file: BinaryIO) -> None:
        file.write((",".join(map(_csv_quote, ["time", *columns])) + "\n").encode("utf-8"))
        for block in _row_blocks(table.time, list(columns.values())):
            rows = block.tolist()
            for row in rows if whole else ():
                for j in whole:
                    row[j] = int(row[j])
            # repr() is the shortest text that reads back as the same number.
            lines = [",".join(map(repr, row)) + "\n" for row in rows]
            file.write("".join(lines).encode("ascii"))

    return write


def _csv_quote(name: str) -> str:
    # Quoted only where needed: plain headers are read by every tool. An empty name would be an empty line.
    plain = name and name == name.strip() and not any(mark in name for mark in ',"\n\r;\t')
    return name if plain else '"' + name.replace('"', '""') + '"'


def _read_csv(path: Path) -> Result:
    with open(path, encoding="utf-8-sig", newline="") as file:
        header = next(csv.reader(file), [])
        if not header or header[0].strip().lower() != "time":
            raise ArgumentError(
                f"{path} is no result: its first column is {header[0] if header else ''!r}, expected 'time'",
                hint="the first line must be: time,name,name,...",
            )
        meta = _parse_meta(side_car(path).read_text("utf-8", "replace"), path) if side_car(path).exists() else {}
        rows = (line for line in file if line.strip())
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "loadtxt: input contained no data")
                # Trailing commas, as OpenModelica writes them, make an empty last name and no number.
                is_trailing = header[-1] == "" and len(header) > 1 and "" not in meta.get("result", {}).get("names", ())
                used = range(len(header) - 1 if is_trailing else len(header))
                data = np.loadtxt(rows, delimiter=",", ndmin=2, usecols=used, comments=None)
        except ValueError as error:
            raise ArgumentError(f"{path} is no result: {error}", hint="correct that row") from error
    data = data.reshape(-1, len(used))
    columns = {name: data[:, j] for j, name in enumerate(header) if 0 < j < len(used)}
    return build_from_columns(data[:, 0], columns, meta if fits(meta, list(columns), path) else {})


def _parse_meta(text: str, path: Path) -> dict[str, Any]:
    try:
        meta = json.loads(text)
        if isinstance(meta, dict):
            return meta
    except ValueError:
        pass
    warnings.warn(f"the manifest of {path} is damaged and is ignored", stacklevel=4)
    return {}


# -- Parquet -----------------------------------------------------------------------------------------------


def _parquet_writer(table: StoredTable, meta: Mapping[str, Any]) -> Writer:
    purpose, otherwise = "saving .parquet", "save as .csv or .mat"
    arrow = import_optional("pyarrow", purpose, otherwise)
    parquet = import_optional("pyarrow.parquet", purpose, otherwise)
    columns = {"time": table.time, **table.shown()}

    def write(file: BinaryIO) -> None:
        fields = []
        for name, column in columns.items():
            info = table.info.get(name)
            texts = {"unit": info.unit, "description": info.description, "kind": info.kind} if info else {}
            if info and info.type != "real":
                texts |= {"type": info.type, "literals": json.dumps(info.literals) if info.literals else ""}
            texts = {key: text for key, text in texts.items() if text}
            fields.append(arrow.field(name, arrow.from_numpy_dtype(column.dtype), metadata=texts))
        schema = arrow.schema(fields, metadata={_PARQUET_KEY: json.dumps(meta).encode("utf-8")})
        data = arrow.Table.from_arrays([arrow.array(column) for column in columns.values()], schema=schema)
        parquet.write_table(data, file, compression="zstd")

    return write


def _read_parquet(path: Path) -> Result:
    parquet = import_optional("pyarrow.parquet", "reading .parquet", "read a .csv or .mat file")
    try:
        with open(path, "rb") as file:
            data = parquet.read_table(file)
    except ValueError as error:  # pyarrow.ArrowInvalid
        raise ArgumentError(f"{path} is no Parquet file: {error}", hint="save it again") from error
    columns = {name: data.column(name).to_numpy() for name in data.column_names}
    time = columns.pop("time", None)
    if time is None:
        raise ArgumentError(f"{path} has no column 'time'", hint="name the column of times 'time'")
    meta = _parse_meta((data.schema.metadata or {}).get(_PARQUET_KEY, b"{}").decode("utf-8"), path)
    return build_from_columns(time, columns, meta if fits(meta, list(columns), path) else {})


# -- MAT ---------------------------------------------------------------------------------------------------

_MAT_TYPES = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}
# The unit at the end of a description: "[K]", and as Dymola writes it "[K|degC]" or "[K:#(type=Real)]".
_UNIT = re.compile(r"\s*\[([^\[\]|:]*)(?:\|[^\[\]]*)?(?::#\(([^\[\]]*)\))?\]$")


class _MatRow(NamedTuple):
    """One variable: its name, its text, and where its values are: matrix 0 (time), 1 or 2, row with sign."""

    name: str
    text: str
    matrix: int
    row: int


def _mat_rows(table: StoredTable) -> list[_MatRow]:
    places = {name: (2, j) for j, name in enumerate(table.columns, start=2)}
    places |= {name: (1, j) for j, name in enumerate(table.parameters, start=2)}
    rows = [_MatRow("time", "Simulation time [s]", 0, 1)]
    rows += [_MatRow(name, _mat_text(table, name), *place) for name, place in places.items()]
    for alias, (target, sign) in table.aliases.items():
        matrix, row = places[target]
        rows.append(_MatRow(alias, _mat_text(table, alias), matrix, sign * row))
    return rows


def _mat_text(table: StoredTable, name: str) -> str:
    info = table.info.get(name)
    if info is None:
        return ""
    declared = "" if info.type == "real" else f":#(type={MODELICA[info.type]})"  # as Dymola writes it
    unit = f"{info.unit}{declared}"
    return f"{info.description} [{unit}]".strip() if unit else info.description


def _mat_type(text: str | None) -> VariableType:
    """What Dymola writes behind a unit: "type=Boolean", perhaps with more."""
    found = re.search(r"\btype=(\w+)", text or "")
    return next((kind for kind, name in MODELICA.items() if found and found[1] == name), "real")


def _mat_writer(table: StoredTable, meta: Mapping[str, Any]) -> Writer:
    rows = _mat_rows(table)
    # Third: linear interpolation (0). Fourth: not defined outside the time range (-1), constants are (0).
    info = np.array([[row.matrix, row.row, 0, 0 if row.matrix == 1 else -1] for row in rows], dtype="<i4")
    span = [table.time[0], table.time[-1]] if table.time.size else [0.0, 0.0]
    constants = np.array([span] + [[value, value] for value in table.parameters.values()], dtype="<f8")

    def write(file: BinaryIO) -> None:
        _mat_put(file, "Aclass", _char_rows(["Atrajectory", "1.1", "", "binTrans"]).T, text=True)
        _mat_put(file, "name", _char_rows([row.name for row in rows]), text=True)
        _mat_put(file, "description", _char_rows([row.text for row in rows]), text=True)
        _mat_put(file, "dataInfo", info)
        _mat_put(file, "data_1", constants.T)
        _mat_header(file, "data_2", 0, len(table.columns) + 1, table.time.size)
        for block in _row_blocks(table.time, list(table.columns.values())):
            file.write(block.astype("<f8", copy=False).tobytes())
        # One row, so that it is one string; ASCII (json escapes the rest), as readers take bytes for Latin-1.
        _mat_put(file, "manifest", _char_rows([json.dumps(meta)]).T, text=True)

    return write


def _char_rows(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Texts as rows of bytes, padded with blanks; at least one wide, as readers refuse empty matrices."""
    encoded = [text.encode("utf-8") for text in texts]
    width = max(1, *(len(text) for text in encoded))
    padded = b"".join(text.ljust(width) for text in encoded)
    return np.frombuffer(padded, dtype="u1").reshape(len(texts), width)


def _mat_put(file: BinaryIO, name: str, transposed: NDArray[Any], *, text: bool = False) -> None:
    """Write the matrix whose transpose is given: level 4 stores columns one after the other."""
    kind = {"f8": 0, "i4": 20, "u1": 50}[transposed.dtype.str[1:]] + text
    columns, rows = transposed.shape
    _mat_header(file, name, kind, rows, columns)
    file.write(transposed.tobytes())


def _mat_header(file: BinaryIO, name: str, kind: int, rows: int, columns: int) -> None:
    file.write(struct.pack("<5i", kind, rows, columns, 0, len(name) + 1) + name.encode("ascii") + b"\0")


def _mat_matrices(path: Path) -> dict[str, NDArray[Any]]:
    """All matrices of a level 4 file, transposed (so that columns of the file are rows)."""
    matrices: dict[str, NDArray[Any]] = {}
    with open(path, "rb") as file:
        while header := file.read(20):
            kind, rows, columns, imaginary, length = struct.unpack("<5i", header.ljust(20, b"\xff"))
            dtype = _MAT_TYPES.get(kind // 10)  # the thousands are 0 for little-endian
            sane = rows >= 0 and columns >= 0 and not imaginary and 1 <= length <= 4096
            if dtype is None or kind % 10 > 1 or not sane:
                raise _no_trajectory(path, "it is not MATLAB level 4 in little-endian byte order")
            name = file.read(length).rstrip(b"\0").decode("latin-1")
            numbers = np.fromfile(file, dtype=f"<{dtype}", count=rows * columns)
            if numbers.size != rows * columns:
                raise _no_trajectory(path, f"it ends within the matrix {name!r}")
            matrices[name] = numbers.reshape(columns, rows)
    return matrices


def _no_trajectory(path: Path, why: str) -> ArgumentError:
    message = f"{path} is no trajectory file of pliant, Dymola or OpenModelica: {why}"
    return ArgumentError(message, hint="save it again")


def _texts(matrix: NDArray[np.uint8]) -> list[str]:
    return [row.tobytes().rstrip(b" \0").decode("utf-8", "replace") for row in matrix]


def _read_mat(path: Path) -> Result:
    matrices = _mat_matrices(path)
    missing = {"Aclass", "name", "description", "dataInfo", "data_2"} - matrices.keys()
    if missing:
        raise _no_trajectory(path, f"it has no matrix {', '.join(sorted(missing))}")
    layout = _texts(matrices["Aclass"].T)[-1]
    if layout not in ("binTrans", "binNormal"):
        raise _no_trajectory(path, f"its layout is {layout!r}, expected 'binTrans' or 'binNormal'")
    if layout == "binNormal":
        matrices = {name: matrix if name == "manifest" else matrix.T for name, matrix in matrices.items()}
    meta = _parse_meta(matrices["manifest"].tobytes().decode("utf-8"), path) if "manifest" in matrices else {}
    names, texts = _texts(matrices["name"]), _texts(matrices["description"])
    extra = meta.get("result", {})
    exact = ["time", *extra.get("columns", ()), *extra.get("parameters", ()), *extra.get("aliases", ())]
    if [name.rstrip(" \0") for name in exact] == names:
        names = exact  # the padding hides blanks at the end of a name
    places = [(int(matrix), int(row)) for matrix, row in matrices["dataInfo"][:, :2]]
    rows = [_MatRow(name, text, *place) for name, text, place in zip(names, texts, places, strict=True)]
    return _build_from_mat(rows, matrices, meta)


def _build_from_mat(rows: list[_MatRow], matrices: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Result:
    rows = [row for row in rows if abs(row.row) != 1]  # the first row of each matrix is the time
    data = matrices["data_2"].astype(np.float64, copy=False)
    owners: dict[tuple[int, int], _MatRow] = {}
    for row in sorted(rows, key=lambda row: row.row < 0):  # stable: a name with positive sign owns the column
        owners.setdefault((row.matrix, abs(row.row)), row)
    columns: dict[str, FloatArray] = {}
    parameters: dict[str, float] = {}
    aliases: dict[str, tuple[str, int]] = {}
    info: dict[str, VariableInfo] = {}
    for row in rows:
        owner = owners[row.matrix, abs(row.row)]
        sign = 1 if row.row > 0 else -1
        if owner is not row:
            aliases[row.name] = (owner.name, sign if owner.row > 0 else -sign)
        elif row.matrix == 1:
            parameters[row.name] = sign * float(matrices["data_1"][0, abs(row.row) - 1])
        else:
            columns[row.name] = sign * data[:, abs(row.row) - 1]
        unit = _UNIT.search(row.text)
        description = row.text[: unit.start()] if unit else row.text
        if row.text:
            kind = "parameter" if row.matrix == 1 else kind_of(row.name)
            info[row.name] = VariableInfo(
                row.name,
                kind=kind,
                unit=unit[1] if unit else "",
                description=description,
                type=_mat_type(unit[2] if unit else None),
            )
    return build(data[:, 0], columns, aliases, parameters, info, meta)
