"""From plans to text edits: transform the statements they touch, and keep all other bytes."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator

from reducer_migrate.diagnostic import Edit
from reducer_migrate.rewrite.actions import Action, CannotEditError, Hoist, Key, Plan, Rename
from reducer_migrate.rewrite.language import member_import
from reducer_migrate.rewrite.transform import transform
from reducer_migrate.source import Source

_FORM_FEED = "\f"


def edits(source: Source, tree: ast.Module, plans: Iterable[Plan]) -> tuple[Edit, ...]:
    """The edits that carry out `plans` together, in order, none overlapping.

    Raises:
        CannotEditError: the edit could not be made.
    """
    by_span: dict[tuple[int, int], list[Action]] = {}
    spans = [_lines(statement) for statement in tree.body]
    for plan in plans:
        for action in plan.actions:
            line = _key(action).line
            span = next(span for span in spans if span[0] <= line <= span[1])
            by_span.setdefault(span, []).append(action)
    if any(statement.col_offset for statement in tree.body) and by_span:
        # Statements of an indented fragment stand or fall together, under one `if`.
        by_span = {(spans[0][0], spans[-1][1]): [a for part in by_span.values() for a in part]}
    found: list[Edit] = []
    for (first, last), actions in sorted(by_span.items()):
        found += _statement_edits(source, first, last, actions, _indentation(source, tree))
    return tuple(found)


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """The first and last line of a top-level statement, decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    return first, statement.end_lineno or statement.lineno


def _indentation(source: Source, tree: ast.Module) -> str:
    """By how much the first block of the source is indented, four spaces where there is none."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt) and isinstance(body, list) and body[0].lineno > node.lineno:
            return source.line(body[0].lineno)[node.col_offset : body[0].col_offset]
    return "    "


def _key(action: Action) -> Key:
    return action.name if isinstance(action, Rename) else action.statement


def _statement_edits(
    source: Source, first: int, last: int, actions: list[Action], indent: str
) -> Iterator[Edit]:
    old = [source.line(number) for number in range(first, last + 1)]
    bare = [line.lstrip(_FORM_FEED) for line in old]
    opening = ["if True:"] if bare[0][:1] in (" ", "\t") else []
    moved = [_relative(source, action, first - len(opening), first, old) for action in actions]
    usual = indent if opening else None
    new = transform("\n".join(opening + bare), moved, usual).split("\n")[len(opening) :]
    matcher = difflib.SequenceMatcher(None, bare, new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        lines = new[new_start:new_end]
        for place in range(old_start, old_end if lines else old_start):
            feeds = len(old[place]) - len(bare[place])
            near = min(place - old_start, len(lines) - 1)
            lines[near] = _FORM_FEED * feeds + lines[near]
        yield _hunk(source, first + old_start, old_end - old_start, lines)


def _hunk(source: Source, line: int, count: int, lines: list[str]) -> Edit:
    """Replace `count` whole lines from `line` by `lines`, which take over the line ends."""
    starts = source.line_starts
    begin = starts[line - 1] if line <= len(starts) else len(source.text)
    after = line - 1 + count
    end = starts[after] if after < len(starts) else len(source.text)
    ends = _line_ends(source, line, count, len(lines))
    text = "".join(map("".join, zip(lines, ends, strict=True)))
    if end == len(source.text) and lines and not source.text.endswith(("\n", "\r")):
        if count:
            text = text.removesuffix(ends[-1])
        elif begin:
            text = ends[-1] + text.removesuffix(ends[-1])
    return Edit(begin, end, text)


def _line_ends(source: Source, line: int, count: int, wanted: int) -> list[str]:
    """The ends of `wanted` lines that replace `count` lines from `line`.

    They take those they replace in turn, and the last one the last: a new CR in front of a blank
    line that ends in LF would swallow it.
    """
    old = [_newline_at(source, line + k) for k in range(max(count, 1))]
    return [*(old[min(k, len(old) - 1)] for k in range(wanted - 1)), *old[-1:]][:wanted]


def _newline_at(source: Source, line: int) -> str:
    """The line end of a line, or of the one before it, or the file's usual one."""
    for number in (line, line - 1):
        if 0 < number < len(source.line_starts):
            start, end = source.line_starts[number - 1 : number + 1]
            content = source.line(number)
            return source.text[start + len(content) : end]
    return source.newline


def _relative(source: Source, action: Action, origin: int, first: int, old: list[str]) -> Action:
    """`action` with lines that count from `origin` and columns in characters."""

    def move(key: Key) -> Key:
        line = old[key.line - first]
        feeds = len(line) - len(line.lstrip(_FORM_FEED))
        start = source.line_starts[key.line - 1]
        column = source.offset(key.line, key.column) - start
        return Key(key.line - origin + 1, column - feeds)

    if isinstance(action, Rename):
        return action._replace(name=move(action.name))
    if isinstance(action, Hoist):
        return action._replace(statement=move(action.statement), before=move(action.before))
    return action._replace(statement=move(action.statement))


def language_import(source: Source, tree: ast.Module, name: str) -> Edit:
    """Import the language as a whole, under the statement that imports some of its members."""
    statement = member_import(tree)
    if statement is None:
        raise CannotEditError("the import of the language was not found")
    line = statement.end_lineno or statement.lineno
    return _hunk(source, line + 1, 0, [f"import tilelang.language as {name}"])


def compat_import(source: Source, tree: ast.Module) -> Edit:
    """Add `import reducer_compat` after the imports at the top of the module.

    It comes before one of members of the language by name, which the runtime replaces.
    """
    line = 0
    members = member_import(tree)
    for position, statement in enumerate(tree.body):
        docstring = (
            position == 0
            and isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
        )
        imports = isinstance(statement, ast.Import | ast.ImportFrom)
        if statement is members or not (docstring or imports):
            break
        line = statement.end_lineno or statement.lineno
    if line == 0:
        line = _head(source)
    return _hunk(source, line + 1, 0, ["import reducer_compat"])


def _head(source: Source) -> int:
    """How many lines of shebang and encoding cookie come first."""
    count = 0
    for number in range(1, min(3, len(source.line_starts) + 1)):
        text = source.line(number)
        if text.startswith("#!") or (text.startswith("#") and "coding" in text):
            count = number
    return count
