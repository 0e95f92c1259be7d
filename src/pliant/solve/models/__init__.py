"""Models as the solver sees them: from equations, from C, from Python functions."""
