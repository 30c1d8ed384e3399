"""One small kernel with two reducers, and the findings and groups an engine reports for it."""

from __future__ import annotations

from reducer_migrate.diagnostic import Diagnostic, Edit, Group, Position
from reducer_migrate.engine import Analysis
from reducer_migrate.report.model import offer
from reducer_migrate.source import Source
from reducer_rules import Fix, Severity

TEXT = """\
# \u00fcber <sums> & "maxima"
acc = T.alloc_reducer((1,), "float32", replication="all")
T.clear(acc)
for i in T.Parallel(8):
    acc[0] += A[i]
best = T.alloc_reducer((1,), "float32", "max")
T.fill(
    best,
    0,
)
best[0] = 7
"""


def finding(
    code: str,
    line: int,
    column: int = 1,
    width: int = 3,
    *,
    path: str = "kernels/row sum.py",
    name: str = "",
    severity: Severity = Severity.ERROR,
    message: str = "",
    statement: tuple[int, int] | None = None,
    reducer: str = "acc",
    group: int | None = None,
    fix: Fix = Fix.NONE,
    text: str = TEXT,
) -> Diagnostic:
    return Diagnostic(
        path=path,
        code=code,
        name=name or code.lower(),
        severity=severity,
        message=message or f"{code} on line {line}",
        help=f"mend {code}",
        start=Position(line, column),
        end=Position(line, column + width),
        source_line=Source.of(text).line(line),
        reducer=reducer,
        statement=statement or (line, line),
        fix=fix,
        group=group,
    )


#: Reducer `acc` can be rewritten (group 1), `best` only unsafely (group 2) but for its store.
FINDINGS = (
    finding(
        "RM101",
        2,
        38,
        19,
        name="replication-argument",
        message='replication="all" is legacy',
        group=1,
        fix=Fix.SAFE,
    ),
    finding("RM103", 3, 1, 12, name="clear-or-fill-opener", group=1, fix=Fix.SAFE),
    finding("RM104", 5, 5, 14, name="augmented-update", group=1, fix=Fix.SAFE),
    finding(
        "RM103",
        7,
        1,
        6,
        name="clear-or-fill-opener",
        severity=Severity.NOTE,
        statement=(7, 10),
        reducer="best",
        group=2,
        fix=Fix.UNSAFE,
    ),
    finding(
        "RM901",
        11,
        1,
        7,
        name="unused-suppression",
        severity=Severity.WARNING,
        message="a <message> with \"quotes\", 100%\nand two lines: '\x0c'",
        reducer="",
    ),
)


def edit(old: str, new: str) -> Edit:
    """Replace the first occurrence of `old` in the text."""
    start = TEXT.index(old)
    return Edit(start, start + len(old), new)


GROUPS = (Group(1, "acc"), Group(2, "best", Fix.UNSAFE))
EDITS = {
    1: (
        edit('"float32", replication="all"', '"float32"'),
        edit("T.clear(acc)", "T.reducer_init(acc)"),
        edit("acc[0] += A[i]", "T.reducer_update(acc[0], A[i])"),
    ),
    2: (edit("T.fill(", "T.reducer_init("),),
}
ANALYSIS = Analysis(FINDINGS, GROUPS)
SOURCE = Source.of(TEXT, "kernels/row sum.py")
FIXES = {SOURCE.path: {group.ident: offer(SOURCE, group, EDITS[group.ident]) for group in GROUPS}}
