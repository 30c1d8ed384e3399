"""Walk one function in program order, statement by statement.

What an expression does with a reducer is for `uses` to say, what an assignment does for `stores`,
what a call of the language does for `operations`; `recorder` keeps it. The walker knows the
control flow: the frames around each statement, and what the names bound so far stand for.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from reducer_migrate.frontend.conditions import join
from reducer_migrate.frontend.contributions import Contributions
from reducer_migrate.frontend.facts import Facts
from reducer_migrate.frontend.free import always_matches, pattern_values
from reducer_migrate.frontend.launch import threads_of
from reducer_migrate.frontend.loops import condition_of_variables, loop_of
from reducer_migrate.frontend.macros import Passage
from reducer_migrate.frontend.members import unparsed
from reducer_migrate.frontend.operations import PARAMETERS, Operations
from reducer_migrate.frontend.producers import withheld
from reducer_migrate.frontend.recorder import Place, Recorder, Reducer, Tracker
from reducer_migrate.frontend.scopes import Scope, allocates
from reducer_migrate.frontend.stores import Stores
from reducer_migrate.frontend.syntax import ScopeNode, binds, bound_names, called, names_in, span_of
from reducer_migrate.frontend.uses import Uses
from reducer_migrate.source import Source
from reducer_rules.timeline import Branch, Condition, Context, EscapeKind, Loop, LoopKind


def walk(scope: Scope, source: Source) -> tuple[Reducer, ...]:
    """The reducers that one function (or a fragment without one) allocates, in order."""
    recorder = Recorder(Facts(scope, source))
    _Walker(recorder).run(())
    return recorder.reducers()


class _Walker:
    """Walks the function that a recorder knows the facts of, or the macro that it is in."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._facts = recorder.facts
        self._scope = self._facts.scope
        self._conditions = self._facts.conditions
        self._uses = Uses(self._recorder, self._follow)
        self._contributions = Contributions(self._recorder)
        self._stores = Stores(self._recorder, self._uses, self._contributions)
        self._operations = Operations(self._recorder, self._uses, self._contributions)
        #: The statements that the producers of a loop would have to themselves, by `id`.
        self._taken: dict[int, Loop] = {}

    def run(self, context: Context) -> None:
        self._block(self._scope.node.body, context)
        self._uses.captures()

    def _follow(self, passage: Passage, names: dict[str, Tracker]) -> None:
        """Walk a macro where it is called: its statements are traced there.

        Its parameters are what the call gives for them, as far as that decides a condition or has
        a layout.
        """
        facts = Facts(passage.macro.scope, passage.macro.source)
        for name, value in passage.arguments.items():
            facts.conditions.bind(name, self._conditions.of(value))
            if isinstance(value, ast.Name) and value.id in self._facts.buffers:
                facts.buffers[name] = self._facts.buffers[value.id]
        recorder = self._recorder.inside(passage, facts, names)
        _Walker(recorder).run(passage.context)
        self._recorder.pipeline = recorder.pipeline

    def _block(self, statements: Sequence[ast.stmt], context: Context) -> None:
        for statement in statements:
            self._statement(statement, context)

    def _statement(self, node: ast.stmt, context: Context) -> None:
        handler = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        taken = self._taken.get(id(node))
        if taken is not None:
            self._recorder.withheld = taken
        if handler is not None:
            handler(node, context)
        elif isinstance(node, ScopeNode):
            self._uses.nested(node, Place(node, context))
            self._recorder.rebind(node.name, Place(node, context))
        else:
            self._uses.scan_parts(node, Place(node, context))
        if taken is not None:
            self._recorder.withheld = None

    def _on_import(self, node: ast.Import | ast.ImportFrom, context: Context) -> None:
        for name in binds(node):
            self._recorder.rebind(name, Place(node, context))

    _on_importfrom = _on_import

    # Control flow

    def _on_if(self, node: ast.If, context: Context) -> None:
        self._uses.scan(node.test, Place(node, context))
        condition = self._conditions.of(node.test)
        alike = unparsed(node.test)
        ident = self._branch(f"if {alike}", condition)
        written = self._facts.text(node.test)
        text = self._here(written if written.isprintable() else alike)
        for arm, body in enumerate((node.body, node.orelse)):
            frame = Branch(ident, arm, condition, span_of(node), text)
            self._block(body, (*context, frame))

    def _on_match(self, node: ast.Match, context: Context) -> None:
        """A `match` is the chain of `if` and `else` that it stands for."""
        self._uses.scan(node.subject, Place(node, context))
        subject = self._conditions.of(node.subject)
        text = f"match {unparsed(node.subject)}"
        for case in node.cases:
            condition = join(subject, self._conditions.of(case.guard))
            self._case(case, subject, Place(node, context))
            if always_matches(case):
                self._block(case.body, context)
                continue
            alike = f"{text}: {_case_text(case)}"
            ident = self._branch(alike, condition)
            taken = Branch(ident, 0, condition, span_of(node), self._here(alike))
            self._block(case.body, (*context, taken))
            context = (*context, taken._replace(arm=1))

    def _case(self, case: ast.match_case, subject: Condition, place: Place) -> None:
        for value in pattern_values(case.pattern):
            self._uses.scan(value, place)
        self._bind(case.pattern, place, subject)
        if case.guard is not None:
            self._uses.scan(case.guard, place)

    def _branch(self, test: str, condition: Condition) -> int:
        """The ident of a branch: one for all alike that are decided at compile time."""
        known = condition is Condition.COMPILE_TIME
        return self._recorder.frame(self._here(test) if known else None)

    def _here(self, test: str) -> str:
        """A test, told from the same one where its names may stand for something else."""
        passage = self._recorder.passage
        if passage is None:
            return test
        places = (f"{each.call.lineno}:{each.call.col_offset + 1}" for each in passage.chain)
        return f"{test} (in `{passage.macro.node.name}`, called at {', '.join(places)})"

    def _on_for(self, node: ast.For, context: Context) -> None:
        place = Place(node, context)
        self._uses.scan(node.iter, place)
        loop = loop_of(node, self._recorder.frame(), self._facts)
        self._stores.inside(node.target, place, "a loop")
        self._bind(node.target, place, condition_of_variables(loop.kind))
        outermost = loop.kind is LoopKind.PARALLEL and self._contributions.enter(node)
        first = loop.staged and loop.stages != 0 and self._recorder.pipeline is None
        if first and not self._taken:
            self._specialize(node, loop)
        self._block(node.body, (*context, loop))
        if outermost:
            self._contributions.leave()
        if first:
            self._recorder.pipeline = loop
            self._taken = {}
        self._block(node.orelse, context)

    _on_asyncfor = _on_for

    def _specialize(self, node: ast.For, loop: Loop) -> None:
        """Note what the producers of a loop would take, if it is warp-specialized."""
        statements, fragments = withheld(node, self._facts.buffers)
        self._taken = dict.fromkeys(statements, loop)
        self._recorder.starved = dict.fromkeys(fragments, loop)

    def _on_while(self, node: ast.While, context: Context) -> None:
        self._uses.scan(node.test, Place(node, context))
        loop = Loop(self._recorder.frame(), LoopKind.WHILE, span_of(node))
        self._block(node.body, (*context, loop))
        self._block(node.orelse, context)

    def _on_with(self, node: ast.With, context: Context) -> None:
        for item in node.items:
            call = item.context_expr
            self._uses.scan(call, Place(node, context))
            if called(call) == "Kernel" and isinstance(call, ast.Call):
                threads = threads_of(call, self._scope)
                self._recorder.kernel = self._recorder.kernel._replace(threads=threads)
                self._recorder.pipeline = None
                self._recorder.starved = {}
            if called(call) == "ws":
                ident = self._recorder.frame()
                frame = Branch(ident, 0, Condition.THREAD, span_of(node), unparsed(call))
                context = (*context, frame)
            if item.optional_vars is not None:
                place = Place(node, context)
                self._stores.inside(item.optional_vars, place, "a `with`")
                self._bind(item.optional_vars, place, Condition.UNIFORM)
        self._block(node.body, context)

    _on_asyncwith = _on_with

    def _on_try(self, node: ast.Try, context: Context) -> None:
        self._block(node.body, context)
        for handler in node.handlers:
            if handler.type is not None:
                self._uses.scan(handler.type, Place(node, context))
            if handler.name is not None:
                self._recorder.rebind(handler.name, Place(node, context))
            self._block(handler.body, context)
        self._block(node.orelse, context)
        self._block(node.finalbody, context)

    _on_trystar = _on_try

    def _on_return(self, node: ast.Return, context: Context) -> None:
        if node.value is not None:
            self._uses.scan(node.value, Place(node, context), EscapeKind.RETURN)

    # Names and elements

    def _bind(
        self, target: ast.AST, place: Place, condition: Condition, *, again: bool = False
    ) -> None:
        """Give the names in a target something else to stand for."""
        for name in bound_names(target):
            self._recorder.rebind(name, place)
            self._conditions.bind(name, condition, again=again)

    def _on_delete(self, node: ast.Delete, context: Context) -> None:
        for target in node.targets:
            for name in sorted(names_in(target)):
                tracker = self._recorder.named(name)
                if tracker is not None:
                    place = Place(node, context)
                    self._recorder.escape(tracker, EscapeKind.DELETE, target, place)

    def _on_expr(self, node: ast.Expr, context: Context) -> None:
        call, place = node.value, Place(node, context)
        if not isinstance(call, ast.Call) or not self._operations.called(call, place):
            self._uses.scan(call, place)

    def _on_annassign(self, node: ast.AnnAssign, context: Context) -> None:
        if node.value is not None:
            self._assign([node.target], node.value, Place(node, context))

    def _on_assign(self, node: ast.Assign, context: Context) -> None:
        self._assign(node.targets, node.value, Place(node, context))

    def _assign(self, targets: list[ast.expr], value: ast.expr, place: Place) -> None:
        target, alone = targets[0], len(targets) == 1
        if allocates(value) and isinstance(value, ast.Call):
            if alone and isinstance(target, ast.Name):
                self._operations.allocated(target.id, value, place)
            else:
                self._recorder.unnamed(ast.unparse(target), value, place)
            return
        if alone and self._stores.assigned(target, value, place):
            return
        tracker = self._recorder.tracked(value)
        if tracker is not None and tracker.closed and all(map(self._only_read, targets)):
            self._recorder.load(tracker, value, place)
        else:
            self._uses.scan(value, place, EscapeKind.ALIAS)
        for target in targets:
            self._bind_to(target, value, place)

    def _only_read(self, target: ast.expr) -> bool:
        """Whether a target is a name that is bound here alone and opens or closes no epoch.

        Bound to a finalized reducer it stands for the result, as an ordinary fragment does.
        """
        if not isinstance(target, ast.Name) or target.id in self._scope.shared:
            return False
        return self._scope.bindings[target.id] == 1 and not any(
            called(node) in PARAMETERS and target.id in names_in(node) for node in self._scope.nodes
        )

    def _bind_to(self, target: ast.expr, value: ast.expr, place: Place) -> None:
        self._stores.inside(target, place, "an unpacking assignment")
        branches = (frame for frame in place.context if isinstance(frame, Branch))
        condition = join(self._conditions.of(value), *(branch.condition for branch in branches))
        self._bind(target, place, condition, again=bool(place.context))

    def _on_augassign(self, node: ast.AugAssign, context: Context) -> None:
        target, place = node.target, Place(node, context)
        if self._stores.augmented(node, place):
            return
        self._uses.scan(node.value, place)
        self._uses.scan_parts(target, place)
        self._bind(target, place, self._conditions.of(node.value), again=True)


def _case_text(case: ast.match_case) -> str:
    """`case 1 if flag`, on one line."""
    guard = "" if case.guard is None else f" if {unparsed(case.guard)}"
    return f"case {ast.unparse(case.pattern)}{guard}"
