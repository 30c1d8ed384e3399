"""What holds for every rewrite: one run is enough, it parses, and it changes what it must only."""

from __future__ import annotations

import ast
import difflib
import io
import tokenize
from collections import Counter

from hypothesis import HealthCheck, given, settings
from kernels_strategy import Written, kernels

from reducer_migrate.engine import Options, analyse
from reducer_migrate.rewriting import Rewrite, rewrite
from reducer_migrate.source import Source
from reducer_rules import Target
from reducer_rules.timeline import Dialect

#: Statements of v1 that no rewritten text may hold.
_LEGACY = ("replication", "T.clear(", "T.fill(")


def migrated(text: str, options: Options | None = None) -> Rewrite:
    source = Source.of(text)
    chosen = options or Options()
    return rewrite(source, analyse(source, chosen), chosen)


def comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


thorough = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@thorough
@given(kernels())
def test_every_reducer_is_rewritten_in_one_run(kernel: Written) -> None:
    result = migrated(kernel.text)

    assert result.reducers == len(kernel.reducers)
    assert not any(legacy in result.text for legacy in _LEGACY)
    assert [d for d in result.remaining if d.severity.value == "error"] == []
    assert migrated(result.text).text == result.text


@thorough
@given(kernels())
def test_the_result_parses_and_keeps_comments_strings_and_line_ends(kernel: Written) -> None:
    text = migrated(kernel.text).text

    ast.parse(text)
    assert comments(text) == comments(kernel.text)
    assert 'EXPECTED = "acc[0] += T.finalize_reducer(acc)"  # untouched' in text
    assert ("\r\n" in text) == ("\r\n" in kernel.text)
    assert text.count("\n") - text.count("\r\n") in (0, text.count("\n"))
    assert text.endswith("\n") == kernel.text.endswith("\n")


@thorough
@given(kernels())
def test_lines_without_a_reducer_stay(kernel: Written) -> None:
    before, after = kernel.text.splitlines(True), migrated(kernel.text).text.splitlines(True)
    removed = [line[2:] for line in difflib.ndiff(before, after) if line.startswith("- ")]

    for line in removed:
        assert any(name in line for name in kernel.reducers)


@thorough
@given(kernels())
def test_the_result_is_never_read_before_it_is_written(kernel: Written) -> None:
    """Each reducer is named by its allocation, init, updates and finalize only."""
    tree = ast.parse(migrated(kernel.text).text)
    results = {name: f"{name}_result" for name in kernel.reducers}
    uses = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))

    for name in kernel.reducers:
        operations = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("reducer_init", "reducer_update", "finalize_reducer")
            and any(
                isinstance(part, ast.Name) and part.id == name for part in ast.walk(node.args[0])
            )
        ]
        is_result = any(name == results[other] for other in kernel.reducers)
        assert is_result or uses[name] == len(operations) + 1


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kernels())
def test_there_and_back_between_the_dialects(kernel: Written) -> None:
    rfc, shipped = (
        Options(target=Target(dialect=dialect)) for dialect in (Dialect.RFC, Dialect.SHIPPED)
    )
    there = migrated(kernel.text, rfc).text
    back = migrated(there, shipped).text

    assert migrated(there, rfc).text == there
    assert _statements(back) == _statements(migrated(kernel.text).text)


def _statements(text: str) -> list[str]:
    """Every line of a text in one spelling, in no order: the way back opens an epoch earlier."""
    return sorted(ast.unparse(ast.parse(text)).splitlines())
