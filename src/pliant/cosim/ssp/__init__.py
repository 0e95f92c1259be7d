"""Systems of models in the files of the standard SSP: System Structure and Parameterization, 1.0 and 2.0."""
