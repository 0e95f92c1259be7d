"""Modelica in, flat scalar equations out: rumoca reads the source, :mod:`pliant.frontend.scalarize` takes arrays,
records, loops and functions apart."""
