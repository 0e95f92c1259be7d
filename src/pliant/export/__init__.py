"""Models as FMUs: see :meth:`pliant.Model.export_fmu`."""
