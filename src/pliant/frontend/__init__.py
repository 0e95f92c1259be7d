"""Modelica in, flat scalar equations out.

rumoca/   reads a source with the package rumoca: for cross-checks; the only folder that knows it
flat/     FlatModel, the data in which every front end ends
scalar/   FlatModel to System: arrays, records, loops and functions taken apart, events made of clauses
"""
