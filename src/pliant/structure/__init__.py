"""Structural processing: from flat equations to sorted, torn, index-1 form.

The passes in `matching`, `blt`, `dulmage`, `pantelides` and `tearing` know nothing of expressions: they take and return
integers. Equation e has the incidence list inc[e] of variable ids; -1 stands for "none" everywhere.
"""
