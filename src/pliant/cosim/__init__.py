"""Parts that are simulated apart and exchange values at communication points: the room of :class:`pliant.Coupling`."""
