"""A coupling from a file: what the file says about the simulation holds where ``simulate`` is given no others."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pliant.calls import call_error
from pliant.cosim.coupling import Coupling
from pliant.cosim.record import CouplingResult
from pliant.fmi.description import FmuExperiment


class LoadedCoupling(Coupling):
    """A :class:`pliant.Coupling` that :func:`pliant.load_system` has made."""

    def __init__(self, experiment: FmuExperiment, defaults: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._experiment = experiment
        self._defaults = dict(defaults or {})

    @property
    def default_experiment(self) -> FmuExperiment:
        """What the file proposes."""
        return self._experiment

    def simulate(self, *args: Any, **kwargs: Any) -> CouplingResult:
        """As :meth:`pliant.Coupling.simulate`; what is not given is as in the file, such as start, stop and step."""
        usual = inspect.unwrap(Coupling.simulate)
        try:
            given = inspect.signature(usual).bind(self, *args, **kwargs).arguments
        except TypeError as error:
            raise call_error(usual, (self, *args), kwargs, str(error)) from None
        del given["self"]
        stop = given.pop("stop", None)
        known = self._experiment
        arguments = {**self._defaults, **{name: value for name, value in given.items() if value is not None}}
        if stop is None:
            stop = arguments.pop("stop", None) if known.stop is None else known.stop
        arguments.pop("stop", None)
        if arguments.get("step") is None and known.step is not None:
            arguments["step"] = known.step
        if "start" not in arguments and known.start is not None:
            arguments["start"] = known.start
        return super().simulate(stop, **self._completed(arguments))

    def _completed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """With values of inputs and parameters that the file determines."""
        return arguments
