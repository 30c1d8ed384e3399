"""The acceptance list of the reducer RFC (tile-ai/tilelang#2897), item by item, as named kernels.

Each `Case` is one kernel with inputs and an expected result computed in numpy. They run in the
interpreter (`tests/compat`) and on a GPU (`benchmarks/gpu_acceptance.py`).
"""

from tests.kernels.case import Case, all_cases

__all__ = ["Case", "all_cases"]
