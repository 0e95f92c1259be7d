"""The processes in which FMUs run, as Python sees them."""
