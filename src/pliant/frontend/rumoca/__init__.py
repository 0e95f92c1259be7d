"""Modelica read and flattened by the package rumoca. Nothing outside of this folder knows its dictionary."""
