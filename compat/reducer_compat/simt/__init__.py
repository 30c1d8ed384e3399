"""Runs lowered TileLang kernels on numpy arrays, without a GPU, and checks what they do.

    from reducer_compat import simt
    y = simt.run(kernel, a, x)                  # raises SimtError when the run finds a fault
    result = simt.execute(kernel, a, x)         # result.outputs, result.report

See docs/simt.md for what it runs and what it checks.
"""

from .api import Result, execute, execute_lowered, run
from .lowering import Lowered, lower
from .report import Fault, Report, SimtError, UnsupportedError

__all__ = [
    "Fault",
    "Lowered",
    "Report",
    "Result",
    "SimtError",
    "UnsupportedError",
    "execute",
    "execute_lowered",
    "lower",
    "run",
]
