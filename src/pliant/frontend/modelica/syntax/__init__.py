"""Modelica text to syntax trees: `tree` describes the data."""
