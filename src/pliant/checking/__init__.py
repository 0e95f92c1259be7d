"""Every example of a library, each in a process of its own: what is read, solved, simulated, and like the reference.

examples   which classes of a library are examples
worker     one example: front end, structure, start, simulation, comparison; a program of its own
compare    curves against a reference: a tube, and what stands out of it
library    check_library: processes, time limits
report     rows, counts, classes of failure; as text, JSON and a page
"""
