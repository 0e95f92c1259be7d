"""The Modelica front end: text to syntax trees (`syntax`), libraries of them (`library`)."""
