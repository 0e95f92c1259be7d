"""Model and load: where the rooms meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import ArgumentError, ModelError, NotSupportedError
from pliant.solve.function import Function, function_model
from pliant.solve.native import load_native
from pliant.solve.numeric import NumericModel
from pliant.solve.options import check_request
from pliant.solve.progress import Progress
from pliant.solve.result import Result, VariableInfo
from pliant.solve.simulate import simulate


class Model:
    """A model ready to be simulated, whatever it was made from.

    Made by :func:`pliant.load`, :func:`pliant.ode` and :func:`pliant.native`.
    """

    def __init__(self, numeric: NumericModel) -> None:
        self._numeric = numeric

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._numeric.name

    @property
    def variables(self) -> dict[str, VariableInfo]:
        """Everything known about each variable: kind, unit, start, nominal, min, max, description, source span."""
        return self._numeric.variables()

    def __repr__(self) -> str:
        n = self._numeric.names
        parts = [f"{len(n.x)} states"]
        parts += [
            f"{len(names)} {what}" for names, what in ((n.u, "inputs"), (n.p, "parameters"), (n.y, "outputs")) if names
        ]
        return f"<pliant.Model {self.name!r}: {', '.join(parts)}>"

    def simulate(
        self,
        stop: float,
        start: float = 0.0,
        method: str = "auto",
        rtol: float = 1e-6,
        atol: ArrayLike | None = None,
        points: int | ArrayLike | None = 500,
        step: float | None = None,
        inputs: Mapping[str, Any] | None = None,
        parameters: Mapping[str, float] | None = None,
        start_values: Mapping[str, float] | None = None,
        outputs: Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
        progress: bool | Callable[[Progress], object] | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Simulate from ``start`` to ``stop`` and return a :class:`pliant.Result`.

        method      "auto" (BDF, handing over to Radau5 where it struggles), "bdf", "radau5", "dopri5", and with a
                    fixed ``step`` "lieuler", "euler" and "rk4".
        rtol, atol  tolerances; atol is one number or one per state, by default 0.01 * rtol * nominal (nominal 1 if
                    the model knows none).
        points      number of equidistant outputs, an array of times, or None for every step. Outputs come from the
                    dense output and never change the steps.
        inputs      per input a number, a function of time, or a pair (times, values); a time that stands twice in
                    the table is a jump.
        options     see :class:`pliant.SolverOptions`.
        progress    True, False, a function that receives :class:`pliant.Progress`, or None: a bar appears on a
                    terminal when a run takes longer than a second.
        timeout     seconds after which :class:`pliant.SimulationTimeout` is raised, with the result so far.

        >>> import pliant
        >>> decay = pliant.ode(lambda t, x: -x, [1.0])
        >>> result = decay.simulate(stop=1.0, rtol=1e-8)
        >>> round(float(result["x[0]"][-1]), 6)
        0.367879
        """
        request = check_request(
            self._numeric,
            start=start,
            stop=stop,
            method=method,
            rtol=rtol,
            atol=atol,
            points=points,
            step=step,
            parameters=parameters or {},
            start_values=start_values or {},
            outputs=outputs,
            options=options,
            timeout=timeout,
        )
        return simulate(self._numeric, request, inputs or {}, progress)


def ode(
    f: Function,
    x0: ArrayLike,
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
    pattern  structural non-zeros of df/dx (any matrix): makes large systems sparse and differences cheap.
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
    return Model(function_model(f, x0, jac=jac, mass=mass, pattern=pattern, roots=roots, names=names, nominal=nominal))


def native(path: str | Path, defines: Mapping[str, object] | None = None) -> Model:
    """A model from a C file that defines ``const pl_model pliant_model`` (see ``pliant.h``).

    The file is compiled with the system's C compiler and cached by content; ``defines`` are passed as -D.
    """
    return Model(load_native(path, defines=defines))


def load(
    source: str | Path,
    name: str | None = None,
    path: Sequence[str | Path] | None = None,
    tear: Sequence[str] | None = None,
) -> Model:
    """Load a model by its file: ``.c`` (see :func:`native`). Modelica and FMU follow in later versions."""
    text = str(source)
    if "\n" in text or text.endswith(".mo"):
        raise NotSupportedError("Modelica models cannot be read yet", hint="use pliant.ode or pliant.native for now")
    if text.endswith(".fmu"):
        raise NotSupportedError("FMUs cannot be read yet", hint="use pliant.ode or pliant.native for now")
    if not Path(text).exists():
        raise ModelError(f"there is no file {text}", hint="check the path")
    if text.endswith(".c"):
        if name is not None or path is not None or tear is not None:
            raise ArgumentError(
                f"{text}: name, path and tear are for Modelica models", hint="leave them out for a C file"
            )
        return native(text)
    raise ArgumentError(f"{text}: pliant does not know this kind of file", hint="known are .c files")
