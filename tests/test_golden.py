"""Every golden kernel gives exactly its expected output, or its expected refusal."""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Callable
from difflib import SequenceMatcher

import pytest

from reducer_migrate.diagnostic import Diagnostic
from reducer_migrate.engine import Analysis, Options, analyse
from reducer_migrate.rewriting import Rewrite, rewrite
from reducer_migrate.source import Source
from reducer_rules import Target
from reducer_rules.timeline import Dialect
from tests.corpus import DIALECTS, Expectation, Golden, goldens

GOLDENS = goldens()
every_golden = pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: golden.name)


def _run(source: Source, options: Options) -> tuple[Analysis, Rewrite]:
    analysis = analyse(source, options)
    return analysis, rewrite(source, analysis, options)


def _rewritten(raw: bytes, path: str, options: Options | None = None) -> bytes:
    source = Source.read(path, raw)
    return source.encode(_run(source, options or Options())[1].text)


def _told(diagnostics: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    """What a user reads: neither the legacy findings that are fixed nor the faults of releases."""
    return [item for item in diagnostics if item.code == "RM111" or item.code.startswith("RM2")]


def _meets(item: Diagnostic, expected: Expectation) -> bool:
    return (
        item.start.line == expected.line
        and expected.column in (None, item.start.column)
        and item.code == expected.code
        and expected.fragment in item.message
    )


def _shown(diagnostics: list[Diagnostic]) -> str:
    return "\n".join(
        f"{item.start.line}:{item.start.column} {item.code} {item.message}" for item in diagnostics
    )


@every_golden
def test_output(golden: Golden) -> None:
    source = Source.read(golden.name, golden.path.read_bytes())
    _, result = _run(source, Options())
    assert result.text == golden.output


@every_golden
def test_diagnostics(golden: Golden) -> None:
    source = Source.read(golden.name, golden.path.read_bytes())
    told = _told(analyse(source, Options()).diagnostics)
    met = len(told) == len(golden.expectations) and all(map(_meets, told, golden.expectations))
    assert met, _shown(told)


@every_golden
def test_a_second_run_changes_nothing(golden: Golden) -> None:
    source = Source.of(golden.output, golden.name)
    analysis, result = _run(source, Options())
    assert result.text == golden.output
    assert analysis.groups == ()


@every_golden
def test_refused_reducers_keep_one_diagnostic(golden: Golden) -> None:
    """A refusal is said once: the legacy surface of a reducer that stays is not reported too."""
    source = Source.read(golden.name, golden.path.read_bytes())
    _, result = _run(source, Options())
    legacy = [item for item in result.remaining if item.code.startswith("RM1")]
    assert {item.code for item in legacy} <= {"RM111"}, _shown(legacy)


CONVERSIONS = [
    pytest.param(golden, dialect, expected, id=f"{golden.name}-{dialect}")
    for golden in GOLDENS
    for dialect in DIALECTS
    if (expected := golden.converted(dialect)) is not None
]


@pytest.mark.parametrize(("golden", "dialect", "expected"), CONVERSIONS)
def test_dialect(golden: Golden, dialect: str, expected: str) -> None:
    options = Options(target=Target(compat=True, dialect=Dialect(dialect)))
    raw = golden.path.read_bytes()
    assert _rewritten(raw, golden.name, options).decode() == expected
    assert _rewritten(expected.encode(), golden.name, options).decode() == expected


def _latin(text: str) -> bytes:
    return f"# -*- coding: latin-1 -*-\n# caf\xe9 \xb5s\n{text}".encode("latin-1")


def _wide(text: str) -> bytes:
    paged = "\f".join(re.split("(?m)^(?=def |@)", text, maxsplit=1))
    return f"# \u2203 \U0001f600 \u03bc\n{paged}".encode()


#: The same text in other bytes.
VARIANTS: dict[str, Callable[[str], bytes]] = {
    "cr": lambda text: text.replace("\n", "\r").encode(),
    "bom and crlf": lambda text: codecs.BOM_UTF8 + text.replace("\n", "\r\n").encode(),
    "latin-1": _latin,
    "wide characters and form feed": _wide,
    "no final newline": lambda text: text.rstrip("\n").encode(),
    "blank lines at the end": lambda text: f"{text}\n\n  \n".encode(),
}


@pytest.mark.parametrize("variant", VARIANTS)
@every_golden
def test_bytes_in_bytes_out(golden: Golden, variant: str) -> None:
    change = VARIANTS[variant]
    assert _rewritten(change(golden.source), golden.name) == change(golden.output)


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def _mixed(text: str) -> str:
    """The text with its line ends taken in turn from all three kinds.

    A blank line after a lone CR ends in CR too: with LF the two would be one CRLF.
    """
    ends = itertools.cycle(("\r\n", "\n", "\r", "\n"))
    mixed, last = "", ""
    for line in text.split("\n"):
        last = "\r" if last == "\r" and not line else next(ends)
        mixed += line + last
    return mixed.removesuffix(last)


@every_golden
def test_mixed_newlines(golden: Golden) -> None:
    """Lines that stay keep their own ends, whatever ends the new lines take."""
    before = _LINE.findall(_mixed(golden.source))
    raw = _rewritten("".join(before).encode(), golden.name)
    after = _LINE.findall(raw.decode())
    assert "".join(line.rstrip("\r\n") + "\n" for line in after) == golden.output
    stripped = [[line.rstrip("\r\n") for line in lines] for lines in (before, after)]
    for block in SequenceMatcher(None, *stripped, autojunk=False).get_matching_blocks():
        old = before[block.a : block.a + block.size]
        assert after[block.b : block.b + block.size] == old


def test_the_corpus_covers_what_it_should() -> None:
    """The corpus is no smaller than what the project promises."""
    changed = [golden for golden in GOLDENS if golden.output != golden.source]
    refused = [golden for golden in GOLDENS if golden.refused]
    assert len(changed) >= 50
    assert len(refused) >= 30
    codes = {item.code for golden in GOLDENS for item in golden.expectations}
    assert codes >= {f"RM2{number:02}" for number in (*range(1, 16), *range(17, 26), 27)}
