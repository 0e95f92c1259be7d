"""Libraries: folders and files of classes, read class by class. `program` is the entry."""

from pliant.frontend.modelica.library.entries import ClassEntry
from pliant.frontend.modelica.library.root import ClassRoot, open_classes

__all__ = ["ClassEntry", "ClassRoot", "open_classes"]
