"""The syntax tree of a source."""

from __future__ import annotations

import ast

from reducer_migrate.source import Source


class UnparsableError(ValueError):
    """The file names a reducer operation and does not parse; line and column count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def parse(source: Source) -> ast.Module:
    """Parse the source; a fragment that is indented as a whole parses too.

    Raises:
        UnparsableError: it does not parse.
    """
    try:
        return _syntax_tree(source.text)
    except SyntaxError as error:
        if isinstance(error, IndentationError):
            try:
                return _indented_fragment(source.text)
            except SyntaxError:
                pass
        message, line, column = error.msg, error.lineno or 1, error.offset or 1
        raise UnparsableError(message, line, max(1, column)) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnparsableError(str(error) or type(error).__name__, 1, 1) from error


def _syntax_tree(text: str) -> ast.Module:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _indented_fragment(text: str) -> ast.Module:
    wrapped = _syntax_tree("if True:\n" + text)
    ast.increment_lineno(wrapped, -1)
    conditional = wrapped.body[0]
    if len(wrapped.body) != 1 or not isinstance(conditional, ast.If):
        raise IndentationError("unindent does not match any outer indentation level")
    return ast.Module(conditional.body, [])
