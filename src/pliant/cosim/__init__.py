"""Parts that are simulated apart and exchange values at communication points: see :class:`pliant.Coupling`."""
