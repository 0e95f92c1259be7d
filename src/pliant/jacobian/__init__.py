"""Patterns of Jacobians and their colouring."""
