"""Findings about a file or a comment rather than about a reducer: documentation as data.

They share the numbering and the vocabulary of the rules, so that `explain`, `rules` and every
output format treat both alike. Nothing here reads a timeline.
"""

from __future__ import annotations

from typing import NamedTuple

from reducer_rules.rule import Fix, Severity


class Notice(NamedTuple):
    """The documentation of one code that no rule over timelines reports."""

    code: str
    name: str
    severity: Severity
    summary: str
    explanation: str
    help: str
    valid: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    fix: Fix = Fix.NONE


UNPARSABLE = Notice(
    code="RM001",
    name="unparsable",
    severity=Severity.ERROR,
    summary="a file that names a reducer operation does not parse",
    explanation=(
        "Epochs are read from the syntax tree. A file without one is skipped, never guessed at; "
        "the other files of the run are still handled and the exit code is 2."
    ),
    help="mend the syntax; the file names a reducer operation, so it cannot be passed over",
    valid=('"""T.alloc_reducer is named and the file parses."""',),
    invalid=("acc = T.alloc_reducer((1,), 'float32'",),
)

UNDECODABLE = Notice(
    code="RM002",
    name="undecodable",
    severity=Severity.ERROR,
    summary="the bytes are not text in the encoding that the file declares",
    explanation=(
        "The encoding comes from the byte order mark or the PEP 263 cookie, UTF-8 otherwise. Text "
        "that would not encode back to the same bytes is refused too, because a rewrite "
        "would then change bytes outside its statements. The exit code is 2."
    ),
    help=(
        "save the file as UTF-8, or name its encoding in the first line: "
        "`# -*- coding: latin-1 -*-`"
    ),
)

UNREADABLE = Notice(
    code="RM003",
    name="unreadable",
    severity=Severity.ERROR,
    summary="a file or directory cannot be read",
    explanation=(
        "It is missing, has vanished since it was listed, is a loop of links, or its permissions "
        "forbid reading. The rest of the run goes on and the exit code is 2."
    ),
    help="check the path and its permissions, or `--exclude` it",
)

UNWRITABLE = Notice(
    code="RM004",
    name="unwritable",
    severity=Severity.ERROR,
    summary="the rewritten file cannot be written",
    explanation=(
        "The new text is written beside the file and moved over it, so the file keeps its old "
        "content whole when the disk, the directory or the permissions refuse. The exit code is 2."
    ),
    help="make the file and its directory writable, or see the edit with `--diff`",
)

OLDER_RELEASE = Notice(
    code="RM005",
    name="older-release",
    severity=Severity.ERROR,
    summary="rewriting is refused because the TileLang in use has no v2 reducers",
    explanation=(
        "v2 reducers exist from TileLang 0.1.14 on. The release comes from `--tilelang`, else the "
        "configuration, else the project's pin, else the installed package. On an older one "
        "the rewritten kernel would not compile, unless the file imports reducer_compat, which "
        "provides v2 there. Under `--check` nothing was to be rewritten and this is a note."
    ),
    help=(
        "use `--with-compat` to rewrite and add the import, or move to TileLang 0.1.14 or newer "
        "and pass `--tilelang 0.1.14`"
    ),
)

REWRITE_ABANDONED = Notice(
    code="RM006",
    name="rewrite-abandoned",
    severity=Severity.ERROR,
    summary="a rewrite was computed, failed its own checks, and was dropped",
    explanation=(
        "Before anything is written the new text is parsed, its comments are compared with those "
        "of the original, and it is analysed again: it must hold no more work. A rewrite that "
        "fails leaves the file byte for byte as it was."
    ),
    help="rewrite the reducer that is named by hand, and report the file as a bug",
)

INTERNAL_ERROR = Notice(
    code="RM007",
    name="internal-error",
    severity=Severity.ERROR,
    summary="the program failed on a file",
    explanation=(
        "No input should bring this about. The file is left as it was, the others of the run are "
        "still handled, and the exit code is 2."
    ),
    help="this is a bug in reducer-migrate: run with `--debug` and report the traceback",
)

BROKEN_BASELINE = Notice(
    code="RM008",
    name="broken-baseline",
    severity=Severity.ERROR,
    summary="the baseline cannot be read or is not one",
    explanation=(
        "A baseline that cannot be understood hides nothing: the run goes on without it, every "
        "finding is reported, and the exit code is 2."
    ),
    help="write it again with `--baseline FILE --write-baseline`",
)

UNREAD_FRAGMENT = Notice(
    code="RM009",
    name="unread-fragment",
    severity=Severity.NOTE,
    summary="a Python block in Markdown names a reducer operation and does not parse",
    explanation=(
        "Documentation shows fragments, so one that does not parse is no error. Blocks "
        "indented as a whole, headers without their body, and `...` for parameters are read all "
        "the same; what is left stays as it is, and this note says where."
    ),
    help="complete the fragment, or call the block something else than `python`",
    invalid=("acc = T.alloc_reducer((1,), 'float32'",),
)

UNFOLLOWED = Notice(
    code="RM010",
    name="unfollowed-allocation",
    severity=Severity.WARNING,
    summary="reducers are allocated in a way that cannot be followed",
    explanation=(
        "A reducer is followed from the call of `T.alloc_reducer` on, also where that goes by "
        "another name in the file: one it is imported as, one it is bound to, a bare one after "
        "`import *`. Where the function itself is stored, passed on or exported under another "
        "name, or a reducer comes from a call of something else, nothing can be said about the "
        "epoch, so this says that much."
    ),
    help="call `T.alloc_reducer` in the function that has the epoch",
    valid=("from tilelang.language import alloc_reducer as mk\nacc = mk((1,), 'float32')",),
    invalid=(
        "make = functools.partial(T.alloc_reducer, dtype='float32')",
        "acc = make((1,))\nT.finalize_reducer(acc)",
    ),
)

NO_TILELANG = Notice(
    code="RM011",
    name="no-tilelang",
    severity=Severity.ERROR,
    summary="`verify` cannot run kernels: TileLang, or what it needs, is missing or broken",
    explanation=(
        "Every other command parses files and needs no TileLang. `reducer-migrate verify` runs "
        "kernels, with the installed release or with one beside the environment (`--tilelang`), "
        "and both take torch, numpy and the rest from the environment. A TileLang that does not "
        "load has mostly lost the apache-tvm-ffi that it was built for to another package. The "
        "exit code is 2."
    ),
    help=(
        "`pip install 'reducer-migrate[compat]'`, in a clone `pip install -e '.[compat]'`; where "
        "TileLang is there and does not load, do what the message says"
    ),
)

UNUSED_SUPPRESSION = Notice(
    code="RM901",
    name="unused-suppression",
    severity=Severity.WARNING,
    summary="a `# reducer: noqa` comment suppresses nothing",
    explanation=(
        "The statement was fixed, or the comment is on the wrong one. A comment that stays "
        "would hide the next finding there. Codes of the RM3xx family depend on the TileLang "
        "release and are called unused only when judging against any release."
    ),
    help="remove the comment, or the codes named",
    valid=("T.clear(acc)  # reducer: noqa[RM103]",),
    invalid=("x = 1  # reducer: noqa[RM103]",),
)

UNKNOWN_SUPPRESSION = Notice(
    code="RM902",
    name="unknown-suppression",
    severity=Severity.WARNING,
    summary="a `# reducer: noqa[...]` comment names a code that does not exist",
    explanation="A misspelt code suppresses nothing. Codes are never reused, so none expires.",
    help="use a code or prefix from `reducer-migrate rules`",
    invalid=("T.clear(acc)  # reducer: noqa[RM1O3]",),
)

#: Every notice, ordered by code.
NOTICES = (
    UNPARSABLE,
    UNDECODABLE,
    UNREADABLE,
    UNWRITABLE,
    OLDER_RELEASE,
    REWRITE_ABANDONED,
    INTERNAL_ERROR,
    BROKEN_BASELINE,
    UNREAD_FRAGMENT,
    UNFOLLOWED,
    NO_TILELANG,
    UNUSED_SUPPRESSION,
    UNKNOWN_SUPPRESSION,
)
#: Codes of trouble with a file: reported whatever is selected, never suppressed or baselined.
FILE_ERRORS = frozenset({"RM001", "RM002", "RM003", "RM004", "RM007", "RM008"})
