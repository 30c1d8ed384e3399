"""What to do to the statements of one reducer, as plain data that knows no syntax library.

An action names the statement it changes by the `Key` of its first character.
"""

from __future__ import annotations

from dataclasses import dataclass

from reducer_migrate.frontend.updates import Leaf
from reducer_rules import Fix


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """The start of a node: line from 1, column from 0 in UTF-8 bytes, as in `ast`."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class RewriteAlloc:
    """Drop `replication=`, allocate the result beside the reducer, open the epoch if implicit."""

    statement: Key
    result: str | None
    base: str
    shape: str
    dtype: str
    opens: str | None = None


@dataclass(frozen=True, slots=True)
class OpenEpoch:
    """Turn the call into `reducer_init(acc)` with no seed, a literal one, or the fill's value.

    `seed` is the text of a literal to add; `keep` keeps the second argument, cast to the dtype
    `cast` where that is given.
    """

    statement: Key
    base: str
    seed: str | None = None
    keep: bool = False
    cast: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveInit:
    """Drop a plain `reducer_init(acc)`, which the RFC leaves to the allocation."""

    statement: Key
    base: str


@dataclass(frozen=True, slots=True)
class RewriteUpdate:
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


@dataclass(frozen=True, slots=True)
class ConvertUpdate:
    """Turn one spelling of `reducer_update` into the other."""

    statement: Key
    rfc: bool


@dataclass(frozen=True, slots=True)
class CloseEpoch:
    """Give a finalize its destination and drop its batch."""

    statement: Key
    result: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Make one name read the result instead of the reducer."""

    name: Key
    result: str


@dataclass(frozen=True, slots=True)
class Hoist:
    """Move a statement in front of the `if` that starts at `before`."""

    statement: Key
    before: Key


@dataclass(frozen=True, slots=True)
class Guard:
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


@dataclass(frozen=True, slots=True)
class Plan:
    """How to rewrite one reducer."""

    reducer: str
    actions: tuple[Action, ...]
    fix: Fix = Fix.SAFE
