"""Notebooks and Markdown: the code is rewritten in place, every other byte stays."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner, Result
from document_cases import V1, V2, code, lines, notebook

from reducer_migrate.cli import command

FENCES = [
    ("```python\n{}```\n", ""),
    ("```py\n{}```\n", ""),
    ("~~~python\n{}~~~\n", ""),
    ("````Python title='x'\n{}````\n", ""),
    ("1. In a list:\n\n   ```python\n{}   ```\n", "   "),
    ("> ```python\n{}> ```\n", "> "),
]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(
        command, ["--isolated", "--tilelang", "0.1.15", *arguments], standalone_mode=False
    )


def rewritten(path: Path, raw: bytes) -> bytes:
    """The file after one run; a second run leaves it as it is."""
    path.write_bytes(raw)
    assert run(str(path)).return_value == 0
    once = path.read_bytes()
    assert run(str(path)).return_value == 0
    assert path.read_bytes() == once
    return once


def indented(text: str, prefix: str) -> str:
    return "".join(prefix + line for line in text.splitlines(keepends=True))


@pytest.mark.parametrize(("fence", "prefix"), FENCES)
def test_fenced_blocks(tmp_path: Path, fence: str, prefix: str) -> None:
    around = "T.clear(acc) in prose\n\n" + fence + "\n```sh\nT.clear(acc)\n```\n"
    before, after = (around.format(indented(text, prefix)) for text in (V1, V2))

    assert rewritten(tmp_path / "a.md", before.encode()) == after.encode()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_markdown_keeps_its_line_ends(tmp_path: Path, newline: str) -> None:
    before, after = (f"```python\n{t}```\n".replace("\n", newline).encode() for t in (V1, V2))

    assert rewritten(tmp_path / "a.md", before) == after


def test_a_fragment_that_does_not_parse_is_a_note(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(f"```python\nacc = T.alloc_reducer(...\n```\n\n```python\n{V1}```\n")
    result = run(str(path))

    assert result.return_value == 0
    assert f"{path}:2:" in result.stdout
    assert "note[RM009]" in result.stdout
    assert V2 in path.read_text()


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("as_list", [False, True])
def test_cells(tmp_path: Path, indent: int | None, ascii_only: bool, as_list: bool) -> None:
    def book(text: str) -> bytes:
        text = "import os  # \u00e9\n" + text
        source: str | list[str] = lines(text) if as_list else text
        return notebook(code(source), code("x = 1"), indent=indent, ascii_only=ascii_only)

    after = rewritten(tmp_path / "a.ipynb", book(V1))

    assert after == book(V2)
    nbformat.reads(after.decode(), as_version=4)


@pytest.mark.parametrize(
    "magic", ["%matplotlib inline\n", "!ls {x}\n", "%%time\n", "files = !ls\n", "?acc\n"]
)
def test_magics_stay(tmp_path: Path, magic: str) -> None:
    before, after = (notebook(code(lines(magic + text))) for text in (V1, V2))

    assert rewritten(tmp_path / "a.ipynb", before) == after


def test_findings_name_the_cell(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_bytes(notebook(code("x = 1"), code(lines(V1.replace("+=", "*=")))))
    result = run("--check", str(path))

    assert result.return_value == 1
    assert f"{path}:cell 3:4:5: error[RM202]" in result.stdout


@pytest.mark.parametrize(
    "raw",
    [
        b'{"cells": [alloc_reducer',
        b'["alloc_reducer"]',
        b'{"cells": "alloc_reducer"}',
        b"alloc_reducer",
    ],
)
def test_a_broken_notebook_is_reported_and_the_rest_goes_on(tmp_path: Path, raw: bytes) -> None:
    broken, good = tmp_path / "a.ipynb", tmp_path / "b.md"
    broken.write_bytes(raw)
    good.write_text(f"```python\n{V1}```\n")
    result = run(str(broken), str(good))

    assert result.return_value == 2
    assert f"{broken}:1:" in result.stdout
    assert "error[RM001]" in result.stdout
    assert broken.read_bytes() == raw
    assert V2 in good.read_text()


def test_directories_give_documents_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"```python\n{V1}```\n")
    (tmp_path / "b.ipynb").write_bytes(notebook(code(V1)))
    quiet = run("--check", str(tmp_path))
    asked = run("--check", "--include-docs", "--output-format", "json", str(tmp_path))

    assert quiet.return_value == 0
    assert asked.return_value == 1
    found = json.loads(asked.stdout)
    assert {Path(each["path"]).name for each in found} == {"a.md", "b.ipynb"}
