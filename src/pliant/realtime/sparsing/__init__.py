"""Which entries of the Jacobian may go: linearisations, criteria, search."""
