"""load, ode, native, inspect: where the packages are combined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.calls import by_keyword
from pliant.codegen.emit import generate
from pliant.errors import ArgumentError, ModelError, NotSupportedError
from pliant.solve.models.generated import GeneratedModel
from pliant.solve.models.native import load_native
from pliant.sources import check_source, is_fmu, is_modelica, is_system, sorted_model, source_hint
from pliant.structure.options import StructureOptions, structure_options
from pliant.structure.report import Structure

if TYPE_CHECKING:
    from pliant.cosim.coupling import Coupling
    from pliant.cosim.ssp.report import SystemReport
    from pliant.fmi.options import FmuOptions
    from pliant.fmi.report import FmuReport
    from pliant.solve.models.function import Function
    from pliant.sorted_system import SortedSystem


from pliant.model import Model


@by_keyword
def ode(
    f: Function,
    x0: ArrayLike,
    *,
    jac: Callable[[float, NDArray[np.float64]], Any] | None = None,
    mass: Any = None,
    pattern: Any = None,
    roots: Any = None,
    names: Sequence[str] | None = None,
    nominal: ArrayLike | None = None,
) -> Model:
    """A model from a Python function: ``mass @ x' = f(t, x)``, ``x(start) = x0``.

    f        returns the n derivatives; ``x`` is a read-only view that is only valid during the call.
    jac      ``jac(t, x)``, dense or scipy.sparse; None: differences.
    mass     constant matrix, dense, sparse or a vector for the diagonal; may be singular (index 1).
    pattern  structural non-zeros of df/dx (any matrix): makes large systems sparse and differences cheap; it is
             checked now and then. "detect": found by probing f around x0.
    roots    root functions g(t, x): functions, with SciPy's ``direction`` and ``terminal`` attributes if wanted, or
             :class:`pliant.Root` objects, which can also set new states.
    nominal  typical sizes of the states: one number or one per state.

    >>> import pliant
    >>> ball = pliant.ode(lambda t, x: [x[1], -9.81], [1.0, 0.0], names=["h", "v"],
    ...                   roots=pliant.Root(lambda t, x: x[0], direction=-1, terminal=True))
    >>> result = ball.simulate(stop=2.0)
    >>> round(result.events[0].time, 4)
    0.4515
    """
    from pliant.solve.models.function import function_model  # needs scipy, which is slow to load

    return Model(function_model(f, x0, jac=jac, mass=mass, pattern=pattern, roots=roots, names=names, nominal=nominal))


@by_keyword
def native(path: str | Path, *, defines: Mapping[str, object] | None = None) -> Model:
    """A model from a C file that defines ``const pl_model pliant_model`` (see ``pliant.h``).

    The file is compiled with the system's C compiler and cached by content; ``defines`` are passed as -D.
    """
    return Model(load_native(path, defines=defines))


@by_keyword
def load(
    source: str | Path,
    *,
    name: str | None = None,
    path: Sequence[str | Path] | None = None,
    tear: Sequence[str] | None = None,
    options: Mapping[str, Any] | StructureOptions | FmuOptions | None = None,
    kind: str | None = None,
    frontend: str | None = None,
) -> Model:
    """Load a model: a Modelica file, directory or text, an FMU, or a C file (see :func:`native`).

    A text is a string with a line break, or one of the form ``model M ... end M;``.

    name     the class to load, by default the last one of the file; names inside libraries work too.
    path     folders with libraries, by default those of the environment variable MODELICAPATH.
    tear     names of variables to be torn in their algebraic loops, before pliant's own choice.
    options  see :class:`pliant.StructureOptions`, e.g. ``{"form": "dae"}``; for an FMU :class:`pliant.FmuOptions`.
    kind     of an FMU: "model-exchange" or "co-simulation"; None: the first of these that it offers.
    frontend what reads Modelica: "pliant", or for cross-checks the package "rumoca"; None: "pliant".

    >>> import pliant
    >>> model = pliant.load('''
    ... model Cooling
    ...   parameter Real k = 0.5;
    ...   Real T(start = 90, fixed = true);
    ... equation
    ...   der(T) = -k*(T - 20);
    ... end Cooling;
    ... ''')
    >>> round(float(model.simulate(stop=2.0, rtol=1e-8)["T"][-1]), 4)
    45.7516
    """
    check_source(source, name)
    text = str(source)
    if is_fmu(source):
        if name is not None or path is not None or tear is not None or frontend is not None:
            raise ArgumentError(
                f"{text}: name, path, tear and frontend are for Modelica models", hint="leave them out for an FMU"
            )
        from pliant.fmi.load import load_fmu

        return Model(load_fmu(Path(source), kind, options))
    if is_system(source):
        raise ArgumentError(f"{text} is a system of models", hint=f"pliant.load_system({text!r})")
    if kind is not None:
        raise ArgumentError(f"{text or 'the source'}: kind is for FMUs", hint="leave it out")
    if is_modelica(source):
        return load_modelica(source, name, path, tear, options, frontend)  # type: ignore[arg-type]
    if not text or not Path(text).exists():
        raise ModelError(f"there is no file {text}" if text else "the source is empty", hint=source_hint(text, name))
    if text.endswith(".c"):
        if any(one is not None for one in (name, path, tear, options, frontend)):
            raise ArgumentError(
                f"{text}: name, path, tear, options and frontend are for Modelica models",
                hint="leave them out for a C file",
            )
        return native(text)
    raise ArgumentError(f"{text}: this kind of file is not supported", hint="give a .mo or a .c file")


@by_keyword
def load_system(
    path: str | Path,
    *,
    variant: str | None = None,
    options: Mapping[str, Any] | FmuOptions | None = None,
) -> Coupling:
    """Load a system of models, ready to be simulated: an .ssp or .ssd of the standard SSP, or a .toml.

    Parts have their names in the system, those of nested systems with dots, "car.engine". Start, stop and step of the
    file hold where ``simulate`` is given no others.

    variant  which .ssd of an .ssp: the name of the file or the one that it gives itself; None: SystemStructure.ssd
    options  :class:`pliant.FmuOptions` for all FMUs

    A folder is read as an unpacked .ssp.
    """
    from pliant.cosim.system import load_any

    return load_any(path, load, variant, options)


@by_keyword
def inspect(
    source: str | Path,
    *,
    name: str | None = None,
    path: Sequence[str | Path] | None = None,
    tear: Sequence[str] | None = None,
    options: Mapping[str, Any] | StructureOptions | FmuOptions | None = None,
    frontend: str | None = None,
) -> Structure | FmuReport | SystemReport:
    """The structure of a Modelica model, or what is in an FMU or in a system (.ssp, .ssd), without a simulation of it.

    Nothing is compiled, and nothing of an FMU is run. Arguments as those of :func:`load`; the options of an FMU are
    :class:`pliant.FmuOptions`. It also works for models that this version cannot simulate yet.

    >>> import pliant
    >>> found = pliant.inspect('model M\\n  Real x(start = 1);\\nequation\\n  der(x) = -x;\\nend M;')
    >>> [state.name for state in found.states]
    ['x']
    """
    check_source(source, name)
    if is_fmu(source):
        if name is not None or path is not None or tear is not None or frontend is not None:
            raise ArgumentError(
                f"{source}: name, path, tear and frontend are for Modelica models", hint="leave them out"
            )
        from pliant.fmi.options import fmu_options
        from pliant.fmi.report import inspect_fmu

        return inspect_fmu(Path(source), fmu_options(options))
    if is_system(source):
        if any(one is not None for one in (name, path, tear, frontend)):
            raise ArgumentError(
                f"{source}: name, path, tear and frontend are for Modelica models", hint="leave them out"
            )
        from pliant.cosim.ssp.report import inspect_system
        from pliant.fmi.options import fmu_options

        return inspect_system(Path(source), fmu_options(options))
    if not is_modelica(source):
        if not str(source) or not Path(source).exists():
            raise ModelError(
                f"there is no file {source}" if str(source) else "the source is empty",
                hint=source_hint(str(source), name),
            )
        raise NotSupportedError(
            f"{source}: the equations are not known, because this is no Modelica text",
            hint="give a .mo file, the folder of a package, a text, or an FMU",
        )
    chosen = structure_options(options)
    return Structure(sorted_model(source, name, path, tear, chosen, frontend), form=chosen.form)


def load_modelica(
    source: str | Path,
    name: str | None,
    path: Sequence[str | Path] | None,
    tear: Sequence[str] | None,
    options: Mapping[str, Any] | StructureOptions | None,
    frontend: str | None = None,
) -> Model:
    """Modelica text through all packages: front end, structure, code, compiler."""
    chosen = structure_options(options)
    return compiled_model(sorted_model(source, name, path, tear, chosen, frontend), chosen)


def compiled_model(found: SortedSystem, options: StructureOptions) -> Model:
    """Sorted equations through code and compiler."""
    numeric = GeneratedModel.compile(generate(found, options.form), found.system.digest)
    return Model(numeric, structure=Structure(found, form=options.form))
