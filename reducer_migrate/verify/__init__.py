"""`reducer-migrate verify`: run the kernels of a file before and after the rewrite, and compare.

The only command that executes what it is given. `kernels` and `literals` read the file without
doing so, `worker` drives the processes that execute it, `verdict` compares what they give.
"""
