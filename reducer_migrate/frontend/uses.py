"""What expressions do with reducers: read them, pass them on, or let them out of sight."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from reducer_migrate.frontend.free import (
    Comprehension,
    ComprehensionNode,
    comprehension_parts,
    free_names,
    outer_parts,
)
from reducer_migrate.frontend.macros import Passage, passage_of, works_on
from reducer_migrate.frontend.recorder import Place, Recorder, Tracker
from reducer_migrate.frontend.scopes import allocates
from reducer_migrate.frontend.syntax import ScopeNode, bound_names, called, same
from reducer_rules.timeline import EscapeKind

#: Operations of the language that write an argument, and which one.
_WRITERS = {"copy": 1, "reduce": 1, "cumsum": 1, "gemm": 2, "atomic_add": 0, "atomic_max": 0}
#: Operations that take the address of an element.
_ADDRESS = frozenset({"address_of", "access_ptr", "tvm_access_ptr"})
_METADATA = frozenset({"shape", "dtype", "name", "scope", "ndim"})
#: What is of a reducer where it is of its name: an element, an attribute, its text.
_PARTS = (ast.Subscript, ast.Attribute, ast.FormattedValue)
_LEAVES = (ast.Name, ast.Constant)
_CONTAINERS = (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Starred)
#: Goes through the body of a macro, which knows reducers by the names given.
Follow = Callable[[Passage, dict[str, Tracker]], None]


class Uses:
    """Records the reducers in expressions, and remembers the scopes nested in the function.

    `follow` is called for each call that passes a reducer to a macro.
    """

    def __init__(self, recorder: Recorder, follow: Follow) -> None:
        self._recorder = recorder
        self._follow = follow
        self._nested: list[ScopeNode] = []

    def scan(self, node: ast.expr, place: Place, bare: EscapeKind = EscapeKind.OPERAND) -> None:
        """Record every use of a reducer in an expression; `bare` names what one alone would be."""
        if node is place.own:
            return
        base = node.value if isinstance(node, _PARTS) else node
        tracker = self._recorder.tracked(base)
        if tracker is not None:
            self._use(tracker, node, place, bare)
        elif isinstance(node, _LEAVES):
            return
        elif isinstance(node, ast.Call):
            self._call(node, place)
        elif isinstance(node, ast.Lambda):
            self.nested(node, place)
        elif isinstance(node, Comprehension):
            self._comprehension(node, place)
        elif isinstance(node, ast.NamedExpr) and allocates(node.value):
            assert isinstance(node.value, ast.Call)
            self._recorder.unnamed(ast.unparse(node.target), node.value, place)
        elif not _is_identity_test(node):
            self.scan_parts(node, place, _bare_in(node, bare))

    def scan_parts(
        self, node: ast.AST, place: Place, bare: EscapeKind = EscapeKind.OPERAND
    ) -> None:
        """The same for each expression directly below a node."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.scan(child, place, bare)

    def nested(self, node: ScopeNode, place: Place) -> None:
        """A function, class or lambda: its defaults now, what it captures when all are known."""
        self._nested.append(node)
        for part in outer_parts(node):
            self.scan(part, place, EscapeKind.ALIAS)

    def captures(self) -> None:
        """Record the uses of this function's reducers in the scopes nested in it."""
        for node in self._nested:
            for use in free_names(node):
                for name, tracker in self._recorder.names():
                    if name == use.id:
                        site = tracker.sites[tracker.events[0].ident]
                        place = Place(site.statement, ())
                        self._recorder.escape(tracker, EscapeKind.CAPTURE, use, place)

    def _use(self, tracker: Tracker, node: ast.expr, place: Place, bare: EscapeKind) -> None:
        """A reducer alone, indexed, or asked for an attribute.

        In a formatted string it stands for what it is called.
        """
        if isinstance(node, ast.Name):
            self._recorder.escape(tracker, bare, node, place)
        elif isinstance(node, ast.Subscript):
            self._recorder.load_element(tracker, node, place)
            self.scan(node.slice, place)
        elif isinstance(node, ast.Attribute) and node.attr not in _METADATA:
            self._recorder.escape(tracker, EscapeKind.ADDRESS, node.value, place, node.attr)

    def _comprehension(self, node: ComprehensionNode, place: Place) -> None:
        """Its targets hide names everywhere but in its first iterable."""
        first, *rest = comprehension_parts(node)
        self.scan(first, place)
        targets = [name for part in node.generators for name in bound_names(part.target)]
        with self._recorder.hidden(targets):
            for part in rest:
                self.scan(part, place)

    def _call(self, call: ast.Call, place: Place) -> None:
        if called(call) in _ADDRESS:
            self._addresses(call, place)
        if allocates(call):
            self._recorder.unnamed(f"{self._recorder.facts.spelled(call.func)}(...)", call, place)
        self.scan(call.func, place)
        passage = self._passage(call, place)
        names = {} if passage is None else self._handed(passage)
        for position, value in _arguments(call):
            tracker = self._recorder.tracked(value)
            if tracker is None:
                self.scan(value, place)
            elif not any(tracker is each for each in names.values()):
                self._passed(tracker, call, position, value, place)
        if passage is not None and names:
            self._follow(passage, names)

    def _passage(self, call: ast.Call, place: Place) -> Passage | None:
        if not self._recorder.current():
            return None
        recorder = self._recorder
        return passage_of(call, place.statement, place.context, recorder.facts, recorder.passage)

    def _handed(self, passage: Passage) -> dict[str, Tracker]:
        """The reducers that a macro works on, by the names that it has for them.

        One that is closed, and that the macro only reads, is its result, as a fragment is.
        """
        found: dict[str, Tracker] = {}
        for name, value in passage.arguments.items():
            tracker = self._recorder.tracked(value)
            if tracker is not None:
                found[name] = tracker
        return {
            name: tracker
            for name, tracker in found.items()
            if not tracker.closed or works_on(passage.macro, name)
        }

    def _addresses(self, call: ast.Call, place: Place) -> None:
        for element in call.args:
            if isinstance(element, ast.Subscript):
                tracker = self._recorder.tracked(element.value)
                if tracker is not None:
                    kind, name = EscapeKind.ADDRESS, called(call) or ""
                    self._recorder.escape(tracker, kind, element.value, place, name)

    def _passed(
        self,
        tracker: Tracker,
        call: ast.Call,
        position: int | str | None,
        value: ast.expr,
        place: Place,
    ) -> None:
        """A whole reducer among the arguments of a call."""
        name = called(call) or ""
        written = _WRITERS.get("reduce" if name.startswith("reduce_") else name)
        if not tracker.closed and not _in_language(call, tracker.base):
            passage = self._recorder.passage
            around = () if passage is None else passage.chain
            again = any(each.macro.node.name == name for each in around)
            kind = EscapeKind.RECURSION if again else EscapeKind.ARGUMENT
            self._recorder.escape(tracker, kind, value, place, name)
        elif written is not None and position in (written, "dst", "out"):
            self._recorder.store(
                tracker, value, place, f"`{self._recorder.facts.spelled(call.func)}`"
            )
        else:
            self._recorder.load(tracker, value, place)


def _arguments(call: ast.Call) -> Iterator[tuple[int | str | None, ast.expr]]:
    """The arguments of a call, by position or name; None for an unpacked mapping."""
    yield from enumerate(call.args)
    for keyword in call.keywords:
        yield keyword.arg, keyword.value


def _in_language(call: ast.Call, base: ast.expr | None) -> bool:
    """Whether a call is to the language that the reducer is from, as far as that has a name."""
    if base is None:
        return True
    return isinstance(call.func, ast.Attribute) and same(call.func.value, base)


def _is_identity_test(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and all(
        isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops
    )


def _bare_in(node: ast.expr, bare: EscapeKind) -> EscapeKind:
    """What a reducer alone would be, directly below an expression that would be `bare` itself."""
    if isinstance(node, _CONTAINERS):
        return bare if bare is EscapeKind.RETURN else EscapeKind.CONTAINER
    return bare if isinstance(node, ast.IfExp) else EscapeKind.OPERAND
