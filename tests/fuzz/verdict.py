"""What became of a kernel, and whether that is a difference."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: How a kernel is run; worker.py says what each lane is.
LANES = ("native", "legacy", "shipped", "rfc", "converted", "wide", "auto")
#: What is no difference whoever did it, and has a column of its own.
_COUNTED_APART = ("right", "skipped", "mispredicted", "unsupported")


@dataclass(frozen=True)
class Verdict:
    """What became of a kernel in one lane.

    Attributes:
        status: `right`; `wrong` (numbers); `fault` (the interpreter found one); `refused` (a
            `ReducerError`); `error` (any other exception); `unmigrated` (the codemod left
            something); `mispredicted` (right, where an RM3xx finding says it cannot compile);
            `unsupported` (the interpreter does not know an operation); `skipped`; `crashed` or
            `late` (the process).
        detail: what was seen first.
        culprit: empty where nothing went wrong; `tilelang` where the same goes wrong without any
            reducer; `native` where TileLang's own reducers do the same to v2 that was written by
            hand; else the part of ours that was used, `codemod` or `runtime`.
        foreseen: what RM3xx findings say of the text that was compiled.
        remarks: what the runtime did besides: plans that it gave up, kernels it could not count,
            what it left to TileLang.
    """

    status: str
    detail: str = ""
    culprit: str = ""
    foreseen: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def signature(self) -> str:
        """The verdict without its numbers and names: alike for the same trouble."""
        if self.status in ("wrong", "right"):
            return self.status
        if self.status == "fault":
            return f"{self.status} {self.detail.split(':')[0]}"
        text = re.sub(r"`[^`]*`|\d+", "#", self.detail)
        return f"{self.status} {text[:60]}"

    @property
    def accounted(self) -> bool:
        """Whether this is no difference: right, or beyond TileLang and seen to be so.

        What TileLang does to a kernel without any reducer is none, and neither is what its own
        reducers refuse. A wrong number of its own reducers is accounted for when an RM3xx rule
        says so.
        """
        if self.status in _COUNTED_APART or self.culprit == "tilelang":
            return True
        return self.culprit == "native" and (self.status == "error" or bool(self.foreseen))

    @property
    def column(self) -> str:
        """The heading under which a summary counts it."""
        if self.status in _COUNTED_APART:
            return self.status
        if not self.accounted:
            return "different"
        return "beyond TileLang" if self.status in ("refused", "error") else "TileLang wrong"
