"""Patterns of Jacobians, and how good a Jacobian is."""
