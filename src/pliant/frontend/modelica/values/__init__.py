"""Values of expressions, as far as they are known before the simulation."""
