"""The model in the form that the plan wants: loops inside f, or their unknowns in x."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pliant.codegen.emit import generate
from pliant.errors import NotSupportedError
from pliant.realtime.options import RealtimeOptions
from pliant.solve.generated import GeneratedModel
from pliant.solve.numeric import NumericModel


def in_form(model: NumericModel, options: Mapping[str, Any] | None) -> NumericModel:
    """The same model in the form of ``options``; compiled anew if it was loaded in another one."""
    wanted = RealtimeOptions.of(options).form
    if wanted == "auto":
        return model
    if not isinstance(model, GeneratedModel):
        raise NotSupportedError(
            f"{model.name}: only models made of equations have another form", hint="leave the option form out"
        )
    if model.generated.form == wanted:
        return model
    return GeneratedModel.compile(generate(model.generated.program.sorted, wanted), model.digest)
