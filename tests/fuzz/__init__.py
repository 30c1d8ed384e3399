"""Random reducer kernels, compared three ways: ``python -m tests.fuzz --help``.

kernel, expression   what a kernel is: frozen dataclasses, kept as JSON
generate             a kernel from a seed and a number
render               its text, in v1, in v2 as shipped, and in v2 as the RFC has it
reference            its outputs, from the description alone
worker               one TileLang release in a process of its own: lowers, interprets, compares
plan                 which kernels run on which releases, in which lanes
session              workers for several releases
outcome, journal     what became of the kernels: counted, and kept in a file
shrink, reproducer   the smallest kernel that still differs, as a file that runs alone
known                differences that are understood, with their reasons
"""
