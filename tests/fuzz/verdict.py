"""What became of a kernel, and whether that is a difference."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """What became of a kernel in one lane.

    Attributes:
        status: `right`; `wrong` (numbers); `fault` (the interpreter found one); `refused` (a
            `ReducerError`); `error` (any other exception); `unmigrated` (the codemod left
            something); `mispredicted` (right, against an RM3xx finding of the codemod);
            `unsupported` (the interpreter does not know an operation); `skipped`; `crashed` or
            `late` (the process).
        detail: what was seen first.
        culprit: `tilelang` where TileLang alone does the same to the same kernel, else `codemod`
            or `runtime`; empty where nothing went wrong.
        foreseen: what RM3xx findings say of the text that was compiled.
    """

    status: str
    detail: str = ""
    culprit: str = ""
    foreseen: tuple[str, ...] = ()

    @property
    def signature(self) -> str:
        """The verdict without its numbers and names: alike for the same trouble."""
        if self.status in ("wrong", "right"):
            return self.status
        if self.status == "fault":
            return f"{self.status} {self.detail.split(' ')[0]}"
        text = re.sub(r"`[^`]*`|\d+", "#", self.detail)
        return f"{self.status} {text[:60]}"

    @property
    def accounted(self) -> bool:
        """Whether this is no difference: right, or beyond TileLang and seen to be so.

        What TileLang cannot compile without us either is beyond it. A wrong number of its own
        is accounted for when an RM3xx rule says so.
        """
        if self.status in ("right", "skipped"):
            return True
        if self.culprit != "tilelang":
            return False
        return self.status in ("refused", "error") or bool(self.foreseen)

    @property
    def column(self) -> str:
        """The heading under which a summary counts it."""
        if self.status in ("right", "skipped"):
            return self.status
        if not self.accounted:
            return "different"
        return "beyond TileLang" if self.status in ("refused", "error") else "foreseen"
