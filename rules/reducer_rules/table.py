"""The table of all rules in Markdown: `python -m reducer_rules.table > docs/rules.md`."""

from __future__ import annotations

from collections.abc import Sequence

from reducer_rules.catalogue import rules
from reducer_rules.notices import NOTICES, Notice
from reducer_rules.rule import Rule

#: Heading and introduction of each family, by the start of its codes.
_FAMILIES = {
    "RM0": (
        "RM0xx: trouble with a file or a run",
        "RM001 to RM004, RM007 and RM008 make the exit code 2, and cannot be ignored, suppressed "
        "or put into a baseline.",
    ),
    "RM1": (
        "RM1xx: the legacy surface",
        "Rewritten. Errors where v2 compiles, notes below TileLang 0.1.14 without reducer_compat.",
    ),
    "RM2": (
        "RM2xx: semantics",
        "Code without a v2 equivalent as written. The reducer is left alone and the reason given.",
    ),
    "RM3": (
        "RM3xx: known wrong code",
        "Errors on a TileLang release that computes something else or fails, notes where the "
        "release is not known.",
    ),
    "RM9": (
        "RM9xx: suppression comments",
        "About the `# reducer: noqa` comments themselves.",
    ),
}

#: What the reducer RFC (tile-ai/tilelang#2897) and the verifier built on it (#2940, #3043,
#: #3044) reject, each with the rules that reject it here.
REJECTIONS = (
    ("read of an open reducer", ("RM204",)),
    ("arbitrary store", ("RM202", "RM203")),
    ("alias, address or escape", ("RM218", "RM219", "RM220")),
    ("update before init", ("RM223",)),
    ("update after finalize", ("RM205",)),
    ("missing init", ("RM206",)),
    ("double init", ("RM208", "RM227")),
    ("missing finalize", ("RM207", "RM221")),
    ("double finalize", ("RM209",)),
    ("finalize outside the scope of its init", ("RM210",)),
    ("init or finalize inside T.Parallel", ("RM211",)),
    ("init or finalize in thread-divergent control flow", ("RM212",)),
    ("update outside T.Parallel", ("RM213",)),
    ("finalize destination that is a reducer", ("RM226",)),
    ("destination or seed of another dtype", ("RM216",)),
    ("combine that is no associative, commutative monoid", ("RM217",)),
    ("v1 and v2 statements on one reducer", ("RM222",)),
)


def markdown() -> str:
    """The whole page, with a final newline."""
    parts = [
        "# Rules",
        "Made from the rule catalogue by `python -m reducer_rules.table`. Codes are never used "
        "again for something else. `reducer-migrate explain CODE` prints a rule's reason, source "
        "and examples.",
    ]
    entries: list[Rule | Notice] = [*rules(), *NOTICES]
    for start, (heading, introduction) in _FAMILIES.items():
        family = [entry for entry in entries if entry.code.startswith(start)]
        if family:
            parts += [f"## {heading}", introduction, _table(family)]
    return "\n\n".join([*parts, "## What the RFC rejects", _rejections()]) + "\n"


def _table(family: Sequence[Rule | Notice]) -> str:
    rows = [
        f"| {rule.code} | {rule.name} | {rule.severity.value} | {rule.fix.value} | {rule.summary} |"
        for rule in family
    ]
    return "\n".join(["| code | name | severity | fix | finds |", "|---|---|---|---|---|", *rows])


def _rejections() -> str:
    names = {rule.code: rule.name for rule in rules()}
    rows = [
        f"| {what} | {', '.join(f'{code} {names[code]}' for code in codes)} |"
        for what, codes in REJECTIONS
    ]
    return "\n".join(
        [
            "The reducer RFC (tile-ai/tilelang#2897) and the verifier of TileLang 0.1.14 and later",
            "name what a reducer epoch may not do; each has its rule here.",
            "",
            "| rejected | by |",
            "|---|---|",
            *rows,
        ]
    )


if __name__ == "__main__":
    print(markdown(), end="")
