"""Reading Modelica with rumoca, the only place that knows its interface.

rumoca is imported when the first model is read. It panics on some models (an exception outside ``Exception``, with a
Rust backtrace on stderr); here every failure becomes an error of pliant with a place and a hint.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pliant.arguments import as_path
from pliant.errors import ArgumentError, ModelError, NotSupportedError, PliantError
from pliant.frontend.classes import SIMULATED, classes, is_text, line_and_column, within, without_comments
from pliant.frontend.flat.model import FlatModel
from pliant.frontend.rumoca.clashes import real_for_integer
from pliant.frontend.rumoca.decode import decode
from pliant.frontend.rumoca.enumerations import add_literals
from pliant.frontend.rumoca.input_memory import REFUSED, remembered_inputs
from pliant.frontend.rumoca.messages import SourceText, fault_error, syntax_error, translate
from pliant.frontend.rumoca.samples import hide_ticks, named_samples
from pliant.frontend.rumoca.sections import split_sections
from pliant.frontend.rumoca.syntax import find_number
from pliant.textfile import read_text

WRAPPER = "PliantWrapper"
# rumoca reads all files beside the one it is given, and complains about classes that are there twice; a folder that
# does not exist keeps it from looking
NOWHERE = "/pliant-nowhere"
SEVERAL_SAMPLES = re.compile(r"owned by clock identity|duplicate condition clock owner")
MISMATCH = "expression shape mismatch"
STACKS = (4 << 30, 1 << 30, 256 << 20)  # bytes of address space; memory is taken as it is used


def read(source: str | Path, name: str | None = None, path: Sequence[str | Path] | None = None) -> FlatModel:
    """The flat model of a source; the arguments are those of :func:`read_dae`."""
    return decode(read_dae(source, name, path))


def read_dae(source: str | Path, name: str | None = None, path: Sequence[str | Path] | None = None) -> dict[str, Any]:
    """rumoca's ``dae`` dictionary of a model, with the key ``model_name`` added.

    ``source`` is a file, the folder of a package, or a text (see ``is_text``). ``name`` says which class; without it
    the last model of the text. ``path`` lists folders with libraries, by default those of MODELICAPATH.
    """
    roots = _roots(path)
    text, file, own = _text(source)
    roots = [*own, *(root for root in roots if root not in own)]
    target, text = _target(text, file, name, bool(own))
    is_library = target == WRAPPER and not own
    model = SourceText(str(name) if is_library else file, text, target, tuple(roots), is_library)
    dae = _on_deep_stack(lambda: _compile_somehow(model))
    dae["model_name"] = name or target
    return dae


def _on_deep_stack(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run in a thread with a large stack: rumoca recurses for each term of a sum, and a full stack kills Python."""
    done: list[dict[str, Any]] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    before = threading.stack_size()
    for size in STACKS:
        try:
            threading.stack_size(size)
            thread = threading.Thread(target=run, name="pliant-rumoca", daemon=True)
            thread.start()
        except (RuntimeError, ValueError):  # not that much to be had
            continue
        finally:
            threading.stack_size(before)
        while thread.is_alive():  # in slices, so that Ctrl-C is heard
            thread.join(0.1)
        if failed:
            raise failed[0]
        return done[0]
    return work()


def _roots(path: Sequence[str | Path] | None) -> list[str]:
    """Folders with libraries; those of the environment may be missing, named ones may not."""
    if path is None:
        given = os.environ.get("MODELICAPATH", "").split(os.pathsep)
        return [entry for entry in given if entry and Path(entry).exists()]
    if isinstance(path, (str, Path)):
        path = [path]
    if not isinstance(path, Iterable):
        raise ArgumentError(f"path must be a list of folders, not {path!r}", hint="e.g. path=['libraries']")
    path = [as_path("a folder of path", entry) for entry in path]
    missing = [str(entry) for entry in path if not Path(entry).exists()]
    if missing:
        raise ModelError(f"library folder `{missing[0]}` does not exist", hint="correct path=[...]")
    return [str(entry) for entry in path]


def _text(source: str | Path) -> tuple[str, str, list[str]]:
    """Text, its file name, and the folders that the source itself needs."""
    if isinstance(source, str) and is_text(source):
        return _given(source), "model.mo", []
    file = Path(source)
    if file.is_dir():
        if not (file / "package.mo").is_file():
            raise ModelError(f"`{file}` is a folder without package.mo", hint="give a .mo file or a package's folder")
        return "", str(file), [str(_package_root(file))]
    try:
        text = read_text(file, ModelError)
    except FileNotFoundError:
        raise ModelError(
            f"file `{file}` does not exist", hint="check the path; a Modelica text must contain a line break"
        ) from None
    except OSError as error:
        raise ModelError(f"file `{file}` cannot be read: {error.strerror or error}", hint="check the path") from None
    if file.name == "package.mo" or (within(text) and (file.parent / "package.mo").is_file()):
        # a part of a package: the others are beside it
        return text, str(file), [str(_package_root(file.parent))]
    return text, str(file), []


def _given(text: str) -> str:
    """A text from the caller, without the mark that some editors put before it."""
    odd = re.search(r"[\ud800-\udfff]", text)
    if odd:
        line, column = line_and_column(text, odd.start())
        raise ModelError(
            f"model.mo:{line}:{column}: the text holds a byte that was not UTF-8 where it was read",
            hint="read the file with its own encoding, e.g. encoding='latin-1'",
        )
    return text.removeprefix("\ufeff")


def _package_root(folder: Path) -> Path:
    while (folder.parent / "package.mo").is_file():
        folder = folder.parent
    return folder


def _target(text: str, file: str, name: str | None, is_package: bool) -> tuple[str, str]:
    """Class to instantiate and the text to give to rumoca."""
    prefix = within(text)
    found = classes(text)
    own = [f"{prefix}.{c.name}" if prefix else c.name for c in found]
    if name is None:
        name = _choose(text, file, prefix)
    elif name not in own and f"{prefix}.{name}" in own:
        name = f"{prefix}.{name}"
    if name in own and not is_package:
        return name, text
    top = name.split(".")[0]
    if "." not in name and name not in own and not is_package:
        listed = ", ".join(own) or "none"
        raise ModelError(f"{file}: there is no class `{name}`", hint=f"classes in this file: {listed}")
    if is_package or top not in {c.split(".")[0] for c in own}:
        wrapper = f"model {WRAPPER}\n  extends {name};\nend {WRAPPER};\n"
        return WRAPPER, wrapper if is_package else f"{text}\n{wrapper}"
    listed = ", ".join(c for c in own if c.startswith(top + ".")) or "none"
    raise ModelError(f"{file}: there is no class `{name}`", hint=f"classes in `{top}`: {listed}")


def _choose(text: str, file: str, prefix: str) -> str:
    """The last model of a text; in a package its only one."""
    found = [c for c in classes(text) if c.kind in SIMULATED]
    top = [c for c in found if "." not in c.name]
    usable = [c for c in top if not c.is_partial] or top
    if usable:
        name = usable[-1].name
    else:
        inner = [c for c in found if not c.is_partial]
        if len(inner) != 1:
            listed = ", ".join(c.name for c in inner)
            what = "several models, none at the top" if inner else "no model"
            hint = f'give name="...": one of {listed}' if inner else 'give name="..." or a file that defines a model'
            raise ModelError(f"{file} defines {what}", hint=hint)
        name = inner[0].name
    return f"{prefix}.{name}" if prefix else name


def _compile_somehow(model: SourceText) -> dict[str, Any]:
    """As it stands, else with algorithm sections taken apart."""
    try:
        return _compile(model)
    except NotSupportedError as error:
        text = split_sections(model.text)
        if text == model.text:
            raise
        try:
            return _compile(replace(model, text=text))
        except PliantError:
            raise error from None


def _compile(model: SourceText) -> dict[str, Any]:
    found = _attempt(model)
    if isinstance(found, dict):
        _check_terminate(model)
        return found
    text, is_panic = found
    if REFUSED.search(text) and not model.is_library:
        remembered = remembered_inputs(model.text, model.name)
        if remembered is not None:
            dae = _compile(replace(model, text=remembered))
            hide_ticks(dae["storage"]["variables"])
            return dae
    if SEVERAL_SAMPLES.search(text) and not model.is_library:
        renamed = named_samples(model.text)
        again = _attempt(replace(model, text=renamed)) if renamed else found
        if isinstance(again, dict):
            hide_ticks(again["storage"]["variables"])
            return again
    if MISMATCH in text:
        error = real_for_integer(model.file, model.text, lambda other: _mismatches(replace(model, text=other)))
        if error is not None:
            raise error
    fault = find_number(model.text)
    if fault is not None:
        raise fault_error(fault, model)
    if not is_panic and ("unexpected" in text or "resolve/parse failed" in text):
        raise _syntax_error(text, model)
    raise _not_utf8(text, model) or translate(text, model, is_panic=is_panic)


def _check_terminate(model: SourceText) -> None:
    """rumoca drops what stands outside of when-clauses, without a word."""
    plain = without_comments(model.text)
    plain = re.sub(r"\bwhen\b.*?\bend\s+when\b", lambda found: re.sub(r"[^\n]", " ", found.group()), plain, flags=re.S)
    found = re.search(r"\bterminate\s*\(", plain)
    if found:
        line, column = line_and_column(model.text, found.start())
        raise NotSupportedError(
            f"{model.file}:{line}:{column}: terminate(...) outside of a when-clause is not supported",
            hint="write `when condition then terminate(...); end when;`",
        )


def _mismatches(model: SourceText) -> bool:
    found = _attempt(model)
    return not isinstance(found, dict) and MISMATCH in found[0]


def _syntax_error(text: str, model: SourceText) -> PliantError:
    import rumoca

    report = "\n".join(str(entry) for entry in rumoca.validate_source(model.text))
    return syntax_error(report, model) or translate(text, model)


def _not_utf8(text: str, model: SourceText) -> PliantError | None:
    """rumoca does not say which file of a library it cannot read."""
    if "Failed to load source root" not in text:
        return None
    for root in model.roots:
        for file in sorted(Path(root).rglob("*.mo")):
            try:
                read_text(file, ModelError)
            except ModelError as error:
                return error
            except OSError:
                continue
    return None


def _attempt(model: SourceText) -> dict[str, Any] | tuple[str, bool]:
    """rumoca's answer: the model, or its words and whether it panicked."""
    try:
        import rumoca
    except ImportError as error:
        raise ModelError(
            f'rumoca is not installed ({error}), and frontend="rumoca" needs it',
            hint="pip install 'pliant[rumoca]', or leave frontend out",
        ) from None
    roots = [*model.roots, *_complex(model)]
    failure: tuple[str, bool]
    session = loaded = None  # may only be dropped in this thread, so no traceback may hold them
    with _own_path(), _quiet_stderr() as noise:
        try:
            session = rumoca.Session(roots=roots)
            loaded = session.loads(model.text, model=model.name, filename=f"{NOWHERE}/{Path(model.file).name}")
            dae = _with_names(loaded.to_dict("dae"), model.file)
            if _enumerations(dae):
                add_literals(_enumerations(dae), loaded.to_dict("flat"))
            return dae
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except Exception as error:
            failure = _with_name(str(error), model.file), False
        except BaseException as error:  # pyo3's PanicException
            if type(error).__name__ != "PanicException":
                raise
            noise.clear()
            failure = _with_name(str(error), model.file), True
        finally:
            session = loaded = None
    return failure


def _with_name(text: str, file: str) -> str:
    return text.replace(f"{NOWHERE}/{Path(file).name}", file)


def _with_names(dae: dict[str, Any], file: str) -> dict[str, Any]:
    for entry in dae["source_map"]["files"]:
        entry[1] = _with_name(entry[1], file)
    return dae


def _enumerations(dae: dict[str, Any]) -> list[dict[str, Any]]:
    """Enumerations that a simulation shows or takes values for: all but parameters, of which libraries have many."""
    types = dae["storage"]["value_types"]
    moving = [raw for raw in dae["storage"]["variables"] if raw["role"] not in ("parameter", "constant")]
    return [raw for raw in moving if types[raw["value_type"]]["scalar"] == "enumeration"]


def _complex(model: SourceText) -> list[str]:
    """`Complex` is a file of its own beside the library, and rumoca does not search for it."""
    if not re.search(r"\bComplex\b", model.text) or re.search(r"\bModelica\b", model.text):
        return []
    return [str(Path(root) / "Complex.mo") for root in model.roots if (Path(root) / "Complex.mo").is_file()]


@contextmanager
def _own_path() -> Iterator[None]:
    """rumoca reads MODELICAPATH, too, and fails on entries that do not exist; here the caller's list counts."""
    saved = os.environ.pop("MODELICAPATH", None)
    try:
        yield
    finally:
        if saved is not None:
            os.environ["MODELICAPATH"] = saved


class _Noise:
    """What was written to stderr meanwhile; cleared if it is only a panic's backtrace."""

    def __init__(self) -> None:
        self.is_kept = True

    def clear(self) -> None:
        self.is_kept = False


@contextmanager
def _quiet_stderr() -> Iterator[_Noise]:
    """Hold back what native code writes to stderr, and let it out afterwards unless it is a panic's backtrace."""
    noise = _Noise()
    try:
        sys.stderr.flush()
        saved = os.dup(2)
    except (OSError, AttributeError, ValueError):
        yield noise
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield noise
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            held.seek(0)
            text = held.read()
            if text and noise.is_kept:
                os.write(2, text)
