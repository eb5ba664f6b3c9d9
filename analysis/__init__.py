"""The papers' theory, evaluated with numpy, scipy and sympy: the independent side of every check.

Nothing here imports a kernel. Where a statement is exact it is evaluated in exact arithmetic, and where a printed statement
fails the corrected one stands beside it.
"""
