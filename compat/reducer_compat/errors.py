"""The errors this package raises.

Codes: ``RM2xx`` come from `reducer_rules`, the others from here:

- ``RC001``: the installed TileLang is outside the tested range, or is broken.
- ``RC002``: a statement of a reducer reached the compiler in a form it cannot follow.
- ``RC003``: TileLang itself cannot lay out the other operations of the kernel.
- ``RC004``: something this package does not support yet, named in the message.
- ``RC005``: something of ours survived lowering (an error in this package).
- ``RC006``: a contribution would not be counted exactly once (an error in this package, or a pass
  of TileLang that loses code).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reducer_compat.ladder import Feature


class ReducerError(RuntimeError):
    """A reducer that cannot be compiled as written.

    Attributes:
        code: the code of the rule, or one of the codes above.
        kernel: the name of the kernel, empty outside one.
        location: ``file:line`` of the statement; of its kernel's first reducer where the statement
            is not known, and empty for a kernel that was traced before this package was imported.
        fix: what to change, empty where there is no short answer.
    """

    def __init__(
        self, code: str, message: str, *, kernel: str = "", location: str = "", fix: str = ""
    ) -> None:
        self.code = code
        self.message = message
        self.kernel = kernel
        self.location = location
        self.fix = fix
        super().__init__(self._render())

    def complete(self, kernel: str, location: str) -> None:
        """Say the kernel and the line, where they are not said."""
        self.kernel = self.kernel or kernel
        self.location = self.location or location
        self.args = (self._render(),)

    def _render(self) -> str:
        where = f"{self.location}: " if self.location else ""
        kernel = f" (kernel {self.kernel})" if self.kernel else ""
        fix = f"\n  fix: {self.fix}" if self.fix else ""
        return f"{where}{self.code} {self.message}{kernel}{fix}"


class UnsupportedTileLangError(ReducerError, ImportError):
    """`import reducer_compat` met a TileLang it was not tested on, or a broken one."""


class RetryError(ReducerError):
    """A kernel did not lower, and there is another way to lower it."""


class CopyError(RetryError):
    """A copy would fault, and the kernel was not lowered without TMA yet."""


class NarrowError(RetryError):
    """A count failed, and the kernel was not lowered with wide plans yet."""

    @classmethod
    def after(cls, error: ReducerError) -> NarrowError:
        """The same error, as one that may be recovered from."""
        return cls(
            error.code,
            error.message,
            kernel=error.kernel,
            location=error.location,
            fix=error.fix,
        )


class UnfitError(RetryError):
    """A kernel whose epochs show that it cannot be lowered with `feature`."""

    def __init__(self, feature: Feature, message: str, kernel: str) -> None:
        self.feature = feature
        super().__init__("RC003", message, kernel=kernel)


class UncountedWarning(RuntimeWarning):
    """A kernel does something that the contribution counter cannot follow; it may be right."""


def said(error: BaseException) -> str:
    """What TileLang says in an error, in one line, without places in its code and in the kernel.

    From 0.1.13 on the line of the kernel follows, and some errors quote code below.
    """
    lines = [line for line in str(error).strip().splitlines() if not line.startswith((" ", "-->"))]
    checks = [line for line in lines if line.startswith("Check failed")]
    found = checks or lines
    return found[-1].rstrip() if found else type(error).__name__
