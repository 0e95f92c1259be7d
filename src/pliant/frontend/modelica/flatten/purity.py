"""What functions declare about side effects (Modelica 12.3)."""

from __future__ import annotations

from pliant.frontend.modelica.instances.classes import ClassUse
from pliant.frontend.modelica.syntax import tree


def definition_impure(cls: ClassUse) -> bool:
    """Declared impure."""
    return bool(cls.core.entry.definition.prefixes & tree.IMPURE)


def definition_pure(cls: ClassUse) -> bool:
    """Declared pure."""
    return bool(cls.core.entry.definition.prefixes & tree.PURE)
