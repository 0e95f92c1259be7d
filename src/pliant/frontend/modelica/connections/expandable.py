"""Expandable connectors (9.1.3): members that connections add."""

from __future__ import annotations

from typing import Any

from pliant.frontend.modelica.connections.collect import Collector


def expand(collector: Collector) -> list[Any]:
    """Variables of members that were added."""
    if collector.undeclared:
        from pliant.frontend.modelica.problems import unsupported

        node, context = collector.undeclared[0]
        raise unsupported("members of expandable connectors that connections add", node, path=context.path)
    return []
