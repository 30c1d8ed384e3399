"""What to do to the statements of one reducer, as plain data that knows no syntax library.

An action names the statement it changes by the `Key` of its first character.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from reducer_migrate.frontend.updates import Leaf
from reducer_rules import Fix
from reducer_rules.timeline import Event


class CannotEditError(Exception):
    """An action did not find the syntax it was made for."""


class Key(NamedTuple):
    """The start of a node: line from 1, column from 0 in UTF-8 bytes, as in `ast`."""

    line: int
    column: int

    @classmethod
    def of(cls, node: ast.stmt | ast.expr) -> Key:
        return cls(node.lineno, node.col_offset)


class RewriteAlloc(NamedTuple):
    """Drop `replication=`, allocate the result beside the reducer, open the epoch if implicit."""

    statement: Key
    result: str | None
    base: str
    shape: str
    dtype: str
    opens: str | None = None


class OpenEpoch(NamedTuple):
    """Turn the call into `reducer_init(acc)` with no seed, a literal one, or the fill's value.

    `seed` is the text of a literal to add; `keep` keeps the second argument, cast to the dtype
    `cast` where that is given.
    """

    statement: Key
    base: str
    seed: str | None = None
    keep: bool = False
    cast: str | None = None


class RemoveInit(NamedTuple):
    """Drop a plain `reducer_init(acc)`, which the RFC leaves to the allocation."""

    statement: Key
    base: str


class RewriteUpdate(NamedTuple):
    """Turn a store into `reducer_update`.

    `cast` is the dtype to cast to before negating; `wraps` says that the reducer is unsigned,
    where TVM has no negation and a contribution is subtracted from 0.
    """

    statement: Key
    base: str
    rfc: bool
    leaf: Leaf | None = None
    negate: bool = False
    cast: str | None = None
    wraps: bool = False


class ConvertUpdate(NamedTuple):
    """Turn one spelling of `reducer_update` into the other."""

    statement: Key
    rfc: bool


class CloseEpoch(NamedTuple):
    """Give a finalize its destination and drop its batch."""

    statement: Key
    result: str


class Rename(NamedTuple):
    """Make one name read the result instead of the reducer."""

    name: Key
    result: str


class Hoist(NamedTuple):
    """Move a statement in front of the `if` that starts at `before`."""

    statement: Key
    before: Key


class Guard(NamedTuple):
    """Put a statement under `if test:`."""

    statement: Key
    test: str


Action = (
    RewriteAlloc
    | OpenEpoch
    | RemoveInit
    | RewriteUpdate
    | ConvertUpdate
    | CloseEpoch
    | Rename
    | Hoist
    | Guard
)


class Plan(NamedTuple):
    """How to rewrite one reducer. `imports` is the name to import the language as, if any."""

    reducer: str
    actions: tuple[Action, ...]
    fix: Fix = Fix.SAFE
    imports: str | None = None


class Refusal(NamedTuple):
    """Why a reducer that the rules allow is left alone, at one of its events."""

    code: str
    event: Event
    message: str
    help: str
