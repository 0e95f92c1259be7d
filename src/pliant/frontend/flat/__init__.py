"""FlatModel, the data between any front end and scalarisation.

    types        what a value is          expressions  the store of expressions
    model        variables, items, ...    build        building one, with types inferred (infer, builtins, shapes)
    check        whether it is consistent text         as text, close to Base Modelica

The documentation of the data stands at the top of ``model.py`` and ``expressions.py``.
"""

from pliant.frontend.flat.build import FlatBuilder
from pliant.frontend.flat.check import check_flat
from pliant.frontend.flat.model import FlatModel
from pliant.frontend.flat.text import flat_text

__all__ = ["FlatBuilder", "FlatModel", "check_flat", "flat_text"]
