"""From a flat model to scalar equations: :func:`pliant.frontend.scalar.scalarize.scalarize`."""
