"""Libraries: folders and files of classes, read class by class. `program` is the entry."""

from pliant.frontend.modelica.library.entries import ClassEntry
from pliant.frontend.modelica.library.program import Program, open_program

__all__ = ["ClassEntry", "Program", "open_program"]
