"""The coupled examples with their parts as FMUs: the drive with a controller FMU, springs and pendula from FMUs alone.

Exported for co-simulation, each part has a solver of its own inside, which goes on over communication points. The
spring between the pendula and the controller pass signals straight through, so they are exported for model exchange:
loops of direct feed-through cannot be solved with co-simulation FMUs while they step.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from pliant.cosim.system import read_system

HERE = Path(__file__).parent
THROUGH = ("pendulum_spring.mo", "drive_controller.mo")
SHOWN = {"spring_damper": "left.x", "pendula": "first.theta", "drive": "motor.w"}


class AsFmus:
    """Loads models as FMUs; ``kept``: files whose models stay what they are."""

    def __init__(self, folder: str, kept: tuple[str, ...]) -> None:
        self.folder, self.kept = Path(folder), kept
        self.models: list[pliant.Model] = []

    def __call__(self, source: Path, **_: Any) -> pliant.Model:
        """The model of a file, as an FMU."""
        model = pliant.load(source)
        if source.name in self.kept:
            return model
        kind = "model-exchange" if source.name in THROUGH else "co-simulation"
        file = model.export_fmu(self.folder / f"{source.stem}{len(self.models)}.fmu", version="2.0", sources=False)
        self.models.append(pliant.load(file, kind=kind))
        return self.models[-1]


def main() -> None:
    """Each example, compared with the same one from models at a tenth of the error."""
    for name, signal in SHOWN.items():
        with tempfile.TemporaryDirectory() as folder:
            load = AsFmus(folder, ("drive_motor.mo",))
            system = read_system(HERE / f"{name}.toml", load)
            arguments = {**system.arguments, "step": "auto", "points": None}
            result = system.coupling.simulate(**arguments)
            for one in load.models:
                one.close()
        models = read_system(HERE / f"{name}.toml", pliant.load).coupling.simulate(**{**arguments, "macro_rtol": 1e-4})
        off = np.abs(np.interp(models.time, result.time, result[signal]) - models[signal]).max()
        share = off / np.ptp(models[signal])
        print(f"{name}: {len(load.models)} FMUs, {len(result.macro)} macro steps, {signal} within {100 * share:.2g} %")
        assert share < 0.02


if __name__ == "__main__":
    main()
