"""Assignments to elements of reducers: which are updates, and which are stores that lose them."""

from __future__ import annotations

import ast

from reducer_migrate.frontend import updates
from reducer_migrate.frontend.contributions import Contributions, Written
from reducer_migrate.frontend.members import unparsed
from reducer_migrate.frontend.recorder import Place, Recorder, Tracker
from reducer_migrate.frontend.syntax import index_parts
from reducer_migrate.frontend.uses import Uses
from reducer_rules.monoid import V1_OPS, Op
from reducer_rules.timeline import UpdateForm


class Stores:
    """Records what assignments do to the elements that they name."""

    def __init__(self, recorder: Recorder, uses: Uses, contributions: Contributions) -> None:
        self._recorder = recorder
        self._uses = uses
        self._contributions = contributions

    def assigned(self, target: ast.expr, value: ast.expr, place: Place) -> bool:
        """Record `target = value`; False where the target is no element of a reducer."""
        if not isinstance(target, ast.Subscript):
            return False
        tracker = self._recorder.tracked(target.value)
        if tracker is None:
            return False
        leaf = updates.find_leaf(value, target)
        self._uses.scan(target.slice, place)
        if leaf is None or not _is_update(tracker, target, leaf.op):
            written = f"`{unparsed(target)} = ...`"
            ident = self._recorder.store(tracker, target, place, written)
            self._uses.scan(value, place._replace(holder=ident))
            return True
        form = UpdateForm.SUBTRACT if leaf.negated else UpdateForm.COMBINE
        update = Written(form, index_parts(target), value, leaf.op, leaf)
        ident = self._contributions.add(tracker, update, place.statement, place)
        own = updates.leaf_node(value, leaf)
        self._uses.scan(value, place._replace(holder=ident, own=own))
        return True

    def augmented(self, node: ast.AugAssign, place: Place) -> bool:
        """Record `target += value`; False where the target is no element of a reducer."""
        target = node.target
        if not isinstance(target, ast.Subscript):
            return False
        tracker = self._recorder.tracked(target.value)
        if tracker is None:
            return False
        combine = updates.combine_of(node.op)
        if combine is None or not _is_update(tracker, target, combine):
            written = f"`{unparsed(target)} {_symbol(node.op)}= ...`"
            ident = self._recorder.store(tracker, target, place, written)
        else:
            subtracts = isinstance(node.op, ast.Sub)
            form = UpdateForm.SUBTRACT if subtracts else UpdateForm.AUGMENTED
            update = Written(form, index_parts(target), node.value, combine)
            ident = self._contributions.add(tracker, update, node, place)
        self._uses.scan(target.slice, place)
        self._uses.scan(node.value, place._replace(holder=ident))
        return True

    def inside(self, target: ast.expr, place: Place, what: str) -> None:
        """Elements of reducers in any other target, as that of a loop; `what` says of which."""
        for child in ast.walk(target):
            if isinstance(child, ast.Subscript):
                tracker = self._recorder.tracked(child.value)
                if tracker is not None:
                    self._recorder.store(tracker, child, place, what)


def _is_update(tracker: Tracker, target: ast.Subscript, combine: Op) -> bool:
    """Whether a combine-shaped store to one element is an update rather than an ordinary store.

    While the epoch is open a sum, max or min that is not the declared one is an update
    of the wrong kind. After finalize it is an ordinary store into the result.
    """
    if any(isinstance(part, ast.Slice | ast.Starred) for part in index_parts(target)):
        return False
    if combine is tracker.op:
        return True
    return combine in V1_OPS and not (tracker.closed and tracker.op is not None)


def _symbol(operator: ast.operator) -> str:
    template = ast.AugAssign(ast.Name("x", ast.Store()), operator, ast.Name("y", ast.Load()))
    return ast.unparse(template)[1:-1].strip().removesuffix("=")
