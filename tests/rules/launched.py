"""Judge a sketch as part of a kernel with a thread count, on one TileLang release."""

from __future__ import annotations

from dataclasses import replace

from reducer_rules import Finding, Op, Target
from reducer_rules.catalogue import rule
from reducer_rules.release import Release
from reducer_rules.timeline import Kernel
from tests.rules.build import Sketch


def on(release: str | None, compat: bool = False) -> Target:
    return Target(None if release is None else Release.parse(release), compat)


def found(
    code: str, sketch: Sketch, target: Target, threads: int | None = 128, **kernel: bool
) -> list[Finding]:
    timeline = replace(sketch.timeline, kernel=Kernel(threads=threads, **kernel))
    return list(rule(code).check(timeline, target))


def messages(
    code: str, sketch: Sketch, target: Target, threads: int | None = 128, **kernel: bool
) -> list[tuple[int, str]]:
    """The line and the message of everything one rule finds."""
    return [(f.span.line, f.message) for f in found(code, sketch, target, threads, **kernel)]


def opened(op: Op = Op.SUM, replication: str = '"all"', shape: tuple[int, ...] = (1,)) -> Sketch:
    """A v1 reducer, allocated at line 1 and cleared at line 2."""
    sketch = Sketch()
    sketch.alloc(shape=shape, op=op, replication=replication)
    sketch.clear()
    return sketch
