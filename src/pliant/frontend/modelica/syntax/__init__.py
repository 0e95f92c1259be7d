"""Modelica text to syntax trees: `tree` describes the data, `parser` is the entry."""

from pliant.frontend.modelica.syntax.parser import parse, parse_on_demand

__all__ = ["parse", "parse_on_demand"]
