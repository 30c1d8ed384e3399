"""The worker behind `reducer-migrate verify`: it executes a user's file and runs its kernels.

`python -m reducer_compat.verify` is a process with one TileLang in one state: with the runtime or
without (`REDUCER_COMPAT`), installed or side by side (`PYTHONPATH`). It takes requests as JSON,
one a line, on stdin, and answers each with one line. See `protocol` for their keys.
"""
