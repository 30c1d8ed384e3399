"""v2 reducers, right on every TileLang release.

Importing this package changes TileLang in this process: kernels traced from then on get the
semantics of TileLang's second reducer design, on every tested release and from one source.

`REDUCER_COMPAT` names the lowering:

- ``auto`` (default): TileLang's own on 0.1.14 and later for the kernels where it suffices, else
  ours; `status().choices` says which and why;
- ``native``: TileLang's own on 0.1.14 and later, ours before;
- ``canonical``: ours;
- ``off``: importing changes nothing.

`REDUCER_COMPAT_PLAN=wide` keeps one partial per participant and output, for comparison.
"""

from reducer_compat.errors import ReducerError, UnsupportedTileLangError
from reducer_compat.install import Status, install, status, uninstall
from reducer_compat.modes import Mode
from reducer_compat.passes.native import Choice

__version__ = "0.1.0"

__all__ = [
    "Choice",
    "Mode",
    "ReducerError",
    "Status",
    "UnsupportedTileLangError",
    "install",
    "status",
    "uninstall",
]

install()
